//! Acceptance: what moves is tested against dense sampling, the search against brute force, bodies against each other.

use std::cell::Cell;

use proptest::prelude::{Strategy, any};
use proptest::sample::select;

use super::*;
use crate::cancel::CancelToken;
use crate::cases::{Random, for_all};
use crate::math::{Quat, Vec3};

/// Surface of a cube with `n` cells to an edge: triangles and positions, outward.
pub fn cube(n: u32, size: f64, corner: Vec3) -> (Vec<[u32; 3]>, Vec<Vec3>) {
    let mut index = std::collections::BTreeMap::new();
    let mut x = Vec::new();
    let mut vertex = |p: [u32; 3]| {
        *index.entry(p).or_insert_with(|| {
            x.push(corner + Vec3::new(p[0] as f64, p[1] as f64, p[2] as f64) * (size / n as f64));
            x.len() as u32 - 1
        })
    };
    let mut triangles = Vec::new();
    for axis in 0..3 {
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        for (level, outward) in [(0, false), (n, true)] {
            for i in 0..n {
                for j in 0..n {
                    let mut corner = |di: u32, dj: u32| {
                        let mut p = [0; 3];
                        p[axis] = level;
                        p[u] = i + di;
                        p[v] = j + dj;
                        vertex(p)
                    };
                    let [a, b, c, d] = [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)];
                    triangles.extend(if outward { [[a, b, c], [a, c, d]] } else { [[a, c, b], [a, d, c]] });
                }
            }
        }
    }
    (triangles, x)
}

/// Several cubes as bodies of one mesh.
fn stack(cubes: &[(u32, f64, Vec3)], mobility: Mobility) -> (Mesh, Vec<Vec3>) {
    let (mut triangles, mut x, mut body) = (Vec::new(), Vec::new(), Vec::new());
    for (b, (n, size, corner)) in cubes.iter().enumerate() {
        let (t, p) = cube(*n, *size, *corner);
        let first = x.len() as u32;
        triangles.extend(t.iter().map(|t| t.map(|v| v + first)));
        body.extend(p.iter().map(|_| b as u32));
        x.extend(p);
    }
    (Mesh::new(triangles, body, vec![mobility; cubes.len()]).unwrap(), x)
}

/// One vertex and one triangle (of two bodies), or two edges as triangles that end in a point far away.
fn lone_pair(face: bool) -> (Mesh, Pair) {
    let mobility = vec![Mobility::Deformable; 2];
    if face {
        let mesh = Mesh::new(vec![[1, 2, 3]], vec![0, 1, 1, 1], mobility).unwrap();
        (mesh, Pair::VertexFace { vertex: 0, triangle: 0 })
    } else {
        // Triangles that name a vertex twice have a single edge.
        let mesh = Mesh::new(vec![[0, 1, 1], [2, 3, 3]], vec![0, 0, 1, 1], mobility).unwrap();
        (mesh, Pair::EdgeEdge { first: 0, second: 1 })
    }
}

fn spanned(face: bool, x: &[Vec3]) -> f64 {
    if face { (x[2] - x[1]).cross(&(x[3] - x[1])).dot(&(x[0] - x[1])) } else { (x[1] - x[0]).cross(&(x[3] - x[2])).dot(&(x[2] - x[0])) }
}

fn between(x0: &[Vec3], x1: &[Vec3], t: f64) -> Vec<Vec3> {
    x0.iter().zip(x1).map(|(a, b)| a * (1.0 - t) + b * t).collect()
}

/// A vector with components in [-1, 1).
pub fn vector() -> impl Strategy<Value = Vec3> {
    [-1.0..1.0f64, -1.0..1.0f64, -1.0..1.0f64].prop_map(Vec3::from)
}

/// The four vertices of a pair.
pub fn corners() -> impl Strategy<Value = [Vec3; 4]> {
    [vector(), vector(), vector(), vector()]
}

