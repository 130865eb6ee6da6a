//! What steps of pieces of the scenes ask of the device, as they stand in the report: in counts, which no load of the
//! machine changes. More is a loss that nobody would see on a software adapter; less is a budget to be tightened.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cancel::CancelToken;
use crate::gpu::Device;
use crate::math::Vec3;
use crate::scene::{BackendChoice, Scene, build};
use crate::sim::backend::{faster, open_backend};
use crate::sim::report::DeviceReport;
use crate::sim::{Command, Options, Simulation};

/// Two layers of `pyramid`, which the device solves by warped compliance.
const FRAMES: &str = r#"
format = 1
[simulation]
time_step = 0.0005
[contact]
friction = 0.5
tolerance = 5e-6
[material.rubber]
young_modulus = 5e5
poisson_ratio = 0.2
density = 1000.0
[[body]]
name = "lower"
shape = { type = "frame", size = [0.24, 0.06, 0.24] }
origin = "bottom"
position = [-0.125, 0.0002, -0.125]
array = { count = [2, 1, 2], pitch = [0.25, 0.0, 0.25] }
material = "rubber"
[[body]]
name = "upper"
shape = { type = "frame", size = [0.24, 0.06, 0.24] }
origin = "bottom"
position = [0.0, 0.0604, 0.0]
material = "rubber"
[[body]]
name = "floor"
kind = "static"
shape = { type = "plane" }
"#;

/// Twelve cubes of `pile27`, in its three layers.
const CUBES: &[&str] = &[
    "body.layer0.array.count=[2,1,2]",
    "body.layer1.array.count=[2,1,2]",
    "body.layer2.array.count=[2,1,2]",
    "body.layer0.shape.cells=[2,2,2]",
    "body.layer1.shape.cells=[2,2,2]",
    "body.layer2.shape.cells=[2,2,2]",
];
const GALLERY: &[&str] = &["body.bunny.resolution=10", "body.armadillo.resolution=12", "body.dragon.resolution=14"];
/// Eight rings of `rings`.
const RINGS: &[&str] = &["body.ring.scatter={count=8,seed=7,min=[-0.15,0.12,-0.15],max=[0.15,0.9,0.15]}"];
const BAR: &[&str] = &["body.bar.shape.cells=[12,3,3]", "body.bar.self_contact=\"off\""];

fn scene(name: &str, flags: &[&str]) -> Scene {
    let flags: Vec<String> = flags.iter().map(|flag| flag.to_string()).collect();
    Scene::load(name, &flags).unwrap()
}

fn simulation(scene: &Scene, backend: BackendChoice) -> Simulation {
    Simulation::new(build(scene).unwrap(), &Options { backend: Some(backend), threads: Some(1), ..Options::default() }).unwrap()
}

/// What `steps` steps ask of the device after `before` steps of the CPU.
fn of_steps(scene: &Scene, before: u64, steps: u64) -> DeviceReport {
    let mut start = simulation(scene, BackendChoice::Cpu);
    (0..before).for_each(|_| drop(start.step().unwrap()));
    let mut simulation = simulation(scene, BackendChoice::Gpu);
    simulation.stepper.set_state(start.state().unwrap()).unwrap();
    (0..steps).for_each(|_| drop(simulation.step().unwrap()));
    assert!(simulation.tally().last.contact.active > 10, "{}: nothing touches", simulation.name());
    simulation.report(0.0).unwrap().solver.device.unwrap()
}

/// A bar that the mouse drags, with a view of every step.
fn of_drag() -> DeviceReport {
    let mut simulation = simulation(&scene("cantilever", BAR), BackendChoice::Gpu);
    let target = |k: u32| Vec3::new(1.0, 0.02 * f64::from(k), 0.1);
    let triangle = simulation.model().surface.triangles.len() as u32 - 1;
    simulation.apply(&Command::Grab { id: 1, triangle, barycentric: [0.2, 0.3, 0.5], target: target(0) }).unwrap();
    for k in 0..12 {
        simulation.apply(&Command::MoveGrab { id: 1, target: target(k) }).unwrap();
        simulation.step().unwrap();
        assert_eq!(simulation.grabs().unwrap().len(), 1);
    }
    simulation.report(0.0).unwrap().solver.device.unwrap()
}

/// Dispatches, blocking trips, bytes in the kernels, and bytes to and fro, in a mean step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Budget {
    dispatches: f64,
    trips: f64,
    bytes: f64,
    transfer: f64,
}

/// What is granted beyond a count when its budget is made: less than the tenth that is to be noticed.
const GRANTED: f64 = 1.05;

