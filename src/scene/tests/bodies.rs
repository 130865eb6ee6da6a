//! Rigid bodies, copies, attachments, and the scenes that measure contact.

use super::*;
use crate::math::Mat3;
use crate::model::{End, Mobility, RigidBody};

fn built(lines: &str) -> Built {
    built_with(lines, |_| ())
}

fn built_with(lines: &str, change: impl Fn(&mut Scene)) -> Built {
    let mut scene = scene(&format!("format = 1\n{lines}")).unwrap_or_else(|e| panic!("{e}"));
    change(&mut scene);
    build(&scene).unwrap_or_else(|e| panic!("{e}"))
}

fn free(body: &RigidBody) -> (f64, Mat3) {
    match body.mobility {
        Mobility::Free { mass, inertia } => (mass, inertia),
        Mobility::Driven(_) => panic!("{} is not free", body.name),
    }
}

const BRICK: &str = "[[body]]\nname = \"brick\"\nkind = \"rigid\"\nshape = { type = \"box\", size = [0.1, 0.2, 0.3] }\norigin = \"bottom\"\n\
                     position = [1, 2, 3]\nrotation = [0, 0, 90]\nscale = 2.0\nvelocity = [0, 0, 4]\n";

#[test]
fn rigid_bodies_are_framed_at_their_centre_of_mass() {
    let built = built(BRICK);
    let body = &built.model.rigid_bodies[0];
    let (mass, inertia) = free(body);
    assert!((mass - 1000.0 * 0.006 * 8.0).abs() < 1e-9 && body.velocity == Vec3::z() * 4.0);
    assert!((inertia[(0, 0)] - mass * (0.16 + 0.36) / 12.0).abs() < 1e-9);
    // Its bottom is at x = 1 and its height, turned by 90 degrees about z, along -x.
    assert!((body.pose.translation.vector - Vec3::new(0.8, 2.0, 3.0)).norm() < 1e-12);
    assert_eq!((body.vertices.len(), body.triangles.len()), (8, 12));
    assert!(body.vertices.iter().all(|p| (p.abs() - Vec3::new(0.1, 0.2, 0.3)).norm() < 1e-12));
}

#[test]
fn mass_and_cells_of_rigid_bodies_can_be_given() {
    let light = built(&format!("{BRICK}mass = 3.0\n"));
    assert!((free(&light.model.rigid_bodies[0]).0 - 3.0).abs() < 1e-12);
    let fine = built_with(BRICK, |scene| scene.set("body.brick.shape.cells=[2,2,2]").unwrap());
    assert_eq!(fine.model.rigid_bodies[0].triangles.len(), 48);
    let mesh = built("[[body]]\nname = \"b\"\nkind = \"rigid\"\nmesh = \"builtin:bunny_coarse.obj\"\nsize = 0.2\ndensity = 500\n");
    let (mass, inertia) = free(&mesh.model.rigid_bodies[0]);
    assert!((0.3..1.5).contains(&mass) && inertia.symmetric_eigenvalues().min() > 0.0, "{mass}");
}

#[test]
fn an_elastic_mesh_weighs_as_much_as_a_rigid_one() {
    let of = |lines: &str| built(&format!("[[body]]\nname = \"b\"\nmesh = \"builtin:bunny_coarse.obj\"\nsize = 0.2\n{lines}\n")).model;
    let rigid = free(&of("kind = \"rigid\"").rigid_bodies[0]).0;
    for method in ["voxel", "graded", "bounding", "stuffing"] {
        let elastic = of(&format!("method = \"{method}\""));
        assert!((elastic.node_masses.iter().sum::<f64>() / rigid - 1.0).abs() < 1e-9, "{method}");
        assert!((elastic.bodies[0].mass / rigid - 1.0).abs() < 1e-9, "{method}");
    }
}

#[test]
fn static_and_driven_meshes_turn_about_their_origin() {
    let torus = "[[body]]\nname = \"t\"\nkind = \"driven\"\nshape = { type = \"torus\", radius = 0.2, tube_radius = 0.05, resolution = 4 }\n\
                 origin = \"bottom\"\nposition = [0, 1, 0]\nmotion = { keyframes = [{ time = 1 }, { time = 2, position = [0, 2, 0] }] }\n";
    let built = built(torus);
    let body = &built.model.rigid_bodies[0];
    assert!(!body.is_free() && built.model.obstacles.is_empty());
    assert!(body.vertices.iter().map(|p| p.y).fold(f64::INFINITY, f64::min).abs() < 1e-12);
    assert!((body.pose_at(1.5).translation.vector - Vec3::new(0.0, 2.0, 0.0)).norm() < 1e-12);
}

