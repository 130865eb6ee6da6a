use super::*;
use crate::mesh::{assets, embed, parse_surface, shapes};

fn builtin(name: &str) -> SurfaceMesh {
    parse_surface(name, assets::builtin(name).unwrap()).unwrap()
}

/// Voxelises and checks what a body needs: equal positive tets that contain every vertex of the surface.
fn examine(name: &str, surface: &SurfaceMesh, resolution: u32) -> TetMesh {
    let mesh = tetrahedralise(surface, resolution).unwrap();
    mesh.check().unwrap();
    let cell = surface.aabb().extent().max() / (f64::from(resolution) - 2.0 * MARGIN);
    for t in 0..mesh.tets.len() {
        assert!((mesh.volume(t) / cell.powi(3) * 6.0 - 1.0).abs() < 1e-9, "{name}: tet {t}");
    }
    assert!(mesh.total_volume() >= surface.signed_volume(), "{name}");
    let embedding = embed(&mesh, &surface.positions).unwrap();
    let least = embedding.weights.iter().flatten().fold(f64::INFINITY, |least, &w| w.min(least));
    assert!(least >= -1e-9, "{name}: {least:e}");
    mesh
}

#[test]
fn the_creatures_fill_their_voxels() {
    for (name, resolution) in [("bunny.obj", 24), ("armadillo.obj", 32), ("dragon.obj", 32)] {
        let surface = builtin(name);
        let mesh = examine(name, &surface, resolution);
        // The hull of touched cells is thicker than the body, but the inside is not filled twice or left out.
        let ratio = mesh.total_volume() / surface.signed_volume();
        assert!((1.0..2.2).contains(&ratio), "{name}: {ratio}");
    }
}

#[test]
fn a_wanted_number_of_tets_is_nearly_met() {
    for name in ["bunny.obj", "knot.off", "gear_pinion.off", "mushroom_closed.off"] {
        let surface = builtin(name);
        for wanted in [8_000, 60_000] {
            let resolution = resolution_for(&doctor::diagnose(&surface), wanted);
            let got = tetrahedralise(&surface, resolution).unwrap().tets.len() as f64 / wanted as f64;
            assert!((0.75..1.15).contains(&got), "{name}: {got} of {wanted} at {resolution}");
        }
    }
    assert_eq!(resolution_for(&doctor::diagnose(&builtin("bunny.obj")), 1), 8);
}

#[test]
fn finer_voxels_approach_the_volume() {
    let ball = shapes::surface_sphere(1.0, 48);
    let excess = [16, 32, 64].map(|n| examine("ball", &ball, n).total_volume() / ball.signed_volume() - 1.0);
    assert!(excess.windows(2).all(|pair| (1.6..2.4).contains(&(pair[0] / pair[1]))), "{excess:?}");
}

#[test]
fn cavities_stay_hollow_and_inverted_pieces_are_filled() {
    let outer = shapes::surface_sphere(1.0, 24);
    let solid = examine("solid", &outer, 32).total_volume();
    let mut hollow = outer.clone();
    let inner = outer.transformed(|p| p * 0.7);
    let n = hollow.positions.len() as u32;
    hollow.positions.extend(inner.positions);
    hollow.triangles.extend(inner.triangles.iter().map(|&[a, b, c]| [a + n, c + n, b + n]));
    let removed = 1.0 - examine("hollow", &hollow, 32).total_volume() / solid;
    assert!((0.15..0.343).contains(&removed), "{removed}");

    // A second ball beside the first, inside out, is filled all the same.
    let mut pair = outer.clone();
    let other = outer.transformed(|p| p * 0.9 + Vec3::new(3.0, 0.0, 0.0));
    pair.positions.extend(other.positions);
    pair.triangles.extend(other.triangles.iter().map(|&[a, b, c]| [a + n, c + n, b + n]));
    let mesh = examine("pair", &pair, 48);
    assert!(mesh.total_volume() > outer.signed_volume() * (1.0 + 0.729));
}

