//! Host side of the structs in `shaders/lib/model.wgsl`, and the arrays that a model becomes.

use bytemuck::{Pod, Zeroable};

use super::{Buffers, DeviceError};
use crate::math::Vec3;
use crate::model::Model;
use crate::solver::cpu::Damping;
use crate::solver::{Grab, Loads, MAX_GRABS, Params};

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
    pub rest: [f32; 4],
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
    pub scale: f32,
    pub least_scale: f32,
    pub n_nodes: u32,
    pub n_tets: u32,
    pub n_edges: u32,
    pub n_points: u32,
    pub max_iterations: u32,
    pub row_groups: u32,
    pub n_grabs: u32,
    pub has_node_forces: u32,
    pub grabs: [GrabData; MAX_GRABS],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct ControlData {
    pub done: u32,
    pub converged: u32,
    pub iterations: u32,
    pub stuck: u32,
    pub residual2: f32,
    pub target2: f32,
    pub scale: f32,
    pub pad: f32,
}

/// A vector of the device; the fourth lane is free.
pub fn vec4(v: &Vec3, w: f64) -> [f32; 4] {
    [v.x as f32, v.y as f32, v.z as f32, w as f32]
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
    let damping = Damping::of(model);
    let tets: Vec<_> = model
        .tets
        .iter()
        .map(|tet| TetData {
            nodes: tet.nodes,
            g1: vec4(&tet.gradients[1], tet.mu * tet.volume),
            g2: vec4(&tet.gradients[2], tet.lambda * tet.volume),
            g3: vec4(&tet.gradients[3], damping.betas[tet.body as usize]),
        })
        .collect();
    buffers.upload("tets", &tets)?;
    let mut nodes: Vec<_> = (0..model.n_nodes())
        .map(|i| NodeData {
            mass: model.node_masses[i] as f32,
            mass_damping: damping.alphas[model.node_bodies[i] as usize] as f32,
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
    buffers.upload("pattern", &[&model.pattern.row_starts[..], &model.pattern.columns[..]].concat())?;
    let points: Vec<_> = model
        .surface_positions(&model.rest_positions)
        .iter()
        .zip(model.surface.nodes.iter().zip(&model.surface.weights))
        .map(|(rest, (nodes, weights))| PointData { nodes: *nodes, weights: weights.map(|w| w as f32), rest: vec4(rest, 1.0) })
        .collect();
    buffers.upload("points", &points)
}

/// The turnable part of a step.
pub fn params_data(model: &Model, params: &Params, loads: &Loads, row_groups: u32) -> ParamsData {
    let dt = params.time_step;
    let mass_norm = model.node_masses.iter().map(|m| m * m).sum::<f64>().sqrt();
    let forces: f64 = loads.node_forces.iter().map(Vec3::norm_squared).sum();
    let mut grabs = [GrabData::zeroed(); MAX_GRABS];
    for (data, grab) in grabs.iter_mut().zip(&loads.grabs) {
        *data = grab_data(model, grab, dt);
    }
    ParamsData {
        gravity: vec4(&params.gravity, 0.0),
        dt: dt as f32,
        tolerance: params.tolerance as f32,
        scale: (dt * params.gravity.norm() * mass_norm + dt * forces.sqrt()) as f32,
        least_scale: (1e-12 * mass_norm) as f32,
        n_nodes: model.n_nodes() as u32,
        n_tets: model.tets.len() as u32,
        n_edges: model.pattern.edges.len() as u32,
        n_points: model.n_vertices() as u32,
        max_iterations: params.max_iterations,
        row_groups,
        n_grabs: loads.grabs.len().min(MAX_GRABS) as u32,
        has_node_forces: u32::from(!loads.node_forces.is_empty()),
        grabs,
    }
}

fn grab_data(model: &Model, grab: &Grab, dt: f64) -> GrabData {
    let rest: Vec3 = grab.nodes.iter().zip(&grab.weights).map(|(n, w)| model.rest_positions[*n as usize] * *w).sum();
    GrabData {
        nodes: grab.nodes,
        weights: grab.weights.map(|w| w as f32),
        offset: vec4(&(grab.target - rest), 0.0),
        stiffness: grab.stiffness as f32,
        damping: grab.damping as f32,
        factor: (dt * dt * grab.stiffness + dt * grab.damping) as f32,
        pad: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::shader::Shader;
    use wgpu::naga;

    /// (member, offset) pairs and size of a struct as WGSL lays it out.
    fn wgsl_layout(shader: &Shader, name: &str) -> (Vec<(String, usize)>, usize) {
        let ty = shader.module.types.iter().find(|(_, ty)| ty.name.as_deref() == Some(name)).expect(name).1;
        let naga::TypeInner::Struct { members, span } = &ty.inner else { panic!("{name} is no struct") };
        (members.iter().map(|m| (m.name.clone().unwrap(), m.offset as usize)).collect(), *span as usize)
    }

    macro_rules! same_layout {
        ($shader:expr, $wgsl:literal, $host:ty, [$($field:ident),*]) => {{
            let host = (vec![$((stringify!($field).to_string(), std::mem::offset_of!($host, $field))),*], size_of::<$host>());
            assert_eq!(wgsl_layout($shader, $wgsl), host, "{}", $wgsl);
        }};
    }

    #[test]
    fn host_structs_lie_as_wgsl_lays_them() {
        let shader = Shader::load("lib/model").unwrap();
        same_layout!(&shader, "Tet", TetData, [nodes, g1, g2, g3]);
        same_layout!(&shader, "Node", NodeData, [mass, mass_damping, free, corners]);
        same_layout!(&shader, "Point", PointData, [nodes, weights, rest]);
        same_layout!(&shader, "Block", BlockData, [x, y, z]);
        same_layout!(&shader, "Grab", GrabData, [nodes, weights, offset, stiffness, damping, factor, pad]);
        same_layout!(
            &shader,
            "Params",
            ParamsData,
            [
                gravity,
                dt,
                tolerance,
                scale,
                least_scale,
                n_nodes,
                n_tets,
                n_edges,
                n_points,
                max_iterations,
                row_groups,
                n_grabs,
                has_node_forces,
                grabs
            ]
        );
        same_layout!(&shader, "Control", ControlData, [done, converged, iterations, stuck, residual2, target2, scale, pad]);
    }

    #[test]
    fn a_split_displacement_is_exact_and_its_low_part_small() {
        let u = Vec3::new(123.456_789, -0.000_1, 7.0);
        let (high, low) = split(&u);
        assert!((joined(&high, &low) - u).norm() < 1e-11);
        assert!(low.iter().all(|c| c.abs() <= 1.0 / 8192.0));
        assert!((f64::from(u.x as f32) - u.x).abs() > 1e-7, "one float alone is not exact");
    }
}
