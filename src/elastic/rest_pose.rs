//! The rest pose as a preconditioner: one factor a shape and time step, turned by the rotations of the nodes.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::later_pose::{self, LaterBody};
use super::node_rotations::Turn;
use super::rest_body::{RestBody, RestShape, matrix_of_pose};
use super::rotation::{self, Quaternion};
use crate::cancel::CancelToken;
use crate::element::{Element, Tet4};
use crate::math::{Mat3, Vec3};
use crate::model::{Body, End, Model};
use crate::model::{Params, State};
use crate::sparse::{Coarse, Columns, Layout, NotPositiveDefinite, Operator, RestFactor, RigidCoarse, RigidParts, Segment};

/// Bodies with more nodes go without a factor where their masses dominate: its memory and the time to make it grow
/// faster than what it saves.
const MAX_NODES: usize = 20_000;
/// Bodies with more nodes go without a factor in every step.
const MAX_STIFF_NODES: usize = 200_000;
/// Memory of the largest factor [bytes]; larger ones would take minutes. Limbs take a fraction of a cube of as many
/// nodes.
const MAX_FACTOR: usize = 3 << 29;
/// Masses dominate where no diagonal block is more than this many times the mass of its node: there block diagonals
/// tell how a body answers to a contact. A ball pressed into a block of 21,904 nodes was solved with them at 3, neither
/// at 23 nor above.
const MASSES_DOMINATE: f64 = 4.0;
/// Where no diagonal block is more than this many times the mass of its node, rounding to f32 leaves the matrix
/// positive definite, diagonal blocks and all.
const SINGLE: f64 = 1e5;
/// The same for the square root of the number of nodes of a body, where the product takes the masses apart from the
/// rest: then rounding turns a body as a whole, by a part of about `f32::EPSILON` of the stiffness over that root and
/// over the tets across it (2e-4 at 8e5 for a box of 9 x 9 x 9 cells).
const SINGLE_OF_NODES: f64 = 2e4;
/// And at most. Of meshes with 3e5 and 7e5 that had fallen onto a floor, a step came within half the contact tolerance
/// to where it came in f64.
const MOST_SINGLE: f64 = 1e6;
/// Iterations on the matrix in f32 that do as much as a solve with the factor, which reads its memory twice: of a
/// factor that stays in the cache of a core, and of a larger one. With factors and with matrices, means of 60 to 120
/// steps: a tower of cubes 18 and 24 ms (two readings of a factor of 392 kB are 9.7 times the matrix), `pile27` 29 and
/// 36 (181 kB, 8.0); three knots 12 and 6, 7 and 4, 11 and 5 (4 MB, 8.4 to 9.6), `creases` 48 and 25 (22 MB, 7.5).
const ITERATIONS: [usize; 2] = [10, 7];
/// Factors up to this memory stay in the cache of a core [bytes].
const CACHED: usize = 2 << 20;
/// Memory of the compliance columns of one body [bytes], and as a part of that of its factor: the larger counts.
const COLUMNS_LIMIT: usize = 512 << 20;
const COLUMNS_PART: usize = 3;
/// Parts of the preparation that are done once there are levels, the matrix at rest, and factors: between those of a
/// body of 1.1 million tets, whose factor has no room, and those of one whose factor takes nearly all of the time.
const LEVELS: f32 = 0.1;
const MATRIX: f32 = 0.25;
const FACTORS: f32 = 0.8;
/// Factors of halved steps are made before they are needed where those of whole steps have no more memory [bytes].
const PREPARED_HALVES: usize = 128 << 20;
/// Factors of this many time steps are kept: a step that fails is halved and later whole again.
const KEPT: usize = 2;

/// The matrix layout and the coarse space of one deformable body, and the tets whose rotations its points take.
#[derive(Debug)]
pub struct Levels {
    pub layout: Layout,
    /// Up to [`SAMPLES`] tets of each point.
    samples: Vec<Vec<u32>>,
}

