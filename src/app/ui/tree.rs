//! The panel at the left: what there is in the scene, to be selected, looked at and hidden.

use egui::{
    Button, Color32, CornerRadius, CursorIcon, Frame, Margin, Panel, Rect, Response, RichText, Role, ScrollArea, Sense, TextEdit, Ui,
    WidgetInfo, pos2, vec2,
};

use super::access::Meaning;
use super::entries::{LISTS, add_entries_ui, name_of, with_icon};
use super::inspector::no_scene_ui;
use super::naming::{Renaming, renaming_ui};
use super::{Action, ContextMenu, UiContext, UiResponse, UiState, icon, theme};
use crate::app::document::Document;
use crate::app::engine::SceneInfo;
use crate::app::selection::{Item, Pick, all_bodies};
use crate::body::{BodyRef, base_name};
use crate::model::{Extent, FixedParts, Model};
use crate::scene::{Rename, Scene};
use crate::stage::{body_color, obstacle_color, rigid_color};

/// State of the panel that stays between frames.
#[derive(Default)]
pub struct TreeState {
    pub search: String,
    /// Bodies whose copies are listed.
    unfolded: Vec<String>,
    /// The name that is typed.
    renaming: Option<Renaming>,
}

impl TreeState {
    /// Shows a field for another name of the entry at a path.
    pub fn rename(&mut self, path: &str, name: &str) {
        self.search.clear();
        self.renaming = Some(Renaming::new(path, name));
    }

    /// The name that was typed cannot be.
    pub fn rename_again(&mut self, path: &str) {
        self.renaming.take_if(|renaming| renaming.path == path && !renaming.again());
    }

    pub fn end_rename(&mut self) {
        self.renaming = None;
    }

    /// An entry has another name.
    pub fn carry_name(&mut self, rename: &Rename) {
        for name in &mut self.unfolded {
            *name = rename.name_for("body", name).unwrap_or_else(|| name.clone());
        }
        if let Some(renaming) = &mut self.renaming {
            renaming.carry_name(rename);
        }
    }
}

/// Height of a line, in points.
const LINE: f32 = 23.0;
/// Fewer bodies than this need no search.
const FEW: usize = 4;

/// A line of the list.
struct Line {
    label: String,
    kind: LineKind,
    depth: u8,
}

enum LineKind {
    Heading,
    Entry {
        item: Item,
        mark: Mark,
        /// Names of the bodies in the model that the line stands for.
        bodies: Vec<String>,
        /// Of a body with copies, whether these are listed.
        unfolded: Option<bool>,
        /// What is said at the right.
        figure: String,
    },
}

#[derive(Clone, Copy)]
enum Mark {
    Dot(Color32),
    Icon(&'static str),
}

pub fn tree_ui(root: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let palette = theme::palette(root.ctx());
    let width = if root.available_width() < 1150.0 { 168.0 } else { 196.0 };
    let frame = Frame::new().fill(palette.panel).inner_margin(Margin { left: 10, right: 4, top: 8, bottom: 8 });
    Panel::left("scene").frame(frame).exact_size(width).resizable(false).show(root, |ui| {
        let Some(scene) = &context.snapshot.scene else {
            no_scene_ui(ui, context);
            return;
        };
        if context.document.is_some() {
            add_ui(ui, answers);
        }
        let all = all_lines(scene, context.document, &state.tree);
        if scene.model.numbering().n_with_unknowns() + scene.model.obstacles.len() > FEW {
            search_ui(ui, &mut state.tree.search, answers);
        } else {
            state.tree.search.clear();
        }
        let lines = found(all, &state.tree.search);
        if lines.is_empty() {
            ui.weak("Nothing has this name.");
        }
        let order: Vec<Item> = lines.iter().filter_map(Line::item).cloned().collect();
        ui.spacing_mut().item_spacing.y = 0.0;
        let mut area = ScrollArea::vertical().auto_shrink(false);
        // The line whose name is about to be typed is in sight.
        let new = state.tree.renaming.as_ref().filter(|renaming| renaming.is_new);
        if let Some(place) = new.and_then(|renaming| lines.iter().position(|line| line.is_renamed(renaming))) {
            area = area.vertical_scroll_offset((LINE * place as f32 - 0.5 * ui.available_height()).max(0.0));
        }
        area.show_rows(ui, LINE, lines.len(), |ui, shown| {
            for line in &lines[shown] {
                line_ui(ui, line, &order, state, context, answers);
            }
        });
    });
}

/// What can be added to the scene.
fn add_ui(ui: &mut Ui, answers: &mut UiResponse) {
    let menu = ui.menu_button(with_icon(icon::PLUS, "Add"), |ui| add_entries_ui(ui, answers));
    answers.named("tree.add", menu.response).on_hover_text("Bodies, forces, springs, probes, materials and the like");
    ui.add_space(2.0);
}

fn search_ui(ui: &mut Ui, search: &mut String, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        ui.label(theme::icon(icon::MAGNIFYING_GLASS, 13.0).color(palette.weak));
        let field = TextEdit::singleline(search).hint_text("Search").desired_width(ui.available_width() - 34.0);
        let field = ui.add(field).on_hover_text("Bodies and materials by a part of their name");
        answers.named("tree.search", field);
        if !search.is_empty() {
            let clear = Button::new(theme::icon(icon::X, 11.0)).frame_when_inactive(false);
            if answers.named("tree.search.clear", ui.add(clear).meaning("Show all")).clicked() {
                search.clear();
            }
        }
    });
    ui.add_space(4.0);
}

