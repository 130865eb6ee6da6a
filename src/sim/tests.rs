//! Cancelled steps, saved states and sessions, on both backends.

mod cramped;
mod elements;
mod fields;
#[cfg(feature = "gpu")]
mod integration;
mod large_bodies;
mod later_poses;
mod limited;
mod many_rows;
mod materials;
mod pace;
pub mod plastic;
mod proofs;
mod recovery;
mod sessions;
mod slow_bodies;
mod values;

use std::path::PathBuf;

use cramped::Cramped;

use super::*;
use crate::material::Material;
use crate::model::{Friction, Integration, NamedMaterial};
use crate::scene::{BackendChoice, Scene, build};
use crate::step::THROWN_AWAY;

/// A soft cube that falls onto a floor beside a rigid block.
pub(super) const LANDING: &str = r#"
format = 1
[simulation]
time_step = 0.01
[contact]
friction = 0.4
[material.soft]
young_modulus = 5e4
[[body]]
name = "floor"
kind = "static"
shape = { type = "plane" }
[[body]]
name = "cube"
material = "soft"
shape = { type = "box", size = [0.1, 0.1, 0.1], cells = [3, 3, 3] }
position = [0.0, 0.0505, 0.0]
velocity = [0.5, -1.0, 0.0]
[[body]]
name = "block"
kind = "rigid"
density = 500
shape = { type = "box", size = [0.1, 0.1, 0.1] }
position = [0.102, 0.0505, 0.0]
"#;

/// A bar that touches nothing: the device keeps its state.
const BAR: &str = r#"
format = 1
[material.soft]
young_modulus = 5e4
[[body]]
name = "bar"
material = "soft"
shape = { type = "box", size = [0.4, 0.1, 0.1], cells = [8, 2, 2] }
fix = [{ side = "x-" }]
self_contact = "off"
"#;

/// Where and what the tests run.
const CASES: &[(BackendChoice, &str)] = &[
    (BackendChoice::Cpu, LANDING),
    (BackendChoice::Cpu, BAR),
    (BackendChoice::Cpu, elements::KINDS),
    (BackendChoice::Cpu, plastic::CLAY),
    #[cfg(feature = "gpu")]
    (BackendChoice::Gpu, LANDING),
    #[cfg(feature = "gpu")]
    (BackendChoice::Gpu, BAR),
];

pub(super) fn simulation(backend: BackendChoice, text: &str, flags: &[&str]) -> Simulation {
    let flags: Vec<String> = flags.iter().map(|flag| flag.to_string()).collect();
    let scene = Scene::from_text("test", "test.toml", text, None, &flags).unwrap();
    let options = Options { backend: Some(backend), threads: Some(1), ..Options::default() };
    #[cfg(feature = "gpu")]
    let options = Options { device: (backend == BackendChoice::Gpu).then(crate::gpu::test_device), ..options };
    Simulation::new(build(&scene).unwrap(), &options).unwrap()
}

fn steps(simulation: &mut Simulation, n: usize) {
    (0..n).for_each(|_| drop(simulation.step().unwrap()));
}

pub(super) fn state_after(simulation: &mut Simulation, n: usize) -> State {
    steps(simulation, n);
    simulation.state().unwrap().clone()
}

/// The state without what is only drawn.
fn state(simulation: &mut Simulation) -> State {
    let mut state = simulation.state().unwrap().clone();
    state.contacts.entries.iter_mut().for_each(|contact| contact.place = None);
    state
}

/// A file of one test that goes with it.
pub(super) struct TestFile(pub PathBuf);

impl TestFile {
    pub(super) fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("pliant-{name}-{}", std::process::id())))
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap_or_default();
    }
}

fn grab(id: u32) -> Command {
    Command::Grab { id, triangle: 3, barycentric: [0.2, 0.5, 0.4], target: Vec3::new(0.3, 0.2, 0.1) }
}

/// Another material of the name that the scenes have.
fn soft(material: Material) -> NamedMaterial {
    NamedMaterial { name: "soft".into(), material }
}

