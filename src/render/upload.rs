//! Small buffers on the device, and bind groups of them.

use wgpu::BufferUsages;
use wgpu::util::DeviceExt;

use super::uniforms::Fit;

/// A buffer with contents, never empty (an empty buffer could not be bound).
pub fn filled(device: &wgpu::Device, label: &str, bytes: &[u8], usage: BufferUsages) -> wgpu::Buffer {
    let nothing = [0; 64];
    let contents = if bytes.is_empty() { &nothing[..] } else { bytes };
    device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: Some(label), contents, usage })
}

pub fn uniform<T>(device: &wgpu::Device, label: &str) -> wgpu::Buffer {
    filled(device, label, &vec![0; size_of::<T>()], BufferUsages::UNIFORM | BufferUsages::COPY_DST)
}

/// The layout of the maps: `Fit`.
pub fn fit_buffer(device: &wgpu::Device) -> wgpu::Buffer {
    filled(
        device,
        "fit",
        &[0; size_of::<Fit>()],
        BufferUsages::UNIFORM | BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC,
    )
}

/// A buffer with a constant.
pub fn constant(device: &wgpu::Device, label: &str, value: [f32; 4]) -> wgpu::Buffer {
    filled(device, label, bytemuck::cast_slice(&value), BufferUsages::UNIFORM)
}

pub fn bind(device: &wgpu::Device, label: &str, layout: &wgpu::BindGroupLayout, buffers: &[&wgpu::Buffer]) -> wgpu::BindGroup {
    let entries: Vec<_> =
        (0..).zip(buffers).map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() }).collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some(label), layout, entries: &entries })
}
