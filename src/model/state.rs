//! What changes from step to step.

use std::sync::Arc;

use rayon::prelude::*;

use super::{Attachment, Model, WarmStart};
use crate::math::{Isometry, Mat3, Quat, Vec3};

/// What changes from step to step. Positions are `model.rest_positions + displacements`.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// [s]
    pub time: f64,
    /// How long given motions have waited so far [s]: see [`StepSpan`].
    pub script_delay: f64,
    /// [m]
    pub displacements: Vec<Vec3>,
    /// [m/s]
    pub velocities: Vec<Vec3>,
    /// What elements remember: first the rotation of each tet as a quaternion (x, y, z, w), the warm start of the next
    /// extraction; then, tet after tet, the rows of those whose material has a state of its own
    /// ([`crate::material::Material::state_rows`]).
    pub rotations: Vec<[f64; 4]>,
    /// Change of all unknowns in the last step [m/s], [rad/s]: where the next solve starts.
    pub velocity_changes: Vec<Vec3>,
    /// Of every rigid body of the model.
    pub rigid_bodies: Vec<RigidState>,
    /// Contacts that were active at the end of the step, with their forces.
    pub contacts: WarmStart,
    /// Force of each of the model's attachments on its first end in the last step [N].
    pub attachment_forces: Vec<Vec3>,
    /// Of each deformable body, whether it may pass through itself or be inside out. Contact keeps surfaces apart by
    /// induction, and would hold such a body as it is. Until a step ends with its surface whole and its elements about
    /// as large as at rest, a tangled body meets others, but not itself, and is elastic as
    /// [`Material::recovering`](crate::material::Material::recovering) and `elastic::frames` say.
    pub tangled: Vec<bool>,
    /// How long each of them has been so [s]; 0 of others.
    pub tangled_times: Vec<f64>,
    /// Of each deformable body, how it is known not to touch itself; empty where nothing is known.
    pub proofs: Vec<InjectivityProof>,
    /// Of each deformable body, in how many steps in a row its factor for contact has said too little.
    pub outgrown: Vec<u32>,
    /// Of each deformable body, in how many steps in a row its corrections were slow without a factor of the matrix.
    pub slow: Vec<u32>,
    /// Of each deformable body, the pose that its factor for contact is of; none where that is the rest pose.
    pub later_poses: Vec<Option<Arc<LaterPose>>>,
    pub history: History,
}

/// The pose of one deformable body that its factor for contact is of. With model and time step all that the factor
/// follows from: a run that is resumed makes the same one again.
#[derive(Clone, Debug, PartialEq)]
pub struct LaterPose {
    /// Of its nodes [m].
    pub displacements: Vec<Vec3>,
    /// What its elements remember, as in [`State::rotations`]: the rotations of its tets, then the other rows.
    pub rotations: Vec<[f64; 4]>,
}

/// Why a body cannot touch itself, and when that was looked for: see `contact::generate::InjectivityCertificate`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InjectivityProof {
    /// About which all tets are hardly turned, if there is one.
    pub rotation: Option<Mat3>,
    /// Steps since it was looked for.
    pub age: u32,
}

/// What a step of second order begins with besides; empty where the last step was of another kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Of the last step [s].
    pub time_step: f64,
    /// Of each node: how far it went in the last step by the time that took, and its velocity at the start of that step
    /// [m/s].
    pub mean_velocities: Vec<Vec3>,
    pub previous_velocities: Vec<Vec3>,
    /// Of each deformable body: no contact has pushed it in the last step, so that its velocities have not jumped.
    pub is_smooth: Vec<bool>,
}

impl History {
    pub fn clear(&mut self) {
        self.time_step = 0.0;
        self.mean_velocities.clear();
        self.previous_velocities.clear();
        self.is_smooth.clear();
    }

    /// Whether a body may go on with a step of second order.
    pub fn serves(&self, body: usize, time_step: f64) -> bool {
        self.time_step == time_step && self.is_smooth.get(body) == Some(&true)
    }
}

/// How far a step goes [s].
#[derive(Clone, Copy, Debug)]
pub struct StepSpan {
    pub dt: f64,
    /// How far given motions go: as far, or not at all where they would run over what had to be limited.
    pub script: f64,
}

