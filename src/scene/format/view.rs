//! How a scene is looked at and recorded.

use super::POSITIVE;
use crate::scene::spec::{ANY, Field, Kind, Presence, Table, from_to};
use Presence::{Default, Optional};

pub static CAMERA: Table = Table {
    title: "[camera]",
    doc: "A camera at `eye`, or at a distance and direction from its target.",
    fields: &[
        Field::new("target", Kind::Vector(ANY), "m", Optional("the middle of all bodies that move freely"), "The point it looks at."),
        Field::new("eye", Kind::Vector(ANY), "m", Optional("`distance`, `azimuth` and `elevation` say where"), "Where it stands."),
        Field::new("distance", Kind::Number(POSITIVE), "m", Optional("all bodies are in view"), "From the target to the eye."),
        Field::new("azimuth", Kind::Number(ANY), "degrees", Default("30.0"), "Direction of the eye about y: 0 looks from +z, 90 from +x."),
        Field::new("elevation", Kind::Number(from_to(-89.0, 89.0)), "degrees", Default("18.0"), "Height of the eye above the horizontal."),
        Field::new("field_of_view", Kind::Number(from_to(5.0, 120.0)), "degrees", Default("35.0"), "Vertical angle of view."),
    ],
};

pub static LIGHT: Table = Table {
    title: "[light]",
    doc: "The key light, which casts the shadows.",
    fields: &[
        Field::new(
            "direction",
            Kind::Vector(ANY),
            "",
            Default("[0.45, 0.85, 0.35]"),
            "From the scene towards the light; any length but 0.",
        ),
        Field::new("color", Kind::Color, "", Default("\"#fff2e0\""), "Its colour (sRGB)."),
        Field::new("intensity", Kind::Number(from_to(0.0, 100.0)), "", Default("1.0"), "Factor on its brightness."),
    ],
};

pub static RECORDING: Table = Table {
    title: "[recording]",
    doc: "Defaults of runs and pictures; `--seconds`, `--fps` and `--size` override them.",
    fields: &[
        Field::new("fps", Kind::Number(from_to(1.0, 240.0)), "1/s", Default("30.0"), "Pictures a second of simulated time."),
        Field::new(
            "seconds",
            Kind::Number(from_to(0.0, 1e6)),
            "s",
            Default("2.0"),
            "Simulated time that `pliant run` computes unless `--steps` or `--seconds` says otherwise.",
        ),
        Field::new("size", Kind::Integers { n: 2, min: 16, max: 8192 }, "pixels", Default("[1280, 720]"), "Width and height."),
    ],
};
