use super::*;
use crate::math::Quat;

/// Bodies put together for a test.
#[derive(Default)]
struct Stack {
    vertices: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    bodies: Vec<u32>,
    kinds: Vec<Kind>,
}

impl Stack {
    fn add(mut self, kind: Kind, (vertices, triangles): (Vec<Vec3>, Vec<[u32; 3]>), place: impl Fn(Vec3) -> Vec3) -> Self {
        let first = self.vertices.len() as u32;
        self.vertices.extend(vertices.into_iter().map(place));
        self.bodies.extend(triangles.iter().map(|_| self.kinds.len() as u32));
        self.triangles.extend(triangles.iter().map(|t| t.map(|v| first + v)));
        self.kinds.push(kind);
        self
    }

    fn surfaces(&self) -> Surfaces {
        Surfaces::new(&self.vertices, &self.triangles, &self.bodies, &self.kinds)
    }

    fn overlaps(&self) -> Vec<Overlap> {
        self.surfaces().overlaps(&self.vertices)
    }

    fn depth(&self) -> f64 {
        self.surfaces().max_penetration(&self.vertices)
    }
}

/// A cube around the origin with side 1, `n` cells along each side.
fn cube(n: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let mut corners = vec![];
    let mut triangles = vec![];
    for axis in 0..3 {
        for outward in [-0.5, 0.5] {
            for i in 0..n * n {
                // Corners of the cell as seen from outside, against the clock.
                let mut quad = [[0, 0], [1, 0], [1, 1], [0, 1]].map(|[u, v]| [i % n + u, i / n + v]);
                if outward < 0.0 {
                    quad.reverse();
                }
                let quad = quad.map(|[u, v]| {
                    let mut x = [0.0; 3];
                    (x[axis], x[(axis + 1) % 3], x[(axis + 2) % 3]) =
                        (outward, f64::from(u) / f64::from(n) - 0.5, f64::from(v) / f64::from(n) - 0.5);
                    // The same corner of two faces has the same bits.
                    corners.push(x.map(f64::to_bits));
                    corners.len() as u32 - 1
                });
                triangles.extend([[quad[0], quad[1], quad[2]], [quad[0], quad[2], quad[3]]]);
            }
        }
    }
    let mut unique = corners.clone();
    unique.sort_unstable();
    unique.dedup();
    let find = |v: u32| unique.binary_search(&corners[v as usize]).unwrap() as u32;
    let triangles = triangles.into_iter().map(|t: [u32; 3]| t.map(find)).collect();
    (unique.iter().map(|x| Vec3::from(x.map(f64::from_bits))).collect(), triangles)
}

/// A ball of radius 1/2 around the origin.
fn ball(n: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let (vertices, triangles) = cube(n);
    (vertices.iter().map(|x| x.normalize() * 0.5).collect(), triangles)
}

/// A strip of 2 x `n` cells, bent so that the points at `s` in [0, 1] along it stand at `path(s)`.
fn strip(n: u32, path: impl Fn(f64) -> [f64; 2]) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let point = |k: u32| {
        let [x, y] = path(f64::from(k / 3) / f64::from(n));
        Vec3::new(x, y, f64::from(k % 3) * 0.1)
    };
    let cell = |k: u32| [[k, k + 1, k + 4], [k, k + 4, k + 3]];
    ((0..3 * n + 3).map(point).collect(), (0..n).flat_map(|i| [cell(3 * i), cell(3 * i + 1)]).flatten().collect())
}

use Kind::{Deformable, Immovable, Rigid};

/// Depth of one cube in another however they are meshed, whichever comes first and wherever they lie.
#[track_caller]
fn assert_depth(place_a: impl Fn(Vec3) -> Vec3 + Copy, place_b: impl Fn(Vec3) -> Vec3 + Copy, wanted: f64) {
    let turn = Quat::from_euler_angles(0.4, 1.1, -0.6);
    for n in [1, 2, 5] {
        let there = |x: Vec3| turn * x + Vec3::new(0.3, -2.0, 0.7);
        let stacks = [
            Stack::default().add(Deformable, cube(n), place_a).add(Deformable, cube(n), place_b),
            Stack::default().add(Rigid, cube(1), place_b).add(Deformable, cube(n), place_a),
            Stack::default().add(Deformable, cube(n), |x| there(place_a(x))).add(Immovable, cube(2), |x| there(place_b(x))),
        ];
        for (i, stack) in stacks.iter().enumerate() {
            let found = stack.depth();
            assert!((found - wanted).abs() < 2e-9, "{n} cells, stack {i}: {found} instead of {wanted}");
        }
    }
}

fn still(x: Vec3) -> Vec3 {
    x
}

