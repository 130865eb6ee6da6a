//! What a scene says and a command may change while it runs: settings, materials, friction, what is fixed.

use std::sync::Arc;

use super::setting::Setting;
use super::{BackendInfo, Command, CommandError, Simulation, SimulationError};
use crate::math::Vec3;
use crate::model::{ContactMethod, FixedParts, Friction, Integration, Model, NamedMaterial, Params, State};
use crate::scene::{LiveValues, number_fault};

/// The commands that turn the values of a scene into others.
pub fn commands_between(before: &LiveValues, after: &LiveValues) -> Vec<Command> {
    let ([from, to], mut commands) = ([&before.params, &after.params], vec![]);
    if from.gravity != to.gravity {
        commands.push(Command::SetGravity(to.gravity));
    }
    if from.time_step != to.time_step {
        commands.push(Command::SetTimeStep(to.time_step));
    }
    if from.max_step_ms != to.max_step_ms {
        commands.push(Command::SetMaxStepMs(to.max_step_ms));
    }
    if from.integration != to.integration {
        commands.push(Command::SetIntegration(to.integration));
    }
    let settings = Setting::all(from).into_iter().zip(Setting::all(to)).filter(|(from, to)| from != to);
    commands.extend(settings.map(|(_, to)| Command::Set(to)));
    let materials = after.materials.iter().filter(|named| !before.materials.contains(named));
    commands.extend(materials.cloned().map(Command::SetMaterial));
    if before.friction != after.friction {
        commands.push(Command::SetFriction(after.friction.clone()));
    }
    if before.fixed != after.fixed {
        commands.push(Command::SetFixed(after.fixed.clone()));
    }
    commands
}

impl Simulation {
    /// The values as they are now.
    pub fn live_values(&self) -> LiveValues {
        LiveValues {
            params: self.params,
            materials: self.model.named_materials.clone(),
            friction: self.model.friction(),
            fixed: self.model.fixed_parts.clone(),
        }
    }

    pub(super) fn set(&mut self, setting: &Setting) -> Result<(), CommandError> {
        let (path, number) = setting.declared();
        if let Some(fault) = number.and_then(|number| number_fault(path, number)) {
            return Err(CommandError::BadSetting { path, fault });
        }
        if let Setting::Solver(method) = *setting {
            let refused = |error: SimulationError| CommandError::BadSetting { path, fault: error.to_string() };
            self.backend.check_method(method).map_err(refused)?;
            self.show_method(method);
        }
        setting.put(&mut self.params);
        Ok(())
    }

    /// Advances time in another way from now on; the state stays.
    pub(super) fn set_integration(&mut self, integration: Integration) -> Result<(), CommandError> {
        let failed = |error: String| CommandError::Step(format!("integration is as before: {error}"));
        if self.backend.backend != "gpu" {
            self.params.integration = integration;
            return Ok(());
        }
        let state = self.stepper.state().map_err(|error| failed(error.to_string()))?.clone();
        self.go_on_at(Params { integration, ..self.params }, None, &state).map_err(|error| failed(error.to_string()))
    }

    /// Goes on at a state with other parameters, and with another model if there is one.
    pub(super) fn go_on_at(&mut self, params: Params, model: Option<Arc<Model>>, state: &State) -> Result<(), SimulationError> {
        // Not each stepper of a device has Newton's method.
        let is_other_stepper = self.backend.backend == "gpu" && params.integration != self.params.integration;
        self.show_method(params.method);
        let before = std::mem::replace(&mut self.params, params);
        let gone_on = match model.or_else(|| is_other_stepper.then(|| self.model.clone())) {
            Some(model) => self.go_on_with(model, state),
            None => self.stepper.set_state(state).map_err(SimulationError::from),
        };
        if gone_on.is_err() {
            self.show_method(before.method);
            self.params = before;
        }
        gone_on
    }

