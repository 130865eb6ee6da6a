use super::super::Bvh;
use crate::cases::Random;
use crate::geometry::tests::{cube, may_meet};
use crate::geometry::{Candidates, HostTet, Hosts, Mesh, Mobility, NodeMotions, crossings};
use crate::math::{Quat, Vec3};

const MARGIN: f64 = 1e-5;

/// A fine shell that the tets of a coarse lattice of `n` cells carry.
struct Carried {
    mesh: Mesh,
    rest: Vec<Vec3>,
    hosts: Hosts,
    nodes: Vec<Vec3>,
    /// Of each vertex its tet and the shares of its corners.
    shares: Vec<(u32, [f64; 4])>,
}

/// The corners of the six tets of a cell, one for each order of the axes.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

fn carried(n: usize, fine: u32) -> Carried {
    // A shell that is thin and bent, so that parts of it are near each other: a tray.
    let (triangles, mut rest) = cube(fine, 1.0, Vec3::repeat(-0.5));
    // No two edges are parallel.
    let mut random = Random::new(11);
    for x in &mut rest {
        x.z = 0.2 * x.z + 0.7 * x.x * x.x;
        *x += random.vector() * 1e-3;
    }
    let place = |i: usize| -0.6 + 1.2 * i as f64 / n as f64;
    let number = |[i, j, k]: [usize; 3]| (i * (n + 1) + j) * (n + 1) + k;
    let all = || (0..=n).flat_map(move |i| (0..=n).flat_map(move |j| (0..=n).map(move |k| [i, j, k])));
    let nodes: Vec<Vec3> = all().map(|[i, j, k]| Vec3::new(place(i), place(j), place(k))).collect();
    let mut hosts = Hosts { starts: vec![0], ..Hosts::default() };
    for cell in all().filter(|cell| cell.iter().all(|i| *i < n)) {
        for order in ORDERS {
            let mut corner = cell;
            let mut tet = [number(cell) as u32; 4];
            for (k, axis) in order.into_iter().enumerate() {
                corner[axis] += 1;
                tet[k + 1] = number(corner) as u32;
            }
            let corners = tet.map(|node| nodes[node as usize]);
            let edges = crate::math::Mat3::from_columns(&[corners[1] - corners[0], corners[2] - corners[0], corners[3] - corners[0]]);
            let inverse = edges.try_inverse().unwrap();
            let [g1, g2, g3] = [0, 1, 2].map(|row| inverse.row(row).transpose());
            hosts.tets.push(HostTet { nodes: tet, corners, gradients: [-g1 - g2 - g3, g1, g2, g3] });
        }
    }
    let shares_in = |tet: &HostTet, x: &Vec3| {
        let [_, b, c, d] = tet.gradients.map(|gradient| gradient.dot(&(x - tet.corners[0])));
        [1.0 - b - c - d, b, c, d]
    };
    let inside = |x: &Vec3| {
        let depth = |t: &usize| shares_in(&hosts.tets[*t], x).into_iter().fold(f64::INFINITY, f64::min);
        let best = (0..hosts.tets.len()).max_by(|a, b| depth(a).total_cmp(&depth(b))).unwrap();
        (best as u32, shares_in(&hosts.tets[best], x))
    };
    let shares: Vec<(u32, [f64; 4])> = rest.iter().map(inside).collect();
    hosts.of_vertices = shares.iter().map(|(tet, _)| *tet).collect();
    hosts.starts = (0..=rest.len() as u32).collect();
    let mesh = Mesh::new(triangles, vec![0; rest.len()], vec![Mobility::Deformable]).unwrap();
    Carried { mesh, rest, hosts, nodes, shares }
}

/// How nodes are displaced, and how far they move in a step, each with a zero.
type Rows = [Vec<[f64; 4]>; 2];

impl Carried {
    fn tree(&self) -> Bvh {
        Bvh::carried(&self.mesh, &self.rest, &self.hosts)
    }

