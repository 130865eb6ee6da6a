//! The materials of the scene: what they are, and what can be turned while they move.

use egui::{Align, ComboBox, DragValue, Layout, RichText, Ui};

use super::{Action, UiResponse, theme};
use crate::material::presets::{PRESETS, Preset};
use crate::material::{Material, MaterialModel};
use crate::model::NamedMaterial;

pub fn materials_ui(ui: &mut Ui, materials: &[NamedMaterial], answers: &mut UiResponse) {
    let chosen = ui.make_persistent_id("material");
    let mut place: usize = ui.data(|data| data.get_temp(chosen)).unwrap_or(0);
    if materials.len() > 1 {
        row(ui, "Material", |ui| {
            let shown = materials.get(place).map_or("", shown_name);
            ComboBox::from_id_salt("material").width(120.0).selected_text(shown).show_ui(ui, |ui| {
                for (k, named) in materials.iter().enumerate() {
                    ui.selectable_value(&mut place, k, shown_name(named));
                }
            });
        });
        ui.data_mut(|data| data.insert_temp(chosen, place));
    }
    let Some(named) = materials.get(place).or(materials.first()) else { return };
    let mut material = named.material;
    row(ui, "Model", |ui| {
        ComboBox::from_id_salt("material.model").width(120.0).selected_text(material.model.name().replace('_', " ")).show_ui(ui, |ui| {
            for model in MaterialModel::ALL {
                ui.selectable_value(&mut material.model, *model, model.name().replace('_', " "));
            }
        });
    });
    row(ui, "Preset", |ui| {
        let shown = PRESETS.iter().find(|preset| is_of(preset, &material)).map_or("—", |preset| preset.name);
        ComboBox::from_id_salt("material.preset").width(120.0).selected_text(shown).show_ui(ui, |ui| {
            for preset in PRESETS {
                if ui.selectable_label(is_of(preset, &material), preset.name).on_hover_text(preset.source).clicked() {
                    let Material { mass_damping, stiffness_damping, .. } = material;
                    material = Material { mass_damping, stiffness_damping, ..preset.material() };
                }
            }
        });
    });
    numbers_ui(ui, &mut material, answers);
    if material != named.material {
        answers.act(Action::SetMaterial(NamedMaterial { name: named.name.clone(), material }));
    }
}

fn numbers_ui(ui: &mut Ui, material: &mut Material, answers: &mut UiResponse) {
    let young_modulus = material.young_modulus;
    let mut number = |ui: &mut Ui, name: &str, landmark: &str, field: DragValue, told: &str| {
        row(ui, name, |ui| {
            answers.named(format!("material.{landmark}"), ui.add(field).on_hover_text(told));
        });
    };
    // By parts of itself, as it spans ten powers of ten.
    let modulus = DragValue::new(&mut material.young_modulus).speed(0.01 * young_modulus).range(1.0..=1e13).max_decimals(0).suffix(" Pa");
    number(ui, "Young's modulus", "young_modulus", modulus, "Stiffness; drag or type");
    let ratio = DragValue::new(&mut material.poisson_ratio).speed(0.002).range(0.0..=0.499).max_decimals(3);
    number(ui, "Poisson's ratio", "poisson_ratio", ratio, "How much it narrows when pulled");
    if material.model == MaterialModel::MooneyRivlin {
        let share = DragValue::new(&mut material.mooney_share).speed(0.002).range(0.0..=0.3).max_decimals(3);
        number(ui, "Second modulus", "mooney_share", share, "Part of the shear modulus that belongs to the second invariant");
    }
    let density = DragValue::new(&mut material.density).speed(5.0).range(1.0..=1e6).max_decimals(0).suffix(" kg/m³");
    number(ui, "Density", "density", density, "Mass of a volume at rest");
    let mass_damping = DragValue::new(&mut material.mass_damping).speed(0.02).range(0.0..=1e3).max_decimals(2).suffix(" 1/s");
    number(ui, "Drag", "mass_damping", mass_damping, "Damping proportional to mass: also of a free flight");
    let mut ms = material.stiffness_damping * 1e3;
    let stiffness_damping = DragValue::new(&mut ms).speed(0.05).range(0.0..=1e3).max_decimals(2).suffix(" ms");
    number(ui, "Damping", "stiffness_damping", stiffness_damping, "Damping proportional to stiffness: vibration dies away");
    if ms != material.stiffness_damping * 1e3 {
        material.stiffness_damping = ms / 1e3;
    }
}

fn row(ui: &mut Ui, name: &str, field: impl FnOnce(&mut Ui)) {
    let palette = theme::palette(ui.ctx());
    ui.horizontal(|ui| {
        ui.label(RichText::new(name).size(12.5).color(palette.weak));
        ui.with_layout(Layout::right_to_left(Align::Center), field);
    });
}

fn shown_name(named: &NamedMaterial) -> &str {
    if named.name.is_empty() { "default" } else { &named.name }
}

/// Whether a material has the numbers of a preset, whatever its damping.
fn is_of(preset: &Preset, material: &Material) -> bool {
    let Material { mass_damping, stiffness_damping, .. } = *material;
    Material { mass_damping, stiffness_damping, ..preset.material() } == *material
}