#[test]
fn scattered_copies_do_not_overlap() {
    let text = "[[body]]\nname = \"b\"\nshape = { type = \"box\", size = [0.3, 0.1, 0.2], cells = [1, 1, 1] }\n\
                scatter = { count = 60, seed = 4, min = [-0.5, 0, -0.5], max = [0.5, 3, 0.5] }\n\
                [[body]]\nname = \"r\"\nkind = \"rigid\"\nshape = { type = \"box\", size = [0.2, 0.2, 0.2] }\n\
                scatter = { count = 20, seed = 4, min = [-0.5, 0, -0.5], max = [0.5, 3, 0.5] }\n\
                [[body]]\nname = \"floor\"\nkind = \"static\"\nshape = { type = \"plane\" }\n";
    let model = built(text).model;
    assert!(model.rest_positions.iter().all(|p| p.y > 0.0));
    // Boxes apart: their corners and the centres of their edges are outside each other.
    let mut boxes: Vec<Vec<Vec3>> = model.bodies.iter().map(|b| model.rest_positions[b.nodes.clone()].to_vec()).collect();
    for body in &model.rigid_bodies {
        boxes.push(body.vertices.iter().map(|p| (body.pose * nalgebra::Point3::from(*p)).coords).collect());
    }
    assert_eq!(boxes.len(), 80);
    let inside = |corners: &[Vec3], p: &Vec3| {
        // Corner 0 and its three neighbours span the box: in every direction the point is between two faces.
        let center = corners.iter().sum::<Vec3>() / 8.0;
        let mut reach: Vec<Vec3> = corners.iter().map(|c| c - corners[0]).collect();
        reach.sort_by(|a, b| a.norm().total_cmp(&b.norm()));
        let axes: Vec<Vec3> = reach[1..].iter().filter(|e| reach[1].dot(e).abs() < 1e-9 || **e == reach[1]).copied().collect();
        let third = axes[0].cross(&axes[1]).normalize();
        let depth = corners.iter().map(|c| (c - center).dot(&third).abs()).fold(0.0, f64::max);
        let along = |axis: &Vec3| (p - center).dot(&axis.normalize()).abs() <= axis.norm() / 2.0;
        along(&axes[0]) && along(&axes[1]) && (p - center).dot(&third).abs() <= depth
    };
    for (i, a) in boxes.iter().enumerate() {
        for (_, b) in boxes.iter().enumerate().filter(|(j, _)| *j != i) {
            for corner in a.iter().chain(&[a.iter().sum::<Vec3>() / 8.0]) {
                assert!(!inside(b, corner), "box {i}");
            }
        }
    }
    let crowded = scene(&format!("format = 1\n{}", text.replace("count = 60", "count = 900"))).unwrap();
    let error = build(&crowded).unwrap_err().to_string();
    assert!(error.starts_with("test.toml:5:11: body.b.scatter: copy ") && error.contains("no place that is free"), "{error}");
}

#[test]
fn copies_in_a_circle_go_around_the_y_axis() {
    let built = built(
        "[[body]]\nname = \"b\"\nkind = \"rigid\"\nshape = { type = \"box\", size = [0.1, 0.1, 0.1] }\nposition = [1, 2, 0]\ncircle = 4\n",
    );
    let places: Vec<Vec3> = built.model.rigid_bodies.iter().map(|b| b.pose.translation.vector).collect();
    for (place, wanted) in places.iter().zip([[1.0, 2.0, 0.0], [0.0, 2.0, -1.0], [-1.0, 2.0, 0.0], [0.0, 2.0, 1.0]]) {
        assert!((place - Vec3::from(wanted)).norm() < 1e-12, "{place}");
    }
    assert_eq!(built.model.rigid_bodies[3].name, "b[3]");
}

#[test]
fn the_scenes_of_contact_have_the_sizes_of_the_seeds() {
    // Name, bodies, tets, surface triangles, nodes of one body.
    let exact = [("rings", 120, 12_960, 17_280, 72), ("rings_stiff", 120, 12_960, 17_280, 72), ("pyramid", 140, 60_480, 73_920, 260)];
    for (name, bodies, tets, triangles, nodes) in exact {
        let model = build(&Scene::builtin(name).unwrap()).unwrap().model;
        assert_eq!((model.bodies.len(), model.tets.len(), model.surface.triangles.len()), (bodies, tets, triangles), "{name}");
        assert_eq!(model.bodies[0].nodes.len(), nodes, "{name}");
    }
    let near = [("bunnies", 120, 152_400, 738), ("bearing", 9, 115_659, 5120), ("cubes", 2000, 88_000, 48), ("mixed", 201, 150_000, 0)];
    for (name, bodies, tets, triangles) in near {
        let model = build(&Scene::builtin(name).unwrap()).unwrap().model;
        let ratio = model.tets.len() as f64 / f64::from(tets);
        println!("{name}: {} tets, {} nodes, {} triangles", model.tets.len(), model.n_nodes(), model.surface.triangles.len());
        assert!(model.bodies.len() == bodies && (0.85..1.15).contains(&ratio), "{name}: {}", model.tets.len());
        assert!(triangles == 0 || model.bodies[0].triangles.len() == triangles, "{name}");
    }
}

