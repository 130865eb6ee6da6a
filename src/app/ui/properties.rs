//! Every value of what is selected, to be read and changed.

use egui::{Button, CornerRadius, Frame, Margin, RichText, ScrollArea, Ui};

use super::access::Meaning;
use super::naming::name_row_ui;
use super::subject::{kind_of, title_ui};
use super::value::{RowContext, gesture, number_ui, plain, remove_ui, title, value_ui};
use super::{Action, PinAction, UiContext, UiResponse, UiState, icon, theme};
use crate::app::document::Document;
use crate::app::engine::{SceneInfo, View};
use crate::app::format;
use crate::app::selection::{Item, all_bodies};
use crate::body::{BodyRef, base_name};
use crate::material::presets::{PRESETS, Preset};
use crate::math::Aabb;
use crate::model::{ContactMethod, Friction, Model, PairFriction};
use crate::render::Rgb;
use crate::scene::{BodyOutline, Presence, Scene, SceneValue, ValueGroup};
use crate::stage::{body_color, obstacle_color, rigid_color};

/// Tables whose values are too many to be of use when nothing of them is given, and lists that are scrolled.
const SHORT: usize = 12;
/// Spheres of a region that have lines of their own.
const MOST_SPHERES: usize = 3;
/// The item of what the scene is called.
const TITLE: &str = "title";
/// Height of a pair's row, in points.
const PAIR_ROW: f32 = 22.0;

pub fn properties_ui(ui: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let (Some(scene), Some(document)) = (&context.snapshot.scene, context.document) else { return };
    let items = state.selection.items();
    let Some(last) = items.last().cloned() else { return };
    let alike: Vec<Item> = items.iter().filter(|item| kind_of(item) == kind_of(&last)).cloned().collect();
    title_ui(ui, document, &alike, &last, state, answers);
    if document.is_pending() {
        pending_ui(ui, answers);
    }
    let is_locked = alike.iter().any(|item| state.selection.is_item_locked(item));
    if is_locked {
        locked_ui(ui, state, &alike, answers);
    }
    ui.add_enabled_ui(!is_locked, |ui| tables_ui(ui, &alike, &last, scene, document, context, answers));
}

fn tables_ui(
    ui: &mut Ui,
    alike: &[Item],
    last: &Item,
    scene: &SceneInfo,
    document: &Document,
    context: &UiContext,
    answers: &mut UiResponse,
) {
    if let Some((body, part)) = last.as_pin() {
        ui.label(RichText::new(format!("Holds a part of {body} where it is.")).size(12.5));
        if answers.named("pin.remove", ui.button("Unpin")).clicked() {
            answers.act(Action::Pins(PinAction::Unpin(body.to_owned(), part)));
        }
        return;
    }
    if alike.len() == 1 {
        name_row_ui(ui, document, &last.path, answers);
    }
    let mut tables: Vec<String> = vec![];
    for item in alike {
        if !tables.contains(&item.path) {
            tables.push(item.path.clone());
        }
    }
    if let Some(name) = last.body_name() {
        body_figures_ui(ui, scene, context.snapshot.view.as_deref(), last);
        let others: Vec<&str> = alike.iter().filter_map(Item::body_name).collect();
        friction_ui(ui, scene, document, name, &others, answers);
        heading_ui(ui, "From the start");
    }
    let Some(groups) = values_of(document.scene(), &last.path) else {
        ui.weak("The scene has no values for it any more, or it comes from a mesh.");
        return;
    };
    match last.path.as_str() {
        "contact" => {
            for group in groups.iter().filter(|group| group.title.is_empty()) {
                values_ui(ui, group, last, &tables, context, answers);
            }
            pairs_ui(ui, scene, document, answers);
        }
        path => {
            if let Some(name) = path.strip_prefix("material.") {
                preset_ui(ui, document, name, &tables, answers);
                brush_ui(ui, name, answers);
            }
            for group in groups.iter().filter(|group| !is_painted(document.scene(), group)) {
                values_ui(ui, group, last, &tables, context, answers);
            }
            if let Some(name) = path.strip_prefix("material.") {
                damping_ui(ui, context.snapshot.view.as_deref(), &document.labels().built("material", name));
            }
        }
    }
}

