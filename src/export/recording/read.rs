//! Recordings read back.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytemuck::{AnyBitPattern, NoUninit};

use super::format::{BLOCK_HEAD, Body, FORMAT, FRAME, GEOMETRY, Header, MATERIALS, Rigid, Skin, Unpacker, check_sum, shape};
use crate::element::ElementKind;
use crate::export::{Frame, Subject};
use crate::material::Material;
use crate::math::{Mat3, Vec3};
use crate::mesh::{Embedding, TetMesh};
use crate::model::{Mobility, Model, ModelBuilder, NamedMaterial, Obstacle, RigidBody, SoftBody};

/// The reason why a recording cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} is not a recording of this program: {reason}. Recordings are made by `pliant run SCENE --out NAME.pliant`", path.display())]
    NotARecording { path: PathBuf, reason: String },
    #[error("{} is damaged: {what} at byte {at} {reason}; copy the file again, or record again", path.display())]
    Damaged { path: PathBuf, what: String, at: u64, reason: &'static str },
}

/// A recording that is open.
#[derive(Debug)]
pub struct Recording {
    pub subject: Subject,
    path: PathBuf,
    file: BufReader<File>,
    /// The places where the blocks of the frames begin.
    frames: Vec<u64>,
    /// The places of blocks of materials, each with the number of frames before it.
    materials: Vec<(usize, u64)>,
    attachments: usize,
    cut_off: bool,
}

/// The first line is at most this long [bytes].
const MAX_LINE: u64 = 1 << 28;

