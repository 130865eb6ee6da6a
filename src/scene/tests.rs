mod bodies;
mod collision;
mod materials;
mod elements;
mod names;

use std::path::Path;

use super::*;
use crate::body::BodyRef;
use crate::cancel::CancelToken;
use crate::math::Vec3;

const FLOOR_AND_BALL: &str = r#"format = 1
[simulation]
time_step = 0.02
[material.rubber]
young_modulus = 2e5
[[group]]
name = "lift"
position = [0, 1, 0]
[[body]]
name = "ball"
shape = { type = "sphere", radius = 0.1, resolution = 4 }
parent = "lift"
material = "rubber"
[[body]]
name = "floor"
kind = "static"
shape = { type = "plane" }
"#;

fn scene(text: &str) -> Result<Scene, SceneError> {
    Scene::from_text("test", "test.toml", text, None, &[])
}

fn with(flags: &[&str]) -> Result<Scene, SceneError> {
    let flags: Vec<String> = flags.iter().map(|s| s.to_string()).collect();
    Scene::from_text("test", "test.toml", FLOOR_AND_BALL, None, &flags)
}

/// The message about a scene of the given lines after `format = 1`.
fn complaint(lines: &str) -> String {
    let scene = scene(&format!("format = 1\n{lines}"));
    match scene.and_then(|s| build(&s)) {
        Ok(_) => "no complaint".into(),
        Err(error) => error.to_string(),
    }
}

const TWO_PLACES: &str = "[{ time = 1, position = [0, 0, 0] }, { time = 2, position = [0, 1, 0] }]";
const PLANE: &str = "shape = { type = \"plane\" }\n";

