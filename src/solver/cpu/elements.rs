//! The element pass: rotations, corner forces, and the compact rotated gradients that the matrix is gathered from.

use bytemuck::cast_slice_mut;
use pulp::{Arch, Scalar, Simd, WithSimd};
use rayon::prelude::*;

use super::lanes::{Lanes, Matrix, Vector, minus, plus, scaled, times, times_transposed, trace, transpose};
use super::rotation::{self, Quaternion};
use crate::math::{Mat3, Vec3};
use crate::model::Tet;

/// What one tet gives to its corners. The fourth component of each vector is zero: sums of them are single instructions.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct Element {
    /// sqrt(mu V (dt^2 + dt beta)) R g_c for each corner: the matrix block of corners (i, j) is
    /// (lambda/mu) a_i a_j^T + a_j a_i^T + (a_i.a_j) I  (`elasticity.md` 2).
    pub gradients: [[f64; 4]; 4],
    /// Elastic and stiffness-damping force on each corner [N], evaluated at the linear prediction `x + (dt + beta) v` with R frozen,
    /// so that dt * force already holds the terms -(dt^2 + dt beta) K v of the increment form.
    pub forces: [[f64; 4]; 4],
}

impl Element {
    pub fn gradients(&self) -> [Vec3; 4] {
        self.gradients.map(|[x, y, z, _]| Vec3::new(x, y, z))
    }

    pub fn forces(&self) -> [Vec3; 4] {
        self.forces.map(|[x, y, z, _]| Vec3::new(x, y, z))
    }
}

/// A vector for each corner.
type Corners<S> = [Vector<S>; 4];

/// What [`element`] needs to know.
struct Tets<S: Simd> {
    /// grad N_c of the last three corners [1/m].
    gradients: [Vector<S>; 3],
    volume: Lanes<S>,
    mu: Lanes<S>,
    lambda: Lanes<S>,
    /// Of all corners.
    displacements: Corners<S>,
    velocities: Corners<S>,
    /// dt + beta [s].
    reach: Lanes<S>,
}

/// `sum_c a_c g_c^T`, summed from differences to the first corner so that a common translation leaves no trace.
#[inline(always)]
fn gradients<S: Simd>(gradients: &[Vector<S>; 3], [a, b, c, d]: &Corners<S>) -> Matrix<S> {
    times(&transpose(&[minus(b, a), minus(c, a), minus(d, a)]), gradients)
}

/// The gradient of `a` in one tet.
pub fn gradient(tet: &Tet, a: &[Vec3]) -> Mat3 {
    let lanes = |v: &Vec3| [v.x, v.y, v.z].map(Lanes::<Scalar>::from);
    let [_, rest @ ..] = tet.gradients;
    let rows = gradients(&rest.each_ref().map(lanes), &tet.nodes.map(|n| lanes(&a[n as usize])));
    Mat3::from_fn(|r, c| rows[r][c].into())
}

#[inline(always)]
fn plus_identity<S: Simd>(a: &Matrix<S>) -> Matrix<S> {
    [[a[0][0] + 1.0, a[0][1], a[0][2]], [a[1][0], a[1][1] + 1.0, a[1][2]], [a[2][0], a[2][1], a[2][2] + 1.0]]
}

/// First Piola-Kirchhoff stress [Pa] of linear elasticity in the frame `r`:  P = R (2 mu E + lambda tr(E) I),
/// E = sym(R^T F) - I. With R from the polar decomposition it is the gradient of
/// mu |S - I|^2 + lambda/2 tr(S - I)^2 (`elasticity.md` 3).
#[inline(always)]
fn corotational_stress<S: Simd>(mu: Lanes<S>, lambda: Lanes<S>, r: &Matrix<S>, f: &Matrix<S>) -> Matrix<S> {
    let b = times(&transpose(r), f);
    // 2 mu sym(R^T F), then what belongs to the diagonal.
    let mut turned_back = b;
    let diagonal = (trace(&b) + -3.0) * lambda - (mu + mu);
    for i in 0..3 {
        for j in 0..3 {
            turned_back[i][j] = (b[i][j] + b[j][i]) * mu;
        }
        turned_back[i][i] = turned_back[i][i] + diagonal;
    }
    times(r, &turned_back)
}

