//! A value of the scene as a row: its name, and a field by the kind that it is declared with.

use egui::{Align, Button, ComboBox, DragValue, Layout, Response, RichText, TextEdit, Ui};

use super::access::Meaning;
use super::together::{first, giving};
use super::{Action, UiResponse, icon, theme};
use crate::render::Rgb;
use crate::scene::{Kind, Presence, Scene, SceneValue};

/// What a row needs to know beside the value.
pub struct RowContext<'a> {
    pub scene: &'a Scene,
    /// The tables whose values a change is of, the one that is shown among them.
    pub tables: &'a [String],
    /// The table that is shown.
    pub shown: &'a str,
    /// The change waits for the next start.
    pub waits: bool,
    /// The words of a choice that the backend has; all if none.
    pub offered: Option<Vec<&'static str>>,
    /// The words that a text may be.
    pub names: Option<&'a [String]>,
    /// The colour that is drawn where none is given.
    pub color: Option<Rgb>,
    /// About the size of the body that it is about [m]: what is added fits to it.
    pub size: f64,
}

impl RowContext<'_> {
    /// The value in each of the tables.
    fn paths(&self, value: &SceneValue) -> impl Iterator<Item = String> {
        self.tables.iter().map(|table| value.path.replacen(self.shown, table, 1))
    }
}

pub fn value_ui(ui: &mut Ui, value: &SceneValue, context: &RowContext, answers: &mut UiResponse) {
    let field = value.field;
    match field.kind {
        Kind::Number(_) | Kind::Integer { .. } => match value.numbers().as_deref() {
            Some(&[number]) => row_ui(
                ui,
                value,
                context,
                |ui| {
                    let (field, changed) = number_ui(ui, value, number, field.unit);
                    (field, changed.map(|number| as_text(&value.field.kind, number)))
                },
                answers,
            ),
            _ => row_ui(ui, value, context, |ui| typed_ui(ui, value), answers),
        },
        Kind::Vector(_) => vector_ui(ui, value, context, answers),
        Kind::Choice(words) => row_ui(
            ui,
            value,
            context,
            |ui| {
                let words: Vec<&str> =
                    words.iter().copied().filter(|word| context.offered.as_ref().is_none_or(|offered| offered.contains(word))).collect();
                choice_ui(ui, value, &words)
            },
            answers,
        ),
        Kind::Color => row_ui(ui, value, context, |ui| color_ui(ui, value, context.color), answers),
        Kind::Text | Kind::Reference(_) if context.names.is_some() => {
            let names: Vec<&str> = context.names.unwrap_or_default().iter().map(String::as_str).collect();
            row_ui(ui, value, context, |ui| choice_ui(ui, value, &names), answers);
        }
        Kind::Text | Kind::Reference(_) | Kind::Label | Kind::Name | Kind::Integers { .. } => {
            row_ui(ui, value, context, |ui| typed_ui(ui, value), answers)
        }
        Kind::Table(_) | Kind::List(_) | Kind::Variants(_) => table_row_ui(ui, value, context, answers),
        Kind::Named(_) => text_row_ui(ui, value, context),
    }
}

/// The name of a value as the window writes it.
pub fn title(key: &str) -> String {
    match key {
        "young_modulus" => return "Young's modulus".into(),
        "poisson_ratio" => return "Poisson's ratio".into(),
        "max_step_ms" => return "Work of a step".into(),
        _ => {}
    }
    let mut title = key.replace('_', " ");
    if let Some(first) = title.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    title
}

/// The sentence about a value: what it means, what is accepted, and when it acts.
fn told(value: &SceneValue) -> String {
    let field = value.field;
    let default = match field.presence {
        Presence::Required => String::new(),
        Presence::Default(text) => format!(" Default: {text}."),
        Presence::Optional(words) => format!(" If not given: {}.", words.replace('`', "")),
    };
    let acts = if field.live { "Acts at once." } else { "Acts from the start: press R after a change." };
    format!("{}\n\nAccepted: {}.{default}\n{acts}\n{}", field.doc.replace('`', ""), field.accepted(), value.path)
}