impl Line {
    fn item(&self) -> Option<&Item> {
        if let LineKind::Entry { item, .. } = &self.kind { Some(item) } else { None }
    }

    fn is_renamed(&self, renaming: &Renaming) -> bool {
        self.item().is_some_and(|item| item.path == renaming.path && item.copy.is_none())
    }
}

/// Everything that is in the scene, with the copies of bodies that are unfolded, and those of all while something is
/// searched.
fn all_lines(scene: &SceneInfo, document: Option<&Document>, state: &TreeState) -> Vec<Line> {
    let model = &scene.model;
    let mut lines = vec![heading("Bodies")];
    let bodies: Vec<BodyRef> = all_bodies(model).collect();
    let groups = bodies.chunk_by(|a, b| base_name(model.body_name(*a)) == base_name(model.body_name(*b)));
    for group in groups {
        let name = base_name(model.body_name(group[0]));
        let names: Vec<String> = group.iter().map(|body| model.body_name(*body).to_owned()).collect();
        let mark = mark_of(model, group[0]);
        let is_unfolded = state.unfolded.iter().any(|known| known == name) || !state.search.is_empty();
        let (unfolded, figure) = match group.len() {
            1 => (None, String::new()),
            n => (Some(is_unfolded), format!("{n}")),
        };
        let kind = LineKind::Entry { item: Item::table(format!("body.{name}")), mark, bodies: names.clone(), unfolded, figure };
        lines.push(Line { label: name.to_owned(), kind, depth: 0 });
        if unfolded == Some(true) {
            lines.extend(names.into_iter().map(|name| Line {
                label: name.clone(),
                kind: LineKind::Entry { item: Item::body(&name), mark, bodies: vec![name], unfolded: None, figure: String::new() },
                depth: 1,
            }));
        }
    }
    let Some(document) = document else { return lines };
    let mut section = |title: &str, sign: &'static str, entries: Vec<(String, String)>| {
        if !entries.is_empty() {
            lines.push(heading(title));
        }
        lines.extend(entries.into_iter().map(|(path, label)| {
            let (item, mark) = (Item::table(path), Mark::Icon(sign));
            Line { label, kind: LineKind::Entry { item, mark, bodies: vec![], unfolded: None, figure: String::new() }, depth: 0 }
        }));
    };
    let materials = document.scene().material_names().into_iter().map(|name| (format!("material.{name}"), name));
    section("Materials", icon::DROP, materials.collect());
    let fixed = document.scene().live_values().fixed;
    let pins_of = |fixed: &FixedParts| {
        let is_pin = |(_, part): &(usize, &Extent)| matches!(part, Extent::Spheres(_));
        let pins = fixed.parts.iter().enumerate().filter(is_pin).map(|(part, _)| Item::pin(&fixed.body, part));
        pins.map(|pin| (pin.path.clone(), pin.title())).collect::<Vec<_>>()
    };
    section("Pins", icon::PUSH_PIN, fixed.iter().flat_map(pins_of).collect());
    let tables = [
        ("title", "Title"),
        ("simulation", "Simulation"),
        ("contact", "Contact"),
        ("camera", "Camera"),
        ("light", "Light"),
        ("recording", "Recording"),
    ];
    section("Scene", icon::SLIDERS_HORIZONTAL, tables.map(|(path, label)| (path.to_owned(), label.to_owned())).into());
    for list in &LISTS {
        let entry = |k: usize| {
            let path = format!("{}.{k}", list.path);
            let name = name_of(document.scene(), &Item::table(path.clone()));
            (path, name)
        };
        section(list.title, icon::STACK, (0..document.scene().n_entries(list.path)).map(entry).collect());
    }
    lines
}

