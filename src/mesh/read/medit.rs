//! MEDIT text files (.mesh), as Gmsh, Mmg, TetGen, fTetWild and CGAL write them.

use super::cells::Cells;
use super::cursor::{Cursor, Encoding, Scalar, shortened};
use super::shape::Shape;
use super::{Fault, MeshFile, Source};

const T: Encoding = Encoding::Text;
const EXPORT_AGAIN: &str = "export it again as text in three dimensions";

/// How the names of solid cells of all orders begin.
const SOLIDS: [&[u8]; 4] = [b"Tetrahedra", b"Hexahedra", b"Prisms", b"Pyramids"];

pub(super) fn parse(source: Source) -> Result<MeshFile, Fault> {
    let mut cursor = Cursor::new(source).with_comments(b'#');
    let magic = cursor.word("MeshVersionFormatted")?;
    if !magic.starts_with("MeshVersionFormatted") {
        return Err(cursor.fault(format!("expected MeshVersionFormatted, found '{}'", shortened(magic)), EXPORT_AGAIN));
    }
    cursor.number::<u32>("the version")?;
    let mut cells = Cells::default();
    let mut nodes = Vec::new();
    while let Some(word) = cursor.next_word() {
        let (shape, count) = match word {
            b"End" => break,
            b"Dimension" => {
                let dimension: u32 = cursor.number("the dimension")?;
                if dimension != 3 {
                    return Err(cursor.fault(format!("the mesh has {dimension} dimensions"), EXPORT_AGAIN));
                }
                continue;
            }
            b"Vertices" => {
                for _ in 0..cursor.count(T, Scalar::U64, 8, "vertices")? {
                    cells.positions.push(cursor.point(T, Scalar::F64)?);
                    cursor.number::<f64>("the reference of a vertex")?;
                }
                continue;
            }
            b"Edges" => (Shape::Line, 2),
            b"Triangles" => (Shape::Triangle, 3),
            b"TrianglesP2" => (Shape::Triangle, 6),
            b"Quadrilaterals" => (Shape::Quad, 4),
            b"Tetrahedra" => (Shape::Tet, 4),
            b"TetrahedraP2" => (Shape::Tet, 10),
            b"Hexahedra" => (Shape::Hexahedron, 8),
            b"Prisms" => (Shape::Wedge, 6),
            b"Pyramids" => (Shape::Pyramid, 5),
            // Of orders above those; the order of their nodes may be another in each file.
            _ if SOLIDS.iter().any(|solid| word.starts_with(solid)) && !word.ends_with(b"Ordering") => {
                let kind = String::from_utf8_lossy(word);
                return Err(cursor.fault(
                    format!("cells of the kind '{}' are not read", shortened(&kind)),
                    "export it again with straight cells or with TetrahedraP2",
                ));
            }
            // Corners, ridges, normals and the like: numbers up to the next word.
            _ if word.first().is_some_and(u8::is_ascii_alphabetic) => {
                while cursor.next_word().is_some_and(|word| !word.first().is_some_and(u8::is_ascii_alphabetic)) {}
                cursor.back();
                continue;
            }
            _ => {
                let word = String::from_utf8_lossy(word);
                return Err(
                    cursor.fault(format!("expected a section such as Vertices or Tetrahedra, found '{}'", shortened(&word)), EXPORT_AGAIN)
                );
            }
        };
        for _ in 0..cursor.count(T, Scalar::U64, 2 * count, "cells")? {
            nodes.clear();
            for _ in 0..count {
                let node = cursor.index(T, Scalar::U64, 1)?;
                if node as usize >= cells.positions.len() {
                    let reason = format!("a cell names vertex {}, but there are {} vertices", node + 1, cells.positions.len());
                    return Err(cursor.fault(reason, "correct the index, and give the vertices before the cells"));
                }
                nodes.push(node);
            }
            cells.tag = cursor.number::<f64>("the reference of a cell")? as i64;
            cells.add(shape, &nodes);
        }
    }
    cells.finish()
}
