//! The linear tets that carry the vertices of surfaces: where nodes go, vertices follow.

use crate::math::Vec3;

/// A tet at rest.
#[derive(Clone, Copy, Debug)]
pub struct HostTet {
    pub nodes: [u32; 4],
    /// Places of its nodes [m].
    pub corners: [Vec3; 4],
    /// Gradients of the shape functions of its nodes [1/m].
    pub gradients: [Vec3; 4],
}

/// Longest edge by least height from which on a tet may be too slender; twice this surely is.
const MAX_SLENDERNESS: f64 = 5e3;

impl HostTet {
    /// Whether it is so slender that its deformation is not known in f32: differences of displacements are multiplied
    /// by the slenderness, and so are their roundings.
    pub fn is_too_slender(&self) -> bool {
        let [a, b, c, d] = self.corners;
        let longest2 = [b - a, c - a, d - a, c - b, d - b, d - c].iter().map(Vec3::norm_squared).fold(0.0, f64::max);
        // The gradient of a shape function is the inverse of a height. All four are at most twice the greatest; their
        // sum, unlike that, is no number where one of them is none.
        let steepness2: f64 = self.gradients.iter().map(Vec3::norm_squared).sum();
        let is_sound = (longest2 * steepness2).sqrt() < 2.0 * MAX_SLENDERNESS;
        !is_sound
    }
}

/// The tets that carry the vertices of a mesh, at rest.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    pub tets: Vec<HostTet>,
    /// Where the list of each vertex in `of_vertices` begins, and the end of the last one.
    pub starts: Vec<u32>,
    /// The tets whose linear motion a vertex follows: one, or all at the surface that have it as a node; none of
    /// vertices that no tet carries.
    pub of_vertices: Vec<u32>,
}

impl Hosts {
    /// The tets of a vertex.
    pub fn of(&self, vertex: u32) -> &[u32] {
        let v = vertex as usize;
        if v + 1 < self.starts.len() { &self.of_vertices[self.starts[v] as usize..self.starts[v + 1] as usize] } else { &[] }
    }
}

/// How nodes move in a step; each vector fills a register, its last entry is zero.
#[derive(Clone, Copy, Debug)]
pub struct NodeMotions<'a> {
    /// Displacements at the start [m].
    pub displacements: &'a [[f64; 4]],
    /// Velocities in the step [m/s].
    pub velocities: &'a [[f64; 4]],
    /// Time step [s].
    pub dt: f64,
}
