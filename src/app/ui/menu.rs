//! The bar at the top.

use egui::{Align, Button, Frame, Label, Layout, Margin, MenuBar, Panel, RichText, Ui, containers::menu::MenuConfig};

use super::entries::{add_menu_ui, entry_ui, with_icon};
use super::{Action, BodyAction, CheckAction, Help, UiContext, UiResponse, UiState, icon, theme};
use crate::app::document::Document;
use crate::app::file_name;
use crate::app::format;
use crate::app::guide::PAGES;
use crate::app::recorder::FORMATS;
use crate::app::tools::Tool;
use crate::render::Shading;
use crate::sim::{Field, Grip};
use crate::verify::CHECKS;

pub fn menu_ui(root: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let palette = theme::palette(root.ctx());
    let frame = Frame::new().fill(palette.panel).inner_margin(Margin::symmetric(10, 4));
    Panel::top("menu").frame(frame).exact_size(34.0).show(root, |ui| {
        MenuBar::new().config(MenuConfig::new()).ui(ui, |ui| {
            let is_open = state.tree_open.unwrap_or(true);
            let list = Button::new(theme::icon(icon::TREE_STRUCTURE, 16.0)).selected(is_open).frame_when_inactive(false);
            let hint = if is_open { "Hide the list of the scene  (L)" } else { "Show the list of the scene  (L)" };
            if answers.named("toggle.tree", ui.add(list).on_hover_text(hint)).clicked() {
                state.tree_open = Some(!is_open);
            }
            ui.add_space(2.0);
            ui.label(theme::icon(icon::CUBE, 17.0).color(palette.accent));
            ui.label(RichText::new("Pliant").font(theme::strong(14.0)));
            ui.add_space(8.0);
            let file = ui.menu_button("File", |ui| file_menu_ui(ui, state, context, answers)).response;
            answers.named("menu.File", file);
            let edit = ui.menu_button("Edit", |ui| edit_menu_ui(ui, state, context, answers)).response;
            answers.named("menu.Edit", edit);
            let shown = ui.menu_button("Gallery", |ui| gallery_menu_ui(ui, context, answers)).response;
            answers.named("menu.Gallery", shown);
            let view = ui.menu_button("View", |ui| view_menu_ui(ui, state, context, answers)).response;
            answers.named("menu.View", view);
            let verify = ui.menu_button("Verify", |ui| verify_menu_ui(ui, state, context, answers)).response;
            answers.named("menu.Verify", verify);
            let help = ui.menu_button("Help", |ui| help_menu_ui(ui, state, answers)).response;
            answers.named("menu.Help", help);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let hint = if state.inspector_open { "Hide the panel" } else { "Show the panel" };
                let panel = Button::new(theme::icon(icon::SIDEBAR_SIMPLE, 16.0)).selected(state.inspector_open).frame_when_inactive(false);
                if answers.named("toggle.panel", ui.add(panel).on_hover_text(hint)).clicked() {
                    state.inspector_open = !state.inspector_open;
                }
                let hint = if state.plots.open { "Fold the plots away  (N)" } else { "Plots of energies, forces and times  (N)" };
                let plots = Button::new(theme::icon(icon::CHART_LINE, 16.0)).selected(state.plots.open).frame_when_inactive(false);
                if answers.named("toggle.plots", ui.add(plots).on_hover_text(hint)).clicked() {
                    state.plots.open = !state.plots.open;
                }
                let (glyph, hint) = if state.dark { (icon::SUN, "Light theme") } else { (icon::MOON, "Dark theme") };
                let button = Button::new(theme::icon(glyph, 16.0)).frame_when_inactive(false);
                if answers.named("toggle.theme", ui.add(button).on_hover_text(hint)).clicked() {
                    state.dark = !state.dark;
                }
                if let Some(scene) = &context.snapshot.scene {
                    ui.add_space(8.0);
                    let mark = if context.document.is_some_and(Document::is_changed) { " •" } else { "" };
                    let name = ui.add(Label::new(RichText::new(format!("{}{mark}", scene.name)).color(palette.weak)).truncate());
                    if !mark.is_empty() {
                        name.on_hover_text("Changed; Ctrl+Shift+S saves the scene");
                    }
                }
            });
        });
    });
}

