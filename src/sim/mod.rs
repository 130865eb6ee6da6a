//! The one owner of a running simulation: apply a `Command`, `step`, look. Knows nothing of windows, threads or clocks.

mod advance;
mod backend;
pub mod checker;
mod checkpoint;
mod command;
mod field;
mod grab;
mod grip;
mod health;
mod machine;
mod materials;
mod moving;
mod naming;
mod opening;
mod pace;
pub mod past;
mod put_back;
pub mod report;
mod save;
mod session;
mod setting;
mod start;
mod tally;
pub mod threads;
#[cfg(test)]
mod tests;
mod values;
pub mod warnings;

use std::sync::Arc;

use backend::open_backend;
pub use backend::{BackendInfo, Options, adapter_name, settle_backend};
use checker::{Overlap, PenetrationChecker};
pub use checkpoint::{Checkpoint, TravelError, Way};
pub use command::{Command, CommandError, CommandLog, LoggedCommand};
pub use field::{Field, FieldValues};
pub use grab::GrabView;
use grab::{Hand, Held};
pub use grip::Grip;
pub use health::Health;
pub use machine::{Machine, instructions};
pub use naming::Naming;
use pace::Pace;
pub use save::{ResumedParams, SaveError};
pub use session::{BranchId, GrowingSession, Session, SessionBranch, SessionError, SessionHeader, SessionTree};
pub use setting::Setting;
pub use start::{OverlapError, StartOverlap};
pub use tally::{StepRecord, Tally};
pub use threads::{StepperError, Threaded};
pub use values::commands_between;

use crate::budget::Budget;
use crate::cancel::{CancelToken, Cancelled};
use crate::contact::ContactPressure;
use crate::contact::generate::set_apart;
use crate::elastic::{BeyondRange, beyond_range};
use crate::math::{Isometry, Vec3};
use crate::model::{AcceptancePolicy, HeldPoint, Loads, MAX_GRABS, Model, Params, State};
use crate::scene::{BackendChoice, Built, Force, LiveValues, Probe};
use crate::step::{StepError, StepReport, Stepper, SurfacePositions, free_fall};

