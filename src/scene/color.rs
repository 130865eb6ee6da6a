//! Colours by name or `#rrggbb`, given in sRGB, handed on in linear RGB.

/// A small palette that goes together.
const PALETTE: &[(&str, u32)] = &[
    ("coral", 0xe8_6f_51),
    ("amber", 0xee_b0_4e),
    ("sand", 0xe3_cf_a4),
    ("sage", 0x8f_b8_8b),
    ("teal", 0x2f_9c_95),
    ("sky", 0x7f_b7_d8),
    ("denim", 0x45_6f_a8),
    ("plum", 0x8d_6a_a8),
    ("rose", 0xd8_84_9a),
    ("ivory", 0xf1_ea_dc),
    ("slate", 0x5c_67_73),
    ("graphite", 0x33_38_3f),
];

/// Linear RGB of a colour, if it is one.
pub fn parse(text: &str) -> Option<[f32; 3]> {
    Some(color_bytes(text)?.map(|c| linear(f32::from(c) / 255.0)))
}

/// The sRGB bytes of a colour, if it is one.
pub fn color_bytes(text: &str) -> Option<[u8; 3]> {
    let rgb = match text.strip_prefix('#') {
        Some(hex) if hex.len() == 6 => u32::from_str_radix(hex, 16).ok()?,
        Some(_) => return None,
        None => PALETTE.iter().find(|(name, _)| *name == text)?.1,
    };
    Some([16, 8, 0].map(|shift| (rgb >> shift) as u8))
}

/// Names of the palette.
pub fn palette() -> Vec<&'static str> {
    PALETTE.iter().map(|(name, _)| *name).collect()
}

/// The sRGB transfer function (IEC 61966-2-1), decoded.
fn linear(srgb: f32) -> f32 {
    if srgb <= 0.04045 { srgb / 12.92 } else { ((srgb + 0.055) / 1.055).powf(2.4) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_are_linear() {
        assert_eq!(parse("#ffffff"), Some([1.0; 3]));
        assert!((parse("#808080").unwrap()[1] - 0.2158).abs() < 1e-3);
        assert!(parse("coral").is_some());
        assert_eq!((parse("#12345"), parse("#gggggg"), parse("nocolor")), (None, None, None));
    }
}