/// One of each kind, for a simulation in which the grab 1 is in progress.
fn all_commands() -> [Command; 13] {
    // A new command belongs into the list.
    let _complete = |command: Command| match command {
        Command::Grab { .. } | Command::MoveGrab { .. } | Command::ReleaseGrab { .. } | Command::Grip { .. } => {}
        // Of a body that one of the scenes has: see `put_back` and `moving`.
        Command::PutBack { .. } | Command::MoveBodies { .. } => {}
        Command::SetGravity(_) | Command::SetTimeStep(_) | Command::SetMaxStepMs(_) | Command::Reset => {}
        Command::SetIntegration(_) | Command::SetMaterial(_) | Command::Set(_) | Command::SetFriction(_) | Command::SetFixed(_) => {}
    };
    [
        grab(2),
        Command::MoveGrab { id: 1, target: Vec3::new(-0.1, 0.4, 0.2) },
        Command::ReleaseGrab { id: 1 },
        Command::SetGravity(Vec3::new(1.0, -3.0, 0.5)),
        Command::SetTimeStep(0.007),
        Command::SetMaxStepMs(0.01),
        Command::SetMaterial(soft(Material { young_modulus: 3e4, density: 700.0, ..Material::default() })),
        Command::SetIntegration(Integration::SemiImplicit),
        Command::Set(Setting::ContactTolerance(2e-5)),
        Command::SetFriction(Friction { default: 0.1, pairs: vec![] }),
        Command::SetFixed(vec![]),
        Command::Grip { id: 1, grip: Grip { radius: 0.05, firm: true } },
        Command::Reset,
    ]
}

/// What a step of second order remembers is saved, too.
#[test]
fn a_resume_in_the_middle_of_any_integration_goes_on_bit_for_bit() {
    let file = TestFile::new("integration.state");
    for text in [LANDING, BAR] {
        for (name, integration) in Integration::ALL {
            let flags = [format!("simulation.integration={name}")];
            let [mut whole, mut resumed] = [(); 2].map(|()| simulation(BackendChoice::Cpu, text, &[&flags[0]]));
            steps(&mut whole, 4);
            whole.save(&file.0).unwrap();
            assert_eq!(whole.state().unwrap().history.is_smooth.is_empty(), integration != Integration::Bdf2);
            steps(&mut whole, 4);
            resumed.resume(&file.0).unwrap();
            steps(&mut resumed, 4);
            assert!(state(&mut whole) == state(&mut resumed), "{name}");
            if text != BAR {
                continue; // what touches has no history
            }
            // Without its history a run goes on otherwise.
            resumed.resume(&file.0).unwrap();
            let mut other = state(&mut resumed);
            other.history.clear();
            resumed.stepper.set_state(&other).unwrap();
            steps(&mut resumed, 4);
            assert_eq!(state(&mut whole) == state(&mut resumed), integration != Integration::Bdf2, "{name}");
        }
    }
}

#[test]
fn an_integration_that_is_not_there_is_refused() {
    let text = BAR.replace("format = 1", "format = 1\n[simulation]\nintegration = \"bdf3\"");
    let error = Scene::from_text("test", "test.toml", &text, None, &[]).unwrap_err().to_string();
    let accepted = Integration::NAMES.iter().all(|name| error.contains(name));
    assert!(error.contains("test.toml:4") && error.contains("bdf3") && accepted, "{error}");
    let mut on_cpu = simulation(BackendChoice::Cpu, BAR, &[]);
    on_cpu.apply(&Command::SetIntegration(Integration::Bdf2)).unwrap();
    assert_eq!(on_cpu.params().integration, Integration::Bdf2);
}

#[test]
fn a_resume_after_any_command_goes_on_bit_for_bit() {
    let file = TestFile::new("commands.state");
    for &(backend, text) in CASES {
        let [mut whole, mut resumed] = [(); 2].map(|()| simulation(backend, text, &[]));
        for command in all_commands() {
            let context = format!("{backend:?}, {command:?}");
            whole.apply(&Command::SetGravity(Vec3::new(0.0, -9.81, 0.0))).unwrap();
            whole.apply(&Command::SetTimeStep(0.01)).unwrap();
            whole.apply(&Command::SetMaxStepMs(0.0)).unwrap();
            whole.apply(&Command::Reset).unwrap();
            whole.apply(&grab(1)).unwrap();
            steps(&mut whole, 3);
            whole.apply(&command).unwrap();
            steps(&mut whole, 2);
            whole.save(&file.0).unwrap();
            let at_save = state(&mut whole);
            let touches = !at_save.contacts.entries.is_empty();
            assert!([BAR, plastic::CLAY].contains(&text) || command == Command::Reset || touches, "{context}: nothing touches");
            steps(&mut whole, 3);
            resumed.resume(&file.0).unwrap();
            assert!(state(&mut resumed) == at_save, "{context}: the state is another one");
            assert_eq!((resumed.step_index(), resumed.time()), (at_save_step(&command), at_save.time), "{context}");
            steps(&mut resumed, 3);
            assert!(state(&mut resumed) == state(&mut whole), "{context}: it went on otherwise");
            assert_eq!(resumed.grabs().unwrap(), whole.grabs().unwrap(), "{context}");
            assert_eq!((resumed.params(), resumed.step_index()), (whole.params(), whole.step_index()), "{context}");
            // Without the saved parameters and grabs it goes another way.
            if matches!(command, Command::SetGravity(_) | Command::SetTimeStep(_)) {
                let mut present = simulation(backend, text, &[]);
                present.resume_with(&file.0, ResumedParams::Present).unwrap();
                steps(&mut present, 3);
                assert!(state(&mut present) != state(&mut whole), "{context}: the parameters make no difference");
            }
        }
    }
}

