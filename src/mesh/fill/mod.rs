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
use crate::cancel::CancelToken;

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
    /// Ends with [`MeshError::Cancelled`] soon after `cancel` is.
    pub fn tetrahedralise(
        self,
        surface: &SurfaceMesh,
        fineness: Fineness,
        border: Border,
        cancel: &CancelToken,
    ) -> Result<TetMesh, MeshError> {
        match self {
            Self::Voxel => voxel::tetrahedralise(surface, voxel_resolution(surface, fineness, border), border, cancel),
            Self::Graded => graded::tetrahedralise(surface, fineness, border, cancel),
            Self::Bounding => bounding::tetrahedralise(surface, fineness, cancel),
            Self::Stuffing => stuffing::tetrahedralise(surface, fineness, cancel),
            Self::TetGen => tetgen::tetrahedralise(surface, fineness, cancel),
        }
    }
}

fn voxel_resolution(surface: &SurfaceMesh, fineness: Fineness, border: Border) -> u32 {
    match fineness {
        Fineness::Cells(resolution) => resolution,
        Fineness::Tets(tets) => voxel::resolution_for(&doctor::diagnose(surface), tets, border),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::shapes;

    #[test]
    fn all_methods_can_be_cancelled_wherever_they_are() {
        let mut open = shapes::icosphere(1.0, 2);
        open.triangles.pop();
        for (surface, method) in [shapes::icosphere(1.0, 2), open].iter().flat_map(|surface| Method::ALL.map(|method| (surface, method))) {
            let fill = |cancel| method.tetrahedralise(surface, Fineness::Cells(10), Border::Volume, &cancel);
            let mut questions = 0;
            // Twice as late each time, so that the beginning, the middle and the end are met.
            while let Err(error) = fill(CancelToken::after(questions)) {
                assert_eq!(error, MeshError::Cancelled, "{}, after {questions} questions", method.name());
                questions = 2 * questions + 1;
            }
            assert!(questions >= 3, "{} asks {questions} times at most", method.name());
            assert_eq!(fill(CancelToken::after(questions)), fill(CancelToken::default()), "{}", method.name());
        }
    }
}
