//! The sheet for films, large pictures and exports.

use egui::{Align, Button, ComboBox, DragValue, Layout, RichText, ScrollArea, Ui, vec2};

use super::access::Meaning;
use super::sheet::sheet_ui;
use super::{Action, RecordAction, UiContext, UiResponse, UiState, icon, theme};
use crate::app::exporting::{self, Span};
use crate::app::film::{FORMATS, MOTION_SECONDS, Motion, RATES, SIZES, TIME, meaning_of_format, time_to_film};
use crate::record::FilmFormat;

/// What the window knows about pictures that can be made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Studio {
    /// Times of the first and the last recorded picture [s].
    pub recorded: Option<[f64; 2]>,
    /// Pictures a second as the scene says.
    pub frames_per_second: f64,
    /// Size of the view [px].
    pub view: [u32; 2],
    /// The largest picture that the adapter draws [px].
    pub limit: u32,
    /// What is written beside the window.
    pub job: Option<JobView>,
}

/// Files on their way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobView {
    /// What is done now, in words.
    pub stage: &'static str,
    /// The part that is done, 0 to 1.
    pub part: f32,
    /// It can end here and keep what there is.
    pub may_stop: bool,
}

/// A recording in progress.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordingView {
    pub frames: u64,
    /// Length of the film so far [s].
    pub seconds: f64,
    /// [px]
    pub size: [u32; 2],
    /// Number of frames of a film of the past.
    pub of: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tab {
    #[default]
    Film,
    Picture,
    Export,
}

/// What is set on the sheet beside the film's own settings.
#[derive(Clone, Debug)]
pub struct RecordState {
    pub open: bool,
    pub tab: Tab,
    /// The film is one of what was recorded, between these times [s].
    from_past: bool,
    range: Option<[f64; 2]>,
    picture: Option<[u32; 2]>,
    picture_transparent: bool,
    export_ending: &'static str,
    export_of: ExportOf,
    export_seconds: f64,
}

/// What an export is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ExportOf {
    #[default]
    Moment,
    On,
    Past,
}

impl Default for RecordState {
    fn default() -> Self {
        Self {
            open: false,
            tab: Tab::Film,
            from_past: false,
            range: None,
            picture: None,
            picture_transparent: false,
            export_ending: "glb",
            export_of: ExportOf::Moment,
            export_seconds: 2.0,
        }
    }
}

const KNOWN_SIZES: [([u32; 2], &str); 4] =
    [([1280, 720], "1280 × 720"), ([1920, 1080], "1920 × 1080"), ([2560, 1440], "2560 × 1440"), ([3840, 2160], "3840 × 2160")];

pub fn record_ui(root: &Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    if !state.record.open {
        return;
    }
    let mut done = false;
    let closed = sheet_ui(root, "record", 490.0, |ui| {
        let closed = ui.horizontal(|ui| {
            for (tab, name) in [(Tab::Film, "Film"), (Tab::Picture, "Picture"), (Tab::Export, "Export")] {
                let label = RichText::new(name).font(theme::strong(15.0));
                if answers.named(format!("record.tab.{name}"), ui.selectable_label(state.record.tab == tab, label)).clicked() {
                    state.record.tab = tab;
                }
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let close = Button::new(theme::icon(icon::X, 14.0)).frame_when_inactive(false);
                answers.named("record.close", ui.add(close).meaning("Close  (Esc)")).clicked()
            })
            .inner
        });
        ui.add_space(10.0);
        match state.record.tab {
            Tab::Film => film_ui(ui, state, context, answers, &mut done),
            Tab::Picture => picture_ui(ui, state, context, answers, &mut done),
            Tab::Export => export_ui(ui, state, context, answers, &mut done),
        }
        closed.inner
    });
    state.record.open &= !closed && !done;
}

/// A row with its name at the left.
fn row_ui(ui: &mut Ui, name: &str, contents: impl FnOnce(&mut Ui)) {
    ui.horizontal(|ui| {
        ui.set_min_height(28.0);
        ui.allocate_ui_with_layout(vec2(104.0, 24.0), Layout::left_to_right(Align::Center), |ui| {
            ui.set_min_width(104.0);
            ui.label(RichText::new(name).color(theme::palette(ui.ctx()).weak));
        });
        contents(ui);
    });
}

