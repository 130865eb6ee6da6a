//! glTF 2.0, as text (.gltf) and in one file (.glb): the triangles of all meshes of the scene, placed by their nodes.

use nalgebra::{Matrix4, Point3, Quaternion, UnitQuaternion, Vector3};
use serde::Deserialize;

use super::cursor::{Cursor, Encoding, Scalar, base64, shortened};
use super::{Fault, MeshFile};
use crate::math::{Mat3, Vec3};
use crate::mesh::{CornerNormals, SurfaceMesh};

const EXPORT_AGAIN: &str = "export it again, uncompressed, as .glb";
const CUT_OFF: &str = "it may be cut off: fetch it again, or export it again as .glb";

/// Nodes that show one mesh many times may not make more vertices or triangles of it than this, or than the file has
/// bytes.
const MAX_REPEATED: usize = 5_000_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Document {
    scene: Option<usize>,
    scenes: Vec<SceneEntry>,
    nodes: Vec<Node>,
    meshes: Vec<MeshEntry>,
    accessors: Vec<Accessor>,
    buffer_views: Vec<BufferView>,
    buffers: Vec<Buffer>,
    extensions_required: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct SceneEntry {
    nodes: Vec<usize>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Node {
    children: Vec<usize>,
    mesh: Option<usize>,
    skin: Option<usize>,
    matrix: Option<[f64; 16]>,
    translation: Option<[f64; 3]>,
    /// x, y, z, w.
    rotation: Option<[f64; 4]>,
    scale: Option<[f64; 3]>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct MeshEntry {
    primitives: Vec<Primitive>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Primitive {
    attributes: Attributes,
    indices: Option<usize>,
    mode: Option<u32>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "UPPERCASE")]
struct Attributes {
    position: Option<usize>,
    normal: Option<usize>,
    #[serde(rename = "TEXCOORD_0")]
    texture: Option<usize>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Accessor {
    buffer_view: Option<usize>,
    byte_offset: usize,
    component_type: u32,
    normalized: bool,
    count: usize,
    #[serde(rename = "type")]
    kind: String,
    sparse: Option<serde_json::Value>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct BufferView {
    buffer: usize,
    byte_offset: usize,
    byte_length: usize,
    byte_stride: Option<usize>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Buffer {
    uri: Option<String>,
    byte_length: Option<usize>,
}

struct Reader {
    document: Document,
    buffers: Vec<Vec<u8>>,
    surface: SurfaceMesh,
    /// Texture coordinates of the corners of each triangle; 0 in parts without a texture.
    texture: Vec<[[f32; 2]; 3]>,
    is_textured: bool,
    /// Normals of the corners of each triangle; 0 in parts without normals, which then get the normals of their
    /// triangles.
    normals: Vec<CornerNormals>,
    has_normals: bool,
    notes: Vec<String>,
}

/// The vertices of one part of a mesh: their place in the surface, and what the corners of triangles take from them.
struct Part {
    first: usize,
    n_vertices: usize,
    texture: Vec<[f32; 2]>,
    normals: Vec<[f32; 3]>,
    /// Whether the part's transform mirrors, which turns triangles inside out.
    is_mirrored: bool,
}

pub(super) fn parse(bytes: &[u8], beside: super::Beside) -> Result<MeshFile, Fault> {
    let (json, binary) = if bytes.starts_with(b"glTF") { chunks(bytes)? } else { (bytes, None) };
    let document: Document = serde_json::from_slice(json).map_err(|error| {
        let reason = format!("the JSON is not that of glTF ({error})");
        Fault::new(shortened_reason(&reason), EXPORT_AGAIN)
    })?;
    for extension in &document.extensions_required {
        if !["KHR_mesh_quantization", "KHR_texture_transform"].contains(&extension.as_str()) && !extension.starts_with("KHR_materials") {
            return Err(Fault::new(format!("it needs the extension '{}', which is not read", shortened(extension)), EXPORT_AGAIN));
        }
    }
    let buffers: Vec<Vec<u8>> =
        document.buffers.iter().enumerate().map(|(i, buffer)| load(buffer, i, binary, beside)).collect::<Result<_, _>>()?;
    check_views(&document.buffer_views, &buffers)?;
    let (surface, texture, normals) = (SurfaceMesh::default(), Vec::new(), Vec::new());
    let mut reader = Reader { document, buffers, surface, texture, is_textured: false, normals, has_normals: false, notes: Vec::new() };
    reader.scene()?;
    reader.surface.texture_coordinates = reader.is_textured.then_some(reader.texture);
    reader.surface.normals = reader.has_normals.then_some(reader.normals);
    Ok(MeshFile { notes: reader.notes, ..reader.surface.into() })
}

fn shortened_reason(reason: &str) -> String {
    reason.chars().take(200).collect()
}

/// The JSON and the binary chunk of a .glb file.
fn chunks(bytes: &[u8]) -> Result<(&[u8], Option<&[u8]>), Fault> {
    const LE: Encoding = Encoding::LittleEndian;
    let mut cursor = Cursor::new(bytes);
    cursor.take(4, "the magic word")?;
    let version = cursor.whole(LE, Scalar::U32, "the version")?;
    if version != 2 {
        return Err(cursor.byte_fault(format!("glTF of version {version} is not read, only 2"), EXPORT_AGAIN));
    }
    cursor.whole(LE, Scalar::U32, "the length of the file")?;
    let (mut json, mut binary) = (None, None);
    while cursor.remaining() > 0 {
        let length = cursor.whole(LE, Scalar::U32, "the length of a chunk")? as usize;
        let kind = cursor.take(4, "the kind of a chunk")?;
        let data = cursor.take(length, "a chunk")?;
        match kind {
            b"JSON" if json.is_none() => json = Some(data),
            b"BIN\0" if binary.is_none() => binary = Some(data),
            _ => {}
        }
    }
    json.map(|json| (json, binary)).ok_or_else(|| cursor.byte_fault("expected a chunk of JSON, found none", EXPORT_AGAIN))
}

/// The bytes of a buffer, as many as it says; padding behind them is left out.
fn load(buffer: &Buffer, number: usize, binary: Option<&[u8]>, beside: super::Beside) -> Result<Vec<u8>, Fault> {
    let fault = |reason: String| Fault::new(format!("buffer {number}: {reason}"), "keep its files together, or export it again as .glb");
    let mut data = match &buffer.uri {
        None => binary.map(<[u8]>::to_vec).ok_or_else(|| fault("it has neither an address nor data in this file".into()))?,
        Some(uri) => match uri.strip_prefix("data:") {
            Some(data) => {
                let (_, text) = data.split_once(";base64,").ok_or_else(|| fault("its data are not base64".into()))?;
                base64(text.as_bytes(), usize::MAX).ok_or_else(|| fault("its data are not base64".into()))?
            }
            None => beside(&percent_decoded(uri)).map_err(fault)?,
        },
    };
    let promised = buffer.byte_length.unwrap_or(data.len());
    if data.len() < promised {
        return Err(Fault::new(format!("buffer {number} should have {promised} bytes, but {} are there", data.len()), CUT_OFF));
    }
    data.truncate(promised);
    Ok(data)
}

/// Refuses buffers that are shorter than one of their views, whether or not a mesh uses that view: such a file is not
/// whole.
fn check_views(views: &[BufferView], buffers: &[Vec<u8>]) -> Result<(), Fault> {
    for (number, view) in views.iter().enumerate() {
        let length = buffers.get(view.buffer).ok_or_else(|| missing("buffer", view.buffer))?.len();
        let end = view.byte_offset.saturating_add(view.byte_length);
        if end > length {
            let reason = format!("buffer view {number} ends at byte {end} of buffer {}, which has {length} bytes", view.buffer);
            return Err(Fault::new(reason, CUT_OFF));
        }
    }
    Ok(())
}

fn percent_decoded(uri: &str) -> String {
    let mut decoded = Vec::new();
    let mut rest = uri.as_bytes();
    while let [byte, after @ ..] = rest {
        let digits = after.get(..2).filter(|_| *byte == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(value.unwrap_or(*byte));
        rest = if value.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

impl Reader {
    /// Walks the scene that is shown first; without scenes all nodes from the top, without nodes all meshes.
    fn scene(&mut self) -> Result<(), Fault> {
        let nodes = &self.document.nodes;
        let mut is_child = vec![false; nodes.len()];
        for &child in nodes.iter().flat_map(|node| &node.children) {
            *is_child.get_mut(child).ok_or_else(|| missing("node", child))? = true;
        }
        let mut waiting: Vec<(usize, Matrix4<f64>)> = match self.document.scenes.get(self.document.scene.unwrap_or(0)) {
            Some(scene) => scene.nodes.iter().map(|&node| (node, Matrix4::identity())).collect(),
            None => (0..nodes.len()).filter(|&node| !is_child[node]).map(|node| (node, Matrix4::identity())).collect(),
        };
        waiting.reverse();
        let n_nodes = nodes.len();
        if n_nodes == 0 {
            for mesh in 0..self.document.meshes.len() {
                self.mesh(mesh, &Matrix4::identity())?;
            }
        }
        let mut seen = vec![false; n_nodes];
        let mut skins = 0;
        while let Some((index, parent)) = waiting.pop() {
            let node = self.document.nodes.get(index).ok_or_else(|| missing("node", index))?;
            if std::mem::replace(&mut seen[index], true) {
                return Err(Fault::new(format!("node {index} has several parents, or is its own"), EXPORT_AGAIN));
            }
            // The transforms of a node with a skin do not apply: its bones place it.
            skins += usize::from(node.skin.is_some());
            let world = parent * node.transform();
            waiting.extend(node.children.iter().rev().map(|&child| (child, world)));
            if let Some(mesh) = node.mesh {
                self.mesh(mesh, &world)?;
            }
        }
        if skins > 0 {
            self.notes.push(format!("{skins} meshes with skins are read in the pose in which they were modelled"));
        }
        Ok(())
    }

    /// Adds all parts of a mesh, placed by a transform.
    fn mesh(&mut self, mesh: usize, world: &Matrix4<f64>) -> Result<(), Fault> {
        let n_primitives = self.document.meshes.get(mesh).ok_or_else(|| missing("mesh", mesh))?.primitives.len();
        for i in 0..n_primitives {
            let primitive = &self.document.meshes[mesh].primitives[i];
            let (mode, indices) = (primitive.mode.unwrap_or(4), primitive.indices);
            let (Some(positions), 4..=6) = (primitive.attributes.position, mode) else {
                self.notes.push(format!("part {i} of mesh {mesh} has no triangles and is left out"));
                continue;
            };
            let (texture, normals) = (primitive.attributes.texture, primitive.attributes.normal);
            let part = Part {
                first: self.surface.positions.len(),
                n_vertices: self.add_vertices(mesh, positions, world)?,
                texture: self.texture_coordinates(texture)?,
                normals: self.normals(normals, world)?,
                is_mirrored: world.determinant() < 0.0,
            };
            self.is_textured |= !part.texture.is_empty();
            self.has_normals |= !part.normals.is_empty();
            let corners = self.corners(mesh, indices, part.n_vertices)?;
            match mode {
                4 => corners.chunks_exact(3).for_each(|t| self.add_triangle(&part, [t[0], t[1], t[2]])),
                5 => corners.windows(3).enumerate().for_each(|(i, t)| self.add_triangle(&part, [t[i % 2], t[1 - i % 2], t[2]])),
                _ => corners.windows(2).skip(1).for_each(|t| self.add_triangle(&part, [corners[0], t[0], t[1]])),
            }
        }
        Ok(())
    }

    /// Adds the vertices of a part and counts them.
    fn add_vertices(&mut self, mesh: usize, positions: usize, world: &Matrix4<f64>) -> Result<usize, Fault> {
        let points = self.numbers(positions, "VEC3")?;
        let most = self.buffers.iter().map(Vec::len).sum::<usize>().max(MAX_REPEATED);
        if self.surface.positions.len() + points.len() / 3 > most || self.surface.triangles.len() > most {
            return Err(Fault::new(format!("its nodes repeat meshes to more than {most} vertices or triangles"), EXPORT_AGAIN));
        }
        for (vertex, point) in points.chunks_exact(3).enumerate() {
            let point = world.transform_point(&Point3::new(point[0], point[1], point[2])).coords;
            if !point.iter().all(|x| x.is_finite()) {
                return Err(Fault::new(format!("vertex {vertex} of mesh {mesh} is not a finite point"), EXPORT_AGAIN));
            }
            self.surface.positions.push(point);
        }
        Ok(points.len() / 3)
    }

    /// The vertices of a part in the order of its corners: as its indices say, else one after the other.
    fn corners(&self, mesh: usize, indices: Option<usize>, n_vertices: usize) -> Result<Vec<usize>, Fault> {
        let Some(indices) = indices else { return Ok((0..n_vertices).collect()) };
        let corners = self.numbers(indices, "SCALAR")?;
        let is_wrong = |corner: &&f64| corner.fract() != 0.0 || !(0.0..n_vertices as f64).contains(*corner);
        if let Some(corner) = corners.iter().find(is_wrong) {
            return Err(Fault::new(format!("a triangle of mesh {mesh} names vertex {corner} of {n_vertices}"), EXPORT_AGAIN));
        }
        Ok(corners.into_iter().map(|corner| corner as usize).collect())
    }

    /// Texture coordinates of vertices, from the lower left corner of the texture; glTF counts from the upper left one.
    fn texture_coordinates(&self, accessor: Option<usize>) -> Result<Vec<[f32; 2]>, Fault> {
        let Some(accessor) = accessor else { return Ok(Vec::new()) };
        let numbers = self.numbers(accessor, "VEC2")?;
        Ok(numbers.as_chunks().0.iter().map(|&[u, v]| [u as f32, 1.0 - v as f32]).collect())
    }

    /// Unit normals of vertices. They turn with the cofactors of the transform, which are its inverse transposed, but
    /// for a factor.
    fn normals(&self, accessor: Option<usize>, world: &Matrix4<f64>) -> Result<Vec<[f32; 3]>, Fault> {
        let Some(accessor) = accessor else { return Ok(Vec::new()) };
        let numbers = self.numbers(accessor, "VEC3")?;
        let [a, b, c] = [0, 1, 2].map(|axis| Vec3::new(world[(0, axis)], world[(1, axis)], world[(2, axis)]));
        let cofactors = Mat3::from_columns(&[b.cross(&c), c.cross(&a), a.cross(&b)]) * world.determinant().signum();
        let turned = |n: &[f64; 3]| -> [f64; 3] { (cofactors * Vec3::from(*n)).try_normalize(0.0).unwrap_or_default().into() };
        Ok(numbers.as_chunks().0.iter().map(|n| turned(n).map(|x| x as f32)).collect())
    }

    fn add_triangle(&mut self, part: &Part, [a, b, c]: [usize; 3]) {
        let triangle = if part.is_mirrored { [a, c, b] } else { [a, b, c] };
        self.surface.triangles.push(triangle.map(|corner| (part.first + corner) as u32));
        self.texture.push(triangle.map(|corner| part.texture.get(corner).copied().unwrap_or_default()));
        self.normals.push(triangle.map(|corner| part.normals.get(corner).copied().unwrap_or_default()));
    }

    /// All numbers of an accessor of the kind `kind`.
    fn numbers(&self, accessor: usize, kind: &str) -> Result<Vec<f64>, Fault> {
        let fault = |reason: &str| Fault::new(format!("accessor {accessor}: {reason}"), EXPORT_AGAIN);
        let entry = self.document.accessors.get(accessor).ok_or_else(|| missing("accessor", accessor))?;
        if entry.kind != kind {
            return Err(fault(&format!("expected {kind}, found '{}'", shortened(&entry.kind))));
        }
        if entry.sparse.is_some() {
            return Err(fault("sparse data are not read"));
        }
        // The largest value of normalized integers becomes 1.
        let (scalar, largest) = match entry.component_type {
            5120 => (Scalar::I8, 127.0),
            5121 => (Scalar::U8, 255.0),
            5122 => (Scalar::I16, 32767.0),
            5123 => (Scalar::U16, 65535.0),
            5125 => (Scalar::U32, 1.0),
            5126 => (Scalar::F32, 1.0),
            other => return Err(fault(&format!("numbers of type {other} are not read"))),
        };
        let components = match kind {
            "VEC3" => 3,
            "VEC2" => 2,
            _ => 1,
        };
        let number = entry.buffer_view.ok_or_else(|| fault("it has no data"))?;
        let view = self.document.buffer_views.get(number).ok_or_else(|| missing("buffer view", number))?;
        // `check_views` has found the whole view in its buffer.
        let data = &self.buffers[view.buffer][view.byte_offset..view.byte_offset + view.byte_length];
        let size = components * scalar.size();
        let stride = view.byte_stride.unwrap_or(0).max(size);
        if entry.count == 0 {
            return Err(fault("it has no elements"));
        }
        let end = (entry.count - 1).saturating_mul(stride).saturating_add(entry.byte_offset).saturating_add(size);
        if end > data.len() {
            let reason = format!("its {} elements end at byte {end} of buffer view {number}, which has {} bytes", entry.count, data.len());
            return Err(Fault::new(format!("accessor {accessor}: {reason}"), CUT_OFF));
        }
        let scale = if entry.normalized { 1.0 / largest } else { 1.0 };
        let element = |i: usize| &data[entry.byte_offset + i * stride..];
        let number = |i: usize, c: usize| scalar.read(&element(i)[c * scalar.size()..], false).map(|value| value * scale);
        (0..entry.count)
            .flat_map(|i| (0..components).map(move |c| (i, c)))
            .map(|(i, c)| number(i, c).ok_or_else(|| fault("it ends early")))
            .collect()
    }
}

impl Node {
    fn transform(&self) -> Matrix4<f64> {
        if let Some(columns) = &self.matrix {
            return Matrix4::from_column_slice(columns);
        }
        let [x, y, z, w] = self.rotation.unwrap_or([0.0, 0.0, 0.0, 1.0]);
        let rotation = UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z)).to_homogeneous();
        let scale = Matrix4::new_nonuniform_scaling(&Vector3::from(self.scale.unwrap_or([1.0; 3])));
        Matrix4::new_translation(&Vec3::from(self.translation.unwrap_or([0.0; 3]))) * rotation * scale
    }
}

fn missing(what: &str, index: usize) -> Fault {
    Fault::new(format!("it names {what} {index}, which it does not have"), EXPORT_AGAIN)
}
