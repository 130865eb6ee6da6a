//! The bar at the top.

use egui::{
    Align, Button, Frame, Grid, Label, Layout, Margin, MenuBar, Panel, RichText, Role, ScrollArea, Ui, WidgetInfo,
    containers::menu::MenuConfig, vec2,
};

use super::access::Meaning;
use super::commands::{command, keys_of, meaning_of};
use super::entries::{add_menu_ui, entry_ui, with_icon};
use super::start::short_folder;
use super::{
    Action, BodyAction, CameraAction, CheckAction, GalleryItem, Help, TimeAction, Toggle, UiContext, UiResponse, UiState, icon, theme,
};
use crate::app::document::Document;
use crate::app::file_name;
use crate::app::film::{FORMATS, meaning_of_format};
use crate::app::format;
use crate::app::guide::PAGES;
use crate::app::tools::Tool;
use crate::render::{AxisView, Shading};
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
            if answers.named("toggle.tree", ui.add(list).meaning(hint)).clicked() {
                state.tree_open = Some(!is_open);
            }
            ui.add_space(2.0);
            ui.label(theme::icon(icon::CUBE, 17.0).color(palette.accent));
            ui.label(RichText::new("Pliant").font(theme::strong(14.0)));
            ui.add_space(8.0);
            let file = ui.menu_button("File", |ui| scrolled_ui(ui, |ui| file_menu_ui(ui, state, context, answers))).response;
            answers.named("menu.File", file);
            let edit = ui.menu_button("Edit", |ui| scrolled_ui(ui, |ui| edit_menu_ui(ui, state, context, answers))).response;
            answers.named("menu.Edit", edit);
            let shown = ui.menu_button("Gallery", |ui| scrolled_ui(ui, |ui| gallery_menu_ui(ui, state, context, answers))).response;
            answers.named("menu.Gallery", shown);
            let view = ui.menu_button("View", |ui| scrolled_ui(ui, |ui| view_menu_ui(ui, state, context, answers))).response;
            answers.named("menu.View", view);
            let verify = ui.menu_button("Verify", |ui| scrolled_ui(ui, |ui| verify_menu_ui(ui, state, context, answers))).response;
            answers.named("menu.Verify", verify);
            let help = ui.menu_button("Help", |ui| scrolled_ui(ui, |ui| help_menu_ui(ui, state, context, answers))).response;
            answers.named("menu.Help", help);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let hint = if state.inspector_open { "Hide the panel" } else { "Show the panel" };
                let panel = Button::new(theme::icon(icon::SIDEBAR_SIMPLE, 16.0)).selected(state.inspector_open).frame_when_inactive(false);
                if answers.named("toggle.panel", ui.add(panel).meaning(hint)).clicked() {
                    state.inspector_open = !state.inspector_open;
                }
                let hint = if state.plots.open { "Fold the plots away  (N)" } else { "Plots of energies, forces and times  (N)" };
                let plots = Button::new(theme::icon(icon::CHART_LINE, 16.0)).selected(state.plots.open).frame_when_inactive(false);
                if answers.named("toggle.plots", ui.add(plots).meaning(hint)).clicked() {
                    state.plots.open = !state.plots.open;
                }
                let (glyph, hint) = if state.dark { (icon::SUN, "Light theme") } else { (icon::MOON, "Dark theme") };
                let button = Button::new(theme::icon(glyph, 16.0)).frame_when_inactive(false);
                if answers.named("toggle.theme", ui.add(button).meaning(hint)).clicked() {
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

/// What is above a menu and around it, in points.
const AROUND: f32 = 40.0;

/// The entries of a menu; where the window is too low for all of them, they are scrolled.
fn scrolled_ui(ui: &mut Ui, entries: impl FnOnce(&mut Ui)) {
    let height = ui.ctx().content_rect().height() - AROUND;
    // As high as they are, whatever the menu was before.
    ui.set_max_height(height);
    ScrollArea::vertical().max_height(height).show(ui, entries);
}

fn file_menu_ui(ui: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    command_ui(ui, state, context, answers, &Action::Toggle(Toggle::StartPage));
    command_ui(ui, state, context, answers, &Action::OpenDialog);
    command_ui(ui, state, context, answers, &Action::OpenField);
    command_ui(ui, state, context, answers, &Action::Reload);
    let recent = ui.menu_button(with_icon(icon::CLOCK_COUNTER_CLOCKWISE, "Recent"), |ui| {
        if context.recent.paths.is_empty() {
            ui.weak("Nothing opened yet");
            return;
        }
        for path in &context.recent.paths {
            let folder = path.parent().map_or_else(String::new, short_folder);
            let entry = Button::new(file_name(path)).right_text(RichText::new(folder).weak());
            if ui.add(entry).on_hover_text(path.display().to_string()).clicked() {
                answers.act(Action::OpenPath(path.clone()));
                ui.close();
            }
        }
        ui.separator();
        if ui.button("Clear the list").on_hover_text("Forgets these files; the files themselves stay").clicked() {
            answers.act(Action::ClearRecent);
            ui.close();
        }
    });
    answers.named("menu.File.Recent", recent.response);
    ui.separator();
    command_ui(ui, state, context, answers, &Action::SaveScene);
    command_ui(ui, state, context, answers, &Action::SaveSceneAs);
    command_ui(ui, state, context, answers, &Action::SaveState);
    command_ui(ui, state, context, answers, &Action::LoadState);
    ui.separator();
    command_ui(ui, state, context, answers, &Action::Screenshot);
    let recording = if context.recording.is_some() { "Stop recording" } else { "Record a film" };
    named_ui(ui, answers, icon::RECORD, recording, Action::ToggleRecording);
    let formats = ui.menu_button(with_icon(icon::FILM_STRIP, "Format of films"), |ui| {
        for (format, name, _) in FORMATS {
            let choice = ui.radio(state.film.format == format, name).on_hover_text(meaning_of_format(format));
            if answers.named(format!("film.{}", name.replace(' ', "_")), choice).clicked() {
                state.film.format = format;
            }
        }
    });
    answers.named("menu.File.Films", formats.response);
    command_ui(ui, state, context, answers, &Action::Toggle(Toggle::Record));
    command_ui(ui, state, context, answers, &Action::Toggle(Toggle::Export));
    command_ui(ui, state, context, answers, &Action::SaveSession);
    ui.separator();
    command_ui(ui, state, context, answers, &Action::Quit);
}

fn edit_menu_ui(ui: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    command_ui(ui, state, context, answers, &Action::Undo);
    command_ui(ui, state, context, answers, &Action::Redo);
    ui.separator();
    add_menu_ui(ui, answers);
    let has_body = state.selection.items().iter().any(|item| item.body_name().is_some());
    ui.add_enabled_ui(has_body, |ui| {
        named_ui(ui, answers, icon::COPY, "Duplicate", Action::Bodies(BodyAction::Duplicate));
    });
    command_ui(ui, state, context, answers, &Action::BeginRename);
    let has_entry = state.selection.items().iter().any(|item| item.path.contains('.') && item.as_pin().is_none());
    ui.add_enabled_ui(has_entry, |ui| named_ui(ui, answers, icon::TRASH, "Delete", Action::Bodies(BodyAction::Delete)));
    holding_menu_ui(ui, context.grip, answers);
    command_ui(ui, state, context, answers, &Action::Toggle(Toggle::Brush));
    ui.separator();
    command_ui(ui, state, context, answers, &Action::ClearSelection);
    named_ui(ui, answers, icon::EYE, "Show all bodies", Action::Bodies(BodyAction::ShowAll));
    named_ui(ui, answers, icon::LOCK_OPEN, "Unlock all bodies", Action::Bodies(BodyAction::UnlockAll));
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
            0.0 => "It holds a point".to_owned(),
            radius => format!("It holds what is {} around a point", format::length(radius)),
        });
        ui.weak("Ctrl + wheel while you hold: more, or less");
        let again = |ui: &mut Ui| ui.button("A point again").on_hover_text("The mouse holds one point of a body, as at first");
        if grip.radius > 0.0 && answers.named("grip.point", again(ui)).clicked() {
            answers.act(Action::SetGrip(Grip { radius: 0.0, ..grip }));
            ui.close();
        }
    });
    answers.named("menu.Edit.Holding", menu.response);
}

