use super::*;
use crate::mesh::measure::Deviation;
use crate::mesh::{assets, embed, parse_surface, shapes};

fn builtin(name: &str) -> SurfaceMesh {
    parse_surface(name, assets::builtin(name).unwrap()).unwrap()
}

/// Voxelises and checks what a body needs: equal positive tets, none of them far from the surface nor the surface from
/// them.
fn examine(name: &str, surface: &SurfaceMesh, resolution: u32) -> TetMesh {
    let mesh = tetrahedralise(surface, resolution, Border::Volume, &CancelToken::default()).unwrap();
    mesh.check().unwrap();
    let cell = surface.aabb().extent().max() / (f64::from(resolution) - 2.0 * GRID_MARGIN);
    for t in 0..mesh.tets.len() {
        assert!((mesh.volume(t) / cell.powi(3) * 6.0 - 1.0).abs() < 1e-9, "{name}: tet {t}");
    }
    let border = mesh.surface();
    let [out, over] = [(surface, &border), (&border, surface)]
        .map(|(a, b)| Deviation::between_unless(a, b, 2000, CancelToken::never()).unwrap().largest / cell);
    assert!(out < 3f64.sqrt() && over < 3f64.sqrt(), "{name}: {out} {over}");
    mesh
}

/// All cells that a surface touches or that have their centre inside, and the cells of which tets are made.
fn covering_and_kept(surface: &SurfaceMesh, resolution: u32) -> (Grid, Vec<bool>, Vec<bool>) {
    let inside = Inside::new(surface, &CancelToken::default()).unwrap();
    let grid = Grid::around(surface, resolution);
    let kept = |border| grid.kept(surface, &inside, border).unwrap().0;
    let (covering, kept) = (kept(Border::Covering), kept(Border::Volume));
    (grid, covering, kept)
}

/// The number of pieces of cells that are connected through faces.
fn pieces(grid: &Grid, cells: &[bool]) -> usize {
    let [nx, ny, _] = grid.cells;
    let mut left = cells.to_vec();
    let mut count = 0;
    for start in 0..left.len() {
        let mut waiting = vec![start];
        count += usize::from(left[start]);
        while let Some(slot) = waiting.pop() {
            if !std::mem::replace(&mut left[slot], false) {
                continue;
            }
            let at = [slot % nx, slot / nx % ny, slot / nx / ny];
            for (axis, step) in [1, nx, nx * ny].into_iter().enumerate() {
                waiting.extend((at[axis] > 0).then(|| slot - step));
                waiting.extend((at[axis] + 1 < grid.cells[axis]).then_some(slot + step));
            }
        }
    }
    count
}

#[test]
fn the_creatures_keep_their_volume_and_their_parts() {
    let surfaces = ["bunny.obj", "armadillo.obj", "dragon.obj", "knot.off", "gear_pinion.off", "nut_hex.ply"];
    for (name, resolution) in surfaces.into_iter().flat_map(|name| [(name, 16), (name, 32)]) {
        let surface = builtin(name);
        let mesh = examine(name, &surface, resolution);
        let ratio = mesh.total_volume() / surface.signed_volume();
        println!("{name} at {resolution}: {} tets, {ratio}", mesh.tets.len());
        assert!((ratio - 1.0).abs() < 0.01, "{name} at {resolution}: {ratio}");
        let (grid, covering, kept) = covering_and_kept(&surface, resolution);
        assert_eq!(pieces(&grid, &covering), pieces(&grid, &kept), "{name} at {resolution}");
        assert!(kept.iter().zip(&covering).all(|(kept, covering)| *covering || !kept), "{name}");
    }
}

#[test]
fn what_is_thinner_than_a_cell_stays_whole() {
    // A plate and a rod, oblique to the grid, of a quarter of a cell.
    let turn = crate::math::Quat::from_euler_angles(0.3, 0.5, 0.2);
    for (name, size) in [("plate", Vec3::new(1.0, 0.02, 0.8)), ("rod", Vec3::new(1.0, 0.02, 0.02))] {
        let surface = shapes::surface_box(size).transformed(|p| turn * p);
        let mesh = examine(name, &surface, 12);
        let (grid, covering, kept) = covering_and_kept(&surface, 12);
        let [all, left] = [&covering, &kept].map(|cells| cells.iter().filter(|cell| **cell).count());
        assert!(mesh.total_volume() > 2.0 * surface.signed_volume() && left < all, "{name}: {left} of {all}");
        assert_eq!((pieces(&grid, &kept), doctor::pieces(&mesh)), (1, 1), "{name}");
    }
}

