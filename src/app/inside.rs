//! The view of the inside: where bodies are cut open, and how many layers are peeled off.

use glam::{Quat, Vec3};

use super::gizmo::Change;
use crate::math;
use crate::render::{Cut, Shading, ViewOptions};
use crate::stage::glam_vec;

/// A plane of any direction, and a number of layers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inside {
    /// Bodies are seen from inside.
    pub open: bool,
    pub cuts: bool,
    /// The direction towards what is hidden: about the vertical from +z towards +x, and up from the level [degrees].
    pub turn: f32,
    pub tilt: f32,
    /// Where the plane is, from one end of the bodies (0) to the other (1) in its direction.
    pub place: f32,
    /// Elements are hidden whole, instead of being cut where the plane is.
    pub whole: bool,
    /// Rigid bodies and obstacles are cut, too.
    pub rigids: bool,
    /// Layers of elements below the surface that are hidden.
    pub peeled: u8,
    /// Elements stand apart, so that single ones are seen.
    pub apart: bool,
    /// The plane has its handles in the view.
    pub handles: bool,
}

/// Where the plane is: the values of [`Inside`] that a drag of its handles changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutPlane {
    /// [degrees]
    pub turn: f32,
    pub tilt: f32,
    pub place: f32,
}

impl Default for Inside {
    fn default() -> Self {
        let [turn, tilt] = AXES[0].1;
        Self { open: false, cuts: true, turn, tilt, place: 0.5, whole: false, rigids: true, peeled: 0, apart: false, handles: true }
    }
}

/// The part of its size that an element keeps where it stands apart.
const APART: f32 = 0.82;
/// A plane that is tilted by its handles lies across an axis of the world that is so near its direction [rad].
const NEAR_AXIS: f32 = 0.07;

/// Turn and tilt towards the axes of the world [degrees].
pub const AXES: [(&str, [f32; 2]); 3] = [("x", [90.0, 0.0]), ("y", [0.0, 90.0]), ("z", [0.0, 0.0])];

impl Inside {
    /// The options of a picture of the inside of what reaches so far in the direction of the plane: [`reach`].
    pub fn options(&self, options: ViewOptions, reach: Option<[f32; 2]>) -> ViewOptions {
        let plane = self.position(reach).filter(|_| self.cuts).map(|at| self.normal().extend(at));
        let cut = plane.map(|plane| Cut { plane, exact: !self.whole, rigids: self.rigids });
        ViewOptions { shading: Shading::Tets, cut, tet_size: if self.apart { APART } else { 1.0 }, peeled: self.peeled, ..options }
    }

    /// The unit vector towards what is hidden.
    pub fn normal(&self) -> Vec3 {
        let ((sin_turn, cos_turn), (sin_tilt, cos_tilt)) = (self.turn.to_radians().sin_cos(), self.tilt.to_radians().sin_cos());
        let normal = Vec3::new(sin_turn * cos_tilt, sin_tilt, cos_turn * cos_tilt);
        // Along the axes without rounding.
        Vec3::from(normal.to_array().map(|c| if c.abs() < 1e-6 { 0.0 } else { c }))
    }

    /// Turns the plane so that what lies in this direction is hidden.
    pub fn point_along(&mut self, direction: Vec3) {
        let Some(normal) = direction.try_normalize() else { return };
        self.tilt = normal.y.clamp(-1.0, 1.0).asin().to_degrees();
        self.turn = normal.x.atan2(normal.z).to_degrees();
    }

    /// Shows the handles of the plane, with bodies cut open, or hides them.
    pub fn toggle_handles(&mut self) {
        let are_shown = self.open && self.cuts && self.handles;
        self.handles = !are_shown;
        (self.open, self.cuts) = (self.open || self.handles, self.cuts || self.handles);
    }

    pub fn plane(&self) -> CutPlane {
        CutPlane { turn: self.turn, tilt: self.tilt, place: self.place }
    }

    pub fn set_plane(&mut self, CutPlane { turn, tilt, place }: CutPlane) {
        (self.turn, self.tilt, self.place) = (turn, tilt, place);
    }

