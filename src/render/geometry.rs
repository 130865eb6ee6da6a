//! Makes drawn vertices from surface vertices: one for each smoothing group, so that creases stay sharp, or one for
//! each given normal.

use bytemuck::{Pod, Zeroable};
use glam::Vec3;

use crate::disjoint_sets::DisjointSets;

/// Edges bent by more than this at rest are creases.
const CREASE_ANGLE: f32 = 40.0_f32.to_radians();

/// A surface whose vertices are split along its creases; arrays as `normals.wgsl` reads them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SplitSurface {
    /// The surface vertex that each drawn vertex shows.
    pub sources: Vec<u32>,
    /// Corners of drawn vertex `i` are `offsets[i]..offsets[i + 1]`.
    pub offsets: Vec<u32>,
    pub corners: Vec<Corner>,
    /// Drawn vertices of each triangle.
    pub triangles: Vec<[u32; 3]>,
}

/// A triangle as one of its corners sees it; `Corner` of `normals.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Corner {
    /// The other two surface vertices, in the triangle's order.
    pub ends: [u32; 2],
    /// The tilt of a given normal: its scalar products with the edges to `ends` at rest, divided by its part along the
    /// triangle's normal [m].
    pub tilt: [f32; 2],
}

/// Given normals of the corners of a triangle, of any length; zero at corners without a given normal.
pub type GivenNormals = [[f32; 3]; 3];

/// A given normal tilted further than this is ignored: cosine of 84 degrees.
const MIN_NORMAL_COSINE: f32 = 0.1;

/// Splits the vertices of a surface at rest (`[x, y, z, _]`) along edges bent by more than 40 degrees, and where
/// `given` normals or `colors` differ; these are empty or have an entry for each triangle.
///
/// Around each vertex, triangles that can be reached from one another without crossing a crease share a drawn vertex;
/// corners with given normals share it if their normals are equal.
pub fn split_creases(rest: &[[f32; 4]], triangles: &[[u32; 3]], given: &[GivenNormals], colors: &[u32]) -> SplitSurface {
    let point = |i: u32| Vec3::from_slice(&rest[i as usize][..3]);
    let normals: Vec<Vec3> =
        triangles.iter().map(|&[a, b, c]| (point(b) - point(a)).cross(point(c) - point(a)).normalize_or_zero()).collect();
    let is_upright = |t: usize, k: usize| {
        let normal = Vec3::from(given.get(t)?[k]);
        let upright = normal.dot(normals[t]);
        (upright > MIN_NORMAL_COSINE * normal.length()).then_some((normal, upright))
    };
    let given_at = |corner: u32| is_upright(corner as usize / 3, corner as usize % 3).map(|(normal, _)| normal);

    // Corners (3 t + k) are joined across smooth edges, at both ends of the edge.
    let mut groups = DisjointSets::new(3 * triangles.len());
    let mut edges: Vec<([u32; 2], u32, u32)> = Vec::with_capacity(3 * triangles.len());
    for (t, tri) in triangles.iter().enumerate() {
        for k in 0..3 {
            let (a, b) = (tri[k], tri[(k + 1) % 3]);
            edges.push(([a.min(b), a.max(b)], t as u32, k as u32));
        }
    }
    edges.sort_unstable();
    for same in edges.chunk_by(|x, y| x.0 == y.0) {
        for pair in same.windows(2) {
            let (_, s, ks) = pair[0];
            let (_, t, kt) = pair[1];
            let (ns, nt) = (normals[s as usize], normals[t as usize]);
            if colors.get(s as usize) != colors.get(t as usize) {
                continue;
            }
            // A triangle without area has no direction and follows its neighbours.
            let is_crease = ns.dot(nt) < CREASE_ANGLE.cos() && ns != Vec3::ZERO && nt != Vec3::ZERO;
            let corners = |t: u32, k: u32| [3 * t + k, 3 * t + (k + 1) % 3];
            for i in corners(s, ks) {
                for j in corners(t, kt) {
                    let is_smooth = match (given_at(i), given_at(j)) {
                        (None, None) => !is_crease,
                        (one, other) => one == other,
                    };
                    if is_smooth && vertex(triangles, i) == vertex(triangles, j) {
                        groups.join(i as usize, j as usize);
                    }
                }
            }
        }
    }

    // Drawn vertices in the order in which triangles first use them.
    let mut split = SplitSurface::default();
    let mut drawn = vec![u32::MAX; 3 * triangles.len()];
    let mut counts = Vec::new();
    for t in 0..triangles.len() as u32 {
        let triangle = [0, 1, 2].map(|k| {
            let root = groups.root((3 * t + k) as usize);
            if drawn[root] == u32::MAX {
                drawn[root] = split.sources.len() as u32;
                split.sources.push(vertex(triangles, 3 * t + k));
                counts.push(0);
            }
            counts[drawn[root] as usize] += 1;
            drawn[root]
        });
        split.triangles.push(triangle);
    }
    split.offsets = std::iter::once(0)
        .chain(counts.iter().scan(0, |sum, n| {
            *sum += n;
            Some(*sum)
        }))
        .collect();
    let mut next = split.offsets.clone();
    split.corners = vec![Corner::default(); 3 * triangles.len()];
    for (t, (triangle, tri)) in split.triangles.iter().zip(triangles).enumerate() {
        for k in 0..3 {
            let ends = [tri[(k + 1) % 3], tri[(k + 2) % 3]];
            let found = is_upright(t, k);
            let tilt = found.map_or([0.0; 2], |(normal, upright)| ends.map(|end| (point(end) - point(tri[k])).dot(normal) / upright));
            let slot = &mut next[triangle[k] as usize];
            split.corners[*slot as usize] = Corner { ends, tilt };
            *slot += 1;
        }
    }
    split
}