/// Whether it is one sphere of many: a brush has made them, and nobody looks for a single one.
fn is_painted(scene: &Scene, group: &ValueGroup) -> bool {
    let list = group.path.rsplit_once('.').map(|(list, _)| list).filter(|list| list.ends_with(".spheres"));
    list.is_some_and(|list| scene.n_entries(list) > MOST_SPHERES)
}

/// The values of an item: of its table, or of the scene itself.
fn values_of(scene: &Scene, path: &str) -> Option<Vec<ValueGroup>> {
    if path != TITLE {
        return scene.values(path);
    }
    let value = |key: &str| Some(SceneValue { path: key.to_owned(), field: scene.field(key)?, given: scene.given(key) });
    let values = [TITLE, "description"].into_iter().filter_map(value).collect();
    Some(vec![ValueGroup { title: String::new(), path: String::new(), values }])
}

/// What is locked is only shown.
fn locked_ui(ui: &mut Ui, state: &mut UiState, items: &[Item], answers: &mut UiResponse) {
    ui.horizontal(|ui| {
        ui.label(theme::icon(icon::LOCK, 13.0));
        ui.label(RichText::new("Locked").size(12.0));
        if answers.named("selection.unlock", ui.add(Button::new(RichText::new("Unlock").size(12.0)))).clicked() {
            state.selection.unlock(items);
        }
    });
    ui.add_space(4.0);
}

/// What was changed acts from the start.
pub fn pending_ui(ui: &mut Ui, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    Frame::new().fill(palette.accent.gamma_multiply(0.16)).corner_radius(CornerRadius::same(7)).inner_margin(Margin::symmetric(8, 5)).show(
        ui,
        |ui| {
            ui.set_width(ui.available_width());
            ui.horizontal_wrapped(|ui| {
                ui.label(RichText::new("A change acts from the start.").size(12.0));
                let start = ui.add(Button::new(RichText::new("Start again").size(12.0)));
                if answers.named("scene.restart", start.on_hover_text("Builds the scene with all changes  (R)")).clicked() {
                    answers.act(Action::Reset);
                }
            });
        },
    );
    ui.add_space(4.0);
}

fn values_ui(ui: &mut Ui, group: &ValueGroup, item: &Item, tables: &[String], context: &UiContext, answers: &mut UiResponse) {
    let Some(document) = context.document else { return };
    let scene = document.scene();
    let model = context.snapshot.scene.as_ref().map(|scene| &*scene.model);
    let base = RowContext {
        scene,
        tables,
        shown: &item.path,
        waits: false,
        offered: None,
        names: None,
        color: model.and_then(|model| drawn_color(model, item)),
        size: model.and_then(|model| size_of(scene, model, item)).unwrap_or(0.1),
    };
    if !group.title.is_empty() {
        group_heading_ui(ui, group, &base, answers);
    }
    // What is seldom given comes last, folded: bodies have many values.
    // Names have a row above, for all that can have one.
    let values = group.values.iter().filter(|value| value.field.key != "name");
    let (shown, rest): (Vec<_>, Vec<_>) =
        values.partition(|value| group.values.len() <= SHORT || value.given.is_some() || is_common(value));
    let mut row = |ui: &mut Ui, value: &SceneValue| {
        let names = model.and_then(|model| names_for(scene, model, value));
        let row = RowContext {
            waits: document.waits(&value.path),
            offered: offered(value, context.snapshot.view.as_deref()),
            names: names.as_deref(),
            ..base
        };
        value_ui(ui, value, &row, answers);
    };
    for value in shown {
        // A preset is chosen above, pairs have lines of their own.
        if !["preset", "pair"].contains(&value.field.key) {
            row(ui, value);
        }
    }
    if !rest.is_empty() {
        let id = ui.make_persistent_id(("more", kind_of(item), &group.title));
        let mut is_open: bool = ui.data(|data| data.get_temp(id)).unwrap_or(false);
        let told = format!("{} more values, as by default", rest.len());
        let sign = if is_open { icon::CARET_DOWN } else { icon::CARET_RIGHT };
        let palette = theme::palette(ui.ctx());
        let fold = Button::new((theme::icon(sign, 11.0).color(palette.weak), RichText::new(told).size(12.0).color(palette.weak)));
        if ui.add(fold.frame(false)).clicked() {
            is_open = !is_open;
            ui.data_mut(|data| data.insert_temp(id, is_open));
        }
        if is_open {
            rest.into_iter().for_each(|value| row(ui, value));
        }
    }
}