    /// The displacements of nodes that are taken to `start` and on to `end`.
    fn rows(&self, start: &dyn Fn(&Vec3) -> Vec3, end: &dyn Fn(&Vec3) -> Vec3) -> Rows {
        let row = |x: Vec3| [x.x, x.y, x.z, 0.0];
        [self.nodes.iter().map(|x| row(start(x) - x)).collect(), self.nodes.iter().map(|x| row(end(x) - start(x))).collect()]
    }

    /// Where vertices go with their nodes.
    fn motion(&self, rows: &[[f64; 4]]) -> Vec<Vec3> {
        let of_vertex = |(tet, shares): &(u32, [f64; 4])| {
            let nodes = self.hosts.tets[*tet as usize].nodes.map(|node| rows[node as usize]);
            nodes.iter().zip(shares).map(|(row, share)| Vec3::new(row[0], row[1], row[2]) * *share).sum()
        };
        self.shares.iter().map(of_vertex).collect()
    }
}

fn motions([displacements, velocities]: &Rows) -> NodeMotions<'_> {
    NodeMotions { displacements, velocities, dt: 1.0 }
}

fn added(a: &[Vec3], b: &[Vec3]) -> Vec<Vec3> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// All pairs of features without a common vertex.
fn all_pairs(mesh: &Mesh) -> Candidates {
    let (n_vertices, n_edges) = (mesh.body.len() as u32, mesh.edges.len() as u32);
    let faces = (0..n_vertices).flat_map(|v| (0..mesh.triangles.len() as u32).map(move |t| [v, t]));
    let edges = (0..n_edges).flat_map(|e| (e + 1..n_edges).map(move |f| [e, f]));
    let apart = |a: &[u32], b: &[u32]| a.iter().all(|v| !b.contains(v));
    Candidates {
        vertex_faces: faces.filter(|[v, t]| apart(&[*v], &mesh.triangles[*t as usize])).collect(),
        edge_edges: edges.filter(|[e, f]| apart(&mesh.edges[*e as usize], &mesh.edges[*f as usize])).collect(),
    }
}

/// Bends the tray so that its ends come together, by `share` of what brings them through each other, and turns it.
fn bent(share: f64, turn: f64) -> impl Fn(&Vec3) -> Vec3 {
    let turn = Quat::from_scaled_axis(Vec3::new(0.3, 1.0, -0.2) * turn);
    move |x| {
        let curvature = 7.0 * share.max(1e-3);
        let (angle, radius) = (curvature * x.x, 1.0 / curvature - (x.z - 0.1));
        turn * Vec3::new(radius * angle.sin(), x.y, 1.0 / curvature - radius * angle.cos())
    }
}

