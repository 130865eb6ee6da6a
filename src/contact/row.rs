//! One contact: three rows of J = C H, in metres.

use super::{Problem, RememberedContact};
use crate::collision::{TangentPlane, tangents};
use crate::math::{Mat3, Vec3};

/// Which of a contact's rows are in the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No force.
    Inactive,
    /// Normal and tangential rows: no slip.
    Sticking,
    /// Normal row; the friction force stands on the right-hand side.
    Sliding,
}

/// A surface point against the tangent plane of an obstacle.
///
/// With the velocity change dv of the step, the point's relative motion at the end of the step in the contact frame is
/// `offset + dt C H dv`: the first entry is the gap less the safety distance, the others are the slip [m].
#[derive(Clone, Debug)]
pub struct Contact {
    pub vertex: u32,
    pub obstacle: u32,
    /// Coulomb friction coefficient.
    pub friction: f64,
    /// C: normal and two tangents, as rows.
    pub frame: Mat3,
    /// Relative motion at dv = 0 [m]; includes the safety distance (a gap of exactly that distance is 0).
    pub offset: Vec3,
    pub status: Status,
    /// Multipliers of the symmetric system [N]: the force on the body is `-C^T multiplier` (`contact-cr.md` 2). Normal force = -multiplier.x.
    pub multiplier: Vec3,
    /// gamma' of a sliding contact [N], same sign convention, first entry unused.
    pub sliding_force: Vec3,
    /// Diagonal of the compliance dt^2 C H D^-1 H^T C^T [m/N], bounded over contacts that share nodes.
    pub compliance: Mat3,
    /// Inverse of the compliance on the active rows, zero elsewhere [N/m].
    pub stiffness: Mat3,
}

impl Contact {
    pub fn new(vertex: u32, obstacle: u32, friction: f64) -> Self {
        Self {
            vertex,
            obstacle,
            friction,
            frame: Mat3::identity(),
            offset: Vec3::zeros(),
            status: Status::Inactive,
            multiplier: Vec3::zeros(),
            sliding_force: Vec3::zeros(),
            compliance: Mat3::zeros(),
            stiffness: Mat3::zeros(),
        }
    }

    /// Takes the tangent plane found for the end position of the point; `predicted` is that position at dv = 0 [m] and
    /// `motion` the point's motion over the step at dv = 0 [m]. Friction keeps its direction in space.
    pub fn linearise(&mut self, plane: &TangentPlane, predicted: &Vec3, motion: &Vec3, safety: f64) {
        let friction = self.friction_in_space();
        let [t1, t2] = tangents(&plane.normal);
        self.frame = Mat3::from_rows(&[plane.normal.transpose(), t1.transpose(), t2.transpose()]);
        let slip = motion - plane.displacement;
        self.offset = Vec3::new((predicted - plane.point).dot(&plane.normal) - safety, slip.dot(&t1), slip.dot(&t2));
        self.set_friction_in_space(&friction);
    }

    /// Continues with the force that the contact had in the last step.
    pub fn remember(&mut self, memory: &RememberedContact) {
        self.multiplier.x = -memory.normal_force;
        self.status = if memory.sliding { Status::Sliding } else { Status::Sticking };
        self.set_friction_in_space(&-memory.friction_force);
    }

    pub fn memory(&self) -> RememberedContact {
        RememberedContact {
            vertex: self.vertex,
            obstacle: self.obstacle,
            normal_force: self.normal_force(),
            friction_force: -self.friction_in_space(),
            sliding: self.status == Status::Sliding,
        }
    }

    /// A sliding contact sticks, with the same force.
    pub fn stick(&mut self) {
        if self.status == Status::Sliding {
            self.status = Status::Sticking;
            (self.multiplier.y, self.multiplier.z) = (self.sliding_force.y, self.sliding_force.z);
            self.sliding_force = Vec3::zeros();
        }
    }

    pub fn is_active(&self) -> bool {
        self.status != Status::Inactive
    }

    /// Magnitude of the force along the normal [N].
    pub fn normal_force(&self) -> f64 {
        (-self.multiplier.x).max(0.0)
    }

    /// gamma [N] in the contact frame, from the rows or from the right-hand side; first entry 0.
    pub fn friction(&self) -> Vec3 {
        match self.status {
            Status::Inactive => Vec3::zeros(),
            Status::Sticking => Vec3::new(0.0, self.multiplier.y, self.multiplier.z),
            Status::Sliding => self.sliding_force,
        }
    }

    fn friction_in_space(&self) -> Vec3 {
        self.frame.transpose() * self.friction()
    }

    fn set_friction_in_space(&mut self, force: &Vec3) {
        let mut local = self.frame * force;
        local.x = 0.0;
        match self.status {
            Status::Inactive => {}
            Status::Sticking => (self.multiplier.y, self.multiplier.z) = (local.y, local.z),
            Status::Sliding => self.sliding_force = local,
        }
    }

    /// The rows that are in the system, as a projector: diag(1, 1, 1), diag(1, 0, 0) or zero.
    pub fn mask(&self, v: Vec3) -> Vec3 {
        match self.status {
            Status::Inactive => Vec3::zeros(),
            Status::Sticking => v,
            Status::Sliding => Vec3::new(v.x, 0.0, 0.0),
        }
    }

    /// `dt C H a`.
    pub fn rows(&self, problem: &Problem, a: &[Vec3]) -> Vec3 {
        self.frame * self.corners(problem).map(|(node, weight)| a[node] * weight).sum::<Vec3>() * problem.dt
    }

    /// `y += s dt H^T C^T f`.
    pub fn spread(&self, problem: &Problem, f: &Vec3, s: f64, y: &mut [Vec3]) {
        let force = self.frame.transpose() * f * (s * problem.dt);
        for (node, weight) in self.corners(problem) {
            y[node] += force * weight;
        }
    }

    /// The row of H: nodes, counted from the first of the problem, and weights.
    pub fn corners<'a>(&self, problem: &Problem<'a>) -> impl Iterator<Item = (usize, f64)> + use<'a> {
        let (k, first) = (self.vertex as usize, problem.nodes.start);
        problem.surface.nodes[k].iter().zip(&problem.surface.weights[k]).map(move |(n, w)| (*n as usize - first, *w))
    }
}
