//! The textures that a picture is drawn into before it goes to its target.

use super::camera::Camera;
use super::options::RenderOptions;
use super::pipeline::{ALBEDO_FORMAT, DEPTH_FORMAT, MAP_FORMAT, NORMAL_FORMAT, PICTURE_FORMAT};
use super::pipelines::Pipelines;
use super::stage::{Overlays, ViewOptions};

/// Everything that depends on the size of the picture.
pub struct Canvas {
    /// Of the picture [px].
    pub size: [u32; 2],
    /// Texels along the side of a pixel: 1, or 2 where a pixel is the mean of four.
    pub scale: u32,
    /// The texture into which surfaces are drawn.
    pub color: wgpu::TextureView,
    /// With several samples per pixel: the texture to which they are resolved, and their depth.
    pub resolved: Option<(wgpu::TextureView, wgpu::TextureView)>,
    /// The parts that surfaces leave before they are lit, one sample per pixel; none where nothing uses them.
    pub parts: Option<Parts>,
    /// Maps of how open surfaces are to the light around them, in a quarter of the pixels: the rough map, and the
    /// averaged map.
    pub rough_occlusion: wgpu::TextureView,
    pub occlusion: wgpu::TextureView,
    /// The averaged map, for `parts.wgsl`.
    pub screen: wgpu::BindGroup,
    /// Where selected things are.
    pub mask: wgpu::TextureView,
    /// The place of the picture in the target and the line around what is selected: `corner` of `present.wgsl`.
    pub corner: wgpu::Buffer,
    /// The finished picture, for `present.wgsl`.
    pub present: wgpu::BindGroup,
    /// The content of the picture: the same content is not drawn again.
    pub shows: Option<Shown>,
}

/// Everything on which a picture depends beside the stage and its positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    pub camera: Camera,
    pub options: ViewOptions,
    pub overlays: Overlays,
}

/// Albedo, normal and depth of surfaces, and the bind groups that read them.
pub struct Parts {
    pub albedo: wgpu::TextureView,
    pub normal: wgpu::TextureView,
    pub depth: wgpu::TextureView,
    /// Bind group of `light_parts.wgsl`.
    pub light: wgpu::BindGroup,
    /// Bind groups of the two passes of `occlusion.wgsl`.
    pub occlusion: wgpu::BindGroup,
    pub average: wgpu::BindGroup,
}

impl Canvas {
    /// Width and height of the textures.
    pub fn texels(&self) -> [u32; 2] {
        self.size.map(|n| n * self.scale)
    }

    pub fn new(device: &wgpu::Device, pipelines: &Pipelines, size: [u32; 2], scale: u32, options: &RenderOptions) -> Self {
        let of_picture = size;
        let size = size.map(|n| n * scale);
        let attachment = wgpu::TextureUsages::RENDER_ATTACHMENT;
        let readable = attachment | wgpu::TextureUsages::TEXTURE_BINDING;
        let view = |label, [width, height]: [u32; 2], format, samples, usage| {
            let texture = device.create_texture(&wgpu::TextureDescriptor {
                label: Some(label),
                size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
                mip_level_count: 1,
                sample_count: samples,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage,
                view_formats: &[],
            });
            texture.create_view(&wgpu::TextureViewDescriptor::default())
        };
        let group = |label, layout, resources: &[wgpu::BindingResource]| {
            let entries: Vec<_> =
                (0..).zip(resources).map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource: resource.clone() }).collect();
            device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some(label), layout, entries: &entries })
        };

        let picture = view("render/picture", size, PICTURE_FORMAT, 1, readable);
        let corner = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("render/corner"),
            size: 32,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let sampler = wgpu::BindingResource::Sampler(&pipelines.linear_sampler);
        let mask = view("render/mask", size, MAP_FORMAT, 1, readable);
        let present = [texture(&picture), sampler, corner.as_entire_binding(), texture(&mask)];
        let present = group("render/present", &pipelines.layouts.present, &present);

        // Without occlusion the map is a single texel.
        let quarter = if options.ambient_occlusion { size.map(|n| n.div_ceil(2)) } else { [1, 1] };
        let rough_occlusion = view("render/rough_occlusion", quarter, MAP_FORMAT, 1, readable);
        let occlusion = view("render/occlusion", quarter, MAP_FORMAT, 1, readable);
        let parts = (options.samples == 1 || options.ambient_occlusion).then(|| {
            let albedo = view("render/albedo", size, ALBEDO_FORMAT, 1, readable);
            let normal = view("render/normal", size, NORMAL_FORMAT, 1, readable);
            let depth = view("render/depth", size, DEPTH_FORMAT, 1, readable);
            let [a, n, d] = [&albedo, &normal, &depth].map(texture);
            // The first pass reads no map, and may not bind the map that it draws.
            let first = [n.clone(), d.clone(), texture(&occlusion)];
            let second = [n.clone(), d.clone(), texture(&rough_occlusion)];
            Parts {
                light: group("render/parts", &pipelines.layouts.parts, &[a, n, d]),
                occlusion: group("render/occlusion", &pipelines.layouts.occlusion, &first),
                average: group("render/average", &pipelines.layouts.occlusion, &second),
                albedo,
                normal,
                depth,
            }
        });
        let (color, resolved) = match options.samples {
            1 => (picture, None),
            samples => {
                let depth = view("render/sample_depth", size, DEPTH_FORMAT, samples, attachment);
                (view("render/samples", size, PICTURE_FORMAT, samples, attachment), Some((picture, depth)))
            }
        };
        let screen = group("render/screen", &pipelines.layouts.screen, &[texture(&occlusion)]);
        Self { size: of_picture, scale, color, resolved, parts, rough_occlusion, occlusion, screen, mask, corner, present, shows: None }
    }
}

fn texture(view: &wgpu::TextureView) -> wgpu::BindingResource<'_> {
    wgpu::BindingResource::TextureView(view)
}
