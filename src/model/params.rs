//! What may be turned while a simulation runs.

use serde::{Deserialize, Serialize};

use crate::math::Vec3;

/// Methods that solve contact with friction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContactMethod {
    /// The method that suits the step best (`step::choose`).
    #[default]
    Auto,
    /// Corrected warped compliance.
    Cwc,
    /// Conjugate residuals with contact states.
    Cr,
    /// Iterative constraint anticipation.
    Ica,
    /// `Cr` with the diagonal preconditioner only.
    CrDiag,
    /// `Cr` without a preconditioner.
    CrNone,
    /// `Cr` with the published friction update instead of the projection.
    CrTurn,
    /// Staggered projections.
    Sp,
    /// Projected Gauss-Seidel on the exact compliance.
    Pgs,
    /// Semi-smooth Newton on the exact compliance.
    Ssn,
}

impl ContactMethod {
    pub const ALL: [(&'static str, Self); 10] = [
        ("auto", Self::Auto),
        ("cwc", Self::Cwc),
        ("cr", Self::Cr),
        ("cr-diag", Self::CrDiag),
        ("cr-none", Self::CrNone),
        ("cr-turn", Self::CrTurn),
        ("ica", Self::Ica),
        ("sp", Self::Sp),
        ("pgs", Self::Pgs),
        ("ssn", Self::Ssn),
    ];

    /// All names, for what lists them.
    pub const NAMES: [&'static str; Self::ALL.len()] = {
        let mut names = [""; Self::ALL.len()];
        let mut k = 0;
        while k < names.len() {
            names[k] = Self::ALL[k].0;
            k += 1;
        }
        names
    };

    /// The method with the name that scenes and `--solver` use.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, method)| *method)
    }

    /// The name that scenes and `--solver` use.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, method)| *method == self).map_or("", |(name, _)| name)
    }
}

/// Preconditioners of the conjugate gradients that solve what nothing touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preconditioner {
    /// Two levels, unless the number of iterations is fixed: that compares speeds with published figures of Jacobi's.
    #[default]
    Auto,
    /// The inverse of the diagonal blocks, and fields on a lattice (`sparse::TwoLevel`); on the device rigid motions of
    /// aggregates (`sparse::RigidCoarse`).
    TwoLevel,
    /// The inverse of the diagonal blocks.
    Jacobi,
}

impl Preconditioner {
    pub const ALL: [(&'static str, Self); 3] = [("auto", Self::Auto), ("two_level", Self::TwoLevel), ("jacobi", Self::Jacobi)];

    /// By the word that scenes use.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, choice)| *choice)
    }

    /// The word that scenes use.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, choice)| *choice == self).map_or("", |(name, _)| name)
    }
}

/// How a step advances time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Integration {
    /// Backward Euler, linearised once a step.
    #[default]
    SemiImplicit,
    /// Backward Euler, solved by Newton's method.
    Newton,
    /// The two-step backward differentiation formula, solved by Newton's method; see `step/newton.rs`.
    Bdf2,
}

impl Integration {
    pub const ALL: [(&'static str, Self); 3] = [("semi_implicit", Self::SemiImplicit), ("newton", Self::Newton), ("bdf2", Self::Bdf2)];

    /// All names, for what lists them.
    pub const NAMES: [&'static str; Self::ALL.len()] = [Self::ALL[0].0, Self::ALL[1].0, Self::ALL[2].0];

    /// By the word that scenes use.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, choice)| *choice)
    }

    /// The word that scenes use.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, choice)| *choice == self).map_or("", |(name, _)| name)
    }
}

/// What a step must satisfy; it is an error else, which smaller steps may mend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AcceptancePolicy {
    /// Contacts are solved to their tolerance, and nothing passes through anything.
    MustConverge,
    /// The forces of its last rows are found, though these may not be those of the end, and nothing passes through
    /// anything. Forces of rows that contradict each other throw bodies anywhere.
    MustSettle,
    /// Nothing passes through anything.
    #[default]
    MustNotCross,
    /// Nothing: a step whose surfaces would cross in spite of the solve is cut short. The last resort, when smaller
    /// steps fail too.
    Anything,
}

