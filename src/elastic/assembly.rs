//! Right-hand side and matrix, gathered from the element pass: one owner for every entry, so no order of threads can
//! show.

use std::ops::{Add, AddAssign, Mul, Range};

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::elements::{CornerForces, CornerGradients, Forces, Precision, Tangents};
use super::patches::EdgeBlock;
use crate::element::{Element, Tet4};
use crate::math::{Mat3, Vec3, for_each_part};
use crate::memory::Pages;
use crate::model::{End, Model};
use crate::model::{Grab, HeldPoint, Loads, Params, State};
use crate::sparse::{CHUNK, Operator, Pattern, RankOne, SingleBlock};

/// Rows that a thread fills at once.
const ROWS: usize = 128;

/// Inputs of the system of a step besides forces and tangents of the elements.
#[derive(Clone, Copy)]
pub struct SystemInputs<'a> {
    pub model: &'a Model,
    pub state: &'a State,
    pub params: &'a Params,
    pub loads: &'a Loads,
    /// Deformable bodies that make a step of second order; empty where none does.
    pub second_order: &'a [bool],
}

/// How the mass of a node answers in a step, its mass damping included: `m (factor dv - momentum)` is the impulse that
/// it takes.
///
/// Of backward Euler that is m (v' - v) with v' = v + dv. In a step of second order v + dv is the mean velocity w' of
/// the step, velocities end at v' = (3 w' - w) / 2 with that of the last step, w, and
///
/// ```text
/// m (3/2 v' - 2 v + 1/2 v_old) = m (9/4 dv - (3/4 w - 1/4 v - 1/2 v_old))
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Inertia {
    pub factor: f64,
    /// [m/s]
    pub momentum: Vec3,
}

/// `dv` enters velocities at the end of a step of second order with this factor.
pub const SECOND_ORDER: f64 = 1.5;

impl SystemInputs<'_> {
    /// Whether a deformable body makes a step of second order.
    pub fn is_second_order(&self, body: usize) -> bool {
        self.second_order.get(body) == Some(&true)
    }

    pub fn inertia(&self, node: usize) -> Inertia {
        let damping = self.params.time_step * self.model.mass_damping(node);
        let factor = self.mass_factor(self.model.node_bodies[node] as usize);
        let damped = self.undisturbed(node) * -damping;
        if !self.is_second_order(self.model.node_bodies[node] as usize) {
            return Inertia { factor, momentum: damped };
        }
        let (velocity, history) = (self.state.velocities[node], &self.state.history);
        let momentum = history.mean_velocities[node] * 0.75 - velocity * 0.25 - history.previous_velocities[node] * 0.5;
        Inertia { factor, momentum: momentum + damped }
    }

    /// [`Inertia::factor`] of the nodes of a deformable body.
    pub fn mass_factor(&self, body: usize) -> f64 {
        let damping = self.params.time_step * self.model.bodies[body].mass_damping;
        if self.is_second_order(body) { SECOND_ORDER * SECOND_ORDER + SECOND_ORDER * damping } else { 1.0 + damping }
    }

    /// The velocity of a node at the end of the step where velocities do not change [m/s].
    pub fn undisturbed(&self, node: usize) -> Vec3 {
        let velocity = self.state.velocities[node];
        if !self.is_second_order(self.model.node_bodies[node] as usize) {
            return velocity;
        }
        velocity * SECOND_ORDER - self.state.history.mean_velocities[node] * (SECOND_ORDER - 1.0)
    }
}

