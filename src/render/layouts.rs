//! Layouts of bind groups.

use wgpu::ShaderStages;

/// The bind group layouts of all pipelines.
pub struct Layouts {
    /// `frame`, `fit`, `world_from_local`, `planes`.
    pub frame: wgpu::BindGroupLayout,
    /// Textures and samplers of `lighting.wgsl`.
    pub maps: wgpu::BindGroupLayout,
    /// The depth map that `floor_maps.wgsl` reads.
    pub depths: wgpu::BindGroupLayout,
    /// The map that `fs_soften` of `floor_maps.wgsl` reads.
    pub rough: wgpu::BindGroupLayout,
    /// Vertices and indices of `body.wgsl`'s wireframe.
    pub wire: wgpu::BindGroupLayout,
    /// Nodes, tets, colours and view of `tets.wgsl`.
    pub tets: wgpu::BindGroupLayout,
    /// Albedos, normals and depths of `light_parts.wgsl`.
    pub parts: wgpu::BindGroupLayout,
    /// Normals, depths and the rough map of `occlusion.wgsl`.
    pub occlusion: wgpu::BindGroupLayout,
    /// The finished occlusion map.
    pub screen: wgpu::BindGroupLayout,
    pub present: wgpu::BindGroupLayout,
    pub normals: wgpu::BindGroupLayout,
    pub fit: wgpu::BindGroupLayout,
}

impl Layouts {
    pub fn new(device: &wgpu::Device) -> Self {
        let [vertex, fragment] = [ShaderStages::VERTEX, ShaderStages::FRAGMENT];
        let of = |label: &str, stages: ShaderStages, types: &[wgpu::BindingType]| {
            let bindings: Vec<_> = types.iter().map(|&ty| (stages, ty)).collect();
            layout(device, label, &bindings)
        };
        let compute = |label: &str, types: &[wgpu::BindingType]| of(label, ShaderStages::COMPUTE, types);
        let all = ShaderStages::VERTEX_FRAGMENT;
        Self {
            frame: layout(device, "frame", &[(all, UNIFORM), (all, UNIFORM), (vertex, READ), (all, READ)]),
            maps: of("maps", fragment, &[DEPTH_TEXTURE, TEXEL_SAMPLER, LINEAR_SAMPLER, COLOR_TEXTURE, COLOR_TEXTURE]),
            depths: of("depths", fragment, &[DEPTH_TEXTURE]),
            rough: device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: Some("rough"),
                entries: &[wgpu::BindGroupLayoutEntry { binding: 1, visibility: fragment, ty: COLOR_TEXTURE, count: None }],
            }),
            wire: of("wire", vertex, &[READ; 2]),
            tets: layout(device, "tets", &[(vertex, READ), (vertex, READ), (vertex, READ), (all, UNIFORM)]),
            parts: of("parts", fragment, &[COLOR_TEXTURE, COLOR_TEXTURE, DEPTH_TEXTURE]),
            occlusion: of("occlusion", fragment, &[COLOR_TEXTURE, DEPTH_TEXTURE, COLOR_TEXTURE]),
            screen: of("screen", fragment, &[COLOR_TEXTURE]),
            present: of("present", fragment, &[COLOR_TEXTURE, LINEAR_SAMPLER, UNIFORM, COLOR_TEXTURE]),
            normals: compute("normals", &[READ, READ, READ, READ, WRITE]),
            fit: compute("fit", &[UNIFORM, READ, READ, WRITE, UNIFORM]),
        }
    }
}

const UNIFORM: wgpu::BindingType = buffer_binding(wgpu::BufferBindingType::Uniform);
const READ: wgpu::BindingType = buffer_binding(wgpu::BufferBindingType::Storage { read_only: true });
const WRITE: wgpu::BindingType = buffer_binding(wgpu::BufferBindingType::Storage { read_only: false });
const LINEAR_SAMPLER: wgpu::BindingType = wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering);
const TEXEL_SAMPLER: wgpu::BindingType = wgpu::BindingType::Sampler(wgpu::SamplerBindingType::NonFiltering);
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
