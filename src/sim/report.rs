//! The report of a run: one JSON object whose fields are a contract; its tests hold their names.

#[cfg(test)]
mod tests;

use serde::Serialize;

use super::warnings::beyond_range_text;
use super::{Simulation, Tally};
use crate::body::BodyRef;
use crate::contact::PairForce;
use crate::elastic::{deformation_gradient, strain_energy};
use crate::math::Vec3;
use crate::model::{Attachment, Mobility, Model, RigidBody, interpolate};
use crate::model::{History, RigidState, State};
use crate::scene::Probe;
use crate::step::StepError;

/// All in SI units unless the name says otherwise; what does not apply, or comes with a later feature, is null.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub scene: String,
    pub version: &'static str,
    pub backend: &'static str,
    pub adapter: Option<String>,
    /// Why this backend runs.
    pub reason: String,
    pub threads: usize,
    /// Time step [s].
    pub dt: f64,
    pub steps: u64,
    /// False while the run goes on; what was asked for was not all done if it stays so.
    pub finished: bool,
    /// Simulated time [s].
    pub time: f64,
    /// Wall time from the scene file to the first step.
    pub build_ms: f64,
    pub state_hash: String,
    pub bodies: Vec<BodyReport>,
    pub energy: Energy,
    pub timing: Timing,
    /// The method's name and how it fared.
    pub method: MethodReport,
    pub solver: SolverReport,
    pub contact: ContactSummary,
    pub probes: Vec<ProbeReport>,
    pub attachments: Vec<AttachmentReport>,
    pub faults: Faults,
    /// What was changed in the meshes, and how they are simulated, one sentence each with the name of the body.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct BodyReport {
    pub name: String,
    /// deformable, rigid, static or driven.
    pub kind: &'static str,
    pub nodes: usize,
    pub tets: usize,
    pub surface_triangles: usize,
    pub mass: Option<f64>,
    /// At rest.
    pub volume: Option<f64>,
    /// Volume now over volume at rest.
    pub volume_ratio: Option<f64>,
    pub center_of_mass: Option<[f64; 3]>,
    pub linear_momentum: Option<[f64; 3]>,
    /// About the body's centre of mass.
    pub angular_momentum: Option<[f64; 3]>,
    /// Least and greatest y of the surface that touches.
    pub lowest: Option<f64>,
    pub highest: Option<f64>,
    pub max_speed: Option<f64>,
    pub inverted_tets: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Energy {
    pub kinetic: f64,
    pub elastic: f64,
    /// Zero where all masses are at the origin.
    pub gravitational: f64,
    pub total: f64,
    pub dissipated_by_friction: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Timing {
    /// Null before the first step.
    pub ms_per_step: Option<Statistics>,
    /// Mean ms a step of each stage.
    pub stages: serde_json::Map<String, serde_json::Value>,
    /// Simulated time over wall time.
    pub real_time_factor: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Statistics {
    pub mean: f64,
    pub median: f64,
    pub p95: f64,
    pub max: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CountStatistics {
    pub mean: f64,
    pub median: f64,
    pub max: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MeanMax {
    pub mean: f64,
    pub max: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Max {
    pub max: f64,
}

/// The method that solved contact in the last step, and why it was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MethodReport {
    pub name: &'static str,
    pub reason: &'static str,
}

/// Newton's method over the steps that were solved by it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NewtonReport {
    pub iterations: MeanMax,
    /// 2-norm of the residual of the non-linear equation relative to the driving impulse.
    pub residual: Max,
}

#[derive(Clone, Debug, Serialize)]
pub struct SolverReport {
    pub name: &'static str,
    pub iterations: CountStatistics,
    /// Elastic corrections with fixed rows, a step.
    pub passes: MeanMax,
    /// Of conjugate residuals; null for other methods.
    pub restarts: Option<MeanMax>,
    pub relinearisations: MeanMax,
    /// Of Newton's method; null where steps are linearised once.
    pub newton: Option<NewtonReport>,
    /// Halvings of motions that would have gained energy, in all steps together.
    pub energy_halvings: u64,
    /// Applications of the factor of the rest pose, a step.
    pub solves: MeanMax,
    /// Inner iterations for the contact forces alone, a step.
    pub dual_iterations: MeanMax,
    /// Searches for candidates, a step.
    pub searches: MeanMax,
    /// Times that a step was begun, whole or in parts.
    pub attempts: MeanMax,
    pub residual: Max,
    pub unconverged_steps: u64,
    /// Those among them that had done the work that they may do: what would cross was limited in its motion.
    pub limited_steps: u64,
    /// How long driven bodies waited for what was limited [s].
    pub waited: f64,
    /// Submissions to the device that the host has waited for, a step.
    pub round_trips: MeanMax,
    /// What a step asks of the device; null on the CPU.
    pub device: Option<DeviceReport>,
}

/// Counts of a step on a device, which no load of the machine changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DeviceReport {
    /// Recorded, with those that turned out empty.
    pub dispatches: MeanMax,
    pub empty_dispatches: MeanMax,
    /// Submissions that the host has waited for.
    pub blocking_trips: MeanMax,
    /// Least bytes that the kernels move.
    pub bytes: MeanMax,
    /// Bytes from the host to the device, and back.
    pub bytes_sent: MeanMax,
    pub bytes_fetched: MeanMax,
}

#[derive(Clone, Debug, Serialize)]
pub struct ContactSummary {
    pub contacts: MeanMax,
    pub constraints: MeanMax,
    /// By `checker`, on the geometry at the end of every step; null if that was not measured.
    pub max_penetration: Option<f64>,
    pub max_gap_of_active: f64,
    pub max_complementarity_error: f64,
    pub max_cone_violation: f64,
    /// In the last step.
    pub normal_force_total: f64,
    pub friction_force_total: f64,
    /// In the last step.
    pub pairs: Vec<PairReport>,
}

#[derive(Clone, Debug, Serialize)]
pub struct PairReport {
    pub a: String,
    pub b: String,
    /// Force of b on a.
    pub normal: [f64; 3],
    pub friction: [f64; 3],
    pub contacts: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProbeReport {
    pub name: String,
    pub position: [f64; 3],
    pub displacement: [f64; 3],
    pub velocity: [f64; 3],
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AttachmentReport {
    pub name: String,
    /// Between its ends.
    pub length: f64,
    /// On its first end, in the last step.
    pub force: [f64; 3],
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Faults {
    pub rollbacks: u64,
    pub non_finite: u64,
    /// Steps in which a body passed through itself: it had started so, and contact leaves it alone until it does not.
    pub tangled_steps: u64,
    /// Names of the bodies that do so at the end.
    pub tangled_bodies: Vec<String>,
    /// A sentence for each body that was deformed beyond what its model holds.
    pub beyond_range: Vec<String>,
    /// Names of bodies that stood still in mid-air though nothing held them.
    pub hanging_bodies: Vec<String>,
    /// Null if the penetration was not measured.
    pub missed_candidates: Option<u64>,
}

impl Simulation {
    /// Everything there is to say about the run so far. `build_ms`: wall time that reading and building took.
    pub fn report(&mut self, build_ms: f64) -> Result<Report, StepError> {
        let Self { name, model, tally, backend, params, probes, stepper, step, notes, .. } = self;
        let time = stepper.time();
        let state = stepper.state()?;
        let column = |f: fn(&super::StepRecord) -> f64| -> Vec<f64> { tally.records.iter().map(f).collect() };
        let contacts = mean_max(&column(|r| f64::from(r.contacts)));
        let iterations = column(|r| f64::from(r.iterations));
        Ok(Report {
            scene: name.clone(),
            notes: notes.clone(),
            version: env!("CARGO_PKG_VERSION"),
            backend: backend.backend,
            adapter: backend.adapter.clone(),
            reason: backend.reason.clone(),
            threads: backend.threads,
            dt: params.time_step,
            steps: *step,
            finished: false,
            time,
            build_ms,
            state_hash: state_hash(state),
            bodies: body_reports(model, state),
            energy: Energy { dissipated_by_friction: tally.dissipated_by_friction, ..Energy::of(model, &params.gravity, state) },
            timing: timing(tally, params.time_step),
            method: MethodReport { name: tally.last.choice.method.name(), reason: tally.last.choice.reason },
            solver: SolverReport {
                name: backend.solver,
                iterations: CountStatistics { mean: mean(&iterations), median: quantile(&iterations, 0.5), max: max(&iterations) },
                passes: mean_max(&column(|r| f64::from(r.passes))),
                restarts: restarts(tally),
                relinearisations: mean_max(&column(|r| f64::from(r.relinearisations))),
                newton: newton(tally),
                energy_halvings: tally.energy_halvings,
                solves: mean_max(&column(|r| f64::from(r.solves))),
                dual_iterations: mean_max(&column(|r| f64::from(r.dual_iterations))),
                searches: mean_max(&column(|r| f64::from(r.searches))),
                attempts: mean_max(&column(|r| f64::from(r.attempts))),
                residual: Max { max: tally.max_residual },
                unconverged_steps: tally.unconverged_steps,
                limited_steps: tally.limited_steps,
                waited: tally.waited,
                round_trips: mean_max(&column(|r| f64::from(r.round_trips))),
                device: backend.adapter.is_some().then(|| DeviceReport {
                    dispatches: mean_max(&column(|r| f64::from(r.device.dispatches))),
                    empty_dispatches: mean_max(&column(|r| f64::from(r.device.empty))),
                    blocking_trips: mean_max(&column(|r| f64::from(r.round_trips))),
                    bytes: mean_max(&column(|r| r.device.bytes as f64)),
                    bytes_sent: mean_max(&column(|r| r.device.sent as f64)),
                    bytes_fetched: mean_max(&column(|r| r.device.fetched as f64)),
                }),
            },
            contact: ContactSummary {
                contacts,
                constraints: MeanMax { mean: 3.0 * contacts.mean, max: 3.0 * contacts.max },
                max_penetration: tally.max_penetration,
                max_gap_of_active: tally.max_gap_of_active,
                max_complementarity_error: tally.max_complementarity_error,
                max_cone_violation: tally.max_cone_violation,
                normal_force_total: tally.last.contact.normal_force_total,
                friction_force_total: tally.last.contact.friction_force_total,
                pairs: tally.last.contact.pairs.iter().map(|pair| pair_report(model, pair)).collect(),
            },
            probes: probes.iter().map(|probe| ProbeReport::of(probe, model, state)).collect(),
            attachments: attachment_reports(model, state),
            faults: Faults {
                rollbacks: tally.rollbacks,
                non_finite: tally.non_finite,
                tangled_steps: tally.tangled_steps,
                tangled_bodies: names(model, &tally.last.tangled),
                beyond_range: tally.beyond_range.iter().map(|found| beyond_range_text(found, model)).collect(),
                hanging_bodies: names(model, &tally.hanging_bodies),
                missed_candidates: tally.max_penetration.map(|_| tally.missed_candidates),
            },
        })
    }

    /// Names of the columns of a trace, probes included.
    pub fn trace_header(&self) -> String {
        let mut header = String::from(
            "step,time,ms,iterations,passes,restarts,relinearisations,residual,converged,contacts,active,penetration,normal_force,\
             friction_force,kinetic,elastic,gravitational,newton_iterations,newton_residual,energy_halvings",
        );
        for probe in self.probes() {
            for column in ["x", "y", "z", "ux", "uy", "uz", "vx", "vy", "vz"] {
                header.push_str(&format!(",{}.{column}", probe.name));
            }
        }
        header
    }

    /// The row of the last step in a trace; columns as in `trace_header`, empty where nothing was measured.
    pub fn trace_row(&mut self) -> Result<String, StepError> {
        let Self { model, tally, params, probes, stepper, step, .. } = self;
        let time = stepper.time();
        let state = stepper.state()?;
        let contact = &tally.last.contact;
        let record = tally.records.last().cloned().unwrap_or_default();
        let energy = Energy::of(model, &params.gravity, state);
        let mut row = format!(
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            step,
            time,
            record.ms,
            record.iterations,
            record.passes,
            record.restarts.map_or(String::new(), |n| n.to_string()),
            record.relinearisations,
            record.residual,
            u8::from(record.converged),
            record.contacts,
            record.active_contacts,
            record.penetration.map_or(String::new(), |p| p.to_string()),
            contact.normal_force_total,
            contact.friction_force_total,
            energy.kinetic,
            energy.elastic,
            energy.gravitational,
            record.newton.map_or(String::new(), |(iterations, _)| iterations.to_string()),
            record.newton.map_or(String::new(), |(_, residual)| residual.to_string()),
            record.energy_halvings
        );
        for probe in probes {
            let probe = ProbeReport::of(probe, model, state);
            for x in [probe.position, probe.displacement, probe.velocity].concat() {
                row.push_str(&format!(",{x}"));
            }
        }
        Ok(row)
    }
}

impl Statistics {
    /// All 0 of no values.
    pub fn of(values: &[f64]) -> Self {
        Self { mean: mean(values), median: quantile(values, 0.5), p95: quantile(values, 0.95), max: max(values) }
    }
}

impl Energy {
    /// The energy of a state, without the dissipated energy, which no state has. Driven bodies have no mass that
    /// counts.
    ///
    /// The elastic part is `k (l - L)^2 / 2` of attachments, and `sum V (mu |S - I|^2 + lambda/2 tr(S - I)^2)` with
    /// F = R S. Only the singular values of F enter; the least singular value carries the sign of det F, as R is a
    /// rotation.
    pub fn of(model: &Model, gravity: &Vec3, state: &State) -> Self {
        let positions = state.positions(model);
        let nodes = || model.node_masses.iter().zip(positions.iter().zip(&state.velocities));
        let mut kinetic = nodes().map(|(m, (_, v))| 0.5 * m * v.norm_squared()).sum();
        let mut gravitational = nodes().map(|(m, (x, _))| -m * gravity.dot(x)).sum();
        for (body, state) in model.rigid_bodies.iter().zip(&state.rigid_bodies) {
            if let Some((mass, inertia)) = body.inertia_in_space(&state.pose.rotation) {
                let omega = &state.angular_velocity;
                kinetic += 0.5 * (mass * state.velocity.norm_squared() + omega.dot(&(inertia * omega)));
                gravitational -= mass * gravity.dot(&state.pose.translation.vector);
            }
        }
        // The sum of nothing is -0, and that is what would be written.
        let mut elastic = strain_energy(model, state) + 0.0;
        for attachment in &model.attachments {
            let [a, b] = state.attachment_points(model, attachment);
            elastic += 0.5 * attachment.stiffness * ((a - b).norm() - attachment.length).powi(2);
        }
        Self { kinetic, elastic, gravitational, total: kinetic + elastic + gravitational, dissipated_by_friction: 0.0 }
    }
}

impl ProbeReport {
    pub fn of(probe: &Probe, model: &Model, state: &State) -> Self {
        let mean = |values: &[Vec3]| -> [f64; 3] {
            let at = |&v: &u32| interpolate(values, &model.surface.nodes[v as usize], &model.surface.weights[v as usize]);
            (probe.vertices.iter().map(at).sum::<Vec3>() / probe.vertices.len() as f64).into()
        };
        let (rest, displacement) = (mean(&model.rest_positions), mean(&state.displacements));
        Self {
            name: probe.name.clone(),
            position: std::array::from_fn(|i| rest[i] + displacement[i]),
            displacement,
            velocity: mean(&state.velocities),
        }
    }
}

fn names(model: &Model, bodies: &[BodyRef]) -> Vec<String> {
    bodies.iter().map(|body| model.body_name(*body).to_owned()).collect()
}

/// Hash of all displacements and velocities, those of the last step of second order, and what is tangled and how long,
/// bit by bit: FNV-1a [Fowler, Noll & Vo 1991] on 64-bit words, with the high half folded down so that every bit
/// counts. Rest positions are constant, so other positions have another hash as well.
pub fn state_hash(state: &State) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let of_rigid = |r: &RigidState| [r.pose.translation.vector, r.pose.rotation.imag(), r.velocity, r.angular_velocity];
    let tangled = state.tangled.iter().zip(&state.tangled_times).enumerate().filter(|(_, (is_tangled, _))| **is_tangled);
    let mut take = |bits: u64| {
        hash = (hash ^ bits).wrapping_mul(0x0000_0100_0000_01b3);
        hash ^= hash >> 32;
    };
    tangled.for_each(|(body, (_, time))| [body as u64, time.to_bits()].into_iter().for_each(&mut take));
    let History { mean_velocities, previous_velocities, .. } = &state.history;
    let of_nodes = state.displacements.iter().chain(&state.velocities).chain(mean_velocities).chain(previous_velocities).copied();
    for vector in of_nodes.chain(state.rigid_bodies.iter().flat_map(of_rigid)) {
        for x in vector.iter() {
            take(x.to_bits());
        }
    }
    format!("{hash:016x}")
}

fn body_reports(model: &Model, state: &State) -> Vec<BodyReport> {
    let positions = state.positions(model);
    let surface = model.collision.positions(&positions);
    let soft = (0..model.bodies.len()).map(|body| deformable_report(model, body, state, &positions, &surface));
    let rigid = model.rigid_bodies.iter().zip(&state.rigid_bodies).map(|(body, state)| rigid_report(body, state));
    let exact = model.obstacles.iter().map(|o| given_report(&o.name, o.motion.is_some()));
    soft.chain(rigid).chain(exact).collect()
}

/// The report on a body whose motion is given.
fn given_report(name: &str, moves: bool) -> BodyReport {
    BodyReport {
        name: name.to_owned(),
        kind: if moves { "driven" } else { "static" },
        nodes: 0,
        tets: 0,
        surface_triangles: 0,
        mass: None,
        volume: None,
        volume_ratio: None,
        center_of_mass: None,
        linear_momentum: None,
        angular_momentum: None,
        lowest: None,
        highest: None,
        max_speed: None,
        inverted_tets: None,
    }
}

fn rigid_report(body: &RigidBody, state: &RigidState) -> BodyReport {
    let heights = body.positions(&state.pose).map(|p| p.y);
    let report = BodyReport {
        surface_triangles: body.triangles.len(),
        volume: Some(body.volume()),
        volume_ratio: Some(1.0),
        lowest: Some(heights.clone().fold(f64::INFINITY, f64::min)),
        highest: Some(heights.fold(f64::NEG_INFINITY, f64::max)),
        ..given_report(&body.name, matches!(body.mobility, Mobility::Driven(Some(_))))
    };
    let Some((mass, inertia)) = body.inertia_in_space(&state.pose.rotation) else { return report };
    let center = state.pose.translation.vector;
    let speeds = body.positions(&state.pose).map(|p| (state.velocity + state.angular_velocity.cross(&(p - center))).norm());
    BodyReport {
        kind: "rigid",
        mass: Some(mass),
        center_of_mass: Some(center.into()),
        linear_momentum: Some((state.velocity * mass).into()),
        angular_momentum: Some((inertia * state.angular_velocity).into()),
        max_speed: Some(speeds.fold(0.0, f64::max)),
        ..report
    }
}

fn deformable_report(model: &Model, index: usize, state: &State, positions: &[Vec3], surface: &[Vec3]) -> BodyReport {
    let body = &model.bodies[index];
    let nodes = || body.nodes.clone().map(|n| (model.node_masses[n], positions[n], state.velocities[n]));
    let center = nodes().map(|(m, x, _)| x * m).sum::<Vec3>() / body.mass;
    let heights = || surface[body.collision_vertices.clone()].iter().map(|p| p.y);
    let tets = &model.tets[body.tets.clone()];
    let determinants: Vec<f64> = tets.iter().map(|t| deformation_gradient(t, &state.displacements).determinant()).collect();
    let volume: f64 = tets.iter().zip(&determinants).map(|(t, det)| t.volume * det).sum();
    BodyReport {
        name: body.name.clone(),
        kind: "deformable",
        nodes: body.nodes.len(),
        tets: body.tets.len(),
        surface_triangles: body.triangles.len(),
        mass: Some(body.mass),
        volume: Some(body.volume),
        volume_ratio: Some(volume / body.volume),
        center_of_mass: Some(center.into()),
        linear_momentum: Some(nodes().map(|(m, _, v)| v * m).sum::<Vec3>().into()),
        angular_momentum: Some(nodes().map(|(m, x, v)| (x - center).cross(&v) * m).sum::<Vec3>().into()),
        lowest: Some(heights().fold(f64::INFINITY, f64::min)),
        highest: Some(heights().fold(f64::NEG_INFINITY, f64::max)),
        max_speed: Some(nodes().map(|(_, _, v)| v.norm()).fold(0.0, f64::max)),
        inverted_tets: Some(determinants.iter().filter(|det| **det <= 0.0).count()),
    }
}

fn attachment_reports(model: &Model, state: &State) -> Vec<AttachmentReport> {
    let report = |(attachment, force): (&Attachment, &Vec3)| {
        let [a, b] = state.attachment_points(model, attachment);
        AttachmentReport { name: attachment.name.clone(), length: (a - b).norm(), force: (*force).into() }
    };
    model.attachments.iter().zip(&state.attachment_forces).map(report).collect()
}

fn pair_report(model: &Model, pair: &PairForce) -> PairReport {
    PairReport {
        a: model.body_name(pair.bodies[0]).to_owned(),
        b: model.body_name(pair.bodies[1]).to_owned(),
        normal: pair.normal.into(),
        friction: pair.friction.into(),
        contacts: pair.contacts,
    }
}

fn timing(tally: &Tally, time_step: f64) -> Timing {
    let ms: Vec<f64> = tally.records.iter().map(|r| r.ms).collect();
    let ms_per_step = (!ms.is_empty()).then(|| Statistics::of(&ms));
    Timing {
        ms_per_step,
        stages: tally.stages.times.iter().map(|(stage, ms)| ((*stage).to_owned(), (ms / tally.steps as f64).into())).collect(),
        real_time_factor: ms_per_step.filter(|ms| ms.mean > 0.0).map(|ms| 1e3 * time_step / ms.mean),
    }
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

fn max(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// Restarts a step, over the steps whose method knows them.
fn restarts(tally: &Tally) -> Option<MeanMax> {
    let restarts: Vec<f64> = tally.records.iter().filter_map(|r| r.restarts.map(f64::from)).collect();
    (!restarts.is_empty()).then(|| mean_max(&restarts))
}

fn newton(tally: &Tally) -> Option<NewtonReport> {
    let (iterations, residuals): (Vec<f64>, Vec<f64>) =
        tally.records.iter().filter_map(|r| r.newton).map(|(n, r)| (f64::from(n), r)).unzip();
    (!iterations.is_empty()).then(|| NewtonReport { iterations: mean_max(&iterations), residual: Max { max: max(&residuals) } })
}

fn mean_max(values: &[f64]) -> MeanMax {
    MeanMax { mean: mean(values), max: max(values) }
}

/// Linear between the sorted values; 0 of none.
fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = q * last as f64;
    let (low, part) = (place.floor() as usize, place.fract());
    sorted[low] + (sorted[(low + 1).min(last)] - sorted[low]) * part
}
