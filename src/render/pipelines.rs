//! Layouts, samplers and pipelines: everything that depends only on the device and the options.

use wgpu::{ShaderStages, VertexAttribute};

use super::renderer::RenderOptions;
use super::shaders::module;

/// Format of the picture before it goes to its target; alpha holds the brightness.
pub const PICTURE_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;
pub const DEPTH_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;
/// Formats of the parts of surfaces that are lit later: see `parts.wgsl`.
pub const ALBEDO_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;
pub const NORMAL_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgb10a2Unorm;
/// Format of the floor's small maps.
pub const MAP_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::R8Unorm;

pub struct Pipelines {
    /// `frame`, `fit`, `world_from_local`, `planes`.
    pub frame_layout: wgpu::BindGroupLayout,
    /// Textures and samplers of `lighting.wgsl`.
    pub maps_layout: wgpu::BindGroupLayout,
    /// The depth map that `floor_maps.wgsl` reads.
    pub depths_layout: wgpu::BindGroupLayout,
    /// The map that `fs_soften` of `floor_maps.wgsl` reads.
    pub rough_layout: wgpu::BindGroupLayout,
    /// Vertices and indices of `body.wgsl`'s wireframe.
    pub wire_layout: wgpu::BindGroupLayout,
    /// Nodes, tets, colours and view of `tets.wgsl`.
    pub tets_layout: wgpu::BindGroupLayout,
    /// Albedos, normals and depths of `light_parts.wgsl`.
    pub parts_layout: wgpu::BindGroupLayout,
    /// Normals, depths and the rough map of `occlusion.wgsl`.
    pub occlusion_layout: wgpu::BindGroupLayout,
    /// The finished occlusion map.
    pub screen_layout: wgpu::BindGroupLayout,
    pub present_layout: wgpu::BindGroupLayout,
    pub normals_layout: wgpu::BindGroupLayout,
    pub fit_layout: wgpu::BindGroupLayout,
    pub linear_sampler: wgpu::Sampler,
    pub texel_sampler: wgpu::Sampler,
    pub normals: wgpu::ComputePipeline,
    pub fit: wgpu::ComputePipeline,
    pub body_shadow: wgpu::RenderPipeline,
    pub body_contact: wgpu::RenderPipeline,
    pub rigid_shadow: wgpu::RenderPipeline,
    pub rigid_contact: wgpu::RenderPipeline,
    pub tets_shadow: wgpu::RenderPipeline,
    pub tets_contact: wgpu::RenderPipeline,
    pub floor_shadow_map: wgpu::RenderPipeline,
    pub soften: wgpu::RenderPipeline,
    pub contact_map: wgpu::RenderPipeline,
    /// Pipelines of surfaces that leave their parts, to be lit later.
    pub parts: Surfaces,
    /// Pipelines of surfaces that are lit at once; none with one sample per pixel.
    pub lit: Option<Surfaces>,
    pub occlusion: wgpu::RenderPipeline,
    pub occlusion_average: wgpu::RenderPipeline,
    pub light_parts: wgpu::RenderPipeline,
    pub floor: wgpu::RenderPipeline,
    pub backdrop: wgpu::RenderPipeline,
    pub overlay_front: wgpu::RenderPipeline,
    pub overlay_behind: wgpu::RenderPipeline,
    /// Presents in the options' target format.
    pub present: wgpu::RenderPipeline,
    /// Presents in `PICTURE_FORMAT`, for captures.
    pub present_capture: wgpu::RenderPipeline,
}

/// Pipelines of bodies, rigid things and slabs.
pub struct Surfaces {
    pub body: wgpu::RenderPipeline,
    pub rigid: wgpu::RenderPipeline,
    pub wire: wgpu::RenderPipeline,
    pub tets: wgpu::RenderPipeline,
    pub slab: wgpu::RenderPipeline,
}

