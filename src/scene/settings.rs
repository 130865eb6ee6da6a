//! Settings that are not part of the model.

use crate::math::Vec3;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// The GPU when a hardware adapter is there.
    #[default]
    Auto,
    Gpu,
    Cpu,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SolverChoice {
    #[default]
    Auto,
    /// Corrected warped compliance.
    Cwc,
    /// Conjugate residuals with contact states.
    Cr,
    /// The same with the diagonal preconditioner only.
    CrDiag,
    /// The same without a preconditioner.
    CrNone,
    /// The same with the published friction update.
    CrTurn,
    /// Iterative constraint anticipation.
    Ica,
    /// Staggered projections.
    Sp,
    /// Projected Gauss-Seidel on the Delassus operator.
    Pgs,
    /// Semi-smooth Newton.
    Ssn,
}

impl BackendChoice {
    pub const ALL: [(&'static str, Self); 3] = [("auto", Self::Auto), ("gpu", Self::Gpu), ("cpu", Self::Cpu)];

    /// By the word that scenes and `--backend` use.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, choice)| *choice)
    }
}

impl SolverChoice {
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

    /// By the word that scenes and `--solver` use.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, choice)| *choice)
    }

    /// The word that scenes and `--solver` use.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, choice)| *choice == self).map_or("", |(name, _)| name)
    }
}

/// Where the scene wants to be seen from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CameraSetting {
    pub target: Vec3,
    pub eye: Vec3,
    /// Vertical angle of view [degrees].
    pub field_of_view: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LightSetting {
    /// Unit vector from the scene towards the light.
    pub direction: Vec3,
    /// Linear RGB.
    pub color: [f32; 3],
    pub intensity: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordingSetting {
    /// Pictures a second of simulated time.
    pub fps: f64,
    /// Width and height [pixels].
    pub size: [u32; 2],
}
