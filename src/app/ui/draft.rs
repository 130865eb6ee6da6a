//! The sheet of a mesh that is to be added to the open scene: the rows of an opened one, and its material, for a body
//! that is not there before it is added.

use egui::{Align, Button, ComboBox, Label, Layout, ProgressBar, Rect, RichText, ScrollArea, Ui, vec2};

use super::import::{Subject, card_ui, header_ui, outline_ui, row_ui, rows_ui};
use super::{Action, DraftAction, UiContext, UiResponse, UiState, icon, theme};
use crate::app::draft::Draft;

/// As the window calls a material of its own.
const OWN: &str = "its own";
const GIVES_UP: &str = "Nothing is added  (Esc)";

pub fn draft_ui(root: &Ui, view: Rect, draft: &Draft, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    card_ui(root, view, context, |ui, width, height| {
        if header_ui(ui, &draft.file(), GIVES_UP, answers) {
            answers.act(Action::Draft(DraftAction::GiveUp));
        }
        if let Some(prepared) = draft.prepared()
            && let Some(import) = &prepared.import
        {
            outline_ui(ui, import);
            let n_tets = draft.model().map_or(0, |model| model.tets.len());
            let subject = Subject { import, document: draft.document(), n_tets, checkups: &prepared.checkups, notes: &prepared.notes };
            // Room for what is told below.
            ScrollArea::vertical().max_height((height - 60.0).max(60.0)).show(ui, |ui| {
                ui.set_width(width);
                material_ui(ui, draft, context, answers);
                let before = answers.actions.len();
                rows_ui(ui, &subject, state, answers);
                let asked: Vec<Action> = answers.actions.drain(before..).collect();
                answers.actions.extend(asked.into_iter().filter_map(of_draft));
            });
            if let Err(why) = &prepared.model {
                let color = theme::palette(ui.ctx()).error;
                ui.add(Label::new(RichText::new(why).size(12.0).color(color)).wrap().selectable(true));
            }
        }
        progress_ui(ui, draft);
        ui.add_space(6.0);
        buttons_ui(ui, draft, answers);
    });
}

/// What the rows ask for is about the draft, which is filled by itself once the mouse is up.
fn of_draft(action: Action) -> Option<Action> {
    match action {
        Action::Edit { values, gesture } => Some(Action::Draft(DraftAction::Change { values, gesture })),
        Action::LookAtFault { finding, .. } => Some(Action::Draft(DraftAction::LookAt(finding))),
        Action::Reset => None,
        other => Some(other),
    }
}

fn material_ui(ui: &mut Ui, draft: &Draft, context: &UiContext, answers: &mut UiResponse) {
    let names = context.document.map(|document| document.scene().material_names()).unwrap_or_default();
    let meaning = "A material of the scene, or one of its own with the values of a preset";
    row_ui(ui, "Material", meaning, |ui, name| {
        let shown = draft.material.as_deref().unwrap_or(OWN);
        let combo = ComboBox::from_id_salt("import.material").width(124.0).truncate().selected_text(RichText::new(shown).size(12.5));
        let combo = combo.show_ui(ui, |ui| {
            for material in std::iter::once(None).chain(names.iter().map(|name| Some(name.as_str()))) {
                let choice = ui.selectable_label(draft.material.as_deref() == material, material.unwrap_or(OWN));
                if answers.named(format!("import.material.{}", material.unwrap_or("own")), choice).clicked() {
                    answers.act(Action::Draft(DraftAction::Material(material.map(str::to_owned))));
                }
            }
        });
        answers.named("import.material", combo.response).labelled_by(name).on_hover_text(meaning);
    });
}

/// How far the work is. The line is always there, so that nothing moves under the mouse.
fn progress_ui(ui: &mut Ui, draft: &Draft) {
    let palette = theme::palette(ui.ctx());
    let (told, part) = match draft.progress() {
        Some(progress) if progress.stage.is_empty() => ("reading", progress.part),
        Some(progress) => (progress.stage, progress.part),
        None => ("", 0.0),
    };
    ui.horizontal(|ui| {
        ui.set_min_height(18.0);
        if draft.progress().is_some() {
            ui.add(ProgressBar::new(part).desired_height(5.0).desired_width(110.0).fill(palette.accent).corner_radius(3));
            ui.add(Label::new(RichText::new(told).size(11.5).color(palette.weak)).truncate());
        } else if draft.is_ready() {
            let told = "Seen where it will stand. Add starts anew.";
            ui.add(Label::new(RichText::new(told).size(11.5).color(palette.weak)).wrap());
        }
    });
}

fn buttons_ui(ui: &mut Ui, draft: &Draft, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    ui.horizontal(|ui| {
        let alone = Button::new((theme::icon(icon::FOLDER_OPEN, 14.0), RichText::new("Open alone"))).min_size(vec2(0.0, 26.0));
        let told = "Opens the mesh as a scene of its own, in the place of this one";
        if answers.named("import.alone", ui.add(alone).on_hover_text(told)).clicked() {
            answers.act(Action::Draft(DraftAction::OpenAlone));
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let add = Button::new(RichText::new("Add").color(palette.on_accent)).fill(palette.accent).min_size(vec2(56.0, 26.0));
            let add = ui.add_enabled(draft.is_ready(), add).on_hover_text("It becomes a body of the scene, which starts anew");
            if answers.named("import.add", add).clicked() {
                answers.act(Action::Draft(DraftAction::Add));
            }
            let cancel = Button::new("Cancel").min_size(vec2(60.0, 26.0));
            if answers.named("import.cancel", ui.add(cancel).on_hover_text(GIVES_UP)).clicked() {
                answers.act(Action::Draft(DraftAction::GiveUp));
            }
        });
    });
}
