//! Bodies that are deformed beyond what their models hold. A step does not ask; who tells the user looks now and then.

use std::iter::StepBy;
use std::ops::Range;

use super::stress::{deformation_gradient, gradient, state_rows};
use crate::material::{Constitutive, ValidRange, Violation};
use crate::math::{Mat3, Vec3};
use crate::model::{Body, Model, State, Tet};

/// A look goes to each eighth tet of a model, to other ones than the look before, and to all of a body only where more
/// than a few of those are beyond. Of models up to [`FEW_TETS`] it goes to all.
const STRIDE: usize = 8;
const FEW_TETS: usize = 500;

/// Bodies with less than this part of their volume beyond are not told: a few elements of a bad mesh, or those at the
/// edge of a clamp, always are.
const LEAST_PART: f64 = 0.01;

/// A body of which more than a few elements are deformed beyond the range of their model.
#[derive(Clone, Debug, PartialEq)]
pub struct BeyondRange {
    /// Place in [`Model::bodies`].
    pub body: u32,
    /// Part of its volume at rest that is beyond [-].
    pub part: f64,
    /// The most strained of the tets that are beyond, one turned inside out first; they count from 0 in each body.
    pub tet: usize,
    /// Name of the model of that tet, how it is beyond its range, and what the model does there.
    pub model: &'static str,
    pub violation: Violation,
    pub beyond: &'static str,
}

/// Bodies that are deformed beyond the ranges of their models at a state, in their order; what is tangled is told
/// elsewhere. What flows counts from the shape to which it would return. `look` counts looks at the model.
pub fn beyond_range(model: &Model, state: &State, look: u64) -> Vec<BeyondRange> {
    let ranges: Vec<ValidRange> = model.materials.iter().map(|material| Constitutive::new(material).valid_range()).collect();
    let flows = model.materials.iter().any(|material| material.plasticity.is_some());
    let rows = if flows { state_rows(model, &state.rotations[model.tets.len()..]) } else { vec![] };
    let deformation_gradient = |t: usize| {
        let (tet, rows) = (&model.tets[t], rows.get(t).copied().unwrap_or_default());
        let (total, material) = (gradient(tet, &state.displacements), model.material(tet));
        Mat3::identity() + if material.plasticity.is_some() { material.plastic_rows(rows).elastic_gradient(&total) } else { total }
    };
    let holds = |t: usize, f: &Mat3| ranges[model.tets[t].material as usize].holds(f);
    // Volumes of some tets: of all, and of those that are beyond.
    let volumes = |tets: StepBy<Range<usize>>| {
        tets.fold([0.0, 0.0], |[all, beyond], t| {
            let volume = model.tets[t].volume;
            [all + volume, if holds(t, &deformation_gradient(t)) { beyond } else { beyond + volume }]
        })
    };
    let (stride, first) = if model.tets.len() > FEW_TETS { (STRIDE, look as usize % STRIDE) } else { (1, 0) };
    let of_body = |(place, body): (usize, &Body)| {
        let is_much = |[all, beyond]: [f64; 2]| beyond > LEAST_PART * all;
        if !is_much(volumes((body.tets.start + first..body.tets.end).step_by(stride))) {
            return None;
        }
        let [volume, beyond] = volumes(body.tets.clone().step_by(1));
        let mut worst = None::<(f64, usize, Mat3)>;
        for t in body.tets.clone().filter(|_| is_much([volume, beyond])) {
            let f = deformation_gradient(t);
            let strain = if f.determinant() > 0.0 { strain(&f) } else { f64::INFINITY };
            if !holds(t, &f) && worst.is_none_or(|(most, ..)| strain > most) {
                worst = Some((strain, t, f));
            }
        }
        let (_, t, f) = worst?;
        let material = &model.materials[model.tets[t].material as usize];
        let range = &ranges[model.tets[t].material as usize];
        Some(BeyondRange {
            body: place as u32,
            part: beyond / volume,
            tet: t - body.tets.start,
            model: material.model.name(),
            violation: range.violation(&f)?,
            beyond: range.beyond,
        })
    };
    let is_whole = |(place, _): &(usize, &Body)| state.tangled.get(*place) != Some(&true);
    model.bodies.iter().enumerate().filter(is_whole).filter_map(of_body).collect()
}

/// The tet of a body that is strained most, one whose strain is not finite first; they count from 0 in the body.
pub fn most_strained(model: &Model, body: &Body, displacements: &[Vec3]) -> usize {
    let of_tet = |tet: &Tet| Some(strain(&deformation_gradient(tet, displacements))).filter(|strain| strain.is_finite());
    let strains = model.tets[body.tets.clone()].iter().map(|tet| of_tet(tet).unwrap_or(f64::INFINITY)).enumerate();
    strains.reduce(|most, next| if next.1 > most.1 { next } else { most }).map_or(0, |(tet, _)| tet)
}