/// Follows the rotations `q`; returns gradients and forces of the corners, see [`Element`].
#[inline(always)]
fn element<S: Simd>(tets: &Tets<S>, q: [Lanes<S>; 4], dt: f64) -> ([Lanes<S>; 4], Corners<S>, Corners<S>) {
    let Tets { gradients: rest, volume, mu, lambda, displacements, velocities, reach } = tets;
    let f = plus_identity(&gradients(rest, displacements));
    let q = rotation::follow(q, &f);
    let r = rotation::matrices(&q);
    let rates = gradients(rest, velocities);
    let predicted = [plus(&f[0], *reach, &rates[0]), plus(&f[1], *reach, &rates[1]), plus(&f[2], *reach, &rates[2])];
    let stress = corotational_stress(-*volume * *mu, -*volume * *lambda, &r, &predicted);
    let scale = (*mu * *volume * *reach * dt).sqrt();
    let [a, b, c] = times_transposed(rest, &r);
    let turned = with_first(&[scaled(&a, scale), scaled(&b, scale), scaled(&c, scale)]);
    (q, turned, with_first(&times_transposed(rest, &stress)))
}

/// Vectors of four corners that sum to zero, from the last three.
#[inline(always)]
fn with_first<S: Simd>(&[a, b, c]: &[Vector<S>; 3]) -> Corners<S> {
    [[-(a[0] + b[0] + c[0]), -(a[1] + b[1] + c[1]), -(a[2] + b[2] + c[2])], a, b, c]
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
        Arch::new().dispatch(Pass { tets, rotations, displacements, velocities, dt, betas, out });
    });
}

/// [`elements`] of one thread.
struct Pass<'a> {
    tets: &'a [Tet],
    rotations: &'a mut [Quaternion],
    displacements: &'a [Vec3],
    velocities: &'a [Vec3],
    dt: f64,
    betas: &'a [f64],
    out: &'a mut [Element],
}

impl WithSimd for Pass<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let last = self.tets.len() - 1;
        let mut rows = [[simd.splat_f64s(0.0); 4]; 12];
        for first in (0..self.tets.len()).step_by(S::F64_LANES) {
            // Lanes beyond the end do the last tet once more.
            let places = move |lane: usize| (first + lane).min(last);
            for lane in 0..S::F64_LANES {
                self.gather::<S>(places(lane), lane, &mut rows);
            }
            let (tets, q) = Tets::join(simd, &rows);
            let (q, gradients, forces) = element(&tets, q, self.dt);
            store(q, |lane, q| self.rotations[places(lane)] = q);
            let zero = Lanes::splat(simd, 0.0);
            for c in 0..4 {
                let ([gx, gy, gz], [fx, fy, fz]) = (gradients[c], forces[c]);
                store([gx, gy, gz, zero], |lane, g| self.out[places(lane)].gradients[c] = g);
                store([fx, fy, fz, zero], |lane, f| self.out[places(lane)].forces[c] = f);
            }
        }
    }
}

impl Pass<'_> {
    /// What [`Tets::join`] takes, of one tet.
    #[inline(always)]
    fn gather<S: Simd>(&self, place: usize, lane: usize, rows: &mut [[S::f64s; 4]; 12]) {
        let tet = &self.tets[place];
        let mut set = |row: usize, numbers| cast_slice_mut::<S::f64s, [f64; 4]>(&mut rows[row])[lane] = numbers;
        let [_, g1, g2, g3] = &tet.gradients;
        set(0, [g1.x, g1.y, g1.z, g2.x]);
        set(1, [g2.y, g2.z, g3.x, g3.y]);
        set(2, [g3.z, tet.volume, tet.mu, tet.lambda]);
        let reach = self.dt + self.betas[tet.body as usize];
        for c in 0..4 {
            let (u, v) = (&self.displacements[tet.nodes[c] as usize], &self.velocities[tet.nodes[c] as usize]);
            set(3 + c, [u.x, u.y, u.z, reach]);
            set(7 + c, [v.x, v.y, v.z, 0.0]);
        }
        set(11, self.rotations[place]);
    }
}