/// Motion of a rigid body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RigidState {
    pub pose: Isometry,
    /// Of the centre of mass [m/s].
    pub velocity: Vec3,
    /// In space [rad/s].
    pub angular_velocity: Vec3,
}

/// Newton's method on the spin of a free body takes two or three, nine where a step turns it by half a turn.
const SPIN_ITERATIONS: usize = 16;
/// Nodes that a thread moves on at once.
const NODES: usize = 4096;
/// Residual that is left, as a part of the angular momentum.
const SPIN_TOLERANCE: f64 = 1e-14;

impl RigidState {
    /// The angular velocity [rad/s] that a step of `dt` [s] ends with where nothing turns the body. `inertia` I
    /// [kg m^2]: about its centre of mass, in space at the start.
    ///
    /// Velocities stand between positions: with w0 the body has come, with w1 it goes on. What does not change is the
    /// angular momentum half a turn back and half a turn on, `exp(dt w0 / 2)^T I w0 = exp(dt w1 / 2) I w1`. So |I w| is
    /// kept to rounding, and the energy does not drift, as time may run either way. A gyroscopic torque of the start,
    /// `-w x I w`, adds to both in each step. Where a step turns the body so far that there is no answer nearby, it goes
    /// on as it turns now, which keeps both, too.
    pub fn free_spin(&self, inertia: &Mat3, dt: f64) -> Vec3 {
        let half_turn = |w: &Vec3| Quat::from_scaled_axis(w * (0.5 * dt));
        // The change of `half_turn(w).inverse() * l` with w, where it comes to `turned`.
        let slope_of = |w: &Vec3, turned: &Vec3| turned.cross_matrix() * left_jacobian(&(w * (-0.5 * dt))) * (0.5 * dt);
        let momentum = half_turn(&self.angular_velocity).inverse() * (inertia * self.angular_velocity);
        let enough = SPIN_TOLERANCE * momentum.norm();
        let mut spin = self.angular_velocity;
        for _ in 0..SPIN_ITERATIONS {
            let wanted = half_turn(&spin).inverse() * momentum;
            let residual = inertia * spin - wanted;
            if residual.norm() <= enough {
                return spin;
            }
            let Some(inverse) = (inertia - slope_of(&spin, &wanted)).try_inverse() else { break };
            spin -= inverse * residual;
        }
        self.angular_velocity
    }

    /// After a step [s] with the given changes of velocity: turned by the exponential of the new angular velocity
    /// (`elasticity.md` 10).
    pub fn moved(&self, change: &Vec3, angular_change: &Vec3, dt: f64) -> Self {
        let (velocity, angular_velocity) = (self.velocity + change, self.angular_velocity + angular_change);
        let rotation = Quat::from_scaled_axis(angular_velocity * dt) * self.pose.rotation;
        // Products of unit quaternions drift off the unit sphere.
        let rotation = Quat::new_normalize(rotation.into_inner());
        Self { pose: Isometry::from_parts((self.pose.translation.vector + velocity * dt).into(), rotation), velocity, angular_velocity }
    }
}

/// How a rotation turns on with its rotation vector a: `exp(a + da)` is about `exp(J da) exp(a)`.
fn left_jacobian(a: &Vec3) -> Mat3 {
    let (angle, cross) = (a.norm(), a.cross_matrix());
    // Both differences cancel for small angles.
    let (first, second) = if angle < 1e-3 {
        (0.5 - angle * angle / 24.0, 1.0 / 6.0)
    } else {
        ((1.0 - angle.cos()) / (angle * angle), (angle - angle.sin()) / (angle * angle * angle))
    };
    Mat3::identity() + cross * first + cross * cross * second
}

/// What is fixed starts where it is at rest, and stays.
fn unless_fixed(model: &Model, values: &[Vec3]) -> Vec<Vec3> {
    values.iter().zip(&model.fixed).map(|(value, fixed)| if *fixed { Vec3::zeros() } else { *value }).collect()
}

