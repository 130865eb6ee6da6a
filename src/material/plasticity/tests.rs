//! The rule of flow at a point, for every model.

use super::*;
use crate::material::{Material, MaterialModel};
use crate::math::Quat;

const E: f64 = 5e5;
const NU: f64 = 0.3;

fn constitutive(model: MaterialModel, poisson_ratio: f64) -> Constitutive {
    Constitutive::new(&Material { model, young_modulus: E, poisson_ratio, ..Material::default() })
}

/// First Piola-Kirchhoff stress [Pa] of an element that is not turned.
fn stress(material: &Constitutive, gradient: &Mat3, rows: PlasticRows) -> Mat3 {
    let at = Deformation { gradient: from_matrix(&rows.elastic_gradient(gradient)), rotation: from_matrix(&Mat3::identity()), state: &[] };
    material.stress(&at) * (Mat3::identity() + rows.change())
}

/// A bar that is free sideways.
struct Bar {
    material: Constitutive,
    rule: Plasticity,
    rows: PlasticRows,
    /// Bound on the strain sideways.
    reach: f64,
}

/// What a bar answers to an elongation that grows at .5/s times the scale, and shrinks again to zero.
struct Loop {
    /// Greatest nominal stress [Pa].
    peak: f64,
    /// Elongation without stress at the end.
    residual: f64,
    /// Work over the loop [J/m^3].
    work: f64,
}

impl Bar {
    fn new(model: MaterialModel, [yield_strain, creep, max_strain]: [f64; 3]) -> Self {
        Self {
            material: constitutive(model, NU),
            rule: Plasticity { yield_strain, creep, max_strain },
            rows: PlasticRows::default(),
            reach: 0.6,
        }
    }

    fn gradient(&self, elongation: f64) -> Mat3 {
        let at = |side: f64| Mat3::from_diagonal(&Vec3::new(elongation, side, side));
        let (mut low, mut high) = (-self.reach, self.reach);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if stress(&self.material, &at(middle), self.rows)[(1, 1)] > 0.0 { high = middle } else { low = middle }
        }
        at(low)
    }

    /// All strains are multiplied by `scale`.
    fn loaded(mut self, greatest: f64, scale: f64, time_step: f64) -> Loop {
        self.reach = 2.0 * scale * greatest;
        let n = (greatest / 0.5 / time_step).round() as usize;
        let (mut peak, mut work, mut before) = (0.0_f64, 0.0, (0.0, 0.0));
        for k in 1..=2 * n {
            let elongation = scale * greatest * k.min(2 * n - k) as f64 / n as f64;
            self.rows = self.rule.advance(&self.material, &self.gradient(elongation), time_step, self.rows);
            let along = stress(&self.material, &self.gradient(elongation), self.rows)[(0, 0)];
            peak = peak.max(along);
            work += 0.5 * (along + before.1) * (elongation - before.0);
            before = (elongation, along);
            assert!(self.rows.strain().norm() <= self.rule.max_strain + 1e-15);
            assert!(((Mat3::identity() + self.rows.change()).determinant() - 1.0).abs() < 1e-14);
        }
        Loop { peak, residual: self.rows.strain()[(0, 0)].exp_m1(), work }
    }
}

/// The creep [1/s] for which a step of `time_step` has the share `min(1, creep dt)` of the study's table.
fn published(creep: f64, time_step: f64) -> f64 {
    -(1.0 - (creep * time_step).min(1.0)).ln() / time_step
}

