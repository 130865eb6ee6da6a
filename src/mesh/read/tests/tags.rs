//! Tags of tets: physical groups, references, attributes and cell data.

use super::*;
use crate::mesh::doctor::mend_tets_unless;

const NODES: [&str; 5] = ["0 0 0", "1 0 0", "0 1 0", "0 0 1", "1 1 1"];

fn numbered(first: usize, end: &str) -> String {
    NODES.iter().enumerate().map(|(k, p)| format!("{} {p}{end}\n", k + first)).collect()
}

/// Two tets with the tags 7 and 3, in every format that has tags.
#[test]
fn all_formats_keep_the_tags_of_tets() {
    let names = "$PhysicalNames\n3\n2 7 \"skin\"\n3 7 \"the core\"\n3 3 \"shell\"\n$EndPhysicalNames\n";
    let msh2 = format!(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n{names}$Nodes\n5\n{}$EndNodes\n$Elements\n3\n1 2 2 9 1 1 2 3\n2 4 2 7 1 1 2 3 4\n3 4 2 3 2 2 3 4 5\n$EndElements\n",
        numbered(1, "")
    );
    let entities =
        "$Entities\n1 0 1 2\n1 0 0 0 1 5\n4 0 0 0 1 1 1 1 9 0\n11 0 0 0 1 1 1 1 7 2 4 -4\n12 0 0 0 1 1 1 2 3 8 1 4\n$EndEntities\n";
    let msh4 = |groups: &str, names: &str| {
        format!(
            "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n{names}{groups}$Nodes\n1 5 1 5\n3 11 0 5\n1\n2\n3\n4\n5\n{}\n$EndNodes\n\
             $Elements\n3 3 1 3\n2 4 2 1\n1 1 2 3\n3 11 4 1\n2 1 2 3 4\n3 12 4 1\n3 2 3 4 5\n$EndElements\n",
            NODES.join("\n")
        )
    };
    let medit = format!(
        "MeshVersionFormatted 1\nDimension\n3\nVertices\n5\n{}Triangles\n1\n1 2 3 9\nTetrahedra\n2\n1 2 3 4 7\n2 3 4 5 3\nEnd\n",
        NODES.map(|p| format!("{p} 0\n")).concat()
    );
    let vtk = |data: &str| {
        format!(
            "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 5 double\n{}\nCELLS 3 14\n3 0 1 2\n4 0 1 2 3\n4 1 2 3 4\nCELL_TYPES 3\n5\n10\n10\n{data}",
            NODES.join("\n")
        )
    };
    let scalars = "SCALARS CellEntityIds int 1\nLOOKUP_TABLE default\n9 7 3\n";
    let vtu = |arrays: &str| {
        format!(
            "<VTKFile type=\"UnstructuredGrid\"><UnstructuredGrid><Piece NumberOfPoints=\"5\" NumberOfCells=\"3\"><CellData>{arrays}</CellData><Points>\
             <DataArray type=\"Float64\" NumberOfComponents=\"3\" format=\"ascii\">{}</DataArray></Points><Cells>\
             <DataArray type=\"Int32\" Name=\"connectivity\" format=\"ascii\">0 1 2 0 1 2 3 1 2 3 4</DataArray>\
             <DataArray type=\"Int32\" Name=\"offsets\" format=\"ascii\">3 7 11</DataArray>\
             <DataArray type=\"UInt8\" Name=\"types\" format=\"ascii\">5 10 10</DataArray></Cells></Piece></UnstructuredGrid></VTKFile>",
            NODES.join(" ")
        )
    };
    let array =
        |kind: &str, name: &str, values: &str| format!("<DataArray type=\"{kind}\" Name=\"{name}\" format=\"ascii\">{values}</DataArray>");
    let many = [array("Float32", "density", "1 2 3"), array("Int32", "body", "5 5 5"), array("Int32", "Material", "9 7 3")].concat();
    let field = "POINT_DATA 5\nVECTORS v float\n0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\nCELL_DATA 3\nFIELD f 2\npressure 1 3 double\n.5 .6 .7\nregion 1 3 int\n9 7 3\n";
    let cases = [
        ("a.msh", msh2, vec![7, 3]),
        ("a.msh", msh4(entities, names), vec![7, 3]),
        // Without groups, volumes count by their own tags.
        ("a.msh", msh4("", ""), vec![11, 12]),
        ("a.mesh", medit, vec![7, 3]),
        ("a.vtk", vtk(&format!("CELL_DATA 3\n{scalars}")), vec![7, 3]),
        ("a.vtk", vtk(field), vec![7, 3]),
        ("a.vtk", vtk("CELL_DATA 3\nSCALARS a int 1\nLOOKUP_TABLE default\n9 7"), vec![]),
        ("a.vtk", vtk(""), vec![]),
        ("a.vtu", vtu(&array("Int64", "ids", "9 7 3")), vec![7, 3]),
        ("a.vtu", vtu(&many), vec![7, 3]),
        ("a.vtu", vtu(&array("Float32", "density", "1 2 3")), vec![]),
        ("a.vtu", vtu(&array("Int32", "ids", "9 7")), vec![]),
    ];
    for (name, text, want) in cases {
        let file = read(name, &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(file.tags.of_tets, want, "{text}");
        if text.contains("the core") {
            assert_eq!(file.tags.describe(), ["3 (\"shell\")", "7 (\"the core\")"]);
            assert_eq!(["the core", "7", "skin", "9"].map(|tag| file.tags.find(tag)), [Some(7), Some(7), None, None]);
        }
    }
    let beside = |name: &str| if name == "a.node" { Ok(format!("5 3 0 0\n{}", numbered(1, "")).into_bytes()) } else { Err("no".into()) };
    let tetgen = read_mesh("a.ele", b"2 4 1\n1 1 2 3 4 7\n2 2 3 4 5 3\n", Format::TetGen, &beside).unwrap();
    assert_eq!(tetgen.tags.of_tets, [7, 3]);
}

/// What mending leaves out takes its tag along.
#[test]
fn tags_stay_with_their_tets_when_a_mesh_is_mended() {
    let rows = ["1 2 3 4 7", "1 2 2 3 8", "2 4 3 5 3", "1 2 3 4 9"].join("\n");
    let text = format!(
        "MeshVersionFormatted 1\nDimension\n3\nVertices\n5\n{}Tetrahedra\n4\n{rows}\nEnd\n",
        NODES.map(|p| format!("{p} 0\n")).concat()
    );
    let file = read("a.mesh", text).unwrap();
    let tags = file.tags.of_tets.clone();
    let (mended, mending) = mend_tets_unless(tets(file), &CancelToken::default()).unwrap();
    assert_eq!((mended.tets.len(), mending.of_left_tets(&tags)), (2, vec![7, 3]));
}