/// The right-hand side of  A dv = rhs  [kg m/s]: dt (f_el(x + (dt + beta) v) + m g + f_ext) - dt alpha m v, with R
/// frozen in f_el. It is Algorithm 3 of the thesis (corrected signs, `elasticity.md` 3.2, 7) in the unknown dv = v' -
/// v. Zero at fixed nodes. Of a free rigid body: weight, what turns its spin where nothing acts
/// ([`RigidState::free_spin`](crate::model::RigidState::free_spin)), and what attachments say to its turning.
pub fn right_hand_side(inputs: SystemInputs, forces: &Forces, rhs: &mut [Vec3]) {
    let SystemInputs { model, state, params, loads, .. } = inputs;
    let dt = params.time_step;
    let (nodes, rigid) = rhs.split_at_mut(model.n_nodes());
    rigid_right_hand_side(inputs, rigid);
    nodes.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, rhs)| {
        for (k, rhs) in rhs.iter_mut().enumerate() {
            let i = chunk * CHUNK + k;
            let mut force = params.gravity * model.node_masses[i] + node_force(model, forces, i);
            if let Some(extra) = loads.node_forces.get(i) {
                force += extra;
            }
            *rhs = force * dt + inputs.inertia(i).momentum * model.node_masses[i];
        }
    });
    for grab in &loads.grabs {
        if let HeldPoint::Nodes { nodes: held, weights } = grab.point {
            RankOne { nodes: held, weights, factor: 1.0 }.spread(&pull(grab, model, state, dt), nodes, 0);
        }
    }
    for (rhs, _) in nodes.iter_mut().zip(&model.fixed).filter(|(_, fixed)| **fixed) {
        *rhs = Vec3::zeros();
    }
}

/// The part of [`right_hand_side`] that belongs to the rigid bodies, two unknowns each.
pub fn rigid_right_hand_side(inputs: SystemInputs, rhs: &mut [Vec3]) {
    let SystemInputs { model, state, params, loads, .. } = inputs;
    let dt = params.time_step;
    for ((body, state), rhs) in model.rigid_bodies.iter().zip(&state.rigid_bodies).zip(rhs.chunks_exact_mut(2)) {
        rhs.fill(Vec3::zeros());
        if let Some((mass, inertia)) = body.inertia_in_space(&state.pose.rotation) {
            rhs[0] = params.gravity * (mass * dt);
            rhs[1] = inertia * (state.free_spin(&inertia, dt) - state.angular_velocity);
        }
    }
    for grab in &loads.grabs {
        if let HeldPoint::Rigid { body, .. } = grab.point {
            let (pull, (position, _)) = (pull(grab, model, state, dt), grab.point.motion(model, state));
            rhs[2 * body] += pull;
            rhs[2 * body + 1] += (position - state.rigid_bodies[body].pose.translation.vector).cross(&pull);
        }
    }
    for (body, stiffness) in turning_stiffnesses(model, state) {
        rhs[2 * body + 1] -= stiffness * state.rigid_bodies[body].angular_velocity * (dt * dt);
    }
}

/// Impulse of a grab on its point [kg m/s], where the velocities of the start do not change.
pub fn pull(grab: &Grab, model: &Model, state: &State, dt: f64) -> Vec3 {
    let (position, velocity) = grab.point.motion(model, state);
    (grab.target - position) * (dt * grab.stiffness) - velocity * grab_factor(grab, dt)
}

/// The matrix  A = (1 + dt alpha) M + (dt^2 + dt beta) K_warped + springs, by edge gather (`fem-study.md` 3): a block
/// (i, j) is summed over the tets that share the edge, its transpose is (j, i), and a diagonal block follows from the
/// rows of K summing to zero. Rigid bodies have mass and inertia, and what attachments add to it.
///
/// A grab of a rigid body couples its two unknowns: `s G^T G` with `G = [I, -[r]]` for the arm r. All contact methods
/// rely on the blocks of a rigid body standing apart, so the matrix takes `2 s diag(I, -[r]^2)` instead, which bounds
/// it from above (|a - b|^2 <= 2 |a|^2 + 2 |b|^2). The right-hand side is exact: the step stays stable and the
/// equilibrium is the same; while it is held, a body answers as if it were heavier by the part 2 s / m.
pub fn matrix(inputs: SystemInputs, tangents: &Tangents<f64>, a: &mut Operator, edge_blocks: &mut Vec<Mat3>) {
    matrix_of(inputs, &Vec::from_iter(0..inputs.model.bodies.len()), tangents, a, edge_blocks);
}

