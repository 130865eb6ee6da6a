//! The field for a path with what is in its folder, for where the system has no file dialog.

use egui::{Align, Button, Id, Key, Label, Layout, Modifiers, RichText, ScrollArea, TextEdit, Ui, vec2};

use super::access::Meaning;
use super::sheet::sheet_ui;
use super::{Action, UiResponse, UiState, icon, theme};
use crate::app::folder::{Listing, PathPurpose, expand_home};

/// A path that is typed.
#[derive(Clone, Debug, PartialEq)]
pub struct PathField {
    pub text: String,
    pub purpose: PathPurpose,
    /// Why nothing came of the path, and the path.
    fault: Option<(String, String)>,
    /// What is in its folder, and the text for which that was read.
    listing: Option<(String, Listing)>,
}

const LIST_HEIGHT: f32 = 210.0;
const ROW: f32 = 24.0;

impl PathField {
    pub fn new(text: String, purpose: PathPurpose) -> Self {
        Self { text, purpose, fault: None, listing: None }
    }

    /// Says why nothing came of the path that is typed, until it is changed.
    pub fn refuse(&mut self, why: String) {
        self.fault = Some((self.text.clone(), why));
    }

    pub fn is_refused(&self) -> bool {
        self.fault.as_ref().is_some_and(|(of, _)| *of == self.text)
    }

    /// What can be seen of the path before anything is done with it.
    fn fault_of_path(&self) -> Option<String> {
        let path = expand_home(self.text.trim());
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        match self.purpose {
            PathPurpose::SaveScene => {
                let folder = folder.filter(|folder| !folder.is_dir())?;
                Some(format!("There is no folder {}; choose one that is there.", folder.display()))
            }
            PathPurpose::Open | PathPurpose::LoadState | PathPurpose::AddMesh => {
                (!path.exists()).then(|| format!("There is no file {}; choose one of the list, or type another.", path.display()))
            }
        }
    }

    /// Where nothing is typed yet, the folder around the program is listed.
    fn listing(&mut self) -> &Listing {
        if self.listing.as_ref().is_none_or(|(of, _)| *of != self.text) {
            self.listing = None;
        }
        &self.listing.get_or_insert_with(|| (self.text.clone(), Listing::of(&self.text, self.purpose))).1
    }

    /// Title, hint and word of the button.
    fn words(&self) -> (&'static str, String, &'static str) {
        let meshes = crate::scene::mesh_endings("");
        match self.purpose {
            PathPurpose::Open => {
                let hint = format!("A scene (toml), a recorded session (session), or a mesh ({meshes}) that becomes a soft body.");
                ("Open a scene, a mesh or a session", hint, "Open")
            }
            PathPurpose::SaveScene => ("Save the scene", "A new file (toml), or one to be written over.".to_owned(), "Save"),
            PathPurpose::AddMesh => ("Add a body from a mesh", format!("A mesh ({meshes}) that becomes a soft body."), "Add"),
            PathPurpose::LoadState => ("Load a saved state", "A state that was saved from this scene.".to_owned(), "Load"),
        }
    }

    fn action(&self) -> Action {
        let path = expand_home(self.text.trim());
        match self.purpose {
            PathPurpose::Open => Action::OpenPath(path),
            PathPurpose::SaveScene => Action::SaveSceneTo(path),
            PathPurpose::LoadState => Action::LoadStateFrom(path),
            PathPurpose::AddMesh => Action::AddMesh(path),
        }
    }
}