#[test]
fn a_face_in_a_face() {
    // The smaller cube stands on the larger one's top.
    assert_depth(still, |x| x * 0.4 + Vec3::new(0.11, 0.5 + 0.2 - 0.03, 0.05), 0.03);
    assert_depth(still, |x| x * 0.4 + Vec3::new(0.11, 0.5 + 0.2 + 1e-6, 0.05), 0.0);
    assert_depth(still, |x| x * 0.4 + Vec3::new(0.11, 0.5 + 0.2, 0.05), 0.0);
}

#[test]
fn aligned_cubes() {
    // Their sides lie in one plane: nothing pierces anything but for rounding.
    assert_depth(still, |x| x + Vec3::y() * 0.9, 0.1);
    assert_depth(still, |x| x + Vec3::y() * (1.0 + 1e-6), 0.0);
    assert_depth(still, |x| x + Vec3::y(), 0.0);
    assert_depth(still, |x| x + Vec3::new(1.0, 1.0, 0.0), 0.0);
    // The very same cube twice is an overlap, if one of unknown depth.
    assert!(Stack::default().add(Deformable, cube(3), still).add(Deformable, cube(3), still).depth() > 1e-4);
}

/// A quarter of a turn halved about `axis`, so that an edge looks up and another one down.
fn on_edge(x: Vec3, axis: Vec3) -> Vec3 {
    Quat::new(axis * std::f64::consts::FRAC_PI_4) * x
}

#[test]
fn an_edge_across_an_edge() {
    let up = std::f64::consts::SQRT_2;
    let crossed = |gap: f64| move |x: Vec3| on_edge(x, Vec3::x()) + Vec3::new(0.12, up + gap, 0.07);
    assert_depth(|x| on_edge(x, Vec3::z()), crossed(-0.02), 0.02);
    assert_depth(|x| on_edge(x, Vec3::z()), crossed(1e-6), 0.0);
}

#[test]
fn a_corner_in_a_face() {
    let diagonal = Quat::rotation_between(&Vec3::repeat(1.0), &-Vec3::y()).unwrap();
    let standing = |gap: f64| move |x: Vec3| diagonal * x + Vec3::new(0.13, 0.5 + 0.75_f64.sqrt() + gap, -0.06);
    assert_depth(still, standing(-0.05), 0.05);
    assert_depth(still, standing(1e-6), 0.0);
}

#[test]
fn corners_past_corners() {
    assert_depth(still, |x| x + Vec3::new(0.97, 0.94, 0.95), 0.03);
    assert_depth(still, |x| x + Vec3::new(1.0 + 1e-6, 0.94, 0.95), 0.0);
}

#[test]
fn swallowed_bodies_count() {
    let offset = Vec3::new(0.2, 0.0, 0.0);
    // Nowhere do the surfaces meet. The ball's leftmost point is the deepest: 0.5 - 0.2 + 0.1 to the right wall, or
    // less to the others.
    let stack = Stack::default().add(Deformable, cube(2), still).add(Rigid, ball(4), |x| x * 0.2 + offset);
    let depth = stack.depth();
    assert!(depth > 0.38 && depth < 0.4 + 1e-9, "{depth}");
    let [overlap] = &stack.overlaps()[..] else { panic!("one overlap") };
    assert!(overlap.bodies == [0, 1] && overlap.triangles.is_empty());
    // Facing inwards, the cube is a room.
    let (vertices, triangles) = cube(2);
    let room = (vertices, triangles.iter().map(|t| [t[0], t[2], t[1]]).collect());
    assert_eq!(Stack::default().add(Immovable, room, still).add(Rigid, ball(4), |x| x * 0.2 + offset).depth(), 0.0);
}

#[test]
fn a_ball_pressed_into_a_box() {
    let stack = Stack::default().add(Immovable, cube(1), still).add(Deformable, ball(8), |x| x + Vec3::y() * 0.99);
    // The ball's mesh has a vertex at its lowest point.
    assert!((stack.depth() - 0.01).abs() < 1e-9, "{}", stack.depth());
}

/// A strip that is straight at rest and stands along `path` now.
fn bent_strip(kind: Kind, path: impl Fn(f64) -> [f64; 2]) -> Vec<Overlap> {
    let rest = Stack::default().add(kind, strip(40, |s| [s, 0.0]), still);
    rest.surfaces().overlaps(&strip(40, path).0)
}

#[test]
fn a_strip_through_itself() {
    // A loop whose ends cross at right angles, or pass one another.
    let turns = |turns: f64| {
        move |s: f64| {
            let angle = (s - 0.5) * turns * std::f64::consts::TAU;
            [angle.sin() * (1.0 + 0.3 * s), -angle.cos() * (1.0 + 0.3 * s)]
        }
    };
    assert_eq!(bent_strip(Deformable, turns(0.9)), []);
    // A spiral does not meet itself.
    assert_eq!(bent_strip(Deformable, turns(1.5)), []);
    let crossing = |s: f64| if s < 0.5 { [s, s] } else { [1.0 - s + 0.013, s - 0.3] };
    let [overlap] = &bent_strip(Deformable, crossing)[..] else { panic!("one overlap") };
    assert_eq!(overlap.bodies, [0, 0]);
    assert!(!overlap.triangles.is_empty() && overlap.depth > 1e-4 && overlap.depth < 0.02, "{overlap:?}");
    // A rigid one is not tested against itself.
    assert_eq!(bent_strip(Rigid, crossing), []);
    // A body that crosses itself at rest is grown together there, and only there.
    let grown = Stack::default().add(Deformable, strip(40, crossing), still);
    let surfaces = grown.surfaces();
    assert!(surfaces.grown_together() == [0] && surfaces.max_penetration(&grown.vertices) == 0.0);
    let elsewhere = |s: f64| crossing(if s < 0.5 { s } else { s + 0.1 });
    assert!(surfaces.max_penetration(&strip(40, elsewhere).0) > 1e-4);
}

