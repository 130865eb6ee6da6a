//! One contact, or one spring: three rows of J = C H, in metres.

use arrayvec::ArrayVec;

use super::dual::Law;
use crate::geometry::tangents;
use crate::math::{Mat3, Vec3};
use crate::model::{PairId, WarmContact};

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

/// One entry of a row of H: what a block of unknowns adds to the velocity of the first material point relative to the second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Entry {
    /// `weight * v` of a node, or of the centre of mass of a rigid body.
    Linear { unknown: u32, weight: f64 },
    /// `omega x arm` of a rigid body: from its centre of mass to the point, times the weight.
    Angular { unknown: u32, arm: Vec3 },
}

impl Entry {
    pub fn unknown(&self) -> usize {
        match self {
            Self::Linear { unknown, .. } | Self::Angular { unknown, .. } => *unknown as usize,
        }
    }

    pub fn apply(&self, v: &Vec3) -> Vec3 {
        match self {
            Self::Linear { weight, .. } => v * *weight,
            Self::Angular { arm, .. } => v.cross(arm),
        }
    }

    pub fn transposed(&self, f: &Vec3) -> Vec3 {
        match self {
            Self::Linear { weight, .. } => f * *weight,
            Self::Angular { arm, .. } => arm.cross(f),
        }
    }

    /// The 3x3 coefficient.
    pub fn matrix(&self) -> Mat3 {
        match self {
            Self::Linear { weight, .. } => Mat3::from_diagonal_element(*weight),
            Self::Angular { arm, .. } => -arm.cross_matrix(),
        }
    }

    /// Its size, as a weight.
    pub fn weight(&self) -> f64 {
        match self {
            Self::Linear { weight, .. } => weight.abs(),
            Self::Angular { .. } => 1.0,
        }
    }
}

/// Two material points that must not pass each other: a point of one surface against the tangent plane of another.
///
/// With the velocity change dv of the step, their relative motion at the end of the step in the contact frame is
/// `offset + dt C H dv`: the first entry is the gap less the safety distance, the others are the slip [m].
#[derive(Clone, Debug)]
pub struct Contact {
    pub pair: PairId,
    /// Contact bodies of the two sides (`Model::contact_body_name`).
    pub bodies: [u32; 2],
    /// Coulomb friction coefficient.
    pub friction: f64,
    /// H: entries on different unknowns; immovable sides have none.
    pub entries: Vec<Entry>,
    /// C: normal, from the second side to the first, and two tangents, as rows.
    pub frame: Mat3,
    /// Relative motion at dv = 0 [m]; less the safety distance (a gap of exactly that distance is 0).
    pub offset: Vec3,
    pub status: Status,
    /// Multipliers of the symmetric system [N]: the force on the first body is `-C^T multiplier` (`contact-cr.md` 2). Normal force = -multiplier.x.
    pub multiplier: Vec3,
    /// gamma' of a sliding contact [N], same sign convention, first entry unused.
    pub sliding_force: Vec3,
    /// Of a sliding contact whose tangents are turned to its direction: slip across that direction for each newton across it [m/N], the second tangential row
    /// of the conjugate residuals (`state::evaluate`). Infinite: no such row.
    pub turning: f64,
    /// Diagonal of the compliance dt^2 C H D^-1 H^T C^T [m/N], bounded over contacts that share nodes.
    pub compliance: Mat3,
    /// Inverse of the compliance on the active rows, zero elsewhere [N/m].
    pub stiffness: Mat3,
    /// The first point at the last linearisation [m].
    pub point: Vec3,
    /// Where on the first feature it is, of a pair with an obstacle: such a pair has a row for each point that was deepest once.
    pub weights: [f64; 3],
    /// The gap that counts as touching [m].
    pub safety: f64,
    /// How often the features have crossed in trials of this step: what crossed once keeps its row, even where the features slide off each other.
    pub crossed: u32,
    /// How often its row was renewed in this step.
    pub renewed: u32,
    /// The gap at the last renewal, and the one that its row was given then [m].
    pub renewed_at: [f64; 2],
    /// How far it had slipped when the step began [m], in space; the sticking contact goes back by as much, so that what the tolerance leaves of each step
    /// does not add up (the stick anchor of `contact-study.md` 7).
    pub slipped: Vec3,
    /// Of a spring instead of a contact: compliance of its rows [m/N]. It sticks forever, also where it pulls, and its law is
    /// `offset + dt C H dv + compliance * force = 0`.
    pub spring: Option<Vec3>,
}