fn gallery_menu_ui(ui: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let scenes = |is_experiment: bool| context.gallery.iter().filter(move |scene| scene.experiment == is_experiment);
    scenes(false).for_each(|scene| scene_entry_ui(ui, scene, state, answers));
    ui.separator();
    let experiments = ui.menu_button("Experiments with contact", |ui| {
        // One column would be higher than a small window.
        let columns = |ui: &mut Ui| {
            for (k, scene) in scenes(true).enumerate() {
                scene_entry_ui(ui, scene, state, answers);
                if k % COLUMNS == COLUMNS - 1 {
                    ui.end_row();
                }
            }
        };
        ScrollArea::vertical().show(ui, |ui| Grid::new("experiments").num_columns(COLUMNS).show(ui, columns));
    });
    answers.named("menu.Gallery.Experiments", experiments.response);
    let all = ui.button(with_icon(icon::SQUARES_FOUR, "All with pictures…")).on_hover_text(meaning_of(&Action::Toggle(Toggle::Gallery)));
    if answers.named("menu.Gallery.All", all).clicked() {
        state.gallery_open = true;
        ui.close();
    }
}

/// Height of the pictures in the menu, in points.
const PICTURE: f32 = 27.0;

/// Of the experiments.
const COLUMNS: usize = 2;

