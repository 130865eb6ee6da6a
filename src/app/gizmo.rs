//! Handles in the view: three arrows, three rings and a box, by which a body is moved, turned and scaled along the
//! world's axes; an arrow and two arcs, by which a plane is moved and tilted.

use egui::Pos2;

use super::format;
use crate::math::{Quat, Vec3};
use crate::render::Ray;
use crate::scene::Transform;

/// What can be taken hold of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handle {
    /// Along an axis of the gizmo.
    Move(usize),
    /// About an axis of the gizmo.
    Turn(usize),
    Scale,
}

/// A gizmo in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gizmo {
    pub origin: Vec3,
    /// Length of its arrows [m].
    pub size: f64,
    /// Directions of its arrows: unit vectors across each other, right-handed.
    pub axes: [Vec3; 3],
    pub subject: Subject,
}

/// What a gizmo moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Three arrows and three rings; the box, where it can be scaled.
    Body { scales: bool },
    /// A plane across the third axis: an arrow along that, and arcs about the other two.
    Plane,
}

/// The axes of the world.
pub const WORLD: [Vec3; 3] = [Vec3::new(1.0, 0.0, 0.0), Vec3::new(0.0, 1.0, 0.0), Vec3::new(0.0, 0.0, 1.0)];
/// Length of arrows in the window, in points.
pub const LENGTH: f32 = 84.0;

/// A handle as it is drawn, in points of the window.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub handle: Handle,
    pub points: Vec<Pos2>,
}

/// How far a handle was dragged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// [m]
    Move(Vec3),
    /// About an axis [rad].
    Turn(usize, f64),
    Scale(f64),
}

/// A handle that is held.
#[derive(Clone, Copy, Debug)]
pub struct Drag {
    pub handle: Handle,
    pub gizmo: Gizmo,
    reading: Reading,
    /// Where on the handle it was taken: along the axis [m], or the angle about it [rad].
    from: f64,
    from_point: Pos2,
}

/// How the place of the cursor on a handle is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// On the axis, or in the plane of the ring.
    Straight,
    /// By the height of the cursor in the window, as the axis points at the eye.
    OnScreen,
    /// On a ball as large as the ring, which is seen edge-on: on its near or its far side.
    OnBall { near: bool },
}

/// Rings are this part of the arrows' length across.
const RING: f64 = 0.72;
const RING_POINTS: usize = 48;
/// The arcs of a plane reach so far to both sides of its direction [rad].
const ARC: f64 = 1.05;
/// The arrow of a plane is read on the screen where the square of the cosine between it and the line of sight is more.
const AT_EYE: f64 = 0.9;
/// Its arcs are read on a ball where the cosine between their axis and the line of sight is less.
const EDGE_ON: f64 = 0.3;
/// How near the cursor must be to a handle, in points.
const REACH: f32 = 7.0;
/// Half a side of the box in the middle, in points.
pub const BOX: f32 = 6.0;
/// Dragging so far doubles the size, in points.
const DOUBLING: f32 = 120.0;
/// Snapped: angles to so many degrees, sizes to such steps.
const SNAP_DEGREES: f64 = 15.0;
const SNAP_SCALE: f64 = 0.1;

impl Gizmo {
    /// The handles, the box first. `project`: where a point of the world is in the window.
    pub fn lines(&self, project: impl Fn(&Vec3) -> Option<Pos2>) -> Vec<Line> {
        let mut lines = vec![];
        let [scales, is_plane] = [self.subject == Subject::Body { scales: true }, self.subject == Subject::Plane];
        if let Some(middle) = project(&self.origin).filter(|_| scales) {
            lines.push(Line { handle: Handle::Scale, points: vec![middle] });
        }
        for axis in if is_plane { 2..3 } else { 0..3 } {
            let along = |part: f64| self.origin + self.axes[axis] * (part * self.size);
            let points: Option<Vec<Pos2>> = [along(0.15), along(1.0)].iter().map(&project).collect();
            lines.extend(points.map(|points| Line { handle: Handle::Move(axis), points }));
        }
        for axis in if is_plane { 0..2 } else { 0..3 } {
            let [from, to] = self.arc(axis);
            let [u, v] = self.across(axis);
            let on_ring = |k: usize| {
                let angle = from + (to - from) * k as f64 / RING_POINTS as f64;
                self.origin + (u * angle.cos() + v * angle.sin()) * (RING * self.size)
            };
            let points: Option<Vec<Pos2>> = (0..=RING_POINTS).map(|k| project(&on_ring(k))).collect();
            lines.extend(points.map(|points| Line { handle: Handle::Turn(axis), points }));
        }
        lines
    }