/// Nothing that crosses is passed over, whether it is bent slowly, pressed flat or turned, and what is little deformed
/// is.
#[test]
fn what_crosses_is_not_passed_over() {
    let all = carried(4, 12);
    let mut random = Random::new(3);
    let mut bvh = all.tree();
    let mut plain = Bvh::new(&all.mesh, &all.rest);
    let (mut n_crossing, mut n_listed, mut n_found, mut apart) = (0, 0, 0, vec![]);
    let of_all = all_pairs(&all.mesh);
    for round in 0..60 {
        // Hardly bent, then so far that its ends meet.
        let (share, far) = if round < 20 { (1e-3 * f64::from(round), 1e-3) } else { (f64::from(round) / 50.0, 0.05) };
        let noise = random.vector() * (0.2 * far);
        let wave = move |x: &Vec3| noise * (9.0 * x.dot(&noise.normalize())).sin();
        let start = bent(share, 0.1 * f64::from(round));
        let end = bent(share + far * f64::from(round % 3), 0.1 * f64::from(round) + 0.05);
        let rows = all.rows(&start, &|x| end(x) + wave(x));
        let (x, way) = (added(&all.rest, &all.motion(&rows[0])), all.motion(&rows[1]));
        bvh.refit(&all.mesh, &x, &way, MARGIN, 0.0);
        bvh.follow_nodes(&motions(&rows));
        let found = bvh.query(&all.mesh, &x);
        plain.refit(&all.mesh, &x, &way, MARGIN, 0.0);
        let looked_at = plain.query(&all.mesh, &x);
        let there = added(&x, &way);
        let crossing = crossings(&all.mesh, &looked_at, &x, &there);
        assert_eq!(crossing, crossings(&all.mesh, &found, &x, &there), "round {round}");
        n_crossing += crossing.len();
        // A tree with another past finds the same.
        if round % 5 == 0 {
            let mut other = all.tree();
            other.refit(&all.mesh, &x, &way, MARGIN, 0.0);
            other.follow_nodes(&motions(&rows));
            assert!(other.query(&all.mesh, &x) == found, "round {round}");
        }
        n_found += found.len();
        n_listed += bvh.leaf_pairs.listed().count();
        let [n, n_apart, _] = bvh.leaf_pairs.counts();
        apart.push(n_apart as f64 / n as f64);
        // What a device finds by its boxes becomes the same.
        if round % 5 != 0 {
            continue;
        }
        let mut by_boxes = of_all.clone();
        let overlap = |a: &[u32], b: &[u32]| may_meet(bvh.vertex_sweeps(), a, b, 0.0);
        by_boxes.vertex_faces.retain(|[v, t]| overlap(&[*v], &all.mesh.triangles[*t as usize]));
        by_boxes.edge_edges.retain(|[e, f]| overlap(&all.mesh.edges[*e as usize], &all.mesh.edges[*f as usize]));
        assert!(bvh.candidates_among(&all.mesh, &x, &by_boxes) == found, "round {round}");
    }
    assert!(n_crossing > 100, "{n_crossing} crossings");
    assert!(n_listed > 100, "{n_listed} pairs of leaves had lists of features that may meet");
    assert!(n_found > 100, "{n_found} pairs in all");
    assert!(apart[..20].iter().all(|part| *part > 0.3) && apart[20..].iter().any(|part| *part < 0.1), "apart: {apart:?}");
}

/// A body that only turns and is stretched as a whole is passed over, however fast it goes.
#[test]
fn what_only_turns_and_stretches_is_passed_over() {
    let all = carried(4, 12);
    let mut bvh = all.tree();
    let mut apart = |end: &dyn Fn(&Vec3) -> Vec3| {
        let rows = all.rows(&|x| *x, end);
        bvh.refit(&all.mesh, &all.rest, &all.motion(&rows[1]), MARGIN, 0.0);
        bvh.follow_nodes(&motions(&rows));
        bvh.leaf_pairs.counts()
    };
    let [n, at_rest, _] = apart(&|x| *x);
    assert!(at_rest > 3 * n / 4 && at_rest > 20, "{at_rest} of {n}");
    let turn = Quat::from_scaled_axis(Vec3::new(0.0, 0.3, 0.1));
    let [_, turned, _] = apart(&|x| turn * x + Vec3::new(3.0, 0.0, -1.0));
    let [_, stretched, _] = apart(&|x| Vec3::new(1.3 * x.x, x.y, x.z));
    assert!(turned > 9 * at_rest / 10 && stretched > 9 * at_rest / 10, "{turned} and {stretched} of {at_rest}");
    let [_, lost, unknown] = apart(&|x| x * f64::NAN);
    assert!(lost == 0 && unknown == n);
}

