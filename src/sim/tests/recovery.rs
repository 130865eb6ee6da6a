//! Bodies that start scrambled, flattened and mirrored find back to their shape, of every material and with
//! self-contact on.

use super::*;
use crate::elastic;
use crate::material::MaterialModel;
use crate::math::{Aabb, Mat3};
use crate::scene::{BackendChoice, Scene, build};

/// A cube of 162 tets.
const CUBE: &str = r#"
format = 1
[simulation]
time_step = 0.01
gravity = [0.0, 0.0, 0.0]
[material.solid]
young_modulus = 1e5
poisson_ratio = 0.3
density = 1000.0
stiffness_damping = 0.005
[[body]]
name = "cube"
shape = { type = "box", size = [0.2, 0.2, 0.2], cells = [3, 3, 3] }
material = "solid"
element = "linear"
"#;

fn cube(flags: &[String]) -> Simulation {
    cube_on(BackendChoice::Cpu, flags)
}

fn cube_on(backend: BackendChoice, flags: &[String]) -> Simulation {
    body_on(backend, 1, CUBE, flags)
}

fn body_on(backend: BackendChoice, threads: usize, scene: &str, flags: &[String]) -> Simulation {
    let scene = Scene::from_text("cube", "cube.toml", scene, None, flags).unwrap();
    let options = Options { backend: Some(backend), threads: Some(threads), ..Options::default() };
    #[cfg(feature = "gpu")]
    let options = Options { device: (backend == BackendChoice::Gpu).then(crate::gpu::test_device), ..options };
    Simulation::new(build(&scene).unwrap(), &options).unwrap()
}

fn flags(model: &str, start: &str, poisson_ratio: f64) -> Vec<String> {
    let of_model = format!("material.solid.model={model}");
    let others = [format!("body.cube.start={start}"), format!("material.solid.poisson_ratio={poisson_ratio}")];
    of_model.split(';').map(str::to_owned).chain(others).collect()
}

/// Largest distance of a node from where the nearest rigid motion of the rest shape has it, as a part of the size.
fn deviation(simulation: &mut Simulation) -> f64 {
    let model = simulation.model().clone();
    let x = simulation.state().unwrap().positions(&model);
    let mean = |points: &[Vec3]| points.iter().sum::<Vec3>() / points.len() as f64;
    let (now, rest) = (mean(&x), mean(&model.rest_positions));
    let both = || x.iter().zip(&model.rest_positions).map(|(x, rest_x)| (x - now, rest_x - rest));
    let svd = both().map(|(x, rest_x)| x * rest_x.transpose()).sum::<Mat3>().svd(true, true);
    let (u, v_t) = (svd.u.unwrap(), svd.v_t.unwrap());
    let rotation = u * Mat3::from_diagonal(&Vec3::new(1.0, 1.0, (u * v_t).determinant())) * v_t;
    let largest = both().map(|(x, rest_x)| (x - rotation * rest_x).norm()).fold(0.0, f64::max);
    largest / Aabb::of(&model.rest_positions).extent().max()
}

fn tangled(simulation: &mut Simulation) -> bool {
    simulation.state().unwrap().tangled.contains(&true)
}

