//! Pliant: an interactive laboratory for elastically deformable solids.
//!
//! Each module may import only those listed before it; `tests/suite/architecture.rs` keeps this true.

// Outside tests, `expect` says why it holds.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

// Shared with the tests of the whole.
#[cfg(test)]
#[path = "../tests/suite/cases.rs"]
pub mod cases;

pub mod math;
pub mod memory;
pub mod cancel;
pub mod disjoint_sets;
pub mod output;
pub mod mesh;
pub mod geometry;
pub mod material;
pub mod element;
pub mod sparse;
pub mod model;
pub mod elastic;
pub mod contact;
pub mod step;
pub mod cpu;
pub mod gpu;
pub mod scene;
pub mod sim;
pub mod render;
pub mod stage;
pub mod record;
pub mod export;
pub mod app;
pub mod lab;
pub mod cli;
