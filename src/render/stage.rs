//! The stage: the constant part of a picture, as plain data.

use std::ops::Range;

use glam::{Mat4, Vec3, Vec4};

use super::geometry::GivenNormals;
use super::palette::Rgb;

/// One elastic body: a part of the stage's surface vertices, its triangles, and the tets inside.
#[derive(Clone, Debug, Default)]
pub struct SoftBodyVisual {
    pub name: String,
    /// Its part of the stage's surface vertices.
    pub vertices: Range<u32>,
    /// Indices into the stage's surface vertices, counter-clockwise from outside.
    pub triangles: Vec<[u32; 3]>,
    /// Normals of the corners of all its triangles at rest; if empty, edges bent by more than 40 degrees are creases.
    pub normals: Vec<GivenNormals>,
    pub color: Rgb,
    /// Colours of all its triangles instead; may be empty.
    pub colors: Vec<Rgb>,
    /// Indices into the stage's nodes, for the view of the inside; may be empty.
    pub tets: Vec<[u32; 4]>,
    /// Where its vertices lie in its tets, if its surface is another one than their border; else empty.
    pub hosts: Vec<Host>,
}

/// The place of a surface vertex in a tet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Host {
    /// Corners of the tet, as indices into the stage's nodes.
    pub nodes: [u32; 4],
    /// Their weights, of sum 1; negative ones outside the tet.
    pub weights: [f32; 4],
}

/// The shape of a rigid thing in its own frame.
#[derive(Clone, Debug, PartialEq)]
pub enum RigidShape {
    /// A plane through the origin, normal +y. The first level plane is the floor and has no end; other planes are drawn
    /// as limited slabs.
    Plane,
    Box {
        half_extents: Vec3,
    },
    Sphere {
        radius: f32,
    },
    /// A cylinder along y.
    Cylinder {
        radius: f32,
        half_height: f32,
    },
    /// Triangles, counter-clockwise from outside.
    Mesh {
        /// Positions `[x, y, z, _]` [m].
        positions: Vec<[f32; 4]>,
        triangles: Vec<[u32; 3]>,
        /// Normals of the corners, as in [`SoftBodyVisual`].
        normals: Vec<GivenNormals>,
    },
}

/// A thing that keeps its shape: an obstacle or a rigid body.
#[derive(Clone, Debug)]
pub struct RigidVisual {
    pub name: String,
    pub shape: RigidShape,
    pub color: Rgb,
    /// World from the thing's frame, a rigid motion.
    pub transform: Mat4,
    /// Whether it moves freely: freely moving things and elastic bodies are the subject of the picture, while other
    /// things may reach far around.
    pub free: bool,
}

/// The key light: a distant round lamp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Light {
    /// Direction towards the lamp, of any length.
    pub direction: Vec3,
    pub color: Rgb,
    /// Brightness; 1 is usual.
    pub intensity: f32,
    /// Half the angle that the lamp fills [rad]; a wider lamp is softer.
    pub angular_radius: f32,
}

impl Default for Light {
    fn default() -> Self {
        Self { direction: Vec3::new(-0.55, 1.0, 0.42), color: Rgb([1.0, 0.955, 0.875]), intensity: 1.0, angular_radius: 0.055 }
    }
}

/// Everything that is drawn, except for the current positions of vertices.
#[derive(Clone, Debug, Default)]
pub struct Stage {
    pub soft_bodies: Vec<SoftBodyVisual>,
    pub rigids: Vec<RigidVisual>,
    /// Rest positions of all surface vertices `[x, y, z, _]` [m]; creases and the size of the stage follow from them.
    pub rest_positions: Vec<[f32; 4]>,
    /// Number of finite-element nodes, for the view of the inside.
    pub n_nodes: u32,
    pub light: Light,
}

/// Some of the things on a stage, by their places in its lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marked {
    pub soft: Vec<usize>,
    pub rigid: Vec<usize>,
}

/// The way in which surfaces are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shading {
    #[default]
    Smooth,
    /// Smooth surfaces with the edges of all triangles.
    Wireframe,
    /// The edges of all triangles alone: what is behind is seen through them.
    Edges,
    /// The tets, each shrunken towards its middle.
    Tets,
}

