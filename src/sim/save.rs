//! A state on disk: a line of JSON that says what it is, then plain little-endian numbers.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Simulation;
use crate::math::{Isometry, Quat, Vec3};
use crate::model::{PairId, PairKind, WarmContact, WarmStart};
use crate::model::{RigidState, State};
use crate::step::StepError;

#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    #[error("cannot write {path}: {source}; nothing was saved")]
    Write { path: PathBuf, source: std::io::Error },
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path} is not a saved state of this program: {reason}")]
    NotAState { path: PathBuf, reason: String },
    #[error(
        "{path} was saved from another scene ({saved}, this one has {present}); open the scene it was saved from, with the same --set values"
    )]
    OtherScene { path: PathBuf, saved: String, present: String },
    #[error(transparent)]
    Step(#[from] StepError),
}

#[derive(Serialize, Deserialize, PartialEq)]
struct Header {
    format: String,
    scene: String,
    nodes: usize,
    tets: usize,
    rigid_bodies: usize,
    contacts: usize,
    /// None in files from before there were any.
    #[serde(default)]
    attachments: usize,
    step: u64,
    /// Bits of the time [s], so that it comes back exactly.
    time_bits: u64,
}

const FORMAT: &str = "pliant state 3";
/// Without the slips of sticking contacts.
const FORMAT_2: &str = "pliant state 2";

impl Simulation {
    /// Writes the state to `path`: complete, or not at all.
    pub fn save(&mut self, path: &Path) -> Result<(), SaveError> {
        let state = self.stepper.state()?;
        let header = Header {
            format: FORMAT.into(),
            scene: self.name.clone(),
            nodes: state.displacements.len(),
            tets: state.rotations.len(),
            rigid_bodies: state.rigid_bodies.len(),
            contacts: state.contacts.entries.len(),
            attachments: state.attachment_forces.len(),
            step: self.step,
            time_bits: self.time.to_bits(),
        };
        let write = |source| SaveError::Write { path: path.into(), source };
        let mut bytes = serde_json::to_vec(&header).map_err(|e| write(e.into()))?;
        bytes.push(b'\n');
        let mut put = |x: f64| bytes.extend_from_slice(&x.to_le_bytes());
        state.displacements.iter().chain(&state.velocities).chain(&state.velocity_changes).flat_map(|v| v.iter()).for_each(|x| put(*x));
        state.rotations.iter().flatten().for_each(|x| put(*x));
        for rigid in &state.rigid_bodies {
            rigid.pose.translation.vector.iter().chain(rigid.pose.rotation.coords.iter()).for_each(|x| put(*x));
            rigid.velocity.iter().chain(rigid.angular_velocity.iter()).for_each(|x| put(*x));
        }
        for c in &state.contacts.entries {
            let kind = PairKind::ALL.iter().position(|kind| *kind == c.pair.kind).unwrap_or_default() as f64;
            let pair = [kind, f64::from(c.pair.first), f64::from(c.pair.second)];
            pair.into_iter().chain([c.normal_force, f64::from(u8::from(c.sliding))]).for_each(&mut put);
            c.friction_force.iter().chain(c.slip.iter()).for_each(|x| put(*x));
        }
        state.attachment_forces.iter().flat_map(|f| f.iter()).for_each(|x| put(*x));
        let temporary = path.with_extension("partial");
        fs::write(&temporary, &bytes).and_then(|()| fs::rename(&temporary, path)).map_err(|source| {
            let _ = fs::remove_file(&temporary);
            write(source)
        })
    }

