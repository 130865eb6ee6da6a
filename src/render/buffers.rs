//! Everything on the device that belongs to one stage.

use std::ops::Range;

use glam::{Mat4, Vec3};
use wgpu::BufferUsages;

use super::drawn;
use super::embedded::Embedded;
use super::geometry::{GivenNormals, SplitSurface, space_order, split_creases};
use super::layers::{border, layers};
use super::maps::Maps;
use super::node_colors::NodeColors;
use super::palette::Rgb;
use super::pipelines::Pipelines;
use super::shapes;
use super::stage::{Marked, PointColors, RigidShape, SoftBodyVisual, Stage, Theme};
use super::uniforms::{Frame, Plane, Surroundings, TetsView, Vertex};
use super::upload::{bind, filled, uniform};

/// A stage on the device.
pub struct StageBuffers {
    pub around: Surroundings,
    pub n_nodes: u32,
    pub n_tets: u32,
    pub frame: wgpu::Buffer,
    split: SplitSurface,
    drawn: Vec<Vertex>,
    /// Colours of the bodies, of drawn vertices and of tets.
    body_colors: [Vec<u32>; 2],
    /// How deep each tet lies below the surface of its body.
    layers: Vec<u8>,
    tet_colors: wgpu::Buffer,
    /// Current colours of tets with their layers, and whether they stand for values.
    pub colors_of_tets: Vec<u32>,
    pub is_colored: bool,
    /// Colours between nodes, where these have values.
    pub node_colors: Option<NodeColors>,
    pub tets: Vec<[u32; 4]>,
    /// Current nodes, if the host knows them.
    pub host_nodes: Option<Vec<[f32; 4]>>,
    /// Current surface vertices, unless only the device knows them: then they are in `positions`, as `vec4`.
    pub host_positions: Option<Vec<[f32; 4]>>,
    pub positions: wgpu::Buffer,
    /// Current nodes.
    pub nodes: wgpu::Buffer,
    pub tets_view: wgpu::Buffer,
    /// Drawn vertices of all soft bodies, their indices, and the number of indices.
    pub vertices: wgpu::Buffer,
    pub indices: wgpu::Buffer,
    pub n_indices: u32,
    pub n_drawn: u32,
    /// For each soft body its part of the indices, and of the tets.
    pub parts: Vec<[Range<u32>; 2]>,
    /// For each soft body its surface within its tets, if it has one.
    pub embedded: Vec<Option<Embedded>>,
    /// Soft bodies of which the surface is drawn where tets are shown, as the plane clips it.
    pub clipped: Vec<usize>,
    /// What is selected, and what is not drawn.
    pub selected: Marked,
    pub hidden: Marked,
    pub rigids: Rigids,
    pub frame_group: wgpu::BindGroup,
    pub maps_group: wgpu::BindGroup,
    pub wire_group: wgpu::BindGroup,
    pub rigid_wire_group: wgpu::BindGroup,
    pub tets_group: wgpu::BindGroup,
    pub normals_group: wgpu::BindGroup,
    pub fit_group: wgpu::BindGroup,
}

/// Rigid things and planes on the device. Transform 0 is the identity, for soft bodies; transform `i + 1` is the pose
/// of thing `i`.
pub struct Rigids {
    /// For each thing to which the maps are fitted, its box in its own frame, from the lowest corner to the highest.
    boxes: Vec<Option<[Vec3; 2]>>,
    /// The box around what is not on the stage yet, in the world.
    guest: Option<[Vec3; 2]>,
    colors: Vec<super::Rgb>,
    /// Their triangles as they are drawn, in the frames of the things.
    points_of_vertices: Vec<Vec3>,
    vertices_of_triangles: Vec<[u32; 3]>,
    /// The range of each thing in `indices`.
    pub ranges: Vec<Range<u32>>,
    /// For each thing whether it is a mesh: only the triangles of meshes have a meaning.
    pub is_mesh: Vec<bool>,
    pub vertices: wgpu::Buffer,
    pub indices: wgpu::Buffer,
    transforms: wgpu::Buffer,
    /// Corners of the boxes around the things to which the maps are fitted, and of the guest's.
    corner_points: Vec<[f32; 4]>,
    points: wgpu::Buffer,
    planes: wgpu::Buffer,
    /// The floor and the slabs, as instances of `planes`.
    pub floor: Option<u32>,
    pub slabs: Vec<u32>,
}

