//! Settings and friction that are changed while a simulation runs.

use super::*;
use crate::math::Vec3;
use crate::model::{Ball, ContactMethod, Extent, FixedParts, Friction, PairFriction, Preconditioner};
use crate::sim::Setting;

/// A box on a slope that holds it with the friction of the scene.
const SLOPE: &str = r#"format = 1
[simulation]
gravity = [2.0, -9.81, 0.0]
[contact]
friction = 0.5
[[body]]
name = "box"
kind = "rigid"
shape = { type = "box", size = [0.2, 0.2, 0.2] }
position = [0.0, 0.1, 0.0]
[[body]]
name = "floor"
kind = "static"
shape = { type = "plane" }
"#;

fn pair(friction: f64) -> Command {
    Command::SetFriction(Friction { default: 0.5, pairs: vec![PairFriction { a: "floor".into(), b: "box".into(), friction }] })
}

fn place(simulation: &mut Simulation) -> f64 {
    simulation.rigid_poses().unwrap()[0].translation.vector.x
}

#[test]
fn what_was_held_slides_once_its_friction_is_less() {
    let mut simulation = simulation(BackendChoice::Cpu, SLOPE, &[]);
    steps(&mut simulation, 20);
    let held = place(&mut simulation);
    assert!(held.abs() < 1e-4, "{held}");
    simulation.apply(&pair(0.05)).unwrap();
    steps(&mut simulation, 20);
    // (g_x - mu g) t^2 / 2 on the level.
    let (slid, expected) = (place(&mut simulation) - held, 0.5 * (2.0 - 0.05 * 9.81) * 0.2 * 0.2);
    assert!((slid / expected - 1.0).abs() < 0.1, "{slid} {expected}");
    assert_eq!(simulation.changed_friction().unwrap().pairs, [PairFriction { a: "box".into(), b: "floor".into(), friction: 0.05 }]);
    // As a scene that says so from the start.
    let mut opened = super::simulation(BackendChoice::Cpu, SLOPE, &["contact.pair=[{ a = \"box\", b = \"floor\", friction = 0.05 }]"]);
    assert_eq!(opened.model().friction(), simulation.model().friction());
    opened.apply(&Command::Reset).unwrap();
    simulation.apply(&Command::Reset).unwrap();
    steps(&mut opened, 10);
    steps(&mut simulation, 10);
    assert!(state(&mut opened) == state(&mut simulation), "from the start there is no difference");
}

/// Changes in the middle of a run, and the same run from its log, after a reset too.
#[test]
fn changes_are_logged_and_repeat_to_the_bit() {
    let mut first = simulation(BackendChoice::Cpu, LANDING, &[]);
    steps(&mut first, 5);
    let changes = [
        Command::Set(Setting::ContactTolerance(1e-5)),
        Command::Set(Setting::Substeps(2)),
        Command::Set(Setting::Tolerance(1e-5)),
        Command::Set(Setting::Preconditioner(Preconditioner::Jacobi)),
        Command::Set(Setting::Solver(ContactMethod::Cr)),
        Command::SetFriction(Friction { default: 0.1, pairs: vec![] }),
    ];
    for change in &changes {
        first.apply(change).unwrap();
        steps(&mut first, 2);
    }
    let mut repeated = simulation(BackendChoice::Cpu, LANDING, &[]);
    let log = first.log().clone();
    let repeat = |simulation: &mut Simulation, log: &CommandLog, last: u64| {
        for step in 0..=last {
            log.entries.iter().filter(|entry| entry.step == step).for_each(|entry| simulation.apply(&entry.command).unwrap());
            if step < last {
                steps(simulation, 1);
            }
        }
    };
    repeat(&mut repeated, &log, 17);
    assert!(state(&mut repeated) == state(&mut first));
    let mut plain = simulation(BackendChoice::Cpu, LANDING, &[]);
    steps(&mut plain, 17);
    assert!(state(&mut plain) != state(&mut first), "the changes matter");

    first.apply(&Command::Reset).unwrap();
    let kept: Vec<&Command> = first.log().entries.iter().map(|entry| &entry.command).collect();
    assert!(changes.iter().all(|change| kept.contains(&change)), "{kept:?}");
    steps(&mut first, 4);
    let log = first.log().clone();
    let mut repeated = simulation(BackendChoice::Cpu, LANDING, &[]);
    repeat(&mut repeated, &log, 4);
    assert!(state(&mut repeated) == state(&mut first));
}

