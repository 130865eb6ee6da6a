//! What goes to the device in every step, through one buffer that stays.

use std::sync::Arc;

use super::device::{Device, DeviceError};
use super::readback::Mapping;

/// A buffer that the host writes between submissions. `wgpu::Queue::write_buffer` would make one for every call. What
/// is larger than the buffer makes a larger one.
pub struct UploadStaging {
    device: Arc<Device>,
    buffer: wgpu::Buffer,
    /// Of the next submission.
    bytes: Vec<u8>,
    copies: Vec<Copy>,
    owner: Owner,
    /// Bytes that were recorded since they were asked for last.
    sent: u64,
}

/// Who may look into the buffer.
enum Owner {
    Host,
    Device,
    /// On its way from the device to the host.
    Between(Mapping),
}

struct Copy {
    target: wgpu::Buffer,
    offset: u64,
    from: u64,
    bytes: u64,
}

/// Contents begin at multiples of this, as mapped memory demands.
const ALIGNMENT: usize = 16;

impl UploadStaging {
    /// For contents of up to `bytes` a submission, `parts` of them.
    pub fn new(device: &Arc<Device>, bytes: usize, parts: usize) -> Self {
        let buffer = create(device, bytes + parts * ALIGNMENT);
        Self { device: device.clone(), buffer, bytes: vec![], copies: vec![], owner: Owner::Host, sent: 0 }
    }

    /// `contents` are to be in `target` from `offset` [bytes] on.
    pub fn put<T: bytemuck::Pod>(&mut self, target: &wgpu::Buffer, offset: u64, contents: &[T]) {
        let contents: &[u8] = bytemuck::cast_slice(contents);
        if contents.is_empty() {
            return;
        }
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGNMENT), 0);
        self.copies.push(Copy { target: target.clone(), offset, from: self.bytes.len() as u64, bytes: contents.len() as u64 });
        self.bytes.extend_from_slice(contents);
    }

    /// Records the copies of all that was put in. `take_back` has to follow the submission.
    pub fn record(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), DeviceError> {
        if let Owner::Between(mapping) = std::mem::replace(&mut self.owner, Owner::Device) {
            mapping.wait(&self.device)?;
        }
        if self.bytes.len() as u64 > self.buffer.size() {
            self.buffer = create(&self.device, self.bytes.len() + self.bytes.len() / 2);
        }
        if !self.bytes.is_empty() {
            let lost = |error: wgpu::MapRangeError| self.device.fault().unwrap_or(DeviceError::Lost(error.to_string()));
            self.buffer.get_mapped_range_mut(..self.bytes.len() as u64).map_err(lost)?.copy_from_slice(&self.bytes);
        }
        self.buffer.unmap();
        for Copy { target, offset, from, bytes } in self.copies.drain(..) {
            encoder.copy_buffer_to_buffer(&self.buffer, from, &target, offset, bytes);
            self.sent += bytes;
        }
        self.bytes.clear();
        Ok(())
    }

    /// Bytes that have gone to the device since this was asked last.
    pub fn take_sent(&mut self) -> u64 {
        std::mem::take(&mut self.sent)
    }

    /// Gives the buffer back to the host, once the device has read it.
    pub fn take_back(&mut self) {
        if matches!(self.owner, Owner::Device) {
            self.owner = Owner::Between(Mapping::begin(&self.buffer, wgpu::MapMode::Write));
        }
    }
}

fn create(device: &Device, bytes: usize) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("staging"),
        size: bytes.next_multiple_of(ALIGNMENT) as u64,
        usage: wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::MAP_WRITE,
        mapped_at_creation: true,
    })
}