/// `|F^T F - I|` [-]
fn strain(f: &Mat3) -> f64 {
    (f.transpose() * f - Mat3::identity()).norm()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::{Material, MaterialModel, Plasticity};
    use crate::math::Quat;
    use crate::mesh::shapes;
    use crate::model::{ModelBuilder, SoftBody};

    fn model(material: Material) -> Model {
        let mut builder = ModelBuilder::default();
        for name in ["first", "second"] {
            builder.soft_body(SoftBody::with_boundary_surface(name, material, shapes::box_tets(Vec3::repeat(1.0), [2, 2, 2])));
        }
        builder.build().unwrap()
    }

    /// The second body, stretched along its axes and turned.
    fn deformed(model: &Model, stretches: [f64; 3]) -> State {
        let turn = Quat::from_scaled_axis(Vec3::new(0.3, -2.0, 1.0)).to_rotation_matrix().into_inner();
        let f = turn * Mat3::from_diagonal(&Vec3::from(stretches));
        let mut state = State::at_rest(model);
        for node in model.bodies[1].nodes.clone() {
            state.displacements[node] = f * model.rest_positions[node] - model.rest_positions[node];
        }
        state
    }

    fn of_model(model: MaterialModel) -> Model {
        self::model(Material { model, poisson_ratio: 0.3, ..Material::default() })
    }

    #[test]
    fn each_model_has_its_own_range() {
        for (of, within, beyond, told) in [
            (MaterialModel::Corotational, [0.55, 1.0, 1.0], [0.45, 1.0, 1.0], "from 0.50 on"),
            (MaterialModel::CorotationalTruncated, [1.0, 1.9, 1.0], [1.0, 2.1, 1.0], "up to 2.00"),
            (
                MaterialModel::StVenantKirchhoff,
                [0.6, 1.0, 1.0],
                [0.56, 1.0, 1.0],
                "0.56 times as long as at rest in one direction, where the model holds from 0.58 on",
            ),
            (MaterialModel::NeoHookean, [0.72, 1.0, 1.0], [0.68, 1.0, 1.0], "has 0.68 of its volume, where the model holds from 0.70 on"),
            (MaterialModel::MooneyRivlin, [0.5, 1.5, 1.0], [0.9, 0.9, 0.8], "from 0.70 on"),
            (
                MaterialModel::StableNeoHookean,
                [0.5, 1.0, 1.0],
                [0.7, 0.7, 0.7],
                "has 0.34 of its volume, where the model holds from 0.46 on",
            ),
        ] {
            let model = of_model(of);
            assert_eq!(beyond_range(&model, &deformed(&model, within), 0), [], "{of:?}");
            let found = beyond_range(&model, &deformed(&model, beyond), 0);
            let [one] = &found[..] else { panic!("{of:?}: {found:?}") };
            assert_eq!((one.body, one.model), (1, of.name()));
            assert!((one.part - 1.0).abs() < 1e-12 && one.violation.to_string().contains(told), "{one:?}");
        }
    }

    #[test]
    fn a_few_elements_and_tangled_bodies_are_left_out_and_the_most_strained_is_named() {
        let model = of_model(MaterialModel::Corotational);
        let mut state = deformed(&model, [1.0; 3]);
        // One corner is pushed through the body.
        let node = model.bodies[1].nodes.start;
        state.displacements[node] = model.rest_positions[node] * -2.4;
        let found = beyond_range(&model, &state, 0);
        assert!(found.len() == 1 && (0.01..0.5).contains(&found[0].part), "{found:?}");
        let tet = &model.tets[model.bodies[1].tets.start + found[0].tet];
        assert!(tet.nodes.contains(&(node as u32)), "{found:?}");
        state.tangled[1] = true;
        assert_eq!(beyond_range(&model, &state, 0), []);
    }

    /// Of a model of many tets a look goes to some of them, and to all of a body of which those are beyond.
    #[test]
    fn large_bodies_are_looked_at_here_and_there() {
        let mut builder = ModelBuilder::default();
        builder.soft_body(SoftBody::with_boundary_surface("first", Material::default(), shapes::box_tets(Vec3::repeat(1.0), [1; 3])));
        builder.soft_body(SoftBody::with_boundary_surface("second", Material::default(), shapes::box_tets(Vec3::repeat(1.0), [8, 4, 4])));
        let model = builder.build().unwrap();
        assert!(model.tets.len() > FEW_TETS);
        let mut state = deformed(&model, [2.5, 1.0, 1.0]);
        for look in 0..9 {
            let found = beyond_range(&model, &state, look);
            assert!(found.len() == 1 && found[0].part == 1.0, "{look}: {found:?}");
        }
        assert_eq!(beyond_range(&model, &deformed(&model, [1.5, 1.0, 1.0]), 0), []);
        // The end of the body alone: some look sees it, and then how much of it there is.
        state = deformed(&model, [1.0; 3]);
        for node in model.bodies[1].nodes.clone() {
            let x = model.rest_positions[node].x;
            state.displacements[node] = Vec3::x() * (2.0 * (x - 0.374).max(0.0));
        }
        let found: Vec<_> = (0..8).flat_map(|look| beyond_range(&model, &state, look)).collect();
        assert!(!found.is_empty() && found.iter().all(|one| (one.part - 0.125).abs() < 1e-9), "{found:?}");
    }

    /// What has flowed is measured from its new shape.
    #[test]
    fn a_dent_is_no_strain() {
        let flow = Plasticity { yield_strain: 0.01, creep: 1e9, max_strain: 10.0 };
        let material = Material { plasticity: Some(flow), ..Material::default() };
        let model = model(material);
        let mut state = deformed(&model, [2.5, 1.0, 1.0]);
        assert_eq!(beyond_range(&model, &state, 0).len(), 1);
        let constitutive = Constitutive::new(&material);
        let (n, rows_of_tet) = (model.tets.len(), material.state_rows());
        for t in model.bodies[1].tets.clone() {
            let rows = flow.advance(&constitutive, &gradient(&model.tets[t], &state.displacements), 1.0, material.plastic_rows(&[]));
            state.rotations[n + t * rows_of_tet..][..rows_of_tet].copy_from_slice(&rows.0);
        }
        assert_eq!(beyond_range(&model, &state, 0), []);
    }
}
