//! Marks over the stage: lines and points of constant size on the screen.

use super::palette::Rgb;
use super::stage::Overlays;
use super::uniforms::Mark;

/// Overlays on the device.
pub struct Marks {
    pub buffer: wgpu::Buffer,
    pub n: u32,
}

impl Marks {
    pub fn new(device: &wgpu::Device, capacity: usize) -> Self {
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("render/marks"),
            size: (capacity * size_of::<Mark>()) as u64,
            usage: wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        Self { buffer, n: 0 }
    }

    /// `scale`: texels in a pixel of the picture.
    pub fn upload(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, overlays: &Overlays, scale: f32) {
        let mark = |a: glam::Vec3, b: glam::Vec3, width: f32, Rgb([red, green, blue]): Rgb, opacity: f32| Mark {
            a: a.to_array(),
            width: width * scale,
            b: b.to_array(),
            padding: 0.0,
            color: [red, green, blue, opacity],
        };
        let segments = overlays.segments.iter().map(|s| mark(s.a, s.b, s.width, s.color, s.opacity));
        let points = overlays.points.iter().map(|p| mark(p.at, p.at, p.size, p.color, p.opacity));
        let marks: Vec<Mark> = segments.chain(points).collect();
        if self.buffer.size() < size_of_val(&marks[..]) as u64 {
            *self = Self::new(device, marks.len().next_power_of_two());
        }
        queue.write_buffer(&self.buffer, 0, bytemuck::cast_slice(&marks));
        self.n = marks.len() as u32;
    }
}