impl Pipelines {
    pub fn new(device: &wgpu::Device, options: &RenderOptions) -> Self {
        let all = ShaderStages::VERTEX_FRAGMENT;
        let compute = ShaderStages::COMPUTE;
        let frame_layout = layout(device, "frame", &[(all, UNIFORM), (all, UNIFORM), (ShaderStages::VERTEX, READ), (all, READ)]);
        let maps_layout = layout(
            device,
            "maps",
            &[
                (ShaderStages::FRAGMENT, DEPTH_TEXTURE),
                (ShaderStages::FRAGMENT, wgpu::BindingType::Sampler(wgpu::SamplerBindingType::NonFiltering)),
                (ShaderStages::FRAGMENT, LINEAR_SAMPLER),
                (ShaderStages::FRAGMENT, COLOR_TEXTURE),
                (ShaderStages::FRAGMENT, COLOR_TEXTURE),
            ],
        );
        let depths_layout = layout(device, "depths", &[(ShaderStages::FRAGMENT, DEPTH_TEXTURE)]);
        let rough_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("rough"),
            entries: &[wgpu::BindGroupLayoutEntry { binding: 1, visibility: ShaderStages::FRAGMENT, ty: COLOR_TEXTURE, count: None }],
        });
        let wire_layout = layout(device, "wire", &[(ShaderStages::VERTEX, READ); 2]);
        let vertex = ShaderStages::VERTEX;
        let tets_layout = layout(device, "tets", &[(vertex, READ), (vertex, READ), (vertex, READ), (vertex, UNIFORM)]);
        let fragment = ShaderStages::FRAGMENT;
        let parts_layout = layout(device, "parts", &[(fragment, COLOR_TEXTURE), (fragment, COLOR_TEXTURE), (fragment, DEPTH_TEXTURE)]);
        let occlusion_layout =
            layout(device, "occlusion", &[(fragment, COLOR_TEXTURE), (fragment, DEPTH_TEXTURE), (fragment, COLOR_TEXTURE)]);
        let screen_layout = layout(device, "screen", &[(fragment, COLOR_TEXTURE)]);
        let present_layout = layout(device, "present", &[(fragment, COLOR_TEXTURE), (fragment, LINEAR_SAMPLER), (fragment, UNIFORM)]);
        let normals_layout =
            layout(device, "normals", &[(compute, READ), (compute, READ), (compute, READ), (compute, READ), (compute, WRITE)]);
        let fit_layout =
            layout(device, "fit", &[(compute, UNIFORM), (compute, READ), (compute, READ), (compute, WRITE), (compute, UNIFORM)]);

        let body = module(device, "body");
        let tets = module(device, "tets");
        let casters = module(device, "casters");
        let floor_maps = module(device, "floor_maps");
        let floor = module(device, "floor");
        let occlusion = module(device, "occlusion");
        let overlay = module(device, "overlay");
        let present = module(device, "present");

        let only_frame = [Some(&frame_layout)];
        let map = [Some(&frame_layout), Some(&depths_layout)];
        let lit = [Some(&frame_layout), Some(&maps_layout)];
        let lit_body = [Some(&frame_layout), Some(&maps_layout), None, Some(&screen_layout)];
        let lit_wire = [Some(&frame_layout), Some(&maps_layout), Some(&wire_layout), Some(&screen_layout)];
        let lit_tets = [Some(&frame_layout), Some(&maps_layout), Some(&tets_layout), Some(&screen_layout)];
        // Casters may not bind the maps that they draw.
        let dark_tets = [Some(&frame_layout), None, Some(&tets_layout)];
        let samples = options.samples;
        let behind_all = Target::Picture { samples, depth: Depth::Read(wgpu::CompareFunction::GreaterEqual), blend: false };
        let over = |compare| Target::Picture { samples, depth: Depth::Read(compare), blend: true };
        let lit_parts = [Some(&frame_layout), Some(&maps_layout), Some(&parts_layout), Some(&screen_layout)];
        // Slanted casters are pushed back by the change of their depth over a texel, so that lit sides do not shade
        // themselves.
        let shadow_bias = wgpu::DepthBiasState { constant: 0, slope_scale: 1.6, clamp: 0.0 };
        let shadow = Target::Depth { bias: shadow_bias };
        let contact = Target::Depth { bias: wgpu::DepthBiasState::default() };
        let draw = |label: &str, layouts: &[Option<&wgpu::BindGroupLayout>], shader, entries: [&str; 2], vertices, target| {
            render_pipeline(device, label, layouts, shader, entries, vertices, target)
        };

        let surfaces = |[body_entry, wire_entry, tets_entry, slab_entry]: [&str; 4], target| Surfaces {
            body: draw("body", &lit_body, &body, ["vs_body", body_entry], Vertices::Full, target),
            rigid: draw("rigid", &lit_body, &body, ["vs_rigid", body_entry], Vertices::Full, target),
            wire: draw("wire", &lit_wire, &body, ["vs_wire", wire_entry], Vertices::None, target),
            tets: draw("tets", &lit_tets, &tets, ["vs_tets", tets_entry], Vertices::None, target),
            slab: draw("slab", &lit_body, &floor, ["vs_plane", slab_entry], Vertices::None, target),
        };

        Self {
            linear_sampler: device.create_sampler(&wgpu::SamplerDescriptor {
                label: Some("render/linear"),
                mag_filter: wgpu::FilterMode::Linear,
                min_filter: wgpu::FilterMode::Linear,
                ..Default::default()
            }),
            texel_sampler: device.create_sampler(&wgpu::SamplerDescriptor { label: Some("render/texel"), ..Default::default() }),
            normals: compute_pipeline(device, &normals_layout, "normals", "normals"),
            fit: compute_pipeline(device, &fit_layout, "fit", "fit_maps"),
            body_shadow: draw("body_shadow", &only_frame, &casters, ["vs_body_shadow", ""], Vertices::Position, shadow),
            body_contact: draw("body_contact", &only_frame, &casters, ["vs_body_contact", ""], Vertices::Position, contact),
            rigid_shadow: draw("rigid_shadow", &only_frame, &casters, ["vs_rigid_shadow", ""], Vertices::Position, shadow),
            rigid_contact: draw("rigid_contact", &only_frame, &casters, ["vs_rigid_contact", ""], Vertices::Position, contact),
            tets_shadow: draw("tets_shadow", &dark_tets, &tets, ["vs_tets_shadow", ""], Vertices::None, shadow),
            tets_contact: draw("tets_contact", &dark_tets, &tets, ["vs_tets_contact", ""], Vertices::None, contact),
            floor_shadow_map: draw(
                "floor_shadow",
                &map,
                &floor_maps,
                ["vs_map", "fs_floor_shadow"],
                Vertices::None,
                Target::Color { format: MAP_FORMAT },
            ),
            soften: draw(
                "soften",
                &[Some(&frame_layout), Some(&rough_layout)],
                &floor_maps,
                ["vs_map", "fs_soften"],
                Vertices::None,
                Target::Color { format: MAP_FORMAT },
            ),
            contact_map: draw(
                "contact_map",
                &map,
                &floor_maps,
                ["vs_map", "fs_contact"],
                Vertices::None,
                Target::Color { format: MAP_FORMAT },
            ),
            parts: surfaces(["fs_body_parts", "fs_wire_parts", "fs_tets_parts", "fs_slab_parts"], Target::Parts),
            lit: (samples > 1).then(|| {
                surfaces(["fs_body", "fs_wire", "fs_tets", "fs_slab"], Target::Picture { samples, depth: Depth::Write, blend: false })
            }),
            occlusion: draw(
                "occlusion",
                &[Some(&frame_layout), Some(&occlusion_layout)],
                &occlusion,
                ["vs_occlusion", "fs_occlusion"],
                Vertices::None,
                Target::Color { format: MAP_FORMAT },
            ),
            occlusion_average: draw(
                "occlusion_average",
                &[Some(&frame_layout), Some(&occlusion_layout)],
                &occlusion,
                ["vs_occlusion", "fs_average"],
                Vertices::None,
                Target::Color { format: MAP_FORMAT },
            ),
            floor: draw("floor", &lit, &floor, ["vs_plane", "fs_floor"], Vertices::None, behind_all),
            light_parts: draw(
                "light_parts",
                &lit_parts,
                &module(device, "light_parts"),
                ["vs_light", "fs_light"],
                Vertices::None,
                // Only surfaces are lit; the target has one sample per pixel wherever this is used.
                Target::Picture { samples: 1, depth: Depth::Read(wgpu::CompareFunction::Less), blend: false },
            ),
            backdrop: draw("backdrop", &lit, &floor, ["vs_backdrop", "fs_backdrop"], Vertices::None, behind_all),
            overlay_front: draw(
                "overlay_front",
                &only_frame,
                &overlay,
                ["vs_overlay", "fs_front"],
                Vertices::Marks,
                over(wgpu::CompareFunction::GreaterEqual),
            ),
            overlay_behind: draw(
                "overlay_behind",
                &only_frame,
                &overlay,
                ["vs_overlay", "fs_behind"],
                Vertices::Marks,
                over(wgpu::CompareFunction::Less),
            ),
            present: draw(
                "present",
                &[Some(&present_layout)],
                &present,
                ["vs_present", if samples == 1 { "fs_smooth" } else { "fs_copy" }],
                Vertices::None,
                Target::Color { format: options.format },
            ),
            present_capture: draw(
                "present_capture",
                &[Some(&present_layout)],
                &present,
                ["vs_present", if samples == 1 { "fs_smooth" } else { "fs_copy" }],
                Vertices::None,
                Target::Color { format: PICTURE_FORMAT },
            ),
            frame_layout,
            maps_layout,
            depths_layout,
            rough_layout,
            wire_layout,
            tets_layout,
            parts_layout,
            occlusion_layout,
            screen_layout,
            present_layout,
            normals_layout,
            fit_layout,
        }
    }
}

