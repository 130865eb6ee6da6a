//! Materials: how a point of a body answers to a deformation.
//!
//! A material is one file here, with the numbers of its model and its [`ConstitutiveModel`], one kernel of the same
//! name in `shaders/material`, and one line in the list below. Scenes, recordings, the element passes of both
//! backends, reports, pictures and the tests of derivatives find it by that line.

mod contract;
mod plasticity;
pub mod presets;
mod principal;
mod range;
mod stretch_limit;
#[cfg(test)]
mod tests;

pub use contract::{ConstitutiveModel, Deformation, Tangent, VolumeChange, warped_differential};
pub use corotational::InFrame;
pub use mooney_rivlin::LEAST_J as MOONEY_RIVLIN_LEAST_J;
pub use neo_hookean::LEAST_J as NEO_HOOKEAN_LEAST_J;
pub use plasticity::{PLASTIC_ROWS, PlasticRows, Plasticity, plastic_change};
pub use range::{ValidRange, Violation};
pub use stretch_limit::{StretchLimit, StretchLimits};

use std::f64::consts::PI;

use pulp::Scalar;
use serde::{Deserialize, Serialize};

use crate::math::Mat3;
use crate::math::lanes::{Lanes, from_matrix, to_matrix};

/// What a body is made of. As text, numbers that are left out have their defaults.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Material {
    pub model: MaterialModel,
    /// Young's modulus E [Pa], > 0.
    pub young_modulus: f64,
    /// Poisson's ratio nu [-], in [0, 0.5).
    pub poisson_ratio: f64,
    /// Mass density at rest [kg/m^3], > 0.
    pub density: f64,
    /// Part of the shear modulus that belongs to the second invariant, of [`MaterialModel::MooneyRivlin`] [-], in [0,
    /// 0.5).
    pub mooney_share: f64,
    /// Rayleigh damping proportional to mass, alpha [1/s], >= 0.
    pub mass_damping: f64,
    /// Rayleigh damping proportional to stiffness, beta [s], >= 0.
    pub stiffness_damping: f64,
    /// It flows; with any model.
    pub plasticity: Option<Plasticity>,
    /// It stiffens beyond these; with any model.
    pub stretch_limits: Option<StretchLimits>,
    /// det F below which the frames of elements are those of the degeneration-aware polar decomposition, of
    /// [`MaterialModel::Corotational`] [-], above 0 and below 1.
    pub degeneration_ratio: Option<f64>,
}

/// Rows of four numbers that an element with a degeneration ratio remembers.
pub const DEGENERATION_ROWS: usize = 1;

impl Material {
    /// It has a degeneration ratio, which elements of several tets do not know: what has collapsed is told by the features
    /// of a tet.
    pub fn is_for_linear_tets(&self) -> bool {
        self.degeneration_ratio.is_some()
    }
}

/// Poisson's ratio of a tangled body is not above this one.
const MAX_RECOVERING_POISSON_RATIO: f64 = 0.3;

impl Material {
    /// The law by which a tangled body finds back to its shape: the corotational one with a moderate Poisson's ratio.
    /// Laws of their own do not, or not always. The energy of St. Venant-Kirchhoff is the same of a mirrored body as at
    /// rest, and F = 0 is a minimum of that of the stable neo-Hookean solid, whose second derivative there is mu. Near
    /// incompressible, scrambled bodies come to rest with every element upright around each other
    /// (`materials-study.md` 4, which lowers Poisson's ratio; that alone leaves those two).
    pub fn recovering(&self) -> Self {
        Self { model: MaterialModel::Corotational, poisson_ratio: self.poisson_ratio.min(MAX_RECOVERING_POISSON_RATIO), ..*self }
    }
}

/// Lame's parameters [Pa].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lame {
    pub mu: f64,
    pub lambda: f64,
}

/// Something that is done with a constitutive model, whichever it is.
pub trait Visitor {
    type Output;
    fn visit<M: ConstitutiveModel>(self, model: M) -> Self::Output;
}