/// The aggregates of one deformable body, which move as rigid parts in the device's coarse space, and the tets whose
/// rotations they take. The CPU's coarse space is [`Levels`].
#[derive(Debug)]
pub struct Aggregates {
    pub parts: RigidParts,
    /// Up to [`SAMPLES`] tets of each aggregate.
    pub samples: Vec<Vec<u32>>,
}

/// Factors for the time steps in use.
#[derive(Debug, Default)]
pub struct RestPoses {
    /// Most recently used first.
    kept: Vec<Kept>,
    /// One for each deformable body, once there is a factor.
    levels: Vec<Levels>,
}

/// Factors for one time step.
#[derive(Debug)]
struct Kept {
    time_step: f64,
    /// One for each deformable body, once they are needed.
    bodies: Vec<Option<RestBody>>,
    /// Of those that are in use with a later pose.
    later: Vec<Option<LaterBody>>,
    /// None where f32 does not hold the matrix.
    coarse: Vec<Option<Coarse>>,
    /// Of each deformable body, whether contact is solved with its matrix in f32; once the others are there.
    single: Vec<bool>,
}

impl RestPoses {
    /// Makes the coarse factors of this time step, and, if `needs_factors`, those for contact where something may
    /// touch; unless they are there. Where `cancel` is cancelled meanwhile some are missing; the next call makes them.
    pub fn select(&mut self, model: &Model, params: &Params, needs_factors: bool, cancel: &CancelToken) {
        self.keep(model, params, needs_factors && model.may_touch(), cancel);
    }

    /// Makes the factors for contact of this time step, where something may touch, unless they are there or `cancel` is
    /// cancelled meanwhile.
    pub fn prepare(&mut self, model: &Model, params: &Params, cancel: &CancelToken) {
        if model.may_touch() {
            self.keep(model, params, true, cancel);
        }
    }

    /// As [`prepare`](Self::prepare); where the factors are small those of halved steps are made, too: a step that is
    /// halved in an impact would take longer to make them than for all the rest.
    pub fn prepare_with_halves(&mut self, model: &Model, params: &Params, cancel: &CancelToken) {
        self.prepare(model, params, cancel);
        let mut shapes: Vec<&Arc<RestShape>> = self.bodies().iter().flatten().map(|rest| &rest.shape).collect();
        shapes.sort_unstable_by_key(|shape| Arc::as_ptr(shape));
        shapes.dedup_by_key(|shape| Arc::as_ptr(shape));
        let memory: usize = shapes.iter().map(|shape| shape.factor.memory()).sum();
        if (1..=PREPARED_HALVES).contains(&memory) {
            self.prepare(model, &Params { time_step: 0.5 * params.time_step, ..*params }, &cancel.part(1.0, 1.0));
            self.prepare(model, params, cancel);
        }
    }

    fn keep(&mut self, model: &Model, params: &Params, needs_factors: bool, cancel: &CancelToken) {
        if self.levels.len() < model.bodies.len() {
            self.levels = model.bodies.par_iter().map(|body| Levels::new(model, body)).collect();
            if cancel.is_cancelled() {
                return;
            }
        }
        cancel.reached(LEVELS);
        match self.kept.iter().position(|kept| kept.time_step == params.time_step) {
            Some(place) => self.kept[..=place].rotate_right(1),
            None => {
                self.kept.insert(0, Kept { time_step: params.time_step, bodies: vec![], later: vec![], coarse: vec![], single: vec![] });
                self.kept.truncate(KEPT);
            }
        }
        let kept = &mut self.kept[0];
        let needs_factors = needs_factors && kept.bodies.len() < model.bodies.len();
        let needs_coarse = kept.coarse.len() < self.levels.len();
        if needs_factors || needs_coarse {
            let a = rest_matrix(model, params);
            cancel.reached(MATRIX);
            if needs_factors && !cancel.is_cancelled() {
                kept.bodies = rest_bodies(model, &a, params.time_step, &cancel.part(MATRIX, FACTORS));
            }
            if needs_coarse && !cancel.is_cancelled() {
                let cancel = cancel.part(FACTORS, 1.0);
                let coarse = |body: usize| Coarse::new_unless(&self.levels[body].layout, &model.pattern, &a.blocks, &cancel);
                let stiffest = |body: &Body| (SINGLE_OF_NODES * (body.nodes.len() as f64).sqrt()).clamp(SINGLE, MOST_SINGLE);
                kept.coarse = coarse_of_matrix(model, params, stiffest, coarse);
            }
            // What was cut short is not kept.
            if cancel.is_cancelled() {
                self.kept.remove(0);
                return;
            }
        }
        let Self { kept, levels } = self;
        let Kept { bodies, coarse, single, .. } = &mut kept[0];
        if single.len() < bodies.len().min(coarse.len()) {
            let of_body = |(rest, (levels, coarse)): (&Option<RestBody>, (&Levels, &Option<Coarse>))| {
                let is_quicker = |rest: &RestBody| is_matrix_quicker(rest.shape.factor.memory(), levels.layout.matrix_memory());
                coarse.is_some() && rest.as_ref().is_some_and(is_quicker)
            };
            *single = bodies.iter().zip(levels.iter().zip(&*coarse)).map(of_body).collect();
        }
    }

