//! Kernels as a device has compiled them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::shader::{Binding, Shader, ShaderError};
use super::wgsl::HostModule;

/// A compiled kernel without buffers.
pub struct Compiled {
    pub pipeline: wgpu::ComputePipeline,
    pub layout: wgpu::BindGroupLayout,
    pub bindings: Vec<Binding>,
}

/// The kernels that were compiled for a device: each once, however many solvers and scenes run it.
#[derive(Default)]
pub struct CompiledKernels {
    /// By their names and the values of their constants (as bits).
    known: Mutex<BTreeMap<Key, Arc<Compiled>>>,
}

type Key = (&'static str, Vec<(String, u64)>);

impl CompiledKernels {
    /// The kernel of the shader `shaders/{name}.wgsl`, which may import the declarations of `host`; `constants` gives
    /// values for those that it declares as `override`. `gpu` is the one device that this is asked for.
    pub fn get(
        &self,
        gpu: &wgpu::Device,
        name: &'static str,
        host: &HostModule,
        constants: &[(&str, f64)],
    ) -> Result<Arc<Compiled>, ShaderError> {
        let key = (name, constants.iter().map(|(name, value)| (name.to_string(), value.to_bits())).collect());
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compiled) = known().get(&key) {
            return Ok(compiled.clone());
        }
        // Others need not wait meanwhile: what two compile at once is the same.
        let compiled = Arc::new(Compiled::new(gpu, name, host, constants)?);
        Ok(known().entry(key).or_insert(compiled).clone())
    }
}

impl Compiled {
    fn new(gpu: &wgpu::Device, name: &str, host: &HostModule, constants: &[(&str, f64)]) -> Result<Self, ShaderError> {
        let shader = Shader::load(name, host)?;
        let bindings = shader.bindings();
        let entries: Vec<_> = bindings
            .iter()
            .map(|binding| wgpu::BindGroupLayoutEntry {
                binding: binding.index,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer { ty: binding.ty, has_dynamic_offset: false, min_binding_size: None },
                count: None,
            })
            .collect();
        let scope = gpu.push_error_scope(wgpu::ErrorFilter::Validation);
        let layout = gpu.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(name), entries: &entries });
        let pipeline_layout = gpu.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(name),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let module = gpu
            .create_shader_module(wgpu::ShaderModuleDescriptor { label: Some(name), source: wgpu::ShaderSource::Wgsl(shader.text.into()) });
        let pipeline = gpu.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: None,
            compilation_options: wgpu::PipelineCompilationOptions { constants, ..Default::default() },
            cache: None,
        });
        match pollster::block_on(scope.pop()) {
            Some(error) => Err(ShaderError::Pipeline { kernel: name.into(), message: error.to_string() }),
            None => Ok(Self { pipeline, layout, bindings }),
        }
    }
}
