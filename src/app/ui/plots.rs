//! The pane of plots below the view: charts over time, beside one another, with one cursor for all.

mod chart;

use egui::containers::menu::{MenuButton, MenuConfig};
use egui::{Align, Button, ComboBox, Frame, Layout, Margin, Panel, PopupCloseBehavior, RichText, ScrollArea, Ui, vec2};

use super::access::Meaning;
use super::{Action, PlotsFile, UiContext, UiResponse, UiState, icon, theme};
use crate::app::plots::{Chart, Component, Names, Rows};
use crate::app::tools::Tool;

/// What the pane remembers.
#[derive(Clone, Debug)]
pub struct PlotsState {
    pub open: bool,
    /// In the order of `Chart::ALL`.
    pub charts: Vec<Chart>,
    /// Seconds before the end that are shown; all if none.
    pub seconds: Option<f64>,
    /// The part of the motion of probes that is shown.
    pub component: Component,
    /// Where the mouse is on a chart [s].
    cursor: Option<f64>,
}

impl Default for PlotsState {
    fn default() -> Self {
        let charts = vec![Chart::Energy, Chart::Contacts, Chart::Stages];
        Self { open: false, charts, seconds: None, component: Component::default(), cursor: None }
    }
}

/// What is plotted.
#[derive(Clone, Copy)]
pub struct PlotsView<'a> {
    pub rows: &'a Rows,
    /// The times [s] at the left and the right end.
    pub times: [f64; 2],
    pub names: Names<'a>,
}

const SPANS: [(Option<f64>, &str); 5] =
    [(None, "All"), (Some(30.0), "Last 30 s"), (Some(10.0), "Last 10 s"), (Some(2.0), "Last 2 s"), (Some(0.5), "Last 0.5 s")];
/// The least size of a chart, in points.
const LEAST: [f32; 2] = [210.0, 104.0];
const GAP: f32 = 8.0;

impl PlotsState {
    /// The times [s] at the ends of the charts.
    pub fn times(&self, rows: &Rows) -> [f64; 2] {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return [0.0, 1.0] };
        let start = first.time - first.duration;
        let from = self.seconds.map_or(start, |seconds| start.max(last.time - seconds));
        [from, last.time.max(from + 1e-6)]
    }

    fn toggle(&mut self, chart: Chart) {
        match self.charts.iter().position(|shown| *shown == chart) {
            Some(place) => drop(self.charts.remove(place)),
            None => {
                self.charts.push(chart);
                self.charts.sort();
            }
        }
    }
}

pub fn plots_ui(root: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let palette = theme::palette(root.ctx());
    let frame = Frame::new().fill(palette.panel).inner_margin(Margin { left: 10, right: 10, top: 4, bottom: 8 });
    // The view keeps more than half of the height.
    let most = (0.48 * root.available_height()).max(150.0);
    Panel::bottom("plots").frame(frame).resizable(true).default_size(198.0_f32.min(most)).size_range(150.0..=most).show(root, |ui| {
        header_ui(ui, &mut state.plots, &mut state.tool, context, answers);
        let Some(plots) = context.plots.filter(|plots| !plots.rows.is_empty()) else {
            let told = "Nothing was computed yet: play, and the numbers of each step are plotted here.";
            ui.centered_and_justified(|ui| ui.label(RichText::new(told).color(palette.weak)));
            return;
        };
        if state.plots.charts.is_empty() {
            ui.centered_and_justified(|ui| ui.label(RichText::new("Choose what to plot under “Charts”.").color(palette.weak)));
            return;
        }
        charts_ui(ui, &mut state.plots, &plots, context, answers);
    });
}

