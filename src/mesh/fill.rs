//! Tets for any surface, by the method of choice.

use super::{MeshError, SurfaceMesh, TetMesh, bounding, doctor, graded, stuffing, tetgen, voxel};

/// Accepted numbers of cells along the longest side. Above the upper one no interactive step is in sight; below the lower one
/// the grid shows.
pub const RESOLUTIONS: std::ops::RangeInclusive<u32> = 8..=128;

/// How finely a surface is filled with tets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fineness {
    /// Cells along the longest side.
    Cells(u32),
    /// About so many tets, as far as [`RESOLUTIONS`] go.
    Tets(u64),
}

/// Which of the grid cells that a closed surface touches become tets, for [`Method::Voxel`] and [`Method::Graded`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Border {
    /// As many as the volume asks for that the surface encloses.
    Volume,
    /// All: the surface lies inside of the tets. For bodies of scenes, whose limbs are a few cells thick.
    Covering,
}

/// A way to fill a surface with tets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Equal tets of a grid, of the surface's volume: [`voxel`].
    Voxel,
    /// The same with larger tets inside: [`graded`].
    Graded,
    /// Tets that hold the surface strictly and closely: [`bounding`].
    Bounding,
    /// Tets whose border follows the surface: [`stuffing`].
    Stuffing,
    /// Tets whose border is the surface, by a program that is not part of this one: [`tetgen`].
    TetGen,
}

impl Method {
    /// Those that need no other program.
    pub const ALL: [Self; 4] = [Self::Voxel, Self::Graded, Self::Bounding, Self::Stuffing];

    pub fn name(self) -> &'static str {
        match self {
            Self::Voxel => "voxel",
            Self::Graded => "graded",
            Self::Bounding => "bounding",
            Self::Stuffing => "stuffing",
            Self::TetGen => "tetgen",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().chain([Self::TetGen]).find(|method| method.name() == name)
    }

    /// Fills a surface, which may be open or cross itself: see [`voxel::tetrahedralise`] for what is inside then.
    pub fn tetrahedralise(self, surface: &SurfaceMesh, fineness: Fineness, border: Border) -> Result<TetMesh, MeshError> {
        match self {
            Self::Voxel => voxel::tetrahedralise(surface, voxel_resolution(surface, fineness, border), border),
            Self::Graded => graded::tetrahedralise(surface, fineness, border),
            Self::Bounding => bounding::tetrahedralise(surface, fineness),
            Self::Stuffing => stuffing::tetrahedralise(surface, fineness),
            Self::TetGen => tetgen::tetrahedralise(surface, fineness),
        }
    }
}

fn voxel_resolution(surface: &SurfaceMesh, fineness: Fineness, border: Border) -> u32 {
    match fineness {
        Fineness::Cells(resolution) => resolution,
        Fineness::Tets(tets) => voxel::resolution_for(&doctor::diagnose(surface), tets, border),
    }
}

/// Refuses a number of cells outside of [`RESOLUTIONS`].
pub(super) fn check_resolution(resolution: u32) -> Result<(), MeshError> {
    let (min, max) = (*RESOLUTIONS.start(), *RESOLUTIONS.end());
    if RESOLUTIONS.contains(&resolution) { Ok(()) } else { Err(MeshError::Resolution { resolution, min, max }) }
}
