//! What elements answer by in a step: the law of bodies that are tangled, rest shapes that have flowed, and rotations
//! of elements that have collapsed. The host finds them, as the state is its own; the kernels of the materials know
//! none.

use rayon::prelude::*;

use super::DeviceBackend;
use crate::elastic::{Degeneration, Quaternion, deformation_gradient, frames, gradient, patch_gradient, state_rows};
use crate::element::{ElementKind, Patch};
use crate::gpu::upload::{Laws, gradients, nodes, patches, tets};
use crate::material::{Constitutive, Material};
use crate::math::{Mat3, Vec3};
use crate::model::Tet;
use crate::step::StepInputs;

/// Tets that a thread takes at least.
const MIN_TETS_PER_TASK: usize = 256;

/// The device has elements by these.
#[derive(Default)]
pub struct Kept {
    tangled: Vec<bool>,
    /// Bodies that make a step of second order, and its length [s].
    second_order: Vec<bool>,
    time_step: f64,
    /// Rows of state of all tets; none where they have to be brought.
    pub rows: Vec<Quaternion>,
    /// Tets whose rotation is not followed.
    turned: Vec<bool>,
}

/// What a tet remembers in a step, and its rotation where that is not the followed one.
#[derive(Default)]
struct TetState {
    rows: Vec<Quaternion>,
    turned: Option<Quaternion>,
}

impl DeviceBackend {
    /// Brings the elements to the device if they are not those that it has. `begins`: the step does, and what elements
    /// remember is taken to its start; else the step goes on at another iterate.
    pub fn bring_laws(&mut self, step: &StepInputs, begins: bool) {
        let &StepInputs { model, state, second_order, .. } = step;
        let found = advance(step, if begins { None } else { Some(&self.laws.rows) });
        let rows: Vec<Quaternion> = found.iter().flat_map(|tet| tet.rows.iter().copied()).collect();
        let turned: Vec<bool> = found.iter().map(|tet| tet.turned.is_some()).collect();
        let Self { laws, staging, buffers, .. } = self;
        let are_tangled = laws.tangled.contains(&true) || state.tangled.contains(&true);
        let is_other_law = are_tangled && laws.tangled != state.tangled;
        let time_step = step.params.time_step;
        let is_other_order = laws.second_order != second_order || (second_order.contains(&true) && laws.time_step != time_step);
        if is_other_law || is_other_order || laws.rows != rows || laws.turned != turned {
            let now = Laws { tangled: &state.tangled, second_order, rows: &rows, turned: &turned };
            staging.put(buffers.get("tets"), 0, &tets(model, now));
            staging.put(buffers.get("patches"), 0, &patches(model, now));
            staging.put(buffers.get("patch_gradients"), 0, &gradients(model, now));
            let rows: Vec<_> = rows.iter().map(|row| row.map(|x| x as f32)).collect();
            staging.put(buffers.get("rotations"), 16 * model.tets.len() as u64, &rows);
        }
        if is_other_order {
            staging.put(buffers.get("nodes"), 0, &nodes(model, |node| inertial_damping(step, node)));
            (laws.second_order, laws.time_step) = (second_order.to_vec(), time_step);
        }
        if turned.contains(&true) {
            let followed = if self.has_rotations { &self.rotations } else { &state.rotations };
            let rotations = found.iter().zip(followed).map(|(tet, followed)| tet.turned.unwrap_or(*followed));
            staging.put(buffers.get("rotations"), 0, &rotations.map(|q| q.map(|c| c as f32)).collect::<Vec<_>>());
        }
        (laws.rows, laws.turned) = (rows, turned);
        if is_other_law {
            laws.tangled.clone_from(&state.tangled);
            // Tangents of another form stand elsewhere.
            let mut encoder = self.encoder();
            ["corner_gradients", "edge_tangents"].iter().for_each(|name| encoder.clear_buffer(self.buffers.get(name), 0, None));
            self.device.queue.submit([encoder.finish()]);
        }
    }
}

/// The damping by mass [1/s] with which a node has the inertia of its step.
fn inertial_damping(step: &StepInputs, node: usize) -> f64 {
    let system = step.system();
    let body = step.model.node_bodies[node] as usize;
    if !system.is_second_order(body) {
        return step.model.mass_damping(node);
    }
    (system.mass_factor(body) - 1.0) / step.params.time_step
}

