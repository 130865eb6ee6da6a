//! Whether the stress of each material is the derivative of its energy, and the tangent that of the stress.

use pulp::Scalar;

use super::bench::{Bench, noise};
use super::check::{Check, Measure, Outcome, Place};
use super::plot::{Axis, Plot, Style};
use super::unmeasured::Unmeasured;
use crate::material::{Constitutive, Deformation, Material, MaterialModel};
use crate::math::lanes::from_matrix;
use crate::math::{Mat3, Quat, Vec3};

pub const DERIVATIVES: Check = Check {
    name: "derivatives",
    title: "Derivatives of the materials",
    meaning: "Every material's stress is the slope of its energy, and its stiffness the slope of its stress.",
    setup: "24 deformations of a point, strains up to 0.5, a quarter of them turned inside out, in frames that are not quite theirs; \
            central differences of 1e-5; the matrix of a step, which is made positive, where nothing is strained",
    source: "P = dPsi/dF and dP = d2Psi/dF2 : dF by differences, as parts of Young's modulus",
    // The device has no tangent as it is, only the matrix of its step: tests hold its kernels against these formulas.
    place: Place::Cpu,
    run: derivatives,
};

const E: f64 = 5e5;
const STEP: f64 = 1e-5;
const BOUND: f64 = 1e-6;
const CASES: usize = 24;

/// A deformation, and the frame in which an element sees it.
#[derive(Clone, Copy)]
struct Case {
    gradient: Mat3,
    frame: Mat3,
}

impl Case {
    fn strained(k: usize) -> Self {
        let mut f = turn(k) * (Mat3::identity() + random(k + 50) * (0.02 * k as f64));
        if k % 4 == 3 {
            f *= Mat3::from_diagonal(&Vec3::new(1.0, -0.4, 1.0));
        }
        let off = Quat::from_scaled_axis(noise(k + 70) * 0.1).to_rotation_matrix().into_inner();
        Self { gradient: f - Mat3::identity(), frame: turn(k) * off }
    }

    fn turned_only(k: usize) -> Self {
        Self { gradient: turn(k) - Mat3::identity(), frame: turn(k) }
    }

    fn moved(&self, change: &Mat3, step: f64) -> Deformation<'static, Scalar> {
        Deformation { gradient: from_matrix(&(self.gradient + change * step)), rotation: from_matrix(&self.frame), state: &[] }
    }
}

/// Each number in [-1, 1].
fn random(k: usize) -> Mat3 {
    Mat3::from_columns(&[noise(3 * k), noise(3 * k + 1), noise(3 * k + 2)])
}

fn turn(k: usize) -> Mat3 {
    Quat::from_scaled_axis(noise(k + 20) * 3.0).to_rotation_matrix().into_inner()
}

/// The models whose bodies move and come to rest as they should: those whose matrix lets an unstrained body turn. One
/// that resists is there to be compared with; it brakes spins, and creeps towards rest.
pub fn sound_models() -> Vec<MaterialModel> {
    MaterialModel::ALL.iter().copied().filter(|model| model.lets_turn()).collect()
}

/// Largest error of the stress [Pa].
fn stress_error(model: &Constitutive, truth: &Constitutive, case: &Case) -> f64 {
    let wanted = Mat3::from_fn(|i, j| {
        let mut unit = Mat3::zeros();
        unit[(i, j)] = 1.0;
        let energy = |step: f64| truth.energy(&case.moved(&unit, step));
        (energy(STEP) - energy(-STEP)) / (2.0 * STEP)
    });
    (model.stress(&case.moved(&Mat3::zeros(), 0.0)) - wanted).amax()
}

/// Change of the stress [Pa] with a change of unit size, by differences.
fn difference(truth: &Constitutive, case: &Case, change: &Mat3) -> Mat3 {
    let stress = |step: f64| truth.stress(&case.moved(change, step));
    (stress(STEP) - stress(-STEP)) / (2.0 * STEP)
}

fn derivatives(bench: &mut Bench) -> Result<Outcome, Unmeasured> {
    let plot = Plot::new(Axis::linear("deformation", "number"), Axis::logarithmic("error over E", ""));
    let limit = [[0.0, BOUND], [(CASES - 1) as f64, BOUND]];
    let mut outcome = Outcome { plot: plot.with(Style::Limit, "limit", limit), ..Outcome::default() };
    for (done, kind) in MaterialModel::ALL.iter().enumerate() {
        bench.cancel.check()?;
        let material = |young_modulus: f64| Material { model: *kind, young_modulus, poisson_ratio: 0.3, ..Material::default() };
        let (model, truth) = (Constitutive::new(&material(E * bench.stiffening)), Constitutive::new(&material(E)));
        let here = |case: &Case| case.moved(&Mat3::zeros(), 0.0);
        let of = |k: usize| (Case::strained(k), Case::turned_only(k), random(k + 30));
        let part = |error: f64| (error / E).max(1e-16);
        let stress: Vec<f64> = (0..CASES).map(|k| part(stress_error(&model, &truth, &of(k).0))).collect();
        let derivative = |k: usize| {
            let (strained, _, change) = of(k);
            part((model.derivative(&here(&strained), &change) - difference(&truth, &strained, &change)).amax())
        };
        let at_rest = |k: usize| {
            let (_, turned, change) = of(k);
            part((model.differential(&here(&turned), &change) - difference(&truth, &turned, &change)).amax())
        };
        let derivative: Vec<f64> = (0..CASES).map(derivative).collect();
        let mut measured = vec![("stress", &stress), ("derivative of the stress", &derivative)];
        // One that resists rotation is there to be compared with.
        let at_rest: Vec<f64> = (0..CASES).map(at_rest).collect();
        if kind.lets_turn() {
            measured.push(("matrix of a step, at rest", &at_rest));
        }
        for (what, errors) in measured {
            let worst = errors.iter().copied().fold(0.0, |worst: f64, e| if e.is_nan() { f64::NAN } else { worst.max(e) });
            outcome.measures.push(Measure::error(format!("{}: error of the {what}, over E", kind.name()), worst, BOUND, ""));
        }
        let larger = (0..CASES).map(|k| [k as f64, stress[k].max(derivative[k])]);
        outcome.plot = outcome.plot.with(Style::Points, kind.name(), larger);
        bench.done((done + 1) as f64 / MaterialModel::ALL.len() as f64);
    }
    Ok(outcome)
}
