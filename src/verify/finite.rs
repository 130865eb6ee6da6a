//! Large uniform strains: every constitutive model against its closed form.

use super::bench::{Bench, alone, bar, held, mean, scramble, tractions};
use super::check::{Check, Measure, Outcome, Place};
use super::plot::{Axis, Plot, Style};
use super::unmeasured::Unmeasured;
use crate::elastic::cauchy_stresses;
use crate::material::{Lame, Material, MaterialModel};
use crate::math::{Mat3, Vec3};
use crate::model::{Model, Params, State};

pub const FINITE: Check = Check {
    name: "finite_strain",
    title: "Large stretch and shear",
    meaning: "Every material answers to large stretches and shears with the stress of its formula, and thins by as much as leaves its sides free.",
    setup: "a box of 0.3 x 0.2 x 0.25 m, 36 nodes, 72 tets, inner nodes moved about by up to a fifth of a cell; E = 0.5 MPa, nu = 0.3; loaded \
            by the tractions of the formula: drawn to 1.25 and 1.5 of its length, and sheared by 0.25 and 0.5 with its bottom held",
    source: "P = dPsi/dF of each model in closed form; the lateral stretch is that without lateral stress; rest to 1e-6, on the graphics card to 1e-4",
    place: Place::Chosen,
    run: finite,
};

const E: f64 = 5e5;
const NU: f64 = 0.3;
/// [m]
const BOX: Vec3 = Vec3::new(0.3, 0.2, 0.25);
const CELLS: [u32; 3] = [3, 2, 2];
const STRETCHES: [f64; 2] = [1.25, 1.5];
const SHEARS: [f64; 2] = [0.25, 0.5];
/// Long beside the time in which sound crosses the body, and so short that it steadies one that nothing holds [s].
const TIME_STEP: f64 = 0.01;
/// Damping by mass: forces that keep their directions let a drawn body that nothing holds swing about its axis, for long [1/s].
const DAMPING: f64 = 400.0;
/// No node goes further in the last step [m], on the CPU and on a device. There a step solves to 1e-5 of its forces, as
/// far as f32 goes, and nodes wander by 4e-8 m a step for ever.
const STILL: [f64; 2] = [1e-9, 3e-7];
/// Part by which lengths may be off. The slowest motion towards rest goes by a fifth of what is left in a step: five
/// times [`STILL`] are left in the end, a part of 1.5e-5 of what the sheared top slides on a device.
const BOUND: [f64; 2] = [1e-6, 1e-4];

/// A uniform deformation, with its rotation in closed form.
#[derive(Clone, Copy)]
struct Uniform {
    gradient: Mat3,
    rotation: Mat3,
}

impl Uniform {
    /// A stretch along x, and another along y and z.
    fn stretch(along: f64, lateral: f64) -> Self {
        Self { gradient: Mat3::from_diagonal(&Vec3::new(along, lateral, lateral)), rotation: Mat3::identity() }
    }

    /// Planes across y slide along x: the body turns by `atan(gamma / 2)`.
    fn shear(gamma: f64) -> Self {
        let (x, y) = (Vec3::x(), Vec3::y());
        let (sin, cos) = (0.5 * gamma).atan().sin_cos();
        let across = y * x.transpose() - x * y.transpose();
        let plane = x * x.transpose() + y * y.transpose();
        Self { gradient: Mat3::identity() + x * y.transpose() * gamma, rotation: Mat3::identity() + plane * (cos - 1.0) - across * sin }
    }

    /// The first Piola-Kirchhoff stress [Pa], by the formula of each model in matrices.
    fn stress(&self, material: &Material) -> Mat3 {
        let Lame { mu, lambda } = material.lame();
        let Self { gradient: f, rotation: r } = *self;
        let j = f.determinant();
        let turned = f.try_inverse().unwrap_or_else(Mat3::zeros).transpose();
        let right = f.transpose() * f;
        match material.model {
            MaterialModel::Corotational | MaterialModel::CorotationalProjected | MaterialModel::CorotationalTruncated => {
                (f - r) * (2.0 * mu) + r * (lambda * (r.tr_mul(&f).trace() - 3.0))
            }
            MaterialModel::NeoHookean => (f - turned) * mu + turned * (lambda * j.ln()),
            MaterialModel::StableNeoHookean => f * mu + turned * (((lambda + mu) * (j - 1.0) - mu) * j),
            MaterialModel::StVenantKirchhoff => {
                let strain = (right - Mat3::identity()) * 0.5;
                f * (strain * (2.0 * mu) + Mat3::identity() * (lambda * strain.trace()))
            }
            MaterialModel::MooneyRivlin => {
                let second = material.mooney_share * mu;
                let volumetric = (lambda - 2.0 * second) * j.ln() - (mu + second);
                f * (mu - second) + (f * right.trace() - f * right) * second + turned * volumetric
            }
        }
    }

    /// The stretch that leaves the sides of a bar without stress: bisection.
    fn free_stretch(along: f64, material: &Material) -> Self {
        let (mut low, mut high) = (0.5, 1.5);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if Self::stretch(along, middle).stress(material)[(1, 1)] < 0.0 { low = middle } else { high = middle }
        }
        Self::stretch(along, low)
    }
}

