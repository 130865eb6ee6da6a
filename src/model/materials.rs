//! What a model is made of: materials by name, and those of tets, which follow from them.

use serde::{Deserialize, Serialize};

use super::{Body, Model, State};
use crate::element::{Element, Tet4};
use crate::material::Material;

/// A material as a scene names it. Bodies and regions of the same name share it, and it may be changed while a
/// simulation runs ([`Model::with_material`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedMaterial {
    /// Empty where the scene names none.
    pub name: String,
    pub material: Material,
}

impl From<Material> for NamedMaterial {
    fn from(material: Material) -> Self {
        Self { name: String::new(), material }
    }
}

/// How the material of some tets follows from a named one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Derivation {
    /// Place in [`Model::named_materials`].
    pub named: u32,
    /// Factor of Young's modulus, below 1 of tets that are nearly flat (`mesh::softening`).
    pub stiffness: f64,
    /// Factor of the density: the part of the volume of its tets that a body fills.
    pub filled: f64,
}

impl Derivation {
    fn of(&self, material: &Material) -> Material {
        Material { young_modulus: self.stiffness * material.young_modulus, density: material.density * self.filled, ..*material }
    }
}

impl Model {
    /// Place of a named material in the list, which gets it if it is new.
    pub(super) fn named_material(&mut self, named: &NamedMaterial) -> u32 {
        let known = self.named_materials.iter().position(|known| known == named);
        known.unwrap_or_else(|| {
            self.named_materials.push(named.clone());
            self.named_materials.len() - 1
        }) as u32
    }

    /// Place of a material of tets in the list, which gets it if it is new.
    pub(super) fn tet_material(&mut self, derivation: Derivation) -> u32 {
        let known = self.derivations.iter().position(|known| *known == derivation);
        known.unwrap_or_else(|| {
            self.materials.push(derivation.of(&self.named_materials[derivation.named as usize].material));
            self.derivations.push(derivation);
            self.derivations.len() - 1
        }) as u32
    }

    /// Gives nodes and bodies the masses of their tets, and bodies their mass damping.
    pub(super) fn weigh(&mut self) {
        let Self { bodies, tets, materials, node_masses, .. } = self;
        node_masses.fill(0.0);
        for body in bodies {
            let (mut volume, mut mass, mut damping) = (0.0, 0.0, 0.0);
            let of = |tet: &super::Tet| &materials[tet.material as usize];
            let of_body = &tets[body.tets.clone()];
            for tet in of_body {
                let material = of(tet);
                let mass_of_tet = material.density * tet.volume;
                tet.nodes.iter().for_each(|node| node_masses[*node as usize] += mass_of_tet / Tet4::NODES as f64);
                volume += tet.volume;
                mass += mass_of_tet;
                damping += material.mass_damping * mass_of_tet;
            }
            // Alike all over: to the last bit.
            let alike = |number: fn(&Material) -> f64| {
                of_body.iter().all(|tet| number(of(tet)) == number(of(&of_body[0]))).then(|| number(of(&of_body[0])))
            };
            body.volume = volume;
            body.mass = alike(|material| material.density).map_or(mass, |density| density * volume);
            body.mass_damping = alike(|material| material.mass_damping).unwrap_or(damping / mass);
        }
    }

    /// The model with another material of this name; none if it has no such material.
    pub fn with_material(&self, named: &NamedMaterial) -> Option<Self> {
        let place = self.named_materials.iter().position(|known| known.name == named.name)?;
        let mut all: Vec<Material> = self.named_materials.iter().map(|known| known.material).collect();
        all[place] = named.material;
        Some(self.with_materials(&all))
    }

    /// The model with other materials, in the order of its [`named_materials`](Self::named_materials).
    pub fn with_materials(&self, all: &[Material]) -> Self {
        let mut model = self.clone();
        model.named_materials.iter_mut().zip(all).for_each(|(named, material)| named.material = *material);
        let Self { materials, derivations, named_materials, bodies, .. } = &mut model;
        for (material, derivation) in materials.iter_mut().zip(&*derivations) {
            *material = derivation.of(&named_materials[derivation.named as usize].material);
        }
        for body in bodies {
            body.material = body.derivation.of(&named_materials[body.derivation.named as usize].material);
        }
        model.weigh();
        model
    }

    /// The materials of a body, its own first, and which of them each of its tets is made of. Tets that are simulated
    /// softer for their shape are counted to the material that they follow from.
    pub fn materials_of(&self, body: &Body) -> (Vec<Material>, Vec<u32>) {
        let (named, of_tets) = self.named_materials_of(body);
        let of_named = |named: &u32| body.derivation.of(&self.named_materials[*named as usize].material);
        (named.iter().map(of_named).collect(), of_tets)
    }

    /// The same by their places in [`Self::named_materials`].
    pub fn named_materials_of(&self, body: &Body) -> (Vec<u32>, Vec<u32>) {
        let mut named = vec![body.derivation.named];
        let of_tet = |tet: &super::Tet| {
            let wanted = self.derivations[tet.material as usize].named;
            let known = named.iter().position(|known| *known == wanted);
            known.unwrap_or_else(|| {
                named.push(wanted);
                named.len() - 1
            }) as u32
        };
        let of_tets = self.tets[body.tets.clone()].iter().map(of_tet).collect();
        (named, of_tets)
    }

    /// How many tets of a body are simulated softer than their material, as they are nearly flat.
    pub fn softened_tets(&self, body: &Body) -> usize {
        self.tets[body.tets.clone()].iter().filter(|tet| self.derivations[tet.material as usize].stiffness < 1.0).count()
    }

    /// For each tet the place in [`Model::named_materials`] of what it is made of.
    pub fn named_material_of(&self, tet: &super::Tet) -> usize {
        self.derivations[tet.material as usize].named as usize
    }
}

impl State {
    /// The state, taken from a model to one that differs in its materials: what tets of another constitutive model
    /// remember begins anew, and so do poses that factors are of.
    pub fn carried(&self, from: &Model, to: &Model) -> Self {
        let n = from.tets.len();
        let mut state = self.clone();
        state.later_poses.fill(None);
        state.outgrown.fill(0);
        state.slow.fill(0);
        state.rotations.truncate(n);
        let mut rows = &self.rotations[n..];
        for (before, after) in from.tets.iter().zip(&to.tets) {
            let (before, after) = (from.material(before), to.material(after));
            let (own, rest) = rows.split_at(before.state_rows());
            rows = rest;
            match before.model == after.model && before.state_rows() == after.state_rows() {
                true => state.rotations.extend_from_slice(own),
                false => state.rotations.resize(state.rotations.len() + after.state_rows(), [0.0; 4]),
            }
        }
        state
    }
}
