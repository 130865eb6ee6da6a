//! Everything that can be done to a running simulation, and the log of what was done.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::math::Vec3;
use crate::model::{FixedParts, Friction, Integration, MAX_GRABS, NamedMaterial};
use crate::sim::grip::Grip;
use crate::sim::setting::Setting;

/// Something done to a running simulation between two steps. A start and its logged commands give the same state
/// again, bit for bit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Holds a material point: `barycentric` in surface triangle `triangle`. Triangles count through
    /// `model.surface.triangles`, then through the triangles of the free rigid bodies in their order
    /// (`Model::first_held_triangle`); static and driven bodies cannot be held. The point is pulled to `target` [m].
    Grab {
        id: u32,
        triangle: u32,
        barycentric: [f64; 3],
        #[serde(with = "crate::math::components")]
        target: Vec3,
    },
    MoveGrab {
        id: u32,
        #[serde(with = "crate::math::components")]
        target: Vec3,
    },
    ReleaseGrab {
        id: u32,
    },
    /// Changes how a grab holds.
    Grip {
        id: u32,
        grip: Grip,
    },
    /// [m/s^2]
    SetGravity(#[serde(with = "crate::math::components")] Vec3),
    /// [s]
    SetTimeStep(f64),
    /// Work that a step may do [ms], 0 for as much as it takes: `Params::max_step_ms`.
    SetMaxStepMs(f64),
    /// Gives the material of this name (`Model::named_materials`) other numbers or another model, in all that is made
    /// of it. The state stays; the same command with the material from before takes it back.
    SetMaterial(NamedMaterial),
    SetIntegration(Integration),
    /// Turns a number or a choice of the solver.
    Set(Setting),
    /// Gives all pairs of bodies their coefficients of friction.
    SetFriction(Friction),
    /// Fixes these parts of deformable bodies where they are, and lets go of all others.
    SetFixed(Vec<FixedParts>),
    /// Puts a body back to where it started, with the velocity that it had there, while all others go on.
    PutBack {
        body: String,
    },
    /// Carries bodies to another place as they are, together: turned about the world's origin by a rotation vector
    /// [rad], then shifted [m].
    MoveBodies {
        bodies: Vec<String>,
        #[serde(with = "crate::math::components")]
        translation: Vec3,
        #[serde(with = "crate::math::components")]
        rotation: Vec3,
    },
    /// Back to the start; parameters stay.
    Reset,
}

#[derive(Debug, thiserror::Error, PartialEq)]
pub enum CommandError {
    #[error(
        "triangle {triangle} cannot be held: deformable and rigid bodies have {n_triangles} triangles, and static and driven bodies do not react"
    )]
    NoTriangle { triangle: u32, n_triangles: usize },
    #[error("no grab has the number {id}; start one with Grab first")]
    NoGrab { id: u32 },
    #[error("{MAX_GRABS} grabs act already, or will by the scene; release one first")]
    TooManyGrabs,
    #[error("{what} must be finite{and}, got {value}")]
    BadValue { what: &'static str, and: &'static str, value: String },
    #[error("there is no material \"{name}\"; the scene has {offered}")]
    NoMaterial { name: String, offered: String },
    #[error("material \"{name}\": {fault}")]
    BadMaterial { name: String, fault: String },
    #[error("{path}: {fault}")]
    BadSetting { path: &'static str, fault: String },
    #[error("the scene has no body \"{body}\" that friction could be of")]
    NoBody { body: String },
    #[error("{0}")]
    NothingToFix(String),
    #[error("there is no body \"{body}\" that moves freely")]
    NothingFree { body: String },
    #[error("\"{body}\" cannot go back to where it started, as something is there now: {fault}")]
    NoRoom { body: String, fault: String },
    #[error("\"{}\" and \"{}\" would overlap there, {millimetres} mm deep; move it further away, or to another side", .bodies[0], .bodies[1])]
    InTheWay { bodies: [String; 2], millimetres: String },
    #[error("\"{body}\" is pinned, or fixed by the scene, and stays where it is; unpin it first, then move it")]
    Fixed { body: String },
    #[error("{0}")]
    Step(String),
}