impl Recording {
    /// Reads the geometry and finds the frames.
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        let failed = |source| RecordingError::Read { path: path.to_owned(), source };
        let refused = |reason: String| RecordingError::NotARecording { path: path.to_owned(), reason };
        let mut file = BufReader::new(File::open(path).map_err(failed)?);
        let total = file.get_ref().metadata().map_err(failed)?.len();
        let mut line = vec![];
        file.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(failed)?;
        let header = parse_header(&line).map_err(refused)?;
        let mut at = line.len() as u64;
        let mut recording = Self {
            subject: Subject {
                name: header.scene.clone(),
                model: Arc::new(ModelBuilder::default().build().map_err(|error| refused(error.to_string()))?),
                frames_per_second: header.frames_per_second,
                n_frames: 0,
                camera: header.camera(),
                light: header.light(),
                size: header.size,
            },
            path: path.to_owned(),
            file,
            frames: vec![],
            materials: vec![],
            attachments: header.attachments,
            cut_off: false,
        };
        let damaged = |reason| RecordingError::Damaged { path: path.to_owned(), what: "the geometry".into(), at, reason };
        let (mut arrays, length) = recording.block(at, total, GEOMETRY, "the geometry")?.ok_or_else(|| damaged("is cut off"))?;
        let model = model(&header, &mut arrays).ok_or_else(|| damaged("is not what the first line says"))?;
        recording.subject.model = Arc::new(model);
        at += length;
        // Frames are found by their heads alone.
        while at < total {
            match recording.head(at)? {
                Some(head) if at + BLOCK_HEAD as u64 + head.packed <= total => {
                    match head.letters {
                        MATERIALS => recording.materials.push((recording.frames.len(), at)),
                        _ => recording.frames.push(at),
                    }
                    at += BLOCK_HEAD as u64 + head.packed;
                }
                _ => {
                    recording.cut_off = true;
                    break;
                }
            }
        }
        recording.subject.n_frames = recording.frames.len() as u64;
        Ok(recording)
    }

    /// The number of whole frames.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Whether the file ends in the middle of a frame.
    pub fn is_cut_off(&self) -> bool {
        self.cut_off
    }

    pub fn frame(&mut self, k: usize) -> Result<Frame, RecordingError> {
        let (at, what) = (self.frames[k], format!("frame {k}"));
        let block = self.block(at, u64::MAX, FRAME, &what)?;
        let materials = self.materials_of(k)?;
        let (model, attachments) = (&self.subject.model, self.attachments);
        let frame = block.and_then(|(mut arrays, _)| frame(model, materials, attachments, &mut arrays));
        frame.ok_or_else(|| self.other_than_said(what, at))
    }

    /// The materials of frame `k`, in the order of the model's, where they are no longer those of the first line.
    fn materials_of(&mut self, k: usize) -> Result<Option<Vec<Material>>, RecordingError> {
        let n = self.materials.partition_point(|(first, _)| *first <= k);
        let Some((first, at)) = self.materials[..n].last().copied() else { return Ok(None) };
        let what = format!("the materials before frame {first}");
        let block = self.block(at, u64::MAX, MATERIALS, &what)?;
        let materials = block.and_then(|(arrays, _)| materials(&self.subject.model, arrays.bytes()));
        materials.map(Some).ok_or_else(|| self.other_than_said(what, at))
    }

    fn other_than_said(&self, what: String, at: u64) -> RecordingError {
        RecordingError::Damaged { path: self.path.clone(), what, at, reason: "is not what the first line says" }
    }

    /// The head of the block at a place; none where the file ends in it.
    fn head(&mut self, at: u64) -> Result<Option<Head>, RecordingError> {
        let mut bytes = [0; BLOCK_HEAD];
        let read = self.file.seek(SeekFrom::Start(at)).and_then(|_| self.file.read_exact(&mut bytes));
        match read {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(source) => return Err(RecordingError::Read { path: self.path.clone(), source }),
            Ok(()) => {}
        }
        let number = |from: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[from + i]));
        let sum = u32::from_le_bytes(std::array::from_fn(|i| bytes[20 + i]));
        Ok(Some(Head { letters: std::array::from_fn(|i| bytes[i]), length: number(4), packed: number(12), sum }))
    }

    /// The arrays of the block at a place, and its length in the file; none where the file ends in it.
    fn block(&mut self, at: u64, total: u64, letters: [u8; 4], what: &str) -> Result<Option<(Unpacker, u64)>, RecordingError> {
        let Some(head) = self.head(at)? else { return Ok(None) };
        let damaged = |reason| RecordingError::Damaged { path: self.path.clone(), what: what.to_owned(), at, reason };
        if head.letters != letters {
            return Err(damaged("does not begin as it should"));
        }
        let end = head.packed.checked_add(at + BLOCK_HEAD as u64);
        if end.is_none_or(|end| end > total) {
            return Ok(None);
        }
        // Lengths in the file are not believed: memory grows with the bytes that are there.
        let mut packed = vec![];
        let read = self.file.by_ref().take(head.packed).read_to_end(&mut packed);
        read.map_err(|source| RecordingError::Read { path: self.path.clone(), source })?;
        if packed.len() as u64 != head.packed || check_sum(&packed) != head.sum {
            return Err(damaged("has another check sum than it should"));
        }
        let arrays = Unpacker::new(&packed, head.length).ok_or_else(|| damaged("cannot be unpacked"))?;
        Ok(Some((arrays, BLOCK_HEAD as u64 + head.packed)))
    }
}

struct Head {
    letters: [u8; 4],
    length: u64,
    packed: u64,
    sum: u32,
}

fn parse_header(line: &[u8]) -> Result<Header, String> {
    #[derive(serde::Deserialize)]
    struct Format {
        format: String,
    }
    let Ok(Format { format }) = serde_json::from_slice(line) else {
        return Err("its first line does not say so".into());
    };
    if format != FORMAT {
        return Err(format!("its format is \"{format}\", and this program reads \"{FORMAT}\""));
    }
    let header: Header = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if !(header.frames_per_second.is_finite() && header.frames_per_second > 0.0) {
        return Err("it names no rate of frames".into());
    }
    Ok(header)
}

