//! The one device of the program: compute and drawing share it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::compiled::CompiledKernels;
use crate::cancel::Cancelled;

/// What to open.
#[derive(Default)]
pub struct DeviceRequest<'a> {
    /// Part of an adapter's name, upper or lower case alike; None picks a hardware adapter first, else a software one.
    pub adapter: Option<String>,
    /// The instance that made `surface`; None makes one without a display (`instance`).
    pub instance: Option<wgpu::Instance>,
    /// A surface that the adapter must be able to present to.
    pub surface: Option<&'a wgpu::Surface<'static>>,
}

/// An open device. Errors that nothing else caught are kept here (`fault`), never a panic.
pub struct Device {
    pub instance: wgpu::Instance,
    pub adapter: wgpu::Adapter,
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    /// Name, driver, backend and type of the adapter.
    pub info: wgpu::AdapterInfo,
    /// What was switched on, which can be less than the adapter offers.
    pub features: wgpu::Features,
    pub limits: wgpu::Limits,
    faults: Arc<Mutex<Faults>>,
    /// Buffers and bind groups that were made.
    created: AtomicU64,
    pub(super) compiled: CompiledKernels,
}

#[derive(Default)]
struct Faults {
    first_error: Option<String>,
    lost: Option<String>,
}

#[derive(Debug, thiserror::Error, PartialEq)]
pub enum DeviceError {
    #[error(
        "no graphics adapter was found; install a Vulkan driver (on Debian or Ubuntu `apt-get install mesa-vulkan-drivers libvulkan1` \
         brings the open ones and a software one) or run with --backend cpu"
    )]
    NoAdapter,
    #[error("no adapter has \"{wanted}\" in its name; there are: {}. `pliant info` describes them", list(.available))]
    NoSuchAdapter { wanted: String, available: Vec<String> },
    #[error(
        "adapter \"{adapter}\" cannot run the kernels: {reason}. Update its driver, choose another with --adapter, or run with --backend cpu"
    )]
    Unsuitable { adapter: String, reason: String },
    #[error("adapter \"{adapter}\" could not be opened: {reason}. Choose another with --adapter, or run with --backend cpu")]
    Request { adapter: String, reason: String },
    #[error(
        "the buffer \"{buffer}\" of {needed} bytes is over the limit of {limit} bytes of adapter \"{adapter}\"; use a coarser mesh or --backend cpu"
    )]
    TooLarge { adapter: String, buffer: String, needed: u64, limit: u64 },
    #[error("the scene has {bodies} deformable bodies, the GPU backend takes at most {most}; remove some or run with --backend cpu")]
    TooManyBodies { bodies: usize, most: usize },
    #[error(
        "the resident stepper takes deformable bodies that nothing can touch, that start in their shape and do not flow; take the engine with contacts for this model"
    )]
    MayTouch,
    #[error("the device was lost: {0}")]
    Lost(String),
    #[error("the device refused an operation: {0}")]
    Refused(String),
    #[error("the opening of the scene on the device was {0}")]
    Cancelled(#[from] Cancelled),
    #[error(transparent)]
    Shader(#[from] super::shader::ShaderError),
}

/// An adapter as `pliant info` shows it.
#[derive(Clone, Debug)]
pub struct AdapterDescription {
    pub info: wgpu::AdapterInfo,
    pub features: wgpu::Features,
    pub limits: wgpu::Limits,
    /// Why the kernels cannot run on it, if they cannot.
    pub unsuitable: Option<String>,
}

/// Storage buffers a stage that the kernels need: the least that WebGPU guarantees.
const STORAGE_BUFFERS: u32 = 8;

/// The instance that every device of the program comes from. A window passes its display, so that surfaces can be
/// made from it.
pub fn instance(display: Option<Box<dyn wgpu::wgt::WgpuHasDisplayHandle>>) -> wgpu::Instance {
    // Without a session of a desktop the search for OpenGL complains on stderr that there is none.
    if cfg!(target_os = "linux") && display.is_none() && std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        let native = wgpu::Instance::new(descriptor(None, wgpu::Backends::PRIMARY));
        if !pollster::block_on(native.enumerate_adapters(wgpu::Backends::PRIMARY)).is_empty() {
            return native;
        }
    }
    wgpu::Instance::new(descriptor(display, wgpu::Backends::all()))
}

