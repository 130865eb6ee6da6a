//! Maps that only the shaders read: the key light's depth map, the floor's depth map looking up, and the floor's small
//! maps made from both.

use super::options::RenderOptions;
use super::pipeline::{DEPTH_FORMAT, MAP_FORMAT};
use super::pipelines::Pipelines;
use super::upload::{constant, fit_buffer};

pub struct Maps {
    /// Depth from the key light.
    pub shadow: wgpu::TextureView,
    /// Height of the lowest thing above the floor.
    pub contact_depth: wgpu::TextureView,
    /// The part of the key light that reaches the floor, in light-map coordinates: from few taps, and softened.
    pub rough_shadow: wgpu::TextureView,
    pub floor_shadow: wgpu::TextureView,
    /// How open the floor is to the sky, in contact-map coordinates.
    pub contact: wgpu::TextureView,
    /// The layout of the maps: `Fit`.
    pub fit: wgpu::Buffer,
    /// Width of the shadow map [texels], here and for `fit.wgsl`.
    pub shadow_width: u32,
    pub width: wgpu::Buffer,
    /// Bind groups of `floor_maps.wgsl`.
    pub shadow_group: wgpu::BindGroup,
    pub contact_group: wgpu::BindGroup,
    pub rough_group: wgpu::BindGroup,
}

impl Maps {
    pub fn new(device: &wgpu::Device, pipelines: &Pipelines, options: &RenderOptions) -> Self {
        let view = |label, format, width| {
            let texture = device.create_texture(&wgpu::TextureDescriptor {
                label: Some(label),
                size: wgpu::Extent3d { width, height: width, depth_or_array_layers: 1 },
                mip_level_count: 1,
                sample_count: 1,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING,
                view_formats: &[],
            });
            texture.create_view(&wgpu::TextureViewDescriptor::default())
        };
        let group = |layout, binding, view| {
            device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("render/floor_maps"),
                layout,
                entries: &[wgpu::BindGroupEntry { binding, resource: wgpu::BindingResource::TextureView(view) }],
            })
        };
        let width = options.shadow_resolution.max(64);
        let shadow = view("render/shadow", DEPTH_FORMAT, width);
        let contact_depth = view("render/contact_depth", DEPTH_FORMAT, width / 4);
        let rough_shadow = view("render/rough_shadow", MAP_FORMAT, width / 4);
        Self {
            shadow_group: group(&pipelines.layouts.depths, 0, &shadow),
            contact_group: group(&pipelines.layouts.depths, 0, &contact_depth),
            rough_group: group(&pipelines.layouts.rough, 1, &rough_shadow),
            rough_shadow,
            floor_shadow: view("render/floor_shadow", MAP_FORMAT, width / 4),
            contact: view("render/contact", MAP_FORMAT, width / 8),
            fit: fit_buffer(device),
            shadow_width: width,
            width: constant(device, "render/map_width", [width as f32, 0.0, 0.0, 0.0]),
            shadow,
            contact_depth,
        }
    }

    /// For `lighting.wgsl`.
    pub fn group(&self, device: &wgpu::Device, pipelines: &Pipelines) -> wgpu::BindGroup {
        let texture = |view| wgpu::BindingResource::TextureView(view);
        let resources = [
            texture(&self.shadow),
            wgpu::BindingResource::Sampler(&pipelines.texel_sampler),
            wgpu::BindingResource::Sampler(&pipelines.linear_sampler),
            texture(&self.floor_shadow),
            texture(&self.contact),
        ];
        let entries: Vec<_> = (0..).zip(resources).map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource }).collect();
        device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("render/maps"),
            layout: &pipelines.layouts.maps,
            entries: &entries,
        })
    }
}
