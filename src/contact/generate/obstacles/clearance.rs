//! Which vertices of a body a trial motion may bring into an obstacle. Groups of neighbours are as far from it as when
//! the whole body was last looked at, less what nodes and obstacle have moved since: the others are passed over. That
//! follows from motions alone; what is found is the same whenever the body was looked at.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::contact::generate::surface_step::{Row, SurfaceStep, VERTICES};
use crate::contact::generate::surfaces::{GROUP, Surfaces};
use crate::geometry::{MovingShape, NodeMotions, Shape, sagitta};
use crate::math::{Aabb, Isometry, Vec3};

/// A body is looked at as a whole again once its nodes, or an obstacle, have moved by this part of its size, and half
/// of how far it was from the nearest obstacle.
const OUTDATED: f64 = 0.005;
/// What is further than the longest edge is so by this part of it, at least.
pub const LONGER: f64 = 1e-9;
/// What roundings make of a distance, as a part of the coordinates it is made of.
const ROUNDING: f64 = 1e-12;

/// The distances of the vertices of one deformable body.
#[derive(Debug, Default)]
pub struct Clearance {
    body: usize,
    /// No vertex goes further than this many times what the nodes do: weights outside of a tet are negative.
    reach: f64,
    /// Diagonal of the box around the body at rest [m].
    size: f64,
    /// Displacements of the nodes when it was looked at [m].
    displacements: Vec<Row>,
    /// [`Surfaces::size_at`] of each vertex then [m], and the largest of each group; none if no obstacle is round.
    sizes: Vec<f64>,
    sizes_of_groups: Vec<f64>,
    of_obstacles: Vec<Distances>,
    /// The least distance of all [m].
    nearest: f64,
    /// How far a node has gone since, until the start of the step [m].
    way: f64,
    /// Memory.
    gaps: Vec<f64>,
}

/// Distances from one obstacle.
#[derive(Clone, Debug, Default)]
struct Distances {
    /// Of the obstacle when they were taken.
    pose: Isometry,
    /// The least one of each group [m]; of what is inside, or not a number, any that is not above 0.
    of_groups: Vec<f64>,
    /// From each group to the nearer rim along the axis of a cylinder, at least [m]; beyond it below 0.
    rooms: Vec<f64>,
    /// The largest coordinate of a vertex [m].
    largest: f64,
}

/// How far a body goes in a trial motion, at most [m].
#[derive(Clone, Copy, Debug, Default)]
pub struct Ways {
    /// From where it was looked at to the end.
    to_end: f64,
    /// How much further from each other two vertices may have got since.
    stretch: f64,
    /// From the start of the step to its end.
    in_step: f64,
}

impl Clearance {
    /// None of a body without groups of neighbours: it is always looked at as a whole.
    pub fn new(step: &SurfaceStep, body: usize) -> Option<Self> {
        let vertices = step.model.bodies[body].collision_vertices.clone();
        if step.surfaces.neighbours[body].is_empty() {
            return None;
        }
        let weights = &step.model.collision.weights[vertices.clone()];
        let reach = weights.iter().map(|weights| weights.iter().map(|w| w.abs()).sum()).fold(1.0, f64::max);
        let size = Aabb::of(&step.surfaces.rest[vertices]).extent().norm();
        Some(Self { body, reach, size, ..Self::default() })
    }

    /// A step begins; the whole body is looked at where what is known of it is outdated.
    pub fn begin(&mut self, step: &SurfaceStep, shapes: &[MovingShape]) {
        let displacements = step.displacements_of(self.body);
        let is_known = self.displacements.len() == displacements.len() && self.of_obstacles.len() == shapes.len();
        if is_known {
            // What stands still, from where the step starts.
            let still = NodeMotions { displacements, velocities: displacements, dt: 0.0 };
            self.way = self.ways(still).to_end;
            let approach = |(known, shape): (&Distances, &MovingShape)| approach(&shape.shape, &known.pose, &shape.pose_t0);
            let moved = self.of_obstacles.iter().zip(shapes).map(approach).fold(self.way, f64::max);
            if moved <= OUTDATED * self.size + 0.5 * self.nearest {
                return;
            }
        }
        self.look(step, shapes);
    }