    /// Whether the contacts of each deformable body are solved with its matrix in f32. Known once the factors of the time
    /// step are there.
    fn single(&self, params: &Params) -> &[bool] {
        let is_known = |kept: &&Kept| kept.time_step == params.time_step && !params.is_double();
        self.kept.first().filter(is_known).map_or(&[], |kept| &kept.single)
    }

    /// Whether the contacts of an island with these bodies are solved with their matrices in f32.
    pub fn are_single(&self, params: &Params, bodies: &[Segment]) -> bool {
        let single = self.single(params);
        !bodies.is_empty() && bodies.iter().all(|segment| single.get(segment.body.index()) == Some(&true))
    }

    /// The same of all deformable bodies.
    pub fn are_all_single(&self, params: &Params) -> bool {
        let single = self.single(params);
        !single.is_empty() && single.iter().all(|single| *single)
    }

    /// The levels of all bodies and their coarse factors for the selected time step.
    pub fn coarse(&self) -> (&[Levels], &[Option<Coarse>]) {
        (&self.levels, self.kept.first().map_or(&[], |kept| &kept.coarse))
    }

    /// The factors of the rest poses for the last time step.
    pub fn bodies(&self) -> &[Option<RestBody>] {
        self.kept.first().map_or(&[], |kept| &kept.bodies)
    }

    /// The factor of a body for the last time step as last turned, of its rest pose or a later one.
    pub fn turned(&self, body: usize) -> Option<&RestBody> {
        let Kept { bodies, later, .. } = self.kept.first()?;
        let later = later.get(body).and_then(|later| later.as_ref()?.body.as_ref());
        later.or(bodies.get(body)?.as_ref())
    }

    /// Makes the factors of this time step and of the later poses of `state`, and turns those of all bodies.
    #[cfg(test)]
    pub fn turn(&mut self, model: &Model, params: &Params, state: &State, tet_rotations: &[Quaternion], cancel: &CancelToken) {
        self.follow(model, params, state, cancel);
        self.turn_bodies(model, &vec![true; model.bodies.len()], tet_rotations);
    }

    /// Makes the factors of this time step and of the later poses of `state`.
    pub fn follow(&mut self, model: &Model, params: &Params, state: &State, cancel: &CancelToken) {
        self.keep(model, params, true, cancel);
        if let Some(Kept { bodies, later, .. }) = self.kept.first_mut() {
            later_pose::follow(later, bodies, (model, params), state, cancel);
        }
    }

    /// Turns the factors of some bodies by the rotations of the tets, once they are made.
    pub fn turn_bodies(&mut self, model: &Model, are_due: &[bool], tet_rotations: &[Quaternion]) {
        let Some(Kept { bodies, later, single, .. }) = self.kept.first_mut() else { return };
        let single = &*single;
        bodies.par_iter_mut().zip(later).zip(are_due).enumerate().filter(|(_, (_, is_due))| **is_due).for_each(
            |(body, ((rest, later), _))| {
                let later = later.as_mut().and_then(|later| later.body.as_mut());
                if let Some(turned) = later.or(rest.as_mut()) {
                    turned.turn(model, body, tet_rotations, single.get(body) == Some(&true));
                }
            },
        );
    }
}

