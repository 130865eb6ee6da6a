//! Settings that are not part of the model.

use crate::math::Vec3;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// The GPU where a hardware adapter makes the first steps faster.
    #[default]
    Auto,
    Gpu,
    Cpu,
}

impl BackendChoice {
    pub const ALL: [(&'static str, Self); 3] = [("auto", Self::Auto), ("gpu", Self::Gpu), ("cpu", Self::Cpu)];

    /// By the word that scenes and `--backend` use.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, choice)| *choice)
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
    /// Simulated time of a run that is given no length [s].
    pub seconds: f64,
    /// Width and height [pixels].
    pub size: [u32; 2],
}
