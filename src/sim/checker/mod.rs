//! The independent judge of penetration. It sees only geometry at one moment and shares no code with the search for contacts or their rows,
//! so that a mistake there cannot hide itself: `obstacles` measures surfaces against analytic obstacles, `surfaces` against one another.

mod exit;
mod forest;
mod obstacles;
mod surfaces;
mod topology;

pub use obstacles::{depth_in_obstacle, max_penetration, missed_candidates};
pub use surfaces::{Kind, Overlap, Surfaces};
