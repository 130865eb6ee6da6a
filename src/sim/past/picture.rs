//! What is to be seen at the end of a step.

use std::sync::Arc;

use crate::contact::ContactPressure;
use crate::math::{Isometry, Quat, Vec3};
use crate::model::{Model, State, WarmContact};
use crate::scene::LiveValues;
use crate::sim::{Field, FieldValues, GrabView, Simulation};
use crate::step::{StepError, StepReport};

/// The end of a step, for pictures: positions are rounded once they are kept.
#[derive(Clone, Debug)]
pub struct Picture {
    pub step: u64,
    /// [s]
    pub time: f64,
    /// Of all nodes [m].
    pub positions: Vec<Vec3>,
    /// Of `model.rigid_bodies`.
    pub rigid_poses: Vec<Isometry>,
    /// Of `model.obstacles`.
    pub obstacle_poses: Vec<Isometry>,
    /// What tets remember beside their rotations, as in [`State::rotations`].
    pub rows: Vec<[f64; 4]>,
    pub details: Arc<Details>,
}

/// The part of a picture that is kept as it is.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// The active contacts.
    pub contacts: Vec<WarmContact>,
    /// Ends of `model.attachments` [m].
    pub attachments: Vec<[Vec3; 2]>,
    pub grabs: Vec<GrabView>,
    /// Of the step; none at the start.
    pub report: Option<Arc<StepReport>>,
    pub settings: Arc<Settings>,
}

/// Values that seldom change: pictures share them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// None before there was a picture.
    pub values: Option<LiveValues>,
    /// Of the deformable bodies [kg].
    pub masses: Vec<f64>,
}

impl Simulation {
    /// How everything looks now; `report` is that of the last step.
    pub fn picture(&mut self, report: Option<Arc<StepReport>>) -> Result<Picture, StepError> {
        let model = self.model().clone();
        let masses = model.bodies.iter().map(|body| body.mass).collect();
        let settings = Settings { values: Some(self.live_values()), masses };
        let (attachments, grabs) = (self.attachment_points()?, self.grabs()?);
        let (step, time, obstacle_poses) = (self.step_index(), self.time(), self.obstacle_poses());
        let state = self.state()?;
        let details = Details { contacts: state.contacts.entries.clone(), attachments, grabs, report, settings: Arc::new(settings) };
        Ok(Picture {
            step,
            time,
            positions: state.positions(&model),
            rigid_poses: state.rigid_bodies.iter().map(|rigid| rigid.pose).collect(),
            obstacle_poses,
            rows: state.rotations[model.tets.len()..].to_vec(),
            details: Arc::new(details),
        })
    }
}

impl Picture {
    /// The picture at a time [s] between this one and the next: in a step everything moves evenly. The rest is that of
    /// the nearer one.
    pub fn between(&self, next: &Self, time: f64) -> Self {
        let part = ((time - self.time) / (next.time - self.time)).clamp(0.0, 1.0);
        if part.is_nan() || self.positions.len() != next.positions.len() {
            return self.clone();
        }
        let mix = |a: &Vec3, b: &Vec3| a + (b - a) * part;
        let near = if part < 0.5 { self } else { next };
        let poses = |a: &[Isometry], b: &[Isometry]| a.iter().zip(b).map(|(a, b)| pose_between(a, b, part)).collect();
        let ends = self.details.attachments.iter().zip(&next.details.attachments);
        let attachments = ends.map(|(a, b)| [mix(&a[0], &b[0]), mix(&a[1], &b[1])]).collect();
        // They are of another number where the law of a material was changed between the two.
        let mix_row = |(a, b): (&[f64; 4], &[f64; 4])| std::array::from_fn(|k| a[k] + (b[k] - a[k]) * part);
        let rows = match self.rows.len() == next.rows.len() {
            true => self.rows.iter().zip(&next.rows).map(mix_row).collect(),
            false => near.rows.clone(),
        };
        Self {
            step: near.step,
            time,
            positions: self.positions.iter().zip(&next.positions).map(|(a, b)| mix(a, b)).collect(),
            rigid_poses: poses(&self.rigid_poses, &next.rigid_poses),
            obstacle_poses: poses(&self.obstacle_poses, &next.obstacle_poses),
            rows,
            details: Arc::new(Details { attachments, ..(*near.details).clone() }),
        }
    }

    /// The values of a field, for pictures of `model`; `before` is an earlier one, from which the speed follows. None
    /// where the picture is one of another model.
    pub fn field(&self, field: Field, model: &Model, before: Option<&Picture>) -> Option<FieldValues> {
        let is_stress = matches!(field, Field::VonMises | Field::PrincipalStress);
        let state = self.state(model, before).filter(|_| !is_stress || self.rows.len() == model.n_state_rows())?;
        let pressure = (field == Field::ContactPressure).then(|| ContactPressure::new(model).ok()).flatten();
        Some(field.values(model, &state, pressure.as_ref()))
    }

