//! Universal Scene Description as text. The files were opened with `usd-core` 26.11 by hand.

use super::*;

/// The tuples of numbers in a list.
fn numbers<const N: usize>(list: &str) -> Vec<[f32; N]> {
    let inner = list.trim().trim_start_matches("[(").trim_end_matches(")]");
    let tuple = |text: &str| text.split(", ").map(|x| x.parse().unwrap()).collect::<Vec<f32>>().try_into().unwrap();
    inner.split("), (").map(tuple).collect()
}

#[test]
fn usd_tells_every_body_and_frame() {
    let folder = folder("usd");
    let (subject, frames, _) = run(3);
    let path = folder.join("tiny.usda");
    let written = export(&path, &subject, &frames);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(written.frames == 3 && written.bytes == text.len() as u64 && text.starts_with("#usda 1.0\n("));
    for (open, close) in [('{', '}'), ('(', ')'), ('[', ']')] {
        assert_eq!(text.matches(open).count(), text.matches(close).count(), "{open}");
    }
    for line in ["upAxis = \"Y\"", "metersPerUnit = 1", "timeCodesPerSecond = 50", "startTimeCode = 0", "endTimeCode = 2"] {
        assert!(text.contains(&format!("\n    {line}\n")), "{line}");
    }
    let surfaces = surfaces::Surfaces::new(&subject.model);
    let meshes: Vec<&str> = text.split("    def Mesh ").skip(1).collect();
    assert_eq!(meshes.len(), surfaces.parts.len());
    for (mesh, part) in meshes.iter().zip(&surfaces.parts) {
        assert!(mesh.starts_with(&format!("\"{}\"", part.name)) && mesh.contains("subdivisionScheme = \"none\""), "{}", part.name);
        let line = |start: &str| mesh.lines().find_map(|line| line.trim().strip_prefix(start)).unwrap_or_else(|| panic!("no {start}"));
        let indices =
            |start: &str| -> Vec<u32> { line(start).trim_matches(['[', ']', ' ']).split(", ").map(|i| i.parse().unwrap()).collect() };
        let corners: Vec<u32> =
            surfaces.triangles[part.triangles.clone()].as_flattened().iter().map(|v| v - part.vertices.start as u32).collect();
        assert_eq!(indices("int[] faceVertexIndices = "), corners);
        assert_eq!(indices("int[] faceVertexCounts = "), vec![3; corners.len() / 3]);
        let samples = |attribute: &str| -> Vec<(f64, &str)> {
            let inside = mesh.split(&format!("{attribute}.timeSamples = {{\n")).nth(1).unwrap().split("\n        }").next().unwrap();
            inside
                .lines()
                .map(|line| line.trim().trim_end_matches(',').split_once(": ").unwrap())
                .map(|(t, v)| (t.parse().unwrap(), v))
                .collect()
        };
        let points = samples("point3f[] points");
        let normals = numbers::<3>(samples("normal3f[] primvars:normals")[0].1);
        assert!(normals.iter().all(|n| (Vec3::from(n.map(f64::from)).norm() - 1.0).abs() < 1e-5));
        let named = indices("int[] primvars:normals:indices = ");
        assert!(named.len() == corners.len() && named.iter().all(|n| (*n as usize) < normals.len()));
        if part.carrier == surfaces::Carrier::Soft {
            assert_eq!(points.len(), 3);
            for (k, (code, list)) in points.iter().enumerate() {
                assert!((code - k as f64).abs() < 1e-9, "{code}");
                assert!(error(&numbers(list), &surface(&subject, &frames[k])[part.vertices.clone()]) < 1.0);
            }
        } else {
            let (at, turned) = (samples("double3 xformOp:translate"), samples("quatf xformOp:orient"));
            assert!(points.len() == 1 && at.len() == 3 && turned.len() == 3);
            let values = |text: &str| numbers::<4>(&format!("[{text}]"))[0];
            let [w, x, y, z] = values(turned[2].1);
            let pose = recording_pose(numbers::<3>(&format!("[{}]", at[2].1))[0], [x, y, z, w]);
            let placed: Vec<[f32; 3]> = numbers::<3>(points[0].1)
                .iter()
                .map(|p| fields::single(&(pose * nalgebra::Point3::from(Vec3::from(p.map(f64::from)))).coords))
                .collect();
            let want = &surface(&subject, &frames[2])[part.vertices.clone()];
            let size = want.iter().map(|p| p.norm()).fold(1.0, f64::max);
            assert!(error(&placed, want) < 8.0 * size, "{}", part.name);
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn usd_has_textures_and_names_of_its_own() {
    let folder = folder("usd-texture");
    let mut subject = textured();
    let model = std::sync::Arc::make_mut(&mut subject.model);
    // Two of one name, with what a prim may not be called.
    model.bodies[0].name = "2 \"soft\"".into();
    model.rigid_bodies[0].name = "2 'soft'".into();
    let frame = still(&subject);
    export(&folder.join("a.usda"), &subject, &[frame]);
    let text = std::fs::read_to_string(folder.join("a.usda")).unwrap();
    assert!(text.contains("def Mesh \"_2__soft_\" (\n        displayName = \"2 \\\"soft\\\"\"\n"), "{}", &text[..500]);
    assert!(text.contains("def Mesh \"_2__soft__2\" (\n        displayName = \"2 'soft'\"\n"));
    let coordinates: Vec<[f32; 2]> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("texCoord2f[] primvars:st = "))
        .flat_map(|l| numbers(l.trim_end_matches(" (")))
        .collect();
    let want = subject.model.bodies[0].texture_coordinates.as_ref().unwrap().as_flattened();
    assert!(coordinates[..want.len()] == *want && coordinates.len() == 2 * want.len());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn usd_keeps_the_colors_of_triangles() {
    let folder = folder("usd-colors");
    let (subject, frame) = two_colors();
    export(&folder.join("a.usda"), &subject, &[frame]);
    let text = std::fs::read_to_string(folder.join("a.usda")).unwrap();
    let lines: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("color3f[] primvars:displayColor = ")).collect();
    let colors: Vec<String> = subject.model.bodies[0]
        .parts
        .as_ref()
        .and_then(SurfaceParts::colors)
        .unwrap()
        .iter()
        .map(|[r, g, b]| format!("({r}, {g}, {b})"))
        .collect();
    assert_eq!(lines[0], format!("[{}] (", colors.join(", ")));
    assert!(lines.len() == 5 && lines[1..].iter().all(|line| line.ends_with(")]")), "other bodies have one colour each");
    std::fs::remove_dir_all(&folder).unwrap();
}
