//! Materials: what a point of a body answers to a deformation.

/// An isotropic elastic material.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Material {
    pub model: MaterialModel,
    /// Young's modulus E [Pa], > 0.
    pub young_modulus: f64,
    /// Poisson's ratio nu [-], in [0, 0.5).
    pub poisson_ratio: f64,
    /// Mass density at rest [kg/m^3], > 0.
    pub density: f64,
    /// Rayleigh damping proportional to mass, alpha [1/s], >= 0.
    pub mass_damping: f64,
    /// Rayleigh damping proportional to stiffness, beta [s], >= 0.
    pub stiffness_damping: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaterialModel {
    /// Linear elasticity in the frame that turns with the element (`elastic`).
    Corotational,
}

/// Lame's parameters [Pa].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lame {
    pub mu: f64,
    pub lambda: f64,
}

impl Material {
    /// mu = E / (2 (1 + nu)), lambda = E nu / ((1 + nu) (1 - 2 nu)). (The thesis' D.11 prints a doubled shear modulus.)
    pub fn lame(&self) -> Lame {
        let (e, nu) = (self.young_modulus, self.poisson_ratio);
        Lame { mu: e / (2.0 * (1.0 + nu)), lambda: e * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)) }
    }
}

impl Default for Material {
    fn default() -> Self {
        Self {
            model: MaterialModel::Corotational,
            young_modulus: 1e5,
            poisson_ratio: 0.3,
            density: 1000.0,
            mass_damping: 0.0,
            stiffness_damping: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lame_parameters_of_the_digest() {
        let lame = Material { young_modulus: 5e5, poisson_ratio: 0.2, ..Default::default() }.lame();
        assert!((lame.mu - 208_333.333).abs() < 1e-2 && (lame.lambda - 138_888.889).abs() < 1e-2);
    }
}
