//! The guide in a window over the view: pages at the left, the text at the right.

use std::collections::BTreeMap;

use egui::text::LayoutJob;
use egui::{
    Button, Color32, ColorImage, CornerRadius, FontId, Frame, Grid, Id, Image, Key, Label, Margin, Modal, RichText, ScrollArea, TextFormat,
    TextureHandle, TextureOptions, Ui, vec2,
};

use super::access::Meaning;
use super::{UiResponse, UiState, icon, theme};
use crate::app::guide::{PAGES, page_of, picture};
use crate::app::markdown::{Block, Span, Style, parse};

/// The page that is read, and what was drawn of it so far.
#[derive(Default)]
pub struct Help {
    /// Its place among the pages.
    page: usize,
    /// The blocks of that page.
    blocks: Option<(usize, Vec<Block>)>,
    pictures: BTreeMap<String, TextureHandle>,
}

const TEXT: f32 = 14.0;
const LIST_WIDTH: f32 = 172.0;

impl Help {
    /// Opens a page.
    pub fn at(page: usize) -> Self {
        Self { page, ..Self::default() }
    }
}

pub fn help_ui(root: &Ui, state: &mut UiState, answers: &mut UiResponse) {
    let Some(help) = &mut state.help else { return };
    let room = root.ctx().content_rect();
    let size = vec2((room.width() - 60.0).min(920.0), (room.height() - 60.0).min(760.0));
    let frame = theme::card(root).inner_margin(Margin::same(18)).corner_radius(CornerRadius::same(14));
    let shown = Modal::new(Id::unique("help")).frame(frame).show(root.ctx(), |ui| {
        ui.set_width(size.x - 36.0);
        ui.set_height(size.y - 36.0);
        let mut closed = false;
        ui.horizontal(|ui| {
            ui.label(RichText::new("Guide").font(theme::strong(18.0)));
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let close = Button::new(theme::icon(icon::X, 14.0)).frame_when_inactive(false);
                closed = answers.named("help.close", ui.add(close).meaning("Close  (Esc)")).clicked();
            });
        });
        ui.add_space(6.0);
        let height = ui.available_height();
        let mut target = None;
        ui.horizontal_top(|ui| {
            ui.vertical(|ui| {
                ui.set_width(LIST_WIDTH);
                ScrollArea::vertical().id_salt("pages").max_height(height).show(ui, |ui| {
                    for (k, page) in PAGES.iter().enumerate() {
                        let entry =
                            Button::new(page.title).selected(k == help.page).frame_when_inactive(false).min_size(vec2(LIST_WIDTH, 26.0));
                        let entry = ui.add(entry).on_hover_text("Opens this page  (Page Up, Page Down)");
                        if answers.named(format!("help.page.{}", page.file.trim_end_matches(".md")), entry).clicked() {
                            target = Some(k);
                        }
                    }
                });
            });
            ui.separator();
            ui.vertical(|ui| {
                ScrollArea::vertical().id_salt(help.page).max_height(height).auto_shrink([false, false]).show(ui, |ui| {
                    ui.set_width(ui.available_width() - 12.0);
                    if help.blocks.as_ref().is_none_or(|(page, _)| *page != help.page) {
                        help.blocks = Some((help.page, parse(PAGES[help.page].text)));
                    }
                    let (_, blocks) = help.blocks.get_or_insert_default();
                    for (k, block) in blocks.iter().enumerate() {
                        if let Some(file) = block_ui(ui, k, block, &mut help.pictures) {
                            target = target.or_else(|| page_of(&file));
                        }
                    }
                });
            });
        });
        let turned = ui.input(|input| i32::from(input.key_pressed(Key::PageDown)) - i32::from(input.key_pressed(Key::PageUp)));
        let next = (help.page as i32 + turned).clamp(0, PAGES.len() as i32 - 1) as usize;
        help.page = target.unwrap_or(next);
        closed
    });
    if shown.should_close() || shown.inner {
        state.help = None;
    }
}

/// Draws a block; the page that a click in it leads to.
fn block_ui(ui: &mut Ui, place: usize, block: &Block, pictures: &mut BTreeMap<String, TextureHandle>) -> Option<String> {
    let palette = theme::palette(ui.ctx());
    match block {
        Block::Heading(level, spans) => {
            ui.add_space(if *level == 1 { 0.0 } else { 10.0 });
            let size = [20.0, 16.5, 14.5, 14.0][usize::from(*level).clamp(1, 4) - 1];
            ui.add(Label::new(RichText::new(words(spans)).font(theme::strong(size))).wrap());
            ui.add_space(2.0);
            None
        }
        Block::Paragraph(spans) => {
            let target = text_ui(ui, spans);
            ui.add_space(5.0);
            target
        }
        Block::Item(spans) => {
            ui.horizontal_top(|ui| {
                ui.add_space(6.0);
                ui.label(RichText::new("•").size(TEXT).color(palette.accent));
                ui.vertical(|ui| text_ui(ui, spans)).inner
            })
            .inner
        }
        Block::Code(code) => {
            let frame = Frame::new().fill(palette.well).corner_radius(CornerRadius::same(7)).inner_margin(Margin::symmetric(10, 8));
            frame.show(ui, |ui| {
                ui.set_width(ui.available_width());
                ScrollArea::horizontal().id_salt(("code", place)).show(ui, |ui| {
                    ui.add(Label::new(RichText::new(code).font(theme::figures(12.0))).extend().selectable(true));
                });
            });
            ui.add_space(6.0);
            None
        }
        Block::Picture { path, words } => {
            match texture(ui, path, pictures) {
                Some(texture) => {
                    let width = ui.available_width().min(texture.size_vec2().x);
                    let size = texture.size_vec2() * (width / texture.size_vec2().x);
                    let shown = ui.add(Image::new((texture.id(), size)).corner_radius(CornerRadius::same(7)).alt_text(words));
                    shown.on_hover_text(words);
                }
                None => {
                    ui.weak(words);
                }
            }
            ui.add_space(6.0);
            None
        }
        Block::Table(rows) => {
            let target = table_ui(ui, place, rows);
            ui.add_space(6.0);
            target
        }
    }
}

