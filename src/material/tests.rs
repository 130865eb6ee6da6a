//! Every constitutive model against its own derivatives.

use pulp::Scalar;

use super::*;
use crate::math::lanes::from_matrix;
use crate::math::{Mat3, Quat, Vec3};

const E: f64 = 5e5;

fn materials() -> impl Iterator<Item = Constitutive> {
    let material = |model: &MaterialModel| Material { model: *model, young_modulus: E, poisson_ratio: 0.3, ..Material::default() };
    MaterialModel::ALL.iter().map(move |model| Constitutive::new(&material(model)))
}

/// A deformation and the frame it is seen in.
#[derive(Clone, Copy)]
struct Case {
    g: Mat3,
    r: Mat3,
}

impl Case {
    /// Calls `f` with the deformation.
    fn at<T>(&self, f: impl Fn(&Deformation<Scalar>) -> T) -> T {
        f(&Deformation { gradient: from_matrix(&self.g), rotation: from_matrix(&self.r), state: &[] })
    }

    fn moved(&self, change: &Mat3, step: f64) -> Self {
        Self { g: self.g + change * step, r: self.r }
    }

    /// Turned as a whole.
    fn turned(&self, turn: &Mat3) -> Self {
        Self { g: turn * (self.g + Mat3::identity()) - Mat3::identity(), r: turn * self.r }
    }
}

fn random(k: usize) -> Mat3 {
    Mat3::from_fn(|i, j| ((9 * k + 3 * i + j) as f64 * 12.989_8).sin())
}

fn turn(k: usize) -> Mat3 {
    Quat::from_scaled_axis(random(k).column(0) * 3.0).to_rotation_matrix().into_inner()
}

/// From small strains to elements that are turned inside out, each in a frame that is not quite that of its polar
/// decomposition.
fn scrambled() -> Vec<Case> {
    let case = |k: usize| {
        let mut f = turn(k) * (Mat3::identity() + random(k + 50) * (0.02 * k as f64));
        if k % 4 == 3 {
            f *= Mat3::from_diagonal(&Vec3::new(1.0, -0.4, 1.0));
        }
        let off = Quat::from_scaled_axis(random(k + 70).column(1) * 0.1).to_rotation_matrix().into_inner();
        Case { g: f - Mat3::identity(), r: turn(k) * off }
    };
    let cases: Vec<Case> = (0..24).map(case).collect();
    assert!(cases.iter().filter(|case| (case.g + Mat3::identity()).determinant() < 0.0).count() > 4);
    cases
}

/// Not strained, but turned.
fn at_rest() -> Vec<Case> {
    (0..6).map(|k| Case { g: turn(k) - Mat3::identity(), r: turn(k) }).collect()
}

/// Largest error of the stress against differences of the energy, as a part of E.
fn stress_error(energy: &Constitutive, stress: &Constitutive, cases: &[Case]) -> f64 {
    let error = |case: &Case| {
        let found = case.at(|at| stress.stress(at));
        let wanted = Mat3::from_fn(|i, j| {
            let mut unit = Mat3::zeros();
            unit[(i, j)] = 1.0;
            let energy = |step: f64| case.moved(&unit, step).at(|at| energy.energy(at));
            (energy(1e-5) - energy(-1e-5)) / 2e-5
        });
        (found - wanted).amax() / E
    };
    cases.iter().map(error).fold(0.0, f64::max)
}

/// Largest error of the tangent against differences of the stress, as a part of E.
fn tangent_error(stress: &Constitutive, tangent: &Constitutive, cases: &[Case]) -> f64 {
    let error = |(k, case): (usize, &Case)| {
        let change = random(k + 30);
        let found = case.at(|at| tangent.derivative(at, &change));
        let stress = |step: f64| case.moved(&change, step).at(|at| stress.stress(at));
        let wanted = (stress(1e-5) - stress(-1e-5)) / 2e-5;
        (found - wanted).amax() / E
    };
    cases.iter().enumerate().map(error).fold(0.0, f64::max)
}

/// The same model, stiffer by a thousandth.
fn stiffened(model: MaterialModel) -> Constitutive {
    Constitutive::new(&Material { model, young_modulus: 1.001 * E, poisson_ratio: 0.3, ..Material::default() })
}

