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
        ).live(),
        Field::new("model", Kind::Choice(MaterialModel::NAMES), "", Default("\"corotational\""), MaterialModel::DESCRIPTIONS).live(),
        Field::new(
            "young_modulus",
            Kind::Number(above_to(0.0, 1e13)),
            "Pa",
            Default("1e5"),
            "Stiffness: about 1e4 for jelly, 1e5 for soft rubber, 1e7 for tyres.",
        ).live(),
        Field::new(
            "poisson_ratio",
            Kind::Number(from_to(0.0, 0.499)),
            "",
            Default("0.3"),
            "How much it narrows when pulled; 0.5 would be incompressible.",
        ).live(),
        Field::new(
            "mooney_share",
            Kind::Number(from_to(0.0, 0.3)),
            "",
            Default("0.2"),
            "Part of the shear modulus that belongs to the second invariant, in the model `mooney_rivlin`.",
        ).live(),
        Field::new(
            "density",
            Kind::Number(above_to(0.0, 1e6)),
            "kg/m^3",
            Default("1000.0"),
            "Mass of a volume at rest: of what a closed surface encloses, whatever the tets that hold it.",
        ).live(),
        Field::new(
            "mass_damping",
            Kind::Number(NOT_NEGATIVE),
            "1/s",
            Default("0.0"),
            "Rayleigh damping proportional to mass: drag, also on a free flight. Of a vibration of f hertz it is a part of critical damping of `mass_damping` / (4 pi f); `pliant check` tells it.",
        ).live(),
        Field::new(
            "stiffness_damping",
            Kind::Number(NOT_NEGATIVE),
            "s",
            Default("0.0"),
            "Rayleigh damping proportional to stiffness: vibration dies away, motion as a whole does not. Of a vibration of f hertz it is a part of critical damping of pi f `stiffness_damping`; `pliant check` tells it.",
        ).live(),
        Field::new(
            "yield_strain",
            Kind::Number(above_to(0.0, 10.0)),
            "",
            Optional("it springs back from anything"),
            "Elastic strain beyond which it flows and stays deformed, with any `model`: length of the deviator of the logarithmic strain, \
             which is 0.82 (1 + `poisson_ratio`) times that of a bar that is pulled. Up to it the material is elastic.",
        ).live(),
        Field::new(
            "creep",
            Kind::Number(from_to(0.0, 1e9)),
            "1/s",
            Default("10.0"),
            "How fast it flows, with `yield_strain`: strain beyond that falls by the factor e in the time 1 / `creep`.",
        ).live(),
        Field::new(
            "max_plastic_strain",
            Kind::Number(above_to(0.0, 10.0)),
            "",
            Default("1.0"),
            "How far it flows, with `yield_strain`: bound on the length of the logarithmic strain that stays.",
        ).live(),
        Field::new(
            "min_stretch",
            Kind::Number(above_to(0.0, 1.0)),
            "",
            Optional("no limit"),
            "Length as a part of that at rest below which it becomes ten times as stiff, with any `model`, in every direction.",
        ).live(),
        Field::new(
            "max_stretch",
            Kind::Number(from_to(1.0, 100.0)),
            "",
            Optional("no limit"),
            "The same for lengths beyond this: cloth and rubber that hardly stretch any further.",
        ).live(),
        Field::new(
            "degeneration_ratio",
            Kind::Number(above_to(0.0, 0.9)),
            "",
            Optional("elements follow their rotations"),
            "Of the model `corotational`: elements below this part of their volume remember which of their features met, and turn \
             without jumps while they collapse, turn inside out and come back; 0.2 is usual.",
        ).live(),
    ],
};
