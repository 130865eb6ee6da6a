//! What is wrong with a surface, and the repairs that are safe without asking.

use std::collections::{HashMap, HashSet};

use super::SurfaceMesh;
use crate::math::{Aabb, Vec3};

/// Facts about a surface. Counts are 0 in a surface fit for simulation, except the first two and `pieces`.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    pub vertices: usize,
    pub triangles: usize,
    /// Edges with one triangle.
    pub boundary_edges: usize,
    /// Edges with more than two triangles.
    pub non_manifold_edges: usize,
    /// Edges with two or more triangles, not as many running one way as the other.
    pub misoriented_edges: usize,
    /// Vertices whose triangles fall into several fans.
    pub non_manifold_vertices: usize,
    /// Triangles without area: a corner twice, or corners in a line.
    pub degenerate_triangles: usize,
    /// Triangles with the corners of an earlier one.
    pub repeated_triangles: usize,
    /// Vertices at the place of an earlier one.
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

/// Triangles lower than this part of their longest edge count as degenerate: a few roundings of f32.
const FLATNESS: f64 = 1e-6;

/// Examines a surface whose indices are in range.
pub fn diagnose(surface: &SurfaceMesh) -> Diagnosis {
    let sides = sides(surface);
    let mut found = Diagnosis {
        vertices: surface.positions.len(),
        triangles: surface.triangles.len(),
        boundary_edges: 0,
        non_manifold_edges: 0,
        misoriented_edges: 0,
        non_manifold_vertices: 0,
        degenerate_triangles: (0..surface.triangles.len()).filter(|&t| is_degenerate(surface, t)).count(),
        repeated_triangles: surface.triangles.len() - distinct(surface.triangles.iter().map(sorted)),
        duplicate_vertices: surface.positions.len() - distinct(surface.positions.iter().map(place)),
        unused_vertices: 0,
        pieces: 0,
        signed_volume: surface.signed_volume(),
        area: surface.area(),
        bounds: surface.aabb(),
    };
    // Triangles around a vertex belong to one fan when edges connect them: fans are classes of triangle corners.
    let mut fans = Classes::new(3 * surface.triangles.len());
    for edge in sides.chunk_by(|a, b| a.ends == b.ends) {
        let forward = edge.iter().filter(|side| side.forward).count();
        match edge.len() {
            1 => found.boundary_edges += 1,
            n => {
                found.non_manifold_edges += usize::from(n > 2);
                found.misoriented_edges += usize::from(2 * forward != n);
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
    let mut pieces = Classes::new(surface.positions.len());
    for (corner, &vertex) in corners.iter().enumerate() {
        used[vertex as usize] = true;
        fans_at[vertex as usize] += usize::from(fans.root(corner) == corner);
        pieces.join(corners[corner / 3 * 3] as usize, vertex as usize);
    }
    found.non_manifold_vertices = fans_at.iter().filter(|&&fans| fans > 1).count();
    found.unused_vertices = used.iter().filter(|&&used| !used).count();
    found.pieces = (0..used.len()).filter(|&v| used[v] && pieces.root(v) == v).count();
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

    /// Whether it is closed with its triangles facing inwards.
    pub fn is_inside_out(&self) -> bool {
        self.is_closed() && self.signed_volume < 0.0
    }

    /// What stands in the way of a simulation, and what would mend it, one sentence each; none for a sound surface.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.triangles == 0 {
            problems.push("The surface has no triangles; export it with faces.".to_owned());
        }
        let mut report = |count: usize, one: &str, many: &str, remedy: &str| {
            if count > 0 {
                problems.push(format!("{count} {}; {remedy}.", if count == 1 { one } else { many }));
            }
        };
        report(
            self.boundary_edges,
            "edge has a triangle on one side only",
            "edges have a triangle on one side only: the surface is open",
            "close its holes (for instance with MeshFix)",
        );
        report(
            self.non_manifold_edges,
            "edge has more than two triangles",
            "edges have more than two triangles",
            "remove inner walls and doubled faces in a modelling program",
        );
        report(
            self.misoriented_edges,
            "edge lies between triangles that face opposite ways",
            "edges lie between triangles that face opposite ways",
            "make the orientation of the faces consistent in a modelling program",
        );
        report(
            self.non_manifold_vertices,
            "vertex joins parts that touch nowhere else",
            "vertices join parts that touch nowhere else",
            "give each part a vertex of its own, or overlap them",
        );
        report(
            self.degenerate_triangles,
            "triangle has no area",
            "triangles have no area",
            "mending drops those that use a vertex twice; remesh the others if normals look wrong",
        );
        report(self.repeated_triangles, "triangle is there twice", "triangles repeat earlier ones", "mending drops them");
        report(
            self.duplicate_vertices,
            "vertex repeats the place of another",
            "vertices repeat the places of others",
            "mending welds them",
        );
        report(self.unused_vertices, "vertex belongs to no triangle", "vertices belong to no triangle", "mending drops them");
        if self.is_inside_out() {
            problems.push(format!("The triangles face inwards (signed volume {:.3e}); mending flips them.", self.signed_volume));
        } else if self.is_closed() && self.signed_volume <= 1e-12 * self.bounds.extent().max().powi(3) {
            problems.push("The surface encloses no volume; give it thickness.".to_owned());
        }
        problems
    }
}

/// Welds vertices at one place, drops triangles that use a vertex twice or repeat an earlier one, drops unused vertices, and
/// turns a closed surface that is inside out. Triangles that are flat with three different corners stay: without them the
/// surface would open.
pub fn mend(surface: SurfaceMesh) -> SurfaceMesh {
    let mut first_at: HashMap<[u64; 3], u32> = HashMap::new();
    let welded: Vec<u32> =
        (0..).zip(&surface.positions).map(|(vertex, position)| *first_at.entry(place(position)).or_insert(vertex)).collect();

    let mut seen = HashSet::new();
    let mut triangles: Vec<[u32; 3]> = surface.triangles.iter().map(|t| t.map(|v| welded[v as usize])).collect();
    triangles.retain(|&[a, b, c]| a != b && b != c && c != a && seen.insert(rotated([a, b, c])));

    // Vertices keep their order.
    let mut index_of: Vec<Option<u32>> = vec![None; surface.positions.len()];
    for &vertex in triangles.as_flattened() {
        index_of[vertex as usize] = Some(0);
    }
    let mut mended = SurfaceMesh::default();
    for (index, position) in index_of.iter_mut().zip(&surface.positions) {
        if let Some(index) = index {
            *index = mended.positions.len() as u32;
            mended.positions.push(*position);
        }
    }
    mended.triangles =
        triangles.iter().map(|t| t.map(|v| index_of[v as usize].expect("every vertex of a kept triangle was marked above"))).collect();
    if diagnose(&mended).is_inside_out() {
        mended.triangles.iter_mut().for_each(|t| t.swap(1, 2));
    }
    mended
}

/// One triangle at one of its edges.
struct Side {
    /// Vertices of the edge, lower first.
    ends: [u32; 2],
    /// The triangle's corners (three times its index, plus 0, 1 or 2) at these ends.
    corners: [usize; 2],
    /// Whether the triangle runs from the lower to the higher vertex.
    forward: bool,
}

/// All sides of all triangles, those of an edge together. A side of no length is left out.
fn sides(surface: &SurfaceMesh) -> Vec<Side> {
    let mut sides = Vec::with_capacity(3 * surface.triangles.len());
    for (t, triangle) in surface.triangles.iter().enumerate() {
        for (i, j) in [(0, 1), (1, 2), (2, 0)] {
            let (a, b) = (triangle[i], triangle[j]);
            if a < b {
                sides.push(Side { ends: [a, b], corners: [3 * t + i, 3 * t + j], forward: true });
            } else if b < a {
                sides.push(Side { ends: [b, a], corners: [3 * t + j, 3 * t + i], forward: false });
            }
        }
    }
    sides.sort_unstable_by_key(|side| (side.ends, side.corners));
    sides
}

fn is_degenerate(surface: &SurfaceMesh, triangle: usize) -> bool {
    let [a, b, c] = surface.corners(triangle);
    let longest = (b - a).norm_squared().max((c - b).norm_squared()).max((a - c).norm_squared());
    (b - a).cross(&(c - a)).norm() <= FLATNESS * longest
}

/// A position as a key; -0 and 0 are the same place.
fn place(position: &Vec3) -> [u64; 3] {
    [position.x, position.y, position.z].map(|x| (x + 0.0).to_bits())
}

fn sorted(triangle: &[u32; 3]) -> [u32; 3] {
    let mut triangle = *triangle;
    triangle.sort_unstable();
    triangle
}

/// The same triangle beginning with its lowest vertex.
fn rotated([a, b, c]: [u32; 3]) -> [u32; 3] {
    if a <= b && a <= c {
        [a, b, c]
    } else if b <= c {
        [b, c, a]
    } else {
        [c, a, b]
    }
}

fn distinct<T: Eq + std::hash::Hash>(items: impl Iterator<Item = T>) -> usize {
    items.collect::<HashSet<T>>().len()
}

/// Classes of connected items (union-find); a class is known by its lowest item.
struct Classes(Vec<usize>);

impl Classes {
    fn new(items: usize) -> Self {
        Self((0..items).collect())
    }

    fn root(&mut self, mut item: usize) -> usize {
        while self.0[item] != item {
            self.0[item] = self.0[self.0[item]];
            item = self.0[item];
        }
        item
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::shapes::surface_box;

    fn cube() -> SurfaceMesh {
        surface_box(Vec3::repeat(2.0))
    }

    #[test]
    fn a_sound_surface_has_no_problems() {
        let found = diagnose(&cube());
        assert_eq!(found.problems(), Vec::<String>::new());
        assert!(found.is_closed() && found.is_manifold());
        assert_eq!((found.vertices, found.triangles, found.pieces), (8, 12, 1));
        assert!((found.signed_volume - 8.0).abs() < 1e-12 && (found.area - 24.0).abs() < 1e-12);
        assert_eq!(mend(cube()), cube());
    }

    #[test]
    fn each_fault_is_counted_and_named() {
        let problem = |surface: &SurfaceMesh, word: &str| {
            let problems = diagnose(surface).problems();
            assert!(problems.iter().any(|p| p.contains(word)), "{word}: {problems:?}");
        };
        let mut open = cube();
        open.triangles.pop();
        assert_eq!(diagnose(&open).boundary_edges, 3);
        problem(&open, "open");

        let mut flipped = cube();
        flipped.triangles[0].swap(0, 1);
        assert_eq!(diagnose(&flipped).misoriented_edges, 3);
        problem(&flipped, "opposite ways");

        let mut inside_out = cube();
        inside_out.triangles.iter_mut().for_each(|t| t.swap(0, 1));
        problem(&inside_out, "inwards");
        assert!(diagnose(&mend(inside_out)).problems().is_empty());

        // Two cubes that share one vertex.
        let mut touching = cube();
        let others: Vec<Vec3> = touching.positions.iter().map(|p| p + Vec3::repeat(2.0)).collect();
        let more: Vec<[u32; 3]> = touching.triangles.iter().map(|t| t.map(|v| v + 8)).collect();
        touching.positions.extend(others);
        touching.triangles.extend(more);
        assert_eq!((diagnose(&touching).pieces, diagnose(&touching).duplicate_vertices), (2, 1));
        let touching = mend(touching);
        assert_eq!((diagnose(&touching).pieces, diagnose(&touching).non_manifold_vertices), (1, 1));
        problem(&touching, "touch nowhere else");

        assert!(diagnose(&SurfaceMesh::default()).problems()[0].contains("no triangles"));
    }

    #[test]
    fn mending_a_soup_gives_the_solid_back() {
        // Every triangle with corners of its own, one twice, one collapsed, one stray vertex.
        let cube = cube();
        let mut soup = SurfaceMesh::default();
        for t in 0..cube.triangles.len() {
            let n = soup.positions.len() as u32;
            soup.positions.extend(cube.corners(t));
            soup.triangles.push([n, n + 1, n + 2]);
        }
        soup.triangles.push([1, 2, 0]);
        soup.triangles.push([4, 4, 5]);
        soup.positions.push(Vec3::repeat(9.0));
        let found = diagnose(&soup);
        assert_eq!((found.duplicate_vertices, found.repeated_triangles, found.degenerate_triangles), (28, 1, 1));
        assert_eq!(found.unused_vertices, 1);

        let mended = mend(soup);
        assert_eq!(diagnose(&mended).problems(), Vec::<String>::new());
        assert_eq!((mended.positions.len(), mended.triangles.len()), (8, 12));
    }
}
