//! The element pass: rotations, corner forces, and the compact rotated gradients that the matrix is gathered from.

use bytemuck::{Pod, Zeroable, cast_slice, cast_slice_mut};
use pulp::{Arch, Scalar, Simd, WithSimd};
use rayon::prelude::*;

use super::lanes::{Lanes, Matrix, Vector, minus, plus, scaled, times, times_transposed, trace, transpose};
use super::rotation::{self, Quaternion};
use crate::math::{Mat3, Vec3};
use crate::model::Tet;

/// What all tets give to their corners. The fourth component of each vector is zero: sums of them are single instructions.
#[derive(Clone, Debug, Default)]
pub struct Elements {
    pub forces: Vec<CornerForces>,
    pub gradients: Vec<CornerGradients<f64>>,
}

/// Elastic and stiffness-damping force on each corner of a tet [N], evaluated at the linear prediction `x + (dt + beta) v` with R frozen,
/// so that dt * force already holds the terms -(dt^2 + dt beta) K v of the increment form.
pub type CornerForces = [[f64; 4]; 4];

/// sqrt(mu V (dt^2 + dt beta)) R g_c for each corner of a tet: the matrix block of corners (i, j) is
/// (lambda/mu) a_i a_j^T + a_j a_i^T + (a_i.a_j) I  (`elasticity.md` 2). In f32 a line of the cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct CornerGradients<T>(pub [[T; 4]; 4]);

/// What gradients are kept in.
pub trait Precision: Copy + Default + Send {
    fn rounded(value: f64) -> Self;
}

impl Precision for f64 {
    #[inline(always)]
    fn rounded(value: f64) -> Self {
        value
    }
}

impl Precision for f32 {
    #[inline(always)]
    fn rounded(value: f64) -> Self {
        value as f32
    }
}

/// Gradients in f32.
pub fn round(gradients: &[CornerGradients<f64>], rounded: &mut Vec<CornerGradients<f32>>) {
    rounded.resize(gradients.len(), CornerGradients::default());
    let round = |(rounded, whole): (&mut CornerGradients<f32>, &CornerGradients<f64>)| rounded.0 = whole.0.map(|g| g.map(|g| g as f32));
    rounded.par_iter_mut().with_min_len(4096).zip(gradients).for_each(round);
}

/// A vector for each corner.
type Corners<S> = [Vector<S>; 4];

/// What [`element`] needs to know.
struct Tets<S: Simd> {
    /// grad N_c of the last three corners [1/m].
    gradients: [Vector<S>; 3],
    /// mu V and lambda V [J].
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
    let in_lanes = |v: &Vec3| [v.x, v.y, v.z].map(Lanes::<Scalar>::from);
    let [_, rest @ ..] = tet.gradients;
    let rows = gradients(&rest.each_ref().map(in_lanes), &tet.nodes.map(|n| in_lanes(&a[n as usize])));
    Mat3::from_fn(|r, c| rows[r][c].into())
}

#[inline(always)]
fn plus_identity<S: Simd>(a: &Matrix<S>) -> Matrix<S> {
    [[a[0][0] + 1.0, a[0][1], a[0][2]], [a[1][0], a[1][1] + 1.0, a[1][2]], [a[2][0], a[2][1], a[2][2] + 1.0]]
}

