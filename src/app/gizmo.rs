//! Three arrows, three rings and a box, by which a body is moved, turned and scaled along the world's axes.

use egui::Pos2;

use crate::math::{Quat, Vec3};
use crate::render::Ray;
use crate::scene::Transform;

/// What can be taken hold of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handle {
    /// Along an axis.
    Move(usize),
    /// About an axis.
    Turn(usize),
    Scale,
}

/// A gizmo in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gizmo {
    pub origin: Vec3,
    /// Length of its arrows [m].
    pub size: f64,
    /// Whether it has the box.
    pub scales: bool,
}

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
    gizmo: Gizmo,
    /// Where on the handle it was taken: along the axis [m], or the angle about it [rad].
    from: f64,
    from_point: Pos2,
}

/// Rings are this part of the arrows' length across.
const RING: f64 = 0.72;
const RING_POINTS: usize = 48;
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
        if let Some(middle) = project(&self.origin).filter(|_| self.scales) {
            lines.push(Line { handle: Handle::Scale, points: vec![middle] });
        }
        for axis in 0..3 {
            let tip = self.origin + unit(axis) * self.size;
            let points: Option<Vec<Pos2>> = [self.origin + unit(axis) * (0.15 * self.size), tip].iter().map(&project).collect();
            lines.extend(points.map(|points| Line { handle: Handle::Move(axis), points }));
        }
        for axis in 0..3 {
            let [u, v] = across(axis);
            let on_ring = |k: usize| {
                let angle = std::f64::consts::TAU * k as f64 / RING_POINTS as f64;
                self.origin + (u * angle.cos() + v * angle.sin()) * (RING * self.size)
            };
            let points: Option<Vec<Pos2>> = (0..=RING_POINTS).map(|k| project(&on_ring(k))).collect();
            lines.extend(points.map(|points| Line { handle: Handle::Turn(axis), points }));
        }
        lines
    }

    /// Takes hold of a handle with the cursor at `at`, which is on `ray`. None where the axis points at the eye.
    pub fn take(&self, handle: Handle, ray: &Ray, at: Pos2) -> Option<Drag> {
        Some(Drag { handle, gizmo: *self, from: self.place(handle, ray)?, from_point: at })
    }

    /// Where a ray is on a handle.
    fn place(&self, handle: Handle, ray: &Ray) -> Option<f64> {
        match handle {
            Handle::Scale => Some(0.0),
            Handle::Move(axis) => {
                // The point of the axis that is nearest to the ray.
                let (n, to) = (unit(axis), ray.origin - self.origin);
                let along = n.dot(&ray.direction);
                let across = 1.0 - along * along;
                (across > 1e-4).then(|| (n.dot(&to) - along * ray.direction.dot(&to)) / across)
            }
            Handle::Turn(axis) => {
                let n = unit(axis);
                let towards = n.dot(&ray.direction);
                let met = ray.at(n.dot(&(self.origin - ray.origin)) / towards) - self.origin;
                let [u, v] = across(axis);
                (towards.abs() > 1e-2).then(|| met.dot(&v).atan2(met.dot(&u)))
            }
        }
    }
}

impl Drag {
    /// How far it was dragged once the cursor is at `at`. None where that cannot be told, seen from there.
    pub fn change(&self, ray: &Ray, at: Pos2, snaps: bool) -> Option<Change> {
        let by = self.gizmo.place(self.handle, ray)? - self.from;
        Some(match self.handle {
            Handle::Move(axis) => {
                let step = round_step(0.1 * self.gizmo.size);
                Change::Move(unit(axis) * if snaps { (by / step).round() * step } else { by })
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
    /// As a motion of the world about a point.
    pub fn motion(&self, origin: &Vec3) -> Transform {
        let about = |rotation: Quat, scale: f64| Transform::from_parts((origin - rotation * origin * scale).into(), rotation, scale);
        match *self {
            Self::Move(by) => Transform::from_parts(by.into(), Quat::identity(), 1.0),
            Self::Turn(axis, angle) => about(Quat::from_scaled_axis(unit(axis) * angle), 1.0),
            Self::Scale(factor) => about(Quat::identity(), factor),
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

fn unit(axis: usize) -> Vec3 {
    Vec3::from_fn(|i, _| if i == axis { 1.0 } else { 0.0 })
}

/// The axes across one, so that they turn about it in its direction.
fn across(axis: usize) -> [Vec3; 2] {
    [unit((axis + 1) % 3), unit((axis + 2) % 3)]
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

    const GIZMO: Gizmo = Gizmo { origin: Vec3::new(1.0, 2.0, 3.0), size: 1.0, scales: true };

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
        let without_box = Gizmo { scales: false, ..GIZMO }.lines(project);
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
