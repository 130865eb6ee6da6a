//! What comes back from the device: a small block after each batch, whole buffers on demand, and times.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::device::{Device, DeviceError};

/// A buffer on its way into the memory of the host.
pub struct Mapping(mpsc::Receiver<Result<(), wgpu::BufferAsyncError>>);

impl Mapping {
    /// Once what was submitted with `buffer` is done.
    pub fn begin(buffer: &wgpu::Buffer, mode: wgpu::MapMode) -> Self {
        let (sender, receiver) = mpsc::channel();
        // A failed send means that nobody waits any more.
        buffer.map_async(mode, .., move |result| sender.send(result).unwrap_or_default());
        Self(receiver)
    }

    pub fn wait(self, device: &Device) -> Result<(), DeviceError> {
        let lost = |reason: String| device.fault().unwrap_or(DeviceError::Lost(reason));
        // Another thread that polls may have taken our callback and not have called it yet.
        let mut result = self.0.try_recv().map_err(|_| mpsc::RecvTimeoutError::Timeout);
        let result = loop {
            match result {
                Ok(result) => break result,
                Err(mpsc::RecvTimeoutError::Timeout) if device.fault().is_none() => {
                    device.device.poll(wgpu::PollType::Poll).map_err(|error| lost(error.to_string()))?;
                }
                Err(error) => return Err(lost(format!("a buffer did not arrive ({error})"))),
            }
            result = self.0.recv_timeout(Duration::from_millis(1));
        };
        result.map_err(|error| lost(error.to_string()))
    }
}

/// A small buffer that the host reads after a submission.
pub struct ReadbackBuffer {
    device: Arc<Device>,
    buffer: wgpu::Buffer,
}

fn create_readback(device: &Device, bytes: u64) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("readback"),
        size: bytes,
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    })
}

impl ReadbackBuffer {
    pub fn new(device: &Arc<Device>, bytes: u64) -> Self {
        Self { device: device.clone(), buffer: create_readback(device, bytes) }
    }

    /// Room for `bytes` at least, between submissions.
    pub fn reserve(&mut self, bytes: u64) {
        if bytes > self.buffer.size() {
            self.buffer = create_readback(&self.device, (bytes + bytes / 2).next_multiple_of(16));
        }
    }

    /// Records the copy of `bytes` from `from` on in `source` to `offset`.
    pub fn collect_from(&self, encoder: &mut wgpu::CommandEncoder, source: &wgpu::Buffer, from: u64, bytes: u64, offset: u64) {
        encoder.copy_buffer_to_buffer(source, from, &self.buffer, offset, bytes);
    }

    /// Records the copy of `bytes` from the start of `source` to `offset`.
    pub fn collect(&self, encoder: &mut wgpu::CommandEncoder, source: &wgpu::Buffer, bytes: u64, offset: u64) {
        self.collect_from(encoder, source, 0, bytes, offset);
    }

    /// Submits, waits, and gives the content to `look`.
    pub fn submit<T>(&self, encoder: wgpu::CommandEncoder, look: impl FnOnce(&[u8]) -> T) -> Result<T, DeviceError> {
        let index = self.device.queue.submit([encoder.finish()]);
        let mapping = Mapping::begin(&self.buffer, wgpu::MapMode::Read);
        let lost = |reason: String| self.device.fault().unwrap_or(DeviceError::Lost(reason));
        let poll = wgpu::PollType::Wait { submission_index: Some(index), timeout: None };
        self.device.device.poll(poll).map_err(|error| lost(error.to_string()))?;
        mapping.wait(&self.device)?;
        let value = look(&self.buffer.get_mapped_range(..).map_err(|error| lost(error.to_string()))?);
        self.buffer.unmap();
        Ok(value)
    }
}

/// The first `n` values of the buffer `name`.
#[cfg(test)]
pub fn read<T: bytemuck::Pod>(device: &Arc<Device>, buffers: &super::kernel::Buffers, name: &str, n: usize) -> Result<Vec<T>, DeviceError> {
    read_buffer(device, buffers.get(name), n)
}

