//! A state on disk: a line of JSON that names its scene, its parameters and its grabs, plain little-endian numbers, and
//! a checksum of both.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::grab::Held;
use super::naming::{self, Naming};
use super::pace::Pace;
use super::{Command, CommandLog, Simulation, SimulationError};
use crate::math::{Isometry, Mat3, Quat, Vec3};
use crate::model::{
    FixedParts, Friction, History, InjectivityProof, LaterPose, Model, NamedMaterial, PairId, PairKind, Params, RigidState, State,
    WarmContact, WarmStart,
};
use crate::output::{OutputError, OutputFile};
use crate::step::StepError;

#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    #[error("{0}; nothing was saved")]
    Write(#[from] OutputError),
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} is not a saved state of this program: {reason}", path.display())]
    NotAState { path: PathBuf, reason: String },
    #[error(
        "{} was saved from another scene ({saved}, this one has {present}); open the scene it was saved from, with the same --set values",
        path.display()
    )]
    OtherScene { path: PathBuf, saved: String, present: String },
    #[error(transparent)]
    Solver(#[from] SimulationError),
    #[error(transparent)]
    Step(#[from] StepError),
}

/// Whose parameters a resumed simulation goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumedParams {
    /// The parameters of the saved state: the run goes on bit for bit. Files of formats 2 and 3 have no parameters; the
    /// simulation then keeps its own.
    Saved,
    /// The parameters that the simulation has.
    Present,
}

#[derive(Serialize, Deserialize)]
struct Header {
    format: String,
    scene: String,
    nodes: usize,
    /// Rotations of tets, and the rows that they remember beside those.
    tets: usize,
    rigid_bodies: usize,
    contacts: usize,
    /// None in files from before there were any.
    #[serde(default)]
    attachments: usize,
    /// Deformable bodies that are tangled, ascending; none in files from before there were any.
    #[serde(default)]
    tangled: Vec<usize>,
    /// Bits of how long each of them has been so [s]; none in files from before it counted.
    #[serde(default)]
    tangled_time_bits: Vec<u64>,
    /// Of each deformable body, the steps in a row in which its factor for contact has said too little; none in files
    /// from before that was counted.
    #[serde(default)]
    outgrown: Vec<u32>,
    /// Of each deformable body, the steps in a row in which its corrections were slow; none in files from before that
    /// was counted.
    #[serde(default)]
    slow: Vec<u32>,
    /// Deformable bodies whose factor for contact is of a later pose, ascending; none in files from before there were
    /// any.
    #[serde(default)]
    later_poses: Vec<usize>,
    step: u64,
    /// With which parts the next steps begin; whole ones in files from before that was kept.
    #[serde(default)]
    pace: Pace,
    /// Bits of the time [s], so that it comes back exactly.
    time_bits: u64,
    /// Bits of the time [s] that given motions have waited; none where they have not.
    #[serde(default)]
    script_delay_bits: Option<u64>,
    /// Bits of the time step [s] of the history of a step of second order; none where there is no history.
    #[serde(default)]
    history_bits: Option<u64>,
    /// Deformable bodies of which is known whether they can touch themselves: all or, in files from before that was
    /// kept, none.
    #[serde(default)]
    proofs: usize,
    /// None before format 4.
    #[serde(default)]
    params: Option<Params>,
    /// Materials that are not those of the scene any more.
    #[serde(default)]
    materials: Vec<NamedMaterial>,
    /// Coefficients of friction, if they are not those of the scene any more.
    #[serde(default)]
    friction: Option<Friction>,
    /// Likewise, what is fixed.
    #[serde(default)]
    fixed: Option<Vec<FixedParts>>,
    /// The grabs in progress, each as the commands that start it.
    #[serde(default)]
    grabs: Vec<Command>,
    /// The name of each kind of pair, in the order by which contacts name it.
    #[serde(default = "old_pair_kinds")]
    pair_kinds: Vec<String>,
}

