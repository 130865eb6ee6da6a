//! Stresses of single tets, at the deformations of the studies: their figures are those of the formulas (`material`).

use pulp::Scalar;

use super::*;
use crate::material::{Constitutive, Deformation};
use crate::math::Quat;
use crate::math::lanes::from_matrix;
use crate::mesh::TetMesh;

/// F of `materials-study.md` 7 and `elasticity.md` 6, the last of each turned inside out.
fn deformations() -> Vec<Mat3> {
    let mut all = vec![
        Mat3::new(1.1, 0.2, 0.0, 0.0, 0.9, 0.1, 0.05, 0.0, 1.2),
        Mat3::new(0.5, 0.1, 0.0, -0.2, 0.8, 0.3, 0.0, 0.1, 0.6),
        Mat3::from_diagonal(&Vec3::new(-0.3, 1.1, 0.9)) * Mat3::new(1.0, 0.1, 0.0, 0.0, 1.0, 0.2, 0.0, 0.0, 1.0),
    ];
    all.extend([1.1, 0.9, 0.8, 0.7, 0.5, 0.3, 0.0, -0.2].map(|x| Mat3::from_diagonal(&Vec3::new(1.0, 1.0, x))));
    all
}

/// The rotation that is nearest to F.
fn nearest_rotation(f: &Mat3) -> Mat3 {
    let svd = f.svd(true, true);
    let (mut u, v_t) = (svd.u.unwrap(), svd.v_t.unwrap());
    if (u * v_t).determinant() < 0.0 {
        u.column_mut(svd.singular_values.imin()).neg_mut();
    }
    u * v_t
}

/// A body of one tet for each deformation, at rest.
fn tets(material: Material) -> Arc<Model> {
    let mut builder = ModelBuilder::default();
    for k in 0..deformations().len() {
        let mesh = TetMesh { positions: vec![Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z()], tets: vec![[0, 1, 2, 3]] };
        builder.soft_body(SoftBody { self_contact: false, ..SoftBody::with_boundary_surface(format!("tet {k}"), material, mesh) });
    }
    Arc::new(builder.build().unwrap())
}

#[test]
fn tets_have_the_stress_of_their_material() {
    for model in MaterialModel::ALL {
        let material = Material { model: *model, young_modulus: 5e5, poisson_ratio: 0.2, ..Material::default() };
        let mut bench = Bench::new(&tets(material));
        let (tets, positions) = (bench.model.tets.clone(), bench.model.rest_positions.clone());
        let mut displacements = bench.state.displacements.clone();
        for (t, f) in deformations().iter().enumerate() {
            for node in tets[t].nodes.map(|n| n as usize) {
                displacements[node] = f * positions[node] - positions[node];
            }
            let turn = Quat::from_matrix(&nearest_rotation(f));
            bench.state.rotations[t] = [turn.i, turn.j, turn.k, turn.w];
        }
        bench.displace(displacements);
        // What moves has the forces of where it will be.
        bench.buffers.write("velocities", &vec![[0f32; 4]; positions.len()]);
        bench.buffers.write("rotations", &bench.state.rotations.iter().map(|q| q.map(|c| c as f32)).collect::<Vec<_>>());
        bench.assemble();
        let forces = bench.vectors("corner_forces", 4 * tets.len());
        // f_c = -V P g_c, and the g_c^T with the corners at rest make the identity.
        let stress_found = |(tet, forces): (&crate::model::Tet, &[Vec3])| {
            let moments = tet.nodes.iter().zip(forces).map(|(node, force)| force * positions[*node as usize].transpose());
            moments.sum::<Mat3>() / -tet.volume
        };
        let found: Vec<Mat3> = tets.iter().zip(forces.chunks(4)).map(stress_found).collect();
        let constitutive = Constitutive::new(&material);
        let stress = |f: &Mat3| {
            let (gradient, rotation) = (from_matrix(&(f - Mat3::identity())), from_matrix(&nearest_rotation(f)));
            constitutive.stress(&Deformation::<Scalar> { gradient, rotation, state: &[] })
        };
        for (found, f) in found.iter().zip(deformations()) {
            let wanted = stress(&f);
            assert!((found - wanted).norm() < 1e-4 * wanted.norm(), "{model:?} {f} {found} {wanted}");
            // The bound notices two thousandths of the deformation.
            assert!((found - stress(&(f * 1.002))).norm() > 2e-4 * wanted.norm(), "{model:?} {f}");
        }
    }
}
