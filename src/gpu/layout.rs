//! Host side of the structs in `shaders/lib/model.wgsl`, and the arrays that a model becomes.

#[cfg(test)]
pub mod tests;

use bytemuck::{Pod, Zeroable};

use super::detection::LEVELS;
use super::tiles::Groups;
use super::{Buffers, DeviceError, WORKGROUP};
use crate::material::Lame;
use crate::math::Vec3;
use crate::model::Model;
use crate::model::{Grab, HeldPoint, Loads, MAX_GRABS, Params};

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct TetData {
    pub nodes: [u32; 4],
    pub g1: [f32; 4],
    pub g2: [f32; 4],
    pub g3: [f32; 4],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct NodeData {
    pub mass: f32,
    pub mass_damping: f32,
    pub free: f32,
    pub corners: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct PointData {
    pub nodes: [u32; 4],
    pub weights: [f32; 4],
    pub rest: [f32; 3],
    pub body: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct BlockData {
    pub x: [f32; 4],
    pub y: [f32; 4],
    pub z: [f32; 4],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct GrabData {
    pub nodes: [u32; 12],
    pub weights: [f32; 12],
    pub offset: [f32; 4],
    pub stiffness: f32,
    pub damping: f32,
    pub factor: f32,
    pub pad: f32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct ParamsData {
    pub gravity: [f32; 4],
    pub dt: f32,
    pub tolerance: f32,
    pub contact_tolerance: f32,
    pub is_two_level: u32,
    pub n_nodes: u32,
    pub n_tets: u32,
    pub n_edges: u32,
    pub n_points: u32,
    pub max_iterations: u32,
    pub row_groups: u32,
    pub n_grabs: u32,
    pub has_node_forces: u32,
    pub n_bodies: u32,
    pub max_contact_iterations: u32,
    pub fixed_iterations: u32,
    pub n_blocks: u32,
    pub n_tiles: u32,
    pub loop_tiles: u32,
    pub n_whole: u32,
    pub pad: u32,
    pub grabs: [GrabData; MAX_GRABS],
}

/// Where the tables of a contact solve stand.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct CwcData {
    pub n_contacts: u32,
    pub n_groups: u32,
    pub n_islands: u32,
    pub n_places: u32,
    pub n_members: u32,
    pub groups: u32,
    pub islands: u32,
    pub members: u32,
    pub member_contacts: u32,
    pub places: u32,
    pub items: u32,
    pub levers: u32,
    pub sums: u32,
    pub solves: u32,
    pub rotations: u32,
    pub body_islands: u32,
}

/// Where the tables of the search for pairs stand.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct SearchData {
    pub n_vertices: u32,
    pub n_edges: u32,
    pub n_triangles: u32,
    pub n_leaves: u32,
    pub edges: u32,
    pub triangles: u32,
    pub leaves: u32,
    pub capacity: u32,
    pub n_levels: u32,
    pub partners: u32,
    pub pad_0: u32,
    pub pad_1: u32,
    pub levels: [[u32; 4]; LEVELS],
}

/// What a body has to do with a search.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct SearchBodyData {
    pub flags: u32,
    pub first_leaf: u32,
    pub end_leaf: u32,
    pub pad: u32,
}

/// What is sieved.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct SieveData {
    pub n_vertex_faces: u32,
    pub n_pairs: u32,
    pub edges: u32,
    pub pad: u32,
}

/// A contact of a solve.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct RowData {
    pub normal: [f32; 4],
    pub tangent_1: [f32; 4],
    pub tangent_2: [f32; 4],
    pub give: [f32; 4],
    pub sides: [[u32; 4]; 2],
    pub levers: [u32; 4],
}

/// Where the tables of the conjugate residuals stand behind those of the contacts.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct CrData {
    pub n_islands: u32,
    pub n_groups: u32,
    pub n_unknowns: u32,
    pub islands: u32,
    pub groups: u32,
    pub rigid: u32,
    pub sums: u32,
    pub loads: u32,
}

/// State of the conjugate residuals of one island.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct CrControlData {
    pub done: u32,
    pub converged: u32,
    pub is_exhausted: u32,
    pub stuck: u32,
    pub phase: u32,
    pub next_phase: u32,
    pub action: u32,
    pub fresh: u32,
    pub iterations: u32,
    pub since_evaluation: u32,
    pub restarts: u32,
    pub is_loaded: u32,
    pub rho: f32,
    pub alpha: f32,
    pub error: f32,
    pub error_after_restart: f32,
    pub scale: f32,
    pub least_scale: f32,
    pub bound2: f32,
    pub final2: f32,
    pub residual2: f32,
    pub pad: f32,
}

