//! The pressure under a ball.

use std::f64::consts::PI;

use super::bench::{Bench, with_obstacles};
use super::check::{Check, Measure, Outcome, Place};
use super::plot::{Axis, Plot, Style};
use super::unmeasured::Unmeasured;
use crate::element::ElementKind;
use crate::geometry::Shape;
use crate::material::MaterialModel;
use crate::math::{Isometry, Quat, Vec3};
use crate::mesh::{TetMesh, shapes};
use crate::model::{Keyframe, Keyframes, Motion, Obstacle, Params, SoftBody, State};

pub const HERTZ: Check = Check {
    name: "hertz",
    title: "Hertz contact",
    meaning: "A ball pressed into a flat body touches it on a disc of the right size, with the right force.",
    setup: "a rigid ball of radius 1 m pressed 2.5 mm into a block of 3 m across and 1.5 m deep that is held below, without friction; \
            E = 1 MPa, nu = 0.3; 9,216 tets of ten nodes, finest beneath the ball: five nodes under the radius of the contact, 5 cm",
    source: "Hertz: a^2 = R d, F = 4/3 E* sqrt(R) d^(3/2), E* = E / (1 - nu^2); d is larger than the depth of the ball by \
             F (1 + nu) (3 - 2 nu) / (2 pi E H), what a half space would sink where the block is held (Boussinesq)",
    // With the same tolerances on a device: with 1,152 of these tets its force is that of the CPU to 6e-5.
    place: Place::Chosen,
    run: hertz,
};

const E: f64 = 1e6;
const NU: f64 = 0.3;
/// Radius of the ball [m].
const BALL: f64 = 1.0;
/// Depth by which it is pressed in [m].
const APPROACH: f64 = 0.0025;
/// Radius and depth of the block [m].
const BLOCK: f64 = 1.5;
/// Cells from the axis of the block outwards, and those from its top downwards.
const CELLS: [u32; 2] = [8, 6];
/// Of these the equal ones beneath the ball, which reach `FINE` times the radius of the contact outwards, and down.
const FINE_CELLS: [u32; 2] = [3, 2];
const FINE: f64 = 1.2;
/// The ball starts above the block by this [m].
const GAP: f64 = 1e-5;

/// What is under the ball.
struct Pressed {
    /// Total normal force [N].
    force: f64,
    /// Radius of the disc that is touched [m].
    radius: f64,
    /// Mean pressure [Pa] at some distances from the axis [m].
    pressure: Vec<[f64; 2]>,
}

fn hertz(bench: &mut Bench) -> Result<Outcome, Unmeasured> {
    let (mut radius, mut force) = (0.0, 0.0);
    // The force grows by what the block sinks less under it: a fixed point.
    for _ in 0..20 {
        let approach = APPROACH + sink(force);
        radius = (BALL * approach).sqrt();
        force = 4.0 / 3.0 * E / (1.0 - NU * NU) * BALL.sqrt() * approach.powf(1.5);
    }
    let found = press(bench)?;
    let largest = 1.5 * force / (PI * radius * radius);
    let exact = (0..=60).map(|i| radius * f64::from(i) / 60.0).map(|r| [r, largest * (1.0 - (r / radius).powi(2)).max(0.0).sqrt()]);
    let plot = Plot::new(Axis::linear("distance from the axis", "m"), Axis::linear("pressure", "Pa"))
        .with(Style::Expected, "Hertz", exact)
        .with(Style::Points, "measured", found.pressure);
    let measures = vec![
        Measure::relative("radius of the contact", radius, found.radius, 0.03, "m"),
        Measure::relative("force", force, found.force, 0.03, "N"),
    ];
    Ok(Outcome { measures, plot })
}

/// How far a point under a force [N] sinks at the depth of the block [m], where the block is held and a half space, from
/// whose far places Hertz counts the approach, is not (Boussinesq's u_z at a depth z below the force).
fn sink(force: f64) -> f64 {
    force * (1.0 + NU) * (3.0 - 2.0 * NU) / (2.0 * PI * E * BLOCK)
}

