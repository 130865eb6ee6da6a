//! The hard starts of the study of materials (`materials-study.md` 1): a free cube that is crushed, pulled, turned
//! inside out, flattened or scrambled, and let go. `tests/long.rs` runs all of them, the library's tests a few.

use std::fmt;
use std::sync::Arc;

use crate::elastic::strain_energy;
use crate::material::{Material, MaterialModel};
use crate::math::{Mat3, Vec3};
use crate::mesh::shapes;
use crate::model::{Integration, Loads, Model, ModelBuilder, Params, SoftBody, State};
use crate::step::Stepper;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    Crushed,
    Pulled,
    Shrunk,
    Mirrored,
    Flattened,
    Scrambled,
}

impl Start {
    pub const ALL: [Self; 6] = [Self::Crushed, Self::Pulled, Self::Shrunk, Self::Mirrored, Self::Flattened, Self::Scrambled];

    /// Where a node begins that is at `x` at rest, in a cube of some size about the origin.
    fn position(self, x: &Vec3, size: f64, random: &mut impl FnMut() -> f64) -> Vec3 {
        let mut noise = |part: f64| Vec3::new(random(), random(), random()) * (size * part);
        match self {
            Self::Crushed => Vec3::new(0.3 * x.x, x.y, x.z),
            Self::Pulled => Vec3::new(3.0 * x.x, x.y, x.z),
            Self::Shrunk => x * 0.3,
            Self::Mirrored => Vec3::new(-x.x, x.y, x.z),
            Self::Flattened => Vec3::new(0.0, x.y, x.z) + noise(1e-3),
            Self::Scrambled => noise(1.0),
        }
    }
}

/// One start of one material.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub model: MaterialModel,
    pub start: Start,
    pub young_modulus: f64,
    pub poisson_ratio: f64,
    pub integration: Integration,
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Steps that could not be made, even in halves.
    pub failed: bool,
    /// The largest energy over that of the start.
    pub largest: f64,
    pub halvings: u32,
    pub newton_iterations: u32,
    pub refused: u32,
    /// Of the last state, in mu V.
    pub left: f64,
    pub inverted: usize,
    /// How far momentum has come, over the sum of the masses times the fastest speed [-].
    pub momentum: f64,
}

pub const STEPS: usize = 150;

/// Steps a model on some backend.
pub type NewStepper = fn(&Arc<Model>) -> Box<dyn Stepper>;

const SIZE: f64 = 0.2;

