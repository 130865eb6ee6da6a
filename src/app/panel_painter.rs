//! Draws the panels of a frame.
//!
//! `egui_wgpu` keeps their textures, and is not asked to draw: its shader chooses how to filter by a uniform, which has
//! a software adapter filter each pixel of the window in every way that there is. A frame of panels took it four times
//! as long.

use std::num::NonZeroU64;

use egui::epaint::{ClippedPrimitive, ImageDelta, Mesh, Primitive, TextureId, Vertex};

use crate::render::shader_module;

/// Textures of panels, and what draws with them.
pub struct PanelPainter {
    device: wgpu::Device,
    queue: wgpu::Queue,
    textures: egui_wgpu::Renderer,
    pipeline: wgpu::RenderPipeline,
    /// Size of the window [points], as the shader reads it.
    screen: wgpu::Buffer,
    screen_group: wgpu::BindGroup,
    vertices: wgpu::Buffer,
    indices: wgpu::Buffer,
}

/// The panels of one frame, and where they are drawn.
#[derive(Clone, Copy)]
pub struct PanelShapes<'a> {
    pub primitives: &'a [ClippedPrimitive],
    /// Width and height of the target [px].
    pub size: [u32; 2],
    pub pixels_per_point: f32,
}

impl PanelPainter {
    /// For targets of this format, which is not an sRGB format: colours come encoded.
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue, format: wgpu::TextureFormat) -> Self {
        let screen_layout = layout(device, "app/screen", &[uniform(0, wgpu::ShaderStages::VERTEX)]);
        let screen = buffer(device, wgpu::BufferUsages::UNIFORM, size_of::<[f32; 4]>() as u64);
        Self {
            textures: egui_wgpu::Renderer::new(device, format, egui_wgpu::RendererOptions::default()),
            pipeline: pipeline(device, format, &[&screen_layout, &texture_layout(device)]),
            screen_group: device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("app/screen"),
                layout: &screen_layout,
                entries: &[wgpu::BindGroupEntry { binding: 0, resource: screen.as_entire_binding() }],
            }),
            screen,
            vertices: buffer(device, wgpu::BufferUsages::VERTEX, 1 << 16),
            indices: buffer(device, wgpu::BufferUsages::INDEX, 1 << 16),
            device: device.clone(),
            queue: queue.clone(),
        }
    }

    /// A texture of ours, for panels to show as it is.
    pub fn register(&mut self, view: &wgpu::TextureView) -> TextureId {
        self.textures.register_native_texture(&self.device, view, wgpu::FilterMode::Nearest)
    }

    /// Another one in its place.
    pub fn replace(&mut self, id: TextureId, view: &wgpu::TextureView) {
        self.textures.update_egui_texture_from_wgpu_texture(&self.device, view, wgpu::FilterMode::Nearest, id);
    }

    pub fn update_texture(&mut self, id: TextureId, delta: &ImageDelta) {
        self.textures.update_texture(&self.device, &self.queue, id, delta);
    }

    pub fn free_texture(&mut self, id: &TextureId) {
        self.textures.free_texture(id);
    }

    /// Draws the panels over `target`, of which nothing is kept. Submit the encoder before the next frame: frames share
    /// their buffers.
    pub fn draw(&mut self, encoder: &mut wgpu::CommandEncoder, target: &wgpu::TextureView, shapes: PanelShapes) {
        self.upload(&shapes);
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("app/panels"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: target,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::BLACK), store: wgpu::StoreOp::Store },
            })],
            ..Default::default()
        });
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.screen_group, &[]);
        pass.set_vertex_buffer(0, self.vertices.slice(..));
        pass.set_index_buffer(self.indices.slice(..), wgpu::IndexFormat::Uint32);
        let (mut first, mut base) = (0, 0);
        for (clip, mesh) in meshes(shapes.primitives) {
            let indices = first..first + mesh.indices.len() as u32;
            let [x, y, width, height] = scissors(clip, &shapes);
            let texture = self.textures.texture(&mesh.texture_id);
            if let Some(texture) = texture.filter(|_| width > 0 && height > 0 && !indices.is_empty()) {
                pass.set_scissor_rect(x, y, width, height);
                pass.set_bind_group(1, &texture.bind_group, &[]);
                pass.draw_indexed(indices.clone(), base, 0..1);
            }
            (first, base) = (indices.end, base + mesh.vertices.len() as i32);
        }
    }

    /// Puts all meshes one behind the other into the buffers.
    fn upload(&mut self, shapes: &PanelShapes) {
        let [width, height] = shapes.size.map(|n| n as f32 / shapes.pixels_per_point);
        self.queue.write_buffer(&self.screen, 0, bytemuck::bytes_of(&[width, height, 0.0, 0.0]));
        let meshes = || meshes(shapes.primitives).map(|(_, mesh)| mesh);
        write_all(&self.device, &self.queue, &mut self.vertices, meshes().map(|mesh| bytemuck::cast_slice(&mesh.vertices)));
        write_all(&self.device, &self.queue, &mut self.indices, meshes().map(|mesh| bytemuck::cast_slice(&mesh.indices)));
    }
}