const FORMAT: &str = "pliant state 4";
/// Without parameters, grabs and checksum.
const FORMAT_3: &str = "pliant state 3";
/// Without the slips of sticking contacts, too.
const FORMAT_2: &str = "pliant state 2";

/// Numbers of a contact: three of its pair, normal force, whether it slides, friction force, and slip.
const CONTACT_SIZE: usize = 11;
const CONTACT_SIZE_2: usize = 8;
/// Numbers of a rigid body: pose and two velocities.
const RIGID_SIZE: usize = 13;
/// Numbers of a proof that a body cannot touch itself: its rotation, zeros if there is none, and its age.
const PROOF_SIZE: usize = 10;
const CHECKSUM_BYTES: usize = 8;

/// Kinds of pairs as files before format 4 number them.
fn old_pair_kinds() -> Vec<String> {
    ["vertex_obstacle", "edge_obstacle", "triangle_obstacle", "vertex_triangle", "edge_edge"].map(str::to_owned).into()
}

impl Simulation {
    /// Writes the state and all that acts on it to `path`: complete, or not at all.
    pub fn save(&mut self, path: &Path) -> Result<(), SaveError> {
        self.save_named(path, &|_, name| name.to_owned())
    }

    /// The same with the names of things that the scene will have where it goes on.
    pub fn save_named(&mut self, path: &Path, naming: Naming) -> Result<(), SaveError> {
        let (scene, step, grabs) = (self.name.clone(), self.step, self.held.iter().flat_map(Held::commands).collect());
        let materials = self.changed_materials().into_iter().map(|named| naming::material(named, naming)).collect();
        let friction = self.changed_friction().map(|friction| naming::friction(friction, naming));
        let fixed = self.changed_fixed().map(|parts| naming::fixed(parts, naming));
        let state = self.stepper.state()?;
        let header = Header {
            format: FORMAT.into(),
            scene,
            nodes: state.displacements.len(),
            tets: state.rotations.len(),
            rigid_bodies: state.rigid_bodies.len(),
            contacts: state.contacts.entries.len(),
            attachments: state.attachment_forces.len(),
            tangled: (0..state.tangled.len()).filter(|body| state.tangled[*body]).collect(),
            tangled_time_bits: tangled_times(state),
            outgrown: state.outgrown.clone(),
            slow: state.slow.clone(),
            later_poses: (0..state.later_poses.len()).filter(|body| state.later_poses[*body].is_some()).collect(),
            step,
            pace: self.pace,
            time_bits: state.time.to_bits(),
            script_delay_bits: (state.script_delay != 0.0).then_some(state.script_delay.to_bits()),
            proofs: state.proofs.len(),
            history_bits: (!state.history.is_smooth.is_empty()).then_some(state.history.time_step.to_bits()),
            params: Some(self.params),
            materials,
            friction,
            fixed,
            grabs,
            pair_kinds: PairKind::ALL.map(|kind| kind.name().to_owned()).into(),
        };
        let mut bytes = serde_json::to_vec(&header).map_err(|error| OutputError::of(path, error.into()))?;
        bytes.push(b'\n');
        put_numbers(state, |x| bytes.extend_from_slice(&x.to_le_bytes()));
        bytes.extend_from_slice(&checksum(&bytes).to_le_bytes());
        Ok(OutputFile::save(path, &bytes)?)
    }

    /// Continues from a state that `save` wrote, of the same scene, as if the run had not stopped.
    pub fn resume(&mut self, path: &Path) -> Result<(), SaveError> {
        self.resume_with(path, ResumedParams::Saved)
    }

