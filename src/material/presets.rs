//! Real materials by name, each with where its numbers come from (`materials-study.md` 6).

use super::{Material, MaterialModel};

/// A real material. It has no damping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    pub name: &'static str,
    pub model: MaterialModel,
    /// [Pa]
    pub young_modulus: f64,
    pub poisson_ratio: f64,
    /// [kg/m^3]
    pub density: f64,
    /// Which modulus it is, where it comes from and how sure it is.
    pub source: &'static str,
}

macro_rules! presets {
    ($($name:literal: $model:ident, $young_modulus:literal, $poisson_ratio:literal, $density:literal, $source:literal;)*) => {
        pub const NAMES: &[&str] = &[$($name),*];
        pub const PRESETS: &[Preset] = &[$(Preset {
            name: $name,
            model: MaterialModel::$model,
            young_modulus: $young_modulus,
            poisson_ratio: $poisson_ratio,
            density: $density,
            source: $source,
        }),*];
    };
}

presets! {
    "rubber_shore_30": NeoHookean, 1.14e6, 0.48, 1100.0, "Initial modulus, from Shore A 30 by Gent 1958; +-30 %.";
    "rubber_shore_50": NeoHookean, 2.46e6, 0.48, 1100.0, "Initial modulus, from Shore A 50 by Gent 1958; +-30 %.";
    "rubber_shore_70": NeoHookean, 5.5e6, 0.48, 1100.0, "Initial modulus, from Shore A 70 by Gent 1958; +-30 %.";
    "ecoflex_00_30": NeoHookean, 6.9e4, 0.49, 1070.0,
        "100 % modulus, maker's sheet; the initial modulus is about 1e5 Pa. Batches and first stretching (Mullins) matter: Case et al. 2015.";
    "dragon_skin_10": NeoHookean, 1.51e5, 0.49, 1070.0, "100 % modulus, maker's sheet; Shore A 10.";
    "dragon_skin_30": NeoHookean, 5.93e5, 0.49, 1080.0, "100 % modulus, maker's sheet; Shore A 30.";
    "pdms_sylgard_184": NeoHookean, 1.6e6, 0.49, 1030.0, "Initial modulus, PMC11019708 table 2; 0.2 to 1.6 MPa by the mixing ratio.";
    "gelatine_10": NeoHookean, 1e5, 0.49, 1045.0, "Initial modulus of 10 % gelatine at 4 to 10 C; 20 to 150 kPa, it depends on the rate.";
    "brain": StableNeoHookean, 1.75e3, 0.49, 1040.0, "Initial modulus, Budday et al. 2017, 2019; 1.5 to 2 kPa.";
    "liver": StableNeoHookean, 5.4e3, 0.49, 1060.0, "Initial modulus, PMC6925591 table 1 (shear modulus 1.8 +- 0.4 kPa).";
    "muscle": StableNeoHookean, 1.34e3, 0.494, 1060.0, "Initial modulus, passive and across the fibres, PMC7949503 table 3; others say up to 12 kPa.";
    "skin": StableNeoHookean, 2.4e4, 0.494, 1100.0, "Initial modulus, PMC7949503 (C10 of 4 kPa).";
    "fat": StableNeoHookean, 2.4e3, 0.494, 950.0, "Initial modulus, PMC7949503 (C10 of 0.4 kPa).";
    "foam_mattress": NeoHookean, 1e4, 0.3, 30.0, "Initial modulus of soft polyurethane foam, PMC7949503; 5 to 15 kPa, `poisson_ratio` 0 to 0.3.";
    "foam_packing": NeoHookean, 7.5e4, 0.3, 30.0, "Initial modulus of polyurethane foam for packing; usual values, 50 to 100 kPa.";
    "pla": Corotational, 3.5e9, 0.36, 1240.0, "Initial modulus of polylactide as printed; usual value.";
    "abs": Corotational, 2.2e9, 0.35, 1040.0, "Initial modulus; usual value.";
    "steel": Corotational, 2.05e11, 0.29, 7850.0, "Initial modulus; usual value. A rigid body is quicker where it need not bend.";
}

impl Preset {
    pub fn find(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    pub fn material(&self) -> Material {
        let Self { model, young_modulus, poisson_ratio, density, .. } = *self;
        Material { model, young_modulus, poisson_ratio, density, ..Material::default() }
    }
}