#[test]
fn complaints_name_place_key_and_what_is_accepted() {
    let body = "[[body]]\nname = \"b\"\n";
    let ball = "shape = { type = \"sphere\", radius = 1.0, resolution = 2 }\n";
    let cases: &[(&str, &[&str])] = &[
        // Unknown keys, with the nearest known one.
        ("[simulation]\ntime_stp = 0.1", &["test.toml:3:1: simulation.time_stp: unknown key", "did you mean \"time_step\"?"]),
        ("[simulatoin]", &["test.toml:2:2: simulatoin: unknown key", "\"simulation\"?"]),
        ("[simulation]\nzzz = 1", &["test.toml:3:1", "Accepted: \"time_step\", \"substeps\""]),
        // Types and ranges.
        (
            "[simulation]\ntime_step = \"fast\"",
            &["test.toml:3:13: simulation.time_step: expected a number > 0 and <= 10 [s], found the text \"fast\""],
        ),
        ("[simulation]\ntime_step = -0.1", &["expected a number > 0 and <= 10 [s], found -0.1"]),
        ("[simulation]\ntime_step = nan", &["found NaN"]),
        ("[simulation]\ngravity = [0, inf, 0]", &["three numbers [x, y, z] [m/s^2], found [0, inf, 0]"]),
        ("[simulation]\ngravity = [0, 1]", &["found a list of 2 values"]),
        ("[simulation]\nsubsteps = 1.5", &["an integer from 1 to 100, found 1.5"]),
        ("[simulation]\nsolver = \"magic\"", &["expected \"auto\", \"cwc\", \"cr\"", "found the text \"magic\""]),
        ("simulation = 3", &["test.toml:2:14: simulation: expected a table, found 3"]),
        ("[material.m]\npoisson_ratio = 0.5", &["material.m.poisson_ratio: expected a number >= 0 and <= 0.499, found 0.5"]),
        ("body = 1", &["body: expected a list of tables, [[body]], found 1"]),
        ("[[body]]\nname = \"a b\"", &["body.a b.name: expected a name of letters, digits, _ and -"]),
        ("[light]\ncolor = \"#12\"", &["light.color: expected a colour \"#rrggbb\" or one of coral"]),
        // Missing values.
        ("[[body]]\nshape = { type = \"plane\" }", &["test.toml:2:1: body.0: \"name\" is missing"]),
        (body, &["test.toml:2:1: body.b: neither mesh nor shape is given"]),
        (&format!("{body}shape = {{ radius = 1.0 }}"), &["body.b.shape: \"type\" is missing"]),
        (&format!("{body}shape = {{ type = \"sphere\" }}"), &["test.toml:4:9: body.b.shape: \"radius\" is missing"]),
        (
            &format!("{body}shape = {{ type = \"spere\" }}"),
            &["test.toml:4:18: body.b.shape.type: there is no shape \"spere\"; did you mean \"sphere\"?"],
        ),
        // Names and references.
        (&format!("{body}{ball}{body}{ball}"), &["test.toml:6:8: body.b.name: there are two bodies of the name \"b\""]),
        (&format!("{body}{ball}material = \"gum\""), &["body.b.material: there is no material \"gum\"; add a table [material.gum]"]),
        (&format!("{body}{ball}parent = \"g\""), &["test.toml:5:10: body.b.parent: there is no group \"g\""]),
        ("[[group]]\nname = \"a\"\nparent = \"a\"", &["group.a.parent: the groups carry each other in a circle"]),
        ("[[probe]]\nname = \"p\"\nbody = \"b\"", &["test.toml:4:8: probe.p.body: there is no body \"b\""]),
        ("[[contact.pair]]\na = \"b\"\nb = \"c\"\nfriction = 1", &["contact.pair.0.a: there is no body \"b\""]),
        // Values that exclude each other or do not apply.
        (&format!("{body}{ball}mesh = \"x.obj\""), &["either a mesh or a shape"]),
        (&format!("{body}kind = \"rigid\"\nshape = {{ type = \"plane\" }}"), &["a plane has no inside that could weigh anything"]),
        (&format!("{body}kind = \"rigid\"\n{ball}mass = 1\ndensity = 2"), &["either a density or a mass"]),
        (
            &format!("{body}kind = \"rigid\"\n{ball}material = \"m\""),
            &["body.b.material: this is for deformable bodies, and this one is rigid"],
        ),
        (&format!("{body}{ball}density = 5"), &["body.b.density: this is for rigid bodies", "its material has the density"]),
        (
            &format!("{body}{ball}circle = 3\narray = {{ count = [1, 1, 1], pitch = [1, 1, 1] }}"),
            &["body.b.circle: this body has copies by array"],
        ),
        (&format!("{body}kind = \"static\"\nfix = []\n{}", "shape = { type = \"plane\" }"), &["body.b.fix: this is for deformable bodies"]),
        (
            &format!("{body}kind = \"static\"\n{ball}"),
            &["body.b.shape.resolution: this is for deformable and rigid bodies", "the shape is exact"],
        ),
        (&format!("{body}{ball}motion = {{}}"), &["body.b.motion: this is for driven bodies"]),
        (&format!("{body}shape = {{ type = \"plane\" }}"), &["a plane has no inside"]),
        (
            &format!("{body}kind = \"driven\"\n{PLANE}motion = {{ keyframes = [{{ time = 1 }}, {{ time = 1 }}] }}"),
            &["body.b.motion.keyframes.1.time: the keyframe before is at 1 s"],
        ),
        (
            &format!(
                "{body}kind = \"driven\"\n{PLANE}motion = {{ keyframes = [{{ time = 0 }}, {{ time = 1, position = [1, 0, 0] }}], after = \"repeat\" }}"
            ),
            &["a motion that repeats must end where it begins"],
        ),
        (
            &format!("{body}{ball}[[attachment]]\nstiffness = 1\nfrom = {{ body = \"b\" }}\nto = {{ point = [0, 0, 0] }}"),
            &["attachment.0.from: an end is a point of the world, or a body with"],
        ),
        (&format!("{body}{ball}[[grab]]\nbody = \"c\"\npoint = [0, 0, 0]\npath = {TWO_PLACES}"), &["grab.0.body: there is no body \"c\""]),
        (
            &format!("{body}kind = \"static\"\n{PLANE}[[grab]]\nname = \"hand\"\nbody = \"b\"\npoint = [0, 0, 0]\npath = {TWO_PLACES}"),
            &["grab.hand.body: no hand moves \"b\", which is static or driven; name a deformable or rigid body"],
        ),
        (
            &format!("{body}{ball}[[grab]]\nbody = \"b\"\npoint = [0, 0, 0]\npath = [{{ time = 1, position = [0, 0, 0] }}]"),
            &["grab.0.path: a hand needs a place where it takes hold and one where it lets go"],
        ),
        (
            &format!("{body}{ball}[[grab]]\nbody = \"b\"\npoint = [0, 0, 0]\npath = {}", TWO_PLACES.replace("time = 2", "time = 1")),
            &["grab.0.path.1.time: the place before is at 1 s; give a later time"],
        ),
        (
            &format!("{body}{ball}{}", format!("[[grab]]\nbody = \"b\"\npoint = [0, 0, 0]\npath = {TWO_PLACES}\n").repeat(5)),
            &["grab.4: these are more than 4 grabs; leave some out"],
        ),
        ("[[attachment]]\nstiffness = 1\nfrom = { point = [0, 0, 1] }\nto = { point = [0, 0, 0] }", &["both ends are points of the world"]),
        (
            &format!(
                "{body}kind = \"static\"\n{PLANE}[[attachment]]\nstiffness = 1\nfrom = {{ body = \"b\", point = [0, 0, 1] }}\nto = {{ point = [0, 0, 0] }}"
            ),
            &["or of bodies that stand or are driven"],
        ),
        (&format!("{body}{ball}size = 1"), &["body.b.size: this is for meshes"]),
        (&format!("{body}{ball}fix = [{{ side = \"x-\", min = [0, 0, 0] }}]"), &["body.b.fix.0: a region is either a box"]),
        ("[camera]\neye = [0, 0, 1]\ndistance = 1", &["camera.distance: the camera has an eye already"]),
        // Meshes and regions, found when the scene is built.
        (
            &format!("{body}{ball}fix = [{{ min = [5, 5, 5], max = [6, 6, 6] }}]"),
            &["test.toml:5:8: body.b.fix.0: no node of \"b\" is inside; at rest the body reaches from [-1.0000"],
        ),
        (&format!("{body}mesh = \"x.obj\""), &["a scene inside the program has no folder"]),
        (
            &format!("{body}mesh = \"builtin:rabbit.obj\""),
            &["test.toml:4:8: body.b.mesh: the program has no mesh of this name", "bunny.obj"],
        ),
        (&format!("{body}{ball}scale = 1e-9"), &["Pliant handles bodies from 1e-4 to 1e4 m"]),
    ];
    for (lines, wanted) in cases {
        let message = complaint(lines);
        for part in *wanted {
            assert!(message.contains(part), "{lines}\ngave: {message}\nwithout: {part}");
        }
    }
}