fn main_button(ui: &mut Ui, glyph: &str, label: &str, is_enabled: bool) -> egui::Response {
    let palette = theme::palette(ui.ctx());
    let words = (theme::icon(glyph, 15.0).color(palette.on_accent), RichText::new(label).color(palette.on_accent));
    ui.add_enabled(is_enabled, Button::new(words).fill(palette.accent).min_size(vec2(130.0, 30.0)))
}

fn film_ui(ui: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse, done: &mut bool) {
    let studio = &context.studio;
    let (film, sheet) = (&mut state.film, &mut state.record);
    ui.label(RichText::new(TIME).color(theme::palette(ui.ctx()).weak));
    ui.add_space(6.0);
    row_ui(ui, "What", |ui| {
        answers
            .named("record.live", ui.radio_value(&mut sheet.from_past, false, "From now on"))
            .on_hover_text("The simulation plays and is filmed until you stop it");
        let past = ui.add_enabled_ui(studio.recorded.is_some(), |ui| ui.radio_value(&mut sheet.from_past, true, "What was recorded"));
        answers.named("record.past", past.inner).on_hover_text("A part of the timeline, without computing it again");
    });
    let recorded = studio.recorded.unwrap_or_default();
    let mut range = sheet.range.unwrap_or(recorded).map(|time| time.clamp(recorded[0], recorded[1]));
    // Grey rather than away where it says nothing: the rows below stay where they are.
    let is_of_past = sheet.from_past && studio.recorded.is_some();
    range_ui(ui, "record", &mut range, recorded, is_of_past, answers);
    if is_of_past {
        sheet.range = (range != recorded).then_some(range);
    }
    row_ui(ui, "Length", |ui| {
        let frames_per_second = film.frames_per_second.unwrap_or(studio.frames_per_second);
        let length = ui.label(length_told(is_of_past.then_some(range), frames_per_second, context.snapshot.real_time_factor));
        answers.named("record.length", length);
    });
    row_ui(ui, "Format", |ui| {
        for (format, name, _) in FORMATS {
            let choice = ui.radio_value(&mut film.format, format, name).on_hover_text(meaning_of_format(format));
            answers.named(format!("record.{}", name.replace(' ', "_")), choice);
        }
    });
    row_ui(ui, "Size", |ui| size_ui(ui, &mut film.size, studio, answers));
    rate_ui(ui, "record", &mut film.frames_per_second, studio, true, answers);
    row_ui(ui, "Camera", |ui| {
        let name = match film.motion {
            Motion::Hand => "As the view",
            Motion::Turntable(_) => "Turntable",
            Motion::Views(_) => "Along the named views",
            Motion::Keys => "Through the views, timed",
        };
        let combo = ComboBox::from_id_salt("motion").selected_text(name).width(190.0).show_ui(ui, |ui| {
            ui.selectable_value(&mut film.motion, Motion::Hand, "As the view");
            ui.selectable_value(&mut film.motion, Motion::Turntable(8.0), "Turntable");
            ui.add_enabled_ui(context.views.len() > 1, |ui| {
                ui.selectable_value(&mut film.motion, Motion::Views(2.0), "Along the named views")
                    .on_disabled_hover_text("Save two views or more first: View > Camera > Save this view");
                ui.selectable_value(&mut film.motion, Motion::Keys, "Through the views, timed")
                    .on_hover_text("Each is reached at the simulated time at which it was saved")
                    .on_disabled_hover_text("Save two views or more first: View > Camera > Save this view");
            });
        });
        answers.named("record.motion", combo.response).on_hover_text("How the camera moves in the film");
        if let Motion::Turntable(seconds) | Motion::Views(seconds) = &mut film.motion {
            ui.add(DragValue::new(seconds).range(MOTION_SECONDS).speed(0.1).fixed_decimals(1).suffix(" s"))
                .on_hover_text("For a turn, or from one view to the next, in the time of the film");
        }
    });
    row_ui(ui, "Ground", |ui| {
        let is_png = film.format == FilmFormat::Png;
        let ground = ui.add_enabled_ui(is_png, |ui| ui.checkbox(&mut film.transparent, "transparent")).inner;
        answers.named("record.transparent", ground).on_disabled_hover_text("Only PNG pictures can be transparent");
    });
    ui.add_space(12.0);
    ui.horizontal(|ui| {
        let is_recording = context.recording.is_some();
        let label = match (is_recording, sheet.from_past) {
            (true, _) => "Stop the film",
            (_, true) => "Make the film",
            _ => "Record",
        };
        let start = main_button(ui, icon::RECORD, label, context.snapshot.scene.is_some());
        if answers.named("record.start", start).clicked() {
            let past = sheet.from_past && !is_recording;
            answers.act(if past { Action::Record(RecordAction::Past(range)) } else { Action::ToggleRecording });
            // There is nothing to be filmed while it stands still.
            if !past && !is_recording && !context.is_playing {
                answers.act(Action::PlayPause);
            }
            *done = true;
        }
        if is_recording
            && answers.named("record.discard", ui.button("Throw away")).on_hover_text("Ends the film without keeping it").clicked()
        {
            answers.act(Action::Record(RecordAction::Cancel));
            *done = true;
        }
    });
}