    /// The state of `model` as far as the picture shows it; velocities follow from `before`, an earlier picture. Where
    /// its materials remember other things than those of then, they do so as at rest. None where the picture is one of
    /// another model.
    pub fn state(&self, model: &Model, before: Option<&Picture>) -> Option<State> {
        if self.positions.len() != model.n_nodes() {
            return None;
        }
        let mut state = State::at_rest(model);
        let rows = &mut state.rotations[model.tets.len()..];
        if self.rows.len() == rows.len() {
            rows.copy_from_slice(&self.rows);
        }
        state.displacements = self.positions.iter().zip(&model.rest_positions).map(|(x, rest)| x - rest).collect();
        state.velocities = match before.filter(|before| before.time < self.time && before.positions.len() == self.positions.len()) {
            Some(before) => {
                let seconds = self.time - before.time;
                self.positions.iter().zip(&before.positions).map(|(now, before)| (now - before) / seconds).collect()
            }
            None => state.velocities,
        };
        for (rigid, pose) in state.rigid_bodies.iter_mut().zip(&self.rigid_poses) {
            rigid.pose = *pose;
        }
        state.time = self.time;
        state.contacts.entries.clone_from(&self.details.contacts);
        Some(state)
    }
}

/// The pose at a part of the way from one to another, 0 to 1: a shift and a turn that are even.
pub fn pose_between(a: &Isometry, b: &Isometry, part: f64) -> Isometry {
    a.try_lerp_slerp(b, part, 1e-9).unwrap_or(if part < 0.5 { *a } else { *b })
}

impl Details {
    /// Memory that they take apart from what pictures share.
    pub fn bytes(&self) -> usize {
        let of_report = self
            .report
            .as_ref()
            .map_or(0, |report| size_of::<StepReport>() + size_of_val(&report.contact.pairs[..]) + size_of_val(&report.stages.times[..]));
        size_of::<Self>() + size_of_val(&self.contacts[..]) + size_of_val(&self.attachments[..]) + size_of_val(&self.grabs[..]) + of_report
    }
}

/// How positions and poses become whole numbers, and back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounding {
    /// [m], a power of two.
    quantum: f64,
}

/// Positions are rounded to this part of the longest side of the smallest body: far below a pixel, and little against
/// the strains that colours show.
const RELATIVE_QUANTUM: f64 = 5e-7;
/// Numbers without a unit are rounded to one over this: the components of rotations, and what tets remember, which is
/// the inverse of their plastic stretch and is shown as precisely as strains are.
const PLAIN_SCALE: f64 = (1 << 22) as f64;

/// How many there are of each thing that pictures show, apart from rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    pub nodes: usize,
    pub rigid: usize,
    pub obstacles: usize,
}

impl Counts {
    pub fn of(model: &Model) -> Self {
        Self { nodes: model.n_nodes(), rigid: model.rigid_bodies.len(), obstacles: model.obstacles.len() }
    }
}

/// What is restored of the numbers of a picture.
pub struct Restored {
    pub positions: Vec<Vec3>,
    pub rigid_poses: Vec<Isometry>,
    pub obstacle_poses: Vec<Isometry>,
    pub rows: Vec<[f64; 4]>,
}

impl Rounding {
    pub fn of(model: &Model) -> Self {
        let side = |body: &crate::model::Body| {
            let nodes = &model.rest_positions[body.nodes.clone()];
            crate::math::Aabb::of(nodes).extent().max()
        };
        let smallest = model.bodies.iter().map(side).filter(|side| side.is_finite() && *side > 0.0).fold(f64::INFINITY, f64::min);
        let smallest = if smallest.is_finite() { smallest } else { 1.0 };
        Self { quantum: (smallest * RELATIVE_QUANTUM).log2().floor().exp2() }
    }

    /// [m]
    pub fn quantum(&self) -> f64 {
        self.quantum
    }

    /// All numbers of a picture, one after the other.
    pub fn numbers(&self, picture: &Picture) -> Vec<i64> {
        // A cast of what is not finite or too large is 0 or the nearest there is.
        let length = |x: f64| (x / self.quantum).round() as i64;
        let mut numbers: Vec<i64> = picture.positions.iter().flat_map(|p| p.iter()).map(|x| length(*x)).collect();
        for pose in picture.rigid_poses.iter().chain(&picture.obstacle_poses) {
            numbers.extend(pose.translation.vector.iter().map(|x| length(*x)));
            numbers.extend(pose.rotation.coords.iter().map(|c| (c * PLAIN_SCALE).round() as i64));
        }
        numbers.extend(picture.rows.iter().flatten().map(|x| (x * PLAIN_SCALE).round() as i64));
        numbers
    }

    /// That of which `numbers` were made.
    pub fn restored(&self, numbers: &[i64], of: Counts) -> Restored {
        let (of_nodes, rest) = numbers.split_at_checked(3 * of.nodes).unwrap_or((numbers, &[]));
        let (of_poses, of_rows) = rest.split_at_checked(7 * (of.rigid + of.obstacles)).unwrap_or((rest, &[]));
        let vector = |n: &[i64]| Vec3::from_fn(|i, _| n[i] as f64 * self.quantum);
        let pose = |n: &[i64]| {
            let [x, y, z, w] = [3, 4, 5, 6].map(|i| n[i] as f64 / PLAIN_SCALE);
            Isometry::from_parts(vector(n).into(), Quat::new_normalize(nalgebra::Quaternion::new(w, x, y, z)))
        };
        let mut rigid_poses: Vec<Isometry> = of_poses.chunks_exact(7).map(pose).collect();
        let obstacle_poses = rigid_poses.split_off(of.rigid.min(rigid_poses.len()));
        let (rows, _) = of_rows.as_chunks();
        Restored {
            positions: of_nodes.chunks_exact(3).map(vector).collect(),
            rigid_poses,
            obstacle_poses,
            rows: rows.iter().map(|row: &[i64; 4]| row.map(|x| x as f64 / PLAIN_SCALE)).collect(),
        }
    }
}