/// `materials-study.md` 5, columns "overstress, trace-free": yield, creep and maximum; peak stress [Pa] and residual.
/// The study's law is linear in strains S - I, ours is not: they agree where strains are small, so that the loop is run
/// with all strains 1e-5 times as large. At full size (the last column, by a program of its own that knows the one axis
/// only) logarithmic strains make the residual 0 to 4 % larger, and the peak stress, a nominal one of a bar that has
/// thinned, 16 % less to 1 % more.
#[test]
fn a_bar_has_the_figures_of_the_study() {
    let table = [
        ([0.05, 10.0, 1.0], [49629.9, 0.097285], [42727.05, 0.1000603]),
        ([0.05, 10.0, 0.1], [109175.0, 0.071621], [91271.62, 0.0744947]),
        ([0.05, 100.0, 1.0], [23937.4, 0.047875], [24104.84, 0.0494709]),
        ([0.1, 10.0, 1.0], [72820.0, 0.133138], [65927.67, 0.1334150]),
    ];
    let (scale, dt) = (1e-5, 0.01);
    for ([yield_strain, creep, max], wanted, at_full_size) in table {
        let small = Bar::new(MaterialModel::Corotational, [yield_strain * scale, published(creep, dt), max * scale]);
        let found = small.loaded(0.3, scale, dt);
        for (found, wanted) in [found.peak, found.residual].into_iter().zip(wanted) {
            assert!((found / scale - wanted).abs() < 5e-5 * wanted, "{yield_strain} {creep} {max}: {} {wanted}", found / scale);
        }
        // The exponential share of the product differs from that by the first order in dt.
        let product = Bar::new(MaterialModel::Corotational, [yield_strain * scale, creep, max * scale]).loaded(0.3, scale, dt);
        assert!((product.peak / found.peak - 1.0).abs() > 1e-5 || max < 1.0, "{} {}", product.peak, found.peak);
        let full = Bar::new(MaterialModel::Corotational, [yield_strain, published(creep, dt), max]).loaded(0.3, 1.0, dt);
        for (found, wanted) in [full.peak, full.residual].into_iter().zip(at_full_size) {
            assert!((found - wanted).abs() < 1e-6 * wanted, "{yield_strain} {creep} {max}: {found} {wanted}");
        }
    }
    for (dt, wanted) in [(0.02, 0.092915), (0.005, 0.099436), (0.0025, 0.100501), (0.00125, 0.101031)] {
        let found = Bar::new(MaterialModel::Corotational, [0.05 * scale, published(10.0, dt), scale]).loaded(0.3, scale, dt);
        assert!((found.residual / scale - wanted).abs() < 5e-5 * wanted, "{dt}: {} {wanted}", found.residual / scale);
    }
}

/// Half the time step leaves half of the difference, nothing relaxes below the yield strain, and a loop takes work.
#[test]
fn flow_does_not_depend_on_the_time_step() {
    for model in MaterialModel::ALL {
        let numbers = [0.05, 10.0, 1.0];
        let loops = [0.02, 0.01, 0.005, 0.0025].map(|dt| Bar::new(*model, numbers).loaded(0.3, 1.0, dt));
        let [a, b, c, d] = loops.each_ref().map(|found| found.residual);
        for ratio in [(a - b) / (b - c), (b - c) / (c - d)] {
            assert!((1.8..2.2).contains(&ratio), "{model:?}: {a} {b} {c} {d}");
        }
        assert!(loops.iter().all(|found| found.work > 1e3 && found.residual > 0.05 && found.residual < 0.15), "{model:?}");
        // What is held comes to the yield strain, from above, and stays.
        let mut bar = Bar::new(*model, numbers);
        let gradient = bar.gradient(0.2);
        (0..400).for_each(|_| bar.rows = bar.rule.advance(&bar.material, &gradient, 0.01, bar.rows));
        let elastic = Mat3::identity() + bar.rows.elastic_gradient(&gradient);
        let strain = (elastic.transpose() * elastic).symmetric_eigenvalues().map(|square| 0.5 * square.ln());
        let norm = strain.add_scalar(-strain.mean()).norm();
        assert!((norm - 0.05).abs() < 1e-9 && norm > 0.05 - 1e-14, "{model:?}: {norm}");
    }
}

/// Up to the yield strain nothing changes at all.
#[test]
fn below_the_yield_strain_nothing_flows() {
    let found = Bar::new(MaterialModel::Corotational, [0.05, 10.0, 1.0]).loaded(0.04, 1.0, 0.01);
    assert!((found.peak - 20000.0).abs() < 1e-6 && found.residual == 0.0 && found.work.abs() < 1e-9);
    let found = Bar::new(MaterialModel::Corotational, [0.04, 10.0, 1.0]).loaded(0.04, 1.0, 0.01);
    assert!(found.residual > 1e-4);
}

fn random(k: usize) -> Mat3 {
    Mat3::from_fn(|i, j| ((9 * k + 3 * i + j) as f64 * 12.989_8).sin())
}