/// Presses the ball into the block and lets both come to rest.
fn press(bench: &mut Bench) -> Result<Pressed, Unmeasured> {
    let contact = (BALL * APPROACH).sqrt();
    let material = bench.material(MaterialModel::Corotational, E, NU);
    let mut body = SoftBody::with_boundary_surface("block", material, block(FINE * contact).quadratic(&[]).0);
    body.element = ElementKind::Quadratic;
    body.self_contact = false;
    body.fixed = body.tets.positions.iter().map(|p| p.y < -0.999 * BLOCK).collect();
    let params = Params { contact_tolerance: 1e-6, tolerance: 1e-5, ..bench.static_params() };
    let frame = |steps: f64, down: f64| Keyframe { time: steps * params.time_step, shift: Vec3::y() * -down, turn: Quat::identity() };
    let frames = vec![frame(0.0, 0.0), frame(2.0, GAP + APPROACH)];
    let ball = Obstacle {
        name: "ball".into(),
        shape: Shape::Sphere { radius: BALL },
        pose: Isometry::translation(0.0, BALL + GAP, 0.0),
        motion: Some(Motion { keyframes: Keyframes { frames, repeat: false }, ..Motion::default() }),
        friction: vec![0.0],
        color: None,
    };
    let mut simulation = bench.simulate(with_obstacles(body, vec![ball])?, params, vec![])?;
    // Two steps down and one to rest: a further one changes the force by less than a part in a thousand.
    for step in 1..=3 {
        bench.step(&mut simulation)?;
        bench.done(f64::from(step) / 3.0);
    }
    Ok(measure(simulation.state()?, contact))
}

/// A cylinder below y = 0 whose cells are equal in its first `fine` [m] outwards and down, and grow beyond.
fn block(fine: f64) -> TetMesh {
    let [across, down] = CELLS;
    let height = f64::from(down) / f64::from(across);
    let mut mesh = shapes::cylinder(1.0, height, 2 * across);
    let share = |axis: usize| f64::from(FINE_CELLS[axis]) / f64::from(CELLS[axis]);
    let [outwards, downwards] = [0, 1].map(|axis| Grading::new(share(axis), fine / BLOCK));
    for p in &mut mesh.positions {
        let (distance, depth) = (p.xz().norm(), 0.5 - p.y / height);
        let stretch = if distance > 0.0 { BLOCK * outwards.at(distance) / distance } else { 0.0 };
        *p = Vec3::new(p.x * stretch, -BLOCK * downwards.at(depth), p.z * stretch);
    }
    mesh
}

/// A map of [0, 1] onto itself, steady in its first `share` and exponential after that, with a steady slope.
struct Grading {
    share: f64,
    slope: f64,
    growth: f64,
}

impl Grading {
    /// `fine`: where the first part ends.
    fn new(share: f64, fine: f64) -> Self {
        let slope = fine / share;
        // The end grows with the growth: bisection.
        let (mut low, mut high) = (1e-6, 100.0);
        for _ in 0..60 {
            let growth = 0.5 * (low + high);
            if (Self { share, slope, growth }).at(1.0) < 1.0 { low = growth } else { high = growth }
        }
        Self { share, slope, growth: low }
    }

    fn at(&self, x: f64) -> f64 {
        let beyond = (x - self.share).max(0.0);
        self.slope * (x.min(self.share) + (self.growth * beyond).exp_m1() / self.growth)
    }
}

/// Sums over the contacts, in rings of a fifth of the radius of the `contact` [m].
fn measure(state: &State, contact: f64) -> Pressed {
    let width = 0.2 * contact;
    let (mut force, mut moment) = (0.0, 0.0);
    let mut rings = [0.0; 16];
    for contact in &state.contacts.entries {
        let Some([place, normal]) = contact.place else { continue };
        let (upwards, distance) = (contact.normal_force * normal.y.abs(), place.xz().norm());
        force += upwards;
        moment += upwards * distance * distance;
        if let Some(ring) = rings.get_mut((distance / width).round() as usize) {
            *ring += upwards;
        }
    }
    let area = |k: usize| {
        let [inner, outer] = [(k as f64 - 0.5).max(0.0), k as f64 + 0.5].map(|r| r * width);
        PI * (outer * outer - inner * inner)
    };
    let touched = rings.iter().rposition(|ring| *ring > 0.0).map_or(0, |last| last + 1);
    Pressed {
        force,
        // Hertz' pressure has a mean square distance of 2/5 a^2.
        radius: (2.5 * moment / force).sqrt(),
        pressure: (0..touched).map(|k| [k as f64 * width, rings[k] / area(k)]).collect(),
    }
}
