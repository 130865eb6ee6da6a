//! Springs between bodies: what hangs, swings and pulls as it must.

use pliant::math::Vec3;
use pliant::scene::Scene;
use pliant::sim::Simulation;

use crate::objects::{momentum, open, run, start};

const G: f64 = 9.81;

/// A scene with soft rubber and a time step [s].
fn scene(dt: f64, lines: &str) -> String {
    format!(
        "format = 1\n[simulation]\ntime_step = {dt}\ntolerance = 1e-8\n{lines}\n\
         [material.rubber]\nyoung_modulus = 1e5\npoisson_ratio = 0.3\ndensity = 1000.0\nstiffness_damping = 0.02\n"
    )
}

/// A rigid cube of 0.1 m and 2 kg.
fn weight(name: &str, place: [f64; 3]) -> String {
    format!(
        "[[body]]\nname = \"{name}\"\nkind = \"rigid\"\nshape = {{ type = \"box\", size = [0.1, 0.1, 0.1] }}\nmass = 2.0\nposition = {place:?}\n"
    )
}

/// A soft cube of 0.2 m and 8 kg around the origin.
const CUBE: &str =
    "[[body]]\nname = \"cube\"\nshape = { type = \"box\", size = [0.2, 0.2, 0.2], cells = [3, 3, 3] }\nmaterial = \"rubber\"\n";

fn spring(from: &str, to: &str, values: &str) -> String {
    format!("[[attachment]]\nfrom = {{ {from} }}\nto = {{ {to} }}\n{values}\n")
}

/// All steps converged; the final state's hash.
#[track_caller]
fn sound(simulation: &mut Simulation) -> String {
    let report = simulation.report(0.0).unwrap();
    assert_eq!((report.solver.unconverged_steps, report.faults.rollbacks), (0, 0));
    assert_eq!(report.contact.max_penetration, Some(0.0));
    report.state_hash
}

#[test]
fn a_weight_hangs_at_the_length_of_its_spring_and_oscillates_at_its_frequency() {
    let hung = |dt: f64, values: &str| {
        let ends = ("point = [0.0, 0.5, 0.0]", "body = \"weight\", point = [0.0, 0.0, 0.0]");
        open(&scene(dt, &(weight("weight", [0.0; 3]) + &spring(ends.0, ends.1, &format!("stiffness = 200.0\n{values}"))))).unwrap()
    };
    let height = |simulation: &mut Simulation| simulation.state().unwrap().rigid_bodies[0].pose.translation.vector.y;
    let extension = 2.0 * G / 200.0;
    // As long as it is at the start, longer than that, and without a length.
    for (values, length) in [("", 0.5), ("length = 0.6", 0.6), ("length = 0.0", 0.0)] {
        let mut weight = hung(0.01, &format!("damping = 40.0\n{values}"));
        run(&mut weight, 3.0, |_, _| ());
        let found = 0.5 - height(&mut weight) - length;
        assert!((found / extension - 1.0).abs() < 1e-3, "{values}: {found} m instead of {extension} m");
        let report = weight.report(0.0).unwrap();
        let told = &report.attachments[0];
        assert!((told.length - length - found).abs() < 1e-9 && (told.force[1] / (-2.0 * G) - 1.0).abs() < 1e-3, "{told:?}");
        sound(&mut weight);
    }
    let mut weight = hung(0.001, "");
    // Times at which it turns around at the bottom.
    let mut turns = vec![];
    let mut before = 0.0;
    run(&mut weight, 1.7, |weight, _| {
        let now = weight.state().unwrap().rigid_bodies[0].velocity.y;
        if before < 0.0 && now >= 0.0 {
            turns.push(weight.time() - 0.001 * now / (now - before));
        }
        before = now;
    });
    let (period, wanted) = (turns[1] - turns[0], std::f64::consts::TAU * (2.0f64 / 200.0).sqrt());
    assert!((period / wanted - 1.0).abs() < 0.01, "{period} s instead of {wanted} s");
    sound(&mut weight);
}