    /// Unit vectors across each other, right-handed: the level one in the plane, the other one in it, its direction.
    pub fn axes(&self) -> [Vec3; 3] {
        let (sin, cos) = self.turn.to_radians().sin_cos();
        let (level, normal) = (Vec3::new(cos, 0.0, -sin), self.normal());
        [level, normal.cross(level), normal]
    }

    /// Moves the plane along its direction to a place of what reaches so far [m], within that.
    pub fn put_at(&mut self, position: f32, reach: Option<[f32; 2]>) {
        if let Some([low, high]) = reach.filter(|[low, high]| low < high) {
            self.place = ((position - low) / (high - low)).clamp(0.0, 1.0);
        }
    }

    /// Tilts the plane by a drag of one of its arcs, about an axis of those that it had when it was taken hold of:
    /// across an axis of the world that is near, or across the nearest one if it `snaps`.
    pub fn tilt_by(&mut self, axes: &[math::Vec3; 3], change: &Change, snaps: bool) {
        let Change::Turn(axis, angle) = *change else { return };
        let [about, normal] = [axes[axis], axes[2]].map(|axis| glam_vec(&axis));
        let turned = Quat::from_axis_angle(about, angle as f32) * normal;
        let along = turned.abs();
        let nearest = match along.max_element() {
            largest if largest == along.x => Vec3::X,
            largest if largest == along.y => Vec3::Y,
            _ => Vec3::Z,
        };
        let axis = nearest * nearest.dot(turned).signum();
        self.point_along(if snaps || turned.angle_between(axis) < NEAR_AXIS { axis } else { turned });
    }

    /// Hides the other side of the same plane.
    pub fn flip(&mut self) {
        let turned = self.turn + 180.0;
        self.turn = if turned > 180.0 { turned - 360.0 } else { turned };
        (self.tilt, self.place) = (-self.tilt, 1.0 - self.place);
    }

    /// Where the plane is along its direction [m].
    pub fn position(&self, reach: Option<[f32; 2]>) -> Option<f32> {
        reach.map(|[low, high]| low + self.place * (high - low))
    }
}

/// How far points reach in a direction [m]; none of nothing finite.
pub fn reach(direction: Vec3, points: impl Iterator<Item = Vec3>) -> Option<[f32; 2]> {
    let along = points.map(|point| direction.dot(point)).filter(|x| x.is_finite());
    let [low, high] = along.fold([f32::INFINITY, f32::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)]);
    (low <= high).then_some([low, high])
}

#[cfg(test)]
mod tests {
    use glam::Vec4;

    use super::*;

    #[test]
    fn the_plane_lies_across_the_bodies() {
        let points = [[-1.0, 0.0, 0.0], [3.0, 5.0, 0.0], [f32::NAN, 0.0, 0.0]].map(Vec3::from);
        let inside = Inside { open: true, place: 0.25, ..Inside::default() };
        let plane = |inside: Inside| {
            let options = inside.options(ViewOptions::default(), reach(inside.normal(), points.into_iter()));
            options.cut.map(|cut| cut.plane)
        };
        assert_eq!(plane(inside), Some(Vec4::new(1.0, 0.0, 0.0, 0.0)));
        assert_eq!(plane(Inside { cuts: false, ..inside }), None);
        let upwards = Inside { turn: AXES[1].1[0], tilt: AXES[1].1[1], ..inside };
        assert_eq!(plane(upwards), Some(Vec4::new(0.0, 1.0, 0.0, 1.25)));
        // The other side of the same plane.
        let mut flipped = upwards;
        flipped.flip();
        assert_eq!(plane(flipped), Some(Vec4::new(0.0, -1.0, 0.0, -1.25)));
        flipped.flip();
        assert!((plane(flipped).unwrap() - plane(upwards).unwrap()).length() < 1e-6);
        let of_nothing = inside.options(ViewOptions::default(), reach(Vec3::X, std::iter::empty()));
        assert_eq!((of_nothing.cut, of_nothing.shading, of_nothing.tet_size), (None, Shading::Tets, 1.0));
        let peeled = Inside { apart: true, peeled: 3, whole: true, ..inside }.options(ViewOptions::default(), Some([0.0, 1.0]));
        assert!(peeled.peeled == 3 && peeled.tet_size == APART && peeled.cut.is_some_and(|cut| !cut.exact && cut.rigids));
    }

