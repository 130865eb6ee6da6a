//! Friction coefficients of pairs of bodies.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Model;
use crate::body::{BodyRef, base_name};

/// Coulomb's coefficient for every pair of bodies (numbered by `body::BodyNumbering`). Bodies of one class, such as the
/// copies of one body, share their values.
#[derive(Clone, Debug, PartialEq)]
pub struct FrictionTable {
    default: f64,
    /// Class of each contact body.
    classes: Vec<u32>,
    /// By class, the lower one first.
    pairs: BTreeMap<(u32, u32), f64>,
}

/// The same as a scene says it, which may be changed while a simulation runs ([`Model::with_friction`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Friction {
    /// Of all pairs that have no value of their own.
    pub default: f64,
    #[serde(default)]
    pub pairs: Vec<PairFriction>,
}

/// The value of two bodies, in either order. The name of a body with copies stands for all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairFriction {
    pub a: String,
    pub b: String,
    pub friction: f64,
}

impl Default for FrictionTable {
    fn default() -> Self {
        Self::new(0.5, vec![])
    }
}

impl FrictionTable {
    pub fn new(default: f64, classes: Vec<u32>) -> Self {
        Self { default, classes, pairs: BTreeMap::new() }
    }

    /// The value of all pairs of a body of one class and a body of the other, in either order.
    pub fn set(&mut self, a: u32, b: u32, friction: f64) {
        self.pairs.insert((a.min(b), a.max(b)), friction);
    }

    /// The coefficient of two contact bodies.
    pub fn get(&self, a: usize, b: usize) -> f64 {
        if self.pairs.is_empty() {
            return self.default;
        }
        let (a, b) = (self.classes[a], self.classes[b]);
        *self.pairs.get(&(a.min(b), a.max(b))).unwrap_or(&self.default)
    }
}

impl Model {
    /// The coefficients of friction as a scene would say them; pairs in the order of their bodies.
    pub fn friction(&self) -> Friction {
        let FrictionTable { default, classes, pairs } = &self.friction;
        let name = |class: u32| {
            let number = classes.iter().position(|known| *known == class);
            number.map_or("", |number| base_name(self.body_name(self.numbering().body(number)))).to_owned()
        };
        let pairs = pairs.iter().map(|(&(a, b), &friction)| PairFriction { a: name(a), b: name(b), friction }).collect();
        Friction { default: *default, pairs }
    }

    /// The model with other coefficients of friction.
    ///
    /// # Errors
    /// The name that no body of the scene has.
    pub fn with_friction(&self, friction: &Friction) -> Result<Self, String> {
        let classes = self.friction.classes.clone();
        let class = |name: &str| {
            let is_it = |(number, _): &(usize, &u32)| base_name(self.body_name(self.numbering().body(*number))) == name;
            classes.iter().enumerate().find(is_it).map(|(_, class)| *class).ok_or_else(|| name.to_owned())
        };
        let mut table = FrictionTable::new(friction.default, classes.clone());
        for PairFriction { a, b, friction } in &friction.pairs {
            table.set(class(a)?, class(b)?, *friction);
        }
        let mut model = self.clone();
        for (place, obstacle) in model.obstacles.iter_mut().enumerate() {
            let number = self.numbering().number(BodyRef::Obstacle(place as u32)).unwrap_or_default();
            obstacle.friction.iter_mut().enumerate().for_each(|(body, value)| *value = table.get(body, number));
        }
        model.friction = table;
        Ok(model)
    }
}
