//! The arrays that a model and the inputs of a step become.

mod elements;
#[cfg(test)]
mod tests;

use bytemuck::Zeroable;

pub use elements::{Laws, gradients, patches, tets};

use super::device::DeviceError;
use super::kernel::Buffers;
use super::layout::{ControlData, GrabData, MAX_GRABS, NodeData, ParamsData, Pattern, PointData, ShareData, vec3, vec4};
use super::limits::WORKGROUP;
use crate::cancel::CancelToken;
use crate::math::Vec3;
use crate::model::{Grab, HeldPoint, Loads, Model, Params};
use crate::step::StageWork;

/// Workgroups of the kernels over rows and tiles, and where the tables of the matrix stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// Workgroups over the rows of all bodies.
    pub rows: u32,
    pub tiles: u32,
    /// Tiles of bodies that one workgroup cannot hold; they come first.
    pub loop_tiles: u32,
    /// Bodies that are solved in one workgroup.
    pub whole: u32,
    pub pattern: [[u32; 4]; Pattern::OFFSETS],
}

impl Groups {
    /// What the loops of an elastic solve leave in the figures, of which `recorded` iterations were recorded and the
    /// slowest body took `taken`: dispatches that were empty, and turns within one workgroup.
    pub fn loops(&self, recorded: u32, taken: u32) -> StageWork {
        StageWork {
            empty: if self.loop_tiles > 0 { 2 * recorded.saturating_sub(taken) } else { 0 },
            serial: if self.whole > 0 { taken } else { 0 },
            ..StageWork::default()
        }
    }
}

/// The constant buffers of a model. Ends soon after `cancel` is cancelled.
pub fn upload_model_unless(buffers: &mut Buffers, model: &Model, cancel: &CancelToken) -> Result<(), DeviceError> {
    let laws = Laws { tangled: &[], second_order: &[], rows: &[], turned: &[] };
    buffers.upload("tets", &tets(model, laws))?;
    cancel.check()?;
    buffers.upload("patches", &patches(model, laws))?;
    buffers.upload("patch_nodes", &elements::nodes(model))?;
    buffers.upload("patch_gradients", &elements::gradients(model, laws))?;
    cancel.check()?;
    buffers.upload("nodes", &nodes(model, |node| model.mass_damping(node)))?;
    cancel.check()?;
    buffers.upload("node_corners", &elements::corner_items(model))?;
    cancel.check()?;
    let edges = elements::edge_lists(model);
    buffers.upload("edge_starts", &edges.starts)?;
    buffers.upload("edge_tets", &edges.items)?;
    buffers.upload("edge_places", &model.pattern.edge_blocks)?;
    cancel.check()?;
    let points: Vec<_> = model
        .surface_positions(&model.rest_positions)
        .iter()
        .enumerate()
        .map(|(k, rest)| PointData {
            nodes: model.surface.nodes[k],
            weights: model.surface.weights[k].map(|w| w as f32),
            rest: vec3(rest),
            body: model.surface.bodies[k],
        })
        .collect();
    buffers.upload("points", &points)
}

/// All nodes, with their damping by mass [1/s]; the last one ends their lists.
pub fn nodes(model: &Model, mass_damping: impl Fn(usize) -> f64) -> Vec<NodeData> {
    let [corners, forces] = elements::node_lists(model);
    let node = |i: usize| NodeData { corners: corners[i], force_corners: forces[i], ..NodeData::default() };
    let of_node = |i: usize| NodeData {
        mass: model.node_masses[i] as f32,
        mass_damping: mass_damping(i) as f32,
        free: if model.fixed[i] { 0.0 } else { 1.0 },
        ..node(i)
    };
    let n = model.n_nodes();
    (0..n).map(of_node).chain([node(n)]).collect()
}

