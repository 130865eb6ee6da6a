//! Pictures of a run without a window.

use std::path::Path;
use std::sync::Arc;

use super::Failure;
use crate::app::stage;
use crate::gpu;
use crate::record::{FrameWriter, RecordError};
use crate::render::{Camera, Overlays, Positions, RenderError, RenderOptions, Renderer, ViewOptions};
use crate::scene::Built;
use crate::sim::Simulation;
use crate::solver::{StepError, SurfacePositions};

/// Draws a simulation at a fixed rate of simulated time into numbered files.
pub struct Film {
    device: Arc<gpu::Device>,
    renderer: Renderer,
    writer: FrameWriter,
    camera: Camera,
    size: [u32; 2],
    /// Simulated time of the first picture [s].
    start: Option<f64>,
}

impl Film {
    /// Opens a device to draw with and makes the folder.
    pub fn start(folder: &Path, size: [u32; 2], fps: f64, built: &Built, adapter: Option<&str>) -> Result<Self, Failure> {
        let request = gpu::DeviceRequest { adapter: adapter.map(str::to_owned), ..Default::default() };
        let device = gpu::Device::open(&request).map_err(|error| Failure::Input(format!("--record cannot draw: {error}")))?;
        let limit = device.limits.max_texture_dimension_2d;
        if size.iter().any(|n| *n > limit) {
            return Err(Failure::Input(format!("pictures on {} are at most {limit} x {limit}; give a smaller --size", device.info.name)));
        }
        let options = RenderOptions::for_adapter(&device.info, wgpu::TextureFormat::Rgba8Unorm);
        let mut renderer = Renderer::new(&device.device, &device.queue, options);
        renderer.set_stage(&stage::stage(&built.model, stage::light(&built.light)));
        let writer = FrameWriter::new(folder, fps).map_err(|error| Failure::Input(error.to_string()))?;
        Ok(Self { device, renderer, writer, camera: stage::camera(&built.camera), size, start: None })
    }

    /// The device, for the simulation to compute on: then positions go to the picture without leaving it.
    pub fn device(&self) -> Arc<gpu::Device> {
        self.device.clone()
    }

    /// Takes the pictures that are due.
    pub fn take(&mut self, simulation: &mut Simulation) -> Result<(), Failure> {
        let start = *self.start.get_or_insert(simulation.time());
        let due = self.writer.frames_due(simulation.time() - start);
        if due == 0 {
            return Ok(());
        }
        match simulation.surface() {
            SurfacePositions::Host(positions) => self.renderer.set_positions(Positions::Host(&positions))?,
            SurfacePositions::Device(buffer) => self.renderer.set_positions(Positions::Device(&buffer))?,
        }
        let transforms = stage::transforms(&simulation.rigid_poses()?, &simulation.obstacle_poses());
        self.renderer.set_rigid_transforms(&transforms)?;
        let ends = simulation.attachment_points()?;
        let overlays = Overlays { segments: stage::attachments(&ends, 1.0).collect(), points: vec![] };
        let image = self.renderer.capture(self.size, &self.camera, &ViewOptions::default(), &overlays)?;
        for _ in 0..due {
            // What went wrong is told by `finish`.
            if self.writer.push(image.clone()).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Waits for the last picture; how many there are.
    pub fn finish(self) -> Result<u64, Failure> {
        Ok(self.writer.finish()?)
    }
}

impl From<RenderError> for Failure {
    fn from(error: RenderError) -> Self {
        Self::Run(error.to_string())
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        Self::Run(error.to_string())
    }
}

impl From<StepError> for Failure {
    fn from(error: StepError) -> Self {
        Self::Run(error.to_string())
    }
}
