//! The textures that a picture is drawn into before it goes to its target.

use super::pipelines::{ALBEDO_FORMAT, DEPTH_FORMAT, NORMAL_FORMAT, PICTURE_FORMAT, Pipelines};
use super::renderer::RenderOptions;

/// Colour and depth of one size; with several samples a pixel also the colour they are resolved to.
pub struct Canvas {
    pub size: [u32; 2],
    /// What is drawn into.
    pub color: wgpu::TextureView,
    /// Where samples are resolved to, when there are several.
    pub resolved: Option<wgpu::TextureView>,
    pub depth: wgpu::TextureView,
    /// Where surfaces wait for their light, when they are not lit at once.
    pub parts: Option<Parts>,
    /// Where the picture goes in the target: `corner` of `present.wgsl`.
    pub corner: wgpu::Buffer,
    /// The finished picture, for `present.wgsl`.
    pub present: wgpu::BindGroup,
}

/// Albedo and normal of surfaces, and all that `light_parts.wgsl` reads.
pub struct Parts {
    pub albedo: wgpu::TextureView,
    pub normal: wgpu::TextureView,
    pub group: wgpu::BindGroup,
}

impl Canvas {
    pub fn new(device: &wgpu::Device, pipelines: &Pipelines, size: [u32; 2], options: &RenderOptions) -> Self {
        let samples = options.samples;
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
        let parts = options.lights_parts().then(|| {
            let depth = view("render/depth", DEPTH_FORMAT, 1, readable);
            let albedo = view("render/albedo", ALBEDO_FORMAT, 1, readable);
            let normal = view("render/normal", NORMAL_FORMAT, 1, readable);
            (depth, albedo, normal)
        });
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
        let (depth, parts) = match parts {
            None => (view("render/depth", DEPTH_FORMAT, samples, attachment), None),
            Some((depth, albedo, normal)) => {
                let entries = [&albedo, &normal, &depth].map(wgpu::BindingResource::TextureView);
                let entries = std::array::from_fn::<_, 3, _>(|i| wgpu::BindGroupEntry { binding: i as u32, resource: entries[i].clone() });
                let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
                    label: Some("render/parts"),
                    layout: &pipelines.parts_layout,
                    entries: &entries,
                });
                (depth, Some(Parts { albedo, normal, group }))
            }
        };
        let (color, resolved) = match samples {
            1 => (picture, None),
            _ => (view("render/samples", PICTURE_FORMAT, samples, attachment), Some(picture)),
        };
        Self { size, color, resolved, depth, parts, corner, present }
    }
}
