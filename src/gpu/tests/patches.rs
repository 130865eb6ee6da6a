//! Elements of several tets: every kind with every constitutive model.

use super::*;
use crate::element::ElementKind;
use crate::material::StretchLimits;
use crate::math::Quat;
use crate::mesh::TetMesh;
use crate::step::StepError;

const KINDS: [ElementKind; 2] = [ElementKind::Averaged, ElementKind::Quadratic];

fn body(name: &str, kind: ElementKind, material: Material, mesh: TetMesh) -> SoftBody {
    let mesh = if kind == ElementKind::Quadratic { mesh.quadratic(&[]).0 } else { mesh };
    SoftBody { element: kind, self_contact: false, ..SoftBody::with_boundary_surface(name, material, mesh) }
}

/// Cells or tets that are not quite alike.
fn block(name: &str, kind: ElementKind, material: Material) -> SoftBody {
    let mut mesh = shapes::box_tets(Vec3::new(0.4, 0.2, 0.2), [2, 1, 1]);
    let noise = scrambled(mesh.positions.len(), 0.004, 17);
    mesh.positions.iter_mut().zip(noise).for_each(|(p, noise)| *p += noise);
    body(name, kind, material, mesh)
}

fn material(model: MaterialModel) -> Material {
    Material { model, young_modulus: 2e5, poisson_ratio: 0.45, mass_damping: 0.3, stiffness_damping: 0.002, ..Material::default() }
}

fn model_of(bodies: impl IntoIterator<Item = SoftBody>) -> Arc<Model> {
    let mut builder = ModelBuilder::default();
    for body in bodies {
        builder.soft_body(body);
    }
    Arc::new(builder.build().unwrap())
}

fn benches() -> impl Iterator<Item = Bench> {
    KINDS
        .into_iter()
        .flat_map(|kind| MaterialModel::ALL.iter().map(move |model| Bench::new(&model_of([block("block", kind, material(*model))]))))
}

fn vectors(of: &[[f64; 4]]) -> Vec<Vec3> {
    of.iter().map(|[x, y, z, _]| Vec3::new(*x, *y, *z)).collect()
}

/// Forces on corners, right-hand side and matrix are within these bounds of those of the CPU at the state of
/// the bench, and the bounds notice a thousandth of the deformation.
fn compare(bench: &Bench, bound: f64) {
    bench.assemble();
    let (model, what) = (&bench.model, format!("{:?} {:?}", bench.model.bodies[0].element, bench.model.materials[0].model));
    let first = 4 * model.tets.len();
    let found = &bench.vectors("corner_forces", first + model.n_patch_corners())[first..];
    let elements = bench.cpu_elements(&bench.state);
    let error = relative_error(found, &vectors(&elements.forces.patches));
    assert!(error < bound, "{what}: forces {error:e}");
    let mut other = bench.state.clone();
    other.displacements.iter_mut().for_each(|u| *u *= 1.001);
    let error = relative_error(found, &vectors(&bench.cpu_elements(&other).forces.patches));
    assert!(error > 2.0 * bound, "{what}: forces of another state {error:e}");
    let (rhs, a) = bench.cpu_system();
    let error = relative_error(&bench.vectors("rhs", model.n_nodes()), &rhs);
    assert!(error < bound, "{what}: right-hand side {error:e}");
    let found = columns(&blocks(&read(&bench.device, &bench.buffers, "blocks", model.pattern.n_blocks()).unwrap()));
    let error = relative_error(&found, &columns(&a.blocks));
    assert!(error < bound, "{what}: matrix {error:e}");
    let transposed: Vec<_> = a.blocks.iter().map(Mat3::transpose).collect();
    assert!(relative_error(&found, &columns(&transposed)) > 1e-4, "{what}");
}

#[test]
fn patches_are_those_of_the_cpu() {
    for bench in benches() {
        compare(&bench, 2e-5);
        // All tets of a patch keep rotations of its points.
        let (_, wanted) = crate::elastic::elements(&bench.model, &bench.state, bench.params.time_step);
        let found = read::<[f32; 4]>(&bench.device, &bench.buffers, "rotations", wanted.len()).unwrap();
        let off = found.iter().zip(&wanted).flat_map(|(a, b)| (0..4).map(|k| (f64::from(a[k]) - b[k]).abs())).fold(0.0, f64::max);
        assert!(off < 1e-5, "rotations {off:e}");
    }
}

#[test]
fn inverted_patches_are_those_of_the_cpu() {
    for mut bench in benches() {
        let model = bench.model.clone();
        bench.displace(scrambled(model.n_nodes(), 0.25, 3));
        let det = |tet: &crate::model::Tet| crate::elastic::deformation_gradient(tet, &bench.state.displacements).determinant();
        assert!(model.tets.iter().any(|tet| det(tet) < 0.0));
        compare(&bench, 1e-4);
    }
}

