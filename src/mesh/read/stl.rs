//! STL, ASCII and binary. The format repeats every corner; equal points become one vertex.

use std::collections::HashMap;

use super::cursor::{Cursor, Encoding, Scalar, shortened};
use super::{Fault, MeshFile, Source};
use crate::math::Vec3;
use crate::mesh::SurfaceMesh;

const HEADER_BYTES: usize = 80;
const TRIANGLE_BYTES: usize = 50;

pub(super) fn parse(source: Source) -> Result<MeshFile, Fault> {
    let surface = if is_binary(source.bytes) { binary(source)? } else { text(source)? };
    Ok(surface.into())
}

/// Length decides first, because the word "solid" proves nothing; then whether the text speaks of facets.
fn is_binary(bytes: &[u8]) -> bool {
    let Some(count) = bytes.get(HEADER_BYTES..).and_then(|rest| Scalar::U32.read(rest, false)) else { return false };
    let body = bytes.len() - HEADER_BYTES - 4;
    let exact = body.is_multiple_of(TRIANGLE_BYTES) && (body / TRIANGLE_BYTES) as f64 == count;
    let speaks = bytes.trim_ascii_start().starts_with(b"solid") && bytes[..bytes.len().min(1024)].windows(5).any(|word| word == b"facet");
    exact || !speaks
}

#[derive(Default)]
struct Vertices {
    surface: SurfaceMesh,
    at: HashMap<[u64; 3], u32>,
}

impl Vertices {
    fn index(&mut self, point: Vec3) -> u32 {
        let point = point.map(|x| x + 0.0); // -0 and 0 are the same place
        *self.at.entry([point.x, point.y, point.z].map(f64::to_bits)).or_insert_with(|| {
            self.surface.positions.push(point);
            self.surface.positions.len() as u32 - 1
        })
    }
}

fn binary(source: Source) -> Result<SurfaceMesh, Fault> {
    let mut cursor = Cursor::new(source);
    cursor.take(HEADER_BYTES, "the header")?;
    let count = cursor.count(Encoding::LittleEndian, Scalar::U32, TRIANGLE_BYTES, "triangles")?;
    let mut vertices = Vertices::default();
    for _ in 0..count {
        cursor.take(12, "a normal")?;
        let mut corners = [0; 3];
        for corner in &mut corners {
            *corner = vertices.index(cursor.point(Encoding::LittleEndian, Scalar::F32)?);
        }
        cursor.take(2, "the attributes of a triangle")?;
        vertices.surface.triangles.push(corners);
    }
    Ok(vertices.surface)
}

fn text(source: Source) -> Result<SurfaceMesh, Fault> {
    let mut cursor = Cursor::new(source);
    let mut vertices = Vertices::default();
    let mut corners = Vec::new();
    let mut expected = "'solid' and then facets";
    while let Some(word) = cursor.next_word() {
        match word.to_ascii_lowercase().as_slice() {
            // Names may be of any words.
            b"solid" | b"endsolid" => {
                cursor.line();
                expected = "'facet' or 'endsolid'";
            }
            b"facet" => {
                cursor.line();
                corners.clear();
                expected = "'outer loop'";
            }
            b"outer" | b"loop" => expected = "'vertex'",
            b"vertex" => {
                corners.push(vertices.index(cursor.point(Encoding::Text, Scalar::F32)?));
                expected = "'vertex' or 'endloop'";
            }
            b"endloop" => expected = "'endfacet'",
            b"endfacet" => {
                let Ok(triangle) = <[u32; 3]>::try_from(corners.as_slice()) else {
                    return Err(cursor.fault(format!("a facet has {} vertices instead of three", corners.len()), "export the file again"));
                };
                vertices.surface.triangles.push(triangle);
                corners.clear();
                expected = "'facet' or 'endsolid'";
            }
            _ => {
                let found = shortened(&String::from_utf8_lossy(word));
                return Err(cursor.fault(format!("expected {expected}, found '{found}'"), "export the file again"));
            }
        }
    }
    if !corners.is_empty() || expected == "'outer loop'" {
        return Err(
            cursor.fault(format!("the file ends within a facet, where {expected} is expected"), "it may be cut off: fetch it again")
        );
    }
    Ok(vertices.surface)
}