/// The rows of the deformable `bodies`, ascending, of the [`matrix`], and of the rigid ones; those of others stay.
pub fn matrix_of(inputs: SystemInputs, bodies: &[usize], tangents: &Tangents<f64>, a: &mut Operator, edge_blocks: &mut Vec<Mat3>) {
    let model = inputs.model;
    let pattern = &model.pattern;
    edge_blocks.resize(pattern.edges.len(), Mat3::zeros());
    a.blocks.resize(pattern.n_blocks(), Mat3::zeros());
    let nodes_of = |body: &usize| model.bodies[*body].nodes.clone();
    let edges_of = |body: &usize| pattern.edges_of(&nodes_of(body));
    for_each_part(bodies, &edges_of, (0, edge_blocks), &|body, blocks| {
        let first = edges_of(body).start;
        blocks.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, blocks)| {
            Arch::new().dispatch(EdgeBlocks { model, tangents, first: first + chunk * CHUNK, blocks });
        });
    });
    let fill = |i: usize, part: &mut [Mat3]| {
        let (row, diagonal) = (pattern.row(i), pattern.diagonals[i] as usize);
        let first = row.start;
        let mut sum = Mat3::identity() * (model.node_masses[i] * inputs.mass_factor(model.node_bodies[i] as usize));
        for b in row.start..diagonal {
            part[b - first] = edge_blocks[pattern.block_edges[b] as usize].transpose();
            sum -= part[b - first];
        }
        for b in diagonal + 1..row.end {
            part[b - first] = edge_blocks[pattern.block_edges[b] as usize];
            sum -= part[b - first];
        }
        part[diagonal - first] = sum;
    };
    let blocks_of = |body: &usize| pattern.blocks_of(&nodes_of(body));
    for_each_part(bodies, &blocks_of, (0, &mut a.blocks), &|body, blocks| fill_rows(pattern, nodes_of(body), blocks, &fill));
    link(inputs, a);
    a.invert_diagonals_of(pattern, &model.fixed, bodies, nodes_of);
}

/// Hands each of the rows to `fill` with its blocks; halves of them to different threads.
fn fill_rows(pattern: &Pattern, rows: Range<usize>, blocks: &mut [Mat3], fill: &(impl Fn(usize, &mut [Mat3]) + Sync)) {
    let first = pattern.row_starts[rows.start] as usize;
    if rows.len() <= ROWS {
        return rows.for_each(|i| fill(i, &mut blocks[pattern.row_starts[i] as usize - first..pattern.row_starts[i + 1] as usize - first]));
    }
    let middle = (rows.start + rows.end) / 2;
    let (blocks, blocks_after) = blocks.split_at_mut(pattern.row_starts[middle] as usize - first);
    rayon::join(|| fill_rows(pattern, rows.start..middle, blocks, fill), || fill_rows(pattern, middle..rows.end, blocks_after, fill));
}

/// The part of the matrix that is not in the blocks of the nodes: rigid bodies and springs.
pub fn link(inputs: SystemInputs, a: &mut Operator) {
    let SystemInputs { model, state, params, loads, .. } = inputs;
    let dt = params.time_step;
    a.rigid_blocks.clear();
    for (body, state) in model.rigid_bodies.iter().zip(&state.rigid_bodies) {
        let (mass, inertia) = body.inertia_in_space(&state.pose.rotation).unwrap_or((0.0, Mat3::zeros()));
        a.rigid_blocks.extend([Mat3::identity() * mass, inertia]);
    }
    a.rank_ones.clear();
    for grab in &loads.grabs {
        let factor = grab_factor(grab, dt);
        match grab.point {
            HeldPoint::Nodes { nodes, weights } => a.rank_ones.push(RankOne { nodes, weights, factor }),
            HeldPoint::Rigid { body, point } => {
                let arm = (state.rigid_bodies[body].pose.rotation * point).cross_matrix();
                a.rigid_blocks[2 * body] += Mat3::identity() * (2.0 * factor);
                a.rigid_blocks[2 * body + 1] -= arm * arm * (2.0 * factor);
            }
        }
    }
    for (body, stiffness) in turning_stiffnesses(model, state) {
        a.rigid_blocks[2 * body + 1] += stiffness * (dt * dt);
    }
}

/// The blocks of all edges of a deformable body in f32, each followed by its transpose; then zeros.
pub fn single_blocks<T: Precision>(model: &Model, body: usize, tangents: &Tangents<T>, blocks: &mut Pages<SingleBlock>) {
    let edges = model.pattern.edges_of(&model.bodies[body].nodes);
    blocks.fit(2 * edges.len() + 1);
    let (blocks, behind) = blocks.split_at_mut(2 * edges.len());
    behind.fill(SingleBlock::default());
    blocks.par_chunks_mut(2 * CHUNK).enumerate().for_each(|(chunk, blocks)| {
        Arch::new().dispatch(SingleBlocks { model, tangents, first: edges.start + chunk * CHUNK, blocks });
    });
}