/// What a contact row is made of, at the present end positions.
#[derive(Clone, Debug)]
pub struct Linearisation {
    /// Vertices whose weighted sum moves as the one point does relative to the other.
    pub sum: ArrayVec<(u32, f64), 4>,
    /// Unit normal, from the second side to the first.
    pub normal: Vec3,
    /// Distance of the two points along the normal [m].
    pub gap: f64,
    /// Motion of the first point relative to the second over the step [m].
    pub slip: Vec3,
    /// The first point [m].
    pub point: Vec3,
    /// Where on the first feature it is, of a pair with an obstacle.
    pub weights: [f64; 3],
}

impl Contact {
    pub fn new(pair: PairId, bodies: [u32; 2], friction: f64) -> Self {
        Self {
            pair,
            bodies,
            friction,
            entries: vec![],
            frame: Mat3::identity(),
            offset: Vec3::zeros(),
            status: Status::Inactive,
            multiplier: Vec3::zeros(),
            sliding_force: Vec3::zeros(),
            turning: f64::INFINITY,
            compliance: Mat3::zeros(),
            stiffness: Mat3::zeros(),
            point: Vec3::zeros(),
            weights: [1.0, 0.0, 0.0],
            safety: 0.0,
            crossed: 0,
            renewed: 0,
            renewed_at: [0.0; 2],
            slipped: Vec3::zeros(),
            spring: None,
        }
    }

    /// Takes the geometry found at the end positions that belong to `dv` (the unknowns from `first` on), with the entries of its sum in place. Friction keeps its
    /// direction in space.
    pub fn linearise(&mut self, found: &Linearisation, dv: &[Vec3], first: usize, dt: f64) {
        let friction = self.friction_in_space();
        let [t1, t2] = tangents(&found.normal);
        self.frame = Mat3::from_rows(&[found.normal.transpose(), t1.transpose(), t2.transpose()]);
        (self.point, self.weights) = (found.point, found.weights);
        let slip = found.slip + self.slipped;
        let motion = Vec3::new(found.gap - self.safety, slip.dot(&t1), slip.dot(&t2));
        self.offset = motion - self.rows(dv, first, dt);
        self.set_friction_in_space(&friction);
    }

    /// Continues with the force that the contact had in the last step.
    pub fn remember(&mut self, memory: &WarmContact) {
        self.multiplier.x = -memory.normal_force;
        self.status = if memory.sliding { Status::Sliding } else { Status::Sticking };
        self.set_friction_in_space(&-memory.friction_force);
    }

    /// After a step that slipped by the motion that its rows tell for `dv` (the unknowns from `first` on).
    pub fn memory(&self, dv: &[Vec3], first: usize, dt: f64) -> WarmContact {
        let sticks = self.status == Status::Sticking;
        let mut slip = if sticks { self.offset + self.rows(dv, first, dt) } else { Vec3::zeros() };
        slip.x = 0.0;
        WarmContact {
            slip: self.frame.transpose() * slip,
            pair: self.pair,
            normal_force: self.normal_force(),
            friction_force: self.friction_on_first(),
            sliding: self.status == Status::Sliding,
            place: Some([self.point, self.normal()]),
        }
    }

    /// A sliding contact sticks, with the same force; one without friction never does.
    pub fn stick(&mut self) {
        if self.status == Status::Sliding && self.friction > 0.0 {
            let friction = self.friction();
            self.status = Status::Sticking;
            (self.multiplier.y, self.multiplier.z) = (friction.y, friction.z);
            self.sliding_force = Vec3::zeros();
        }
    }

