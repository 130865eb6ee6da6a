//! Pictures of a ball over a floor, on the software adapter when there is one: it is the same everywhere.

mod cut;
mod speckles;

use std::sync::LazyLock;

use glam::{Mat4, Vec3};

use super::buffers::StageBuffers;
use super::maps::Maps;
use super::pipelines::Pipelines;
use super::uniforms::{Fit, Frame};
use super::*;

const SIZE: [u32; 2] = [160, 120];
const VIEWPORT: [u32; 4] = [0, 0, SIZE[0], SIZE[1]];

static GPU: LazyLock<(wgpu::Device, wgpu::Queue)> = LazyLock::new(|| {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let mut adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    adapters.sort_by_key(|a| a.get_info().device_type != wgpu::DeviceType::Cpu);
    let adapter = adapters.first().expect("a graphics adapter; the software Vulkan driver (mesa-vulkan-drivers) will do");
    pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default())).expect("the adapter opens")
});

/// A ball of radius 0.3 m, its middle 0.5 m over a floor.
fn stage() -> Stage {
    let (rows, columns) = (16_u32, 32_u32);
    let mut positions = vec![[0.0, 0.8, 0.0, 0.0], [0.0, 0.2, 0.0, 0.0]];
    for row in 1..rows {
        for column in 0..columns {
            let (sin_p, cos_p) = (std::f32::consts::PI * row as f32 / rows as f32).sin_cos();
            let (sin_a, cos_a) = (std::f32::consts::TAU * column as f32 / columns as f32).sin_cos();
            positions.push([0.3 * sin_p * sin_a, 0.5 + 0.3 * cos_p, 0.3 * sin_p * cos_a, 0.0]);
        }
    }
    let at = |row: u32, column: u32| match row {
        0 => 0,
        r if r == rows => 1,
        r => 2 + (r - 1) * columns + column % columns,
    };
    let mut triangles = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            let [a, b, c, d] = [at(row, column), at(row + 1, column), at(row + 1, column + 1), at(row, column + 1)];
            triangles.extend([[a, b, c], [a, c, d]].into_iter().filter(|t| t[0] != t[1] && t[1] != t[2] && t[2] != t[0]));
        }
    }
    Stage {
        soft_bodies: vec![SoftBodyVisual {
            name: "ball".into(),
            vertices: 0..positions.len() as u32,
            triangles,
            normals: vec![],
            color: Rgb::hex(0xe03020),
            colors: vec![],
            tets: vec![],
            hosts: vec![],
        }],
        rigids: vec![RigidVisual {
            name: "floor".into(),
            shape: RigidShape::Plane,
            color: Rgb::hex(0x808080),
            transform: Mat4::IDENTITY,
            free: false,
        }],
        rest_positions: positions,
        ..Stage::default()
    }
}

fn camera() -> Camera {
    Camera { target: Vec3::new(0.0, 0.4, 0.0), distance: 3.0, ..Camera::default() }
}

fn renderer(samples: u32) -> Renderer {
    let options = RenderOptions { samples, shadow_resolution: 512, ..RenderOptions::software(wgpu::TextureFormat::Rgba8Unorm) };
    let mut renderer = Renderer::new(&GPU.0, &GPU.1, options);
    renderer.set_stage(&stage());
    renderer
}

fn capture(renderer: &mut Renderer, options: &ViewOptions) -> Image {
    renderer.capture(SIZE, &camera(), options, &Overlays::default()).unwrap()
}

/// The colour where a world point appears.
fn at(image: &Image, point: Vec3) -> [f32; 3] {
    let ([x, y], _) = camera().project(point, VIEWPORT).unwrap();
    image.pixel(x as u32, y as u32).map(f32::from)
}

fn brightness(c: [f32; 3]) -> f32 {
    c.iter().sum::<f32>() / 3.0
}

