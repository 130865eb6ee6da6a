//! Readers of mesh files: surfaces from OBJ, OFF, PLY, STL and glTF, tets from Gmsh, VTK, TetGen and MEDIT files (which
//! may hold surfaces too). Everything but positions, cells, tags of tets, texture coordinates and normals is ignored.
//! No count in a file is believed: a reader reserves no memory that the bytes of the file do not fill.

mod cells;
mod cursor;
mod curved;
mod gltf;
mod gmsh;
mod lattice;
mod medit;
mod obj;
mod off;
mod ply;
mod shape;
mod stl;
mod tetgen;
mod vtk;
mod vtu;

use std::fmt;
use std::path::Path;

use super::surface::normalised;
use super::{CornerNormals, EdgeMiddles, MeshError, SurfaceMesh, TetMesh};
use crate::cancel::CancelToken;
use crate::math::Vec3;

/// The content of a mesh file.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshFile {
    pub data: MeshData,
    pub tags: Tags,
    /// Of tets of ten nodes.
    pub middles: EdgeMiddles,
    /// A sentence on each thing that was changed or left out.
    pub notes: Vec<String>,
}

/// Numbers that a file gives to groups of its tets: physical groups, references, or an array of cell data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags {
    /// One for each tet; empty where the file has none.
    pub of_tets: Vec<i64>,
    /// Names of numbers, where the file has some.
    pub names: Vec<(i64, String)>,
}

impl Tags {
    /// The number of a tag that is given by its name or its number, if a tet has it.
    pub fn find(&self, tag: &str) -> Option<i64> {
        let named = self.names.iter().find(|(_, name)| name == tag).map(|(number, _)| *number);
        named.or_else(|| tag.parse().ok()).filter(|number| self.of_tets.contains(number))
    }

    /// The tags of the tets, ascending, as people read them: `2 ("core")`.
    pub fn describe(&self) -> Vec<String> {
        let mut numbers = self.of_tets.clone();
        numbers.sort_unstable();
        numbers.dedup();
        let name = |number: &i64| self.names.iter().find(|(named, _)| named == number).map(|(_, name)| format!("{number} (\"{name}\")"));
        numbers.iter().map(|number| name(number).unwrap_or_else(|| number.to_string())).collect()
    }
}

/// A mesh: a surface or tets.
#[derive(Clone, Debug, PartialEq)]
pub enum MeshData {
    /// Triangles; larger faces are cut into fans.
    Surface(SurfaceMesh),
    /// Tets as the file orders them: some may have negative volume, some nodes no tet (`doctor::mend_tets`).
    Tets(TetMesh),
}

impl MeshFile {
    /// The surface, or the outside of the tets.
    pub fn into_surface(self) -> SurfaceMesh {
        match self.data {
            MeshData::Surface(surface) => surface,
            MeshData::Tets(tets) => {
                let tets = super::doctor::mend_tets(tets);
                tets.outside().into_surface(&tets)
            }
        }
    }
}

impl From<SurfaceMesh> for MeshFile {
    fn from(surface: SurfaceMesh) -> Self {
        Self { data: MeshData::Surface(surface), tags: Tags::default(), middles: EdgeMiddles::default(), notes: Vec::new() }
    }
}

/// Formats of mesh files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Obj,
    Off,
    Ply,
    Stl,
    /// `.gltf` with the files it names, and `.glb`.
    Gltf,
    /// MSH 2.2 and 4.1.
    Gmsh,
    /// Legacy files of unstructured grids or polygons.
    Vtk,
    Vtu,
    /// A pair of `.node` and `.ele`.
    TetGen,
    Medit,
}

/// The endings of mesh files and their formats.
pub const ENDINGS: [(&str, Format); 12] = [
    ("obj", Format::Obj),
    ("off", Format::Off),
    ("ply", Format::Ply),
    ("stl", Format::Stl),
    ("gltf", Format::Gltf),
    ("glb", Format::Gltf),
    ("msh", Format::Gmsh),
    ("vtk", Format::Vtk),
    ("vtu", Format::Vtu),
    ("node", Format::TetGen),
    ("ele", Format::TetGen),
    ("mesh", Format::Medit),
];

impl Format {
    /// The format by the ending of a file's name.
    pub fn of_name(name: &str) -> Option<Self> {
        let ending = Path::new(name).extension()?.to_str()?.to_ascii_lowercase();
        ENDINGS.iter().find(|(known, _)| *known == ending).map(|&(_, format)| format)
    }

    /// The format by the first bytes of a file, where they leave no doubt.
    fn of_content(bytes: &[u8]) -> Option<Self> {
        let head = bytes[..bytes.len().min(1024)].trim_ascii_start();
        let has = |mark: &[u8]| head.windows(mark.len()).any(|window| window == mark);
        let word = head.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        Some(match word {
            b"ply" => Self::Ply,
            b"$MeshFormat" => Self::Gmsh,
            _ if head.starts_with(b"glTF") => Self::Gltf,
            _ if head.starts_with(b"{") && has(b"\"asset\"") => Self::Gltf,
            _ if head.starts_with(b"# vtk DataFile") => Self::Vtk,
            _ if head.starts_with(b"<") && has(b"<VTKFile") => Self::Vtu,
            _ if word.starts_with(b"MeshVersionFormatted") => Self::Medit,
            _ if word.len() <= 5 && word.ends_with(b"OFF") => Self::Off,
            _ => return None,
        })
    }