fn meshes(primitives: &[ClippedPrimitive]) -> impl Iterator<Item = (&egui::Rect, &Mesh)> + Clone {
    primitives.iter().filter_map(|shape| match &shape.primitive {
        Primitive::Mesh(mesh) => Some((&shape.clip_rect, mesh)),
        Primitive::Callback(_) => None, // there are none
    })
}

/// `[x, y, width, height]` [px] of the part of a rectangle [points] that is on the target.
fn scissors(clip: &egui::Rect, shapes: &PanelShapes) -> [u32; 4] {
    let [width, height] = shapes.size;
    let pixel = |points: f32, most: u32| ((points * shapes.pixels_per_point).round() as u32).min(most);
    let [left, top] = [pixel(clip.min.x, width), pixel(clip.min.y, height)];
    [left, top, pixel(clip.max.x, width).saturating_sub(left), pixel(clip.max.y, height).saturating_sub(top)]
}

/// Writes the parts one behind the other, into a larger buffer where there is no room.
fn write_all<'a>(device: &wgpu::Device, queue: &wgpu::Queue, to: &mut wgpu::Buffer, parts: impl Iterator<Item = &'a [u8]> + Clone) {
    let n: u64 = parts.clone().map(|part| part.len() as u64).sum();
    if n > to.size() {
        *to = buffer(device, to.usage(), n.next_power_of_two());
    }
    let Some(mut room) = NonZeroU64::new(n).and_then(|n| queue.write_buffer_with(to, 0, n)) else { return };
    let mut at = 0;
    for part in parts {
        room.slice(at..at + part.len()).copy_from_slice(part);
        at += part.len();
    }
}

fn buffer(device: &wgpu::Device, usage: wgpu::BufferUsages, size: u64) -> wgpu::Buffer {
    let usage = usage | wgpu::BufferUsages::COPY_DST;
    device.create_buffer(&wgpu::BufferDescriptor { label: Some("app/panels"), size, usage, mapped_at_creation: false })
}

fn layout(device: &wgpu::Device, label: &str, entries: &[wgpu::BindGroupLayoutEntry]) -> wgpu::BindGroupLayout {
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(label), entries })
}

/// A uniform of four words.
fn uniform(binding: u32, visibility: wgpu::ShaderStages) -> wgpu::BindGroupLayoutEntry {
    let ty = wgpu::BufferBindingType::Uniform;
    let min_binding_size = NonZeroU64::new(size_of::<[u32; 4]>() as u64);
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size },
        count: None,
    }
}

/// The layout of `egui_wgpu`'s groups, which tell how to filter beside the texture and its sampler.
fn texture_layout(device: &wgpu::Device) -> wgpu::BindGroupLayout {
    let fragment = wgpu::ShaderStages::FRAGMENT;
    let sample_type = wgpu::TextureSampleType::Float { filterable: true };
    let entry = |binding, ty| wgpu::BindGroupLayoutEntry { binding, visibility: fragment, ty, count: None };
    layout(
        device,
        "app/texture",
        &[
            entry(0, wgpu::BindingType::Texture { sample_type, view_dimension: wgpu::TextureViewDimension::D2, multisampled: false }),
            entry(1, wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering)),
            uniform(2, fragment),
        ],
    )
}