fn header_ui(ui: &mut Ui, state: &mut PlotsState, tool: &mut Option<Tool>, context: &UiContext, answers: &mut UiResponse) {
    let small = |text: &str| RichText::new(text.to_owned()).size(12.0);
    ui.horizontal(|ui| {
        ui.set_height(24.0);
        ui.label(RichText::new("Plots").font(theme::strong(12.5)));
        let config = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
        let (button, _) = MenuButton::new((small("Charts"), theme::icon(icon::CARET_DOWN, 11.0))).config(config).ui(ui, |ui| {
            for chart in Chart::ALL {
                let mut shown = state.charts.contains(&chart);
                let choice = ui.checkbox(&mut shown, chart.title()).on_hover_text(chart.meaning());
                if answers.named(format!("plots.choose.{}", chart.title().replace(' ', "_")), choice).changed() {
                    state.toggle(chart);
                }
            }
        });
        answers.named("plots.charts", button.on_hover_text("Choose what is plotted"));
        let span = SPANS.iter().find(|(seconds, _)| *seconds == state.seconds).map_or("All", |(_, name)| name);
        let combo = ComboBox::from_id_salt("plots.span").width(84.0).selected_text(small(span)).show_ui(ui, |ui| {
            for (seconds, name) in SPANS {
                ui.selectable_value(&mut state.seconds, seconds, small(name));
            }
        });
        answers.named("plots.span", combo.response.on_hover_text("How much of the past is plotted"));
        if state.charts.contains(&Chart::Probes) {
            probes_ui(ui, state, tool, context, answers);
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let close = Button::new(theme::icon(icon::X, 13.0)).frame_when_inactive(false);
            if answers.named("plots.close", ui.add(close).meaning("Fold the plots away  (N)")).clicked() {
                state.open = false;
            }
            let can_save = context.plots.is_some_and(|plots| !plots.rows.is_empty());
            ui.add_enabled_ui(can_save, |ui| {
                let files = [
                    ("PNG", "plots.png", PlotsFile::Picture, "Save the charts that are shown as a picture"),
                    ("CSV", "plots.csv", PlotsFile::Csv, "Save all numbers of all steps as a table"),
                ];
                for (name, widget, file, hint) in files {
                    let button = Button::new((theme::icon(icon::FLOPPY_DISK, 13.0), small(name))).frame_when_inactive(false);
                    if answers.named(widget, ui.add(button).on_hover_text(hint)).clicked() {
                        answers.act(Action::SavePlots(file));
                    }
                }
            });
        });
    });
}

/// How probes are plotted, and those that are set by a click.
fn probes_ui(ui: &mut Ui, state: &mut PlotsState, tool: &mut Option<Tool>, context: &UiContext, answers: &mut UiResponse) {
    let small = |text: &str| RichText::new(text.to_owned()).size(12.0);
    let shown = Component::ALL.iter().find(|(component, _)| *component == state.component).map_or("", |(_, name)| name);
    let combo = ComboBox::from_id_salt("plots.component").width(56.0).selected_text(small(shown)).show_ui(ui, |ui| {
        for (component, name) in Component::ALL {
            ui.selectable_value(&mut state.component, component, small(name));
        }
    });
    answers.named("plots.component", combo.response.on_hover_text("The part of the motion of probes that is plotted"));
    let is_setting = *tool == Some(Tool::Probe);
    let set = Button::new(small("Set a probe")).selected(is_setting);
    if answers.named("plots.set_probe", ui.add(set).on_hover_text("Click a point of a soft body to plot how it moves")).clicked() {
        *tool = (!is_setting).then_some(Tool::Probe);
    }
    if !context.marks.probes.is_empty() {
        let clear = Button::new(theme::icon(icon::X, 11.0)).frame_when_inactive(false);
        if answers.named("plots.clear_probes", ui.add(clear).meaning("Forget the probes that were set by a click")).clicked() {
            answers.act(Action::ClearProbes);
        }
    }
}

fn charts_ui(ui: &mut Ui, state: &mut PlotsState, plots: &PlotsView, context: &UiContext, answers: &mut UiResponse) {
    let room = ui.available_size();
    let across = ((room.x + GAP) / (LEAST[0] + GAP)).floor().clamp(1.0, state.charts.len() as f32);
    let down = (state.charts.len() as f32 / across).ceil();
    let height = ((room.y - GAP * (down - 1.0)) / down).max(LEAST[1]);
    let shown_before = state.cursor.take();
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        let width = (ui.available_width() + GAP) / across - GAP;
        ui.spacing_mut().item_spacing = vec2(GAP, GAP);
        for line in state.charts.clone().chunks(across as usize) {
            ui.horizontal(|ui| {
                for shown in line {
                    let cursor = state.cursor.or(shown_before);
                    let hovered = chart::chart_ui(ui, vec2(width, height), *shown, plots, cursor, context, answers);
                    state.cursor = hovered.or(state.cursor);
                }
            });
        }
    });
    // The others show the place of the cursor in the next frame.
    if state.cursor != shown_before {
        ui.ctx().request_repaint();
    }
}
