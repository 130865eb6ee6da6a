//! The order of passes of one picture.

use std::ops::Range;

use glam::{Mat4, Vec4};

use super::RenderError;
use super::buffers::StageBuffers;
use super::camera::Camera;
use super::canvas::{Canvas, Shown};
use super::caps::Caps;
use super::image::{Image, Readback};
use super::maps::Maps;
use super::marks::Marks;
use super::options::RenderOptions;
use super::pipeline::PICTURE_FORMAT;
use super::pipelines::{Pipelines, Present, Surfaces};
use super::stage::{Cut, Marked, Overlays, PointColors, Shading, Stage, Theme, ViewOptions};
use super::uniforms::{Frame, NO_CUT, TetsView};

/// Width of the line around what is selected [px].
const LINE_WIDTH: f32 = 2.0;

/// Positions `[x, y, z, _]` [m].
#[derive(Clone, Copy, Debug)]
pub enum Positions<'a> {
    Host(&'a [[f32; 4]]),
    /// A buffer of `vec4f` on the renderer's device with `COPY_SRC`; it is copied there and never read back.
    Device(&'a wgpu::Buffer),
}

/// Draws a [`Stage`].
pub struct Renderer {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(super) options: RenderOptions,
    pub(super) pipelines: Pipelines,
    pub(super) maps: Maps,
    pub(super) stage: StageBuffers,
    /// The same things where they are elsewhere in time, drawn as a veil.
    pub(super) ghost: Option<Box<StageBuffers>>,
    /// Bodies that are not there yet, drawn where they would stand.
    pub(super) guest: Option<Box<StageBuffers>>,
    pub(super) transforms: Vec<Mat4>,
    /// The inputs for which planes and maps were last made; none when something has moved since.
    pub(super) planes_made_for: Option<Theme>,
    maps_made_for: Option<ViewOptions>,
    canvas: Option<Canvas>,
    capture_canvas: Option<Canvas>,
    marks: Marks,
    caps: Caps,
}

impl Renderer {
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue, options: RenderOptions) -> Self {
        let pipelines = Pipelines::new(device, &options);
        let maps = Maps::new(device, &pipelines, &options);
        let stage = StageBuffers::new(device, &pipelines, &maps, &Stage::default(), options.shadow_taps);
        Self {
            stage,
            ghost: None,
            guest: None,
            transforms: Vec::new(),
            planes_made_for: None,
            maps_made_for: None,
            canvas: None,
            capture_canvas: None,
            marks: Marks::new(device, 64),
            caps: Caps::new(device),
            device: device.clone(),
            queue: queue.clone(),
            options,
            pipelines,
            maps,
        }
    }

    pub fn options(&self) -> RenderOptions {
        self.options
    }

    /// Replaces the whole stage; bodies stand at rest until positions are set.
    pub fn set_stage(&mut self, stage: &Stage) {
        self.stage = StageBuffers::new(&self.device, &self.pipelines, &self.maps, stage, self.options.shadow_taps);
        (self.ghost, self.guest) = (None, None);
        self.transforms = stage.rigids.iter().map(|o| o.transform).collect();
        self.planes_made_for = None;
        self.moved();
    }

    /// Marks what is selected, with a line around it in the window, and what is hidden: it is not drawn, and casts no
    /// shadow.
    pub fn set_marked(&mut self, selected: Marked, hidden: Marked) {
        if (&self.stage.selected, &self.stage.hidden) != (&selected, &hidden) {
            (self.stage.selected, self.stage.hidden) = (selected, hidden);
            self.moved();
        }
    }

    /// Sets the positions of all soft surface vertices.
    pub fn set_positions(&mut self, positions: Positions) -> Result<(), RenderError> {
        let expected = self.stage.around.n_vertices;
        check_count(&positions, expected, "surface vertices")?;
        match positions {
            Positions::Host(host) => self.stage.set_host_positions(&self.queue, host),
            Positions::Device(_) => {
                self.copy(positions, &self.stage.positions, expected);
                self.stage.host_positions = None;
            }
        }
        self.moved();
        Ok(())
    }

    /// Colours the soft bodies point by point; as bodies if there are no colours.
    pub fn set_colors(&mut self, colors: Option<PointColors>) -> Result<(), RenderError> {
        for (given, expected, what) in colors.iter().flat_map(|colors| {
            let vertices = (colors.vertices.len(), self.stage.around.n_vertices, "surface vertices");
            let nodes = if colors.nodes.is_empty() { 0 } else { self.stage.n_nodes };
            [vertices, (colors.tets.len(), self.stage.n_tets, "tets"), (colors.nodes.len(), nodes, "nodes")]
        }) {
            if given != expected as usize {
                return Err(RenderError::Count { what, given, expected: expected as usize });
            }
        }
        self.stage.set_colors(&self.queue, colors);
        self.moved();
        Ok(())
    }

    /// Sets the positions of all finite-element nodes; only [`Shading::Tets`] shows them.
    pub fn set_node_positions(&mut self, positions: Positions) -> Result<(), RenderError> {
        check_count(&positions, self.stage.n_nodes, "nodes")?;
        self.copy(positions, &self.stage.nodes, self.stage.n_nodes);
        self.stage.host_nodes = if let Positions::Host(nodes) = positions { Some(nodes.to_vec()) } else { None };
        self.moved();
        Ok(())
    }

    fn copy(&self, positions: Positions, to: &wgpu::Buffer, n: u32) {
        match positions {
            _ if n == 0 => {}
            Positions::Host(host) => self.queue.write_buffer(to, 0, bytemuck::cast_slice(host)),
            Positions::Device(buffer) => {
                let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("render/positions") });
                encoder.copy_buffer_to_buffer(buffer, 0, to, 0, 16 * u64::from(n));
                self.queue.submit([encoder.finish()]);
            }
        }
    }

    /// Moves rigid things: world from each one's frame, in the stage's order.
    pub fn set_rigid_transforms(&mut self, transforms: &[Mat4]) -> Result<(), RenderError> {
        if transforms.len() != self.transforms.len() {
            return Err(RenderError::Count { what: "rigid things", given: transforms.len(), expected: self.transforms.len() });
        }
        if transforms != self.transforms {
            self.transforms = transforms.to_vec();
            self.planes_made_for = None;
            self.moved();
        }
        Ok(())
    }

    /// Soft bodies of which the last picture has cut the tets, as their surface is open where the plane cuts it: by
    /// their places on the stage.
    pub fn open_sections(&self) -> &[usize] {
        &self.caps.open
    }

    /// Notes that nothing drawn so far shows the current stage.
    pub(super) fn moved(&mut self) {
        self.maps_made_for = None;
        self.caps.moved();
        for canvas in [&mut self.canvas, &mut self.capture_canvas].into_iter().flatten() {
            canvas.shows = None;
        }
    }

    /// Records a picture into the part `viewport` = `[x, y, width, height]` [px] of a target of the options' format;
    /// the rest of the target is kept. Submit the encoder before the next picture is recorded: pictures share their
    /// uniforms.
    pub fn draw(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        viewport: [u32; 4],
        camera: &Camera,
        options: &ViewOptions,
        overlays: &Overlays,
    ) {
        let [x, y, width, height] = viewport;
        if width == 0 || height == 0 {
            return;
        }
        let scale = if options.fine { self.fine_scale([width, height], options) } else { 1 };
        let canvas = self.canvas.take().filter(|c| (c.size, c.scale) == ([width, height], scale));
        let mut canvas = canvas.unwrap_or_else(|| Canvas::new(&self.device, &self.pipelines, [width, height], scale, &self.options));
        self.picture(encoder, &mut canvas, Shown { camera: *camera, options: *options, overlays: overlays.clone() });
        let line = if self.mask(encoder, &canvas) { LINE_WIDTH * scale as f32 } else { 0.0 };
        let corner = [Vec4::new(x as f32, y as f32, line, 0.0), options.theme.outline.extend(1.0)];
        self.queue.write_buffer(&canvas.corner, 0, bytemuck::cast_slice(&corner));
        present(encoder, &self.pipelines.present, &canvas, target, viewport);
        self.canvas = Some(canvas);
    }

    /// Draws a picture and reads it back.
    pub fn capture(&mut self, size: [u32; 2], camera: &Camera, options: &ViewOptions, overlays: &Overlays) -> Result<Image, RenderError> {
        let [width, height] = size;
        let limit = self.device.limits().max_texture_dimension_2d;
        if width == 0 || height == 0 || width.max(height) > limit {
            return Err(RenderError::Size { width, height, limit });
        }
        let scale = self.fine_scale(size, options);
        let canvas = self.capture_canvas.take().filter(|c| (c.size, c.scale) == (size, scale));
        let mut canvas = canvas.unwrap_or_else(|| Canvas::new(&self.device, &self.pipelines, size, scale, &self.options));
        let target = self.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("render/capture"),
            size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: PICTURE_FORMAT,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("render/capture") });
        self.picture(&mut encoder, &mut canvas, Shown { camera: *camera, options: *options, overlays: overlays.clone() });
        let view = target.create_view(&wgpu::TextureViewDescriptor::default());
        let corner = [Vec4::new(0.0, 0.0, 0.0, if options.ground { 0.0 } else { 1.0 }), Vec4::ZERO];
        self.queue.write_buffer(&canvas.corner, 0, bytemuck::cast_slice(&corner));
        present(&mut encoder, &self.pipelines.present_capture, &canvas, &view, [0, 0, width, height]);
        let readback = Readback::record(&self.device, &mut encoder, &target);
        self.queue.submit([encoder.finish()]);
        self.capture_canvas = Some(canvas);
        readback.read(&self.device)
    }

    /// Texels along the side of a pixel that has four samples, as far as the device has textures so large. A picture
    /// that is multisampled has them already; a transparent one needs to know which of them show something.
    fn fine_scale(&self, size: [u32; 2], options: &ViewOptions) -> u32 {
        let fits = size.iter().all(|n| 2 * n <= self.device.limits().max_texture_dimension_2d);
        if fits && (self.options.samples == 1 || !options.ground) { 2 } else { 1 }
    }

    /// Records all passes up to the finished picture. Passes whose inputs have not changed since the last picture are
    /// left out.
    fn picture(&mut self, encoder: &mut wgpu::CommandEncoder, canvas: &mut Canvas, shown: Shown) {
        if self.maps_made_for.is_some() && canvas.shows.as_ref() == Some(&shown) {
            return;
        }
        let Shown { camera, mut options, .. } = shown;
        if self.planes_made_for != Some(options.theme) {
            self.stage.set_transforms(&self.queue, &self.transforms, &options.theme);
            self.planes_made_for = Some(options.theme);
        }
        options.shadows &= self.stage.has_casters();
        // What only the device knows is cut by whole tets.
        let knows_nodes = self.stage.host_nodes.is_some();
        options.cut = options.cut.filter(|_| options.shading == Shading::Tets).map(|cut| Cut { exact: cut.exact && knows_nodes, ..cut });
        let frame = Frame::new(&camera, &options, canvas.texels(), &self.stage.around);
        self.queue.write_buffer(&self.stage.frame, 0, bytemuck::bytes_of(&frame));
        self.frame_ghost(&frame);
        let (plane, exact) = options.cut.map_or((NO_CUT, false), |cut| (cut.plane, cut.exact));
        let shrink = Vec4::new(options.tet_size, f32::from(options.peeled), if exact { 1.0 } else { 0.0 }, 0.0);
        self.queue.write_buffer(&self.stage.tets_view, 0, bytemuck::bytes_of(&TetsView { cut: plane, shrink }));
        self.frame_guest(&frame, &TetsView { cut: NO_CUT, shrink });
        if options.shading == Shading::Tets {
            self.caps.update(&self.device, &self.queue, &mut self.stage, &self.transforms, &options);
        }
        self.marks.upload(&self.device, &self.queue, &shown.overlays, canvas.scale as f32);

        // While only the camera moves, vertices and maps stay as they are.
        if self.maps_made_for != Some(options) {
            self.stage.fit_from_host(&self.queue, &self.maps, &frame);
            if self.stage.host_positions.is_none() {
                self.vertices_and_fit(encoder);
            }
            self.light_maps(encoder, &options);
            self.maps_made_for = Some(options);
        }
        self.surfaces(encoder, canvas, &options, frame.floor.w > 0.0);
        canvas.shows = Some(shown);
    }

    /// Draws where selected things are; false if nothing is selected that is drawn. (Planes have no end to draw.)
    fn mask(&self, encoder: &mut wgpu::CommandEncoder, canvas: &Canvas) -> bool {
        let stage = &self.stage;
        let bodies: Vec<_> = stage.selected_indices().collect();
        let is_drawn = |i: &&usize| !stage.hidden.rigid.contains(i) && stage.rigids.ranges.get(**i).is_some_and(|range| !range.is_empty());
        let rigids: Vec<usize> = stage.selected.rigid.iter().filter(is_drawn).copied().collect();
        if bodies.is_empty() && rigids.is_empty() {
            return false;
        }
        let nothing = wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT);
        let mut pass = begin(encoder, "render/mask", &[(&canvas.mask, None, nothing)], DepthUse::None);
        pass.set_bind_group(0, &stage.frame_group, &[]);
        if !bodies.is_empty() {
            pass.set_pipeline(&self.pipelines.mask.body);
            pass.set_vertex_buffer(0, stage.vertices.slice(..));
            pass.set_index_buffer(stage.indices.slice(..), wgpu::IndexFormat::Uint32);
            bodies.into_iter().for_each(|indices| pass.draw_indexed(indices, 0, 0..1));
        }
        if !rigids.is_empty() {
            pass.set_pipeline(&self.pipelines.mask.rigid);
            pass.set_vertex_buffer(0, stage.rigids.vertices.slice(..));
            pass.set_index_buffer(stage.rigids.indices.slice(..), wgpu::IndexFormat::Uint32);
            for i in rigids {
                let instance = i as u32 + 1; // transform 0 belongs to the soft bodies
                pass.draw_indexed(stage.rigids.ranges[i].clone(), 0, instance..instance + 1);
            }
        }
        true
    }

    /// Computes normals and the layout of the maps from positions that only the device knows.
    fn vertices_and_fit(&self, encoder: &mut wgpu::CommandEncoder) {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("render/vertices"), ..Default::default() });
        if self.stage.n_drawn > 0 {
            let groups = self.stage.n_drawn.div_ceil(64);
            let columns = groups.min(1 << 15);
            pass.set_pipeline(&self.pipelines.normals);
            pass.set_bind_group(0, &self.stage.normals_group, &[]);
            pass.dispatch_workgroups(columns, groups.div_ceil(columns), 1);
        }
        if self.stage.has_casters() {
            pass.set_pipeline(&self.pipelines.fit);
            pass.set_bind_group(0, &self.stage.fit_group, &[]);
            pass.dispatch_workgroups(1, 1, 1);
        }
    }

    fn light_maps(&self, encoder: &mut wgpu::CommandEncoder, options: &ViewOptions) {
        let (stage, pipelines) = (&self.stage, &self.pipelines);
        let with_tets = options.shading == Shading::Tets;
        // Depth maps; without casters they are only cleared.
        for (view, casters) in [(&self.maps.shadow, &pipelines.shadow_casters), (&self.maps.contact_depth, &pipelines.contact_casters)] {
            let mut pass = begin(encoder, "render/casters", &[], DepthUse::Clear(view, 1.0));
            if !options.shadows {
                continue;
            }
            pass.set_bind_group(0, &stage.frame_group, &[]);
            if with_tets {
                pass.set_pipeline(&casters.tets);
                pass.set_bind_group(2, &stage.tets_group, &[]);
                draw_tets(&mut pass, stage);
                pass.set_pipeline(&casters.body_cut);
                draw_indices(&mut pass, stage, stage.clipped_indices());
            } else {
                pass.set_pipeline(&casters.body);
                draw_bodies(&mut pass, stage);
            }
            pass.set_pipeline(if options.cut.is_some_and(|cut| cut.rigids) { &casters.rigid_cut } else { &casters.rigid });
            draw_rigids(&mut pass, stage, true);
            self.cast_guest(&mut pass, casters, options.shading);
        }
        // The floor's maps, made from the depth maps.
        for (view, pipeline, source) in [
            (&self.maps.rough_shadow, &pipelines.floor_maps.shadow, &self.maps.shadow_group),
            (&self.maps.floor_shadow, &pipelines.floor_maps.soften, &self.maps.rough_group),
            (&self.maps.contact, &pipelines.floor_maps.contact, &self.maps.contact_group),
        ] {
            let mut pass = begin(encoder, "render/floor_maps", &[(view, None, wgpu::LoadOp::Clear(wgpu::Color::WHITE))], DepthUse::None);
            if options.shadows && stage.rigids.floor.is_some() {
                pass.set_pipeline(pipeline);
                pass.set_bind_group(0, &stage.frame_group, &[]);
                pass.set_bind_group(1, source, &[]);
                pass.draw(0..3, 0..1);
            }
        }
    }

    /// Draws near things first, then the things behind: the floor and the backdrop. Marks come last.
    fn surfaces(&self, encoder: &mut wgpu::CommandEncoder, canvas: &Canvas, options: &ViewOptions, above_floor: bool) {
        let (stage, pipelines) = (&self.stage, &self.pipelines);
        let shared_groups = |pass: &mut wgpu::RenderPass| {
            pass.set_bind_group(0, &stage.frame_group, &[]);
            pass.set_bind_group(1, &stage.maps_group, &[]);
            pass.set_bind_group(3, &canvas.screen, &[]);
        };
        let clear = wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT);
        if let Some(parts) = &canvas.parts {
            let colors = [(&parts.albedo, None, clear), (&parts.normal, None, clear)];
            let mut pass = begin(encoder, "render/parts", &colors, DepthUse::Clear(&parts.depth, 0.0));
            shared_groups(&mut pass);
            self.opaque(&mut pass, &pipelines.parts, options);
        }
        self.occlusion(encoder, canvas);

        let mut pass = match (&pipelines.lit, &canvas.resolved, &canvas.parts) {
            (Some(lit), Some((picture, depth)), _) => {
                let mut pass = begin(encoder, "render/surfaces", &[(&canvas.color, Some(picture), clear)], DepthUse::Clear(depth, 0.0));
                shared_groups(&mut pass);
                self.opaque(&mut pass, lit, options);
                pass
            }
            (_, _, Some(parts)) => {
                let mut pass = begin(encoder, "render/surfaces", &[(&canvas.color, None, clear)], DepthUse::Read(&parts.depth));
                shared_groups(&mut pass);
                pass.set_pipeline(&pipelines.light_parts);
                pass.set_bind_group(2, &parts.light, &[]);
                pass.draw(0..3, 0..1);
                pass
            }
            _ => unreachable!("a canvas has several samples, or parts, or both"),
        };
        if options.ground {
            pass.set_pipeline(&pipelines.backdrop);
            pass.draw(0..3, 0..1);
        }
        if let Some(floor) = stage.rigids.floor.filter(|floor| options.ground && !stage.hidden.rigid.contains(&(*floor as usize))) {
            pass.set_pipeline(if above_floor { &pipelines.floor } else { &pipelines.floor_below });
            pass.draw(0..6, floor..floor + 1);
        }
        self.draw_ghost(&mut pass);
        if self.marks.n > 0 {
            pass.set_vertex_buffer(0, self.marks.buffer.slice(..));
            for pipeline in [&pipelines.overlay.behind, &pipelines.overlay.front] {
                pass.set_pipeline(pipeline);
                pass.draw(0..6, 0..self.marks.n);
            }
        }
    }

    /// Computes how open surfaces are to the light around them; fully open everywhere without occlusion.
    fn occlusion(&self, encoder: &mut wgpu::CommandEncoder, canvas: &Canvas) {
        let steps = match &canvas.parts {
            Some(parts) if self.options.ambient_occlusion => vec![
                (&canvas.rough_occlusion, Some((&self.pipelines.occlusion.rough, &parts.occlusion))),
                (&canvas.occlusion, Some((&self.pipelines.occlusion.average, &parts.average))),
            ],
            _ => vec![(&canvas.occlusion, None)],
        };
        for (view, step) in steps {
            let white = wgpu::LoadOp::Clear(wgpu::Color::WHITE);
            let mut pass = begin(encoder, "render/occlusion", &[(view, None, white)], DepthUse::None);
            if let Some((pipeline, group)) = step {
                pass.set_pipeline(pipeline);
                pass.set_bind_group(0, &self.stage.frame_group, &[]);
                pass.set_bind_group(1, group, &[]);
                pass.draw(0..3, 0..1);
            }
        }
    }

    /// Draws bodies, rigid things and slabs.
    fn opaque(&self, pass: &mut wgpu::RenderPass, pipelines: &Surfaces, options: &ViewOptions) {
        let (stage, shading) = (&self.stage, options.shading);
        draw_soft(pass, pipelines, shading, stage);
        if matches!(shading, Shading::Wireframe | Shading::Edges) {
            pass.set_bind_group(2, &stage.rigid_wire_group, &[]);
            let is_drawn = |i: usize| stage.rigids.is_mesh[i] && !stage.hidden.rigid.contains(&i);
            for (i, range) in (1..).zip(&stage.rigids.ranges).filter(|(i, _)| is_drawn(*i as usize - 1)) {
                pass.draw(range.clone(), i..i + 1);
            }
        }
        let cuts_rigids = options.cut.is_some_and(|cut| cut.rigids);
        pass.set_pipeline(if cuts_rigids { &pipelines.rigid_cut } else { &pipelines.rigid });
        draw_rigids(pass, stage, !matches!(shading, Shading::Wireframe | Shading::Edges));
        if options.cut.is_some() {
            self.caps.draw(pass, &pipelines.body);
        }
        pass.set_pipeline(&pipelines.slab);
        for &slab in stage.rigids.slabs.iter().filter(|slab| !stage.hidden.rigid.contains(&(**slab as usize))) {
            pass.draw(0..6, slab..slab + 1);
        }
        self.draw_guest(pass, pipelines, shading);
    }
}