    /// The format of a file by its first bytes, else by its name.
    pub fn detect(name: &str, bytes: &[u8]) -> Result<Self, MeshError> {
        Self::of_content(bytes).or_else(|| Self::of_name(name)).ok_or_else(|| {
            let ending = Path::new(name).extension().unwrap_or_default().to_string_lossy();
            let endings: Vec<String> = ENDINGS.iter().map(|(ending, _)| format!(".{ending}")).collect();
            let remedy = format!("use a file that ends in {}", endings.join(", "));
            let reason = if ending.is_empty() { "its name has no ending".into() } else { format!("the format '{ending}' is not known") };
            MeshError::File { file: name.to_owned(), at: At::Whole, reason, remedy }
        })
    }
}

/// Gives the bytes of another file beside the mesh file, by its name, or the reason why it cannot be read.
pub type Beside<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// The bytes of a file, and the token that ends its reading.
#[derive(Clone, Copy)]
struct Source<'a> {
    bytes: &'a [u8],
    cancel: &'a CancelToken,
}

/// A reader of lines asks whether it is cancelled once in so many.
const LINES_PER_QUESTION: usize = 256;

impl<'a> Source<'a> {
    /// Lines, which end where the reading is cancelled.
    fn until_cancelled<T>(self, lines: impl Iterator<Item = T> + 'a) -> impl Iterator<Item = T> + 'a {
        let goes_on = move |(n, _): &(usize, T)| !(n % LINES_PER_QUESTION == 0 && self.cancel.is_cancelled());
        (1..).zip(lines).take_while(goes_on).map(|(_, line)| line)
    }
}

/// Reads a mesh from memory. Messages call it `name`; `beside` gives the other files of formats that have several.
pub fn read_mesh(name: &str, bytes: &[u8], format: Format, beside: Beside) -> Result<MeshFile, MeshError> {
    read_mesh_unless(name, bytes, format, (beside, &CancelToken::default()))
}

/// The same, which ends with [`MeshError::Cancelled`] soon after `cancel` is cancelled.
fn read_mesh_unless(name: &str, bytes: &[u8], format: Format, (beside, cancel): (Beside, &CancelToken)) -> Result<MeshFile, MeshError> {
    let read = read(name, Source { bytes, cancel }, format, beside);
    // Whatever a reader says that was cut short.
    cancel.check()?;
    read
}

fn read(name: &str, source: Source, format: Format, beside: Beside) -> Result<MeshFile, MeshError> {
    let bytes = source.bytes;
    if bytes.is_empty() {
        return Err(Fault::new("the file is empty", "export it again").at(name));
    }
    let read = match format {
        Format::Obj => obj::parse(source),
        Format::Off => off::parse(source),
        Format::Ply => ply::parse(source),
        Format::Stl => stl::parse(source),
        Format::Gltf => gltf::parse(source, beside),
        Format::Gmsh => gmsh::parse(source),
        Format::Vtk => vtk::parse(source),
        Format::Vtu => vtu::parse(source),
        Format::Medit => medit::parse(source),
        Format::TetGen => return read_pair(name, source, beside),
    };
    checked(name, read.map_err(|fault| fault.at(name))?)
}

/// Reads a mesh file and, where its format has several files, the others beside it.
pub fn open_mesh(path: &Path) -> Result<MeshFile, MeshError> {
    open_mesh_unless(path, &CancelToken::default())
}

/// The same, which ends with [`MeshError::Cancelled`] soon after `cancel` is cancelled.
pub fn open_mesh_unless(path: &Path, cancel: &CancelToken) -> Result<MeshFile, MeshError> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path)
        .map_err(|error| Fault::new(format!("the file cannot be read ({error})"), "check its path and permissions").at(&name))?;
    let format = Format::detect(&name, &bytes)?;
    let beside = |other: &str| {
        // Only files below the folder of the mesh are read: a mesh from elsewhere must not open any other.
        let relative = Path::new(other);
        if !relative.components().all(|part| matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir)) {
            return Err(format!("'{}' is not in the folder of this file", cursor::shortened(other)));
        }
        let path = path.with_file_name(other);
        match path.metadata() {
            Ok(found) if found.is_file() => std::fs::read(&path).map_err(|error| format!("{} cannot be read ({error})", path.display())),
            Ok(_) => Err(format!("{} is no file", path.display())),
            Err(error) => Err(format!("{} cannot be read ({error})", path.display())),
        }
    };
    let mut file = read_mesh_unless(&name, &bytes, format, (&beside, cancel))?;
    if Format::of_name(&name).is_some_and(|named| named != format) {
        file.notes.push(format!("what the file holds is {format:?}, whatever its name says"));
    }
    Ok(file)
}