/// Whether the contacts of a body are solved sooner by iterations on its matrix in f32 than with its factor, by what
/// these take [bytes].
fn is_matrix_quicker(factor: usize, matrix: usize) -> bool {
    2 * factor > ITERATIONS[usize::from(factor > CACHED)] * matrix
}

/// Most tets whose mean rotation an aggregate, or a point of the lattice, takes.
pub const SAMPLES: usize = 12;

/// The mean of the rotations of `samples`.
fn mean_rotation(samples: &[u32], tet_rotations: &[Quaternion]) -> Mat3 {
    rotation::mean(samples.iter().map(|tet| (tet_rotations[*tet as usize], 1.0)))
}

/// The first tet at a node of `body`.
fn first_tet(model: &Model, body: &Body, node: usize) -> u32 {
    Tet4::corner_of(model.node_corners.get(body.nodes.start + node)[0]).0 as u32
}

impl Levels {
    pub fn new(model: &Model, body: &Body) -> Self {
        let layout = Layout::new(&model.pattern, &body.nodes, &model.fixed, &model.rest_positions);
        let samples = (0..layout.n_points()).into_par_iter().map(|point| {
            let mut moved: Vec<(usize, f64)> = layout.moved_by(point).collect();
            moved.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            moved.iter().take(SAMPLES).map(|(node, _)| first_tet(model, body, *node)).collect()
        });
        Self { samples: samples.collect(), layout }
    }

    /// Rotation of a point from the rest pose, by the tets around it.
    pub fn rotation(&self, point: usize, tet_rotations: &[Quaternion]) -> Mat3 {
        mean_rotation(&self.samples[point], tet_rotations)
    }
}

impl Aggregates {
    /// About `most` or fewer.
    pub fn new(model: &Model, body: &Body, most: usize) -> Self {
        let parts = RigidParts::new(&model.pattern, &body.nodes, &model.fixed, &model.rest_positions, most);
        let samples = (0..parts.n_parts()).map(|a| {
            let members = parts.members(a);
            let chosen = members.iter().step_by(members.len().div_ceil(SAMPLES));
            chosen.map(|(i, _)| first_tet(model, body, *i as usize)).collect()
        });
        Self { samples: samples.collect(), parts }
    }

    /// From the rest pose, by the mean of the rotations of its samples.
    pub fn rotation(&self, aggregate: usize, tet_rotations: &[Quaternion]) -> Mat3 {
        mean_rotation(&self.samples[aggregate], tet_rotations)
    }
}

/// The largest mean entry of a diagonal block of a body's matrix, in units of the mass of its node. Rotations do not
/// change it.
pub fn stiffness(model: &Model, body: &Body, dt: f64) -> f64 {
    let of_node = |i: usize| {
        let trace = |item: &u32| {
            let (tet, corner) = Tet4::corner_of(*item);
            let tet = &model.tets[tet];
            let (material, lame) = (model.material(tet), model.material(tet).lame());
            let reach = dt + material.stiffness_damping;
            reach * (lame.lambda + 4.0 * lame.mu) * tet.volume * tet.gradients[corner].norm_squared()
        };
        let trace: f64 = model.node_corners.get(i).iter().map(trace).sum();
        1.0 + dt * body.mass_damping + dt * trace / (3.0 * model.node_masses[i])
    };
    body.nodes.clone().map(of_node).fold(0.0, f64::max)
}

/// The matrix of the undeformed bodies at rest.
fn rest_matrix(model: &Model, params: &Params) -> Operator {
    let state = State { velocities: vec![Vec3::zeros(); model.n_nodes()], ..State::at_rest(model) };
    matrix_of_pose(model, params, &state).0
}

/// The coarse factors of all bodies for the time step of `params`; None where f32 does not hold the matrix.
pub fn coarse_factors(model: &Model, params: &Params, aggregates: &[Aggregates]) -> Vec<Option<RigidCoarse>> {
    let a = rest_matrix(model, params);
    coarse_of_matrix(model, params, |_| SINGLE, |body| RigidCoarse::new(&aggregates[body].parts, &model.pattern, &a.blocks))
}

