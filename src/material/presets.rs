//! Real materials by name, each number with where it comes from (`materials-study.md` 6).

use super::{Material, MaterialModel};

/// A real material. It has no damping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    pub name: &'static str,
    pub model: MaterialModel,
    pub young_modulus: Sourced,
    pub poisson_ratio: Sourced,
    pub density: Sourced,
}

/// A number of a real material.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sourced {
    /// SI.
    pub value: f64,
    /// Where it comes from and how sure it is: for a reader, a sentence or two.
    pub source: &'static str,
}

macro_rules! presets {
    ($($name:literal: $model:ident, $young_modulus:literal $e_source:literal, $poisson_ratio:literal $nu_source:expr, $density:literal $rho_source:expr;)*) => {
        pub const NAMES: &[&str] = &[$($name),*];
        pub const PRESETS: &[Preset] = &[$(Preset {
            name: $name,
            model: MaterialModel::$model,
            young_modulus: Sourced { value: $young_modulus, source: $e_source },
            poisson_ratio: Sourced { value: $poisson_ratio, source: $nu_source },
            density: Sourced { value: $density, source: $rho_source },
        }),*];
    };
}

/// For solids that hardly change their volume: larger ratios cost steps, and change little.
const STAND_IN: &str = "Stands for nearly 0.5.";
const OF_TISSUE_MODEL: &str = "As in PMC7949503 table 3, for nearly 0.5.";
const OF_RUBBER: &str = "That of styrene-butadiene rubber; others have 1140 to 1300 (themechanicalengineeringhandbook.com).";
const OF_BODY: &str = "PMC4201780 table 1.";
const OF_SHEET: &str = "Maker's sheet, as commonly quoted.";
const OF_FOAM: &str = "Estimated: usual of soft foams, 20 to 50.";

presets! {
    "rubber_shore_30": NeoHookean, 1.14e6 "Initial modulus, from Shore A 30 by Gent 1958; +-30 %.", 0.48 STAND_IN, 1100.0 OF_RUBBER;
    "rubber_shore_50": NeoHookean, 2.46e6 "Initial modulus, from Shore A 50 by Gent 1958; +-30 %.", 0.48 STAND_IN, 1100.0 OF_RUBBER;
    "rubber_shore_70": NeoHookean, 5.5e6 "Initial modulus, from Shore A 70 by Gent 1958; +-30 %.", 0.48 STAND_IN, 1100.0 OF_RUBBER;
    "ecoflex_00_30": NeoHookean,
        1.18e5 "From the 100 % modulus: the model takes the 10 psi of the maker's sheet, as commonly quoted, at twice its length. Initial moduli are about \
                1e5 Pa; batches and first stretching (Mullins) matter: Case et al. 2015.",
        0.49 STAND_IN, 1070.0 OF_SHEET;
    "dragon_skin_10": NeoHookean,
        2.59e5 "From the 100 % modulus: the model takes the 22 psi of the maker's sheet, as commonly quoted, at twice its length; Shore A 10.",
        0.49 STAND_IN, 1070.0 OF_SHEET;
    "dragon_skin_30": NeoHookean,
        1.01e6 "From the 100 % modulus: the model takes the 86 psi of the maker's sheet, as commonly quoted, at twice its length. Gent 1958 has 1.14e6 Pa of Shore A 30.",
        0.49 STAND_IN, 1080.0 OF_SHEET;
    "pdms_sylgard_184": NeoHookean,
        1.6e6 "Initial modulus: 1.32 MPa cured at 25 C to 2.97 MPa at 200 C (Johnston et al. 2014); 0.2 to 1.6 MPa by the mixing ratio (PMC11019708 table 2).",
        0.49 STAND_IN, 1030.0 OF_SHEET;
    "gelatine_10": NeoHookean,
        1e5 "Initial modulus of 10 % gelatine at 4 to 10 C, estimated: 20 to 150 kPa, it depends on the rate.",
        0.49 STAND_IN,
        1030.0 "Estimated: nine parts of water and one of protein (1340, Kaye and Laby) have 1026.";
    "brain": StableNeoHookean, 1.75e3 "Initial modulus, Budday et al. 2017, 2019; 1.5 to 2 kPa.", 0.49 STAND_IN, 1040.0 OF_BODY;
    "liver": StableNeoHookean,
        5.4e3 "Initial modulus, PMC6925591 table 1 (shear modulus 1.8 +- 0.4 kPa).",
        0.49 STAND_IN,
        1060.0 "PMC6925591 table 1.";
    "muscle": StableNeoHookean,
        1.34e3 "Initial modulus, passive and across the fibres, PMC7949503 table 3 (C10 of 0.225 kPa); others say up to 12 kPa.",
        0.494 OF_TISSUE_MODEL, 1050.0 OF_BODY;
    "skin": StableNeoHookean, 2.4e4 "Initial modulus, PMC7949503 table 3 (C10 of 4 kPa).", 0.494 OF_TISSUE_MODEL, 1100.0 OF_BODY;
    "fat": StableNeoHookean, 2.4e3 "Initial modulus, PMC7949503 table 3 (C10 of 0.4 kPa).", 0.494 OF_TISSUE_MODEL, 950.0 OF_BODY;
    "foam_mattress": NeoHookean,
        1e4 "Initial modulus of soft polyurethane foam, between the 5 and 15 kPa of PMC7949503 table 3.",
        0.3 "PMC7949503 table 3; open foams that are pressed have less.",
        30.0 OF_FOAM;
    "foam_packing": NeoHookean,
        7.5e4 "Initial modulus of polyurethane foam for packing, estimated: usual values, 50 to 100 kPa.",
        0.3 "As that of mattresses.",
        30.0 OF_FOAM;
    "pla": Corotational,
        3.5e9 "Initial modulus of polylactide, MakeItFrom.com; 3 to 4 GPa as printed (additive.tools).",
        0.36 "Estimated: usual of stiff plastics.",
        1240.0 "Between 1220 and 1260, additive.tools.";
    "abs": Corotational,
        2.2e9 "Initial modulus, usual value; 2 GPa in themechanicalengineeringhandbook.com.",
        0.35 "Usual value; 0.39 in themechanicalengineeringhandbook.com.",
        1040.0 "Usual value; 1020 in themechanicalengineeringhandbook.com.";
    "steel": Corotational,
        2.05e11 "Initial modulus; 200 to 207 GPa (academics.triton.edu, Material Constants). A rigid body is quicker where it need not bend.",
        0.29 "Between 0.27 and 0.32 of steels (the same).",
        7850.0 "Usual value; 7860 in Halliday, Resnick and Walker, table 13-1.";
}