fn file_menu_ui(ui: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    entry_ui(ui, answers, icon::FOLDER_OPEN, "Open…", "Ctrl+O", Action::OpenDialog);
    entry_ui(ui, answers, icon::TEXTBOX, "Open path…", "", Action::OpenField);
    entry_ui(ui, answers, icon::ARROWS_CLOCKWISE, "Reload", "Ctrl+R", Action::Reload);
    let recent = ui.menu_button(with_icon(icon::CLOCK_COUNTER_CLOCKWISE, "Recent"), |ui| {
        if context.recent.paths.is_empty() {
            ui.weak("Nothing opened yet");
            return;
        }
        for path in &context.recent.paths {
            let shown = ui.button(file_name(path)).on_hover_text(path.display().to_string());
            if shown.clicked() {
                answers.act(Action::OpenPath(path.clone()));
                ui.close();
            }
        }
        ui.separator();
        if ui.button("Clear the list").clicked() {
            answers.act(Action::ClearRecent);
            ui.close();
        }
    });
    answers.named("menu.File.Recent", recent.response);
    ui.separator();
    entry_ui(ui, answers, icon::FLOPPY_DISK, "Save scene", "Ctrl+Shift+S", Action::SaveScene);
    entry_ui(ui, answers, icon::FLOPPY_DISK, "Save scene as…", "", Action::SaveSceneAs);
    entry_ui(ui, answers, icon::FLOPPY_DISK, "Save state", "", Action::SaveState);
    entry_ui(ui, answers, icon::FOLDER_OPEN, "Load state…", "", Action::LoadState);
    ui.separator();
    entry_ui(ui, answers, icon::CAMERA, "Save screenshot", "Ctrl+S", Action::Screenshot);
    let recording = if context.recorded_frames.is_some() { "Stop recording" } else { "Record a film" };
    entry_ui(ui, answers, icon::RECORD, recording, "V", Action::ToggleRecording);
    let formats = ui.menu_button(with_icon(icon::FILM_STRIP, "Films are"), |ui| {
        for (format, name, _) in FORMATS {
            if answers.named(format!("film.{}", name.replace(' ', "_")), ui.radio(state.film == format, name)).clicked() {
                state.film = format;
            }
        }
    });
    answers.named("menu.File.Films", formats.response);
    entry_ui(ui, answers, icon::FLOPPY_DISK, "Save session", "", Action::SaveSession);
    ui.separator();
    entry_ui(ui, answers, icon::SIGN_OUT, "Quit", "Ctrl+Q", Action::Quit);
}

fn edit_menu_ui(ui: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let [undo, redo] = context.document.map_or([false; 2], |document| [document.can_undo(), document.can_redo()]);
    ui.add_enabled_ui(undo, |ui| entry_ui(ui, answers, icon::ARROW_U_UP_LEFT, "Undo", "Ctrl+Z", Action::Undo));
    ui.add_enabled_ui(redo, |ui| entry_ui(ui, answers, icon::ARROW_U_UP_RIGHT, "Redo", "Ctrl+Y", Action::Redo));
    ui.separator();
    let selected = !state.selection.items().is_empty();
    add_menu_ui(ui, answers);
    let has_body = state.selection.items().iter().any(|item| item.body_name().is_some());
    ui.add_enabled_ui(has_body, |ui| {
        entry_ui(ui, answers, icon::COPY, "Duplicate", "Ctrl+D", Action::Bodies(BodyAction::Duplicate));
        entry_ui(ui, answers, icon::TRASH, "Delete", "Del", Action::Bodies(BodyAction::Delete));
    });
    holding_menu_ui(ui, context.grip, answers);
    ui.separator();
    ui.add_enabled_ui(selected, |ui| entry_ui(ui, answers, icon::X, "Select nothing", "Esc", Action::ClearSelection));
    entry_ui(ui, answers, icon::EYE, "Show all bodies", "", Action::Bodies(BodyAction::ShowAll));
    entry_ui(ui, answers, icon::LOCK_OPEN, "Unlock all bodies", "", Action::Bodies(BodyAction::UnlockAll));
}