#[test]
fn all_mistakes_are_told_at_once_and_toml_errors_have_a_place() {
    let error = scene("format = 2\n[simulation]\ntime_step = 0\nbackend = \"tpu\"\n").unwrap_err();
    assert_eq!(error.diagnostics.len(), 3, "{error}");
    let error = scene("format = 1\n[simulation\n").unwrap_err().to_string();
    assert!(error.starts_with("test.toml:2:") && error.contains("not TOML"), "{error}");
    let error = scene("format = 1\nformat = 1\n").unwrap_err().to_string();
    assert!(error.starts_with("test.toml:2:1: ") && error.contains("duplicate key"), "{error}");
    assert!(scene("").unwrap_err().to_string().contains("\"format\" is missing"));
}

/// What shows only when bodies are made and placed: first what is wrong with them, then with what holds them.
#[test]
fn mistakes_of_making_are_told_at_once() {
    let keys = |text: &str| -> Vec<String> {
        let error = build(&scene(&format!("format = 1\n{text}")).unwrap()).unwrap_err();
        error.diagnostics.into_iter().map(|diagnostic| diagnostic.key).collect()
    };
    let body = |name: &str, more: &str| {
        format!("[[body]]\nname = \"{name}\"\nshape = {{ type = \"box\", size = [1, 1, 1], cells = [1, 1, 1] }}\n{more}\n")
    };
    let nowhere = "{ min = [8, 8, 8], max = [9, 9, 9] }";
    let fixed = format!("fix = [{nowhere}]");
    assert_eq!(keys(&[body("a", &fixed), body("b", ""), body("c", "scale = 1e-9")].concat()), ["body.a.fix.0", "body.c.shape"]);
    let crowded = "scatter = { count = 50, min = [0, 0, 0], max = [2, 2, 2] }";
    assert_eq!(keys(&[body("a", crowded), body("b", crowded)].concat()), ["body.a.scatter", "body.b.scatter"]);
    let held = format!(
        "[[force]]\nbody = \"a\"\nregion = {nowhere}\nforce = [1, 0, 0]\n[[probe]]\nname = \"p\"\nbody = \"a\"\nregion = {nowhere}\n\
         [[force]]\nbody = \"a\"\nregion = {nowhere}\nforce = [1, 0, 0]\n"
    );
    assert_eq!(keys(&[body("a", ""), held].concat()).len(), 3);
}

