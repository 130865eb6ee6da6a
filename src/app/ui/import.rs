//! The sheet beside a mesh that was opened: which way is up, how large it is, what it is made of, how it is filled, and
//! what the doctor found. That of a mesh which is to be added has the same rows.

use egui::{Align, Area, Button, ComboBox, DragValue, Id, Label, Layout, Order, Rect, RichText, ScrollArea, Ui, vec2};

use super::access::Meaning;
use super::checkup::{findings_ui, short_line_ui};
use super::properties::preset_ui;
use super::value::{gesture, plain};
use super::{Action, UiContext, UiResponse, UiState, icon, theme};
use crate::app::document::Document;
use crate::app::faults::Checkup;
use crate::app::format;
use crate::app::import::{Import, UNITS, doubt_of_size};
use crate::render::Shading;
use crate::scene::MESH_MATERIAL;

const WIDTH: f32 = 300.0;
/// What is beside the sheet has at least this width, in points.
const LEAST_BESIDE: f32 = 250.0;
/// Numbers of tets that suit a look, a usual run and a close one.
const FINENESSES: [(&str, u64); 3] = [("coarse", 2_000), ("medium", 8_000), ("fine", 40_000)];
/// How a surface is filled: by the scene's word, and in the window's.
const METHODS: [(&str, &str, &str); 5] = [
    ("voxel", "equal tets", "Equal tets that hold the surface: quick to make and to compute"),
    ("graded", "larger inside", "The same, but larger inside: fewer tets"),
    ("bounding", "close around", "Tets that hold the surface closely"),
    ("stuffing", "to the surface", "Tets whose border follows the surface; it must be closed"),
    ("tetgen", "TetGen", "By the program TetGen, if it is installed"),
];

/// The mesh that a sheet is about.
pub struct Subject<'a> {
    pub import: &'a Import,
    /// The scene whose values the sheet shows.
    pub document: &'a Document,
    /// How many tets were made.
    pub n_tets: usize,
    /// What the doctor found.
    pub checkups: &'a [Checkup],
    pub notes: &'a [String],
}

/// Whether the sheet is over the view.
fn is_shown(state: &UiState, context: &UiContext) -> bool {
    let is_import = context.snapshot.scene.as_ref().is_some_and(|scene| scene.import.is_some());
    state.panels_visible && (context.draft.is_some() || (state.import_open && is_import && context.document.is_some()))
}

/// The part of a view that the sheet leaves free; all of it where there would be no room beside the sheet.
pub fn beside(view: Rect, state: &UiState, context: &UiContext) -> Rect {
    let left = view.left() + WIDTH + 20.0;
    if is_shown(state, context) && left + LEAST_BESIDE < view.right() { view.with_min_x(left) } else { view }
}

/// The sheet of the mesh that was opened.
pub fn import_ui(root: &Ui, view: Rect, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let (Some(scene), Some(document)) = (&context.snapshot.scene, context.document) else { return };
    let Some(import) = scene.import.as_ref().filter(|_| state.import_open) else { return };
    let subject = Subject { import, document, n_tets: scene.model.tets.len(), checkups: &scene.checkups, notes: &scene.notes };
    card_ui(root, view, context, |ui, width, height| {
        if header_ui(ui, &import.file, "Closes this sheet; View, Import brings it back", answers) {
            state.import_open = false;
        }
        outline_ui(ui, import);
        ScrollArea::vertical().max_height(height).show(ui, |ui| {
            ui.set_width(width);
            rows_ui(ui, &subject, state, answers);
        });
        ui.add_space(6.0);
        ui.horizontal(|ui| {
            let save = Button::new("Save as scene…").min_size(vec2(0.0, 26.0));
            if answers.named("import.save", ui.add(save).on_hover_text("Writes all of this into a scene file (TOML)")).clicked() {
                answers.act(Action::SaveSceneAs);
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let done = Button::new("Done").min_size(vec2(64.0, 26.0));
                if answers.named("import.done", ui.add(done).on_hover_text("Closes this sheet; View, Import brings it back")).clicked() {
                    state.import_open = false;
                }
            });
        });
    });
}