#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    #[error("no GPU backend: {0}. Use --backend cpu (or backend = \"cpu\"), or auto to let the program choose")]
    Device(#[from] backend::DeviceError),
    #[error(transparent)]
    Stepper(StepperError),
    #[error("the {backend} backend does not have the solver \"{solver}\"; it has {offered}")]
    Solver { solver: &'static str, backend: &'static str, offered: String },
    #[error(transparent)]
    Step(#[from] StepError),
    #[error(transparent)]
    Overlap(#[from] OverlapError),
    #[error("the opening of the simulation was {0}")]
    Cancelled(#[from] Cancelled),
    #[error("a recorded grab of the scene does not fit its bodies: {0}")]
    Hand(CommandError),
}

impl From<StepperError> for SimulationError {
    fn from(error: StepperError) -> Self {
        match error {
            StepperError::Cancelled(cancelled) => Self::Cancelled(cancelled),
            error => Self::Stepper(error),
        }
    }
}

/// A point without a contact force that is deeper than this many contact tolerances was missed, not merely solved with
/// little accuracy.
const MISSED_TOLERANCES: f64 = 20.0;

/// Steps from one look at the ranges of models to the next. A look costs about a twentieth of the quickest step, and on
/// a device that keeps the state to itself some tenths, as it is fetched.
const LOOK_EVERY: u64 = 16;
const LOOK_EVERY_ON_DEVICE: u64 = 64;
/// Once something was found all tets are looked at, which takes up to half of a step: so many times more seldom.
const LOOK_AGAIN: u64 = 4;

/// Who and what may end a whole step.
#[derive(Clone)]
struct Control {
    cancel: CancelToken,
    budget: Budget,
}

pub struct Simulation {
    name: String,
    model: Arc<Model>,
    params: Params,
    forces: Vec<Force>,
    probes: Vec<Probe>,
    /// Points that are followed beside the probes of the scene, for plots.
    watched: Vec<Probe>,
    /// On the meshes, for the report.
    notes: Vec<String>,
    /// Owns the state, and with it the time.
    stepper: Box<dyn Stepper>,
    backend: Arc<BackendInfo>,
    /// How backends are opened.
    options: Options,
    /// The CPU goes on where the device has no room for a step, as the device was not asked for by name.
    falls_back: bool,
    /// What may be changed, as the scene has it.
    scene: LiveValues,
    /// Grabs that commands have begun.
    held: Vec<Held>,
    /// The scene's recorded hands.
    hands: Vec<Hand>,
    /// Whole steps since the start, however many solves each of them took.
    step: u64,
    /// With which parts steps begin.
    pace: Pace,
    log: CommandLog,
    tally: Tally,
    checker: PenetrationChecker,
    measuring: bool,
    /// For pictures, once it was asked for.
    contact_pressure: Option<ContactPressure>,
}

impl Simulation {
    pub fn new(built: Built, options: &Options) -> Result<Self, SimulationError> {
        Self::new_unless(built, options, &CancelToken::default())
    }

    /// The same, which ends with [`SimulationError::Cancelled`] soon after `cancel` is cancelled.
    pub fn new_unless(built: Built, options: &Options, cancel: &CancelToken) -> Result<Self, SimulationError> {
        let Built { name, model, params, forces, grabs, probes, backend, notes, .. } = built;
        cancel.check()?;
        let [looked, made] = opening::parts(&model);
        cancel.report("looking whether the start is free of contact", 0.0);
        let start = start(&model, &params);
        cancel.check()?;
        let checker = PenetrationChecker::new(&model);
        cancel.check()?;
        start::check_start(&checker, &model, &start, params.contact_tolerance)?;
        cancel.check()?;
        cancel.report("preparing the solver", looked);
        let hands = Hand::all(&model, grabs).map_err(SimulationError::Hand)?;
        let scene =
            LiveValues { params, materials: model.named_materials.clone(), friction: model.friction(), fixed: model.fixed_parts.clone() };
        let choice = options.backend.unwrap_or(backend);
        let params_of_solve = Params { time_step: solve_duration(&params), ..params };
        let (mut stepper, backend) = open_backend(choice, &params_of_solve, options, &model, &cancel.part(looked, made))?;
        cancel.check()?;
        let falls_back = choice == BackendChoice::Auto && backend.backend == "gpu";
        let acceptance = if options.accept_unconverged { AcceptancePolicy::MustNotCross } else { AcceptancePolicy::MustConverge };
        let params = Params { acceptance, ..params };
        // A stepper that cannot take its start fails in the first step too, and that failure is reported.
        let _ = stepper.set_state(&start);
        stepper.prepare(&params_of_solve, &cancel.part(made, 1.0));
        cancel.check()?;
        Ok(Self {
            name,
            model,
            params,
            forces,
            probes,
            watched: vec![],
            notes,
            stepper,
            backend: Arc::new(backend),
            options: options.clone(),
            falls_back,
            scene,
            held: vec![],
            hands,
            step: 0,
            pace: Pace::default(),
            log: CommandLog::default(),
            tally: Tally::default(),
            checker,
            measuring: false,
            contact_pressure: None,
        })
    }

    /// Name of the scene.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The values that commands may change, as the scene has them.
    pub fn scene_values(&self) -> &LiveValues {
        &self.scene
    }

    pub fn probes(&self) -> &[Probe] {
        &self.probes
    }

    /// Follows these points beside the probes of the scene, instead of those before.
    pub fn watch(&mut self, probes: Vec<Probe>) {
        self.watched = probes;
    }

    /// The backend that computes now: the CPU in place of a device that had no room for a step.
    pub fn backend(&self) -> &Arc<BackendInfo> {
        &self.backend
    }

    /// Whole steps done since the start: one divided into substeps, or halved, is one.
    pub fn step_index(&self) -> u64 {
        self.step
    }

    /// [s]
    pub fn time(&self) -> f64 {
        self.stepper.time()
    }

    /// The commands since the start.
    pub fn log(&self) -> &CommandLog {
        &self.log
    }

    /// Statistics of the steps so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Measure the penetration after every step with the independent checker (reads the surface back from the device).
    pub fn set_measuring(&mut self, measuring: bool) {
        self.measuring = measuring;
    }

    /// Does what a command says, and logs it. A command that is refused changes nothing.
    pub fn apply(&mut self, command: &Command) -> Result<(), CommandError> {
        self.carry_out(command)?;
        match command {
            Command::Reset => self.log = CommandLog::of_reset(self.values_as_commands()),
            _ => self.log.push(self.step, command.clone()),
        }
        Ok(())
    }

    fn carry_out(&mut self, command: &Command) -> Result<(), CommandError> {
        match *command {
            Command::SetMaterial(ref named) => self.set_materials(std::slice::from_ref(named))?,
            Command::Set(ref setting) => self.set(setting)?,
            Command::SetFriction(ref friction) => self.set_friction(friction)?,
            Command::SetFixed(ref fixed) => self.set_fixed(fixed)?,
            Command::Grab { id, triangle, barycentric, target } => {
                finite("the target of a grab", &target)?;
                let held = Held::new(&self.model, id, triangle, barycentric, target)?;
                let time = self.time();
                let others = self.held.iter().filter(|h| h.id != id).count() + self.hands.iter().filter(|hand| !hand.is_over(time)).count();
                if others >= MAX_GRABS {
                    return Err(CommandError::TooManyGrabs);
                }
                self.held.retain(|h| h.id != id);
                self.held.push(held);
            }
            Command::MoveGrab { id, target } => {
                finite("the target of a grab", &target)?;
                self.held.iter_mut().find(|h| h.id == id).ok_or(CommandError::NoGrab { id })?.target = target;
            }
            Command::Grip { id, grip } => {
                if !(grip.radius.is_finite() && grip.radius >= 0.0) {
                    return Err(CommandError::BadValue {
                        what: "the radius of a grip",
                        and: " and not below 0",
                        value: grip.radius.to_string(),
                    });
                }
                self.held.iter_mut().find(|h| h.id == id).ok_or(CommandError::NoGrab { id })?.take(&self.model, grip);
            }
            Command::ReleaseGrab { id } => {
                let before = self.held.len();
                self.held.retain(|h| h.id != id);
                if self.held.len() == before {
                    return Err(CommandError::NoGrab { id });
                }
            }
            Command::SetGravity(gravity) => {
                finite("gravity", &gravity)?;
                self.params.gravity = gravity;
            }
            Command::SetTimeStep(dt) => {
                if !(dt.is_finite() && dt > 0.0) {
                    return Err(CommandError::BadValue { what: "the time step", and: " and above 0", value: dt.to_string() });
                }
                self.params.time_step = dt;
            }
            Command::SetMaxStepMs(ms) => {
                if !(ms.is_finite() && ms >= 0.0) {
                    return Err(CommandError::BadValue { what: "the work of a step", and: " and not below 0", value: ms.to_string() });
                }
                self.params.max_step_ms = ms;
            }
            Command::SetIntegration(integration) => self.set_integration(integration)?,
            Command::PutBack { ref body } => self.put_back(body)?,
            Command::MoveBodies { ref bodies, ref translation, ref rotation } => self.move_bodies(bodies, translation, rotation)?,
            Command::Reset => {
                let state = start(&self.model, &self.params);
                self.stepper.set_state(&state).map_err(|e| CommandError::Step(e.to_string()))?;
                self.continue_from(0, Pace::default(), vec![]);
            }
        }
        Ok(())
    }

    /// The commands that give the values of now to the scene as it starts.
    fn values_as_commands(&self) -> Vec<Command> {
        let Params { time_step, gravity, max_step_ms, integration, .. } = self.params;
        let params = [
            Command::SetTimeStep(time_step),
            Command::SetGravity(gravity),
            Command::SetMaxStepMs(max_step_ms),
            Command::SetIntegration(integration),
        ];
        let settings = self.changed_settings().into_iter().map(Command::Set);
        let materials = self.changed_materials().into_iter().map(Command::SetMaterial);
        let [friction, fixed] = [self.changed_friction().map(Command::SetFriction), self.changed_fixed().map(Command::SetFixed)];
        params.into_iter().chain(settings).chain(materials).chain(friction).chain(fixed).collect()
    }

    /// Goes on at the stepper's state after `step` steps, with new figures and a new log.
    fn continue_from(&mut self, step: u64, pace: Pace, held: Vec<Held>) {
        (self.step, self.pace, self.held) = (step, pace, held);
        (self.tally, self.log) = (Tally::default(), CommandLog::starting_at(step));
    }

    /// Advances by one time step. A step that fails is rolled back and retried in halves; if these fail too, the state
    /// from before the step stands. After several that failed steps begin in halves ([`Pace`]).
    pub fn step(&mut self) -> Result<StepReport, StepError> {
        self.step_unless(&CancelToken::default())
    }

    /// The same, which ends with `StepError::Cancelled` soon after `cancel` is cancelled and then leaves the state as
    /// it was.
    pub fn step_unless(&mut self, cancel: &CancelToken) -> Result<StepReport, StepError> {
        let start = std::time::Instant::now();
        let control = Control { cancel: cancel.clone(), budget: Budget::of_ms(self.params.max_step_ms) };
        let pace = self.pace;
        let mut report = self.advance_substeps(&control).inspect_err(|_| self.pace = pace)?;
        self.step += 1;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let penetration = if self.measuring { Some(self.measure()?) } else { None };
        report.beyond_range = self.look_at_ranges()?;
        self.tally.record(&report, self.time(), ms, penetration);
        report.hanging = self.tally.hanging_now().collect();
        Ok(report)
    }

    /// Bodies that are deformed beyond what their models hold, after some steps only.
    fn look_at_ranges(&mut self) -> Result<Vec<BeyondRange>, StepError> {
        let every = if self.backend.backend == "gpu" { LOOK_EVERY_ON_DEVICE } else { LOOK_EVERY };
        let again = if self.tally.beyond_range.is_empty() { 1 } else { LOOK_AGAIN };
        if !self.step.is_multiple_of(every * again) {
            return Ok(vec![]);
        }
        Ok(beyond_range(&self.model, self.stepper.state()?, self.step / every))
    }

    /// Takes the state of the device to the CPU backend, for good: one that changed to and fro would be neither fast
    /// nor easy to understand.
    fn go_on_on_cpu(&mut self, error: &StepError) -> Result<(), StepError> {
        self.falls_back = false;
        let state = self.stepper.state()?.clone();
        let step = self.step;
        let no_room = |error: SimulationError| StepError::DeviceTooSmall { step, reason: error.to_string() };
        let never = CancelToken::default();
        let (stepper, info) = open_backend(BackendChoice::Cpu, &self.params, &self.options, &self.model, &never).map_err(no_room)?;
        self.stepper = stepper;
        self.stepper.set_state(&state)?;
        self.backend = Arc::new(BackendInfo { reason: format!("{error}. The CPU goes on"), ..info });
        Ok(())
    }

    fn loads(&mut self, control: &Control) -> Result<Loads, StepError> {
        let Control { cancel, budget } = control.clone();
        let mut loads = Loads { step: self.step, cancel, budget, ..Loads::default() };
        let time = self.time();
        for force in self.forces.iter().filter(|f| (f.start..f.end).contains(&time)) {
            loads.node_forces.resize(self.model.n_nodes(), Vec3::zeros());
            let mass: f64 = force.nodes.iter().map(|n| self.model.node_masses[*n as usize]).sum();
            for n in &force.nodes {
                loads.node_forces[*n as usize] += force.force * (self.model.node_masses[*n as usize] / mass);
            }
        }
        let motions = self.held_motions()?;
        loads.grabs = self.acting().zip(motions).map(|(held, (position, _))| held.load(&position)).collect();
        Ok(loads)
    }

    /// The grabs that act now: those of commands, then those of the scene's hands.
    fn acting(&self) -> impl Iterator<Item = Held> {
        let time = self.time();
        self.held.iter().cloned().chain(self.hands.iter().filter_map(move |hand| hand.held_at(time)))
    }

    /// Positions [m] and velocities [m/s] of the held points.
    fn held_motions(&mut self) -> Result<Vec<(Vec3, Vec3)>, StepError> {
        let points: Vec<HeldPoint> = self.acting().map(|held| held.point).collect();
        self.stepper.motions(&points)
    }

    /// How everything stands, on the host.
    pub fn state(&mut self) -> Result<&State, StepError> {
        self.stepper.state()
    }

    /// Positions of the surface vertices, where the backend has them.
    pub fn surface(&mut self) -> SurfacePositions {
        self.stepper.surface()
    }

    /// Node positions [m].
    pub fn node_positions(&mut self) -> Result<Vec<Vec3>, StepError> {
        Ok(self.stepper.state()?.positions(&self.model))
    }

    /// Poses of `model.rigid_bodies` now.
    pub fn rigid_poses(&mut self) -> Result<Vec<Isometry>, StepError> {
        if self.model.rigid_bodies.is_empty() {
            return Ok(vec![]); // nothing to fetch from a device
        }
        Ok(self.stepper.state()?.rigid_bodies.iter().map(|r| r.pose).collect())
    }

    /// Poses of `model.obstacles` now.
    pub fn obstacle_poses(&self) -> Vec<Isometry> {
        self.model.obstacles.iter().map(|o| o.pose_at(self.stepper.script_time())).collect()
    }

    /// Where the ends of `model.attachments` are [m].
    pub fn attachment_points(&mut self) -> Result<Vec<[Vec3; 2]>, StepError> {
        if self.model.attachments.is_empty() {
            return Ok(vec![]); // nothing to fetch from a device
        }
        let state = self.stepper.state()?;
        Ok(self.model.attachments.iter().map(|attachment| state.attachment_points(&self.model, attachment)).collect())
    }

    /// The grabs in progress, those of the scene's hands too.
    pub fn grabs(&mut self) -> Result<Vec<GrabView>, StepError> {
        let motions = self.held_motions()?;
        Ok(self.acting().zip(motions).map(|(held, motion)| held.view(motion)).collect())
    }

    /// Deepest penetration on the present geometry, of bodies in obstacles, in one another and in themselves [m].
    pub fn penetration(&mut self) -> Result<f64, StepError> {
        Ok(self.checker.penetration(&self.model, self.stepper.state()?))
    }

    /// Bodies with a surface of triangles that overlap on the present geometry, by the independent checker.
    pub fn overlaps(&mut self) -> Result<Vec<Overlap>, StepError> {
        Ok(self.checker.overlaps(&self.model, self.stepper.state()?))
    }

    /// Measures the geometry at the end of a step: counts missed contacts, returns the penetration [m].
    fn measure(&mut self) -> Result<f64, StepError> {
        let state = self.stepper.state()?;
        let penetration = self.checker.penetration(&self.model, state);
        let tolerance = MISSED_TOLERANCES * self.params.contact_tolerance;
        // Whatever was missed is as deep.
        if penetration > tolerance {
            self.tally.missed_candidates += self.checker.missed_candidates(&self.model, state, tolerance);
        }
        Ok(penetration)
    }
}

/// Duration of each of the solves that a step is divided into [s].
fn solve_duration(params: &Params) -> f64 {
    params.time_step / f64::from(params.substeps.max(1))
}

/// The state at time 0. The first solve starts from free fall, so that a body which nothing holds falls with g t to the
/// last bit and not to the solver's tolerance. Bodies that touch exactly are set apart.
fn start(model: &Model, params: &Params) -> State {
    let velocity_changes = free_fall(model, &Params { time_step: solve_duration(params), ..*params }).collect();
    let mut state = State { velocity_changes, ..State::initial(model) };
    set_apart(model, &mut state, params.contact_tolerance);
    state
}

/// The start of a simulation and what judges it, once that has found no overlaps.
pub fn checked_start(model: &Model, params: &Params) -> Result<(State, PenetrationChecker), OverlapError> {
    let (state, checker) = (start(model, params), PenetrationChecker::new(model));
    start::check_start(&checker, model, &state, params.contact_tolerance)?;
    Ok((state, checker))
}

fn finite(what: &'static str, v: &Vec3) -> Result<(), CommandError> {
    if v.iter().all(|c| c.is_finite()) {
        Ok(())
    } else {
        Err(CommandError::BadValue { what, and: "", value: format!("{:?}", v.as_slice()) })
    }
}