    /// The same with a choice of parameters.
    pub fn resume_with(&mut self, path: &Path, whose: ResumedParams) -> Result<(), SaveError> {
        let bytes = fs::read(path).map_err(|source| SaveError::Read { path: path.into(), source })?;
        let bad = |reason: String| SaveError::NotAState { path: path.into(), reason };
        let (header, body) = parse(&bytes).map_err(bad)?;
        let changed = match whose {
            ResumedParams::Saved => {
                let changed = self.model_with(&header.materials, header.friction.as_ref(), header.fixed.as_deref());
                changed.map_err(|error| bad(error.to_string()))?
            }
            ResumedParams::Present => None,
        };
        let model = changed.as_ref().unwrap_or(&self.model);
        let of_scene = [model.n_nodes(), model.tets.len() + model.n_state_rows(), model.rigid_bodies.len(), model.attachments.len()];
        if [header.nodes, header.tets, header.rigid_bodies, header.attachments] != of_scene {
            return Err(SaveError::OtherScene {
                path: path.into(),
                saved: format!("\"{}\", {} nodes, {} tets", header.scene, header.nodes, header.tets),
                present: format!("{} nodes, {} tets", of_scene[0], of_scene[1]),
            });
        }
        let state = read_state(&header, body, model).map_err(bad)?;
        let held = held(model, &header.grabs).map_err(bad)?;
        let params = match (header.params, whose) {
            // No step between two whole ones is saved, and which ones are accepted is the caller's.
            (Some(saved), ResumedParams::Saved) => Params { acceptance: self.params.acceptance, ..saved },
            _ => self.params,
        };
        self.backend.check_method(params.method)?;
        self.go_on_at(params, changed, &state)?;
        self.continue_from(header.step, header.pace, held);
        if whose == ResumedParams::Present {
            // A session that begins here finds the state wherever it is repeated from.
            let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
            self.log = CommandLog::of_resumed(header.step, path, self.values_as_commands());
        }
        Ok(())
    }
}

/// The grabs that were in progress.
fn held(model: &Model, commands: &[Command]) -> Result<Vec<Held>, String> {
    let mut all: Vec<Held> = vec![];
    for command in commands {
        match (*command).clone() {
            Command::Grab { id, triangle, barycentric, target } => {
                all.push(Held::new(model, id, triangle, barycentric, target).map_err(|error| error.to_string())?);
            }
            Command::Grip { id, grip } => match all.last_mut().filter(|held| held.id == id) {
                Some(held) => held.take(model, grip),
                None => return Err("one of its grips is of no grab".into()),
            },
            _ => return Err("one of its grabs is none".into()),
        }
    }
    Ok(all)
}

/// The numbers of a state, in the order in which `read_state` takes them.
fn put_numbers(state: &State, mut put: impl FnMut(f64)) {
    state.displacements.iter().chain(&state.velocities).chain(&state.velocity_changes).flat_map(|v| v.iter()).for_each(|x| put(*x));
    state.rotations.iter().flatten().for_each(|x| put(*x));
    for rigid in &state.rigid_bodies {
        rigid.pose.translation.vector.iter().chain(rigid.pose.rotation.coords.iter()).for_each(|x| put(*x));
        rigid.velocity.iter().chain(rigid.angular_velocity.iter()).for_each(|x| put(*x));
    }
    for InjectivityProof { rotation, age } in &state.proofs {
        rotation.unwrap_or_else(Mat3::zeros).iter().for_each(|x| put(*x));
        put(f64::from(*age));
    }
    for c in &state.contacts.entries {
        let kind = PairKind::ALL.iter().position(|kind| *kind == c.pair.kind).expect("joints are not remembered as contacts") as f64;
        let pair = [kind, f64::from(c.pair.first), f64::from(c.pair.second)];
        pair.into_iter().chain([c.normal_force, f64::from(u8::from(c.sliding))]).for_each(&mut put);
        c.friction_force.iter().chain(c.slip.iter()).for_each(|x| put(*x));
    }
    state.attachment_forces.iter().flat_map(|f| f.iter()).for_each(|x| put(*x));
    let History { mean_velocities, previous_velocities, is_smooth, .. } = &state.history;
    mean_velocities.iter().chain(previous_velocities).flat_map(|v| v.iter()).for_each(|x| put(*x));
    is_smooth.iter().for_each(|is_smooth| put(f64::from(u8::from(*is_smooth))));
    for pose in state.later_poses.iter().flatten() {
        pose.displacements.iter().flat_map(|u| u.iter()).chain(pose.rotations.iter().flatten()).for_each(|x| put(*x));
    }
}