fn name_ui(ui: &mut Ui, value: &SceneValue, context: &RowContext) -> Response {
    let palette = theme::palette(ui.ctx());
    let color = if context.waits { palette.accent } else { palette.weak };
    if !value.field.live {
        ui.spacing_mut().item_spacing.x = 4.0;
        let why = if context.waits { "Changed: acts at the next start (R)" } else { "Acts from the start" };
        ui.label(theme::icon(icon::SKIP_BACK, 11.0).color(color)).on_hover_text(why);
    }
    let name = RichText::new(title(value.field.key)).size(12.5).color(color);
    ui.add(egui::Label::new(name).truncate()).on_hover_text(told(value))
}

/// A name at the left and a field at the right; what the field gives as TOML is the change.
fn row_ui(
    ui: &mut Ui,
    value: &SceneValue,
    context: &RowContext,
    field: impl FnOnce(&mut Ui) -> (Response, Option<String>),
    answers: &mut UiResponse,
) {
    ui.horizontal(|ui| {
        ui.set_min_height(22.0);
        // Numbers are short, words and texts are not.
        let part = if matches!(value.field.kind, Kind::Number(_) | Kind::Integer { .. } | Kind::Color) { 0.56 } else { 0.38 };
        let width = part * ui.max_rect().width();
        let name = ui
            .allocate_ui_with_layout(egui::vec2(width, 20.0), Layout::left_to_right(Align::Center), |ui| {
                ui.set_width(width - 6.0);
                name_ui(ui, value, context)
            })
            .inner;
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            unset_ui(ui, value, context, answers);
            // A drag goes on whatever comes and goes beside the field.
            let (response, changed) = ui.push_id(&value.path, field).inner;
            let response = answers.named(format!("value.{}", value.path), response).labelled_by(name.id).on_hover_text(told(value));
            if let Some(text) = changed {
                edit(ui, value, &text, context, answers);
            }
            drop(response);
        });
    });
}

/// A value that is only shown.
fn text_row_ui(ui: &mut Ui, value: &SceneValue, context: &RowContext) {
    let palette = theme::palette(ui.ctx());
    let text = value.words().or_else(|| value.text().map(str::to_owned)).unwrap_or_else(|| value.without().replace('`', ""));
    ui.horizontal(|ui| {
        ui.set_min_height(20.0);
        name_ui(ui, value, context);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let text = RichText::new(text).size(12.0).color(palette.weak);
            ui.add(egui::Label::new(text).truncate()).on_hover_text(told(value));
        });
    });
}

/// A table that is not given, or a list with the number of its entries: one may be added.
fn table_row_ui(ui: &mut Ui, value: &SceneValue, context: &RowContext, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    let text = match context.scene.n_entries(&value.path) {
        0 => value.without().replace('`', ""),
        1 => "1 entry".to_owned(),
        n => format!("{n} entries"),
    };
    ui.horizontal(|ui| {
        ui.set_min_height(22.0);
        name_ui(ui, value, context);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let add = Button::new(theme::icon(icon::PLUS, 11.0)).frame_when_inactive(false);
            let add = ui.add(add).meaning(format!("Adds to {}: {}", title(value.field.key).to_lowercase(), value.path));
            if answers.named(format!("add.{}", value.path), add).clicked() {
                let added = |path: String| {
                    let text = first(context.scene, &path, value.field, context.size)?;
                    Some(giving(context.scene, &path, &text, context.size))
                };
                let values = context.paths(value).filter_map(added).flatten().collect();
                answers.act(Action::Edit { values, gesture: None });
            }
            let text = RichText::new(text).size(12.0).color(palette.weak);
            ui.add(egui::Label::new(text).truncate()).on_hover_text(told(value));
        });
    });
}

/// Takes a value that is given out again, where it need not be.
fn unset_ui(ui: &mut Ui, value: &SceneValue, context: &RowContext, answers: &mut UiResponse) {
    if matches!(value.field.presence, Presence::Required) {
        return;
    }
    if value.given.is_none() {
        // The place of the cross, so that no field moves under a drag once its value is given.
        if matches!(value.field.kind, Kind::Number(_) | Kind::Integer { .. }) {
            cross_ui(ui, false);
        }
    } else {
        let without = match value.field.presence {
            Presence::Default(text) => format!("as by default, {text}"),
            Presence::Required | Presence::Optional(_) => value.without().replace('`', ""),
        };
        remove_ui(ui, &value.path, &format!("Not given any more: {without}"), context, answers);
    }
}

/// Narrow, as fields need the room.
fn cross_ui(ui: &mut Ui, is_visible: bool) -> Response {
    let cross = Button::new(theme::icon(icon::X, 10.0).color(theme::palette(ui.ctx()).weak)).frame_when_inactive(false).small();
    ui.scope(|ui| {
        ui.spacing_mut().button_padding.x = 2.0;
        ui.add_visible(is_visible, cross)
    })
    .inner
}

