use super::*;
use crate::mesh::measure::{Shape, dihedral_angles};
use crate::mesh::{assets, doctor, parse_surface, shapes};

fn builtin(name: &str) -> SurfaceMesh {
    parse_surface(name, assets::builtin(name).unwrap()).unwrap()
}

fn stuffed(surface: &SurfaceMesh, resolution: u32) -> TetMesh {
    tetrahedralise(surface, Fineness::Cells(resolution), &CancelToken::default()).unwrap()
}

/// The worst angles of the parts of a lattice tet, over all sides that its corners may be on, all ways in which these
/// may have moved and all places of the cuts, each at an end of its range, and where there are few also between.
fn worst_angles(inside: [f64; 2], outside: [f64; 2]) -> [f64; 2] {
    // Both halves of a cube's edge have the length 1: centres, then corners.
    let tet = [[1, 1, 1], [3, 1, 1], [2, 0, 0], [2, 2, 0]].map(|p: [i32; 3]| Vec3::from(p.map(f64::from)));
    let steps: Vec<(usize, Vec3)> = (0..14)
        .map(|k| match k {
            0..6 => (0, Vec3::ith(k / 2, if k % 2 == 0 { 2.0 } else { -2.0 })),
            _ => (1, Vec3::from_fn(|axis, _| if (k - 6) >> axis & 1 == 0 { 1.0 } else { -1.0 })),
        })
        .collect();
    let mut worst = [180f64, 0f64];
    for code in 0..81 {
        let sides = [1, 3, 9, 27].map(|place| [Side::Inside, Side::On, Side::Outside][code / place % 3]);
        let on: Vec<usize> = (0..4).filter(|&corner| sides[corner] == Side::On).collect();
        let parts = divided(sides, true);
        assert_eq!(parts.is_empty(), !sides.contains(&Side::Inside));
        let cut: Vec<usize> = (0..6).filter(|&edge| parts.iter().flatten().any(|&corner| corner == 4 + edge)).collect();
        let free = on.len() + cut.len();
        let values = if free > 2 { 2 } else { 4u32 };
        for ways in 0..28usize.pow(on.len() as u32) {
            if parts.is_empty() {
                continue;
            }
            // Of each moved corner: the step along an edge, and whether it was inside.
            let mut rest = ways;
            let mut was = sides.map(|side| side == Side::Inside);
            let mut toward = [None; 4];
            for &corner in &on {
                was[corner] = rest % 2 == 1;
                toward[corner] = Some(steps[rest / 2 % 14]);
                rest /= 28;
            }
            // Who moves towards another has been on its other side; and an edge has one cut, to which one end moves.
            let target = |corner: usize| toward[corner].map(|(_, step)| tet[corner] + step);
            let possible = on.iter().all(|&a| {
                (0..4).filter(|&b| b != a).all(|b| {
                    let meets = target(a) == Some(tet[b]);
                    let same_target = target(a) == target(b);
                    !(meets && (was[a] == was[b] || target(b) == Some(tet[a])) || same_target && was[a] != was[b])
                })
            });
            if !possible {
                continue;
            }
            for places in 0..values.pow(free as u32) {
                let place = |k: usize| f64::from(places / values.pow(k as u32) % values) / f64::from(values - 1);
                let mut points = [Vec3::zeros(); 10];
                points[..4].copy_from_slice(&tet);
                for (k, &corner) in on.iter().enumerate() {
                    let (kind, step) = toward[corner].unwrap();
                    points[corner] += step * (place(k) * if was[corner] { inside[kind] } else { outside[kind] });
                }
                for (k, &edge) in cut.iter().enumerate() {
                    let kind = usize::from(edge >= 2);
                    let [a, b] = TET_EDGES[edge];
                    let (from, to) = if sides[a] == Side::Inside { (tet[a], tet[b]) } else { (tet[b], tet[a]) };
                    let (low, high) = (inside[kind], 1.0 - outside[kind]);
                    points[4 + edge] = from.lerp(&to, low + (high - low) * place(on.len() + k));
                }
                for part in &parts {
                    let corners = part.map(|corner| points[corner]);
                    let volume = (corners[1] - corners[0]).cross(&(corners[2] - corners[0])).dot(&(corners[3] - corners[0]));
                    let angles = if volume > 0.0 { dihedral_angles(&corners) } else { [0.0; 6] };
                    worst = angles.iter().fold(worst, |[least, most], &angle| [least.min(angle), most.max(angle)]);
                }
            }
        }
    }
    worst
}

#[test]
fn no_way_to_cut_a_tet_leaves_the_stated_angles() {
    let [least, most] = worst_angles(REACH_INSIDE, REACH_OUTSIDE);
    assert!((DIHEDRAL_ANGLES[0]..DIHEDRAL_ANGLES[0] + 0.2).contains(&least), "{least}");
    assert!((DIHEDRAL_ANGLES[1] - 0.2..=DIHEDRAL_ANGLES[1]).contains(&most), "{most}");
    // The published reach, with our order of cuts; and none at all.
    let published = [0.24999, 0.41189];
    let least = worst_angles(published, published)[0];
    assert!((9.0..10.0).contains(&least), "{least}");
    assert!(worst_angles([0.001; 2], [0.001; 2])[0] < 0.1);
}

