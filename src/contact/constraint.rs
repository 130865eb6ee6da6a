//! A constraint of the step, of a contact or of a joint: where it comes from, its row, its law and its force.

use super::{ContactPoint, Force, Law, Linearisation, Row, Status};
use crate::body::BodyRef;
use crate::geometry::tangents;
use crate::math::{Mat3, Vec3};
use crate::model::{PairId, WarmContact};

/// One constraint. Solvers see row, law and force; only who made it knows its source.
#[derive(Clone, Debug)]
pub struct Constraint {
    pub source: Source,
    /// Of the two sides.
    pub bodies: [BodyRef; 2],
    pub row: Row,
    pub law: Law,
    pub force: Force,
    pub scaling: Scaling,
}

/// What a constraint was made from.
#[derive(Clone, Debug)]
pub enum Source {
    Contact(ContactPoint),
    /// One of the model's attachments.
    Joint {
        attachment: u32,
    },
}

/// Identity of a source, by which constraints of the same bodies are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceId {
    Contact(PairId),
    Joint(u32),
}

/// How much the constraint moves by its own force, as far as the block diagonal of the matrix tells: the preconditioner
/// of the conjugate residuals, and the scale of errors in the report.
#[derive(Clone, Debug)]
pub struct Scaling {
    /// Diagonal of the compliance dt^2 C H D^-1 H^T C^T [m/N], bounded over constraints that share nodes.
    pub compliance: Mat3,
    /// Inverse of the compliance on the active rows, zero elsewhere [N/m].
    pub stiffness: Mat3,
}

impl Constraint {
    /// Of a contact, without a row yet.
    pub fn contact(point: ContactPoint, bodies: [BodyRef; 2], friction: f64) -> Self {
        Self::new(Source::Contact(point), bodies, Law::Unilateral { friction })
    }

    /// Of a joint, without a row yet. It sticks forever, also where it pulls.
    pub fn joint(attachment: u32, bodies: [BodyRef; 2], compliance: Vec3) -> Self {
        let joint = Self::new(Source::Joint { attachment }, bodies, Law::Bilateral { compliance });
        Self { force: Force { status: Status::Sticking, ..Force::default() }, ..joint }
    }

    fn new(source: Source, bodies: [BodyRef; 2], law: Law) -> Self {
        let scaling = Scaling { compliance: Mat3::zeros(), stiffness: Mat3::zeros() };
        Self { source, bodies, row: Row::default(), law, force: Force::default(), scaling }
    }

    pub fn id(&self) -> SourceId {
        match &self.source {
            Source::Contact(point) => SourceId::Contact(point.pair),
            Source::Joint { attachment } => SourceId::Joint(*attachment),
        }
    }

    /// The point of a contact; none of a joint.
    pub fn point(&self) -> Option<&ContactPoint> {
        match &self.source {
            Source::Contact(point) => Some(point),
            Source::Joint { .. } => None,
        }
    }

    pub fn point_mut(&mut self) -> Option<&mut ContactPoint> {
        match &mut self.source {
            Source::Contact(point) => Some(point),
            Source::Joint { .. } => None,
        }
    }

    /// Takes the geometry found at the end positions that belong to the velocity changes `dv`, with the entries of its
    /// sum in place. Friction keeps its direction in space.
    pub fn linearise(&mut self, found: &Linearisation, dv: impl Fn(usize) -> Vec3, dt: f64) {
        let friction = self.friction_in_space();
        let Source::Contact(point) = &mut self.source else { return };
        let [t1, t2] = tangents(&found.normal);
        self.row.frame = Mat3::from_rows(&[found.normal.transpose(), t1.transpose(), t2.transpose()]);
        (point.position, point.weights, point.travels) = (found.point, found.weights, found.travels);
        let slip = found.slip + point.stick_anchor_offset;
        let motion = Vec3::new(found.gap - point.contact_offset, slip.dot(&t1), slip.dot(&t2));
        self.row.offset = motion - self.row.apply(dv, dt);
        self.set_friction_in_space(&friction);
    }

    /// Continues with the force that the contact had in the last step.
    pub fn warm_start(&mut self, memory: &WarmContact) {
        self.force.multiplier.x = -memory.normal_force;
        self.force.status = if memory.sliding { Status::Sliding } else { Status::Sticking };
        self.set_friction_in_space(&-memory.friction_force);
    }

