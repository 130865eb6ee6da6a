//! Strain, energy and stress of a state, for reports, files and pictures; the step computes its own in lanes.

use std::ops::Range;

use pulp::Scalar;
use rayon::prelude::*;

use crate::element::{Element, ElementKind, Patch, Tet4};
use crate::material::{Constitutive, ConstitutiveModel, Deformation, Material, StretchLimit};
use crate::math::lanes::{Lanes, Row, from_matrix, to_matrix};
use crate::math::{Mat3, Vec3};
use crate::model::{Body, Model, State, Tet};

/// Gradient of the node vectors `a` in one tet; of displacements, that is G = F - I.
pub fn gradient(tet: &Tet, a: &[Vec3]) -> Mat3 {
    let vector = |v: &Vec3| [v.x, v.y, v.z].map(Lanes::<Scalar>::from);
    let [_, kept @ ..] = tet.gradients.each_ref().map(vector);
    to_matrix(&Tet4::gradient(&kept, &tet.nodes.map(|n| vector(&a[n as usize]))))
}

/// Deformation gradient F of one tet, from the displacements [m] of all nodes.
pub fn deformation_gradient(tet: &Tet, displacements: &[Vec3]) -> Mat3 {
    gradient(tet, displacements) + Mat3::identity()
}

/// Elements whose energies one thread sums up at a time: the sum does not depend on how many threads there are.
const PART: usize = 1024;

/// Strain energy of all elements [J]. The frame of each point is that of the rotation nearest to F, so that the energy
/// is a function of positions and what materials remember.
pub fn strain_energy(model: &Model, state: &State) -> f64 {
    let constitutive: Vec<Constitutive> = model.materials.iter().map(Constitutive::new).collect();
    let limits: Vec<Option<StretchLimit>> = model.materials.iter().map(limit).collect();
    let rows = state_rows(model, &state.rotations[model.tets.len()..]);
    let of_tet = |(tet, rows): (&Tet, &&[[f64; 4]])| {
        let m = tet.material as usize;
        let deformed = Deformed::of_tet(tet, &model.materials[m], &state.displacements, rows);
        tet.volume * deformed.ask(|at| constitutive[m].energy(at) + energy_beyond(limits[m], at)).unwrap_or(f64::NAN)
    };
    let of_body = |body: &Body| match body.element {
        ElementKind::Linear => {
            let (tets, rows) = (&model.tets[body.tets.clone()], &rows[body.tets.clone()]);
            sum_of_parts(tets.par_chunks(PART).zip(rows.par_chunks(PART)).map(|(tets, rows)| tets.iter().zip(rows).map(of_tet).sum()))
        }
        ElementKind::Averaged => patch_energies(&model.cells[body.patches.clone()], model, state, &rows),
        ElementKind::Quadratic => patch_energies(&model.tets10[body.patches.clone()], model, state, &rows),
    };
    model.bodies.iter().map(of_body).sum()
}

/// The sum in the order of the parts.
fn sum_of_parts(parts: impl IndexedParallelIterator<Item = f64>) -> f64 {
    let mut sums = vec![];
    parts.collect_into_vec(&mut sums);
    sums.iter().sum()
}

/// Deformation gradient and state of a point, in the frame of the rotation nearest to it if its material asks for one;
/// None where it is not finite.
struct Deformed {
    gradient: Mat3,
    rotation: Option<Mat3>,
    remembered: Vec<Row<Scalar>>,
}

impl Deformed {
    /// Of a point with the displacement gradient `total`, from the shape to which it has flowed.
    fn of_point(total: &Mat3, material: &Material, rows: &[[f64; 4]]) -> Self {
        let gradient = material.plastic_rows(rows).elastic_gradient(total);
        let f = gradient + Mat3::identity();
        let rotation = if material.model.is_framed() { nearest_rotation(&f) } else { is_finite(&f).then(Mat3::identity) };
        Self { gradient, rotation, remembered: own_rows(material, rows) }
    }

    fn of_tet(tet: &Tet, material: &Material, displacements: &[Vec3], rows: &[[f64; 4]]) -> Self {
        Self::of_point(&gradient(tet, displacements), material, rows)
    }

