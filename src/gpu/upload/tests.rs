//! Shares of the bodies in the workgroups, and positions in two parts.

use super::*;
use crate::gpu::layout::{joined, split};

#[test]
fn shares_cover_every_body() {
    let tets = crate::mesh::shapes::box_tets(Vec3::new(1.0, 1.0, 1.0), [4, 4, 4]);
    let mut builder = crate::model::ModelBuilder::default();
    for name in ["a", "b", "c"] {
        builder.soft_body(crate::model::SoftBody::with_boundary_surface(name, crate::material::Material::default(), tets.clone()));
    }
    let model = builder.build().unwrap();
    for most in [64, 5, 3] {
        let shares = shares(&model, most);
        assert!(shares.len() <= most as usize);
        for (b, body) in model.bodies.iter().enumerate() {
            let own: Vec<_> = shares.iter().enumerate().filter(|(_, s)| s.body == b as u32).collect();
            assert!(own.iter().all(|(g, s)| (s.first_group..s.first_group + s.n_groups).contains(&(*g as u32))));
            assert_eq!(own.len() as u32, own[0].1.n_groups);
            assert_eq!((own[0].1.first_node as usize, own[0].1.end_node as usize), (body.nodes.start, body.nodes.end));
        }
    }
}

#[test]
fn a_split_displacement_is_exact_and_its_low_part_small() {
    let u = Vec3::new(123.456_789, -0.000_1, 7.0);
    let (high, low) = split(&u);
    assert!((joined(&high, &low) - u).norm() < 1e-11);
    assert!(low.iter().all(|c| c.abs() <= 1.0 / 8192.0));
    assert!((f64::from(u.x as f32) - u.x).abs() > 1e-7, "one float alone is not exact");
}
