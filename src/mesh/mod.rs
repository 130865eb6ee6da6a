//! Meshes: surfaces and tetrahedra, their readers, generators and checks. Knows nothing of materials, scenes or files'
//! meaning beyond geometry.

pub mod assets;
mod bcc;
mod border;
pub mod bounding;
pub mod doctor;
mod embed;
mod error;
mod fill;
pub mod graded;
mod inside;
mod lattice;
mod mass;
pub mod measure;
mod read;
pub mod shapes;
pub mod stuffing;
mod surface;
mod tetgen;
mod tets;
mod tree;
pub mod voxel;
mod write;

pub use embed::embed;
pub use error::MeshError;
pub use fill::{Border, Fineness, Method, RESOLUTIONS};
pub use mass::{MassProperties, mass_properties};
pub use read::{At, Beside, ENDINGS, Format, MeshData, MeshFile, open_mesh, parse_surface, read_mesh, read_surface};
pub use tets::Quality;
pub use write::{TET_ENDINGS, write_obj, write_tets};

use crate::math::Vec3;

/// A triangle surface. Counter-clockwise triangles seen from outside.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SurfaceMesh {
    /// Vertex positions [m].
    pub positions: Vec<Vec3>,
    /// Vertex indices, three a triangle.
    pub triangles: Vec<[u32; 3]>,
    /// Where the corners of each triangle lie in a texture, `[u, v]` from its lower left corner; of meshes that have a texture. Of
    /// corners rather than of vertices: along a seam one vertex has several, and yet is one point that moves and touches.
    pub texture_coordinates: Option<Vec<[[f32; 2]; 3]>>,
    /// Unit normals at the corners of each triangle, on the side that it faces; of meshes whose file tells them. Of corners, for along a crease a
    /// vertex has several.
    pub normals: Option<Vec<CornerNormals>>,
}

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

/// Where the points of a surface lie in a tet mesh: point `k` is `sum_c weights[k][c] * positions[nodes[k][c]]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embedding {
    /// The four nodes of the tet that holds each point.
    pub nodes: Vec<[u32; 4]>,
    /// Barycentric weights of each point in that tet; sum 1.
    pub weights: Vec<[f64; 4]>,
}