/// Where a limit lies between two stretches that are nearly alike, stiffness is neither that of the one nor the mean of
/// both.
#[test]
fn limits_between_stretches_are_those_of_the_cpu() {
    for kind in [ElementKind::Linear, ElementKind::Averaged, ElementKind::Quadratic] {
        let material = Material { stretch_limits: StretchLimits::new(Some(0.97), Some(1.01)), ..material(MaterialModel::Corotational) };
        let mut bench = Bench::new(&model_of([block("block", kind, material)]));
        let [left, right] = [[0.4, -0.2, 0.9], [-0.7, 0.3, 0.1]].map(|axis| Quat::from_scaled_axis(axis.into()));
        for stretches in [[1.0112, 1.0098, 0.99], [1.0, 0.9709, 0.9698]] {
            let strain = right.to_rotation_matrix() * Mat3::from_diagonal(&stretches.into()) * right.inverse().to_rotation_matrix();
            let f = left.to_rotation_matrix() * strain;
            bench.displace(bench.model.rest_positions.iter().map(|x| f * x - x).collect());
            bench.assemble();
            let (rhs, a) = bench.cpu_system();
            let error = relative_error(&bench.vectors("rhs", rhs.len()), &rhs);
            assert!(error < 1e-4, "{kind:?}, {stretches:?}: right-hand side {error:e}");
            let found = columns(&blocks(&read(&bench.device, &bench.buffers, "blocks", a.blocks.len()).unwrap()));
            let error = relative_error(&found, &columns(&a.blocks));
            assert!(error < 1e-4, "{kind:?}, {stretches:?}: matrix {error:e}");
        }
    }
}

/// Bodies of all kinds side by side: tets before, between and behind patches.
#[test]
fn bodies_of_several_kinds_do_not_mix() {
    let kinds = [ElementKind::Linear, ElementKind::Quadratic, ElementKind::Averaged, ElementKind::Linear];
    let models = [MaterialModel::NeoHookean, MaterialModel::Corotational, MaterialModel::StableNeoHookean, MaterialModel::Corotational];
    let bodies = (0..4).map(|k| block(&format!("b{k}"), kinds[k], Material { young_modulus: 1e5 * (k + 1) as f64, ..material(models[k]) }));
    let bench = Bench::new(&model_of(bodies));
    compare(&bench, 2e-5);
    let n = 4 * bench.model.tets.len();
    let (found, wanted) = (bench.vectors("corner_forces", n), bench.cpu_elements(&bench.state).forces.tets);
    for body in bench.model.bodies.iter().filter(|body| body.element == ElementKind::Linear) {
        let corners = 4 * body.tets.start..4 * body.tets.end;
        assert!(relative_error(&found[corners.clone()], &vectors(&wanted.as_flattened()[corners])) < 2e-6);
    }
}

/// Where a node is so far away that its forces are no numbers of the device, a step is refused with every material, and
/// the body and an element at the node are named.
#[test]
fn what_is_stretched_beyond_all_numbers_is_told() {
    for kind in [ElementKind::Linear, ElementKind::Averaged, ElementKind::Quadratic] {
        for material_model in MaterialModel::ALL {
            let mesh = shapes::box_tets(Vec3::new(0.6, 0.2, 0.2), [3, 1, 1]);
            let model = model_of([body("torn", kind, material(*material_model), mesh)]);
            let mut stepper = GpuStepper::new(test_device(), model.clone()).unwrap();
            let far = model.n_nodes() - 1;
            for distance in [1e24, 1e36] {
                let mut state = State::initial(&model);
                state.displacements[far].y = distance;
                stepper.set_state(&state).unwrap();
                let before = stepper.state().unwrap().clone();
                let error = stepper.step(&Params::default(), &Loads::default()).unwrap_err();
                let StepError::NotFinite { body, tet: Some(tet), .. } = &error else { panic!("{kind:?} {material_model:?}: {error}") };
                assert!(body == "torn" && model.tets[*tet].nodes.contains(&(far as u32)), "{kind:?} {material_model:?}: {error}");
                assert!(*stepper.state().unwrap() == before);
            }
        }
    }
}

/// Mean drop of the free end of a bar [m] once it rests.
fn drop_at_rest(model: &Arc<Model>, stepper: &mut dyn Stepper) -> f64 {
    let params = Params { time_step: 0.1, tolerance: 1e-6, ..Params::default() };
    for _ in 0..150 {
        assert!(stepper.step(&params, &Loads::default()).unwrap().converged);
    }
    let state = stepper.state().unwrap();
    assert!(state.velocities.iter().all(|v| v.norm() < 1e-3), "it rests");
    let ends = model.rest_positions.iter().zip(&state.displacements).filter(|(x, _)| x.x > 0.3 - 1e-9);
    let drops: Vec<f64> = ends.map(|(_, u)| -u.y).collect();
    drops.iter().sum::<f64>() / drops.len() as f64
}

#[test]
fn cantilevers_sink_as_far_as_on_the_cpu() {
    for kind in KINDS {
        let material = Material { young_modulus: 3e5, mass_damping: 2.0, ..material(MaterialModel::StableNeoHookean) };
        let mut bar = body("bar", kind, material, shapes::box_tets(Vec3::new(0.6, 0.1, 0.1), [6, 1, 1]));
        bar.fixed = bar.tets.positions.iter().map(|p| p.x < -0.3 + 1e-9).collect();
        let model = model_of([bar]);
        let mut cpu = ImplicitStepper::new(model.clone(), CpuBackend::default(), || 0.0).unwrap();
        let wanted = drop_at_rest(&model, &mut cpu);
        let found = drop_at_rest(&model, &mut GpuStepper::new(test_device(), model.clone()).unwrap());
        println!("{kind:?}: {found:.6} m, on the CPU {wanted:.6} m");
        assert!(wanted > 0.02 && (found / wanted - 1.0).abs() < 1e-4, "{kind:?}: {found:.6} {wanted:.6}");
    }
}