/// The header of a file and the bytes of its numbers.
fn parse(bytes: &[u8]) -> Result<(Header, &[u8]), String> {
    let end = bytes.iter().position(|b| *b == b'\n').ok_or("its first line is missing")?;
    let header: Header = serde_json::from_slice(&bytes[..end]).map_err(|error| error.to_string())?;
    let body = match header.format.as_str() {
        FORMAT => {
            let (content, sum) = bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or("it is cut off")?;
            if content.len() <= end || u64::from_le_bytes(*sum) != checksum(content) {
                return Err("its checksum does not fit: it was damaged or cut off".into());
            }
            &content[end + 1..]
        }
        FORMAT_3 | FORMAT_2 => &bytes[end + 1..],
        other => return Err(format!("its format is \"{other}\", not \"{FORMAT}\"")),
    };
    Ok((header, body))
}

/// The state of a file of a scene.
fn read_state(header: &Header, body: &[u8], model: &Model) -> Result<State, String> {
    let n_bodies = model.bodies.len();
    let &Header { nodes, tets, rigid_bodies, contacts, attachments, proofs, .. } = header;
    let contact_size = if header.format == FORMAT_2 { CONTACT_SIZE_2 } else { CONTACT_SIZE };
    let (chunks, rest) = body.as_chunks::<8>();
    let numbers: Vec<f64> = chunks.iter().map(|chunk| f64::from_le_bytes(*chunk)).collect();
    // Velocity changes have two blocks more a rigid body.
    let unknowns = nodes + 2 * rigid_bodies;
    let history = header.history_bits.map_or(0, |_| 3 * 2 * nodes + n_bodies);
    if header.later_poses.iter().any(|body| *body >= n_bodies) {
        return Err("it has poses of bodies that this scene does not have".into());
    }
    let pose_sizes = |body: usize| [3 * model.bodies[body].nodes.len(), 4 * model.element_rows(body).iter().map(Range::len).sum::<usize>()];
    let poses: usize = header.later_poses.iter().flat_map(|body| pose_sizes(*body)).sum();
    let lists = 4 * tets + RIGID_SIZE * rigid_bodies + contact_size * contacts + PROOF_SIZE * proofs;
    let expected = 3 * (2 * nodes + unknowns + attachments) + lists + history + poses;
    if numbers.len() != expected || !rest.is_empty() {
        return Err(format!("it is cut off: {} of {expected} numbers", numbers.len()));
    }
    if let Some(at) = numbers.iter().position(|x| !x.is_finite()) {
        return Err(format!("number {at} is not finite"));
    }
    let mut left = &numbers[..];
    let mut take = |n: usize| left.split_off(..n).unwrap_or_default();
    let vectors = |numbers: &[f64]| numbers.chunks_exact(3).map(Vec3::from_column_slice).collect::<Vec<Vec3>>();
    let kinds: Option<Vec<PairKind>> =
        header.pair_kinds.iter().map(|name| PairKind::ALL.into_iter().find(|kind| kind.name() == name)).collect();
    let kinds = kinds.ok_or("it has contacts of a kind that this program does not know")?;
    let counts = |counts: &[u32]| (0..n_bodies).map(|body| counts.get(body).copied().unwrap_or(0)).collect();
    let mut state = State {
        time: f64::from_bits(header.time_bits),
        script_delay: header.script_delay_bits.map_or(0.0, f64::from_bits),
        displacements: vectors(take(3 * nodes)),
        velocities: vectors(take(3 * nodes)),
        velocity_changes: vectors(take(3 * unknowns)),
        rotations: take(4 * tets).as_chunks().0.to_vec(),
        rigid_bodies: take(RIGID_SIZE * rigid_bodies).chunks_exact(RIGID_SIZE).map(rigid_state).collect(),
        proofs: take(PROOF_SIZE * proofs).chunks_exact(PROOF_SIZE).map(proof).collect(),
        contacts: WarmStart {
            entries: take(contact_size * contacts)
                .chunks_exact(contact_size)
                .map(|numbers| warm_contact(numbers, &kinds))
                .collect::<Option<_>>()
                .ok_or("a contact is of a kind that it does not name")?,
        },
        attachment_forces: vectors(take(3 * attachments)),
        tangled: (0..n_bodies).map(|body| header.tangled.contains(&body)).collect(),
        tangled_times: (0..n_bodies).map(|body| tangled_time(header, body)).collect(),
        history: header.history_bits.map_or_else(History::default, |time_step| History {
            time_step: f64::from_bits(time_step),
            mean_velocities: vectors(take(3 * nodes)),
            previous_velocities: vectors(take(3 * nodes)),
            is_smooth: take(n_bodies).iter().map(|is_smooth| *is_smooth != 0.0).collect(),
        }),
        outgrown: counts(&header.outgrown),
        slow: counts(&header.slow),
        later_poses: vec![None; n_bodies],
    };
    for body in &header.later_poses {
        let [displacements, rotations] = pose_sizes(*body).map(&mut take);
        let pose = LaterPose { displacements: vectors(displacements), rotations: rotations.as_chunks().0.to_vec() };
        state.later_poses[*body] = Some(Arc::new(pose));
    }
    Ok(state)
}

