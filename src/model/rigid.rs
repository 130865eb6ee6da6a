//! Rigid bodies with a mesh for a surface (`elasticity.md` 10).

use super::Motion;
use crate::math::{Isometry, Mat3, Vec3};

/// What moves a rigid body.
#[derive(Clone, Debug, PartialEq)]
pub enum Mobility {
    /// Forces: two blocks of unknowns.
    Free {
        /// [kg]
        mass: f64,
        /// About the centre of mass, in the body's frame [kg m^2].
        inertia: Mat3,
    },
    /// A given motion; none stands still.
    Driven(Option<Motion>),
}

/// A body that keeps its shape. Its frame has the centre of mass (of a driven body: the centre of its motion) as origin.
#[derive(Clone, Debug)]
pub struct RigidBody {
    pub name: String,
    pub mobility: Mobility,
    /// Surface in the body's frame [m].
    pub vertices: Vec<Vec3>,
    /// Outward-facing.
    pub triangles: Vec<[u32; 3]>,
    /// Of the corners of the triangles, if the surface has a texture (`SurfaceMesh::texture_coordinates`).
    pub texture_coordinates: Option<Vec<[[f32; 2]; 3]>>,
    /// Pose at time 0.
    pub pose: Isometry,
    /// At time 0 [m/s], [rad/s], in space; of free bodies.
    pub velocity: Vec3,
    pub angular_velocity: Vec3,
    /// Colour to draw it with, linear RGB, if the scene says.
    pub color: Option<[f32; 3]>,
}

impl RigidBody {
    /// Pose at `time` [s] of a driven body.
    pub fn pose_at(&self, time: f64) -> Isometry {
        match &self.mobility {
            Mobility::Driven(Some(motion)) => motion.pose_at(&self.pose, time),
            _ => self.pose,
        }
    }

    pub fn is_free(&self) -> bool {
        matches!(self.mobility, Mobility::Free { .. })
    }

    /// [kg]; none of a static or driven body.
    pub fn mass(&self) -> Option<f64> {
        match self.mobility {
            Mobility::Free { mass, .. } => Some(mass),
            Mobility::Driven(_) => None,
        }
    }

    /// Enclosed by the surface [m^3].
    pub fn volume(&self) -> f64 {
        // Around the frame's origin, which lies in or near the body.
        let six_volumes = self.triangles.iter().map(|t| {
            let [a, b, c] = t.map(|v| self.vertices[v as usize]);
            a.dot(&b.cross(&c))
        });
        six_volumes.sum::<f64>() / 6.0
    }

    /// Surface vertices in space [m].
    pub fn positions<'a>(&'a self, pose: &'a Isometry) -> impl Iterator<Item = Vec3> + Clone + 'a {
        self.vertices.iter().map(|p| pose.rotation * p + pose.translation.vector)
    }

    /// Mass [kg] and inertia in space [kg m^2] for the orientation `rotation`; a driven body has none that counts.
    pub fn inertia_in_space(&self, rotation: &crate::math::Quat) -> Option<(f64, Mat3)> {
        match self.mobility {
            Mobility::Free { mass, inertia } => {
                let r = rotation.to_rotation_matrix();
                Some((mass, r.matrix() * inertia * r.matrix().transpose()))
            }
            Mobility::Driven(_) => None,
        }
    }
}
