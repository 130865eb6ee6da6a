use super::super::Bvh;
use crate::cases::Random;
use crate::geometry::tests::{cube, may_meet};
use crate::geometry::{Candidates, Mesh, Mobility};
use crate::math::{Quat, Vec3};

const MARGIN: f64 = 1e-5;

fn pairs(mesh: &Mesh) -> Candidates {
    let (n_vertices, n_edges) = (mesh.body.len() as u32, mesh.edges.len() as u32);
    let faces = (0..n_vertices).flat_map(|v| (0..mesh.triangles.len() as u32).map(move |t| [v, t]));
    let edges = (0..n_edges).flat_map(|e| (e + 1..n_edges).map(move |f| [e, f]));
    let apart = |a: &[u32], b: &[u32]| a.iter().all(|v| !b.contains(v));
    Candidates {
        vertex_faces: faces.filter(|[v, t]| apart(&[*v], &mesh.triangles[*t as usize])).collect(),
        edge_edges: edges.filter(|[e, f]| apart(&mesh.edges[*e as usize], &mesh.edges[*f as usize])).collect(),
    }
}

/// A cube that turns, is pressed flat and swells again: whatever is passed over, the search finds what looking at all
/// pairs finds.
#[test]
fn a_body_that_changes_its_shape_is_found_to_meet_itself() {
    let (triangles, rest) = cube(5, 1.0, Vec3::repeat(-0.5));
    let body = vec![0; rest.len()];
    let mesh = Mesh::new(triangles, body, vec![Mobility::Deformable]).unwrap();
    let mut bvh = Bvh::new(&mesh, &rest);
    let mut random = Random::new(7);
    let shape = |step: usize| {
        let turn = Quat::from_scaled_axis(Vec3::new(0.3, 1.0, -0.2) * (0.04 * step as f64));
        let height = 0.52 + 0.48 * (0.05 * step as f64).cos();
        rest.iter().map(|x| turn * Vec3::new(x.x, x.y, x.z * height)).collect::<Vec<_>>()
    };
    let (mut skipped, mut listed, mut all_apart_steps, mut found_pairs) = (0, 0, 0, 0);
    for step in 0..126 {
        // Now and then it moves too fast to pass over anything.
        let reach = if step % 40 == 39 { 0.3 } else { 0.005 };
        let (x, reach): (_, Vec<Vec3>) = (shape(step), rest.iter().map(|_| random.vector() * reach).collect());
        bvh.refit(&mesh, &x, &reach, MARGIN, 0.0);
        let found = bvh.query(&mesh, &x);
        let [n_pairs, n_apart, n_listed] = bvh.leaf_pairs.counts();
        listed += n_listed;
        skipped += n_apart;
        all_apart_steps += usize::from(n_apart == n_pairs);
        // A tree with another past finds the same.
        let mut other = Bvh::new(&mesh, &rest);
        other.refit(&mesh, &x, &reach, MARGIN, 0.0);
        assert!(other.query(&mesh, &x) == found, "step {step}");
        found_pairs += found.vertex_faces.len() + found.edge_edges.len();
        let mut all = pairs(&mesh);
        bvh.keep_near(&mesh, &x, &mut all);
        // By more than rounding.
        let overlap = |a: &[u32], b: &[u32]| may_meet(bvh.vertex_sweeps(), a, b, 0.1 * MARGIN);
        for [v, t] in &all.vertex_faces {
            let is_found = found.vertex_faces.binary_search(&[*v, *t]).is_ok();
            assert!(is_found || !overlap(&[*v], &mesh.triangles[*t as usize]), "step {step}: vertex {v} and face {t}");
        }
        for [e, f] in &all.edge_edges {
            let is_found = [[*e, *f], [*f, *e]].iter().any(|pair| found.edge_edges.binary_search(pair).is_ok());
            assert!(is_found || !overlap(&mesh.edges[*e as usize], &mesh.edges[*f as usize]), "step {step}: edges {e} and {f}");
        }
    }
    assert!(skipped > 500 && all_apart_steps < 126, "{skipped} pairs of leaves were passed over, all of them {all_apart_steps} times");
    assert!(listed > 100, "{listed} pairs had lists of near features");
    assert!(found_pairs > 100, "{found_pairs} pairs in all");
}

/// A cube that only moves and turns is not looked at again; one that is bent is, until it stays so.
#[test]
fn what_moves_with_its_body_is_passed_over() {
    let (triangles, rest) = cube(5, 1.0, Vec3::repeat(-0.5));
    let mesh = Mesh::new(triangles, vec![0; rest.len()], vec![Mobility::Deformable]).unwrap();
    let mut bvh = Bvh::new(&mesh, &rest);
    let still = vec![Vec3::zeros(); rest.len()];
    let mut n_quiet = |shape: &dyn Fn(&Vec3) -> Vec3, step: usize| {
        let turn = Quat::from_scaled_axis(Vec3::new(0.3, 1.0, -0.2) * (0.1 * step as f64));
        let x: Vec<Vec3> = rest.iter().map(|x| turn * shape(x) + Vec3::x() * (0.3 * step as f64)).collect();
        bvh.refit(&mesh, &x, &still, MARGIN, 0.0);
        bvh.query(&mesh, &x);
        bvh.leaf_pairs.n_quiet()
    };
    // What is known of the rest positions is bounded by the first step.
    n_quiet(&|x| *x, 0);
    let n_all = n_quiet(&|x| *x, 1);
    assert!(n_all > 10 && (2..20).all(|step| n_quiet(&|x| *x, step) == n_all), "{n_all}");
    let bent = |x: &Vec3| Vec3::new(x.x + 0.8 * x.z * x.z, x.y, x.z);
    assert!(n_quiet(&bent, 20) < n_all / 2);
    let after: Vec<usize> = (21..60).map(|step| n_quiet(&bent, step)).collect();
    assert_eq!(after.last(), Some(&n_all), "{after:?}");
}