/// Columns share the width by how much stands in them.
fn table_ui(ui: &mut Ui, place: usize, rows: &[Vec<Vec<Span>>]) -> Option<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let most = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| words(cell).chars().count()).max().unwrap_or(0);
    // A short column stays on one line; the long ones take the rest.
    let sizes: Vec<f32> = (0..columns).map(|column| (most(column) as f32).clamp(4.0, 60.0)).collect();
    let available = ui.available_width() - 14.0 * columns as f32;
    let total: f32 = sizes.iter().sum();
    let mut target = None;
    let stripe = ui.visuals().faint_bg_color;
    Grid::new(("table", place))
        .num_columns(columns)
        .spacing(vec2(14.0, 5.0))
        .with_row_color(move |row, _| (row % 2 == 1).then_some(stripe))
        .show(ui, |ui| {
            for (k, row) in rows.iter().enumerate() {
                if k == 0 && row.iter().all(Vec::is_empty) {
                    continue;
                }
                for (cell, size) in row.iter().zip(&sizes) {
                    let width = available * size / total;
                    let clicked = ui.vertical(|ui| {
                        ui.set_width(width);
                        text_ui(ui, cell)
                    });
                    target = target.take().or(clicked.inner);
                }
                ui.end_row();
            }
        });
    target
}

/// A text that wraps. Links stand apart, so that they can be clicked; the target of one that was.
fn text_ui(ui: &mut Ui, spans: &[Span]) -> Option<String> {
    let palette = theme::palette(ui.ctx());
    let mut target = None;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(0.0, 3.0);
        let mut job = LayoutJob::default();
        for span in spans {
            match &span.link {
                None => {
                    let (font, color, background) = match span.style {
                        Style::Plain => (FontId::proportional(TEXT), palette.text, Color32::TRANSPARENT),
                        Style::Emphasis => (FontId::proportional(TEXT), palette.text, Color32::TRANSPARENT),
                        Style::Strong => (theme::strong(TEXT), palette.text, Color32::TRANSPARENT),
                        Style::Code => (theme::figures(TEXT - 1.5), palette.accent, palette.well),
                    };
                    let format =
                        TextFormat { font_id: font, color, background, italics: span.style == Style::Emphasis, ..TextFormat::default() };
                    job.append(&span.text, 0.0, format);
                }
                Some(link) => {
                    flush(ui, &mut job);
                    let is_page = page_of(link).is_some();
                    let color = if is_page { palette.accent } else { palette.text };
                    let text = RichText::new(&span.text).size(TEXT).color(color);
                    let shown = ui.add(Label::new(if is_page { text.underline() } else { text }).sense(egui::Sense::click()));
                    if is_page {
                        let shown = shown.on_hover_cursor(egui::CursorIcon::PointingHand);
                        target = shown.clicked().then(|| link.clone()).or(target.take());
                    } else {
                        shown.on_hover_text(link);
                    }
                }
            }
        }
        flush(ui, &mut job);
    });
    target
}

fn flush(ui: &mut Ui, job: &mut LayoutJob) {
    if !job.is_empty() {
        ui.add(Label::new(std::mem::take(job)).wrap().selectable(true));
    }
}

fn words(spans: &[Span]) -> String {
    spans.iter().map(|span| span.text.as_str()).collect()
}

/// The picture of a path, decoded when it is first seen.
fn texture<'a>(ui: &Ui, path: &str, pictures: &'a mut BTreeMap<String, TextureHandle>) -> Option<&'a TextureHandle> {
    if !pictures.contains_key(path) {
        let image = decoded(picture(path)?)?;
        pictures.insert(path.to_owned(), ui.ctx().load_texture(path, image, TextureOptions::LINEAR));
    }
    pictures.get(path)
}

fn decoded(bytes: &[u8]) -> Option<ColorImage> {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().ok()?;
    let mut pixels = vec![0; reader.output_buffer_size()?];
    let info = reader.next_frame(&mut pixels).ok()?;
    let size = [info.width as usize, info.height as usize];
    (info.color_type == png::ColorType::Rgb).then(|| ColorImage::from_rgb(size, &pixels[..info.buffer_size()]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::guide::PICTURES;

    #[test]
    fn every_picture_of_the_guide_is_read() {
        for (path, bytes) in PICTURES {
            let image = decoded(bytes).unwrap_or_else(|| panic!("{path}"));
            assert!(image.size[0] >= 600 && image.size[0] <= 1300, "{path}: {:?}", image.size);
        }
    }
}
