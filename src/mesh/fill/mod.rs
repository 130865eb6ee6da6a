//! Fills any surface with tets, by one of several methods.

mod bcc;
mod border;
pub mod bounding;
mod fineness;
pub mod graded;
mod inside;
pub mod stuffing;
mod tetgen;
pub mod voxel;

pub use fineness::{Border, Fineness, RESOLUTIONS};

use super::{MeshError, SurfaceMesh, TetMesh, doctor};

/// A way to fill a surface with tets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Equal tets of a grid, of the surface's volume: [`voxel`].
    Voxel,
    /// Tets of the same outside as voxels, larger inside: [`graded`].
    Graded,
    /// Tets that hold the surface strictly and closely: [`bounding`].
    Bounding,
    /// Tets whose border follows the surface: [`stuffing`].
    Stuffing,
    /// Tets whose border is the surface, by a program that is not part of this one: [`tetgen`].
    TetGen,
}

impl Method {
    /// Methods that need no other program.
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