    #[test]
    fn the_plane_is_tilted_and_moved_within_what_it_cuts() {
        let mut inside = Inside::default();
        for direction in [Vec3::X, Vec3::Y, -Vec3::Y, Vec3::new(0.3, -0.8, 0.5), Vec3::new(-2.0, 0.1, -1.0)] {
            inside.point_along(direction);
            let [level, across, normal] = inside.axes();
            assert!((level.cross(across) - normal).length() < 1e-6 && level.y.abs() < 1e-6, "{direction:?}");
            assert!((normal - direction.normalize()).length() < 1e-5);
        }
        let axes = |inside: &Inside| inside.axes().map(|axis| math::Vec3::new(axis.x.into(), axis.y.into(), axis.z.into()));
        let tilted = |axis: usize, degrees: f64, snaps: bool| {
            let mut inside = Inside::default();
            let axes = axes(&inside);
            inside.tilt_by(&axes, &Change::Turn(axis, degrees.to_radians()), snaps);
            inside
        };
        // From the x axis: about the level axis upwards or downwards, about the vertical to the side.
        assert!((tilted(0, -30.0, false).tilt - 30.0).abs() < 1e-3 && (tilted(1, 30.0, false).turn - 120.0).abs() < 1e-3);
        let [near, other, forced] = [tilted(0, -87.0, false), tilted(1, 3.0, false), tilted(1, 50.0, true)];
        assert_eq!(near.normal(), Vec3::Y, "an axis that is near");
        assert_eq!(([other.turn, other.tilt], forced.normal()), (AXES[0].1, -Vec3::Z));
        assert!((tilted(1, 50.0, false).normal().z + 50f32.to_radians().sin()).abs() < 1e-5);

        let mut moved = Inside::default();
        moved.put_at(1.5, Some([1.0, 3.0]));
        assert_eq!((moved.place, moved.position(Some([1.0, 3.0]))), (0.25, Some(1.5)));
        moved.put_at(9.0, Some([1.0, 3.0]));
        assert_eq!(moved.place, 1.0, "not beyond the bodies");
        moved.put_at(2.0, None);
        moved.put_at(2.0, Some([2.0, 2.0]));
        assert_eq!(moved.place, 1.0, "of nothing it stays");
        let mut shown = Inside { open: false, cuts: false, ..Inside::default() };
        shown.toggle_handles();
        assert!(shown.open && shown.cuts && shown.handles, "with what they are for");
        shown.toggle_handles();
        assert!(shown.open && shown.cuts && !shown.handles);
        let (before, mut after) = (moved.plane(), tilted(0, -30.0, false));
        after.set_plane(before);
        assert_eq!(after.plane(), before);
    }

    #[test]
    fn the_plane_takes_any_direction() {
        let mut inside = Inside::default();
        for direction in [Vec3::X, -Vec3::Y, Vec3::new(0.3, -0.8, 0.5), Vec3::new(-2.0, 0.1, -1.0)] {
            inside.point_along(direction);
            assert!((inside.normal() - direction.normalize()).length() < 1e-5, "{direction:?}: {:?}", inside.normal());
            assert!((-180.0..=180.0).contains(&inside.turn) && (-90.0..=90.0).contains(&inside.tilt));
        }
        let before = inside;
        inside.point_along(Vec3::ZERO);
        assert_eq!(inside, before);
        for (name, [turn, tilt]) in AXES {
            let axis = match name {
                "x" => Vec3::X,
                "y" => Vec3::Y,
                _ => Vec3::Z,
            };
            assert_eq!(Inside { turn, tilt, ..inside }.normal(), axis);
        }
    }
}