const UNIFORM: wgpu::BindingType = buffer_binding(wgpu::BufferBindingType::Uniform);
const READ: wgpu::BindingType = buffer_binding(wgpu::BufferBindingType::Storage { read_only: true });
const WRITE: wgpu::BindingType = buffer_binding(wgpu::BufferBindingType::Storage { read_only: false });
const LINEAR_SAMPLER: wgpu::BindingType = wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering);
const DEPTH_TEXTURE: wgpu::BindingType = texture_binding(wgpu::TextureSampleType::Depth);
const COLOR_TEXTURE: wgpu::BindingType = texture_binding(wgpu::TextureSampleType::Float { filterable: true });

const fn buffer_binding(ty: wgpu::BufferBindingType) -> wgpu::BindingType {
    wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None }
}

const fn texture_binding(sample_type: wgpu::TextureSampleType) -> wgpu::BindingType {
    wgpu::BindingType::Texture { sample_type, view_dimension: wgpu::TextureViewDimension::D2, multisampled: false }
}

fn layout(device: &wgpu::Device, label: &str, bindings: &[(ShaderStages, wgpu::BindingType)]) -> wgpu::BindGroupLayout {
    let entries: Vec<_> = (0..)
        .zip(bindings)
        .map(|(binding, &(visibility, ty))| wgpu::BindGroupLayoutEntry { binding, visibility, ty, count: None })
        .collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(label), entries: &entries })
}

