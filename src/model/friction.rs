//! Friction coefficients of pairs of bodies.

use std::collections::BTreeMap;

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
