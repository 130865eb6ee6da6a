//! Recorded hands: the points that they hold.

use super::{Builder, Slot};
use crate::math::Vec3;
use crate::model::Model;
use crate::scene::read::GrabContent;

/// A hand of the scene that holds a point of a body and carries it along a path.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedGrab {
    /// As surface triangles are numbered for grabs (`Model::first_held_triangle`), and the point in it.
    pub triangle: u32,
    pub barycentric: [f64; 3],
    /// Times [s], each later than the one before, and where the hand is then [m].
    pub path: Vec<(f64, Vec3)>,
}

impl RecordedGrab {
    /// Where the hand is; none before it takes hold and after it has let go.
    pub fn target_at(&self, time: f64) -> Option<Vec3> {
        let next = self.path.partition_point(|(t, _)| *t <= time);
        let [(start, from), (end, to)] = [self.path.get(next.checked_sub(1)?)?, self.path.get(next)?];
        Some(from + (to - from) * ((time - start) / (end - start)))
    }

    /// Whether the hand has let go for good.
    pub fn is_over(&self, time: f64) -> bool {
        self.path.last().is_none_or(|(end, _)| *end <= time)
    }
}

impl Builder<'_> {
    pub(super) fn grab(&self, wish: &GrabContent, slots: &[Slot], model: &Model) -> RecordedGrab {
        let copy = wish.target.copy;
        let (first, corners): (usize, Vec<[Vec3; 3]>) = match slots[wish.target.body] {
            Slot::Soft(first) => {
                let body = &model.bodies[first + copy];
                let positions = model.surface_positions(&model.rest_positions);
                let corners = model.surface.triangles[body.triangles.clone()].iter().map(|t| t.map(|v| positions[v as usize]));
                (body.triangles.start, corners.collect())
            }
            Slot::Rigid(first) => {
                let rigid = &model.rigid_bodies[first + copy];
                let place = |v: u32| (rigid.pose * nalgebra::Point3::from(rigid.vertices[v as usize])).coords;
                (model.first_held_triangle(first + copy), rigid.triangles.iter().map(|t| t.map(place)).collect())
            }
            Slot::Obstacle(_) => unreachable!("grabs of obstacles were refused when the scene was read"),
        };
        let (triangle, corner) = nearest_corner(&corners, &wish.point);
        let mut barycentric = [0.0; 3];
        barycentric[corner] = 1.0;
        RecordedGrab { triangle: (first + triangle) as u32, barycentric, path: wish.path.clone() }
    }
}

/// The first triangle with the corner that is nearest to a point, and which corner it is.
fn nearest_corner(triangles: &[[Vec3; 3]], point: &Vec3) -> (usize, usize) {
    let corners = triangles.iter().enumerate().flat_map(|(t, corners)| corners.iter().enumerate().map(move |(c, x)| (x, (t, c))));
    let distances = corners.map(|(x, place)| ((x - point).norm_squared(), place));
    distances.min_by(|(a, _), (b, _)| a.total_cmp(b)).map_or((0, 0), |(_, place)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_goes_straight_from_place_to_place_and_lets_go() {
        let at = |time: f64, x: f64| (time, Vec3::x() * x);
        let grab = RecordedGrab { triangle: 0, barycentric: [1.0, 0.0, 0.0], path: vec![at(0.1, 0.0), at(0.3, 2.0), at(0.4, 1.0)] };
        for (time, x) in [(0.1, 0.0), (0.2, 1.0), (0.3, 2.0), (0.35, 1.5)] {
            let target = grab.target_at(time).unwrap();
            assert!((target - Vec3::x() * x).norm() < 1e-12, "{time}: {target}");
        }
        assert!([0.0, 0.0999, 0.4, 7.0].iter().all(|time| grab.target_at(*time).is_none()));
        assert_eq!([0.0, 0.39, 0.4].map(|time| grab.is_over(time)), [false, false, true]);
    }
}