/// How long a film will be: one of the past between two times [s], or from now on.
fn length_told(range: Option<[f64; 2]>, frames_per_second: f64, real_time_factor: Option<f64>) -> String {
    match (range, time_to_film(real_time_factor)) {
        (Some([start, end]), _) => {
            let frames = ((end - start) * frames_per_second + 1e-6).floor() + 1.0;
            format!("{:.2} s, {frames:.0} frames", frames / frames_per_second)
        }
        (None, Some(time)) => format!("until stopped; {time}"),
        (None, None) => "until stopped".to_owned(),
    }
}

/// A part of what was recorded, between two times [s].
fn range_ui(ui: &mut Ui, of: &str, range: &mut [f64; 2], recorded: [f64; 2], is_enabled: bool, answers: &mut UiResponse) {
    row_ui(ui, "Between", |ui| {
        ui.add_enabled_ui(is_enabled, |ui| {
            for (k, name) in ["from", "to"].into_iter().enumerate() {
                let value = DragValue::new(&mut range[k]).range(recorded[0]..=recorded[1]).speed(0.01).fixed_decimals(2).suffix(" s");
                // What is half typed is no time yet: the beginning would raise the end to itself, and end the typing.
                let value = value.update_while_editing(false);
                answers.named(format!("{of}.{name}"), ui.add(value)).on_hover_text("Simulated time");
                if k == 0 {
                    ui.label("and");
                }
            }
            if ui.button("All").on_hover_text("From the first to the last recorded picture").clicked() {
                *range = recorded;
            }
        });
    });
    if is_enabled {
        range[1] = range[1].max(range[0]);
    }
}

/// The frames a second of films and exports.
fn rate_ui(ui: &mut Ui, of: &str, rate: &mut Option<f64>, studio: &Studio, is_enabled: bool, answers: &mut UiResponse) {
    row_ui(ui, "Rate", |ui| {
        let mut shown = rate.unwrap_or(studio.frames_per_second);
        let value = DragValue::new(&mut shown).range(RATES).speed(0.2).max_decimals(1).suffix(" frames a second");
        let hint = "Of simulated time, for films and exports; each frame is taken at its time exactly, between two steps if need be";
        if answers.named(format!("{of}.rate"), ui.add_enabled(is_enabled, value).on_hover_text(hint)).changed() {
            *rate = Some(shown);
        }
        if is_enabled && rate.is_some() {
            let told = format!("{} frames a second, or what another scene says", studio.frames_per_second);
            let of_scene = ui.small_button("as the scene").on_hover_text(told);
            if answers.named(format!("{of}.rate_of_scene"), of_scene).clicked() {
                *rate = None;
            }
        }
    });
}

fn size_ui(ui: &mut Ui, size: &mut Option<[u32; 2]>, studio: &Studio, answers: &mut UiResponse) {
    let [width, height] = studio.view;
    let of_view = format!("As the view, {width} × {height}");
    let name = match size {
        None => of_view.clone(),
        Some([width, height]) => format!("{width} × {height}"),
    };
    let combo = ComboBox::from_id_salt("size").selected_text(name).width(190.0).show_ui(ui, |ui| {
        ui.selectable_value(size, None, of_view);
        for (known, name) in KNOWN_SIZES.iter().filter(|(known, _)| known[0] <= studio.limit) {
            ui.selectable_value(size, Some(*known), *name);
        }
    });
    answers.named("record.size", combo.response).on_hover_text("Width and height in pixels");
    let mut own = size.unwrap_or(studio.view);
    let mut changed = false;
    for n in &mut own {
        let value = DragValue::new(n).range(*SIZES.start()..=studio.limit.max(*SIZES.start())).speed(4.0);
        changed |= ui.add(value).on_hover_text(format!("At most {} pixels here", studio.limit)).changed();
    }
    if changed {
        *size = Some(own);
    }
}

