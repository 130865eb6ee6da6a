//! Stanford PLY, ASCII and binary of both byte orders.

use super::cursor::{Cursor, Encoding, Scalar, shortened};
use super::{Fault, MeshFile, Source, push_fan};
use crate::math::Vec3;
use crate::mesh::SurfaceMesh;

struct Element {
    name: String,
    count: u64,
    properties: Vec<Property>,
}

struct Property {
    name: String,
    kind: Scalar,
    /// Type of the length, for lists.
    list: Option<Scalar>,
}

pub(super) fn parse(source: Source) -> Result<MeshFile, Fault> {
    let mut cursor = Cursor::new(source);
    let (encoding, elements) = header(&mut cursor)?;
    let mut surface = SurfaceMesh::default();
    let (mut texture, mut normals) = (Texture::default(), Vec::new());
    let mut notes = Vec::new();
    for element in elements.iter().filter(|element| !element.properties.is_empty()) {
        // Every element takes a byte at least.
        if element.count > cursor.remaining() as u64 {
            let reason = format!("the header promises {} of '{}', more than the file can hold", element.count, element.name);
            return Err(cursor.fault(reason, "it may be cut off: fetch or export it again"));
        }
        match element.name.as_str() {
            "vertex" => vertices(&mut cursor, encoding, element, &mut surface, &mut texture.of_vertices, &mut normals)?,
            "face" => faces(&mut cursor, encoding, element, &mut surface, &mut texture.of_corners)?,
            name => {
                notes.extend((element.count > 0).then(|| format!("{} of '{name}' are left out", element.count)));
                for _ in 0..element.count {
                    for property in &element.properties {
                        values(&mut cursor, encoding, property, |_| ())?;
                    }
                }
            }
        }
    }
    surface.texture_coordinates = texture.of_triangles(&surface.triangles);
    surface.normals = (!normals.is_empty()).then(|| of_vertices(&normals, &surface.triangles));
    Ok(MeshFile { notes, ..surface.into() })
}

/// Texture coordinates of vertices or of the corners of faces: programs write either.
#[derive(Default)]
struct Texture {
    of_vertices: Vec<[f32; 2]>,
    of_corners: Vec<[[f32; 2]; 3]>,
}

impl Texture {
    fn of_triangles(self, triangles: &[[u32; 3]]) -> Option<Vec<[[f32; 2]; 3]>> {
        if !triangles.is_empty() && self.of_corners.len() == triangles.len() {
            return Some(self.of_corners);
        }
        (!self.of_vertices.is_empty()).then(|| of_vertices(&self.of_vertices, triangles))
    }
}

/// The values of the vertices at the corners of triangles.
fn of_vertices<const N: usize>(values: &[[f32; N]], triangles: &[[u32; 3]]) -> Vec<[[f32; N]; 3]> {
    // Indices are checked later, for all formats alike.
    let at = |vertex: u32| values.get(vertex as usize).copied().unwrap_or([0.0; N]);
    triangles.iter().map(|triangle| triangle.map(at)).collect()
}

fn header(cursor: &mut Cursor) -> Result<(Encoding, Vec<Element>), Fault> {
    if cursor.line() != Some(b"ply") {
        return Err(cursor.fault("expected 'ply' on the first line", "export the file again, as PLY"));
    }
    let mut encoding = None;
    let mut elements: Vec<Element> = Vec::new();
    loop {
        let line = cursor.line().ok_or_else(|| Fault::new("the file ends within its header", "it may be cut off: fetch it again"))?;
        let line = String::from_utf8_lossy(line);
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let wrong = |what: &str| cursor.fault(format!("expected {what}, found '{}'", shortened(&line)), "export the file again");
        match words.as_slice() {
            ["end_header"] => break,
            [] | ["comment" | "obj_info", ..] => {}
            ["format", "ascii", _] => encoding = Some(Encoding::Text),
            ["format", "binary_little_endian", _] => encoding = Some(Encoding::LittleEndian),
            ["format", "binary_big_endian", _] => encoding = Some(Encoding::BigEndian),
            ["element", name, count] => {
                let count = count.parse().map_err(|_| wrong("'element NAME COUNT'"))?;
                elements.push(Element { name: (*name).to_owned(), count, properties: Vec::new() });
            }
            ["property", rest @ ..] => {
                let (list, kind, name) = match rest {
                    ["list", length, kind, name] => (Some(*length), *kind, *name),
                    [kind, name] => (None, *kind, *name),
                    _ => return Err(wrong("'property TYPE NAME'")),
                };
                let known = |word: &str| scalar(word).ok_or_else(|| wrong("a number type such as float or int"));
                let property = Property { name: name.to_owned(), kind: known(kind)?, list: list.map(known).transpose()? };
                elements.last_mut().ok_or_else(|| wrong("an element before its properties"))?.properties.push(property);
            }
            _ => return Err(wrong("'format', 'element', 'property', 'comment' or 'end_header'")),
        }
    }
    let encoding = encoding.ok_or_else(|| cursor.fault("the header lacks its 'format' line", "export the file again"))?;
    Ok((encoding, elements))
}

