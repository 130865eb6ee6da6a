//! What is measured on both engines by the same code, on node positions and velocities alone.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::mesh::Vec3;
use crate::scene::{Body, Scene};

/// All bodies at the end of a frame, node by node, body after body.
#[derive(Clone)]
pub struct State {
    /// [m]
    pub positions: Vec<Vec3>,
    /// [m/s]
    pub velocities: Vec<Vec3>,
}

/// What one engine gave for one scene.
pub struct Run {
    /// Wall time of each frame [ms].
    pub ms: Vec<f64>,
    /// States by the number of frames computed; the last frame is among them.
    pub states: BTreeMap<usize, State>,
}

/// What the states say. What does not apply to a scene is null.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Deepest over the measured frames [m].
    pub penetration: Option<f64>,
    /// Deepest at the end [m].
    pub final_penetration: Option<f64>,
    /// How many frames the penetration was measured on.
    pub frames_measured: usize,
    /// At the end [J].
    pub kinetic_energy: f64,
    /// Mean height at the end of the nodes that were highest at the start [m].
    pub top: Option<f64>,
    /// Farthest way of a body's centre of mass from its start, along the floor [m].
    pub lean: Option<f64>,
    /// Mean displacement along y of the free end of a bar [m].
    pub tip: Option<f64>,
    /// Mean speed of the centre of mass down the slope over the last second [m/s].
    pub drift: Option<f64>,
    /// Mean acceleration of the centre of mass down the slope over the last second [m/s^2].
    pub acceleration: Option<f64>,
}

impl Figures {
    /// Figures of a run of `frames` frames, of which some states are there.
    pub fn of(scene: &Scene, frames: usize, states: &BTreeMap<usize, State>) -> Self {
        let start = scene.start();
        let end = states.get(&frames).unwrap_or(&start);
        let meets = scene.floor || scene.bodies.len() > 1;
        let hangs = scene.bodies.iter().any(|body| !body.fixed.is_empty());

        let second = (1.0 / scene.time_step).round() as usize;
        let before = frames.checked_sub(second).and_then(|frame| states.get(&frame));
        let last_second = scene.downhill().zip(before);
        let per_second = |change: Vec3| change / (second as f64 * scene.time_step);

        let mean_y = |picked: &dyn Fn(&Vec3) -> bool, state: &State| {
            let heights: Vec<f64> =
                start.positions.iter().zip(&state.positions).filter(|(rest, _)| picked(rest)).map(|(_, now)| now.y).collect();
            heights.iter().sum::<f64>() / heights.len() as f64
        };
        let highest = start.positions.iter().fold(f64::MIN, |y, p| y.max(p.y));
        let farthest = start.positions.iter().fold(f64::MIN, |x, p| x.max(p.x));
        let at_tip = |p: &Vec3| p.x > farthest - 1e-9;
        Self {
            penetration: meets.then(|| states.values().map(|state| penetration(scene, state)).fold(0.0, f64::max)),
            final_penetration: meets.then(|| penetration(scene, end)),
            frames_measured: states.len(),
            kinetic_energy: scene.masses().zip(&end.velocities).map(|(m, v)| 0.5 * m * v.norm_squared()).sum(),
            top: (!hangs).then(|| mean_y(&|p| p.y > highest - 1e-9, end)),
            lean: (scene.bodies.len() > 1).then(|| lean(scene, &start, end)),
            tip: hangs.then(|| mean_y(&at_tip, end) - mean_y(&at_tip, &start)),
            drift: last_second
                .map(|(downhill, before)| per_second(scene.mean(&end.positions) - scene.mean(&before.positions)).dot(&downhill)),
            acceleration: last_second
                .map(|(downhill, before)| per_second(scene.mean(&end.velocities) - scene.mean(&before.velocities)).dot(&downhill)),
        }
    }
}

impl Scene {
    fn start(&self) -> State {
        let positions: Vec<Vec3> = self.bodies.iter().flat_map(|body| body.mesh.nodes.iter().copied()).collect();
        State { velocities: vec![Vec3::zeros(); positions.len()], positions }
    }

    fn masses(&self) -> impl Iterator<Item = f64> {
        self.bodies.iter().flat_map(|body| body.mesh.masses.iter().copied())
    }

    /// Mean over all nodes by mass.
    fn mean(&self, values: &[Vec3]) -> Vec3 {
        self.masses().zip(values).map(|(m, v)| *v * m).sum::<Vec3>() / self.masses().sum::<f64>()
    }

    /// Each body with its part of `values`, which are numbered as in [`State`].
    fn parts<'a>(&'a self, mut values: &'a [Vec3]) -> impl Iterator<Item = (&'a Body, &'a [Vec3])> {
        self.bodies.iter().map(move |body| {
            let (own, others) = values.split_at(body.mesh.nodes.len());
            values = others;
            (body, own)
        })
    }

    /// Centre of mass of each body [m].
    pub fn centers<'a>(&'a self, state: &'a State) -> impl Iterator<Item = Vec3> {
        self.parts(&state.positions).map(|(body, positions)| {
            let masses = &body.mesh.masses;
            masses.iter().zip(positions).map(|(m, p)| *p * *m).sum::<Vec3>() / masses.iter().sum::<f64>()
        })
    }
}

fn lean(scene: &Scene, start: &State, end: &State) -> f64 {
    scene.centers(start).zip(scene.centers(end)).map(|(before, now)| (now - before).xz().norm()).fold(0.0, f64::max)
}

