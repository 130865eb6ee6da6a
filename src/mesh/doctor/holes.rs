//! Closes small holes of a surface.

use std::collections::HashSet;

use super::sides::{sides, sorted};
use crate::math::Vec3;
use crate::mesh::SurfaceMesh;

/// A hole is small when its lid has at most this part of the surface's area. An open foot or sleeve is larger: there
/// the winding number decides what is inside.
const MAX_LID_SHARE: f64 = 0.05;

/// A small hole has at most this many edges: the time for a lid grows with their third power.
const MAX_EDGES: usize = 400;

/// All lids together may take this many steps, some seconds; later holes stay open.
const MAX_STEPS: usize = 1 << 31;

/// Closes small holes of a surface by the lid of least area over their corners [Barequet & Sharir 1995; Liepa 2003]. No
/// vertex is added. A hole whose lid would meet the surface in an edge that is there already stays open.
pub(super) fn close_small_holes(surface: &mut SurfaceMesh) {
    let all_sides = sides(&surface.triangles);
    let mut edges: HashSet<[u32; 2]> = all_sides.iter().map(|side| side.ends).collect();
    let triangles: HashSet<[u32; 3]> = surface.triangles.iter().map(sorted).collect();
    // A hole runs against its triangles.
    let mut rims: Vec<[u32; 2]> = Vec::new();
    for edge in all_sides.chunk_by(|a, b| a.ends == b.ends).filter(|edge| edge.len() == 1) {
        let [low, high] = edge[0].ends;
        rims.push(if edge[0].forward { [high, low] } else { [low, high] });
    }
    rims.sort_unstable();
    let largest = MAX_LID_SHARE * surface.area();
    let before = surface.triangles.len();
    let mut steps = 0;
    for hole in loops(&rims) {
        steps += hole.len().min(MAX_EDGES).pow(3) / 6;
        if hole.len() > MAX_EDGES || steps > MAX_STEPS {
            continue;
        }
        let corners: Vec<Vec3> = hole.iter().map(|&v| surface.positions[v as usize]).collect();
        let is_taken = |i: usize, j: usize| edges.contains(&ordered(hole[i], hole[j]));
        let Some((area, lid)) = least_area_lid(&corners, is_taken) else { continue };
        // The rim of a lone triangle is no hole: with a lid on it there would be nothing in between.
        let is_back = lid.iter().any(|triangle| triangles.contains(&sorted(&triangle.map(|i| hole[i]))));
        if area <= largest && !is_back {
            for triangle in lid {
                let [a, b, c] = triangle.map(|i| hole[i]);
                edges.extend([ordered(a, b), ordered(b, c), ordered(c, a)]);
                surface.triangles.push([a, b, c]);
            }
        }
    }
    // A lid is flat and takes up texture and part of the triangles around it.
    if let Some(parts) = &mut surface.parts {
        let mut at = vec![0; surface.positions.len()];
        for (triangle, part) in surface.triangles[..before].iter().zip(&parts.of_triangles) {
            triangle.iter().for_each(|&v| at[v as usize] = *part);
        }
        parts.of_triangles.extend(surface.triangles[before..].iter().map(|t| at[t[0] as usize]));
    }
    if let Some(mut normals) = surface.normals.take() {
        normals.extend((before..surface.triangles.len()).map(|t| surface.flat_normals(t)));
        surface.normals = Some(normals);
    }
    if let Some(texture) = &mut surface.texture_coordinates {
        let mut at = vec![[0.0; 2]; surface.positions.len()];
        for (triangle, corners) in surface.triangles[..before].iter().zip(&*texture) {
            triangle.iter().zip(corners).for_each(|(&v, corner)| at[v as usize] = *corner);
        }
        texture.extend(surface.triangles[before..].iter().map(|t| t.map(|v| at[v as usize])));
    }
}

fn ordered(a: u32, b: u32) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

