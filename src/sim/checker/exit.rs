//! The least motion that takes an edge out of a surface it pierces.

use super::obstacles::closest_point;
use super::topology::Topology;
use crate::math::Vec3;

/// The search looks at this many triangles at most.
const MAX_VISITS: usize = 64;

/// Least translation [m] after which the edge `ends` no longer pierces the surface near `triangle`: one of its ends has
/// come back to the surface, or the edge has gone past a border of it. Seen along the edge the surface is a sheet
/// around a point; it ends where it is open and where it folds back (a silhouette). The sheet is walked outwards from
/// the point, so that edges between triangles that merely continue are no way out. A walk that is cut short returns how
/// far it came: never too much.
pub fn least_motion(topology: &Topology, x: &[Vec3], ends: &[Vec3; 2], triangle: u32) -> f64 {
    let along = (ends[1] - ends[0]).normalize();
    let right = along.cross(&Vec3::ith(along.iamin(), 1.0)).normalize();
    let up = along.cross(&right);
    let seen = |v: u32| {
        let p = x[v as usize] - ends[0];
        [right.dot(&p), up.dot(&p)]
    };
    // An end that has come back to the plane of the triangle itself is enough; in flat surfaces, where piercings are
    // rounding errors, that is nothing.
    let [p, q, r] = topology.triangles[triangle as usize].map(|v| x[v as usize]);
    let normal = (q - p).cross(&(r - p)).normalize();
    let mut least = ends.iter().map(|end| normal.dot(&(end - p)).abs()).fold(f64::INFINITY, f64::min);
    let mut visited: Vec<u32> = vec![triangle];
    let mut ahead: Vec<(f64, u32)> = vec![(0.0, triangle)];
    for _ in 0..MAX_VISITS {
        let Some(next) = (0..ahead.len()).min_by(|a, b| ahead[*a].0.total_cmp(&ahead[*b].0)) else { break };
        let (reached, t) = ahead.swap_remove(next);
        if reached >= least {
            return least;
        }
        let corners = topology.triangles[t as usize].map(|v| x[v as usize]);
        for end in ends {
            least = least.min(closest_point(&corners.map(|c| c - end)).norm());
        }
        for edge in topology.triangle_edges[t as usize] {
            let [p, q] = topology.edges[edge as usize].vertices.map(seen);
            let side = |r: [f64; 2]| (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]);
            let distance = distance_to_segment(p, q);
            match topology.across(t, edge) {
                Some(n) if side(seen(topology.opposite(t, edge))) * side(seen(topology.opposite(n, edge))) < 0.0 => {
                    if !visited.contains(&n) {
                        visited.push(n);
                        ahead.push((distance, n));
                    }
                }
                _ => least = least.min(distance),
            }
        }
    }
    ahead.iter().map(|(reached, _)| *reached).fold(least, f64::min)
}

/// Distance of the origin to a segment of the plane.
fn distance_to_segment(p: [f64; 2], q: [f64; 2]) -> f64 {
    let d = [q[0] - p[0], q[1] - p[1]];
    let length = d[0] * d[0] + d[1] * d[1];
    let s = if length > 0.0 { (-(p[0] * d[0] + p[1] * d[1]) / length).clamp(0.0, 1.0) } else { 0.0 };
    (p[0] + s * d[0]).hypot(p[1] + s * d[1])
}