/// Fills the blocks of consecutive edges, from `first` on ([`single_blocks`]).
struct SingleBlocks<'a, T> {
    model: &'a Model,
    tangents: &'a Tangents<T>,
    first: usize,
    blocks: &'a mut [SingleBlock],
}

impl<T: Precision> WithSimd for SingleBlocks<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (k, pair) in self.blocks.chunks_exact_mut(2).enumerate() {
            let block = columns_of(self.model, self.tangents, self.first + k);
            for c in 0..3 {
                for r in 0..3 {
                    pair[0][c][r] = block[c][r].exact() as f32;
                    pair[1][c][r] = block[r][c].exact() as f32;
                }
            }
        }
    }
}

/// The blocks of consecutive edges, from `first` on.
struct EdgeBlocks<'a> {
    model: &'a Model,
    tangents: &'a Tangents<f64>,
    first: usize,
    blocks: &'a mut [Mat3],
}

impl WithSimd for EdgeBlocks<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for k in 0..self.blocks.len() {
            self.blocks[k] = columns_of(self.model, self.tangents, self.first + k).into();
        }
    }
}

/// How the pull of attachments resists the turning of the rigid bodies that they hold (body, stiffness [N m]): with
/// the force F of the last step on the arm r, `d(r x F) = -((r . F) I - r F^T) d theta`. Its symmetric part, as far as
/// it is positive, so that a light body on a taut rope stays stable.
fn turning_stiffnesses(model: &Model, state: &State) -> impl Iterator<Item = (usize, Mat3)> {
    let forces = model.attachments.iter().zip(&state.attachment_forces);
    let ends = forces.flat_map(|(attachment, force)| attachment.ends.iter().zip([*force, -force]));
    ends.filter_map(|(end, force)| {
        let End::Rigid { body, point } = end else { return None };
        model.rigid_bodies[*body].is_free().then_some(())?;
        let arm = state.rigid_bodies[*body].pose.rotation * point;
        let outer = arm * force.transpose();
        let mut eigen = (Mat3::identity() * arm.dot(&force) - (outer + outer.transpose()) * 0.5).symmetric_eigen();
        eigen.eigenvalues.apply(|value| *value = value.max(0.0));
        Some((*body, eigen.recompose()))
    })
}

/// The term of a grab in the matrix, for the velocity of its point [kg].
pub fn grab_factor(grab: &Grab, dt: f64) -> f64 {
    dt * dt * grab.stiffness + dt * grab.damping
}

/// Sum of the forces on one node [N].
fn node_force(model: &Model, forces: &Forces, node: usize) -> Vec3 {
    if !model.node_patches.is_empty() && !model.node_patches.get(node).is_empty() {
        let forces = model.node_patches.get(node).iter().map(|corner| forces.patches[*corner as usize]);
        return forces.map(|[x, y, z, _]| Vec3::new(x, y, z)).sum();
    }
    corner_force(&forces.tets, model.node_corners.get(node))
}

/// Sum of the forces of tets on one node [N].
fn corner_force(forces: &[CornerForces], corners: &[u32]) -> Vec3 {
    let mut sum = [0.0; 4];
    for corner in corners {
        let (tet, c) = Tet4::corner_of(*corner);
        let force = &forces[tet][c];
        for k in 0..4 {
            sum[k] += force[k];
        }
    }
    Vec3::new(sum[0], sum[1], sum[2])
}

/// The columns of the block of an edge.
#[inline(always)]
fn columns_of<T: Precision>(model: &Model, tangents: &Tangents<T>, edge: usize) -> [[T; 3]; 3] {
    if !model.edge_patches.is_empty() && !model.edge_patches.get(edge).is_empty() {
        return patch_columns(&tangents.patches, model.edge_patches.get(edge));
    }
    edge_columns(tangents, model.edge_tets.get(edge))
}

