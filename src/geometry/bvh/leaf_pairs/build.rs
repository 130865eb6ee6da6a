//! The features of two leaves that deformation may bring together, from the rest positions.

use arrayvec::ArrayVec;

use super::super::features::Features;
use super::super::sweep::LANES;
use super::strain::Strains;
use super::{LeafFeatures, MAX_STRAIN, NearFeatures};
use crate::geometry::closest::{between_edges, between_vertex_and_face};
use crate::geometry::hosts::HostTet;
use crate::math::Vec3;

/// Features are taken to be nearer to each other than they are by this part of a mean edge: rounding is far less.
const MARGIN_IN_EDGES: f64 = 0.02;

/// Features of one kind that a leaf has at most, three of each of its triangles, and vertices of two leaves.
const MAX_FEATURES: usize = 3 * LANES;
const MAX_VERTICES: usize = 2 * MAX_FEATURES;

/// A feature with its corners as places among the vertices of two leaves, and the ball that holds it [m].
struct Ball<const N: usize> {
    item: u32,
    corners: [usize; N],
    x: [Vec3; N],
    center: Vec3,
    radius: f64,
}

type Balls<const N: usize> = ArrayVec<Ball<N>, MAX_FEATURES>;

fn balls<const N: usize>(features: &Features<N>, leaf: u32, vertices: &[u32], x: &[Vec3]) -> Balls<N> {
    let ball = |(item, corners): (u32, [u32; N])| {
        let at = corners.map(|v| x[v as usize]);
        let center = at.iter().sum::<Vec3>() / N as f64;
        let radius = at.iter().map(|x| (x - center).norm()).fold(0.0, f64::max);
        let place = |v: u32| vertices.iter().position(|w| *w == v).unwrap_or(0);
        Ball { item, corners: corners.map(place), x: at, center, radius }
    };
    features.of_leaf(leaf).map(ball).collect()
}

/// The features without a common vertex of two leaves, at rest at `x` [m], that may meet where the leaves are deformed
/// against each other by [`MAX_STRAIN`], the first to meet first; none where the tets of the leaves do not hang together.
pub(super) fn list(
    features: &LeafFeatures,
    strains: &Strains,
    leaves: [u32; 2],
    x: &[Vec3],
    mean_edges: &[f64],
) -> Option<Vec<NearFeatures>> {
    let paths = Paths::new(features, strains, leaves, x)?;
    let margin = MARGIN_IN_EDGES * mean_edges[features.mesh.body[paths.vertices[0] as usize] as usize];
    let mut list = vec![];
    let [edges_a, edges_b] = leaves.map(|leaf| balls(features.edges, leaf, &paths.vertices, x));
    let [points_a, points_b] = leaves.map(|leaf| balls(features.vertices, leaf, &paths.vertices, x));
    let [faces_a, faces_b] = leaves.map(|leaf| balls(features.triangles, leaf, &paths.vertices, x));
    let is_one = leaves[0] == leaves[1];
    let of_edges = |[a, b]: &[Vec3; 2], [c, d]: &[Vec3; 2]| between_edges(&[*a, *b, *c, *d]);
    compare(&edges_a, &edges_b, &paths, margin, of_edges, |[e, f], strain| {
        // Two edges of one leaf come twice.
        if !is_one || e < f {
            list.push(NearFeatures { strain, items: [e.min(f), e.max(f)], are_edges: true });
        }
    });
    let of_face = |[v]: &[Vec3; 1], [a, b, c]: &[Vec3; 3]| between_vertex_and_face(&[*v, *a, *b, *c]);
    let mut put = |items, strain| list.push(NearFeatures { strain, items, are_edges: false });
    compare(&points_a, &faces_b, &paths, margin, of_face, &mut put);
    if !is_one {
        compare(&points_b, &faces_a, &paths, margin, of_face, &mut put);
    }
    list.sort_unstable_by(|a, b| a.strain.total_cmp(&b.strain).then(a.are_edges.cmp(&b.are_edges)).then(a.items.cmp(&b.items)));
    Some(list)
}