/// The first `n` values of a buffer.
pub fn read_buffer<T: bytemuck::Pod>(device: &Arc<Device>, buffer: &wgpu::Buffer, n: usize) -> Result<Vec<T>, DeviceError> {
    if n == 0 {
        return Ok(vec![]);
    }
    let bytes = (n * size_of::<T>()) as u64;
    let readback = ReadbackBuffer::new(device, bytes.next_multiple_of(4));
    let mut encoder = device.device.create_command_encoder(&Default::default());
    readback.collect(&mut encoder, buffer, bytes, 0);
    readback.submit(encoder, |content| bytemuck::pod_collect_to_vec(&content[..bytes as usize]))
}

/// Time stamps around the compute passes of a submission, where the device has them.
pub struct Stopwatch {
    queries: Option<(wgpu::QuerySet, wgpu::Buffer)>,
    /// Stages of the passes recorded since the last collection.
    stages: Vec<&'static str>,
    /// Milliseconds a tick.
    period: f64,
}

/// Most timed passes in a submission.
const MAX_PASSES: u32 = 16;

impl Stopwatch {
    /// Bytes that `collect` takes in a readback buffer.
    pub const BYTES: u64 = MAX_PASSES as u64 * 16;

    pub fn new(device: &Device) -> Self {
        let queries = device.features.contains(wgpu::Features::TIMESTAMP_QUERY).then(|| {
            let set = device.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("stages"),
                ty: wgpu::QueryType::Timestamp,
                count: 2 * MAX_PASSES,
            });
            let resolved = device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("stage times"),
                size: Self::BYTES,
                usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            });
            (set, resolved)
        });
        Self { queries, stages: vec![], period: f64::from(device.queue.get_timestamp_period()) * 1e-6 }
    }

    /// A compute pass whose time counts for `stage`.
    pub fn pass<'e>(&mut self, encoder: &'e mut wgpu::CommandEncoder, stage: &'static str) -> wgpu::ComputePass<'e> {
        let index = self.stages.len() as u32;
        let timed = self.queries.as_ref().filter(|_| index < MAX_PASSES);
        let timestamp_writes = timed.map(|(set, _)| wgpu::ComputePassTimestampWrites {
            query_set: set,
            beginning_of_pass_write_index: Some(2 * index),
            end_of_pass_write_index: Some(2 * index + 1),
        });
        if timed.is_some() {
            self.stages.push(stage);
        }
        encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some(stage), timestamp_writes })
    }

    /// Records the copy of the stamps to `offset` of `readback`.
    pub fn collect(&self, encoder: &mut wgpu::CommandEncoder, readback: &ReadbackBuffer, offset: u64) {
        if let Some((set, resolved)) = &self.queries {
            let stamps = 2 * self.stages.len() as u32;
            encoder.resolve_query_set(set, 0..stamps, resolved, 0);
            readback.collect(encoder, resolved, u64::from(stamps) * 8, offset);
        }
    }

    /// Stages and their milliseconds from the bytes that `collect` copied; None where the device has no clock.
    pub fn read(&mut self, bytes: &[u8]) -> Option<Vec<(&'static str, f64)>> {
        let stages = std::mem::take(&mut self.stages);
        self.queries.as_ref()?;
        let stamps: Vec<u64> = bytemuck::pod_collect_to_vec(&bytes[..stages.len() * 16]);
        Some(stages.into_iter().zip(stamps.chunks(2)).map(|(stage, s)| (stage, s[1].saturating_sub(s[0]) as f64 * self.period)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::device::test_device;

    #[test]
    fn threads_that_poll_one_device_all_get_their_answers() {
        let device = test_device();
        let make = |k: u32| {
            let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
            let descriptor = wgpu::BufferDescriptor { label: None, size: 16, usage, mapped_at_creation: false };
            let buffer = device.create_buffer(&descriptor);
            device.write_buffer(&buffer, 0, bytemuck::bytes_of(&[k; 4]));
            buffer
        };
        std::thread::scope(|scope| {
            for k in 0..4 {
                let (device, buffer) = (&device, make(k));
                scope.spawn(move || (0..50).for_each(|_| assert_eq!(read_buffer::<u32>(device, &buffer, 4), Ok(vec![k; 4]))));
            }
        });
    }
}
