//! Stanford PLY, ASCII and binary, through `ply-rs-bw`.

use std::io::Cursor;

use ply_rs_bw::parser::{ParseError, Parser, Reader};
use ply_rs_bw::ply::{Encoding, Property, PropertyAccess, PropertyAccessResult};

use super::{Fault, push_fan};
use crate::math::Vec3;
use crate::mesh::SurfaceMesh;

pub(super) fn parse(bytes: &[u8]) -> Result<SurfaceMesh, Fault> {
    let mut reader = Reader::new(Cursor::new(bytes));
    let header = Parser::<Element>::new().read_header(&mut reader).map_err(|error| unreadable(&error, true))?;
    for element in header.elements.values() {
        // An element takes at least a byte: more of them than bytes is a broken header, and could fill the memory.
        if element.count > bytes.len() {
            let reason = format!("the header promises {} of '{}', more than the file can hold", element.count, element.name);
            return Err(Fault::new(reason, "it may be cut off: fetch or export it again"));
        }
    }
    let text = header.encoding == Encoding::Ascii;
    let payload = Parser::<Element>::new().read_payload(&mut reader, &header).map_err(|error| unreadable(&error, text))?;

    let mut surface = SurfaceMesh::default();
    for element in payload.get("vertex").into_iter().flatten() {
        let [Some(x), Some(y), Some(z)] = element.coordinates else {
            return Err(Fault::new("its vertices lack x, y or z", "export them as numbers with these names"));
        };
        surface.positions.push(Vec3::new(x, y, z));
    }
    for (i, element) in payload.get("face").into_iter().flatten().enumerate() {
        let polygon: Option<Vec<u32>> = element.corners.iter().map(|&c| u32::try_from(c).ok()).collect();
        match polygon {
            Some(polygon) if polygon.len() >= 3 => push_fan(&mut surface.triangles, &polygon),
            Some(polygon) => {
                let reason = format!("face {i} has {} corners", polygon.len());
                return Err(Fault::new(reason, "give it at least three, in a list named vertex_indices"));
            }
            None => return Err(Fault::new(format!("face {i} has a negative vertex index"), "correct it or export it again")),
        }
    }
    Ok(surface)
}

fn unreadable(error: &ParseError, text: bool) -> Fault {
    // The library's messages span several lines and may begin with the line number, which means something only in text.
    let message = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    let prefix = error.line().map(|line| format!("Line {line}: ")).unwrap_or_default();
    let reason = message.strip_prefix(&prefix).unwrap_or(&message);
    let line = error.line().filter(|_| text);
    Fault { line, ..Fault::new(reason, "it may be cut off or damaged: fetch or export it again") }
}

/// What we keep of a vertex or a face, whatever the header's number types.
struct Element {
    coordinates: [Option<f64>; 3],
    corners: Vec<i64>,
}

impl PropertyAccess for Element {
    fn new() -> Self {
        Self { coordinates: [None; 3], corners: Vec::new() }
    }

    fn set_property(&mut self, name: &str, property: Property) -> PropertyAccessResult {
        match name {
            "x" => self.coordinates[0] = number(&property),
            "y" => self.coordinates[1] = number(&property),
            "z" => self.coordinates[2] = number(&property),
            "vertex_indices" | "vertex_index" => self.corners = integers(property),
            _ => return PropertyAccessResult::Ignored,
        }
        PropertyAccessResult::Set
    }
}

fn number(property: &Property) -> Option<f64> {
    match *property {
        Property::Char(v) => Some(v.into()),
        Property::UChar(v) => Some(v.into()),
        Property::Short(v) => Some(v.into()),
        Property::UShort(v) => Some(v.into()),
        Property::Int(v) => Some(v.into()),
        Property::UInt(v) => Some(v.into()),
        Property::Float(v) => Some(v.into()),
        Property::Double(v) => Some(v),
        _ => None,
    }
}

/// A list of integers; a list of another kind gives no corners and is reported as such.
fn integers(property: Property) -> Vec<i64> {
    fn widen<T: Into<i64>>(values: Vec<T>) -> Vec<i64> {
        values.into_iter().map(Into::into).collect()
    }
    match property {
        Property::ListChar(v) => widen(v),
        Property::ListUChar(v) => widen(v),
        Property::ListShort(v) => widen(v),
        Property::ListUShort(v) => widen(v),
        Property::ListInt(v) => widen(v),
        Property::ListUInt(v) => widen(v),
        _ => Vec::new(),
    }
}
