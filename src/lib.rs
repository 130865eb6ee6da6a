//! Pliant: an interactive laboratory for elastically deformable solids.
//!
//! Each module may import only those listed before it (`tests/architecture.rs` keeps this true).

pub mod app;
pub mod cli;
pub mod collision;
pub mod contact;
pub mod gpu;
pub mod material;
pub mod math;
pub mod mesh;
pub mod model;
pub mod record;
pub mod render;
pub mod scene;
pub mod sim;
pub mod solver;
pub mod sparse;