    /// The angles between which a ring is drawn [rad].
    fn arc(&self, axis: usize) -> [f64; 2] {
        let middle = if axis == 0 { std::f64::consts::FRAC_PI_2 } else { 0.0 };
        match self.subject {
            Subject::Body { .. } => [0.0, std::f64::consts::TAU],
            // About the third axis, which the other two turn.
            Subject::Plane => [middle - ARC, middle + ARC],
        }
    }

    /// The axes across one, so that they turn about it in its direction.
    fn across(&self, axis: usize) -> [Vec3; 2] {
        [self.axes[(axis + 1) % 3], self.axes[(axis + 2) % 3]]
    }

    /// Takes hold of a handle with the cursor at `at`, which is on `ray`. None where the axis of a body points at the
    /// eye; a plane can be dragged from everywhere.
    pub fn take(&self, handle: Handle, ray: &Ray, at: Pos2) -> Option<Drag> {
        let is_plane = self.subject == Subject::Plane;
        let along_sight = |axis: usize| self.axes[axis].dot(&ray.direction);
        let reading = match handle {
            Handle::Move(axis) if is_plane && along_sight(axis).powi(2) > AT_EYE => Reading::OnScreen,
            // The arcs are about the direction of the plane.
            Handle::Turn(axis) if is_plane && along_sight(axis).abs() < EDGE_ON => Reading::OnBall { near: along_sight(2) <= 0.0 },
            _ => Reading::Straight,
        };
        let from = self.place(handle, reading, ray, at)?;
        Some(Drag { handle, gizmo: *self, reading, from, from_point: at })
    }

    /// Where the cursor at `at`, on a ray, is on a handle.
    fn place(&self, handle: Handle, reading: Reading, ray: &Ray, at: Pos2) -> Option<f64> {
        match (handle, reading) {
            (Handle::Scale, _) => Some(0.0),
            (Handle::Move(_), Reading::OnScreen) => Some(-f64::from(at.y / LENGTH) * self.size),
            (Handle::Move(axis), _) => {
                // The point of the axis that is nearest to the ray.
                let (n, to) = (self.axes[axis], ray.origin - self.origin);
                let along = n.dot(&ray.direction);
                let across = 1.0 - along * along;
                (across > 1e-4).then(|| (n.dot(&to) - along * ray.direction.dot(&to)) / across)
            }
            (Handle::Turn(axis), Reading::OnBall { near }) => {
                let nearest = ray.at(ray.direction.dot(&(self.origin - ray.origin))) - self.origin;
                let depth = ((RING * self.size).powi(2) - nearest.norm_squared()).max(0.0).sqrt();
                Some(self.angle(axis, &(nearest - ray.direction * if near { depth } else { -depth })))
            }
            (Handle::Turn(axis), _) => {
                let n = self.axes[axis];
                let towards = n.dot(&ray.direction);
                let met = ray.at(n.dot(&(self.origin - ray.origin)) / towards) - self.origin;
                (towards.abs() > 1e-2).then(|| self.angle(axis, &met))
            }
        }
    }

    /// The angle of a direction about an axis [rad].
    fn angle(&self, axis: usize, direction: &Vec3) -> f64 {
        let [u, v] = self.across(axis);
        direction.dot(&v).atan2(direction.dot(&u))
    }
}

impl Drag {
    /// How far it was dragged once the cursor is at `at`. None where that cannot be told, seen from there.
    pub fn change(&self, ray: &Ray, at: Pos2, snaps: bool) -> Option<Change> {
        let by = self.gizmo.place(self.handle, self.reading, ray, at)? - self.from;
        Some(match self.handle {
            Handle::Move(axis) => {
                let step = round_step(0.1 * self.gizmo.size);
                Change::Move(self.gizmo.axes[axis] * if snaps { (by / step).round() * step } else { by })
            }
            Handle::Turn(axis) => {
                let half = std::f64::consts::PI;
                let by = (by + half).rem_euclid(2.0 * half) - half;
                let step = SNAP_DEGREES.to_radians();
                Change::Turn(axis, if snaps { (by / step).round() * step } else { by })
            }
            Handle::Scale => {
                let moved = (at - self.from_point) / DOUBLING;
                let factor = f64::from(moved.x - moved.y).exp2();
                Change::Scale(if snaps { ((factor / SNAP_SCALE).round() * SNAP_SCALE).max(SNAP_SCALE) } else { factor })
            }
        })
    }
}