    /// Slides with the friction `gamma` [N] and the compliance across it. The tangents turn, so that the first one points along the friction.
    pub fn slide(&mut self, gamma: &Vec3, turning: f64) {
        self.status = Status::Sliding;
        let size = gamma.y.hypot(gamma.z);
        let (c, s) = if size > 0.0 { (gamma.y / size, gamma.z / size) } else { (1.0, 0.0) };
        let turn = Mat3::new(1.0, 0.0, 0.0, 0.0, c, s, 0.0, -s, c);
        self.frame = turn * self.frame;
        self.offset = turn * self.offset;
        self.compliance = turn * self.compliance * turn.transpose();
        (self.multiplier.y, self.multiplier.z) = (0.0, 0.0);
        self.sliding_force = Vec3::new(0.0, size, 0.0);
        self.turning = turning;
    }

    pub fn is_active(&self) -> bool {
        self.status != Status::Inactive
    }

    pub fn normal(&self) -> Vec3 {
        self.frame.row(0).transpose()
    }

    /// What the force and the motion obey.
    pub fn law(&self) -> Law {
        if self.spring.is_some() { Law::Bilateral } else { Law::Unilateral { friction: self.friction } }
    }

    /// Motion of the rows that the force `p` makes by itself: that of a spring [m].
    pub fn give(&self, p: &Vec3) -> Option<Vec3> {
        self.spring.map(|compliance| compliance.component_mul(p))
    }

    /// What a spring adds to the diagonal of the compliance [m/N].
    pub fn own_compliance(&self) -> Mat3 {
        self.spring.map_or_else(Mat3::zeros, |compliance| Mat3::from_diagonal(&compliance))
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
            Status::Sliding => self.sliding_force + Vec3::new(0.0, 0.0, self.multiplier.z),
        }
    }

    /// The force on the first body in the contact frame [N].
    pub fn force(&self) -> Vec3 {
        if self.spring.is_some() {
            return -self.multiplier;
        }
        let friction = self.friction();
        Vec3::new(self.normal_force(), -friction.y, -friction.z)
    }

    /// The force on the first body in space [N].
    pub fn force_in_space(&self) -> Vec3 {
        self.frame.transpose() * self.force()
    }

    /// The friction force on the first body in space [N].
    pub fn friction_on_first(&self) -> Vec3 {
        -self.friction_in_space()
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
            Status::Sliding => self.slide(&local, self.turning),
        }
    }

    /// The rows that are in the system, as a projector: diag(1, 1, 1), diag(1, 0, 0), with a turning row diag(1, 0, 1), or zero.
    pub fn mask(&self, v: Vec3) -> Vec3 {
        match self.status {
            Status::Inactive => Vec3::zeros(),
            Status::Sticking => v,
            Status::Sliding if self.turning.is_finite() => Vec3::new(v.x, 0.0, v.z),
            Status::Sliding => Vec3::new(v.x, 0.0, 0.0),
        }
    }

    /// The compliance S of the rows themselves in B = [A L^T; L -S] [m/N]: of a spring, and of a sliding contact that turns.
    pub fn row_compliance(&self) -> Vec3 {
        match self.spring {
            Some(compliance) => compliance,
            None if self.status == Status::Sliding && self.turning.is_finite() => Vec3::new(0.0, 0.0, self.turning),
            None => Vec3::zeros(),
        }
    }

    /// `dt C H a` for a vector over the unknowns from `first` on.
    pub fn rows(&self, a: &[Vec3], first: usize, dt: f64) -> Vec3 {
        self.frame * self.entries.iter().map(|e| e.apply(&a[e.unknown() - first])).sum::<Vec3>() * dt
    }

    /// `y += s dt H^T C^T f`, `y` over the unknowns from `first` on.
    pub fn spread(&self, f: &Vec3, s: f64, y: &mut [Vec3], first: usize, dt: f64) {
        let force = self.frame.transpose() * f * (s * dt);
        for entry in &self.entries {
            y[entry.unknown() - first] += entry.transposed(&force);
        }
    }
}