/// The part of a step that the user may change.
pub fn params_data(model: &Model, params: &Params, loads: &Loads, groups: &Groups) -> ParamsData {
    let dt = params.time_step;
    let mut grabs = [GrabData::zeroed(); MAX_GRABS];
    for (data, grab) in grabs.iter_mut().zip(&loads.grabs) {
        *data = grab_data(model, grab, dt);
    }
    ParamsData {
        gravity: vec4(&params.gravity, 0.0),
        pattern: groups.pattern,
        dt: dt as f32,
        tolerance: params.tolerance as f32,
        contact_tolerance: params.contact_tolerance as f32,
        is_two_level: u32::from(params.is_two_level()),
        n_nodes: model.n_nodes() as u32,
        n_tets: model.tets.len() as u32,
        n_edges: model.pattern.edges.len() as u32,
        n_points: model.n_vertices() as u32,
        max_iterations: params.max_iterations,
        row_groups: groups.rows,
        n_grabs: loads.grabs.len().min(MAX_GRABS) as u32,
        has_node_forces: u32::from(!loads.node_forces.is_empty()),
        n_bodies: model.bodies.len() as u32,
        max_contact_iterations: params.max_contact_iterations,
        fixed_iterations: params.fixed_iterations.unwrap_or(0),
        n_tiles: groups.tiles,
        loop_tiles: groups.loop_tiles,
        n_whole: groups.whole,
        n_cells: model.cells.len() as u32,
        n_tets10: model.tets10.len() as u32,
        grabs,
    }
}

/// How the solve of each body begins; `remembered` says which are solved already, or with their contacts. The scale
/// is that of `step::StepInputs::drive`, whose part for unloaded bodies the device adds.
pub fn controls(model: &Model, params: &Params, loads: &Loads, remembered: &[bool]) -> Vec<ControlData> {
    let dt = params.time_step;
    let of_body = |(body, &remembered): (&crate::model::Body, &bool)| {
        let mass_norm = model.node_masses[body.nodes.clone()].iter().map(|m| m * m).sum::<f64>().sqrt();
        let forces: f64 = loads.node_forces.get(body.nodes.clone()).unwrap_or(&[]).iter().map(Vec3::norm_squared).sum();
        ControlData {
            scale: (dt * params.gravity.norm() * mass_norm + dt * forces.sqrt()) as f32,
            least_scale: (1e-12 * mass_norm) as f32,
            elastic_done: u32::from(remembered),
            remembered: u32::from(remembered),
            ..ControlData::default()
        }
    };
    model.bodies.iter().zip(remembered).map(of_body).collect()
}

/// Shares out at most `most` workgroups over the bodies by their size, at least one to each.
pub fn shares(model: &Model, most: u32) -> Vec<ShareData> {
    let wanted = |body: &crate::model::Body| (body.nodes.len() as u32).div_ceil(WORKGROUP).max(1);
    let total: u32 = model.bodies.iter().map(wanted).sum();
    let spare = u64::from(most.saturating_sub(model.bodies.len() as u32));
    let mut shares: Vec<ShareData> = vec![];
    for (b, body) in model.bodies.iter().enumerate() {
        let (wanted, first_group) = (wanted(body), shares.len() as u32);
        let n_groups = if total <= most { wanted } else { wanted.min(1 + (u64::from(wanted) * spare / u64::from(total)) as u32) };
        let share = ShareData {
            body: b as u32,
            first_group,
            n_groups,
            first_node: body.nodes.start as u32,
            end_node: body.nodes.end as u32,
            ..ShareData::default()
        };
        shares.extend(std::iter::repeat_n(share, n_groups as usize));
    }
    shares
}

fn grab_data(model: &Model, grab: &Grab, dt: f64) -> GrabData {
    // The host holds rigid bodies.
    let HeldPoint::Nodes { nodes, weights } = grab.point else { return GrabData::zeroed() };
    let rest: Vec3 = nodes.iter().zip(&weights).map(|(n, w)| model.rest_positions[*n as usize] * *w).sum();
    GrabData {
        nodes: bytemuck::cast(nodes),
        weights: bytemuck::cast(weights.map(|w| w as f32)),
        offset: vec4(&(grab.target - rest), 0.0),
        stiffness: grab.stiffness as f32,
        damping: grab.damping as f32,
        factor: (dt * dt * grab.stiffness + dt * grab.damping) as f32,
        pad: 0.0,
    }
}
