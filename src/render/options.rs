//! Options of drawing that follow from the device.

/// Options by which a device draws fast enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenderOptions {
    /// Samples per pixel, 1 or 4.
    ///
    /// With 1, surfaces leave their parts and are lit once per pixel after all are drawn, and jagged edges are smoothed
    /// at the end. If they were lit at once, a software adapter would run the whole shader for every block of 4 x 4
    /// pixels that a small triangle touches.
    pub samples: u32,
    /// Width of the shadow map [texels]; the other maps follow it.
    pub shadow_resolution: u32,
    /// The number of reads of the shadow map for a texel of a soft shadow on the floor.
    pub shadow_taps: u32,
    /// Whether creases and places where bodies touch are darkened, by their neighbourhood on the screen.
    pub ambient_occlusion: bool,
    /// Format of the targets, which is not an sRGB format: colours are encoded here.
    pub format: wgpu::TextureFormat,
}

impl RenderOptions {
    /// Options that suit an adapter.
    pub fn for_adapter(info: &wgpu::AdapterInfo, format: wgpu::TextureFormat) -> Self {
        match info.device_type {
            wgpu::DeviceType::Cpu => Self::software(format),
            _ => Self { samples: 4, shadow_resolution: 2048, shadow_taps: 32, ambient_occlusion: true, format },
        }
    }

    /// Options with which a software adapter draws fluently.
    pub fn software(format: wgpu::TextureFormat) -> Self {
        Self { samples: 1, shadow_resolution: 1024, shadow_taps: 12, ambient_occlusion: false, format }
    }
}
