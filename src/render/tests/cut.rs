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
        renderer.set_colors(Some(PointColors { vertices: &vertices, tets: &tets, nodes: &[], table: &table })).unwrap();
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
    // Its shadow is another matter.
    let no_grid = || ViewOptions { shadows: false, ..no_grid() };
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

/// The shadow of a guest lies where that of a body of the stage would, and says how high it floats; also where the
/// device alone knows the bodies, where tets are shown, and where nothing else is.
#[test]
fn a_guest_casts_a_shadow() {
    let light = Light::default().direction;
    // The middle of its shadow where its own is so high.
    let umbra = |height: f32| Vec3::new(-0.7, height, 0.0) - light * (height / light.y);
    let (block, nodes) = block();
    for raised in [0.0, 0.8] {
        let mut guest = Stage { rigids: vec![], ..stage() };
        guest.rest_positions.iter_mut().for_each(|p| (p[0], p[1]) = (p[0] - 0.7, p[1] + raised));
        let of_height = |image: &Image| [0.5, 1.3].map(|height| brightness(at(image, umbra(height))));
        // The same ball as a body of the stage.
        let mut both = stage();
        let n = both.rest_positions.len() as u32;
        both.rest_positions.extend_from_slice(&guest.rest_positions);
        let moved = guest.soft_bodies[0].triangles.iter().map(|t| t.map(|v| v + n)).collect();
        both.soft_bodies.push(SoftBodyVisual { vertices: n..2 * n, triangles: moved, ..guest.soft_bodies[0].clone() });
        let mut renderer = renderer(1);
        renderer.set_stage(&both);
        let expected = of_height(&capture(&mut renderer, &no_grid()));
        renderer.set_stage(&stage());
        let alone = of_height(&capture(&mut renderer, &no_grid()));
        renderer.set_guest(Some((&guest, &[])));
        let with = capture(&mut renderer, &no_grid());
        let found = of_height(&with);
        let (own, other) = if raised == 0.0 { (0, 1) } else { (1, 0) };
        assert!(found[own] < 0.7 * alone[own] && found[own] < found[other], "{raised}: {found:?} of {alone:?}");
        assert!((0..2).all(|k| (found[k] - expected[k]).abs() < 8.0), "{raised}: {found:?} {expected:?}");
        if raised == 0.0 {
            let bright = Vec3::new(-0.7, 0.5, 0.0) + 0.3 * light.normalize();
            let lit = capture(&mut renderer, &ViewOptions { shadows: false, ..no_grid() });
            assert!((brightness(at(&with, bright)) - brightness(at(&lit, bright))).abs() < 6.0, "it does not shade itself");
        }

        let rest = stage().rest_positions;
        let usage = wgpu::BufferUsages::COPY_SRC;
        let contents = bytemuck::cast_slice(&rest);
        let buffer = wgpu::util::DeviceExt::create_buffer_init(&GPU.0, &wgpu::util::BufferInitDescriptor { label: None, contents, usage });
        renderer.set_positions(Positions::Device(&buffer)).unwrap();
        let on_device = of_height(&capture(&mut renderer, &no_grid()));
        assert!((0..2).all(|k| (on_device[k] - found[k]).abs() < 3.0), "{on_device:?} {found:?}");
        renderer.set_positions(Positions::Host(&rest)).unwrap();
        renderer.set_guest(None);
        assert_eq!(of_height(&capture(&mut renderer, &no_grid())), alone);
    }
    // As tets, over a floor with nothing else.
    let mut renderer = renderer(1);
    renderer.set_stage(&Stage { rigids: stage().rigids, ..Stage::default() });
    let options = ViewOptions { shading: Shading::Tets, tet_size: 1.0, ..no_grid() };
    let under = Vec3::new(0.0, 0.5, 0.0) - light * (0.5 / light.y);
    let empty = brightness(at(&capture(&mut renderer, &options), under));
    renderer.set_guest(Some((&block, &nodes)));
    let shaded = brightness(at(&capture(&mut renderer, &options), under));
    assert!(shaded < 0.7 * empty, "{shaded} {empty}");
}

