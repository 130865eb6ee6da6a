//! Makes single pipelines from what differs between them.

use wgpu::VertexAttribute;

use super::shaders::module;
use super::uniforms::{Mark, Vertex};

/// Format of the picture before it goes to its target; alpha holds the brightness.
pub const PICTURE_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;
pub const DEPTH_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;
/// Formats of the parts of surfaces that are lit later: see `parts.wgsl`.
pub const ALBEDO_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;
pub const NORMAL_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgb10a2Unorm;
/// Format of the floor's small maps.
pub const MAP_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::R8Unorm;

fn pipeline_layout(device: &wgpu::Device, label: &str, layouts: &[Option<&wgpu::BindGroupLayout>]) -> wgpu::PipelineLayout {
    device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor { label: Some(label), bind_group_layouts: layouts, immediate_size: 0 })
}

pub fn compute_pipeline(device: &wgpu::Device, layout: &wgpu::BindGroupLayout, file: &str, entry: &str) -> wgpu::ComputePipeline {
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
pub enum Vertices {
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
pub enum Target {
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
pub enum Depth {
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

/// A render pipeline to be made.
pub struct Draw<'a> {
    pub label: &'a str,
    pub layouts: &'a [Option<&'a wgpu::BindGroupLayout>],
    pub shader: &'a wgpu::ShaderModule,
    /// Entry points of the vertex and of the fragment stage; without a name there is no fragment stage.
    pub entries: [&'a str; 2],
    pub vertices: Vertices,
    pub target: Target,
}

pub fn render_pipeline(device: &wgpu::Device, draw: &Draw) -> wgpu::RenderPipeline {
    let &Draw { label, layouts, shader, entries: [vertex_entry, fragment_entry], vertices, target } = draw;
    let buffer = |attributes, stride, step_mode| [Some(wgpu::VertexBufferLayout { array_stride: stride, step_mode, attributes })];
    let vertex_stride = size_of::<Vertex>() as u64;
    let buffers = match vertices {
        Vertices::None => [None],
        Vertices::Position => buffer(&POSITION[..], vertex_stride, wgpu::VertexStepMode::Vertex),
        Vertices::Full => buffer(&FULL[..], vertex_stride, wgpu::VertexStepMode::Vertex),
        Vertices::Marks => buffer(&MARKS[..], size_of::<Mark>() as u64, wgpu::VertexStepMode::Instance),
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
