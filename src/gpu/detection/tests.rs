//! What the device finds and sieves against the host.

use super::*;
use crate::cases::Random;
use crate::geometry::tests::cube;
use crate::geometry::{Pair, first_crossing};
use crate::gpu::device::test_device;
use crate::gpu::engine::DeviceBackend;
use crate::gpu::engine::tests::falling;
use crate::model::{Loads, Params, State};
use crate::step::ImplicitStepper;
use crate::step::Stepper;

/// Triangles of several bodies.
#[derive(Default)]
struct Soup {
    triangles: Vec<[u32; 3]>,
    x: Vec<Vec3>,
    body: Vec<u32>,
    mobility: Vec<Mobility>,
}

impl Soup {
    fn add(&mut self, (triangles, x): (Vec<[u32; 3]>, Vec<Vec3>), mobility: Mobility) {
        let first = self.x.len() as u32;
        self.triangles.extend(triangles.iter().map(|t| t.map(|v| v + first)));
        self.body.extend(x.iter().map(|_| self.mobility.len() as u32));
        self.x.extend(x);
        self.mobility.push(mobility);
    }

    fn mesh(self) -> (Mesh, Vec<Vec3>) {
        (Mesh::new(self.triangles, self.body, self.mobility).unwrap(), self.x)
    }
}

/// Random triangles that share vertices.
fn clutter(random: &mut Random, n: usize, size: f64) -> (Vec<[u32; 3]>, Vec<Vec3>) {
    let x: Vec<Vec3> = (0..2 * n).map(|_| random.vector()).collect();
    let near = |v: usize| (0..x.len() as u32).filter(|w| (x[*w as usize] - x[v]).norm() < size).take(3).collect::<Vec<_>>();
    let triangles = (0..n).map(near).filter(|t| t.len() == 3).map(|t| [t[0], t[1], t[2]]).collect();
    (triangles, x)
}

/// A strip of `n` cells, folded over itself several times.
fn strip(n: u32) -> (Vec<[u32; 3]>, Vec<Vec3>) {
    let fold = |k: u32| {
        let (turn, along) = (k / 8, f64::from(k % 8) / 8.0);
        Vec3::new(if turn % 2 == 0 { along } else { 1.0 - along }, 0.02 * f64::from(turn), 0.0)
    };
    let x = (0..=n).flat_map(|k| [fold(k), fold(k) + Vec3::z() * 0.1]).collect();
    let triangles = (0..n).flat_map(|k| [[2 * k, 2 * k + 1, 2 * k + 2], [2 * k + 2, 2 * k + 1, 2 * k + 3]]).collect();
    (triangles, x)
}

fn meshes() -> Vec<(Mesh, Vec<Vec3>)> {
    let mut random = Random::new(3);
    let mut of_all_kinds = Soup::default();
    for (k, mobility) in [Mobility::Deformable, Mobility::PassesThroughItself, Mobility::Rigid, Mobility::Immovable].into_iter().enumerate()
    {
        of_all_kinds.add(clutter(&mut random, 150, 0.4), mobility);
        of_all_kinds.add(cube(3, 0.6, Vec3::new(0.3 * k as f64 - 0.6, 0.1, -0.3)), mobility);
    }
    let mut boxes = Soup::default();
    boxes.add(cube(1, 10.0, Vec3::new(-5.0, -10.0, -5.0)), Mobility::Immovable);
    for k in 0..12 {
        let place = Vec3::new(0.02 * f64::from(k % 3), 0.101 * f64::from(k), 0.0);
        boxes.add(cube(1 + k % 4, 0.1, place), if k % 2 == 0 { Mobility::Rigid } else { Mobility::Deformable });
    }
    let mut folded = Soup::default();
    folded.add(strip(80), Mobility::Deformable);
    let mut alone = Soup::default();
    alone.add(cube(1, 1.0, Vec3::zeros()), Mobility::Deformable);
    [of_all_kinds, boxes, folded, alone].map(Soup::mesh).into()
}

fn search_of(bvh: &Bvh, mesh: &Mesh, capacity: usize) -> Search {
    Search::new(&test_device(), &bvh.leaves(), mesh.body.len(), mesh.mobility.len(), capacity).unwrap()
}