impl StageBuffers {
    pub fn new(device: &wgpu::Device, pipelines: &Pipelines, maps: &Maps, stage: &Stage, shadow_taps: u32) -> Self {
        let storage = |label: &str, bytes: &[u8], usage| filled(device, label, bytes, BufferUsages::STORAGE | usage);

        // All soft bodies are one surface; each drawn vertex has the colour of its body.
        let (mut triangles, mut normals): (Vec<[u32; 3]>, Vec<GivenNormals>) = (vec![], vec![]);
        let mut colors: Vec<u32> = vec![];
        for body in &stage.soft_bodies {
            let order = space_order(&stage.rest_positions, &body.triangles);
            triangles.extend(order.iter().map(|&t| body.triangles[t]));
            normals.extend(order.iter().map(|&t| body.normals.get(t).copied().unwrap_or_default()));
            colors.extend(order.iter().map(|&t| body.colors.get(t).unwrap_or(&body.color).packed()));
        }
        let split = split_creases(&stage.rest_positions, &triangles, &normals, &colors);
        let mut vertices = vec![Vertex::default(); split.sources.len()];
        for (triangle, color) in split.triangles.iter().zip(&colors) {
            triangle.iter().for_each(|&i| vertices[i as usize].color = *color);
        }
        drawn::normals(&split, &stage.rest_positions, &mut vertices);
        let (mut n_indices, mut n_tets) = (0, 0);
        let part = |body: &SoftBodyVisual| {
            let first = [n_indices, n_tets];
            (n_indices, n_tets) = (n_indices + 3 * body.triangles.len() as u32, n_tets + body.tets.len() as u32);
            [first[0]..n_indices, first[1]..n_tets]
        };
        let parts: Vec<[Range<u32>; 2]> = stage.soft_bodies.iter().map(part).collect();
        let positions = storage("positions", bytemuck::cast_slice(&stage.rest_positions), BufferUsages::COPY_DST);
        let vertex_buffer = storage("vertices", bytemuck::cast_slice(&vertices), BufferUsages::VERTEX | BufferUsages::COPY_DST);
        let indices = storage("indices", bytemuck::cast_slice(&split.triangles), BufferUsages::INDEX);

        // The tets of the view of the inside.
        let tets: Vec<[u32; 4]> = stage.soft_bodies.iter().flat_map(|b| b.tets.iter().copied()).collect();
        let borders: Vec<_> = stage.soft_bodies.iter().map(|body| border(&body.tets)).collect();
        let layers: Vec<u8> = stage.soft_bodies.iter().zip(&borders).flat_map(|(body, border)| layers(&body.tets, border)).collect();
        let with_tets = stage.soft_bodies.iter().zip(&parts).zip(&borders);
        let embedded = with_tets.map(|((body, [_, tets]), border)| Embedded::of(body, tets.start, border)).collect();
        let colors = stage.soft_bodies.iter().flat_map(|b| b.tets.iter().map(|_| b.color.packed()));
        let colors_of_tets: Vec<u32> = colors.zip(&layers).map(|(color, layer)| with_layer(color, *layer)).collect();
        let nodes = storage("nodes", &vec![0; 16 * stage.n_nodes as usize], BufferUsages::COPY_DST);
        let tets_view = uniform::<TetsView>(device, "tets_view");

        let (center, radius, free_radius) = bounds(stage);
        let rigids = Rigids::new(device, stage, free_radius);
        let floor = rigids.floor;
        let around = Surroundings {
            center,
            radius,
            floor: floor.map(|i| stage.rigids[i as usize].transform),
            floor_albedo: Vec3::ONE,
            light: stage.light,
            n_rigid_points: rigids.n_points(),
            n_vertices: stage.rest_positions.len() as u32,
            shadow_taps,
        };

        let frame = uniform::<Frame>(device, "frame");
        let frame_group = bind(device, "frame", &pipelines.layouts.frame, &[&frame, &maps.fit, &rigids.transforms, &rigids.planes]);
        let sources = storage("sources", bytemuck::cast_slice(&split.sources), BufferUsages::empty());
        let offsets = storage("offsets", bytemuck::cast_slice(&split.offsets), BufferUsages::empty());
        let corners = storage("corners", bytemuck::cast_slice(&split.corners), BufferUsages::empty());
        let tet_buffer = storage("tets", bytemuck::cast_slice(&tets), BufferUsages::empty());
        let tet_colors = storage("tet_colors", bytemuck::cast_slice(&colors_of_tets), BufferUsages::COPY_DST);
        Self {
            n_nodes: stage.n_nodes,
            n_tets: tets.len() as u32,
            colors_of_tets: colors_of_tets.clone(),
            is_colored: false,
            node_colors: None,
            host_nodes: None,
            tets,
            n_indices: 3 * triangles.len() as u32,
            n_drawn: vertices.len() as u32,
            parts,
            embedded,
            clipped: vec![],
            selected: Marked::default(),
            hidden: Marked::default(),
            maps_group: maps.group(device, pipelines),
            wire_group: bind(device, "wire", &pipelines.layouts.wire, &[&vertex_buffer, &indices]),
            rigid_wire_group: bind(device, "rigid_wire", &pipelines.layouts.wire, &[&rigids.vertices, &rigids.indices]),
            tets_group: bind(device, "tets", &pipelines.layouts.tets, &[&nodes, &tet_buffer, &tet_colors, &tets_view]),
            normals_group: bind(device, "normals", &pipelines.layouts.normals, &[&positions, &sources, &offsets, &corners, &vertex_buffer]),
            fit_group: bind(device, "fit", &pipelines.layouts.fit, &[&frame, &positions, &rigids.points, &maps.fit, &maps.width]),
            around,
            frame,
            positions,
            nodes,
            tets_view,
            host_positions: Some(stage.rest_positions.clone()),
            body_colors: [vertices.iter().map(|vertex| vertex.color).collect(), colors_of_tets],
            layers,
            tet_colors,
            drawn: vertices,
            split,
            vertices: vertex_buffer,
            indices,
            rigids,
            frame_group,
        }
    }

