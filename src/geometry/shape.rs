//! Exact shapes that bodies meet.

use crate::math::Vec3;

/// Geometry in the obstacle's own frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// The half space below the local plane y = 0; its outward normal is local +y.
    Plane,
    /// A box centred at the origin.
    Box { half_extents: Vec3 },
    /// A ball centred at the origin.
    Sphere { radius: f64 },
    /// A capped cylinder around the local y axis, centred at the origin.
    Cylinder { radius: f64, half_height: f64 },
}