    fn ask<T>(&self, f: impl Fn(&Deformation<Scalar>) -> T) -> Option<T> {
        let rotation = from_matrix(&self.rotation?);
        Some(f(&Deformation { gradient: from_matrix(&self.gradient), rotation, state: &self.remembered }))
    }
}

fn is_finite(f: &Mat3) -> bool {
    f.iter().all(|x| x.is_finite())
}

/// Gradient of the node vectors `a` at a point of an element.
pub fn patch_gradient<const N: usize, const P: usize>(patch: &Patch<N, P>, point: usize, a: &[Vec3]) -> Mat3 {
    let first = a[patch.nodes[0] as usize];
    (1..N).map(|c| (a[patch.nodes[c] as usize] - first) * patch.gradients[point][c].transpose()).sum()
}

/// The mean volume change of an element, and its energy without that of the volume change [J]; `rows`: the rows of
/// state of all tets.
fn patch_parts<const N: usize, const P: usize>(
    patch: &Patch<N, P>,
    material: &Material,
    displacements: &[Vec3],
    rows: &[&[[f64; 4]]],
) -> Option<[f64; 2]> {
    let (mut change, mut energy) = (0.0, 0.0);
    let constitutive = Constitutive::new(material);
    let (deviatoric, limit) = (constitutive.without_volume_energy(), limit(material));
    for p in 0..patch.n_points() {
        let deformed = Deformed::of_point(&patch_gradient(patch, p, displacements), material, rows[patch.tets().start + p]);
        change += patch.volumes[p] * deformed.ask(|at| constitutive.volume_change(at).0)?;
        energy += patch.volumes[p] * deformed.ask(|at| deviatoric.energy(at) + energy_beyond(limit, at))?;
    }
    Some([change / patch.volume(), energy])
}

fn patch_energies<const N: usize, const P: usize>(patches: &[Patch<N, P>], model: &Model, state: &State, rows: &[&[[f64; 4]]]) -> f64 {
    let of_patch = |patch: &Patch<N, P>| patch_energy(patch, model, &state.displacements, rows);
    sum_of_parts(patches.par_chunks(PART).map(|patches| patches.iter().map(of_patch).sum()))
}

fn patch_energy<const N: usize, const P: usize>(patch: &Patch<N, P>, model: &Model, displacements: &[Vec3], rows: &[&[[f64; 4]]]) -> f64 {
    let material = &model.materials[patch.material as usize];
    let of_volume = |change: f64| patch.volume() * Constitutive::new(material).volume_energy(change)[0];
    patch_parts(patch, material, displacements, rows).map_or(f64::NAN, |[change, energy]| energy + of_volume(change))
}

/// [`cauchy_stress`] of all tets. Those that are parts of one element have the pressure of their common volume change.
/// `states`: the rows of state of all tets ([`state_rows`]); as before any step where there are none.
pub fn cauchy_stresses(model: &Model, displacements: &[Vec3], states: &[[f64; 4]]) -> Vec<Option<Mat3>> {
    let rows = state_rows(model, states);
    let stress = |(tet, rows): (&Tet, &&[[f64; 4]])| cauchy_stress(tet, &model.materials, displacements, rows);
    let mut stresses: Vec<_> = model.tets.par_iter().with_min_len(256).zip(&rows).map(stress).collect();
    let mut share = |tets: Range<usize>, of_tets: Vec<Option<Mat3>>| stresses[tets].copy_from_slice(&of_tets);
    for cell in &model.cells {
        share(cell.tets(), patch_stresses(cell, model, displacements, &rows));
    }
    for tet in &model.tets10 {
        share(tet.tets(), patch_stresses(tet, model, displacements, &rows));
    }
    stresses
}