/// A cross that takes out what is at a path, in all tables.
pub fn remove_ui(ui: &mut Ui, path: &str, told: &str, context: &RowContext, answers: &mut UiResponse) {
    if answers.named(format!("remove.{path}"), cross_ui(ui, true).meaning(told)).clicked() {
        let paths = context.tables.iter().map(|table| path.replacen(context.shown, table, 1));
        let values = paths.filter_map(|path| context.scene.without(&path)).collect();
        answers.act(Action::Edit { values, gesture: None });
    }
}

/// Three fields in a line of their own.
fn vector_ui(ui: &mut Ui, value: &SceneValue, context: &RowContext, answers: &mut UiResponse) {
    let Some([x, y, z]) = value.numbers().and_then(|numbers| <[f64; 3]>::try_from(numbers).ok()) else {
        return row_ui(ui, value, context, |ui| typed_ui(ui, value), answers);
    };
    let name = ui
        .horizontal(|ui| {
            let name = name_ui(ui, value, context);
            let palette = theme::palette(ui.ctx());
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                unset_ui(ui, value, context, answers);
                ui.label(RichText::new(unit(value.field.unit)).size(11.5).color(palette.weak));
            });
            name
        })
        .inner;
    let numbers = [x, y, z];
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        let width = (ui.available_width() - 8.0) / 3.0;
        let mut changed = None;
        for (axis, number) in ["x", "y", "z"].into_iter().zip(numbers) {
            let shown = ui.push_id(axis, |ui| {
                ui.spacing_mut().interact_size.x = width;
                number_ui(ui, value, number, "")
            });
            let (response, new) = shown.inner;
            answers.named(format!("value.{}.{axis}", value.path), response).labelled_by(name.id).on_hover_text(told(value));
            if let Some(new) = new {
                let all = ["x", "y", "z"].into_iter().zip(numbers).map(|(other, old)| if other == axis { new } else { old });
                changed = Some(format!("[{}]", all.map(plain).collect::<Vec<_>>().join(", ")));
            }
        }
        if let Some(text) = changed {
            edit(ui, value, &text, context, answers);
        }
    });
}

/// The change of this value in all tables that it is of.
fn edit(ui: &Ui, value: &SceneValue, text: &str, context: &RowContext, answers: &mut UiResponse) {
    let values = context.paths(value).flat_map(|path| giving(context.scene, &path, text, context.size)).collect();
    answers.act(Action::Edit { values, gesture: gesture(ui) });
}

/// The press of the mouse that still lasts.
pub fn gesture(ui: &Ui) -> Option<u64> {
    ui.input(|input| input.pointer.press_start_time().filter(|_| input.pointer.any_down()).map(f64::to_bits))
}

/// A number to drag or to type; the new one if it was changed.
pub fn number_ui(ui: &mut Ui, value: &SceneValue, number: f64, unit_name: &str) -> (Response, Option<f64>) {
    let mut new = number;
    let (min, max, is_whole) = match value.field.kind {
        Kind::Integer { min, max } => (min as f64, max as f64, true),
        Kind::Number(range) | Kind::Vector(range) => {
            // The least of what is above: dragging stops there.
            let least = if range.above_min { range.min + 1e-3 * number.abs().max(1e-9) } else { range.min };
            (least.min(number), range.max, false)
        }
        _ => (f64::NEG_INFINITY, f64::INFINITY, false),
    };
    let span = max - min;
    let still = if span.is_finite() { (span / 500.0).min(0.01) } else { 0.01 };
    let speed = if is_whole {
        (0.02 * number.abs()).max(0.1)
    } else if number == 0.0 {
        still
    } else {
        0.01 * number.abs()
    };
    let suffix = match unit(unit_name) {
        "" => String::new(),
        unit => format!(" {unit}"),
    };
    let field = DragValue::new(&mut new)
        .speed(speed)
        .range(min..=max)
        .suffix(suffix)
        .update_while_editing(false)
        .custom_formatter(|number, _| shown(number))
        .custom_parser(|text| text.trim().replace('_', "").parse().ok());
    let response = ui.add(field);
    if response.dragged() && !is_whole {
        new = rounded(new);
    }
    (response, (new != number).then_some(if is_whole { new.round() } else { new }))
}