#[test]
fn missing_files_are_named() {
    let missing = Scene::from_file(Path::new("no/such.toml")).unwrap_err().to_string();
    assert!(missing.contains("no/such.toml: the scene cannot be read"), "{missing}");
    let text = "format = 1\n[[body]]\nname = \"b\"\nmesh = \"nowhere.obj\"\n";
    let scene = Scene::from_text("t", "t.toml", text, Some(Path::new("some/folder")), &[]).unwrap();
    let error = build(&scene).unwrap_err().to_string();
    assert!(error.starts_with("t.toml:4:8: body.b.mesh: some/folder/nowhere.obj: "), "{error}");
    let error = Scene::load("buny", &[]).unwrap_err().to_string();
    assert!(error.contains("there is no such file") && error.contains("did you mean \"bunny\"?"), "{error}");
}

#[test]
fn flags_change_values_before_the_check() {
    let built = |flags: &[&str]| build(&with(flags).unwrap()).unwrap();
    assert_eq!(built(&["simulation.time_step=0.005"]).params.time_step, 0.005);
    assert_eq!(built(&["simulation.backend=cpu"]).backend, BackendChoice::Cpu);
    assert_eq!(built(&["contact.friction = 0.3"]).model.obstacles[0].friction, [0.3]);
    assert_eq!(built(&["material.rubber.young_modulus=1e6"]).model.bodies[0].material.young_modulus, 1e6);
    assert_eq!(built(&["body.0.name=egg"]).model.bodies[0].name, "egg");
    assert!(built(&["group.lift.position=[0,3,0]"]).model.rest_positions[0].y > 2.8);
    let coarse = built(&[]).model.n_nodes();
    assert!(built(&["body.ball.shape.resolution=8"]).model.n_nodes() > coarse);
    assert_eq!(built(&["body.ball.shape={ type = \"box\", size = [1,1,1], cells = [1,1,1] }"]).model.n_nodes(), 8);
    // A flag may mend a file, and the last one wins.
    assert_eq!(built(&["simulation.time_step=70", "simulation.time_step=0.5"]).params.time_step, 0.5);
}

#[test]
fn flags_that_are_wrong_name_themselves() {
    for (flag, wanted) in [
        ("simulation.time_step", "expected PATH=VALUE"),
        ("simulation.time_stp=1", "\"simulation\" has no \"time_stp\"; did you mean \"time_step\"?"),
        ("nowhere=1", "the scene has no \"nowhere\". Accepted: \"format\""),
        ("body.bal.scale=1", "\"body\" has no \"bal\"; did you mean \"ball\"?"),
        ("material.gum.density=1", "\"material\" has no \"gum\""),
        ("simulation.time_step.x=1", "\"simulation.time_step\" is a single value"),
        ("body.ball.shape.cells=[1,1,1]", "\"body.ball.shape\" has no \"cells\""),
        ("simulation.time_step=[1", "the value is not TOML"),
        ("simulation.time_step=soon", "simulation.time_step: expected a number > 0 and <= 10 [s], found the text \"soon\""),
        ("contact.friction=-1", "contact.friction: expected a number >= 0 and <= 10, found -1"),
        ("body.ball.material=gum", "there is no material \"gum\". Accepted: \"rubber\""),
    ] {
        let message = with(&[flag]).unwrap_err().to_string();
        assert!(message.starts_with(&format!("--set {flag}: ")) && message.contains(wanted), "{flag} gave {message}");
    }
}

#[test]
fn a_refused_change_leaves_the_scene_alone() {
    let mut scene = with(&[]).unwrap();
    assert!(scene.set("simulation.time_step=90").is_err());
    assert_eq!(scene.content.params.time_step, 0.02);
    scene.set("simulation.time_step=0.04").unwrap();
    assert_eq!(scene.content.params.time_step, 0.04);
}