fn patch_stresses<const N: usize, const P: usize>(
    patch: &Patch<N, P>,
    model: &Model,
    displacements: &[Vec3],
    rows: &[&[[f64; 4]]],
) -> Vec<Option<Mat3>> {
    let material = &model.materials[patch.material as usize];
    let constitutive = Constitutive::new(material);
    let parts = patch_parts(patch, material, displacements, rows);
    let (deviatoric, limit) = (constitutive.without_volume_energy(), limit(material));
    let of_tet = |(tet, rows): (&Tet, &&[[f64; 4]])| {
        let [_, pressure, _] = constitutive.volume_energy(parts?[0]);
        let deformed = Deformed::of_tet(tet, material, displacements, rows);
        let stress = |at: &Deformation<Scalar>| deviatoric.stress(at) + constitutive.volume_change(at).1 * pressure;
        let piola = deformed.ask(|at| stress(at) + stress_beyond(limit, at))?;
        to_cauchy(&piola, &(deformed.gradient + Mat3::identity()))
    };
    model.tets[patch.tets()].iter().zip(&rows[patch.tets()]).map(of_tet).collect()
}

/// The rows of state of each tet, none where `rows` ends before.
pub fn state_rows<'a>(model: &Model, mut rows: &'a [[f64; 4]]) -> Vec<&'a [[f64; 4]]> {
    model.tets.iter().map(|tet| rows.split_off(..model.material(tet).state_rows()).unwrap_or_default()).collect()
}

/// What the model itself remembers.
fn own_rows(material: &Material, rows: &[[f64; 4]]) -> Vec<Row<Scalar>> {
    rows.iter().take(material.model.state_rows()).map(|row| row.map(Lanes::from)).collect()
}

fn limit(material: &Material) -> Option<StretchLimit> {
    material.stretch_limits.map(|_| StretchLimit::new(material))
}

/// Energy density of what is beyond limits of stretch [J/m^3].
fn energy_beyond(limit: Option<StretchLimit>, at: &Deformation<Scalar>) -> f64 {
    limit.map_or(0.0, |limit| limit.energy(Lanes::from(1.0), &limit.kinematics(at)).into())
}

/// First Piola-Kirchhoff stress of the same [Pa].
fn stress_beyond(limit: Option<StretchLimit>, at: &Deformation<Scalar>) -> Mat3 {
    limit.map_or_else(Mat3::zeros, |limit| to_matrix(&limit.stress(Lanes::from(1.0), &limit.kinematics(at))))
}

/// Cauchy stress [Pa] of a tet with the displacements [m] of all nodes: `sigma = P F^T / det F` with the first
/// Piola-Kirchhoff stress P of its material, `rows` being what it remembers (as before any step if those are none).
/// Elastic only, without damping.
///
/// R is the rotation nearest to F, so that the stress is a function of the positions alone; the step's own rotation may
/// still follow an older orientation while a tet is inside out. None of a tet without volume.
pub fn cauchy_stress(tet: &Tet, materials: &[Material], displacements: &[Vec3], rows: &[[f64; 4]]) -> Option<Mat3> {
    let material = &materials[tet.material as usize];
    let (constitutive, limit) = (Constitutive::new(material), limit(material));
    // sigma = P_e F_e^T / det F_e, as what is plastic has the determinant 1.
    let deformed = Deformed::of_tet(tet, material, displacements, rows);
    to_cauchy(&deformed.ask(|at| constitutive.stress(at) + stress_beyond(limit, at))?, &(deformed.gradient + Mat3::identity()))
}

fn to_cauchy(piola: &Mat3, f: &Mat3) -> Option<Mat3> {
    let det = f.determinant();
    if det == 0.0 || !det.is_finite() {
        return None;
    }
    let sigma = piola * f.transpose() / det;
    // R^T P F^T R is symmetric, up to rounding.
    Some((sigma + sigma.transpose()) * 0.5)
}

/// The rotation R, det R = +1, for which `|F - R|` is least: that of the singular vectors, the least of them turned
/// where F mirrors. None of what is not finite.
pub(super) fn nearest_rotation(f: &Mat3) -> Option<Mat3> {
    if !is_finite(f) {
        return None;
    }
    if let Some(rotation) = polar_rotation(f) {
        return Some(rotation);
    }
    let svd = f.svd(true, true);
    let (mut u, v_t) = (svd.u?, svd.v_t?);
    if (u * v_t).determinant() < 0.0 {
        let least = svd.singular_values.imin();
        u.column_mut(least).neg_mut();
    }
    Some(u * v_t)
}

