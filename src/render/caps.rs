//! The caps of what a plane cuts open, made when the plane or the bodies have moved.

use glam::{Mat4, Vec3};
use rayon::prelude::*;

use super::buffers::StageBuffers;
use super::section::{Plane, add_surface_section, fan, tet_section};
use super::stage::{Cut, ViewOptions};
use super::uniforms::Vertex;

/// Triangles over what is cut open, without shared vertices.
pub struct Caps {
    buffer: wgpu::Buffer,
    n: u32,
    made_for: Option<Need>,
    /// Soft bodies that are covered as tets, as their surface is open where the plane cuts it.
    pub open: Vec<usize>,
}

/// Everything that caps depend on beside the bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Need {
    cut: Option<Cut>,
    tet_size: f32,
    peeled: u8,
}

/// Neighbouring tets differ so much in brightness at most, as in `tets.wgsl`.
const VARIES: f32 = 0.28;

impl Caps {
    pub fn new(device: &wgpu::Device) -> Self {
        Self { buffer: buffer(device, 64), n: 0, made_for: None, open: vec![] }
    }

    /// Something on the stage has moved.
    pub fn moved(&mut self) {
        self.made_for = None;
    }

    /// Makes them for a picture, unless they are there, and finds the bodies that are cut as surfaces.
    pub fn update(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        stage: &mut StageBuffers,
        transforms: &[Mat4],
        options: &ViewOptions,
    ) {
        let need = Need { cut: options.cut, tet_size: options.tet_size, peeled: options.peeled };
        if self.made_for == Some(need) {
            return;
        }
        self.made_for = Some(need);
        let mut vertices = vec![];
        (stage.clipped, self.open) = (vec![], vec![]);
        if let Some(cut) = options.cut {
            let plane = Plane { normal: cut.plane.truncate(), distance: cut.plane.w };
            if cut.exact {
                (stage.clipped, self.open) = add_bodies(stage, &plane, options, &mut vertices);
            }
            if cut.rigids {
                add_rigids(stage, transforms, &plane, &mut vertices);
            }
        }
        self.n = vertices.len() as u32;
        if self.buffer.size() < size_of_val(&vertices[..]) as u64 {
            self.buffer = buffer(device, vertices.len().next_power_of_two());
        }
        queue.write_buffer(&self.buffer, 0, bytemuck::cast_slice(&vertices));
    }

    /// Draws them as bodies.
    pub fn draw(&self, pass: &mut wgpu::RenderPass, body: &wgpu::RenderPipeline) {
        if self.n > 0 {
            pass.set_pipeline(body);
            pass.set_vertex_buffer(0, self.buffer.slice(..));
            pass.draw(0..self.n, 0..1);
        }
    }
}

fn buffer(device: &wgpu::Device, n_vertices: usize) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("render/caps"),
        size: (n_vertices * size_of::<Vertex>()) as u64,
        usage: wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