/// The order of triangles along a space-filling curve, where neighbours follow one another: vertex caches profit from
/// it.
pub fn space_order(rest: &[[f32; 4]], triangles: &[[u32; 3]]) -> Vec<usize> {
    let middle = |t: &[u32; 3]| t.iter().map(|&i| Vec3::from_slice(&rest[i as usize][..3])).sum::<Vec3>() / 3.0;
    let empty = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    let (low, high) = triangles.iter().map(middle).fold(empty, |(low, high), p| (low.min(p), high.max(p)));
    let scale = 1023.0 / (high - low).max_element().max(1e-30);
    // Bits of the three coordinates interleaved.
    let curve = |t: &[u32; 3]| {
        let cell = ((middle(t) - low) * scale).as_uvec3();
        (0..10).fold(0u32, |code, bit| code | ((cell.x >> bit & 1) | (cell.y >> bit & 1) << 1 | (cell.z >> bit & 1) << 2) << (3 * bit))
    };
    let mut order: Vec<usize> = (0..triangles.len()).collect();
    order.sort_by_cached_key(|&t| curve(&triangles[t])); // stable: the same order every time
    order
}

fn vertex(triangles: &[[u32; 3]], corner: u32) -> u32 {
    triangles[corner as usize / 3][corner as usize % 3]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A strip of two unit squares that meet along the y axis, the second bent down by an angle.
    fn bent_strip(angle: f32) -> SplitSurface {
        let (sin, cos) = angle.sin_cos();
        let rest = [[-1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [cos, -sin, 0.0], [-1.0, 0.0, 1.0], [0.0, 0.0, 1.0], [cos, -sin, 1.0]];
        let rest: Vec<[f32; 4]> = rest.iter().map(|p| [p[0], p[1], p[2], 0.0]).collect();
        split_creases(&rest, &[[0, 3, 4], [0, 4, 1], [1, 4, 5], [1, 5, 2]], &[], &[])
    }

    #[test]
    fn only_sharp_edges_split() {
        assert_eq!(bent_strip(0.6).sources.len(), 6);
        let sharp = bent_strip(0.8);
        assert_eq!(sharp.sources.len(), 8);
        // Every corner is kept once, and knows its triangle's other two vertices.
        assert_eq!(sharp.corners.len(), 12);
        assert_eq!(*sharp.offsets.last().unwrap(), 12);
        for (i, &source) in sharp.sources.iter().enumerate() {
            for corner in &sharp.corners[sharp.offsets[i] as usize..sharp.offsets[i + 1] as usize] {
                assert!(!corner.ends.contains(&source));
            }
        }
        for (triangle, want) in sharp.triangles.iter().zip([[0, 3, 4], [0, 4, 1], [1, 4, 5], [1, 5, 2]]) {
            assert_eq!(triangle.map(|d| sharp.sources[d as usize]), want);
        }
    }

    #[test]
    fn colors_split_vertices() {
        let rest = [[-1.0, 0.0, 0.0, 0.0], [0.0; 4], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
        let split = |colors: &[u32]| split_creases(&rest, &[[0, 3, 1], [1, 3, 2]], &[], colors).sources.len();
        assert_eq!([split(&[]), split(&[7, 7]), split(&[7, 8])], [4, 4, 6]);
    }

    #[test]
    fn cube_has_three_vertices_at_each_corner() {
        let rest: Vec<[f32; 4]> = (0..8).map(|i| [(i & 1) as f32, (i >> 1 & 1) as f32, (i >> 2) as f32, 0.0]).collect();
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles: Vec<[u32; 3]> = quads.iter().flat_map(|q| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]]).collect();
        assert_eq!(split_creases(&rest, &triangles, &[], &[]).sources.len(), 24);
    }

    #[test]
    fn given_normals_stay_and_turn_with_the_surface() {
        let rest: Vec<[f32; 4]> = (0..8).map(|i| [(i & 1) as f32, (i >> 1 & 1) as f32, (i >> 2) as f32, 0.0]).collect();
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles: Vec<[u32; 3]> = quads.iter().flat_map(|q| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]]).collect();
        // As smooth as a ball's, but for the last square, which has none; and one that faces inwards, which is none.
        let outwards = |v: u32| (Vec3::from_slice(&rest[v as usize][..3]) * 2.0 - 1.0).to_array();
        let mut given: Vec<GivenNormals> = triangles.iter().map(|t| t.map(outwards)).collect();
        given[10..].fill(GivenNormals::default());
        given[0][0] = [0.0, 0.0, 1.0];
        let split = split_creases(&rest, &triangles, &given, &[]);
        assert_eq!(split.sources.len(), 8 + 4 + 1);
        for turn in [glam::Quat::IDENTITY, glam::Quat::from_euler(glam::EulerRot::XYZ, 0.4, -1.2, 2.0)] {
            let moved: Vec<[f32; 4]> = rest.iter().map(|p| (turn * Vec3::from_slice(&p[..3])).extend(0.0).to_array()).collect();
            let found = split.normals(&moved);
            for (t, triangle) in split.triangles.iter().enumerate() {
                for (k, drawn) in triangle.iter().enumerate() {
                    let flat = [[0.0, 0.0, -1.0], [1.0, 0.0, 0.0]][usize::from(t >= 10)];
                    let want = if t >= 10 || (t, k) == (0, 0) { flat } else { given[t][k] };
                    let want = turn * Vec3::from(want).normalize();
                    assert!((Vec3::from(found[*drawn as usize]) - want).length() < 1e-6, "{t} {k}");
                }
            }
        }
        // A stretch flattens the slope of a normal as it flattens the slope of a hill.
        let split = split_creases(&rest, &[[4, 5, 7]], &[[[0.6, 0.0, 0.8]; 3]], &[]);
        let stretched: Vec<[f32; 4]> = rest.iter().map(|p| [2.0 * p[0], p[1], p[2], 0.0]).collect();
        let want = Vec3::new(0.3, 0.0, 0.8).normalize();
        assert!(split.normals(&stretched).iter().all(|n| (Vec3::from(*n) - want).length() < 1e-6));
    }
}
