//! Pictures of a stage: elastic bodies, rigid things and a floor under one key light, drawn into any texture view.
//!
//! This module knows nothing of simulations, scenes or windows: it takes triangles, positions (from the host or from a
//! buffer on the same device, which is never read back) and a camera. The same [`Renderer`] serves the window,
//! screenshots and recordings.

mod buffers;
mod camera;
mod canvas;
mod caps;
mod drawn;
mod embedded;
mod geometry;
mod ghost;
mod guest;
mod image;
mod layers;
mod layouts;
mod maps;
mod marks;
mod node_colors;
mod options;
mod outline;
mod palette;
mod pick;
mod pipeline;
mod pipelines;
mod renderer;
mod section;
mod shaders;
mod shapes;
mod stage;
#[cfg(test)]
mod tests;
mod uniforms;
mod upload;

pub use camera::{AxisView, Camera, Ray};
pub use geometry::{GivenNormals, SplitSurface, split_creases};
pub use image::Image;
pub use options::RenderOptions;
pub use palette::{Rgb, palette};
pub use pick::{Hit, pick};
pub use renderer::{Positions, Renderer};
pub use shaders::module as shader_module;
pub use stage::{
    Cut, Host, Light, Marked, Overlays, Point, PointColors, RigidShape, RigidVisual, Segment, Shading, SoftBodyVisual, Stage, Theme,
    ViewOptions,
};

/// Why a picture could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    #[error(
        "a picture of {width} x {height} pixels was asked for, but this graphics device draws at most {limit} x {limit}; ask for a smaller one"
    )]
    Size { width: u32, height: u32, limit: u32 },
    #[error("the picture could not be read back from the graphics device ({0}); the device may have been lost")]
    Readback(String),
    #[error("{given} positions were given, but the stage has {expected} {what}; call set_stage before set_positions")]
    Count { what: &'static str, given: usize, expected: usize },
}