/// The rows that a workgroup works on.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct ShareData {
    pub body: u32,
    pub first_group: u32,
    pub n_groups: u32,
    pub pad: u32,
    pub first_node: u32,
    pub end_node: u32,
    pub pad_1: u32,
    pub pad_2: u32,
}

/// State of the solve of one body.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct ControlData {
    pub converged: u32,
    pub iterations: u32,
    pub residual2: f32,
    pub target2: f32,
    pub scale: f32,
    pub least_scale: f32,
    pub elastic_done: u32,
    pub contact_iterations: u32,
    pub remembered: u32,
    pub energy_target: f32,
    pub pad_0: u32,
    pub pad_1: u32,
}

/// A vector of the device; the fourth lane is free.
pub fn vec4(v: &Vec3, w: f64) -> [f32; 4] {
    [v.x as f32, v.y as f32, v.z as f32, w as f32]
}

pub fn vec3(v: &Vec3) -> [f32; 3] {
    [v.x as f32, v.y as f32, v.z as f32]
}

/// A displacement [m] as a multiple of 2^-12 m and a small rest: differences of neighbours come out exact at any distance from the origin.
pub fn split(u: &Vec3) -> ([f32; 4], [f32; 4]) {
    let high = u.map(|c| (c * 4096.0).round() / 4096.0);
    (vec4(&high, 0.0), vec4(&(u - high), 0.0))
}

pub fn joined(high: &[f32; 4], low: &[f32; 4]) -> Vec3 {
    Vec3::from_fn(|i, _| f64::from(high[i]) + f64::from(low[i]))
}

/// The constant buffers of a model.
pub fn upload_model(buffers: &mut Buffers, model: &Model) -> Result<(), DeviceError> {
    let tets: Vec<_> = model
        .tets
        .iter()
        .map(|tet| {
            let (material, [_, a, b, c]) = (model.material(tet), tet.gradients);
            let Lame { mu, lambda } = material.lame();
            let [g1, g2, g3] = [vec4(&a, mu * tet.volume), vec4(&b, lambda * tet.volume), vec4(&c, material.stiffness_damping)];
            TetData { nodes: tet.nodes, g1, g2, g3 }
        })
        .collect();
    buffers.upload("tets", &tets)?;
    let mut nodes: Vec<_> = (0..model.n_nodes())
        .map(|i| NodeData {
            mass: model.node_masses[i] as f32,
            mass_damping: model.mass_damping(i) as f32,
            free: if model.fixed[i] { 0.0 } else { 1.0 },
            corners: model.node_corners.starts[i],
        })
        .collect();
    nodes.push(NodeData { corners: model.node_corners.items.len() as u32, ..Zeroable::zeroed() });
    buffers.upload("nodes", &nodes)?;
    buffers.upload("node_corners", &model.node_corners.items)?;
    buffers.upload("edge_starts", &model.edge_tets.starts)?;
    buffers.upload("edge_tets", &model.edge_tets.items)?;
    buffers.upload("edge_places", &model.pattern.edge_blocks)?;
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

/// The turnable part of a step.
pub fn params_data(model: &Model, params: &Params, loads: &Loads, groups: &Groups) -> ParamsData {
    let dt = params.time_step;
    let mut grabs = [GrabData::zeroed(); MAX_GRABS];
    for (data, grab) in grabs.iter_mut().zip(&loads.grabs) {
        *data = grab_data(model, grab, dt);
    }
    ParamsData {
        gravity: vec4(&params.gravity, 0.0),
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
        n_blocks: model.pattern.n_blocks() as u32,
        n_tiles: groups.tiles,
        loop_tiles: groups.loop_tiles,
        n_whole: groups.whole,
        pad: 0,
        grabs,
    }
}

/// How the solve of each body begins; `remembered` says which are solved already, or with their contacts. The scale is that of
/// `step::Step::driving_impulse`, whose part for unloaded bodies the device adds.
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
            pad: 0,
            first_node: body.nodes.start as u32,
            end_node: body.nodes.end as u32,
            pad_1: 0,
            pad_2: 0,
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
        nodes,
        weights: weights.map(|w| w as f32),
        offset: vec4(&(grab.target - rest), 0.0),
        stiffness: grab.stiffness as f32,
        damping: grab.damping as f32,
        factor: (dt * dt * grab.stiffness + dt * grab.damping) as f32,
        pad: 0.0,
    }
}