/// A saved state keeps them.
#[test]
fn friction_and_settings_are_saved_with_the_state() {
    let path = std::env::temp_dir().join(format!("pliant-values-{}.state", std::process::id()));
    let mut first = simulation(BackendChoice::Cpu, SLOPE, &[]);
    steps(&mut first, 5);
    first.apply(&pair(0.02)).unwrap();
    first.apply(&Command::Set(Setting::ContactTolerance(2e-5))).unwrap();
    steps(&mut first, 5);
    first.save(&path).unwrap();
    let mut second = simulation(BackendChoice::Cpu, SLOPE, &[]);
    second.resume(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!((second.model().friction(), second.params().contact_tolerance), (first.model().friction(), 2e-5));
    steps(&mut first, 5);
    steps(&mut second, 5);
    assert!(state(&mut first) == state(&mut second));
}

#[test]
fn what_cannot_be_is_refused_and_nothing_changes() {
    let mut simulation = simulation(BackendChoice::Cpu, SLOPE, &[]);
    let before = *simulation.params();
    for (wrong, told) in [
        (Command::Set(Setting::ContactTolerance(0.5)), "contact.tolerance: expected a number > 0 and <= 0.01 [m], found 0.5"),
        (Command::Set(Setting::Substeps(0)), "simulation.substeps: expected an integer from 1 to 100, found 0"),
        (Command::Set(Setting::Tolerance(f64::NAN)), "simulation.tolerance: expected"),
        (pair(-1.0), "contact.friction: expected a number >= 0 and <= 10, found -1"),
        (
            Command::SetFriction(Friction { default: 0.5, pairs: vec![PairFriction { a: "ball".into(), b: "box".into(), friction: 1.0 }] }),
            "no body \"ball\"",
        ),
    ] {
        let refused = simulation.apply(&wrong).unwrap_err().to_string();
        assert!(refused.contains(told), "{refused}");
    }
    assert!(*simulation.params() == before && simulation.log().entries.is_empty() && simulation.changed_friction().is_none());
}

/// A bar that falls.
const FALLING: &str = r#"format = 1
[material.gum]
[[body]]
name = "bar"
material = "gum"
shape = { type = "box", size = [0.4, 0.1, 0.1], cells = [4, 1, 1] }
velocity = [0.0, 0.0, 0.3]
"#;

fn pin(x: f64) -> Vec<FixedParts> {
    vec![FixedParts { body: "bar".into(), parts: vec![Extent::Spheres(vec![Ball { center: Vec3::new(x, 0.0, 0.0), radius: 0.08 }])] }]
}

/// What is pinned in flight stays where it is, to the bit, while the rest swings about it; unpinned it falls again.
#[test]
fn a_pin_holds_what_falls_and_lets_it_go_again() {
    let mut simulation = simulation(BackendChoice::Cpu, FALLING, &[]);
    steps(&mut simulation, 10);
    let before = state(&mut simulation);
    simulation.apply(&Command::SetFixed(pin(-0.2))).unwrap();
    let model = simulation.model().clone();
    let pinned: Vec<usize> = (0..model.n_nodes()).filter(|node| model.fixed[*node]).collect();
    assert!(pinned.len() == 4 && before.displacements[pinned[0]].norm() > 1e-3, "{pinned:?}");
    steps(&mut simulation, 10);
    let held = state(&mut simulation);
    assert!(pinned.iter().all(|node| held.displacements[*node] == before.displacements[*node]));
    let free = (0..model.n_nodes()).find(|node| !model.fixed[*node] && model.rest_positions[*node].x > 0.1).unwrap();
    assert!((held.displacements[free] - before.displacements[free]).norm() > 1e-3);
    simulation.apply(&Command::SetFixed(vec![])).unwrap();
    steps(&mut simulation, 10);
    assert!(pinned.iter().all(|node| state(&mut simulation).displacements[*node] != before.displacements[*node]));
    // The log repeats it to the bit.
    let mut again = super::simulation(BackendChoice::Cpu, FALLING, &[]);
    for step in 0..30 {
        simulation.log().at(step).iter().for_each(|logged| again.apply(&logged.command).unwrap());
        again.step().unwrap();
    }
    assert!(state(&mut again) == state(&mut simulation));
}

/// Pins stay through a reset, and the start is that of a scene that says them; a save and a checkpoint know them.
#[test]
fn pins_are_values_of_the_scene() {
    let mut simulation = simulation(BackendChoice::Cpu, FALLING, &[]);
    steps(&mut simulation, 3);
    simulation.apply(&Command::SetFixed(pin(0.2))).unwrap();
    let checkpoint = simulation.checkpoint().unwrap();
    simulation.apply(&Command::Reset).unwrap();
    let flag = "body.bar.fix=[{ spheres = [{ center = [0.2, 0.0, 0.0], radius = 0.08 }] }]";
    let mut opened = super::simulation(BackendChoice::Cpu, FALLING, &[flag]);
    assert!(opened.model().fixed_parts == simulation.model().fixed_parts && state(&mut opened) == state(&mut simulation));
    let file = TestFile::new("pins.state");
    simulation.save(&file.0).unwrap();
    steps(&mut simulation, 5);
    steps(&mut opened, 5);
    assert!(state(&mut opened) == state(&mut simulation));
    let mut resumed = super::simulation(BackendChoice::Cpu, FALLING, &[]);
    resumed.resume(&file.0).unwrap();
    steps(&mut resumed, 5);
    assert!(state(&mut resumed) == state(&mut simulation));
    simulation.apply(&Command::SetFixed(vec![])).unwrap();
    simulation.restore(&checkpoint, CommandLog::starting_at(3)).unwrap();
    assert_eq!(simulation.model().fixed_parts, pin(0.2));
    let refused = simulation.apply(&Command::SetFixed(pin(5.0))).unwrap_err().to_string();
    assert!(refused.contains("no node of \"bar\""), "{refused}");
}
