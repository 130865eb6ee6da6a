//! The element pass: rotations, corner forces, and the compact rotated gradients that the matrix is gathered from.

use rayon::prelude::*;

use super::rotation::{self, Quaternion};
use crate::math::{Mat3, Vec3};
use crate::model::Tet;

/// What one tet gives to its corners.
#[derive(Clone, Copy, Debug, Default)]
pub struct Element {
    /// Elastic and stiffness-damping force on each corner [N], evaluated at the linear prediction `x + (dt + beta) v` with R frozen,
    /// so that dt * force already holds the terms -(dt^2 + dt beta) K v of the increment form.
    pub forces: [Vec3; 4],
    /// sqrt(mu V (dt^2 + dt beta)) R g_c for each corner: the matrix block of corners (i, j) is
    /// (lambda/mu) a_i a_j^T + a_j a_i^T + (a_i.a_j) I  (`elasticity.md` 2).
    pub gradients: [Vec3; 4],
    pub lambda_over_mu: f64,
}

/// Newton steps on the rotation per time step, and the correction [rad] above which more are made.
const ROTATION_STEPS: usize = 2;
const MAX_ROTATION_STEPS: usize = 8;
const ROTATION_TOLERANCE: f64 = 0.05;

/// `sum_c a[nodes[c]] g_c^T`, summed from differences to the first node so that a common translation leaves no trace.
pub fn gradient(tet: &Tet, a: &[Vec3]) -> Mat3 {
    let origin = a[tet.nodes[0] as usize];
    (1..4).map(|c| (a[tet.nodes[c] as usize] - origin) * tet.gradients[c].transpose()).sum()
}

/// First Piola-Kirchhoff stress [Pa] of linear elasticity in the frame `r`:  P = R (2 mu E + lambda tr(E) I),
/// E = sym(R^T F) - I. With R from the polar decomposition it is the gradient of
/// mu |S - I|^2 + lambda/2 tr(S - I)^2 (`elasticity.md` 3).
pub fn corotational_stress(tet: &Tet, r: &Mat3, f: &Mat3) -> Mat3 {
    let b = r.transpose() * f;
    let strain = (b + b.transpose()) * 0.5 - Mat3::identity();
    r * (strain * (2.0 * tet.mu) + Mat3::identity() * (tet.lambda * strain.trace()))
}

/// One tet: follows its rotation `q`, returns what it gives to its corners.
pub fn element(tet: &Tet, q: &mut Quaternion, displacements: &[Vec3], velocities: &[Vec3], dt: f64, beta: f64) -> Element {
    let f = Mat3::identity() + gradient(tet, displacements);
    for k in 0..MAX_ROTATION_STEPS {
        let correction = rotation::improve(q, &f);
        if k + 1 >= ROTATION_STEPS && correction < ROTATION_TOLERANCE {
            break;
        }
    }
    let r = rotation::matrix(q);
    let predicted = f + gradient(tet, velocities) * (dt + beta);
    let stress = corotational_stress(tet, &r, &predicted) * -tet.volume;
    let scale = (tet.mu * tet.volume * (dt * dt + dt * beta)).sqrt();
    Element {
        forces: tet.gradients.map(|g| stress * g),
        gradients: tet.gradients.map(|g| r * g * scale),
        lambda_over_mu: tet.lambda / tet.mu,
    }
}

/// All tets. `betas` holds the stiffness damping [s] of each body.
pub fn elements(
    tets: &[Tet],
    rotations: &mut [Quaternion],
    displacements: &[Vec3],
    velocities: &[Vec3],
    dt: f64,
    betas: &[f64],
    out: &mut [Element],
) {
    const TETS: usize = 256;
    (out.par_chunks_mut(TETS), rotations.par_chunks_mut(TETS), tets.par_chunks(TETS)).into_par_iter().for_each(|(out, rotations, tets)| {
        for ((out, q), tet) in out.iter_mut().zip(rotations).zip(tets) {
            *out = element(tet, q, displacements, velocities, dt, betas[tet.body as usize]);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Quat;

    fn tet() -> (Tet, Vec<Vec3>) {
        let x = vec![Vec3::zeros(), Vec3::new(0.1, 0.01, 0.0), Vec3::new(0.0, 0.12, 0.02), Vec3::new(0.01, 0.0, 0.09)];
        let edges = Mat3::from_columns(&[x[1] - x[0], x[2] - x[0], x[3] - x[0]]);
        let inverse = edges.try_inverse().unwrap();
        let g: [Vec3; 3] = [0, 1, 2].map(|r| inverse.row(r).transpose());
        let gradients = [-g[0] - g[1] - g[2], g[0], g[1], g[2]];
        (Tet { nodes: [0, 1, 2, 3], gradients, volume: edges.determinant() / 6.0, mu: 208_333.3, lambda: 138_888.9, body: 0 }, x)
    }

    fn forces(tet: &Tet, u: &[Vec3], q: Quaternion) -> [Vec3; 4] {
        let mut q = q;
        element(tet, &mut q, u, &[Vec3::zeros(); 4], 0.01, 0.0).forces
    }

    #[test]
    fn a_turned_element_has_no_force() {
        let (tet, x) = tet();
        let turn = Quat::from_scaled_axis(Vec3::new(1.0, 2.0, -0.5));
        let u: Vec<Vec3> = x.iter().map(|x| turn * x + Vec3::new(3.0, 1.0, -2.0) - x).collect();
        let q = [turn.i, turn.j, turn.k, turn.w];
        let scale = tet.mu * tet.volume.powf(2.0 / 3.0);
        assert!(forces(&tet, &u, q).iter().all(|f| f.norm() < 1e-12 * scale));
        // A wrong rotation does make a force.
        let mut q = q;
        q[0] += 1e-3;
        let r = rotation::matrix(&q);
        let f = Mat3::identity() + gradient(&tet, &u);
        assert!(corotational_stress(&tet, &r, &f).norm() > 1e-9 * tet.mu);
    }

    #[test]
    fn force_is_minus_the_energy_gradient() {
        let (tet, _) = tet();
        let u: Vec<Vec3> = (0..4).map(|k| Vec3::new(0.011, -0.007, 0.004) * (k as f64 * 1.7).sin()).collect();
        let energy = |u: &[Vec3]| {
            let f = Mat3::identity() + gradient(&tet, u);
            let s = f.svd(false, false).singular_values;
            let e = s - Vec3::repeat(1.0);
            tet.volume * (tet.mu * e.norm_squared() + 0.5 * tet.lambda * e.sum().powi(2))
        };
        let f = forces(&tet, &u, rotation::IDENTITY);
        for c in 0..4 {
            for axis in 0..3 {
                let eps = 1e-7;
                let shifted = |s: f64| {
                    let mut u = u.clone();
                    u[c][axis] += s;
                    energy(&u)
                };
                let slope = (shifted(eps) - shifted(-eps)) / (2.0 * eps);
                assert!((slope + f[c][axis]).abs() < 1e-5 * f[c].norm().max(1.0), "{slope} {}", f[c][axis]);
            }
        }
    }

    #[test]
    fn pure_shear_has_the_shear_modulus() {
        let (tet, _) = tet();
        let f = Mat3::new(1.0, 1e-6, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0);
        let stress = corotational_stress(&tet, &Mat3::identity(), &f);
        assert!((stress[(0, 1)] - tet.mu * 1e-6).abs() < 1e-9 * tet.mu);
    }
}
