//! Values of materials.

use super::super::spec::{Field, Kind, Presence, Table, above_to, from_to};
use super::NOT_NEGATIVE;
use crate::material::{MaterialModel, presets};
use Presence::{Default, Optional};

pub static MATERIAL: Table = Table {
    title: "[material.NAME]",
    doc: "An isotropic elastic material. It may be changed while a simulation runs.",
    fields: &[
        Field::new(
            "preset",
            Kind::Choice(presets::NAMES),
            "",
            Optional("the defaults below"),
            "A real material to begin with, of those at the end of this page; what is given here prevails.",
        ),
        Field::new("model", Kind::Choice(MaterialModel::NAMES), "", Default("\"corotational\""), MaterialModel::DESCRIPTIONS),
        Field::new(
            "young_modulus",
            Kind::Number(above_to(0.0, 1e13)),
            "Pa",
            Default("1e5"),
            "Stiffness: about 1e4 for jelly, 1e5 for soft rubber, 1e7 for tyres.",
        ),
        Field::new(
            "poisson_ratio",
            Kind::Number(from_to(0.0, 0.499)),
            "",
            Default("0.3"),
            "How much it narrows when pulled; 0.5 would be incompressible.",
        ),
        Field::new(
            "mooney_share",
            Kind::Number(from_to(0.0, 0.3)),
            "",
            Default("0.2"),
            "Part of the shear modulus that belongs to the second invariant, in the model `mooney_rivlin`.",
        ),
        Field::new(
            "density",
            Kind::Number(above_to(0.0, 1e6)),
            "kg/m^3",
            Default("1000.0"),
            "Mass of a volume at rest: of what a closed surface encloses, whatever the tets that hold it.",
        ),
        Field::new(
            "mass_damping",
            Kind::Number(NOT_NEGATIVE),
            "1/s",
            Default("0.0"),
            "Rayleigh damping proportional to mass: drag, also on a free flight.",
        ),
        Field::new(
            "stiffness_damping",
            Kind::Number(NOT_NEGATIVE),
            "s",
            Default("0.0"),
            "Rayleigh damping proportional to stiffness: vibration dies away, motion as a whole does not.",
        ),
    ],
};