/// The largest difference between two pictures, in levels, and the mean.
fn difference(a: &Image, b: &Image) -> (u8, f32) {
    assert_eq!((a.width, a.height), (b.width, b.height));
    let differences = a.pixels.iter().zip(&b.pixels).map(|(a, b)| a.abs_diff(*b));
    (differences.clone().max().unwrap(), differences.map(f32::from).sum::<f32>() / a.pixels.len() as f32)
}

fn no_grid() -> ViewOptions {
    ViewOptions { grid: false, ..ViewOptions::default() }
}

#[test]
fn body_floor_and_backdrop_are_where_they_belong() {
    for samples in [1, 4] {
        let image = capture(&mut renderer(samples), &no_grid());
        let [r, g, b] = at(&image, Vec3::new(0.0, 0.5, 0.0));
        assert!(r > 2.0 * g && r > 2.0 * b, "the ball is red: {r} {g} {b}");
        let [r, g, b] = at(&image, Vec3::new(-0.9, 0.0, 0.6));
        assert!((r - b).abs() < 15.0 && g > 60.0, "the floor is gray and lit: {r} {g} {b}");
        let corner = image.pixel(2, 2).map(f32::from);
        assert!(brightness(corner) < 0.7 * g && corner[2] > corner[0], "the backdrop is dim and bluish: {corner:?}");
    }
}

#[test]
fn the_ball_shades_the_floor_behind_it_and_nothing_else() {
    let mut renderer = renderer(1);
    let lit = capture(&mut renderer, &ViewOptions { shadows: false, ..no_grid() });
    let shaded = capture(&mut renderer, &no_grid());
    let light = Light::default().direction;
    let umbra = Vec3::new(0.0, 0.5, 0.0) - light * (0.5 / light.y);
    assert!(brightness(at(&shaded, umbra)) < 0.6 * brightness(at(&lit, umbra)));
    let far = Vec3::new(-0.9, 0.0, 0.6);
    assert!((brightness(at(&shaded, far)) - brightness(at(&lit, far))).abs() < 4.0);
    // Right under the ball the floor is a little darker than further off, even where the key light reaches it.
    let (under, aside) = (Vec3::new(-0.2, 0.0, 0.3), Vec3::new(-0.5, 0.0, 0.75));
    assert!(brightness(at(&shaded, under)) < brightness(at(&shaded, aside)) - 2.0);
    // The side of the ball towards the light does not shade itself.
    let bright = Vec3::new(0.0, 0.5, 0.0) + 0.3 * light.normalize();
    assert!((brightness(at(&shaded, bright)) - brightness(at(&lit, bright))).abs() < 4.0);
}

#[test]
fn positions_on_the_device_give_the_same_picture() {
    let mut moved = stage().rest_positions;
    moved.iter_mut().for_each(|p| *p = [0.8 * p[0] + 0.2, 1.3 * p[1] - 0.1, p[2] - 0.1, 0.0]);
    let mut renderer = renderer(1);
    let rest = capture(&mut renderer, &no_grid());
    renderer.set_positions(Positions::Host(&moved)).unwrap();
    let host = capture(&mut renderer, &no_grid());
    renderer.set_positions(Positions::Host(&stage().rest_positions)).unwrap();
    assert_eq!(capture(&mut renderer, &no_grid()), rest);

    let buffer = wgpu::util::DeviceExt::create_buffer_init(
        &GPU.0,
        &wgpu::util::BufferInitDescriptor { label: None, contents: bytemuck::cast_slice(&moved), usage: wgpu::BufferUsages::COPY_SRC },
    );
    renderer.set_positions(Positions::Device(&buffer)).unwrap();
    let device = capture(&mut renderer, &no_grid());
    assert!(difference(&host, &device).1 < 0.05, "{:?}", difference(&host, &device));
    assert!(difference(&host, &rest).1 > 2.0);
}