/// A ball of red surface in a larger block of tets, which are blue.
fn embedded() -> (Stage, Vec<[f32; 4]>) {
    let block = shapes::box_tets(crate::math::Vec3::repeat(0.84), [4, 4, 4]);
    let nodes: Vec<[f32; 4]> = block.positions.iter().map(|p| [p.x as f32, p.y as f32 + 0.5, p.z as f32, 1.0]).collect();
    let mut stage = stage();
    let points: Vec<_> =
        stage.rest_positions.iter().map(|p| crate::math::Vec3::new(p[0].into(), f64::from(p[1]) - 0.5, p[2].into())).collect();
    let places = crate::mesh::embed(&block, &points).unwrap();
    let hosts = places.nodes.into_iter().zip(places.weights);
    stage.soft_bodies[0].hosts = hosts.map(|(nodes, weights)| Host { nodes, weights: weights.map(|w| w as f32) }).collect();
    stage.n_nodes = nodes.len() as u32;
    stage.soft_bodies[0].tets = block.tets;
    (stage, nodes)
}

/// Of a body whose surface lies within coarse tets that surface is cut, and covered to where it ends, in the colours of
/// the tets; where it is open the tets are cut.
#[test]
fn an_embedded_surface_is_cut_and_covered_to_where_it_ends() {
    let (stage, nodes) = embedded();
    let mut table = [Rgb::hex(0xe03020); 256];
    table[255] = Rgb::hex(0x2040e0);
    let (vertices, tets) = (vec![0; stage.rest_positions.len()], vec![255; stage.soft_bodies[0].tets.len()]);
    let colors = PointColors { vertices: &vertices, tets: &tets, nodes: &[], table: &table };
    let is_blue = |image: &Image, p: Vec3| at(image, p)[2] > (1.5 * at(image, p)[0]).max(90.0);
    let is_red = |image: &Image, p: Vec3| at(image, p)[0] > 1.5 * at(image, p)[2];
    let height = 0.47;
    for samples in [1, 4] {
        let mut renderer = renderer(samples);
        renderer.set_stage(&stage);
        renderer.set_node_positions(Positions::Host(&nodes)).unwrap();
        renderer.set_colors(Some(colors)).unwrap();
        let shown = capture(&mut renderer, &cut(height, true));
        let on_plane = |x: f32, z: f32| Vec3::new(x, height, z);
        let within = [on_plane(0.0, 0.0), on_plane(0.22, 0.0), on_plane(-0.15, -0.12), on_plane(0.0, 0.2)];
        assert!(within.iter().all(|p| is_blue(&shown, *p)), "{:?}", within.map(|p| at(&shown, p)));
        // Beyond the surface, but within the tets, there is nothing.
        let beyond = [on_plane(0.38, 0.0), on_plane(-0.3, -0.3), on_plane(0.36, -0.3)];
        assert!(beyond.iter().all(|p| !is_blue(&shown, *p)), "{:?}", beyond.map(|p| at(&shown, p)));
        let side = Vec3::new(0.0, 0.5, 0.0) + 0.3 * Vec3::new(0.2, -0.3, 1.0).normalize();
        assert!(is_red(&shown, side) && renderer.open_sections().is_empty());
        // Its own tets do not shade it, and what is cut away does not either.
        let lit = Vec3::new(0.0, 0.5, 0.0) + 0.3 * Vec3::new(-0.3, -0.25, 1.0).normalize();
        let shaded = capture(&mut renderer, &ViewOptions { shadows: true, ..cut(height, true) });
        assert!((brightness(at(&shaded, lit)) - brightness(at(&shown, lit))).abs() < 8.0, "{:?} {:?}", at(&shaded, lit), at(&shown, lit));
        assert!((brightness(at(&shaded, within[0])) - brightness(at(&shown, within[0]))).abs() < 8.0);
        // Single elements are cut themselves.
        let apart = capture(&mut renderer, &ViewOptions { tet_size: 0.98, ..cut(height, true) });
        let whole = capture(&mut renderer, &cut(height, false));
        assert!(is_blue(&apart, side) && is_blue(&whole, side));
        assert!(beyond.iter().any(|p| is_blue(&apart, *p)));
        // Everything on one side of the plane: the surface alone, or nothing.
        assert!(is_red(&capture(&mut renderer, &cut(2.0, true)), side));
        assert!(!is_red(&capture(&mut renderer, &cut(0.01, true)), side));

        // A triangle is missing where the plane goes through.
        let mut holed = stage.clone();
        let crosses = |t: &[u32; 3]| {
            let above = t.map(|v| stage.rest_positions[v as usize][1] > height);
            above != [above[0]; 3]
        };
        let place = holed.soft_bodies[0].triangles.iter().position(crosses).unwrap();
        holed.soft_bodies[0].triangles.remove(place);
        renderer.set_stage(&holed);
        renderer.set_node_positions(Positions::Host(&nodes)).unwrap();
        renderer.set_colors(Some(colors)).unwrap();
        let open = capture(&mut renderer, &cut(height, true));
        assert_eq!(renderer.open_sections(), [0]);
        assert!(is_blue(&open, beyond[0]) && is_blue(&open, side));
        // Elsewhere it is closed.
        capture(&mut renderer, &cut(0.3, true));
        assert!(renderer.open_sections().is_empty());
    }
}