/// Makes the model from the first line and the arrays of the geometry; none where they do not agree.
fn model(header: &Header, arrays: &mut Unpacker) -> Option<Model> {
    let mut builder = ModelBuilder::default();
    for (place, body) in header.bodies.iter().enumerate() {
        builder.soft_body(soft_body(place, body, arrays)?);
    }
    for body in &header.rigid_bodies {
        builder.rigid_body(rigid_body(body, arrays)?).rigid_normals(corners(body.normals, body.triangles, arrays)?);
    }
    for obstacle in &header.obstacles {
        let pose = arrays.poses(1)?[0];
        let shape = shape(&obstacle.shape, arrays.finite(1, |v: &[f64; 3]| v.iter().all(|x| x.is_finite()))?[0])?;
        let friction = vec![0.0; header.bodies.len()];
        builder.obstacle(Obstacle { name: obstacle.name.clone(), shape, pose, motion: None, friction, color: obstacle.color });
    }
    if !arrays.is_at_end() {
        return None;
    }
    builder.build().ok()
}

fn soft_body(place: usize, body: &Body, arrays: &mut Unpacker) -> Option<SoftBody> {
    let [young_modulus, poisson_ratio, density, mass_damping, stiffness_damping] = arrays.finite(5, |x: &f64| x.is_finite())?[..] else {
        return None;
    };
    let old = Material { young_modulus, poisson_ratio, density, mass_damping, stiffness_damping, ..Material::default() };
    let material = body.materials.first().copied().unwrap_or(old);
    let tets = TetMesh { positions: arrays.vectors(body.nodes)?, tets: below(arrays.array(body.tets)?, body.nodes)? };
    let (surface_triangles, embedding) = skin(&body.surface, body.nodes, arrays)?;
    let collision = match &body.collision {
        Some(own) => Some(skin(own, body.nodes, arrays)?),
        None => None,
    };
    let texture_coordinates = corners(body.texture, body.surface.triangles, arrays)?;
    let normals = corners(body.normals, body.surface.triangles, arrays)?;
    let regions = regions(place, body, arrays)?;
    let element = body.element.as_ref().map_or(Some(ElementKind::Linear), |name| ElementKind::from_name(name))?;
    Some(SoftBody {
        element,
        texture_coordinates,
        parts: None,
        normals,
        name: body.name.clone(),
        material: named(place, 0, material),
        regions,
        filled: 1.0,
        tets,
        surface_triangles,
        embedding,
        collision,
        fixed: vec![false; body.nodes],
        velocities: vec![Vec3::zeros(); body.nodes],
        displacements: vec![Vec3::zeros(); body.nodes],
        color: body.color,
        self_contact: body.self_contact,
    })
}

/// The materials of a body beside its own, and the tets of each; none where the array of tets does not fit.
fn regions(of: usize, body: &Body, arrays: &mut Unpacker) -> Option<Vec<(NamedMaterial, Vec<u32>)>> {
    let Some((_, others)) = body.materials.split_first().filter(|(_, others)| !others.is_empty()) else { return Some(vec![]) };
    let of_tets: Vec<u32> = arrays.array(body.tets)?;
    if of_tets.iter().any(|place| *place as usize > others.len()) {
        return None;
    }
    let of_material = |(place, material): (u32, &Material)| {
        let tets = (0..).zip(&of_tets).filter(|(_, of_tet)| **of_tet == place).map(|(tet, _)| tet).collect();
        (named(of, place, *material), tets)
    };
    Some((1..).zip(others).map(of_material).collect())
}

/// A material with a name of its own, as those of one body may be changed and those of another not.
fn named(body: usize, place: u32, material: Material) -> NamedMaterial {
    NamedMaterial { name: format!("{body} {place}"), material }
}

