//! Bodies that name what touches.

use super::*;
use crate::mesh::{shapes, write_obj};

const BALL: &str = "[[body]]\nname = \"ball\"\nshape = { type = \"icosphere\", radius = 0.1, level = 4, resolution = 8 }\n";

fn built(lines: &str) -> std::sync::Arc<crate::model::Model> {
    scene(&format!("format = 1\n{lines}")).and_then(|s| build(&s)).unwrap_or_else(|e| panic!("{e}")).model
}

/// Writes a surface for one test; the path is removed by the caller.
fn written(name: &str, surface: &crate::mesh::SurfaceMesh) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("pliant-{name}-{}.obj", std::process::id()));
    std::fs::write(&path, write_obj(surface)).unwrap();
    path
}

#[test]
fn the_drawn_surface_touches_unless_another_is_named() {
    for lines in [BALL.to_owned(), format!("{BALL}collision_surface = \"drawn\"\n")] {
        let model = built(&lines);
        assert!(std::sync::Arc::ptr_eq(&model.surface, &model.collision) && model.body_with_own_collision().is_none());
        assert_eq!(model.bodies[0].triangles, model.bodies[0].collision_triangles);
    }
    // Also by a flag.
    let mut flagged = scene(&format!("format = 1\n{BALL}")).unwrap();
    flagged.set("body.ball.collision_surface=tets").unwrap();
    assert!(build(&flagged).unwrap().model.body_with_own_collision().is_some_and(|body| body.name == "ball"));
    // What is drawn of a shape of tets is their boundary.
    let cube = "[[body]]\nname = \"cube\"\nshape = { type = \"box\", size = [1, 1, 1], cells = [2, 2, 2] }\ncollision_surface = \"tets\"\n";
    assert!(built(cube).body_with_own_collision().is_none());
}

#[test]
fn tets_touch_with_their_boundary_and_other_bodies_as_they_are_drawn() {
    let other = BALL.replace("\"ball\"", "\"other\"");
    let model = built(&format!("{BALL}collision_surface = \"tets\"\norigin = \"bottom\"\nposition = [0, 1, 0]\n{other}"));
    let [ball, other] = &model.bodies[..] else { panic!("two bodies") };
    assert_eq!((ball.triangles.len(), other.triangles.len(), other.collision_triangles.len()), (5120, 5120, 5120));
    assert!(ball.collision_triangles.len() < 1000 && ball.has_own_collision && !other.has_own_collision);
    assert_eq!(ball.collision_triangles.end, other.collision_triangles.start);
    // Nodes themselves, around what is drawn.
    let collision = &model.collision;
    assert!(collision.weights[ball.collision_vertices.clone()].iter().all(|w| *w == [1.0, 0.0, 0.0, 0.0]));
    assert_eq!(collision.nodes[other.collision_vertices.clone()], model.surface.nodes[other.vertices.clone()]);
    let lowest = |x: Vec<Vec3>, range: &std::ops::Range<usize>| x[range.clone()].iter().map(|p| p.y).fold(f64::INFINITY, f64::min);
    let drawn = lowest(model.surface_positions(&model.rest_positions), &ball.vertices);
    let touching = lowest(collision.positions(&model.rest_positions), &ball.collision_vertices);
    // The origin is still at the bottom of what is drawn.
    assert!((drawn - 1.0).abs() < 1e-9 && touching < drawn && touching > drawn - 0.2 / 8.0, "{drawn} {touching}");
}

#[test]
fn a_mesh_that_touches_is_placed_as_the_bodys_own() {
    let mut fine = shapes::icosphere(3.0, 3);
    fine.positions.iter_mut().for_each(|p| p.x += 7.0);
    let mut coarse = shapes::icosphere(2.9, 1);
    coarse.positions.iter_mut().for_each(|p| p.x += 7.0);
    let (fine, coarse) = (written("drawn", &fine), written("touching", &coarse));
    let model = built(&format!(
        "[[body]]\nname = \"b\"\nmesh = {fine:?}\nsize = 0.6\norigin = \"center\"\nresolution = 8\nposition = [1, 2, 3]\n\
         collision_surface = {coarse:?}\n"
    ));
    [fine, coarse].iter().for_each(|path| std::fs::remove_file(path).unwrap());
    assert_eq!((model.bodies[0].triangles.len(), model.bodies[0].collision_triangles.len()), (1280, 80));
    for p in model.collision.positions(&model.rest_positions) {
        assert!(((p - Vec3::new(1.0, 2.0, 3.0)).norm() - 0.29).abs() < 1e-2, "{p}");
    }
}

#[test]
fn what_cannot_touch_is_told_with_its_line() {
    let ball = |name: &str| complaint(&format!("{BALL}collision_surface = {name}\n"));
    let place = "test.toml:5:21: body.ball.collision_surface: ";
    let found = ball("\"/nowhere/fine.obj\"");
    assert!(found.starts_with(place) && found.contains("/nowhere/fine.obj"), "{found}");
    assert!(ball("\"near.obj\"").contains("has no folder"), "{}", ball("\"near.obj\""));
    assert!(ball("3").contains("expected a text"), "{}", ball("3"));
    let rigid = format!("{BALL}kind = \"rigid\"\ncollision_surface = \"tets\"\n").replace(", resolution = 8", "");
    assert!(complaint(&rigid).contains("this is for deformable bodies, and this one is rigid"), "{}", complaint(&rigid));

    let sphere = shapes::icosphere(0.1, 1);
    let mut open = sphere.clone();
    // More than a small hole, which would be closed.
    open.triangles.retain(|t| t.iter().any(|&v| sphere.positions[v as usize].y < 0.03));
    let mut far = sphere.clone();
    far.positions.iter_mut().for_each(|p| p.x += 0.05);
    // Two spheres that share an edge: four triangles meet there.
    let mut pinched = sphere.clone();
    let [a, b, _] = sphere.triangles[0];
    let (pa, pb) = (sphere.positions[a as usize], sphere.positions[b as usize]);
    let normal = (pa + pb).normalize();
    let mirrored = |p: &Vec3| p - normal * (2.0 * (p - pa).dot(&normal));
    let n = sphere.positions.len() as u32;
    pinched.positions.extend(sphere.positions.iter().map(mirrored));
    let other = |v: u32| if v == a || v == b { v } else { v + n };
    pinched.triangles.extend(sphere.triangles.iter().map(|t| [other(t[0]), other(t[2]), other(t[1])]));
    for (name, surface, wanted) in [
        ("open", open, "the surface is open: "),
        ("far", far, "m outside the tets of the body; give a surface that is near the drawn one"),
        ("pinched", pinched, "1 edges of the surface have more than two triangles"),
    ] {
        let path = written(name, &surface);
        let found = ball(&format!("{path:?}"));
        std::fs::remove_file(&path).unwrap();
        assert!(found.starts_with(place) && found.contains(&format!("{}: ", path.display())) && found.contains(wanted), "{found}");
    }
    let path = std::env::temp_dir().join(format!("pliant-line-{}.obj", std::process::id()));
    std::fs::write(&path, "v 0 0 0\nv 1 0 nan\n").unwrap();
    let found = ball(&format!("{path:?}"));
    std::fs::remove_file(&path).unwrap();
    assert!(found.starts_with(place) && found.contains(".obj:2: the coordinate"), "{found}");
}