/// What all tets remember in a step, and how some are turned where it leads or begins; `kept`: the rows of a step that
/// has begun. Nothing where tets remember nothing and answer in their own frames.
fn advance(step: &StepInputs, kept: Option<&[Quaternion]>) -> Vec<TetState> {
    let &StepInputs { model, state, params, .. } = step;
    let n_tets = model.tets.len().min(state.rotations.len());
    let frames = frames(model, state);
    if state.rotations.len() == n_tets && frames.is_empty() {
        return vec![];
    }
    let moved: Vec<Vec3> = step.iterate.map_or_else(|| state.displacements.clone(), |iterate| step.displacements(iterate).collect());
    let tets: Vec<_> = model.tets.iter().zip(state_rows(model, kept.unwrap_or(&state.rotations[n_tets..]))).collect();
    let of_tet = |(tet, rows): &(&Tet, &[Quaternion])| {
        let mut tet_state = TetState { rows: rows.to_vec(), turned: None };
        let is_tangled = state.tangled.get(tet.body as usize) == Some(&true);
        let (material, begins) = (model.material(tet), kept.is_none().then_some(params.time_step));
        let is_element = model.bodies[tet.body as usize].element == ElementKind::Linear;
        if let Some(time) = begins.filter(|_| !is_tangled && is_element) {
            flow(material, &gradient(tet, &moved), time, &mut tet_state.rows);
        }
        tet_state.turned = frames.get(tet.body as usize).copied().flatten();
        if tet_state.turned.is_none() {
            turn(tet, material, [&moved, &state.velocities], begins, is_tangled, &mut tet_state);
        }
        tet_state
    };
    let mut found: Vec<TetState> = tets.par_iter().with_min_len(MIN_TETS_PER_TASK).map(of_tet).collect();
    if kept.is_none() {
        model.cells.iter().for_each(|cell| flow_of_points(step, cell, &moved, &mut found));
        model.tets10.iter().for_each(|tet| flow_of_points(step, tet, &moved, &mut found));
    }
    found
}

/// What flows at a displacement gradient does so for a time [s].
fn flow(material: &Material, gradient: &Mat3, time: f64, rows: &mut [Quaternion]) {
    let Some(rule) = material.plasticity else { return };
    let found = rule.advance(&Constitutive::new(material), gradient, time, material.plastic_rows(rows));
    if let Some(last) = rows.last_chunk_mut() {
        *last = found.0;
    }
}

/// The same of the points of an element of several tets, for all tets that keep them.
fn flow_of_points<const N: usize, const P: usize>(step: &StepInputs, patch: &Patch<N, P>, moved: &[Vec3], found: &mut [TetState]) {
    let &StepInputs { model, state, params, .. } = step;
    let is_tangled = state.tangled.get(model.tets[patch.tets().start].body as usize) == Some(&true);
    let material = &model.materials[patch.material as usize];
    if is_tangled || material.plasticity.is_none() {
        return;
    }
    let (points, others) = found[patch.tets()].split_at_mut(patch.n_points());
    for (point, tet) in points.iter_mut().enumerate() {
        flow(material, &patch_gradient(patch, point, moved), params.time_step, &mut tet.rows);
    }
    others.iter_mut().zip(&*points).for_each(|(other, point)| other.rows.clone_from(&point.rows));
}

/// Which features of a tet have met in the `time` [s] before a step that begins, and the rotation of a tet of which
/// some have.
fn turn(
    tet: &Tet,
    material: &Material,
    [displacements, velocities]: [&[Vec3]; 2],
    time: Option<f64>,
    is_tangled: bool,
    TetState { rows, turned }: &mut TetState,
) {
    let Some(ratio) = material.degeneration_ratio else { return };
    let flowed = if material.plasticity.is_some() && !is_tangled { material.plastic_rows(rows).change() } else { Mat3::zeros() };
    let [_, gradients @ ..] = tet.gradients.map(|gradient| gradient + flowed * gradient);
    let reshape = Mat3::identity() + flowed;
    let to = deformation_gradient(tet, displacements) * reshape;
    let from = time.map(|time| to - gradient(tet, velocities) * reshape * time);
    let pair = &mut rows[material.model.state_rows()][0];
    (*pair, *turned) = Degeneration { ratio }.of_element(&gradients, from.as_ref(), &to, *pair);
}