/// The card of a sheet: its contents are told their width, and the height of what is scrolled in it.
pub fn card_ui(root: &Ui, view: Rect, context: &UiContext, contents: impl FnOnce(&mut Ui, f32, f32)) {
    // Clear of the sign of a recording, and of the bar at the bottom.
    let top = if context.recording.is_some() { 66.0 } else { 14.0 };
    let width = (view.width() - 28.0).min(WIDTH) - 28.0;
    let height = (view.height() - top - 170.0).max(80.0);
    let area = Area::new(Id::unique("import")).order(Order::Middle).fixed_pos(view.left_top() + vec2(14.0, top));
    area.show(root.ctx(), |ui| {
        theme::card(root).show(ui, |ui| {
            ui.set_width(width);
            contents(ui, width, height);
        });
    });
}

/// All values of a sheet, and what was found in the mesh.
pub fn rows_ui(ui: &mut Ui, subject: &Subject, state: &mut UiState, answers: &mut UiResponse) {
    let Subject { import, document, .. } = *subject;
    up_ui(ui, import, document, answers);
    size_ui(ui, import, document, answers);
    if document.scene().material_names().iter().any(|name| name == MESH_MATERIAL) {
        preset_ui(ui, document, MESH_MATERIAL, &[format!("material.{MESH_MATERIAL}")], answers);
    }
    if !import.has_tets {
        filling_ui(ui, subject, answers);
    }
    inside_ui(ui, state, answers);
    ui.separator();
    found_ui(ui, subject, answers);
}

/// The name of a file; true once the sheet is to be closed.
pub fn header_ui(ui: &mut Ui, file: &str, closes: &str, answers: &mut UiResponse) -> bool {
    let palette = theme::palette(ui.ctx());
    let row = ui.horizontal(|ui| {
        ui.label(theme::icon(icon::CUBE, 17.0).color(palette.accent));
        let right = ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let close = Button::new(theme::icon(icon::X, 13.0)).frame_when_inactive(false);
            let is_closed = answers.named("import.close", ui.add(close).meaning(closes)).clicked();
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                ui.add(Label::new(RichText::new(file).font(theme::strong(14.0))).truncate());
            });
            is_closed
        });
        right.inner
    });
    row.inner
}

/// What the file holds, in a line.
pub fn outline_ui(ui: &mut Ui, import: &Import) {
    let [x, y, z] = import.extent.map(|side| format!("{:.4}", side).trim_end_matches('0').trim_end_matches('.').to_owned());
    let cells = if import.has_tets { "tets" } else { "triangles" };
    let pieces = if import.pieces > 1 { format!(" · {} pieces", format::count(import.pieces)) } else { String::new() };
    let told = format!("{x} × {y} × {z} in the file · {} {cells}{pieces}", format::count(import.n_cells));
    ui.add(Label::new(RichText::new(told).size(11.5).color(theme::palette(ui.ctx()).weak)).wrap());
    ui.add_space(4.0);
}

/// A name at the left, fields at the right, which may be named after it.
pub fn row_ui(ui: &mut Ui, name: &str, meaning: &str, fields: impl FnOnce(&mut Ui, Id)) {
    let palette = theme::palette(ui.ctx());
    ui.horizontal(|ui| {
        ui.set_min_height(24.0);
        let name = ui.label(RichText::new(name).size(12.5).color(palette.weak)).on_hover_text(meaning).id;
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            fields(ui, name);
        });
    });
}

/// A change that is built at once.
fn set(ui: &Ui, path: String, value: String, answers: &mut UiResponse) {
    answers.act(Action::Edit { values: vec![(path, value)], gesture: gesture(ui) });
    answers.act(Action::Reset);
}