#[test]
fn every_scene_of_the_gallery_builds() {
    for entry in builtin_scenes() {
        let scene = Scene::builtin(entry.name).unwrap_or_else(|e| panic!("{e}"));
        let built = build(&scene).unwrap_or_else(|e| panic!("{e}"));
        let free = built.model.bodies.len() + built.model.rigid_bodies.iter().filter(|body| body.is_free()).count();
        assert!(free > 0 && built.model.tets.len() < 200_000, "{}", entry.name);
        assert!(!scene.description().is_empty() && scene.title() != scene.name(), "{}", entry.name);
        // Nothing begins inside the floor.
        let lowest = built.model.surface_positions(&built.model.rest_positions).iter().map(|p| p.y).fold(f64::INFINITY, f64::min);
        let floor = built.model.obstacles.iter().find(|o| o.name == "floor");
        assert!(floor.is_none_or(|floor| lowest > floor.pose.translation.y), "{}: lowest point at {lowest}", entry.name);
    }
}

#[test]
fn the_gallery_lists_every_file_of_the_folder() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .map(|path| stem(&path))
        .collect();
    let mut names: Vec<&str> = builtin_scenes().map(|entry| entry.name).collect();
    files.sort();
    names.sort();
    assert_eq!(files, names);
}

/// What is measured on the one is true of the other until the hand pulls.
#[test]
fn the_throw_is_the_gallery_with_a_hand() {
    let values = |name: &str| {
        let entry = builtin_scenes().find(|entry| entry.name == name).unwrap();
        let mut values: toml::Table = entry.text.parse().unwrap();
        for key in ["title", "description", "recording", "grab"] {
            values.remove(key);
        }
        values
    };
    assert_eq!(values("throw"), values("gallery"));
    let [throw, gallery] = ["throw", "gallery"].map(|name| build(&Scene::builtin(name).unwrap()).unwrap());
    assert_eq!((throw.grabs.len(), gallery.grabs.len(), throw.n_steps(throw.recording.seconds)), (1, 0, 200));
    let grab = &throw.grabs[0];
    let held = throw.model.surface.triangles[grab.triangle as usize][0];
    assert_eq!(throw.model.bodies[throw.model.surface.bodies[held as usize] as usize].name, "dragon");
    assert!(grab.target_at(0.0).is_some() && !grab.is_over(0.59) && grab.is_over(0.6));
}

#[test]
fn a_hand_holds_the_nearest_vertex() {
    let text = format!(
        "format = 1\n[[body]]\nname = \"soft\"\nshape = {{ type = \"box\", size = [1, 1, 1], cells = [2, 2, 2] }}\nposition = [3, 0, 0]\n\
         [[body]]\nname = \"block\"\nkind = \"rigid\"\nshape = {{ type = \"box\", size = [1, 1, 1] }}\n\
         [[grab]]\nbody = \"soft\"\npoint = [2.4, 0.1, -0.6]\npath = {TWO_PLACES}\n[[grab]]\nbody = \"block\"\npoint = [0.4, 2, -0.3]\npath = {TWO_PLACES}\n"
    );
    let built = build(&scene(&text).unwrap()).unwrap();
    let model = &built.model;
    let corner = |grab: &RecordedGrab| grab.barycentric.iter().position(|b| *b == 1.0).unwrap();
    let [soft, block] = &built.grabs[..] else { panic!("two hands") };
    let vertex = model.surface.triangles[soft.triangle as usize][corner(soft)];
    let place = model.surface_positions(&model.rest_positions)[vertex as usize];
    assert!((place - Vec3::new(2.5, 0.0, -0.5)).norm() < 1e-12, "{place}");
    let (rigid, local) = model.held_rigid_triangle(block.triangle as usize).unwrap();
    let rigid = &model.rigid_bodies[rigid];
    let place = rigid.vertices[rigid.triangles[local][corner(block)] as usize];
    assert!((place - Vec3::new(0.5, 0.5, -0.5)).norm() < 1e-12, "{place}");
}

#[test]
fn the_default_scene_is_large_enough() {
    assert!(build(&Scene::builtin("gallery").unwrap()).unwrap().model.tets.len() >= 20_000);
}

#[test]
fn the_cantilever_is_the_one_of_the_contract() {
    let mut scene = Scene::builtin("cantilever").unwrap();
    for (cells, nodes) in [("[20,4,4]", 21 * 25), ("[40,8,8]", 41 * 81)] {
        scene.set(&format!("body.bar.shape.cells={cells}")).unwrap();
        let built = build(&scene).unwrap();
        let (model, tip) = (&built.model, &built.probes[0]);
        assert_eq!(model.n_nodes(), nodes);
        assert!((model.bodies[0].mass - 40.0).abs() < 1e-9);
        assert!((0..nodes).all(|n| model.fixed[n] == (model.rest_positions[n].x.abs() < 1e-9)));
        assert!(tip.nodes.iter().all(|&n| (model.rest_positions[n as usize].x - 1.0).abs() < 1e-9));
        assert_eq!(tip.vertices.len(), tip.nodes.len());
        assert_eq!(tip.nodes.len(), (0..nodes).filter(|&n| model.fixed[n]).count());
    }
}