/// First Piola-Kirchhoff stress [Pa] (of moduli times a volume: [J]) of linear elasticity in the frame `r`:  P = R (2 mu E + lambda tr(E) I),
/// E = sym(R^T F) - I. With R from the polar decomposition it is the gradient of
/// mu |S - I|^2 + lambda/2 tr(S - I)^2 (`elasticity.md` 3).
#[inline(always)]
pub(super) fn corotational_stress<S: Simd>(mu: Lanes<S>, lambda: Lanes<S>, r: &Matrix<S>, f: &Matrix<S>) -> Matrix<S> {
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

/// Follows the rotations `q`, if `FOLLOW`; returns gradients and forces of the corners, see [`Element`].
#[inline(always)]
fn element<S: Simd, const FOLLOW: bool>(tets: &Tets<S>, mut q: [Lanes<S>; 4], dt: f64) -> ([Lanes<S>; 4], Corners<S>, Corners<S>) {
    let Tets { gradients: rest, mu, lambda, displacements, velocities, reach } = tets;
    let f = plus_identity(&gradients(rest, displacements));
    if FOLLOW {
        q = rotation::follow(q, &f);
    }
    let r = rotation::matrices(&q);
    let rates = gradients(rest, velocities);
    let predicted = [plus(&f[0], *reach, &rates[0]), plus(&f[1], *reach, &rates[1]), plus(&f[2], *reach, &rates[2])];
    let stress = corotational_stress(-*mu, -*lambda, &r, &predicted);
    let scale = (*mu * *reach * dt).sqrt();
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
) -> Elements {
    let (mut out, mut motions) = (Elements::default(), vec![]);
    gather_motions(displacements, velocities, &mut motions);
    TetGroups::new(tets, betas).pass::<_, true>(rotations, &motions, dt, &mut out.forces, &mut out.gradients);
    out
}

/// Tets that a thread takes at once.
const CHUNK: usize = 256;
/// Tets side by side.
pub const LANES: usize = 8;

/// Displacement and velocity of a node, each followed by a zero: a line of the cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct NodeMotion([[f64; 4]; 2]);

/// Brings displacements and velocities together, node by node.
pub fn gather_motions(displacements: &[Vec3], velocities: &[Vec3], motions: &mut Vec<NodeMotion>) {
    motions.resize(displacements.len(), NodeMotion::default());
    let join = |((motion, u), v): ((&mut NodeMotion, &Vec3), &Vec3)| *motion = NodeMotion([[u.x, u.y, u.z, 0.0], [v.x, v.y, v.z, 0.0]]);
    motions.par_iter_mut().with_min_len(4096).zip(displacements).zip(velocities).for_each(join);
}

/// The constants of all tets, in the order in which the lanes of the machine take them.
#[derive(Clone, Debug, Default)]
pub struct TetGroups {
    groups: Vec<Group>,
    n: usize,
}

/// Some tets side by side; those beyond the end are the last one once more.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
struct Group {
    /// grad N_c of the last three corners [1/m], then mu V, lambda V [J] and stiffness damping [s].
    numbers: [[f64; LANES]; 12],
    nodes: [[u32; 4]; LANES],
}

impl TetGroups {
    pub fn new(tets: &[Tet], betas: &[f64]) -> Self {
        let mut groups = vec![Group::zeroed(); tets.len().div_ceil(LANES)];
        for (group, tets) in groups.iter_mut().zip(tets.chunks(LANES)) {
            let rows = rows_of(tets, betas, group);
            Arch::new().dispatch(SideBySide { rows: &rows, group });
        }
        Self { groups, n: tets.len() }
    }

    /// The gradient of node vectors (each followed by a zero) in the tets of the k-th register of group `g`.
    #[inline(always)]
    pub fn gradient<S: Simd>(&self, simd: S, g: usize, k: usize, of: &[[f64; 4]]) -> Matrix<S> {
        let group = &self.groups[g];
        let zero = Lanes::splat(simd, 0.0);
        let mut rest = [[zero; 3]; 3];
        for (number, values) in rest.as_flattened_mut().iter_mut().zip(&group.numbers) {
            let (values, _) = S::as_simd_f64s(values);
            *number = Lanes::new(simd, values[k]);
        }
        let nodes = &group.nodes[k * S::F64_LANES..(k + 1) * S::F64_LANES];
        let mut corners = [[zero; 3]; 4];
        for c in 0..4 {
            let mut u = [simd.splat_f64s(0.0); 4];
            for (u, nodes) in as_rows_mut::<S>(&mut u).iter_mut().zip(nodes) {
                *u = of[nodes[c] as usize];
            }
            let [x, y, z, _] = Lanes::join(simd, u);
            corners[c] = [x, y, z];
        }
        gradients(&rest, &corners)
    }

    /// Forces and gradients of all tets, with their rotations followed from those of the last step; or, without `FOLLOW`, with those that are given.
    pub fn pass<T: Precision, const FOLLOW: bool>(
        &self,
        rotations: &mut [Quaternion],
        motions: &[NodeMotion],
        dt: f64,
        forces: &mut Vec<CornerForces>,
        gradients: &mut Vec<CornerGradients<T>>,
    ) {
        forces.resize(self.n, Default::default());
        gradients.resize(self.n, CornerGradients::default());
        let out = (forces.par_chunks_mut(CHUNK), gradients.par_chunks_mut(CHUNK));
        out.into_par_iter().zip(rotations.par_chunks_mut(CHUNK)).zip(self.groups.par_chunks(CHUNK / LANES)).with_min_len(2).for_each(
            |(((forces, gradients), rotations), groups)| {
                Arch::new().dispatch(Pass::<_, FOLLOW> { groups, rotations, motions, dt, forces, gradients });
            },
        );
    }
}

/// The numbers of a group tet by tet; the group gets its nodes.
fn rows_of(tets: &[Tet], betas: &[f64], group: &mut Group) -> [[[f64; 4]; LANES]; 3] {
    let mut rows = [[[0.0; 4]; LANES]; 3];
    for lane in 0..LANES {
        let tet = &tets[lane.min(tets.len() - 1)];
        let [_, g1, g2, g3] = &tet.gradients;
        rows[0][lane] = [g1.x, g1.y, g1.z, g2.x];
        rows[1][lane] = [g2.y, g2.z, g3.x, g3.y];
        rows[2][lane] = [g3.z, tet.mu * tet.volume, tet.lambda * tet.volume, betas[tet.body as usize]];
        group.nodes[lane] = tet.nodes;
    }
    rows
}

/// Brings the numbers of tets side by side.
struct SideBySide<'a> {
    rows: &'a [[[f64; 4]; LANES]; 3],
    group: &'a mut Group,
}

