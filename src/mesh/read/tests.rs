mod curved;
mod gltf;
mod tags;

use std::path::PathBuf;

use super::*;
use crate::mesh::doctor::{diagnose, mend, mend_tets};
use crate::mesh::{assets, shapes, write_obj};

fn fixture(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "data", name].iter().collect()
}

/// Reads a file that has none beside it.
fn read(name: &str, bytes: impl AsRef<[u8]>) -> Result<MeshFile, MeshError> {
    let bytes = bytes.as_ref();
    read_mesh(name, bytes, Format::detect(name, bytes)?, &|_| Err("there is none".into()))
}

fn message(name: &str, text: impl AsRef<[u8]>) -> String {
    read(name, text).unwrap_err().to_string()
}

fn tets(file: MeshFile) -> TetMesh {
    let MeshData::Tets(tets) = file.data else { panic!("not a tet mesh: {:?}", file.notes) };
    tets
}

fn surface(file: MeshFile) -> SurfaceMesh {
    let MeshData::Surface(surface) = file.data else { panic!("not a surface: {:?}", file.notes) };
    surface
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
        ("bunny_2k.obj", 1839, 3674, 194.288),
        ("bear_skin.obj", 1986, 3968, 98.4293),
        ("rotor.off", 2400, 4800, 0.0192182),
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
fn tets_of_each_format_have_their_known_facts() {
    for (name, nodes, n_tets, volume, faces) in [
        ("bear.vtk", 1986, 5354, 98.4293, 3968),
        ("bunny_2k.ele", 2545, 9695, 194.288, 3674),
        ("bunny_2k.node", 2545, 9695, 194.288, 3674),
        ("armadillo_7k.vtk", 4874, 19091, 236596.0, 7000),
        ("tetgen_sample.ele", 89, 304, 1.0, 132),
        ("cube86.mesh", 39, 86, 1.0, 72),
        ("sphere_remesh.mesh", 757, 3586, 0.497467, 694),
    ] {
        let mesh = tets(open_mesh(&fixture(name)).unwrap());
        mesh.check().unwrap();
        assert_eq!((mesh.positions.len(), mesh.tets.len(), mesh.boundary().len()), (nodes, n_tets, faces), "{name}");
        assert!((mesh.total_volume() / volume - 1.0).abs() < 1e-5, "{name}: {}", mesh.total_volume());
    }
}

#[test]
fn one_bear_in_seven_files_is_one_bear() {
    let bear = tets(open_mesh(&fixture("bear.vtk")).unwrap());
    for name in ["bear.vtu", "bear.msh", "bear_v22_binary.msh", "bear_v41_binary.msh", "bear.mesh", "bear.ele"] {
        let same = tets(open_mesh(&fixture(name)).unwrap());
        assert_eq!(same.tets, bear.tets, "{name}");
        let apart = same.positions.iter().zip(&bear.positions).map(|(p, q)| (p - q).norm()).fold(0.0, f64::max);
        assert!(apart < 1e-6 && same.positions.len() == bear.positions.len(), "{name}: {apart:e}");
    }
    // And it is what stands under the skin of a surface file.
    let skin = read_surface(&fixture("bear_skin.obj")).unwrap();
    assert!((bear.surface().signed_volume() - skin.signed_volume()).abs() < 1e-9);
}

#[test]
fn texture_coordinates_are_read_of_corners() {
    let want = Some(vec![[[0.0, 0.5], [1.0, 0.25], [0.5, 0.75]], [[0.0, 0.5], [0.5, 0.75], [0.0, 0.0]]]);
    // Counted from the first, or back from the last; the fourth corner has none.
    let obj = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 .5\nvt 1 .25 0\nvn 0 0 1\nvt .5 .75\n";
    for face in ["f 1/1/1 2/2/1 3/3/1 4//1", "f -4/-3 -3/-2 -2/-1 -1"] {
        let file = read("a.obj", format!("{obj}{face}\n")).unwrap();
        assert!(file.notes.is_empty() && surface(file).texture_coordinates == want, "{face}");
    }
    assert_eq!(surface(read("a.obj", format!("{obj}f 1 2 3 4\n")).unwrap()).texture_coordinates, None);
    // Wrong ones are not worth the mesh.
    for (text, told) in [
        ("vt x\nf 1/1 2/2 3/3 4/4", "line 9 is wrong"),
        ("f 1/1 2/2 3/9 4/3", "point 9 of 3"),
        ("f 1/1 2/0 3/3 4/3", "line 9 is wrong"),
        ("f 1/1 2/-4 3/3 4/3", "line 9 is wrong"),
        ("vt nan 0\nf 1/1 2/2 3/3 4/4", "not finite"),
    ] {
        let file = read("a.obj", format!("{obj}{text}\n")).unwrap();
        assert!(file.notes.len() == 1 && file.notes[0].contains(told), "{text}: {:?}", file.notes);
        assert_eq!(surface(file).texture_coordinates, None);
    }

    let ply = |vertex: &str, face: &str, rows: [&str; 4], last: &str| {
        let rows: String = ["0 0 0", "1 0 0", "1 1 0", "0 1 0"].iter().zip(rows).map(|(p, t)| format!("{p} {t}\n")).collect();
        let head = "property float x\nproperty float y\nproperty float z\n";
        format!(
            "ply\nformat ascii 1.0\nelement vertex 4\n{head}{vertex}element face 1\nproperty list uchar int vertex_indices\n{face}end_header\n\
             {rows}4 0 1 2 3 {last}\n"
        )
    };
    let rows = ["0 .5", "1 .25", ".5 .75", "0 0"];
    for names in [["s", "t"], ["u", "v"], ["texture_u", "texture_v"]] {
        let file = ply(&format!("property float {}\nproperty float {}\n", names[0], names[1]), "", rows, "");
        assert_eq!(surface(read("a.ply", file).unwrap()).texture_coordinates, want);
    }
    let of_faces = ply("", "property list uchar float texcoord\n", [""; 4], "8 0 .5 1 .25 .5 .75 0 0");
    assert_eq!(surface(read("a.ply", of_faces).unwrap()).texture_coordinates, want);

    // The box's picture is there once on each side, from its upper left to its lower right corner.
    let box_of_six = surface(open_mesh(&fixture("box_textured.glb")).unwrap());
    let texture = box_of_six.texture_coordinates.clone().unwrap();
    assert_eq!((box_of_six.positions.len(), texture.len()), (24, 12));
    let mended = mend(box_of_six);
    assert_eq!((mended.positions.len(), mended.texture_coordinates), (8, Some(texture)));
}

const CUBE: &str = "0 0 0  1 0 0  1 1 0  0 1 0  0 0 1  1 0 1  1 1 1  0 1 1";

/// A cube as one hexahedron, and a tet with ten nodes, in every format that has such cells.
#[test]
fn hexahedra_are_split_and_curved_tets_keep_the_middles_of_their_edges() {
    // The edge from (0, 1, 0) to (0, 0, 1) is curved.
    let ten = "0 0 0  1 0 0  0 1 0  0 0 1  .5 0 0  .5 .5 0  0 .5 0  0 0 .5  .5 0 .5  .1 .5 .5";
    let ten_of_gmsh = "0 0 0  1 0 0  0 1 0  0 0 1  .5 0 0  .5 .5 0  0 .5 0  0 0 .5  .1 .5 .5  .5 0 .5";
    let numbered = |points: &str, first: usize| {
        let words: Vec<&str> = points.split_whitespace().collect();
        words.chunks(3).enumerate().map(|(i, p)| format!("{} {}\n", i + first, p.join(" "))).collect::<String>()
    };
    let eight = "0 1 2 3 4 5 6 7";
    let from_one = |n: usize| (1..=n).map(|i| i.to_string()).collect::<Vec<_>>().join(" ");
    let msh4 = |points: &str, n: usize, kind: usize| {
        let tags = from_one(n).replace(' ', "\n");
        format!(
            "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n3 1 \"a b\"\n$EndPhysicalNames\n$Nodes\n1 {n} 1 {n}\n3 1 0 {n}\n{tags}\n{points}\n\
             $EndNodes\n$Elements\n1 1 1 1\n3 1 {kind} 1\n1 {}\n$EndElements\n",
            from_one(n)
        )
    };
    let medit = |points: &str, n: usize, kind: &str| {
        let words: Vec<&str> = points.split_whitespace().collect();
        let points: String = words.chunks(3).map(|p| format!("{} 0\n", p.join(" "))).collect();
        format!("MeshVersionFormatted 1\nDimension\n3\nRidges 1\n7\nVertices\n{n}\n{points}{kind}\n1\n{} 0\nEnd\n", from_one(n))
    };
    let msh2 = format!(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n10\n{}$EndNodes\n$Elements\n2\n1 15 2 0 1 1\n2 11 2 0 1 {}\n$EndElements\n",
        numbered(ten_of_gmsh, 1),
        from_one(10)
    );
    let vtk = |points: &str, n: usize, cells: &str, kind: usize| {
        format!(
            "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS {n} double\n{points}\n{cells}\nCELL_TYPES 1\n{kind}\n"
        )
    };
    let vtk5 = format!("CELLS 2 8\nOFFSETS vtktypeint64\n0 8\nCONNECTIVITY vtktypeint64\n{eight}");
    for (name, text, n_tets, volume, note) in [
        ("hex.msh", msh4(CUBE, 8, 5), 6, 1.0, "1 hexahedra are split into six tets each"),
        ("ten.msh", msh4(ten_of_gmsh, 10, 11), 1, 1.0 / 6.0, ""),
        ("two.msh", msh2, 1, 1.0 / 6.0, "1 points, lines and faces"),
        ("hex.mesh", medit(CUBE, 8, "Hexahedra"), 6, 1.0, "hexahedra are split"),
        ("ten.mesh", medit(ten, 10, "TetrahedraP2"), 1, 1.0 / 6.0, ""),
        ("hex.vtk", vtk(CUBE, 8, &format!("CELLS 1 9\n8 {eight}"), 12), 6, 1.0, "hexahedra"),
        ("new.vtk", vtk(CUBE, 8, &vtk5, 12), 6, 1.0, "hexahedra"),
        ("voxel.vtk", vtk(CUBE, 8, "CELLS 1 9\n8 0 1 3 2 4 5 7 6", 11), 6, 1.0, "hexahedra"),
        ("ten.vtk", vtk(ten, 10, "CELLS 1 11\n10 0 1 2 3 4 5 6 7 8 9", 24), 1, 1.0 / 6.0, ""),
    ] {
        let file = read(name, &text).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
        assert!(note.is_empty() || file.notes.iter().any(|found| found.contains(note)), "{name}: {:?}", file.notes);
        let middles = file.middles.clone();
        let mesh = mend_tets(tets(file));
        let curved: Vec<Vec3> = middles.on(&mesh).into_iter().map(|(_, middle)| middle).collect();
        assert_eq!((curved.len(), middles.is_empty()), (usize::from(n_tets == 1), n_tets != 1), "{name}");
        assert!(curved.iter().all(|middle| *middle == Vec3::new(0.1, 0.5, 0.5)), "{name}: {curved:?}");
        assert_eq!(mesh.tets.len(), n_tets, "{name}");
        assert!((mesh.total_volume() - volume).abs() < 1e-12, "{name}");
    }
    // Surfaces in volume formats.
    let quad = vtk("0 0 0 1 0 0 1 1 0 0 1 0", 4, "POLYGONS 1 5\n4 0 1 2 3", 0).replace("UNSTRUCTURED_GRID", "POLYDATA");
    let quad = quad.split("CELL_TYPES").next().unwrap();
    assert_eq!(surface(read("a.vtk", quad).unwrap()).triangles, [[0, 1, 2], [0, 2, 3]]);
}

/// The cube of one hexahedron as .vtu, stored in the ways that VTK has.
#[test]
fn vtu_files_are_read_however_they_are_stored() {
    let points: Vec<u8> = CUBE.split_whitespace().flat_map(|x| x.parse::<f64>().unwrap().to_be_bytes()).collect();
    let connectivity: Vec<u8> = (0..8i64).flat_map(i64::to_be_bytes).collect();
    let arrays = [points, connectivity, 8i64.to_be_bytes().to_vec(), vec![12]];
    let piece = |array: &dyn Fn(usize, &str, &str) -> String| {
        format!(
            "<UnstructuredGrid><Piece NumberOfPoints=\"8\" NumberOfCells=\"1\"><PointData>{}</PointData><Points>{}</Points><Cells>{}{}{}</Cells>\
             </Piece></UnstructuredGrid>",
            array(1, "Int64", "u"),
            array(0, "Float64", "Points"),
            array(1, "Int64", "connectivity"),
            array(2, "Int64", "offsets"),
            array(3, "UInt8", "types")
        )
    };
    let head = "<?xml version=\"1.0\"?><VTKFile type=\"UnstructuredGrid\" byte_order=\"BigEndian\" header_type=\"UInt64\">";
    let text = ["0 0 0 1 0 0 1 1 0 0 1 0 0 0 1 1 0 1 1 1 1 0 1 1", "0 1 2 3 4 5 6 7", "8", "12"];
    let ascii = piece(&|i, kind, name| format!("<DataArray type=\"{kind}\" Name=\"{name}\" format=\"ascii\">\n{}\n</DataArray>", text[i]));
    // Length, then data.
    let blocks: Vec<Vec<u8>> = arrays.iter().map(|a| [&(a.len() as u64).to_be_bytes()[..], a].concat()).collect();
    let offsets: Vec<usize> = (0..4).map(|i| blocks[..i].iter().map(Vec::len).sum()).collect();
    let appended =
        piece(&|i, kind, name| format!("<DataArray type=\"{kind}\" Name=\"{name}\" format=\"appended\" offset=\"{}\"/>", offsets[i]));
    let mut raw = format!("{head}{appended}<AppendedData encoding=\"raw\">\n _").into_bytes();
    raw.extend(blocks.concat());
    raw.extend(b"\n</AppendedData></VTKFile>");
    for (name, bytes) in [("ascii.vtu", format!("{head}{ascii}</VTKFile>").into_bytes()), ("raw.vtu", raw.clone())] {
        let mesh = tets(read(name, &bytes).unwrap_or_else(|e| panic!("{name}: {e}")));
        assert!((mesh.total_volume() - 1.0).abs() < 1e-12 && mesh.tets.len() == 6, "{name}");
    }
    // VTK tells more of some arrays, behind their numbers.
    let key = "<InformationKey name=\"L2_NORM_RANGE\" length=\"1\">\n<Value index=\"0\">\n1.7 </Value><Value/>\n</InformationKey>\n";
    let keyed = format!("{head}{ascii}</VTKFile>").replace("</DataArray>", &format!("{key}</DataArray>"));
    let mesh = tets(read("a.vtu", keyed).unwrap_or_else(|e| panic!("{e}")));
    assert!((mesh.total_volume() - 1.0).abs() < 1e-12 && mesh.tets.len() == 6);
    let broken = String::from_utf8_lossy(&raw).replace("offset=\"0\"", "offset=\"90000\"");
    assert!(message("raw.vtu", broken.as_bytes()).contains("its offset is beyond the end"));
    assert!(message("a.vtu", format!("{head}{ascii}</VTKFile>").replace("12\n<", "42\n<")).contains("VTK type 42"));
    assert!(message("a.vtu", format!("{head}{ascii}</VTKFile>").replace("5 6 7\n", "5 6 9\n")).contains("cell 0 names point 9"));
    assert!(message("a.vtu", head.replace("UnstructuredGrid", "ImageData")).contains("'ImageData' are not read"));
}

#[test]
fn ply_is_read_in_both_byte_orders() {
    let head = |order: &str| {
        format!(
            "ply\nformat {order} 1.0\ncomment c\nelement vertex 3\nproperty float64 x\nproperty float y\nproperty short z\nelement note 1\n\
             property list uchar int words\nelement face 1\nproperty uchar red\nproperty list uchar ushort vertex_indices\nend_header\n"
        )
    };
    let body = |big: bool| {
        let mut bytes = Vec::new();
        let mut put = |le: &[u8]| if big { bytes.extend(le.iter().rev()) } else { bytes.extend(le) };
        for (x, y, z) in [(0.1f64, 0.5f32, -3i16), (1.0, 0.0, 2), (0.0, 1.0, 0)] {
            put(&x.to_le_bytes());
            put(&y.to_le_bytes());
            put(&z.to_le_bytes());
        }
        put(&[2]);
        put(&5i32.to_le_bytes());
        put(&6i32.to_le_bytes());
        put(&[200]);
        put(&[3]);
        [2u16, 0, 1].iter().for_each(|i| put(&i.to_le_bytes()));
        bytes
    };
    for (order, big) in [("binary_little_endian", false), ("binary_big_endian", true)] {
        let file = read("a.ply", [head(order).into_bytes(), body(big)].concat()).unwrap();
        assert_eq!(file.notes, ["1 of 'note' are left out"]);
        let found = surface(file);
        assert_eq!((found.positions[0], found.triangles.as_slice()), (Vec3::new(0.1, 0.5, -3.0), &[[2, 0, 1]][..]));
        let cut = [head(order).into_bytes(), body(big)[..50].to_vec()].concat();
        let found = message("a.ply", &cut);
        assert!(found.starts_with("a.ply, byte ") && found.contains("are left"), "{found}");
    }
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
        ("a.ply", "ply\nformat ascii 1.0\nelement vertex 9000000000\nproperty float x\nend_header\n", "a.ply:5: the header promises"),
        ("a.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n0\n", "a.ply: its vertices lack x, y or z"),
        ("a.ply", "ply\nformat ascii 1.0\nelement vertex many\n", "a.ply:3: expected 'element NAME COUNT', found 'element vertex many'"),
        ("a.ply", "ply\nformat ascii 1.0\nproperty float x\n", "a.ply:3: expected an element before its properties"),
        ("a.stl", "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\n", "a.stl:5: the file ends within a facet"),
        ("a.stl", "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 zero\n", "a.stl:4: expected a coordinate, found 'zero'"),
        ("a.stl", "solid a\nfacet normal 0 0 1\nendfacet\n", "a.stl:3: a facet has 0 vertices"),
        ("a.msh", "(0 \"ANSYS\")\n", "a.msh:1: expected $MeshFormat, found '(0'"),
        ("a.msh", "$MeshFormat\n4 0 8\n", "a.msh:2: MSH version 4 is not read"),
        ("a.msh", "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n99999999999\n", "a.msh:5: the file promises 99999999999 nodes"),
        (
            "a.msh",
            "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n1\n1 0 0 0\n$EndNodes\n$Elements\n1\n1 4 0 1 1 1 2\n",
            "a.msh:10: an element names node 2",
        ),
        (
            "a.msh",
            "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n1\n1 0 0 0\n2 0 0 0\n$EndNodes\n",
            "a.msh:7: expected $EndNodes, found '2'",
        ),
        ("a.msh", "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n1\n1 0 nan 0\n", "a.msh:6: the coordinate NaN is not finite"),
        ("a.msh", "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Comments\nx\n", "a.msh:4: the section $Comments has no end"),
        ("a.vtk", "vtk\n", "a.vtk:1: expected '# vtk DataFile"),
        ("a.vtk", "# vtk DataFile Version 3.0\nt\nASCII\nDATASET STRUCTURED_POINTS\n", "a.vtk:4: data of kind 'STRUCTURED_POINTS'"),
        (
            "a.vtk",
            "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 1 float\n0 0 0\nCELLS 1 5\n4 0 0 0 1\n",
            "a.vtk:8: a cell names point 1",
        ),
        (
            "a.vtk",
            "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 1 float\n0 0 0\n",
            "a.vtk: the file has 1 nodes, but neither tets",
        ),
        ("a.vtu", "<VTKFile type=\"UnstructuredGrid\"></VTKFile>", "a.vtu: expected <VTKFile> with a <Piece>"),
        ("a.mesh", "ogre\n", "a.mesh:1: expected MeshVersionFormatted, found 'ogre'"),
        ("a.mesh", "MeshVersionFormatted 1\nDimension 2\n", "a.mesh:2: the mesh has 2 dimensions"),
        (
            "a.mesh",
            "MeshVersionFormatted 1\nVertices 1\n0 0 0 0\nTetrahedra 1\n1 1 1 2 0\n",
            "a.mesh:5: a cell names vertex 2, but there are 1",
        ),
        (
            "a.mesh",
            "MeshVersionFormatted 1\nVertices 1\n0 0 0 0\nTetrahedra 1\n0 1 1 1 0\n",
            "a.mesh:5: the vertex index 0 is out of range",
        ),
        ("a.ele", "1 4 0\n1 1 1 1 1\n", "a.ele: its other half is missing"),
        ("a.glb", "glTF\u{1}\0\0\0", "a.glb, byte 4: glTF of version 1 is not read"),
        ("a.fbx", "x", "a.fbx: the format 'fbx' is not known; use a file that ends in .obj, .off"),
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
    assert!(found.starts_with("a.ply:12: vertex 2 is not a finite point"), "{found}");
    let mut binary = assets::builtin("nut_hex.ply").unwrap().to_vec();
    let payload = binary.windows(11).position(|w| w == b"end_header\n").unwrap() + 11;
    binary[payload + 12..payload + 16].copy_from_slice(&f32::NAN.to_le_bytes());
    let found = message("a.ply", binary);
    assert!(found.contains("vertex 1 is not a finite point"), "{found}");
    assert!(message("a.ply", text.replace("nan", "0").replace("3 0 1 2", "3 0 1 7")).contains("names vertex 7"));
    assert!(message("a.ply", text.replace("nan", "0").replace("3 0 1 2", "3 0 1 -7")).contains("vertex index that is negative"));
    // Of two files, the one with the fault.
    let pair = read_mesh("d/a.ele", b"1 4 0\n1 1 1 1 1\n", Format::TetGen, &|_| Ok(b"# c\n1 3 0 0\n1 0 0 zero\n".to_vec()));
    let found = pair.unwrap_err().to_string();
    assert!(found.starts_with("d/a.node:3: expected a coordinate, found 'zero'"), "{found}");
    let pair = read_mesh("d/a.ele", b"1 4 0\n1 1 1 1 9\n", Format::TetGen, &|_| Ok(b"1 3 0 0\n1 0 0 0\n".to_vec()));
    assert!(pair.unwrap_err().to_string().starts_with("d/a.ele:2: a tet names node 9, but the last one is 1"));
}

#[test]
fn reading_ends_wherever_it_is_cancelled() {
    for name in [
        "bear.vtk",
        "bear.msh",
        "bear.mesh",
        "bear.node",
        "bear.vtu",
        "bear_v41_binary.msh",
        "bear_skin.obj",
        "cow.off",
        "sphere_ascii.stl",
        "ant_parts.ply",
        "box_textured.glb",
    ] {
        let mut questions = 0;
        while let Err(error) = open_mesh_unless(&fixture(name), &CancelToken::after(questions)) {
            assert_eq!(error, MeshError::Cancelled, "{name}, after {questions} questions");
            questions = 2 * questions + 1;
        }
        // Files of a few thousand lines are asked about several times on the way; the others at the end.
        let is_long = std::fs::metadata(fixture(name)).unwrap().len() > 100_000 && !name.ends_with("vtu");
        assert!(questions >= if is_long { 7 } else { 1 }, "{name}: {questions}");
        assert_eq!(open_mesh_unless(&fixture(name), &CancelToken::after(questions)), open_mesh(&fixture(name)), "{name}");
    }
}
