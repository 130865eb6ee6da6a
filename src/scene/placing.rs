//! Where the copies of a body stand. Scattered ones find places at which nothing overlaps.

use std::f64::consts::TAU;

use super::nodes::Transform;
use super::random::Random;
use super::read::{BodyContent, Copies};
use crate::math::{Aabb, Mat3, Quat, Vec3};

/// A scattered copy that finds no place in this many tries has none.
const TRIES: usize = 5000;

/// Space that a new copy must keep clear of.
#[derive(Clone, Copy, Debug)]
pub enum Occupied {
    /// All of space below a plane through `point`.
    HalfSpace {
        point: Vec3,
        normal: Vec3,
    },
    Box(TurnedBox),
}

/// A box with axes of its own.
#[derive(Clone, Copy, Debug)]
pub struct TurnedBox {
    center: Vec3,
    /// Unit vectors along its sides, in columns.
    axes: Mat3,
    half: Vec3,
}

/// Where the scattered copy number `copy` has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom {
    pub copy: usize,
}

impl TurnedBox {
    /// The box `bounds` of a body's own frame, placed.
    pub fn new(placement: &Transform, bounds: &Aabb) -> Self {
        Self {
            center: (placement * nalgebra::Point3::from(bounds.center())).coords,
            axes: *placement.isometry.rotation.to_rotation_matrix().matrix(),
            half: bounds.extent() * (0.5 * placement.scaling()),
        }
    }

    /// How far it reaches from its centre along a direction of any length.
    fn reach(&self, direction: &Vec3) -> f64 {
        (0..3).map(|i| self.half[i] * self.axes.column(i).dot(direction).abs()).sum()
    }

    /// Whether no point is in both: a direction separates them, one of the sides' or a cross product of two of them
    /// [Gottschalk, Lin & Manocha 1996].
    fn is_clear_of(&self, other: &Self) -> bool {
        let between = other.center - self.center;
        if between.norm() > self.half.norm() + other.half.norm() {
            return true;
        }
        let separates = |direction: &Vec3| between.dot(direction).abs() > self.reach(direction) + other.reach(direction);
        let axes = |of: &Self| [0, 1, 2].map(|i| Vec3::from(of.axes.column(i)));
        let (own, others) = (axes(self), axes(other));
        own.iter().chain(&others).any(separates) || own.iter().any(|a| others.iter().any(|b| separates(&a.cross(b))))
    }
}

impl Occupied {
    fn leaves_clear(&self, body: &TurnedBox) -> bool {
        match self {
            Self::HalfSpace { point, normal } => (body.center - point).dot(normal) > body.reach(normal),
            Self::Box(other) => other.is_clear_of(body),
        }
    }
}

/// Where each copy stands: from the body's anchored geometry, which fills `bounds`, to the world. Copies that the scene
/// does not scatter stand where it says. Scattered ones keep clear of what is `occupied` and of each other.
pub fn placements(body: &BodyContent, bounds: &Aabb, occupied: &[Occupied]) -> Result<Vec<Transform>, NoRoom> {
    let at = |shift: Vec3| {
        let mut copy = body.own;
        copy.isometry.translation.vector += shift;
        copy
    };
    match body.copies {
        Copies::One => Ok(vec![body.parent * body.own]),
        Copies::Array { count: [nx, ny, nz], pitch } => {
            let cells = (0..nz).flat_map(|k| (0..ny).flat_map(move |j| (0..nx).map(move |i| [i, j, k])));
            Ok(cells.map(|cell| body.parent * at(pitch.component_mul(&Vec3::from(cell.map(f64::from))))).collect())
        }
        Copies::Circle { count } => {
            let turn = |i: u32| Quat::from_scaled_axis(Vec3::y() * (TAU * f64::from(i) / f64::from(count)));
            Ok((0..count).map(|i| body.parent * turn(i) * body.own).collect())
        }
        Copies::Scatter { count, seed, min, max, .. } => {
            let mut random = Random(seed);
            let mut try_one = || {
                let mut copy = at(Vec3::from_fn(|i, _| min[i] + (max[i] - min[i]) * random.unit()));
                copy.isometry.rotation = random.rotation() * copy.isometry.rotation;
                body.parent * copy
            };
            let mut taken: Vec<TurnedBox> = vec![];
            let mut places = vec![];
            for copy in 0..count as usize {
                let mut free = (0..TRIES).map(|_| try_one()).filter_map(|place| {
                    let volume = TurnedBox::new(&place, bounds);
                    let clear = taken.iter().all(|other| other.is_clear_of(&volume)) && occupied.iter().all(|o| o.leaves_clear(&volume));
                    clear.then_some((place, volume))
                });
                let (place, volume) = free.next().ok_or(NoRoom { copy })?;
                taken.push(volume);
                places.push(place);
            }
            Ok(places)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::nodes::local;

    fn turned(position: [f64; 3], rotation: [f64; 3]) -> TurnedBox {
        let bounds = Aabb { min: Vec3::new(-1.0, -0.1, -0.5), max: Vec3::new(1.0, 0.1, 0.5) };
        TurnedBox::new(&local(position.into(), rotation.into(), 1.0), &bounds)
    }

    #[test]
    fn boxes_are_clear_when_a_direction_separates_them() {
        let lying = turned([0.0; 3], [0.0; 3]);
        assert!(lying.is_clear_of(&turned([0.0, 0.21, 0.0], [0.0; 3])));
        assert!(!lying.is_clear_of(&turned([0.0, 0.19, 0.0], [0.0; 3])));
        // Standing on its short side and on an edge.
        assert!(lying.is_clear_of(&turned([0.0, 1.11, 0.0], [0.0, 0.0, 90.0])));
        assert!(!lying.is_clear_of(&turned([0.0, 1.09, 0.0], [0.0, 0.0, 90.0])));
        // Crossed edges, where only a cross product separates: two unit cubes, one turned up on an edge along x, one
        // along z.
        let cube = Aabb { min: Vec3::repeat(-0.5), max: Vec3::repeat(0.5) };
        let standing = |y: f64, rotation: Vec3| TurnedBox::new(&local(Vec3::y() * y, rotation, 1.0), &cube);
        let below = standing(0.0, Vec3::x() * 45.0);
        let reach = 2.0 * 0.5f64.sqrt();
        assert!(below.is_clear_of(&standing(reach + 0.01, Vec3::z() * 45.0)));
        assert!(!below.is_clear_of(&standing(reach - 0.01, Vec3::z() * 45.0)));
    }

    #[test]
    fn half_spaces_are_full_below() {
        let floor = Occupied::HalfSpace { point: Vec3::zeros(), normal: Vec3::y() };
        assert!(floor.leaves_clear(&turned([0.0, 1.01, 0.0], [0.0, 0.0, 90.0])));
        assert!(!floor.leaves_clear(&turned([0.0, 0.99, 0.0], [0.0, 0.0, 90.0])));
    }
}