fn picture_ui(ui: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse, done: &mut bool) {
    let sheet = &mut state.record;
    row_ui(ui, "Size", |ui| size_ui(ui, &mut sheet.picture, &context.studio, answers));
    row_ui(ui, "Ground", |ui| {
        let ground =
            ui.checkbox(&mut sheet.picture_transparent, "transparent").on_hover_text("The bodies alone, without floor and backdrop");
        answers.named("picture.transparent", ground);
    });
    ui.add_space(12.0);
    let save = ui.horizontal(|ui| main_button(ui, icon::CAMERA, "Save the picture", context.snapshot.scene.is_some())).inner;
    if answers.named("picture.save", save).clicked() {
        let size = sheet.picture.unwrap_or(context.studio.view);
        answers.act(Action::Record(RecordAction::Picture { size, transparent: sheet.picture_transparent }));
        *done = true;
    }
}

fn export_ui(ui: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse, done: &mut bool) {
    let sheet = &mut state.record;
    ScrollArea::vertical().max_height(250.0).show(ui, |ui| {
        for (ending, what) in exporting::formats() {
            let label = theme::prose(&format!(".{ending}   {what}"), 14.0, None);
            answers.named(format!("export.{ending}"), ui.radio_value(&mut sheet.export_ending, ending, label));
        }
    });
    ui.add_space(8.0);
    let studio = &context.studio;
    let may_be_past = studio.recorded.is_some();
    if !may_be_past && sheet.export_of == ExportOf::Past {
        sheet.export_of = ExportOf::Moment;
    }
    row_ui(ui, "What", |ui| {
        answers
            .named("export.moment", ui.radio_value(&mut sheet.export_of, ExportOf::Moment, "This moment"))
            .on_hover_text("As it is seen, also where you look at the past");
        answers
            .named("export.on", ui.radio_value(&mut sheet.export_of, ExportOf::On, "From now on"))
            .on_hover_text("The simulation plays meanwhile");
        let past = ui.add_enabled_ui(may_be_past, |ui| ui.radio_value(&mut sheet.export_of, ExportOf::Past, "What was recorded"));
        let told = match exporting::is_of_surfaces(sheet.export_ending) {
            true => "A part of the timeline, without computing it again",
            false => "A part of the timeline. Its steps are computed again: this format needs stresses and velocities, too",
        };
        answers.named("export.past", past.inner).on_hover_text(told).on_disabled_hover_text("Nothing was recorded here");
    });
    row_ui(ui, "For", |ui| {
        let value = DragValue::new(&mut sheet.export_seconds).range(0.05..=3600.0).speed(0.05).fixed_decimals(2).suffix(" s");
        let seconds = ui.add_enabled(sheet.export_of == ExportOf::On, value);
        answers.named("export.seconds", seconds).on_hover_text("Simulated time");
    });
    rate_ui(ui, "export", &mut state.film.frames_per_second, studio, sheet.export_of != ExportOf::Moment, answers);
    let recorded = studio.recorded.unwrap_or_default();
    let mut range = sheet.range.unwrap_or(recorded).map(|time| time.clamp(recorded[0], recorded[1]));
    let is_of_past = sheet.export_of == ExportOf::Past;
    range_ui(ui, "export", &mut range, recorded, is_of_past, answers);
    if is_of_past {
        sheet.range = (range != recorded).then_some(range);
    }
    ui.add_space(12.0);
    let export = ui.horizontal(|ui| main_button(ui, icon::EXPORT, "Export", context.snapshot.scene.is_some())).inner;
    if answers.named("export.start", export).clicked() {
        let span = match sheet.export_of {
            ExportOf::Moment => Span::Now,
            ExportOf::On => Span::On(sheet.export_seconds),
            ExportOf::Past => Span::Past(range),
        };
        answers.act(Action::Record(RecordAction::Export { ending: sheet.export_ending, span }));
        *done = true;
    }
}
