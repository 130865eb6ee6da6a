//! What elements answer by in a step: the law of bodies that are tangled, and rest shapes that have flowed. The host
//! finds both, as the state is its own; the kernels of the materials know neither.

use rayon::prelude::*;

use super::DeviceBackend;
use crate::elastic::{Quaternion, deformation_gradient, state_rows};
use crate::gpu::upload::{Laws, patches, tets};
use crate::material::Constitutive;
use crate::math::Mat3;
use crate::model::{Model, State};

/// Tets that a thread takes at least.
const MIN_TETS_PER_TASK: usize = 256;

/// The device has elements by these.
#[derive(Default)]
pub struct Kept {
    tangled: Vec<bool>,
    /// Rows of state of all tets; none where they have to be brought.
    pub rows: Vec<Quaternion>,
}

impl DeviceBackend {
    /// Lets what flows do so for a time [s] from a state on, and brings the elements to the device if they are not
    /// those that it has.
    pub fn bring_laws(&mut self, model: &Model, state: &State, time: f64) {
        let rows = flowed(model, state, time);
        let Self { laws, staging, buffers, .. } = self;
        let are_tangled = laws.tangled.contains(&true) || state.tangled.contains(&true);
        let is_other_law = are_tangled && laws.tangled != state.tangled;
        if is_other_law || laws.rows != rows {
            let now = Laws { tangled: &state.tangled, rows: &rows };
            staging.put(buffers.get("tets"), 0, &tets(model, now));
            staging.put(buffers.get("patches"), 0, &patches(model, now));
            let rows: Vec<_> = rows.iter().map(|row| row.map(|x| x as f32)).collect();
            staging.put(buffers.get("rotations"), 16 * model.tets.len() as u64, &rows);
        }
        laws.rows = rows;
        if is_other_law {
            laws.tangled.clone_from(&state.tangled);
            // Tangents of another form stand elsewhere.
            let mut encoder = self.encoder();
            ["corner_gradients", "edge_tangents"].iter().for_each(|name| encoder.clear_buffer(self.buffers.get(name), 0, None));
            self.device.queue.submit([encoder.finish()]);
        }
    }
}

/// Rows of state of all tets after a time [s] at a state.
fn flowed(model: &Model, state: &State, time: f64) -> Vec<Quaternion> {
    let rows = &state.rotations[model.tets.len().min(state.rotations.len())..];
    if rows.is_empty() {
        return vec![];
    }
    let tets: Vec<_> = model.tets.iter().zip(state_rows(model, rows)).collect();
    let of_tet = |(tet, rows): &(&crate::model::Tet, &[Quaternion])| {
        let (mut rows, material) = (rows.to_vec(), model.material(tet));
        let is_tangled = state.tangled.get(tet.body as usize) == Some(&true);
        if let Some(rule) = material.plasticity.filter(|_| !is_tangled) {
            let gradient = deformation_gradient(tet, &state.displacements) - Mat3::identity();
            let found = rule.advance(&Constitutive::new(material), &gradient, time, material.plastic_rows(&rows));
            if let Some(last) = rows.last_chunk_mut() {
                *last = found.0;
            }
        }
        rows
    };
    let found: Vec<Vec<Quaternion>> = tets.par_iter().with_min_len(MIN_TETS_PER_TASK).map(of_tet).collect();
    found.concat()
}