fn at_save_step(command: &Command) -> u64 {
    if *command == Command::Reset { 2 } else { 5 }
}

#[test]
fn a_saved_state_brings_parameters_that_the_scene_does_not_have() {
    let file = TestFile::new("parameters.state");
    let flags = ["simulation.substeps=2", "contact.tolerance=2e-6", "simulation.solver=cr", "simulation.tolerance=1e-4"];
    let mut saved = simulation(BackendChoice::Cpu, LANDING, &flags);
    steps(&mut saved, 4);
    saved.save(&file.0).unwrap();
    let mut resumed = simulation(BackendChoice::Cpu, LANDING, &[]);
    resumed.resume(&file.0).unwrap();
    assert_eq!(resumed.params(), saved.params());
    steps(&mut saved, 3);
    steps(&mut resumed, 3);
    assert!(state(&mut resumed) == state(&mut saved));
}

#[test]
fn a_flipped_byte_is_refused() {
    let file = TestFile::new("flipped.state");
    let mut whole = simulation(BackendChoice::Cpu, LANDING, &[]);
    whole.apply(&grab(1)).unwrap();
    steps(&mut whole, 3);
    whole.save(&file.0).unwrap();
    let bytes = std::fs::read(&file.0).unwrap();
    let mut other = simulation(BackendChoice::Cpu, LANDING, &[]);
    let before = state(&mut other);
    let header = bytes.iter().position(|b| *b == b'\n').unwrap();
    for at in (0..header + 20).chain((header..bytes.len()).step_by(31)).chain(bytes.len() - 10..bytes.len()) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        std::fs::write(&file.0, &flipped).unwrap();
        let error = other.resume(&file.0).expect_err(&format!("byte {at} of {} is another one", bytes.len()));
        assert!(matches!(error, SaveError::NotAState { .. } | SaveError::OtherScene { .. }), "{error}");
    }
    std::fs::write(&file.0, &bytes[..bytes.len() - 1]).unwrap();
    assert!(other.resume(&file.0).unwrap_err().to_string().contains("damaged or cut off"));
    assert!(state(&mut other) == before && other.grabs().unwrap().is_empty() && other.step_index() == 0, "a refused file left something");
    std::fs::write(&file.0, &bytes).unwrap();
    other.resume(&file.0).unwrap();
}

#[test]
fn a_session_repeats_a_run_bit_for_bit() {
    let file = TestFile::new("session.jsonl");
    for &(backend, text) in CASES {
        let mut first = simulation(backend, text, &[]);
        for command in all_commands() {
            // Resets forget what was before them.
            first.apply(&command).unwrap_or_default();
            steps(&mut first, 1);
        }
        first.apply(&grab(1)).unwrap();
        for k in 0..4 {
            first.apply(&Command::MoveGrab { id: 1, target: Vec3::new(0.1 * f64::from(k), 0.3, 0.0) }).unwrap();
            steps(&mut first, 1);
        }
        first.apply(&Command::SetGravity(Vec3::new(0.0, 2.0, 0.0))).unwrap();
        steps(&mut first, 2);
        assert!(first.apply(&Command::ReleaseGrab { id: 9 }).is_err());
        first.session("test".into(), vec![]).unwrap().write(&file.0).unwrap();
        let session = Session::read(&file.0).unwrap();
        // Where the scene fixes something, that nothing is fixed any more outlives the reset.
        let n_commands = 14 + usize::from(text.contains("fix ="));
        assert_eq!((session.n_steps(), session.commands.len()), (7, n_commands), "{:?}", session.commands);
        let mut second = simulation(backend, text, &[]);
        session.check_start(&second).unwrap();
        for step in 0..session.n_steps() {
            session.commands_at(step).for_each(|command| second.apply(command).unwrap());
            steps(&mut second, 1);
        }
        assert!(state(&mut second) == state(&mut first), "{backend:?}");
        assert_eq!(report::state_hash(second.state().unwrap()), session.header.state_hash, "{backend:?}");
        assert_eq!(second.log(), first.log(), "{backend:?}");
    }
}