impl AcceptancePolicy {
    /// Whether a step that is not accepted is made again in halves.
    pub fn may_halve(self) -> bool {
        self != Self::Anything
    }
}

/// The gap that remembered contacts aim at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapPolicy {
    /// The gap that they have, within the band of the contact tolerance, and they take back what they slipped: at rest
    /// in what rests.
    #[default]
    Keep,
    /// The middle of the band, as published.
    Middle,
}

/// The precision in which bodies are solved that nothing touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ElasticPrecision {
    /// f32 with residuals in f64, where f32 holds the matrix.
    #[default]
    Single,
    /// f64, as everything else.
    Double,
}

/// What may be turned while running. A saved state holds all that is not skipped; a value that an older file lacks is
/// the default.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// [s]
    pub time_step: f64,
    /// Equal parts that a step is made of, each solved by itself.
    pub substeps: u32,
    /// [m/s^2]
    #[serde(with = "crate::math::components")]
    pub gravity: Vec3,
    /// The elastic solve stops when the residual is below this fraction of the step's driving impulse [-].
    pub tolerance: f64,
    /// Bound on conjugate-gradient iterations a step.
    pub max_iterations: u32,
    /// So many conjugate-gradient iterations, no more and no fewer, solve a step in which nothing touches.
    pub fixed_iterations: Option<u32>,
    pub preconditioner: Preconditioner,
    /// eps2 [m]: gaps of active contacts end in (0, eps2), complementarity holds to it.
    pub contact_tolerance: f64,
    /// The work that a step may do, as the time that it takes on a slow core [ms]; 0 for as much as it takes. It is
    /// counted, not clocked (`budget::WORK_PER_MS`). When it is used up, what would cross is limited in its motion.
    pub max_step_ms: f64,
    /// Bound on conjugate-residual iterations a step; baselines may take ten times as many.
    pub max_contact_iterations: u32,
    /// How contacts are solved.
    pub method: ContactMethod,
    pub integration: Integration,
    /// Newton's method stops when the residual of the non-linear equation is below this fraction of the step's driving
    /// impulse [-].
    pub newton_tolerance: f64,
    pub gap_policy: GapPolicy,
    pub elastic_precision: ElasticPrecision,
    /// Times that the step has been halved, as it was refused; no step between two whole ones is saved.
    #[serde(skip)]
    pub halvings: u32,
    /// The caller's.
    #[serde(skip)]
    pub acceptance: AcceptancePolicy,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            time_step: 0.01,
            substeps: 1,
            gravity: Vec3::new(0.0, -9.81, 0.0),
            tolerance: 1e-3,
            max_iterations: 2000,
            fixed_iterations: None,
            preconditioner: Preconditioner::default(),
            contact_tolerance: 5e-6,
            max_step_ms: 0.0,
            max_contact_iterations: 900,
            method: ContactMethod::Cwc,
            integration: Integration::default(),
            newton_tolerance: 1e-6,
            gap_policy: GapPolicy::default(),
            elastic_precision: ElasticPrecision::default(),
            halvings: 0,
            acceptance: AcceptancePolicy::default(),
        }
    }
}

impl Params {
    /// Whether the matrix is wanted in f64 everywhere: Newton's method comes no nearer to the solution than its matrix.
    pub fn is_double(&self) -> bool {
        self.elastic_precision == ElasticPrecision::Double || self.integration != Integration::SemiImplicit
    }

    /// Whether steps without contacts are solved with two levels.
    pub fn is_two_level(&self) -> bool {
        match self.preconditioner {
            Preconditioner::Auto => self.fixed_iterations.is_none(),
            Preconditioner::TwoLevel => true,
            Preconditioner::Jacobi => false,
        }
    }
}