/// The surface in a file: its own, or the boundary of its tets.
pub fn read_surface(path: &Path) -> Result<SurfaceMesh, MeshError> {
    open_mesh(path).map(MeshFile::into_surface)
}

/// The surface in a file in memory that has no other files beside it.
pub fn parse_surface(name: &str, bytes: &[u8]) -> Result<SurfaceMesh, MeshError> {
    let format = if bytes.is_empty() { Format::Obj } else { Format::detect(name, bytes)? };
    read_mesh(name, bytes, format, &|_| Err("it has no files beside it".into())).map(MeshFile::into_surface)
}

fn read_pair(name: &str, source: Source, beside: Beside) -> Result<MeshFile, MeshError> {
    let path = Path::new(name);
    let is_node = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("node"));
    let other = path.with_extension(if is_node { "ele" } else { "node" });
    let companion = beside(&other.file_name().unwrap_or_default().to_string_lossy())
        .map_err(|reason| Fault::new(format!("its other half is missing: {reason}"), "keep .node and .ele together").at(name))?;
    let companion = Source { bytes: &companion, ..source };
    let (node, ele) = if is_node { (source, companion) } else { (companion, source) };
    let read = tetgen::parse(node, ele).map_err(|(in_node, fault)| {
        let file = if in_node == is_node { name.to_owned() } else { other.display().to_string() };
        fault.at(&file)
    })?;
    checked(name, read)
}

/// Refuses what no reader may let pass: no cells, an index out of range, a coordinate that is not finite. Texture
/// coordinates and normals are not worth an error: they are left out where they are wrong. Normals become unit vectors
/// on the side that their triangle faces.
fn checked(name: &str, mut file: MeshFile) -> Result<MeshFile, MeshError> {
    let sound = match &mut file.data {
        MeshData::Surface(surface) => {
            let is_wrong = |texture: &Vec<[[f32; 2]; 3]>| texture.as_flattened().as_flattened().iter().any(|x| !x.is_finite());
            if surface.texture_coordinates.take_if(|texture| is_wrong(texture)).is_some() {
                file.notes.push("the texture coordinates are left out: some are not finite".into());
            }
            let is_wrong = |normals: &Vec<CornerNormals>| normals.as_flattened().as_flattened().iter().any(|x| !x.is_finite());
            if surface.normals.take_if(|normals| is_wrong(normals)).is_some() {
                file.notes.push("the normals are left out: some are not finite".into());
            }
            surface.check().map(|()| straighten_normals(surface))
        }
        MeshData::Tets(tets) => tets.check_indices(),
    };
    match sound {
        Ok(()) => Ok(file),
        Err(MeshError::Empty) => Err(Fault::new("the file has no triangles", "export a surface with faces").at(name)),
        Err(other) => Err(Fault::new(other.to_string(), "or export it again").at(name)),
    }
}

/// Makes unit vectors of normals, on the side that their triangle faces. A corner without a normal gets the triangle's.
fn straighten_normals(surface: &mut SurfaceMesh) {
    let Some(mut normals) = surface.normals.take() else { return };
    for (triangle, corners) in normals.iter_mut().enumerate() {
        let flat = surface.flat_normals(triangle);
        *corners = [0, 1, 2].map(|corner| normalised(corners[corner]).unwrap_or(flat[corner]));
        let along: f32 = corners.as_flattened().iter().zip(flat.as_flattened()).map(|(a, b)| a * b).sum();
        if along < 0.0 {
            corners.as_flattened_mut().iter_mut().for_each(|x| *x = -*x);
        }
    }
    surface.normals = Some(normals);
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The file as a whole.
    Whole,
    /// A line, counted from 1.
    Line(usize),
    /// A byte, counted from 0.
    Byte(usize),
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Line(line) => write!(f, ":{line}"),
            Self::Byte(byte) => write!(f, ", byte {byte}"),
        }
    }
}

/// A fault in a file whose name the parser does not know.
#[derive(Debug)]
struct Fault {
    at: At,
    reason: String,
    remedy: &'static str,
}

impl Fault {
    fn new(reason: impl Into<String>, remedy: &'static str) -> Self {
        Self { at: At::Whole, reason: reason.into(), remedy }
    }

    fn on(line: usize, reason: impl Into<String>, remedy: &'static str) -> Self {
        Self { at: At::Line(line), ..Self::new(reason, remedy) }
    }

    fn at(self, file: &str) -> MeshError {
        MeshError::File { file: file.to_owned(), at: self.at, reason: self.reason, remedy: self.remedy.to_owned() }
    }
}

/// Three coordinates from the words of a text line. NaN and infinity are refused here, where the line is known.
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

/// Appends a polygon, or values at its corners, as a fan around its first corner.
fn push_fan<T: Copy>(triangles: &mut Vec<[T; 3]>, polygon: &[T]) {
    if let [first, rest @ ..] = polygon {
        triangles.extend(rest.windows(2).map(|pair| [*first, pair[0], pair[1]]));
    }
}

#[cfg(test)]
mod tests;