#[test]
fn a_session_that_is_wrong_says_where() {
    let file = TestFile::new("wrong.jsonl");
    let mut simulation = simulation(BackendChoice::Cpu, BAR, &[]);
    simulation.apply(&grab(1)).unwrap();
    steps(&mut simulation, 2);
    simulation.apply(&Command::ReleaseGrab { id: 1 }).unwrap();
    simulation.session("bar".into(), vec!["a=1".into()]).unwrap().write(&file.0).unwrap();
    let text = std::fs::read_to_string(&file.0).unwrap();
    assert!(text.lines().count() == 3 && text.contains(r#""scene":"bar","set":["a=1"]"#), "{text}");
    for (from, to, told) in [
        ("pliant session 1", "pliant session 9", "its format is \"pliant session 9\""),
        ("release_grab", "release_hand", "line 3: unknown variant `release_hand`"),
        ("\"step\":2,", "\"step\":7,", "line 3: step 7 is not from 0 to 2, the last step"),
        ("{\"format\"", "{format", "its first line: "),
    ] {
        std::fs::write(&file.0, text.replace(from, to)).unwrap();
        let error = Session::read(&file.0).unwrap_err().to_string();
        assert!(error.contains(told) && error.contains("wrong.jsonl"), "{error}");
    }
    std::fs::write(&file.0, text.replace("\"first_step\":0", "\"first_step\":1").replace("\"step\":0", "\"step\":1")).unwrap();
    let error = Session::read(&file.0).unwrap().check_start(&simulation).unwrap_err().to_string();
    assert!(error.contains("after step 1") && error.contains("--resume"), "{error}");
}

/// At every place where a step asks whether to go on.
#[test]
fn a_step_that_is_cancelled_leaves_the_state_and_goes_on_to_the_same_bits() {
    for &(backend, text) in CASES {
        for flags in [&[][..], &["simulation.substeps=3"]] {
            let [mut whole, mut cancelled] = [(); 2].map(|()| simulation(backend, text, flags));
            for simulation in [&mut whole, &mut cancelled] {
                simulation.apply(&grab(1)).unwrap();
                steps(simulation, 2);
            }
            let before = state(&mut cancelled);
            let mut places = 0;
            while let Err(error) = cancelled.step_unless(&CancelToken::after(places)) {
                assert!(matches!(error, StepError::Cancelled { step: 2 }), "{error}");
                assert!(state(&mut cancelled) == before, "{backend:?} {flags:?}, place {places}: the state has changed");
                assert_eq!((cancelled.step_index(), cancelled.time()), (2, before.time));
                places += 1;
            }
            // A solve on the device that ends at once asks at its start only.
            let solves = if flags.is_empty() { 1 } else { 3 };
            assert!(places >= if text == BAR { solves } else { 2 * solves }, "{backend:?} {flags:?}: asked {places} times only");
            steps(&mut whole, 1);
            assert!(state(&mut cancelled) == state(&mut whole), "{backend:?} {flags:?}: after {places} cancelled steps");
            steps(&mut whole, 2);
            steps(&mut cancelled, 2);
            assert!(state(&mut cancelled) == state(&mut whole), "{backend:?} {flags:?}");
        }
    }
}

/// Where the program chose the device, the CPU takes over from the state that the device left; where a person did, the
/// error says what to do.
#[test]
fn the_cpu_goes_on_where_the_device_has_no_room() {
    let cramped = |falls_back: bool| {
        let mut simulation = simulation(BackendChoice::Cpu, LANDING, &[]);
        Cramped::put_into(&mut simulation, 3, f64::INFINITY);
        simulation.falls_back = falls_back;
        simulation.apply(&grab(1)).unwrap();
        simulation
    };
    let [mut whole, mut chosen] = [simulation(BackendChoice::Cpu, LANDING, &[]), cramped(true)];
    whole.apply(&grab(1)).unwrap();
    steps(&mut whole, 6);
    steps(&mut chosen, 6);
    assert!(state(&mut whole) == state(&mut chosen));
    assert_eq!((chosen.backend().backend, chosen.step_index()), ("cpu", 6));
    assert!(chosen.backend().reason.contains("a buffer is too large") && !chosen.falls_back, "{}", chosen.backend().reason);

    let mut asked_for = cramped(false);
    steps(&mut asked_for, 3);
    let before = state(&mut asked_for);
    let error = asked_for.step().unwrap_err();
    assert!(matches!(error, StepError::DeviceTooSmall { step: 3, .. }), "{error}");
    assert!(state(&mut asked_for) == before);
}

/// With the factors of the rest pose, which the opening makes.
#[test]
fn the_opening_and_the_first_step_can_be_cancelled_wherever_they_are() {
    let built = build(&Scene::from_text("landing", "landing.toml", LANDING, None, &[]).unwrap()).unwrap();
    let options = Options { backend: Some(BackendChoice::Cpu), ..Options::default() };
    let mut questions = 0;
    let mut simulation = loop {
        match Simulation::new_unless(built.clone(), &options, &CancelToken::after(questions)) {
            Ok(simulation) => break simulation,
            Err(error) => assert!(matches!(error, SimulationError::Cancelled(_)), "{error}"),
        }
        questions += 1;
    };
    // More often than a step: once a block of the factor.
    assert!(questions >= 12, "asked {questions} times only");
    let mut whole = Simulation::new(built, &options).unwrap();
    let before = state(&mut simulation);
    let mut questions = 0;
    while let Err(error) = simulation.step_unless(&CancelToken::after(questions)) {
        assert!(matches!(error, StepError::Cancelled { step: 0 }), "{error}");
        assert!(state(&mut simulation) == before, "after {questions} questions");
        questions += 1;
    }
    assert!(questions >= 3, "asked {questions} times only");
    for simulation in [&mut whole, &mut simulation] {
        steps(simulation, 3);
    }
    assert_eq!(whole.step_index() + 1, simulation.step_index());
    steps(&mut whole, 1);
    assert!(state(&mut simulation) == state(&mut whole));
}

/// The work of a step counts all of its parts, and the refused attempts with them.
#[test]
fn the_work_of_a_step_is_counted() {
    let free = simulation(BackendChoice::Cpu, BAR, &[]).step().unwrap();
    assert_eq!((free.attempts, free.searches), (1, 1));
    assert!(free.contact.contacts == 0 && free.solves == 0 && free.dual_iterations == 0, "it touches nothing: {free:?}");
    let mut simulation = simulation(BackendChoice::Cpu, LANDING, &[]);
    let landed = (0..8).map(|_| simulation.step().unwrap()).find(|report| report.contact.active > 0).unwrap();
    // Each pass corrects with the factor, and moves with it what the forces have changed.
    assert!(landed.solves >= 2 * landed.passes && landed.passes > 0, "{landed:?}");
    assert!(landed.dual_iterations > 0, "{landed:?}");
    // Refused as a whole and in halves, done in quarters.
    Cramped::put_into(&mut simulation, u64::MAX, 0.003);
    let (before, rollbacks) = (simulation.time(), simulation.tally().rollbacks);
    simulation.stepper.set_state(&State { time: before, ..State::initial(&simulation.model) }).unwrap();
    let quartered = simulation.step().unwrap();
    assert_eq!((quartered.attempts, simulation.tally().rollbacks - rollbacks), (7, 3));
    assert!(quartered.stages.of(THROWN_AWAY) > 0.0 && landed.stages.of(THROWN_AWAY) == 0.0);
    assert!(quartered.searches >= 4, "{quartered:?}");
    let report = simulation.report(0.0).unwrap().solver;
    assert_eq!(report.attempts.max, 7.0);
    assert!(report.solves.max >= f64::from(landed.solves) && report.dual_iterations.max >= f64::from(landed.dual_iterations));
}

/// The same bits, whether the scene's hand pulls or a person gives the commands, with halved steps too; and a run that
/// is resumed while the hand holds goes on.
#[test]
fn a_recorded_hand_does_what_commands_do() {
    let hand = "[[grab]]\nbody = \"block\"\npoint = [0.16, 0.1, 0.06]\n\
                path = [{ time = 0.015, position = [0.2, 0.2, 0] }, { time = 0.065, position = [0.2, 0.6, 0.1] }]\n";
    let mut recorded = simulation(BackendChoice::Cpu, &format!("{LANDING}{hand}"), &[]);
    let mut given = simulation(BackendChoice::Cpu, LANDING, &[]);
    let grab = build(&Scene::from_text("test", "test.toml", &format!("{LANDING}{hand}"), None, &[]).unwrap()).unwrap().grabs[0].clone();
    let file = TestFile::new("hand");
    for step in 0..10 {
        let time = given.time();
        let command = match (grab.target_at(time), given.grabs().unwrap().first()) {
            (Some(target), None) => Some(Command::Grab { id: 1, triangle: grab.triangle, barycentric: grab.barycentric, target }),
            (Some(target), Some(_)) => Some(Command::MoveGrab { id: 1, target }),
            (None, Some(_)) => Some(Command::ReleaseGrab { id: 1 }),
            (None, None) => None,
        };
        command.iter().for_each(|command| given.apply(command).unwrap());
        let points = |simulation: &mut Simulation| simulation.grabs().unwrap().iter().map(|grab| grab.target).collect::<Vec<_>>();
        assert_eq!(points(&mut recorded), points(&mut given), "step {step}");
        assert_eq!(points(&mut given).len(), usize::from((2..7).contains(&step)), "step {step}");
        if step == 5 {
            recorded.save(&file.0).unwrap();
            recorded = simulation(BackendChoice::Cpu, &format!("{LANDING}{hand}"), &[]);
            recorded.resume(&file.0).unwrap();
        }
        steps(&mut recorded, 1);
        steps(&mut given, 1);
        assert!(state(&mut recorded) == state(&mut given), "step {step}");
    }
    assert!(recorded.log().entries.is_empty(), "a session of the scene must not pull twice");
    let mut free = simulation(BackendChoice::Cpu, LANDING, &[]);
    steps(&mut free, 10);
    assert!(state(&mut free) != state(&mut recorded));
    // The hand counts among those that a person has.
    recorded.apply(&Command::Reset).unwrap();
    (1..4).for_each(|id| recorded.apply(&self::grab(id)).unwrap());
    assert_eq!(recorded.apply(&self::grab(4)), Err(CommandError::TooManyGrabs));
    steps(&mut recorded, 7);
    recorded.apply(&self::grab(4)).unwrap();
}

/// Two soft cubes that fall on each other and on a floor.
const STACK: &str = r#"
format = 1
[simulation]
time_step = 0.01
[material.soft]
young_modulus = 2e4
poisson_ratio = 0.3
density = 1000
[[body]]
name = "floor"
kind = "static"
shape = { type = "plane" }
[[body]]
name = "lower"
material = "soft"
shape = { type = "box", size = [0.1, 0.1, 0.1], cells = [3, 3, 3] }
position = [0.0, 0.08, 0.0]
[[body]]
name = "upper"
material = "soft"
shape = { type = "box", size = [0.1, 0.1, 0.1], cells = [3, 3, 3] }
position = [0.02, 0.2, 0.01]
rotation = [20.0, 30.0, 0.0]
"#;

/// With next to no work nothing is solved: what would cross is limited, the rest falls on, and it is told.
#[test]
fn a_step_without_work_is_limited_and_crosses_nothing() {
    let run = |threads: usize, budget: &str| {
        let flags = [format!("simulation.max_step_ms={budget}")];
        let built = build(&Scene::from_text("stack", "stack.toml", STACK, None, &flags).unwrap()).unwrap();
        let options = Options { backend: Some(BackendChoice::Cpu), threads: Some(threads), ..Options::default() };
        let mut simulation = Simulation::new(built, &options).unwrap();
        let mut deepest = 0.0f64;
        for _ in 0..40 {
            simulation.step().unwrap();
            deepest = deepest.max(simulation.penetration().unwrap());
        }
        let lowest = |simulation: &mut Simulation, body: usize| {
            let nodes = simulation.model().bodies[body].nodes.clone();
            simulation.node_positions().unwrap()[nodes].iter().map(|x| x.y).fold(f64::INFINITY, f64::min)
        };
        let heights = [lowest(&mut simulation, 0), lowest(&mut simulation, 1)];
        (simulation.tally().limited_steps, deepest, heights, state(&mut simulation))
    };
    let (limited, deepest, [lower, upper], at_end) = run(1, "0.0001");
    assert!(limited > 10, "{limited} steps were limited");
    assert!(deepest == 0.0, "{deepest} m deep");
    // They start at 0.03 m and above 0.12 m.
    assert!(lower < 2e-3 && upper < 0.105, "{lower} m and {upper} m above the floor");
    assert!(run(2, "0.0001").3 == at_end, "the same bits on two threads");
    let (limited, deepest, ..) = run(1, "0.0");
    assert_eq!((limited, deepest), (0, 0.0));
}
