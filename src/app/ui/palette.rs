//! The palette: commands, scenes, recent files and colours, found by some letters of their names.

use egui::{Align2, CornerRadius, FontId, Key, Modifiers, ScrollArea, Sense, TextEdit, Ui, vec2};

use super::commands::commands;
use super::sheet::sheet_ui;
use super::{Action, Toggle, UiContext, UiResponse, UiState, icon, theme};
use crate::app::file_name;
use crate::sim::Field;

/// The palette while it is open.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Palette {
    query: String,
    selected: usize,
}

/// Something that can be chosen.
#[derive(Clone)]
struct Choice {
    name: String,
    icon: &'static str,
    keys: &'static str,
    meaning: &'static str,
    action: Action,
}

/// Choices that are remembered, newest first.
const REMEMBERED: usize = 8;
const ROW: f32 = 30.0;
const ROWS: f32 = 10.0;

pub fn palette_ui(root: &Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let Some(mut palette) = state.palette.take() else { return };
    let all = choices(state, context);
    let mut chosen = None;
    let closed = sheet_ui(root, "palette", 520.0, |ui| {
        let moves = |ui: &Ui, key| ui.input_mut(|input| input.consume_key(Modifiers::NONE, key));
        let [down, up] = [moves(ui, Key::ArrowDown), moves(ui, Key::ArrowUp)];
        let hint = "Type some letters of a command, a scene or a file";
        let field = TextEdit::singleline(&mut palette.query).hint_text(hint).desired_width(f32::INFINITY).margin(vec2(10.0, 8.0));
        let field = answers.named("palette.field", ui.add(field));
        // After the letters of this frame: Enter may come with the last of them.
        let found = found(&palette.query, all, &state.chosen);
        palette.selected = match (field.changed(), down, up) {
            (true, ..) => 0,
            (_, true, _) => (palette.selected + 1).min(found.len().saturating_sub(1)),
            (_, _, true) => palette.selected.saturating_sub(1),
            _ => palette.selected,
        };
        let is_entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        if !field.has_focus() && !is_entered {
            field.request_focus();
        }
        ui.add_space(6.0);
        ScrollArea::vertical().max_height(ROW * ROWS).auto_shrink([false, false]).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 1.0;
            for (place, choice) in found.iter().enumerate() {
                let row = row_ui(ui, choice, place == palette.selected);
                if place == palette.selected && (field.changed() || ui.input(|input| input.events.iter().any(is_arrow))) {
                    row.scroll_to_me(None);
                }
                let row = answers.named(format!("palette.{}", choice.name.replace(' ', "_")), row);
                if row.clicked() || (is_entered && place == palette.selected) {
                    chosen = Some(choice.clone());
                }
            }
            if found.is_empty() {
                ui.add_space(8.0);
                ui.weak("Nothing has such a name");
            }
        });
        false
    });
    match chosen {
        Some(choice) => {
            state.chosen.retain(|name| *name != choice.name);
            state.chosen.insert(0, choice.name);
            state.chosen.truncate(REMEMBERED);
            answers.act(choice.action);
        }
        None if closed => {}
        None => state.palette = Some(palette),
    }
}

fn is_arrow(event: &egui::Event) -> bool {
    matches!(event, egui::Event::Key { key: Key::ArrowDown | Key::ArrowUp, .. })
}

fn row_ui(ui: &mut Ui, choice: &Choice, is_selected: bool) -> egui::Response {
    let palette = theme::palette(ui.ctx());
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width() - 10.0, ROW - 1.0), Sense::click());
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Button, true, is_selected, &choice.name));
    if is_selected || response.hovered() {
        let fill = if is_selected { palette.accent.gamma_multiply(0.22) } else { palette.well };
        ui.painter().rect_filled(rect, CornerRadius::same(7), fill);
    }
    let painter = ui.painter().with_clip_rect(rect);
    painter.text(rect.left_center() + vec2(18.0, 0.0), Align2::CENTER_CENTER, choice.icon, theme::icon_font(15.0), palette.accent);
    painter.text(rect.left_center() + vec2(36.0, 0.0), Align2::LEFT_CENTER, &choice.name, FontId::proportional(13.5), palette.text);
    painter.text(rect.right_center() - vec2(10.0, 0.0), Align2::RIGHT_CENTER, choice.keys, FontId::proportional(12.0), palette.weak);
    if choice.meaning.is_empty() { response } else { response.on_hover_text(choice.meaning) }
}