/// Sum of the blocks of an edge ([`Model::patch_edge`]), by columns.
#[inline(always)]
fn patch_columns<T: Copy + Default + AddAssign>(blocks: &[EdgeBlock<T>], items: &[u32]) -> [[T; 3]; 3] {
    let mut sum = [[T::default(); 4]; 3];
    let mut transposed = sum;
    for item in items {
        let sum = if item % 2 == 0 { &mut sum } else { &mut transposed };
        let block = &blocks[(item / 2) as usize];
        for c in 0..3 {
            for r in 0..4 {
                sum[c][r] += block[c][r];
            }
        }
    }
    let mut columns = [[T::default(); 3]; 3];
    for c in 0..3 {
        for r in 0..3 {
            columns[c][r] = sum[c][r];
            columns[c][r] += transposed[r][c];
        }
    }
    columns
}

/// The block of one edge of tets, see [`edge_columns`].
#[inline(always)]
pub fn edge_block(tangents: &Tangents<f64>, edge_tets: &[u32]) -> Mat3 {
    edge_columns(tangents, edge_tets).into()
}

/// Sum over the tets of one edge of (lambda/mu) a_i a_j^T + a_j a_i^T + (a_i.a_j) I, by columns, which all follow from
/// T = sum a_i a_j^T where lambda/mu is the same in all.
#[inline(always)]
fn edge_columns<T: Precision>(tangents: &Tangents<T>, edge_tets: &[u32]) -> [[T; 3]; 3] {
    if tangents.gradients.is_empty() {
        let mut block = [[T::default(); 3]; 3];
        edge_tets.iter().for_each(|item| add_general_block(&mut block, tangents, *item));
        return block;
    }
    let ratio = edge_tets.first().map_or(T::default(), |item| tangents.gradients[Tet4::edge_of(*item).0].0[0][3]);
    let (mut t, mut of_volume) = ([[T::default(); 4]; 3], [[T::default(); 4]; 3]);
    let mut is_mixed = !tangents.edges.is_empty();
    for item in edge_tets {
        let (tet, [i, j]) = Tet4::edge_of(*item);
        let gradients = &tangents.gradients[tet].0;
        is_mixed |= gradients[i][3] != ratio;
        add_outer(&mut t, &gradients[i], &gradients[j]);
        if let Some(CornerGradients(gradients)) = tangents.volume_gradients.get(tet) {
            add_outer(&mut of_volume, &gradients[i], &gradients[j]);
        }
    }
    if is_mixed {
        return mixed_columns(tangents, edge_tets);
    }
    let mut block = warped_block(&t, ratio);
    if !tangents.volume_gradients.is_empty() {
        for c in 0..3 {
            for r in 0..3 {
                block[c][r] += of_volume[c][r];
            }
        }
    }
    block
}

/// Adds `a b^T`, by columns. (Of all four numbers of a: that is a register.)
#[inline(always)]
fn add_outer<T: Copy + AddAssign + Mul<Output = T>>(sum: &mut [[T; 4]; 3], a: &[T; 4], b: &[T; 4]) {
    for c in 0..3 {
        for r in 0..4 {
            sum[c][r] += a[r] * b[c];
        }
    }
}

/// [`edge_columns`] of an edge with tets of different lambda/mu, or with general tangents: tet by tet.
#[cold]
#[inline(never)]
fn mixed_columns<T: Precision>(tangents: &Tangents<T>, edge_tets: &[u32]) -> [[T; 3]; 3] {
    let mut block = [[T::default(); 3]; 3];
    for item in edge_tets {
        let (tet, [i, j]) = Tet4::edge_of(*item);
        let (ai, aj) = (&tangents.gradients[tet].0[i], &tangents.gradients[tet].0[j]);
        let warped = warped_block(&[0, 1, 2].map(|c| ai.map(|x| x * aj[c])), ai[3]);
        if !tangents.volume_gradients.is_empty() {
            add_volume_block(&mut block, tangents, *item);
        }
        if !tangents.edges.is_empty() {
            add_general_block(&mut block, tangents, *item);
        }
        for c in 0..3 {
            for r in 0..3 {
                block[c][r] += warped[c][r];
            }
        }
    }
    block
}