fn choice_ui(ui: &mut Ui, value: &SceneValue, words: &[&str]) -> (Response, Option<String>) {
    let current = value.words();
    let mut chosen = None;
    let shown = current.as_deref().map_or_else(|| "—".to_owned(), |word| word.replace('_', " "));
    let width = ui.available_width().min(132.0);
    let combo = ComboBox::from_id_salt(&value.path).width(width - 8.0).truncate().selected_text(RichText::new(shown).size(12.5));
    let response = combo
        .show_ui(ui, |ui| {
            for word in words {
                if ui.selectable_label(current.as_deref() == Some(word), word.replace('_', " ")).clicked() {
                    chosen = Some(quoted(word));
                }
            }
        })
        .response;
    (response, chosen)
}

fn color_ui(ui: &mut Ui, value: &SceneValue, drawn: Option<Rgb>) -> (Response, Option<String>) {
    let given = value.words().and_then(|word| crate::scene::color_bytes(&word));
    let drawn = drawn.map(|color| color.0.map(|c| (c * 255.0).round() as u8));
    let before = given.or(drawn).unwrap_or([128; 3]);
    let mut color = before;
    let response = ui.color_edit_button_srgb(&mut color);
    let [r, g, b] = color;
    (response, (color != before).then(|| quoted(&format!("#{r:02x}{g:02x}{b:02x}"))))
}

/// A field to type into; it counts when it is left.
fn typed_ui(ui: &mut Ui, value: &SceneValue) -> (Response, Option<String>) {
    let id = ui.make_persistent_id(("typed", &value.path));
    let current = value.words().or_else(|| value.text().map(str::to_owned)).unwrap_or_default();
    let mut text: String = ui.data(|data| data.get_temp(id)).unwrap_or_else(|| current.clone());
    let hint = RichText::new(value.without().replace('`', "")).size(11.5);
    let width = ui.available_width().min(132.0);
    let response =
        ui.add(TextEdit::singleline(&mut text).id(id.with("field")).hint_text(hint).font(theme::figures(12.0)).desired_width(width));
    if response.has_focus() {
        ui.data_mut(|data| data.insert_temp(id, text));
        return (response, None);
    }
    let is_left = response.lost_focus();
    ui.data_mut(|data| data.remove_temp::<String>(id));
    let escaped = ui.input(|input| input.key_pressed(egui::Key::Escape));
    let changed = (is_left && !escaped && text != current && !text.trim().is_empty()).then(|| match value.field.kind {
        Kind::Text | Kind::Reference(_) | Kind::Name | Kind::Color | Kind::Choice(_) => quoted(text.trim()),
        Kind::Label if text.trim().parse::<i64>().is_err() => quoted(text.trim()),
        _ => text.trim().to_owned(),
    });
    (response, changed)
}

/// A text as TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn as_text(kind: &Kind, number: f64) -> String {
    if matches!(kind, Kind::Integer { .. }) { format!("{number:.0}") } else { plain(number) }
}

/// A number as TOML, without a negative zero.
pub fn plain(number: f64) -> String {
    format!("{:?}", number + 0.0)
}

/// A number with about four figures, as a hand drags it.
fn rounded(number: f64) -> f64 {
    format!("{number:.3e}").parse().unwrap_or(number)
}

/// A number in as few figures as say it.
fn shown(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 {
        return "0".into();
    }
    // By way of six figures: 0.1 + 0.2 reads 0.3.
    let short: f64 = format!("{number:.5e}").parse().unwrap_or(number);
    if (1e-3..1e6).contains(&size) { format!("{short}") } else { format!("{short:e}") }
}

/// A unit as the window writes it.
fn unit(name: &str) -> &str {
    match name {
        "kg/m^3" => "kg/m³",
        "m/s^2" => "m/s²",
        "degrees" => "°",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        for (number, text) in
            [(2e5, "200000"), (5e-6, "5e-6"), (0.1 + 0.2, "0.3"), (-9.81, "-9.81"), (0.0, "0"), (3e9, "3e9"), (0.01, "0.01")]
        {
            assert_eq!(shown(number), text);
        }
        assert_eq!([plain(-0.0), plain(1e-6), plain(2e5)], ["0.0", "1e-6", "200000.0"]);
        assert_eq!(rounded(203_918.23), 203_900.0);
        assert_eq!(title("newton_tolerance"), "Newton tolerance");
    }
}
