use super::read::At;
use crate::cancel::Cancelled;

/// A fault of a mesh or of its file: what is wrong, where, and what would mend it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MeshError {
    /// A file that cannot be read as a mesh.
    #[error("{file}{at}: {reason}; {remedy}")]
    File { file: String, at: At, reason: String, remedy: String },
    #[error("the surface has no triangles; give it at least four that close a volume")]
    Empty,
    #[error("triangle {triangle} names vertex {vertex}, but the surface has {vertices} vertices; correct the index")]
    TriangleIndex { triangle: usize, vertex: u32, vertices: usize },
    #[error("vertex {vertex} is not a finite point; correct its coordinates")]
    NotFinite { vertex: usize },
    #[error(
        "the surface is open: {boundary_edges} boundary edges; close its holes (for instance with MeshFix) before making a solid of it"
    )]
    Open { boundary_edges: usize },
    #[error("{edges} edges of the surface have triangles that do not run in opposite directions; make their orientation consistent")]
    Misoriented { edges: usize },
    #[error("{edges} edges of the surface have more than two triangles; separate the parts that touch there")]
    NonManifold { edges: usize },
    #[error("the surface encloses no volume (signed volume {volume:.3e}); if it is inside out, flip its triangles, else give it thickness")]
    NoVolume { volume: f64 },
    #[error("resolution {resolution} is outside {min}..={max} cells along the longest side; choose one within")]
    Resolution { resolution: u32, min: u32, max: u32 },
    #[error(
        "no tet fits into the surface at {resolution} cells along its longest side: it is thinner than a cell; choose more cells, or the \
         method voxel"
    )]
    TooThin { resolution: u32 },
    #[error(
        "the method tetgen calls the program TetGen, and none is in the search path; install it (for instance with `apt install tetgen`; its licence \
         is the AGPL) or choose another method"
    )]
    NoTetGen,
    #[error("TetGen did not fill the surface: {reason}; choose another method: those of this program fill any surface")]
    TetGen { reason: String },
    #[error("the filling of the surface was cancelled")]
    Cancelled,
    #[error("the tet mesh has no tets; there is nothing to deform or to embed in")]
    NoTets,
    #[error("tet {tet} names node {node}, but the mesh has {nodes} nodes; correct the index")]
    TetIndex { tet: usize, node: u32, nodes: usize },
    #[error("tet {tet} has volume {volume:.3e}; its nodes must be ordered for a positive volume and must not lie in a plane")]
    TetVolume { tet: usize, volume: f64 },
}

impl From<Cancelled> for MeshError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}