#[test]
fn the_slope_turns_block_and_plane_together() {
    let mut scene = Scene::builtin("incline").unwrap();
    scene.set("group.slope.rotation=[0,0,-20]").unwrap();
    let built = build(&scene).unwrap();
    let plane = &built.model.obstacles[0].pose;
    let heights: Vec<f64> = built.model.rest_positions.iter().map(|p| (plane.inverse() * nalgebra::Point3::from(*p)).y).collect();
    assert!(heights.iter().all(|h| (-1e-12..=0.1 + 1e-12).contains(h)));
    assert!(heights.iter().any(|h| h.abs() < 1e-12));
    // Down the slope is +x.
    assert!((plane.rotation * Vec3::x()).y < 0.0);
}

#[test]
fn copies_have_names_places_and_one_seed() {
    let text = |seed: u32| {
        format!(
            "format = 1\n[[body]]\nname = \"b\"\nshape = {{ type = \"box\", size = [0.1, 0.1, 0.1], cells = [1, 1, 1] }}\n\
             scatter = {{ count = 5, seed = {seed}, min = [-1, 0, -1], max = [1, 2, 1] }}\n\
             [[body]]\nname = \"c\"\nshape = {{ type = \"box\", size = [0.1, 0.1, 0.1], cells = [1, 1, 1] }}\n\
             array = {{ count = [2, 1, 2], pitch = [0.2, 0, 0.3] }}\n[[probe]]\nname = \"p\"\nbody = \"c[3]\"\n"
        )
    };
    let build_text = |seed| build(&scene(&text(seed)).unwrap()).unwrap();
    let (a, b, c) = (build_text(1), build_text(1), build_text(2));
    assert_eq!(a.model.rest_positions, b.model.rest_positions);
    assert_ne!(a.model.rest_positions, c.model.rest_positions);
    assert_eq!(a.model.bodies[5].name, "c[0]");
    assert_eq!(a.probes[0].nodes, (64..72).collect::<Vec<u32>>());
    let shift = a.model.rest_positions[64] - a.model.rest_positions[40];
    assert!((shift - Vec3::new(0.2, 0.0, 0.3)).norm() < 1e-12);
    let error = scene(&text(1).replace("c[3]", "c")).unwrap_err().to_string();
    assert!(error.contains("name one of \"c[0]\" to \"c[3]\""), "{error}");
}

#[test]
fn bodies_start_with_their_velocity_about_the_centre_of_mass() {
    let built = build(&with(&["body.ball.angular_velocity=[0,2,0]", "body.ball.velocity=[1,0,0]"]).unwrap()).unwrap();
    let model = &built.model;
    let momentum: Vec3 = model.initial_velocities.iter().zip(&model.node_masses).map(|(v, m)| v * *m).sum();
    assert!((momentum / model.bodies[0].mass - Vec3::x()).norm() < 1e-9);
    let extreme = (0..model.n_nodes()).max_by(|&a, &b| model.rest_positions[a].z.total_cmp(&model.rest_positions[b].z)).unwrap();
    assert!((model.initial_velocities[extreme] - Vec3::new(1.2, 0.0, 0.0)).norm() < 1e-6);
}

#[test]
fn pairs_override_friction() {
    let built = build(&with(&["contact.pair=[{ a = \"floor\", b = \"ball\", friction = 0.9 }]"]).unwrap()).unwrap();
    assert_eq!(built.model.obstacles[0].friction, [0.9]);
    let built = build(&with(&["contact.pair=[{ a = \"ball\", b = \"ball\", friction = 0.7 }]"]).unwrap()).unwrap();
    let friction_with = |other| built.model.friction_between(BodyRef::Deformable(0), other);
    assert_eq!((friction_with(BodyRef::Deformable(0)), friction_with(BodyRef::Obstacle(0))), (0.7, 0.5));
    let error = with(&["contact.pair=[{ a = \"floor\", b = \"floor\", friction = 0.9 }]"]).unwrap_err().to_string();
    assert!(error.contains("two bodies that nothing moves"), "{error}");
}