impl Command {
    /// Whether it changes a value of the scene.
    pub fn is_change(&self) -> bool {
        !matches!(
            self,
            Self::Grab { .. }
                | Self::MoveGrab { .. }
                | Self::ReleaseGrab { .. }
                | Self::Grip { .. }
                | Self::PutBack { .. }
                | Self::MoveBodies { .. }
                | Self::Reset
        )
    }

    /// Whether nothing is left of `earlier` once this command follows it without a step between them.
    pub fn overrides(&self, earlier: &Self) -> bool {
        match (earlier, self) {
            (Self::MoveGrab { id: earlier, .. }, Self::MoveGrab { id, .. }) => earlier == id,
            (Self::Grip { id: earlier, .. }, Self::Grip { id, .. }) => earlier == id,
            (Self::SetMaterial(earlier), Self::SetMaterial(new)) => earlier.name == new.name,
            (Self::Set(earlier), Self::Set(new)) => earlier.is_alike(new),
            (Self::SetFriction(_), Self::SetFriction(_))
            | (Self::SetFixed(_), Self::SetFixed(_))
            | (Self::SetGravity(_), Self::SetGravity(_))
            | (Self::SetTimeStep(_), Self::SetTimeStep(_))
            | (Self::SetMaxStepMs(_), Self::SetMaxStepMs(_)) => true,
            _ => false,
        }
    }
}

/// A command that was applied, and how many steps were done by then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoggedCommand {
    pub step: u64,
    pub command: Command,
}

/// The commands since a start, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandLog {
    /// Steps that were done at the start of the log: none, or those of the saved state that was resumed.
    pub first_step: u64,
    /// The file of that state, where the values that the simulation had then stand at the beginning of the log.
    pub state: Option<PathBuf>,
    pub entries: Vec<LoggedCommand>,
}

impl CommandLog {
    /// A log that starts after `first_step` steps.
    pub fn starting_at(first_step: u64) -> Self {
        Self { first_step, state: None, entries: vec![] }
    }

    /// An empty log that starts where another one does.
    pub fn starting_as(other: &Self) -> Self {
        Self { first_step: other.first_step, state: other.state.clone(), entries: vec![] }
    }

    /// Logs a command. Only the last move of a grab between two steps is kept, and the last change of a value: no step
    /// has seen the others.
    pub fn push(&mut self, step: u64, command: Command) {
        self.entries.pop_if(|last| last.step == step && command.overrides(&last.command));
        self.entries.push(LoggedCommand { step, command });
    }

    /// The commands that were given when `step` steps were done.
    pub fn at(&self, step: u64) -> &[LoggedCommand] {
        let first = self.entries.partition_point(|logged| logged.step < step);
        let n = self.entries[first..].partition_point(|logged| logged.step == step);
        &self.entries[first..first + n]
    }

    /// The log right after a reset: what was before counts no more, except for the values that it left.
    pub fn of_reset(values: Vec<Command>) -> Self {
        let commands = values.into_iter().chain([Command::Reset]);
        Self { first_step: 0, state: None, entries: commands.map(|command| LoggedCommand { step: 0, command }).collect() }
    }

