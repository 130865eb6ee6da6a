//! Files read back by others, and by ourselves.

use std::path::{Path, PathBuf};

use super::*;
use crate::cancel::CancelToken;
use crate::math::Vec3;
use crate::mesh::{SurfacePart, SurfaceParts};
use crate::output::OutputFile;
use crate::scene::{Scene, build};
use crate::sim::{Options, Simulation};

/// A soft ball between a plane, a rigid box and a sphere that turns.
const SCENE: &str = r#"
format = 1
[simulation]
backend = "cpu"
[material.soft]
young_modulus = 2e4
[material.hard]
[[body]]
name = "ball"
shape = { type = "sphere", radius = 0.1, resolution = 4 }
origin = "bottom"
position = [0.0, 0.001, 0.0]
material = "soft"
velocity = [0.0, -0.5, 0.0]
[[body]]
name = "bar"
shape = { type = "box", size = [0.3, 0.05, 0.05], cells = [4, 1, 1] }
position = [0.4, 0.3, 0.0]
angular_velocity = [0.0, 0.0, 5.0]
material = "hard"
[[body]]
name = "crate"
kind = "rigid"
shape = { type = "box", size = [0.1, 0.1, 0.1] }
origin = "bottom"
position = [-0.4, 0.0005, 0.0]
density = 500.0
angular_velocity = [0.0, 3.0, 0.0]
[[body]]
name = "floor"
kind = "static"
shape = { type = "plane" }
[[body]]
name = "knob"
kind = "driven"
shape = { type = "sphere", radius = 0.05 }
position = [0.0, 0.5, 0.4]
motion = { angular_velocity = [0.0, 2.0, 0.0] }
"#;