impl Change {
    /// As a motion of the world about a point, along the world's axes.
    pub fn motion(&self, origin: &Vec3) -> Transform {
        let about = |rotation: Quat, scale: f64| Transform::from_parts((origin - rotation * origin * scale).into(), rotation, scale);
        match *self {
            Self::Move(by) => Transform::from_parts(by.into(), Quat::identity(), 1.0),
            Self::Turn(axis, angle) => about(Quat::from_scaled_axis(WORLD[axis] * angle), 1.0),
            Self::Scale(factor) => about(Quat::identity(), factor),
        }
    }

    /// How much it is, in words, along the world's axes.
    pub fn told(&self) -> String {
        match *self {
            Self::Move(by) => format::length(by.iter().sum()),
            Self::Turn(_, angle) => format!("{:.1}°", angle.to_degrees()),
            Self::Scale(factor) => format!("×{factor:.3}"),
        }
    }

    /// Whether there is none.
    pub fn is_nothing(&self) -> bool {
        match *self {
            Self::Move(by) => by.norm() == 0.0,
            Self::Turn(_, angle) => angle == 0.0,
            Self::Scale(factor) => factor == 1.0,
        }
    }
}

/// The handle at a point of the window; the box before arrows, arrows before rings.
pub fn hit(lines: &[Line], at: Pos2) -> Option<Handle> {
    let near = |line: &&Line| match line.points[..] {
        [middle] => (middle - at).abs().max_elem() < BOX + 3.0,
        _ => line.points.windows(2).any(|ends| distance(at, ends[0], ends[1]) < REACH),
    };
    lines.iter().find(near).map(|line| line.handle)
}

/// From a point to a line between two others.
fn distance(at: Pos2, a: Pos2, b: Pos2) -> f32 {
    let along = b - a;
    let t = ((at - a).dot(along) / along.length_sq().max(1e-6)).clamp(0.0, 1.0);
    (a + along * t).distance(at)
}

/// 1, 2 or 5 times a power of ten, not above `length`.
fn round_step(length: f64) -> f64 {
    let digit = 10f64.powf(length.log10().floor());
    [5.0, 2.0, 1.0].into_iter().find(|n| n * digit <= length).unwrap_or(1.0) * digit
}

#[cfg(test)]
mod tests {
    use egui::pos2;

    use super::*;

    const GIZMO: Gizmo = Gizmo { origin: Vec3::new(1.0, 2.0, 3.0), size: 1.0, axes: WORLD, subject: Subject::Body { scales: true } };

    /// Straight from the front, a metre is a hundred points.
    fn project(p: &Vec3) -> Option<Pos2> {
        Some(pos2(100.0 * p.x as f32, -100.0 * p.y as f32))
    }

    fn ray(x: f64, y: f64) -> Ray {
        Ray { origin: Vec3::new(x, y, 50.0), direction: -Vec3::z() }
    }

    fn drag(handle: Handle, from: [f64; 2], to: [f64; 2], snaps: bool) -> Change {
        let at = |[x, y]: [f64; 2]| project(&Vec3::new(x, y, 0.0)).unwrap();
        let drag = GIZMO.take(handle, &ray(from[0], from[1]), at(from)).unwrap();
        drag.change(&ray(to[0], to[1]), at(to), snaps).unwrap()
    }

    #[test]
    fn handles_are_found_where_they_are_drawn() {
        let lines = GIZMO.lines(project);
        assert_eq!(lines.len(), 7);
        let without_box = Gizmo { subject: Subject::Body { scales: false }, ..GIZMO }.lines(project);
        assert!(without_box.len() == 6 && without_box.iter().all(|line| line.handle != Handle::Scale));
        let at = |x: f64, y: f64| hit(&lines, project(&Vec3::new(x, y, 0.0)).unwrap());
        assert_eq!((at(1.0, 2.0), at(1.5, 2.02), at(0.98, 2.9)), (Some(Handle::Scale), Some(Handle::Move(0)), Some(Handle::Move(1))));
        let corner = RING * 0.5f64.sqrt();
        assert_eq!((at(1.0 + corner, 2.0 + corner), at(1.3, 2.25)), (Some(Handle::Turn(2)), None));
    }