/// Draws the soft bodies of a stage.
pub(super) fn draw_soft(pass: &mut wgpu::RenderPass, pipelines: &Surfaces, shading: Shading, stage: &StageBuffers) {
    match shading {
        Shading::Smooth => {
            pass.set_pipeline(&pipelines.body);
            draw_bodies(pass, stage);
        }
        Shading::Wireframe | Shading::Edges => {
            pass.set_pipeline(if shading == Shading::Edges { &pipelines.edges } else { &pipelines.wire });
            pass.set_bind_group(2, &stage.wire_group, &[]);
            stage.shown_indices().for_each(|indices| pass.draw(indices, 0..1));
        }
        Shading::Tets => {
            pass.set_pipeline(&pipelines.tets);
            pass.set_bind_group(2, &stage.tets_group, &[]);
            draw_tets(pass, stage);
            pass.set_pipeline(&pipelines.body_cut);
            draw_indices(pass, stage, stage.clipped_indices());
        }
    }
}

fn check_count(positions: &Positions, expected: u32, what: &'static str) -> Result<(), RenderError> {
    let expected = expected as usize;
    let (given, fits) = match positions {
        Positions::Host(host) => (host.len(), host.len() == expected),
        // Device buffers may have room for more than is used.
        Positions::Device(buffer) => ((buffer.size() / 16) as usize, buffer.size() / 16 >= expected as u64),
    };
    if fits { Ok(()) } else { Err(RenderError::Count { what, given, expected }) }
}

