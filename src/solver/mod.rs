//! One time step, behind one narrow contract: `Stepper`. `cpu` is the f64 reference; `gpu::Stepper` its twin in f32.

pub mod cpu;
mod report;

pub use report::{ContactReport, DeviceWork, PairForce, StageTimes, StepReport, Work};

use crate::contact::{ContactMemory, baselines};
use crate::math::{Isometry, Quat, Vec3};
use crate::model::Model;

/// What changes from step to step. Positions are `model.rest_positions + displacements`.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub step: u64,
    /// [s]
    pub time: f64,
    /// [m]
    pub displacements: Vec<Vec3>,
    /// [m/s]
    pub velocities: Vec<Vec3>,
    /// Rotation of each tet as a quaternion (x, y, z, w): the warm start of the next extraction.
    pub rotations: Vec<[f64; 4]>,
    /// Change of all unknowns in the last step [m/s], [rad/s]: where the next solve starts.
    pub velocity_changes: Vec<Vec3>,
    /// Of every rigid body of the model.
    pub rigid_bodies: Vec<RigidState>,
    /// Contacts that were active at the end of the step, with their forces.
    pub contacts: ContactMemory,
    /// Force of each of the model's attachments on its first end in the last step [N].
    pub attachment_forces: Vec<Vec3>,
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

impl RigidState {
    /// After a step [s] with the given changes of velocity: turned by the exponential of the new angular velocity (`elasticity.md` 10).
    pub fn moved(&self, change: &Vec3, angular_change: &Vec3, dt: f64) -> Self {
        let (velocity, angular_velocity) = (self.velocity + change, self.angular_velocity + angular_change);
        let rotation = Quat::from_scaled_axis(angular_velocity * dt) * self.pose.rotation;
        // Products of unit quaternions drift off the unit sphere.
        let rotation = Quat::new_normalize(rotation.into_inner());
        Self { pose: Isometry::from_parts((self.pose.translation.vector + velocity * dt).into(), rotation), velocity, angular_velocity }
    }
}

/// Methods for contacts with friction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContactSolver {
    /// What suits the matrix of the step best (`cpu::CpuStepper`).
    Auto,
    /// Corrected warped compliance (`contact::cwc`).
    #[default]
    Cwc,
    /// Conjugate residuals with state switching (`contact::cr`).
    Cr,
    /// The same with the diagonal preconditioner only.
    CrDiag,
    /// The same without a preconditioner.
    CrNone,
    /// The same with the published friction update instead of the projection.
    CrTurn,
    /// A method to compare with.
    Baseline(baselines::Method),
}

impl ContactSolver {
    /// What a scene gets unasked: at rest in what rests.
    pub fn is_default(self) -> bool {
        matches!(self, Self::Auto | Self::Cwc)
    }

    /// A step that it does not solve to the tolerance is taken back.
    pub fn is_held(self) -> bool {
        self.is_default() || self == Self::Cr
    }

    /// As `--solver` spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Cwc => "cwc",
            Self::Cr => "cr",
            Self::CrDiag => "cr-diag",
            Self::CrNone => "cr-none",
            Self::CrTurn => "cr-turn",
            Self::Baseline(baselines::Method::Anticipation) => "ica",
            Self::Baseline(baselines::Method::Staggered) => "sp",
            Self::Baseline(baselines::Method::GaussSeidel) => "pgs",
            Self::Baseline(baselines::Method::Newton) => "ssn",
        }
    }
}

/// Preconditioners of the conjugate gradients that solve what nothing touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preconditioner {
    /// Two levels, unless the number of iterations is fixed: that compares speeds with published figures of Jacobi's.
    #[default]
    Auto,
    /// The inverse of the diagonal blocks, and fields on a lattice (`sparse::TwoLevel`); on the device rigid motions of aggregates (`sparse::RigidCoarse`).
    TwoLevel,
    /// The inverse of the diagonal blocks.
    Jacobi,
}

impl Preconditioner {
    pub const ALL: [(&'static str, Self); 3] = [("auto", Self::Auto), ("two_level", Self::TwoLevel), ("jacobi", Self::Jacobi)];

    /// By the word that scenes use.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, choice)| *choice)
    }
}

/// What a step must come to; it is an error else, which smaller steps may mend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Demand {
    /// Contacts are solved to their tolerance, by a method that is held to it (`ContactSolver::is_default`).
    Converged,
    /// Nothing passes through anything.
    #[default]
    Uncrossed,
    /// Nothing: a step whose surfaces would cross in spite of the solve is cut short. The last resort, when smaller steps fail too.
    Anything,
}