/// How the mouse holds.
fn holding_menu_ui(ui: &mut Ui, grip: Grip, answers: &mut UiResponse) {
    let menu = ui.menu_button(with_icon(icon::HAND_GRABBING, "The mouse holds"), |ui| {
        for (firm, label, told) in [
            (false, "Like a hand", "A soft spring, which gives way and swings."),
            (true, "Firmly", "A stiff spring without swing, which pulls up to ten times as hard."),
        ] {
            let choice = ui.radio(grip.firm == firm, label).on_hover_text(told);
            if answers.named(format!("grip.{}", label.replace(' ', "_")), choice).clicked() {
                answers.act(Action::SetGrip(Grip { firm, ..grip }));
                ui.close();
            }
        }
        ui.separator();
        ui.label(match grip.radius {
            0.0 => "A point".to_owned(),
            radius => format!("What is {} around it", format::length(radius)),
        });
        ui.weak("Ctrl + wheel while you hold changes that");
        if grip.radius > 0.0 && answers.named("grip.point", ui.button("A point again")).clicked() {
            answers.act(Action::SetGrip(Grip { radius: 0.0, ..grip }));
            ui.close();
        }
    });
    answers.named("menu.Edit.Holding", menu.response);
}

fn gallery_menu_ui(ui: &mut Ui, context: &UiContext, answers: &mut UiResponse) {
    scene_entries_ui(ui, context, answers, false);
    ui.separator();
    let experiments = ui.menu_button("Experiments with contact", |ui| scene_entries_ui(ui, context, answers, true)).response;
    answers.named("menu.Gallery.Experiments", experiments);
}

fn scene_entries_ui(ui: &mut Ui, context: &UiContext, answers: &mut UiResponse, experiments: bool) {
    for scene in context.gallery.iter().filter(|scene| scene.experiment == experiments) {
        let shown = ui.add(Button::new(with_icon(icon::CUBE, &scene.title)));
        let shown = if scene.description.is_empty() { shown } else { shown.on_hover_text(&scene.description) };
        if answers.named(format!("gallery.{}", scene.name), shown).clicked() {
            answers.act(Action::OpenGallery(scene.name.to_owned()));
            ui.close();
        }
    }
}

/// Ways to draw bodies.
const VIEWS: [(&str, Shading); 4] =
    [("Surfaces", Shading::Smooth), ("Wireframe", Shading::Wireframe), ("Edges_only", Shading::Edges), ("Tetrahedra", Shading::Tets)];