#[test]
fn a_wanted_number_of_tets_is_nearly_met() {
    for name in ["bunny.obj", "knot.off", "gear_pinion.off", "mushroom_closed.off"] {
        let surface = builtin(name);
        for (wanted, border) in [8_000, 60_000].into_iter().flat_map(|n| [(n, Border::Volume), (n, Border::Covering)]) {
            let resolution = resolution_for(&doctor::diagnose(&surface), wanted, border);
            let got = tetrahedralise(&surface, resolution, border, &CancelToken::default()).unwrap().tets.len() as f64 / wanted as f64;
            assert!((0.75..1.15).contains(&got), "{name}: {got} of {wanted} at {resolution}, {border:?}");
        }
    }
    assert_eq!(resolution_for(&doctor::diagnose(&builtin("bunny.obj")), 1, Border::Covering), 8);
}

#[test]
fn covering_cells_hold_the_surface() {
    for (name, resolution) in [("bunny.obj", 24), ("armadillo.obj", 32), ("dragon.obj", 32)] {
        let surface = builtin(name);
        let mesh = tetrahedralise(&surface, resolution, Border::Covering, &CancelToken::default()).unwrap();
        let embedding = embed(&mesh, &surface.positions).unwrap();
        let least = embedding.weights.iter().flatten().fold(f64::INFINITY, |least, &w| w.min(least));
        assert!(least >= -1e-9, "{name}: {least:e}");
        // The hull of touched cells is thicker than the body, but the inside is not filled twice or left out.
        let ratio = mesh.total_volume() / surface.signed_volume();
        assert!((1.0..2.2).contains(&ratio), "{name}: {ratio}");
    }
}

#[test]
fn a_ball_has_its_volume_at_any_resolution() {
    let ball = shapes::surface_sphere(1.0, 48);
    for n in [8, 16, 33, 64] {
        let mesh = examine("ball", &ball, n);
        // To half a cell.
        let error = (mesh.total_volume() - ball.signed_volume()).abs() / mesh.volume(0) / 6.0;
        assert!(error < 0.6, "{n}: {error} cells");
        let center = mesh.surface().positions.iter().sum::<Vec3>() / mesh.surface().positions.len() as f64;
        assert!(center.norm() < 0.05, "{n}: {center}");
    }
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
    assert!((removed - 0.343).abs() < 1e-3, "{removed}");

    // A second ball beside the first, inside out, is filled too.
    let mut pair = outer.clone();
    let other = outer.transformed(|p| p * 0.9 + Vec3::new(3.0, 0.0, 0.0));
    pair.positions.extend(other.positions);
    pair.triangles.extend(other.triangles.iter().map(|&[a, b, c]| [a + n, c + n, b + n]));
    let mesh = examine("pair", &pair, 48);
    assert!((mesh.total_volume() / (outer.signed_volume() * (1.0 + 0.729)) - 1.0).abs() < 1e-3);
    // What is there twice is filled once.
    let mut twice = outer.clone();
    twice.positions.extend(outer.positions.iter().map(|p| p + Vec3::x() * 0.5));
    twice.triangles.extend(outer.triangles.iter().map(|t| t.map(|v| v + n)));
    // Less the lens of height h = 0.75 on both sides: 2 pi h^2 (3 - h) / 3.
    let lens =
        2.0 * std::f64::consts::PI * 0.75f64.powi(2) * (3.0 - 0.75) / 3.0 * outer.signed_volume() / (4.0 * std::f64::consts::PI / 3.0);
    let filled = tetrahedralise(&twice, 48, Border::Volume, &CancelToken::default()).unwrap().total_volume();
    assert!((filled / (2.0 * outer.signed_volume() - lens) - 1.0).abs() < 5e-3, "{filled}");
}

#[test]
fn what_overlaps_encloses_its_volume_once() {
    let cube = |x: f64| {
        let mut cube = shapes::surface_box(Vec3::repeat(1.0));
        cube.positions.iter_mut().for_each(|p| p.x += x);
        cube
    };
    let both = |x: f64| {
        let (mut both, other) = (cube(0.0), cube(x));
        let n = both.positions.len() as u32;
        both.positions.extend(other.positions);
        both.triangles.extend(other.triangles.iter().map(|t| t.map(|v| v + n)));
        enclosed_volume(&both, &CancelToken::default()).unwrap().unwrap()
    };
    assert!((both(1.5) - 2.0).abs() < 1e-9, "{}", both(1.5));
    // What overlaps is measured along rows, some 74 x 74 of them.
    assert!((both(0.3) - 1.3).abs() < 0.7 / 74.0, "{}", both(0.3));
    let mut open = cube(0.0);
    open.triangles.pop();
    assert_eq!(enclosed_volume(&open, &CancelToken::default()).unwrap(), None);
}

