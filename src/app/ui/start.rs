//! The start page: what can be opened, where no scene is, or where the user wants another one. And the gallery with its
//! pictures.

use egui::{
    Align, Align2, Button, Color32, CornerRadius, FontId, Layout, Rect, Response, RichText, Role, ScrollArea, Sense, Stroke, StrokeKind,
    Ui, UiBuilder, WidgetInfo, pos2, vec2,
};

use super::access::Meaning;
use super::sheet::sheet_ui;
use super::thumbnails::Thumbnails;
use super::{Action, GalleryItem, UiContext, UiResponse, UiState, icon, theme};
use crate::app::file_name;
use crate::app::worker::Activity;

/// Recent files that are shown.
const RECENT: usize = 6;
const CARD_WIDTH: f32 = 190.0;
const CARD_TEXT: f32 = 30.0;
const GAP: f32 = 12.0;

/// Whether the page takes the place of the view.
pub fn is_shown(state: &UiState, context: &UiContext) -> bool {
    let is_building = matches!(context.snapshot.activity, Activity::Building { .. });
    state.start_open || (context.snapshot.scene.is_none() && !is_building)
}

pub fn start_ui(root: &mut Ui, view: Rect, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let palette = theme::palette(root.ctx());
    root.painter().rect_filled(view, CornerRadius::ZERO, palette.well);
    let width = (view.width() - 48.0).min(1040.0);
    let column = Rect::from_min_max(pos2(view.center().x - 0.5 * width, view.top()), pos2(view.center().x + 0.5 * width, view.bottom()));
    root.scope_builder(UiBuilder::new().max_rect(column), |ui| {
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            ui.set_width(width - 12.0);
            ui.add_space((0.04 * view.height()).min(28.0));
            heading_ui(ui, state, context, answers);
            ui.add_space(14.0);
            targets_ui(ui, state, answers);
            ui.add_space(18.0);
            if !context.recent.paths.is_empty() {
                recent_ui(ui, context, answers);
                ui.add_space(18.0);
            }
            section_ui(ui, "Scenes to play with");
            let shown = context.gallery.iter().filter(|item| !item.experiment);
            grid_ui(ui, &mut state.thumbnails, shown, "start", answers);
            ui.add_space(20.0);
        });
    });
}

fn heading_ui(ui: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    ui.horizontal(|ui| {
        ui.label(theme::icon(icon::CUBE, 34.0).color(palette.accent));
        ui.vertical(|ui| {
            ui.spacing_mut().item_spacing.y = 1.0;
            ui.label(RichText::new("Pliant").font(theme::strong(22.0)));
            ui.label(RichText::new("Pull, squeeze and drop elastic solids, in real time").color(palette.weak));
        });
        if let Some(scene) = &context.snapshot.scene {
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let back = Button::new((theme::icon(icon::ARROW_LEFT, 14.0), RichText::new(format!("Back to {}", scene.name))));
                if answers.named("start.back", ui.add(back.truncate()).on_hover_text("Esc")).clicked() {
                    state.start_open = false;
                }
            });
        }
    });
}

fn section_ui(ui: &mut Ui, title: &str) {
    ui.label(RichText::new(title).font(theme::strong(14.0)));
    ui.add_space(4.0);
}

/// The three ways to a scene.
fn targets_ui(ui: &mut Ui, state: &mut UiState, answers: &mut UiResponse) {
    let size = vec2((ui.available_width() - 2.0 * GAP) / 3.0, 104.0);
    let hovers = ui.input(|input| !input.raw.hovered_files.is_empty());
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = GAP;
        let open = target_ui(ui, size, icon::FOLDER_OPEN, ["Open a file", "A scene, a mesh or a session   Ctrl+O"], false);
        if answers.named("start.open", open).clicked() {
            answers.act(Action::OpenDialog);
        }
        let gallery = target_ui(ui, size, icon::SQUARES_FOUR, ["Gallery", "Scenes to play with, and experiments"], false);
        if answers.named("start.gallery", gallery).clicked() {
            state.gallery_open = true;
        }
        let words = if hovers { ["Let it go", "It becomes a scene"] } else { ["Drop a file here", "OBJ, STL, PLY, glTF, Gmsh, …"] };
        let drop = target_ui(ui, size, icon::DOWNLOAD_SIMPLE, words, true);
        if answers.named("start.drop", drop).clicked() {
            answers.act(Action::OpenDialog);
        }
    });
}