fn pipeline_layout(device: &wgpu::Device, label: &str, layouts: &[Option<&wgpu::BindGroupLayout>]) -> wgpu::PipelineLayout {
    device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor { label: Some(label), bind_group_layouts: layouts, immediate_size: 0 })
}

fn compute_pipeline(device: &wgpu::Device, layout: &wgpu::BindGroupLayout, file: &str, entry: &str) -> wgpu::ComputePipeline {
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(file),
        layout: Some(&pipeline_layout(device, file, &[Some(layout)])),
        module: &module(device, file),
        entry_point: Some(entry),
        compilation_options: Default::default(),
        cache: None,
    })
}

/// The vertices that a pipeline reads.
#[derive(Clone, Copy)]
enum Vertices {
    None,
    /// `Vertex`, of which only the position is read.
    Position,
    /// `Vertex`.
    Full,
    /// `Mark`, one for each instance.
    Marks,
}

/// The targets into which a pipeline draws.
#[derive(Clone, Copy)]
enum Target {
    Depth {
        bias: wgpu::DepthBiasState,
    },
    Color {
        format: wgpu::TextureFormat,
    },
    /// Albedo, normal and depth.
    Parts,
    Picture {
        samples: u32,
        depth: Depth,
        blend: bool,
    },
}

#[derive(Clone, Copy)]
enum Depth {
    /// Depth is tested and written: the nearest surface stays.
    Write,
    /// Depth is tested and not written.
    Read(wgpu::CompareFunction),
}

