//! Changes of the scene's values: made, taken back, saved.

use std::path::{Path, PathBuf};

use super::Session;
use crate::app::document::Document;
use crate::app::engine::SceneInfo;
use crate::app::files::{self, Chosen};
use crate::app::history::{History, Rebuild, Way};
use crate::app::opener::MAX_STEP_MS;
use crate::app::ui::{Action, After, Answer, PathField, PathPurpose};
use crate::app::worker::{Notice, Request, Severity};
use crate::app::{SceneSource, file_name};
use crate::output::OutputFile;
use crate::scene::LiveValues;
use crate::sim::{Command, commands_between};

impl Session {
    /// The scene that was loaded: a new document, or the present one, built with its changes.
    pub(super) fn open_document(&mut self, scene: &SceneInfo, before: Option<&SceneInfo>) {
        let is_again = before.is_some_and(|before| before.source.base() == scene.source.base());
        match (&mut self.document, &scene.scene) {
            (Some(document), Some(_)) if scene.source.is_edited() => {
                document.built_with(scene.source.set());
                self.history.forget_run();
                // Something may have got another name while it was built.
                if !document.labels().is_empty() {
                    self.tell_names(scene.generation);
                }
            }
            (document, Some(read)) => {
                self.history = History::default();
                let file = match &scene.source {
                    SceneSource::Path(path) if !crate::scene::is_mesh(path) => Some(path.clone()),
                    _ => None,
                };
                let known = document.as_ref().filter(|_| is_again).map(|document| self.ui.selection.known(document.scene()));
                let mut opened = Document::new(read.clone(), file);
                match known {
                    // Read again: what is selected, hidden and locked stays so.
                    Some(known) => self.ui.selection.follow(known, read),
                    None => self.ui.selection.start_anew(),
                }
                opened.follow_sight(self.ui.selection.sight());
                *document = Some(opened);
            }
            (document, None) => (*document, self.history) = (None, History::default()),
        }
    }

    pub(super) fn act_on_scene(&mut self, action: Action) {
        match action {
            Action::Edit { values, gesture } => {
                self.edit(&values, gesture);
            }
            Action::Undo => self.step_back(Way::Back),
            Action::Redo => self.step_back(Way::Forth),
            Action::SaveScene => match self.document.as_ref().and_then(|document| document.file.clone()) {
                Some(file) => self.save_scene(&file),
                None => self.wishes.dialog = Some(PathPurpose::SaveScene),
            },
            Action::SaveSceneAs => self.wishes.dialog = Some(PathPurpose::SaveScene),
            Action::SaveSceneTo(path) => self.save_scene(&path),
            Action::SaveState => self.worker.send(Request::SaveState(files::unused(&self.file_stem(), ".state"))),
            Action::LoadState => self.wishes.dialog = Some(PathPurpose::LoadState),
            Action::LoadStateFrom(path) => self.worker.send(Request::LoadState(path)),
            _ => {}
        }
    }

    /// Starts again: with all changes that wait for that, if there are some.
    pub(super) fn restart(&mut self) {
        match (&self.document, &self.shown.scene) {
            (Some(document), Some(_)) if document.is_pending() => self.build_anew(Rebuild::Start),
            _ => self.command(Command::Reset),
        }
    }

    /// Goes on at once where nothing is lost by that, else asks.
    pub(super) fn unless_unsaved(&mut self, after: After) {
        match self.document.as_ref().is_some_and(Document::is_changed) {
            true => {
                self.log.say(format_args!("unsaved changes"));
                self.ui.unsaved = Some(after);
            }
            false => self.go_on(after),
        }
    }

    pub(super) fn answer_unsaved(&mut self, answer: Answer) {
        let Some(after) = self.ui.unsaved.take() else { return };
        match answer {
            Answer::Save => {
                self.after_save = Some(after);
                self.act_on_scene(Action::SaveScene);
            }
            Answer::Discard => self.go_on(after),
            Answer::Cancel => self.ui.path_tried = None,
        }
    }

    fn go_on(&mut self, after: After) {
        match after {
            After::Quit => self.wind_up(),
            After::Open(source) => self.open_now(source),
            After::Reload { on_disk } => {
                if on_disk {
                    self.tell(Severity::Info, format!("{} has changed on the disk: it is read again", self.file_stem()));
                }
                self.worker.send(Request::Reload);
            }
        }
    }