fn pipeline(device: &wgpu::Device, format: wgpu::TextureFormat, layouts: &[&wgpu::BindGroupLayout; 2]) -> wgpu::RenderPipeline {
    let module = shader_module(device, "panels");
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("app/panels"),
        bind_group_layouts: &layouts.map(Some),
        immediate_size: 0,
    });
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("app/panels"),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("vs_panels"),
            buffers: &[Some(wgpu::VertexBufferLayout {
                array_stride: size_of::<Vertex>() as u64,
                step_mode: wgpu::VertexStepMode::Vertex,
                attributes: &wgpu::vertex_attr_array![0 => Float32x2, 1 => Float32x2, 2 => Unorm8x4],
            })],
            compilation_options: Default::default(),
        },
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some("fs_panels"),
            targets: &[Some(wgpu::ColorTargetState {
                format,
                blend: Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
                write_mask: wgpu::ColorWrites::ALL,
            })],
            compilation_options: Default::default(),
        }),
        primitive: Default::default(),
        depth_stencil: None,
        multisample: Default::default(),
        multiview_mask: None,
        cache: None,
    })
}

#[cfg(test)]
mod tests {
    use egui::epaint::{Mesh, WHITE_UV};
    use egui::{Color32, ColorImage, Rect, TextureOptions, pos2};

    use super::*;
    use crate::gpu::test_device;
    use crate::render::Image;

    const SIZE: [u32; 2] = [32, 16];

    /// Rectangles of one colour [points] in one mesh, of which only what is within `clip` is drawn.
    fn rectangles(clip: Rect, rectangles: &[Rect], color: Color32) -> ClippedPrimitive {
        let mut mesh = Mesh::default();
        rectangles.iter().for_each(|rect| mesh.add_rect_with_uv(*rect, Rect::from_min_max(WHITE_UV, WHITE_UV), color));
        ClippedPrimitive { clip_rect: clip, primitive: Primitive::Mesh(mesh) }
    }

    fn rect(left: f32, top: f32, right: f32, bottom: f32) -> Rect {
        Rect::from_min_max(pos2(left, top), pos2(right, bottom))
    }

    /// Meshes lie where their points say, one over the other, within what they are clipped to, whether or not all fit
    /// into the buffers of before.
    #[test]
    fn panels_are_drawn_where_they_are() {
        let gpu = test_device();
        let format = wgpu::TextureFormat::Rgba8Unorm;
        let mut painter = PanelPainter::new(&gpu.device, &gpu.queue, format);
        let white = ColorImage::filled([1, 1], Color32::WHITE);
        painter.update_texture(TextureId::default(), &ImageDelta::full(white, TextureOptions::LINEAR));
        let target = gpu.device.create_texture(&wgpu::TextureDescriptor {
            label: None,
            size: wgpu::Extent3d { width: SIZE[0], height: SIZE[1], depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let everywhere = rect(-8.0, -8.0, 100.0, 100.0);
        let red = Color32::from_rgb(200, 0, 0);
        let veil = Color32::from_rgba_premultiplied(0, 0, 100, 128);
        for rectangles_of_red in [1, 10_000] {
            let primitives = [
                rectangles(everywhere, &[], red),
                rectangles(rect(2.0, 1.0, 6.0, 100.0), &vec![rect(-2.0, 2.0, 8.0, 6.0); rectangles_of_red], red),
                rectangles(rect(20.0, 0.0, 20.0, 8.0), &[everywhere], Color32::WHITE),
                rectangles(everywhere, &[rect(5.0, 0.0, 8.0, 3.0)], veil),
            ];
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let view = target.create_view(&wgpu::TextureViewDescriptor::default());
            painter.draw(&mut encoder, &view, PanelShapes { primitives: &primitives, size: SIZE, pixels_per_point: 2.0 });
            gpu.queue.submit([encoder.finish()]);
            let image = Image::of_texture(&gpu.device, &gpu.queue, &target).unwrap();
            for y in 0..SIZE[1] {
                for x in 0..SIZE[0] {
                    let is_red = (4..12).contains(&x) && (4..12).contains(&y);
                    let is_veiled = (10..16).contains(&x) && y < 6;
                    let expected = match (is_red, is_veiled) {
                        (true, true) => [100, 0, 100],
                        (true, false) => [200, 0, 0],
                        (false, true) => [0, 0, 100],
                        (false, false) => [0, 0, 0],
                    };
                    let pixel = image.pixel(x, y);
                    let is_as_expected = pixel.iter().zip(&expected).all(|(a, b): (&u8, &u8)| a.abs_diff(*b) <= 1);
                    assert!(is_as_expected, "{rectangles_of_red} at {x} {y}: {pixel:?}, not {expected:?}");
                }
            }
        }
    }
}