impl WithSimd for SideBySide<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (rows, numbers) in self.rows.iter().zip(self.group.numbers.chunks_exact_mut(4)) {
            let (rows, _) = S::as_simd_f64s(rows.as_flattened());
            for (k, rows) in rows.chunks_exact(4).enumerate() {
                let joined = simd.deinterleave_shfl_f64s([rows[0], rows[1], rows[2], rows[3]]);
                for (numbers, joined) in numbers.iter_mut().zip(joined) {
                    S::as_mut_simd_f64s(numbers).0[k] = joined;
                }
            }
        }
    }
}

/// The elements of one thread.
struct Pass<'a, T, const FOLLOW: bool> {
    groups: &'a [Group],
    rotations: &'a mut [Quaternion],
    /// Of all nodes.
    motions: &'a [NodeMotion],
    dt: f64,
    forces: &'a mut [CornerForces],
    gradients: &'a mut [CornerGradients<T>],
}

impl<T: Precision, const FOLLOW: bool> WithSimd for Pass<'_, T, FOLLOW> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let n = self.forces.len();
        let zero = Lanes::splat(simd, 0.0);
        for (g, group) in self.groups.iter().enumerate() {
            for k in 0..LANES / S::F64_LANES {
                let first = g * LANES + k * S::F64_LANES;
                let mut q = [simd.splat_f64s(0.0); 4];
                for (lane, q) in as_rows_mut::<S>(&mut q).iter_mut().enumerate() {
                    *q = self.rotations[(first + lane).min(n - 1)];
                }
                let tets = group.tets(simd, k, self.motions, self.dt);
                let (q, gradients, forces) = element::<S, FOLLOW>(&tets, Lanes::join(simd, q), self.dt);
                // Lanes beyond the end are not kept.
                let here = S::F64_LANES.min(n.saturating_sub(first));
                if FOLLOW {
                    store(q, here, |lane, q| self.rotations[first + lane] = q);
                }
                for c in 0..4 {
                    let ([gx, gy, gz], [fx, fy, fz]) = (gradients[c], forces[c]);
                    store([gx, gy, gz, zero], here, |lane, g| self.gradients[first + lane].0[c] = g.map(T::rounded));
                    store([fx, fy, fz, zero], here, |lane, f| self.forces[first + lane][c] = f);
                }
            }
        }
    }
}

/// Four numbers for each lane.
#[inline(always)]
fn as_rows_mut<S: Simd>(rows: &mut [S::f64s; 4]) -> &mut [[f64; 4]] {
    cast_slice_mut(rows)
}

