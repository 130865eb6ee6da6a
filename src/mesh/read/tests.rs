use std::path::PathBuf;

use super::*;
use crate::mesh::doctor::diagnose;
use crate::mesh::{assets, shapes, write_obj};

fn fixture(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "data", name].iter().collect()
}

fn message(name: &str, text: impl AsRef<[u8]>) -> String {
    parse_surface(name, text.as_ref()).unwrap_err().to_string()
}

/// Vertices, triangles and signed volume as measured by independent tools.
fn assert_facts(name: &str, surface: &SurfaceMesh, vertices: usize, triangles: usize, volume: f64) {
    let found = diagnose(surface);
    assert_eq!((found.vertices, found.triangles), (vertices, triangles), "{name}");
    assert!(found.is_closed() && found.is_manifold() && found.misoriented_edges == 0, "{name}: {found:?}");
    assert!((found.signed_volume / volume - 1.0).abs() < 1e-5, "{name}: {}", found.signed_volume);
}

#[test]
fn fixtures_of_each_format_have_their_known_facts() {
    for (name, vertices, triangles, volume) in [
        ("cube.off", 8, 12, 8.0),
        ("joint.off", 221, 446, 0.359494),
        ("sphere_ascii.stl", 162, 320, 0.505952),
        ("sphere_binary.stl", 162, 320, 0.505952),
    ] {
        assert_facts(name, &read_surface(&fixture(name)).unwrap(), vertices, triangles, volume);
    }
}

#[test]
fn built_in_meshes_have_their_known_facts() {
    let facts = [
        ("armadillo.obj", 6002, 12000, 237257.4),
        ("bunny.obj", 6102, 12200, 0.8758),
        ("bunny_coarse.obj", 371, 738, 0.86522),
        ("dragon.obj", 6002, 12000, 229956.06),
        ("elephant.off", 2775, 5558, 0.0462012),
        ("gear_pinion.off", 650, 1300, 0.821014),
        ("hand.off", 1197, 2390, 0.242151),
        ("knot.off", 2080, 4160, 0.0824209),
        ("mushroom_closed.off", 2338, 4672, 0.2112895),
        ("nut_hex.ply", 523, 1046, 32171.3),
    ];
    assert_eq!(facts.map(|(name, ..)| name), assets::NAMES);
    for (name, vertices, triangles, volume) in facts {
        assert_facts(name, &parse_surface(name, assets::builtin(name).unwrap()).unwrap(), vertices, triangles, volume);
    }
    assert_eq!(assets::builtin("teapot.obj"), None);
}

#[test]
fn an_open_scan_is_read_and_diagnosed() {
    let found = diagnose(&read_surface(&fixture("bunny_res4_scan_open.ply")).unwrap());
    assert_eq!((found.vertices, found.triangles, found.pieces), (453, 948, 1));
    assert_eq!((found.boundary_edges, found.non_manifold_edges, found.repeated_triangles), (26, 70, 40));
    assert!((found.area - 0.0545925).abs() < 1e-6);
}

#[test]
fn polygons_become_fans_in_every_text_format() {
    let square = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n";
    let want = vec![[0, 1, 2], [0, 2, 3]];
    for (name, text) in [
        ("a.obj", format!("# a square\no part\n{square}vt 0 0\nvn 0 0 1\nf 1/1/1 2//1 3/1 4\n")),
        ("negative.obj", format!("{square}s off\nf -4 -3 -2 -1\n")),
        ("faces_first.OBJ", format!("f 1 2 3 4\n{square}")),
        ("a.off", "OFF 4 1 0\n0 0 0\n1 0 0 # a comment\n\n1 1 0\n0 1 0\n4 0 1 2 3 255 0 0\n".to_owned()),
        ("colours.off", "COFF\n4 1\n0 0 0 9 9 9 9\n1 0 0 9 9 9 9\n1 1 0 9 9 9 9\n0 1 0 9 9 9 9\n4 0 1 2 3\n".to_owned()),
        (
            "a.ply",
            "ply\nformat ascii 1.0\nelement vertex 4\nproperty double x\nproperty double y\nproperty double z\nproperty uchar red\n\
             element face 1\nproperty list uchar uint vertex_index\nend_header\n0 0 0 7\n1 0 0 7\n1 1 0 7\n0 1 0 7\n4 0 1 2 3\n"
                .to_owned(),
        ),
    ] {
        let surface = parse_surface(name, text.as_bytes()).unwrap();
        assert_eq!(surface.triangles, want, "{name}");
        assert_eq!(surface.positions[2], Vec3::new(1.0, 1.0, 0.0), "{name}");
    }
}

#[test]
fn written_surfaces_are_read_back_unchanged() {
    let surface = shapes::surface_torus(1.0 / 3.0, 0.1, 12);
    assert_eq!(parse_surface("torus.obj", write_obj(&surface).as_bytes()).unwrap(), surface);
}

