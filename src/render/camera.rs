//! The orbiting camera.

use glam::{Mat4, Vec2, Vec3, Vec4};

use crate::math;

/// A half line in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray {
    /// Its beginning [m].
    pub origin: math::Vec3,
    /// Its direction, of unit length.
    pub direction: math::Vec3,
}

impl Ray {
    /// The point at a distance [m] from the origin.
    pub fn at(&self, distance: f64) -> math::Vec3 {
        self.origin + self.direction * distance
    }
}

/// A camera that turns around a target, y up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// The point that it looks at [m].
    pub target: Vec3,
    /// Distance from the target [m].
    pub distance: f32,
    /// Angle around y from +z towards +x [rad].
    pub azimuth: f32,
    /// Angle above the horizon [rad].
    pub elevation: f32,
    /// Vertical field of view [rad].
    pub fov_y: f32,
}

impl Default for Camera {
    fn default() -> Self {
        Self { target: Vec3::ZERO, distance: 4.0, azimuth: 0.55, elevation: 0.32, fov_y: 0.62 }
    }
}

/// The largest elevation [rad]: straight up or down no side of the picture would be its upper side.
const MAX_ELEVATION: f32 = 1.55;

impl Camera {
    /// Position of the camera [m].
    pub fn eye(&self) -> Vec3 {
        self.target - self.forward() * self.distance
    }

    /// Unit vector of the line of sight.
    pub fn forward(&self) -> Vec3 {
        let (sin_e, cos_e) = self.elevation.sin_cos();
        let (sin_a, cos_a) = self.azimuth.sin_cos();
        -Vec3::new(cos_e * sin_a, sin_e, cos_e * cos_a)
    }

    /// Unit vectors to the right and up on the screen.
    pub fn right_up(&self) -> (Vec3, Vec3) {
        let (sin_a, cos_a) = self.azimuth.sin_cos();
        let right = Vec3::new(cos_a, 0.0, -sin_a);
        (right, right.cross(self.forward()))
    }

    pub fn view_from_world(&self) -> Mat4 {
        glam::camera::rh::view::look_at_mat4(self.eye(), self.target, self.right_up().1)
    }

    /// The perspective projection; depth is 1 on the near plane and 0 at infinity.
    pub fn clip_from_world(&self, aspect: f32) -> Mat4 {
        let near = self.distance * 0.01;
        glam::camera::rh::proj::directx::perspective_infinite_reverse(self.fov_y, aspect, near) * self.view_from_world()
    }

    /// Size of one pixel at the target [m], in a viewport `[x, y, width, height]` [px].
    pub fn pixel_size(&self, viewport: [u32; 4]) -> f32 {
        2.0 * self.distance * (0.5 * self.fov_y).tan() / viewport[3].max(1) as f32
    }

    /// Turns by angles [rad]; the elevation stops short of the poles.
    pub fn orbit(&mut self, azimuth: f32, elevation: f32) {
        self.azimuth = (self.azimuth + azimuth) % std::f32::consts::TAU;
        self.elevation = (self.elevation + elevation).clamp(-MAX_ELEVATION, MAX_ELEVATION);
    }

    /// Moves the camera so that things at the target's depth follow a cursor that moves by `delta` [px].
    pub fn pan(&mut self, delta: [f32; 2], viewport: [u32; 4]) {
        let (right, up) = self.right_up();
        self.target += (up * delta[1] - right * delta[0]) * self.pixel_size(viewport);
    }

    /// Scales the distance by `factor` (below 1: nearer) and keeps the point under the cursor, at the target's depth,
    /// in its place.
    pub fn zoom_to_cursor(&mut self, factor: f32, cursor: [f32; 2], viewport: [u32; 4]) {
        let middle = [viewport[0] as f32 + 0.5 * viewport[2] as f32, viewport[1] as f32 + 0.5 * viewport[3] as f32];
        let (right, up) = self.right_up();
        let offset = (right * (cursor[0] - middle[0]) - up * (cursor[1] - middle[1])) * self.pixel_size(viewport);
        let distance = (self.distance * factor).clamp(1e-4, 1e6);
        self.target += offset * (1.0 - distance / self.distance);
        self.distance = distance;
    }

    /// Looks at the middle of a box from far enough to see all of it in a picture of this aspect (width / height).
    pub fn frame(&mut self, aabb: &math::Aabb, aspect: f32) {
        let radius = 0.5 * aabb.extent().norm() as f32;
        if !radius.is_finite() {
            return; // an empty box has no middle
        }
        let center = aabb.center();
        self.target = Vec3::new(center.x as f32, center.y as f32, center.z as f32);
        let half_angle = (0.5 * self.fov_y).min(((0.5 * self.fov_y).tan() * aspect).atan());
        self.distance = (radius.max(1e-3) / half_angle.sin()) * 1.05;
    }

    /// From further away where a picture of this aspect (width / height) would show less to the sides than one of 16:9,
    /// which cameras of scenes are meant for.
    pub fn widened(self, aspect: f32) -> Self {
        let narrowed = if aspect > 0.0 { (16.0 / 9.0) / aspect } else { 1.0 };
        Self { distance: self.distance * narrowed.max(1.0), ..self }
    }