    /// The answer of a file dialog.
    pub fn chosen(&mut self, purpose: PathPurpose, chosen: Chosen) {
        match (chosen, purpose) {
            (Chosen::File(path), PathPurpose::Open) => self.open(SceneSource::Path(path)),
            (Chosen::File(path), PathPurpose::SaveScene) => self.act(Action::SaveSceneTo(path)),
            (Chosen::File(path), PathPurpose::LoadState) => self.act(Action::LoadStateFrom(path)),
            (Chosen::File(path), PathPurpose::AddMesh) => self.act(Action::AddMesh(path)),
            (Chosen::Nothing, _) => self.after_save = None,
            (Chosen::NoDialog, _) => self.ask_for_path(purpose),
        }
    }

    /// Shows the field for a path, for where there is no file dialog.
    pub(super) fn ask_for_path(&mut self, purpose: PathPurpose) {
        let text = match purpose {
            PathPurpose::SaveScene => files::unused(&self.file_stem(), ".toml").display().to_string(),
            PathPurpose::Open | PathPurpose::LoadState | PathPurpose::AddMesh => String::new(),
        };
        self.ui.path_field.get_or_insert_with(|| PathField::new(text, purpose));
    }

    /// What went wrong while a typed path is opened is told below it, too.
    pub(super) fn note_refusal(&mut self, notice: &Notice) {
        if let (Severity::Error, Some(tried)) = (notice.severity, &mut self.ui.path_tried) {
            tried.refuse(notice.text.clone());
        }
    }

    /// Nothing came of a path that was typed: the field is there again with its text.
    pub(super) fn ask_for_path_again(&mut self) {
        if let Some(tried) = self.ui.path_tried.take().filter(PathField::is_refused) {
            self.log.say(format_args!("path asked for again"));
            self.ui.path_field.get_or_insert(tried);
        }
    }

    /// What a file of the scene may be called.
    pub fn file_stem(&self) -> String {
        self.document.as_ref().map_or_else(|| "scene".into(), |document| document.scene().name().to_owned())
    }

    /// Changes values of the scene; false where they are refused. Other bodies make the scene start anew.
    pub(super) fn edit(&mut self, values: &[(String, String)], gesture: Option<u64>) -> bool {
        let before = self.document.as_ref().map(|document| document.scene().live_values());
        let is_changed = self.change(values, gesture);
        if let (true, Some(before)) = (is_changed, before) {
            self.follow(&before, Rebuild::Change);
        }
        is_changed
    }

    /// Turns the values of the simulation that may be turned while it runs, or builds it with other bodies, for which
    /// `rebuild` is the reason.
    pub(super) fn follow(&mut self, before: &LiveValues, rebuild: Rebuild) {
        if self.document.as_ref().is_some_and(Document::has_other_bodies) {
            self.build_anew(rebuild);
            return;
        }
        let (Some(document), Some(view)) = (&self.document, self.shown.view.clone()) else { return };
        let [before, after] = [before.clone(), document.scene().live_values()].map(in_window);
        let mut commands = commands_between(&before, &after);
        // A material that nothing is made of matters to nobody.
        let is_used = |name: &str| view.materials.iter().any(|named| document.labels().shown("material", &named.name) == name);
        commands.retain(|command| !matches!(command, Command::SetMaterial(named) if !is_used(&named.name)));
        self.commands(commands);
    }

    fn save_scene(&mut self, path: &Path) {
        let (path, probes) = (with_ending(path), self.probes_for_scene());
        let Some(document) = &mut self.document else { return };
        let folder = path.parent().unwrap_or(Path::new(""));
        let written = document.text_for(folder, &probes).map_err(|error| error.to_string());
        match written.and_then(|text| OutputFile::save(&path, text.as_bytes()).map_err(|error| error.to_string())) {
            Ok(()) => {
                document.saved_to(path.clone());
                self.log.say(format_args!("scene saved {}", path.display()));
                if let Err(text) = self.recent.add(&path) {
                    self.tell(Severity::Error, text);
                }
                self.tell_of_file(format!("The scene is in {} ({})", file_name(&path), folder.display()), path.clone());
                self.worker.send(Request::Saved);
                if let Some(after) = self.after_save.take() {
                    self.go_on(after);
                }
            }
            Err(text) => self.tell(Severity::Error, text),
        }
    }
}

/// The values as the window runs them: a step does not take as long as it likes.
pub(super) fn in_window(mut values: LiveValues) -> LiveValues {
    if values.params.max_step_ms == 0.0 {
        values.params.max_step_ms = MAX_STEP_MS;
    }
    values
}

/// Scenes end with `.toml`.
fn with_ending(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if path.extension().is_some_and(|ending| ending == "toml") { path } else { path.with_added_extension("toml") }
}