fn heading(title: &str) -> Line {
    Line { label: title.to_owned(), kind: LineKind::Heading, depth: 0 }
}

/// The lines whose names hold what is searched, below their headings.
fn found(lines: Vec<Line>, search: &str) -> Vec<Line> {
    let wanted = search.trim().to_lowercase();
    if wanted.is_empty() {
        return lines;
    }
    let mut kept: Vec<Line> = vec![];
    for line in lines {
        if line.item().is_none() {
            kept.pop_if(|last| last.item().is_none());
            kept.push(line);
        } else if line.label.to_lowercase().contains(&wanted) {
            kept.push(line);
        }
    }
    kept.pop_if(|last| last.item().is_none());
    kept
}

fn mark_of(model: &Model, body: BodyRef) -> Mark {
    let color = match body {
        BodyRef::Deformable(_) => body_color(model, body.index()),
        BodyRef::Rigid(_) => rigid_color(model, body.index()),
        BodyRef::Obstacle(_) => obstacle_color(&model.obstacles[body.index()]),
        BodyRef::World => return Mark::Icon(icon::CUBE),
    };
    let [r, g, b] = color.0.map(|c| (c * 255.0).round() as u8);
    Mark::Dot(Color32::from_rgb(r, g, b))
}

fn line_ui(ui: &mut Ui, line: &Line, order: &[Item], state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    let is_heading = matches!(line.kind, LineKind::Heading);
    let sense = if is_heading { Sense::hover() } else { Sense::click() };
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width() - 4.0, LINE), sense);
    let LineKind::Entry { item, mark, bodies, unfolded, figure } = &line.kind else {
        ui.painter().text(rect.left_bottom() - vec2(0.0, 5.0), egui::Align2::LEFT_BOTTOM, &line.label, theme::strong(11.5), palette.weak);
        return;
    };
    let is_selected = state.selection.contains(item);
    let is_hidden = !bodies.is_empty() && bodies.iter().all(|name| state.selection.is_hidden(name));
    let response = response.on_hover_cursor(CursorIcon::PointingHand);
    response.widget_info(|| WidgetInfo::selected(Role::TreeItem, true, is_selected, &line.label));
    let hovered = response.hovered() || response.has_focus();
    if is_selected || hovered {
        let fill = if is_selected { palette.accent.gamma_multiply(0.22) } else { ui.visuals().widgets.inactive.weak_bg_fill };
        ui.painter().rect_filled(rect, CornerRadius::same(5), fill);
    }
    let left = rect.left() + 4.0 + 12.0 * f32::from(line.depth);
    let text_color = if is_hidden { palette.weak } else { palette.text };
    let middle = rect.center().y;
    let at = pos2(left + 6.0, middle);
    match mark {
        Mark::Dot(color) => {
            ui.painter().circle_filled(at, 4.5, if is_hidden { color.gamma_multiply(0.4) } else { *color });
        }
        Mark::Icon(sign) => {
            ui.painter().text(at, egui::Align2::CENTER_CENTER, sign, theme::icon_font(13.0), palette.weak);
        }
    }
    let mut right = rect.right() - 4.0;
    if !bodies.is_empty() {
        let place = Rect::from_center_size(pos2(right - 8.0, middle), vec2(20.0, LINE));
        eye_ui(ui, line, bodies, place, (is_hidden, hovered), state, answers);
        right -= 20.0;
        let is_locked = bodies.iter().all(|name| state.selection.is_locked(name));
        if is_locked || hovered || is_selected {
            let place = Rect::from_center_size(pos2(right - 8.0, middle), vec2(18.0, LINE));
            lock_ui(ui, line, bodies, place, is_locked, state, answers);
            right -= 18.0;
        }
    }
    if let Some(is_open) = unfolded {
        let place = Rect::from_center_size(pos2(right - 6.0, middle), vec2(16.0, LINE));
        if caret_ui(ui, line, place, *is_open, answers).clicked() {
            let name = line.label.clone();
            if *is_open {
                state.tree.unfolded.retain(|known| *known != name)
            } else {
                state.tree.unfolded.push(name)
            };
        }
        right -= 16.0;
        let count = ui.painter().layout_no_wrap(format!("×{figure}"), theme::figures(11.0), palette.weak);
        right -= count.size().x + 4.0;
        ui.painter().galley(pos2(right, middle - 0.5 * count.size().y), count, palette.weak);
    }
    if let Some(renaming) = state.tree.renaming.as_mut().filter(|renaming| line.is_renamed(renaming)) {
        let place = Rect::from_min_max(pos2(left + 14.0, rect.top() + 1.0), pos2(right, rect.bottom() - 1.0));
        if renaming_ui(ui, place, renaming, answers) {
            state.tree.end_rename();
        }
        return;
    }
    let mut job = egui::text::LayoutJob::simple_singleline(line.label.clone(), egui::FontId::proportional(13.0), text_color);
    job.wrap = egui::text::TextWrapping::truncate_at_width((right - left - 18.0).max(10.0));
    let label = ui.painter().layout_job(job);
    ui.painter().galley(pos2(left + 16.0, middle - 0.5 * label.size().y), label, text_color);
    let is_nameable = context.document.is_some() && item.copy.is_none() && Scene::named_list(&item.path).is_some();
    let hint = match (is_nameable, bodies.is_empty()) {
        (true, _) => "Click shows its values, double click or F2 renames it",
        (false, true) => "Click shows its values",
        (false, false) => "Click shows its values, double click looks at it",
    };
    let response = answers.named(format!("tree.{}", item_name(item)), response).on_hover_text(format!("{}\n{hint}", line.label));
    if response.secondary_clicked() && (!bodies.is_empty() || item.as_pin().is_some()) {
        if !is_selected {
            state.selection.pick(item, Pick::Only, order);
        }
        let pin = item.as_pin().map(|(body, part)| (body.to_owned(), part));
        state.menu = response.interact_pointer_pos().or(ui.input(|input| input.pointer.latest_pos())).map(|at| ContextMenu {
            at,
            can_pin: false,
            pin,
            held: None,
            is_ground: false,
        });
    } else if response.double_clicked() && is_nameable {
        state.selection.pick(item, Pick::Only, order);
        answers.act(Action::BeginRename);
    } else if response.double_clicked() && !bodies.is_empty() {
        look_at(context, bodies, answers);
    } else if response.clicked() {
        let modifiers = ui.input(|input| input.modifiers);
        let how = if modifiers.shift {
            Pick::Through
        } else if modifiers.command {
            Pick::Toggle
        } else {
            Pick::Only
        };
        state.selection.pick(item, how, order);
    }
}