mod gltf;
mod materials;
mod normals;
mod usd;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("pliant-export-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The scene, `n` frames of it, and the normal force of all contacts in each.
fn run(n: usize) -> (Subject, Vec<Frame>, Vec<f64>) {
    let built = build(&Scene::from_text("tiny", "tiny.toml", SCENE, None, &[]).unwrap()).unwrap();
    let subject = Subject { name: "tiny".into(), frames_per_second: 50.0, n_frames: n as u64 + 1, size: [64, 48], ..Subject::of(&built) };
    let mut simulation = Simulation::new(built, &Options::default()).unwrap();
    let frames = Frames::new(&subject.model).unwrap();
    let (mut taken, mut forces) = (vec![frames.take(&mut simulation).unwrap()], vec![0.0]);
    while taken.len() < n {
        simulation.step().unwrap();
        let report = simulation.step().unwrap();
        forces.push(report.contact.normal_force_total);
        taken.push(frames.take(&mut simulation).unwrap());
    }
    (subject, taken, forces)
}

fn export(path: &Path, subject: &Subject, frames: &[Frame]) -> Written {
    let mut exporter = exporter(Format::of(path).unwrap(), path, subject).unwrap();
    frames.iter().for_each(|frame| exporter.write(frame).unwrap());
    exporter.finish(CancelToken::never()).unwrap()
}

/// Greatest distance of points from where they should be, in units of the last place of single precision of a metre or
/// of their distance from the origin.
fn error(points: &[[f32; 3]], want: &[Vec3]) -> f64 {
    assert_eq!(points.len(), want.len());
    let distance = |(p, q): (&[f32; 3], &Vec3)| (Vec3::from(p.map(f64::from)) - q).norm() / q.norm().max(1.0);
    points.iter().zip(want).map(distance).fold(0.0, f64::max) / f64::from(f32::EPSILON)
}

fn surface(subject: &Subject, frame: &Frame) -> Vec<Vec3> {
    surfaces::Surfaces::new(&subject.model).positions(&subject.model, frame)
}

const COLORS: [[f32; 3]; 2] = [[0.8, 0.1, 0.05], [0.1, 0.3, 0.9]];

/// The ball with one colour at the left of its middle and another at the right.
fn two_colors() -> (Subject, Frame) {
    let (mut subject, mut frames, _) = run(1);
    let model = std::sync::Arc::make_mut(&mut subject.model);
    let rest = model.surface_positions(&model.rest_positions);
    let triangles = &model.surface.triangles[model.bodies[0].triangles.clone()];
    let is_right = |triangle: &[u32; 3]| triangle.iter().map(|v| rest[*v as usize].x).sum::<f64>() > 0.0;
    let part = |(name, color): (&str, [f32; 3])| SurfacePart { name: name.into(), color: Some(color) };
    let of_triangles = triangles.iter().map(|triangle| u32::from(is_right(triangle))).collect();
    model.bodies[0].parts = Some(SurfaceParts { parts: ["west", "east"].into_iter().zip(COLORS).map(part).collect(), of_triangles });
    (subject, frames.remove(0))
}

#[test]
fn contact_pressure_carries_the_weight() {
    let (subject, frames, forces) = run(6);
    let model = &subject.model;
    let surfaces = surfaces::Surfaces::new(model);
    for (frame, force) in frames.iter().zip(&forces).skip(1) {
        let x = surface(&subject, frame);
        let of_nodes = fields::node_pressures(model, frame);
        let pressures = fields::surface_pressures(model, &surfaces, frame, &of_nodes);
        let mut sum = 0.0;
        for triangle in &surfaces.triangles {
            let [a, b, c] = triangle.map(|v| x[v as usize]);
            let third = (b - a).cross(&(c - a)).norm() / 6.0;
            sum += triangle.iter().map(|v| f64::from(pressures[*v as usize]) * third).sum::<f64>();
        }
        assert!(*force > 1.0 && (sum / force - 1.0).abs() < 1e-5, "{sum} N of {force} N");
        // These bodies touch with their nodes.
        assert!(of_nodes.iter().any(|p| *p > 0.0));
    }
}

/// A VTK file with its appended data in letters: this reader knows no others.
fn in_text(path: &Path) -> Vec<u8> {
    let letters = |bytes: &[u8]| -> String {
        let letter = |n: u32| char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[n as usize]);
        let group = |three: &[u8]| {
            let bits = (0..3).fold(0u32, |bits, i| bits << 8 | u32::from(three.get(i).copied().unwrap_or(0)));
            (0..4).map(|i| if i <= three.len() { letter(bits >> (18 - 6 * i) & 63) } else { '=' }).collect::<String>()
        };
        bytes.chunks(3).map(group).collect()
    };
    let bytes = std::fs::read(path).unwrap();
    let start = bytes.windows(7).position(|w| w == b"\"raw\">\n").unwrap() + 7;
    assert_eq!(bytes[start], b'_');
    let mut text = String::from_utf8(bytes[..start].to_vec()).unwrap().replace("\"raw\"", "\"base64\"");
    let offsets: Vec<usize> = text.split("offset=\"").skip(1).map(|rest| rest.split('"').next().unwrap().parse().unwrap()).collect();
    let end = bytes.len() - b"\n</AppendedData>\n</VTKFile>\n".len();
    let mut data = String::new();
    for (i, offset) in offsets.iter().enumerate() {
        let block = &bytes[start + 1 + offset..offsets.get(i + 1).map_or(end, |next| start + 1 + next)];
        let n_blocks = u64::from_le_bytes(block[..8].try_into().unwrap()) as usize;
        let (head, rest) = block.split_at(8 * (3 + n_blocks));
        text = text.replacen(&format!("offset=\"{offset}\""), &format!("0ffset=\"{}\"", data.len()), 1);
        data += &(letters(head) + &letters(rest));
    }
    format!("{}_{data}\n</AppendedData>\n</VTKFile>\n", text.replace("0ffset", "offset")).into_bytes()
}

