//! What is followed of every step: warnings, and points that are plotted. The window does not see every step. And what
//! the scene calls its things by now.

use std::sync::Arc;

use super::Loop;
use crate::app::document::Labels;
use crate::scene::Probe;
use crate::step::StepReport;

impl Loop {
    pub(super) fn watch(&mut self, generation: u64, probes: Vec<Probe>) {
        if self.next.scene.as_ref().is_some_and(|scene| scene.generation == generation) {
            self.guarded(|engine| engine.watch(probes));
        }
    }

    pub(super) fn name(&mut self, generation: u64, labels: Labels, set: Vec<String>) {
        if self.next.scene.as_ref().is_some_and(|scene| scene.generation == generation) {
            self.guarded(|engine| engine.name(labels, set));
        }
    }

    /// Takes what the report of the step that was just done warns of.
    pub(super) fn warn(&mut self, report: &StepReport) {
        let (Some(scene), Some(view)) = (&self.next.scene, &self.next.view) else { return };
        let parts = view.values.as_ref().map_or(1, |values| values.params.substeps.max(1));
        Arc::make_mut(&mut self.next.warnings).take(report, view.step + 1, &scene.model, parts);
    }
}