    /// Gives pairs of bodies other coefficients; the state stays.
    pub(super) fn set_friction(&mut self, friction: &Friction) -> Result<(), CommandError> {
        let pairs = friction.pairs.iter().map(|pair| pair.friction);
        if let Some(fault) = pairs.chain([friction.default]).find_map(|value| number_fault("contact.friction", value)) {
            return Err(CommandError::BadSetting { path: "contact.friction", fault });
        }
        if self.model.friction() == *friction {
            return Ok(());
        }
        let model = self.model.with_friction(friction).map_err(|body| CommandError::NoBody { body })?;
        let failed = |error: String| CommandError::Step(format!("friction is as before: {error}"));
        let state = self.stepper.state().map_err(|error| failed(error.to_string()))?.clone();
        self.go_on_with(Arc::new(model), &state).map_err(|error| failed(error.to_string()))
    }

    /// Fixes these parts of bodies where they are, and lets go of all others.
    pub(super) fn set_fixed(&mut self, fixed: &[FixedParts]) -> Result<(), CommandError> {
        if self.model.fixed_parts == fixed {
            return Ok(());
        }
        let model = self.model.with_fixed(fixed).map_err(CommandError::NothingToFix)?;
        let failed = |error: String| CommandError::Step(format!("what is fixed is as before: {error}"));
        let mut state = self.stepper.state().map_err(|error| failed(error.to_string()))?.clone();
        for node in (0..model.n_nodes()).filter(|node| model.fixed[*node]) {
            (state.velocities[node], state.velocity_changes[node]) = (Vec3::zeros(), Vec3::zeros());
        }
        // The step before was of another body.
        state.history.clear();
        self.go_on_with(Arc::new(model), &state).map_err(|error| failed(error.to_string()))
    }

    /// Says that steps are solved by `method` from now on.
    pub(super) fn show_method(&mut self, method: ContactMethod) {
        if self.params.method != method {
            self.backend = Arc::new(BackendInfo { solver: method.name(), ..(*self.backend).clone() });
        }
    }

    /// The model with the scene's values but for some materials, and friction and what is fixed if these are told; None
    /// if that is the present one.
    pub(super) fn model_with(
        &self,
        materials: &[NamedMaterial],
        friction: Option<&Friction>,
        fixed: Option<&[FixedParts]>,
    ) -> Result<Option<Arc<Model>>, CommandError> {
        let materials: Vec<NamedMaterial> = self.scene.materials.iter().chain(materials).cloned().collect();
        let changed = self.model_of(&materials)?;
        let friction = friction.unwrap_or(&self.scene.friction);
        let mut model = changed;
        if model.as_ref().unwrap_or(&self.model).friction() != *friction {
            let other = model.as_ref().unwrap_or(&self.model).with_friction(friction);
            model = Some(Arc::new(other.map_err(|body| CommandError::NoBody { body })?));
        }
        let fixed = fixed.unwrap_or(&self.scene.fixed);
        if model.as_ref().unwrap_or(&self.model).fixed_parts != fixed {
            let other = model.as_ref().unwrap_or(&self.model).with_fixed(fixed);
            model = Some(Arc::new(other.map_err(CommandError::NothingToFix)?));
        }
        Ok(model)
    }

    /// What is fixed, if that is not as in the scene any more.
    pub(super) fn changed_fixed(&self) -> Option<Vec<FixedParts>> {
        Some(self.model.fixed_parts.clone()).filter(|fixed| *fixed != self.scene.fixed)
    }

    /// The coefficients, if they are not those of the scene any more.
    pub(super) fn changed_friction(&self) -> Option<Friction> {
        Some(self.model.friction()).filter(|friction| *friction != self.scene.friction)
    }

    /// The settings that are not those of the scene any more.
    pub(super) fn changed_settings(&self) -> Vec<Setting> {
        let pairs = Setting::all(&self.params).into_iter().zip(Setting::all(&self.scene.params));
        pairs.filter(|(now, scene)| now != scene).map(|(now, _)| now).collect()
    }
}