/// Deepest penetration [m]. Samples are the surface nodes and the middles of the surface edges. Below the floor their depth is
/// their distance from it; in a tet of another body it is their distance from that body's surface.
fn penetration(scene: &Scene, state: &State) -> f64 {
    let solids: Vec<Solid> = scene.parts(&state.positions).map(|(body, positions)| Solid::new(body, positions)).collect();
    let mut deepest: f64 = 0.0;
    for (i, solid) in solids.iter().enumerate() {
        if scene.floor {
            deepest = solid.samples.iter().fold(deepest, |deepest, p| deepest.max(-p.y));
        }
        for other in solids.iter().enumerate().filter(|(j, other)| *j != i && other.bounds.meet(&solid.bounds)).map(|(_, other)| other) {
            deepest = solid.samples.iter().fold(deepest, |deepest, p| deepest.max(other.depth(p)));
        }
    }
    deepest
}

/// A body as it is now.
struct Solid<'a> {
    body: &'a Body,
    positions: &'a [Vec3],
    samples: Vec<Vec3>,
    bounds: Bounds,
    tet_bounds: Vec<Bounds>,
}

impl<'a> Solid<'a> {
    fn new(body: &'a Body, positions: &'a [Vec3]) -> Self {
        let surface = &body.mesh.surface;
        let edges: BTreeSet<[u32; 2]> =
            surface.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]).map(|[a, b]| [a.min(b), a.max(b)]).collect();
        let nodes: BTreeSet<u32> = surface.iter().flatten().copied().collect();
        let at = |node: u32| positions[node as usize];
        let samples = nodes.into_iter().map(at).chain(edges.into_iter().map(|[a, b]| 0.5 * (at(a) + at(b)))).collect();
        let tet_bounds = body.mesh.tets.iter().map(|tet| Bounds::of(tet.iter().map(|&n| at(n)))).collect();
        Self { body, positions, samples, bounds: Bounds::of(positions.iter().copied()), tet_bounds }
    }

    /// Distance [m] of `point` from the surface if it is inside, else 0.
    fn depth(&self, point: &Vec3) -> f64 {
        let tets = &self.body.mesh.tets;
        let inside = self.bounds.hold(point)
            && tets.iter().zip(&self.tet_bounds).any(|(tet, bounds)| bounds.hold(point) && in_tet(point, self.corners(tet)));
        if !inside {
            return 0.0;
        }
        self.body.mesh.surface.iter().map(|triangle| distance_to_triangle(point, self.corners(triangle))).fold(f64::MAX, f64::min)
    }

    fn corners<const N: usize>(&self, nodes: &[u32; N]) -> [Vec3; N] {
        nodes.map(|n| self.positions[n as usize])
    }
}

/// A box along the axes.
struct Bounds {
    min: Vec3,
    max: Vec3,
}

impl Bounds {
    fn of(points: impl Iterator<Item = Vec3>) -> Self {
        let nothing = Self { min: Vec3::repeat(f64::MAX), max: Vec3::repeat(f64::MIN) };
        points.fold(nothing, |bounds, p| Self { min: bounds.min.inf(&p), max: bounds.max.sup(&p) })
    }

    fn hold(&self, p: &Vec3) -> bool {
        self.min <= *p && *p <= self.max
    }

    fn meet(&self, other: &Self) -> bool {
        self.min <= other.max && other.min <= self.max
    }
}

fn in_tet(point: &Vec3, [a, b, c, d]: [Vec3; 4]) -> bool {
    let side = |a: Vec3, b: Vec3, c: Vec3| (b - a).cross(&(c - a)).dot(&(point - a));
    // Inwards for a positively ordered tet.
    side(b, d, c) >= 0.0 && side(a, c, d) >= 0.0 && side(a, d, b) >= 0.0 && side(a, b, c) >= 0.0
}

fn distance_to_triangle(point: &Vec3, [a, b, c]: [Vec3; 3]) -> f64 {
    let normal = (b - a).cross(&(c - a));
    let edges = [(a, b), (b, c), (c, a)];
    if edges.iter().all(|(from, to)| normal.cross(&(to - from)).dot(&(point - from)) >= 0.0) {
        return (point - a).dot(&normal).abs() / normal.norm();
    }
    let to_edge = |(from, to): (Vec3, Vec3)| {
        let along = to - from;
        let t = ((point - from).dot(&along) / along.norm_squared()).clamp(0.0, 1.0);
        (point - from - t * along).norm()
    };
    edges.map(to_edge).into_iter().fold(f64::MAX, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Mesh;

    #[test]
    fn depth_is_the_distance_from_the_surface() {
        let mesh = Mesh::grid(Vec3::zeros(), Vec3::repeat(2.0), [2, 3, 4], 1000.0);
        assert!((mesh.masses.iter().sum::<f64>() - 8000.0).abs() < 1e-9);
        let positions = mesh.nodes.clone();
        let body = Body { mesh, fixed: vec![] };
        let solid = Solid::new(&body, &positions);
        for (point, depth) in [([0.0, 0.0, 0.9], 0.1), ([0.7, -0.8, 0.3], 0.2), ([0.0, 0.0, 1.1], 0.0), ([1.5, 1.5, 1.5], 0.0)] {
            assert!((solid.depth(&Vec3::from(point)) - depth).abs() < 1e-12, "{point:?}");
        }
    }
}