    /// The log right after a saved state was taken up with the values that there were.
    pub fn of_resumed(first_step: u64, state: PathBuf, values: Vec<Command>) -> Self {
        let entries = values.into_iter().map(|command| LoggedCommand { step: first_step, command }).collect();
        Self { first_step, state: Some(state), entries }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::{Material, MaterialModel};
    use crate::model::{Ball, Extent};

    #[test]
    fn commands_survive_as_text_to_the_bit() {
        let odd = Vec3::new(0.1 + 0.2, -1.0 / 3.0, 5e-324);
        let odd_material = NamedMaterial { name: "gum".into(), material: Material { young_modulus: 1e5 / 3.0, ..Material::default() } };
        let commands = [
            (Command::Grab { id: 1, triangle: 7, barycentric: [0.25, 1.0 / 3.0, f64::MIN_POSITIVE], target: odd }, "grab"),
            (Command::MoveGrab { id: 1, target: odd }, "move_grab"),
            (Command::ReleaseGrab { id: 1 }, "release_grab"),
            (Command::Grip { id: 1, grip: Grip { radius: 1.0 / 3.0, firm: true } }, "grip"),
            (Command::SetGravity(odd), "set_gravity"),
            (Command::SetTimeStep(0.1), "set_time_step"),
            (Command::SetMaxStepMs(0.1), "set_max_step_ms"),
            (Command::SetMaterial(odd_material), "set_material"),
            (Command::SetIntegration(Integration::Bdf2), "set_integration"),
            (Command::Set(Setting::ContactTolerance(1e-5 / 3.0)), "contact_tolerance"),
            (Command::Set(Setting::Solver(crate::model::ContactMethod::CrDiag)), "cr-diag"),
            (
                Command::SetFriction(Friction {
                    default: 0.1 + 0.2,
                    pairs: vec![crate::model::PairFriction { a: "bar".into(), b: "floor".into(), friction: 1.0 / 3.0 }],
                }),
                "set_friction",
            ),
            (
                Command::SetFixed(vec![FixedParts {
                    body: "bar".into(),
                    parts: vec![
                        Extent::Side { axis: 0, high: true },
                        Extent::Box { min: odd, max: odd },
                        Extent::Spheres(vec![Ball { center: odd, radius: 1.0 / 3.0 }]),
                    ],
                }]),
                "set_fixed",
            ),
            (Command::PutBack { body: "bar[2]".into() }, "put_back"),
            (Command::MoveBodies { bodies: vec!["bar[2]".into()], translation: odd, rotation: odd }, "move_bodies"),
            (Command::Reset, "reset"),
        ];
        for (command, name) in commands {
            let text = serde_json::to_string(&LoggedCommand { step: 3, command: command.clone() }).unwrap();
            assert!(text.contains(&format!("\"{name}\"")), "{text}");
            assert_eq!(serde_json::from_str::<LoggedCommand>(&text).unwrap().command, command);
        }
        for wrong in [r#"{"step":1,"command":{"grap":{"id":1}}}"#, r#"{"step":1,"command":{"release_grab":{"id":1,"x":2}}}"#] {
            assert!(serde_json::from_str::<LoggedCommand>(wrong).is_err(), "{wrong}");
        }
    }

    /// A person may leave out what stays at its default; models go by the names of scene files.
    #[test]
    fn a_material_may_be_written_in_part() {
        for model in MaterialModel::ALL {
            let text = format!(r#"{{"set_material":{{"name":"gum","material":{{"model":"{}","poisson_ratio":0.4}}}}}}"#, model.name());
            let Command::SetMaterial(named) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
            assert_eq!(named.material, Material { model: *model, poisson_ratio: 0.4, ..Material::default() });
        }
        assert!(serde_json::from_str::<Command>(r#"{"set_material":{"name":"gum","material":{"stifness":1.0}}}"#).is_err());
    }

    #[test]
    fn moves_that_no_step_has_seen_are_not_kept() {
        let mut log = CommandLog::default();
        let at = |x: f64| Command::MoveGrab { id: 1, target: Vec3::x() * x };
        for (step, command) in [(0, at(1.0)), (0, at(2.0)), (1, at(3.0)), (1, Command::MoveGrab { id: 2, target: Vec3::x() }), (1, at(4.0))]
        {
            log.push(step, command);
        }
        let kept: Vec<_> = log.entries.iter().map(|entry| (entry.step, &entry.command)).collect();
        assert_eq!(kept, [(0, &at(2.0)), (1, &at(3.0)), (1, &Command::MoveGrab { id: 2, target: Vec3::x() }), (1, &at(4.0))]);
    }
}
