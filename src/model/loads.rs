//! What acts on the bodies in one step, beside gravity.

use super::{Model, State};
use crate::math::Vec3;

/// A spring of zero rest length between a material point and a point in space, implicit in the step. With the held point's velocity
/// `v_p = G v` it adds `(dt^2 k + dt c) G^T G` to the matrix, of a rigid body a block diagonal that bounds it (`elastic::matrix`).
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
