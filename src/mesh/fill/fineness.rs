//! How finely, and how closely to its surface, a body is filled with tets.

use crate::mesh::MeshError;

/// Accepted numbers of cells along the longest side. Above the upper bound no interactive step is in sight;
/// below the lower bound the grid shows.
pub const RESOLUTIONS: std::ops::RangeInclusive<u32> = 8..=128;

/// How finely a surface is filled with tets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fineness {
    /// Cells along the longest side.
    Cells(u32),
    /// About this number of tets, as far as [`RESOLUTIONS`] go.
    Tets(u64),
}

/// The choice of the grid cells that become tets among the cells that a closed surface touches, for [`Method::Voxel`]
/// and [`Method::Graded`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Border {
    /// As many cells as the enclosed volume asks for.
    Volume,
    /// All touched cells: the surface lies inside of the tets. Bodies of scenes need this: their limbs are a few cells
    /// thick.
    Covering,
}

/// Refuses a number of cells outside of [`RESOLUTIONS`].
pub(super) fn check_resolution(resolution: u32) -> Result<(), MeshError> {
    let (min, max) = (*RESOLUTIONS.start(), *RESOLUTIONS.end());
    if RESOLUTIONS.contains(&resolution) { Ok(()) } else { Err(MeshError::Resolution { resolution, min, max }) }
}
