//! Questions that need the positions on the host: what is under the cursor, where a body is. Where the device has the
//! positions they are fetched without waiting.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use crate::app::worker::Snapshot;
use crate::math::{Aabb, Vec3};
use crate::model::Model;
use crate::render::{Hit, Ray, pick};
use crate::solver::SurfacePositions;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Question {
    /// What to pull.
    Grab(Ray),
    /// What to look at.
    FrameAt(Ray),
    FrameBody(usize),
    FrameAll,
}

/// Answered with the positions of one snapshot.
pub struct Found {
    pub snapshot: Arc<Snapshot>,
    pub positions: Vec<[f32; 4]>,
    pub questions: Vec<Question>,
}

/// Questions under way.
#[derive(Default)]
pub struct Lookup {
    asked: Vec<Question>,
    reading: Option<Reading>,
}

struct Reading {
    snapshot: Arc<Snapshot>,
    questions: Vec<Question>,
    staging: wgpu::Buffer,
    mapped: Receiver<Result<(), wgpu::BufferAsyncError>>,
}

impl Lookup {
    pub fn ask(&mut self, question: Question) {
        self.asked.push(question);
    }

    /// Whether an answer is still to come.
    pub fn is_busy(&self) -> bool {
        !self.asked.is_empty() || self.reading.is_some()
    }

    /// Answers what can be answered now, from the positions that are shown.
    pub fn poll(&mut self, shown: &Arc<Snapshot>, device: &wgpu::Device, queue: &wgpu::Queue) -> Option<Found> {
        if let Some(reading) = self.reading.take() {
            return self.finish(reading, device);
        }
        if self.asked.is_empty() {
            return None;
        }
        let view = shown.view.as_ref()?;
        let questions = std::mem::take(&mut self.asked);
        match &view.surface {
            SurfacePositions::Host(positions) => Some(Found { snapshot: shown.clone(), positions: positions.clone(), questions }),
            SurfacePositions::Device(buffer) => {
                let staging = device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some("app/lookup"),
                    size: buffer.size(),
                    usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
                    mapped_at_creation: false,
                });
                let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("app/lookup") });
                encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
                queue.submit([encoder.finish()]);
                let (sender, mapped) = channel();
                // A receiver that is gone has no more questions.
                staging.map_async(wgpu::MapMode::Read, .., move |result| drop(sender.send(result)));
                self.reading = Some(Reading { snapshot: shown.clone(), questions, staging, mapped });
                None
            }
        }
    }

    fn finish(&mut self, reading: Reading, device: &wgpu::Device) -> Option<Found> {
        // A failing poll means a lost device, which the simulation reports.
        let _ = device.poll(wgpu::PollType::Poll);
        match reading.mapped.try_recv() {
            Err(std::sync::mpsc::TryRecvError::Empty) => {
                self.reading = Some(reading);
                None
            }
            Ok(Ok(())) => {
                let positions = reading.staging.get_mapped_range(..).ok().map(|bytes| bytemuck::pod_collect_to_vec(&bytes[..]));
                positions.map(|positions| Found { snapshot: reading.snapshot, positions, questions: reading.questions })
            }
            Ok(Err(_)) | Err(_) => Some(Found { snapshot: reading.snapshot, positions: vec![], questions: reading.questions }),
        }
    }
}

/// The triangle under the ray, and its body.
pub fn hit_body(model: &Model, positions: &[[f32; 4]], ray: &Ray) -> Option<(Hit, usize)> {
    if positions.len() < model.n_vertices() {
        return None;
    }
    let hit = pick(ray, positions, &model.surface.triangles)?;
    let body = model.bodies.iter().position(|body| body.triangles.contains(&hit.triangle))?;
    Some((hit, body))
}

/// The box around a part of the surface vertices.
pub fn bounds(positions: &[[f32; 4]], part: std::ops::Range<usize>) -> Aabb {
    let points = positions.get(part).unwrap_or_default();
    points.iter().fold(Aabb::EMPTY, |aabb, p| aabb.with(&Vec3::new(p[0].into(), p[1].into(), p[2].into())))
}
