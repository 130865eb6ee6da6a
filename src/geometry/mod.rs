//! Where surfaces meet: features of surfaces against each other in the linear motion of a step, and points against
//! obstacles of exact shape.

#[cfg(test)]
pub(crate) mod tests;
mod bvh;
mod candidates;
mod closest;
mod crossing;
mod cubic;
mod deepest;
mod hosts;
mod mesh;
mod neighbours;
mod obstacle;
mod shape;

pub use bvh::{Bvh, Leaves, SearchLimit};
pub use candidates::Candidates;
pub use closest::{Closest, closest, nearest_weights, pushing_direction};
pub use crossing::{Crossing, Crossings, MAX_TOUCH_OF_GAP, crossings, first_crossing, safe_fractions};
pub use deepest::deepest_weights;
pub use hosts::{HostTet, Hosts, NodeMotions};
pub use mesh::{Mesh, MeshError, Mobility, Pair};
pub use neighbours::{group, halve};
pub use obstacle::{GapBounds, MovingShape, Nearest, TangentPlane, half_thickness, nearest, sagitta, tangents};
pub use shape::Shape;