#[test]
fn every_material_recovers_from_every_start() {
    let mut wrong = vec![];
    // And the corotational one with frames that remember what has collapsed.
    let aware = "corotational;material.solid.degeneration_ratio=0.2";
    for model in MaterialModel::NAMES.iter().chain([&aware]) {
        for start in ["scrambled", "flattened", "mirrored"] {
            for poisson_ratio in [0.2, 0.45, 0.49] {
                let mut simulation = cube(&flags(model, start, poisson_ratio));
                simulation.set_measuring(true);
                assert!(tangled(&mut simulation));
                let ends = (0..300).try_for_each(|_| simulation.step().map(|_| ()));
                let (off, tangled) = (deviation(&mut simulation), tangled(&mut simulation));
                let inverted = simulation.report(0.0).unwrap().bodies[0].inverted_tets;
                let penetration = simulation.tally().max_penetration;
                if ends.is_err() || off.is_nan() || off >= 0.01 || tangled || inverted != Some(0) || penetration != Some(0.0) {
                    wrong.push(format!("{model}, {start}, nu {poisson_ratio}: {ends:?}, off by {off:.4}, tangled {tangled}, {inverted:?} inverted, {penetration:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Two materials that do not find back by their own law, one whose elements share their volume, and one that remembers
/// how its elements have collapsed.
#[cfg(feature = "gpu")]
#[test]
fn tangled_bodies_recover_on_the_device() {
    for (model, start, element) in [
        ("st_venant_kirchhoff", "mirrored", "linear"),
        ("stable_neo_hookean", "flattened", "linear"),
        ("neo_hookean", "scrambled", "averaged"),
        ("corotational;material.solid.degeneration_ratio=0.2", "scrambled", "linear"),
    ] {
        let mut flags = flags(model, start, 0.45);
        flags.push(format!("body.cube.element={element}"));
        let mut simulation = cube_on(BackendChoice::Gpu, &flags);
        simulation.set_measuring(true);
        assert!(tangled(&mut simulation));
        (0..300).for_each(|_| drop(simulation.step().unwrap()));
        let off = deviation(&mut simulation);
        assert!(off < 0.01 && !tangled(&mut simulation), "{model} {start} {element}: {off}");
        let body = &simulation.report(0.0).unwrap().bodies[0];
        assert_eq!(body.inverted_tets, Some(0));
        assert_eq!(simulation.tally().max_penetration, Some(0.0));
    }
}

/// The first step of a scrambled cube whose elements remember how they have collapsed is that of the CPU.
#[cfg(feature = "gpu")]
#[test]
fn the_device_remembers_what_has_collapsed() {
    let flags = flags("corotational;material.solid.degeneration_ratio=0.2", "scrambled", 0.3);
    let run = |backend| {
        let mut simulation = cube_on(backend, &flags);
        simulation.step().unwrap();
        simulation.state().unwrap().clone()
    };
    let [cpu, gpu] = [BackendChoice::Cpu, BackendChoice::Gpu].map(run);
    let n_tets = cpu.rotations.len() / 2;
    let [(frames, pairs), (of_device, pairs_of_device)] = [&cpu, &gpu].map(|state| state.rotations.split_at(n_tets));
    assert!(pairs == pairs_of_device);
    let mut n_turned = 0;
    for ((frame, of_device), _) in frames.iter().zip(of_device).zip(pairs).filter(|(_, pair)| pair[0] > 0.0) {
        n_turned += 1;
        // The same rotation has two signs.
        let product: f64 = frame.iter().zip(of_device).map(|(a, b)| a * b).sum();
        assert!((product.abs() - 1.0).abs() < 1e-6, "{frame:?} {of_device:?}");
    }
    assert!(n_turned > n_tets / 4, "{n_turned} of {n_tets}");
}

/// Which features met is a part of the state, and turns frames.
#[test]
fn what_has_collapsed_is_remembered() {
    let run = |ratio: &str| {
        let model = format!("corotational{ratio}");
        let mut simulation = cube(&flags(&model, "scrambled", 0.3));
        simulation.step().unwrap();
        simulation.state().unwrap().clone()
    };
    let (aware, plain) = (run(";material.solid.degeneration_ratio=0.2"), run(""));
    let (frames, pairs) = aware.rotations.split_at(plain.rotations.len());
    assert_eq!(pairs.len(), frames.len());
    let degenerate = pairs.iter().filter(|pair| pair[0] > 0.0).count();
    let turned = frames.iter().zip(&plain.rotations).zip(pairs).filter(|((a, b), pair)| pair[0] > 0.0 && a != b).count();
    assert!(degenerate > pairs.len() / 4 && turned > degenerate / 2, "{turned} of {degenerate} of {}", pairs.len());
}

/// What holds the surfaces of others apart holds a body that starts inside out as it is.
#[test]
fn contact_would_hold_a_mirrored_body() {
    let mut simulation = cube(&flags("corotational", "mirrored", 0.3));
    let mut held = simulation.state().unwrap().clone();
    held.tangled = vec![false];
    simulation.stepper.set_state(&held).unwrap();
    for _ in 0..100 {
        let _ = simulation.step();
    }
    assert!(deviation(&mut simulation) > 0.1);
}

/// A ring of 108 tets, which may come to rest as one that is wound twice or twisted, each element upright.
fn ring(backend: BackendChoice, threads: usize, seed: usize, flags: &[String]) -> Simulation {
    let of_cube = r#"shape = { type = "box", size = [0.2, 0.2, 0.2], cells = [3, 3, 3] }"#;
    let of_ring = r#"shape = { type = "ring", radius = 0.09, width = 0.02, height = 0.02, segments = 18 }"#;
    let text = CUBE.replace(of_cube, of_ring).replace("stiffness_damping = 0.005", "stiffness_damping = 0.02");
    let flags: Vec<String> = flags.iter().cloned().chain([format!("body.cube.start_seed={seed}")]).collect();
    body_on(backend, threads, &text, &flags)
}

fn assert_has_found_back(simulation: &mut Simulation, what: &str) {
    simulation.set_measuring(true);
    simulation.step().unwrap();
    let (off, tangled) = (deviation(simulation), tangled(simulation));
    assert!(off < 0.01 && !tangled, "{what}: off by {off}, tangled {tangled}");
    assert_eq!(simulation.report(0.0).unwrap().bodies[0].inverted_tets, Some(0), "{what}");
    assert_eq!(simulation.tally().max_penetration, Some(0.0), "{what}");
}

#[test]
fn what_is_closed_finds_back_from_scrambles() {
    for (model, poisson_ratio, element) in
        [("corotational", 0.3, "linear"), ("neo_hookean", 0.49, "quadratic"), ("st_venant_kirchhoff", 0.2, "linear")]
    {
        for seed in [1, 2] {
            let mut flags = flags(model, "scrambled", poisson_ratio);
            flags.push(format!("body.cube.element={element}"));
            let mut simulation = ring(BackendChoice::Cpu, 1, seed, &flags);
            (0..199).for_each(|_| drop(simulation.step().unwrap()));
            assert_has_found_back(&mut simulation, &format!("{model} {poisson_ratio} {seed}"));
        }
    }
}

#[cfg(feature = "gpu")]
#[test]
fn what_is_closed_finds_back_on_the_device() {
    for (model, poisson_ratio, element) in [("corotational", 0.3, "linear"), ("neo_hookean", 0.45, "quadratic")] {
        let mut flags = flags(model, "scrambled", poisson_ratio);
        flags.push(format!("body.cube.element={element}"));
        let mut simulation = ring(BackendChoice::Gpu, 1, 1, &flags);
        (0..199).for_each(|_| drop(simulation.step().unwrap()));
        assert_has_found_back(&mut simulation, &format!("{model} {poisson_ratio}"));
    }
}

/// While a body is drawn back it goes on the same way whatever the threads, and from a file.
#[test]
fn what_is_drawn_back_goes_on_bit_for_bit() {
    let path = std::env::temp_dir().join(format!("pliant_drawn_{}.state", std::process::id()));
    let flags = flags("corotational", "scrambled", 0.3);
    let is_drawn = |ring: &mut Simulation| {
        let patience = elastic::patience(ring.model(), &ring.model().bodies[0]);
        ring.state().unwrap().tangled_times[0] > patience
    };
    // Most are whole before they are drawn back.
    let drawn = (1..20).find_map(|seed| {
        let mut ring = ring(BackendChoice::Cpu, 1, seed, &flags);
        while tangled(&mut ring) && !is_drawn(&mut ring) {
            ring.step().unwrap();
        }
        is_drawn(&mut ring).then_some((seed, ring))
    });
    let (seed, mut one) = drawn.expect("some ring stays wound");
    let [mut two, mut resumed] = [2, 1].map(|threads| ring(BackendChoice::Cpu, threads, seed, &flags));
    while two.step_index() < one.step_index() {
        two.step().unwrap();
    }
    one.save(&path).unwrap();
    resumed.resume(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    for _ in 0..5 {
        assert!(tangled(&mut one));
        assert_eq!(*one.state().unwrap(), *two.state().unwrap());
        assert_eq!(*one.state().unwrap(), *resumed.state().unwrap());
        for simulation in [&mut one, &mut two, &mut resumed] {
            simulation.step().unwrap();
        }
    }
}

/// A cube so soft that its weight takes more of its volume than what is settled may lack. Softer ones have more than one
/// way to stand: of 4 kPa it comes free, too, and leans.
#[test]
fn what_loads_keep_from_its_shape_is_not_tangled_for_ever() {
    let floor = "[[body]]\nname = \"floor\"\nkind = \"static\"\nshape = { type = \"plane\" }\n";
    let text = CUBE.replace("[0.0, 0.0, 0.0]", "[0.0, -9.81, 0.0]") + "position = [0.0, 0.1, 0.0]\n" + floor;
    let height = |start: &str| {
        let flags = ["material.solid.young_modulus=6e3", "material.solid.stiffness_damping=0.05", &format!("body.cube.start={start}")];
        let mut simulation = body_on(BackendChoice::Cpu, 1, &text, &flags.map(str::to_owned));
        let patience = elastic::patience(simulation.model(), &simulation.model().bodies[0]);
        (0..(4.0 * patience / 0.01) as usize).for_each(|_| drop(simulation.step().unwrap()));
        assert!(!tangled(&mut simulation), "{start}");
        let body = &simulation.report(0.0).unwrap().bodies[0];
        assert_eq!(body.inverted_tets, Some(0));
        body.center_of_mass.unwrap()[1]
    };
    let [mirrored, rest] = ["mirrored", "rest"].map(height);
    assert!((mirrored - rest).abs() < 2e-3, "{mirrored} {rest}");
}

#[test]
fn what_is_tangled_is_told_saved_and_hashed() {
    let path = std::env::temp_dir().join(format!("pliant_tangled_{}.state", std::process::id()));
    let flags = flags("neo_hookean", "scrambled", 0.3);
    let mut simulation = cube(&flags);
    for _ in 0..3 {
        simulation.step().unwrap();
    }
    let faults = simulation.report(0.0).unwrap().faults;
    assert_eq!((faults.tangled_steps, faults.tangled_bodies), (3, vec!["cube".to_owned()]));
    simulation.save(&path).unwrap();
    let state = simulation.state().unwrap().clone();
    let whole = State { tangled: vec![false], ..state.clone() };
    assert_ne!(report::state_hash(&state), report::state_hash(&whole));
    let mut resumed = cube(&flags);
    resumed.resume(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(*resumed.state().unwrap(), state);
    for _ in 0..3 {
        simulation.step().unwrap();
        resumed.step().unwrap();
    }
    assert_eq!(*resumed.state().unwrap(), *simulation.state().unwrap());
}