pub(super) fn draw_bodies(pass: &mut wgpu::RenderPass, stage: &StageBuffers) {
    if stage.n_indices > 0 {
        draw_indices(pass, stage, stage.shown_indices());
    }
}

fn draw_indices(pass: &mut wgpu::RenderPass, stage: &StageBuffers, parts: impl Iterator<Item = Range<u32>>) {
    pass.set_vertex_buffer(0, stage.vertices.slice(..));
    pass.set_index_buffer(stage.indices.slice(..), wgpu::IndexFormat::Uint32);
    parts.for_each(|indices| pass.draw_indexed(indices, 0, 0..1));
}

pub(super) fn draw_tets(pass: &mut wgpu::RenderPass, stage: &StageBuffers) {
    stage.shown_tets().for_each(|tets| pass.draw(12 * tets.start..12 * tets.end, 0..1));
}

/// Draws rigid things, `RigidShape::Mesh` only if `meshes`.
pub(super) fn draw_rigids(pass: &mut wgpu::RenderPass, stage: &StageBuffers, meshes: bool) {
    pass.set_vertex_buffer(0, stage.rigids.vertices.slice(..));
    pass.set_index_buffer(stage.rigids.indices.slice(..), wgpu::IndexFormat::Uint32);
    for ((i, range), is_mesh) in (1..).zip(&stage.rigids.ranges).zip(&stage.rigids.is_mesh) {
        if !range.is_empty() && (meshes || !is_mesh) && !stage.hidden.rigid.contains(&(i as usize - 1)) {
            pass.draw_indexed(range.clone(), 0, i..i + 1); // transform 0 belongs to the soft bodies
        }
    }
}