/// The same of a number, which is built when a drag of it ends.
fn set_number(ui: &Ui, field: &egui::Response, path: String, value: Option<String>, answers: &mut UiResponse) {
    if let Some(value) = value {
        answers.act(Action::Edit { values: vec![(path, value)], gesture: gesture(ui) });
        if !field.dragged() {
            answers.act(Action::Reset);
        }
    }
    if field.drag_stopped() {
        answers.act(Action::Reset);
    }
}

fn choice_ui(ui: &mut Ui, name: String, words: &str, chosen: bool, answers: &mut UiResponse) -> egui::Response {
    let button = Button::new(RichText::new(words).size(12.5)).selected(chosen).min_size(vec2(30.0, 22.0));
    answers.named(name, ui.add(button))
}

fn up_ui(ui: &mut Ui, import: &Import, document: &Document, answers: &mut UiResponse) {
    let path = import.path("up");
    let current = document.scene().given(&path).unwrap_or_default().trim_matches('"').to_owned();
    let (axis, is_flipped) = (current.trim_start_matches('-').to_owned(), current.starts_with('-'));
    row_ui(ui, "Up", "The axis of the file that points up", |ui, _| {
        let named = |axis: &str, is_flipped: bool| format!("\"{}{axis}\"", if is_flipped { "-" } else { "" });
        let flip = choice_ui(ui, "import.up.flip".into(), "upside down", is_flipped, answers);
        if flip.on_hover_text("The other end of that axis points up").clicked() {
            set(ui, path.clone(), named(&axis, !is_flipped), answers);
        }
        for other in ["z", "y", "x"] {
            let choice = choice_ui(ui, format!("import.up.{other}"), other, axis == other, answers);
            if choice.on_hover_text(format!("The {other} axis of the file points up")).clicked() {
                set(ui, path.clone(), named(other, false), answers);
            }
        }
    });
}

fn size_ui(ui: &mut Ui, import: &Import, document: &Document, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    let path = import.path("size");
    let Some(size) = document.scene().given(&path).and_then(|text| text.parse::<f64>().ok()) else { return };
    let unit = import.unit_of(size);
    row_ui(ui, "Unit", "The unit in which the file is written; without one its longest side is made as long as below", |ui, _| {
        for (name, scale) in UNITS.into_iter().rev() {
            let choice = choice_ui(ui, format!("import.unit.{name}"), name, unit == Some(name), answers);
            if choice.on_hover_text(format::length(scale * import.longest())).clicked() {
                set(ui, path.clone(), plain(scale * import.longest()), answers);
            }
        }
    });
    row_ui(ui, "Longest side", "How long it is in the scene", |ui, name| {
        let mut new = size;
        let field = DragValue::new(&mut new).speed(0.01 * size).range(1e-4..=1e4).suffix(" m").update_while_editing(false);
        let field = field.custom_formatter(|x, _| format!("{}", format!("{x:.3e}").parse::<f64>().unwrap_or(x)));
        let field = answers.named("import.size", ui.add(field)).labelled_by(name).on_hover_text("Drag it, or click to type");
        set_number(ui, &field, path.clone(), (new != size).then(|| plain(new)), answers);
    });
    let asked = match (unit, import.likely_unit()) {
        (None, Some((unit, likely))) if (likely - size).abs() > 1e-6 * size => {
            Some((format!("Is it in {unit}, {} long?", format::length(likely)), likely))
        }
        _ => doubt_of_size(size).and_then(|doubt| {
            let (unit, likely) = import.likely_unit()?;
            let asked = format!("{} is {doubt}. Is it in {unit}, {} long?", format::length(size), format::length(likely));
            Some((asked, likely))
        }),
    };
    if let Some((question, likely)) = asked {
        ui.horizontal_wrapped(|ui| {
            ui.label(RichText::new(question).size(12.0).color(palette.accent));
            let yes = ui.small_button("Yes").on_hover_text("Makes it as long as that");
            if answers.named("import.likely", yes).clicked() {
                set(ui, path, plain(likely), answers);
            }
        });
    }
}

