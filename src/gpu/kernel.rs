//! Compute kernels: declared by their stage, loaded and bound by name, dispatched over a number of threads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::compiled::Compiled;
use super::device::{Device, DeviceError};
use super::limits::{GRID_ROW, WORKGROUP};
use super::shader::ShaderError;
use super::wgsl::HostModule;

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

/// A kernel as its stage declares it: the shader `shaders/{name}.wgsl`, whose entry point bears the name of its file.
#[derive(Clone, Copy)]
pub struct KernelSource {
    pub name: &'static str,
    /// Declarations that the shader may import.
    pub host: &'static HostModule,
}

/// A compiled kernel.
pub struct Kernel {
    device: Arc<Device>,
    name: &'static str,
    compiled: Arc<Compiled>,
}

/// A kernel with its buffers, ready to be dispatched.
#[derive(Clone)]
pub struct Bound {
    kernel: Arc<Kernel>,
    /// (binding, buffer) where the names differ.
    renamed: Vec<(String, String)>,
    group: wgpu::BindGroup,
    dispatches: Arc<AtomicU32>,
}

/// A kernel bound twice: in its even and in its odd iterations, buffers or slots take turns
/// (`shaders/lib/parity.wgsl`).
pub struct ByParity([Bound; 2]);

/// A field of a struct that [`kernels`] declares.
pub trait DeclaredKernel: Sized {
    fn declared(source: KernelSource, buffers: &Buffers, renamed: &[(&str, &str)]) -> Result<Self, DeviceError>;

    /// Takes the present buffers, some of which have been made anew.
    fn rebind(&mut self, buffers: &Buffers) -> Result<(), DeviceError>;
}

/// The kernels of a stage; [`kernels`] implements it.
pub trait Stage: Sized {
    const KERNELS: &'static [KernelSource];

    /// Compiles the kernels and binds them; `renamed` gives further (binding, buffer) pairs where the names differ.
    fn new(buffers: &Buffers, renamed: &[(&str, &str)]) -> Result<Self, DeviceError>;

    /// Takes the present buffers, some of which have been made anew.
    fn rebind(&mut self, buffers: &Buffers) -> Result<(), DeviceError>;
}