fn proof(n: &[f64]) -> InjectivityProof {
    let rotation = Mat3::from_column_slice(&n[..PROOF_SIZE - 1]);
    InjectivityProof { rotation: Some(rotation).filter(|rotation| *rotation != Mat3::zeros()), age: n[PROOF_SIZE - 1] as u32 }
}

fn tangled_times(state: &State) -> Vec<u64> {
    let times = state.tangled.iter().zip(&state.tangled_times);
    times.filter(|(is_tangled, _)| **is_tangled).map(|(_, time)| time.to_bits()).collect()
}

/// How long a body has been tangled [s].
fn tangled_time(header: &Header, body: usize) -> f64 {
    let place = header.tangled.iter().position(|tangled| *tangled == body);
    place.and_then(|place| header.tangled_time_bits.get(place)).map_or(0.0, |bits| f64::from_bits(*bits))
}

fn rigid_state(n: &[f64]) -> RigidState {
    let rotation = Quat::new_unchecked(nalgebra::Quaternion::new(n[6], n[3], n[4], n[5]));
    RigidState {
        pose: Isometry::from_parts(Vec3::new(n[0], n[1], n[2]).into(), rotation),
        velocity: Vec3::new(n[7], n[8], n[9]),
        angular_velocity: Vec3::new(n[10], n[11], n[12]),
    }
}

/// None if the file does not name its kind of pair.
fn warm_contact(n: &[f64], kinds: &[PairKind]) -> Option<WarmContact> {
    let pair = PairId { kind: *kinds.get(n[0] as usize)?, first: n[1] as u32, second: n[2] as u32 };
    let slip = n.get(8..).filter(|slip| !slip.is_empty()).map_or_else(Vec3::zeros, Vec3::from_column_slice);
    Some(WarmContact { pair, normal_force: n[3], sliding: n[4] != 0.0, friction_force: Vec3::new(n[5], n[6], n[7]), slip, place: None })
}

/// FNV-1a [Fowler, Noll & Vo 1991]. A single changed byte always changes the sum: every turn of it is a bijection.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