/// A plane, and what it cuts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// `[n, d]` with a unit vector n: what lies at `n . x > d` [m] is taken away.
    pub plane: Vec4,
    /// Tets are clipped, and covered where they are; else whole tets are hidden, by their middle.
    pub exact: bool,
    /// Rigid things are clipped and covered, too; planes never are.
    pub rigids: bool,
}

/// Colours of the surroundings, all linear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theme {
    pub backdrop_top: Vec3,
    pub backdrop_horizon: Vec3,
    /// Albedo of planes.
    pub floor: Vec3,
    /// Radiance of the key light at intensity 1.
    pub key: f32,
    /// Radiance from above and from below.
    pub sky: Vec3,
    pub ground: Vec3,
    /// Colour of the screen of the line around what is selected.
    pub outline: Vec3,
}

impl Theme {
    /// A dim studio: the bodies stand in a pool of light.
    pub const DARK: Self = Self {
        backdrop_top: Vec3::new(0.010, 0.013, 0.019),
        backdrop_horizon: Vec3::new(0.036, 0.043, 0.056),
        floor: Vec3::new(0.066, 0.069, 0.076),
        key: 2.1,
        sky: Vec3::new(0.27, 0.35, 0.48),
        ground: Vec3::new(0.13, 0.115, 0.10),
        outline: Vec3::new(0.40, 0.93, 0.80),
    };
    /// A bright studio, for figures and papers.
    pub const LIGHT: Self = Self {
        backdrop_top: Vec3::new(0.42, 0.52, 0.66),
        backdrop_horizon: Vec3::new(1.02, 1.05, 1.08),
        floor: Vec3::new(0.31, 0.31, 0.305),
        key: 2.0,
        sky: Vec3::new(0.40, 0.48, 0.60),
        ground: Vec3::new(0.34, 0.31, 0.28),
        outline: Vec3::new(0.03, 0.47, 0.39),
    };
}

/// The viewer's choices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewOptions {
    pub shading: Shading,
    pub grid: bool,
    pub shadows: bool,
    /// A plane that cuts the tets open; only [`Shading::Tets`] shows it.
    pub cut: Option<Cut>,
    /// The part of its size that a tet keeps, 0..1.
    pub tet_size: f32,
    /// The floor and the backdrop are drawn; without them a captured picture is transparent where nothing is.
    pub ground: bool,
    /// Four samples a pixel where edges are smoothed afterwards otherwise. Captured pictures have them always.
    pub fine: bool,
    /// Hides so many layers of tets below the surface.
    pub peeled: u8,
    pub theme: Theme,
}

impl Default for ViewOptions {
    fn default() -> Self {
        Self {
            shading: Shading::Smooth,
            grid: true,
            shadows: true,
            cut: None,
            tet_size: 0.86,
            peeled: 0,
            ground: true,
            fine: false,
            theme: Theme::DARK,
        }
    }
}

/// Colours of soft bodies point by point, as places in a table of 256.
#[derive(Clone, Copy, Debug)]
pub struct PointColors<'a> {
    /// Of the stage's surface vertices.
    pub vertices: &'a [u8],
    /// Of the tets of all soft bodies, for the view of the inside.
    pub tets: &'a [u8],
    /// Of the finite-element nodes: surfaces that are cut open are covered in the colours between them, or in those of
    /// the tets where there are none.
    pub nodes: &'a [u8],
    pub table: &'a [Rgb; 256],
}

/// A line of constant width on the screen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    pub a: Vec3,
    pub b: Vec3,
    pub color: Rgb,
    /// Opacity: 0 invisible .. 1 opaque.
    pub opacity: f32,
    /// Width [px].
    pub width: f32,
}

/// A disc of constant size on the screen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub at: Vec3,
    pub color: Rgb,
    /// Opacity: 0 invisible .. 1 opaque.
    pub opacity: f32,
    /// Diameter [px].
    pub size: f32,
}

/// Marks drawn over the stage in this order: segments, then points. Marks behind a body shine through faintly.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overlays {
    pub segments: Vec<Segment>,
    pub points: Vec<Point>,
}