fn scalar(word: &str) -> Option<Scalar> {
    Some(match word {
        "char" | "int8" => Scalar::I8,
        "uchar" | "uint8" => Scalar::U8,
        "short" | "int16" => Scalar::I16,
        "ushort" | "uint16" => Scalar::U16,
        "int" | "int32" => Scalar::I32,
        "uint" | "uint32" => Scalar::U32,
        "float" | "float32" => Scalar::F32,
        "double" | "float64" => Scalar::F64,
        _ => return None,
    })
}

/// Calls `each` with the value of a property, or with the values of its list.
fn values(cursor: &mut Cursor, encoding: Encoding, property: &Property, mut each: impl FnMut(f64)) -> Result<(), Fault> {
    let count = match property.list {
        None => 1,
        Some(length) => cursor.whole(encoding, length, "the length of a list")?,
    };
    for _ in 0..count {
        each(cursor.scalar(encoding, property.kind, &format!("a number for '{}'", property.name))?);
    }
    Ok(())
}

fn vertices(
    cursor: &mut Cursor,
    encoding: Encoding,
    element: &Element,
    surface: &mut SurfaceMesh,
    texture: &mut Vec<[f32; 2]>,
    normals: &mut Vec<[f32; 3]>,
) -> Result<(), Fault> {
    let column = |property: &Property| match property.name.as_str() {
        _ if property.list.is_some() => None,
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        "s" | "u" | "texture_u" => Some(3),
        "t" | "v" | "texture_v" => Some(4),
        "nx" => Some(5),
        "ny" => Some(6),
        "nz" => Some(7),
        _ => None,
    };
    let columns: Vec<Option<usize>> = element.properties.iter().map(column).collect();
    let has = |column: usize| columns.contains(&Some(column));
    if !(0..3).all(has) {
        return Err(Fault::new("its vertices lack x, y or z", "export them as numbers with these names"));
    }
    let (is_textured, has_normals) = (has(3) && has(4), (5..8).all(has));
    for i in 0..element.count {
        let mut row = [0.0; 8];
        for (property, column) in element.properties.iter().zip(&columns) {
            values(cursor, encoding, property, |value| column.iter().for_each(|&column| row[column] = value))?;
        }
        let [x, y, z, u, v, normal @ ..] = row;
        let point = Vec3::new(x, y, z);
        if !point.iter().all(|x| x.is_finite()) {
            let reason = format!("vertex {i} is not a finite point");
            let remedy = "correct its coordinates";
            return Err(if encoding == Encoding::Text { cursor.fault(reason, remedy) } else { cursor.byte_fault(reason, remedy) });
        }
        surface.positions.push(point);
        texture.extend(is_textured.then_some([u as f32, v as f32]));
        normals.extend(has_normals.then_some(normal.map(|x| x as f32)));
    }
    Ok(())
}

fn faces(
    cursor: &mut Cursor,
    encoding: Encoding,
    element: &Element,
    surface: &mut SurfaceMesh,
    texture: &mut Vec<[[f32; 2]; 3]>,
) -> Result<(), Fault> {
    let is_corners = |property: &Property| matches!(property.name.as_str(), "vertex_indices" | "vertex_index") && property.list.is_some();
    let is_texture = |property: &Property| property.name == "texcoord" && property.list.is_some();
    let is_textured = element.properties.iter().any(is_texture);
    let (mut polygon, mut coordinates) = (Vec::new(), Vec::new());
    for i in 0..element.count {
        polygon.clear();
        coordinates.clear();
        let mut is_whole = true;
        for property in &element.properties {
            let (corners, in_texture) = (is_corners(property), is_texture(property));
            values(cursor, encoding, property, |value| {
                if corners {
                    is_whole &= value.fract() == 0.0 && (0.0..f64::from(u32::MAX)).contains(&value);
                    polygon.push(value as u32);
                } else if in_texture {
                    coordinates.push(value as f32);
                }
            })?;
        }
        let fault = |reason: String, remedy| {
            if encoding == Encoding::Text { cursor.fault(reason, remedy) } else { cursor.byte_fault(reason, remedy) }
        };
        if !is_whole {
            return Err(fault(
                format!("face {i} has a vertex index that is negative, broken or too large"),
                "correct it or export it again",
            ));
        }
        if polygon.len() < 3 {
            let reason = format!("face {i} has {} corners", polygon.len());
            return Err(fault(reason, "give it at least three, in a list named vertex_indices"));
        }
        push_fan(&mut surface.triangles, &polygon);
        if is_textured {
            // A face may have none.
            coordinates.resize(2 * polygon.len(), 0.0);
            push_fan(texture, coordinates.as_chunks().0);
        }
    }
    Ok(())
}