#[test]
fn wrong_counts_and_sizes_are_told() {
    let mut renderer = renderer(1);
    let short = renderer.set_positions(Positions::Host(&[[0.0; 4]]));
    assert!(matches!(short, Err(RenderError::Count { given: 1, .. })));
    assert!(renderer.set_rigid_transforms(&[]).is_err());
    let huge = renderer.capture([1 << 20, 4], &camera(), &no_grid(), &Overlays::default());
    assert!(matches!(huge, Err(RenderError::Size { .. })));
}

#[test]
fn a_moved_obstacle_is_drawn_where_it_went() {
    let mut stage = stage();
    let cube = RigidShape::Box { half_extents: Vec3::splat(0.1) };
    let place = |x: f32| Mat4::from_translation(Vec3::new(x, 0.1, 0.5));
    stage.rigids.push(RigidVisual { name: "cube".into(), shape: cube, color: Rgb::hex(0x2040ff), transform: place(0.5), free: false });
    let mut renderer = renderer(1);
    renderer.set_stage(&stage);
    let blue = |image: &Image, x: f32| at(image, Vec3::new(x, 0.1, 0.6))[2] - at(image, Vec3::new(x, 0.1, 0.6))[0];
    let before = capture(&mut renderer, &no_grid());
    assert!(blue(&before, 0.5) > 60.0 && blue(&before, -0.5) < 30.0);
    renderer.set_rigid_transforms(&[Mat4::IDENTITY, place(-0.5)]).unwrap();
    let after = capture(&mut renderer, &no_grid());
    assert!(blue(&after, 0.5) < 30.0 && blue(&after, -0.5) > 60.0);
}

#[test]
fn a_mesh_is_drawn_with_flat_faces_and_its_edges_on_demand() {
    let surface = crate::mesh::shapes::surface_box(crate::math::Vec3::repeat(0.2));
    let positions: Vec<[f32; 4]> = surface.positions.iter().map(|p| [p.x as f32, p.y as f32, p.z as f32, 1.0]).collect();
    let place = |x: f32| Mat4::from_translation(Vec3::new(x, 0.1, 0.5));
    let cube = |shape: RigidShape, options: &ViewOptions| {
        let mut stage = stage();
        stage.rigids.push(RigidVisual { name: "cube".into(), shape, color: Rgb::hex(0x2040ff), transform: place(0.5), free: true });
        let mut renderer = renderer(1);
        renderer.set_stage(&stage);
        renderer.set_rigid_transforms(&[Mat4::IDENTITY, place(-0.5)]).unwrap();
        capture(&mut renderer, options)
    };
    let mesh = RigidShape::Mesh { positions, triangles: surface.triangles.clone(), normals: vec![] };
    let exact = RigidShape::Box { half_extents: Vec3::splat(0.1) };
    let wires = ViewOptions { shading: Shading::Wireframe, ..no_grid() };
    let [wired_mesh, wired_exact] = [&mesh, &exact].map(|shape| cube(shape.clone(), &wires));
    assert!(difference(&wired_mesh, &wired_exact).0 > 30, "only meshes show their triangles");
    let [mesh, exact] = [mesh, exact].map(|shape| cube(shape, &no_grid()));
    // The creases of the mesh are sharp: it looks as the exact box does.
    assert!(difference(&mesh, &exact).1 < 0.1, "{:?}", difference(&mesh, &exact));
    let front = at(&mesh, Vec3::new(-0.5, 0.1, 0.6));
    assert!(front[2] - front[0] > 60.0, "{front:?}");
    // A stage without anything else is framed and shaded as well.
    let alone = RigidVisual {
        name: "cube".into(),
        shape: RigidShape::Box { half_extents: Vec3::splat(0.1) },
        color: Rgb::hex(0x2040ff),
        transform: place(0.5),
        free: true,
    };
    let mut renderer = renderer(1);
    renderer.set_stage(&Stage { rigids: vec![alone], ..Stage::default() });
    let picture = capture(&mut renderer, &no_grid());
    assert!(at(&picture, Vec3::new(0.5, 0.1, 0.6))[2] > 60.0);
}