    /// Looks at the whole body at the start of the step.
    fn look(&mut self, step: &SurfaceStep, shapes: &[MovingShape]) {
        let Self { body, displacements, sizes, sizes_of_groups, of_obstacles, nearest, way, gaps, .. } = self;
        let (vertices, x) = (&step.surfaces.neighbours[*body], &step.start);
        displacements.clear();
        displacements.extend_from_slice(step.displacements_of(*body));
        (*nearest, *way) = (f64::INFINITY, 0.0);
        sizes.clear();
        sizes_of_groups.clear();
        if shapes.iter().any(|shape| is_round(&shape.shape)) {
            let all = step.model.bodies[*body].collision_vertices.clone();
            let first = all.start;
            sizes.resize(all.len(), 0.0);
            let at = |(k, size): (usize, &mut f64)| *size = step.surfaces.size_at((first + k) as u32, x);
            sizes.par_iter_mut().with_min_len(VERTICES).enumerate().for_each(at);
            let size = |vertices: &[u32]| vertices.iter().map(|v| sizes[*v as usize - first]).fold(0.0, f64::max);
            sizes_of_groups.extend(vertices.chunks(GROUP).map(size));
        }
        gaps.resize(vertices.len(), 0.0);
        of_obstacles.resize(shapes.len(), Distances::default());
        for (known, shape) in of_obstacles.iter_mut().zip(shapes) {
            known.pose = shape.pose_t0;
            known.of_groups.clear();
            known.rooms.clear();
            if matches!(shape.shape, Shape::Box { .. }) {
                continue;
            }
            let still = MovingShape { pose_t1: shape.pose_t0, ..*shape };
            let bounds = still.gap_bounds();
            let largest_of = |(gaps, vertices): (&mut [f64], &[u32])| {
                bounds.gaps(vertices, x, x, gaps);
                vertices.iter().map(|v| x[*v as usize].amax()).fold(0.0, f64::max)
            };
            let parts = (gaps.par_chunks_mut(VERTICES), vertices.par_chunks(VERTICES));
            known.largest = parts.into_par_iter().map(largest_of).reduce(|| 0.0, f64::max);
            let least = |gaps: &[f64]| gaps.iter().fold(f64::INFINITY, |least, gap| if *gap > 0.0 { least.min(*gap) } else { 0.0 });
            known.of_groups.extend(gaps.chunks(GROUP).map(least));
            *nearest = known.of_groups.iter().copied().fold(*nearest, f64::min);
            if matches!(shape.shape, Shape::Cylinder { .. }) {
                let room = |vertices: &[u32]| vertices.iter().map(|v| still.room_at_end(&x[*v as usize])).fold(f64::INFINITY, f64::min);
                known.rooms.extend(vertices.chunks(GROUP).map(room));
            }
        }
    }

    /// How far the body goes in a trial motion.
    pub fn ways(&self, motions: NodeMotions) -> Ways {
        let Ways { to_end, stretch, in_step } = Arch::new().dispatch(WaysOfNodes { from: &self.displacements, motions });
        Ways { to_end: self.reach * to_end, stretch: self.reach * stretch, in_step: self.reach * in_step }
    }

    /// The longest edge of what has the k-th vertex of the body as a corner [m], at most; for round obstacles.
    pub fn size_at(&self, k: usize, ways: &Ways) -> f64 {
        self.sizes[k] + ways.stretch
    }