fn flags_of(bvh: &Bvh, mesh: &Mesh) -> Vec<u32> {
    (0..mesh.mobility.len()).map(|b| flags(mesh.mobility[b] != Mobility::Immovable, bvh.meets_itself(mesh, b))).collect()
}

#[test]
fn the_device_finds_what_the_host_finds() {
    let mut random = Random::new(5);
    let mut found_in_all = 0;
    for (mesh, rest) in meshes() {
        let mut bvh = Bvh::new(&mesh, &rest);
        // Room for one pair at first: the first search that finds more is repeated.
        let mut search = search_of(&bvh, &mesh, 1);
        let mut x = rest.clone();
        for round in 0..6 {
            let reach: Vec<Vec3> = x.iter().map(|_| random.vector() * [0.001, 0.03, 0.2][round % 3]).collect();
            bvh.set_certified((0..mesh.mobility.len()).map(|body| round % 4 == 3 && body % 2 == 0));
            bvh.refit(&mesh, &x, &reach, 0.002, 0.001);
            if round == 4 {
                let away: Vec<Vec3> = x.iter().map(|x| x * 1.2).collect();
                assert!(bvh.is_idle() || bvh.cover(&mesh, &away) > 0);
            }
            let expected = bvh.query(&mesh, &x);
            let mut found = search.find(&flags_of(&bvh, &mesh), bvh.vertex_sweeps()).unwrap().unwrap();
            assert!(bvh.is_idle() || bvh.candidates_among(&mesh, &x, &found) == expected, "round {round}");
            assert!(search.find(&flags_of(&bvh, &mesh), bvh.vertex_sweeps()).unwrap().unwrap() == found, "the same order");
            found_in_all += expected.len();
            // The comparison sees a pair that is missing.
            if let Some(last) = expected.vertex_faces.last() {
                found.vertex_faces.retain(|pair| pair != last);
                let fewer = bvh.candidates_among(&mesh, &x, &found).len();
                assert!(fewer < expected.len());
            }
            x.iter_mut().zip(&reach).for_each(|(x, reach)| *x += reach * 0.3);
        }
    }
    assert!(found_in_all > 20_000, "{found_in_all}");
}

#[test]
fn a_search_that_has_no_room_makes_some_once() {
    let (mesh, x) = meshes().swap_remove(0);
    let mut bvh = Bvh::new(&mesh, &x);
    bvh.refit(&mesh, &x, &vec![Vec3::repeat(0.01); x.len()], 0.01, 0.0);
    let find = |search: &mut Search| {
        let found = search.find(&flags_of(&bvh, &mesh), bvh.vertex_sweeps()).unwrap().unwrap();
        (found, search.round_trips)
    };
    let mut roomy = search_of(&bvh, &mesh, 1 << 16);
    let mut small = search_of(&bvh, &mesh, 1);
    let (expected, _) = find(&mut roomy);
    let (found, round_trips) = find(&mut small);
    assert!(expected == found && expected.len() > 1000 && round_trips == 2);
    for search in [&mut roomy, &mut small] {
        assert!(find(search) == (expected.clone(), 1));
    }
}

/// Pairs of features, each with vertices of its own, and their ways.
struct Ways {
    mesh: Mesh,
    candidates: Candidates,
    x0: Vec<Vec3>,
    x1: Vec<Vec3>,
}

const PAIRS: usize = 6000;

/// `way` makes the start and the end of four points.
fn ways(mut way: impl FnMut(usize, bool) -> ([Vec3; 4], [Vec3; 4])) -> Ways {
    let (mut triangles, mut body, mut x0, mut x1) = (vec![], vec![], vec![], vec![]);
    for k in 0..PAIRS {
        let is_face = k < PAIRS / 2;
        let first = 4 * k as u32;
        match is_face {
            true => triangles.push([first + 1, first + 2, first + 3]),
            false => triangles.extend([[first, first + 1, first + 1], [first + 2, first + 3, first + 3]]),
        }
        body.extend(if is_face { [0, 1, 1, 1] } else { [0, 0, 1, 1] });
        let (start, end) = way(k, is_face);
        x0.extend(start);
        x1.extend(end);
    }
    let mesh = Mesh::new(triangles, body, vec![Mobility::Deformable; 2]).unwrap();
    let n_faces = (PAIRS / 2) as u32;
    let edge = |vertex: u32| mesh.edges.partition_point(|e| e[0] < vertex) as u32;
    let edge_edges = (n_faces..PAIRS as u32).map(|k| [edge(4 * k), edge(4 * k + 2)]).collect();
    let candidates = Candidates { vertex_faces: (0..n_faces).map(|k| [4 * k, k]).collect(), edge_edges };
    Ways { mesh, candidates, x0, x1 }
}