fn is_common(value: &SceneValue) -> bool {
    const COMMON: &[&str] = &[
        "kind",
        "material",
        "position",
        "rotation",
        "scale",
        "velocity",
        "color",
        "density",
        "mass",
        "model",
        "young_modulus",
        "poisson_ratio",
        "mass_damping",
        "stiffness_damping",
        "gravity",
        "time_step",
        "max_step_ms",
        "solver",
        "integration",
        "backend",
    ];
    COMMON.contains(&value.field.key)
}

fn heading_ui(ui: &mut Ui, text: &str) {
    ui.add_space(5.0);
    ui.label(RichText::new(text).font(theme::strong(12.0)));
}

/// The heading of a table in a table, which can be taken out unless it must be there.
fn group_heading_ui(ui: &mut Ui, group: &ValueGroup, row: &RowContext, answers: &mut UiResponse) {
    ui.add_space(5.0);
    ui.horizontal(|ui| {
        ui.label(RichText::new(title(&group.title)).font(theme::strong(12.0)));
        let is_needed = row.scene.field(&group.path).is_some_and(|field| matches!(field.presence, Presence::Required));
        if !is_needed {
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                remove_ui(ui, &group.path, &format!("Takes {} out", group.title), row, answers);
            });
        }
    });
}

/// The names that a value may be one of: of materials, groups, or bodies of the kinds that it accepts.
fn names_for(scene: &Scene, model: &Model, value: &SceneValue) -> Option<Vec<String>> {
    let names = |fits: &dyn Fn(BodyRef) -> bool| {
        Some(all_bodies(model).filter(|body| fits(*body)).map(|body| model.body_name(body).to_owned()).collect())
    };
    let list = value.path.split('.').next().unwrap_or_default();
    match (list, value.field.key) {
        (_, "material") => Some(scene.material_names()),
        (_, "parent") => {
            let name = |k: usize| scene.given(&format!("group.{k}.name")).map(|name| name.trim_matches('"').to_owned());
            Some((0..scene.n_entries("group")).filter(|k| !value.path.starts_with(&format!("group.{k}."))).filter_map(name).collect())
        }
        ("contact", "a" | "b") => Some(scene.bodies().into_iter().map(|body| body.name).collect()),
        ("force" | "probe", "body") => names(&BodyRef::is_deformable),
        ("grab", "body") => names(&|body| model.is_movable(body)),
        (_, "body") => names(&|_| true),
        _ => None,
    }
}

/// The longest side at rest of the body that an item is or names [m]; none of what has no mesh.
fn size_of(scene: &Scene, model: &Model, item: &Item) -> Option<f64> {
    let named = || Some(Item::body(scene.given(&format!("{}.body", item.path))?.trim_matches('"')));
    let subject = if item.body_name().is_some() { item.clone() } else { named()? };
    let bounds = match bodies_of(model, &subject).next()? {
        BodyRef::Deformable(place) => Aabb::of(&model.rest_positions[model.bodies[place as usize].nodes.clone()]),
        BodyRef::Rigid(place) => Aabb::of(&model.rigid_bodies[place as usize].vertices),
        BodyRef::Obstacle(_) | BodyRef::World => return None,
    };
    Some(bounds.extent().max()).filter(|size| *size > 0.0)
}

/// The words of a choice that what computes now has.
fn offered(value: &SceneValue, view: Option<&View>) -> Option<Vec<&'static str>> {
    let backend = view?.backend.as_ref()?;
    match value.path.as_str() {
        "simulation.solver" => Some(backend.methods.iter().copied().map(ContactMethod::name).collect()),
        _ => None,
    }
}

fn bodies_of<'a>(model: &'a Model, item: &'a Item) -> impl Iterator<Item = BodyRef> + 'a {
    all_bodies(model).filter(|body| item.is_of(model.body_name(*body)))
}

