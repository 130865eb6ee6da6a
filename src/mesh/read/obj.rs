//! Wavefront OBJ. Our own reader rather than `tobj`: that one keeps f32, names no line in its errors, reorders the vertices
//! and cuts the surface apart where groups or texture seams meet.

use super::{Fault, MeshFile, parse_point, push_fan};
use crate::mesh::SurfaceMesh;

pub(super) fn parse(bytes: &[u8]) -> Result<MeshFile, Fault> {
    // Names of groups and materials may be in any encoding; the parts we read are ASCII.
    let text = String::from_utf8_lossy(bytes);
    let mut surface = SurfaceMesh::default();
    let mut polygon = Vec::new();
    // Faces may come before their vertices, so indices are checked at the end: the largest one with its line.
    let mut largest = (0, 0);
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.split('#').next().unwrap_or("");
        let mut words = content.split_ascii_whitespace();
        match words.next() {
            Some("v") => surface.positions.push(parse_point(&mut words, line)?),
            Some("f") => {
                polygon.clear();
                for word in words {
                    let index = parse_corner(word, surface.positions.len(), line)?;
                    largest = largest.max((index, line));
                    polygon.push(index);
                }
                if polygon.len() < 3 {
                    return Err(Fault::on(line, format!("a face has {} corners", polygon.len()), "give it at least three"));
                }
                push_fan(&mut surface.triangles, &polygon);
            }
            _ => {}
        }
    }
    let (index, line) = largest;
    if !surface.triangles.is_empty() && index as usize >= surface.positions.len() {
        let reason = format!("a face names vertex {}, but the file has {} vertices", index + 1, surface.positions.len());
        return Err(Fault::on(line, reason, "correct the index or export the file again"));
    }
    Ok(surface.into())
}

/// `7`, `7/1`, `7//3` or `-1` (counted back from the latest vertex) as an index from zero.
fn parse_corner(word: &str, vertices_so_far: usize, line: usize) -> Result<u32, Fault> {
    let number = word.split('/').next().unwrap_or("");
    let index: i64 = number.parse().map_err(|_| Fault::on(line, format!("'{word}' is not a vertex index"), "correct the face"))?;
    let from_zero = if index > 0 { index - 1 } else { vertices_so_far as i64 + index };
    if index == 0 || from_zero < 0 {
        let reason = format!("the vertex index {index} points before the first vertex");
        return Err(Fault::on(line, reason, "number the vertices from 1, or from -1 backwards"));
    }
    u32::try_from(from_zero).map_err(|_| Fault::on(line, format!("the vertex index {index} is too large"), "correct the face"))
}
