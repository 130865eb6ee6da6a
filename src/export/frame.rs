//! Frames: all that files show of a moment of a run.

use std::sync::Arc;

use crate::contact::ContactPressure;
use crate::geometry::MeshError;
use crate::material::Material;
use crate::math::{Isometry, Vec3};
use crate::model::Model;
use crate::model::State;
use crate::scene::{Built, CameraSetting, LightSetting};
use crate::sim::Simulation;
use crate::sim::past::{Picture, pose_between};
use crate::step::StepError;

/// The part of a run that does not change from frame to frame.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The name of the scene.
    pub name: String,
    pub model: Arc<Model>,
    /// Frames per second of simulated time.
    pub frames_per_second: f64,
    /// The number of frames that may come at most: some formats leave room for them.
    pub n_frames: u64,
    /// The camera of films.
    pub camera: CameraSetting,
    pub light: LightSetting,
    /// Width and height of pictures [px].
    pub size: [u32; 2],
}

impl Subject {
    /// As the scene says; how many frames may come is not known yet.
    pub fn of(built: &Built) -> Self {
        Self {
            name: built.name.clone(),
            model: built.model.clone(),
            frames_per_second: built.recording.fps,
            n_frames: 0,
            camera: built.camera,
            light: built.light,
            size: built.recording.size,
        }
    }
}

/// A moment of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Simulated time [s].
    pub time: f64,
    /// Displacements of all nodes [m].
    pub displacements: Vec<Vec3>,
    /// Velocities of all nodes [m/s].
    pub velocities: Vec<[f32; 3]>,
    /// Poses of `model.rigid_bodies`.
    pub rigid_poses: Vec<Isometry>,
    /// Poses of `model.obstacles`.
    pub obstacle_poses: Vec<Isometry>,
    /// Ends of `model.attachments` [m].
    pub attachments: Vec<[Vec3; 2]>,
    /// Contact pressure [Pa] at the vertices of the collision surfaces, then of the rigid bodies
    /// (`contact::ContactPressure`).
    pub contact_pressures: Vec<f32>,
    /// What tets remember beside their rotations, as in [`State::rotations`].
    pub states: Vec<[f64; 4]>,
    /// The materials, in the order of `model.named_materials`, where they are no longer those of the model.
    pub materials: Option<Vec<Material>>,
}

/// Makes frames of one simulation.
#[derive(Debug)]
pub struct Frames {
    contact_pressure: ContactPressure,
    /// Of the model that the frames are of.
    materials: Vec<Material>,
}

impl Frames {
    pub fn new(model: &Model) -> Result<Self, MeshError> {
        Ok(Self { contact_pressure: ContactPressure::new(model)?, materials: materials(model) })
    }

    /// The frame of the current state.
    pub fn take(&self, simulation: &mut Simulation) -> Result<Frame, StepError> {
        let (model, time) = (simulation.model().clone(), simulation.time());
        Ok(self.of_state(&model, simulation.state()?, time))
    }

    /// The frame of a picture of `model`, for files of surfaces. None where it is a picture of another model.
    pub fn of_picture(&self, model: &Model, picture: &Picture) -> Option<Frame> {
        let state = picture.state(model, None)?;
        let (obstacle_poses, attachments) = (picture.obstacle_poses.clone(), picture.details.attachments.clone());
        Some(Frame { obstacle_poses, attachments, ..self.of_state(model, &state, picture.time) })
    }

    fn of_state(&self, model: &Model, state: &State, time: f64) -> Frame {
        let single = |v: &Vec3| [v.x as f32, v.y as f32, v.z as f32];
        Frame {
            time,
            velocities: state.velocities.iter().map(single).collect(),
            rigid_poses: state.rigid_bodies.iter().map(|body| body.pose).collect(),
            obstacle_poses: model.obstacles.iter().map(|obstacle| obstacle.pose_at(state.script_time())).collect(),
            attachments: model.attachments.iter().map(|attachment| state.attachment_points(model, attachment)).collect(),
            contact_pressures: self.contact_pressure.of(model, state).into_iter().map(|p| p as f32).collect(),
            displacements: state.displacements.clone(),
            states: state.rotations[model.tets.len()..].to_vec(),
            materials: Some(materials(model)).filter(|materials| *materials != self.materials),
        }
    }
}

impl Frame {
    /// The frame at a time [s] between this one and the next: in a step everything moves evenly, and so does what acts.
    /// At or after the next one it is that one, to the bit.
    pub fn between(&self, next: &Self, time: f64) -> Self {
        let part = (time - self.time) / (next.time - self.time);
        if part.is_nan() || part >= 1.0 || self.displacements.len() != next.displacements.len() {
            return Self { time, ..next.clone() };
        }
        let part = part.max(0.0);
        let (single, vector) = (|a: f32, b: f32| a + (b - a) * part as f32, |a: &Vec3, b: &Vec3| a + (b - a) * part);
        Self {
            time,
            displacements: mixed(&self.displacements, &next.displacements, vector),
            velocities: mixed(&self.velocities, &next.velocities, |a, b| std::array::from_fn(|i| single(a[i], b[i]))),
            rigid_poses: mixed(&self.rigid_poses, &next.rigid_poses, |a, b| pose_between(a, b, part)),
            obstacle_poses: mixed(&self.obstacle_poses, &next.obstacle_poses, |a, b| pose_between(a, b, part)),
            attachments: mixed(&self.attachments, &next.attachments, |a, b| std::array::from_fn(|end| vector(&a[end], &b[end]))),
            contact_pressures: mixed(&self.contact_pressures, &next.contact_pressures, |a, b| single(*a, *b)),
            states: mixed(&self.states, &next.states, |a, b| std::array::from_fn(|i| a[i] + (b[i] - a[i]) * part)),
            materials: next.materials.clone(),
        }
    }

    /// Positions of all nodes [m].
    pub fn node_positions(&self, model: &Model) -> Vec<Vec3> {
        model.rest_positions.iter().zip(&self.displacements).map(|(x, u)| x + u).collect()
    }
}

fn materials(model: &Model) -> Vec<Material> {
    model.named_materials.iter().map(|named| named.material).collect()
}

fn mixed<T>(a: &[T], b: &[T], mix: impl Fn(&T, &T) -> T) -> Vec<T> {
    a.iter().zip(b).map(|(a, b)| mix(a, b)).collect()
}
