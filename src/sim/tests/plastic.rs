//! Bodies that flow, that stiffen, and that are damped.

use std::f64::consts::PI;

use super::*;
use crate::math::Mat3;

/// A cube that lands hard and keeps a part of that.
pub const CLAY: &str = r#"
format = 1
[simulation]
time_step = 0.01
[material.soft]
model = "neo_hookean"
young_modulus = 5e4
poisson_ratio = 0.3
yield_strain = 0.005
creep = 80
[[body]]
name = "floor"
kind = "static"
shape = { type = "plane" }
[[body]]
name = "cube"
material = "soft"
shape = { type = "box", size = [0.1, 0.1, 0.1], cells = [3, 3, 3] }
position = [0.0, 0.0502, 0.0]
velocity = [0.5, -1.0, 0.0]
"#;

/// F of each tet.
fn deformations(simulation: &mut Simulation) -> Vec<Mat3> {
    let model = simulation.model().clone();
    let state = simulation.state().unwrap();
    model.tets.iter().map(|tet| crate::elastic::deformation_gradient(tet, &state.displacements)).collect()
}

fn volume(simulation: &mut Simulation) -> f64 {
    let model = simulation.model().clone();
    model.tets.iter().zip(deformations(simulation)).map(|(tet, f)| tet.volume * f.determinant()).sum()
}

/// A scene of the gallery, run to its end on the CPU, and how many of its steps did not converge.
fn run(name: &str, flags: &[&str]) -> (Simulation, usize) {
    let flags: Vec<String> = flags.iter().map(|flag| flag.to_string()).collect();
    let built = build(&Scene::load(name, &flags).unwrap()).unwrap();
    let n = built.n_steps(built.recording.seconds);
    let options = Options { backend: Some(BackendChoice::Cpu), ..Options::default() };
    let mut simulation = Simulation::new(built, &options).unwrap();
    let unconverged = (0..n).filter(|_| !simulation.step().unwrap().converged).count();
    (simulation, unconverged)
}

/// Greatest strain of a tet in any direction.
fn left(simulation: &mut Simulation) -> f64 {
    let strain = |f: Mat3| ((f.transpose() * f).symmetric_eigenvalues().map(f64::sqrt).add_scalar(-1.0)).amax();
    deformations(simulation).into_iter().map(strain).fold(0.0, f64::max)
}

/// Coarse, so that the test is quick; the ball has left a second before the end.
#[test]
fn a_dent_stays_in_clay_and_not_in_rubber() {
    let coarse = ["body.block.shape.cells=[6,3,6]"];
    let (mut clay, unconverged) = run("dent", &coarse);
    assert_eq!(unconverged, 0);
    let depth = |simulation: &mut Simulation| {
        let model = simulation.model().clone();
        let x = model.surface_positions(&simulation.state().unwrap().positions(&model));
        let top = x.iter().zip(model.surface_positions(&model.rest_positions)).filter(|(_, rest)| rest.y > 0.1499);
        top.map(|(x, rest)| rest.y - x.y).fold(0.0, f64::max)
    };
    let (mut rubber, _) = run("dent", &[coarse[0], "material.clay.yield_strain=10"]);
    let [of_clay, of_rubber] = [&mut clay, &mut rubber].map(depth);
    assert!(of_clay > 0.03 && of_rubber < 2e-3, "{of_clay} {of_rubber}");
    let whole = clay.model().bodies[0].volume;
    let now = volume(&mut clay);
    assert!((now / whole - 1.0).abs() < 0.01, "{now} of {whole}");
    // It is at rest: the dent does not fill again.
    let before = depth(&mut clay);
    steps(&mut clay, 100);
    assert!((depth(&mut clay) - before).abs() < 1e-4, "{before} {}", depth(&mut clay));
}

#[test]
fn creases_stay_in_board_and_not_in_rubber() {
    let coarse = ["body.sheet.shape.cells=[30,1,4]"];
    let (mut board, unconverged) = run("creases", &coarse);
    // The pose at rest says little of what is folded: its matrix is factored anew (53 steps were taken back without).
    assert_eq!((unconverged, board.tally().rollbacks), (0, 0));
    let (mut rubber, _) = run("creases", &[coarse[0], "material.board.yield_strain=10", "material.board.mass_damping=10"]);
    let [of_board, of_rubber] = [&mut board, &mut rubber].map(left);
    assert!(of_board > 0.03 && of_rubber < 0.3 * of_board, "{of_board} {of_rubber}");
    let whole = board.model().bodies[0].volume;
    let now = volume(&mut board);
    assert!((now / whole - 1.0).abs() < 0.01, "{now} of {whole}");
}