fn item_name(item: &Item) -> String {
    item.copy.map_or_else(|| item.path.clone(), |copy| format!("{}[{copy}]", item.path))
}

/// Flies to the bodies that move or have a mesh.
fn look_at(context: &UiContext, names: &[String], answers: &mut UiResponse) {
    let Some(scene) = &context.snapshot.scene else { return };
    let (model, numbering) = (&scene.model, scene.model.numbering());
    let is_one = |number: &usize| names.iter().any(|name| name == model.body_name(numbering.body(*number)));
    let numbers: Vec<usize> = (0..numbering.n_with_unknowns()).filter(is_one).collect();
    if let [first, ..] = numbers[..] {
        answers.act(Action::FrameBodies { first, count: numbers.len() });
    }
}

fn eye_ui(
    ui: &mut Ui,
    line: &Line,
    bodies: &[String],
    place: Rect,
    (is_hidden, is_near): (bool, bool),
    state: &mut UiState,
    answers: &mut UiResponse,
) {
    let palette = theme::palette(ui.ctx());
    let response = ui.interact(place, ui.scope_id().with(("eye", &line.label)), Sense::click()).on_hover_cursor(CursorIcon::PointingHand);
    let told = if is_hidden { format!("Show {}", line.label) } else { format!("Hide {} in the view", line.label) };
    response.widget_info(|| WidgetInfo::selected(Role::CheckBox, true, !is_hidden, &told));
    let sign = if is_hidden { icon::EYE_SLASH } else { icon::EYE };
    let color = match (is_hidden, is_near || response.hovered() || response.has_focus()) {
        (true, _) => palette.text,
        (false, true) => palette.weak,
        (false, false) => palette.weak.gamma_multiply(0.45),
    };
    ui.painter().text(place.center(), egui::Align2::CENTER_CENTER, sign, theme::icon_font(13.0), color);
    if answers.named(format!("eye.{}", line.label), response).on_hover_text(told).clicked() {
        state.selection.hide(bodies.iter().map(String::as_str), !is_hidden);
    }
}