fn view_menu_ui(ui: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    for (label, shading) in VIEWS {
        if answers.named(format!("menu.View.{label}"), ui.radio(state.options.shading == shading, label.replace('_', " "))).clicked() {
            state.options.shading = shading;
        }
    }
    let inside = ui.checkbox(&mut state.inside.open, "Look inside (I)");
    answers.named("menu.View.Inside", inside.on_hover_text("Cut bodies open, or peel layers of elements off"));
    let mut ruler = state.tool == Some(Tool::Ruler);
    let choice = ui.checkbox(&mut ruler, "Ruler (M)").on_hover_text("Measure between two points of bodies");
    if answers.named("menu.View.Ruler", choice).changed() {
        state.tool = ruler.then_some(Tool::Ruler);
    }
    let colors = ui.menu_button("Colour by", |ui| {
        let names = std::iter::once((None, "The body", "Each body has a colour of its own."));
        for (field, title, meaning) in names.chain(Field::ALL.map(|field| (Some(field), field.title(), field.meaning()))) {
            let choice = ui.radio(state.field == field, title).on_hover_text(meaning);
            if answers.named(format!("color.{}", title.replace(' ', "_")), choice).clicked() {
                (state.field, state.hold_range, state.color_range) = (field, false, None);
                ui.close();
            }
        }
    });
    answers.named("menu.View.Colour", colors.response);
    ui.separator();
    ui.checkbox(&mut state.options.grid, "Floor grid");
    ui.checkbox(&mut state.options.shadows, "Shadows");
    let contacts = ui.checkbox(&mut state.contacts, "Contacts and their forces (C)");
    answers.named("menu.View.Contacts", contacts);
    if context.snapshot.scene.as_ref().is_some_and(|scene| !scene.checkups.is_empty()) {
        let faults = ui.checkbox(&mut state.checkups, "Faults of the mesh");
        answers.named("menu.View.Faults", faults);
    }
    if context.snapshot.scene.as_ref().is_some_and(|scene| scene.import.is_some()) {
        let import = ui.checkbox(&mut state.import_open, "Import of the mesh");
        answers.named("menu.View.Import", import);
    }
    let mut light = !state.dark;
    ui.checkbox(&mut light, "Light theme");
    state.dark = !light;
    let mut tree_open = state.tree_open.unwrap_or(true);
    ui.checkbox(&mut tree_open, "List of the scene (L)");
    state.tree_open = Some(tree_open);
    ui.checkbox(&mut state.inspector_open, "Side panel");
    let plots = ui.checkbox(&mut state.plots.open, "Plots (N)");
    answers.named("menu.View.Plots", plots);
    ui.separator();
    entry_ui(ui, answers, icon::CORNERS_OUT, "Frame all", "F", Action::FrameAll);
    if ui.add(Button::new(with_icon(icon::EYE_SLASH, "Hide panels")).shortcut_text("Tab")).clicked() {
        state.panels_visible = false;
        ui.close();
    }
}

fn verify_menu_ui(ui: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let show = ui.button(with_icon(icon::SEAL_CHECK, "Show the checks"));
    state.verify_open |= answers.named("menu.Verify.Show", show).clicked();
    if context.checks.running.is_some() {
        entry_ui(ui, answers, icon::STOP, "Cancel the run", "", Action::Checks(CheckAction::Cancel));
        return;
    }
    let all = ui.button(with_icon(icon::PLAY, "Run all checks"));
    if answers.named("menu.Verify.Run", all).clicked() {
        answers.act(Action::Checks(CheckAction::Run(None)));
        state.verify_open = true;
    }
    ui.separator();
    for (place, check) in CHECKS.iter().enumerate() {
        if ui.button(check.title).on_hover_text(check.meaning).clicked() {
            answers.act(Action::Checks(CheckAction::Run(Some(place))));
            (state.verify_open, state.verify_selected) = (true, place);
        }
    }
}

fn help_menu_ui(ui: &mut Ui, state: &mut UiState, answers: &mut UiResponse) {
    for (k, page) in PAGES.iter().enumerate() {
        let entry = Button::new(with_icon(icon::BOOK_OPEN, page.title)).shortcut_text(if k == 0 { "F1" } else { "" });
        if answers.named(format!("menu.Help.{}", page.file.trim_end_matches(".md")), ui.add(entry)).clicked() {
            state.help = Some(Help::at(k));
            ui.close();
        }
    }
    ui.separator();
    let keys = Button::new(with_icon(icon::KEYBOARD, "Keys and mouse")).shortcut_text("?");
    if answers.named("menu.Help.Keys", ui.add(keys)).clicked() {
        state.keys_open = true;
        ui.close();
    }
    if ui.button(with_icon(icon::INFO, "About Pliant")).clicked() {
        state.about_open = true;
        ui.close();
    }
}
