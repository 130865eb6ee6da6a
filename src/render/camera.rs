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

/// Straight down [rad].
const MAX_ELEVATION: f32 = std::f32::consts::FRAC_PI_2;
/// A field of view [rad] so narrow that lines that are parallel stay so in the picture.
const PARALLEL: f32 = 0.004;

/// A direction along one of the axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisView {
    Front,
    Back,
    Left,
    Right,
    Top,
    Bottom,
}

impl AxisView {
    /// All, and their names.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Front, "Front"),
        (Self::Back, "Back"),
        (Self::Left, "Left"),
        (Self::Right, "Right"),
        (Self::Top, "Top"),
        (Self::Bottom, "Bottom"),
    ];

    /// Azimuth and elevation [rad]. The front of a scene is its side towards +z.
    fn angles(self) -> [f32; 2] {
        let quarter = std::f32::consts::FRAC_PI_2;
        match self {
            Self::Front => [0.0, 0.0],
            Self::Back => [2.0 * quarter, 0.0],
            Self::Left => [-quarter, 0.0],
            Self::Right => [quarter, 0.0],
            Self::Top => [0.0, quarter],
            Self::Bottom => [0.0, -quarter],
        }
    }
}

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

    /// Height of the part of the world that is seen at the target [m].
    pub fn height(&self) -> f32 {
        2.0 * self.distance * (0.5 * self.fov_y).tan()
    }

    /// Size of one pixel at the target [m], in a viewport `[x, y, width, height]` [px].
    pub fn pixel_size(&self, viewport: [u32; 4]) -> f32 {
        self.height() / viewport[3].max(1) as f32
    }

    /// The same target, seen along an axis.
    pub fn along(self, view: AxisView) -> Self {
        let [azimuth, elevation] = view.angles();
        Self { azimuth, elevation, ..self }
    }

    /// The camera a part of the way to another one, 0 to 1; it begins and ends gently and turns the short way.
    pub fn towards(&self, to: &Self, part: f32) -> Self {
        let t = part.clamp(0.0, 1.0);
        if t == 0.0 || t == 1.0 {
            return if t == 0.0 { *self } else { *to };
        }
        let s = t * t * (3.0 - 2.0 * t);
        let mix = |a: f32, b: f32| a + (b - a) * s;
        let turn = std::f32::consts::TAU;
        let short = (to.azimuth - self.azimuth + 0.5 * turn).rem_euclid(turn) - 0.5 * turn;
        // What is seen grows evenly, also while the perspective changes.
        let height = self.height() * (to.height() / self.height()).powf(s);
        let fov_y = mix(self.fov_y, to.fov_y);
        Self {
            target: self.target + (to.target - self.target) * s,
            distance: 0.5 * height / (0.5 * fov_y).tan(),
            azimuth: self.azimuth + short * s,
            elevation: mix(self.elevation, to.elevation),
            fov_y,
        }
    }

    /// Whether the picture has no perspective.
    pub fn is_parallel(&self) -> bool {
        self.fov_y < 2.0 * PARALLEL
    }

    /// The same picture at the target with another field of view [rad]; `None` is without perspective: from far away.
    pub fn with_field_of_view(self, fov_y: Option<f32>) -> Self {
        let fov_y = fov_y.unwrap_or(PARALLEL);
        Self { distance: 0.5 * self.height() / (0.5 * fov_y).tan(), fov_y, ..self }
    }

    /// The elevation [rad] at which the eye comes down to a little above a height [m].
    pub fn elevation_at(&self, height: f32) -> f32 {
        let sine = (height - self.target.y) / self.distance + 0.01 * self.height() / self.distance;
        sine.clamp(-1.0, 1.0).asin()
    }

    /// Turns by angles [rad]; the elevation ends at the poles.
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

    /// Looks at a box from where all of it is in the part `free` of a picture of the `size` (both in any unit; y down).
    pub fn frame_within(&mut self, aabb: &math::Aabb, size: [f32; 2], free: [[f32; 2]; 2]) {
        let [low, high] = free;
        let extent = [(high[0] - low[0]).max(1.0), (high[1] - low[1]).max(1.0)];
        self.frame(aabb, extent[0] / extent[1]);
        // As if the free part were the whole picture, and then the whole around it.
        self.distance *= size[1] / extent[1];
        self.shift_to(size, free);
    }

    /// Whether all of a box is in the part `free` of a viewport `[x, y, width, height]` [px].
    pub fn shows(&self, aabb: &math::Aabb, viewport: [u32; 4], free: [[f32; 2]; 2]) -> bool {
        (0..8).all(|k| {
            let pick = |axis: usize| if k >> axis & 1 == 0 { aabb.min[axis] } else { aabb.max[axis] } as f32;
            self.project(Vec3::new(pick(0), pick(1), pick(2)), viewport)
                .is_some_and(|(at, _)| (0..2).all(|i| (free[0][i]..free[1][i]).contains(&at[i])))
        })
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

    /// The picture of 16:9 that cameras of scenes are meant for, in the part `free` of a picture of the `size` (both in
    /// any unit; y down).
    pub fn within(mut self, size: [f32; 2], free: [[f32; 2]; 2]) -> Self {
        let [width, height] = [0, 1].map(|k| free[1][k] - free[0][k]);
        let fits = height.min(width * 9.0 / 16.0);
        if fits.is_nan() || fits < 1.0 {
            return self;
        }
        self.distance *= size[1] / fits;
        self.shift_to(size, free);
        self
    }

    /// Moves what is in the middle of the picture to the middle of a part of it.
    fn shift_to(&mut self, size: [f32; 2], free: [[f32; 2]; 2]) {
        let (right, up) = self.right_up();
        let off = [0, 1].map(|k| 0.5 * (free[0][k] + free[1][k] - size[k]));
        self.target += (up * off[1] - right * off[0]) * (self.height() / size[1].max(1.0));
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
    fn what_a_wide_picture_shows_is_in_the_free_part_of_any_other() {
        let camera = Camera::default();
        let (right, up) = camera.right_up();
        let half = 0.98 * 0.5 * camera.height();
        let corners = [1.0, -1.0].map(|side| camera.target + (up + right * (16.0 / 9.0)) * half * side);
        let place = |camera: &Camera, viewport| corners.map(|corner| camera.project(corner, viewport).unwrap().0);
        let [[x, y], _] = place(&camera, [0, 0, 1600, 900]);
        assert!((1570.0..1600.0).contains(&x) && (0.0..30.0).contains(&y));
        for (size, free) in [([900.0, 900.0], [[0.0, 0.0], [900.0, 800.0]]), ([1600.0, 900.0], [[200.0, 0.0], [1600.0, 780.0]])] {
            let seen = camera.within(size, free);
            for at in place(&seen, [0, 0, size[0] as u32, size[1] as u32]) {
                assert!((0..2).all(|k| (free[0][k]..free[1][k]).contains(&at[k])), "{at:?} {size:?}");
            }
        }
        assert_eq!(camera.within([1600.0, 900.0], [[0.0, 0.0], [1600.0, 900.0]]), camera);
        assert_eq!(camera.within([0.0, 0.0], [[0.0, 0.0], [0.0, 0.0]]), camera, "before there is a window");
    }

    /// What is seen at the target does not change with the perspective, nor does where the cursor points.
    #[test]
    fn without_perspective_parallels_stay_parallel() {
        let camera = Camera { azimuth: 0.7, ..Camera::default() };
        let parallel = camera.with_field_of_view(None);
        assert!(parallel.is_parallel() && !camera.is_parallel() && (parallel.height() / camera.height() - 1.0).abs() < 1e-4);
        let (_, up) = camera.right_up();
        let width = |camera: &Camera, depth: f32| {
            let at = |p| camera.project(p, VIEWPORT).unwrap().0[1];
            let center = camera.target + camera.forward() * depth;
            at(center - up) - at(center + up)
        };
        assert!(width(&camera, -1.0) > 1.5 * width(&camera, 1.0));
        assert!((width(&parallel, -1.0) / width(&parallel, 1.0) - 1.0).abs() < 5e-3);
        assert!((width(&parallel, 0.0) / width(&camera, 0.0) - 1.0).abs() < 1e-3);
        let back = parallel.with_field_of_view(Some(camera.fov_y));
        assert!((back.distance - camera.distance).abs() < 1e-3);
    }

    #[test]
    fn views_along_the_axes_have_their_sides_up() {
        let camera = Camera::default();
        for (view, eye, up) in [
            (AxisView::Front, Vec3::Z, Vec3::Y),
            (AxisView::Back, -Vec3::Z, Vec3::Y),
            (AxisView::Left, -Vec3::X, Vec3::Y),
            (AxisView::Right, Vec3::X, Vec3::Y),
            (AxisView::Top, Vec3::Y, -Vec3::Z),
            (AxisView::Bottom, -Vec3::Y, Vec3::Z),
        ] {
            let seen = camera.along(view);
            assert!((seen.eye() - eye * seen.distance).length() < 1e-4, "{view:?}");
            assert!((seen.right_up().1 - up).length() < 1e-4, "{view:?}");
            assert!(seen.view_from_world().is_finite());
        }
    }

    #[test]
    fn the_eye_comes_down_to_a_height() {
        let mut camera = Camera { target: Vec3::new(0.0, 0.5, 0.0), ..Camera::default() };
        camera.elevation = camera.elevation_at(0.0);
        assert!((0.0..0.1).contains(&camera.eye().y), "{}", camera.eye());
    }

    #[test]
    fn what_is_framed_leaves_the_rest_of_the_picture_free() {
        let aabb = math::Aabb::of(&[math::Vec3::new(-1.0, 0.0, -2.0), math::Vec3::new(3.0, 1.0, 0.5)]);
        let mut camera = Camera::default();
        let (viewport, free) = ([0, 0, 800, 600], [[200.0, 0.0], [800.0, 480.0]]);
        camera.frame_within(&aabb, [800.0, 600.0], free);
        assert!(camera.shows(&aabb, viewport, free));
        assert!(!camera.shows(&aabb, viewport, [[300.0, 100.0], [700.0, 380.0]]), "it fills what is free");
        camera.distance *= 0.5;
        assert!(!camera.shows(&aabb, viewport, free));
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
