//! Pliant: an interactive laboratory for elastically deformable solids.
//!
//! Each module may import only those listed before it; `tests/suite/architecture.rs` keeps this true.
//! Cargo's features cut the list: without any it is the core, everything up to `sim` with the CPU backend.

// Outside tests, `expect` says why it holds.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

// Shared with the tests of the whole.
#[cfg(test)]
#[path = "../tests/suite/cases.rs"]
pub mod cases;

pub mod math;
pub mod memory;
pub mod budget;
pub mod cancel;
pub mod disjoint_sets;
pub mod sorting;
pub mod output;
pub mod body;
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
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod scene;
pub mod sim;
pub mod verify;
#[cfg(feature = "cli")]
pub mod render;
#[cfg(feature = "cli")]
pub mod stage;
#[cfg(feature = "cli")]
pub mod record;
#[cfg(feature = "cli")]
pub mod export;
#[cfg(feature = "window")]
pub mod app;
#[cfg(feature = "cli")]
pub mod lab;
#[cfg(feature = "cli")]
pub mod cli;