fn drawn_color(model: &Model, item: &Item) -> Option<Rgb> {
    let body = bodies_of(model, item).next()?;
    Some(match body {
        BodyRef::Deformable(_) => body_color(model, body.index()),
        BodyRef::Rigid(_) => rigid_color(model, body.index()),
        BodyRef::Obstacle(_) => obstacle_color(&model.obstacles[body.index()]),
        BodyRef::World => return None,
    })
}

/// What there is of the selected body: how many, what mass, what tets.
fn body_figures_ui(ui: &mut Ui, scene: &SceneInfo, view: Option<&View>, item: &Item) {
    let palette = theme::palette(ui.ctx());
    let model = &scene.model;
    let bodies: Vec<BodyRef> = bodies_of(model, item).collect();
    let Some(first) = bodies.first() else { return };
    let place = first.index();
    let mut parts = vec![];
    if bodies.len() > 1 {
        parts.push(format!("{} copies of", bodies.len()));
    }
    match first {
        BodyRef::Deformable(_) => {
            let body = &model.bodies[place];
            let mass = view.and_then(|view| view.masses.get(place)).unwrap_or(&body.mass);
            parts.push(format!(
                "{} · {} tets · {} nodes",
                format::mass(*mass),
                format::count(body.tets.len()),
                format::count(body.nodes.len())
            ));
        }
        BodyRef::Rigid(_) => {
            let body = &model.rigid_bodies[place];
            let mass = body.mass().map(|mass| format!("{} · ", format::mass(mass))).unwrap_or_default();
            parts.push(format!("{mass}{} triangles", format::count(body.triangles.len())));
        }
        BodyRef::Obstacle(_) | BodyRef::World => parts.push("an exact shape".into()),
    }
    ui.label(RichText::new(parts.join(" ")).size(12.0).color(palette.weak));
}

/// Friction of the selected body with others, or of the bodies that are selected with each other.
fn friction_ui(ui: &mut Ui, scene: &SceneInfo, document: &Document, name: &str, selected: &[&str], answers: &mut UiResponse) {
    let friction = document.scene().live_values().friction;
    let all: Vec<String> = {
        let mut names: Vec<String> = all_bodies(&scene.model).map(|body| base_name(scene.model.body_name(body)).to_owned()).collect();
        names.dedup();
        names
    };
    let mut pairs: Vec<[&str; 2]> = vec![];
    if selected.len() > 1 {
        for (k, a) in selected.iter().enumerate() {
            pairs.extend(selected[k + 1..].iter().map(|b| [*a, *b]));
        }
        pairs.dedup();
    } else {
        let bodies = document.scene().bodies();
        pairs.extend(all.iter().filter(|other| may_touch(&bodies, [name, other])).map(|other| [name, other.as_str()]));
    }
    if pairs.is_empty() {
        return;
    }
    heading_ui(ui, "Friction");
    let label = |[a, b]: [&str; 2]| match (selected.len(), a == b) {
        (2.., _) => format!("{a} and {b}"),
        (_, true) => "with itself, its copies".to_owned(),
        (_, false) => format!("with {b}"),
    };
    let mut row = |ui: &mut Ui, pair: [&str; 2]| pair_ui(ui, &label(pair), &friction, document, pair, answers);
    if pairs.len() <= SHORT {
        pairs.into_iter().for_each(|pair| row(ui, pair));
        return;
    }
    let list = ScrollArea::vertical().id_salt("pairs").max_height(SHORT as f32 * PAIR_ROW);
    list.show_rows(ui, PAIR_ROW, pairs.len(), |ui, shown| pairs[shown].iter().for_each(|pair| row(ui, *pair)));
}

/// Static and driven bodies do not meet each other.
fn may_touch(bodies: &[BodyOutline], pair: [&str; 2]) -> bool {
    let is_free = |name: &str| bodies.iter().any(|body| body.name == name && ["deformable", "rigid"].contains(&body.kind));
    let [a, b] = pair;
    let has_copies = bodies.iter().any(|body| body.name == a && (body.n_copies > 1 || body.kind == "deformable"));
    (is_free(a) || is_free(b)) && (a != b || has_copies)
}

fn is_pair(pair: &PairFriction, [a, b]: [&str; 2]) -> bool {
    pair.a == a && pair.b == b || pair.a == b && pair.b == a
}

