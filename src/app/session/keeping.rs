//! Settings that are kept, and the hints of the first start.

use super::Session;
use crate::app::film::{FORMATS, FilmSettings};
use crate::app::plots::Chart;
use crate::app::settings::{Settings, WindowSettings};
use crate::app::ui::{Hints, PlotsState, SPEEDS, UiState};
use crate::app::worker::{Request, Severity};
use crate::record::FilmFormat;
use crate::sim::Field;

impl Session {
    /// Takes over what was kept; `told` is what went wrong with it.
    pub(super) fn take_settings(&mut self, told: Option<String>) {
        let kept: Settings = self.settings.kept().clone();
        let ui = &mut self.ui;
        (ui.dark, ui.tree_open, ui.inspector_open, ui.chosen) = (!kept.light_theme, kept.scene_list, kept.side_panel, kept.commands);
        (ui.options.grid, ui.options.shadows, ui.contacts) = (kept.floor_grid, kept.shadows, kept.contacts);
        ui.asks_past = kept.asks_past;
        ui.field = kept.color.and_then(|title| Field::ALL.into_iter().find(|field| field.title() == title));
        ui.plots.open = kept.plots_open;
        if let Some(titles) = kept.plots {
            ui.plots.charts = Chart::ALL.into_iter().filter(|chart| titles.iter().any(|title| title == chart.title())).collect();
        }
        let format = FORMATS.into_iter().find(|(_, name, _)| kept.film_format.as_deref() == Some(name));
        ui.film.format = format.map_or(ui.film.format, |(format, ..)| format);
        (ui.film.size, ui.film.frames_per_second) = (kept.film_size, kept.film_rate);
        ui.film.motion = kept.film_motion.unwrap_or(ui.film.motion);
        if let Some((speed, _)) = SPEEDS.into_iter().find(|(_, name)| kept.speed.as_deref() == Some(name)) {
            ui.speed = speed;
            self.worker.send(Request::SetSpeed(speed));
        }
        self.grip.firm = kept.firm_grip;
        if !kept.hints_seen {
            self.ui.hints = Hints::all();
        }
        if let Some(text) = told {
            self.tell(Severity::Error, text);
        }
    }

    /// Keeps what was changed in this frame. The list of the scene is kept once somebody has opened or closed it.
    pub(super) fn keep_settings(&mut self) {
        let (ui, firm_grip) = (&self.ui, self.grip.firm);
        let room = ui.tree_for_room;
        let kept = self.settings.keep(|settings| {
            (settings.light_theme, settings.side_panel) = (!ui.dark, ui.inspector_open);
            (settings.floor_grid, settings.shadows) = (ui.options.grid, ui.options.shadows);
            (settings.hints_seen, settings.asks_past) = (ui.hints.are_over(), ui.asks_past);
            settings.commands.clone_from(&ui.chosen);
            (settings.contacts, settings.plots_open, settings.film_size) = (ui.contacts, ui.plots.open, ui.film.size);
            settings.color = ui.field.map(|field| field.title().to_owned());
            keep_choice(&mut settings.plots, titles(&ui.plots.charts), titles(&PlotsState::default().charts));
            keep_choice(&mut settings.film_motion, ui.film.motion, FilmSettings::default().motion);
            (settings.film_rate, settings.firm_grip) = (ui.film.frames_per_second, firm_grip);
            keep_choice(&mut settings.speed, speed_name(ui.speed), speed_name(UiState::default().speed));
            keep_choice(&mut settings.film_format, format_name(ui.film.format), format_name(FilmSettings::default().format));
            if settings.scene_list.is_some() || ui.tree_open != room {
                settings.scene_list = ui.tree_open;
            }
        });
        kept.unwrap_or_else(|text| self.tell(Severity::Error, text));
    }

    /// Keeps the window as it is left; without a size, that of before.
    pub fn keep_window(&mut self, window: WindowSettings) {
        let kept = self.settings.keep(|settings| {
            let before = settings.window.size;
            settings.window = window;
            settings.window.size = settings.window.size.or(before);
        });
        kept.unwrap_or_else(|text| self.tell(Severity::Error, text));
    }
}

/// Keeps what somebody has chosen; a later version may have another usual one.
fn keep_choice<T: PartialEq>(kept: &mut Option<T>, now: T, usual: T) {
    if kept.is_some() || now != usual {
        *kept = Some(now);
    }
}

fn titles(charts: &[Chart]) -> Vec<String> {
    charts.iter().map(|chart| chart.title().to_owned()).collect()
}

fn format_name(format: FilmFormat) -> String {
    FORMATS.iter().find(|(known, ..)| *known == format).map_or_else(String::new, |(_, name, _)| (*name).to_owned())
}

fn speed_name(speed: f64) -> String {
    SPEEDS.iter().find(|(known, _)| *known == speed).map_or_else(String::new, |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_chose_is_not_kept() {
        let mut kept = None;
        keep_choice(&mut kept, 1, 1);
        assert_eq!(kept, None);
        keep_choice(&mut kept, 2, 1);
        keep_choice(&mut kept, 1, 1);
        assert_eq!(kept, Some(1), "the usual one was chosen again");
        assert!(FORMATS.iter().all(|(format, name, _)| format_name(*format) == *name));
        assert!(SPEEDS.iter().all(|(speed, name)| speed_name(*speed) == *name));
    }
}