/// Closed loops of directed edges (sorted, each used once) that pass no vertex twice.
fn loops(edges: &[[u32; 2]]) -> Vec<Vec<u32>> {
    let mut used = vec![false; edges.len()];
    let mut found = Vec::new();
    for start in 0..edges.len() {
        if used[start] {
            continue;
        }
        let mut path = vec![edges[start][0]];
        let mut next = Some(start);
        while let Some(edge) = next {
            used[edge] = true;
            let vertex = edges[edge][1];
            // Back at a vertex of the path: the edges since then are a loop of their own.
            if let Some(first) = path.iter().rposition(|&v| v == vertex) {
                let hole = path.split_off(first);
                if hole.len() > 2 {
                    found.push(hole);
                }
            }
            path.push(vertex);
            let from = edges.partition_point(|edge| edge[0] < vertex);
            next = (from..edges.len()).take_while(|&i| edges[i][0] == vertex).find(|&i| !used[i]);
        }
    }
    found
}

/// The triangulation of a closed polygon in space with the least area, by dynamic programming over its parts;
/// `is_taken(i, j)` forbids a diagonal. Nothing when there is none.
fn least_area_lid(corners: &[Vec3], is_taken: impl Fn(usize, usize) -> bool) -> Option<(f64, Vec<[usize; 3]>)> {
    let n = corners.len();
    let mut best = vec![0.0; n * n];
    let mut apex = vec![0; n * n];
    for span in 2..n {
        for i in 0..n - span {
            let j = i + span;
            let is_outer = span == n - 1; // the last edge of the hole itself
            let (mut least, mut at) = (f64::INFINITY, 0);
            if is_outer || !is_taken(i, j) {
                for k in i + 1..j {
                    let area = (corners[k] - corners[i]).cross(&(corners[j] - corners[i])).norm() / 2.0;
                    let sum = best[i * n + k] + best[k * n + j] + area;
                    if sum < least {
                        (least, at) = (sum, k);
                    }
                }
            }
            (best[i * n + j], apex[i * n + j]) = (least, at);
        }
    }
    let area = best[n - 1];
    if !area.is_finite() {
        return None;
    }
    let mut lid = Vec::with_capacity(n - 2);
    let mut waiting = vec![(0, n - 1)];
    while let Some((i, j)) = waiting.pop() {
        if j > i + 1 {
            let k = apex[i * n + j];
            lid.push([i, k, j]);
            waiting.extend([(k, j), (i, k)]);
        }
    }
    Some((area, lid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::doctor::diagnose;
    use crate::mesh::shapes;

    #[test]
    fn small_holes_are_closed_and_large_ones_stay() {
        let ball = shapes::surface_sphere(1.0, 24);
        let mut pierced = ball.clone();
        // Two holes: one of several triangles around a vertex, one of a single triangle; they meet in no vertex.
        let vertex = ball.triangles[200][0];
        pierced.triangles.retain(|t| !t.contains(&vertex));
        pierced.triangles.remove(0);
        assert!(diagnose(&pierced).boundary_edges >= 6);
        close_small_holes(&mut pierced);
        let found = diagnose(&pierced);
        assert!(found.is_closed() && found.misoriented_edges == 0, "{found:?}");
        assert!((found.signed_volume / ball.signed_volume() - 1.0).abs() < 0.01);

        let mut half = ball.clone();
        half.triangles.retain(|t| t.iter().all(|&v| ball.positions[v as usize].y < 0.1));
        let open = diagnose(&half).boundary_edges;
        close_small_holes(&mut half);
        assert!(open > 0 && diagnose(&half).boundary_edges == open);
    }

    #[test]
    fn a_lid_takes_the_short_diagonal() {
        let corners = [[0., 0., 0.], [1., 0., 0.], [1., 1., 0.5], [0., 1., 0.]].map(Vec3::from);
        let (area, lid) = least_area_lid(&corners, |_, _| false).unwrap();
        let of = |t: &[usize; 3]| (corners[t[1]] - corners[t[0]]).cross(&(corners[t[2]] - corners[t[0]])).norm() / 2.0;
        assert!((lid.iter().map(of).sum::<f64>() - area).abs() < 1e-15 && lid.len() == 2);
        let (other, _) = least_area_lid(&corners, |i, j| (i, j) == if lid.contains(&[0, 1, 3]) { (1, 3) } else { (0, 2) }).unwrap();
        assert!(other >= area);
        assert_eq!(least_area_lid(&corners, |_, _| true), None);
    }
}