#[test]
fn stress_is_the_derivative_of_energy() {
    for material in materials() {
        let error = stress_error(&material, &material, &scrambled());
        assert!(error < 1e-7, "{material:?}: {error:e}");
        // The bound notices a thousandth of the stiffness.
        let wrong = stress_error(&material, &stiffened(material.model()), &scrambled());
        assert!(wrong > 1e-5, "{material:?}: {wrong:e}");
    }
}

#[test]
fn the_tangent_is_the_derivative_of_stress() {
    for material in materials() {
        let cases = [scrambled(), at_rest()].concat();
        let error = tangent_error(&material, &material, &cases);
        assert!(error < 1e-7, "{material:?}: {error:e}");
        let wrong = tangent_error(&material, &stiffened(material.model()), &cases);
        assert!(wrong > 1e-5, "{material:?}: {wrong:e}");
    }
}

/// `A : dP[B] = B : dP[A]`, and `A : dP[A] >= 0` at every deformation, inverted or not.
#[test]
fn the_tangent_is_symmetric_and_positive() {
    for material in materials() {
        for (k, case) in scrambled().iter().enumerate() {
            let (a, b) = (random(k + 90), random(k + 120));
            let [along_a, along_b] = [&a, &b].map(|change| case.at(|at| material.differential(at, change)));
            assert!((b.dot(&along_a) - a.dot(&along_b)).abs() < 1e-9 * E, "{material:?} {k}");
            assert!(a.dot(&along_a) > -1e-9 * E, "{material:?} {k}");
        }
    }
}

/// Energy does not see a rotation of the whole, stress and tangent turn with it.
#[test]
fn a_rotation_turns_everything() {
    for material in materials() {
        let mut seen = 0.0_f64;
        for (k, case) in scrambled().iter().enumerate() {
            let (turn, change) = (turn(k + 40), random(k + 60));
            let turned = case.turned(&turn);
            let [before, after] = [case, &turned].map(|case| case.at(|at| material.energy(at)));
            assert!((before - after).abs() < 1e-9 * E, "{material:?} {k}: {before} {after}");
            let [before, after] = [case, &turned].map(|case| case.at(|at| material.stress(at)));
            assert!((turn * before - after).amax() < 1e-9 * E, "{material:?} {k}");
            seen = seen.max((before - after).amax());
            let [before, after] = [(case, change), (&turned, turn * change)].map(|(c, d)| c.at(|at| material.differential(at, &d)));
            assert!((turn * before - after).amax() < 1e-9 * E, "{material:?} {k}");
        }
        assert!(seen > 1e-2 * E, "{material:?}: turning matters");
    }
}

/// At rest there is no stress, the moduli of small strains are Lame's, and a small rotation meets no resistance.
#[test]
fn small_strains_have_the_moduli_of_lame() {
    for material in materials() {
        let Lame { mu, lambda } = Material { young_modulus: E, poisson_ratio: 0.3, ..Material::default() }.lame();
        for (k, case) in at_rest().iter().enumerate() {
            assert!(case.at(|at| material.stress(at)).amax() < 1e-9 * E, "{material:?} {k}");
            let change = random(k + 20);
            let strain = (case.r.transpose() * change + change.transpose() * case.r) * 0.5;
            let wanted = case.r * (strain * (2.0 * mu) + Mat3::identity() * (lambda * strain.trace()));
            assert!((case.at(|at| material.differential(at, &change)) - wanted).amax() < 1e-9 * E, "{material:?} {k}");
            let spin = random(k).column(1).cross_matrix() * case.r;
            assert!(case.at(|at| material.differential(at, &spin)).amax() < 1e-9 * E, "{material:?} {k}");
        }
    }
}

#[test]
fn names_are_found_again() {
    for model in MaterialModel::ALL {
        assert_eq!(MaterialModel::from_name(model.name()), Some(*model));
    }
    assert_eq!(MaterialModel::from_name("jelly"), None);
}

#[test]
fn lame_parameters_of_the_digest() {
    let lame = Material { young_modulus: 5e5, poisson_ratio: 0.2, ..Default::default() }.lame();
    assert!((lame.mu - 208_333.333).abs() < 1e-2 && (lame.lambda - 138_888.889).abs() < 1e-2);
}
