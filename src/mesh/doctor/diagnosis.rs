//! Counts and locates what is wrong with a surface.

use std::collections::HashSet;

use super::sides::{place, sides, sorted};
use crate::disjoint_sets::DisjointSets;
use crate::math::Aabb;
use crate::mesh::SurfaceMesh;

/// Facts about a surface. Counts are 0 in a surface fit for simulation, except the first two and `pieces`.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    pub vertices: usize,
    pub triangles: usize,
    /// Edges with one triangle.
    pub boundary_edges: usize,
    /// Edges with more than two triangles.
    pub non_manifold_edges: usize,
    /// Edges with two or more triangles of which more run one way along it than the other way.
    pub misoriented_edges: usize,
    /// Vertices whose triangles fall into several fans.
    pub non_manifold_vertices: usize,
    /// Triangles without area: a corner twice, or corners in a line.
    pub degenerate_triangles: usize,
    /// Triangles with the corners of an earlier triangle.
    pub repeated_triangles: usize,
    /// Vertices at the place of an earlier vertex.
    pub duplicate_vertices: usize,
    /// Vertices of no triangle.
    pub unused_vertices: usize,
    /// Parts that share no vertex.
    pub pieces: usize,
    /// Volume enclosed [m^3]; negative when the triangles face inwards.
    pub signed_volume: f64,
    /// [m^2]
    pub area: f64,
    pub bounds: Aabb,
}

/// The elements of a surface that [`Diagnosis`] counts.
pub(super) struct Faults {
    pub boundary: Vec<[u32; 2]>,
    pub non_manifold: Vec<[u32; 2]>,
    pub misoriented: Vec<[u32; 2]>,
    /// Vertices of several fans.
    pub split: Vec<u32>,
    /// Triangles.
    pub degenerate: Vec<u32>,
    pub repeated: Vec<u32>,
    /// Vertices.
    pub duplicate: Vec<u32>,
    pub unused: Vec<u32>,
    /// The lowest vertex of each piece.
    pub pieces: Vec<u32>,
}

/// Triangles lower than this part of their longest edge count as degenerate: a few roundings of f32.
const MIN_HEIGHT_SHARE: f64 = 1e-6;

/// Examines a surface whose indices are in range.
pub fn diagnose(surface: &SurfaceMesh) -> Diagnosis {
    let faults = faults(surface);
    Diagnosis {
        vertices: surface.positions.len(),
        triangles: surface.triangles.len(),
        boundary_edges: faults.boundary.len(),
        non_manifold_edges: faults.non_manifold.len(),
        misoriented_edges: faults.misoriented.len(),
        non_manifold_vertices: faults.split.len(),
        degenerate_triangles: faults.degenerate.len(),
        repeated_triangles: faults.repeated.len(),
        duplicate_vertices: faults.duplicate.len(),
        unused_vertices: faults.unused.len(),
        pieces: faults.pieces.len(),
        signed_volume: surface.signed_volume(),
        area: surface.area(),
        bounds: surface.aabb(),
    }
}

pub(super) fn faults(surface: &SurfaceMesh) -> Faults {
    let all_sides = sides(&surface.triangles);
    let (n_vertices, n_triangles) = (surface.positions.len() as u32, surface.triangles.len() as u32);
    let mut seen = HashSet::new();
    let repeated = (0..n_triangles).filter(|&t| !seen.insert(sorted(&surface.triangles[t as usize]))).collect();
    let mut taken = HashSet::new();
    let duplicate = (0..n_vertices).filter(|&v| !taken.insert(place(&surface.positions[v as usize]))).collect();
    let mut found = Faults {
        boundary: Vec::new(),
        non_manifold: Vec::new(),
        misoriented: Vec::new(),
        split: Vec::new(),
        degenerate: (0..n_triangles).filter(|&t| is_degenerate(surface, t as usize)).collect(),
        repeated,
        duplicate,
        unused: Vec::new(),
        pieces: Vec::new(),
    };
    // Triangles around a vertex belong to one fan when edges connect them: fans are disjoint sets of triangle corners.
    let mut fans = DisjointSets::new(3 * surface.triangles.len());
    for edge in all_sides.chunk_by(|a, b| a.ends == b.ends) {
        let forward = edge.iter().filter(|side| side.forward).count();
        match edge.len() {
            1 => found.boundary.push(edge[0].ends),
            n => {
                found.non_manifold.extend((n > 2).then_some(edge[0].ends));
                found.misoriented.extend((2 * forward != n).then_some(edge[0].ends));
            }
        }
        for side in &edge[1..] {
            for end in 0..2 {
                fans.join(edge[0].corners[end], side.corners[end]);
            }
        }
    }
    let corners = surface.triangles.as_flattened();
    let mut fans_at = vec![0usize; surface.positions.len()];
    let mut used = vec![false; surface.positions.len()];
    let mut pieces = DisjointSets::new(surface.positions.len());
    for (corner, &vertex) in corners.iter().enumerate() {
        used[vertex as usize] = true;
        fans_at[vertex as usize] += usize::from(fans.root(corner) == corner);
        pieces.join(corners[corner / 3 * 3] as usize, vertex as usize);
    }
    found.split = (0..n_vertices).filter(|&v| fans_at[v as usize] > 1).collect();
    found.unused = (0..n_vertices).filter(|&v| !used[v as usize]).collect();
    found.pieces = (0..n_vertices).filter(|&v| used[v as usize] && pieces.root(v as usize) == v as usize).collect();
    found
}

impl Diagnosis {
    /// Whether every edge has triangles on both sides.
    pub fn is_closed(&self) -> bool {
        self.triangles > 0 && self.boundary_edges == 0
    }

    /// Whether every edge has at most two triangles and every vertex one fan of them.
    pub fn is_manifold(&self) -> bool {
        self.non_manifold_edges == 0 && self.non_manifold_vertices == 0
    }

    /// Whether the surface is closed with its triangles facing inwards.
    pub fn is_inside_out(&self) -> bool {
        self.is_closed() && self.signed_volume < 0.0
    }

    /// Whether the surface is the border of a solid: closed, all triangles facing out, around a volume. It may touch or
    /// cross itself.
    pub fn is_solid(&self) -> bool {
        self.is_closed() && self.misoriented_edges == 0 && is_solid_volume(self.signed_volume, &self.bounds)
    }
}

/// Whether a volume is more than the rounding of a flat surface, which has either sign.
pub(super) fn is_solid_volume(volume: f64, bounds: &Aabb) -> bool {
    volume > 1e-12 * bounds.extent().max().powi(3)
}

fn is_degenerate(surface: &SurfaceMesh, triangle: usize) -> bool {
    let [a, b, c] = surface.corners(triangle);
    let longest = (b - a).norm_squared().max((c - b).norm_squared()).max((a - c).norm_squared());
    (b - a).cross(&(c - a)).norm() <= MIN_HEIGHT_SHARE * longest
}