/// All pairs with a value of their own.
fn pairs_ui(ui: &mut Ui, scene: &SceneInfo, document: &Document, answers: &mut UiResponse) {
    let friction = document.scene().live_values().friction;
    heading_ui(ui, "Pairs");
    for PairFriction { a, b, .. } in &friction.pairs {
        pair_ui(ui, &format!("{a} and {b}"), &friction, document, [a, b], answers);
    }
    if all_bodies(&scene.model).count() > 1 {
        let palette = theme::palette(ui.ctx());
        let told = "Select a body, or two of them with Ctrl, to give their contact a friction of its own.";
        ui.label(RichText::new(told).size(11.5).color(palette.weak));
    }
}

/// The friction of one pair; its own if it has one, else that of all.
fn pair_ui(ui: &mut Ui, label: &str, friction: &Friction, document: &Document, pair: [&str; 2], answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    let own = friction.pairs.iter().find(|known| is_pair(known, pair)).map(|known| known.friction);
    let Some(field) = document.scene().field("contact.friction") else { return };
    let value = SceneValue { path: format!("pair.{}.{}", pair[0], pair[1]), field, given: None };
    ui.horizontal(|ui| {
        ui.set_min_height(PAIR_ROW);
        let color = if own.is_some() { palette.text } else { palette.weak };
        let width = 0.62 * ui.available_width();
        let name = ui
            .allocate_ui_with_layout(egui::vec2(width, 20.0), egui::Layout::left_to_right(egui::Align::Center), |ui| {
                ui.set_width(width - 6.0);
                ui.add(egui::Label::new(RichText::new(label).size(12.5).color(color)).truncate())
            })
            .inner;
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let (response, changed) = ui.push_id(&value.path, |ui| number_ui(ui, &value, own.unwrap_or(friction.default), "")).inner;
            let told = match own {
                Some(_) => format!("Coulomb's coefficient of {} and {}. Acts at once.", pair[0], pair[1]),
                None => format!("As all pairs: {}. A change gives this pair a value of its own, at once.", friction.default),
            };
            answers.named(format!("value.{}", value.path), response).labelled_by(name.id).on_hover_text(told);
            if let Some(number) = changed {
                let values = vec![("contact.pair".to_owned(), pairs_with(friction, pair, number))];
                answers.act(Action::Edit { values, gesture: gesture(ui) });
            }
            let remove = || Button::new(theme::icon(icon::X, 11.0).color(palette.weak)).frame_when_inactive(false);
            if own.is_some() {
                let told = format!("{} and {} have friction {} again, as all pairs", pair[0], pair[1], friction.default);
                if answers.named(format!("remove.value.{}", value.path), ui.add(remove()).meaning(told)).clicked() {
                    let values = vec![("contact.pair".to_owned(), pairs_without(friction, pair))];
                    answers.act(Action::Edit { values, gesture: None });
                }
            }
        });
    });
}

/// The list of pairs as TOML, in which one has another value.
fn pairs_with(friction: &Friction, pair: [&str; 2], value: f64) -> String {
    let mut pairs = friction.pairs.clone();
    match pairs.iter_mut().find(|known| is_pair(known, pair)) {
        Some(known) => known.friction = value,
        None => pairs.push(PairFriction { a: pair[0].to_owned(), b: pair[1].to_owned(), friction: value }),
    }
    as_list(&pairs)
}

/// The same without one of them.
fn pairs_without(friction: &Friction, pair: [&str; 2]) -> String {
    let others: Vec<PairFriction> = friction.pairs.iter().filter(|known| !is_pair(known, pair)).cloned().collect();
    as_list(&others)
}

fn as_list(pairs: &[PairFriction]) -> String {
    let entry = |pair: &PairFriction| format!("{{ a = \"{}\", b = \"{}\", friction = {} }}", pair.a, pair.b, plain(pair.friction));
    format!("[{}]", pairs.iter().map(entry).collect::<Vec<_>>().join(", "))
}

