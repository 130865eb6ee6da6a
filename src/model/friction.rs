//! Friction coefficients of pairs of bodies.

use std::collections::BTreeMap;

/// Coulomb's coefficient for every pair of contact bodies (`Model::contact_body_name` numbers them).
#[derive(Clone, Debug, PartialEq)]
pub struct FrictionTable {
    default: f64,
    pairs: BTreeMap<(u32, u32), f64>,
}

impl Default for FrictionTable {
    fn default() -> Self {
        Self::new(0.5)
    }
}

impl FrictionTable {
    pub fn new(default: f64) -> Self {
        Self { default, pairs: BTreeMap::new() }
    }

    /// The value of one pair, in either order.
    pub fn set(&mut self, a: usize, b: usize, friction: f64) {
        self.pairs.insert((a.min(b) as u32, a.max(b) as u32), friction);
    }

    pub fn get(&self, a: usize, b: usize) -> f64 {
        *self.pairs.get(&(a.min(b) as u32, a.max(b) as u32)).unwrap_or(&self.default)
    }
}