fn filling_ui(ui: &mut Ui, subject: &Subject, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    let Subject { import, document, n_tets, .. } = *subject;
    let path = import.path("tets");
    if let Some(tets) = document.scene().given(&path).and_then(|text| text.replace('_', "").parse::<u64>().ok()) {
        row_ui(ui, "Tets", "About how many tets it is filled with: more are closer, and take longer", |ui, _| {
            for (name, n) in FINENESSES.into_iter().rev() {
                let choice = choice_ui(ui, format!("import.tets.{name}"), name, tets == n, answers);
                if choice.on_hover_text(format!("about {} tets", format::count(n as usize))).clicked() {
                    set(ui, path.clone(), n.to_string(), answers);
                }
            }
        });
        row_ui(ui, "Number", "About how many tets are asked for", |ui, name| {
            let mut new = tets;
            let field = DragValue::new(&mut new).speed(0.01 * tets as f64).range(1_000..=400_000).update_while_editing(false);
            let field = answers.named("import.tets", ui.add(field)).labelled_by(name).on_hover_text("Drag it, or click to type");
            set_number(ui, &field, path.clone(), (new != tets).then(|| new.to_string()), answers);
            let made = format!("{} made; asked for", format::count(n_tets));
            ui.label(RichText::new(made).size(11.5).color(palette.weak));
        });
    }
    let path = import.path("method");
    let current = document.scene().given(&path).unwrap_or_default().trim_matches('"').to_owned();
    row_ui(ui, "Filled with", "How its inside is filled", |ui, name| {
        let shown = METHODS.iter().find(|(word, ..)| *word == current).map_or(current.as_str(), |(_, name, _)| name);
        let combo = ComboBox::from_id_salt("import.method").width(124.0).selected_text(RichText::new(shown).size(12.5));
        let combo = combo.show_ui(ui, |ui| {
            for (word, name, meaning) in METHODS {
                let choice = ui.selectable_label(word == current, name).on_hover_text(meaning);
                if answers.named(format!("import.method.{word}"), choice).clicked() {
                    set(ui, path.clone(), format!("\"{word}\""), answers);
                }
            }
        });
        answers.named("import.method", combo.response).labelled_by(name).on_hover_text("How its inside is filled");
    });
}

fn inside_ui(ui: &mut Ui, state: &mut UiState, answers: &mut UiResponse) {
    let mut inside = state.options.shading == Shading::Tets;
    let box_ =
        ui.checkbox(&mut inside, RichText::new("Show the tets").size(12.5)).on_hover_text("Draws the elements instead of the surface");
    if answers.named("import.inside", box_).changed() {
        state.options.shading = if inside { Shading::Tets } else { Shading::Smooth };
    }
}

/// A line for each thing that the doctor found; a click flies there.
fn found_ui(ui: &mut Ui, subject: &Subject, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    let Subject { import, checkups, notes, .. } = *subject;
    let was_mended = checkups.first().is_some_and(|checkup| !checkup.report.findings.is_empty());
    let (glyph, color, told) = match (import.is_sound, was_mended) {
        (true, false) => (icon::CHECK_CIRCLE, palette.accent, "Sound: a closed surface"),
        (true, true) => (icon::CHECK_CIRCLE, palette.accent, "Mended: now a closed surface"),
        (false, _) => (icon::WARNING, palette.fair, import.short_verdict()),
    };
    short_line_ui(ui, glyph, color, told, &import.verdict);
    if let Some(checkup) = checkups.first() {
        findings_ui(ui, 0, checkup, answers);
    }
    for note in notes {
        let own = note.strip_prefix(&format!("{}: ", import.body)).unwrap_or(note);
        short_line_ui(ui, icon::INFO, palette.weak, own, own);
    }
}