fn lock_ui(ui: &mut Ui, line: &Line, bodies: &[String], place: Rect, is_locked: bool, state: &mut UiState, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    let response = ui.interact(place, ui.scope_id().with(("lock", &line.label)), Sense::click()).on_hover_cursor(CursorIcon::PointingHand);
    let told = if is_locked { format!("Unlock {}", line.label) } else { format!("Lock {}: it cannot be picked or changed", line.label) };
    response.widget_info(|| WidgetInfo::selected(Role::CheckBox, true, is_locked, &told));
    let sign = if is_locked { icon::LOCK } else { icon::LOCK_OPEN };
    let color = if is_locked || response.hovered() { palette.text } else { palette.weak };
    ui.painter().text(place.center(), egui::Align2::CENTER_CENTER, sign, theme::icon_font(13.0), color);
    if answers.named(format!("lock.{}", line.label), response).on_hover_text(told).clicked() {
        state.selection.lock(bodies.iter().map(String::as_str), !is_locked);
    }
}

fn caret_ui(ui: &mut Ui, line: &Line, place: Rect, is_open: bool, answers: &mut UiResponse) -> Response {
    let palette = theme::palette(ui.ctx());
    let response =
        ui.interact(place, ui.scope_id().with(("copies", &line.label)), Sense::click()).on_hover_cursor(CursorIcon::PointingHand);
    let told = if is_open { "Fold its copies" } else { "List its copies" };
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, told));
    let sign = if is_open { icon::CARET_DOWN } else { icon::CARET_RIGHT };
    ui.painter().text(place.center(), egui::Align2::CENTER_CENTER, sign, theme::icon_font(11.0), palette.weak);
    answers.named(format!("copies.{}", line.label), response).on_hover_text(RichText::new(told))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_keeps_what_it_finds_below_its_heading() {
        let entry = |label: &str| Line {
            label: label.into(),
            kind: LineKind::Entry {
                item: Item::table(format!("body.{label}")),
                mark: Mark::Icon(icon::CUBE),
                bodies: vec![],
                unfolded: None,
                figure: String::new(),
            },
            depth: 0,
        };
        let lines = || {
            vec![heading("Bodies"), entry("Bunny"), entry("floor"), heading("Materials"), entry("rubber"), heading("Scene"), entry("Light")]
        };
        let names = |search: &str| found(lines(), search).iter().map(|line| line.label.clone()).collect::<Vec<_>>().join(" ");
        assert_eq!(names("bun"), "Bodies Bunny");
        assert_eq!(names(" R "), "Bodies floor Materials rubber");
        assert_eq!(names("li"), "Scene Light");
        assert_eq!(names("x"), "");
        assert_eq!(found(lines(), "").len(), 7);
    }
}
