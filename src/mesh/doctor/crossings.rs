use rayon::prelude::*;

use crate::cancel::{CancelToken, Cancelled};
use crate::math::{Aabb, Vec3};
use crate::mesh::SurfaceMesh;
use crate::mesh::tree::Tree;

/// Two triangles of a surface that pass through each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// The lower number first.
    pub triangles: [u32; 2],
    /// The point where an edge of one triangle passes the other [m].
    pub place: Vec3,
}

/// The search ends after this many crossings: a surface that has them is triangle soup.
const MAX_CROSSINGS: usize = 100_000;

/// A corner nearer to a plane than this part of the distances lies in it.
const PLANE_TOLERANCE: f64 = 1e-12;

/// Finds where a surface passes through itself, in the order of the triangles. Triangles that only touch, share an edge
/// or lie in one plane do not cross. At most 100,000 are found.
pub fn crossings(surface: &SurfaceMesh) -> Vec<Crossing> {
    crossings_unless(surface, &CancelToken::default()).expect("nobody cancels it")
}

/// The same, which ends soon after `cancel` is cancelled.
pub fn crossings_unless(surface: &SurfaceMesh, cancel: &CancelToken) -> Result<Vec<Crossing>, Cancelled> {
    if surface.triangles.is_empty() {
        return Ok(Vec::new());
    }
    let tree = Tree::new(surface);
    let mut found: Vec<Crossing> = Vec::new();
    // In parts, so that a hopeless surface ends early.
    for begin in (0..surface.triangles.len()).step_by(4096) {
        let part: Vec<Vec<Crossing>> = (begin..surface.triangles.len().min(begin + 4096))
            .into_par_iter()
            .map(|a| {
                if cancel.is_cancelled() {
                    return Vec::new();
                }
                let corners = surface.corners(a);
                let mut own = Vec::new();
                tree.near(&Aabb::of(&corners), |b| {
                    if b > a
                        && let Some(place) = crossing(surface, a, b)
                    {
                        own.push(Crossing { triangles: [a as u32, b as u32], place });
                    }
                });
                own.sort_by_key(|crossing| crossing.triangles);
                own
            })
            .collect();
        cancel.check()?;
        found.extend(part.into_iter().flatten());
        if found.len() >= MAX_CROSSINGS {
            found.truncate(MAX_CROSSINGS);
            break;
        }
    }
    Ok(found)
}

/// Whether a surface passes through itself anywhere, as [`crossings`] finds it. Ends soon after `cancel` is cancelled.
pub fn crosses_itself(surface: &SurfaceMesh, cancel: &CancelToken) -> Result<bool, Cancelled> {
    let tree = Tree::new(surface);
    let crosses = (0..surface.triangles.len()).into_par_iter().any(|a| {
        let mut crosses = cancel.is_cancelled();
        tree.near(&Aabb::of(&surface.corners(a)), |b| crosses = crosses || (b > a && crossing(surface, a, b).is_some()));
        crosses
    });
    cancel.check()?;
    Ok(crosses)
}

/// Finds the point where an edge of one triangle passes the inside of the other.
fn crossing(surface: &SurfaceMesh, a: usize, b: usize) -> Option<Vec3> {
    let shares = |of: usize, corner: u32| surface.triangles[of].contains(&corner);
    let shared = surface.triangles[a].iter().filter(|&&corner| shares(b, corner)).count();
    if shared > 1 {
        return None;
    }
    let edges = |from: usize, through: usize| {
        let (triangle, corners, face) = (surface.triangles[from], surface.corners(from), surface.corners(through));
        // An edge that ends at the common corner touches there and nowhere else.
        let own = (0..3).filter(move |&i| !shares(through, triangle[i]) && !shares(through, triangle[(i + 1) % 3]));
        own.filter_map(move |i| passes(&corners[i], &corners[(i + 1) % 3], &face)).next()
    };
    edges(a, b).or_else(|| edges(b, a))
}

/// Finds the point where the segment from `p` to `q` passes the inside of a triangle.
fn passes(p: &Vec3, q: &Vec3, [a, b, c]: &[Vec3; 3]) -> Option<Vec3> {
    let normal = (b - a).cross(&(c - a));
    let (before, behind) = (normal.dot(&(p - a)), normal.dot(&(q - a)));
    // Triangles in one plane lie a few roundings beside it, to either side.
    let rounding = PLANE_TOLERANCE * normal.norm() * [p, q, b, c].map(|corner| (corner - a).amax()).into_iter().fold(0.0, f64::max);
    if before * behind >= 0.0 || before.abs().min(behind.abs()) <= rounding {
        return None;
    }
    let volume = |a: &Vec3, b: &Vec3, c: &Vec3, d: &Vec3| (b - a).cross(&(c - a)).dot(&(d - a));
    let around = [volume(p, q, a, b), volume(p, q, b, c), volume(p, q, c, a)];
    let is_inside = around.iter().all(|&v| v > 0.0) || around.iter().all(|&v| v < 0.0);
    is_inside.then(|| p + (q - p) * (before / (before - behind)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::shapes;

    #[test]
    fn boxes_that_overlap_cross_and_others_do_not() {
        let cube = shapes::surface_box(Vec3::repeat(1.0));
        assert_eq!(crossings(&cube), []);
        let joined = |shift: Vec3| {
            let mut both = cube.clone();
            both.positions.extend(cube.positions.iter().map(|p| p + shift));
            both.triangles.extend(cube.triangles.iter().map(|t| t.map(|v| v + 8)));
            let found = crossings(&both);
            assert_eq!(crosses_itself(&both, CancelToken::never()), Ok(!found.is_empty()));
            found
        };
        assert_eq!(joined(Vec3::x() * 1.5), []);
        let found = joined(Vec3::new(0.5, 0.3, 0.2));
        assert!(!found.is_empty() && found.is_sorted_by_key(|crossing| crossing.triangles));
        for Crossing { triangles: [a, b], place } in found {
            assert!(a < 12 && b >= 12);
            // On the borders of both boxes.
            let depth = |center: Vec3| (place - center).abs().max() - 0.5;
            assert!(depth(Vec3::zeros()).abs() < 1e-12 && depth(Vec3::new(0.5, 0.3, 0.2)).abs() < 1e-12, "{place}");
        }
        assert_eq!(crossings(&SurfaceMesh::default()), []);
    }
}