    /// Puts those vertices into `near`, in any order, that may end inside an obstacle, or so near to it that an edge or
    /// a triangle at them may; tells whether any of them may be so fast that it passes through. Of the others
    /// [`GapBounds`](crate::geometry::GapBounds) tells that they do not.
    pub fn near(&self, o: usize, obstacle: &MovingShape, ways: &Ways, surfaces: &Surfaces, near: &mut Vec<u32>) -> bool {
        near.clear();
        let Distances { pose, of_groups, rooms, largest } = &self.of_obstacles[o];
        let MovingShape { shape, pose_t0, pose_t1 } = obstacle;
        let [there, from] = [pose, pose_t0].map(|pose| pose.translation.vector);
        let tilt = (pose_t1.rotation * Vec3::y() - pose.rotation * Vec3::y()).norm();
        let (radius, bound) = match *shape {
            Shape::Sphere { radius } => (radius, radius),
            Shape::Cylinder { radius, half_height } => (radius, radius + half_height),
            _ => (0.0, 0.0),
        };
        let approach = ways.to_end + approach(shape, pose, pose_t1);
        let mut is_fast = false;
        for (k, (distance, vertices)) in of_groups.iter().zip(surfaces.neighbours[self.body].chunks(GROUP)).enumerate() {
            let mut needed = 0.0;
            let mut passes = false;
            if let Some(size) = self.sizes_of_groups.get(k).filter(|_| radius > 0.0).map(|size| size + ways.stretch) {
                let in_step = obstacle.way_seen(ways.in_step, distance + self.way + (from - there).norm() + bound);
                passes = obstacle.may_pass(in_step);
                let is_beside_mantle = rooms.get(k).is_none_or(|room| room - approach - tilt * (size + approach) >= size);
                needed = in_step.max(if is_beside_mantle && !passes { sagitta(radius, size) } else { size });
            }
            let roundings = ROUNDING * (needed + approach + distance + largest + there.norm());
            // Written so that what is not a number is near.
            let is_far = *distance > approach + roundings + (1.0 + LONGER) * needed;
            if !is_far {
                near.extend(vertices);
                is_fast |= passes;
            }
        }
        is_fast
    }
}

fn is_round(shape: &Shape) -> bool {
    matches!(shape, Shape::Sphere { .. } | Shape::Cylinder { .. })
}

/// How much nearer an obstacle may come to anything by going from one pose to another [m]: turning about its axis moves
/// no point of a round one, and nothing bounds what a plane does that turns.
fn approach(shape: &Shape, from: &Isometry, to: &Isometry) -> f64 {
    let way = to.translation.vector - from.translation.vector;
    let axes = |axis: Vec3| [from, to].map(|pose| pose.rotation * axis);
    match *shape {
        Shape::Plane => {
            let [before, after] = axes(Vec3::y());
            if before == after { way.dot(&after).abs() } else { f64::INFINITY }
        }
        Shape::Sphere { .. } => way.norm(),
        Shape::Cylinder { radius, half_height } => {
            let [before, after] = axes(Vec3::y());
            way.norm() + (after - before).norm() * (radius + half_height)
        }
        Shape::Box { .. } => 0.0,
    }
}

/// How far nodes go. What is not a number goes nowhere: no vertex that hangs on it is inside of anything.
struct WaysOfNodes<'a> {
    /// Where they were: displacements [m].
    from: &'a [Row],
    motions: NodeMotions<'a>,
}

impl WithSimd for WaysOfNodes<'_> {
    type Output = Ways;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Ways {
        let Self { from, motions: NodeMotions { displacements, velocities, dt } } = self;
        let (mut least, mut most, mut in_step) = ([f64::INFINITY; 4], [f64::NEG_INFINITY; 4], [0.0; 4]);
        for ((from, at), v) in from.iter().zip(displacements).zip(velocities) {
            for k in 0..4 {
                let way = dt * v[k];
                let whole = at[k] + way - from[k];
                let way = way.abs();
                least[k] = if whole < least[k] { whole } else { least[k] };
                most[k] = if whole > most[k] { whole } else { most[k] };
                in_step[k] = if way > in_step[k] { way } else { in_step[k] };
            }
        }
        let length = |way: &dyn Fn(usize) -> f64| (0..4).map(|k| way(k).powi(2)).sum::<f64>().sqrt();
        Ways { to_end: length(&|k| most[k].max(-least[k])), stretch: length(&|k| most[k] - least[k]), in_step: length(&|k| in_step[k]) }
    }
}
