//! Pictures of a run without a window.

use std::path::PathBuf;
use std::sync::Arc;

use super::Failure;
use crate::export::{Frame, Subject};
use crate::gpu;
use crate::math::{Isometry, Vec3};
use crate::model::Model;
use crate::record::{FilmFormat, FilmWriter, RecordError};
use crate::render::{Camera, Image, Light, Overlays, Positions, RenderError, RenderOptions, Renderer, ViewOptions};
use crate::sim::Simulation;
use crate::stage;
use crate::step::{StepError, SurfacePositions};

/// Draws moments of a run.
pub struct Painter {
    device: Arc<gpu::Device>,
    renderer: Renderer,
    size: [u32; 2],
}

/// Draws moments of a run, into one or more films.
pub struct Film {
    painter: Painter,
    writers: Vec<(PathBuf, FilmWriter)>,
    camera: Camera,
}

/// Content of the pictures.
pub struct Moment {
    surface: SurfacePositions,
    rigid_poses: Vec<Isometry>,
    obstacle_poses: Vec<Isometry>,
    attachments: Vec<[Vec3; 2]>,
}

impl Moment {
    /// Positions stay on the device that computed them.
    pub fn now(simulation: &mut Simulation) -> Result<Self, StepError> {
        Ok(Self {
            surface: simulation.surface(),
            rigid_poses: simulation.rigid_poses()?,
            obstacle_poses: simulation.obstacle_poses(),
            attachments: simulation.attachment_points()?,
        })
    }

    pub fn of(frame: &Frame, model: &Model) -> Self {
        let surface = model.surface_positions(&frame.node_positions(model));
        Self {
            surface: SurfacePositions::Host(surface.iter().map(stage::vertex).collect()),
            rigid_poses: frame.rigid_poses.clone(),
            obstacle_poses: frame.obstacle_poses.clone(),
            attachments: frame.attachments.clone(),
        }
    }
}

impl Painter {
    /// Opens a device to draw with.
    pub fn open(model: &Model, light: Light, size: [u32; 2], adapter: Option<&str>) -> Result<Self, Failure> {
        let request = gpu::DeviceRequest { adapter: adapter.map(str::to_owned), ..Default::default() };
        let device = gpu::Device::open(&request).map_err(|error| Failure::Input(format!("pictures cannot be drawn: {error}")))?;
        let limit = device.limits.max_texture_dimension_2d;
        if size.iter().any(|n| *n > limit) {
            return Err(Failure::Input(format!("pictures on {} are at most {limit} x {limit}; give a smaller --size", device.info.name)));
        }
        let options = RenderOptions::for_adapter(&device.info, wgpu::TextureFormat::Rgba8Unorm);
        let mut renderer = Renderer::new(&device.device, &device.queue, options);
        renderer.set_stage(&stage::stage(model, light));
        Ok(Self { device, renderer, size })
    }

    pub fn draw(&mut self, moment: &Moment, camera: &Camera) -> Result<Image, RenderError> {
        match &moment.surface {
            SurfacePositions::Host(positions) => self.renderer.set_positions(Positions::Host(positions))?,
            SurfacePositions::Device(surface) => self.renderer.set_positions(Positions::Device(gpu::surface_buffer(surface)))?,
        }
        let transforms = stage::transforms(&moment.rigid_poses, &moment.obstacle_poses);
        self.renderer.set_rigid_transforms(&transforms)?;
        let overlays = Overlays { segments: stage::attachments(&moment.attachments, 1.0).collect(), points: vec![] };
        self.renderer.capture(self.size, camera, &ViewOptions::default(), &overlays)
    }
}

impl Film {
    /// Opens a device to draw with, and the files.
    pub fn start(targets: &[(FilmFormat, PathBuf)], subject: &Subject, adapter: Option<&str>) -> Result<Self, Failure> {
        let painter = Painter::open(&subject.model, stage::light(&subject.light), subject.size, adapter)?;
        let open = |(format, path): &(FilmFormat, PathBuf)| {
            Ok((path.clone(), FilmWriter::new(*format, path, subject.size, subject.frames_per_second)?))
        };
        let writers = targets.iter().map(open).collect::<Result<_, RecordError>>()?;
        Ok(Self { painter, writers, camera: stage::camera(&subject.camera) })
    }

    /// The device, for the simulation to compute on: then positions go to the picture without leaving it.
    pub fn device(&self) -> Arc<gpu::Device> {
        self.painter.device.clone()
    }

    /// Draws a moment, which is shown for `n` frames.
    pub fn take(&mut self, moment: &Moment, n: usize) -> Result<(), Failure> {
        let image = self.painter.draw(moment, &self.camera)?;
        for (_, writer) in &mut self.writers {
            (0..n).try_for_each(|_| writer.push(image.clone()))?;
        }
        Ok(())
    }

    /// Waits for the last picture of every film; how many each has, or why not.
    pub fn finish(self) -> Vec<(PathBuf, Result<u64, RecordError>)> {
        self.writers.into_iter().map(|(path, writer)| (path, writer.finish())).collect()
    }
}

impl From<RenderError> for Failure {
    fn from(error: RenderError) -> Self {
        Self::Run(error.to_string())
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        if error.is_refusal() { Self::Input(error.to_string()) } else { Self::Run(error.to_string()) }
    }
}

impl From<StepError> for Failure {
    fn from(error: StepError) -> Self {
        Self::Run(error.to_string())
    }
}