/// Declares the kernels of a stage. Each lies in `shaders/FOLDER` under the name of its field; buffers are given
/// where their names differ from those of the bindings: `kernels! { struct Kernels in "FOLDER", HOST { name: Bound {
/// binding: "buffer" }, ... } }`.
macro_rules! kernels {
    ($(#[$doc:meta])* $vis:vis struct $Name:ident in $folder:literal, $host:path {
        $($(#[$kernel_doc:meta])* $kernel:ident: $ty:ty $({ $($binding:ident: $buffer:literal),* })?),* $(,)?
    }) => {
        $(#[$doc])*
        $vis struct $Name {
            $($(#[$kernel_doc])* pub $kernel: $ty),*
        }

        impl $crate::gpu::Stage for $Name {
            const KERNELS: &'static [$crate::gpu::KernelSource] =
                &[$($crate::gpu::KernelSource { name: concat!($folder, "/", stringify!($kernel)), host: &$host }),*];

            fn new(buffers: &$crate::gpu::Buffers, renamed: &[(&str, &str)]) -> Result<Self, $crate::gpu::DeviceError> {
                let mut sources = Self::KERNELS.iter();
                let mut declared = || *sources.next().expect("there is one for each field");
                Ok(Self {
                    $($kernel: {
                        let own: &[(&str, &str)] = &[$($((stringify!($binding), $buffer)),*)?];
                        <$ty as $crate::gpu::DeclaredKernel>::declared(declared(), buffers, &[own, renamed].concat())?
                    }),*
                })
            }

            fn rebind(&mut self, buffers: &$crate::gpu::Buffers) -> Result<(), $crate::gpu::DeviceError> {
                $($crate::gpu::DeclaredKernel::rebind(&mut self.$kernel, buffers)?;)*
                Ok(())
            }
        }
    };
}
pub(crate) use kernels;

impl Kernel {
    pub fn new(device: &Arc<Device>, source: KernelSource) -> Result<Arc<Self>, ShaderError> {
        Self::specialised(device, source, &[])
    }

    /// The same with values for constants that the shader declares as `override`.
    pub fn specialised(device: &Arc<Device>, source: KernelSource, constants: &[(&str, f64)]) -> Result<Arc<Self>, ShaderError> {
        let compiled = device.compiled.get(&device.device, source.name, source.host, constants)?;
        Ok(Arc::new(Self { device: device.clone(), name: source.name, compiled }))
    }

    /// Takes each binding's buffer by its name; `renamed` gives (binding, buffer) pairs where they differ.
    pub fn bind(self: &Arc<Self>, buffers: &Buffers, renamed: &[(&str, &str)]) -> Result<Bound, ShaderError> {
        let renamed = renamed.iter().map(|(binding, buffer)| (binding.to_string(), buffer.to_string())).collect();
        self.bind_renamed(buffers, renamed)
    }

    fn bind_renamed(self: &Arc<Self>, buffers: &Buffers, renamed: Vec<(String, String)>) -> Result<Bound, ShaderError> {
        let mut entries = vec![];
        for binding in &self.compiled.bindings {
            let name = renamed.iter().find(|(from, _)| *from == binding.name).map_or(&binding.name, |(_, to)| to);
            let buffer = buffers
                .by_name
                .get(name.as_str())
                .ok_or_else(|| ShaderError::Unbound { kernel: self.name.into(), binding: binding.name.clone() })?;
            entries.push(wgpu::BindGroupEntry { binding: binding.index, resource: buffer.as_entire_binding() });
        }
        let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(self.name),
            layout: &self.compiled.layout,
            entries: &entries,
        });
        Ok(Bound { kernel: self.clone(), renamed, group, dispatches: buffers.dispatches.clone() })
    }
}

impl DeclaredKernel for Bound {
    fn declared(source: KernelSource, buffers: &Buffers, renamed: &[(&str, &str)]) -> Result<Self, DeviceError> {
        Ok(Kernel::new(buffers.device(), source)?.bind(buffers, renamed)?)
    }

    fn rebind(&mut self, buffers: &Buffers) -> Result<(), DeviceError> {
        *self = self.kernel.bind_renamed(buffers, self.renamed.clone())?;
        Ok(())
    }
}

impl DeclaredKernel for ByParity {
    fn declared(source: KernelSource, buffers: &Buffers, renamed: &[(&str, &str)]) -> Result<Self, DeviceError> {
        let kernel = Kernel::new(buffers.device(), source)?;
        let bind = |parity: &str| kernel.bind(buffers, &[renamed, &[("parity", parity)]].concat());
        Ok(Self([bind("parity_even")?, bind("parity_odd")?]))
    }

    fn rebind(&mut self, buffers: &Buffers) -> Result<(), DeviceError> {
        self.0.iter_mut().try_for_each(|bound| bound.rebind(buffers))
    }
}

/// Compiled only: its stage binds it.
impl DeclaredKernel for Arc<Kernel> {
    fn declared(source: KernelSource, buffers: &Buffers, _: &[(&str, &str)]) -> Result<Self, DeviceError> {
        Ok(Kernel::new(buffers.device(), source)?)
    }

    fn rebind(&mut self, _: &Buffers) -> Result<(), DeviceError> {
        Ok(())
    }
}

impl ByParity {
    /// The kernel of iteration `k`.
    pub fn at(&self, k: u32) -> &Bound {
        &self.0[(k % 2) as usize]
    }
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
    pub fn dispatch_indirect(&self, pass: &mut wgpu::ComputePass, args: &wgpu::Buffer, slot: u32) {
        self.set(pass);
        pass.dispatch_workgroups_indirect(args, u64::from(slot) * 16);
    }

    fn set(&self, pass: &mut wgpu::ComputePass) {
        self.dispatches.fetch_add(1, Ordering::Relaxed);
        pass.set_pipeline(&self.kernel.compiled.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
    }
}
