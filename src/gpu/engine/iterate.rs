//! What a step is linearised about where Newton's method asks for it. The device solves for what velocities change
//! beyond the iterate, `A_k (dv - dv_k) = residual`, with the residual of the host in f64: what f32 leaves falls with
//! the residual itself, from iteration to iteration.

use super::DeviceBackend;
use crate::contact::Constraint;
use crate::gpu::layout::{ControlData, split, vec4};
use crate::math::Vec3;
use crate::step::{MOMENTUM_SHARE, NonlinearEquation, StepInputs};

/// The iterate that the device's matrix is of.
#[derive(Default)]
pub struct Iterate {
    is_there: bool,
    /// Velocity changes of all unknowns [m/s]; no longer than there are any.
    changes: Vec<Vec3>,
    equation: NonlinearEquation,
    residual: Vec<Vec3>,
    /// What the residual of a body is measured against where it has no loads [kg m/s].
    scales: Vec<f64>,
}

impl Iterate {
    pub fn is_there(&self) -> bool {
        self.is_there
    }

    /// The whole velocity change of an unknown of which the device has found `beyond` [m/s].
    pub fn whole(&self, unknown: usize, beyond: Vec3) -> Vec3 {
        if self.is_there { self.changes[unknown] + beyond } else { beyond }
    }

    /// Rows as the device solves them: their motion begins at the iterate.
    pub fn shift(&self, contacts: &[Constraint], dt: f64) -> Vec<Constraint> {
        let mut contacts = contacts.to_vec();
        for contact in &mut contacts {
            contact.row.offset = contact.row.motion(|unknown| self.changes[unknown], dt);
        }
        contacts
    }

    /// Bodies without loads are measured against what the host says.
    pub fn scale(&self, controls: &mut [ControlData]) {
        if self.is_there {
            let unloaded = controls.iter_mut().zip(&self.scales).filter(|(control, _)| control.scale == 0.0);
            unloaded.for_each(|(control, scale)| control.scale = *scale as f32);
        }
    }
}

impl DeviceBackend {
    /// Brings where the iterate of a step leads, if it has one. `start`: velocity changes that the solve begins with;
    /// rigid bodies have them already.
    pub(super) fn bring_iterate(&mut self, step: &StepInputs, start: &[Vec3]) {
        self.iterate.is_there = step.iterate.is_some();
        let Some(changes) = step.iterate else { return };
        let &StepInputs { model, state, .. } = step;
        let n = model.n_nodes();
        // As long as nothing was read in this step, elements remember what they did after the last one.
        let states = if self.has_rotations { &self.rotations } else { &state.rotations };
        let Self { iterate: Iterate { changes: kept, equation, residual, scales, .. }, staging, buffers, links, .. } = self;
        kept.clear();
        kept.extend_from_slice(changes);
        equation.residual(step, changes, states, residual);
        for ((residual, block), change) in residual[n..].iter_mut().zip(&links.rigid_blocks).zip(&changes[n..]) {
            *residual -= block * change;
        }
        scales.clear();
        scales.extend(model.bodies.iter().map(|body| {
            let momentum2: f64 = body.nodes.clone().map(|i| (state.velocities[i] * model.node_masses[i]).norm_squared()).sum();
            MOMENTUM_SHARE * momentum2.sqrt() + equation.element_impulse2(step, body).sqrt()
        }));
        let (high, low): (Vec<_>, Vec<_>) = step.displacements(changes).map(|u| split(&u)).unzip();
        staging.put(buffers.get("displacements_hi"), 0, &high);
        staging.put(buffers.get("displacements_lo"), 0, &low);
        // What moves is in the residual.
        staging.put(buffers.get("velocities"), 0, &vec![[0.0f32; 4]; n]);
        let beyond: Vec<_> = start.iter().zip(changes).map(|(start, change)| vec4(&(start - change), 0.0)).collect();
        staging.put(buffers.get("dv"), 0, &beyond);
        staging.put(buffers.get("rhs_iterate"), 0, &residual.iter().map(|r| vec4(r, 0.0)).collect::<Vec<_>>());
    }
}