#[test]
fn the_scenes_of_the_benchmark_are_as_published() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/bench");
    for (name, nodes, tets, dt, iterations) in
        [("beam_19k", 10 * 10 * 40, 18_954, 0.01, 20), ("beam_101k", 16 * 16 * 76, 101_250, 0.04, 10)]
    {
        let built = build(&Scene::from_file(&folder.join(format!("{name}.toml"))).unwrap_or_else(|e| panic!("{e}"))).unwrap();
        assert_eq!((built.model.n_nodes(), built.model.tets.len()), (nodes, tets), "{name}");
        assert_eq!((built.params.time_step, built.params.fixed_iterations), (dt, Some(iterations)), "{name}");
        let clamped = built.model.rest_positions.iter().zip(&built.model.fixed).filter(|(_, fixed)| **fixed);
        assert!(
            clamped.clone().count() == nodes / [40, 76][usize::from(tets > 20_000)] && clamped.into_iter().all(|(x, _)| x.x.abs() < 1e-12),
            "{name}"
        );
    }
    let path = folder.join("beam_19k.toml");
    let refused = Scene::load(&path.to_string_lossy(), &["simulation.solver=ssn".into()]).unwrap_err().to_string();
    assert!(refused.contains("fixed_iterations") && refused.contains("auto and cr"), "{refused}");
}

#[test]
fn the_scenes_shared_with_peers_are_as_agreed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/peers");
    let load = |name: &str| build(&Scene::from_file(&folder.join(format!("{name}.toml"))).unwrap_or_else(|e| panic!("{e}"))).unwrap();
    let sizes = [
        ("cantilever_810", 1, 810),
        ("cantilever_10k", 1, 10_290),
        ("cantilever_52k", 1, 51_840),
        ("drop", 1, 3072),
        ("pile8", 8, 8 * 384),
        ("pile27", 27, 27 * 384),
        ("pile64", 64, 64 * 384),
        ("incline_stick", 1, 648),
        ("incline_slide", 1, 648),
    ];
    for (name, bodies, tets) in sizes {
        let built = load(name);
        assert_eq!((built.model.bodies.len(), built.model.tets.len()), (bodies, tets), "{name}");
        assert!((built.params.time_step * 60.0 - 1.0).abs() < 1e-15 && (built.params.gravity.norm() - 9.81).abs() < 1e-9, "{name}");
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), sizes.len());
    let lowest = |built: &Built| built.model.rest_positions.iter().map(|p| p.y).fold(f64::INFINITY, f64::min);
    assert!((lowest(&load("drop")) - 0.5).abs() < 1e-12 && (lowest(&load("pile27")) - 0.05).abs() < 1e-12);
    // Odd layers are shifted.
    let pile = load("pile27").model;
    let first = |body: usize| pile.rest_positions[pile.bodies[body].nodes.start];
    assert!((first(9) - first(0) - Vec3::new(0.03, 0.13, 0.02)).norm() < 1e-12);
    assert!((first(18) - first(0) - Vec3::new(0.0, 0.26, 0.0)).norm() < 1e-12);
    assert!((first(1) - first(0) - Vec3::new(0.13, 0.0, 0.0)).norm() < 1e-12);
    for (name, factor) in [("incline_stick", 0.9), ("incline_slide", 1.2)] {
        let gravity = load(name).params.gravity;
        assert!((gravity.x / -gravity.y - factor * 0.5).abs() < 1e-9, "{name}");
    }
    let tip = &load("cantilever_810").probes[0];
    assert_eq!((tip.name.as_str(), tip.nodes.len()), ("tip", 16));
}

