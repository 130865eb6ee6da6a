//! Colours.

use glam::Vec3;

/// A colour as people write it: sRGB, each channel 0..1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rgb(pub [f32; 3]);

impl Rgb {
    /// A colour from `0xRRGGBB`.
    pub const fn hex(code: u32) -> Self {
        Self([(code >> 16 & 255) as f32 / 255.0, (code >> 8 & 255) as f32 / 255.0, (code & 255) as f32 / 255.0])
    }

    /// Linear albedo.
    pub(super) fn linear(self) -> Vec3 {
        Vec3::from(self.0).powf(2.2)
    }

    /// Four bytes, red first, for vertex attributes: square roots of linear albedo, as `albedo_from_stored` of the
    /// shaders reads.
    pub(super) fn packed(self) -> u32 {
        let [r, g, b] = self.linear().to_array().map(f32::sqrt).map(|c| (c.clamp(0.0, 1.0) * 255.0).round() as u8);
        u32::from_le_bytes([r, g, b, 255])
    }
}

/// Colour `i` of a small harmonious set, which repeats.
pub fn palette(i: usize) -> Rgb {
    const COLORS: [Rgb; 8] = [
        Rgb::hex(0xe5704f), // coral
        Rgb::hex(0x3f9f98), // teal
        Rgb::hex(0xe0a03c), // amber
        Rgb::hex(0x6f86d6), // periwinkle
        Rgb::hex(0x9cbf60), // moss
        Rgb::hex(0xc977a4), // orchid
        Rgb::hex(0x62b3de), // sky
        Rgb::hex(0xd9c7a5), // sand
    ];
    COLORS[i % COLORS.len()]
}