/// `factor` of all bodies but those of the `stiffest` [`stiffness`] or more, whose matrix f32 does not hold.
fn coarse_of_matrix<T: Send>(
    model: &Model,
    params: &Params,
    stiffest: impl Fn(&Body) -> f64 + Sync,
    factor: impl Fn(usize) -> Result<T, NotPositiveDefinite> + Sync,
) -> Vec<Option<T>> {
    let of_body = |(k, body): (usize, &Body)| (stiffness(model, body, params.time_step) < stiffest(body)).then(|| factor(k).ok()).flatten();
    model.bodies.par_iter().enumerate().map(of_body).collect()
}

/// Factors of all deformable bodies, one for those of the same shape.
fn rest_bodies(model: &Model, a: &Operator, time_step: f64, cancel: &CancelToken) -> Vec<Option<RestBody>> {
    let held = |end: &End| match end {
        End::Nodes(nodes) => nodes.iter().map(|(n, _)| *n).collect(),
        _ => vec![],
    };
    let attached: Vec<u32> = model.attachments.iter().flat_map(|attachment| &attachment.ends).flat_map(held).collect();
    let touched: Vec<Vec<u32>> = model.bodies.iter().map(|body| touched(model, body, &attached)).collect();
    // Not positive definite only where the material is not: then conjugate gradients do without.
    let shape_of = |body: usize| {
        let range = &model.bodies[body].nodes;
        let factor =
            RestFactor::new_unless(&model.pattern, &a.blocks, range, (&model.fixed, &model.rest_positions), MAX_FACTOR, cancel).ok()?;
        let columns = Columns::new(&factor, &touched[body], COLUMNS_LIMIT.max(factor.memory() / COLUMNS_PART));
        Some(Arc::new(RestShape { factor, columns }))
    };
    // For each body the first body of its shape, and the rotation from there.
    let mut firsts: Vec<usize> = vec![];
    let mut likeness: Vec<Option<(usize, Mat3)>> = vec![];
    for (body, range) in model.bodies.iter().map(|body| &body.nodes).enumerate() {
        if !has_factor(range.len(), || stiffness(model, &model.bodies[body], time_step)) {
            likeness.push(None);
            continue;
        }
        let alike = |first: &usize| touched[*first] == touched[body];
        let found = firsts.iter().enumerate().filter(|(_, first)| alike(first)).find_map(|(shape, first)| {
            let turn = turn_between(model, a, &model.bodies[*first].nodes, range)?;
            Some((shape, turn))
        });
        likeness.push(Some(found.unwrap_or((firsts.len(), Mat3::identity()))));
        if found.is_none() {
            firsts.push(body);
        }
    }
    let shapes: Vec<Option<Arc<RestShape>>> = firsts.par_iter().map(|body| shape_of(*body)).collect();
    let rest_body = |alike: Option<(usize, Mat3)>| {
        let (shape, turn) = alike?;
        Some(RestBody::new(shapes[shape].clone()?, Turn::Whole(turn)))
    };
    likeness.into_iter().map(rest_body).collect()
}

/// Whether a body of some nodes has a factor, with its [`stiffness`] in the step.
fn has_factor(n_nodes: usize, stiffness: impl FnOnce() -> f64) -> bool {
    n_nodes <= MAX_NODES || (n_nodes <= MAX_STIFF_NODES && stiffness() > MASSES_DOMINATE)
}

/// The nodes of a body that surface points or springs may touch, counted from its first one; ascending.
fn touched(model: &Model, body: &Body, attached: &[u32]) -> Vec<u32> {
    let range = &body.nodes;
    let mut touched: Vec<u32> = body
        .collision_vertices
        .clone()
        .flat_map(|v| model.collision.nodes[v].into_iter().zip(model.collision.weights[v]))
        .filter(|(_, w)| *w != 0.0)
        .map(|(n, _)| n)
        .chain(attached.iter().copied())
        .filter(|n| range.contains(&(*n as usize)) && !model.fixed[*n as usize])
        .map(|n| n - range.start as u32)
        .collect();
    touched.sort_unstable();
    touched.dedup();
    touched
}

