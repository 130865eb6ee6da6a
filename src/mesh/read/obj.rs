//! Wavefront OBJ. We have our own reader because `tobj` keeps f32, names no line in its errors, reorders the vertices
//! and cuts the surface apart where groups or texture seams meet.

use super::{Fault, MeshFile, Source, parse_point, push_fan};
use crate::mesh::SurfaceMesh;

pub(super) fn parse(source: Source) -> Result<MeshFile, Fault> {
    if source.bytes[..source.bytes.len().min(1024)].contains(&0) {
        return Err(Fault::new("it is not text, and OBJ is", "export it again, or name it as what it is"));
    }
    // Names of groups and materials may be in any encoding; the parts we read are ASCII.
    let text = String::from_utf8_lossy(source.bytes);
    let mut surface = SurfaceMesh::default();
    let (mut texture, mut normals) = (Corners::<2>::new(1), Corners::<3>::new(2));
    let mut polygon = Vec::new();
    // Faces may come before their vertices, so the largest index is checked at the end, with its line.
    let mut largest = (0, 0);
    for (line, content) in source.until_cancelled((1..).zip(text.lines())) {
        let content = content.split('#').next().unwrap_or("");
        let mut words = content.split_ascii_whitespace();
        match words.next() {
            Some("v") => surface.positions.push(parse_point(&mut words, line)?),
            Some("vt") => texture.point(&mut words, line),
            Some("vn") => normals.point(&mut words, line),
            Some("f") => {
                polygon.clear();
                for word in words {
                    let index = parse_corner(word, surface.positions.len(), line)?;
                    largest = largest.max((index, line));
                    polygon.push(index);
                    texture.corner(word, line);
                    normals.corner(word, line);
                }
                if polygon.len() < 3 {
                    return Err(Fault::on(line, format!("a face has {} corners", polygon.len()), "give it at least three"));
                }
                push_fan(&mut surface.triangles, &polygon);
                texture.face();
                normals.face();
            }
            _ => {}
        }
    }
    let (index, line) = largest;
    if !surface.triangles.is_empty() && index as usize >= surface.positions.len() {
        let reason = format!("a face names vertex {}, but the file has {} vertices", index + 1, surface.positions.len());
        return Err(Fault::on(line, reason, "correct the index or export the file again"));
    }
    let mut notes = Vec::new();
    surface.texture_coordinates = texture.finish("texture coordinates", &mut notes);
    surface.normals = normals.finish("normals", &mut notes);
    Ok(MeshFile { notes, ..surface.into() })
}

/// `7`, `7/1`, `7//3` or `-1` (counted back from the latest vertex) as an index from zero.
fn parse_corner(word: &str, vertices_so_far: usize, line: usize) -> Result<u32, Fault> {
    let number = word.split('/').next().unwrap_or("");
    let index: i64 = number.parse().map_err(|_| Fault::on(line, format!("'{word}' is not a vertex index"), "correct the face"))?;
    let from_zero = if index > 0 { index - 1 } else { (vertices_so_far as i64).saturating_add(index) };
    if index == 0 || from_zero < 0 {
        let reason = format!("the vertex index {index} points before the first vertex");
        return Err(Fault::on(line, reason, "number the vertices from 1, or from -1 backwards"));
    }
    u32::try_from(from_zero).map_err(|_| Fault::on(line, format!("the vertex index {index} is too large"), "correct the face"))
}

/// Texture coordinates or normals of the corners of faces, of `N` numbers. A fault makes the file lose them and becomes
/// a note.
struct Corners<const N: usize> {
    /// The place of their index in a corner such as `7/1/3`.
    place: usize,
    points: Vec<[f32; N]>,
    /// The points that the corners of the current face name, if they do.
    polygon: Vec<Option<usize>>,
    /// The points that the corners of each triangle name, if they do.
    triangles: Vec<[Option<usize>; 3]>,
    /// The first line that is wrong.
    fault: Option<usize>,
}

impl<const N: usize> Corners<N> {
    fn new(place: usize) -> Self {
        Self { place, points: Vec::new(), polygon: Vec::new(), triangles: Vec::new(), fault: None }
    }

    fn point<'a>(&mut self, words: &mut impl Iterator<Item = &'a str>, line: usize) {
        let mut point = [0.0; N];
        for (i, x) in point.iter_mut().enumerate() {
            match words.next().map(str::parse) {
                Some(Ok(value)) => *x = value,
                // The second of two coordinates in a texture is 0 where it is missing.
                None if (N, i) == (2, 1) => {}
                _ => return self.fault = self.fault.or(Some(line)),
            }
        }
        self.points.push(point);
    }

    /// Takes the point that the next corner of a face names.
    fn corner(&mut self, word: &str, line: usize) {
        let number = word.split('/').nth(self.place).filter(|number| !number.is_empty());
        let index = number.map(|number| match number.parse::<i64>() {
            Ok(0) | Err(_) => None,
            Ok(index) if index > 0 => usize::try_from(index - 1).ok(),
            Ok(index) => usize::try_from(index.unsigned_abs()).ok().and_then(|back| self.points.len().checked_sub(back)),
        });
        if index == Some(None) {
            self.fault = self.fault.or(Some(line));
        }
        self.polygon.push(index.flatten());
    }

    /// Ends a face.
    fn face(&mut self) {
        push_fan(&mut self.triangles, &self.polygon);
        self.polygon.clear();
    }

    fn finish(self, what: &str, notes: &mut Vec<String>) -> Option<Vec<[[f32; N]; 3]>> {
        let mut named = self.triangles.as_flattened().iter().flatten().peekable();
        let is_used = named.peek().is_some();
        let missing = named.find(|&&point| point >= self.points.len());
        let fault = self.fault.map(|line| format!("line {line} is wrong"));
        let fault = fault.or(missing.map(|point| format!("a face names point {} of {}", point + 1, self.points.len())));
        if let Some(fault) = fault {
            notes.push(format!("the {what} are left out: {fault}"));
            return None;
        }
        let at = |corner: Option<usize>| corner.map_or([0.0; N], |point| self.points[point]);
        is_used.then(|| self.triangles.iter().map(|triangle| triangle.map(at)).collect())
    }
}
