//! Bodies that a plane cuts open, and bodies that are not on the stage yet.

use glam::Vec4;

use super::*;
use crate::mesh::shapes;

fn cut(height: f32, exact: bool) -> ViewOptions {
    let cut = Cut { plane: Vec4::new(0.0, 1.0, 0.0, height), exact, rigids: true };
    ViewOptions { shading: Shading::Tets, tet_size: 1.0, cut: Some(cut), shadows: false, ..no_grid() }
}

/// A block of tets 0.6 m wide, its middle 0.5 m over the floor.
fn block() -> (Stage, Vec<[f32; 4]>) {
    let block = shapes::box_tets(crate::math::Vec3::repeat(0.6), [4, 4, 4]);
    let nodes: Vec<[f32; 4]> = block.positions.iter().map(|p| [p.x as f32, p.y as f32 + 0.5, p.z as f32, 1.0]).collect();
    let mut stage = stage();
    stage.n_nodes = nodes.len() as u32;
    stage.soft_bodies[0].tets = block.tets;
    (stage, nodes)
}

/// The cap lies where the plane is, and not where the next whole tets end; it has the colours of the tets.
#[test]
fn tets_are_clipped_and_covered_in_their_colors() {
    let (stage, nodes) = block();
    let red = |image: &Image| image.pixels.chunks(4).filter(|p| p[0] > 60 && p[0] > 2 * p[2]).count();
    for samples in [1, 4] {
        let mut renderer = renderer(samples);
        renderer.set_stage(&stage);
        renderer.set_node_positions(Positions::Host(&nodes)).unwrap();
        let mut shown = |options: &ViewOptions| red(&capture(&mut renderer, options));
        // Middles of tets are at 0.575 and at 0.6125.
        let [lower, higher] = [0.58, 0.605];
        assert_eq!(shown(&cut(lower, false)), shown(&cut(higher, false)));
        let [low, high] = [shown(&cut(lower, true)), shown(&cut(higher, true))];
        assert!(low + 20 < high, "{low} {high}");
        assert!(shown(&cut(0.9, true)) > high && shown(&cut(0.1, true)) == 0);
        // Moved upwards, more of it is cut away: caps follow the nodes.
        let moved: Vec<[f32; 4]> = nodes.iter().map(|p| [p[0], p[1] + 0.1, p[2], 1.0]).collect();
        renderer.set_node_positions(Positions::Host(&moved)).unwrap();
        assert!(red(&capture(&mut renderer, &cut(higher, true))) < high);
        renderer.set_node_positions(Positions::Host(&nodes)).unwrap();

        let (tets, vertices) = (vec![0; stage.soft_bodies[0].tets.len()], vec![0; stage.rest_positions.len()]);
        let table = [Rgb::hex(0x2040e0); 256];
        renderer.set_colors(Some(PointColors { vertices: &vertices, tets: &tets, table: &table })).unwrap();
        let [r, _, b] = at(&capture(&mut renderer, &cut(lower, true)), Vec3::new(0.0, lower, 0.0));
        assert!(b > 1.5 * r, "{r} {b}");
        // Hidden, it has no cap either.
        renderer.set_marked(Marked::default(), Marked { soft: vec![0], rigid: vec![] });
        let hidden = capture(&mut renderer, &cut(lower, true));
        assert_eq!(hidden, capture(&mut renderer, &cut(lower, false)));
    }
}

/// A box of a height, its foot 0.2 m over nothing.
fn of_box(height: f32) -> Stage {
    let cube = shapes::surface_box(crate::math::Vec3::new(0.6, f64::from(height), 0.6));
    let positions = cube.positions.iter().map(|p| [p.x as f32, p.y as f32, p.z as f32, 1.0]).collect();
    let shape = RigidShape::Mesh { positions, triangles: cube.triangles.clone(), normals: vec![] };
    let transform = Mat4::from_translation(Vec3::new(0.0, 0.2 + 0.5 * height, 0.0)) * Mat4::from_rotation_y(0.4);
    let visual = RigidVisual { name: "cube".into(), shape, color: Rgb::hex(0xe03020), transform, free: true };
    Stage { rigids: vec![visual], ..Stage::default() }
}

/// Cut in the middle it looks like a box of half the height; without rigid things it stays whole.
#[test]
fn rigid_bodies_are_cut_and_covered() {
    for samples in [1, 4] {
        let mut renderer = renderer(samples);
        renderer.set_stage(&of_box(0.3));
        let half = capture(&mut renderer, &ViewOptions { cut: None, ..cut(0.0, true) });
        renderer.set_stage(&of_box(0.6));
        let whole = capture(&mut renderer, &ViewOptions { cut: None, ..cut(0.0, true) });
        let of_cut = capture(&mut renderer, &cut(0.5, true));
        let [same, other] = [&of_cut, &whole].map(|image| difference(&half, image).1);
        assert!(same < 0.2 && other > 1.0, "{same} {other}");
        let mut left = cut(0.5, true);
        left.cut.as_mut().unwrap().rigids = false;
        assert_eq!(capture(&mut renderer, &left), whole);
        // Turned, it is another section: caps follow the poses.
        let turned = Mat4::from_translation(Vec3::new(0.0, 0.5, 0.0)) * Mat4::from_rotation_z(0.5);
        renderer.set_rigid_transforms(&[turned]).unwrap();
        assert!(difference(&of_cut, &capture(&mut renderer, &cut(0.5, true))).1 > 0.5);
    }
}

#[test]
fn a_guest_is_drawn_where_it_stands() {
    for samples in [1, 4] {
        let mut renderer = renderer(samples);
        let alone = capture(&mut renderer, &no_grid());
        let mut guest = Stage { rigids: vec![], ..stage() };
        guest.rest_positions.iter_mut().for_each(|p| p[0] += 0.7);
        renderer.set_guest(Some((&guest, &[])));
        let with = capture(&mut renderer, &no_grid());
        let [r, _, b] = at(&with, Vec3::new(0.7, 0.5, 0.3));
        assert!(r > 1.5 * b, "{r} {b}");
        assert_eq!(at(&alone, Vec3::new(-0.25, 0.5, 0.1)), at(&with, Vec3::new(-0.25, 0.5, 0.1)), "the rest is as before");
        renderer.set_guest(None);
        assert_eq!(capture(&mut renderer, &no_grid()), alone);
    }
    // Of tets it needs the nodes.
    let (block, nodes) = block();
    let mut renderer = renderer(1);
    renderer.set_stage(&Stage::default());
    let options = ViewOptions { shading: Shading::Tets, ..no_grid() };
    let nothing = capture(&mut renderer, &options);
    renderer.set_guest(Some((&block, &nodes)));
    assert!(difference(&nothing, &capture(&mut renderer, &options)).1 > 1.0);
}