/// A bar that could flow, but is not strained enough, moves as one that could not: of every kind of element.
#[test]
fn below_the_yield_strain_motion_is_elastic_bit_for_bit() {
    for element in ["linear", "averaged", "quadratic"] {
        let element = format!("body.bar.element={element}");
        let moved = |flags: &[&str]| {
            let flags = [&[element.as_str(), "body.bar.shape.cells=[4,1,1]"][..], flags].concat();
            let mut simulation = simulation(BackendChoice::Cpu, BAR, &flags);
            steps(&mut simulation, 40);
            let State { displacements, velocities, .. } = state(&mut simulation);
            (displacements, velocities)
        };
        let elastic = moved(&[]);
        assert!(moved(&["material.soft.yield_strain=2"]) == elastic, "{element}");
        assert!(moved(&["material.soft.yield_strain=0.01"]) != elastic, "{element}");
    }
}

/// Nearly incompressible clay bends as far with few tets of ten nodes as with many, and with linear ones not half as
/// far.
#[test]
fn what_flows_does_not_lock() {
    let bar = ["material.soft.young_modulus=5e5", "material.soft.mass_damping=10"];
    let clay = ["material.soft.yield_strain=0.03", "material.soft.max_plastic_strain=0.05"];
    let sag = |flags: &[&str]| {
        let mut simulation = simulation(BackendChoice::Cpu, BAR, &[&bar[..], flags].concat());
        steps(&mut simulation, 200);
        let model = simulation.model().clone();
        let state = state(&mut simulation);
        let ends: Vec<f64> =
            model.rest_positions.iter().zip(&state.displacements).filter(|(x, _)| x.x > 0.1999).map(|(_, u)| -u.y).collect();
        ends.iter().sum::<f64>() / ends.len() as f64
    };
    for poisson_ratio in ["material.soft.poisson_ratio=0.45", "material.soft.poisson_ratio=0.49"] {
        let of = |element: &str, cells: &str, clay: &[&str]| {
            let flags = [format!("body.bar.element={element}"), format!("body.bar.shape.cells={cells}")];
            sag(&[&[poisson_ratio, &flags[0], &flags[1]][..], clay].concat())
        };
        let elastic = of("quadratic", "[4,1,1]", &[]);
        let [linear, few] = ["linear", "quadratic"].map(|element| of(element, "[4,1,1]", &clay));
        let many = of("quadratic", "[8,2,2]", &clay);
        println!("{poisson_ratio}: elastic {elastic:.4} m, clay {few:.4} m, finer {many:.4} m, linear {linear:.4} m");
        assert!(few > 1.05 * elastic && few > 2.0 * linear && (few / many - 1.0).abs() < 0.25, "{poisson_ratio}");
        // The choice of the scene is that of a rubber.
        assert!(of("auto", "[4,1,1]", &clay) == few, "{poisson_ratio}");
    }
}

/// A bar that hangs on itself, thrice as long as at rest: with a limit not much longer than that.
#[test]
fn limits_hold_what_hangs() {
    let hanging = r#"
format = 1
[material.soft]
young_modulus = 1000
poisson_ratio = 0.3
density = 1000
mass_damping = 6
[[body]]
name = "strap"
material = "soft"
shape = { type = "box", size = [0.1, 0.4, 0.1], cells = [2, 8, 2] }
fix = [{ side = "y+" }]
self_contact = "off"
"#;
    let longest = |flags: &[&str]| {
        let mut simulation = simulation(BackendChoice::Cpu, hanging, flags);
        steps(&mut simulation, 200);
        let stretches = deformations(&mut simulation).into_iter().map(|f| (f.transpose() * f).symmetric_eigenvalues().map(f64::sqrt).max());
        stretches.fold(0.0, f64::max)
    };
    for (element, model) in [("linear", "corotational"), ("linear", "stable_neo_hookean"), ("averaged", "corotational")] {
        let flags = [format!("material.soft.model=\"{model}\""), format!("body.strap.element={element}")];
        let with = |limit: &[&str]| longest(&[&[flags[0].as_str(), &flags[1]], limit].concat());
        let [free, limited] = [with(&[]), with(&["material.soft.max_stretch=1.2"])];
        println!("{element}, {model}: {free} {limited}");
        assert!(free > 2.5 && limited < 1.2 + 0.12 * (free - 1.2), "{element}, {model}: {free} {limited}");
    }
}