impl<S: Simd> Tets<S> {
    /// With the rotations.
    #[inline(always)]
    fn join(simd: S, rows: &[[S::f64s; 4]; 12]) -> (Self, [Lanes<S>; 4]) {
        let [g1x, g1y, g1z, g2x] = Lanes::join(simd, rows[0]);
        let [g2y, g2z, g3x, g3y] = Lanes::join(simd, rows[1]);
        let [g3z, volume, mu, lambda] = Lanes::join(simd, rows[2]);
        let [u0x, u0y, u0z, reach] = Lanes::join(simd, rows[3]);
        let gradients = [[g1x, g1y, g1z], [g2x, g2y, g2z], [g3x, g3y, g3z]];
        let mut displacements = [[u0x, u0y, u0z]; 4];
        let mut velocities = displacements;
        for c in 0..4 {
            let [x, y, z, _] = Lanes::join(simd, rows[3 + c]);
            displacements[c] = [x, y, z];
            let [x, y, z, _] = Lanes::join(simd, rows[7 + c]);
            velocities[c] = [x, y, z];
        }
        (Self { gradients, volume, mu, lambda, displacements, velocities, reach }, Lanes::join(simd, rows[11]))
    }
}

/// Hands out the four numbers of each lane.
#[inline(always)]
fn store<S: Simd>(values: [Lanes<S>; 4], mut out: impl FnMut(usize, [f64; 4])) {
    let rows = Lanes::separate(values);
    for (lane, row) in bytemuck::cast_slice::<S::f64s, [f64; 4]>(&rows).iter().enumerate() {
        out(lane, *row);
    }
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
        let mut out = [Element::default()];
        elements(&[*tet], &mut [q], u, &[Vec3::zeros(); 4], 0.01, &[0.0], &mut out);
        out[0].forces()
    }

    fn stress(tet: &Tet, r: &Mat3, f: &Mat3) -> Mat3 {
        let lanes = |m: &Mat3| [0, 1, 2].map(|r| [0, 1, 2].map(|c| Lanes::from(m[(r, c)])));
        let rows = corotational_stress(tet.mu.into(), tet.lambda.into(), &lanes(r), &lanes(f));
        Mat3::from_fn(|r, c| rows[r][c].into())
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
        assert!(stress(&tet, &r, &f).norm() > 1e-9 * tet.mu);
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
        let stress = stress(&tet, &Mat3::identity(), &f);
        assert!((stress[(0, 1)] - tet.mu * 1e-6).abs() < 1e-9 * tet.mu);
    }

    /// Lanes, the last of them not full, give what single numbers give, also for inverted tets and rotations that are far off.
    #[test]
    fn lanes_do_not_mix() {
        let (tet, _) = tet();
        let n = 11;
        let random = |k: usize| Vec3::from_fn(|i, _| ((3 * k + i) as f64 * 12.989_8).sin());
        let tets: Vec<Tet> = (0..n as u32).map(|t| Tet { nodes: [0, 1, 2, 3].map(|c| 4 * t + c), body: t % 2, ..tet }).collect();
        // From small strains to tets that are turned inside out.
        let u: Vec<Vec3> = (0..4 * n).map(|k| random(k) * (0.03 * (k / 4) as f64)).collect();
        let v: Vec<Vec3> = (0..4 * n).map(|k| random(k + 100)).collect();
        let start: Vec<Quaternion> = (0..n)
            .map(|t| {
                let turn = Quat::from_scaled_axis(random(t + 200) * (0.3 * t as f64));
                [turn.i, turn.j, turn.k, turn.w]
            })
            .collect();
        assert!(tets.iter().filter(|t| (Mat3::identity() + gradient(t, &u)).determinant() < 0.0).count() > 1);
        let betas = [0.0, 0.002];
        let (mut q, mut together) = (start.clone(), vec![Element::default(); n]);
        elements(&tets, &mut q, &u, &v, 0.01, &betas, &mut together);
        let (mut rotations, mut out) = (start, vec![Element::default(); n]);
        Pass { tets: &tets, rotations: &mut rotations, displacements: &u, velocities: &v, dt: 0.01, betas: &betas, out: &mut out }
            .with_simd(Scalar::new());
        for t in 0..n {
            let near = |a: f64, b: f64, scale: f64| (a - b).abs() <= 1e-9 * scale;
            assert!(q[t].iter().zip(&rotations[t]).all(|(a, b)| near(*a, *b, 1.0)), "{t}: {:?} {:?}", q[t], rotations[t]);
            for (a, b) in together[t].forces().iter().zip(out[t].forces()).chain(together[t].gradients().iter().zip(out[t].gradients())) {
                assert!(a.iter().zip(&b).all(|(x, y)| near(*x, *y, b.norm())), "{t}: {a} {b}");
            }
        }
    }
}