#[test]
fn a_box_aligned_with_the_grid_is_tight() {
    // Rows of cell centres meet edges and diagonals of the triangles exactly.
    let surface = shapes::surface_box(Vec3::new(1.0, 0.5, 0.25));
    let mesh = examine("box", &surface, 16);
    assert_eq!(mesh.tets.len(), 6 * 16 * 8 * 4);
}

#[test]
fn unfit_surfaces_are_refused_with_a_reason() {
    let cube = shapes::surface_box(Vec3::repeat(1.0));
    let mut inside_out = cube.clone();
    inside_out.triangles.iter_mut().for_each(|t| t.swap(0, 1));
    assert!(
        matches!(tetrahedralise(&inside_out, 16, Border::Volume, &CancelToken::default()), Err(MeshError::NoVolume { volume }) if volume < 0.0)
    );
    let flat = cube.transformed(|p| Vec3::new(p.x, p.y, 0.0));
    assert!(matches!(tetrahedralise(&flat, 16, Border::Volume, &CancelToken::default()), Err(MeshError::NoVolume { .. })));

    assert!(matches!(
        tetrahedralise(&cube, 4, Border::Volume, &CancelToken::default()),
        Err(MeshError::Resolution { min: 8, max: 128, .. })
    ));
    assert!(matches!(tetrahedralise(&cube, 129, Border::Volume, &CancelToken::default()), Err(MeshError::Resolution { .. })));
    assert_eq!(tetrahedralise(&SurfaceMesh::default(), 16, Border::Volume, &CancelToken::default()), Err(MeshError::Empty));
}

#[test]
fn broken_surfaces_are_filled_where_they_wind_around() {
    let ball = shapes::surface_sphere(1.0, 24);
    let (_, whole, _) = covering_and_kept(&ball, 24);
    let whole = whole.iter().filter(|cell| **cell).count() as f64;
    // With a hole at the top that takes a fifth of its height, and with every seventh triangle turned and every tenth
    // gone.
    let mut open = ball.clone();
    open.triangles.retain(|t| t.iter().all(|&v| ball.positions[v as usize].y < 0.6));
    let mut soup = ball.clone();
    soup.triangles.iter_mut().step_by(7).for_each(|t| t.swap(0, 1));
    soup.triangles = soup.triangles.iter().enumerate().filter(|(i, _)| i % 10 != 0).map(|(_, t)| *t).collect();
    for (name, broken, least) in [("open", open, 0.75), ("soup", soup, 0.95)] {
        let mesh = tetrahedralise(&broken, 24, Border::Volume, &CancelToken::default()).unwrap();
        mesh.check().unwrap();
        // Of all cells that the whole ball touches.
        let part = mesh.tets.len() as f64 / 6.0 / whole;
        assert!((least..1.01).contains(&part), "{name}: {part}");
    }
    // A sheet is a layer of cells.
    let sheet = SurfaceMesh {
        triangles: vec![[0, 1, 2], [0, 2, 3]],
        positions: [[0., 0.], [1., 0.], [1., 1.], [0., 1.]].map(|[x, z]| Vec3::new(x, 0.0, z)).to_vec(),
        ..SurfaceMesh::default()
    };
    assert_eq!(tetrahedralise(&sheet, 16, Border::Volume, &CancelToken::default()).unwrap().tets.len(), 6 * 16 * 16);
    let point = SurfaceMesh { positions: vec![Vec3::x()], triangles: vec![[0, 0, 0]], ..SurfaceMesh::default() };
    assert!(matches!(tetrahedralise(&point, 16, Border::Volume, &CancelToken::default()), Err(MeshError::NoVolume { .. })));
}

#[test]
fn triangles_and_cubes_meet_exactly() {
    let touches = |a: [f64; 3], b: [f64; 3], c: [f64; 3]| triangle_touches_cube(&[a.into(), b.into(), c.into()], 1.0);
    // A plane that cuts a corner off, and a plane just beyond it: all three corners of the triangle are outside.
    assert!(touches([2.9, 0.0, 0.0], [0.0, 2.9, 0.0], [0.0, 0.0, 2.9]));
    assert!(!touches([3.1, 0.0, 0.0], [0.0, 3.1, 0.0], [0.0, 0.0, 3.1]));
    // An edge passing an edge of the cube, separated only along a product of edges.
    assert!(touches([2.1, -0.2, 0.0], [-0.2, 2.1, 0.0], [3.0, 3.0, 0.3]));
    assert!(!touches([2.3, -0.2, 0.0], [-0.2, 2.3, 0.0], [3.0, 3.0, 0.3]));
    // Large and around the cube.
    assert!(touches([-50.0, -50.0, 0.5], [50.0, -50.0, 0.5], [0.0, 80.0, 0.5]));
}
