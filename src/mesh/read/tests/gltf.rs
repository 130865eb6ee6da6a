//! glTF: what is placed where, and files that are not whole.

use super::*;

/// The indices of two triangles and the corners of a unit square.
fn square() -> Vec<u8> {
    let indices: Vec<u8> = [0u16, 1, 2, 0, 2, 3].iter().flat_map(|i| i.to_le_bytes()).collect();
    let corners: Vec<u8> =
        [[0f32, 0., 0.], [1., 0., 0.], [1., 1., 0.], [0., 1., 0.]].as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect();
    [indices, corners].concat()
}

/// A scene of two of these squares; `buffer` says where their data are.
fn json(buffer: &str) -> String {
    format!(
        r#"{{ "asset": {{ "version": "2.0" }}, "scene": 0, "scenes": [{{ "nodes": [0] }}],
        "nodes": [{{ "children": [1, 2], "translation": [0, 0, 5], "scale": [2, 2, 2] }},
                  {{ "mesh": 0, "rotation": [0, 0, 0.7071067811865476, 0.7071067811865476] }},
                  {{ "mesh": 0, "matrix": [-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1] }}, {{ "mesh": 0 }}],
        "meshes": [{{ "primitives": [{{ "attributes": {{ "POSITION": 1 }}, "indices": 0 }}, {{ "attributes": {{ "POSITION": 1 }}, "mode": 0 }}] }}],
        "accessors": [{{ "bufferView": 0, "componentType": 5123, "count": 6, "type": "SCALAR" }},
                      {{ "bufferView": 1, "componentType": 5126, "count": 4, "type": "VEC3" }}],
        "bufferViews": [{{ "buffer": 0, "byteLength": 12 }}, {{ "buffer": 0, "byteOffset": 12, "byteLength": 48 }}],
        "buffers": [{{ "byteLength": 60{buffer} }}] }}"#
    )
}

/// A .glb file, its chunks not padded.
fn glb(json: &str, binary: &[u8]) -> Vec<u8> {
    let chunk = |kind: &[u8], data: &[u8]| [&(data.len() as u32).to_le_bytes()[..], kind, data].concat();
    [b"glTF\x02\0\0\0\0\0\0\0".to_vec(), chunk(b"JSON", json.as_bytes()), chunk(b"BIN\0", binary)].concat()
}

