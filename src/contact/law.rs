//! What a constraint may do: contact with Coulomb friction, or a joint with compliance.

use crate::math::{Mat3, Vec3};

/// The law between the force p [N] of a constraint on its first side and the motion u [m], both in its frame (normal,
/// two tangents).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// `0 <= p_n _|_ u_n >= 0`, `|p_t| <= friction p_n`, and `p_t` opposes the slip `u_t` (Coulomb, maximal
    /// dissipation). Zero friction is allowed.
    Unilateral { friction: f64 },
    /// `u = 0`, the motion including `compliance * p` [m/N], which stands on the diagonal of W: a joint.
    Bilateral { compliance: Vec3 },
}

/// The scales of one constraint [m/N]; zero where no force moves it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scale {
    /// W_nn.
    pub normal: f64,
    /// Larger eigenvalue of the tangential block.
    pub tangential: f64,
    /// 1 / normal, or zero.
    pub inverse_normal: f64,
    /// 1 / tangential, or zero.
    pub inverse_tangential: f64,
}

impl Scale {
    pub fn new(block: &Mat3) -> Self {
        let (a, b, c) = (block[(1, 1)], block[(2, 2)], 0.5 * (block[(1, 2)] + block[(2, 1)]));
        let eigenvalue = 0.5 * (a + b) + (0.25 * (a - b) * (a - b) + c * c).sqrt();
        let inverse = |w: f64| if w > f64::MIN_POSITIVE.sqrt() { 1.0 / w } else { 0.0 };
        Self {
            normal: block[(0, 0)],
            tangential: eigenvalue,
            inverse_normal: inverse(block[(0, 0)]),
            inverse_tangential: inverse(eigenvalue),
        }
    }
}

/// How far a force is from the law, as a distance [m]: the natural map (`contact-study.md` 1).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NaturalError {
    /// Along the normals, and of bilateral contacts.
    pub normal: f64,
    /// Along the tangents.
    pub tangential: f64,
}

impl NaturalError {
    pub const UNKNOWN: Self = Self { normal: f64::INFINITY, tangential: f64::INFINITY };

    pub fn max(&self) -> f64 {
        self.normal.max(self.tangential)
    }
}

impl Law {
    /// A contact, which only pushes.
    pub fn is_unilateral(&self) -> bool {
        matches!(self, Self::Unilateral { .. })
    }

    /// A joint, which pulls as well.
    pub fn is_bilateral(&self) -> bool {
        matches!(self, Self::Bilateral { .. })
    }

    /// Coulomb's coefficient; a joint has none.
    pub fn friction(&self) -> f64 {
        match *self {
            Self::Unilateral { friction } => friction,
            Self::Bilateral { .. } => 0.0,
        }
    }

    /// Motion that the force makes by itself, for each newton [m/N]; a contact has none.
    pub fn compliance(&self) -> Vec3 {
        match *self {
            Self::Unilateral { .. } => Vec3::zeros(),
            Self::Bilateral { compliance } => compliance,
        }
    }

    /// A step of length `step` (1: the scale of the contact itself) from p against the motion u, and back to the law:
    /// the normal force first, then friction in the cone of the new normal force. A contact that no force moves carries
    /// none.
    #[inline]
    pub fn project(&self, p: &Vec3, u: &Vec3, step: f64, scale: &Scale) -> Vec3 {
        let (along_normal, along_tangent) = (step * scale.inverse_normal, step * scale.inverse_tangential);
        let friction = match *self {
            Self::Unilateral { friction } => friction,
            Self::Bilateral { .. } => return Vec3::new(p.x - along_normal * u.x, p.y - along_tangent * u.y, p.z - along_tangent * u.z),
        };
        if scale.inverse_normal == 0.0 {
            return Vec3::zeros();
        }
        let normal = (p.x - along_normal * u.x).max(0.0);
        let [t1, t2] = in_disc(p.y - along_tangent * u.y, p.z - along_tangent * u.z, limit(friction, normal));
        Vec3::new(normal, t1, t2)
    }

    /// The force of one contact of diagonal block `w` that obeys the law (friction: one step of it) where the motion at
    /// the force `p` is u.
    #[inline]
    pub fn relax(&self, p: &Vec3, u: &Vec3, w: &Mat3, scale: &Scale) -> Vec3 {
        match *self {
            Self::Bilateral { .. } => w.try_inverse().map_or_else(|| self.project(p, u, 1.0, scale), |inverse| p - inverse * u),
            Self::Unilateral { .. } => {
                // The normal force changes the slip before friction answers.
                let change = (p.x - scale.inverse_normal * u.x).max(0.0) - p.x;
                self.project(p, &Vec3::new(u.x, u.y + w[(1, 0)] * change, u.z + w[(2, 0)] * change), 1.0, scale)
            }
        }
    }

    /// The distance from the law of the force p with the motion u. Not a number where one of them is none.
    #[inline]
    pub fn error(&self, p: &Vec3, u: &Vec3, scale: &Scale) -> NaturalError {
        match *self {
            Self::Bilateral { .. } => NaturalError { normal: u.norm(), tangential: 0.0 },
            Self::Unilateral { .. } if scale.inverse_normal == 0.0 => NaturalError::default(),
            Self::Unilateral { friction } => {
                let (t1, t2) = (p.y - scale.inverse_tangential * u.y, p.z - scale.inverse_tangential * u.z);
                let [q1, q2] = in_disc(t1, t2, limit(friction, p.x));
                NaturalError {
                    normal: if u.x < scale.normal * p.x { u.x.abs() } else { (scale.normal * p.x).abs() },
                    tangential: scale.tangential * ((p.y - q1) * (p.y - q1) + (p.z - q2) * (p.z - q2)).sqrt(),
                }
            }
        }
    }
}

/// Largest friction force; finite also for a friction coefficient that is not.
pub(super) fn limit(friction: f64, normal: f64) -> f64 {
    friction.clamp(0.0, 1e6) * normal.max(0.0)
}

fn in_disc(x: f64, y: f64, radius: f64) -> [f64; 2] {
    let length2 = x * x + y * y;
    if length2 <= radius * radius {
        return [x, y];
    }
    let factor = radius / length2.sqrt();
    [x * factor, y * factor]
}