    #[test]
    fn drags_move_turn_and_scale() {
        let Change::Move(by) = drag(Handle::Move(0), [1.5, 2.0], [1.73, 2.6], false) else { panic!() };
        assert!((by - Vec3::x() * 0.23).norm() < 1e-12, "across the axis nothing moves: {by:?}");
        let Change::Move(by) = drag(Handle::Move(1), [1.0, 2.5], [1.0, 2.77], true) else { panic!() };
        assert!((by - Vec3::y() * 0.3).norm() < 1e-12, "{by:?}");
        assert!(GIZMO.take(Handle::Move(2), &ray(1.0, 2.0), pos2(0.0, 0.0)).is_none(), "the axis points at the eye");
        let Change::Turn(2, angle) = drag(Handle::Turn(2), [1.72, 2.0], [1.0, 2.72], false) else { panic!() };
        assert!((angle - std::f64::consts::FRAC_PI_2).abs() < 1e-12, "{angle}");
        let Change::Turn(2, angle) = drag(Handle::Turn(2), [1.72, 2.0], [1.7, 2.3], true) else { panic!() };
        assert!((angle.to_degrees() - 30.0).abs() < 1e-9 || (angle.to_degrees() - 15.0).abs() < 1e-9, "{angle}");
        let Change::Scale(factor) = drag(Handle::Scale, [1.0, 2.0], [2.2, 2.0], false) else { panic!() };
        assert!((factor - 2.0).abs() < 1e-6, "{factor}");
        assert_eq!(drag(Handle::Scale, [1.0, 2.0], [1.0, 2.0], true), Change::Scale(1.0));
    }

    /// A plane has an arrow and two arcs, which can be dragged also where they are seen from their end or their edge.
    #[test]
    fn a_plane_is_dragged_from_every_side() {
        let axes = [WORLD[2], WORLD[0], WORLD[1]];
        let level = Gizmo { axes, subject: Subject::Plane, ..GIZMO };
        let lines = level.lines(project);
        assert_eq!(lines.iter().map(|line| line.handle).collect::<Vec<_>>(), [Handle::Move(2), Handle::Turn(0), Handle::Turn(1)]);
        // Arcs lie about its direction: all of them is above the plane or little below.
        assert!(lines.iter().flat_map(|line| &line.points).all(|point| point.y < -190.0));
        let at = |x: f64, y: f64| (ray(x, y), project(&Vec3::new(x, y, 0.0)).unwrap());
        let dragged = |gizmo: &Gizmo, handle: Handle, from: [f64; 2], to: [f64; 2], snaps: bool| {
            let ((from_ray, from), (to_ray, to)) = (at(from[0], from[1]), at(to[0], to[1]));
            gizmo.take(handle, &from_ray, from).unwrap().change(&to_ray, to, snaps).unwrap()
        };
        let Change::Move(by) = dragged(&level, Handle::Move(2), [1.0, 2.5], [1.2, 2.75], false) else { panic!() };
        assert!((by - Vec3::y() * 0.25).norm() < 1e-12, "{by:?}");
        let Change::Turn(0, angle) = dragged(&level, Handle::Turn(0), [1.0, 2.72], [0.28, 2.0], false) else { panic!() };
        assert!((angle - std::f64::consts::FRAC_PI_2).abs() < 1e-12, "{angle}");
        // Seen from its edge, the nearer half of the ring is what is dragged.
        let on_edge = |degrees: f64| [1.0, 2.0 + RING * degrees.to_radians().cos()];
        let Change::Turn(1, angle) = dragged(&level, Handle::Turn(1), on_edge(30.0), on_edge(60.0), false) else { panic!() };
        assert!((angle.to_degrees() - 30.0).abs() < 1e-6, "{angle}");
        // Where the arrow points at the eye, up is out.
        let upright = Gizmo { axes: WORLD, subject: Subject::Plane, ..GIZMO };
        let length = f64::from(LENGTH) / 100.0;
        let Change::Move(by) = dragged(&upright, Handle::Move(2), [1.0, 2.0], [1.0, 2.0 + 0.5 * length], false) else { panic!() };
        assert!((by - Vec3::z() * 0.5).norm() < 1e-6, "{by:?}");
        let Change::Move(by) = dragged(&upright, Handle::Move(2), [1.0, 2.0], [1.0, 2.0 + 0.52 * length], true) else { panic!() };
        assert!((by - Vec3::z() * 0.5).norm() < 1e-12, "{by:?}");
    }

    #[test]
    fn turns_and_sizes_are_about_the_origin() {
        let origin = nalgebra::Point3::from(GIZMO.origin);
        for change in [Change::Turn(1, 0.7), Change::Scale(3.0)] {
            assert!((change.motion(&GIZMO.origin) * origin - origin).norm() < 1e-12);
        }
        let turned = Change::Turn(2, std::f64::consts::FRAC_PI_2).motion(&GIZMO.origin) * nalgebra::Point3::new(2.0, 2.0, 3.0);
        assert!((turned - nalgebra::Point3::new(1.0, 3.0, 3.0)).norm() < 1e-12);
        assert_eq!([0.31, 0.2, 0.019].map(round_step), [0.2, 0.2, 0.01]);
        assert!(Change::Move(Vec3::zeros()).is_nothing() && !Change::Scale(1.1).is_nothing());
    }
}
