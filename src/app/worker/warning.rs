//! Warnings gather on the simulation's thread: the window does not see every step.

use std::sync::Arc;

use super::Loop;
use crate::step::StepReport;

impl Loop {
    /// Takes what the report of the step that was just done warns of.
    pub(super) fn warn(&mut self, report: &StepReport) {
        let (Some(scene), Some(view)) = (&self.next.scene, &self.next.view) else { return };
        let parts = view.values.as_ref().map_or(1, |values| values.params.substeps.max(1));
        Arc::make_mut(&mut self.next.warnings).take(report, view.step + 1, &scene.model, parts);
    }
}