/// Of an instance with those of `backends` that the environment lets it have.
fn descriptor(display: Option<Box<dyn wgpu::wgt::WgpuHasDisplayHandle>>, backends: wgpu::Backends) -> wgpu::InstanceDescriptor {
    let mut descriptor = match display {
        Some(display) => wgpu::InstanceDescriptor::new_with_display_handle(display),
        None => wgpu::InstanceDescriptor::new_without_display_handle(),
    };
    // The checker adds a dispatch before every indirect one. Ours read sizes that only our kernels write, within the
    // limits; on DX12 its absence leaves `num_workgroups` and the vertex base unset there, which no shader of ours
    // reads.
    descriptor.flags -= wgpu::InstanceFlags::VALIDATION_INDIRECT_CALL;
    let mut descriptor = descriptor.with_env();
    descriptor.backends &= backends;
    descriptor
}

/// All adapters, in the order in which `Device::open` prefers them.
pub fn list_adapters() -> Vec<AdapterDescription> {
    adapters(&instance(None), None)
        .iter()
        .map(|adapter| AdapterDescription {
            info: adapter.get_info(),
            features: adapter.features(),
            limits: adapter.limits(),
            unsuitable: unsuitable(adapter),
        })
        .collect()
}

/// Hardware before software; then the native interfaces before OpenGL.
fn adapters(instance: &wgpu::Instance, surface: Option<&wgpu::Surface>) -> Vec<wgpu::Adapter> {
    let mut adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    adapters.retain(|adapter| surface.is_none_or(|surface| adapter.is_surface_supported(surface)));
    adapters.sort_by_key(|adapter| {
        let info = adapter.get_info();
        let kind = match info.device_type {
            wgpu::DeviceType::DiscreteGpu => 0,
            wgpu::DeviceType::IntegratedGpu => 1,
            wgpu::DeviceType::VirtualGpu => 2,
            wgpu::DeviceType::Other => 3,
            wgpu::DeviceType::Cpu => 4,
        };
        (unsuitable(adapter).is_some(), kind, info.backend == wgpu::Backend::Gl)
    });
    adapters
}

fn unsuitable(adapter: &wgpu::Adapter) -> Option<String> {
    let limits = adapter.limits();
    if !adapter.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS) {
        return Some("it has no compute shaders".into());
    }
    if limits.max_storage_buffers_per_shader_stage < STORAGE_BUFFERS {
        let offered = limits.max_storage_buffers_per_shader_stage;
        return Some(format!("it offers {offered} storage buffers to a shader stage, {STORAGE_BUFFERS} are needed"));
    }
    None
}

impl Device {
    /// Opens the best adapter, or the named one.
    pub fn open(request: &DeviceRequest) -> Result<Arc<Self>, DeviceError> {
        let instance = request.instance.clone().unwrap_or_else(|| instance(None));
        let mut adapters = adapters(&instance, request.surface);
        if adapters.is_empty() {
            return Err(DeviceError::NoAdapter);
        }
        if let Some(wanted) = &request.adapter {
            let available = adapters.iter().map(|a| a.get_info().name).collect();
            adapters.retain(|a| a.get_info().name.to_lowercase().contains(&wanted.to_lowercase()));
            if adapters.is_empty() {
                return Err(DeviceError::NoSuchAdapter { wanted: wanted.clone(), available });
            }
        }
        let adapter = adapters.swap_remove(0);
        let name = adapter.get_info().name;
        match unsuitable(&adapter) {
            Some(reason) => Err(DeviceError::Unsuitable { adapter: name, reason }),
            None => Self::open_adapter(instance, adapter),
        }
    }