#[test]
fn a_ghost_is_a_veil_where_it_differs() {
    for samples in [1, 4] {
        let mut renderer = renderer(samples);
        let alone = capture(&mut renderer, &no_grid());
        let stage = stage();
        let transforms: Vec<Mat4> = stage.rigids.iter().map(|rigid| rigid.transform).collect();
        renderer.set_ghost(Some(&stage));
        renderer.place_ghost(&stage.rest_positions, &transforms).unwrap();
        assert!(difference(&alone, &capture(&mut renderer, &no_grid())).0 <= 2, "at the same place nothing is veiled");
        // Half a metre to the side, beside the ball.
        let moved: Vec<[f32; 4]> = stage.rest_positions.iter().map(|p| [p[0] + 0.5, p[1], p[2], 0.0]).collect();
        renderer.place_ghost(&moved, &transforms).unwrap();
        let with = capture(&mut renderer, &no_grid());
        let [before, after] = [&alone, &with].map(|image| at(image, Vec3::new(0.5, 0.5, 0.3)));
        assert!(after[0] > before[0] + 15.0, "{before:?} {after:?}");
        assert_eq!(at(&alone, Vec3::new(-0.25, 0.5, 0.1)), at(&with, Vec3::new(-0.25, 0.5, 0.1)), "the rest is as before");
        renderer.set_ghost(None);
        assert_eq!(capture(&mut renderer, &no_grid()), alone);
        assert!(renderer.place_ghost(&moved, &transforms).is_ok(), "there is none to be placed");
    }
    let mut renderer = renderer(1);
    renderer.set_ghost(Some(&stage()));
    let error = renderer.place_ghost(&[[0.0; 4]], &[]).unwrap_err();
    assert!(error.to_string().contains("surface vertices"), "{error}");
}

#[test]
fn drawing_into_a_part_keeps_the_rest() {
    let (device, queue) = &*GPU;
    let target = device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d { width: 200, height: 150, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: wgpu::TextureFormat::Rgba8Unorm,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    });
    let view = target.create_view(&wgpu::TextureViewDescriptor::default());
    let mut renderer = renderer(1);
    let mut drawn_at = |x: u32, y: u32| {
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        renderer.draw(&mut encoder, &view, [x, y, SIZE[0], SIZE[1]], &camera(), &no_grid(), &Overlays::default());
        let readback = image::Readback::record(device, &mut encoder, &target);
        queue.submit([encoder.finish()]);
        readback.read(device).unwrap()
    };
    let (part, whole) = (drawn_at(30, 20), drawn_at(0, 0));
    for (x, y) in [(0, 0), (80, 60), (100, 50), (159, 119)] {
        assert_eq!(part.pixel(30 + x, 20 + y), whole.pixel(x, y));
    }
    assert_eq!(part.pixel(29, 60), [0, 0, 0]);
    assert_eq!(part.pixel(190, 60), [0, 0, 0]);
}

