use std::fmt::{Display, Write};

use super::{Format, SurfaceMesh, TetMesh};

/// The surface as Wavefront OBJ. Coordinates are printed so that reading them back gives the same f64.
pub fn write_obj(surface: &SurfaceMesh) -> String {
    let mut text = String::new();
    for p in &surface.positions {
        line(&mut text, format_args!("v {} {} {}", p.x, p.y, p.z));
    }
    for [a, b, c] in &surface.triangles {
        line(&mut text, format_args!("f {} {} {}", a + 1, b + 1, c + 1));
    }
    text
}

/// Formats of [`write_tets`], by the endings of file names.
pub const TET_ENDINGS: [(&str, Format); 4] = [("msh", Format::Gmsh), ("vtu", Format::Vtu), ("vtk", Format::Vtk), ("mesh", Format::Medit)];

/// Tets as a text file: Gmsh (2.2), VTU, legacy VTK or MEDIT; none of other formats. Coordinates are printed so that
/// reading them back gives the same f64.
pub fn write_tets(mesh: &TetMesh, format: Format) -> Option<String> {
    let (n_nodes, n_tets) = (mesh.positions.len(), mesh.tets.len());
    let mut text = String::with_capacity(64 * n_nodes + 32 * n_tets);
    match format {
        Format::Gmsh => {
            line(&mut text, format_args!("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{n_nodes}"));
            for (k, p) in mesh.positions.iter().enumerate() {
                line(&mut text, format_args!("{} {} {} {}", k + 1, p.x, p.y, p.z));
            }
            line(&mut text, format_args!("$EndNodes\n$Elements\n{n_tets}"));
            for (k, tet) in mesh.tets.iter().enumerate() {
                let [a, b, c, d] = tet.map(|node| node + 1);
                // Type 4 is a tet; two tags: physical and elementary entity.
                line(&mut text, format_args!("{} 4 2 1 1 {a} {b} {c} {d}", k + 1));
            }
            line(&mut text, "$EndElements");
        }
        Format::Medit => {
            line(&mut text, format_args!("MeshVersionFormatted 2\nDimension 3\nVertices\n{n_nodes}"));
            for p in &mesh.positions {
                line(&mut text, format_args!("{} {} {} 0", p.x, p.y, p.z));
            }
            line(&mut text, format_args!("Tetrahedra\n{n_tets}"));
            for tet in &mesh.tets {
                let [a, b, c, d] = tet.map(|node| node + 1);
                line(&mut text, format_args!("{a} {b} {c} {d} 0"));
            }
            line(&mut text, "End");
        }
        Format::Vtk => {
            line(&mut text, "# vtk DataFile Version 3.0\ntets\nASCII\nDATASET UNSTRUCTURED_GRID");
            line(&mut text, format_args!("POINTS {n_nodes} double"));
            points(&mut text, mesh);
            line(&mut text, format_args!("CELLS {n_tets} {}", 5 * n_tets));
            for [a, b, c, d] in &mesh.tets {
                line(&mut text, format_args!("4 {a} {b} {c} {d}"));
            }
            line(&mut text, format_args!("CELL_TYPES {n_tets}"));
            (0..n_tets).for_each(|_| line(&mut text, "10"));
        }
        Format::Vtu => {
            line(&mut text, "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\">");
            line(&mut text, format_args!("<UnstructuredGrid>\n<Piece NumberOfPoints=\"{n_nodes}\" NumberOfCells=\"{n_tets}\">\n<Points>"));
            line(&mut text, "<DataArray type=\"Float64\" Name=\"Points\" NumberOfComponents=\"3\" format=\"ascii\">");
            points(&mut text, mesh);
            line(&mut text, "</DataArray>\n</Points>\n<Cells>\n<DataArray type=\"Int32\" Name=\"connectivity\" format=\"ascii\">");
            for [a, b, c, d] in &mesh.tets {
                line(&mut text, format_args!("{a} {b} {c} {d}"));
            }
            line(&mut text, "</DataArray>\n<DataArray type=\"Int32\" Name=\"offsets\" format=\"ascii\">");
            (1..=n_tets).for_each(|k| line(&mut text, 4 * k));
            line(&mut text, "</DataArray>\n<DataArray type=\"UInt8\" Name=\"types\" format=\"ascii\">");
            (0..n_tets).for_each(|_| line(&mut text, "10"));
            line(&mut text, "</DataArray>\n</Cells>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>");
        }
        _ => return None,
    }
    Some(text)
}

fn points(text: &mut String, mesh: &TetMesh) {
    for p in &mesh.positions {
        line(text, format_args!("{} {} {}", p.x, p.y, p.z));
    }
}

fn line(text: &mut String, content: impl Display) {
    writeln!(text, "{content}").expect("writing to a String cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{MeshData, read_mesh, shapes};

    #[test]
    fn tets_come_back_as_they_were() {
        let mesh = shapes::ring(1.0 / 3.0, 0.1, 0.2, 9);
        for (ending, format) in TET_ENDINGS {
            let text = write_tets(&mesh, format).unwrap();
            let name = format!("ring.{ending}");
            assert_eq!(Format::detect(&name, text.as_bytes()), Ok(format));
            let back = read_mesh(&name, text.as_bytes(), format, &|_| Err("nothing beside".into())).unwrap();
            assert_eq!(back.data, MeshData::Tets(mesh.clone()), "{ending}");
        }
        assert!(write_tets(&mesh, Format::Obj).is_none());
    }
}
