//! A sheet over the window.

use egui::{CornerRadius, Id, Margin, Modal, Ui};

use super::theme;

/// A sheet in the middle of the window; true when it shall be closed.
pub fn sheet_ui(root: &Ui, name: &str, width: f32, contents: impl FnOnce(&mut Ui) -> bool) -> bool {
    let width = width.min(root.ctx().content_rect().width() - 80.0);
    let frame = theme::card(root).inner_margin(Margin::same(22)).corner_radius(CornerRadius::same(16));
    let modal = Modal::new(Id::unique(name)).frame(frame).show(root.ctx(), |ui| {
        ui.set_width(width);
        contents(ui)
    });
    modal.should_close() || modal.inner
}
