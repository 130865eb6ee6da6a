//! Every constitutive model against its own derivatives.

use pulp::Scalar;

use super::*;
use crate::math::lanes::{Lanes, from_matrix, to_matrix};
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

/// Energy and volume change of a deformation, by its kinematics and without.
struct InTwoWays<'a>(&'a Case);

impl Visitor for InTwoWays<'_> {
    type Output = [[f64; 2]; 2];

    fn visit<M: ConstitutiveModel>(self, model: M) -> [[f64; 2]; 2] {
        let volume = Lanes::from(2.0);
        let of = |at: &Deformation<Scalar>| {
            let known = model.kinematics(at);
            let by_kinematics = [model.energy(volume, &known).into(), model.volume_change(&known).value.into()];
            [by_kinematics, [model.energy_at(volume, at).into(), model.volume_change_at(at).into()]]
        };
        self.0.at(of)
    }
}

#[test]
fn energy_is_the_same_without_kinematics() {
    let small = (0..12).map(|k| Case { g: random(k) * 1e-4, r: Mat3::identity() });
    let cases: Vec<Case> = scrambled().into_iter().chain(at_rest()).chain(small).collect();
    for material in materials() {
        for case in &cases {
            let [[energy, volume], [energy_at, volume_at]] = material.visit(InTwoWays(case));
            assert!((energy - energy_at).abs() < 1e-13 * E * (1.0 + energy.abs() / E), "{material:?}: {energy:e}, {energy_at:e}");
            assert!((volume - volume_at).abs() < 1e-13 * (1.0 + volume.abs()), "{material:?}: {volume:e}, {volume_at:e}");
        }
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

struct IsFramed;

impl Visitor for IsFramed {
    type Output = bool;

    fn visit<M: ConstitutiveModel>(self, _: M) -> bool {
        M::IS_FRAMED
    }
}

/// Passes leave the frames out where energy and stress do not count on them.
#[test]
fn energy_and_stress_count_on_the_frame_where_the_model_says_so() {
    for material in materials() {
        let answer = |case: &Case| case.at(|at| (material.energy(at), material.stress(at), material.volume_change(at)));
        let in_another_frame = |case: &Case| answer(&Case { r: case.r * turn(80), ..*case });
        let are_alike = scrambled().iter().all(|case| answer(case) == in_another_frame(case));
        assert_eq!(are_alike, !material.visit(IsFramed), "{material:?}");
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
            if !material.model().lets_turn() {
                continue;
            }
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

/// `materials-study.md` 7 and `elasticity.md` 6: E = 5e5 Pa, nu = .2.
const MU: f64 = E / 2.4;

/// A model with the numbers of the tables.
fn of_the_tables(model: MaterialModel) -> Constitutive {
    Constitutive::new(&Material { model, young_modulus: E, poisson_ratio: 0.2, ..Material::default() })
}

fn at_gradient<T>(f: &Mat3, of: impl Fn(&Deformation<Scalar>) -> T) -> T {
    let mut svd = f.svd(true, true);
    if (svd.u.unwrap() * svd.v_t.unwrap()).determinant() < 0.0 {
        let least = svd.singular_values.imin();
        svd.u.as_mut().unwrap().column_mut(least).neg_mut();
    }
    Case { g: f - Mat3::identity(), r: svd.u.unwrap() * svd.v_t.unwrap() }.at(of)
}

/// Columns: Psi, P00, P01, P10, P22, least and greatest eigenvalue of dP/dF in mu.
#[test]
fn models_have_the_figures_of_the_study() {
    use MaterialModel::{CorotationalProjected, NeoHookean, StVenantKirchhoff, StableNeoHookean};
    let a = Mat3::new(1.1, 0.2, 0.0, 0.0, 0.9, 0.1, 0.05, 0.0, 1.2);
    let b = Mat3::new(0.5, 0.1, 0.0, -0.2, 0.8, 0.3, 0.0, 0.1, 0.6);
    let c = Mat3::from_diagonal(&Vec3::new(-0.3, 1.1, 0.9)) * Mat3::new(1.0, 0.1, 0.0, 0.0, 1.0, 0.2, 0.0, 0.0, 1.0);
    #[rustfmt::skip]
    let table = [
        (a, CorotationalProjected, [21078.6, 73379.2, 44143.9, 38688.4, 113561.0, 0.131145, 4.0]),
        (a, NeoHookean, [19401.4, 61771.3, 40891.7, 37199.0, 96554.2, 0.0886042, 3.81754]),
        (a, StableNeoHookean, [20212.0, 75041.7, 40953.1, 34250.0, 108719.0, 0.160856, 6.17230]),
        (a, StVenantKirchhoff, [24891.1, 97013.9, 51284.7, 42500.0, 155833.0, 0.212049, 5.50914]),
        (b, CorotationalProjected, [181465.0, -339166.0, -87741.3, 43380.0, -306992.0, -3.39689, 4.0]),
        (b, NeoHookean, [228912.0, -443983.0, -118763.0, 45692.2, -393535.0, -4.48061, 5.01180]),
        (b, StableNeoHookean, [93362.7, -108802.0, -35958.3, -13270.8, -73770.8, -1.17659, 3.15712]),
        (c, CorotationalProjected, [476340.0, -719997.0, 10681.3, -22549.4, -216865.0, -8.25149, 4.0]),
        (c, NeoHookean, [771827.0, -1240390.0, 11442.4, -36949.4, -109397.0, -11.8381, 5.31167]),
        (c, StableNeoHookean, [474686.0, -714594.0, -6250.0, -17784.4, 404865.0, -2.85139, 7.69542]),
    ];
    for (f, model, wanted) in table {
        let material = of_the_tables(model);
        let p = at_gradient(&f, |at| material.stress(at));
        let tangent = nalgebra::SMatrix::<f64, 9, 9>::from_fn(|row, column| {
            let mut unit = Mat3::zeros();
            unit[column] = 1.0;
            at_gradient(&f, |at| material.derivative(at, &unit))[row] / MU
        });
        let eigenvalues = ((tangent + tangent.transpose()) * 0.5).symmetric_eigenvalues();
        let energy = at_gradient(&f, |at| material.energy(at));
        let found = [energy, p[(0, 0)], p[(0, 1)], p[(1, 0)], p[(2, 2)], eigenvalues.min(), eigenvalues.max()];
        for (found, wanted) in found.iter().zip(wanted) {
            assert!((found - wanted).abs() < 6e-6 * f64::abs(wanted), "{model:?} {f} {found} {wanted}");
        }
    }
}

/// s = (1, 1, x): Psi, p_3, p_1, H_33, from where the expansion does not reach to inverted elements.
#[test]
fn neo_hookean_continues_as_the_digest_says() {
    let table = [
        (1.1, [2649.55, 51806.8, 13237.5, 484354.0]),
        (0.9, [2929.33, -60240.8, -14633.4, 655069.0]),
        (0.8, [12446.1, -132490.0, -30992.2, 799293.0]),
        (0.7, [30016.8, -222555.0, -49538.2, 1.01805e6]),
        (0.5, [94888.7, -426164.0, -69787.6, 1.01805e6]),
        (0.3, [200482.0, -629774.0, -73379.9, 1.01805e6]),
        (0.0, [435227.0, -935188.0, -69399.0, 1.01805e6]),
        (-0.2, [642626.0, -1.1388e6, -64142.3, 1.01805e6]),
    ];
    let material = of_the_tables(MaterialModel::NeoHookean);
    for (x, wanted) in table {
        let f = Mat3::from_diagonal(&Vec3::new(1.0, 1.0, x));
        let along = Mat3::from_diagonal(&Vec3::new(0.0, 0.0, 1.0));
        let p = at_gradient(&f, |at| material.stress(at));
        let found = [
            at_gradient(&f, |at| material.energy(at)),
            p[(2, 2)],
            p[(0, 0)],
            at_gradient(&f, |at| material.derivative(at, &along))[(2, 2)],
        ];
        for (found, wanted) in found.iter().zip(wanted) {
            assert!((found - wanted).abs() < 6e-6 * f64::abs(wanted), "{x} {found} {wanted}");
        }
    }
}

/// Nominal stress [Pa] and lateral stretch of a bar that is free sideways.
#[test]
fn stretched_bars_have_the_stress_of_the_study() {
    use MaterialModel::{NeoHookean, StableNeoHookean};
    let table = [
        (NeoHookean, 0.2, 0.5, -423037.0, 1.125854),
        (NeoHookean, 0.2, 2.0, 339658.0, 0.859816),
        (NeoHookean, 0.45, 0.8, -124965.0, 1.104462),
        (NeoHookean, 0.45, 2.0, 299398.0, 0.725935),
        (StableNeoHookean, 0.45, 0.5, -534483.0, 1.341641),
        (StableNeoHookean, 0.45, 2.0, 299569.0, 0.724569),
        (NeoHookean, 0.49, 1.2, 84434.4, 0.0),
    ];
    for (model, poisson_ratio, stretch, stress, lateral) in table {
        let material = Constitutive::new(&Material { model, young_modulus: E, poisson_ratio, ..Material::default() });
        let pressed = |side: f64| at_gradient(&Mat3::from_diagonal(&Vec3::new(stretch, side, side)), |at| material.stress(at));
        let (mut low, mut high) = (0.5, 1.6);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if pressed(middle)[(1, 1)] > 0.0 { high = middle } else { low = middle }
        }
        assert!((pressed(low)[(0, 0)] - stress).abs() < 6e-6 * f64::abs(stress), "{model:?} {stretch} {}", pressed(low)[(0, 0)]);
        assert!(lateral == 0.0 || (low - lateral).abs() < 1e-6, "{model:?} {stretch} {low}");
    }
}

/// Second derivatives are the same on both sides of where an expansion begins.
#[test]
fn expansions_join_smoothly() {
    for model in [MaterialModel::NeoHookean, MaterialModel::MooneyRivlin] {
        let material = of_the_tables(model);
        let change = random(7);
        let at =
            |j: f64| at_gradient(&(turn(3) * Mat3::from_diagonal(&Vec3::new(1.1, 0.9, j / 0.99))), |at| material.derivative(at, &change));
        let (inside, beyond) = (at(0.7 + 1e-8), at(0.7 - 1e-8));
        assert!((inside - beyond).amax() < 1e-6 * E, "{model:?} {inside} {beyond}");
        assert!((at(0.7) - at(0.71)).amax() > 1e-3 * E, "{model:?}: it changes");
    }
}

/// What is laid over the models: zero within the limits, the derivative of its energy beyond, and never negative.
#[test]
fn limits_of_stretch_are_stiff_and_smooth() {
    let limits = StretchLimits::new(Some(0.7), Some(1.2));
    let limit = StretchLimit::new(&Material { young_modulus: E, stretch_limits: limits, ..Material::default() });
    let energy = |case: &Case| -> f64 { case.at(|at| limit.energy(Lanes::from(1.0), &limit.kinematics(at)).into()) };
    let stress = |case: &Case| case.at(|at| to_matrix(&limit.stress(Lanes::from(1.0), &limit.kinematics(at))));
    let mut beyond = 0;
    for (k, case) in scrambled().iter().enumerate() {
        let change = random(k + 30);
        let slope = (energy(&case.moved(&change, 1e-6)) - energy(&case.moved(&change, -1e-6))) / 2e-6;
        assert!((slope - stress(case).dot(&change)).abs() < 1e-5 * E, "{k}");
        let derivative = case.at(|at| to_matrix(&limit.derivative(Lanes::from(1.0), &limit.kinematics(at), &from_matrix(&change))));
        let wanted = (stress(&case.moved(&change, 1e-6)) - stress(&case.moved(&change, -1e-6))) / 2e-6;
        assert!((derivative - wanted).amax() < 1e-4 * E, "{k}: {derivative} {wanted}");
        let along = case.at(|at| {
            let at = limit.kinematics(at);
            to_matrix(&limit.differential(&at, &limit.moduli(Lanes::from(1.0), &at), &from_matrix(&change)))
        });
        assert!(change.dot(&along) > -1e-9 * E, "{k}");
        beyond += usize::from(energy(case) > 0.0);
    }
    assert!(beyond > 8 && beyond < 24, "{beyond}");
    let pulled = |s: f64| energy(&Case { g: Mat3::from_diagonal(&Vec3::new(s - 1.0, 0.0, 0.0)), r: Mat3::identity() });
    assert!(pulled(1.2) == 0.0 && pulled(0.7) == 0.0 && (pulled(1.3) - 0.5 * 10.0 * E * 0.01).abs() < 1e-6 * E);
}

/// Energy and stress are those without volume changes and those of U; where a model is not expanded.
#[test]
fn the_energy_of_volume_changes_stands_apart() {
    for material in materials() {
        let mut seen = 0.0_f64;
        for case in scrambled().iter().filter(|case| (case.g + Mat3::identity()).determinant() > 0.7) {
            let rest = material.without_volume_energy();
            let (theta, gradient) = case.at(|at| material.volume_change(at));
            let [energy, slope, curvature] = material.volume_energy(theta);
            let whole = case.at(|at| material.energy(at));
            assert!((case.at(|at| rest.energy(at)) + energy - whole).abs() < 1e-9 * E, "{material:?}");
            let stress = case.at(|at| material.stress(at));
            assert!((case.at(|at| rest.stress(at)) + gradient * slope - stress).amax() < 1e-9 * E, "{material:?}");
            let [before, after] = [-1e-5, 1e-5].map(|step| material.volume_energy(theta + step));
            assert!(
                ((after[0] - before[0]) / 2e-5 - slope).abs() < 1e-7 * E && ((after[1] - before[1]) / 2e-5 - curvature).abs() < 1e-6 * E
            );
            seen = seen.max(energy);
        }
        assert!(seen > 1e-3 * E, "{material:?}: volumes change");
    }
}
