//! What the user wants, passed on to whoever does it.

use super::Session;
use super::lookup::Question;
use crate::app::SceneSource;
use crate::app::files;
use crate::app::tools::Tool;
use crate::app::ui::{Action, After, PathPurpose};
use crate::app::worker::{Request, Severity};
use crate::scene::GALLERY_SESSION;

impl Session {
    pub(super) fn act(&mut self, action: Action) {
        match action {
            Action::OpenDialog => self.wishes.dialog = Some(PathPurpose::Open),
            Action::OpenField => self.ask_for_path(PathPurpose::Open),
            Action::OpenPath(path) => self.open(SceneSource::Path(path)),
            Action::OpenGallery(name) if name == GALLERY_SESSION.0 => self.open(SceneSource::Session(name.into())),
            Action::OpenGallery(name) => self.open(SceneSource::Gallery(name)),
            Action::Reload => self.unless_unsaved(After::Reload { on_disk: false }),
            Action::ClearRecent => self.recent.clear().unwrap_or_else(|text| self.tell(Severity::Error, text)),
            Action::Screenshot => self.screenshot_asked = true,
            Action::ToggleRecording => self.toggle_recording(),
            Action::SaveSession => self.worker.send(Request::SaveSession(files::unused("pliant-session", ".session"))),
            Action::Quit => self.quit(),
            Action::Unsaved(answer) => self.answer_unsaved(answer),
            Action::LostPast(answer) => self.answer_lost_past(answer),
            Action::SavePlots(file) => self.save_plots(file),
            Action::PlayPause => self.play_or_pause(),
            Action::Stop => self.worker.send(Request::Pause),
            Action::StepOnce => self.step_once(),
            Action::Time(action) => self.act_on_time(action),
            Action::Reset => {
                self.stop_recording();
                self.go_live();
                self.cancel();
                self.restart();
            }
            Action::SetSpeed(speed) => {
                self.anchor_pictures();
                self.ui.speed = speed;
                self.worker.send(Request::SetSpeed(speed));
            }
            Action::FrameAll => self.lookup.ask(Question::FrameAll),
            Action::FrameBodies { first, count } => self.lookup.ask(Question::FrameBodies { first, count }),
            Action::Camera(action) => self.act_on_camera(action),
            Action::Toggle(what) => self.ui.toggle(what),
            Action::ShowInFolder(file) => {
                let shown = files::show_in_folder(&file);
                shown.unwrap_or_else(|error| {
                    self.tell(Severity::Error, format!("The folder could not be opened: {error}. It is {}", file.display()))
                });
            }
            Action::ColorBy(field) => (self.ui.field, self.ui.hold_range, self.ui.color_range) = (field, false, None),
            Action::CutThroughView => self.cut_through_view(),
            Action::Checks(action) => self.act_on_checks(action),
            Action::LookAtFault { checkup, finding } => self.look_at_fault(checkup, finding),
            Action::LeftBehind(taken_up) => self.answer_left_behind(taken_up),
            Action::ClearSelection => {
                // What was begun last is ended first.
                if !self.give_up_drag() && !self.drafting.give_up() && !self.end_tool() {
                    self.ui.selection.clear();
                }
            }
            Action::Bodies(action) => self.act_on_bodies(action),
            Action::AddEntry(entry) => self.add_entry(entry),
            Action::BeginRename => self.begin_rename(),
            Action::Rename { path, to } => self.rename(&path, &to),
            Action::Pins(action) => self.act_on_pins(action),
            Action::PaintWith(material) => {
                self.ui.tool = Some(Tool::Brush);
                (self.ui.brush.material, self.ui.brush.erases) = (Some(material), false);
            }
            Action::SetGrip(grip) => self.set_grip(grip),
            Action::AddMeshDialog => self.ask_for_mesh(),
            Action::AddMesh(path) => self.add_mesh(&path),
            Action::Draft(action) => self.act_on_draft(action),
            Action::ClearProbes => self.clear_probes(),
            other => self.act_on_scene(other),
        }
    }
}