/// Adds the block of a general tangent, by columns.
#[inline(always)]
fn add_general_block<T: Copy + AddAssign>(block: &mut [[T; 3]; 3], tangents: &Tangents<T>, item: u32) {
    let (tet, [i, j]) = Tet4::edge_of(item);
    let columns = &tangents.edges[tet].0[Tet4::edge_number(i.min(j), i.max(j))];
    for c in 0..3 {
        for r in 0..3 {
            block[c][r] += if i < j { columns[c][r] } else { columns[r][c] };
        }
    }
}

/// Adds c_i c_j^T, by columns.
#[inline(always)]
fn add_volume_block<T: Copy + AddAssign + Mul<Output = T>>(block: &mut [[T; 3]; 3], tangents: &Tangents<T>, item: u32) {
    let (tet, [i, j]) = Tet4::edge_of(item);
    let gradients = &tangents.volume_gradients[tet].0;
    let (ci, cj) = (&gradients[i], &gradients[j]);
    for c in 0..3 {
        for r in 0..3 {
            block[c][r] += ci[r] * cj[c];
        }
    }
}

/// ratio T + T^T + tr(T) I, by columns.
#[inline(always)]
fn warped_block<T: Copy + Add<Output = T> + Mul<Output = T>>(t: &[[T; 4]; 3], ratio: T) -> [[T; 3]; 3] {
    let trace = t[0][0] + t[1][1] + t[2][2];
    let mut block = [[trace; 3]; 3];
    for c in 0..3 {
        for r in 0..3 {
            let entry = ratio * t[c][r] + t[r][c];
            block[c][r] = if r == c { entry + trace } else { entry };
        }
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Isometry, Quat};
    use crate::mesh::{mass_properties, shapes};
    use crate::model::{Mobility, ModelBuilder, RigidBody};

    /// For any velocities the matrix of a held rigid body has at least the energy of body and spring, and no more than
    /// twice the spring's beyond.
    #[test]
    fn the_blocks_of_a_held_rigid_body_bound_its_spring() {
        let surface = shapes::surface_box(Vec3::new(0.3, 0.1, 0.2));
        let unit = mass_properties(&surface.positions, &surface.triangles, 1000.0).unwrap();
        let mut builder = ModelBuilder::default();
        builder.rigid_body(RigidBody {
            name: "block".into(),
            mobility: Mobility::Free { mass: unit.mass, inertia: unit.inertia },
            vertices: surface.positions,
            triangles: surface.triangles,
            texture_coordinates: None,
            pose: Isometry::from_parts(Vec3::new(1.0, 2.0, 3.0).into(), Quat::from_scaled_axis(Vec3::new(0.3, -0.8, 0.5))),
            velocity: Vec3::zeros(),
            angular_velocity: Vec3::zeros(),
            color: None,
        });
        let model = builder.build().unwrap();
        let (state, params, point) = (State::initial(&model), Params::default(), Vec3::new(0.15, 0.05, -0.1));
        let grab = Grab { point: HeldPoint::Rigid { body: 0, point }, stiffness: 900.0, damping: 70.0, target: Vec3::zeros() };
        let blocks = |grabs: Vec<Grab>| {
            let mut a = Operator::default();
            let loads = Loads { grabs, ..Loads::default() };
            let inputs = SystemInputs { model: &model, state: &state, params: &params, loads: &loads, second_order: &[] };
            matrix(inputs, &Tangents::default(), &mut a, &mut vec![]);
            a.rigid_blocks
        };
        let (free, held) = (blocks(vec![]), blocks(vec![grab]));
        let arm = model.rigid_bodies[0].pose.rotation * point;
        for k in 0..50 {
            let random = |j: usize| Vec3::from_fn(|i, _| ((7 * k + 3 * j + i) as f64 * 12.989_8).sin());
            let (v, omega) = (random(0), random(1) * 10.0);
            let extra = v.dot(&((held[0] - free[0]) * v)) + omega.dot(&((held[1] - free[1]) * omega));
            let spring = (v + omega.cross(&arm)).norm_squared() * grab_factor(&grab, params.time_step);
            let apart = (v.norm_squared() + omega.cross(&arm).norm_squared()) * grab_factor(&grab, params.time_step);
            assert!(extra >= spring - 1e-9 && extra <= 2.0 * apart + 1e-9, "{extra} {spring} {apart}");
        }
    }
}