    /// Takes positions from the host, and makes vertices and normals here.
    pub fn set_host_positions(&mut self, queue: &wgpu::Queue, positions: &[[f32; 4]]) {
        drawn::normals(&self.split, positions, &mut self.drawn);
        queue.write_buffer(&self.vertices, 0, bytemuck::cast_slice(&self.drawn));
        let host = self.host_positions.get_or_insert_default();
        host.clear();
        host.extend_from_slice(positions);
    }

    /// Colours soft bodies point by point, or as bodies. (Where only the device knows positions, it makes vertices anew
    /// before the next picture.)
    pub fn set_colors(&mut self, queue: &wgpu::Queue, colors: Option<PointColors>) {
        let Self { drawn, split, body_colors: [of_vertices, of_tets], layers, colors_of_tets, .. } = self;
        self.is_colored = colors.is_some();
        self.node_colors = colors.as_ref().and_then(NodeColors::of);
        let table = colors.map(|colors| colors.table.map(Rgb::packed));
        match (colors, table) {
            (Some(PointColors { vertices, tets, .. }), Some(table)) => {
                let sources = split.sources.iter().map(|source| table[vertices[*source as usize] as usize]);
                drawn.iter_mut().zip(sources).for_each(|(vertex, color)| vertex.color = color);
                let colors = tets.iter().zip(&*layers).map(|(place, layer)| with_layer(table[*place as usize], *layer));
                colors_of_tets.clear();
                colors_of_tets.extend(colors);
            }
            _ => {
                drawn.iter_mut().zip(of_vertices).for_each(|(vertex, color)| vertex.color = *color);
                colors_of_tets.clone_from(of_tets);
            }
        }
        queue.write_buffer(&self.tet_colors, 0, bytemuck::cast_slice(colors_of_tets));
        queue.write_buffer(&self.vertices, 0, bytemuck::cast_slice(drawn));
    }

    /// Places the maps, if the positions are known here.
    pub fn fit_from_host(&self, queue: &wgpu::Queue, maps: &Maps, frame: &Frame) {
        if let Some(positions) = &self.host_positions {
            let points = [&positions[..], &self.rigids.corner_points[..]];
            let fit = drawn::fit(&points, frame.light_from_world, frame.floor_from_world, maps.shadow_width as f32);
            queue.write_buffer(&maps.fit, 0, bytemuck::bytes_of(&fit));
        }
    }

    /// The parts of the indices of soft bodies that are drawn.
    pub fn shown_indices(&self) -> impl Iterator<Item = Range<u32>> {
        self.shown(0, &self.hidden.soft, &[])
    }

    /// The parts of the tets that are drawn: not of bodies that are drawn as surfaces.
    pub fn shown_tets(&self) -> impl Iterator<Item = Range<u32>> {
        self.shown(1, &self.hidden.soft, &self.clipped)
    }

