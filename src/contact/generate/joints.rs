//! Attachments as rows: springs are solved for together with the contacts, never as stiffness in the matrix, so that
//! they may be as stiff as they like.
//!
//! A spring of stiffness k and damping c pulls with `k s + (c/dt) (s - s0)`, with s its stretch at the end of the step
//! and s0 at the start. That is a row whose motion is `s - (c/dt) s0 / (k + c/dt)` and whose compliance is `1 / (k +
//! c/dt)` (backward Euler). A spring without a length has three such rows. One with a length has one, along the line
//! between its ends; across it, tension T over the distance l is a stiffness T/l, while compression, which would make
//! it buckle, adds nothing.

use super::Detection;
use super::contract::Moved;
use crate::contact::islands::{Islands, Trial};
use crate::contact::{Constraint, JacobianEntry, Law};
use crate::geometry::tangents;
use crate::math::{Mat3, Vec3};
use crate::model::{Attachment, End};

/// Rows are renewed if the stretch differs from what they predicted by this part of the contact tolerance.
const STALE: f64 = 0.5;
/// Less tension than this part of stiffness times distance does nothing across.
const SLACK: f64 = 1e-9;

/// Three rows for the present end of the step.
struct Rows {
    frame: Mat3,
    /// What the spring's force answers, in the frame [m].
    motion: Vec3,
    /// [m/N]
    compliance: Vec3,
}

