//! Every mesh file of `tests/data` and `assets`: how it reads, what the doctor says, and that it falls and stays intact.

use std::path::{Path, PathBuf};

use pliant::mesh::doctor::{self, Report};
use pliant::mesh::{MeshFile, open_mesh};
use pliant::scene::{self, BackendChoice, Scene};
use pliant::sim::{Health, Options, Simulation};

fn root(folder: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(name)
}

fn examined(name: &str) -> (MeshFile, Report) {
    let file = open_mesh(&root("tests/data", name)).unwrap_or_else(|error| panic!("{error}"));
    let report = doctor::examine(&file);
    (file, report)
}

/// A fault with its count before and after mending.
type Fault = (&'static str, usize, usize);

/// File, cells, pieces, first word of the verdict, and its faults. Cells, pieces and most faults are those that independent programs
/// count (trimesh, meshio, Gmsh, `tetgen -d`).
#[rustfmt::skip]
const FILES: &[(&str, usize, usize, &str, &[Fault])] = &[
    ("anchor.off", 7598, 1, "sound", &[]),
    ("ant_parts.ply", 912, 15, "sound", &[("self_intersections", 99, 99)]),
    ("bear_skin.obj", 3968, 1, "sound", &[]),
    ("boeing_soup.off", 2564, 1, "sound", &[("duplicate_vertices", 1477, 0), ("boundary_edges", 2714, 0)]),
    ("box_textured.glb", 12, 1, "sound", &[("duplicate_vertices", 16, 0), ("boundary_edges", 24, 0)]),
    ("bunny_2k.obj", 3674, 1, "sound", &[]),
    ("bunny_res4_closed.obj", 826, 1, "sound", &[]),
    ("bunny_res4_scan_open.ply", 948, 1, "broken", &[("repeated_triangles", 40, 0), ("boundary_edges", 38, 38), ("misoriented_edges", 41, 41),
        ("non_manifold_edges", 70, 47), ("non_manifold_vertices", 4, 2), ("self_intersections", 1, 1)]),
    ("cow.off", 5804, 1, "sound", &[("duplicate_vertices", 1, 0), ("non_manifold_vertices", 1, 1), ("self_intersections", 89, 89)]),
    ("cube.off", 12, 1, "sound", &[]),
    ("elephant_with_holes.off", 4463, 1, "sound", &[("duplicate_vertices", 65, 0), ("boundary_edges", 1353, 0)]),
    ("fandisk.off", 12946, 1, "sound", &[]),
    ("joint.off", 446, 1, "sound", &[]),
    ("knot_linked_pair.off", 11520, 2, "sound", &[]),
    ("mushroom_open.off", 4608, 1, "broken", &[("boundary_edges", 64, 64)]),
    ("rj45_plug.obj", 1654, 1, "sound", &[("degenerate_triangles", 22, 22), ("boundary_edges", 20, 0)]),
    ("rotor.off", 4800, 1, "sound", &[]),
    ("sphere_ascii.stl", 320, 1, "sound", &[]),
    ("sphere_binary.stl", 320, 1, "sound", &[]),
    ("sphere_icosa.off", 320, 1, "sound", &[]),
    ("terrain_three_peaks.off", 3671, 1, "broken", &[("boundary_edges", 141, 141)]),
    ("torus_quads.obj", 2178, 1, "sound", &[("degenerate_triangles", 128, 128)]),
    ("armadillo_7k.vtk", 19091, 1, "sound", &[("slivers", 31, 31)]),
    ("bear.ele", 5354, 1, "sound", &[("slivers", 152, 152)]),
    ("bear.mesh", 5354, 1, "sound", &[("slivers", 152, 152)]),
    ("bear.msh", 5354, 1, "sound", &[("slivers", 152, 152)]),
    ("bear.node", 5354, 1, "sound", &[("slivers", 152, 152)]),
    ("bear.vtk", 5354, 1, "sound", &[("slivers", 152, 152)]),
    ("bear.vtu", 5354, 1, "sound", &[("slivers", 152, 152)]),
    ("bear_v22_binary.msh", 5354, 1, "sound", &[("slivers", 152, 152)]),
    ("bear_v41_binary.msh", 5354, 1, "sound", &[("slivers", 152, 152)]),
    ("bunny_2k.ele", 9695, 1, "sound", &[]),
    ("bunny_2k.node", 9695, 1, "sound", &[]),
    ("cube86.mesh", 86, 1, "sound", &[]),
    ("sphere_remesh.mesh", 3586, 1, "sound", &[("slivers", 2, 2)]),
    ("tetgen_sample.ele", 304, 1, "sound", &[]),
    ("tetgen_sample.node", 304, 1, "sound", &[]),
];

#[test]
fn every_file_gives_what_is_known_of_it() {
    for &(name, cells, pieces, verdict, faults) in FILES {
        let (_, report) = examined(name);
        let found: Vec<Fault> = report.findings.iter().map(|f| (f.fault, f.count, f.left)).collect();
        assert_eq!((report.cells, report.pieces, found.as_slice()), (cells, pieces, faults), "{name}");
        assert!(report.verdict.starts_with(verdict), "{name}: {report}");
    }
}

#[test]
fn every_mesh_file_is_in_the_table_and_in_the_list_of_sources() {
    let sources = std::fs::read_to_string(root("tests/data", "README.md")).unwrap();
    for entry in std::fs::read_dir(root("tests/data", "")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == "README.md" || sources.contains(&format!("`{name}`")), "{name} has no source in tests/data/README.md");
        let is_mesh = scene::is_mesh(Path::new(&name));
        assert_eq!(is_mesh, FILES.iter().any(|(known, ..)| *known == name), "{name}");
    }
}