impl Budget {
    fn of(found: &DeviceReport) -> Self {
        let granted = |x: f64| (100.0 * GRANTED * x).round() / 100.0;
        Self {
            dispatches: granted(found.dispatches.mean),
            trips: granted(found.blocking_trips.mean),
            bytes: granted(found.bytes.mean),
            transfer: granted(found.bytes_sent.mean + found.bytes_fetched.mean),
        }
    }

    /// What is not as it should be.
    fn faults(&self, name: &str, found: &DeviceReport) -> Vec<String> {
        let transfer = found.bytes_sent.mean + found.bytes_fetched.mean;
        [
            ("dispatches", found.dispatches.mean, self.dispatches),
            ("blocking trips", found.blocking_trips.mean, self.trips),
            ("bytes", found.bytes.mean, self.bytes),
            ("bytes to and fro", transfer, self.transfer),
        ]
        .into_iter()
        .filter(|(_, found, budget)| found > budget || 1.1 * found <= *budget)
        .map(|(what, found, budget)| format!("{name}: {found:.1} {what} a step, {budget:.1} are granted"))
        .collect()
    }
}

/// The budgets stand in `budgets.json`, made with UPDATE=1 on a software adapter: cards cut the same work otherwise.
#[test]
fn steps_keep_within_their_budgets() {
    let frames = Scene::from_text("frames", "frames.toml", FRAMES, None, &[]).unwrap();
    let found = [
        ("rings", of_steps(&scene("rings", RINGS), 330, 2)),
        ("pile27", of_steps(&scene("scenes/peers/pile27.toml", CUBES), 14, 2)),
        ("gallery", of_steps(&scene("gallery", GALLERY), 25, 2)),
        ("pyramid", of_steps(&frames, 30, 2)),
        ("drag", of_drag()),
    ];
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/sim/backend/device/budgets.json");
    if std::env::var_os("UPDATE").is_some() {
        let budgets: BTreeMap<&str, Budget> = found.iter().map(|(name, found)| (*name, Budget::of(found))).collect();
        std::fs::write(path, serde_json::to_string_pretty(&budgets).unwrap() + "\n").unwrap();
    }
    let budgets: BTreeMap<String, Budget> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(budgets.len(), found.len());
    let faults: Vec<String> = found.iter().flat_map(|(name, found)| budgets[*name].faults(name, found)).collect();
    assert!(faults.is_empty(), "run this test with UPDATE=1 if that is meant: {faults:#?}");
}

/// Both backends come through the race, and the one that is taken goes on from the start of the scene.
#[test]
fn the_faster_backend_is_taken() {
    let scene = scene("cantilever", BAR);
    let mut raced = simulation(&scene, BackendChoice::Cpu);
    let (model, params, start) = (raced.model.clone(), raced.params, raced.state().unwrap().clone());
    let (options, never) = (Options { threads: Some(1), ..Options::default() }, CancelToken::never());
    let open = |choice| open_backend(choice, &params, &options, &model, never).unwrap();
    let (mut stepper, info) = faster(open(BackendChoice::Gpu), open(BackendChoice::Cpu), &params, never).unwrap();
    assert!(info.reason.starts_with("the first steps took"), "{}", info.reason);
    let is_hardware = Device::open(&Default::default()).unwrap().is_hardware();
    assert!(is_hardware || info.backend == "cpu", "a software adapter is no faster: {}", info.reason);
    stepper.set_state(&start).unwrap();
    let mut other = simulation(&scene, if info.backend == "cpu" { BackendChoice::Cpu } else { BackendChoice::Gpu });
    raced.stepper = stepper;
    for _ in 0..3 {
        raced.step().unwrap();
        other.step().unwrap();
    }
    assert!(raced.state().unwrap() == other.state().unwrap(), "the race is seen in the run");
}

#[test]
fn a_budget_notices_a_tenth_more() {
    let all = |x: f64| crate::sim::report::MeanMax { mean: x, max: x };
    let report = |x: f64| DeviceReport {
        dispatches: all(x),
        empty_dispatches: all(0.0),
        blocking_trips: all(x),
        bytes: all(x),
        bytes_sent: all(0.4 * x),
        bytes_fetched: all(0.6 * x),
    };
    let budget = Budget::of(&report(100.0));
    assert!(budget.faults("", &report(100.0)).is_empty());
    assert_eq!(budget.faults("", &report(110.0)).len(), 4);
    // A budget that holds nothing any more is told too.
    assert_eq!(budget.faults("", &report(90.0)).len(), 4);
}