/// The least det F / |F|^3 at which [`polar_rotation`] is tried: where F is nearly flat it loses digits.
const NOT_FLAT: f64 = 1e-4;
/// Most steps of [`polar_rotation`]; stretches of 10, 1 and .1 take six.
const POLAR_STEPS: usize = 10;
/// The square of the last change: what it leaves is about as small.
const POLAR_CHANGE: f64 = 1e-18;

/// The same where F does not mirror, by Newton's iteration `R <- (g R + R^-T / g) / 2` with
/// `g^2 = |R^-1| / |R|` (Higham 1986, Computing the polar decomposition): two fifths of the time of singular vectors.
fn polar_rotation(f: &Mat3) -> Option<Mat3> {
    // Written so that what overflows is left to the singular vectors.
    let is_tried = f.determinant() > NOT_FLAT * f.norm().powi(3);
    if !is_tried {
        return None;
    }
    let mut rotation = *f;
    for _ in 0..POLAR_STEPS {
        let [a, b, c] = [0, 1, 2].map(|k| rotation.column(k).into_owned());
        let inverse_transposed = Mat3::from_columns(&[b.cross(&c), c.cross(&a), a.cross(&b)]) / a.dot(&b.cross(&c));
        let scale = (inverse_transposed.norm() / rotation.norm()).sqrt();
        let next = (rotation * scale + inverse_transposed / scale) * 0.5;
        let change = (next - rotation).norm_squared();
        rotation = next;
        if change < POLAR_CHANGE {
            return Some(rotation);
        }
    }
    None
}