#[test]
fn bent_and_flat_surfaces_do_not_meet_themselves() {
    let bent = |x: Vec3| Vec3::new(x.x, x.y + x.x * x.x, x.z + (3.0 * x.x).sin());
    for place in [still as fn(Vec3) -> Vec3, bent] {
        assert_eq!(Stack::default().add(Deformable, cube(6), place).depth(), 0.0);
        // As a device with short numbers sees it.
        let rounded = |x: Vec3| place(x + Vec3::new(0.1, 0.3, 7.7)).map(|c| f64::from(c as f32));
        assert!(Stack::default().add(Deformable, cube(6), rounded).depth() < 1e-6);
    }
}

#[test]
fn overlaps_name_bodies_and_triangles() {
    let stack = Stack::default()
        .add(Deformable, cube(2), still)
        .add(Immovable, cube(1), |x| x + Vec3::x() * 3.0)
        .add(Rigid, cube(1), |x| x * 0.5 + Vec3::new(0.7, 0.1, 0.02))
        .add(Immovable, cube(1), |x| x + Vec3::new(3.1, 0.2, 0.1));
    let overlaps = stack.overlaps();
    // The two that overlap but cannot move are none.
    assert_eq!(overlaps.iter().map(|o| o.bodies).collect::<Vec<_>>(), [[0, 2]]);
    assert!((overlaps[0].depth - 0.05).abs() < 1e-9);
    let named = &overlaps[0].triangles;
    assert!(named.len() == NAMED_TRIANGLES);
    for [s, t] in named {
        let mut bodies = [stack.bodies[*s as usize], stack.bodies[*t as usize]];
        bodies.sort_unstable();
        assert_eq!(bodies, [0, 2]);
    }
}

#[test]
fn the_same_with_any_number_of_threads() {
    let folded = |x: Vec3| Vec3::new(x.x, x.y + 1.5 * (4.0 * x.x).sin(), x.z + (5.0 * x.y).cos());
    let stack = Stack::default().add(Deformable, cube(20), folded).add(Deformable, ball(12), still);
    let surfaces = Surfaces { grown: vec![], ..stack.surfaces() };
    let on = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| surfaces.overlaps(&stack.vertices));
    let one = on(1);
    assert!(!one.is_empty());
    assert_eq!(one, on(3));
}

#[test]
fn nothing_and_what_is_not_a_number_do_no_harm() {
    assert!(Surfaces::new(&[], &[], &[], &[]).overlaps(&[]).is_empty());
    let mut stack = Stack::default().add(Deformable, cube(2), still).add(Rigid, (vec![], vec![]), still);
    stack.vertices[3].x = f64::NAN;
    stack.vertices.push(Vec3::zeros());
    stack.depth();
}

#[test]
fn no_crossing_is_overlooked() {
    // No face stays flat: there, rounding would decide.
    let folded = |x: Vec3| Vec3::new(x.x + 0.3 * (3.0 * x.z + x.y).sin(), x.y + 1.5 * (4.0 * x.x).sin(), x.z + (5.0 * x.y).cos());
    let stack = Stack::default().add(Deformable, cube(6), folded).add(Deformable, ball(5), |x| x * 1.1);
    let surfaces = stack.surfaces();
    let moment = Moment::new(&surfaces, &stack.vertices);
    let [a, b] = [0, 1].map(|body| surfaces.forest.root(body).unwrap());
    let mut found = [moment.self_piercings(a), moment.self_piercings(b), moment.cross_piercings(a, b)].concat();
    let mut all = vec![];
    let bounds = |t: u32| Bounds::of(&moment.corners(t));
    let n = stack.triangles.len() as u32;
    (0..n).for_each(|s| (0..s).filter(|t| bounds(s).meets(&bounds(*t))).for_each(|t| moment.pierce(s, t, &mut all)));
    for list in [&mut found, &mut all] {
        list.sort_by_key(|p| (p.edge, p.triangle));
    }
    let names = |list: &[Piercing]| list.iter().map(|p| (p.edge, p.triangle)).collect::<Vec<_>>();
    assert!(all.len() > 50);
    assert_eq!(names(&found), names(&all));
}