impl Case {
    /// Runs it with a stepper of the model; `cells` along each edge of the cube.
    pub fn run(&self, cells: u32, stepper: NewStepper) -> Outcome {
        let material =
            Material { model: self.model, young_modulus: self.young_modulus, poisson_ratio: self.poisson_ratio, ..Material::default() };
        let mut body = SoftBody::with_boundary_surface("cube", material, shapes::box_tets(Vec3::repeat(SIZE), [cells; 3]));
        body.self_contact = false;
        let mut builder = ModelBuilder::default();
        builder.soft_body(body);
        let model = Arc::new(builder.build().expect("a cube"));
        let mut state = State::initial(&model);
        let mut seed = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = move || {
            // xorshift64* [Vigna 2016], to [-1/2, 1/2).
            seed ^= seed >> 12;
            seed ^= seed << 25;
            seed ^= seed >> 27;
            (seed.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        for (u, x) in state.displacements.iter_mut().zip(&model.rest_positions) {
            *u = self.start.position(x, SIZE, &mut random) - x;
        }
        let mut stepper = stepper(&model);
        stepper.set_state(&state).expect("a state");
        let params = Params { gravity: Vec3::zeros(), integration: self.integration, ..Params::default() };
        // An exact mirror image has none in models that see squares of stretches only.
        let start = energy(&model, &state).max(1e-9 * material.lame().mu * model.bodies[0].volume);
        let mut outcome =
            Outcome { failed: false, largest: 0.0, halvings: 0, newton_iterations: 0, refused: 0, left: 0.0, inverted: 0, momentum: 0.0 };
        let mut fastest = 0.0;
        for _ in 0..STEPS {
            if !advance(&mut *stepper, &params, 0, &mut outcome) {
                outcome.failed = true;
                break;
            }
            let state = stepper.state().expect("on the host");
            outcome.largest = outcome.largest.max(energy(&model, state) / start);
            let momentum: Vec3 = state.velocities.iter().zip(&model.node_masses).map(|(v, m)| v * *m).sum();
            fastest = state.velocities.iter().map(Vec3::norm).fold(fastest, f64::max);
            outcome.momentum = outcome.momentum.max(momentum.norm() / (model.bodies[0].mass * f64::max(fastest, NO_MOTION)));
        }
        let state = stepper.state().expect("on the host");
        let volume = model.bodies[0].volume * material.lame().mu;
        outcome.left = energy(&model, state) / volume;
        outcome.inverted = model
            .tets
            .iter()
            .filter(|tet| {
                let x = tet.nodes.map(|n| state.displacements[n as usize]);
                let f: Mat3 = (0..4).map(|c| x[c] * tet.gradients[c].transpose()).sum::<Mat3>() + Mat3::identity();
                f.determinant() <= 0.0
            })
            .count();
        outcome
    }
}

/// Of [`Row::check`] in f64: roundings of the energy, and what the tolerance of the solve leaves.
pub const TOLERANCES: [f64; 2] = [1e-9, 1e-6];

/// What moves slower than this [m/s] does not move: a mirror image without energy has roundings only.
const NO_MOTION: f64 = 1e-9;

/// A step, or its halves; false if that fails, too.
fn advance(stepper: &mut dyn Stepper, params: &Params, halvings: u32, outcome: &mut Outcome) -> bool {
    match stepper.step(params, &Loads::default()) {
        Ok(report) => {
            outcome.halvings += report.energy_halvings;
            outcome.newton_iterations += report.newton_iterations;
            true
        }
        Err(error) if error.may_halve() && halvings < 4 => {
            outcome.refused += 1;
            let half = Params { time_step: params.time_step * 0.5, halvings: halvings + 1, ..*params };
            (0..2).all(|_| advance(stepper, &half, halvings + 1, outcome))
        }
        Err(error) => {
            println!("{error}");
            false
        }
    }
}

fn energy(model: &Model, state: &State) -> f64 {
    let kinetic: f64 = state.velocities.iter().zip(&model.node_masses).map(|(v, m)| 0.5 * m * v.norm_squared()).sum();
    kinetic + strain_energy(model, state)
}

/// What came of all starts of one model.
pub struct Row {
    model: MaterialModel,
    integration: Integration,
    outcomes: Vec<(Case, Outcome)>,
}

impl Row {
    pub fn run(model: MaterialModel, integration: Integration, [moduli, ratios]: [&[f64]; 2], cells: u32, stepper: NewStepper) -> Self {
        let mut outcomes = vec![];
        for start in Start::ALL {
            for &young_modulus in moduli {
                for &poisson_ratio in ratios {
                    let case = Case { model, start, young_modulus, poisson_ratio, integration };
                    outcomes.push((case, case.run(cells, stepper)));
                }
            }
        }
        Self { model, integration, outcomes }
    }

    /// Halvings of the energy guard in all steps.
    pub fn halvings(&self) -> u32 {
        self.outcomes.iter().map(|(_, outcome)| outcome.halvings).sum()
    }

    /// None failed, and none ever had more energy than at its start, or gained momentum; but for `tolerances` of the two.
    pub fn check(&self, [energy, momentum]: [f64; 2]) {
        for (case, outcome) in &self.outcomes {
            assert!(!outcome.failed && outcome.largest <= 1.0 + energy, "{case:?}: {outcome:?}");
            assert!(outcome.momentum < momentum, "{case:?}: {outcome:?}");
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let of = |value: &dyn Fn(&Outcome) -> f64| self.outcomes.iter().map(|(_, outcome)| value(outcome)).collect::<Vec<f64>>();
        let sum = |value: &dyn Fn(&Outcome) -> f64| of(value).iter().sum::<f64>();
        let largest = |value: &dyn Fn(&Outcome) -> f64| of(value).iter().fold(0.0, |a, b| f64::max(a, *b));
        write!(f, "{:22} {:13}", self.model.name(), self.integration.name())?;
        write!(f, " failed {:2}", sum(&|o| f64::from(u8::from(o.failed))))?;
        write!(f, " largest {:.9}", largest(&|o| o.largest))?;
        let steps = (self.outcomes.len() * STEPS) as f64;
        write!(
            f,
            " halvings {:4} ({:.2} %) refused {:3}",
            self.halvings(),
            100.0 * f64::from(self.halvings()) / steps,
            sum(&|o| f64::from(o.refused))
        )?;
        write!(f, " newton {:.2} momentum {:.0e}", sum(&|o| f64::from(o.newton_iterations)) / steps, largest(&|o| o.momentum))?;
        for start in Start::ALL {
            let mine = || self.outcomes.iter().filter(|(case, _)| case.start == start);
            let rests = mine().filter(|(_, o)| o.left < 1e-4).count();
            let upright = mine().filter(|(_, o)| o.inverted == 0).count();
            write!(f, " {start:?} {rests}/{upright}")?;
        }
        Ok(())
    }
}