#[test]
fn stl_without_a_name_is_text_all_the_same() {
    let text = std::fs::read_to_string(fixture("sphere_ascii.stl")).unwrap();
    let (_, body) = text.split_once('\n').unwrap();
    assert_eq!(parse_surface("a.stl", format!("solid\n{body}").as_bytes()).unwrap().triangles.len(), 320);
}

#[test]
fn errors_name_file_line_reason_and_remedy() {
    for (name, text, want) in [
        ("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "a.obj:4: a face names vertex 9, but the file has 3 vertices"),
        ("a.obj", "v 0 0 0\nf 1 0 1\n", "a.obj:2: the vertex index 0"),
        ("a.obj", "v 0 0\n", "a.obj:1: a vertex has fewer than three coordinates"),
        ("a.obj", "v 0 0 zero\n", "a.obj:1: 'zero' is not a number"),
        ("a.obj", "v 0 0 nan\n", "a.obj:1: the coordinate 'nan' is not finite"),
        ("a.obj", "v 0 0 1e999\n", "a.obj:1: the coordinate '1e999' is not finite"),
        ("a.obj", "v 0 0 0\nf 1 1\n", "a.obj:2: a face has 2 corners"),
        ("a.obj", "v 0 0 0\n", "a.obj: the file has no triangles"),
        ("a.obj", "", "a.obj: the file is empty"),
        ("a.off", "\n# nothing\n", "a.off: the file is empty"),
        ("a.off", "PLY\n", "a.off:1: 'PLY' is not the header"),
        ("a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n", "a.off: the file ends before vertex 2 of 3"),
        ("a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 3\n", "a.off:6: a face names vertex 3"),
        ("a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1\n", "a.off:6: a face ends early"),
        ("a.off", "OFF\nmany\n", "a.off:2: the counts"),
        ("a.ply", "ply\nformat ascii 1.0\nelement vertex 9000000000\nproperty float x\nend_header\n", "a.ply: the header promises"),
        ("a.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n0\n", "a.ply: its vertices lack x, y or z"),
        ("a.stl", "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\n", "a.stl: the STL data is malformed"),
        ("a.fbx", "x", "a.fbx: the format 'fbx' is not known; use a file that ends in .obj"),
    ] {
        let found = message(name, text);
        assert!(found.starts_with(want), "{found}");
        assert!(found.contains(';'), "no remedy: {found}");
    }
    let missing = read_surface(&fixture("no_such_file.obj")).unwrap_err().to_string();
    assert!(missing.contains("no_such_file.obj") && missing.contains("check its path"), "{missing}");
    let text = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 1\n\
                property list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 nan\n3 0 1 2\n";
    let found = message("a.ply", text);
    assert!(found.starts_with("a.ply:12: ") && found.contains("nan") && !found.contains("Line"), "{found}");
    let mut binary = assets::builtin("nut_hex.ply").unwrap().to_vec();
    let payload = binary.windows(11).position(|w| w == b"end_header\n").unwrap() + 11;
    binary[payload + 12..payload + 16].copy_from_slice(&f32::NAN.to_le_bytes());
    let found = message("a.ply", binary);
    assert!(found.contains("vertex 1 is not a finite point"), "{found}");
    assert!(message("a.ply", text.replace("nan", "0").replace("3 0 1 2", "3 0 1 7")).contains("names vertex 7"));
    assert!(message("a.ply", text.replace("nan", "0").replace("3 0 1 2", "3 0 1 -7")).contains("negative vertex index"));
}

#[test]
fn damaged_files_are_errors_and_never_panic() {
    let files = ["cube.off", "joint.off", "sphere_ascii.stl", "sphere_binary.stl", "bunny_res4_scan_open.ply"]
        .map(|name| (name, std::fs::read(fixture(name)).unwrap()));
    let nut = ("nut_hex.ply", assets::builtin("nut_hex.ply").unwrap().to_vec());
    let torus = ("torus.obj", write_obj(&shapes::surface_torus(1.0, 0.3, 8)).into_bytes());
    // A fixed sequence of pseudo-random numbers [Steele & Vigna, splitmix64].
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % below as u64) as usize
    };
    for (name, bytes) in files.into_iter().chain([nut, torus]) {
        for _ in 0..40 {
            let cut = random(bytes.len());
            // A text cut within its last number or an OBJ cut between faces may still be a surface; it must then be sound.
            if let Ok(surface) = parse_surface(name, &bytes[..cut]) {
                surface.check().unwrap();
                assert!(name.ends_with(".obj") || cut + 16 > bytes.len(), "{name} cut at {cut} of {}", bytes.len());
            }
            let mut damaged = bytes.clone();
            for _ in 0..1 + random(8) {
                let at = random(damaged.len());
                damaged[at] = random(256) as u8;
            }
            if let Ok(surface) = parse_surface(name, &damaged) {
                surface.check().unwrap();
                diagnose(&surface);
            }
        }
    }
}
