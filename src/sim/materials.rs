//! Materials that change while a simulation runs.

use std::sync::Arc;

use super::backend::{open_backend, with_device};
use super::{BackendInfo, CommandError, Simulation, SimulationError};
use crate::cancel::CancelToken;
use crate::element::ElementKind;
use crate::model::{Model, NamedMaterial, State};
use crate::scene::{BackendChoice, material_fault};

impl Simulation {
    /// Gives materials other numbers or models; the state stays.
    pub(super) fn set_materials(&mut self, materials: &[NamedMaterial]) -> Result<(), CommandError> {
        let Some(model) = self.model_of(materials)? else { return Ok(()) };
        let failed = |error: String| CommandError::Step(format!("the material is as before: {error}"));
        let state = self.stepper.state().map_err(|error| failed(error.to_string()))?.carried(&self.model, &model);
        self.go_on_with(model, &state).map_err(|error| failed(error.to_string()))
    }

    /// The present model with other materials; none where it has them already.
    pub(super) fn model_of(&self, materials: &[NamedMaterial]) -> Result<Option<Arc<Model>>, CommandError> {
        let mut changed: Option<Model> = None;
        for named in materials {
            if let Some(fault) = material_fault(&named.material) {
                return Err(CommandError::BadMaterial { name: named.name.clone(), fault });
            }
            let model = changed.as_ref().unwrap_or(&self.model);
            if !model.named_materials.contains(named) {
                changed = Some(model.with_material(named).ok_or_else(|| self.no_material(&named.name))?);
            }
        }
        // Elements are chosen at the start.
        let is_of_patches = |model: &Model, place: u32| {
            let bodies = model.bodies.iter().filter(|body| body.element != ElementKind::Linear);
            bodies.flat_map(|body| &model.tets[body.tets.clone()]).any(|tet| tet.material == place)
        };
        if let Some(model) = &changed {
            let for_linear = (0..).zip(&model.materials).filter(|(_, material)| material.is_for_linear_tets());
            if for_linear.into_iter().any(|(place, _)| is_of_patches(model, place)) {
                let fault = "what has a degeneration ratio needs element = \"linear\", which is chosen at the start".to_owned();
                return Err(CommandError::BadMaterial {
                    name: materials.last().map(|named| named.name.clone()).unwrap_or_default(),
                    fault,
                });
            }
        }
        Ok(changed.map(Arc::new))
    }

    /// Goes on with another model at `state`. A model is constant, and so are the factors and tables that backends make
    /// of it: a new stepper of the same backend takes the place of the present one, just as where a saved state is
    /// resumed, and to the same bits.
    pub(super) fn go_on_with(&mut self, model: Arc<Model>, state: &State) -> Result<(), SimulationError> {
        let choice = BackendChoice::from_name(self.backend.backend).unwrap_or(BackendChoice::Cpu);
        if choice == BackendChoice::Gpu {
            // Else each change would open a device of its own.
            self.options = with_device(&self.options)?;
        }
        let (mut stepper, info) = open_backend(choice, &self.params, &self.options, &model, &CancelToken::default())?;
        // A state that a stepper cannot take fails in its next step too, and that failure is reported.
        let _ = stepper.set_state(state);
        self.held.iter_mut().for_each(|held| held.reweigh(&model));
        self.hands.iter_mut().for_each(|hand| hand.reweigh(&model));
        // Why this backend computes is what it was.
        let reason = self.backend.reason.clone();
        (self.model, self.stepper, self.backend) = (model, stepper, Arc::new(BackendInfo { reason, ..info }));
        Ok(())
    }

    /// The materials that are not those of the scene any more.
    pub(super) fn changed_materials(&self) -> Vec<NamedMaterial> {
        let is_changed = |(now, scene): &(&NamedMaterial, &NamedMaterial)| now != scene;
        self.model.named_materials.iter().zip(&self.scene.materials).filter(is_changed).map(|(now, _)| now.clone()).collect()
    }

    fn no_material(&self, name: &str) -> CommandError {
        let names: Vec<String> = self.model.named_materials.iter().map(|named| format!("\"{}\"", named.name)).collect();
        CommandError::NoMaterial { name: name.to_owned(), offered: names.join(", ") }
    }
}