    /// The parts of the indices of bodies that are drawn as surfaces where tets are shown.
    pub fn clipped_indices(&self) -> impl Iterator<Item = Range<u32>> {
        let shown = self.clipped.iter().filter(|body| !self.hidden.soft.contains(body));
        shown.filter_map(|body| Some(self.parts.get(*body)?[0].clone()))
    }

    /// The parts of the indices of soft bodies that are selected.
    pub fn selected_indices(&self) -> impl Iterator<Item = Range<u32>> {
        self.selected.soft.iter().filter(|body| !self.hidden.soft.contains(body)).filter_map(|body| Some(self.parts.get(*body)?[0].clone()))
    }

    /// All in one, unless some bodies are not drawn.
    fn shown<'a>(&'a self, of: usize, hidden: &'a [usize], clipped: &'a [usize]) -> impl Iterator<Item = Range<u32>> {
        let shows_all = hidden.is_empty() && clipped.is_empty();
        let all = self.parts.last().map(|last| 0..last[of].end).filter(|_| shows_all);
        let is_shown = move |body: &usize| !shows_all && !hidden.contains(body) && !clipped.contains(body);
        let single = self.parts.iter().enumerate().filter(move |(body, _)| is_shown(body));
        all.into_iter().chain(single.map(move |(_, part)| part[of].clone()))
    }

    /// Whether anything casts a shadow.
    pub fn has_casters(&self) -> bool {
        self.around.n_vertices + self.around.n_rigid_points > 0
    }

    /// Has room in the maps for what is to stand in a box [m], besides the stage's own things; call `set_transforms`
    /// then.
    pub fn set_guest(&mut self, room: Option<[Vec3; 2]>) {
        self.rigids.guest = room;
        self.around.n_rigid_points = self.rigids.n_points();
    }

    /// Moves rigid things: world from each one's frame, in the stage's order.
    pub fn set_transforms(&mut self, queue: &wgpu::Queue, transforms: &[Mat4], theme: &Theme) {
        self.around.floor = self.rigids.floor.map(|i| transforms[i as usize]);
        self.around.floor_albedo = self.rigids.floor.map_or(theme.floor, |i| plane_albedo(self.rigids.colors[i as usize], theme.floor));
        self.rigids.upload(queue, transforms, &self.around, theme);
    }
}

impl Rigids {
    fn new(device: &wgpu::Device, stage: &Stage, free_radius: f32) -> Self {
        let (mut vertices, mut indices, mut ranges) = (Vec::new(), Vec::new(), Vec::new());
        for rigid in &stage.rigids {
            let start = indices.len() as u32;
            shapes::add_shape(rigid, &mut vertices, &mut indices);
            ranges.push(start..indices.len() as u32);
        }
        let is_plane = |i: &u32| stage.rigids[*i as usize].shape == RigidShape::Plane;
        let planes: Vec<u32> = (0..stage.rigids.len() as u32).filter(is_plane).collect();
        let level = |i: &u32| (stage.rigids[*i as usize].transform * Vec3::Y.extend(0.0)).y > 0.9999;
        let floor = planes.iter().copied().find(level);
        let n = stage.rigids.len();
        let storage = |label: &str, size: usize| filled(device, label, &vec![0; size], BufferUsages::STORAGE | BufferUsages::COPY_DST);
        // An obstacle much larger than the bodies would spoil the shadow map's resolution: it casts a shadow, but the
        // map is not fitted to it.
        let fitted = |[low, high]: &[Vec3; 2]| free_radius == 0.0 || 0.5 * (high - low).length() < 3.0 * free_radius;
        let boxes = stage.rigids.iter().map(|rigid| shapes::local_box(&rigid.shape).filter(|b| rigid.free || fitted(b))).collect();
        Self {
            corner_points: Vec::new(),
            points: storage("rigid_points", 8 * 16 * (n + 1)),
            guest: None,
            transforms: storage("world_from_local", 64 * (n + 1)),
            planes: storage("planes", size_of::<Plane>() * n),
            colors: stage.rigids.iter().map(|o| o.color).collect(),
            vertices: filled(device, "rigid_vertices", bytemuck::cast_slice(&vertices), BufferUsages::VERTEX | BufferUsages::STORAGE),
            indices: filled(device, "rigid_indices", bytemuck::cast_slice(&indices), BufferUsages::INDEX | BufferUsages::STORAGE),
            points_of_vertices: vertices.iter().map(|vertex: &Vertex| Vec3::from(vertex.position)).collect(),
            vertices_of_triangles: indices.as_chunks::<3>().0.to_vec(),
            is_mesh: stage.rigids.iter().map(|rigid| matches!(rigid.shape, RigidShape::Mesh { .. })).collect(),
            slabs: planes.into_iter().filter(|i| Some(*i) != floor).collect(),
            floor,
            ranges,
            boxes,
        }
    }