    /// What the next step remembers of a contact, after a step with the velocity changes `dv`; none of a joint.
    pub fn memory(&self, dv: impl Fn(usize) -> Vec3, dt: f64) -> Option<WarmContact> {
        let point = self.point()?;
        let sticks = self.force.status == Status::Sticking;
        let mut slip = if sticks { self.row.motion(dv, dt) } else { Vec3::zeros() };
        slip.x = 0.0;
        Some(WarmContact {
            slip: self.row.frame.transpose() * slip,
            pair: point.pair,
            normal_force: self.force.normal(),
            friction_force: self.friction_on_first(),
            sliding: self.force.status == Status::Sliding,
            place: Some([point.position, self.row.normal()]),
        })
    }

    /// A sliding contact sticks, with the same force; one without friction never does.
    pub fn stick(&mut self) {
        if self.force.status == Status::Sliding && self.law.friction() > 0.0 {
            let friction = self.force.friction();
            self.force.status = Status::Sticking;
            (self.force.multiplier.y, self.force.multiplier.z) = (friction.y, friction.z);
            self.force.sliding_force = Vec3::zeros();
        }
    }

    /// Slides with the friction `gamma` [N] and the compliance across it. The tangents turn, so that the first one
    /// points along the friction.
    pub fn slide(&mut self, gamma: &Vec3, compliance_across: f64) {
        self.force.status = Status::Sliding;
        let size = gamma.y.hypot(gamma.z);
        let (c, s) = if size > 0.0 { (gamma.y / size, gamma.z / size) } else { (1.0, 0.0) };
        let turn = Mat3::new(1.0, 0.0, 0.0, 0.0, c, s, 0.0, -s, c);
        self.row.frame = turn * self.row.frame;
        self.row.offset = turn * self.row.offset;
        self.scaling.compliance = turn * self.scaling.compliance * turn.transpose();
        (self.force.multiplier.y, self.force.multiplier.z) = (0.0, 0.0);
        self.force.sliding_force = Vec3::new(0.0, size, 0.0);
        self.force.sliding_compliance = compliance_across;
    }

    pub fn is_active(&self) -> bool {
        self.force.is_active()
    }

    /// The force on the first body in the frame [N].
    pub fn force_on_first(&self) -> Vec3 {
        match self.law {
            Law::Bilateral { .. } => -self.force.multiplier,
            Law::Unilateral { .. } => {
                let friction = self.force.friction();
                Vec3::new(self.force.normal(), -friction.y, -friction.z)
            }
        }
    }

    /// Takes the force on the first body in the frame [N], with the status that it means.
    pub fn set_force_on_first(&mut self, p: &Vec3) {
        let Law::Unilateral { friction: coefficient } = self.law else {
            self.force.multiplier = -p;
            return;
        };
        let friction = Vec3::new(0.0, -p.y, -p.z);
        self.force.release();
        if p.x <= 0.0 {
            return;
        }
        self.force.multiplier.x = -p.x;
        if friction.norm() >= coefficient * p.x * (1.0 - 1e-9) {
            self.force.status = Status::Sliding;
            self.force.sliding_force = friction;
        } else {
            self.force.status = Status::Sticking;
            (self.force.multiplier.y, self.force.multiplier.z) = (friction.y, friction.z);
        }
    }

    /// The force on the first body in space [N].
    pub fn force_in_space(&self) -> Vec3 {
        self.row.frame.transpose() * self.force_on_first()
    }

    /// The friction force on the first body in space [N].
    pub fn friction_on_first(&self) -> Vec3 {
        -self.friction_in_space()
    }

    /// mu lambda: the largest friction force that the normal force allows [N].
    pub fn friction_limit(&self) -> f64 {
        self.law.friction() * self.force.normal()
    }

    fn friction_in_space(&self) -> Vec3 {
        self.row.frame.transpose() * self.force.friction()
    }

    fn set_friction_in_space(&mut self, force: &Vec3) {
        let mut local = self.row.frame * force;
        local.x = 0.0;
        match self.force.status {
            Status::Inactive => {}
            Status::Sticking => (self.force.multiplier.y, self.force.multiplier.z) = (local.y, local.z),
            Status::Sliding => self.slide(&local, self.force.sliding_compliance),
        }
    }

    /// The compliance S of the rows themselves in B = [A L^T; L -S] [m/N]: of a joint, and of a sliding contact with a
    /// row across its sliding.
    pub fn row_compliance(&self) -> Vec3 {
        match self.law {
            Law::Bilateral { compliance } => compliance,
            Law::Unilateral { .. } if self.force.status == Status::Sliding && self.force.sliding_compliance.is_finite() => {
                Vec3::new(0.0, 0.0, self.force.sliding_compliance)
            }
            Law::Unilateral { .. } => Vec3::zeros(),
        }
    }
}