impl Detection<'_> {
    /// Adds the springs of the `number`-th of the islands as rows, with the forces of the last step; the trial is where
    /// the solve starts.
    pub fn attach(&self, islands: &Islands, number: usize, trial: &Trial, contacts: &mut Vec<Constraint>) {
        if self.model.attachments.is_empty() {
            return;
        }
        let moved = Moved { trial, end: &self.step.end_positions(trial.island, trial.dv) };
        let attachments = self.model.attachments.iter().zip(&self.step.state.attachment_forces).enumerate();
        for (k, (attachment, force)) in attachments {
            let bodies = attachment.bodies(self.model);
            if islands.owner(bodies) != Some(number) {
                continue;
            }
            let mut joint = Constraint::joint(k as u32, bodies, Vec3::zeros());
            joint.row.entries = self.idle_entries.take().unwrap_or_default();
            joint.force.multiplier = -force;
            let pull = pull(&joint);
            let rows = self.rows_of(attachment, &pull, &moved);
            self.take_rows(&mut joint, attachment, &rows, &pull, &moved);
            contacts.push(joint);
        }
    }

    /// Renews the rows of a joint that moves otherwise than they predicted; false if they stay.
    pub(super) fn follow(&self, joint: &mut Constraint, attachment: u32, moved: &Moved) -> bool {
        let (pull, attachment) = (pull(joint), &self.model.attachments[attachment as usize]);
        let rows = self.rows_of(attachment, &pull, moved);
        let missed = rows.motion - joint.row.motion(|unknown| moved.trial.at(unknown), self.dt);
        let missed = if rows.frame == Mat3::identity() { missed.amax() } else { missed.x.abs() };
        if missed <= STALE * self.tolerance {
            return false;
        }
        self.take_rows(joint, attachment, &rows, &pull, moved);
        true
    }

    /// Gives the joint its rows, with the force that pulls as before.
    fn take_rows(&self, joint: &mut Constraint, attachment: &Attachment, rows: &Rows, pull: &Vec3, moved: &Moved) {
        self.put_entries_of(attachment, &mut joint.row.entries);
        joint.row.frame = rows.frame;
        joint.law = Law::Bilateral { compliance: rows.compliance };
        joint.row.offset = rows.motion - joint.row.apply(|unknown| moved.trial.at(unknown), self.dt);
        joint.force.multiplier = joint.row.frame * pull;
    }

    fn rows_of(&self, attachment: &Attachment, pull: &Vec3, moved: &Moved) -> Rows {
        let (model, state, trial) = (self.model, self.step.state, moved.trial);
        let displacement = |n: usize| state.displacements[n] + (state.velocities[n] + trial.at(n)) * self.dt;
        let pose = |r: usize| match model.rigid_bodies[r].is_free() {
            true => {
                self.step.pose_at_end(r, [model.linear_unknown(r), model.angular_unknown(r)].map(|unknown| trial.at(unknown)).each_ref())
            }
            false => model.rigid_bodies[r].pose_at(self.step.script_end()),
        };
        let [point, second] = attachment.points(model, displacement, pose, self.step.script_end());
        let [start, start_of_second] = state.attachment_points(model, attachment);
        let (before, separation) = (start - start_of_second, point - second);
        let (stiffness, viscosity) = (attachment.stiffness, attachment.damping / self.dt);
        let along = stiffness + viscosity;
        let distance = separation.norm();
        if attachment.length == 0.0 || distance == 0.0 {
            let motion = separation - before * (viscosity / along);
            return Rows { frame: Mat3::identity(), motion, compliance: Vec3::repeat(1.0 / along) };
        }
        let normal = separation / distance;
        let motion = distance - (stiffness * attachment.length + viscosity * before.norm()) / along;
        let tension = pull.dot(&normal);
        // Rows that are zero carry no force.
        let ([t1, t2], across) =
            if tension > SLACK * along * distance { (tangents(&normal), distance / tension) } else { ([Vec3::zeros(); 2], 1.0 / along) };
        Rows {
            frame: Mat3::from_rows(&[normal.transpose(), t1.transpose(), t2.transpose()]),
            motion: Vec3::new(motion, 0.0, 0.0),
            compliance: Vec3::new(1.0 / along, across, across),
        }
    }

    /// The row of H of the first end less the second, into `entries`. Arms are those of the start of the step, and the
    /// matrix says how the pull turns with them (`elastic::matrix`); arms that followed the body would turn a light one
    /// back and forth.
    fn put_entries_of(&self, attachment: &Attachment, entries: &mut Vec<JacobianEntry>) {
        let (model, state) = (self.model, self.step.state);
        entries.clear();
        let linear = |(unknown, weight)| JacobianEntry::Linear { unknown, weight };
        for (end, side) in attachment.ends.iter().zip([1.0, -1.0]) {
            match end {
                End::Nodes(nodes) => {
                    let free = nodes.iter().filter(|(n, _)| !model.fixed[*n as usize]);
                    entries.extend(free.map(|(n, w)| linear((*n, side * w))));
                }
                End::Rigid { body, point } if model.rigid_bodies[*body].is_free() => {
                    let arm = state.rigid_bodies[*body].pose.rotation * point * side;
                    entries.push(linear((model.linear_unknown(*body) as u32, side)));
                    entries.push(JacobianEntry::Angular { unknown: model.angular_unknown(*body) as u32, arm });
                }
                _ => {}
            }
        }
        merge(entries);
    }
}

/// The force of the second end on the first one, turned around: it points from the second to the first where the joint
/// pulls.
fn pull(joint: &Constraint) -> Vec3 {
    joint.row.frame.transpose() * joint.force.multiplier
}

/// Puts entries in order, linear ones first, with one for each unknown.
fn merge(entries: &mut Vec<JacobianEntry>) {
    entries.sort_by_key(|entry| (matches!(entry, JacobianEntry::Angular { .. }), entry.unknown()));
    entries.dedup_by(|next, first| match (next, first) {
        (JacobianEntry::Linear { unknown, weight }, JacobianEntry::Linear { unknown: first, weight: sum }) if unknown == first => {
            *sum += *weight;
            true
        }
        (JacobianEntry::Angular { unknown, arm }, JacobianEntry::Angular { unknown: first, arm: sum }) if unknown == first => {
            *sum += *arm;
            true
        }
        _ => false,
    });
    entries.retain(|entry| !matches!(entry, JacobianEntry::Linear { weight: 0.0, .. }));
}
