//! A finished picture on the host.

use super::RenderError;

/// A picture: rows from the top, four bytes per pixel (red, green, blue, opacity), gamma-encoded. Only pictures without
/// ground are not opaque everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub width: u32,
    pub height: u32,
    pub pixels: Vec<u8>,
}

impl Image {
    pub fn is_opaque(&self) -> bool {
        self.pixels.chunks_exact(4).all(|pixel| pixel[3] == 255)
    }

    /// What is on an `Rgba8Unorm` texture now.
    #[cfg(test)]
    pub(crate) fn of_texture(device: &wgpu::Device, queue: &wgpu::Queue, texture: &wgpu::Texture) -> Result<Self, RenderError> {
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let readback = Readback::record(device, &mut encoder, texture);
        queue.submit([encoder.finish()]);
        readback.read(device)
    }

    /// Red, green and blue of a pixel; `x` to the right, `y` down.
    pub fn pixel(&self, x: u32, y: u32) -> [u8; 3] {
        let i = 4 * (y as usize * self.width as usize + x as usize);
        [self.pixels[i], self.pixels[i + 1], self.pixels[i + 2]]
    }
}

/// A copy of an `Rgba8Unorm` texture on its way to the host: recorded into an encoder, read after its submission.
pub(super) struct Readback {
    buffer: wgpu::Buffer,
    size: [u32; 2],
    row: u32,
}

impl Readback {
    /// Records the copy. Rows of the buffer are padded to 256 bytes, as copies demand.
    pub fn record(device: &wgpu::Device, encoder: &mut wgpu::CommandEncoder, texture: &wgpu::Texture) -> Self {
        let size = [texture.width(), texture.height()];
        let row = (4 * size[0]).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("render/readback"),
            size: u64::from(row) * u64::from(size[1]),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        encoder.copy_texture_to_buffer(
            texture.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &buffer,
                layout: wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row), rows_per_image: None },
            },
            texture.size(),
        );
        Self { buffer, size, row }
    }

    /// Waits for the device and unpacks the rows.
    pub fn read(self, device: &wgpu::Device) -> Result<Image, RenderError> {
        let failed = |e: &dyn std::fmt::Display| RenderError::Readback(e.to_string());
        let (sender, receiver) = std::sync::mpsc::channel();
        // The receiver outlives the callback: a failed send cannot happen, and would be taken for a missing answer.
        self.buffer.map_async(wgpu::MapMode::Read, .., move |result| drop(sender.send(result)));
        device.poll(wgpu::PollType::wait_indefinitely()).map_err(|e| failed(&e))?;
        receiver.recv().map_err(|e| failed(&e))?.map_err(|e| failed(&e))?;
        let bytes = self.buffer.get_mapped_range(..).map_err(|e| failed(&e))?;
        let [width, height] = self.size;
        let mut pixels = Vec::with_capacity(4 * width as usize * height as usize);
        for row in bytes.chunks(self.row as usize) {
            pixels.extend_from_slice(&row[..4 * width as usize]);
        }
        Ok(Image { width, height, pixels })
    }
}