#[test]
fn gltf_nodes_place_their_meshes() {
    let bytes = square();
    let text = json(r#", "uri": "side%20car.bin""#);
    let file = read_mesh("a.gltf", text.as_bytes(), Format::Gltf, &|name| {
        assert_eq!(name, "side car.bin");
        Ok(bytes.clone())
    });
    let file = file.unwrap();
    assert!(file.notes.iter().any(|note| note.contains("no triangles")), "{:?}", file.notes);
    let found = surface(file);
    // The third node is not in the scene. A quarter turn, then twice as large, then up; mirrored, it is turned to face
    // the same way.
    assert_eq!((found.positions.len(), found.triangles.len()), (8, 4));
    assert!(
        (found.positions[1] - Vec3::new(0.0, 2.0, 5.0)).norm() < 1e-12 && (found.positions[5] - Vec3::new(-2.0, 0.0, 7.0)).norm() < 1e-12
    );
    for t in 0..4 {
        let [a, b, c] = found.corners(t);
        assert!((b - a).cross(&(c - a)).z > 3.9);
    }
    // The same scene in one file.
    let glb = glb(&json(""), &bytes);
    assert_eq!(surface(read("a.glb", &glb).unwrap()), found);
    assert_eq!(surface(read("misnamed.obj", &glb).unwrap()), found);
    // Parts keep their colours, those without one are grey beside them.
    let colored = text
        .replace("\"primitives\": [", "\"primitives\": [{ \"attributes\": { \"POSITION\": 1 }, \"indices\": 0, \"material\": 0 }, ")
        .replace("\"accessors\"", "\"materials\": [{ \"pbrMetallicRoughness\": { \"baseColorFactor\": [1, 0.5, 0, 1] } }], \"accessors\"");
    let colored = surface(read_mesh("a.gltf", colored.as_bytes(), Format::Gltf, &|_| Ok(bytes.clone())).unwrap());
    let (orange, grey) = ([1.0, 0.5, 0.0], [0.5; 3]);
    let parts = colored.parts.unwrap();
    assert_eq!(parts.colors().unwrap(), [orange, orange, grey, grey, orange, orange, grey, grey]);
    assert_eq!(found.parts, None);
    // A scene that paints the body leaves the names that there are.
    assert_eq!(parts.unpainted(), None);
    // Nodes tell parts from each other, by name.
    let named = text
        .replace("{ \"mesh\": 0, \"rot", "{ \"name\": \"left\", \"mesh\": 0, \"rot")
        .replace("{ \"mesh\": 0, \"mat", "{ \"name\": \"right\", \"mesh\": 0, \"mat");
    let named = read_mesh("a.gltf", named.as_bytes(), Format::Gltf, &|_| Ok(bytes.clone())).unwrap();
    assert!(named.notes.contains(&"its parts keep their names in exports: left, right".to_owned()), "{:?}", named.notes);
    let parts = surface(named).parts.unwrap();
    let names: Vec<&str> = parts.of_triangles.iter().map(|part| parts.parts[*part as usize].name.as_str()).collect();
    assert_eq!((names, parts.colors()), (vec!["left", "left", "right", "right"], None));
    assert_eq!(parts.clone().unpainted(), Some(parts));
    // Texture seams are welded.
    let cube = surface(open_mesh(&fixture("box_textured.glb")).unwrap());
    assert_eq!((cube.positions.len(), cube.triangles.len()), (24, 12));
    assert_facts("box_textured.glb", &mend(cube), 8, 12, 1.0);

    for (change, to, want) in [
        ("\"count\": 4", "\"count\": 4000000000", "accessor 1: its 4000000000 elements end at byte 48000000000"),
        ("\"children\": [1, 2]", "\"children\": [1, 0]", "node 0 has several parents"),
        ("\"mesh\": 0, \"rot", "\"mesh\": 7, \"rot", "it names mesh 7, which it does not have"),
        ("\"asset\"", "\"extensionsRequired\": [\"KHR_draco_mesh_compression\"], \"asset\"", "needs the extension 'KHR_draco"),
        ("\"byteLength\": 12", "\"byteLength\": 8", "accessor 0: its 6 elements end at byte 12 of buffer view 0, which has 8"),
        ("5123", "5124", "numbers of type 5124"),
        ("\"scene\": 0", "\"scene\": x", "the JSON is not that of glTF"),
    ] {
        let found = message(
            "a.gltf",
            json(", \"uri\": \"data:application/octet-stream;base64,BASE\"").replace(change, to).replace("BASE", &"A".repeat(80)),
        );
        assert!(found.starts_with("a.gltf: ") && found.contains(want), "{found}");
    }
    assert!(message("a.gltf", text).contains("keep its files together"));
}

/// A buffer shorter than it says or than its views, a view shorter than its accessors: in a file beside, in a .glb and
/// in the text.
#[test]
fn gltf_files_that_are_not_whole_are_refused() {
    let bytes = square();
    // 60 bytes in base64: digits and no padding.
    let data = |n: usize| format!(", \"uri\": \"data:application/octet-stream;base64,{}\"", "A".repeat(n / 3 * 4));
    let beside = |text: &str, bytes: &[u8]| read_mesh("a.gltf", text.as_bytes(), Format::Gltf, &|_| Ok(bytes.to_vec())).map(surface);
    let apart = ", \"uri\": \"square.bin\"";
    assert!(
        beside(&json(apart), &bytes).is_ok() && read("a.glb", glb(&json(""), &bytes)).is_ok() && read("a.gltf", json(&data(60))).is_ok()
    );

    let want = "buffer 0 should have 60 bytes, but 57 are there; it may be cut off: fetch it again, or export it again as .glb";
    for found in [
        beside(&json(apart), &bytes[..57]).unwrap_err().to_string(),
        message("a.glb", glb(&json(""), &bytes[..57])),
        message("a.gltf", json(&data(57))),
    ] {
        assert!(found.starts_with("a.gl") && found.ends_with(want), "{found}");
    }
    for (change, to, want) in [
        // The buffer says itself that it is shorter than its second view, whatever follows in the file.
        ("\"byteLength\": 60", "\"byteLength\": 56", "buffer view 1 ends at byte 60 of buffer 0, which has 56 bytes; it may be cut off"),
        ("\"byteOffset\": 12", "\"byteOffset\": 16", "buffer view 1 ends at byte 64 of buffer 0, which has 60 bytes"),
        ("\"byteOffset\": 12", "\"byteOffset\": 18446744073709551615", "buffer view 1 ends at byte 18446744073709551615 of buffer 0"),
        // A view that no mesh uses.
        ("\"bufferViews\": [", "\"bufferViews\": [{ \"buffer\": 0, \"byteLength\": 99 }, ", "buffer view 0 ends at byte 99 of buffer 0"),
        ("\"buffer\": 0, \"byteO", "\"buffer\": 3, \"byteO", "it names buffer 3, which it does not have"),
        ("\"byteLength\": 48", "\"byteLength\": 47", "accessor 1: its 4 elements end at byte 48 of buffer view 1, which has 47 bytes"),
        ("\"count\": 4,", "\"count\": 5,", "accessor 1: its 5 elements end at byte 60 of buffer view 1, which has 48 bytes"),
        ("\"count\": 4,", "\"count\": 0,", "accessor 1: it has no elements"),
        ("\"count\": 4,", "\"byteOffset\": 4, \"count\": 4,", "accessor 1: its 4 elements end at byte 52 of buffer view 1"),
        ("\"byteLength\": 48", "\"byteLength\": 48, \"byteStride\": 16", "accessor 1: its 4 elements end at byte 60 of buffer view 1"),
    ] {
        let [apart, inside, base64] = [apart, "", &data(60)].map(|buffer| {
            let text = json(buffer);
            assert!(text.contains(change), "{change}");
            text.replace(change, to)
        });
        for found in [beside(&apart, &bytes).unwrap_err().to_string(), message("a.glb", glb(&inside, &bytes)), message("a.gltf", &base64)] {
            assert!(found.contains(want) && found.contains(';'), "{found}");
        }
    }
    // Padding behind a buffer is none of its bytes.
    let padded = [&bytes[..], &[0; 3]].concat();
    assert_eq!(surface(read("a.glb", glb(&json(""), &padded)).unwrap()), beside(&json(apart), &padded).unwrap());
}

#[test]
fn parts_without_a_texture_have_zeros_among_others() {
    let plain = r#"{ "attributes": { "POSITION": 1 }, "indices": 0 }"#;
    let rich = r#"{ "attributes": { "POSITION": 1, "NORMAL": 1, "TEXCOORD_0": 2 }, "indices": 0 }"#;
    let text = json("").replace(plain, &format!("{plain}, {rich}, {plain}"));
    let corners = r#""type": "VEC3" }]"#;
    let flat = r#"{ "bufferView": 1, "componentType": 5126, "count": 4, "type": "VEC2" }]"#;
    let text = text.replace(corners, &corners.replace(']', &format!(", {flat}")));
    let found = surface(read("a.glb", glb(&text, &square())).unwrap());
    assert_eq!(found.triangles.len(), 12);
    let texture = found.texture_coordinates.as_ref().unwrap();
    let zero = [[0.0; 2]; 3];
    let is_textured: Vec<bool> = texture.iter().map(|corners| *corners != zero).collect();
    assert_eq!(is_textured, [false, false, true, true, false, false, false, false, true, true, false, false]);
    // A part without normals gets the normals of its triangles.
    let normals = found.normals.as_ref().unwrap();
    assert!(
        normals.len() == 12
            && normals[0] == found.flat_normals(0)
            && normals[11] == found.flat_normals(11)
            && normals[2] != found.flat_normals(2)
    );
}
