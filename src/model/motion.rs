//! Motions that are given: of static and driven bodies nothing else is known.

use crate::math::{Isometry, Quat, Vec3};

/// A steady motion, in the world frame, and a scripted one on top of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Motion {
    /// [m/s]
    pub velocity: Vec3,
    /// About the body's origin [rad/s].
    pub angular_velocity: Vec3,
    pub keyframes: Keyframes,
}

/// Where a body is at certain times, in between on straight lines at steady speed, and turning about a steady axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Keyframes {
    /// In the order of their times.
    pub frames: Vec<Keyframe>,
    /// Whether it starts again from time 0 at the time of the last one; else it stays there.
    pub repeat: bool,
}

/// A place relative to the one at the start, in the world frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keyframe {
    /// [s]
    pub time: f64,
    /// [m]
    pub shift: Vec3,
    pub turn: Quat,
}

impl Motion {
    /// Pose at `time` [s] of what has `start` at time 0.
    pub fn pose_at(&self, start: &Isometry, time: f64) -> Isometry {
        let (shift, turn) = self.keyframes.at(time);
        Isometry::from_parts(
            (start.translation.vector + self.velocity * time + shift).into(),
            Quat::from_scaled_axis(self.angular_velocity * time) * turn * start.rotation,
        )
    }
}

impl Keyframes {
    fn at(&self, time: f64) -> (Vec3, Quat) {
        let Some(last) = self.frames.last() else { return (Vec3::zeros(), Quat::identity()) };
        let time = if self.repeat && last.time > 0.0 { time.rem_euclid(last.time) } else { time };
        let next = self.frames.partition_point(|frame| frame.time <= time);
        match (next.checked_sub(1).map(|before| &self.frames[before]), self.frames.get(next)) {
            (Some(a), Some(b)) => {
                let part = (time - a.time) / (b.time - a.time);
                let turn = Quat::from_scaled_axis((b.turn * a.turn.inverse()).scaled_axis() * part) * a.turn;
                (a.shift + (b.shift - a.shift) * part, turn)
            }
            (Some(frame), None) | (None, Some(frame)) => (frame.shift, frame.turn),
            (None, None) => unreachable!("there is a last frame"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn motion(repeat: bool) -> Motion {
        let frame =
            |time: f64, x: f64, angle: f64| Keyframe { time, shift: Vec3::x() * x, turn: Quat::from_scaled_axis(Vec3::y() * angle) };
        let keyframes = Keyframes { frames: vec![frame(1.0, 0.0, 0.0), frame(3.0, 4.0, 2.0), frame(4.0, 0.0, 0.0)], repeat };
        Motion { velocity: Vec3::z(), angular_velocity: Vec3::zeros(), keyframes }
    }

    #[test]
    fn keyframes_are_joined_by_steady_motion_and_added_to_the_constant_one() {
        let start = Isometry::translation(0.0, 5.0, 0.0);
        for (time, x, angle) in
            [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (2.0, 2.0, 1.0), (3.0, 4.0, 2.0), (3.5, 2.0, 1.0), (4.0, 0.0, 0.0), (9.0, 0.0, 0.0)]
        {
            let pose = motion(false).pose_at(&start, time);
            assert!((pose.translation.vector - Vec3::new(x, 5.0, time)).norm() < 1e-12, "{time}");
            assert!((pose.rotation.scaled_axis() - Vec3::y() * angle).norm() < 1e-12, "{time}");
        }
        let again = motion(true).pose_at(&start, 4.0 + 2.0);
        assert!((again.translation.vector.x - 2.0).abs() < 1e-12);
        assert_eq!(Motion::default().pose_at(&start, 3.0), start);
    }
}