/// At rest under the tractions of a uniform first Piola-Kirchhoff stress [Pa].
fn at_rest(bench: &Bench, model: MaterialModel, stress: &Mat3, is_clamped: impl Fn(&Vec3) -> bool) -> Result<(Model, State), Unmeasured> {
    let material = Material { mass_damping: DAMPING, ..bench.material(model, E, NU) };
    let mut body = held(bar(material, BOX, CELLS), is_clamped);
    scramble(&mut body.tets, CELLS);
    let model = alone(body)?;
    let params = Params { time_step: TIME_STEP, ..bench.static_params() };
    let mut simulation = bench.simulate(model.clone(), params, tractions(&model, stress))?;
    let state = bench.to_rest(&mut simulation, bench.pick(STILL[0], STILL[1]))?;
    Ok((model, state))
}

/// Mean over the elements of the stress that pictures and reports show [Pa].
fn shown_stress(model: &Model, state: &State, [row, column]: [usize; 2]) -> f64 {
    let stresses = cauchy_stresses(model, &state.displacements, &[]);
    stresses.iter().map(|stress| stress.map_or(f64::NAN, |stress| stress[(row, column)])).sum::<f64>() / stresses.len() as f64
}

fn finite(bench: &mut Bench) -> Result<Outcome, Unmeasured> {
    let mut outcome =
        Outcome { plot: Plot::new(Axis::linear("stretch, and 1 + shear", ""), Axis::linear("stress over E", "")), ..Outcome::default() };
    let bound = bench.pick(BOUND[0], BOUND[1]);
    for (k, kind) in MaterialModel::ALL.iter().enumerate() {
        // As the body says that it is, however stiff it is.
        let material = Material { young_modulus: E, ..bench.material(*kind, E, NU) };
        let name = kind.name();
        let mut drawn = vec![[1.0, 0.0]];
        for along in STRETCHES {
            let wanted = Uniform::free_stretch(along, &material);
            let lateral = wanted.gradient[(1, 1)];
            let (body, state) = at_rest(bench, *kind, &wanted.stress(&material), |_| false)?;
            let side = |axis: usize, at: f64| mean(&body, |p| (p[axis] - at).abs() < 1e-9, |n| state.displacements[n][axis]);
            let length = 1.0 + (side(0, BOX.x) - side(0, 0.0)) / BOX.x;
            let width = 1.0 + (side(1, 0.5 * BOX.y) - side(1, -0.5 * BOX.y)) / BOX.y;
            let (stress, shown) = (wanted.stress(&material)[(0, 0)], shown_stress(&body, &state, [0, 0]));
            drawn.push([length, stress / E]);
            if along == STRETCHES[1] {
                outcome.measures.extend([
                    Measure::relative(format!("{name}: stretch under its stress"), along, length, bound, ""),
                    Measure::relative(format!("{name}: lateral stretch"), lateral, width, bound, ""),
                    Measure::relative(format!("{name}: true stress that is shown"), stress / lateral.powi(2), shown, 10.0 * bound, "Pa"),
                ]);
            }
        }
        let mut sheared = vec![[1.0, 0.0]];
        for gamma in SHEARS {
            let wanted = Uniform::shear(gamma);
            let stress = wanted.stress(&material);
            let (body, state) = at_rest(bench, *kind, &stress, |p| p.y < -0.499 * BOX.y)?;
            let slid = mean(&body, |p| p.y > 0.499 * BOX.y, |n| state.displacements[n].x) / BOX.y;
            let exact = |p: &Vec3| Vec3::x() * (gamma * (p.y + 0.5 * BOX.y));
            let off = body.rest_positions.iter().zip(&state.displacements).map(|(p, u)| (u - exact(p)).norm()).fold(0.0, f64::max);
            sheared.push([1.0 + slid, stress[(0, 1)] / E]);
            if gamma == SHEARS[1] {
                outcome.measures.extend([
                    Measure::relative(format!("{name}: shear under its stress"), gamma, slid, bound, ""),
                    Measure::error(format!("{name}: largest error of a displacement in shear"), off / (gamma * BOX.y), 10.0 * bound, ""),
                ]);
            }
        }
        let formula = |of: &dyn Fn(f64) -> f64| (0..=20).map(|i| 1.0 + 0.025 * f64::from(i)).map(|x| [x, of(x) / E]).collect::<Vec<_>>();
        outcome.plot = outcome
            .plot
            .with(
                Style::Expected,
                if k == 0 { "formula" } else { "" },
                formula(&|x| Uniform::free_stretch(x, &material).stress(&material)[(0, 0)]),
            )
            .with(Style::Expected, "", formula(&|x| Uniform::shear(x - 1.0).stress(&material)[(0, 1)]))
            .with(Style::Points, name, drawn.into_iter().chain(sheared));
        bench.done((k + 1) as f64 / MaterialModel::ALL.len() as f64);
    }
    Ok(outcome)
}