fn target_ui(ui: &mut Ui, size: egui::Vec2, glyph: &str, [title, text]: [&str; 2], is_drop: bool) -> Response {
    let palette = theme::palette(ui.ctx());
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, title));
    let is_hot = response.hovered() || response.has_focus() || (is_drop && ui.input(|input| !input.raw.hovered_files.is_empty()));
    let line = Stroke::new(if is_hot { 1.5 } else { 1.0 }, if is_hot { palette.accent } else { palette.border });
    let painter = ui.painter();
    let round = CornerRadius::same(14);
    if is_drop {
        painter.rect_filled(rect, round, palette.card.gamma_multiply(0.5));
        let r = rect.shrink(1.0);
        let corners = [r.left_top(), r.right_top(), r.right_bottom(), r.left_bottom(), r.left_top()];
        painter.extend(egui::Shape::dashed_line(&corners, line, 6.0, 5.0));
    } else {
        painter.rect(rect, round, palette.card, line, StrokeKind::Inside);
    }
    let middle = rect.center();
    painter.text(middle - vec2(0.0, 24.0), Align2::CENTER_CENTER, glyph, theme::icon_font(28.0), palette.accent);
    painter.text(middle + vec2(0.0, 8.0), Align2::CENTER_CENTER, title, theme::strong(15.0), palette.text);
    let clipped = painter.with_clip_rect(rect.shrink(6.0));
    clipped.text(middle + vec2(0.0, 29.0), Align2::CENTER_CENTER, text, FontId::proportional(12.5), palette.weak);
    response
}

fn recent_ui(ui: &mut Ui, context: &UiContext, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    section_ui(ui, "Recent files");
    let half = 0.5 * (ui.available_width() - GAP);
    for row in context.recent.paths.iter().take(RECENT).collect::<Vec<_>>().chunks(2) {
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = GAP;
            for path in row {
                let (rect, response) = ui.allocate_exact_size(vec2(half, 34.0), Sense::click());
                let name = file_name(path);
                response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &name));
                let fill = if response.hovered() || response.has_focus() { palette.border } else { palette.card };
                ui.painter().rect_filled(rect, CornerRadius::same(9), fill);
                let painter = ui.painter().with_clip_rect(rect.shrink(8.0));
                let at = rect.left_center() + vec2(12.0, 0.0);
                let shown = painter.text(at, Align2::LEFT_CENTER, &name, FontId::proportional(13.5), palette.text);
                let folder = path.parent().map_or_else(String::new, short_folder);
                painter.text(shown.right_center() + vec2(10.0, 0.0), Align2::LEFT_CENTER, folder, FontId::proportional(12.0), palette.weak);
                let response = response.on_hover_text(path.display().to_string());
                if answers.named(format!("recent.{name}"), response).clicked() {
                    answers.act(Action::OpenPath((*path).clone()));
                }
            }
        });
    }
}

/// A folder with "~" for the user's own.
pub fn short_folder(folder: &std::path::Path) -> String {
    match dirs::home_dir().and_then(|home| folder.strip_prefix(home).ok().map(std::path::Path::to_owned)) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => folder.display().to_string(),
    }
}