/// A bar that sags, where it flows, stiffens, or both.
#[cfg(feature = "gpu")]
#[test]
fn the_device_flows_and_stiffens_as_the_cpu() {
    let (flows, stiffens) = ("material.soft.yield_strain=0.01", "material.soft.max_stretch=1.01");
    let end = |backend: BackendChoice, flags: &[&str]| {
        let mut simulation = simulation(backend, BAR, &[flags, &["simulation.tolerance=1e-5"]].concat());
        steps(&mut simulation, 40);
        state(&mut simulation)
    };
    let off = |a: &State, b: &State| a.displacements.iter().zip(&b.displacements).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    let check = |flags: &[&str], elastic: &State| {
        let [wanted, found] = [BackendChoice::Cpu, BackendChoice::Gpu].map(|backend| end(backend, flags));
        println!("{flags:?}: {:e} m, elastic {:e} m", off(&found, &wanted), off(elastic, &wanted));
        assert!(off(&found, &wanted) < 1e-6 && off(elastic, &wanted) > 2e-3, "{flags:?}");
        let n = found.rotations.len();
        assert_eq!(n, wanted.rotations.len());
        let rows = found.rotations.iter().zip(&wanted.rotations).flat_map(|(a, b)| (0..4).map(|k| (a[k] - b[k]).abs()));
        assert!(rows.fold(0.0, f64::max) < 1e-3, "{flags:?}");
        assert!(end(BackendChoice::Gpu, flags) == found, "the same bits each time");
    };
    let elastic = end(BackendChoice::Cpu, &[]);
    for model in ["corotational", "neo_hookean"] {
        let model = format!("material.soft.model=\"{model}\"");
        for flags in [vec![flows], vec![stiffens], vec![flows, stiffens]] {
            check(&[vec![model.as_str()], flags].concat(), &elastic);
        }
    }
    // Elements of several tets, of each form of tangent.
    for (element, model) in [("averaged", "corotational"), ("quadratic", "corotational"), ("quadratic", "neo_hookean")] {
        let flags = [format!("material.soft.model=\"{model}\""), format!("body.bar.element={element}")];
        let flags = [flags[0].as_str(), &flags[1], "body.bar.shape.cells=[4,1,1]"];
        let elastic = end(BackendChoice::Cpu, &flags);
        for laid_over in [vec![flows], vec![stiffens], vec![flows, stiffens]] {
            check(&[&flags[..], &laid_over].concat(), &elastic);
        }
    }
}

/// A clamped bar that vibrates freely dies away as its damping ratio says. The time step damps too: that is measured
/// on a bar without damping of its own.
#[test]
fn vibrations_die_away_by_their_damping_ratio() {
    let log_decrement = |flags: &[&str]| {
        let flags = [
            &["material.soft.young_modulus=5e6", "simulation.time_step=0.0005", "simulation.gravity=[0,0,0]", "simulation.tolerance=1e-6"],
            flags,
        ]
        .concat();
        let mut simulation = simulation(BackendChoice::Cpu, BAR, &flags);
        let model = simulation.model().clone();
        // About the first mode of bending: the others are higher, and fade or stay small.
        let mut start = simulation.state().unwrap().clone();
        for (v, x) in start.velocities.iter_mut().zip(&model.rest_positions) {
            v.y = 0.02 * ((x.x + 0.2) / 0.4).powi(2);
        }
        simulation.stepper.set_state(&start).unwrap();
        let tip = model.rest_positions.iter().position(|x| x.x > 0.1999).unwrap();
        let (mut peaks, mut before) = (vec![], [0.0; 2]);
        for step in 1..=4000 {
            simulation.step().unwrap();
            let y = simulation.state().unwrap().displacements[tip].y;
            if before[1] > before[0] && before[1] >= y && before[1] > 0.0 {
                peaks.push((step, before[1]));
            }
            before = [before[1], y];
        }
        let ([(first, a), .., (last, b)], n) = (&peaks[..], peaks.len() - 1) else { panic!("{peaks:?}") };
        let period = 0.0005 * f64::from(last - first) / n as f64;
        ((a / b).ln() / n as f64, 1.0 / period)
    };
    let (of_step, frequency) = log_decrement(&[]);
    for flags in [["material.soft.mass_damping=5"], ["material.soft.stiffness_damping=0.002"]] {
        let (measured, _) = log_decrement(&flags);
        let material =
            *simulation(BackendChoice::Cpu, BAR, &flags).model().material(&simulation(BackendChoice::Cpu, BAR, &flags).model().tets[0]);
        let zeta = material.damping_ratio(frequency);
        let found = (measured - of_step) / (2.0 * PI);
        println!("{flags:?}: zeta {zeta:.5}, measured {found:.5}, of the step {:.5}, {frequency:.3} Hz", of_step / (2.0 * PI));
        assert!((found - zeta).abs() < 0.04 * zeta, "{found} {zeta}");
        assert!(zeta > 0.02);
    }
}