impl State {
    /// Where `model` starts. What starts deformed may be tangled, until a step has looked.
    pub fn initial(model: &Model) -> Self {
        let displacements = unless_fixed(model, &model.initial_displacements);
        Self { tangled: model.bodies.iter().map(|body| model.starts_deformed(body)).collect(), displacements, ..Self::at_rest(model) }
    }

    /// `model` undeformed, with its initial velocities.
    pub fn at_rest(model: &Model) -> Self {
        let mut rotations = vec![[0.0, 0.0, 0.0, 1.0]; model.tets.len()];
        rotations.resize(model.tets.len() + model.n_state_rows(), [0.0; 4]);
        let rigid = |r: &super::RigidBody| RigidState { pose: r.pose, velocity: r.velocity, angular_velocity: r.angular_velocity };
        Self {
            time: 0.0,
            script_delay: 0.0,
            displacements: vec![Vec3::zeros(); model.n_nodes()],
            velocities: unless_fixed(model, &model.initial_velocities),
            rotations,
            velocity_changes: vec![Vec3::zeros(); model.n_unknowns()],
            rigid_bodies: model.rigid_bodies.iter().map(rigid).collect(),
            contacts: WarmStart::default(),
            attachment_forces: vec![Vec3::zeros(); model.attachments.len()],
            tangled: vec![false; model.bodies.len()],
            tangled_times: vec![0.0; model.bodies.len()],
            proofs: vec![],
            outgrown: vec![0; model.bodies.len()],
            slow: vec![0; model.bodies.len()],
            later_poses: vec![None; model.bodies.len()],
            history: History::default(),
        }
    }

    /// The time of all given motions [s]: that of `Obstacle::pose_at` and `RigidBody::pose_at`.
    pub fn script_time(&self) -> f64 {
        self.time - self.script_delay
    }

    /// Velocities change by `dv`, and everything moves on with the new ones.
    pub fn advance(&mut self, model: &Model, dv: &[Vec3], span: StepSpan) {
        let dt = span.dt;
        self.velocities.par_iter_mut().with_min_len(NODES).zip(&mut self.displacements).zip(dv).for_each(|((v, u), dv)| {
            *v += dv;
            *u += *v * dt;
        });
        let script_end = self.script_time() + span.script;
        for (r, (rigid, body)) in self.rigid_bodies.iter_mut().zip(&model.rigid_bodies).enumerate() {
            if body.is_free() {
                *rigid = rigid.moved(&dv[model.linear_unknown(r)], &dv[model.angular_unknown(r)], dt);
            } else {
                rigid.pose = body.pose_at(script_end);
            }
        }
        self.velocity_changes.copy_from_slice(dv);
        self.time += dt;
        self.script_delay += dt - span.script;
    }

    /// The same of a step of second order: `dv` takes velocities to the mean ones of the step, which end at
    /// `(3 mean - last mean) / 2` where a body is of `second_order`. `is_smooth`: see [`History`].
    pub fn advance_second_order(&mut self, model: &Model, dv: &[Vec3], span: StepSpan, second_order: &[bool], is_smooth: &[bool]) {
        let history = &mut self.history;
        history.time_step = span.dt;
        history.previous_velocities.clone_from(&self.velocities);
        history.is_smooth.clear();
        history.is_smooth.extend_from_slice(is_smooth);
        self.advance(model, dv, span);
        let means = &mut self.history.mean_velocities;
        means.resize(model.n_nodes(), Vec3::zeros());
        for (node, (velocity, last)) in self.velocities.iter_mut().zip(means).enumerate() {
            let mean = *velocity;
            if second_order[model.node_bodies[node] as usize] {
                *velocity = (mean * 3.0 - *last) * 0.5;
            }
            *last = mean;
        }
    }

    /// Node positions [m].
    pub fn positions(&self, model: &Model) -> Vec<Vec3> {
        model.rest_positions.iter().zip(&self.displacements).map(|(x, u)| x + u).collect()
    }

    /// Where the two ends of an attachment are [m].
    pub fn attachment_points(&self, model: &Model, attachment: &Attachment) -> [Vec3; 2] {
        attachment.points(model, |n| self.displacements[n], |r| self.rigid_bodies[r].pose, self.script_time())
    }
}
