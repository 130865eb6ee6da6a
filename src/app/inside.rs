//! The view of the inside: where bodies are cut open, and how many layers are peeled off.

use glam::Vec3;

use crate::render::{Cut, Shading, ViewOptions};

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
}

impl Default for Inside {
    fn default() -> Self {
        let [turn, tilt] = AXES[0].1;
        Self { open: false, cuts: true, turn, tilt, place: 0.5, whole: false, rigids: true, peeled: 0, apart: false }
    }
}

/// The part of its size that an element keeps where it stands apart.
const APART: f32 = 0.82;

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