/// A line lies around what is selected in the window, and not in pictures that are kept.
#[test]
fn what_is_selected_has_a_line_around_it_in_the_window_alone() {
    let (device, queue) = &*GPU;
    for samples in [1, 4] {
        let mut renderer = renderer(samples);
        let in_window = |renderer: &mut Renderer| {
            let target = device.create_texture(&wgpu::TextureDescriptor {
                label: None,
                size: wgpu::Extent3d { width: SIZE[0], height: SIZE[1], depth_or_array_layers: 1 },
                mip_level_count: 1,
                sample_count: 1,
                dimension: wgpu::TextureDimension::D2,
                format: wgpu::TextureFormat::Rgba8Unorm,
                usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
                view_formats: &[],
            });
            let view = target.create_view(&wgpu::TextureViewDescriptor::default());
            let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            renderer.draw(&mut encoder, &view, [0, 0, SIZE[0], SIZE[1]], &camera(), &no_grid(), &Overlays::default());
            let readback = image::Readback::record(device, &mut encoder, &target);
            queue.submit([encoder.finish()]);
            readback.read(device).unwrap()
        };
        let lined = |image: &Image| {
            let is_line = |[r, g, b]: [u8; 3]| r.abs_diff(102) < 4 && g.abs_diff(237) < 4 && b.abs_diff(204) < 4;
            (0..SIZE[1]).flat_map(|y| (0..SIZE[0]).map(move |x| (x, y))).filter(|(x, y)| is_line(image.pixel(*x, *y))).count()
        };
        let plain = in_window(&mut renderer);
        assert_eq!(lined(&plain), 0);
        let ball = || Marked { soft: vec![0], rigid: vec![] };
        renderer.set_marked(ball(), Marked::default());
        let selected = in_window(&mut renderer);
        // A ring of two pixels around a disc of a diameter of about 40.
        let n = lined(&selected);
        assert!((120..500).contains(&n), "{n}");
        let middle = Vec3::new(0.0, 0.5, 0.0);
        assert_eq!(at(&selected, middle), at(&plain, middle), "the line is beside the body, not on it");
        assert_eq!(lined(&capture(&mut renderer, &no_grid())), 0);

        // What is hidden is not there, and casts no shadow.
        renderer.set_marked(ball(), ball());
        let hidden = in_window(&mut renderer);
        assert_eq!(lined(&hidden), 0);
        let red = |image: &Image| at(image, middle)[0] - at(image, middle)[1];
        assert!(red(&plain) > 60.0 && red(&hidden) < 20.0, "{} {}", red(&plain), red(&hidden));
        let shadow = Vec3::new(0.35, 0.0, -0.3);
        assert!(brightness(at(&hidden, shadow)) >= brightness(at(&plain, shadow)));
        renderer.set_marked(Marked::default(), Marked::default());
        assert_eq!(difference(&in_window(&mut renderer), &plain).0, 0);
    }
}

#[test]
fn marks_are_drawn_over_bodies_and_faint_behind_them() {
    let mut renderer = renderer(1);
    let green = Rgb::hex(0x00ff00);
    let mut look = |z: f32| {
        let segment = Segment { a: Vec3::new(-0.2, 0.5, z), b: Vec3::new(0.2, 0.5, z), color: green, opacity: 1.0, width: 4.0 };
        let points = vec![Point { at: Vec3::new(0.0, 1.1, 0.0), color: green, opacity: 1.0, size: 6.0 }];
        let overlays = Overlays { segments: vec![segment], points };
        (renderer.capture(SIZE, &Camera { azimuth: 0.0, elevation: 0.0, ..camera() }, &no_grid(), &overlays).unwrap(), z)
    };
    let green_at = |(image, z): &(Image, f32)| {
        let camera = Camera { azimuth: 0.0, elevation: 0.0, ..camera() };
        let ([x, y], _) = camera.project(Vec3::new(0.0, 0.5, *z), VIEWPORT).unwrap();
        let ([u, v], _) = camera.project(Vec3::new(0.0, 1.1, 0.0), VIEWPORT).unwrap();
        assert!(image.pixel(u as u32, v as u32)[1] > 240);
        image.pixel(x as u32, y as u32)[1]
    };
    let (front, behind) = (green_at(&look(0.5)), green_at(&look(-0.5)));
    assert!(front > 240 && behind < 200 && behind > 80, "{front} {behind}");
}

