//! Host twins of the shaders' structs. A test compares sizes and offsets with the WGSL.

use bytemuck::{Pod, Zeroable};
use glam::{Mat4, Vec3, Vec4};

use super::camera::Camera;
use super::stage::{Light, ViewOptions};

/// A plane that cuts nothing: 0 . x > 1.
pub const NO_CUT: Vec4 = Vec4::new(0.0, 0.0, 0.0, 1.0);

/// `Frame` of `frame.wgsl`, where each field is explained.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Frame {
    pub clip_from_world: Mat4,
    pub world_from_clip: Mat4,
    pub light_from_world: Mat4,
    pub floor_from_world: Mat4,
    pub world_from_floor: Mat4,
    pub floor_plane: Vec4,
    pub eye: Vec4,
    pub size: Vec4,
    pub to_light: Vec4,
    pub key: Vec4,
    pub sky: Vec4,
    pub ground: Vec4,
    pub backdrop_top: Vec4,
    pub backdrop_horizon: Vec4,
    pub floor: Vec4,
    pub grid: Vec4,
    pub scene: Vec4,
    pub flags: [u32; 4],
    pub cut: Vec4,
}

/// `Fit` of `frame.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Fit {
    pub shadow_clip_from_world: Mat4,
    pub contact_clip_from_world: Mat4,
    pub shadow: Vec4,
    pub contact: Vec4,
}

/// A drawn vertex: `StoredVertex` of the shaders.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Vertex {
    /// Position [m].
    pub position: [f32; 3],
    /// Colour: four bytes, red first.
    pub color: u32,
    pub normal: [f32; 3],
    /// Finish: 0 rough .. 1 satin.
    pub satin: f32,
}

/// `Plane` of `floor.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Plane {
    pub world_from_plane: Mat4,
    pub color: Vec4,
}

/// `TetsView` of `tets.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct TetsView {
    pub cut: Vec4,
    pub shrink: Vec4,
}

/// An instance of `overlay.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Mark {
    pub a: [f32; 3],
    pub width: f32,
    pub b: [f32; 3],
    pub padding: f32,
    pub color: [f32; 4],
}

/// The part of a frame's uniforms that depends on the stage and not on the camera.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// Middle and radius of everything that is not a plane [m].
    pub center: Vec3,
    pub radius: f32,
    /// World from the main floor's frame.
    pub floor: Option<Mat4>,
    pub floor_albedo: Vec3,
    pub light: Light,
    pub n_rigid_points: u32,
    pub n_vertices: u32,
    pub shadow_taps: u32,
}

impl Surroundings {
    /// Distance at which the floor has run into the backdrop [m].
    pub fn floor_reach(&self) -> f32 {
        9.0 * self.radius
    }
}

impl Frame {
    pub fn new(camera: &Camera, options: &ViewOptions, size: [u32; 2], around: &Surroundings) -> Self {
        let [width, height] = size.map(|n| n.max(1) as f32);
        let clip_from_world = camera.clip_from_world(width / height);
        let world_from_floor = around.floor.unwrap_or(Mat4::IDENTITY);
        let to_light = around.light.direction.try_normalize().unwrap_or(Vec3::Y);
        let theme = &options.theme;
        // The grid's spacing follows the camera by decades; the fine lines fade out before they are dropped.
        let decade = (camera.height() * 0.86).max(1e-6).log10();
        let (spacing, weight) = (10f32.powf(decade.floor() - 1.0), 1.0 - (decade - decade.floor()));
        let above = (world_from_floor.inverse() * camera.eye().extend(1.0)).y > 0.0;
        Self {
            clip_from_world,
            world_from_clip: clip_from_world.inverse(),
            light_from_world: rotation_to_z(to_light),
            floor_from_world: world_from_floor.inverse(),
            world_from_floor,
            floor_plane: world_from_floor.inverse().row(1),
            eye: camera.eye().extend(2.0 * (0.5 * camera.fov_y).tan() / height),
            size: Vec4::new(width, height, 1.0 / width, 1.0 / height),
            to_light: to_light.extend(around.light.angular_radius.clamp(0.001, 0.5).tan()),
            key: (around.light.color.linear() * (around.light.intensity * theme.key)).extend(0.0),
            sky: theme.sky.extend(0.0),
            ground: theme.ground.extend(0.0),
            backdrop_top: theme.backdrop_top.extend(0.0),
            backdrop_horizon: theme.backdrop_horizon.extend(0.0),
            floor: around.floor_albedo.extend(if around.floor.is_some() && above { 1.0 } else { 0.0 }),
            grid: Vec4::new(spacing, weight, if options.grid { 1.0 } else { 0.0 }, around.floor_reach()),
            scene: around.center.extend(around.radius),
            flags: [around.n_rigid_points, around.n_vertices, options.shadows as u32, around.shadow_taps],
            cut: options.cut.map_or(NO_CUT, |cut| cut.plane),
        }
    }
}

/// A rotation that takes a unit vector to +z.
fn rotation_to_z(z: Vec3) -> Mat4 {
    let x = z.any_orthonormal_vector();
    let y = z.cross(x);
    Mat4::from_cols(x.extend(0.0), y.extend(0.0), z.extend(0.0), Vec4::W).transpose()
}