/// Where nodes move otherwise than expected the pairs that this may bring together are found.
#[test]
fn what_is_deformed_otherwise_than_expected_is_looked_at_again() {
    let all = carried(4, 12);
    let rows = all.rows(&bent(0.6, 0.0), &bent(0.6, 0.0));
    let x = added(&all.rest, &all.motion(&rows[0]));
    let still = vec![Vec3::zeros(); x.len()];
    let mut n_found = 0;
    for round in 1..8 {
        let mut bvh = all.tree();
        bvh.refit(&all.mesh, &x, &still, MARGIN, 0.0);
        bvh.follow_nodes(&motions(&rows));
        let mut candidates = bvh.query(&all.mesh, &x);
        let rows = all.rows(&bent(0.6, 0.0), &bent(0.6 + 0.1 * f64::from(round), 0.0));
        let way = all.motion(&rows[1]);
        let there = added(&x, &way);
        assert!(bvh.cover(&all.mesh, &there) + bvh.cover_nodes(&motions(&rows)) > 0);
        bvh.find_more(&all.mesh, &x, &mut candidates);
        let mut plain = Bvh::new(&all.mesh, &all.rest);
        plain.refit(&all.mesh, &x, &way, MARGIN, 0.0);
        let expected = crossings(&all.mesh, &plain.query(&all.mesh, &x), &x, &there);
        assert_eq!(expected, crossings(&all.mesh, &candidates, &x, &there), "round {round}");
        n_found += expected.len();
        // As expected now.
        assert_eq!(bvh.cover_nodes(&motions(&rows)), 0);
    }
    assert!(n_found > 20, "{n_found} crossings");
}

/// Ends that change little by little are followed as if they had changed at once.
#[test]
fn small_changes_add_up() {
    let all = carried(4, 12);
    let rows_to = |share: f64| all.rows(&bent(0.05, 0.0), &bent(0.05 + share, 0.0));
    let x = added(&all.rest, &all.motion(&all.rows(&bent(0.05, 0.0), &|x| *x)[0]));
    let still = vec![Vec3::zeros(); x.len()];
    let followed = |n: u32| {
        let mut bvh = all.tree();
        bvh.refit(&all.mesh, &x, &still, MARGIN, 0.0);
        bvh.follow_nodes(&motions(&rows_to(0.0)));
        let before = bvh.leaf_pairs.counts();
        for k in 1..=n {
            bvh.cover_nodes(&motions(&rows_to(0.3 * f64::from(k) / f64::from(n))));
        }
        (before, bvh)
    };
    let (before, slowly) = followed(300);
    let (_, at_once) = followed(1);
    // Within the margin of what was followed, however it came there.
    let rows = rows_to(0.3);
    let (mut late, mut early) = (slowly.clone(), at_once.clone());
    assert_eq!([late.cover_nodes(&motions(&rows)), early.cover_nodes(&motions(&rows))], [0, 0]);
    let [slow, fast] = [&slowly, &at_once].map(|bvh| bvh.leaf_pairs.counts());
    assert!(fast[1] < before[1], "{before:?} {fast:?}");
    assert!(slow[1].abs_diff(fast[1]) * 5 < before[1] - fast[1], "{slow:?} {fast:?} {before:?}");
}

/// Leaves on a tet that is too slender are no pairs: how it is deformed is not known well enough.
#[test]
fn leaves_on_slender_tets_are_no_pairs() {
    let mut all = carried(4, 12);
    let n_pairs = all.tree().leaf_pairs.n_pairs();
    let (carrier, _) = all.shares[0];
    let tet = &mut all.hosts.tets[carrier as usize];
    assert!(!tet.is_too_slender());
    tet.gradients = tet.gradients.map(|gradient| gradient * 1e5);
    assert!(tet.is_too_slender());
    let tree = all.tree();
    let left = tree.leaf_pairs.all();
    assert!(left.len() < n_pairs && 2 * left.len() > n_pairs, "{} of {n_pairs}", left.len());
    let is_on_it = |leaf: u32| tree.vertices_of_leaf(leaf).iter().any(|v| all.shares[*v as usize].0 == carrier);
    assert!(left.iter().flatten().all(|leaf| !is_on_it(*leaf)));
}