#[test]
fn a_mesh_becomes_a_body_above_a_floor() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/nut_hex.ply");
    let built = build(&Scene::from_mesh(&path).unwrap()).unwrap_or_else(|e| panic!("{e}"));
    let bounds = crate::math::Aabb::of(&built.model.surface_positions(&built.model.rest_positions));
    assert!((bounds.extent().max() - 0.3).abs() < 1e-9 && (bounds.min.y - 0.05).abs() < 1e-9);
}

#[test]
fn defaults_agree_with_the_library() {
    let content = scene("format = 1\n[material.m]\n[[body]]\nname = \"b\"\nshape = { type = \"sphere\", radius = 1 }\nmaterial = \"m\"\n");
    let content = content.unwrap().content;
    // A caller of the library names a method; a scene leaves the choice to the step.
    assert_eq!(content.params, crate::model::Params { method: crate::model::ContactMethod::Auto, ..Default::default() });
    let read::Role::Deformable { material, .. } = &content.bodies[0].role else { panic!("deformable is the default") };
    assert_eq!(material.material, crate::material::Material::default());
}

#[test]
fn a_bad_mesh_is_told_with_its_own_line() {
    let path = std::env::temp_dir().join(format!("pliant-bad-{}.obj", std::process::id()));
    std::fs::write(&path, "v 0 0 0\nv 1 0 0\nv 0 1 nan\nf 1 2 3\n").unwrap();
    let error = build(&Scene::from_mesh(&path).unwrap()).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}:3: the coordinate 'nan' is not finite", path.display())), "{error}");
    // In a scene: the place in the scene, then that in the mesh.
    let text = format!("format = 1\n[[body]]\nname = \"b\"\nmesh = {:?}\n", path.file_name().unwrap());
    let scene = |text: &str| Scene::from_text("t", "t.toml", text, path.parent(), &[]).and_then(|s| build(&s)).unwrap_err().to_string();
    let error = scene(&text);
    assert!(error.starts_with("t.toml:4:8: body.b.mesh: ") && error.contains(".obj:3: the coordinate"), "{error}");
    // An open surface is a sheet when it deforms, and has no inside when it is rigid.
    std::fs::write(&path, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n").unwrap();
    let built = Scene::from_text("t", "t.toml", &text, path.parent(), &[]).and_then(|s| build(&s)).unwrap();
    assert!(built.model.bodies[0].has_own_collision && built.notes.iter().any(|note| note.contains("3 open edges")), "{:?}", built.notes);
    let error = scene(&format!("{text}kind = \"rigid\"\n"));
    assert!(error.contains("obj: the surface is open: 3 boundary edges"), "{error}");
    std::fs::remove_file(&path).unwrap();
}

/// Compares a file of the repository with what the program says; `UPDATE=1` writes it.
fn assert_up_to_date(path: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "{} is out of date: run the tests once with UPDATE=1", path.display());
}

#[test]
fn the_reference_is_up_to_date() {
    assert_up_to_date("docs/scene-reference.md", &reference());
}

#[test]
fn the_schema_is_up_to_date() {
    let text = serde_json::to_string_pretty(&json_schema()).unwrap() + "\n";
    assert_up_to_date("scenes/schema.json", &text);
}

/// Reading, mending, filling, embedding, placing and joining ask now and then.
#[test]
fn a_scene_in_the_making_can_be_cancelled_wherever_it_is() {
    for (name, least) in [("tetgen_sample.ele", 31), ("cow.off", 255), ("rotor.off", 255), ("mushroom_open.off", 255)] {
        let path: std::path::PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "data", name].iter().collect();
        let scene = Scene::from_mesh_with(&path, &["body.0.tets=1500".to_owned()]).unwrap();
        let mut questions = 0;
        while let Err(error) = build_unless(&scene, &CancelToken::after(questions)) {
            assert!(error.to_string().contains("cancelled"), "{name}, after {questions} questions: {error}");
            questions = 2 * questions + 1;
        }
        assert!(questions >= least, "{name} asks {questions} times at most");
        // How often is asked depends a little on the threads.
        let (late, whole) = (build_unless(&scene, &CancelToken::after(2 * questions + 1)).unwrap(), build(&scene).unwrap());
        assert_eq!((late.model.rest_positions.clone(), late.notes), (whole.model.rest_positions.clone(), whole.notes), "{name}");
    }
}