/// Covers soft bodies; gives those that are cut as surfaces, and those that are not as their surface is open.
fn add_bodies(stage: &StageBuffers, plane: &Plane, options: &ViewOptions, vertices: &mut Vec<Vertex>) -> (Vec<usize>, Vec<usize>) {
    let (mut clipped, mut open) = (vec![], vec![]);
    let Some(nodes) = &stage.host_nodes else { return (clipped, open) };
    // Where single elements are seen, they are what is cut.
    let shows_elements = options.peeled > 0 || options.tet_size < 1.0;
    for (body, [_, tets]) in stage.parts.iter().enumerate().filter(|(body, _)| !stage.hidden.soft.contains(body)) {
        let embedded = stage.embedded[body].as_ref().filter(|_| !shows_elements);
        let outline = embedded.and_then(|embedded| embedded.outline(nodes, plane));
        match (embedded, &outline) {
            (Some(_), Some(_)) => clipped.push(body),
            (Some(_), None) => open.push(body),
            (None, _) => {}
        }
        let cap = |t: u32| {
            let corners = corners_of(stage, nodes, t);
            let middle = corners.iter().sum::<Vec3>() / 4.0;
            let section = tet_section(&corners.map(|corner| middle + options.tet_size * (corner - middle)), plane);
            let (mut triangles, mut vertices) = (vec![], vec![]);
            if section.is_empty() {
                return vertices;
            }
            match &outline {
                Some(outline) => outline.add_within(&section, &mut triangles),
                None => triangles.extend(fan(&section)),
            }
            let color = cap_color(stage, t, corners, outline.is_some());
            cover(triangles.into_iter(), plane, color, 0.0, &mut vertices);
            vertices
        };
        let is_shown = |t: &u32| (stage.colors_of_tets[*t as usize] >> 24) as u8 >= options.peeled;
        vertices.par_extend(tets.clone().into_par_iter().with_min_len(4096).filter(is_shown).flat_map_iter(cap));
        if let (Some(embedded), Some(outline)) = (embedded, &outline) {
            outline.beyond(embedded.faces(nodes), |t, triangle| {
                let color = cap_color(stage, t, corners_of(stage, nodes, t), true);
                cover([triangle].into_iter(), plane, color, 0.0, vertices);
            });
        }
    }
    (clipped, open)
}

/// Where the corners of a tet are [m].
fn corners_of(stage: &StageBuffers, nodes: &[[f32; 4]], tet: u32) -> [Vec3; 4] {
    stage.tets[tet as usize].map(|node| Vec3::from_slice(&nodes[node as usize][..3]))
}

/// The colours of the section of a tet: one, or those between its nodes where it is that of a surface, whose colours
/// they continue.
fn cap_color(stage: &StageBuffers, tet: u32, corners: [Vec3; 4], is_of_surface: bool) -> impl Fn(Vec3) -> u32 {
    let between = stage.node_colors.as_ref().filter(|_| is_of_surface);
    let between = between.map(|colors| colors.within(stage.tets[tet as usize], &corners));
    // What stands for a value is not varied.
    let vary = if stage.is_colored { 1.0 } else { 1.0 - 0.5 * VARIES + VARIES * (tet as f32 * 0.618_034).fract() };
    let of_tet = varied(stage.colors_of_tets[tet as usize], vary);
    move |p| between.as_ref().map_or(of_tet, |colors| colors.at(p))
}

fn add_rigids(stage: &StageBuffers, transforms: &[Mat4], plane: &Plane, vertices: &mut Vec<Vertex>) {
    let mut triangles = vec![];
    for (i, transform) in transforms.iter().enumerate().filter(|(i, _)| !stage.hidden.rigid.contains(i)) {
        let Some((surface, color)) = stage.rigids.surface(i) else { continue };
        // The plane in the frame of the thing; its caps in the world.
        let local = transform.transpose() * plane.normal.extend(-plane.distance);
        let of_thing = Plane { normal: local.truncate(), distance: -local.w };
        add_surface_section(surface, &of_thing, &mut triangles);
        let world = triangles.drain(..).map(|triangle| triangle.map(|p| transform.transform_point3(p)));
        cover(world, plane, |_| color, 1.0, vertices);
    }
}

/// `color`: of each point.
fn cover(triangles: impl Iterator<Item = [Vec3; 3]>, plane: &Plane, color: impl Fn(Vec3) -> u32, satin: f32, vertices: &mut Vec<Vertex>) {
    let normal = plane.normal.to_array();
    let vertex = |p: Vec3| Vertex { position: p.to_array(), color: color(p), normal, satin };
    vertices.extend(triangles.flatten().map(vertex));
}

/// A stored colour, which holds square roots of the linear one, so much brighter.
fn varied(color: u32, by: f32) -> u32 {
    let [r, g, b, _] = color.to_le_bytes().map(|c| (f32::from(c) * by.sqrt()).round().clamp(0.0, 255.0) as u8);
    u32::from_le_bytes([r, g, b, 255])
}
