//! A compute kernel: loaded by name, bound by name, dispatched over a number of threads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::shader::{Binding, Shader, ShaderError};
use super::{Device, DeviceError, GRID_ROW, WORKGROUP};

/// The buffers of a computation. A kernel's binding `x` is the buffer named `x`.
pub struct Buffers {
    device: Arc<Device>,
    by_name: BTreeMap<&'static str, wgpu::Buffer>,
    /// Recorded by the kernels that are bound to these buffers.
    dispatches: Arc<AtomicU32>,
}

const STORAGE: wgpu::BufferUsages = wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_SRC).union(wgpu::BufferUsages::COPY_DST);

impl Buffers {
    pub fn new(device: Arc<Device>) -> Self {
        Self { device, by_name: BTreeMap::new(), dispatches: Arc::default() }
    }

    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// A storage buffer with `contents`.
    pub fn upload<T: bytemuck::Pod>(&mut self, name: &'static str, contents: &[T]) -> Result<(), DeviceError> {
        let bytes: &[u8] = bytemuck::cast_slice(contents);
        self.zeroed(name, bytes.len() as u64, STORAGE)?;
        self.device.write_buffer(&self.by_name[name], 0, bytes);
        Ok(())
    }

    /// A storage buffer of `n` zeros.
    pub fn storage<T: bytemuck::Pod>(&mut self, name: &'static str, n: usize) -> Result<(), DeviceError> {
        self.zeroed(name, (n * size_of::<T>()) as u64, STORAGE)
    }

    /// A uniform buffer.
    pub fn uniform<T: bytemuck::Pod>(&mut self, name: &'static str, contents: &[T]) {
        let bytes: &[u8] = bytemuck::cast_slice(contents);
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let descriptor = wgpu::BufferDescriptor { label: Some(name), size: bytes.len() as u64, usage, mapped_at_creation: false };
        let buffer = self.device.create_buffer(&descriptor);
        self.device.write_buffer(&buffer, 0, bytes);
        self.by_name.insert(name, buffer);
    }

    /// Any other buffer, zeroed. No buffer is smaller than the largest struct, so that empty arrays can be bound.
    pub fn zeroed(&mut self, name: &'static str, bytes: u64, usage: wgpu::BufferUsages) -> Result<(), DeviceError> {
        let size = bytes.max(256).next_multiple_of(16);
        let limit = self.device.largest_buffer();
        if size > limit {
            return Err(self.too_large(name, size, limit));
        }
        let descriptor = wgpu::BufferDescriptor { label: Some(name), size, usage, mapped_at_creation: false };
        self.by_name.insert(name, self.device.create_buffer(&descriptor));
        Ok(())
    }

    /// A buffer of `needed` bytes is refused.
    pub fn too_large(&self, name: &str, needed: u64, limit: u64) -> DeviceError {
        DeviceError::TooLarge { adapter: self.device.info.name.clone(), buffer: name.into(), needed, limit }
    }

    /// Copies the start of another buffer into `name` before the next submission.
    pub fn copy_from(&self, name: &str, source: &wgpu::Buffer) {
        let mut encoder = self.device.device.create_command_encoder(&Default::default());
        let target = self.get(name);
        encoder.copy_buffer_to_buffer(source, 0, target, 0, source.size().min(target.size()));
        self.device.queue.submit([encoder.finish()]);
    }

    /// Dispatches that were recorded with these buffers so far.
    pub fn n_dispatches(&self) -> u32 {
        self.dispatches.load(Ordering::Relaxed)
    }

    /// The buffer `name`, which must have been made.
    pub fn get(&self, name: &str) -> &wgpu::Buffer {
        &self.by_name[name]
    }

    /// Overwrites the start of `name` before the next submission.
    pub fn write<T: bytemuck::Pod>(&self, name: &str, contents: &[T]) {
        self.write_at(name, 0, contents);
    }

    /// Overwrites `name` from `offset` [bytes] on before the next submission.
    pub fn write_at<T: bytemuck::Pod>(&self, name: &str, offset: u64, contents: &[T]) {
        self.device.write_buffer(self.get(name), offset, bytemuck::cast_slice(contents));
    }
}

/// A compiled kernel.
pub struct Kernel {
    device: Arc<Device>,
    name: String,
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    bindings: Vec<Binding>,
}

/// A kernel with its buffers, ready to be dispatched.
#[derive(Clone)]
pub struct Bound {
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
    dispatches: Arc<AtomicU32>,
}

impl Kernel {
    /// Compiles `shaders/{name}.wgsl`.
    pub fn new(device: &Arc<Device>, name: &str) -> Result<Self, ShaderError> {
        Self::specialised(device, name, &[])
    }

    /// The same with values for constants that the shader declares as `override`.
    pub fn specialised(device: &Arc<Device>, name: &str, constants: &[(&str, f64)]) -> Result<Self, ShaderError> {
        let shader = Shader::load(name)?;
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
        let gpu = &device.device;
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
            None => Ok(Self { device: device.clone(), name: name.into(), pipeline, layout, bindings }),
        }
    }

    /// Takes each binding's buffer by its name; `renamed` gives (binding, buffer) pairs where they differ.
    pub fn bind(&self, buffers: &Buffers, renamed: &[(&str, &str)]) -> Result<Bound, ShaderError> {
        let mut entries = vec![];
        for binding in &self.bindings {
            let name = renamed.iter().find(|(from, _)| *from == binding.name).map_or(binding.name.as_str(), |(_, to)| to);
            let buffer = buffers
                .by_name
                .get(name)
                .ok_or_else(|| ShaderError::Unbound { kernel: self.name.clone(), binding: binding.name.clone() })?;
            entries.push(wgpu::BindGroupEntry { binding: binding.index, resource: buffer.as_entire_binding() });
        }
        let group =
            self.device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some(&self.name), layout: &self.layout, entries: &entries });
        Ok(Bound { pipeline: self.pipeline.clone(), group, dispatches: buffers.dispatches.clone() })
    }
}

/// Compiles `name` and binds it.
pub fn bound(buffers: &Buffers, name: &str) -> Result<Bound, DeviceError> {
    Ok(Kernel::new(&buffers.device, name)?.bind(buffers, &[])?)
}

/// Workgroups for one thread an item; two dimensions where one does not suffice (`thread_index` of `lib/model.wgsl`).
pub fn groups_for(n_threads: usize) -> [u32; 3] {
    let groups = (n_threads as u64).div_ceil(u64::from(WORKGROUP));
    let row = u64::from(GRID_ROW / WORKGROUP);
    if groups <= row { [groups as u32, 1, 1] } else { [row as u32, groups.div_ceil(row) as u32, 1] }
}

impl Bound {
    /// One thread an item; nothing for no items.
    pub fn dispatch(&self, pass: &mut wgpu::ComputePass, n_threads: usize) {
        if n_threads > 0 {
            self.dispatch_groups(pass, groups_for(n_threads));
        }
    }

    pub fn dispatch_groups(&self, pass: &mut wgpu::ComputePass, [x, y, z]: [u32; 3]) {
        self.set(pass);
        pass.dispatch_workgroups(x, y, z);
    }

    /// As many groups as entry `slot` of `args` says when the device gets there.
    pub fn dispatch_indirect(&self, pass: &mut wgpu::ComputePass, args: &wgpu::Buffer, slot: u64) {
        self.set(pass);
        pass.dispatch_workgroups_indirect(args, slot * 16);
    }

    fn set(&self, pass: &mut wgpu::ComputePass) {
        self.dispatches.fetch_add(1, Ordering::Relaxed);
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
    }
}