/// Scenes as pictures with their names, as many in a row as there is room for.
fn grid_ui<'a>(
    ui: &mut Ui,
    thumbnails: &mut Thumbnails,
    items: impl Iterator<Item = &'a GalleryItem>,
    prefix: &str,
    answers: &mut UiResponse,
) {
    let columns = ((ui.available_width() + GAP) / (CARD_WIDTH + GAP)).floor().max(1.0);
    let width = (ui.available_width() - (columns - 1.0) * GAP) / columns;
    let size = vec2(width, width * 9.0 / 16.0 + CARD_TEXT);
    for row in items.collect::<Vec<_>>().chunks(columns as usize) {
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = GAP;
            for item in row {
                let card = card_ui(ui, thumbnails, item, size);
                if answers.named(format!("{prefix}.{}", item.name), card).clicked() {
                    answers.act(Action::OpenGallery(item.name.to_owned()));
                }
            }
        });
        ui.add_space(GAP - ui.spacing().item_spacing.y);
    }
}

fn card_ui(ui: &mut Ui, thumbnails: &mut Thumbnails, item: &GalleryItem, size: egui::Vec2) -> Response {
    let palette = theme::palette(ui.ctx());
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &item.title));
    let response = if item.description.is_empty() { response } else { response.on_hover_text(&item.description) };
    if !ui.is_rect_visible(rect) {
        return response;
    }
    let picture = Rect::from_min_max(rect.min, rect.max - vec2(0.0, CARD_TEXT));
    let round = CornerRadius { nw: 10, ne: 10, sw: 0, se: 0 };
    ui.painter().rect_filled(rect, CornerRadius::same(10), palette.card);
    ui.painter().rect_filled(picture, round, palette.border);
    if let Some(image) = thumbnails.image(ui.ctx(), item.name, picture.height()) {
        image.corner_radius(round).paint_at(ui, picture);
    }
    let is_hot = response.hovered() || response.has_focus();
    let line = if is_hot { Stroke::new(1.5, palette.accent) } else { Stroke::new(1.0, palette.border) };
    ui.painter().rect_stroke(rect, CornerRadius::same(10), line, StrokeKind::Inside);
    let text = ui.painter().with_clip_rect(rect.shrink(6.0));
    let at = pos2(rect.left() + 10.0, rect.bottom() - 0.5 * CARD_TEXT);
    text.text(at, Align2::LEFT_CENTER, &item.title, FontId::proportional(13.0), palette.text);
    if item.is_session() {
        let mark = Rect::from_center_size(picture.right_top() + vec2(-16.0, 16.0), vec2(22.0, 22.0));
        ui.painter().circle_filled(mark.center(), 11.0, Color32::from_black_alpha(120));
        ui.painter().text(mark.center(), Align2::CENTER_CENTER, icon::PLAY, theme::icon_font(12.0), Color32::WHITE);
    }
    response
}

/// The gallery as a sheet over the window.
pub fn gallery_ui(root: &Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let room = root.ctx().content_rect();
    let before = answers.actions.len();
    let thumbnails = &mut state.thumbnails;
    let closed = sheet_ui(root, "gallery", 840.0, |ui| {
        let closed = ui
            .horizontal(|ui| {
                ui.label(RichText::new("Gallery").font(theme::strong(18.0)));
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    let close = ui.add(Button::new(theme::icon(icon::X, 14.0)).frame_when_inactive(false)).meaning("Close  (Esc)");
                    answers.named("gallery.close", close).clicked()
                })
                .inner
            })
            .inner;
        ui.add_space(6.0);
        let height = room.height() - 156.0;
        let area = ScrollArea::vertical().max_height(height).min_scrolled_height(height).auto_shrink([false, true]);
        area.show(ui, |ui| {
            ui.set_width(ui.available_width() - 12.0);
            section_ui(ui, "Scenes to play with");
            grid_ui(ui, thumbnails, context.gallery.iter().filter(|item| !item.experiment), "sheet", answers);
            ui.add_space(8.0);
            section_ui(ui, "Experiments with contact and materials");
            grid_ui(ui, thumbnails, context.gallery.iter().filter(|item| item.experiment), "sheet", answers);
        });
        closed
    });
    if closed || answers.actions.len() > before {
        state.gallery_open = false;
    }
}