    /// Continues from a state that `save` wrote, of the same scene.
    pub fn resume(&mut self, path: &Path) -> Result<(), SaveError> {
        let bytes = fs::read(path).map_err(|source| SaveError::Read { path: path.into(), source })?;
        let bad = |reason: String| SaveError::NotAState { path: path.into(), reason };
        let end = bytes.iter().position(|b| *b == b'\n').ok_or_else(|| bad("its first line is missing".into()))?;
        let header: Header = serde_json::from_slice(&bytes[..end]).map_err(|e| bad(e.to_string()))?;
        if header.format != FORMAT && header.format != FORMAT_2 {
            return Err(bad(format!("its format is \"{}\", not \"{FORMAT}\"", header.format)));
        }
        let (nodes, tets, rigid) = (self.model.n_nodes(), self.model.tets.len(), self.model.rigid_bodies.len());
        let attachments = self.model.attachments.len();
        if (header.nodes, header.tets, header.rigid_bodies, header.attachments) != (nodes, tets, rigid, attachments) {
            return Err(SaveError::OtherScene {
                path: path.into(),
                saved: format!("\"{}\", {} nodes, {} tets", header.scene, header.nodes, header.tets),
                present: format!("{nodes} nodes, {tets} tets"),
            });
        }
        let numbers: Vec<f64> = bytes[end + 1..].chunks_exact(8).map(|c| f64::from_le_bytes(c.try_into().unwrap_or_default())).collect();
        // Velocity changes have two blocks more a rigid body.
        let (tets_at, rigid_at) = (9 * nodes + 6 * rigid, 9 * nodes + 6 * rigid + 4 * tets);
        let contacts_at = rigid_at + 13 * rigid;
        let contact_size = if header.format == FORMAT { 11 } else { 8 };
        let attachments_at = contacts_at + contact_size * header.contacts;
        let expected = attachments_at + 3 * attachments;
        if numbers.len() != expected || (bytes.len() - end - 1) % 8 != 0 {
            return Err(bad(format!("it is cut off: {} of {expected} numbers", numbers.len())));
        }
        if let Some(at) = numbers.iter().position(|x| !x.is_finite()) {
            return Err(bad(format!("number {at} is not finite")));
        }
        let vectors = |from: usize, n: usize| numbers[from..from + 3 * n].chunks_exact(3).map(Vec3::from_column_slice).collect();
        let rigid_bodies = numbers[rigid_at..contacts_at].chunks_exact(13).map(|n| RigidState {
            pose: Isometry::from_parts(
                Vec3::new(n[0], n[1], n[2]).into(),
                Quat::new_unchecked(nalgebra::Quaternion::new(n[6], n[3], n[4], n[5])),
            ),
            velocity: Vec3::new(n[7], n[8], n[9]),
            angular_velocity: Vec3::new(n[10], n[11], n[12]),
        });
        let entry = |n: &[f64]| {
            let kind = *PairKind::ALL.get(n[0] as usize)?;
            let pair = PairId { kind, first: n[1] as u32, second: n[2] as u32 };
            let friction_force = Vec3::new(n[5], n[6], n[7]);
            let slip = n.get(8..).filter(|slip| !slip.is_empty()).map_or_else(Vec3::zeros, Vec3::from_column_slice);
            Some(WarmContact { pair, normal_force: n[3], sliding: n[4] != 0.0, friction_force, slip, place: None })
        };
        let entries: Option<Vec<_>> = numbers[contacts_at..attachments_at].chunks_exact(contact_size).map(entry).collect();
        let entries = entries.ok_or_else(|| bad("a contact is of a kind that this program does not know".into()))?;
        let state = State {
            step: header.step,
            time: f64::from_bits(header.time_bits),
            displacements: vectors(0, nodes),
            velocities: vectors(3 * nodes, nodes),
            velocity_changes: vectors(6 * nodes, nodes + 2 * rigid),
            rigid_bodies: rigid_bodies.collect(),
            rotations: numbers[tets_at..rigid_at].chunks_exact(4).map(|q| [q[0], q[1], q[2], q[3]]).collect(),
            contacts: WarmStart { entries },
            attachment_forces: vectors(attachments_at, attachments),
        };
        self.stepper.set_state(&state)?;
        (self.step, self.time) = (state.step, state.time);
        Ok(())
    }
}