#[test]
fn springs_at_the_corners_of_a_soft_cube_carry_its_weight() {
    let corners = [[-0.1, -0.1], [0.1, -0.1], [-0.1, 0.1], [0.1, 0.1]];
    let springs = corners.map(|[x, z]| {
        spring(
            &format!("body = \"cube\", point = [{x}, 0.1, {z}]"),
            &format!("point = [{x}, 0.3, {z}]"),
            "stiffness = 2000.0\ndamping = 50.0",
        )
    });
    let run_once = || {
        let mut cube = open(&scene(0.01, &(CUBE.to_owned() + &springs.concat()))).unwrap();
        run(&mut cube, 3.0, |_, _| ());
        cube
    };
    let mut cube = run_once();
    let carried: Vec3 = cube.state().unwrap().attachment_forces.iter().sum();
    assert!((carried / (8.0 * G) - Vec3::y()).norm() < 1e-3, "the springs carry {carried} N of {} N", 8.0 * G);
    assert_eq!(sound(&mut cube), sound(&mut run_once()), "two runs differ");
}

#[test]
fn bodies_on_a_spring_keep_their_momentum() {
    let ends = ("body = \"cube\", region = { side = \"x+\" }", "body = \"weight\", point = [0.35, 0.05, 0.05]");
    let text = scene(
        0.01,
        &("gravity = [0.0, 0.0, 0.0]\n".to_owned() + CUBE + "velocity = [-0.7, 0.4, 0.1]\n" + &weight("weight", [0.4, 0.0, 0.0])),
    );
    let mut pair = open(&(text + &spring(ends.0, ends.1, "stiffness = 300.0\ndamping = 1.0"))).unwrap();
    let before = momentum(&mut pair);
    run(&mut pair, 0.6, |_, _| ());
    let after = momentum(&mut pair);
    let transferred = pair.state().unwrap().rigid_bodies[0].velocity.norm() * 2.0;
    assert!(transferred > 0.5, "the weight has {transferred} kg m/s");
    assert!((after - before).norm() < 1e-9 * before.norm(), "{before} becomes {after}");
    sound(&mut pair);
}

/// One joint starts 1 cm open and is closed in the first step.
#[test]
fn a_spring_of_any_stiffness_is_a_joint() {
    let joints = spring("point = [-0.05, 0.05, 0.0]", "body = \"weight\", point = [-0.05, 0.05, 0.0]", "stiffness = 1e9")
        + &spring(
            "body = \"weight\", point = [0.06, -0.08, 0.1]",
            "body = \"cube\", point = [0.07, -0.08, 0.1]",
            "stiffness = 1e9\nlength = 0.0",
        );
    let cube = CUBE.to_owned() + "position = [0.17, -0.18, 0.0]\n";
    let mut chain = open(&scene(0.01, &(weight("weight", [0.0; 3]) + &cube + &joints))).unwrap();
    let energy = |chain: &mut Simulation| chain.report(0.0).unwrap().energy;
    let (mut gap, mut top) = (0.0f64, f64::NEG_INFINITY);
    run(&mut chain, 1.5, |chain, _| {
        if chain.step_index() > 5 {
            gap = chain.attachment_points().unwrap().iter().map(|[a, b]| (a - b).norm()).fold(gap, f64::max);
        }
        top = top.max(energy(chain).kinetic + energy(chain).gravitational);
    });
    assert!(gap < 5e-6, "the joints open by {gap} m");
    assert!(top < 0.05 * 10.0 * G, "it swings up to {top} J");
    sound(&mut chain);
}

#[test]
fn all_solvers_move_springs_alike() {
    let springs = spring("point = [0.0, 0.4, 0.0]", "body = \"cube\", point = [0.1, 0.1, 0.1]", "stiffness = 800.0\ndamping = 5.0")
        + &spring(
            "body = \"cube\", region = { side = \"y-\" }",
            "body = \"weight\", point = [0.05, -0.35, 0.0]",
            "stiffness = 1500.0\nlength = 0.25",
        );
    let moved = |solver: &str| {
        let lines = format!("solver = \"{solver}\"\n[contact]\ntolerance = 1e-7\n{CUBE}{}{springs}", weight("weight", [0.0, -0.4, 0.0]));
        let mut simulation = open(&scene(0.01, &lines)).unwrap();
        run(&mut simulation, 0.2, |_, _| ());
        let state = simulation.state().unwrap().clone();
        sound(&mut simulation);
        (state.displacements, state.rigid_bodies[0].pose.translation.vector)
    };
    let (soft, rigid) = moved("cwc");
    for solver in ["cr", "cr-diag", "cr-none", "cr-turn", "ica", "sp", "pgs", "ssn"] {
        let (other_soft, other_rigid) = moved(solver);
        let apart = soft.iter().zip(&other_soft).map(|(a, b)| (a - b).norm()).fold((rigid - other_rigid).norm(), f64::max);
        println!("{solver}: {apart:.1e} m");
        // The others solve a step to a thousandth of the residual that it starts with.
        let bound = if matches!(solver, "pgs" | "ssn") { 1e-6 } else { 2e-4 };
        assert!(apart < bound, "{solver} is {apart} m apart from cwc");
    }
}

