//! What acts on the bodies in one step, beside gravity.

use super::{Model, RigidState, State};
use crate::budget::Budget;
use crate::cancel::CancelToken;
use crate::math::Vec3;

/// A spring of zero rest length between a material point and a point in space, implicit in the step. With the held
/// point's velocity
/// `v_p = G v` it adds `(dt^2 k + dt c) G^T G` to the matrix, of a rigid body a block diagonal that bounds it
/// (`elastic::matrix`).
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
    /// `sum_k weights[k] x[nodes[k]]`: three surface vertices of a triangle times four nodes each. Unused ones have the
    /// weight 0.
    Nodes { nodes: [u32; 12], weights: [f64; 12] },
    /// A point of the frame of `model.rigid_bodies[body]`, which is free [m].
    Rigid { body: usize, point: Vec3 },
}

impl HeldPoint {
    /// Where the point is [m], and its velocity [m/s].
    pub fn motion(&self, model: &Model, state: &State) -> (Vec3, Vec3) {
        self.motion_from(model, |n| (state.displacements[n], state.velocities[n]), |r| state.rigid_bodies[r])
    }

    /// The same from displacements and velocities of nodes and from motions of rigid bodies, by their numbers.
    pub fn motion_from(
        &self,
        model: &Model,
        of_node: impl Fn(usize) -> (Vec3, Vec3),
        of_rigid: impl Fn(usize) -> RigidState,
    ) -> (Vec3, Vec3) {
        match *self {
            Self::Nodes { nodes, weights } => {
                let gather = |x: &dyn Fn(usize) -> Vec3| nodes.iter().zip(&weights).map(|(n, w)| x(*n as usize) * *w).sum::<Vec3>();
                let position = gather(&|n| model.rest_positions[n]) + gather(&|n| of_node(n).0);
                (position, gather(&|n| of_node(n).1))
            }
            Self::Rigid { body, point } => {
                let rigid = of_rigid(body);
                let arm = rigid.pose.rotation * point;
                (rigid.pose.translation.vector + arm, rigid.velocity + rigid.angular_velocity.cross(&arm))
            }
        }
    }
}

/// At most this many grabs act at once (a fixed-size array on the device).
pub const MAX_GRABS: usize = 4;

/// What a step is given beside the parameters: what acts on the bodies beside gravity, and who may end it.
#[derive(Clone, Debug, Default)]
pub struct Loads {
    pub grabs: Vec<Grab>,
    /// Force on each node [N]; empty for none.
    pub node_forces: Vec<Vec3>,
    /// Steps that the simulation has done: the number by which errors name this one.
    pub step: u64,
    /// Ends the step, which then leaves the state as it was.
    pub cancel: CancelToken,
    /// What the step may do before what would cross is limited in its motion.
    pub budget: Budget,
}
