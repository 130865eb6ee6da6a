//! Meshes: surfaces and tetrahedra, their readers, generators and checks. This module knows nothing of materials and
//! scenes, and takes nothing but geometry from files.

pub mod assets;
pub mod doctor;
mod embed;
mod error;
pub mod fill;
mod kuhn;
mod mass;
pub mod measure;
mod outside;
pub mod quadratic;
mod read;
pub mod shapes;
mod slivers;
mod surface;
mod tet_grid;
mod tets;
mod tree;
mod write;

pub use embed::{embed, embed_unless};
pub use error::MeshError;
pub use fill::{Border, Fineness, Method, RESOLUTIONS};
pub use mass::{MassProperties, mass_properties};
pub use outside::Outside;
pub use quadratic::EdgeMiddles;
pub use read::{
    At, Beside, ENDINGS, Format, MeshData, MeshFile, Tags, open_mesh, open_mesh_unless, parse_surface, read_mesh, read_surface,
};
pub use slivers::{SLIVER, softening};
pub use tets::{Quality, tet_quality};
pub use write::{TET_ENDINGS, write_obj, write_tets};

use crate::math::Vec3;

/// A triangle surface. Counter-clockwise triangles seen from outside.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SurfaceMesh {
    /// Vertex positions [m].
    pub positions: Vec<Vec3>,
    /// Vertex indices, three a triangle.
    pub triangles: Vec<[u32; 3]>,
    /// Texture coordinates of the corners of each triangle, `[u, v]` from the lower left corner of the texture, if
    /// there is one. Corners have them rather than vertices: along a seam one vertex lies at several places of the
    /// texture, and yet is one point that moves and touches.
    pub texture_coordinates: Option<Vec<[[f32; 2]; 3]>>,
    /// Unit normals at the corners of each triangle, on the side that it faces, if the file has normals. Corners have
    /// them rather than vertices: along a crease one vertex has several.
    pub normals: Option<Vec<CornerNormals>>,
    /// The parts of the surface, if the file names or paints some.
    pub parts: Option<SurfaceParts>,
}

/// Parts of one surface that its file tells from each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SurfaceParts {
    pub parts: Vec<SurfacePart>,
    /// The part of each triangle.
    pub of_triangles: Vec<u32>,
}

/// How a file calls and paints some of its triangles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SurfacePart {
    /// Empty if it has none.
    pub name: String,
    /// Linear RGB.
    pub color: Option<[f32; 3]>,
}

impl SurfaceParts {
    /// The same parts of triangles that come from these, one after the other.
    pub fn of(&self, triangles: impl IntoIterator<Item = usize>) -> Self {
        Self { parts: self.parts.clone(), of_triangles: triangles.into_iter().map(|t| self.of_triangles[t]).collect() }
    }

    /// Linear RGB of each triangle; none where parts have no colours. Where some have, others are grey beside them.
    pub fn colors(&self) -> Option<Vec<[f32; 3]>> {
        self.parts.iter().any(|part| part.color.is_some()).then(|| {
            let of = |part: &u32| self.parts[*part as usize].color.unwrap_or(UNCOLORED);
            self.of_triangles.iter().map(of).collect()
        })
    }

    /// Without their colours; none where no name is left.
    pub fn unpainted(mut self) -> Option<Self> {
        self.parts.iter_mut().for_each(|part| part.color = None);
        self.parts.iter().any(|part| !part.name.is_empty()).then_some(self)
    }
}

/// Of parts without a colour beside others that have one.
const UNCOLORED: [f32; 3] = [0.5; 3];

/// Unit normals at the corners of a triangle.
pub type CornerNormals = [[f32; 3]; 3];

/// A tetrahedral mesh; every tet has positive volume `(b-a).((c-a)x(d-a))/6`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TetMesh {
    /// Node positions [m].
    pub positions: Vec<Vec3>,
    /// Node indices, four a tet.
    pub tets: Vec<[u32; 4]>,
}

/// The places of the points of a surface in a tet mesh: point `k` is `sum_c weights[k][c] * positions[nodes[k][c]]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embedding {
    /// The four nodes of the tet that holds each point.
    pub nodes: Vec<[u32; 4]>,
    /// Barycentric weights of each point in that tet; sum 1.
    pub weights: Vec<[f64; 4]>,
}