/// Real materials to begin with: the numbers that the scene gives become those of the preset.
pub fn preset_ui(ui: &mut Ui, document: &Document, name: &str, tables: &[String], answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    let current = document.scene().live_values().materials.into_iter().find(|named| named.name == name);
    let is_it = |preset: &Preset| {
        current.as_ref().is_some_and(|named| {
            let (m, p) = (&named.material, preset.material());
            (m.model, m.young_modulus, m.poisson_ratio, m.density) == (p.model, p.young_modulus, p.poisson_ratio, p.density)
        })
    };
    ui.horizontal(|ui| {
        let label = ui.label(RichText::new("Preset").size(12.5).color(palette.weak)).id;
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let shown = PRESETS.iter().find(|preset| is_it(preset)).map_or("—".to_owned(), |preset| preset.name.replace('_', " "));
            let combo = egui::ComboBox::from_id_salt("preset").width(124.0).truncate().selected_text(RichText::new(shown).size(12.5));
            let combo = combo.show_ui(ui, |ui| {
                for preset in PRESETS {
                    let choice = ui.selectable_label(is_it(preset), preset.name.replace('_', " ")).on_hover_text(preset.sources());
                    if answers.named(format!("preset.{}", preset.name), choice).clicked() {
                        let values = tables.iter().flat_map(|table| preset_values(document, table, preset)).collect();
                        answers.act(Action::Edit { values, gesture: None });
                    }
                }
            });
            answers.named("value.preset", combo.response).labelled_by(label).on_hover_text("A real material to begin with; damping stays");
        });
    });
}

fn preset_values(document: &Document, table: &str, preset: &Preset) -> Vec<(String, String)> {
    let Preset { name, model, young_modulus, poisson_ratio, density } = *preset;
    let all = [
        ("model", format!("\"{}\"", model.name())),
        ("young_modulus", plain(young_modulus.value)),
        ("poisson_ratio", plain(poisson_ratio.value)),
        ("density", plain(density.value)),
    ];
    let given = all.into_iter().map(|(key, value)| (format!("{table}.{key}"), value));
    let given = given.filter(|(path, _)| document.scene().given(path).is_some());
    [(format!("{table}.preset"), format!("\"{name}\""))].into_iter().chain(given).collect()
}

/// The damping ratios that the material gives vibrations.
fn damping_ui(ui: &mut Ui, view: Option<&View>, name: &str) {
    let material = view.and_then(|view| view.materials.iter().find(|named| named.name == name)).map(|named| named.material);
    let Some(material) = material.filter(|m| m.mass_damping != 0.0 || m.stiffness_damping != 0.0) else { return };
    let palette = theme::palette(ui.ctx());
    let [a, b, c] = [1.0, 10.0, 100.0].map(|frequency| format::short(100.0 * material.damping_ratio(frequency)));
    let told = format!("Damping at 1, 10 and 100 Hz: {a}, {b} and {c} % of critical.");
    ui.label(RichText::new(told).size(11.5).color(palette.weak));
}

/// Takes the brush with a material.
fn brush_ui(ui: &mut Ui, name: &str, answers: &mut UiResponse) {
    let paint = Button::new((theme::icon(icon::PAINT_BRUSH, 13.0), RichText::new("Paint with it").size(12.0)));
    let told = "Takes the brush: what it passes of soft bodies is made of this material  (B)";
    if answers.named("material.paint", ui.add(paint).on_hover_text(told)).clicked() {
        answers.act(Action::PaintWith(name.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_gets_a_value_of_its_own_beside_the_others() {
        let pair = |a: &str, b: &str, friction| PairFriction { a: a.into(), b: b.into(), friction };
        let friction = Friction { default: 0.5, pairs: vec![pair("bar", "floor", 0.2)] };
        assert_eq!(pairs_with(&friction, ["floor", "bar"], 0.9), "[{ a = \"bar\", b = \"floor\", friction = 0.9 }]");
        let both = "[{ a = \"bar\", b = \"floor\", friction = 0.2 }, { a = \"bar\", b = \"bar\", friction = 1.0 }]";
        assert_eq!(pairs_with(&friction, ["bar", "bar"], 1.0), both);
        let friction = Friction { default: 0.5, pairs: vec![pair("bar", "floor", 0.2), pair("bar", "bar", 1.0)] };
        assert_eq!(pairs_without(&friction, ["floor", "bar"]), "[{ a = \"bar\", b = \"bar\", friction = 1.0 }]");
        assert_eq!(pairs_without(&Friction { default: 0.5, pairs: vec![pair("bar", "bar", 1.0)] }, ["bar", "bar"]), "[]");
    }
}
