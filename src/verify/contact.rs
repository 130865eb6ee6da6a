//! Contact with friction.

use super::bench::Bench;
use super::check::{Check, Measure, Outcome, Place};
use super::plot::{Axis, Plot, Style};
use super::unmeasured::Unmeasured;
use crate::math::Vec3;
use crate::sim::Simulation;

const G: f64 = 9.81;

pub const STICK_SLIP: Check = Check {
    name: "stick_slip",
    title: "Stick and slip on an incline",
    meaning: "Blocks of 1 mm, 10 cm and 10 m stick below the angle of friction, and slide above it as Coulomb says.",
    setup: "a block of edge s, 3 x 3 x 3 cells, 162 tets, friction 0.5, on slopes of 0.9 and 1.2 of the angle's tangent; \
            E, the time step and the contact tolerance follow s; 120 steps, the second half is measured",
    source: "Coulomb: no motion where tan(angle) < mu; else a = g (sin(angle) - mu cos(angle))",
    place: Place::Chosen,
    run: stick_slip,
};

/// Edges [m].
const SIZES: [(f64, &str); 3] = [(1e-3, "1 mm"), (0.1, "10 cm"), (10.0, "10 m")];
const FRICTION: f64 = 0.5;
const SETTLING: u32 = 60;

fn stick_slip(bench: &mut Bench) -> Result<Outcome, Unmeasured> {
    let angle = |part: f64| (part * FRICTION).atan();
    let expected = |part: f64| G * (angle(part).sin() - FRICTION * angle(part).cos()).max(0.0);
    let mut outcome = Outcome {
        plot: Plot::new(Axis::linear("time", "steps"), Axis::linear("speed over g and the time of 120 steps", "")),
        ..Outcome::default()
    };
    for (k, (size, name)) in SIZES.into_iter().enumerate() {
        // Similar in all: the same sag, and the same number of steps in the time of a fall.
        let time_step = 0.01 * (size / 0.1_f64).sqrt();
        let duration = 2.0 * f64::from(SETTLING) * time_step;
        for (sliding, part) in [(false, 0.9), (true, 1.2)] {
            let (sin, cos) = angle(part).sin_cos();
            let mut simulation = bench.simulate_scene(&format!(
                "format = 1\nsimulation = {{ time_step = {time_step}, gravity = [{}, {}, 0.0] }}\n\
                 contact = {{ friction = {FRICTION}, tolerance = {} }}\n\
                 [material.rubber]\nyoung_modulus = {}\npoisson_ratio = 0.3\n\
                 [[body]]\nname = \"block\"\nshape = {{ type = \"box\", size = [{size}, {size}, {size}], cells = [3, 3, 3] }}\n\
                 origin = \"bottom\"\nmaterial = \"rubber\"\n\
                 [[body]]\nname = \"slope\"\nkind = \"static\"\nshape = {{ type = \"plane\" }}\n",
                G * sin,
                -G * cos,
                5e-5 * size,
                bench.stiffening * 5e6 * size,
            ))?;
            let mut motion = vec![center(&mut simulation)?];
            for step in 1..=2 * SETTLING {
                bench.step(&mut simulation)?;
                motion.push(center(&mut simulation)?);
                bench.done(
                    (k as f64 + 0.5 * (f64::from(u8::from(sliding)) + f64::from(step) / f64::from(2 * SETTLING))) / SIZES.len() as f64,
                );
            }
            let ([at, speed], [later_at, later_speed]) = (motion[SETTLING as usize], motion[2 * SETTLING as usize]);
            outcome.measures.push(if sliding {
                let found = (later_speed - speed) / (0.5 * duration);
                Measure::relative(format!("{name}: acceleration above the angle"), expected(part), found, 0.01, "m/s^2")
            } else {
                let creep = (later_at - at).abs() / (G * (0.5 * duration).powi(2) * 0.5);
                Measure::error(format!("{name}: creep below the angle, as a part of a free fall"), creep, 1e-5, "")
            });
            let curve = motion.iter().enumerate().step_by(8).map(|(step, [_, speed])| [step as f64, speed / (G * duration)]);
            outcome.plot =
                outcome.plot.with(Style::Points, format!("{name}, {}", if sliding { "above" } else { "below" }), curve.collect::<Vec<_>>());
        }
    }
    let steps = f64::from(2 * SETTLING);
    outcome.plot = outcome.plot.with(Style::Expected, "Coulomb", [[0.0, 0.0], [steps, expected(1.2) / G]]).with(
        Style::Expected,
        "",
        [[0.0, 0.0], [steps, 0.0]],
    );
    Ok(outcome)
}

/// Place along the slope [m] and speed [m/s] of the centre of mass.
fn center(simulation: &mut Simulation) -> Result<[f64; 2], Unmeasured> {
    let model = simulation.model().clone();
    let state = simulation.state()?;
    let mean = |values: &[Vec3]| values.iter().zip(&model.node_masses).map(|(v, m)| v.x * m).sum::<f64>() / model.bodies[0].mass;
    Ok([mean(&state.displacements), mean(&state.velocities)])
}