pub fn path_ui(root: &Ui, state: &mut UiState, answers: &mut UiResponse) {
    let Some(field) = &mut state.path_field else { return };
    let (title, hint, word) = field.words();
    let mut done = false;
    let closed = sheet_ui(root, "path", 560.0, |ui| {
        let palette = theme::palette(ui.ctx());
        ui.label(RichText::new(title).font(theme::strong(18.0)));
        ui.label(RichText::new(hint).size(12.5).color(palette.weak));
        ui.add_space(8.0);
        // Tab takes the first line of the list, and stays here.
        let completes = ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Tab));
        let id = Id::unique("path text");
        let edit = TextEdit::singleline(&mut field.text).id(id).hint_text("/path/to/scene.toml").desired_width(f32::INFINITY);
        let response = answers.named("path.field", ui.add(edit.margin(vec2(10.0, 7.0)).font(theme::figures(13.0))));
        if !response.has_focus() && !response.lost_focus() {
            response.request_focus();
        }
        if let Some((_, why)) = field.fault.as_ref().filter(|_| field.is_refused()) {
            ui.add(Label::new(theme::prose(why, 12.5, Some(palette.error))).wrap().selectable(true));
        }
        ui.add_space(6.0);
        let listing = field.listing();
        let first = listing.entries.first().map(|entry| listing.path(entry));
        let chosen = list_ui(ui, field, answers).or(first.filter(|_| completes));
        if let Some(text) = chosen {
            let is_file = !text.ends_with(std::path::MAIN_SEPARATOR);
            take(ui, id, field, text);
            done |= is_file && ui.input(|input| input.pointer.button_double_clicked(egui::PointerButton::Primary));
        }
        ui.add_space(8.0);
        let is_named = !field.text.trim().is_empty();
        ui.horizontal(|ui| {
            let open = Button::new(RichText::new(word).color(palette.on_accent)).fill(palette.accent).min_size(vec2(96.0, 28.0));
            let open = ui.add_enabled(is_named, open).on_hover_text("The file that is typed; a folder is looked into  (Enter)");
            let open = answers.named("path.open", open).clicked();
            let enters = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
            if is_named && (open || enters) {
                // A folder is looked into.
                let folder = expand_home(field.text.trim());
                match folder.is_dir() {
                    true => take(ui, id, field, format!("{}/", folder.display().to_string().trim_end_matches('/'))),
                    false => done = true,
                }
            }
            let cancel = ui.add(Button::new("Cancel").min_size(vec2(96.0, 28.0))).on_hover_text("Nothing is done  (Esc)");
            answers.named("path.cancel", cancel).clicked()
        })
        .inner
    });
    match field.fault_of_path() {
        Some(why) if done => field.refuse(why),
        _ if done => {
            answers.act(field.action());
            // It comes back with its text if it cannot be opened.
            state.path_tried = state.path_field.take().filter(|field| field.purpose == PathPurpose::Open);
        }
        _ if closed => state.path_field = None,
        _ => {}
    }
}

/// Replaces the text, with the cursor behind it.
fn take(ui: &Ui, id: Id, field: &mut PathField, text: String) {
    let end = egui::text::CCursor::new(text.chars().count());
    field.text = text;
    let mut edit = egui::text_edit::TextEditState::load(ui.ctx(), id).unwrap_or_default();
    edit.cursor.set_char_range(Some(egui::text::CCursorRange::one(end)));
    edit.store(ui.ctx(), id);
    ui.memory_mut(|memory| memory.request_focus(id));
}

/// The folder, with a way up, and what is in it; the path that was clicked.
fn list_ui(ui: &mut Ui, field: &mut PathField, answers: &mut UiResponse) -> Option<String> {
    let palette = theme::palette(ui.ctx());
    let listing = field.listing();
    let mut chosen = None;
    ui.horizontal(|ui| {
        if let Some(above) = listing.above() {
            let up = Button::new(theme::icon(icon::ARROW_UP, 13.0)).frame_when_inactive(false);
            if answers.named("path.up", ui.add(up).meaning("The folder around this one")).clicked() {
                chosen = Some(above);
            }
        }
        ui.add(egui::Label::new(RichText::new(super::start::short_folder(&listing.folder)).size(12.0).color(palette.weak)).truncate());
    });
    if let Some(fault) = &listing.fault {
        ui.label(theme::prose(fault, 12.5, Some(palette.error)));
    }
    let area = ScrollArea::vertical().max_height(LIST_HEIGHT).min_scrolled_height(LIST_HEIGHT).auto_shrink([false, false]);
    area.show_rows(ui, ROW, listing.entries.len(), |ui, rows| {
        for entry in &listing.entries[rows] {
            let (sign, color) = if entry.is_file { (icon::FILE, palette.text) } else { (icon::FOLDER_OPEN, palette.accent) };
            let words = (theme::icon(sign, 14.0).color(color), RichText::new(&entry.name).size(13.0));
            let row = Button::new(words).frame_when_inactive(false).truncate();
            let line = vec2(ui.available_width() - 14.0, ROW);
            let row = ui.allocate_ui_with_layout(line, Layout::left_to_right(Align::Center), |ui| ui.add(row)).inner;
            if answers.named(format!("path.entry.{}", entry.name.replace(' ', "_")), row).clicked() {
                chosen = Some(listing.path(entry));
            }
        }
    });
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_nowhere_is_told_until_it_is_changed() {
        let here = env!("CARGO_MANIFEST_DIR");
        let field = |text: String, purpose| PathField::new(text, purpose);
        assert_eq!(field(format!("{here}/Cargo.toml"), PathPurpose::Open).fault_of_path(), None);
        assert_eq!(field(format!("{here}/new.toml"), PathPurpose::SaveScene).fault_of_path(), None);
        assert!(field(format!("{here}/nowhere/new.toml"), PathPurpose::SaveScene).fault_of_path().unwrap().contains("nowhere"));
        let mut wrong = field(format!("{here}/nowhere.toml"), PathPurpose::Open);
        assert!(wrong.fault_of_path().unwrap().contains("nowhere.toml"));
        wrong.refuse("It is not there.".into());
        assert!(wrong.is_refused());
        wrong.text.pop();
        assert!(!wrong.is_refused());
    }
}