#[test]
fn no_crossing_of_dense_sampling_is_missed() {
    let hits = Cell::new(0);
    let pairs = (any::<bool>(), select(&[0.1, 1.0, 3.0][..]), corners(), corners());
    for_all(100_000, &pairs, |(face, reach, x0, motion)| {
        let (mesh, pair) = lone_pair(face);
        let x1: [Vec3; 4] = std::array::from_fn(|i| x0[i] + motion[i] * reach);
        let found = first_crossing(&mesh, pair, &x0, &x1);
        // The cubic through four of its values.
        let y = [0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0].map(|t| spanned(face, &between(&x0, &x1, t)));
        let c = [
            y[0],
            -5.5 * y[0] + 9.0 * y[1] - 4.5 * y[2] + y[3],
            9.0 * y[0] - 22.5 * y[1] + 18.0 * y[2] - 4.5 * y[3],
            4.5 * (-y[0] + 3.0 * y[1] - 3.0 * y[2] + y[3]),
        ];
        let f = |t: f64| c[0] + t * (c[1] + t * (c[2] + t * c[3]));
        let mut expected = None;
        let mut before = f(0.0);
        for i in 1..=1000 {
            let after = f(i as f64 * 1e-3);
            if (before < 0.0) != (after < 0.0) && expected.is_none() {
                let (mut lo, mut hi) = ((i - 1) as f64 * 1e-3, i as f64 * 1e-3);
                while hi - lo > 1e-13 {
                    let t = 0.5 * (lo + hi);
                    if (f(t) < 0.0) == (before < 0.0) { lo = t } else { hi = t }
                }
                let x = between(&x0, &x1, lo);
                let close = closest(&mesh, pair, &x);
                if !close.clamped && close.weights.iter().all(|w| w.abs() > 1e-6) {
                    expected = Some(lo);
                }
            }
            before = after;
        }
        if let Some(time) = expected {
            let found = found.expect("missed");
            assert!(found.time < time + 1e-9, "{} {time}", found.time);
            hits.set(hits.get() + 1);
        }
        if let Some(c) = found {
            let x = between(&x0, &x1, c.time);
            assert!(closest(&mesh, pair, &x).distance < 1e-8 && c.gap(&x).abs() < 1e-8 && (c.normal.norm() - 1.0).abs() < 1e-12);
            assert!(c.gap(&x0) > 0.0 && c.gap(&x1) < 0.0 || c.time < 1e-6 || c.time > 1.0 - 1e-6, "{c:?}");
        }
    });
    assert!(hits.get() > 3000, "{}", hits.get());
}

#[test]
fn a_triangle_that_crosses_twice_is_stopped_the_first_time() {
    let (mesh, pair) = lone_pair(true);
    // One corner swings over; the spanned volume is positive at both ends and negative between.
    let at = |t: f64| {
        let s = 1.0 - 2.0 * t;
        [Vec3::new(0.25, 0.05, 0.2 * s), Vec3::zeros(), Vec3::x(), Vec3::new(0.0, s, 0.5)]
    };
    let (x0, x1) = (at(0.0), at(1.0));
    assert!(spanned(true, &x0) > 0.0 && spanned(true, &x1) > 0.0 && spanned(true, &at(0.5)) < 0.0);
    let c = first_crossing(&mesh, pair, &x0, &x1).unwrap();
    assert!((c.time - 0.5 * (1.0 - 0.125f64.sqrt())).abs() < 1e-12 && c.gap(&x0) > 0.0);
    // The second time it is outside.
    assert_eq!(first_crossing(&mesh, pair, &at(0.4), &x1), None);
}