macro_rules! models {
    ($($model:ident in $file:ident: $doc:literal;)*) => {
        $(mod $file; pub use $file::$model;)*

        /// The constitutive models.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum MaterialModel { $(#[doc = $doc] $model),* }

        /// The numbers of a material as its constitutive model takes them.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Constitutive { $($model($model)),* }

        impl MaterialModel {
            pub const ALL: &[Self] = &[$(Self::$model),*];
            /// As scene files spell them; the kernels in `shaders/material` bear the same names.
            pub const NAMES: &[&str] = &[$(stringify!($file)),*];
            /// The kernels of the device that are their element passes.
            pub const KERNELS: &[&str] = &[$(concat!("material/", stringify!($file))),*];
            /// A sentence on each model, for the scene reference.
            pub const DESCRIPTIONS: &str = concat!("How it answers to a deformation.", $(" `", stringify!($file), "`: ", $doc),*);
        }

        impl MaterialModel {
            pub fn tangent(self) -> Tangent {
                match self { $(Self::$model => <$model as ConstitutiveModel>::TANGENT),* }
            }

            /// See [`ConstitutiveModel::LETS_TURN`].
            pub fn lets_turn(self) -> bool {
                match self { $(Self::$model => <$model as ConstitutiveModel>::LETS_TURN),* }
            }

            /// See [`ConstitutiveModel::IS_FRAMED`].
            pub fn is_framed(self) -> bool {
                match self { $(Self::$model => <$model as ConstitutiveModel>::IS_FRAMED),* }
            }

            /// Rows of four numbers that an element remembers beside its rotation.
            pub fn state_rows(self) -> usize {
                match self { $(Self::$model => <$model as ConstitutiveModel>::STATE_ROWS),* }
            }
        }

        impl Constitutive {
            pub fn new(material: &Material) -> Self {
                match material.model { $(MaterialModel::$model => Self::$model($model::new(material))),* }
            }

            pub fn model(&self) -> MaterialModel {
                match self { $(Self::$model(_) => MaterialModel::$model),* }
            }

            /// Energy density [J/m^3] at one point.
            pub fn energy(&self, at: &Deformation<Scalar>) -> f64 {
                match self { $(Self::$model(model) => model.energy_at(Lanes::from(1.0), at).into()),* }
            }

            /// First Piola-Kirchhoff stress [Pa] at one point.
            pub fn stress(&self, at: &Deformation<Scalar>) -> Mat3 {
                match self { $(Self::$model(model) => to_matrix(&model.stress(Lanes::from(1.0), &model.kinematics(at)))),* }
            }

            /// Change of the stress [Pa] with a change of G, as the matrix of a step takes it.
            pub fn differential(&self, at: &Deformation<Scalar>, change: &Mat3) -> Mat3 {
                match self { $(Self::$model(model) => {
                    let at = model.kinematics(at);
                    to_matrix(&model.differential(&at, &model.moduli(Lanes::from(1.0), &at), &from_matrix(change)))
                }),* }
            }

            /// Derivative of the stress [Pa] along a change of G.
            pub fn derivative(&self, at: &Deformation<Scalar>, change: &Mat3) -> Mat3 {
                match self { $(Self::$model(model) => to_matrix(&model.derivative(Lanes::from(1.0), &model.kinematics(at), &from_matrix(change)))),* }
            }

            /// The deformations up to which the model holds.
            pub fn valid_range(&self) -> ValidRange {
                match self { $(Self::$model(model) => model.valid_range()),* }
            }

            /// The same without its energy of volume changes.
            pub fn without_volume_energy(&self) -> Self {
                match self { $(Self::$model(model) => Self::$model(model.without_volume_energy())),* }
            }

            /// The volume change of one point and its derivative by F.
            pub fn volume_change(&self, at: &Deformation<Scalar>) -> (f64, Mat3) {
                match self { $(Self::$model(model) => {
                    let change = model.volume_change(&model.kinematics(at));
                    (change.value.into(), to_matrix(&change.gradient))
                }),* }
            }

            /// U, its slope and its curvature [J/m^3] at a volume change.
            pub fn volume_energy(&self, change: f64) -> [f64; 3] {
                match self { $(Self::$model(model) => model.volume_energy(Lanes::<Scalar>::from(change)).map(f64::from)),* }
            }

            pub fn visit<V: Visitor>(self, visitor: V) -> V::Output {
                match self { $(Self::$model(model) => visitor.visit(model)),* }
            }
        }
    };
}

models! {
    Corotational in corotational: "linear elasticity in the frame that turns with each element.";
    CorotationalProjected in corotational_projected: "the same with the exact tangent, made positive.";
    CorotationalTruncated in corotational_truncated: "the same with a tangent that resists rotation, for comparisons.";
    NeoHookean in neo_hookean: "rubber and tissue, with forces that go on through inversion; below a Poisson's ratio of 0.4 the best of the non-linear ones.";
    StableNeoHookean in stable_neo_hookean: "rubber and tissue, the quickest and steadiest of the non-linear ones; for Poisson's ratios from 0.4 on.";
    StVenantKirchhoff in st_venant_kirchhoff: "linear in Green's strain, a reference: it gives way under compression.";
    MooneyRivlin in mooney_rivlin: "rubber with a second modulus, `mooney_share`.";
}

impl MaterialModel {
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|model| model.name() == name)
    }
}

impl Material {
    /// mu = E / (2 (1 + nu)), lambda = E nu / ((1 + nu) (1 - 2 nu)). (The thesis' D.11 prints a doubled shear modulus.)
    pub fn lame(&self) -> Lame {
        let (e, nu) = (self.young_modulus, self.poisson_ratio);
        Lame { mu: e / (2.0 * (1.0 + nu)), lambda: e * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)) }
    }

    /// Rows of four numbers that an element remembers beside its rotation: those of its model, that of its
    /// degeneration, then those of its plastic flow.
    pub fn state_rows(&self) -> usize {
        let of_degeneration = if self.degeneration_ratio.is_some() { DEGENERATION_ROWS } else { 0 };
        self.model.state_rows() + of_degeneration + if self.plasticity.is_some() { PLASTIC_ROWS } else { 0 }
    }

    /// What an element remembers of plastic flow, from all of its rows; as at the start if it is given none.
    pub fn plastic_rows(&self, rows: &[[f64; 4]]) -> PlasticRows {
        match rows.last_chunk() {
            Some(rows) if self.plasticity.is_some() => PlasticRows(*rows),
            _ => PlasticRows::default(),
        }
    }

    /// The part of critical damping that Rayleigh's gives a vibration of `frequency` [Hz]:
    /// `zeta = alpha/(4 pi f) + beta pi f`. Its amplitude falls by exp(-2 pi zeta) a period; one of 1 or more does not
    /// swing.
    pub fn damping_ratio(&self, frequency: f64) -> f64 {
        self.mass_damping / (4.0 * PI * frequency) + self.stiffness_damping * PI * frequency
    }
}

impl Default for Material {
    fn default() -> Self {
        Self {
            model: MaterialModel::Corotational,
            young_modulus: 1e5,
            poisson_ratio: 0.3,
            density: 1000.0,
            mooney_share: 0.2,
            mass_damping: 0.0,
            stiffness_damping: 0.0,
            plasticity: None,
            stretch_limits: None,
            degeneration_ratio: None,
        }
    }
}