#[test]
fn a_block_slides_when_its_spring_pulls_harder_than_friction_holds() {
    let floor = "[[body]]\nname = \"floor\"\nkind = \"static\"\nshape = { type = \"plane\" }\n[contact]\nfriction = 0.5\n";
    // Friction holds 9.81 N of 2 kg; the spring pulls at the height of the sole.
    let slid = |stretch: f64| {
        let ends = ("body = \"weight\", point = [0.05, 0.01, 0.0]", format!("point = [{}, 0.01, 0.0]", 0.05 + stretch));
        let pulled = spring(ends.0, &ends.1, "stiffness = 200.0\nlength = 0.0");
        let mut block = open(&scene(0.005, &(weight("weight", [0.0, 0.05001, 0.0]) + floor + &pulled))).unwrap();
        run(&mut block, 0.5, |_, _| ());
        sound(&mut block);
        let state = block.state().unwrap().rigid_bodies[0];
        (state.pose.translation.vector.x, state.velocity.norm(), block.state().unwrap().attachment_forces[0].x)
    };
    let (x, _, force) = slid(0.045);
    assert!(x.abs() < 1e-4 && (force - 9.0).abs() < 0.05, "{x} m, {force} N");
    let (x, speed, force) = slid(0.07);
    assert!(x > 0.02 && speed < 1e-3 && force.abs() < 9.82, "{x} m, {speed} m/s, {force} N");
}

/// A thin bar on taut ropes: what pulls at it would turn it back and forth if its turning were not in the matrix.
#[test]
fn the_scene_attached_runs_without_a_slip() {
    let mut hung = start(&Scene::builtin("attached").unwrap()).unwrap();
    run(&mut hung, 1.0, |_, report| assert!(report.relinearisations <= 4));
    sound(&mut hung);
}

#[test]
fn a_saved_run_goes_on_as_if_it_had_not_stopped() {
    let text = scene(
        0.01,
        &(CUBE.to_owned() + &spring("point = [0.0, 0.4, 0.0]", "body = \"cube\", point = [0.1, 0.1, 0.1]", "stiffness = 800.0")),
    );
    let path = std::env::temp_dir().join(format!("pliant-attached-{}.state", std::process::id()));
    let mut whole = open(&text).unwrap();
    run(&mut whole, 0.1, |_, _| ());
    whole.save(&path).unwrap();
    run(&mut whole, 0.2, |_, _| ());
    let mut resumed = open(&text).unwrap();
    resumed.resume(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    run(&mut resumed, 0.2, |_, _| ());
    assert_eq!(sound(&mut whole), sound(&mut resumed));
}

/// Two soft cubes on each other, the upper one askew; a spring ties points of the faces that touch, 7 mm apart, so that
/// these slide and press until the points meet.
#[test]
fn a_stiff_spring_between_faces_that_touch_pushes_nothing_through() {
    let cube = |name: &str, place: [f64; 3]| {
        format!(
            "[[body]]\nname = \"{name}\"\nshape = {{ type = \"box\", size = [0.1, 0.1, 0.1], cells = [3, 3, 3] }}\n\
             material = \"rubber\"\norigin = \"bottom\"\nposition = {place:?}\n"
        )
    };
    let floor = "[[body]]\nname = \"floor\"\nkind = \"static\"\nshape = { type = \"plane\" }\n";
    let points = ("body = \"lower\", point = [0.0, 0.1, 0.0]", "body = \"upper\", point = [0.0, 0.1002, 0.0]");
    let tie = spring(points.0, points.1, "stiffness = 1e9\nlength = 0.0");
    let bodies = cube("lower", [0.0, 0.0001, 0.0]) + &cube("upper", [0.006, 0.1002, 0.003]);
    let mut tied = open(&scene(0.005, &(bodies + floor + &tie))).unwrap();
    run(&mut tied, 0.5, |_, _| ());
    let report = tied.report(0.0).unwrap();
    assert_eq!((report.solver.unconverged_steps, report.contact.max_penetration), (0, Some(0.0)), "{:?}", report.solver);
    assert!(report.attachments[0].length < 1e-5, "{:?}", report.attachments[0]);
    assert!(report.contact.pairs.iter().any(|pair| pair.a != "floor" && pair.b != "floor"), "{:?}", report.contact.pairs);
}
