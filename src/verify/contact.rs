//! Contact with friction, and the pressure under a ball.

use super::bench::{Bench, with_obstacles};
use super::check::{Check, Measure, Outcome};
use super::plot::{Axis, Plot, Style};
use super::unmeasured::Unmeasured;
use crate::geometry::Shape;
use crate::material::MaterialModel;
use crate::math::{Isometry, Quat, Vec3};
use crate::mesh::{TetMesh, shapes};
use crate::model::{Keyframe, Keyframes, Motion, Obstacle, Params, SoftBody, State};
use crate::sim::Simulation;

const G: f64 = 9.81;

pub const STICK_SLIP: Check = Check {
    name: "stick_slip",
    title: "Stick and slip on an incline",
    meaning: "Blocks of 1 mm, 10 cm and 10 m stick below the angle of friction, and slide above it as Coulomb says.",
    setup: "a block of edge s, 3 x 3 x 3 cells, 162 tets, friction 0.5, on slopes of 0.9 and 1.2 of the angle's tangent; \
            E, the time step and the contact tolerance follow s; 120 steps, the second half is measured",
    source: "Coulomb: no motion where tan(angle) < mu; else a = g (sin(angle) - mu cos(angle))",
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

pub const HERTZ: Check = Check {
    name: "hertz",
    title: "Hertz contact",
    meaning: "A ball pressed into a flat body touches it on a disc of the right size, with the right force.",
    setup: "a rigid ball of radius 1 m pressed 10 mm into a block of 6 m across and 3 m deep that is held below, without friction; \
            E = 1 MPa, nu = 0.3; 4 and 6 cells under the radius of the contact (0.1 m): 34,560 and 116,640 tets; the force is extrapolated \
            as h^2 from both, the radius is that of the finer one",
    source: "Hertz: a^2 = R d, F = 4/3 E* sqrt(R) d^(3/2), E* = E / (1 - nu^2), so a^3 = 3 F R / (4 E*); d is larger than the depth of the \
             ball by F (1 + nu) (3 - 2 nu) / (2 pi E H), what a half space would sink where the block is held (Boussinesq)",
    run: hertz,
};

/// Radius of the ball [m].
const BALL: f64 = 1.0;
/// Depth by which it is pressed in [m].
const APPROACH: f64 = 0.01;
/// Radius and depth of the block [m].
const BLOCK: f64 = 3.0;
/// Cells under the radius of the contact.
const RESOLUTIONS: [u32; 2] = [4, 6];

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
    let (e, nu) = (1e6, 0.3);
    let (mut radius, mut force) = (0.0, 0.0);
    for _ in 0..20 {
        let approach = APPROACH + sink(force, [e, nu]);
        radius = (BALL * approach).sqrt();
        force = 4.0 / 3.0 * e / (1.0 - nu * nu) * BALL.sqrt() * approach.powf(1.5);
    }
    let contact = (BALL * APPROACH).sqrt();
    let coarse = press(bench, [e, nu], contact, RESOLUTIONS[0])?;
    bench.done(0.2);
    let fine = press(bench, [e, nu], contact, RESOLUTIONS[1])?;
    bench.done(1.0);
    // Richardson's extrapolation: the elements are too stiff by a part that shrinks with the square of their size.
    let ratio = (f64::from(RESOLUTIONS[1]) / f64::from(RESOLUTIONS[0])).powi(2);
    let limit = (ratio * fine.force - coarse.force) / (ratio - 1.0);
    let largest = 1.5 * force / (std::f64::consts::PI * radius * radius);
    let exact = (0..=60).map(|i| radius * f64::from(i) / 60.0).map(|r| [r, largest * (1.0 - (r / radius).powi(2)).max(0.0).sqrt()]);
    let plot = Plot::new(Axis::linear("distance from the axis", "m"), Axis::linear("pressure", "Pa"))
        .with(Style::Expected, "Hertz", exact)
        .with(Style::Points, "4 cells under a", coarse.pressure)
        .with(Style::Points, "6 cells under a", fine.pressure);
    let measures = vec![
        Measure::relative("radius of the contact", radius, fine.radius, 0.03, "m"),
        Measure::relative("force, extrapolated", force, limit, 0.03, "N"),
    ];
    Ok(Outcome { measures, plot })
}

/// How far a point under a force [N] sinks at the depth of the block [m], where the block is held and a half space, from
/// whose far places Hertz counts the approach, is not (Boussinesq).
fn sink(force: f64, [e, nu]: [f64; 2]) -> f64 {
    force * (1.0 + nu) * (3.0 - 2.0 * nu) / (2.0 * std::f64::consts::PI * e * BLOCK)
}

/// Presses the ball into the block of some material and lets both come to rest.
fn press(bench: &mut Bench, [e, nu]: [f64; 2], contact: f64, cells: u32) -> Result<Pressed, Unmeasured> {
    let mut body = SoftBody::with_boundary_surface("block", bench.material(MaterialModel::Corotational, e, nu), block(cells, contact));
    body.self_contact = false;
    body.fixed = body.tets.positions.iter().map(|p| p.y < -0.999 * BLOCK).collect();
    let gap = 1e-5;
    let params = Params { contact_tolerance: 1e-6, tolerance: 1e-5, ..bench.static_params() };
    let frame = |steps: f64, down: f64| Keyframe { time: steps * params.time_step, shift: Vec3::y() * -down, turn: Quat::identity() };
    let frames = vec![frame(0.0, 0.0), frame(2.0, gap + APPROACH)];
    let ball = Obstacle {
        name: "ball".into(),
        shape: Shape::Sphere { radius: BALL },
        pose: Isometry::translation(0.0, BALL + gap, 0.0),
        motion: Some(Motion { keyframes: Keyframes { frames, repeat: false }, ..Motion::default() }),
        friction: vec![0.0],
        color: None,
    };
    let mut simulation = bench.simulate(with_obstacles(body, vec![ball])?, params, vec![])?;
    // Two steps down and one to rest: a further one changes the force by less than a part in a thousand.
    for _ in 0..3 {
        bench.step(&mut simulation)?;
    }
    Ok(measure(simulation.state()?, contact / f64::from(cells)))
}

/// A cylinder below y = 0, `cells` of which lie under the radius of the contact [m]: equal ones where it is touched,
/// and growing ones beyond, so that all meshes of this kind are refinements of one another.
fn block(cells: u32, contact: f64) -> TetMesh {
    let (across, down) = (3 * cells, (2.5 * f64::from(cells)).round());
    let height = down / f64::from(across);
    let mut mesh = shapes::cylinder(1.0, height, 2 * across);
    let fine = 1.3 * contact / BLOCK;
    let [outwards, downwards] = [1.3 / 3.0, 1.0 / 2.5].map(|share| Grading::new(share, fine));
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

/// Sums over the contacts, in rings of some width [m].
fn measure(state: &State, width: f64) -> Pressed {
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
        std::f64::consts::PI * (outer * outer - inner * inner)
    };
    let touched = rings.iter().rposition(|ring| *ring > 0.0).map_or(0, |last| last + 1);
    Pressed {
        force,
        // Hertz' pressure has a mean square distance of 2/5 a^2.
        radius: (2.5 * moment / force).sqrt(),
        pressure: (0..touched).map(|k| [k as f64 * width, rings[k] / area(k)]).collect(),
    }
}