const FULL: [VertexAttribute; 4] = wgpu::vertex_attr_array![0 => Float32x3, 1 => Unorm8x4, 2 => Float32x3, 3 => Float32];
const POSITION: [VertexAttribute; 1] = wgpu::vertex_attr_array![0 => Float32x3];
const MARKS: [VertexAttribute; 4] = [
    VertexAttribute { format: wgpu::VertexFormat::Float32x3, offset: 0, shader_location: 0 },
    VertexAttribute { format: wgpu::VertexFormat::Float32, offset: 12, shader_location: 1 },
    VertexAttribute { format: wgpu::VertexFormat::Float32x3, offset: 16, shader_location: 2 },
    VertexAttribute { format: wgpu::VertexFormat::Float32x4, offset: 32, shader_location: 3 },
];

fn render_pipeline(
    device: &wgpu::Device,
    label: &str,
    layouts: &[Option<&wgpu::BindGroupLayout>],
    shader: &wgpu::ShaderModule,
    [vertex_entry, fragment_entry]: [&str; 2],
    vertices: Vertices,
    target: Target,
) -> wgpu::RenderPipeline {
    let buffer = |attributes, stride, step_mode| [Some(wgpu::VertexBufferLayout { array_stride: stride, step_mode, attributes })];
    let vertex_stride = size_of::<super::uniforms::Vertex>() as u64;
    let buffers = match vertices {
        Vertices::None => [None],
        Vertices::Position => buffer(&POSITION[..], vertex_stride, wgpu::VertexStepMode::Vertex),
        Vertices::Full => buffer(&FULL[..], vertex_stride, wgpu::VertexStepMode::Vertex),
        Vertices::Marks => buffer(&MARKS[..], size_of::<super::uniforms::Mark>() as u64, wgpu::VertexStepMode::Instance),
    };
    let buffers = if matches!(vertices, Vertices::None) { &[][..] } else { &buffers[..] };
    let depth_state = |write, compare, bias| {
        Some(wgpu::DepthStencilState {
            format: DEPTH_FORMAT,
            depth_write_enabled: Some(write),
            depth_compare: Some(compare),
            stencil: Default::default(),
            bias,
        })
    };
    let color = |format, blend| Some(wgpu::ColorTargetState { format, blend, write_mask: wgpu::ColorWrites::ALL });
    let nearest = depth_state(true, wgpu::CompareFunction::GreaterEqual, Default::default());
    let (colors, depth_stencil, samples) = match target {
        Target::Depth { bias } => (vec![], depth_state(true, wgpu::CompareFunction::Less, bias), 1),
        Target::Color { format } => (vec![color(format, None)], None, 1),
        Target::Parts => (vec![color(ALBEDO_FORMAT, None), color(NORMAL_FORMAT, None)], nearest, 1),
        Target::Picture { samples, depth, blend } => (
            vec![color(PICTURE_FORMAT, blend.then_some(wgpu::BlendState::ALPHA_BLENDING))],
            match depth {
                Depth::Write => nearest,
                Depth::Read(compare) => depth_state(false, compare, Default::default()),
            },
            samples,
        ),
    };
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some(label),
        layout: Some(&pipeline_layout(device, label, layouts)),
        vertex: wgpu::VertexState { module: shader, entry_point: Some(vertex_entry), compilation_options: Default::default(), buffers },
        primitive: wgpu::PrimitiveState::default(),
        depth_stencil,
        multisample: wgpu::MultisampleState { count: samples, ..Default::default() },
        fragment: (!fragment_entry.is_empty()).then_some(wgpu::FragmentState {
            module: shader,
            entry_point: Some(fragment_entry),
            compilation_options: Default::default(),
            targets: &colors,
        }),
        multiview_mask: None,
        cache: None,
    })
}