/// A colour target: its texture, the texture to which its samples are resolved, and the colour with which it starts.
type ColorOf<'a> = (&'a wgpu::TextureView, Option<&'a wgpu::TextureView>, wgpu::LoadOp<wgpu::Color>);

#[derive(Clone, Copy)]
enum DepthUse<'a> {
    None,
    Clear(&'a wgpu::TextureView, f32),
    /// Depth is tested and not written: it can be read as a texture at the same time.
    Read(&'a wgpu::TextureView),
}

fn begin<'e>(encoder: &'e mut wgpu::CommandEncoder, label: &str, colors: &[ColorOf], depth: DepthUse) -> wgpu::RenderPass<'e> {
    let colors: Vec<_> = colors
        .iter()
        .map(|&(view, resolve_target, load)| {
            // Samples are not needed once resolved.
            let store = if resolve_target.is_some() { wgpu::StoreOp::Discard } else { wgpu::StoreOp::Store };
            Some(wgpu::RenderPassColorAttachment { view, depth_slice: None, resolve_target, ops: wgpu::Operations { load, store } })
        })
        .collect();
    let depth = match depth {
        DepthUse::None => None,
        DepthUse::Clear(view, value) => {
            Some((view, Some(wgpu::Operations { load: wgpu::LoadOp::Clear(value), store: wgpu::StoreOp::Store })))
        }
        DepthUse::Read(view) => Some((view, None)),
    };
    encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        label: Some(label),
        color_attachments: &colors,
        depth_stencil_attachment: depth.map(|(view, depth_ops)| wgpu::RenderPassDepthStencilAttachment {
            view,
            depth_ops,
            stencil_ops: None,
        }),
        ..Default::default()
    })
}

/// Copies the canvas into a part of the target.
fn present(
    encoder: &mut wgpu::CommandEncoder,
    pipelines: &Present,
    canvas: &Canvas,
    target: &wgpu::TextureView,
    [x, y, width, height]: [u32; 4],
) {
    let mut pass = begin(encoder, "render/present", &[(target, None, wgpu::LoadOp::Load)], DepthUse::None);
    pass.set_viewport(x as f32, y as f32, width as f32, height as f32, 0.0, 1.0);
    pass.set_scissor_rect(x, y, width, height);
    pass.set_pipeline(if canvas.scale == 1 { &pipelines.single } else { &pipelines.fine });
    pass.set_bind_group(0, &canvas.present, &[]);
    pass.draw(0..3, 0..1);
}
