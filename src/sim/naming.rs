//! What names things of a scene, with other names for them: for who calls them otherwise than the simulation does.

use super::Command;
use crate::model::{FixedParts, Friction, NamedMaterial};
use crate::scene::LiveValues;

/// The name of an entry of a list of the scene, `body` or `material`, by the list and the name that it has here.
pub type Naming<'a> = &'a dyn Fn(&str, &str) -> String;

impl Command {
    /// The same command with these names.
    pub fn named(&self, naming: Naming) -> Self {
        match self.clone() {
            Self::SetMaterial(named) => Self::SetMaterial(material(named, naming)),
            Self::SetFriction(of_pairs) => Self::SetFriction(friction(of_pairs, naming)),
            Self::SetFixed(parts) => Self::SetFixed(fixed(parts, naming)),
            Self::PutBack { body } => Self::PutBack { body: naming("body", &body) },
            Self::MoveBodies { bodies, translation, rotation } => {
                Self::MoveBodies { bodies: bodies.iter().map(|body| naming("body", body)).collect(), translation, rotation }
            }
            other => other,
        }
    }
}

impl LiveValues {
    /// The same values with these names.
    pub fn named(&self, naming: Naming) -> Self {
        let Self { params, materials, friction: of_pairs, fixed: parts } = self.clone();
        let materials = materials.into_iter().map(|named| material(named, naming)).collect();
        Self { params, materials, friction: friction(of_pairs, naming), fixed: fixed(parts, naming) }
    }
}

pub(super) fn material(named: NamedMaterial, naming: Naming) -> NamedMaterial {
    NamedMaterial { name: naming("material", &named.name), ..named }
}

pub(super) fn friction(mut friction: Friction, naming: Naming) -> Friction {
    for name in friction.pairs.iter_mut().flat_map(|pair| [&mut pair.a, &mut pair.b]) {
        *name = naming("body", name);
    }
    friction
}

pub(super) fn fixed(mut parts: Vec<FixedParts>, naming: Naming) -> Vec<FixedParts> {
    parts.iter_mut().for_each(|part| part.body = naming("body", &part.body));
    parts
}