/// All that can be done now.
fn choices(state: &UiState, context: &UiContext) -> Vec<Choice> {
    let is_open = |action: &Action| *action == Action::Toggle(Toggle::Palette);
    let of_table =
        commands().iter().filter(|command| command.is_enabled(state, context) && !is_open(&command.action)).map(|command| Choice {
            name: command.name.to_owned(),
            icon: command.icon,
            keys: command.keys,
            meaning: command.meaning,
            action: command.action.clone(),
        });
    let plain = |name: String, icon, action| Choice { name, icon, keys: "", meaning: "", action };
    let scenes =
        context.gallery.iter().map(|item| plain(format!("Open {}", item.title), icon::CUBE, Action::OpenGallery(item.name.to_owned())));
    let recent = context
        .recent
        .paths
        .iter()
        .map(|path| plain(format!("Open {}", file_name(path)), icon::CLOCK_COUNTER_CLOCKWISE, Action::OpenPath(path.clone())));
    let fields = std::iter::once((None, "the body")).chain(Field::ALL.map(|field| (Some(field), field.title())));
    let colors = fields.map(|(field, title)| plain(format!("Colour by {title}"), icon::DROP, Action::ColorBy(field)));
    of_table.chain(scenes).chain(recent).chain(colors).collect()
}

/// Those whose names have the letters of the query, best first; those chosen last come before others as good.
fn found(query: &str, choices: Vec<Choice>, chosen: &[String]) -> Vec<Choice> {
    let age = |choice: &Choice| chosen.iter().position(|name| *name == choice.name).unwrap_or(usize::MAX);
    let mut scored: Vec<(i32, Choice)> = choices.into_iter().filter_map(|choice| Some((score(query, &choice.name)?, choice))).collect();
    scored.sort_by_key(|(score, choice)| (-score, age(choice)));
    scored.into_iter().map(|(_, choice)| choice).collect()
}

/// How well the letters of `query` stand in `name`, in their order; none if they do not. Letters that begin words, and
/// letters that follow one another, count more.
pub fn score(query: &str, name: &str) -> Option<i32> {
    let letters: Vec<char> = name.to_lowercase().chars().collect();
    let (mut at, mut score, mut before) = (0, 0, None);
    for wanted in query.to_lowercase().chars().filter(|c| !c.is_whitespace()) {
        let begins = |k: usize| k == 0 || !letters[k - 1].is_alphanumeric();
        let places = || (at..letters.len()).filter(|k| letters[*k] == wanted);
        let next = places().find(|k| before == Some(*k)).or_else(|| places().find(|k| begins(*k))).or_else(|| places().next());
        let place = next?;
        score += match () {
            () if before == Some(place) => 3,
            () if begins(place) => 4,
            () => 1,
        };
        (at, before) = (place + 1, Some(place + 1));
    }
    // All else being equal, the shorter name.
    Some(8 * score - if query.is_empty() { 0 } else { letters.len() as i32 / 4 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(name: &str) -> Choice {
        Choice { name: name.to_owned(), icon: "", keys: "", meaning: "", action: Action::Quit }
    }

    fn names(query: &str, all: &[&str], chosen: &[&str]) -> Vec<String> {
        let chosen: Vec<String> = chosen.iter().map(|name| (*name).to_owned()).collect();
        found(query, all.iter().map(|name| choice(name)).collect(), &chosen).into_iter().map(|choice| choice.name).collect()
    }

    #[test]
    fn letters_in_their_order_are_found_and_beginnings_of_words_first() {
        let all = ["Reload", "Save scene", "Save scene as…", "Side panel", "Shadows", "Colour by von Mises stress"];
        assert_eq!(names("ss", &all, &[])[0], "Save scene");
        assert_eq!(names("sasc", &all, &[]), ["Save scene", "Save scene as…"]);
        assert_eq!(names("mises", &all, &[]), ["Colour by von Mises stress"]);
        assert_eq!(names("SIDE", &all, &[]), ["Side panel"]);
        assert!(names("xyz", &all, &[]).is_empty() && names("daolp", &all, &[]).is_empty());
    }

    #[test]
    fn recent_ones_come_first_where_nothing_else_decides() {
        let all = ["Reload", "Save scene", "Shadows"];
        assert_eq!(names("", &all, &["Shadows", "Save scene"]), ["Shadows", "Save scene", "Reload"]);
        assert_eq!(names("s", &all, &["Shadows"])[0], "Shadows");
        assert_eq!(names("save", &all, &["Shadows"]), ["Save scene"]);
    }
}