#[test]
fn the_reduced_scenes_build() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenes");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let built = Scene::from_file(&path).and_then(|scene| build(&scene)).unwrap_or_else(|e| panic!("{e}"));
        let name = built.name.as_str();
        let sizes = (built.model.bodies.len(), built.model.rigid_bodies.len(), built.model.n_nodes());
        let wanted = match name.split('_').next() {
            Some("s1") => (1, 0, 72),
            Some("s2") => (12, 0, 12 * 72),
            Some("s4") => (10, 0, 2600),
            Some("s5") => (0, 5, 0),
            Some("s6") => (20, 0, sizes.2),
            Some("s7" | "s10") => (1, 0, sizes.2),
            Some("s8") => (9, 1, sizes.2),
            Some("s9") => (4, 0, 4 * 4 * 26),
            _ => panic!("{name} is not one of the reduced scenes"),
        };
        assert_eq!(sizes, wanted, "{name}");
        count += 1;
    }
    assert_eq!(count, 9);
}

#[test]
fn attachments_hold_points_and_regions() {
    let text = format!(
        "format = 1\n{BRICK}[[body]]\nname = \"bar\"\nshape = {{ type = \"box\", size = [1, 0.2, 0.2], cells = [5, 1, 1] }}\n\
         [[body]]\nname = \"hook\"\nkind = \"driven\"\nshape = {{ type = \"sphere\", radius = 0.1 }}\nposition = [0, 3, 0]\n\
         [[attachment]]\nname = \"rope\"\nstiffness = 50\ndamping = 2\nfrom = {{ body = \"bar\", region = {{ side = \"x+\" }} }}\n\
         to = {{ body = \"brick\", point = [0.8, 2.0, 3.2] }}\n\
         [[attachment]]\nstiffness = 1\nlength = 0.5\nfrom = {{ body = \"bar\", point = [-9, 0.1, 0.1] }}\nto = {{ body = \"hook\", point = [0, 3, 0.1] }}\n\
         [[attachment]]\nstiffness = 1\nfrom = {{ point = [1, 1, 1] }}\nto = {{ body = \"brick\", region = {{ side = \"z-\" }} }}\n"
    );
    let built = build(&scene(&text).unwrap()).unwrap_or_else(|e| panic!("{e}"));
    let [rope, line, tie] = &built.model.attachments[..] else { panic!("{:?}", built.model.attachments) };
    assert_eq!((rope.name.as_str(), rope.stiffness, rope.damping), ("rope", 50.0, 2.0));
    let End::Nodes(held) = &rope.ends[0] else { panic!("{rope:?}") };
    let center: Vec3 = held.iter().map(|&(n, w)| built.model.rest_positions[n as usize] * w).sum();
    assert!(held.len() == 4 && (held.iter().map(|h| h.1).sum::<f64>() - 1.0).abs() < 1e-12);
    assert!((rope.length - (center - Vec3::new(0.8, 2.0, 3.2)).norm()).abs() < 1e-12);
    assert!(matches!(&rope.ends[1], End::Rigid { body: 0, point } if (point - Vec3::z() * 0.2).norm() < 1e-12));
    let End::Nodes(corner) = &line.ends[0] else { panic!("{line:?}") };
    assert!(corner.len() == 1 && (built.model.rest_positions[corner[0].0 as usize] - Vec3::new(-0.5, 0.1, 0.1)).norm() < 1e-12);
    assert!(
        matches!(&line.ends[1], End::Obstacle { obstacle: 0, point } if (point - Vec3::z() * 0.1).norm() < 1e-12) && line.length == 0.5
    );
    assert_eq!(tie.ends[0], End::World(Vec3::repeat(1.0)));
    assert!(matches!(&tie.ends[1], End::Rigid { body: 0, point } if (point + Vec3::z() * 0.3).norm() < 1e-12), "{tie:?}");
}

#[test]
fn a_surface_is_filled_by_the_method_of_choice() {
    let bunny = |method: &str| {
        let lines = format!("[[body]]\nname = \"b\"\nmesh = \"builtin:bunny_coarse.obj\"\nsize = 0.2\nresolution = 16\n{method}");
        let model = built(&lines).model.clone();
        (model.bodies[0].volume, model.tets.len())
    };
    let (surface, _) = bunny("method = \"stuffing\"");
    let (voxels, n_voxels) = bunny("");
    assert_eq!(bunny("method = \"voxel\""), (voxels, n_voxels));
    let (graded, n_graded) = bunny("method = \"graded\"");
    let (bounding, _) = bunny("method = \"bounding\"");
    assert!(voxels > 1.2 * surface && (graded - voxels).abs() < 0.25 * voxels && n_graded < n_voxels, "{voxels} {graded} {surface}");
    assert!(surface < bounding && bounding < voxels, "{surface} {bounding} {voxels}");
}