#[test]
fn the_device_places_the_maps_as_the_host_does() {
    let (device, queue) = &*GPU;
    let options = RenderOptions::software(wgpu::TextureFormat::Rgba8Unorm);
    let pipelines = Pipelines::new(device, &options);
    let maps = Maps::new(device, &pipelines, &options);
    let mut stage = stage();
    let cube = RigidShape::Box { half_extents: Vec3::splat(0.1) };
    let transform = Mat4::from_translation(Vec3::new(0.7, 0.1, 0.5));
    stage.rigids.push(RigidVisual { name: "cube".into(), shape: cube, color: Rgb::hex(0x808080), transform, free: false });
    let mut buffers = StageBuffers::new(device, &pipelines, &maps, &stage, 8);
    buffers.set_transforms(queue, &[Mat4::IDENTITY, transform], &Theme::DARK);
    let frame = Frame::new(&camera(), &ViewOptions::default(), SIZE, &buffers.around);
    queue.write_buffer(&buffers.frame, 0, bytemuck::bytes_of(&frame));

    let read = || {
        let size = size_of::<Fit>() as u64;
        let usage = wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ;
        let host = device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(&maps.fit, 0, &host, 0, size);
        queue.submit([encoder.finish()]);
        host.map_async(wgpu::MapMode::Read, .., |_| {});
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        bytemuck::pod_read_unaligned::<Fit>(&host.get_mapped_range(..).unwrap())
    };
    buffers.fit_from_host(queue, &maps, &frame);
    let from_host = read();
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipelines.fit);
        pass.set_bind_group(0, &buffers.fit_group, &[]);
        pass.dispatch_workgroups(1, 1, 1);
    }
    queue.submit([encoder.finish()]);
    let from_device = read();
    let host: &[f32] = bytemuck::cast_slice(std::slice::from_ref(&from_host));
    let device: &[f32] = bytemuck::cast_slice(std::slice::from_ref(&from_device));
    for (a, b) in host.iter().zip(device) {
        assert!((a - b).abs() < 1e-4, "{from_host:?}\n{from_device:?}");
    }
    // The cube is inside both maps: its far corner, too.
    let corner = from_host.shadow_clip_from_world.transform_point3(Vec3::new(0.8, 0.2, 0.6));
    assert!(corner.x.abs() < 1.0 && corner.y.abs() < 1.0 && (0.0..1.0).contains(&corner.z));
}

#[test]
fn what_is_picked_is_what_is_drawn() {
    let stage = stage();
    let image = capture(&mut renderer(1), &no_grid());
    let mut both = 0;
    for (x, y) in [(80, 55), (70, 50), (95, 62), (20, 100), (140, 30), (80, 20)] {
        let ray = camera().ray([x as f32 + 0.5, y as f32 + 0.5], VIEWPORT);
        let hit = pick(&ray, &stage.rest_positions, &stage.soft_bodies[0].triangles).is_some();
        let [r, g, _] = image.pixel(x, y).map(f32::from);
        assert_eq!(hit, r > 1.6 * g, "pixel {x}, {y}");
        both += hit as u32;
    }
    assert_eq!(both, 3);
}

#[test]
fn ambient_occlusion_darkens_where_things_meet_and_not_open_sides() {
    let mut stage = stage();
    // A table on which the ball lies.
    let table = RigidShape::Box { half_extents: Vec3::new(0.5, 0.1, 0.5) };
    let transform = Mat4::from_translation(Vec3::new(0.0, 0.1, 0.0));
    stage.rigids.push(RigidVisual { name: "table".into(), shape: table, color: Rgb::hex(0x909090), transform, free: false });
    for samples in [1, 4] {
        let picture = |ambient_occlusion| {
            let options = RenderOptions { samples, ambient_occlusion, ..RenderOptions::software(wgpu::TextureFormat::Rgba8Unorm) };
            let mut renderer = Renderer::new(&GPU.0, &GPU.1, options);
            renderer.set_stage(&stage);
            capture(&mut renderer, &ViewOptions { shadows: false, ..no_grid() })
        };
        let (plain, occluded) = (picture(false), picture(true));
        let kept = |point| brightness(at(&occluded, point)) / brightness(at(&plain, point));
        let (crease, open) = (Vec3::new(0.08, 0.2, 0.13), Vec3::new(0.05, 0.6, 0.28));
        assert!(kept(crease) < 0.98 && kept(open) > 0.99, "{samples}: {} {}", kept(crease), kept(open));
    }
}