/// Angles as stated, volume as it should be, and a border that is closed.
fn examine(name: &str, surface: &SurfaceMesh, resolution: u32, volume_error: f64) {
    let mesh = stuffed(surface, resolution);
    mesh.check().unwrap();
    let shape = Shape::of(&mesh);
    let [least, most] = DIHEDRAL_ANGLES;
    assert!(shape.dihedral[0] >= least && shape.dihedral[1] <= most, "{name}: {:?}", shape.dihedral);
    let ratio = shape.volume / surface.signed_volume();
    assert!((ratio - 1.0).abs() < volume_error, "{name}: {ratio}");
    let border = doctor::diagnose(&mesh.surface());
    assert_eq!((border.boundary_edges, border.misoriented_edges), (0, 0), "{name}");
    assert!((border.signed_volume / shape.volume - 1.0).abs() < 1e-9, "{name}");
}

#[test]
fn the_angles_hold_on_real_surfaces() {
    examine("ball", &shapes::icosphere(1.0, 4), 24, 0.01);
    examine("cube", &shapes::surface_box(Vec3::repeat(1.0)), 16, 1e-9);
    let turn = crate::math::Quat::from_euler_angles(0.3, 0.5, 0.2);
    examine("turned cube", &shapes::surface_box(Vec3::repeat(1.0)).transformed(|p| turn * p), 16, 0.02);
    for (name, volume_error) in
        [("bunny.obj", 0.02), ("dragon.obj", 0.1), ("gear_pinion.off", 0.1), ("knot.off", 0.1), ("mushroom_closed.off", 0.1)]
    {
        examine(name, &builtin(name), 24, volume_error);
    }
    // Thinner than a cell in places, where something is lost.
    examine("slab", &shapes::surface_box(Vec3::new(1.0, 0.06, 0.7)), 20, 0.2);
}

#[test]
fn the_volume_is_met_within_a_hundredth_at_64_cells() {
    for name in ["bunny.obj", "hand.off"] {
        examine(name, &builtin(name), 64, 0.01);
    }
}

#[test]
fn a_wanted_number_of_tets_is_met() {
    for name in ["bunny.obj", "knot.off", "elephant.off"] {
        for wanted in [6_000, 50_000] {
            let got =
                tetrahedralise(&builtin(name), Fineness::Tets(wanted), &CancelToken::default()).unwrap().tets.len() as f64 / wanted as f64;
            assert!((0.9..1.1).contains(&got), "{name}: {got} of {wanted}");
        }
    }
    // As far as the cells go.
    let ball = shapes::icosphere(1.0, 2);
    assert_eq!(tetrahedralise(&ball, Fineness::Tets(1), &CancelToken::default()).unwrap().tets.len(), stuffed(&ball, 8).tets.len());
}

#[test]
fn any_number_of_threads_gives_the_same_mesh() {
    let bunny = builtin("bunny_coarse.obj");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(pool.install(|| stuffed(&bunny, 20)), stuffed(&bunny, 20));
}

#[test]
fn open_and_crossing_surfaces_are_filled() {
    let ball = shapes::icosphere(1.0, 4);
    let whole = stuffed(&ball, 24).total_volume();
    let mut open = ball.clone();
    open.triangles.retain(|t| t.iter().all(|&v| ball.positions[v as usize].y < 0.6));
    let part = stuffed(&open, 24).total_volume() / whole;
    assert!((0.8..0.99).contains(&part), "{part}");

    // Two balls that overlap are one body without the walls between.
    let mut pair = ball.clone();
    let n = pair.positions.len() as u32;
    pair.positions.extend(ball.positions.iter().map(|p| p + Vec3::x()));
    pair.triangles.extend(ball.triangles.iter().map(|t| t.map(|v| v + n)));
    // A union of unit balls 1 apart: 2 - 5/16 of a ball.
    let ratio = stuffed(&pair, 36).total_volume() / whole;
    assert!((ratio - 27.0 / 16.0).abs() < 0.02, "{ratio}");
}

#[test]
fn unfit_surfaces_are_refused_with_a_reason() {
    let sheet = SurfaceMesh {
        triangles: vec![[0, 1, 2], [0, 2, 3]],
        positions: [[0., 0.], [1., 0.], [1., 1.], [0., 1.]].map(|[x, z]| Vec3::new(x, 0.0, z)).to_vec(),
        ..SurfaceMesh::default()
    };
    assert_eq!(tetrahedralise(&sheet, Fineness::Cells(16), &CancelToken::default()), Err(MeshError::TooThin { resolution: 16 }));
    assert!(matches!(tetrahedralise(&sheet, Fineness::Cells(7), &CancelToken::default()), Err(MeshError::Resolution { .. })));
    assert_eq!(tetrahedralise(&SurfaceMesh::default(), Fineness::Cells(16), &CancelToken::default()), Err(MeshError::Empty));
}