fn energy(material: &Constitutive, gradient: &Mat3, rows: PlasticRows) -> f64 {
    let gradient = from_matrix(&rows.elastic_gradient(gradient));
    let Singular { left, right, .. } = Singular::of(&plus_identity(&gradient));
    let rotation = from_matrix(&(to_matrix(&left).transpose() * to_matrix(&right)));
    material.energy(&Deformation { gradient, rotation, state: &[] })
}

/// Elements that are turned, stretched, crushed and mirrored at random, one deformation after the other.
#[test]
fn flow_never_adds_energy_and_keeps_the_volume() {
    let rule = Plasticity { yield_strain: 0.05, creep: 20.0, max_strain: 0.2 };
    for model in MaterialModel::ALL {
        let material = constitutive(*model, 0.45);
        let (mut rows, mut n_flowed, mut n_kept, mut reached) = (PlasticRows::default(), 0, 0, 0.0_f64);
        for k in 0..400 {
            let turn = Quat::from_scaled_axis(random(k).column(0) * 3.0).to_rotation_matrix().into_inner();
            let size = if k % 3 == 0 { 0.6 } else { 1.0 };
            let gradient = turn * (Mat3::identity() * size + random(k + 500) * 0.25) - Mat3::identity();
            let before = energy(&material, &gradient, rows);
            let flowed = rule.advance(&material, &gradient, 0.02, rows);
            let after = energy(&material, &gradient, flowed);
            assert!(after <= before, "{model:?} {k}: {before} {after}");
            n_flowed += usize::from(flowed != rows);
            n_kept += usize::from(flowed == rows && rule.flow(&gradient, 0.02, rows).is_some());
            rows = flowed;
            assert!(((Mat3::identity() + rows.change()).determinant() - 1.0).abs() < 1e-14, "{model:?} {k}");
            let strain = rows.strain().norm();
            assert!(strain <= rule.max_strain + 1e-15, "{model:?} {k}: {strain:e}");
            reached = reached.max(strain);
        }
        assert!(n_flowed > 100 && reached > 0.99 * rule.max_strain, "{model:?}: {n_flowed} flowed, {n_kept} kept, {reached}");
        println!("{model:?}: {n_flowed} flowed, {n_kept} kept");
    }
    // Without the comparison of energies it would: a crushed corotational element stiffens.
    let material = constitutive(MaterialModel::Corotational, NU);
    let crushed = Mat3::from_diagonal(&Vec3::new(-0.8, -0.7, -0.75));
    let flowed = rule.flow(&crushed, 0.02, PlasticRows::default()).unwrap();
    let [before, after] = [PlasticRows::default(), flowed].map(|rows| energy(&material, &crushed, rows));
    assert!(
        after > before && rule.advance(&material, &crushed, 0.02, PlasticRows::default()) == PlasticRows::default(),
        "{before} {after}"
    );
    // Turned inside out it does not flow.
    assert!(rule.flow(&Mat3::from_diagonal(&Vec3::new(0.3, 0.0, -1.2)), 0.02, PlasticRows::default()).is_none());
}

/// A turned element flows as one that is not turned, and along its own axes.
#[test]
fn flow_turns_with_the_element() {
    let rule = Plasticity { yield_strain: 0.05, creep: 20.0, max_strain: 1.0 };
    let material = constitutive(MaterialModel::NeoHookean, 0.4);
    let turn = |k: usize| Quat::from_scaled_axis(random(k).column(1) * 2.0).to_rotation_matrix().into_inner();
    let (first, second) = (Mat3::identity() + random(3) * 0.2, Mat3::identity() + random(4) * 0.2);
    let rest = turn(9);
    let flowed = |space: Mat3, rest: Mat3| {
        let mut rows = PlasticRows::default();
        for f in [first, second] {
            rows = rule.advance(&material, &(space * f * rest.transpose() - Mat3::identity()), 0.02, rows);
        }
        rows.strain()
    };
    let plain = flowed(Mat3::identity(), Mat3::identity());
    assert!(plain.norm() > 0.02);
    assert!((flowed(turn(5), Mat3::identity()) - plain).norm() < 1e-13);
    assert!((flowed(Mat3::identity(), rest) - rest * plain * rest.transpose()).norm() < 1e-13);
    assert!((flowed(Mat3::identity(), rest) - plain).norm() > 1e-3);
}
