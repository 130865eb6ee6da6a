//! Settings that are kept, and the hints of the first start.

use super::Session;
use crate::app::settings::Settings;
use crate::app::ui::Hints;
use crate::app::worker::Severity;

impl Session {
    /// Takes over what was kept; `told` is what went wrong with it.
    pub(super) fn take_settings(&mut self, told: Option<String>) {
        let Settings { light_theme, scene_list, side_panel, floor_grid, shadows, hints_seen, commands, .. } = self.settings.kept().clone();
        let ui = &mut self.ui;
        (ui.dark, ui.tree_open, ui.inspector_open, ui.chosen) = (!light_theme, scene_list, side_panel, commands);
        (ui.options.grid, ui.options.shadows) = (floor_grid, shadows);
        if !hints_seen {
            ui.hints = Hints::all();
        }
        if let Some(text) = told {
            self.tell(Severity::Error, text);
        }
    }

    /// Keeps what was changed in this frame. The list of the scene is kept once somebody has opened or closed it.
    pub(super) fn keep_settings(&mut self) {
        let ui = &self.ui;
        let room = ui.tree_for_room;
        let kept = self.settings.keep(|settings| {
            (settings.light_theme, settings.side_panel) = (!ui.dark, ui.inspector_open);
            (settings.floor_grid, settings.shadows) = (ui.options.grid, ui.options.shadows);
            settings.hints_seen = ui.hints.are_over();
            settings.commands.clone_from(&ui.chosen);
            if settings.scene_list.is_some() || ui.tree_open != room {
                settings.scene_list = ui.tree_open;
            }
        });
        kept.unwrap_or_else(|text| self.tell(Severity::Error, text));
    }
}