/// Calls `each` with the features without a common vertex that [`MAX_STRAIN`] may bring together, and the deformation
/// that does.
fn compare<const N: usize, const M: usize>(
    first: &[Ball<N>],
    second: &[Ball<M>],
    paths: &Paths,
    margin: f64,
    between: impl Fn(&[Vec3; N], &[Vec3; M]) -> Vec3,
    mut each: impl FnMut([u32; 2], f32),
) {
    for a in first {
        for b in second {
            let pairs = || a.corners.iter().flat_map(|i| b.corners.iter().map(|j| paths.lengths[*i][*j]));
            // Common vertices have no path between them.
            if pairs().any(|length| length == 0.0) {
                continue;
            }
            let longest = f64::from(pairs().fold(0.0, f32::max));
            let at_least = (a.center - b.center).norm() - a.radius - b.radius - margin;
            let limit = f64::from(MAX_STRAIN) * longest;
            if at_least > limit {
                continue;
            }
            let distance = between(&a.x, &b.x).norm() - margin;
            if distance <= limit {
                each([a.item, b.item], (distance / longest) as f32 * (1.0 - f32::EPSILON));
            }
        }
    }
}

/// Lengths of paths through the tets of two leaves between their vertices.
struct Paths {
    /// Of both leaves, each once.
    vertices: ArrayVec<u32, MAX_VERTICES>,
    /// [m]; zero from a vertex to itself.
    lengths: [[f32; MAX_VERTICES]; MAX_VERTICES],
}

impl Paths {
    /// None if some vertices have no path between them.
    fn new(features: &LeafFeatures, strains: &Strains, leaves: [u32; 2], x: &[Vec3]) -> Option<Self> {
        let vertices_of = |leaf: u32| features.triangles.of_leaf(leaf).flat_map(|(_, corners)| corners);
        let mut vertices: Vec<u32> = leaves.iter().flat_map(|leaf| vertices_of(*leaf)).collect();
        vertices.sort_unstable();
        vertices.dedup();
        let n = vertices.len();
        let tets = strains.tets_of_both(features.hosts, leaves);
        let carries =
            |tet: &HostTet, v: u32| features.hosts.of(v).iter().any(|host| features.hosts.tets[*host as usize].nodes == tet.nodes);
        let carriers_of = |v: &u32| tets.iter().copied().filter(|tet| carries(tet, *v)).collect();
        let carriers: Vec<Vec<&HostTet>> = vertices.iter().map(carriers_of).collect();
        let mut lengths = [[f32::INFINITY; MAX_VERTICES]; MAX_VERTICES];
        for i in 0..n {
            lengths[i][i] = 0.0;
            for j in 0..i {
                let [a, b] = [i, j].map(|k| &x[vertices[k] as usize]);
                let shortest = shortest_path(a, &carriers[i], b, &carriers[j]) as f32;
                // Different vertices at one place are no common vertex.
                lengths[i][j] = shortest.max(f32::MIN_POSITIVE).next_up();
                lengths[j][i] = lengths[i][j];
            }
        }
        let is_joined = |lengths: &[[f32; MAX_VERTICES]]| (0..n).all(|i| lengths[i][..i].iter().all(|length| length.is_finite()));
        for _ in 0..JOINED {
            if !is_joined(&lengths) {
                join_over_vertices(n, &mut lengths);
            }
        }
        if !is_joined(&lengths) {
            join_over_nodes(&vertices, &carriers, &tets, x, &mut lengths);
        }
        is_joined(&lengths).then(|| Self { vertices: vertices.into_iter().collect(), lengths })
    }
}

/// Times that paths are joined to longer ones over vertices.
const JOINED: usize = 2;

/// Joins two paths where there is none yet.
fn join_over_vertices(n: usize, lengths: &mut [[f32; MAX_VERTICES]; MAX_VERTICES]) {
    let before = *lengths;
    for i in 0..n {
        for j in (0..i).filter(|j| before[i][*j] == f32::INFINITY) {
            let joined = (0..n).map(|k| before[i][k] + before[k][j]);
            lengths[i][j] = joined.fold(f32::INFINITY, f32::min).next_up();
            lengths[j][i] = lengths[i][j];
        }
    }
}

