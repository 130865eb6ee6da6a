//! What the ways to advance time do to the energy of a vibration.

use std::f64::consts::PI;

use super::bench::{Bench, alone, bar, held};
use super::check::{Check, Measure, Outcome, Place};
use super::plot::{Axis, Plot, Style};
use super::unmeasured::Unmeasured;
use crate::elastic::strain_energy;
use crate::material::MaterialModel;
use crate::math::Vec3;
use crate::model::{Integration, Model, Params, State};

pub const DECAY: Check = Check {
    name: "decay",
    title: "Energy of a vibration",
    meaning: "An undamped bar loses as much energy as the time step's own formula takes: much by backward Euler, little by `bdf2`.",
    setup: "a bar of 1 x 0.2 x 0.2 m held at one end, 20 x 2 x 2 cells, 480 tets, E = 0.5 MPa, nu = 0, swinging along its axis in its lowest \
            mode; 20 steps a period, for three periods from a quarter of one on; every `integration`",
    source: "the oscillator y' = i w y with z = w dt: a step of backward Euler keeps 1 / (1 + z^2) of the energy, one of the two-step \
             formula |l|^2 with l = (2 + sqrt(1 + 2 i z)) / (3 - 2 i z); told as the part of critical damping that does the same",
    place: Place::Chosen,
    run: decay,
};

const E: f64 = 5e5;
const DENSITY: f64 = 1000.0;
/// [m]
const SIZE: Vec3 = Vec3::new(1.0, 0.2, 0.2);
const STEPS_A_PERIOD: u32 = 20;
const PERIODS: u32 = 3;
/// Steps until the first step, which no history precedes, and the other root of the two-step formula, about 1/3, are
/// forgotten.
const FIRST: u32 = STEPS_A_PERIOD / 4;

/// The part of the energy of an oscillator that a step keeps, z being its angular frequency times the time step.
fn kept(integration: Integration, z: f64) -> f64 {
    match integration {
        Integration::SemiImplicit | Integration::Newton => 1.0 / (1.0 + z * z),
        Integration::Bdf2 => {
            // sqrt(1 + 2 i z) = real + i imaginary
            let real = (0.5 * (1.0_f64.hypot(2.0 * z) + 1.0)).sqrt();
            let imaginary = z / real;
            ((2.0 + real).powi(2) + imaginary * imaginary) / (9.0 + 4.0 * z * z)
        }
    }
}

/// The damping ratio of an oscillator that keeps a part of its energy over some periods: `exp(-4 pi zeta)` in each.
fn damping_ratio(kept: f64, periods: f64) -> f64 {
    -kept.ln() / (4.0 * PI * periods)
}

fn energy(model: &Model, state: &State) -> f64 {
    let kinetic: f64 = state.velocities.iter().zip(&model.node_masses).map(|(v, m)| 0.5 * m * v.norm_squared()).sum();
    kinetic + strain_energy(model, state)
}

fn decay(bench: &mut Bench) -> Result<Outcome, Unmeasured> {
    let frequency = (E / DENSITY).sqrt() / (4.0 * SIZE.x);
    let time_step = 1.0 / (frequency * f64::from(STEPS_A_PERIOD));
    let z = 2.0 * PI / f64::from(STEPS_A_PERIOD);
    let mut body = held(bar(bench.material(MaterialModel::Corotational, E, 0.0), SIZE, [20, 2, 2]), |p| p.x < 1e-9);
    // A strain of 1e-3 at the held end, half a period later.
    let speed = 1e-3 * SIZE.x * 4.0 * frequency;
    body.velocities = body.tets.positions.iter().map(|p| Vec3::x() * (speed * (0.5 * PI * p.x / SIZE.x).sin())).collect();
    let model = alone(body)?;
    let mut outcome =
        Outcome { plot: Plot::new(Axis::linear("periods", ""), Axis::linear("part of the energy left", "")), ..Outcome::default() };
    for (k, (name, integration)) in Integration::ALL.into_iter().enumerate() {
        let params = Params {
            time_step,
            integration,
            newton_tolerance: bench.pick(1e-8, 1e-6),
            tolerance: bench.pick(1e-9, 1e-5),
            ..bench.static_params()
        };
        let mut simulation = bench.simulate(model.clone(), params, vec![])?;
        let (mut first, mut left) = (f64::NAN, vec![]);
        for step in 1..=FIRST + PERIODS * STEPS_A_PERIOD {
            bench.step(&mut simulation)?;
            let now = energy(&model, simulation.state()?);
            if step == FIRST {
                first = now;
            }
            if step >= FIRST {
                left.push([f64::from(step - FIRST) / f64::from(STEPS_A_PERIOD), now / first]);
            }
        }
        let n_steps = f64::from(PERIODS * STEPS_A_PERIOD);
        let [expected, found] =
            [kept(integration, z).powf(n_steps), left[left.len() - 1][1]].map(|left| damping_ratio(left, PERIODS.into()));
        outcome.measures.push(Measure::relative(
            format!("{name}: damping ratio of the time step"),
            expected,
            found,
            bench.pick(0.02, 0.1),
            "",
        ));
        // Both ways of backward Euler have the same curve.
        if integration != Integration::Newton {
            let curve = (0..=60).map(|i| f64::from(i * PERIODS) / 60.0);
            let formula = curve.map(|t| [t, kept(integration, z).powf(t * f64::from(STEPS_A_PERIOD))]);
            outcome.plot = outcome.plot.with(Style::Expected, if k == 0 { "formula" } else { "" }, formula);
        }
        outcome.plot = outcome.plot.with(Style::Points, name, left.into_iter().step_by(2));
        bench.done((k + 1) as f64 / Integration::ALL.len() as f64);
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The formulas against the oscillator itself, in real numbers: position times the frequency, and velocity.
    #[test]
    fn the_formulas_are_those_of_the_oscillator() {
        let z = 0.3;
        let mut euler = [1.0, 0.0];
        for _ in 0..40 {
            // (I - z J) y' = y with J = [[0, 1], [-1, 0]].
            let [x, v] = euler;
            euler = [x + z * v, v - z * x].map(|y| y / (1.0 + z * z));
        }
        let energy = |[x, v]: [f64; 2]| x * x + v * v;
        assert!((energy(euler) / kept(Integration::SemiImplicit, z).powi(40) - 1.0).abs() < 1e-12);
        let (mut before, mut now) = ([1.0, 0.0], [z.cos(), -z.sin()]);
        let mut at = vec![];
        for _ in 0..80 {
            // (3/2 I - z J) y' = 2 y - y_before / 2.
            let [x, v] = [0, 1].map(|k| 2.0 * now[k] - 0.5 * before[k]);
            (before, now) = (now, [1.5 * x + z * v, 1.5 * v - z * x].map(|y| y / (2.25 + z * z)));
            at.push(energy(now));
        }
        assert!((at[79] / at[39] / kept(Integration::Bdf2, z).powi(40) - 1.0).abs() < 1e-9, "{} {}", at[79], at[39]);
        // z / 2 and z^3 / 4 for short steps.
        let ratio = |integration| damping_ratio(kept(integration, 0.01), 0.01 / (2.0 * PI));
        assert!((ratio(Integration::Newton) / 0.005 - 1.0).abs() < 1e-3);
        assert!((ratio(Integration::Bdf2) / (0.25 * 0.01_f64.powi(3)) - 1.0).abs() < 1e-2, "{}", ratio(Integration::Bdf2));
    }
}
