//! The independent check of penetration. It sees only geometry at one moment and shares no code with the search for
//! contacts or their rows, so that a mistake there cannot hide itself: `obstacles` measures surfaces against analytic
//! obstacles, `surfaces` against one another; `penetration` knows which surfaces a model has.

mod exit;
mod forest;
mod penetration;
mod obstacles;
mod surfaces;
mod topology;

pub use obstacles::depth_in_obstacle;
pub use penetration::{InObstacle, PenetrationChecker};
pub use surfaces::{Kind, Overlap, Surfaces};