/// Drops a mesh with default settings and looks at it after `seconds`.
fn drop_for(folder: &str, name: &str, flags: &[&str], seconds: f64) -> (Health, usize) {
    let flags: Vec<String> = flags.iter().map(ToString::to_string).collect();
    let built = scene::build(&Scene::from_mesh_with(&root(folder, name), &flags).unwrap()).unwrap_or_else(|error| panic!("{error}"));
    let steps = (seconds / built.params.time_step).round() as usize;
    let options = Options { backend: Some(BackendChoice::Cpu), ..Options::default() };
    let mut simulation = Simulation::new(built, &options).unwrap_or_else(|error| panic!("{error}"));
    for _ in 0..steps {
        simulation.step().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let positions = simulation.node_positions().unwrap();
    (Health::of(simulation.model(), &positions), simulation.model().tets.len())
}

/// The drawn surface where that serves: also one that was only welded. The tets where it crosses itself, is open, or is thinner than
/// they are.
#[test]
fn what_touches_of_a_dropped_mesh_follows_its_surface() {
    for (name, with_tets) in
        [("joint.off", false), ("box_textured.glb", false), ("cow.off", true), ("mushroom_open.off", true), ("boeing_soup.off", true)]
    {
        let built = scene::build(&Scene::from_mesh(&root("tests/data", name)).unwrap()).unwrap();
        assert_eq!(built.model.bodies[0].has_own_collision, with_tets, "{name}: {:?}", built.notes);
    }
}

/// A cow of the default stiffness and fineness stands on legs a few tets thick; where they folded, a step took seconds.
#[test]
fn thin_legs_carry_a_dropped_body() {
    let start = std::time::Instant::now();
    let (health, tets) = drop_for("tests/data", "cow.off", &[], 0.5);
    println!("{tets} tets, {health:?}, {:.1} s", start.elapsed().as_secs_f64());
    assert!(health.is_intact() && (-1e-3..5e-3).contains(&health.lowest) && health.longest < 1.05, "{health:?}");
    assert!((health.volume - 1.0).abs() < 0.02 && health.inverted == 0.0, "{health:?}");
    // It takes about 1 s, and took more than 60 s.
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

/// One of each kind: tets with bad elements, a closed surface, a soup that was welded, a scan with everything wrong, glTF.
#[test]
fn dropped_meshes_fall_and_stay_intact() {
    for (folder, name) in [
        ("tests/data", "tetgen_sample.ele"),
        ("tests/data", "sphere_remesh.mesh"),
        ("tests/data", "joint.off"),
        ("tests/data", "box_textured.glb"),
        ("tests/data", "bunny_res4_scan_open.ply"),
    ] {
        // Coarser than the default, so that the test is quick.
        let (health, tets) = drop_for(folder, name, &["body.0.tets=1500"], 2.0);
        println!("{name}: {tets} tets, {health:?}");
        assert!(health.is_intact(), "{name}: {health:?}");
        assert!((-1e-3..5e-3).contains(&health.lowest), "{name} lies on the floor: {health:?}");
    }
}