/// Hands out the four numbers of the first `here` lanes.
#[inline(always)]
pub fn store<S: Simd>(values: [Lanes<S>; 4], here: usize, mut out: impl FnMut(usize, [f64; 4])) {
    let rows = Lanes::separate(values);
    let rows = cast_slice::<S::f64s, [f64; 4]>(&rows);
    if here == S::F64_LANES {
        // Of a length that is known when this is compiled.
        for lane in 0..S::F64_LANES {
            out(lane, rows[lane]);
        }
    } else {
        for lane in 0..here {
            out(lane, rows[lane]);
        }
    }
}

impl Group {
    /// The tets of the k-th register.
    #[inline(always)]
    fn tets<S: Simd>(&self, simd: S, k: usize, motions: &[NodeMotion], dt: f64) -> Tets<S> {
        let mut numbers = [Lanes::splat(simd, 0.0); 12];
        for (number, values) in numbers.iter_mut().zip(&self.numbers) {
            let (values, _) = S::as_simd_f64s(values);
            *number = Lanes::new(simd, values[k]);
        }
        let [g1x, g1y, g1z, g2x, g2y, g2z, g3x, g3y, g3z, mu, lambda, beta] = numbers;
        let gradients = [[g1x, g1y, g1z], [g2x, g2y, g2z], [g3x, g3y, g3z]];
        let nodes = &self.nodes[k * S::F64_LANES..(k + 1) * S::F64_LANES];
        let mut displacements = [gradients[0]; 4];
        let mut velocities = displacements;
        for c in 0..4 {
            let (mut u, mut v) = ([simd.splat_f64s(0.0); 4], [simd.splat_f64s(0.0); 4]);
            for ((u, v), nodes) in as_rows_mut::<S>(&mut u).iter_mut().zip(as_rows_mut::<S>(&mut v)).zip(nodes) {
                [*u, *v] = motions[nodes[c] as usize].0;
            }
            let [x, y, z, _] = Lanes::join(simd, u);
            displacements[c] = [x, y, z];
            let [x, y, z, _] = Lanes::join(simd, v);
            velocities[c] = [x, y, z];
        }
        Tets { gradients, mu, lambda, displacements, velocities, reach: beta + dt }
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
        let out = elements(&[*tet], &mut [q], u, &[Vec3::zeros(); 4], 0.01, &[0.0]);
        out.forces[0].map(|[x, y, z, _]| Vec3::new(x, y, z))
    }

    fn stress(tet: &Tet, r: &Mat3, f: &Mat3) -> Mat3 {
        let in_lanes = |m: &Mat3| [0, 1, 2].map(|r| [0, 1, 2].map(|c| Lanes::from(m[(r, c)])));
        let rows = corotational_stress(tet.mu.into(), tet.lambda.into(), &in_lanes(r), &in_lanes(f));
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
        let mut q = start.clone();
        let together = elements(&tets, &mut q, &u, &v, 0.01, &betas);
        let (mut rotations, mut out) = (start, together.clone());
        out.forces.fill(Default::default());
        out.gradients.fill(CornerGradients::default());
        let mut motions = vec![];
        gather_motions(&u, &v, &mut motions);
        let mut groups = vec![Group::zeroed(); n.div_ceil(LANES)];
        for (group, tets) in groups.iter_mut().zip(tets.chunks(LANES)) {
            let rows = rows_of(tets, &betas, group);
            SideBySide { rows: &rows, group }.with_simd(Scalar::new());
        }
        let Elements { forces, gradients } = &mut out;
        Pass::<_, true> { groups: &groups, rotations: &mut rotations, motions: &motions, dt: 0.01, forces, gradients }
            .with_simd(Scalar::new());
        for t in 0..n {
            let near = |a: f64, b: f64, scale: f64| (a - b).abs() <= 1e-9 * scale;
            assert!(q[t].iter().zip(&rotations[t]).all(|(a, b)| near(*a, *b, 1.0)), "{t}: {:?} {:?}", q[t], rotations[t]);
            let vectors = |of: &Elements| [of.forces[t], of.gradients[t].0].as_flattened().to_vec();
            for (a, b) in vectors(&together).into_iter().zip(vectors(&out)) {
                let norm = b.iter().map(|b| b * b).sum::<f64>().sqrt();
                assert!(a.iter().zip(&b).all(|(x, y)| near(*x, *y, norm)), "{t}: {a:?} {b:?}");
            }
        }
    }
}