/// What may be turned while running.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// [s]
    pub time_step: f64,
    /// Equal parts that a step is made of, each solved by itself.
    pub substeps: u32,
    /// [m/s^2]
    pub gravity: Vec3,
    /// The elastic solve stops when the residual is below this fraction of the step's driving impulse [-].
    pub tolerance: f64,
    /// Bound on conjugate-gradient iterations a step.
    pub max_iterations: u32,
    /// So many conjugate-gradient iterations, no more and no fewer, solve a step in which nothing touches.
    pub fixed_iterations: Option<u32>,
    pub preconditioner: Preconditioner,
    /// eps2 [m]: gaps of active contacts end in (0, eps2), complementarity holds to it.
    pub contact_tolerance: f64,
    /// Bound on conjugate-residual iterations a step; baselines may take ten times as many.
    pub max_contact_iterations: u32,
    /// How contacts are solved.
    pub solver: ContactSolver,
    pub demand: Demand,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            time_step: 0.01,
            substeps: 1,
            gravity: Vec3::new(0.0, -9.81, 0.0),
            tolerance: 1e-3,
            max_iterations: 2000,
            fixed_iterations: None,
            preconditioner: Preconditioner::default(),
            contact_tolerance: 5e-6,
            max_contact_iterations: 900,
            solver: ContactSolver::default(),
            demand: Demand::default(),
        }
    }
}

impl Params {
    /// Whether steps without contacts are solved with two levels.
    pub fn is_two_level(&self) -> bool {
        match self.preconditioner {
            Preconditioner::Auto => self.fixed_iterations.is_none(),
            Preconditioner::TwoLevel => true,
            Preconditioner::Jacobi => false,
        }
    }
}

/// A spring of zero rest length between a material point and a point in space, implicit in the step. With the held point's velocity
/// `v_p = G v` it adds `(dt^2 k + dt c) G^T G` to the matrix, of a rigid body a block diagonal that bounds it (`cpu::matrix`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grab {
    pub point: HeldPoint,
    /// [N/m]
    pub stiffness: f64,
    /// [N s/m]
    pub damping: f64,
    /// Where the point is pulled to [m].
    pub target: Vec3,
}

/// The material point that a grab holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HeldPoint {
    /// `sum_k weights[k] x[nodes[k]]`: three surface vertices of a triangle times four nodes each. Unused ones have the weight 0.
    Nodes { nodes: [u32; 12], weights: [f64; 12] },
    /// A point of the frame of `model.rigid_bodies[body]`, which is free [m].
    Rigid { body: usize, point: Vec3 },
}

impl HeldPoint {
    /// Where the point is [m], and its velocity [m/s].
    pub fn motion(&self, model: &Model, state: &State) -> (Vec3, Vec3) {
        match *self {
            Self::Nodes { nodes, weights } => {
                let gather = |x: &[Vec3]| nodes.iter().zip(&weights).map(|(n, w)| x[*n as usize] * *w).sum::<Vec3>();
                (gather(&model.rest_positions) + gather(&state.displacements), gather(&state.velocities))
            }
            Self::Rigid { body, point } => {
                let rigid = &state.rigid_bodies[body];
                let arm = rigid.pose.rotation * point;
                (rigid.pose.translation.vector + arm, rigid.velocity + rigid.angular_velocity.cross(&arm))
            }
        }
    }
}

/// At most this many grabs act at once (a fixed-size array on the device).
pub const MAX_GRABS: usize = 4;

/// What acts on the bodies in one step, beside gravity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loads {
    pub grabs: Vec<Grab>,
    /// Force on each node [N]; empty for none.
    pub node_forces: Vec<Vec3>,
}

#[derive(Debug, thiserror::Error)]
pub enum StepError {
    #[error("{what} is not finite after step {step} (body \"{body}\"); the state before the step was kept. Try a smaller time step")]
    NotFinite { what: &'static str, body: String, step: u64 },
    #[error(
        "the device was lost during step {step}: {reason}. The state before the step was kept; restart on another adapter or with --backend cpu"
    )]
    DeviceLost { step: u64, reason: String },
    #[error(
        "\"{a}\" and \"{b}\" would pass through each other in step {step}; the state before the step was kept. Try a smaller time step"
    )]
    Crossing { a: String, b: String, step: u64 },
    #[error("the contacts of step {step} were not solved to their tolerance; the state before the step was kept. Try a smaller time step")]
    NotConverged { step: u64 },
    #[error("step {step} was cancelled; the state before the step was kept")]
    Cancelled { step: u64 },
}

/// A way to advance a model in time. Implementations own the state; a failed step leaves it as it was.
pub trait Stepper: Send {
    /// Advances by `params.time_step`.
    fn step(&mut self, params: &Params, loads: &Loads) -> Result<StepReport, StepError>;
    /// A copy of the state on the host, in f64.
    fn state(&mut self) -> Result<State, StepError>;
    /// Continues from `state` (same model).
    fn set_state(&mut self, state: &State) -> Result<(), StepError>;
    /// Positions of the surface vertices, for drawing and measuring.
    fn surface(&mut self) -> SurfacePositions;
}

/// Where the surface's vertices (x, y, z, 1) are.
pub enum SurfacePositions {
    Host(Vec<[f32; 4]>),
    /// A buffer of `vec4<f32>` on the device that computed them; complete in queue order.
    Device(std::sync::Arc<wgpu::Buffer>),
}