fn scene_entry_ui(ui: &mut Ui, scene: &GalleryItem, state: &mut UiState, answers: &mut UiResponse) {
    let entry = match state.thumbnails.image(ui.ctx(), scene.name, PICTURE) {
        Some(image) => Button::new((image.corner_radius(3), RichText::new(&scene.title))),
        None => Button::new(with_icon(icon::CUBE, &scene.title)),
    };
    let shown = ui.add(entry.min_size(vec2(0.0, PICTURE + 6.0)));
    let shown = if scene.description.is_empty() { shown } else { shown.on_hover_text(&scene.description) };
    if answers.named(format!("gallery.{}", scene.name), shown).clicked() {
        answers.act(Action::OpenGallery(scene.name.to_owned()));
        ui.close();
    }
}

/// Ways to draw bodies.
const VIEWS: [(&str, Shading, &str); 4] = [
    ("Surfaces", Shading::Smooth, "Bodies as they look"),
    ("Wireframe", Shading::Wireframe, "Bodies with the edges of their triangles"),
    ("Edges_only", Shading::Edges, "Only the edges of triangles, which one can look through"),
    ("Tetrahedra", Shading::Tets, "The elements that are computed"),
];

fn view_menu_ui(ui: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    for (label, shading, told) in VIEWS {
        let choice = ui.radio(state.options.shading == shading, label.replace('_', " ")).on_hover_text(told);
        if answers.named(format!("menu.View.{label}"), choice).clicked() {
            state.options.shading = shading;
        }
    }
    for (what, on) in
        [(Toggle::Inside, state.inside.open), (Toggle::Ruler, state.tool == Some(Tool::Ruler)), (Toggle::Plots, state.plots.open)]
    {
        toggle_ui(ui, state, answers, what, on);
    }
    if context.timeline.as_ref().is_some_and(|timeline| timeline.lanes.len() > 1) {
        command_ui(ui, state, context, answers, &Action::Time(TimeAction::ToggleGhost));
    }
    let colors = ui.menu_button(with_icon(icon::DROP, "Colour by"), |ui| {
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
    for (what, on) in [(Toggle::Grid, state.options.grid), (Toggle::Shadows, state.options.shadows), (Toggle::Contacts, state.contacts)] {
        toggle_ui(ui, state, answers, what, on);
    }
    if context.snapshot.scene.as_ref().is_some_and(|scene| !scene.checkups.is_empty()) {
        let faults = ui
            .checkbox(&mut state.checkups, "Faults of the mesh")
            .on_hover_text("Marks what was found wrong with it, and the list of that");
        answers.named("menu.View.Faults", faults);
    }
    if context.snapshot.scene.as_ref().is_some_and(|scene| scene.import.is_some()) {
        let import =
            ui.checkbox(&mut state.import_open, "Import of the mesh").on_hover_text("The sheet with its size, its direction and its tets");
        answers.named("menu.View.Import", import);
    }
    ui.separator();
    let camera = ui.menu_button(with_icon(icon::VIDEO_CAMERA, "Camera"), |ui| camera_menu_ui(ui, state, context, answers)).response;
    answers.named("menu.View.Camera", camera);
    command_ui(ui, state, context, answers, &Action::FrameAll);
    ui.separator();
    let tree_open = state.tree_open.unwrap_or(true);
    for (what, on) in [(Toggle::LightTheme, !state.dark), (Toggle::Tree, tree_open), (Toggle::SidePanel, state.inspector_open)] {
        toggle_ui(ui, state, answers, what, on);
    }
    command_ui(ui, state, context, answers, &Action::Toggle(Toggle::Panels));
    toggle_ui(ui, state, answers, Toggle::AskPast, state.asks_past);
}

fn camera_menu_ui(ui: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    command_ui(ui, state, context, answers, &Action::Camera(CameraAction::Home));
    ui.separator();
    for (view, _) in AxisView::ALL {
        command_ui(ui, state, context, answers, &Action::Camera(CameraAction::Along(view)));
    }
    ui.separator();
    let parallel = Action::Camera(CameraAction::ToggleParallel);
    let words = with_icon(icon::PERSPECTIVE, "Orthographic");
    let entry = Button::selectable(context.is_parallel, words).shortcut_text(keys_of(&parallel));
    if answers.named("item.Orthographic", ui.add(entry).on_hover_text(meaning_of(&parallel))).clicked() {
        answers.act(parallel);
        ui.close();
    }
    ui.separator();
    for (place, view) in context.views.iter().enumerate() {
        ui.horizontal(|ui| {
            let delete = Button::new(theme::icon(icon::X, 12.0)).frame_when_inactive(false);
            let delete = ui.add(delete).meaning("Delete this view");
            if answers.named(format!("view.delete.{place}"), delete).clicked() {
                answers.act(Action::Camera(CameraAction::Delete(place)));
            }
            let time = view.time.map(|time| format!(". Films that go through the views are here at {time:.2} s"));
            let go = ui.button(&view.name).on_hover_text(format!("Looks from there{}", time.unwrap_or_default()));
            if answers.named(format!("view.{place}"), go).clicked() {
                answers.act(Action::Camera(CameraAction::Go(place)));
                ui.close();
            }
        });
    }
    let save = ui.button(with_icon(icon::FLOPPY_DISK, "Save this view…")).on_hover_text(meaning_of(&Action::Toggle(Toggle::SaveView)));
    if answers.named("item.Save_view", save).clicked() {
        state.view_name = Some(format!("View {}", context.views.len() + 1));
        ui.close();
    }
}

fn verify_menu_ui(ui: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let show = ui.button(with_icon(icon::SEAL_CHECK, "Show the checks")).on_hover_text(meaning_of(&Action::Toggle(Toggle::Checks)));
    state.verify_open |= answers.named("menu.Verify.Show", show).clicked();
    if context.checks.running.is_some() {
        named_ui(ui, answers, icon::STOP, "Cancel the run", Action::Checks(CheckAction::Cancel));
        return;
    }
    let all = ui.button(with_icon(icon::PLAY, "Run all checks")).on_hover_text("Computes all of them beside the simulation");
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

fn help_menu_ui(ui: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    for (k, page) in PAGES.iter().enumerate() {
        let keys = if k == 0 { keys_of(&Action::Toggle(Toggle::Guide)) } else { "" };
        let entry = Button::new(with_icon(icon::BOOK_OPEN, page.title)).shortcut_text(keys);
        let entry = ui.add(entry).on_hover_text("Opens this page of the guide");
        if answers.named(format!("menu.Help.{}", page.file.trim_end_matches(".md")), entry).clicked() {
            state.help = Some(Help::at(k));
            ui.close();
        }
    }
    ui.separator();
    for what in [Toggle::Palette, Toggle::Keys, Toggle::About] {
        command_ui(ui, state, context, answers, &Action::Toggle(what));
    }
}

/// The entry of a command of the table.
fn command_ui(ui: &mut Ui, state: &UiState, context: &UiContext, answers: &mut UiResponse, action: &Action) {
    let Some(command) = command(action) else { return };
    let is_enabled = command.is_enabled(state, context);
    ui.add_enabled_ui(is_enabled, |ui| named_ui(ui, answers, command.icon, command.name, action.clone()));
}

/// An entry that shows whether something is on.
fn toggle_ui(ui: &mut Ui, state: &mut UiState, answers: &mut UiResponse, what: Toggle, on: bool) {
    let Some(command) = command(&Action::Toggle(what)) else { return };
    let sign = theme::icon(if on { icon::CHECK_SQUARE } else { icon::SQUARE }, 15.0);
    let entry = Button::new((sign, RichText::new(command.name))).shortcut_text(command.keys);
    let entry = ui.add(entry).on_hover_text(command.meaning);
    entry.widget_info(|| WidgetInfo::selected(Role::CheckBox, true, on, command.name));
    if answers.named(format!("menu.View.{what:?}"), entry).clicked() {
        state.toggle(what);
    }
}

/// An entry with the keys of its action.
fn named_ui(ui: &mut Ui, answers: &mut UiResponse, icon: &str, label: &str, action: Action) {
    entry_ui(ui, answers, icon, label, keys_of(&action), action);
}