#[test]
fn a_box_aligned_with_the_grid_is_tight() {
    // Rows of cell centres meet edges and diagonals of the triangles exactly.
    let surface = shapes::surface_box(Vec3::new(1.0, 0.5, 0.25));
    let mesh = examine("box", &surface, 16);
    assert_eq!(mesh.tets.len(), 6 * 16 * 9 * 5);
}

#[test]
fn unfit_surfaces_are_refused_with_a_reason() {
    let cube = shapes::surface_box(Vec3::repeat(1.0));
    let mut inside_out = cube.clone();
    inside_out.triangles.iter_mut().for_each(|t| t.swap(0, 1));
    assert!(matches!(tetrahedralise(&inside_out, 16), Err(MeshError::NoVolume { volume }) if volume < 0.0));
    let flat = cube.transformed(|p| Vec3::new(p.x, p.y, 0.0));
    assert!(matches!(tetrahedralise(&flat, 16), Err(MeshError::NoVolume { .. })));

    assert!(matches!(tetrahedralise(&cube, 4), Err(MeshError::Resolution { min: 8, max: 128, .. })));
    assert!(matches!(tetrahedralise(&cube, 129), Err(MeshError::Resolution { .. })));
    assert_eq!(tetrahedralise(&SurfaceMesh::default(), 16), Err(MeshError::Empty));
}

#[test]
fn broken_surfaces_are_filled_where_they_wind_around() {
    let ball = shapes::surface_sphere(1.0, 24);
    let whole = examine("ball", &ball, 24).total_volume();
    // With a hole at the top that takes a fifth of its height, and with every seventh triangle turned and every tenth gone.
    let mut open = ball.clone();
    open.triangles.retain(|t| t.iter().all(|&v| ball.positions[v as usize].y < 0.6));
    let mut soup = ball.clone();
    soup.triangles.iter_mut().step_by(7).for_each(|t| t.swap(0, 1));
    soup.triangles = soup.triangles.iter().enumerate().filter(|(i, _)| i % 10 != 0).map(|(_, t)| *t).collect();
    for (name, broken, least) in [("open", open, 0.75), ("soup", soup, 0.95)] {
        let mesh = tetrahedralise(&broken, 24).unwrap();
        mesh.check().unwrap();
        let part = mesh.total_volume() / whole;
        assert!((least..1.01).contains(&part), "{name}: {part}");
    }
    // A sheet is a layer of cells.
    let sheet = SurfaceMesh {
        triangles: vec![[0, 1, 2], [0, 2, 3]],
        positions: [[0., 0.], [1., 0.], [1., 1.], [0., 1.]].map(|[x, z]| Vec3::new(x, 0.0, z)).to_vec(),
        ..SurfaceMesh::default()
    };
    assert_eq!(tetrahedralise(&sheet, 16).unwrap().tets.len(), 6 * 16 * 16);
    let point = SurfaceMesh { positions: vec![Vec3::x()], triangles: vec![[0, 0, 0]], ..SurfaceMesh::default() };
    assert!(matches!(tetrahedralise(&point, 16), Err(MeshError::NoVolume { .. })));
}

#[test]
fn triangles_and_cubes_meet_exactly() {
    let touches = |a: [f64; 3], b: [f64; 3], c: [f64; 3]| triangle_touches_cube(&[a.into(), b.into(), c.into()], 1.0);
    // A plane that cuts a corner off, and the same just beyond it: all three corners of the triangle are outside.
    assert!(touches([2.9, 0.0, 0.0], [0.0, 2.9, 0.0], [0.0, 0.0, 2.9]));
    assert!(!touches([3.1, 0.0, 0.0], [0.0, 3.1, 0.0], [0.0, 0.0, 3.1]));
    // An edge passing an edge of the cube, separated only along a product of edges.
    assert!(touches([2.1, -0.2, 0.0], [-0.2, 2.1, 0.0], [3.0, 3.0, 0.3]));
    assert!(!touches([2.3, -0.2, 0.0], [-0.2, 2.3, 0.0], [3.0, 3.0, 0.3]));
    // Large and around the cube.
    assert!(touches([-50.0, -50.0, 0.5], [50.0, -50.0, 0.5], [0.0, 80.0, 0.5]));
}