/// Where nodes have values, the cover of a surface has the colours between them, however large the tets are; else it
/// has those of the tets.
#[test]
fn the_cover_of_an_embedded_surface_continues_its_colors() {
    let (stage, nodes) = embedded();
    let table: [Rgb; 256] = std::array::from_fn(|k| Rgb([1.0 - k as f32 / 255.0, 0.1, k as f32 / 255.0]));
    // From red to blue along x; of tets it is blue.
    let place = |x: f32| (255.0 * (x / 0.84 + 0.5)).round() as u8;
    let of_nodes: Vec<u8> = nodes.iter().map(|node| place(node[0])).collect();
    let vertices: Vec<u8> = stage.rest_positions.iter().map(|p| place(p[0])).collect();
    let tets = vec![255; stage.soft_bodies[0].tets.len()];
    let colors = PointColors { vertices: &vertices, tets: &tets, nodes: &of_nodes, table: &table };
    let height = 0.47;
    // Three points in each cell.
    let row = [-0.21f32, -0.14, -0.07, 0.0, 0.07, 0.14, 0.21].map(|x| Vec3::new(x, height, 0.05));
    let blueness = |image: &Image| row.map(|p| at(image, p)[2] / at(image, p)[0].max(1.0));
    for samples in [1, 4] {
        let mut renderer = renderer(samples);
        renderer.set_stage(&stage);
        renderer.set_node_positions(Positions::Host(&nodes)).unwrap();
        renderer.set_colors(Some(colors)).unwrap();
        let shown = blueness(&capture(&mut renderer, &cut(height, true)));
        assert!(shown.windows(2).all(|pair| pair[1] > 1.08 * pair[0]), "{shown:?}");
        // Single elements, cut or whole, have a colour each.
        for options in [ViewOptions { tet_size: 0.98, ..cut(height, true) }, cut(height, false)] {
            let elements = blueness(&capture(&mut renderer, &options));
            assert!(elements.iter().all(|blueness| *blueness > 2.0), "{elements:?}");
        }
        renderer.set_colors(Some(PointColors { nodes: &[], ..colors })).unwrap();
        let flat = blueness(&capture(&mut renderer, &cut(height, true)));
        assert!(flat.iter().all(|blueness| *blueness > 2.0), "{flat:?}");
    }
    let mut renderer = renderer(1);
    renderer.set_stage(&stage);
    let too_few = renderer.set_colors(Some(PointColors { nodes: &of_nodes[1..], ..colors }));
    assert!(too_few.is_err_and(|error| error.to_string().contains("nodes")));
}
