//! The structs of the host against those of the shaders.

use super::*;
use crate::gpu::shader::Shader;
use wgpu::naga;

/// (member, offset) pairs and size of a struct as WGSL lays it out.
pub fn wgsl_layout(shader: &Shader, name: &str) -> (Vec<(String, usize)>, usize) {
    let ty = shader.module.types.iter().find(|(_, ty)| ty.name.as_deref() == Some(name)).expect(name).1;
    let naga::TypeInner::Struct { members, span } = &ty.inner else { panic!("{name} is no struct") };
    (members.iter().map(|m| (m.name.clone().unwrap(), m.offset as usize)).collect(), *span as usize)
}

macro_rules! same_layout {
    ($shader:expr, $wgsl:literal, $host:ty, [$($field:ident),*]) => {{
        let host = (vec![$((stringify!($field).to_string(), std::mem::offset_of!($host, $field))),*], size_of::<$host>());
        assert_eq!($crate::gpu::wgsl_layout($shader, $wgsl), host, "{}", $wgsl);
    }};
}
pub(crate) use same_layout;

#[test]
fn host_structs_lie_as_wgsl_lays_them() {
    let shader = Shader::load("lib/model").unwrap();
    same_layout!(&shader, "Tet", TetData, [nodes, g1, g2, g3]);
    same_layout!(&shader, "Node", NodeData, [mass, mass_damping, free, corners]);
    same_layout!(&shader, "Point", PointData, [nodes, weights, rest, body]);
    same_layout!(&shader, "Block", BlockData, [x, y, z]);
    same_layout!(&shader, "Grab", GrabData, [nodes, weights, offset, stiffness, damping, factor, pad]);
    same_layout!(
        &shader,
        "Params",
        ParamsData,
        [
            gravity,
            dt,
            tolerance,
            contact_tolerance,
            is_two_level,
            n_nodes,
            n_tets,
            n_edges,
            n_points,
            max_iterations,
            row_groups,
            n_grabs,
            has_node_forces,
            n_bodies,
            max_contact_iterations,
            fixed_iterations,
            n_blocks,
            n_tiles,
            loop_tiles,
            n_whole,
            pad,
            grabs
        ]
    );
    same_layout!(
        &shader,
        "Control",
        ControlData,
        [
            converged,
            iterations,
            residual2,
            target2,
            scale,
            least_scale,
            elastic_done,
            contact_iterations,
            remembered,
            energy_target,
            pad_0,
            pad_1
        ]
    );
    same_layout!(&shader, "Share", ShareData, [body, first_group, n_groups, pad, first_node, end_node, pad_1, pad_2]);
    let rows = Shader::load("lib/cwc").unwrap();
    same_layout!(
        &rows,
        "Cwc",
        CwcData,
        [
            n_contacts,
            n_groups,
            n_islands,
            n_places,
            n_members,
            groups,
            islands,
            members,
            member_contacts,
            places,
            items,
            levers,
            sums,
            solves,
            rotations,
            body_islands
        ]
    );
    same_layout!(&rows, "Row", RowData, [normal, tangent_1, tangent_2, give, sides, levers]);
    let search = Shader::load("lib/search").unwrap();
    same_layout!(
        &search,
        "Search",
        SearchData,
        [n_vertices, n_edges, n_triangles, n_leaves, edges, triangles, leaves, capacity, n_levels, partners, pad_0, pad_1, levels]
    );
    same_layout!(&search, "SearchBody", SearchBodyData, [flags, first_leaf, end_leaf, pad]);
    same_layout!(&Shader::load("detection/sieve").unwrap(), "Sieve", SieveData, [n_vertex_faces, n_pairs, edges, pad]);
    let cr = Shader::load("lib/cr").unwrap();
    same_layout!(&cr, "Cr", CrData, [n_islands, n_groups, n_unknowns, islands, groups, rigid, sums, loads]);
    same_layout!(
        &cr,
        "CrControl",
        CrControlData,
        [
            done,
            converged,
            is_exhausted,
            stuck,
            phase,
            next_phase,
            action,
            fresh,
            iterations,
            since_evaluation,
            restarts,
            is_loaded,
            rho,
            alpha,
            error,
            error_after_restart,
            scale,
            least_scale,
            bound2,
            final2,
            residual2,
            pad
        ]
    );
}

#[test]
fn shares_cover_every_body() {
    let tets = crate::mesh::shapes::box_tets(Vec3::new(1.0, 1.0, 1.0), [4, 4, 4]);
    let mut builder = crate::model::ModelBuilder::default();
    for name in ["a", "b", "c"] {
        builder.soft_body(crate::model::SoftBody::with_boundary_surface(name, Default::default(), tets.clone()));
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
