//! glTF, read back by others and by ourselves.

use super::*;

#[test]
fn gltf_plays_the_frames() {
    let folder = folder("gltf");
    let (subject, frames, _) = run(4);
    for name in ["tiny.glb", "two files.gltf"] {
        let path = folder.join(name);
        let written = export(&path, &subject, &frames);
        let bytes = std::fs::read(&path).unwrap();
        let gltf = ::gltf::Gltf::from_slice(&bytes).unwrap();
        let blob = gltf.blob.clone().unwrap_or_else(|| std::fs::read(path.with_extension("bin")).unwrap());
        assert_eq!(written.frames, 4);
        let model = &subject.model;
        let surfaces = surfaces::Surfaces::new(model);
        let animation = gltf.animations().next().unwrap();
        let [last, first] = [3, 0].map(|k| surface(&subject, &frames[k]));
        for (node, part) in gltf.nodes().zip(&surfaces.parts) {
            assert_eq!(node.name(), Some(part.name.as_str()));
            let primitive = node.mesh().unwrap().primitives().next().unwrap();
            let reader = primitive.reader(|_| Some(&blob));
            let base: Vec<[f32; 3]> = reader.read_positions().unwrap().collect();
            let indices: Vec<u32> = reader.read_indices().unwrap().into_u32().collect();
            assert!(reader.read_normals().unwrap().all(|n| (Vec3::from(n.map(f64::from)).norm() - 1.0).abs() < 1e-5));
            // Drawn corners of the triangles, as they are in the last frame.
            let want = |positions: &[Vec3]| -> Vec<Vec3> {
                surfaces.triangles[part.triangles.clone()].as_flattened().iter().map(|v| positions[*v as usize]).collect()
            };
            let corners = |positions: &[[f32; 3]]| -> Vec<[f32; 3]> { indices.iter().map(|i| positions[*i as usize]).collect() };
            let channel = |path: ::gltf::animation::Property| {
                let mut channels = animation.channels();
                channels.find(|c| c.target().node().index() == node.index() && c.target().property() == path)
            };
            if part.carrier == surfaces::Carrier::Soft {
                let targets: Vec<Vec<[f32; 3]>> = reader.read_morph_targets().map(|(moved, ..)| moved.unwrap().collect()).collect();
                assert!(targets.len() == 4 && error(&corners(&base), &want(&first)) < 1.0);
                let moved: Vec<[f32; 3]> = base.iter().zip(&targets[3]).map(|(a, d)| std::array::from_fn(|i| a[i] + d[i])).collect();
                assert!(error(&corners(&moved), &want(&last)) < 2.0);
                let weights = channel(::gltf::animation::Property::MorphTargetWeights).unwrap();
                let reader = weights.reader(|_| Some(&blob));
                let times: Vec<f32> = reader.read_inputs().unwrap().collect();
                assert!(times.iter().zip([0.0, 0.02, 0.04, 0.06]).all(|(a, b)| (a - b).abs() < 1e-6));
                let Some(::gltf::animation::util::ReadOutputs::MorphTargetWeights(weights)) = reader.read_outputs() else {
                    panic!("no weights")
                };
                let weights: Vec<f32> = weights.into_f32().collect();
                assert!((0..16).all(|i| weights[i] == f32::from(u8::from(i / 4 == i % 4))));
            } else {
                let translations = channel(::gltf::animation::Property::Translation).unwrap();
                let reader = translations.reader(|_| Some(&blob));
                let Some(::gltf::animation::util::ReadOutputs::Translations(at)) = reader.read_outputs() else { panic!("no translations") };
                let rotations = channel(::gltf::animation::Property::Rotation).unwrap();
                let reader = rotations.reader(|_| Some(&blob));
                let Some(::gltf::animation::util::ReadOutputs::Rotations(turned)) = reader.read_outputs() else { panic!("no rotations") };
                let (at, q) = (at.last().unwrap(), turned.into_f32().last().unwrap());
                let pose = recording_pose(at, q);
                let placed = base.iter().map(|p| {
                    let p = (pose * nalgebra::Point3::from(Vec3::from(p.map(f64::from)))).coords;
                    [p.x as f32, p.y as f32, p.z as f32]
                });
                let size = Vec3::from(part.vertices.clone().fold([0.0; 3], |_, v| last[v].into())).norm().max(1.0);
                assert!(error(&corners(&placed.collect::<Vec<_>>()), &want(&last)) < 8.0 * size, "{}", part.name);
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn gltf_keeps_the_names_and_colors_of_triangles() {
    let folder = folder("gltf-colors");
    let (subject, frame) = two_colors();
    let want = subject.model.bodies[0].parts.as_ref().and_then(SurfaceParts::colors).unwrap();
    for name in ["a.glb", "b.gltf"] {
        export(&folder.join(name), &subject, std::slice::from_ref(&frame));
        let mesh = crate::mesh::read_surface(&folder.join(name)).unwrap();
        let parts = mesh.parts.as_ref().unwrap();
        let names: Vec<&str> = parts.parts.iter().map(|part| part.name.as_str()).collect();
        assert!(names.contains(&"ball / west") && names.contains(&"ball / east"), "{name}: {names:?}");
        let colors = parts.colors().unwrap();
        for (side, color) in COLORS.iter().enumerate() {
            let of_color: Vec<usize> = (0..colors.len()).filter(|&t| colors[t] == *color).collect();
            assert_eq!(of_color.len(), want.iter().filter(|c| *c == color).count(), "{name}");
            for t in of_color {
                let sum: f64 = mesh.corners(t).iter().map(|corner| corner.x).sum();
                assert_eq!(usize::from(sum > 0.0), side, "{name}: triangle {t}");
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