    /// The triangles of a thing in its own frame, and its colour as it is stored; none of a plane.
    pub fn surface(&self, thing: usize) -> Option<(impl Iterator<Item = [Vec3; 3]> + '_, u32)> {
        let range = self.ranges.get(thing).filter(|range| !range.is_empty())?;
        let triangles = &self.vertices_of_triangles[range.start as usize / 3..range.end as usize / 3];
        let corners = |triangle: &[u32; 3]| triangle.map(|vertex| self.points_of_vertices[vertex as usize]);
        Some((triangles.iter().map(corners), self.colors[thing].packed()))
    }

    fn n_points(&self) -> u32 {
        8 * self.boxes.iter().chain([&self.guest]).flatten().count() as u32
    }

    fn upload(&mut self, queue: &wgpu::Queue, transforms: &[Mat4], around: &Surroundings, theme: &Theme) {
        let all: Vec<Mat4> = std::iter::once(Mat4::IDENTITY).chain(transforms.iter().copied()).collect();
        queue.write_buffer(&self.transforms, 0, bytemuck::cast_slice(&all));
        self.corner_points.clear();
        for (corners, transform) in self.boxes.iter().zip(transforms).chain([(&self.guest, &Mat4::IDENTITY)]) {
            if let Some([low, high]) = corners {
                self.corner_points.extend((0..8).map(|k| {
                    let share = Vec3::new((k & 1) as f32, (k >> 1 & 1) as f32, (k >> 2) as f32);
                    (*transform * (low + (high - low) * share).extend(1.0)).to_array()
                }));
            }
        }
        queue.write_buffer(&self.points, 0, bytemuck::cast_slice(&self.corner_points));
        let planes: Vec<Plane> = (0..)
            .zip(transforms.iter().zip(&self.colors))
            .map(|(i, (transform, color))| {
                let from_center = (transform.inverse() * around.center.extend(1.0)).truncate();
                let half = if Some(i) == self.floor {
                    around.floor_reach() + from_center.x.abs().max(from_center.z.abs())
                } else {
                    1.6 * around.radius
                };
                Plane { world_from_plane: *transform, color: plane_albedo(*color, theme.floor).extend(half) }
            })
            .collect();
        queue.write_buffer(&self.planes, 0, bytemuck::cast_slice(&planes));
    }
}

/// A colour of a tet with its layer in the place of the opacity.
fn with_layer(color: u32, layer: u8) -> u32 {
    (color & 0x00ff_ffff) | u32::from(layer) << 24
}

/// Albedo of planes of a colour in a theme: the colour tints the theme's floor.
fn plane_albedo(color: super::Rgb, theme_floor: Vec3) -> Vec3 {
    let linear = color.linear();
    let gray = linear.dot(Vec3::new(0.2126, 0.7152, 0.0722)).max(1e-3);
    theme_floor * linear / gray
}

/// Middle and radius of everything but planes, and the radius of the freely moving things alone [m].
fn bounds(stage: &Stage) -> (Vec3, f32, f32) {
    let (mut low, mut high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    for p in &stage.rest_positions {
        let p = Vec3::from_slice(&p[..3]);
        (low, high) = (low.min(p), high.max(p));
    }
    // A ball around the box of each thing.
    let balls = |free: bool| {
        stage.rigids.iter().filter(move |rigid| rigid.free == free).filter_map(|rigid| {
            let [low, high] = shapes::local_box(&rigid.shape)?;
            Some((rigid.transform.transform_point3(0.5 * (low + high)), 0.5 * (high - low).length()))
        })
    };
    for (center, reach) in balls(true) {
        (low, high) = (low.min(center - reach), high.max(center + reach));
    }
    let free_radius = if low.x <= high.x { 0.5 * (high - low).length() } else { 0.0 };
    for (center, reach) in balls(false) {
        let reach = if free_radius > 0.0 { reach.min(2.0 * free_radius) } else { reach };
        (low, high) = (low.min(center - reach), high.max(center + reach));
    }
    if low.x > high.x {
        return (Vec3::ZERO, 1.0, 0.0);
    }
    (0.5 * (low + high), (0.5 * (high - low).length()).max(1e-3), free_radius)
}