#[test]
fn what_has_not_changed_is_shown_again_and_what_has_is_drawn() {
    let mut renderer = renderer(1);
    let first = capture(&mut renderer, &no_grid());
    assert_eq!(capture(&mut renderer, &no_grid()), first);
    assert_ne!(capture(&mut renderer, &ViewOptions::default()), first);
    let turned = Camera { azimuth: 2.0, ..camera() };
    assert_ne!(renderer.capture(SIZE, &turned, &no_grid(), &Overlays::default()).unwrap(), first);
    assert_eq!(capture(&mut renderer, &no_grid()), first);
    renderer.set_stage(&Stage { light: Light { intensity: 0.3, ..Light::default() }, ..stage() });
    assert_ne!(capture(&mut renderer, &no_grid()), first);
}

/// A block of tets is cut by a plane, peeled to nothing, and is seen through where only edges are drawn.
#[test]
fn bodies_are_cut_open_and_peeled_and_edges_are_seen_through() {
    use crate::mesh::shapes;
    let block = shapes::box_tets(crate::math::Vec3::repeat(0.6), [4, 4, 4]);
    let nodes: Vec<[f32; 4]> = block.positions.iter().map(|p| [p.x as f32, p.y as f32 + 0.5, p.z as f32, 1.0]).collect();
    let mut stage = stage();
    stage.soft_bodies[0].tets = block.tets.clone();
    stage.n_nodes = nodes.len() as u32;
    let red = |image: &Image| image.pixels.chunks(4).filter(|p| p[0] > 60 && p[0] > 2 * p[2]).count();
    for samples in [1, 4] {
        let mut renderer = renderer(samples);
        renderer.set_stage(&stage);
        renderer.set_node_positions(Positions::Host(&nodes)).unwrap();
        let whole = ViewOptions { shading: Shading::Tets, tet_size: 1.0, ..no_grid() };
        let mut shown = |options: ViewOptions| red(&capture(&mut renderer, &options));
        let all = shown(whole);
        let half =
            shown(ViewOptions { cut: Some(Cut { plane: glam::Vec4::new(0.0, 1.0, 0.0, 0.5), exact: false, rigids: false }), ..whole });
        assert!(half > all / 4 && half < 4 * all / 5, "{half} of {all}");
        let inner = shown(ViewOptions { peeled: 1, ..whole });
        assert!(inner > all / 10 && inner < 2 * all / 3, "{inner} of {all}");
        assert_eq!(shown(ViewOptions { peeled: 2, ..whole }), 0);
        // Also where elements are coloured by a field.
        let (tets, table) = (vec![0; block.tets.len()], [Rgb::hex(0xe03020); 256]);
        let vertices = vec![0; stage.rest_positions.len()];
        renderer.set_colors(Some(PointColors { vertices: &vertices, tets: &tets, nodes: &[], table: &table })).unwrap();
        let mut shown = |options: ViewOptions| red(&capture(&mut renderer, &options));
        assert!(shown(ViewOptions { peeled: 1, ..whole }) < shown(whole));
        // Of a box of twelve triangles little but lines is left.
        let cube = shapes::surface_box(crate::math::Vec3::repeat(0.6));
        let positions = cube.positions.iter().map(|p| [p.x as f32, p.y as f32, p.z as f32, 1.0]).collect();
        let shape = RigidShape::Mesh { positions, triangles: cube.triangles.clone(), normals: vec![] };
        let transform = Mat4::from_translation(Vec3::new(0.0, 0.5, 0.0));
        let visual = RigidVisual { name: "cube".into(), shape, color: Rgb::hex(0xe03020), transform, free: true };
        renderer.set_stage(&Stage { rigids: vec![visual], ..Stage::default() });
        let mut shown = |options: ViewOptions| red(&capture(&mut renderer, &options));
        let (smooth, edges) = (shown(no_grid()), shown(ViewOptions { shading: Shading::Edges, ..no_grid() }));
        assert!(edges > smooth / 50 && edges < smooth / 2, "{edges} of {smooth}");
    }
}