fn skin(skin: &Skin, nodes: usize, arrays: &mut Unpacker) -> Option<(Vec<[u32; 3]>, Embedding)> {
    let nodes = below(arrays.array(skin.vertices)?, nodes)?;
    let weights = arrays.finite(skin.vertices, |w: &[f64; 4]| w.iter().all(|x| x.is_finite()))?;
    Some((below(arrays.array(skin.triangles)?, skin.vertices)?, Embedding { nodes, weights }))
}

fn rigid_body(body: &Rigid, arrays: &mut Unpacker) -> Option<RigidBody> {
    let pose = arrays.poses(1)?[0];
    let vertices = arrays.vectors(body.vertices)?;
    // A mass is needed, but has no effect on frames that are already made.
    let mobility = if body.free { Mobility::Free { mass: 1.0, inertia: Mat3::identity() } } else { Mobility::Driven(None) };
    Some(RigidBody {
        name: body.name.clone(),
        mobility,
        triangles: below(arrays.array(body.triangles)?, vertices.len())?,
        texture_coordinates: corners(body.texture, body.triangles, arrays)?,
        vertices,
        pose,
        velocity: Vec3::zeros(),
        angular_velocity: Vec3::zeros(),
        color: body.color,
    })
}

/// Reads the texture coordinates or normals of the corners of `n` triangles, if there are `some`; none where the arrays
/// end too soon.
fn corners<const N: usize>(some: bool, n: usize, arrays: &mut Unpacker) -> Option<Option<Vec<[[f32; N]; 3]>>>
where
    [[f32; N]; 3]: AnyBitPattern + NoUninit,
{
    if some { arrays.finite(n, |t: &[[f32; N]; 3]| t.as_flattened().iter().all(|x| x.is_finite())).map(Some) } else { Some(None) }
}

/// Passes indices on if all are below `n`.
fn below<const N: usize>(indices: Vec<[u32; N]>, n: usize) -> Option<Vec<[u32; N]>> {
    indices.as_flattened().iter().all(|i| (*i as usize) < n).then_some(indices)
}

/// The materials of a block, in the order of the model's; none where they are not those of its bodies.
fn materials(model: &Model, bytes: &[u8]) -> Option<Vec<Material>> {
    let of_bodies: Vec<Vec<Material>> = serde_json::from_slice(bytes).ok()?;
    let mut all: Vec<Material> = model.named_materials.iter().map(|named| named.material).collect();
    if of_bodies.len() != model.bodies.len() {
        return None;
    }
    for (body, materials) in model.bodies.iter().zip(&of_bodies) {
        let places = model.named_materials_of(body).0;
        if places.len() != materials.len() {
            return None;
        }
        places.iter().zip(materials).for_each(|(place, material)| all[*place as usize] = *material);
    }
    Some(all)
}

fn frame(model: &Model, materials: Option<Vec<Material>>, attachments: usize, arrays: &mut Unpacker) -> Option<Frame> {
    let rows = materials.as_ref().map_or_else(|| model.n_state_rows(), |materials| model.with_materials(materials).n_state_rows());
    let n = model.n_nodes();
    let n_pressures = model.collision.n_vertices() + model.rigid_bodies.iter().map(|body| body.vertices.len()).sum::<usize>();
    let frame = Frame {
        time: arrays.finite(1, |t: &f64| t.is_finite())?[0],
        displacements: arrays.vectors(n)?,
        velocities: arrays.finite(n, |v: &[f32; 3]| v.iter().all(|x| x.is_finite()))?,
        rigid_poses: arrays.poses(model.rigid_bodies.len())?,
        obstacle_poses: arrays.poses(model.obstacles.len())?,
        attachments: arrays.vectors(2 * attachments)?.chunks_exact(2).map(|ends| [ends[0], ends[1]]).collect(),
        contact_pressures: arrays.finite(n_pressures, |p: &f32| p.is_finite())?,
        states: arrays.finite(rows, |row: &[f64; 4]| row.iter().all(|x| x.is_finite()))?,
        materials,
    };
    arrays.is_at_end().then_some(frame)
}