    /// The half line from the eye through a cursor position [px].
    pub fn ray(&self, cursor: [f32; 2], viewport: [u32; 4]) -> Ray {
        let size = Vec2::new(viewport[2].max(1) as f32, viewport[3].max(1) as f32);
        let p = (Vec2::from(cursor) - Vec2::new(viewport[0] as f32, viewport[1] as f32)) / size * 2.0 - 1.0;
        let tan = (0.5 * self.fov_y).tan();
        let (right, up) = self.right_up();
        let direction = (self.forward() + right * (p.x * tan * size.x / size.y) - up * (p.y * tan)).normalize();
        let double = |v: Vec3| math::Vec3::new(v.x as f64, v.y as f64, v.z as f64);
        Ray { origin: double(self.eye()), direction: double(direction).normalize() }
    }

    /// The place at which a world point appears [px], and its distance along the line of sight [m]; none behind the
    /// camera.
    pub fn project(&self, point: Vec3, viewport: [u32; 4]) -> Option<([f32; 2], f32)> {
        let size = Vec2::new(viewport[2].max(1) as f32, viewport[3].max(1) as f32);
        let clip: Vec4 = self.clip_from_world(size.x / size.y) * point.extend(1.0);
        (clip.w > 0.0).then(|| {
            let p = (Vec2::new(clip.x, -clip.y) / clip.w * 0.5 + 0.5) * size;
            ([p.x + viewport[0] as f32, p.y + viewport[1] as f32], clip.w)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIEWPORT: [u32; 4] = [100, 20, 800, 600];

    #[test]
    fn ray_passes_through_what_is_drawn_under_the_cursor() {
        let camera = Camera { target: Vec3::new(0.3, 1.0, -0.2), azimuth: 1.1, elevation: 0.4, ..Camera::default() };
        let point = Vec3::new(0.7, 0.4, 0.1);
        let (cursor, _) = camera.project(point, VIEWPORT).unwrap();
        let off = |cursor| {
            let ray = camera.ray(cursor, VIEWPORT);
            let to = math::Vec3::new(0.7, 0.4, 0.1) - ray.origin;
            to.cross(&ray.direction).norm()
        };
        assert!(off(cursor) < 1e-5);
        assert!(off([cursor[0] + 2.0, cursor[1]]) > 1e-3);
    }

    #[test]
    fn zoom_keeps_the_point_under_the_cursor() {
        let mut camera = Camera { azimuth: -0.8, ..Camera::default() };
        let cursor = [700.0, 130.0];
        let ray = camera.ray(cursor, VIEWPORT);
        let forward = math::Vec3::new(camera.forward().x as f64, camera.forward().y as f64, camera.forward().z as f64);
        let point = ray.at(camera.distance as f64 / ray.direction.dot(&forward));
        camera.zoom_to_cursor(0.5, cursor, VIEWPORT);
        let (after, _) = camera.project(Vec3::new(point.x as f32, point.y as f32, point.z as f32), VIEWPORT).unwrap();
        assert!((after[0] - cursor[0]).abs() < 0.01 && (after[1] - cursor[1]).abs() < 0.01, "{after:?}");
        assert_eq!(camera.distance, 2.0);
    }

    #[test]
    fn pan_moves_the_target_with_the_cursor() {
        let mut camera = Camera::default();
        let point = camera.target;
        camera.pan([40.0, -25.0], VIEWPORT);
        let (after, _) = camera.project(point, VIEWPORT).unwrap();
        assert!((after[0] - 540.0).abs() < 0.01 && (after[1] - 295.0).abs() < 0.01, "{after:?}");
    }

    #[test]
    fn what_a_wide_picture_shows_at_its_sides_a_narrow_one_shows_too() {
        let camera = Camera::default();
        let (right, _) = camera.right_up();
        let point = camera.target + right * (0.98 * camera.distance * (0.5 * camera.fov_y).tan() * 16.0 / 9.0);
        let place = |camera: &Camera, viewport| camera.project(point, viewport).unwrap().0[0];
        let (wide, narrow) = ([0, 0, 1600, 900], [0, 0, 900, 900]);
        assert!((1500.0..1600.0).contains(&place(&camera, wide)) && place(&camera, narrow) > 900.0);
        assert!((840.0..900.0).contains(&place(&camera.widened(1.0), narrow)));
        assert_eq!(camera.widened(2.0).distance, camera.distance);
        assert_eq!(camera.widened(f32::NAN).distance, camera.distance);
    }

    #[test]
    fn framed_box_is_inside_the_picture() {
        let corners = [math::Vec3::new(-1.0, 0.0, -2.0), math::Vec3::new(3.0, 1.0, 0.5)];
        let mut camera = Camera::default();
        camera.frame(&math::Aabb::of(&corners), 800.0 / 600.0);
        for k in 0..8 {
            let pick = |axis: usize| corners[k >> axis & 1][axis] as f32;
            let ([x, y], _) = camera.project(Vec3::new(pick(0), pick(1), pick(2)), VIEWPORT).unwrap();
            assert!((100.0..900.0).contains(&x) && (20.0..620.0).contains(&y));
        }
    }
}