#[test]
fn tiny_gaps_and_long_slides() {
    let gap = 2.5e-6;
    for size in [1e-3, 0.1, 1.0] {
        for slide in [0.0, 1e-3, 0.3] {
            for angle in [0.0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3, 0.1, 1.0] {
                for drop in [0.5 * gap, 0.999_999 * gap, 1.000_001 * gap, 1.5 * gap, 1e-3] {
                    // A vertex over a face, and two edges at an angle, the upper one tilted as little.
                    let way = Vec3::new(slide, 0.3 * slide, -drop);
                    let up = Vec3::z() * gap;
                    let face = [up + Vec3::new(0.3 * size, 0.3 * size, 0.0), Vec3::zeros(), Vec3::x() * size, Vec3::y() * size];
                    let direction = Vec3::new(f64::cos(angle), f64::sin(angle), 0.0) * size;
                    let middle = Vec3::x() * (0.5 * size);
                    let edges = [up + middle - direction * 0.4, up + middle + direction * 0.4, Vec3::zeros(), Vec3::x() * size];
                    for (is_face, x0) in [(true, face), (false, edges)] {
                        let (mesh, pair) = lone_pair(is_face);
                        let first = if is_face { 1 } else { 2 };
                        let x1: [Vec3; 4] = std::array::from_fn(|i| if i < first { x0[i] + way } else { x0[i] });
                        let found = first_crossing(&mesh, pair, &x0, &x1);
                        // Where the way passes beside the other feature nothing is certain but that the answer is
                        // finite.
                        let t = gap / drop;
                        let x = between(&x0, &x1, t.min(1.0));
                        let there = closest(&mesh, pair, &x);
                        if drop > gap && there.distance < 1e-12 * size {
                            let c = found.unwrap_or_else(|| panic!("missed: {is_face} {size} {slide} {angle} {drop}"));
                            assert!((c.time - t).abs() < 1e-3 * t && c.gap(&x0) > 0.0, "{is_face} {size} {slide} {angle} {drop} {c:?} {t}");
                            if slide == 0.0 || angle > 1e-5 || is_face {
                                assert!((c.normal - Vec3::z()).norm() < 1e-6, "{is_face} {size} {slide} {angle} {drop} {c:?}");
                            }
                        } else if drop < 0.9 * gap {
                            assert_eq!(found, None);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn what_stays_in_one_plane_or_on_one_line() {
    let (v, o) = (|x: f64, y: f64| Vec3::new(x, y, 0.0), Vec3::zeros());
    // A vertex enters a triangle through its side, in its plane.
    let (mesh, pair) = lone_pair(true);
    let x0 = [v(0.2, -0.1), o, v(1.0, 0.0), v(0.0, 1.0)];
    let x1 = [v(0.3, 0.3), o, v(1.0, 0.0), v(0.0, 1.0)];
    let c = first_crossing(&mesh, pair, &x0, &x1).unwrap();
    assert!((c.time - 0.25).abs() < 1e-9 && (c.normal + Vec3::y()).norm() < 1e-9, "{c:?}");
    let beside = [v(-0.3, -0.1), x0[1], x0[2], x0[3]];
    assert_eq!(first_crossing(&mesh, pair, &beside, &[v(-0.2, 0.3), o, v(1.0, 0.0), v(0.0, 1.0)]), None);
    // Edges: the end of one over the other; then one after the other on a line.
    let (mesh, pair) = lone_pair(false);
    let x0 = [o, v(1.0, 0.0), v(0.4, 0.1), v(0.5, 1.0)];
    let x1 = [o, v(1.0, 0.0), v(0.4, -0.1), v(0.5, 0.8)];
    let c = first_crossing(&mesh, pair, &x0, &x1).unwrap();
    assert!((c.time - 0.5).abs() < 1e-9 && (c.normal + Vec3::y()).norm() < 1e-9, "{c:?}");
    let x0 = [o, v(1.0, 0.0), v(1.5, 0.0), v(2.0, 0.0)];
    let x1 = [o, v(1.0, 0.0), v(0.5, 0.0), v(1.0, 0.0)];
    let c = first_crossing(&mesh, pair, &x0, &x1).unwrap();
    assert!((c.time - 0.5).abs() < 1e-9 && (c.normal + Vec3::x()).norm() < 1e-9, "{c:?}");
    // Sliding along each other, parallel and in one plane: nothing.
    let x0 = [o, v(1.0, 0.0), v(0.5, 1e-6), v(1.5, 1e-6)];
    let x1 = [o, v(1.0, 0.0), v(-0.5, 1e-6), v(0.5, 1e-6)];
    assert_eq!(first_crossing(&mesh, pair, &x0, &x1), None);
}

/// Four vertices that may have collapsed into less than a triangle or two edges.
fn collapsed() -> impl Strategy<Value = [Vec3; 4]> {
    (corners(), 0..8, -1.0..1.0f64).prop_map(|(mut x, how, along)| {
        match how {
            0 => x[3] = x[2],
            1 => x[3] = x[1] + (x[2] - x[1]) * along,
            2 => x = [x[0]; 4],
            3 => x[1] = x[0],
            4 => x.iter_mut().for_each(|p| p.z = 0.0),
            5 => x.iter_mut().for_each(|p| *p = Vec3::x() * p.x),
            _ => {}
        }
        x
    })
}

#[test]
fn collapsed_features_and_no_motion_give_numbers_or_nothing() {
    let check = |face: bool, x0: &[Vec3; 4], x1: &[Vec3; 4]| {
        let (mesh, pair) = lone_pair(face);
        if let Some(c) = first_crossing(&mesh, pair, x0, x1) {
            assert!(c.time >= 0.0 && c.time <= 1.0 && c.weights.iter().all(|w| w.is_finite()), "{c:?}");
            assert!((c.normal.norm() - 1.0).abs() < 1e-9, "{c:?}");
        }
    };
    for_all(20_000, &(any::<bool>(), collapsed(), collapsed()), |(face, x0, x1)| {
        check(face, &x0, &x1);
        check(face, &x0, &x0);
    });
    for_all(20, &(any::<bool>(), collapsed(), collapsed()), |(face, x0, mut x1)| {
        x1[2].x = f64::NAN;
        check(face, &x0, &x1);
    });
}

/// Whether two features may meet by the boxes that a tree has of their vertices, by more than `by` [m].
pub fn may_meet(sweeps: &[[f32; 16]], a: &[u32], b: &[u32], by: f64) -> bool {
    let low = |corners: &[u32], k: usize| corners.iter().map(|v| f64::from(sweeps[*v as usize][k])).fold(f64::INFINITY, f64::min);
    let high = |corners: &[u32], k: usize| corners.iter().map(|v| f64::from(sweeps[*v as usize][k + 4])).fold(f64::NEG_INFINITY, f64::max);
    // Those of the end stand after eight numbers of the start.
    let is_below = |a: &[u32], b: &[u32], k: usize| [k, k + 8].iter().all(|k| high(a, *k) < low(b, *k) + by);
    !(0..3).any(|k| is_below(a, b, k) || is_below(b, a, k))
}

fn brute_force(mesh: &Mesh, bvh: &Bvh) -> Candidates {
    let meets = |a: &[u32], b: &[u32]| {
        mesh.may_meet(mesh.body[a[0] as usize], mesh.body[b[0] as usize])
            && !a.iter().any(|v| b.contains(v))
            && may_meet(bvh.vertex_sweeps(), a, b, 0.0)
    };
    let mut found = Candidates::default();
    for v in (0..mesh.body.len() as u32).filter(|v| mesh.triangles.iter().any(|t| t.contains(v))) {
        for (t, corners) in mesh.triangles.iter().enumerate() {
            if meets(&[v], corners) {
                found.vertex_faces.push([v, t as u32]);
            }
        }
    }
    for (e, first) in mesh.edges.iter().enumerate() {
        for (f, second) in mesh.edges.iter().enumerate().skip(e + 1) {
            if meets(first, second) {
                found.edge_edges.push([e as u32, f as u32]);
            }
        }
    }
    found
}

/// All pairs of two lists, in order.
fn united(a: &Candidates, b: &Candidates) -> Candidates {
    let both = |of: fn(&Candidates) -> &Vec<[u32; 2]>| {
        let all: std::collections::BTreeSet<[u32; 2]> = of(a).iter().chain(of(b)).copied().collect();
        all.into_iter().collect()
    };
    Candidates { vertex_faces: both(|c| &c.vertex_faces), edge_edges: both(|c| &c.edge_edges) }
}

#[test]
fn the_search_finds_what_brute_force_finds() {
    use Mobility::{Deformable, Immovable, Rigid};
    let mut random = Random::new(5);
    for round in 0..6 {
        // Triangles between any vertices of a body; the last has a single one, or none.
        let (mut triangles, mut body) = (Vec::new(), Vec::new());
        for (b, count) in [12, 12, 12, 12, round % 2].into_iter().enumerate() {
            let first = body.len() as u32;
            body.extend(vec![b as u32; 10]);
            for _ in 0..count {
                let [i, j] = [(); 2].map(|()| random.below(10) as u32);
                triangles.push([i, (i + 1 + j % 9) % 10, j].map(|v| first + v));
            }
        }
        let mobility = vec![Deformable, Rigid, Immovable, Immovable, Deformable];
        let mesh = Mesh::new(triangles, body, mobility).unwrap();
        let rest: Vec<Vec3> = mesh.body.iter().map(|_| random.vector()).collect();
        let mut bvh = Bvh::new(&mesh, &rest);
        assert!(bvh.query(&mesh, &rest).is_empty());
        for _ in 0..3 {
            let x: Vec<Vec3> = rest.iter().map(|_| random.vector()).collect();
            let reach: Vec<Vec3> = rest.iter().map(|_| random.vector() * 0.1).collect();
            bvh.refit(&mesh, &x, &reach, 0.01, 0.005);
            bvh.check(&mesh);
            let about: Vec<Vec3> = x.iter().zip(&reach).map(|(x, r)| x + r).collect();
            assert!(bvh.holds(&about));
            let found = bvh.query(&mesh, &x);
            let all = brute_force(&mesh, &bvh);
            let mut expected = all.clone();
            bvh.keep_near(&mesh, &x, &mut expected);
            assert_eq!(found, expected);
            assert!(found.len() < all.len());
            // What was dropped does not meet, wherever in their boxes the vertices end.
            let mut within = |sweep: &[f32; 16]| {
                Vec3::from_fn(|k, _| {
                    let [low, high] = [sweep[8 + k], sweep[12 + k]].map(f64::from);
                    low + (high - low) * (0.5 + 0.5 * random.signed())
                })
            };
            let there: Vec<Vec3> = bvh.vertex_sweeps().iter().map(&mut within).collect();
            assert!(bvh.holds(&there));
            let met = crossings(&mesh, &all, &x, &there);
            assert!(!met.is_empty());
            assert_eq!(met, crossings(&mesh, &found, &x, &there));
            assert!(found.len() > 100);
            // A tree made from scratch there has other nodes but finds the same, as long as its other edges bound
            // nothing.
            let near: Vec<Vec3> = reach.iter().map(|r| r * 0.2).collect();
            let trees = [Bvh::new(&mesh, &x), bvh.clone()].map(|mut tree| {
                tree.refit(&mesh, &x, &near, 0.01, 0.005);
                tree.query(&mesh, &x)
            });
            assert_eq!(trees[0], trees[1]);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
            assert_eq!(found, pool.install(|| bvh.query(&mesh, &x)));
            // What leaves its box brings more pairs, whether the boxes were fitted before or not: those of a whole
            // search there.
            let astray: Vec<Vec3> =
                about.iter().zip(0..).map(|(x, v)| if v % 6 == round { x + random.vector() * 0.2 } else { *x }).collect();
            let mut unfitted = Bvh::new(&mesh, &rest);
            unfitted.refit(&mesh, &x, &reach, 0.01, 0.005);
            assert_eq!(bvh.cover(&mesh, &astray), unfitted.cover(&mesh, &astray));
            let mut more = [found.clone(), found.clone()];
            bvh.clone().find_more(&mesh, &x, &mut more[0]);
            unfitted.find_more(&mesh, &x, &mut more[1]);
            let whole = bvh.query(&mesh, &x);
            assert_eq!(whole, unfitted.query(&mesh, &x));
            assert_eq!(more, [0; 2].map(|_| united(&found, &whole)));
            assert!(more[0].len() > found.len() && more[0].len() > whole.len());
        }
    }
    let empty = Mesh::new(vec![], vec![], vec![]).unwrap();
    assert!(Bvh::new(&empty, &[]).query(&empty, &[]).is_empty());
}

/// Whether any edge passes through any triangle of another body: what contact is there to prevent.
fn intersect(mesh: &Mesh, x: &[Vec3]) -> bool {
    let volume = |a: Vec3, b: Vec3, c: Vec3, d: Vec3| (b - a).cross(&(c - a)).dot(&(d - a));
    mesh.edges.iter().any(|e| {
        let [p, q] = e.map(|v| x[v as usize]);
        mesh.triangles.iter().any(|t| {
            let [a, b, c] = t.map(|v| x[v as usize]);
            let through = [volume(p, q, a, b), volume(p, q, b, c), volume(p, q, c, a)];
            mesh.body[e[0] as usize] != mesh.body[t[0] as usize]
                && volume(a, b, c, p) * volume(a, b, c, q) < 0.0
                && (through.iter().all(|v| *v > 0.0) || through.iter().all(|v| *v < 0.0))
        })
    })
}

fn all_crossings(mesh: &Mesh, x0: &[Vec3], x1: &[Vec3]) -> Vec<Crossing> {
    let mut bvh = Bvh::new(mesh, x0);
    let reach: Vec<Vec3> = x0.iter().zip(x1).map(|(a, b)| b - a).collect();
    bvh.refit(mesh, x0, &reach, 1e-6, 0.0);
    crossings(mesh, &bvh.query(mesh, x0), x0, x1)
}

#[test]
fn cubes_pressed_together_in_every_way() {
    let gap = 2.5e-6;
    let half = Vec3::new(0.5, 0.5, 0.5);
    let lift = |x: &[Vec3]| -x.iter().fold(f64::INFINITY, |m: f64, p| m.min(p.z)) + 1.0 + gap;
    let turns = [
        Quat::identity(),
        Quat::from_euler_angles(std::f64::consts::FRAC_PI_4, 0.0, 0.0), // edge down
        Quat::rotation_between(&Vec3::new(1.0, 1.0, 1.0), &Vec3::z()).unwrap(), // corner down
        Quat::from_euler_angles(0.0, 0.0, 0.3),
    ];
    let mut random = Random::new(11);
    for (case, turn) in turns.iter().enumerate() {
        for shift in [Vec3::zeros(), Vec3::new(0.13, -0.21, 0.0), Vec3::new(0.5, 0.0, 0.0), Vec3::new(1.0 - 1e-7, 0.25, 0.0)] {
            let mut counts = Vec::new();
            for noise in [0.0, 1e-9, 1e-7] {
                let (mesh, mut x0) = stack(&[(2, 1.0, Vec3::zeros()), (2, 1.0, Vec3::zeros())], Mobility::Deformable);
                let n = x0.len() / 2;
                for p in &mut x0[n..] {
                    *p = half + shift + turn * (*p - half);
                }
                let up = lift(&x0[n..]);
                x0[n..].iter_mut().for_each(|p| p.z += up);
                x0.iter_mut().for_each(|p| *p += random.vector() * noise);
                assert!(!intersect(&mesh, &x0));
                for (drop, slide) in [(2.0 * gap, 0.0), (0.01, 0.0), (0.01, 0.2), (2.0 * gap, 0.2)] {
                    let mut x1 = x0.clone();
                    x1[n..].iter_mut().for_each(|p| *p += Vec3::new(-slide, 0.1 * slide, -drop));
                    let found = all_crossings(&mesh, &x0, &x1);
                    assert!(!found.is_empty() || !intersect(&mesh, &x1), "{case} {shift} {noise} {drop} {slide}");
                    assert!(found.is_sorted_by(|a, b| a.pair < b.pair));
                    for c in &found {
                        assert!(c.gap(&x0) > 0.0 && c.gap(&x1) < 1e-8, "{case} {shift} {noise} {drop} {slide} {c:?}");
                    }
                    // A part of the way before the first crossing there is none, and nothing intersects.
                    let part = safe_fractions(&mesh, &found, 0.9);
                    let least = part[0].min(part[1]);
                    let safe = between(&x0, &x1, least);
                    assert!(!intersect(&mesh, &safe) && all_crossings(&mesh, &x0, &safe).is_empty());
                    // The other body first: the same features touch, but for what rounding decides at the ends of
                    // edges.
                    let swap = |v: u32| (v as usize + n) as u32 % (2 * n as u32);
                    let swapped: Vec<[u32; 3]> = mesh.triangles.iter().map(|t| t.map(swap)).collect();
                    let (half, rest) = swapped.split_at(swapped.len() / 2);
                    let triangles = [rest, half].concat();
                    let other = Mesh::new(triangles, mesh.body.clone(), mesh.mobility.clone()).unwrap();
                    let turned = |x: &[Vec3]| [&x[n..], &x[..n]].concat();
                    let again = all_crossings(&other, &turned(&x0), &turned(&x1));
                    let names = |c: &Crossing, swap: &dyn Fn(u32) -> u32| {
                        let face = matches!(c.pair, Pair::VertexFace { .. });
                        let mut v = c.vertices.map(swap);
                        if face {
                            v[1..].sort_unstable()
                        } else {
                            v.sort_unstable()
                        }
                        (face, v)
                    };
                    let clear = |c: &&Crossing| matches!(c.pair, Pair::VertexFace { .. }) || c.weights.iter().all(|w| w.abs() > 1e-5);
                    let mut a: Vec<_> = found.iter().filter(clear).map(|c| names(c, &|v| v)).collect();
                    let mut b: Vec<_> = again.iter().filter(clear).map(|c| names(c, &swap)).collect();
                    a.sort_unstable();
                    b.sort_unstable();
                    assert_eq!(a, b, "{case} {shift} {noise} {drop} {slide}");
                    counts.push(found.iter().filter(|c| matches!(c.pair, Pair::VertexFace { .. })).count());
                }
            }
            // No vertex over an edge: noise does not change what touches.
            if case == 3 && shift.x == 0.13 {
                assert_eq!(counts[..4], counts[4..8]);
                assert_eq!(counts[..4], counts[8..]);
            }
        }
    }
}

#[test]
fn what_moves_as_one_does_not_seem_to_meet_itself() {
    let (mesh, x) = stack(&[(8, 0.1, Vec3::zeros())], Mobility::Deformable);
    let mut bvh = Bvh::new(&mesh, &x);
    let mut candidates = |way: &dyn Fn(&Vec3) -> Vec3| {
        bvh.refit(&mesh, &x, &x.iter().map(way).collect::<Vec<_>>(), 1e-5, 0.0);
        bvh.query(&mesh, &x).len()
    };
    let slow = candidates(&|_| Vec3::new(0.002, 0.001, -0.001));
    // Further than the body is long, and turning by a twentieth of a turn about an axis outside.
    let fast = candidates(&|_| Vec3::new(0.2, 0.1, -0.1));
    let turning = candidates(&|x| crate::math::Quat::from_scaled_axis(Vec3::z() * 0.3) * (x + Vec3::x()) - x - Vec3::x());
    // Of swept boxes, nearly all pairs overlap.
    let all = mesh.edges.len().pow(2) / 2;
    assert!(slow.max(fast).max(turning) < all / 100, "{slow} {fast} {turning} of {all}");
}

#[test]
fn what_leaves_its_box_is_found_again() {
    let (mesh, x0) = stack(&[(2, 0.1, Vec3::zeros()), (2, 0.1, Vec3::new(0.02, 0.03, 0.3))], Mobility::Deformable);
    let n = x0.len() / 2;
    let expected: Vec<Vec3> = (0..2 * n).map(|v| Vec3::z() * if v < n { 0.0 } else { -0.021 }).collect();
    let mut bvh = Bvh::new(&mesh, &x0);
    bvh.refit(&mesh, &x0, &expected, 1e-4, 0.0);
    let [about, x1] = [1.0, 10.0].map(|far| x0.iter().zip(&expected).map(|(x, e)| x + e * far).collect::<Vec<Vec3>>());
    let before = bvh.query(&mesh, &x0);
    assert!(crossings(&mesh, &before, &x0, &x1).is_empty());
    assert!(bvh.holds(&about) && !bvh.holds(&x1));
    assert_eq!(bvh.cover(&mesh, &x1), n);
    bvh.check(&mesh);
    let after = bvh.query(&mesh, &x0);
    assert!(!crossings(&mesh, &after, &x0, &x1).is_empty());
    assert!(before.edge_edges.iter().all(|p| after.edge_edges.binary_search(p).is_ok()));
    assert!(bvh.holds(&x1) && bvh.cover(&mesh, &x1) == 0);
}

#[test]
fn a_search_is_ended_where_it_finds_too_many_pairs() {
    let (mesh, x) = stack(&[(2, 0.1, Vec3::zeros()), (2, 0.1, Vec3::new(0.02, 0.03, 0.11))], Mobility::Deformable);
    let still = vec![Vec3::zeros(); x.len()];
    let mut bvh = Bvh::new(&mesh, &x);
    let mut search = |limit: SearchLimit| {
        bvh.limit_search(limit);
        bvh.refit(&mesh, &x, &still, 0.01, 0.0);
        let found = bvh.query(&mesh, &x);
        (found.len(), bvh.is_complete(), bvh.n_found(found.len()))
    };
    let (all, is_complete, counted) = search(SearchLimit::default());
    assert!(all > 10 && is_complete && counted == all, "{all} pairs");
    assert_eq!(search(SearchLimit { candidates: all, ..SearchLimit::default() }), (all, true, all));
    assert_eq!(search(SearchLimit { candidates: all - 1, ..SearchLimit::default() }), (0, false, all - 1));
    let cancelled = CancelToken::default();
    cancelled.cancel();
    assert!(!search(SearchLimit { candidates: all, cancel: cancelled }).1);
    assert_eq!(search(SearchLimit::default()), (all, true, all));
}

#[test]
fn a_cancelled_test_of_pairs_is_not_made_and_the_next_one_is_whole() {
    let (mesh, x0) = stack(&[(2, 0.1, Vec3::zeros()), (2, 0.1, Vec3::new(0.02, 0.03, 0.11))], Mobility::Deformable);
    let down = |(x, body): (&Vec3, &u32)| if *body == 1 { x - Vec3::z() * 0.02 } else { *x };
    let x1: Vec<Vec3> = x0.iter().zip(&mesh.body).map(down).collect();
    let mut bvh = Bvh::new(&mesh, &x0);
    let motions: Vec<Vec3> = x1.iter().zip(&x0).map(|(x1, x0)| x1 - x0).collect();
    bvh.refit(&mesh, &x0, &motions, 0.0, 0.0);
    let candidates = bvh.query(&mesh, &x0);
    let whole = crossings(&mesh, &candidates, &x0, &x1);
    assert!(!whole.is_empty());
    let cancelled = CancelToken::default();
    cancelled.cancel();
    let mut found = Crossings::default();
    found.find(&mesh, &candidates, &x0, &x1, &cancelled);
    assert!(found.found.is_empty());
    found.find(&mesh, &candidates, &x0, &x1, CancelToken::never());
    assert_eq!(found.found, whole);
}

#[test]
fn what_crosses_nothing_does_not_intersect() {
    let gap = 2.5e-6;
    let (mesh, start) = stack(&[(3, 0.1, Vec3::zeros()), (2, 0.1, Vec3::new(0.011, 0.023, 0.1 + gap))], Mobility::Deformable);
    let mut random = Random::new(17);
    let (mut free, mut hit, mut deep) = (0, 0, 0);
    for k in 0..300 {
        let noise = [0.1, 0.4, 0.4][k % 3] * gap;
        let x0: Vec<Vec3> = start.iter().map(|x| x + random.vector() * noise).collect();
        let way = Vec3::new(random.signed() * 0.05, random.signed() * 0.05, -(k as f64 / 300.0) * 2.0 * gap);
        let move_by = |b: u32, random: &mut Random| (if b == 1 { way } else { Vec3::zeros() }) + random.vector() * noise;
        let x1: Vec<Vec3> = x0.iter().zip(&mesh.body).map(|(x, b)| x + move_by(*b, &mut random)).collect();
        let found = all_crossings(&mesh, &x0, &x1);
        let meets = intersect(&mesh, &x1);
        assert!(!meets || !found.is_empty(), "{k}");
        assert!(found.iter().all(|c| c.gap(&x0) > 0.0));
        free += usize::from(found.is_empty());
        hit += usize::from(!found.is_empty());
        deep += usize::from(meets);
    }
    assert!(free > 50 && hit > 50 && deep > 50, "{free} {hit} {deep}");
}

#[test]
fn what_is_smaller_than_the_margin_is_not_near_to_all_of_itself() {
    let (mesh, x) = stack(&[(6, 2e-5, Vec3::zeros())], Mobility::Deformable);
    let (mut bvh, mut found) = (Bvh::new(&mesh, &x), Candidates::default());
    bvh.refit(&mesh, &x, &vec![Vec3::zeros(); x.len()], 2e-5, 0.0);
    bvh.find(&mesh, &x, &mut found);
    assert!(found.len() < 20 * mesh.triangles.len(), "{}", found.len());
}

#[test]
fn a_random_walk_held_back_before_each_touch_never_intersects() {
    let (mesh, mut x) = stack(&[(2, 0.1, Vec3::zeros()), (2, 0.1, Vec3::new(0.01, 0.02, 0.1 + 1e-4))], Mobility::Deformable);
    let mut random = Random::new(23);
    let mut held = 0;
    for step in 0..400 {
        let ways = [(); 2].map(|()| (random.vector() * 1e-3, random.vector() * 1e-2));
        let press = Vec3::z() * if step % 3 < 2 { -5e-4 } else { 5e-4 };
        let end: Vec<Vec3> = (x.iter().zip(&mesh.body))
            .map(|(p, b)| p + ways[*b as usize].0 + ways[*b as usize].1.cross(p) + press * f64::from(*b) + random.vector() * 1e-5)
            .collect();
        let found = all_crossings(&mesh, &x, &end);
        let part = safe_fractions(&mesh, &found, 0.8).into_iter().fold(1.0, f64::min);
        held += usize::from(part < 1.0);
        x = between(&x, &end, part);
        assert!(!intersect(&mesh, &x), "{step}");
    }
    assert!(held > 50 && held < 350, "{held}");
}