impl Ways {
    fn pairs(of: &Candidates) -> impl Iterator<Item = Pair> + '_ {
        let faces = of.vertex_faces.iter().map(|&[vertex, triangle]| Pair::VertexFace { vertex, triangle });
        faces.chain(of.edge_edges.iter().map(|&[first, second]| Pair::EdgeEdge { first, second }))
    }

    /// Crossing pairs, how many of them the sieve has dropped, and how many of the others it has kept.
    fn sieved(&self, start: &[Vec3], end: &[Vec3]) -> [usize; 3] {
        let mut sieve = Sieve::new(&test_device(), &self.mesh).unwrap();
        sieve.begin([&self.candidates].into_iter(), start).unwrap();
        let kept = sieve.look([&self.candidates].into_iter(), end).unwrap().remove(0);
        let mut is_kept = Self::pairs(&kept).peekable();
        let mut counts = [0; 3];
        for pair in Self::pairs(&self.candidates) {
            let crosses = first_crossing(&self.mesh, pair, &self.x0, &self.x1).is_some();
            let kept = is_kept.next_if_eq(&pair).is_some();
            counts[0] += usize::from(crosses);
            counts[1] += usize::from(crosses && !kept);
            counts[2] += usize::from(!crosses && kept);
        }
        assert!(is_kept.next().is_none(), "in the order of the candidates");
        counts
    }
}

/// Ways of all kinds, by their name, and the greatest part of the pairs that do not cross which the sieve may keep
/// (measured, and a little more).
fn kinds() -> Vec<(&'static str, Ways, f64)> {
    let mut random = Random::new(11);
    let mut all = vec![];
    // Anything, fast and slow.
    for (name, reach, most) in [("fast", 2.0, 0.95), ("slow", 0.05, 0.01)] {
        let way = |_: usize, _: bool| {
            let x0 = [(); 4].map(|()| random.vector());
            (x0, x0.map(|x| x + random.vector() * reach))
        };
        all.push((name, ways(way), most));
    }
    // Features that lie almost on one another, and come nearer, by less or more than the distance; far away and
    // small, too.
    for (name, size, away) in [("near", 1.0, 0.0), ("far away", 1.0, 1e3), ("small", 1e-3, 0.0), ("small and far away", 1e-3, 1e3)] {
        let place = Vec3::new(away, -0.7 * away, 0.3 * away);
        let way = |k: usize, is_face: bool| {
            let gap = 10f64.powi(-2 - (k % 4) as i32);
            let flat = |p: Vec3| Vec3::new(p.x, p.y, 0.05 * gap * p.z);
            let lift = Vec3::z() * gap;
            let first = if is_face { 1 } else { 2 };
            let x0: [Vec3; 4] = std::array::from_fn(|i| flat(random.vector()) + if i < first { lift } else { Vec3::zeros() });
            let closing = [0.2, 0.85, 0.93, 1.0, 1.2][k % 5];
            let x1: [Vec3; 4] =
                std::array::from_fn(|i| x0[i] + random.vector() * (0.1 * gap) - if i < first { lift * closing } else { Vec3::zeros() });
            (x0.map(|x| place + x * size), x1.map(|x| place + x * size))
        };
        all.push((name, ways(way), 0.05));
    }
    // Slivers, parallel edges, features that share points or have none, and what does not move.
    let way = |k: usize, is_face: bool| {
        let mut x0 = [(); 4].map(|()| random.vector());
        let thin = 10f64.powi(-(2 + (k % 13) as i32));
        match (k % 7, is_face) {
            (0, true) => x0[3] = x0[1] + (x0[2] - x0[1]) * random.signed() + random.vector() * thin,
            (0, false) => x0[3] = x0[2] + (x0[1] - x0[0]) * random.signed() + random.vector() * thin,
            (1, _) => x0[0] = (x0[2] + x0[3]) * 0.5 + random.vector() * thin,
            (2, _) => x0[3] = x0[2] + random.vector() * thin,
            (3, _) => x0[0] = x0[1] + random.vector() * thin,
            (4, _) => x0 = x0.map(|x| Vec3::new(x.x, thin * x.y, 0.0)),
            (5, _) => x0 = x0.map(|x| Vec3::new(x.x, x.y, 0.0)),
            _ => {}
        }
        let step = [0.0, thin, 0.1, 1.0][k % 4];
        (x0, x0.map(|x| x + random.vector() * step))
    };
    all.push(("degenerate", ways(way), 0.5));
    // Small pairs, all over the place: positions are coarse.
    let way = |_: usize, _: bool| {
        let place = random.vector() * 1e3;
        let x0 = [(); 4].map(|()| place + random.vector() * 1e-3);
        (x0, x0.map(|x| x + random.vector() * 1e-3))
    };
    all.push(("scattered", ways(way), 0.4));
    all
}