/// Finds paths along the edges of tets where there is none yet.
fn join_over_nodes(
    vertices: &[u32],
    carriers: &[Vec<&HostTet>],
    tets: &[&HostTet],
    x: &[Vec3],
    lengths: &mut [[f32; MAX_VERTICES]; MAX_VERTICES],
) {
    let mut nodes: Vec<u32> = tets.iter().flat_map(|tet| tet.nodes).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let n = nodes.len();
    let place = |node: u32| nodes.partition_point(|other| *other < node);
    // Between nodes, then the shortest ones over others [Floyd and Warshall].
    let mut between = vec![vec![f64::INFINITY; n]; n];
    for tet in tets {
        for (p, from) in tet.nodes.iter().zip(&tet.corners) {
            for (q, to) in tet.nodes.iter().zip(&tet.corners) {
                between[place(*p)][place(*q)] = (from - to).norm();
            }
        }
    }
    for via in 0..n {
        let from_via = between[via].clone();
        for row in &mut between {
            let to_via = row[via];
            if to_via.is_finite() {
                row.iter_mut().zip(&from_via).for_each(|(length, rest)| *length = length.min(to_via + rest));
            }
        }
    }
    let ways = |i: usize| {
        let at = x[vertices[i] as usize];
        carriers[i]
            .iter()
            .flat_map(move |tet| tet.nodes.into_iter().zip(tet.corners).map(move |(node, corner)| (node, (corner - at).norm())))
    };
    for i in 0..vertices.len() {
        for j in (0..i).filter(|j| lengths[i][*j] == f32::INFINITY).collect::<Vec<_>>() {
            let all = ways(i).flat_map(|(p, from)| ways(j).map(move |(q, to)| (p, q, from + to)));
            let shortest = all.map(|(p, q, ends)| ends + between[place(p)][place(q)]).fold(f64::INFINITY, f64::min);
            lengths[i][j] = (shortest as f32).next_up();
            lengths[j][i] = lengths[i][j];
        }
    }
}

/// Length of the shortest path from a point of the tets `of_a` to one of the tets `of_b` through what two of them have
/// in common [m].
fn shortest_path(a: &Vec3, of_a: &[&HostTet], b: &Vec3, of_b: &[&HostTet]) -> f64 {
    let straight = (a - b).norm();
    if of_a.iter().any(|s| of_b.iter().any(|t| std::ptr::eq(*s, *t))) {
        return straight;
    }
    let mut shortest = f64::INFINITY;
    for length in of_a.iter().flat_map(|s| of_b.iter().map(|t| path(a, s, b, t))) {
        shortest = shortest.min(length);
        if shortest <= straight {
            break;
        }
    }
    shortest
}

/// Length of a path from a point of tet `s` to one of tet `t` through what they have in common [m].
fn path(a: &Vec3, s: &HostTet, b: &Vec3, t: &HostTet) -> f64 {
    let common = s.nodes.iter().zip(&s.corners).filter(|(node, _)| t.nodes.contains(node)).map(|(_, corner)| *corner);
    let common: ArrayVec<Vec3, 4> = common.collect();
    let over = |via: &Vec3| (a - via).norm() + (b - via).norm();
    let over_edge = |p: &Vec3, q: &Vec3| {
        // Where the straight way goes once both points are turned about the edge into one plane.
        let along = q - p;
        let length2 = along.norm_squared();
        let place = |x: &Vec3| (x - p).dot(&along) / length2;
        let height = |x: &Vec3| (x - p - along * place(x)).norm();
        let (height_a, height_b) = (height(a), height(b));
        let share = (place(a) * height_b + place(b) * height_a) / (height_a + height_b);
        over(&(p + along * if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.5 }))
    };
    match common.as_slice() {
        [] => f64::INFINITY,
        [p] => over(p),
        [p, q] => over_edge(p, q),
        [p, q, r, ..] => {
            let normal = (q - p).cross(&(r - p));
            let [above, below] = [a, b].map(|x| (x - p).dot(&normal));
            if above * below <= 0.0 && above != below {
                let through = a + (b - a) * (above / (above - below));
                let inside = |u: &Vec3, v: &Vec3| (v - u).cross(&(through - u)).dot(&normal) >= 0.0;
                if inside(p, q) && inside(q, r) && inside(r, p) {
                    return (a - b).norm();
                }
            }
            over_edge(p, q).min(over_edge(q, r)).min(over_edge(r, p))
        }
    }
}