/// Largest difference of two bodies of one shape, as a part of their size and of their matrix: rounding, seen through
/// f32 columns.
const LIKENESS: f64 = 1e-9;

/// The rotation R that takes the rest pose of the nodes `from` to the rest pose of `to`, if it takes the matrix along,
/// A_to = R A_from R^T, and the same nodes are fixed.
fn turn_between(model: &Model, a: &Operator, from: &Range<usize>, to: &Range<usize>) -> Option<Mat3> {
    let (pattern, fixed, positions) = (&model.pattern, &model.fixed, &model.rest_positions);
    if from.len() != to.len() || fixed[from.clone()] != fixed[to.clone()] {
        return None;
    }
    let traces = |i: usize| a.blocks[pattern.diagonals[i] as usize].trace();
    let size = traces(from.start).abs();
    if (traces(from.start) - traces(to.start)).abs() > LIKENESS * size {
        return None;
    }
    let turn = rotation_between(&positions[from.clone()], &positions[to.clone()])?;
    let alike = |(i, j): (usize, usize)| {
        let (row_i, row_j) = (pattern.row(i), pattern.row(j));
        row_i.len() == row_j.len()
            && row_i.zip(row_j).all(|(b, c)| {
                pattern.columns[b] as usize - from.start == pattern.columns[c] as usize - to.start
                    && (turn * a.blocks[b] * turn.transpose() - a.blocks[c]).amax() <= LIKENESS * size
            })
    };
    from.clone().zip(to.clone()).all(alike).then_some(turn)
}

/// The rotation about the centres that takes the points `from` to the points `to`, if one does [Kabsch 1976].
fn rotation_between(from: &[Vec3], to: &[Vec3]) -> Option<Mat3> {
    let centre = |points: &[Vec3]| points.iter().sum::<Vec3>() / points.len() as f64;
    let (a, b) = (centre(from), centre(to));
    let shifted = |(x, y): (&Vec3, &Vec3)| (x - a, y - b);
    let pairs = || from.iter().zip(to).map(shifted);
    let size = pairs().map(|(x, _)| x.norm()).fold(0.0, f64::max);
    let matches = |r: &Mat3| pairs().all(|(x, y)| (r * x - y).norm() <= LIKENESS * size);
    if matches(&Mat3::identity()) {
        return Some(Mat3::identity());
    }
    let svd = pairs().map(|(x, y)| y * x.transpose()).sum::<Mat3>().svd(true, true);
    let (u, v_t) = (svd.u?, svd.v_t?);
    let side = (u * v_t).determinant().signum();
    let rotation = u * Mat3::from_diagonal(&Vec3::new(1.0, 1.0, side)) * v_t;
    matches(&rotation).then_some(rotation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_bodies_have_a_factor_where_they_are_stiff_for_the_step() {
        let [soft, stiff] = [0.9, 1.1].map(|part| part * MASSES_DOMINATE);
        assert!(has_factor(MAX_NODES, || soft) && has_factor(MAX_NODES, || stiff));
        assert!(!has_factor(MAX_NODES + 1, || soft) && has_factor(MAX_NODES + 1, || stiff));
        assert!(!has_factor(MAX_STIFF_NODES + 1, || stiff));
    }

    /// The bodies that were measured: see [`ITERATIONS`].
    #[test]
    fn large_slender_bodies_are_solved_with_their_matrix() {
        let [cube, box_of_tower, knot, creases, bunny] =
            [(181_440, 45_504), (392_448, 80_928), (3_982_848, 944_640), (22_067_712, 5_908_032), (7_075_968, 785_088)];
        assert!([cube, box_of_tower].iter().all(|(factor, matrix)| !is_matrix_quicker(*factor, *matrix)));
        assert!([knot, creases, bunny].iter().all(|(factor, matrix)| is_matrix_quicker(*factor, *matrix)));
    }
}
