//! Newton's method and steps of second order on the device: the same equation, solved to the same tolerance.

use super::*;

/// Free bars of all kinds of elements that vibrate and spin, of materials with different tangents.
const BARS: &str = r#"
format = 1
[simulation]
time_step = 0.01
gravity = [0.0, 0.0, 0.0]
[material.warped]
young_modulus = 2e5
density = 1000
stiffness_damping = 0.002
mass_damping = 0.5
[material.general]
model = "neo_hookean"
young_modulus = 2e5
density = 1000
[[body]]
name = "linear"
material = "general"
element = "linear"
shape = { type = "box", size = [0.4, 0.1, 0.1], cells = [8, 2, 2] }
fix = [{ side = "x-" }]
angular_velocity = [0.0, 0.0, 4.0]
[[body]]
name = "quadratic"
material = "warped"
element = "quadratic"
shape = { type = "box", size = [0.4, 0.1, 0.1], cells = [4, 1, 1] }
position = [0.0, 1.0, 0.0]
angular_velocity = [3.0, 0.0, 6.0]
[[body]]
name = "averaged"
material = "general"
element = "averaged"
shape = { type = "box", size = [0.2, 0.1, 0.1], cells = [4, 2, 2] }
position = [0.0, 2.0, 0.0]
velocity = [0.0, 1.0, 0.0]
"#;

fn run(backend: BackendChoice, text: &str, flags: &[&str], n: u64) -> (State, u32) {
    let mut run = simulation(backend, text, flags);
    let mut iterations = 0;
    for step in 0..n {
        let report = run.step().unwrap();
        assert!(report.converged && report.newton_residual <= 1e-6, "step {step}: {report:?}");
        iterations += report.newton_iterations;
    }
    (state(&mut run), iterations)
}

fn farthest(a: &State, b: &State) -> f64 {
    a.displacements.iter().zip(&b.displacements).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

#[test]
fn the_device_solves_the_non_linear_step_as_the_cpu_does() {
    for name in ["newton", "bdf2"] {
        let flag = format!("simulation.integration={name}");
        let on = |backend| run(backend, BARS, &[&flag], 15);
        let [(cpu, n_cpu), (gpu, n_gpu)] = [BackendChoice::Cpu, BackendChoice::Gpu].map(on);
        let moved = cpu.displacements.iter().map(|u| u.norm()).fold(0.0, f64::max);
        let apart = farthest(&cpu, &gpu);
        assert!(apart < 1e-5 * moved && moved > 0.05, "{name}: {apart} of {moved}");
        // One linearised step is another answer.
        let mut once = simulation(BackendChoice::Gpu, BARS, &[]);
        steps(&mut once, 15);
        assert!(farthest(&cpu, &state(&mut once)) > 100.0 * apart, "{name}");
        assert!(n_gpu <= n_cpu + n_cpu / 4, "{name}: {n_gpu} iterations, {n_cpu} on the CPU");
    }
}

#[test]
fn the_device_solves_contacts_in_the_non_linear_step() {
    for name in ["newton", "bdf2"] {
        let flag = format!("simulation.integration={name}");
        let mut apart = vec![];
        let mut runs = [BackendChoice::Cpu, BackendChoice::Gpu].map(|backend| simulation(backend, LANDING, &[&flag]));
        for step in 0..25 {
            let reports = runs.each_mut().map(|run| run.step().unwrap());
            assert!(reports.iter().all(|report| report.converged), "{name}, step {step}: {reports:?}");
            let [cpu, gpu] = runs.each_mut().map(state);
            apart.push(farthest(&cpu, &gpu));
        }
        assert_eq!(runs[1].penetration().unwrap(), 0.0);
        // Landing multiplies differences; contacts are solved to 1e-5 m.
        assert!(apart.iter().all(|apart| *apart < 5e-4), "{name}: {apart:?}");
    }
}

/// The device goes on with another stepper where that changes, from the same state.
#[test]
fn integration_changes_while_a_device_runs() {
    let mut run = simulation(BackendChoice::Gpu, BAR, &[]);
    steps(&mut run, 3);
    for integration in [Integration::Bdf2, Integration::Newton, Integration::SemiImplicit, Integration::Bdf2] {
        let before = state(&mut run);
        run.apply(&Command::SetIntegration(integration)).unwrap();
        // A device that keeps the state rounds it.
        assert!(farthest(&state(&mut run), &before) < 1e-9);
        let report = run.step().unwrap();
        assert_eq!(report.newton_iterations > 0, integration != Integration::SemiImplicit);
    }
    let file = TestFile::new("device_integration.state");
    run.save(&file.0).unwrap();
    let mut resumed = simulation(BackendChoice::Gpu, BAR, &[]);
    resumed.resume(&file.0).unwrap();
    for run in [&mut run, &mut resumed] {
        steps(run, 3);
    }
    assert!(state(&mut run) == state(&mut resumed));
}
