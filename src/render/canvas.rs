//! The textures that a picture is drawn into before it goes to its target.

use super::pipelines::{DEPTH_FORMAT, PICTURE_FORMAT, Pipelines};

/// Colour and depth of one size; with several samples a pixel also the colour they are resolved to.
pub struct Canvas {
    pub size: [u32; 2],
    /// What is drawn into.
    pub color: wgpu::TextureView,
    /// Where samples are resolved to, when there are several.
    pub resolved: Option<wgpu::TextureView>,
    pub depth: wgpu::TextureView,
    /// Where the picture goes in the target: `corner` of `present.wgsl`.
    pub corner: wgpu::Buffer,
    /// The finished picture, for `present.wgsl`.
    pub present: wgpu::BindGroup,
}

impl Canvas {
    pub fn new(device: &wgpu::Device, pipelines: &Pipelines, size: [u32; 2], samples: u32) -> Self {
        let view = |label, format, samples, usage| {
            let texture = device.create_texture(&wgpu::TextureDescriptor {
                label: Some(label),
                size: wgpu::Extent3d { width: size[0], height: size[1], depth_or_array_layers: 1 },
                mip_level_count: 1,
                sample_count: samples,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage,
                view_formats: &[],
            });
            texture.create_view(&wgpu::TextureViewDescriptor::default())
        };
        let attachment = wgpu::TextureUsages::RENDER_ATTACHMENT;
        let readable = attachment | wgpu::TextureUsages::TEXTURE_BINDING;
        let picture = view("render/picture", PICTURE_FORMAT, 1, readable);
        let depth = view("render/depth", DEPTH_FORMAT, samples, attachment);
        let corner = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("render/corner"),
            size: 16,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let present = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("render/present"),
            layout: &pipelines.present_layout,
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(&picture) },
                wgpu::BindGroupEntry { binding: 1, resource: wgpu::BindingResource::Sampler(&pipelines.linear_sampler) },
                wgpu::BindGroupEntry { binding: 2, resource: corner.as_entire_binding() },
            ],
        });
        let (color, resolved) = match samples {
            1 => (picture, None),
            _ => (view("render/samples", PICTURE_FORMAT, samples, attachment), Some(picture)),
        };
        Self { size, color, resolved, depth, corner, present }
    }
}