    fn open_adapter(instance: wgpu::Instance, adapter: wgpu::Adapter) -> Result<Arc<Self>, DeviceError> {
        let info = adapter.get_info();
        let offered = adapter.limits();
        // The usual limits where the adapter has them; what grows with a scene as large as it goes.
        let limits = wgpu::Limits {
            max_storage_buffers_per_shader_stage: offered.max_storage_buffers_per_shader_stage.min(16),
            max_storage_buffer_binding_size: offered.max_storage_buffer_binding_size,
            max_buffer_size: offered.max_buffer_size,
            max_texture_dimension_2d: offered.max_texture_dimension_2d,
            ..wgpu::Limits::default().or_worse_values_from(&offered)
        };
        let features = adapter.features() & (wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::POLYGON_MODE_LINE);
        let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
            label: Some("pliant"),
            required_features: features,
            required_limits: limits.clone(),
            memory_hints: wgpu::MemoryHints::Performance,
            ..Default::default()
        }))
        .map_err(|error| DeviceError::Request { adapter: info.name.clone(), reason: error.to_string() })?;
        let faults = Arc::new(Mutex::new(Faults::default()));
        let kept = faults.clone();
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            tracing::error!("{error}");
            if let Ok(mut faults) = kept.lock() {
                faults.first_error.get_or_insert_with(|| error.to_string());
            }
        }));
        let kept = faults.clone();
        device.set_device_lost_callback(move |reason, message| {
            if reason != wgpu::DeviceLostReason::Destroyed
                && let Ok(mut faults) = kept.lock()
            {
                faults.lost.get_or_insert(message);
            }
        });
        let (created, compiled) = (AtomicU64::new(0), CompiledKernels::default());
        Ok(Arc::new(Self { instance, adapter, device, queue, info, features, limits, faults, created, compiled }))
    }

    pub fn create_buffer(&self, descriptor: &wgpu::BufferDescriptor) -> wgpu::Buffer {
        self.created.fetch_add(1, Ordering::Relaxed);
        self.device.create_buffer(descriptor)
    }

    pub fn create_bind_group(&self, descriptor: &wgpu::BindGroupDescriptor) -> wgpu::BindGroup {
        self.created.fetch_add(1, Ordering::Relaxed);
        self.device.create_bind_group(descriptor)
    }

    /// Overwrites `buffer` from `offset` on before the next submission. wgpu makes a buffer for that, every time: an
    /// `UploadStaging` serves what happens in every step.
    pub fn write_buffer(&self, buffer: &wgpu::Buffer, offset: u64, bytes: &[u8]) {
        self.created.fetch_add(1, Ordering::Relaxed);
        self.queue.write_buffer(buffer, offset, bytes);
    }

    /// Buffers and bind groups that were made so far by these functions, through which all solvers go.
    pub fn n_created(&self) -> u64 {
        self.created.load(Ordering::Relaxed)
    }

    /// Bytes of the largest storage buffer that kernels can read.
    pub fn largest_buffer(&self) -> u64 {
        self.limits.max_storage_buffer_binding_size.min(self.limits.max_buffer_size)
    }

    /// Whether the adapter is made of hardware (or may be: some drivers do not say).
    pub fn is_hardware(&self) -> bool {
        self.info.device_type != wgpu::DeviceType::Cpu
    }

    /// The first thing that went wrong on the device outside an error scope, if any: it should not be used any more.
    pub fn fault(&self) -> Option<DeviceError> {
        let faults = self.faults.lock().ok()?;
        let lost = faults.lost.clone().map(DeviceError::Lost);
        lost.or_else(|| faults.first_error.clone().map(DeviceError::Refused))
    }
}

fn list(names: &[String]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// The device of a test: of two, which the threads of tests take in turn, so that what runs side by side does not stand
/// in one queue. They are opened once, and there must be one.
#[cfg(test)]
pub(crate) fn test_device() -> Arc<Device> {
    use std::sync::OnceLock;
    use std::sync::atomic::AtomicUsize;

    static DEVICES: [OnceLock<Arc<Device>>; 2] = [const { OnceLock::new() }; 2];
    static N_THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static DEVICE: &'static OnceLock<Arc<Device>> = &DEVICES[N_THREADS.fetch_add(1, Ordering::Relaxed) % DEVICES.len()]);
    let open = || Device::open(&DeviceRequest::default()).expect("tests need an adapter: install mesa-vulkan-drivers");
    DEVICE.with(|device| device.get_or_init(open).clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_and_names_its_adapter() {
        let device = test_device();
        assert!(!device.info.name.is_empty());
        assert!(device.fault().is_none());
        assert_eq!(list_adapters()[0].info.name, device.info.name);
    }

    #[test]
    fn an_unknown_adapter_is_refused_with_the_choice() {
        let request = DeviceRequest { adapter: Some("No Such Card".into()), ..Default::default() };
        let Err(error) = Device::open(&request) else { panic!("opened an adapter that is not there") };
        assert!(error.to_string().contains("No Such Card") && error.to_string().contains(&test_device().info.name), "{error}");
    }

    #[test]
    fn an_error_is_kept_and_does_not_panic() {
        let device = Device::open(&DeviceRequest::default()).unwrap();
        let descriptor =
            wgpu::BufferDescriptor { label: None, size: 1 << 60, usage: wgpu::BufferUsages::STORAGE, mapped_at_creation: false };
        let _refused = device.device.create_buffer(&descriptor);
        assert!(matches!(device.fault(), Some(DeviceError::Refused(_))));
    }
}