#[test]
fn appended_data_are_what_they_say() {
    use std::io::Read;
    let folder = folder("appended");
    let (subject, frames, _) = run(2);
    export(&folder.join("tiny.pvd"), &subject, &frames);
    let bytes = std::fs::read(folder.join("tiny/tets_00001.vtu")).unwrap();
    let start = bytes.windows(7).position(|w| w == b"\"raw\">\n").unwrap() + 8;
    let head = std::str::from_utf8(&bytes[..start - 8]).unwrap();
    let array = |name: &str| -> Vec<f32> {
        let element = head.split("<DataArray").find(|element| element.contains(&format!("Name=\"{name}\""))).unwrap();
        let offset: usize = element.split("offset=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
        let word = |i: usize| u64::from_le_bytes(bytes[start + offset + 8 * i..][..8].try_into().unwrap()) as usize;
        let (n, mut at, mut plain) = (word(0), start + offset + 8 * (3 + word(0)), vec![]);
        for block in 0..n {
            flate2::read::ZlibDecoder::new(&bytes[at..at + word(3 + block)]).read_to_end(&mut plain).unwrap();
            at += word(3 + block);
        }
        assert_eq!(plain.len(), if word(2) == 0 { n * word(1) } else { (n - 1) * word(1) + word(2) });
        plain.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
    };
    let vectors = |name: &str| array(name).chunks_exact(3).map(|v| [v[0], v[1], v[2]]).collect::<Vec<_>>();
    assert!(error(&vectors("Points"), &frames[1].node_positions(&subject.model)) < 1.0);
    assert_eq!(vectors("velocity"), frames[1].velocities);
    assert_eq!(array("von_mises"), fields::stresses(&subject.model, &frames[1]).1);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn vtk_files_have_all_fields_by_name() {
    use vtkio::model::{Attribute, Attributes, DataSet, IOBuffer, Piece, VertexNumbers, Vtk};
    let folder = folder("vtk");
    let (subject, frames, _) = run(3);
    let written = export(&folder.join("tiny.pvd"), &subject, &frames);
    assert_eq!(written.frames, 3);
    let index = std::fs::read_to_string(folder.join("tiny.pvd")).unwrap();
    assert!(index.contains("timestep=\"0.04\" part=\"0\" file=\"tiny/tets_00002.vtu\""), "{index}");
    let floats = |attributes: &[Attribute], name: &str| -> Vec<f32> {
        let found = attributes.iter().find_map(|attribute| match attribute {
            Attribute::DataArray(array) if array.name == name => Some(array.data.clone()),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("no field {name}")).cast_into::<f32>().unwrap()
    };
    let triples = |values: &[f32]| values.chunks_exact(3).map(|v| [v[0], v[1], v[2]]).collect::<Vec<_>>();
    let points_of = |points: IOBuffer| triples(&points.cast_into::<f32>().unwrap());

    let (model, frame) = (&subject.model, &frames[2]);
    let DataSet::UnstructuredGrid { pieces, .. } = Vtk::parse_xml(&in_text(&folder.join("tiny/tets_00002.vtu"))[..]).unwrap().data else {
        panic!("not a grid")
    };
    let Some(Piece::Inline(piece)) = pieces.into_iter().next() else { panic!("no piece") };
    assert!(error(&points_of(piece.points), &frame.node_positions(model)) < 1.0);
    let VertexNumbers::XML { connectivity, offsets } = piece.cells.cell_verts else { panic!("no cells") };
    let nodes: Vec<u64> = model.tets.iter().flat_map(|tet| tet.nodes.map(u64::from)).collect();
    assert!(connectivity == nodes && offsets.last() == Some(&(4 * model.tets.len() as u64)));
    let Attributes { point, cell } = piece.data;
    assert!(error(&triples(&floats(&point, "displacement")), &frame.displacements) < 1.0);
    assert_eq!(triples(&floats(&point, "velocity")), frame.velocities);
    assert_eq!(floats(&point, "contact_pressure").len(), model.n_nodes());
    let (stress, von_mises) = (floats(&cell, "stress"), floats(&cell, "von_mises"));
    let (want, want_mises) = fields::stresses(model, frame);
    assert!(stress.iter().zip(want.iter().flat_map(|s| s.as_slice())).all(|(a, b)| f64::from(*a) == f64::from(*b as f32)));
    assert!(von_mises == want_mises && von_mises.iter().any(|s| *s > 100.0));
    assert_eq!(floats(&cell, "body"), model.tets.iter().map(|tet| tet.body as f32).collect::<Vec<_>>());
    assert_eq!(floats(&cell, "material").last(), Some(&1.0));

    let DataSet::PolyData { pieces, .. } = Vtk::parse_xml(&in_text(&folder.join("tiny/surfaces_00002.vtp"))[..]).unwrap().data else {
        panic!("no polygons")
    };
    let Some(Piece::Inline(piece)) = pieces.into_iter().next() else { panic!("no piece") };
    assert!(error(&points_of(piece.points), &surface(&subject, frame)) < 1.0);
    assert!(floats(&piece.data.point, "contact_pressure").iter().any(|p| *p > 10.0));
    assert_eq!(floats(&piece.data.cell, "body").last(), Some(&4.0));
    std::fs::remove_dir_all(&folder).unwrap();
}

fn recording_pose(at: [f32; 3], q: [f32; 4]) -> crate::math::Isometry {
    let [x, y, z, w] = q.map(f64::from);
    let rotation = crate::math::Quat::from_quaternion(nalgebra::Quaternion::new(w, x, y, z));
    crate::math::Isometry::from_parts(Vec3::from(at.map(f64::from)).into(), rotation)
}

#[test]
fn sequences_are_read_back_by_the_mesh_readers() {
    let folder = folder("sequences");
    let (subject, frames, _) = run(2);
    for name in ["tiny.obj", "tiny.ply"] {
        let written = export(&folder.join(name), &subject, &frames);
        assert!(written.frames == 2 && written.files.contains("tiny_00001"), "{}", written.files);
        let ending = name.split('.').nth(1).unwrap();
        let mesh = crate::mesh::read_surface(&folder.join(format!("tiny_00001.{ending}"))).unwrap();
        let single: Vec<[f32; 3]> = mesh.positions.iter().map(fields::single).collect();
        assert!(error(&single, &surface(&subject, &frames[1])) < 1.0, "{name}");
        assert_eq!(mesh.triangles, surfaces::Surfaces::new(&subject.model).triangles);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn point_caches_hold_every_vertex_of_every_frame() {
    let folder = folder("caches");
    let (subject, frames, _) = run(3);
    let positions: Vec<Vec<Vec3>> = frames.iter().map(|frame| surface(&subject, frame)).collect();
    let n = positions[0].len();
    let points = |bytes: &[u8], number: fn([u8; 4]) -> f32| -> Vec<Vec<[f32; 3]>> {
        let numbers: Vec<f32> = bytes.chunks_exact(4).map(|b| number(b.try_into().unwrap())).collect();
        numbers.chunks_exact(3 * n).map(|frame| frame.chunks_exact(3).map(|v| [v[0], v[1], v[2]]).collect()).collect()
    };
    let agree = |cache: Vec<Vec<[f32; 3]>>| {
        assert!(cache.len() == 3 && cache.iter().zip(&positions).all(|(a, b)| error(a, b) < 1.0));
    };

    export(&folder.join("tiny.pc2"), &subject, &frames);
    let pc2 = std::fs::read(folder.join("tiny.pc2")).unwrap();
    assert_eq!(&pc2[..12], b"POINTCACHE2\0");
    let words: Vec<u32> = pc2[12..32].chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(words, [1, n as u32, 0, 1.0f32.to_bits(), 3]);
    agree(points(&pc2[32..], f32::from_le_bytes));

    // There is room for more frames than came.
    export(&folder.join("tiny.mdd"), &subject, &frames);
    let mdd = std::fs::read(folder.join("tiny.mdd")).unwrap();
    let words: Vec<u32> = mdd[..20].chunks_exact(4).map(|b| u32::from_be_bytes(b.try_into().unwrap())).collect();
    assert_eq!(words, [3, n as u32, 0.0f32.to_bits(), 0.02f32.to_bits(), 0.04f32.to_bits()]);
    agree(points(&mdd[20..], f32::from_be_bytes));

    let mesh = crate::mesh::read_surface(&folder.join("tiny.obj")).unwrap();
    assert_eq!(mesh.positions.len(), n);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_recording_gives_the_same_files_as_the_run() {
    let folder = folder("recording");
    let (subject, frames, _) = run(4);
    let path = folder.join("tiny.pliant");
    export(&path, &subject, &frames);
    let mut recording = Recording::open(&path).unwrap();
    assert!(recording.len() == 4 && !recording.is_cut_off());
    let back: Vec<Frame> = (0..4).map(|k| recording.frame(k).unwrap()).collect();
    assert!(back == frames);
    let again = Subject { n_frames: subject.n_frames, ..recording.subject.clone() };
    for (name, files) in [
        ("a.pvd", vec!["a/tets_00003.vtu", "a/surfaces_00003.vtp", "a.pvd"]),
        ("a.obj", vec!["a_00002.obj"]),
        ("a.glb", vec!["a.glb"]),
        ("a.mdd", vec!["a.mdd"]),
        ("a.pliant", vec!["a.pliant"]),
    ] {
        let read = || files.iter().map(|file| std::fs::read(folder.join(file)).unwrap()).collect::<Vec<_>>();
        export(&folder.join(name), &subject, &frames);
        let from_run = read();
        export(&folder.join(name), &again, &back);
        assert!(from_run == read(), "{name}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// At every place where the end of the writing asks whether it is still wanted.
#[test]
fn a_cancelled_end_leaves_no_half_files() {
    let folder = folder("cancelled");
    let (subject, frames, _) = run(3);
    for (ending, format, _) in Format::ENDINGS {
        let mut n_cancelled = 0;
        let written = loop {
            let mut exporter = exporter(format, &folder.join(format!("a.{ending}")), &subject).unwrap();
            frames.iter().for_each(|frame| exporter.write(frame).unwrap());
            match exporter.finish(&CancelToken::after(n_cancelled)) {
                Ok(written) => break written,
                Err(error) => assert!(matches!(error, OutputError::Cancelled { .. }), "{error}"),
            }
            assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "{ending}, cancelled at the {n_cancelled}th question");
            n_cancelled += 1;
        };
        assert_eq!(written.frames, 3, "{ending}");
        let is_made_whole_at_the_end = matches!(format, Format::Gltf | Format::Glb | Format::Usd | Format::Mdd);
        assert_eq!(n_cancelled > 0, is_made_whole_at_the_end, "{ending}");
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::create_dir_all(&folder).unwrap();
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn damaged_recordings_are_refused_and_short_ones_used() {
    let folder = folder("damaged");
    let (subject, frames, _) = run(3);
    let path = folder.join("tiny.pliant");
    export(&path, &subject, &frames);
    let whole = std::fs::read(&path).unwrap();
    let line = whole.iter().position(|b| *b == b'\n').unwrap();
    let starts: Vec<usize> = (0..whole.len() - 4).filter(|i| &whole[*i..*i + 4] == b"FRAM").collect();
    assert_eq!(starts.len(), 3);
    let open = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        Recording::open(&path)
    };
    // Cut off anywhere: all whole frames are there.
    for length in (line + 1..whole.len()).step_by(whole.len() / 40) {
        match open(&whole[..length]) {
            Ok(mut recording) => {
                let n = starts.iter().skip(1).chain([&whole.len()]).filter(|end| **end <= length).count();
                assert_eq!((recording.len(), recording.is_cut_off()), (n, n < 3 && !starts.contains(&length)), "{length}");
                (0..n).for_each(|k| assert!(recording.frame(k).unwrap() == frames[k]));
            }
            Err(error) => assert!(length < starts[0] && error.to_string().contains("is cut off"), "{length}: {error}"),
        }
    }
    // A byte that changed is found: in the geometry, and in a frame, whose neighbours are still good.
    let changed = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    assert!(matches!(open(&changed(line + 200)), Err(RecordingError::Damaged { .. })));
    let mut recording = open(&changed(starts[1] + 100)).unwrap();
    let error = recording.frame(1).unwrap_err().to_string();
    assert!(error.contains(&format!("frame 1 at byte {} has another check sum", starts[1])), "{error}");
    assert!(recording.frame(2).unwrap() == frames[2]);
    // A length that is not true takes no memory.
    let mut bytes = whole.clone();
    bytes[line + 5..line + 13].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(open(&bytes).is_err());
    for (bytes, told) in
        [(&b"{}\n"[..], "does not say so"), (b"\x89PNG", "does not say so"), (b"{\"format\":\"pliant recording 9\"}\n", "recording 9")]
    {
        let error = open(bytes).unwrap_err().to_string();
        assert!(error.contains(told) && error.contains("--out NAME.pliant"), "{error}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Texture coordinates of the corners of a triangle in a texture of two charts, one for triangles that face along z.
fn charted(corners: [Vec3; 3]) -> [[f32; 2]; 3] {
    let normal = (corners[1] - corners[0]).cross(&(corners[2] - corners[0]));
    let chart = if normal.z > 0.5 * normal.norm() { 1.0 } else { 0.0 };
    corners.map(|p| [p.x as f32 * 2.0 + 0.5 + chart, p.y as f32 * 2.0 + 0.5])
}

/// A soft body with a texture, embedded in tets out of which it stands, and a rigid body with a texture.
fn textured() -> Subject {
    let mut builder = crate::model::ModelBuilder::default();
    let surface = crate::mesh::shapes::icosphere(0.1, 2);
    let tets = crate::mesh::shapes::box_tets(Vec3::repeat(0.16), [2; 3]);
    let texture: Vec<[[f32; 2]; 3]> = (0..surface.triangles.len()).map(|t| charted(surface.corners(t))).collect();
    let embedding = crate::mesh::embed(&tets, &surface.positions).unwrap();
    assert!(embedding.weights.iter().flatten().any(|w| *w < -0.1), "some vertices are outside of the tets");
    builder.soft_body(crate::model::SoftBody {
        surface_triangles: surface.triangles.clone(),
        embedding,
        texture_coordinates: Some(texture.clone()),
        ..crate::model::SoftBody::with_boundary_surface("soft", crate::material::Material::default(), tets)
    });
    builder.rigid_body(crate::model::RigidBody {
        name: "rigid".into(),
        mobility: crate::model::Mobility::Driven(None),
        vertices: surface.positions,
        triangles: surface.triangles,
        texture_coordinates: Some(texture),
        pose: crate::math::Isometry::translation(1.0, 0.0, 0.0),
        velocity: Vec3::zeros(),
        angular_velocity: Vec3::zeros(),
        color: None,
    });
    Subject { model: std::sync::Arc::new(builder.build().unwrap()), ..run(1).0 }
}

/// A moment in which nothing has moved.
fn still(subject: &Subject) -> Frame {
    let model = &subject.model;
    Frame {
        time: 0.0,
        displacements: vec![Vec3::zeros(); model.n_nodes()],
        velocities: vec![[0.0; 3]; model.n_nodes()],
        rigid_poses: vec![model.rigid_bodies[0].pose],
        obstacle_poses: vec![],
        attachments: vec![],
        contact_pressures: vec![0.0; model.n_vertices() + model.rigid_bodies[0].vertices.len()],
        states: vec![],
        materials: None,
    }
}

#[test]
fn textures_and_points_outside_of_the_tets_are_carried_along() {
    let folder = folder("textures");
    let subject = textured();
    let model = &subject.model;
    // Stretched along x, which carries what stands out along.
    let displacements = model.rest_positions.iter().map(|x| Vec3::new(0.5 * x.x, 0.0, 0.0)).collect();
    let frame = Frame { displacements, ..still(&subject) };
    let x = surface(&subject, &frame);
    let rest = model.surface_positions(&model.rest_positions);
    assert!(rest.iter().zip(&x).all(|(p, q)| (Vec3::new(1.5 * p.x, p.y, p.z) - q).norm() < 1e-12));

    let path = folder.join("a.pliant");
    export(&path, &subject, &[frame.clone(), frame.clone()]);
    let mut recording = Recording::open(&path).unwrap();
    let (again, frames) = (recording.subject.clone(), vec![recording.frame(0).unwrap(), recording.frame(1).unwrap()]);
    export(&folder.join("a.obj"), &again, &frames);
    export(&folder.join("a.glb"), &again, &frames);

    // Each corner names the coordinates that are its own, and a normal; a vertex of the seam is one vertex with
    // coordinates in both charts.
    let texture: Vec<[f32; 2]> = [&model.bodies[0].texture_coordinates, &model.rigid_bodies[0].texture_coordinates]
        .iter()
        .flat_map(|texture| texture.as_ref().unwrap().as_flattened().to_vec())
        .collect();
    let text = std::fs::read_to_string(folder.join("a_00001.obj")).unwrap();
    let lines = |start: &'static str| text.lines().filter_map(move |line| line.strip_prefix(start));
    let points: Vec<[f32; 2]> =
        lines("vt ").map(|l| l.split(' ').map(|x| x.parse().unwrap()).collect::<Vec<f32>>().try_into().unwrap()).collect();
    let (vertices, normals) = (lines("v ").count(), lines("vn ").count());
    assert!(vertices == x.len() && points.len() < texture.len() / 3);
    let (mut corners, mut places) = (0, std::collections::BTreeSet::new());
    for (corner, want) in lines("f ").flat_map(|line| line.split(' ')).zip(&texture) {
        let of: Vec<usize> = corner.split('/').map(|i| i.parse().unwrap()).collect();
        assert!(points[of[1] - 1] == *want && (1..=normals).contains(&of[2]), "{corner}");
        corners += 1;
        places.insert([of[0], of[1]]);
    }
    assert!(corners == texture.len() && places.len() > vertices, "{} of {vertices}", places.len());

    let bytes = std::fs::read(folder.join("a.glb")).unwrap();
    let gltf = ::gltf::Gltf::from_slice(&bytes).unwrap();
    let n_rest = model.bodies[0].vertices.len();
    for mesh in gltf.meshes() {
        let primitive = mesh.primitives().next().unwrap();
        let reader = primitive.reader(|_| gltf.blob.as_deref());
        let drawn: Vec<[f32; 3]> = reader.read_positions().unwrap().collect();
        let coordinates: Vec<[f32; 2]> = reader.read_tex_coords(0).unwrap().into_f32().collect();
        // By the place at rest that they were made from.
        for (p, [u, v]) in drawn.iter().zip(&coordinates) {
            let x = if mesh.name() == Some("soft") { p[0] / 1.5 } else { p[0] };
            let chart = (u - (2.0 * x + 0.5)).round();
            assert!((u - chart - (2.0 * x + 0.5)).abs() < 1e-5 && (1.0 - v - (2.0 * p[1] + 0.5)).abs() < 1e-5);
            // Of a ball that is the cap above half its radius; triangles across its border belong to either.
            assert!((chart == 0.0 || chart == 1.0) && ((p[2] - 0.05).abs() < 0.04 || (p[2] > 0.05) == (chart == 1.0)), "{p:?} {u}");
        }
        // The seam is there twice.
        assert!(drawn.len() > n_rest && drawn.len() < 2 * n_rest, "{} of {n_rest}", drawn.len());
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A box with a texture of two charts in an OBJ file becomes a body whose vertices are one where the charts meet, and
/// comes back out of each format with every corner where it was.
#[test]
fn a_texture_with_a_seam_comes_in_and_goes_out() {
    let folder = folder("seam");
    let cube = crate::mesh::shapes::surface_box(Vec3::repeat(1.0));
    // Every corner with coordinates of its own in the file, even a vertex: as programs write what they drew.
    let mut text = String::new();
    for t in 0..cube.triangles.len() {
        for (p, [u, v]) in cube.corners(t).iter().zip(charted(cube.corners(t))) {
            text += &format!("v {} {} {}\nvt {u} {v}\n", p.x, p.y, p.z);
        }
        text += "f -3/-3 -2/-2 -1/-1\n";
    }
    std::fs::write(folder.join("in.obj"), text).unwrap();
    let built = build(&Scene::from_mesh_with(&folder.join("in.obj"), &["body.0.tets=1000".into()]).unwrap()).unwrap();
    let body = &built.model.bodies[0];
    let n = body.triangles.len();
    // Cut into smaller triangles, and closed: V - E + F = 2.
    assert!(n > 12 && body.vertices.len() + n - 3 * n / 2 == 2, "{n} triangles");
    assert_eq!(body.texture_coordinates.as_ref().unwrap().len(), n);

    let subject = Subject {
        name: "seam".into(),
        model: built.model.clone(),
        frames_per_second: 50.0,
        n_frames: 2,
        camera: built.camera,
        light: built.light,
        size: [64, 48],
    };
    let mut simulation = Simulation::new(built, &Options::default()).unwrap();
    let frame = Frames::new(&subject.model).unwrap().take(&mut simulation).unwrap();
    for name in ["out.obj", "out.ply", "out.glb"] {
        export(&folder.join(name), &subject, &[frame.clone(), frame.clone()]);
        let numbered = folder.join(name.replace("out.", "out_00000."));
        let file = if name == "out.glb" { folder.join(name) } else { numbered };
        let read = crate::mesh::read_surface(&file).unwrap();
        let texture = read.texture_coordinates.clone().unwrap();
        // The floor follows, which has none. The box was made 0.3 m wide, with its bottom at 0.05 m.
        let unplaced = |p: Vec3| (p - Vec3::new(0.0, 0.2, 0.0)) / 0.3;
        for t in 0..n {
            let (found, want) = (texture[t], charted(read.corners(t).map(unplaced)));
            let apart = found.as_flattened().iter().zip(want.as_flattened()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(apart < 1e-5, "{name}: {found:?} {want:?}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn places_that_cannot_be_written_are_told_at_once() {
    let folder = folder("places");
    let (subject, ..) = run(1);
    for (ending, format, _) in Format::ENDINGS {
        let path = folder.join("nowhere").join(format!("a.{ending}"));
        let error = exporter(format, &path, &subject).err().expect("the folder does not exist");
        assert!(error.is_refusal() && error.to_string().contains("does not exist"), "{ending}: {error}");
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    assert!(OutputFile::save(&folder, b"").is_err());
    std::fs::remove_dir_all(&folder).unwrap();
}
