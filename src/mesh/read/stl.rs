//! STL, ASCII and binary, through `stl_io`. The format repeats every corner; equal points become one vertex.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Cursor;

use super::Fault;
use crate::math::Vec3;
use crate::mesh::SurfaceMesh;

const HEADER: usize = 80;
const TRIANGLE: usize = 50;

pub(super) fn parse(bytes: &[u8]) -> Result<SurfaceMesh, Fault> {
    let binary = binary_triangles(bytes);
    if let Some(promised) = binary {
        let stored = (bytes.len() - HEADER - 4) / TRIANGLE;
        if promised > stored {
            let reason = format!("the header promises {promised} triangles, the file holds {stored}");
            return Err(Fault::new(reason, "it may be cut off: fetch or export it again"));
        }
    }
    // Many binary files begin with "solid", by which the library takes them for text: hide the word.
    let mut bytes = Cow::Borrowed(bytes);
    if binary.is_some() && bytes.starts_with(b"solid") {
        bytes.to_mut()[0] = b' ';
    }
    // And it wants a blank after the word, which files without a name lack.
    if binary.is_none() && matches!(bytes.get(..6), Some(b"solid\n" | b"solid\r")) {
        bytes.to_mut().insert(5, b' ');
    }
    let mut reader = Cursor::new(&bytes[..]);
    let triangles = stl_io::create_stl_reader(&mut reader).map_err(|error| unreadable(&error))?;

    let mut surface = SurfaceMesh::default();
    let mut vertex_at: HashMap<[u32; 3], u32> = HashMap::new();
    for triangle in triangles {
        let corners = triangle.map_err(|error| unreadable(&error))?.vertices.map(|point| {
            let point = point.0.map(|x| x + 0.0); // -0 and 0 are the same place
            *vertex_at.entry(point.map(f32::to_bits)).or_insert_with(|| {
                surface.positions.push(Vec3::from(point.map(f64::from)));
                surface.positions.len() as u32 - 1
            })
        });
        surface.triangles.push(corners);
    }
    Ok(surface)
}

/// The number of triangles a binary file promises; nothing when the file is text. Length decides first, because the word
/// "solid" proves nothing; then whether the text speaks of facets.
fn binary_triangles(bytes: &[u8]) -> Option<usize> {
    let count = bytes.get(HEADER..HEADER + 4)?;
    let count = u32::from_le_bytes([count[0], count[1], count[2], count[3]]) as usize;
    let body = bytes.len() - HEADER - 4;
    let exact = body.is_multiple_of(TRIANGLE) && body / TRIANGLE == count;
    let text = bytes.starts_with(b"solid") && bytes[..bytes.len().min(1024)].windows(5).any(|word| word == b"facet");
    (exact || !text).then_some(count)
}

fn unreadable(error: &std::io::Error) -> Fault {
    Fault::new(format!("the STL data is malformed ({error})"), "it may be cut off or damaged: fetch or export it again")
}
