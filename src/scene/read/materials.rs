//! Materials, and what is made of them.

use std::collections::BTreeMap;

use super::Reader;
use crate::material::presets::Preset;
use crate::material::{Material, MaterialModel, Plasticity, StretchLimits};
use crate::model::NamedMaterial;
use crate::scene::error::unknown;
use crate::scene::format::MATERIAL;
use crate::scene::node::{CHECKED, Node};
use crate::scene::regions::{MaterialRegion, TetChoice};
use crate::scene::spec::Kind;
use crate::scene::value::Value;

/// Values that some models alone have.
const OF_MODELS: &[(&str, MaterialModel)] =
    &[("mooney_share", MaterialModel::MooneyRivlin), ("degeneration_ratio", MaterialModel::Corotational)];

impl Reader<'_> {
    pub(super) fn materials(&mut self, root: &Node) -> BTreeMap<String, Material> {
        let Some(Kind::Named(table)) = root.table.field("material").map(|f| f.kind) else { unreachable!("declared as named tables") };
        let entries = root.value.get("material").map_or(&[][..], Value::entries);
        let node = |key: &str, value| Node { value, table, path: format!("material.{key}") };
        entries.iter().map(|entry| (entry.key.clone(), self.material(&node(&entry.key, &entry.value)))).collect()
    }

    fn material(&mut self, node: &Node) -> Material {
        let preset = node.opt_text("preset").and_then(|name| Preset::find(&name)).map(Preset::material);
        let number = |key: &str, of_preset: fn(&Material) -> f64| match &preset {
            Some(preset) if !node.has(key) => of_preset(preset),
            _ => node.number(key),
        };
        let model = match &preset {
            Some(preset) if !node.has("model") => preset.model,
            _ => MaterialModel::from_name(&node.text("model")).expect(CHECKED),
        };
        for (key, message) in OF_MODELS.iter().filter_map(|(key, _)| Some((key, model_fault(key, model)?))) {
            if node.has(key) {
                self.complain(node, key, message);
            }
        }
        for key in ["creep", "max_plastic_strain"].into_iter().filter(|key| node.has(key) && !node.has("yield_strain")) {
            self.complain(node, key, "this is for materials that flow; give yield_strain, or remove it");
        }
        Material {
            model,
            young_modulus: number("young_modulus", |m| m.young_modulus),
            poisson_ratio: number("poisson_ratio", |m| m.poisson_ratio),
            density: number("density", |m| m.density),
            mooney_share: number("mooney_share", |m| m.mooney_share),
            mass_damping: number("mass_damping", |m| m.mass_damping),
            stiffness_damping: number("stiffness_damping", |m| m.stiffness_damping),
            plasticity: node.opt_number("yield_strain").map(|yield_strain| Plasticity {
                yield_strain,
                creep: node.number("creep"),
                max_strain: node.number("max_plastic_strain"),
            }),
            stretch_limits: StretchLimits::new(node.opt_number("min_stretch"), node.opt_number("max_stretch")),
            degeneration_ratio: node.opt_number("degeneration_ratio"),
        }
    }

    /// The material that a body or a region names; that of all defaults if it names none.
    pub(super) fn named_material(&mut self, node: &Node, materials: &BTreeMap<String, Material>) -> NamedMaterial {
        let Some(name) = node.opt_text("material") else { return Material::default().into() };
        if let Some(material) = materials.get(&name) {
            return NamedMaterial { material: *material, name };
        }
        let message = if materials.is_empty() {
            format!("there is no material \"{name}\"; add a table [material.{name}]").into()
        } else {
            unknown(&format!("there is no material \"{name}\""), &name, materials.keys().map(String::as_str))
        };
        self.complain(node, "material", message);
        Material::default().into()
    }

    pub(super) fn material_region(&mut self, node: &Node, materials: &BTreeMap<String, Material>) -> Option<MaterialRegion> {
        let material = if node.has("material") { Some(self.named_material(node, materials)) } else { None };
        if material.is_none() && !node.has("spheres") {
            let problem = "\"material\" is missing; give the name of one (spheres alone stand without, and erase what was painted)";
            self.complaints.add(node.value.origin, node.path.clone(), problem);
        }
        let tets = match node.opt_label("tag") {
            None => TetChoice::Place(self.region(node)?),
            Some(tag) => {
                if let Some(other) = ["min", "max", "side", "spheres"].into_iter().find(|key| node.has(key)) {
                    self.complain(node, other, "the tets of this region are chosen by a tag already; remove one of the two");
                }
                TetChoice::Tag { tag, origin: node.origin("tag"), key: node.key("tag") }
            }
        };
        Some(MaterialRegion { material, tets })
    }
}

/// The complaint about a value that another model has than that of its material; none where it has a place.
fn model_fault(key: &str, model: MaterialModel) -> Option<String> {
    let (_, of) = OF_MODELS.iter().find(|(of_model, of)| *of_model == key && *of != model)?;
    Some(format!("this is of the model {}, and this material is {}; remove it or change the model", of.name(), model.name()))
}

/// What is wrong with a material by the rules of scene files, as a sentence; none if nothing is. A command that changes
/// a material is held to the same declarations as a file.
pub fn material_fault(material: &Material) -> Option<String> {
    // Named one by one: a value more does not stay without a check.
    let Material {
        model,
        young_modulus,
        poisson_ratio,
        density,
        mooney_share,
        mass_damping,
        stiffness_damping,
        plasticity,
        stretch_limits,
        degeneration_ratio,
    } = *material;
    let flow = |value: fn(&Plasticity) -> f64| plasticity.as_ref().map(value);
    let numbers = [
        ("young_modulus", Some(young_modulus)),
        ("poisson_ratio", Some(poisson_ratio)),
        ("density", Some(density)),
        ("mooney_share", Some(mooney_share)),
        ("mass_damping", Some(mass_damping)),
        ("stiffness_damping", Some(stiffness_damping)),
        ("yield_strain", flow(|flow| flow.yield_strain)),
        ("creep", flow(|flow| flow.creep)),
        ("max_plastic_strain", flow(|flow| flow.max_strain)),
        ("min_stretch", stretch_limits.and_then(|limits| limits.min)),
        ("max_stretch", stretch_limits.and_then(|limits| limits.max)),
        ("degeneration_ratio", degeneration_ratio),
    ];
    let range_fault = |(key, value): (&str, Option<f64>)| {
        let (field, value) = (MATERIAL.field(key)?, value?);
        let Kind::Number(range) = field.kind else { return None };
        (!range.contains(value)).then(|| format!("{key}: expected {}, found {value}", field.accepted()))
    };
    // (`mooney_share` has its default in other models, too.)
    let of_model = || degeneration_ratio.and_then(|_| Some(format!("degeneration_ratio: {}", model_fault("degeneration_ratio", model)?)));
    numbers.into_iter().find_map(range_fault).or_else(of_model)
}