impl Preset {
    pub fn find(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    pub fn material(&self) -> Material {
        let Self { model, young_modulus, poisson_ratio, density, .. } = *self;
        Material {
            model,
            young_modulus: young_modulus.value,
            poisson_ratio: poisson_ratio.value,
            density: density.value,
            ..Material::default()
        }
    }

    /// Where all of its numbers come from.
    pub fn sources(&self) -> String {
        let Self { young_modulus, poisson_ratio, density, .. } = self;
        format!("E: {} nu: {} Density: {}", young_modulus.source, poisson_ratio.source, density.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::{Constitutive, Deformation};
    use crate::math::lanes::from_matrix;
    use crate::math::{Mat3, Vec3};

    /// Nominal stress [Pa] of a bar of some length with free sides.
    fn pull(material: &Material, stretch: f64) -> f64 {
        let model = Constitutive::new(material);
        let stress = |lateral: f64| {
            let gradient = Mat3::from_diagonal(&Vec3::new(stretch, lateral, lateral)) - Mat3::identity();
            let at = Deformation { gradient: from_matrix(&gradient), rotation: from_matrix(&Mat3::identity()), state: &[] };
            model.stress(&at)
        };
        let (mut low, mut high) = (0.3, 1.2);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            *if stress(middle)[(1, 1)] > 0.0 { &mut high } else { &mut low } = middle;
        }
        stress(low)[(0, 0)]
    }

    #[test]
    fn silicones_take_the_stress_of_their_sheets_at_twice_their_length() {
        for (name, psi) in [("ecoflex_00_30", 10.0), ("dragon_skin_10", 22.0), ("dragon_skin_30", 86.0)] {
            let preset = Preset::find(name).unwrap();
            let (found, wanted) = (pull(&preset.material(), 2.0), psi * 6894.757);
            assert!(
                (found / wanted - 1.0).abs() < 0.01 && preset.young_modulus.source.contains(&format!("{psi} psi")),
                "{name}: {found} {wanted}"
            );
        }
    }

    #[test]
    fn tissue_has_the_moduli_of_its_papers() {
        // mu = 2 C10, E = 2 mu (1 + nu).
        for (name, mu) in [("muscle", 450.0), ("skin", 8e3), ("fat", 800.0), ("liver", 1.8e3)] {
            let found = Preset::find(name).unwrap().material().lame().mu;
            assert!((found / mu - 1.0).abs() < 0.01, "{name}: {found} {mu}");
        }
    }

    #[test]
    fn every_number_has_its_source() {
        for preset in PRESETS {
            for Sourced { value, source } in [preset.young_modulus, preset.poisson_ratio, preset.density] {
                assert!(value > 0.0 && source.ends_with('.') && source.len() > 10, "{}: {source}", preset.name);
            }
            assert!(["Initial modulus", "From the 100 % modulus"].iter().any(|kind| preset.young_modulus.source.starts_with(kind)));
        }
    }
}