/// Von Mises' equivalent stress [Pa]: `sqrt(3/2 s : s)` of the deviator s.
pub fn von_mises(stress: &Mat3) -> f64 {
    let deviator = stress - Mat3::identity() * (stress.trace() / 3.0);
    (1.5 * deviator.norm_squared()).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::{Material, MaterialModel};
    use crate::math::Quat;
    use crate::mesh::shapes;
    use crate::model::{Model, ModelBuilder, SoftBody};

    fn model() -> Model {
        let material = Material { young_modulus: 1e5, poisson_ratio: 0.3, ..Material::default() };
        let mut builder = ModelBuilder::default();
        builder.soft_body(SoftBody::with_boundary_surface("cube", material, shapes::box_tets(Vec3::repeat(1.0), [2, 2, 2])));
        builder.build().unwrap()
    }

    fn displaced(model: &Model, f: &Mat3) -> Vec<Vec3> {
        model.rest_positions.iter().map(|x| f * x - x + Vec3::new(100.0, 0.0, 0.0)).collect()
    }

    /// What is turned and stretched by up to ten times as much along one axis as along another, both ways.
    #[test]
    fn the_nearest_rotation_is_that_of_the_singular_vectors() {
        for k in 0..200 {
            let angle = |n: f64| 0.37 * f64::from(k) * n;
            let turn = |n: f64| *Quat::from_scaled_axis(Vec3::new(angle(n), angle(-0.7 * n), angle(1.9))).to_rotation_matrix().matrix();
            let stretches = Vec3::new(1.0, 0.1f64.powf(angle(1.0).fract()), 0.1f64.powf(angle(3.0).fract()));
            let stretch = turn(1.3) * Mat3::from_diagonal(&stretches) * turn(1.3).transpose();
            let f = turn(1.0) * stretch * 3.0;
            assert!((polar_rotation(&f).unwrap() - turn(1.0)).norm() < 1e-13, "{f}");
            assert_eq!(nearest_rotation(&f), polar_rotation(&f));
            // What is flat or mirrored is left to singular vectors, which find the same at the border.
            assert!(polar_rotation(&-f).is_none() && (nearest_rotation(&-f).unwrap().determinant() - 1.0).abs() < 1e-13);
            let flat = turn(1.0) * Mat3::from_diagonal(&Vec3::new(1.0, 2.0, 1e-4));
            assert!(polar_rotation(&flat).is_none() && (nearest_rotation(&flat).unwrap() - turn(1.0)).norm() < 1e-10);
        }
        for wrong in [f64::NAN, f64::INFINITY] {
            assert!(nearest_rotation(&Mat3::repeat(wrong)).is_none());
        }
    }

    /// Of all models, in a mesh that is summed up in several parts, with as many threads as there are and with one.
    #[test]
    fn the_energy_of_a_bar_is_that_of_its_points() {
        let f = *Quat::from_scaled_axis(Vec3::new(0.4, -1.0, 2.0)).to_rotation_matrix().matrix()
            * Mat3::new(1.2, 0.1, 0.0, 0.0, 0.9, -0.2, 0.1, 0.0, 1.1);
        for model in MaterialModel::ALL {
            let material = Material { model: *model, young_modulus: 1e5, poisson_ratio: 0.3, ..Material::default() };
            let mut builder = ModelBuilder::default();
            builder.soft_body(SoftBody::with_boundary_surface("bar", material, shapes::box_tets(Vec3::new(3.0, 1.0, 1.0), [18, 6, 6])));
            let model = builder.build().unwrap();
            assert!(model.tets.len() > 3 * PART);
            let state = State { displacements: displaced(&model, &f), ..State::initial(&model) };
            let energy = strain_energy(&model, &state);
            let rotation = from_matrix(&nearest_rotation(&f).unwrap());
            let density =
                Constitutive::new(&material).energy(&Deformation { gradient: from_matrix(&(f - Mat3::identity())), rotation, state: &[] });
            assert!((energy / (3.0 * density) - 1.0).abs() < 1e-10, "{material:?}: {energy} {density}");
            let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(|| strain_energy(&model, &state));
            assert_eq!(energy, alone);
        }
    }

    #[test]
    fn a_pulled_and_turned_bar_has_the_stress_of_the_book() {
        let model = model();
        let (e, nu, strain) = (1e5, 0.3, 1e-5);
        let stretch = Mat3::from_diagonal(&Vec3::new(1.0 + strain, 1.0 - nu * strain, 1.0 - nu * strain));
        let turn = Quat::from_scaled_axis(Vec3::new(0.3, -2.0, 1.0)).to_rotation_matrix();
        let displacements = displaced(&model, &(turn.matrix() * stretch));
        for tet in &model.tets {
            let stress = cauchy_stress(tet, &model.materials, &displacements, &[]).unwrap();
            // Along the bar, which the turn carries along; second order in the strain is left out.
            let along = turn.matrix().transpose() * stress * turn.matrix();
            let want = Mat3::from_diagonal(&Vec3::new(e * strain, 0.0, 0.0));
            assert!((along - want).norm() < 1e-4 * e * strain, "{along}");
            assert!((von_mises(&stress) - e * strain).abs() < 1e-4 * e * strain);
        }
    }

    #[test]
    fn the_stress_is_the_gradient_of_the_energy() {
        // P = dPsi/dF by differences; P = J sigma F^-T.
        let model = model();
        let tet = &model.tets[3];
        let energy = |f: &Mat3| {
            let state = State { displacements: displaced(&model, f), ..State::initial(&model) };
            strain_energy(&model, &state) / model.bodies[0].volume
        };
        let f = Mat3::new(1.2, 0.3, -0.1, -0.4, 0.9, 0.2, 0.1, -0.2, 1.1);
        let sigma = cauchy_stress(tet, &model.materials, &displaced(&model, &f), &[]).unwrap();
        let piola = sigma * f.try_inverse().unwrap().transpose() * f.determinant();
        for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
            let step = |h: f64| {
                let mut moved = f;
                moved[(i, j)] += h;
                energy(&moved)
            };
            let difference = (step(1e-6) - step(-1e-6)) / 2e-6;
            assert!((piola[(i, j)] - difference).abs() < 1e-5 * model.materials[0].lame().mu, "{} {difference}", piola[(i, j)]);
        }
        // And a mirrored tet has a finite one.
        let mirrored =
            cauchy_stress(tet, &model.materials, &displaced(&model, &Mat3::from_diagonal(&Vec3::new(1.0, 1.0, -0.2))), &[]).unwrap();
        assert!(mirrored.iter().all(|x| x.is_finite()));
        assert!(cauchy_stress(tet, &model.materials, &displaced(&model, &Mat3::zeros()), &[]).is_none());
    }
}