#[test]
fn nothing_that_crosses_is_sieved_out() {
    let mut faults = vec![];
    for (name, ways, most) in kinds() {
        let [crossing, dropped, kept] = ways.sieved(&ways.x0, &ways.x1);
        let part = kept as f64 / (PAIRS - crossing) as f64;
        // The same test sees what is dropped wrongly: here, where the device is told that nothing moves.
        let [_, wrongly, _] = ways.sieved(&ways.x0, &ways.x0);
        if dropped > 0 || crossing < 20 || part > most || wrongly == 0 {
            faults.push(format!(
                "{name}: {crossing} cross, {dropped} of them dropped, {wrongly} without motion; {part:.3} of the others kept"
            ));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

fn run(place: DetectionPlace, n_steps: usize) -> (State, u32, u32) {
    let model = falling(4);
    let engine = DeviceBackend::new(test_device(), &model).unwrap().detecting(place);
    let mut stepper = ImplicitStepper::new(model, engine, || 0.0).unwrap();
    let (mut dispatches, mut active) = (0, 0);
    for _ in 0..n_steps {
        let report = stepper.step(&Params::default(), &Loads::default()).unwrap();
        active = active.max(report.contact.active);
        dispatches += report.device_work.0.iter().find(|(stage, _)| *stage == "detection").map_or(0, |(_, work)| work.dispatches);
    }
    (stepper.state().unwrap().clone(), active, dispatches)
}

#[test]
fn steps_do_not_depend_on_where_contacts_are_looked_for() {
    let (on_host, active, none) = run(DetectionPlace::Host, 12);
    let (on_device, _, dispatches) = run(DetectionPlace::Device, 12);
    assert!(on_host == on_device, "the same bits");
    assert!(active > 40 && none == 0 && dispatches > 12 * 8, "{active} {none} {dispatches}");
    assert!(on_device == run(DetectionPlace::Device, 12).0);
}

#[test]
fn size_alone_decides_where_nothing_is_forced() {
    let chosen = |place: DetectionPlace| [0, MIN_PAIRS - 1, MIN_PAIRS, 10 * MIN_PAIRS].map(|size| place.is_on_device(size, MIN_PAIRS));
    assert_eq!(chosen(DetectionPlace::Auto), [false, false, true, true]);
    assert_eq!(chosen(DetectionPlace::Host), [false; 4]);
    assert_eq!(chosen(DetectionPlace::Device), [true; 4]);
    // The heap of `rings`, the scene that the device is there for: vertices that search, and candidates that are left.
    assert!(DetectionPlace::Auto.is_on_device(8640, MIN_VERTICES) && DetectionPlace::Auto.is_on_device(3500, MIN_PAIRS));
    // What does not move does not search.
    let (mut mesh, _) = meshes().swap_remove(0);
    let all = n_searching(&mesh);
    mesh.mobility[0] = Mobility::Immovable;
    assert!(n_searching(&mesh) < all && all <= mesh.body.len());
    // Steps on a software adapter stay on the host.
    assert_eq!(Detector::new(&test_device(), DetectionPlace::Auto).place == DetectionPlace::Host, !test_device().is_hardware());
}
