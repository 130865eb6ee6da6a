//! Readers of surface files: OBJ, OFF, PLY and STL. Everything but positions and faces is ignored.

mod obj;
mod off;
mod ply;
mod stl;

use std::path::Path;

use super::{MeshError, SurfaceMesh};
use crate::math::Vec3;

/// Reads a surface file; its extension tells the format. Polygons become fans of triangles.
pub fn read_surface(path: &Path) -> Result<SurfaceMesh, MeshError> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path)
        .map_err(|error| Fault::new(format!("the file cannot be read ({error})"), "check its path and permissions").at(&name))?;
    parse_surface(&name, &bytes)
}

/// Parses a surface from memory. `name` gives the format by its extension and appears in messages.
pub fn parse_surface(name: &str, bytes: &[u8]) -> Result<SurfaceMesh, MeshError> {
    let extension = Path::new(name).extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
    let parse = match extension.as_str() {
        "obj" => obj::parse,
        "off" => off::parse,
        "ply" => ply::parse,
        "stl" => stl::parse,
        _ => {
            let reason = format!("the format '{extension}' is not known");
            return Err(Fault::new(reason, "use a file that ends in .obj, .off, .ply or .stl").at(name));
        }
    };
    if bytes.is_empty() {
        return Err(Fault::new("the file is empty", "export it again").at(name));
    }
    let surface = parse(bytes).map_err(|fault| fault.at(name))?;
    surface.check().map_err(|error| match error {
        MeshError::Empty => Fault::new("the file has no triangles", "export a surface with faces").at(name),
        other => Fault::new(other.to_string(), "or export it again").at(name),
    })?;
    Ok(surface)
}

/// A fault in a file whose name the parser does not know.
#[derive(Debug)]
struct Fault {
    line: Option<usize>,
    reason: String,
    remedy: &'static str,
}

impl Fault {
    fn new(reason: impl Into<String>, remedy: &'static str) -> Self {
        Self { line: None, reason: reason.into(), remedy }
    }

    fn on(line: usize, reason: impl Into<String>, remedy: &'static str) -> Self {
        Self { line: Some(line), ..Self::new(reason, remedy) }
    }

    fn at(self, file: &str) -> MeshError {
        MeshError::File { file: file.to_owned(), line: self.line, reason: self.reason, remedy: self.remedy.to_owned() }
    }
}

/// Three coordinates from the words of a text line; NaN and infinity are refused here, where the line is known.
fn parse_point<'a>(words: &mut impl Iterator<Item = &'a str>, line: usize) -> Result<Vec3, Fault> {
    let mut point = Vec3::zeros();
    for x in point.iter_mut() {
        let word = words.next().ok_or_else(|| Fault::on(line, "a vertex has fewer than three coordinates", "complete it"))?;
        *x = word.parse().map_err(|_| Fault::on(line, format!("'{word}' is not a number"), "correct the coordinate"))?;
        if !x.is_finite() {
            return Err(Fault::on(line, format!("the coordinate '{word}' is not finite"), "correct the coordinate"));
        }
    }
    Ok(point)
}

/// Appends a polygon as a fan around its first corner.
fn push_fan(triangles: &mut Vec<[u32; 3]>, polygon: &[u32]) {
    if let [first, rest @ ..] = polygon {
        triangles.extend(rest.windows(2).map(|pair| [*first, pair[0], pair[1]]));
    }
}

#[cfg(test)]
mod tests;
