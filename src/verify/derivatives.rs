//! Whether the stress of each material is the derivative of its energy, and the tangent that of the stress.

use pulp::Scalar;

use super::bench::{Bench, noise};
use super::check::{Check, Measure, Outcome};
use super::plot::{Axis, Plot, Style};
use super::unmeasured::Unmeasured;
use crate::material::{Constitutive, ConstitutiveModel, Deformation, Material, MaterialModel, Visitor};
use crate::math::lanes::from_matrix;
use crate::math::{Mat3, Quat, Vec3};

pub const DERIVATIVES: Check = Check {
    name: "derivatives",
    title: "Derivatives of the materials",
    meaning: "Every material's stress is the slope of its energy, and its stiffness the slope of its stress.",
    setup: "24 deformations of a point, strains up to 0.5, a quarter of them turned inside out, in frames that are not quite theirs; central \
            differences of 1e-5; a tangent that is made positive on purpose is compared where nothing is strained",
    source: "P = dPsi/dF and dP = d2Psi/dF2 : dF by differences, as parts of Young's modulus",
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

struct IsExact;

impl Visitor for IsExact {
    type Output = bool;

    fn visit<M: ConstitutiveModel>(self, _: M) -> bool {
        M::IS_TANGENT_EXACT
    }
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

/// Largest error of the tangent along a change of unit size [Pa].
fn tangent_error(model: &Constitutive, truth: &Constitutive, case: &Case, change: &Mat3) -> f64 {
    let stress = |step: f64| truth.stress(&case.moved(change, step));
    let wanted = (stress(STEP) - stress(-STEP)) / (2.0 * STEP);
    (model.differential(&case.moved(&Mat3::zeros(), 0.0), change) - wanted).amax()
}

fn derivatives(bench: &mut Bench) -> Result<Outcome, Unmeasured> {
    let mut outcome = Outcome {
        plot: Plot::new(Axis::linear("deformation", "number"), Axis::logarithmic("error over E", "")).with(
            Style::Limit,
            "limit",
            [[0.0, BOUND], [(CASES - 1) as f64, BOUND]],
        ),
        ..Outcome::default()
    };
    for (done, kind) in MaterialModel::ALL.iter().enumerate() {
        bench.cancel.check()?;
        let material = |young_modulus: f64| Material { model: *kind, young_modulus, poisson_ratio: 0.3, ..Material::default() };
        let (model, truth) = (Constitutive::new(&material(E * bench.stiffening)), Constitutive::new(&material(E)));
        let is_exact = model.visit(IsExact);
        let floor = |error: f64| (error / E).max(1e-16);
        let stress: Vec<f64> = (0..CASES).map(|k| floor(stress_error(&model, &truth, &Case::strained(k)))).collect();
        let at = |k: usize| if is_exact { Case::strained(k) } else { Case::turned_only(k) };
        let tangent: Vec<f64> = (0..CASES).map(|k| floor(tangent_error(&model, &truth, &at(k), &random(k + 30)))).collect();
        for (what, errors) in [("stress", &stress), ("tangent", &tangent)] {
            let worst = errors.iter().copied().fold(0.0, |worst: f64, e| if e.is_nan() { f64::NAN } else { worst.max(e) });
            let name = kind.name();
            let place = if what == "tangent" && !is_exact { " at rest" } else { "" };
            outcome.measures.push(Measure::error(format!("{name}: largest error of the {what}{place} over E"), worst, BOUND, ""));
            outcome.plot = outcome.plot.with(
                Style::Points,
                format!("{name}: {what}"),
                (0..).zip(errors).map(|(k, e)| [f64::from(k), *e]).collect::<Vec<_>>(),
            );
        }
        bench.done((done + 1) as f64 / MaterialModel::ALL.len() as f64);
    }
    Ok(outcome)
}
