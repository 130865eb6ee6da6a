//! glTF 2.0 [Khronos 2021]: a mesh for each body. Deformable bodies are animated by a morph target for each frame,
//! which Blender reads as shape keys; rigid bodies are animated by the translations and rotations of their nodes.
//!
//! The JSON is written by hand: `gltf-json` has structs for it, but not the part that is work here, frames that stream
//! to the file while the room for their JSON is kept.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::fields::single;
use super::shading::Shading;
use super::surfaces::{Carrier, Look, Part, Surfaces};
use super::{Exporter, Frame, Subject, Written, stem};
use crate::cancel::CancelToken;
use crate::math::Isometry;
use crate::output::{OutputError, OutputFile, check_writable};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// `.glb`
    OneFile,
    /// `.gltf` and `.bin`
    TwoFiles,
}

/// Binary data stream to their file; the JSON that describes them follows at the end. In a .glb file it stands before
/// them, in room that was left for it.
pub struct Animation {
    path: PathBuf,
    container: Container,
    subject: Subject,
    surfaces: Surfaces,
    shading: Shading,
    /// The vertices of each part, sorted.
    parts: Vec<Vec<Shown>>,
    /// The triangles of each part by looks, a primitive each.
    looks: Vec<Vec<Look>>,
    file: OutputFile,
    /// The place where the binary data begin in the file, and their length.
    start: u64,
    length: u64,
    base: Base,
    frames: Vec<Keyframe>,
}

/// A vertex in the file: a drawn vertex at one place of the texture. Along a seam a drawn vertex has several places.
#[derive(Clone, Copy)]
struct Shown {
    drawn: u32,
    texture: [f32; 2],
}

impl Shown {
    /// The vertices of the corners of a triangle of a part.
    fn of(part: &Part, shading: &Shading, triangle: usize) -> [Self; 3] {
        let drawn = shading.triangles[part.triangles.start + triangle];
        let texture = part.texture.as_ref().map_or_else(Default::default, |texture| texture[triangle]);
        std::array::from_fn(|corner| Self { drawn: drawn[corner], texture: texture[corner] })
    }

    fn key(&self) -> (u32, [u32; 2]) {
        (self.drawn, self.texture.map(f32::to_bits))
    }
}

/// Positions and normals of the first frame.
#[derive(Default)]
struct Base {
    positions: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    views: Vec<PartViews>,
}

/// The places of the constant data of a part.
struct PartViews {
    indices: View,
    positions: View,
    normals: View,
    texture: Option<View>,
}

impl PartViews {
    /// The place where the data behind this range begin.
    fn end(&self) -> u64 {
        let last = self.texture.as_ref().unwrap_or(&self.normals);
        last.offset + last.length
    }
}

/// A range of the binary data, and the bounds of the numbers in it.
#[derive(Clone, Copy, Default)]
struct View {
    offset: u64,
    length: u64,
    bounds: [[f32; 3]; 2],
}

struct Keyframe {
    /// [s]
    time: f64,
    /// For each deformable body the changes of positions and normals since the first frame.
    targets: Vec<[View; 2]>,
    /// Poses of rigid bodies and obstacles.
    poses: Vec<Isometry>,
}

const COMPONENT_F32: u32 = 5126;
const COMPONENT_U32: u32 = 5125;
const TARGET_VERTICES: u32 = 34962;
const TARGET_INDICES: u32 = 34963;
/// No number of single precision is written with more digits.
const WIDEST_NUMBER: f32 = -1.234_567_9e-38;
/// The length of the header and of the head of the JSON chunk [bytes].
const HEAD_BYTES: u64 = 20;

impl Animation {
    pub fn new(path: &Path, subject: &Subject, container: Container) -> Result<Self, OutputError> {
        let surfaces = Surfaces::new(&subject.model);
        let shading = Shading::new(&subject.model, &surfaces);
        let parts = surfaces.parts.iter().map(|part| {
            let mut shown: Vec<Shown> = (0..part.triangles.len()).flat_map(|t| Shown::of(part, &shading, t)).collect();
            shown.sort_unstable_by_key(Shown::key);
            shown.dedup_by_key(|shown| shown.key());
            shown
        });
        let parts = parts.collect();
        let looks = surfaces.parts.iter().map(Part::looks).collect();
        check_writable(path)?;
        let file = OutputFile::create(&if container == Container::OneFile { path.to_owned() } else { path.with_extension("bin") })?;
        Ok(Self {
            path: path.to_owned(),
            container,
            subject: subject.clone(),
            surfaces,
            shading,
            parts,
            looks,
            file,
            start: 0,
            length: 0,
            base: Base::default(),
            frames: vec![],
        })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<View, OutputError> {
        let view = View { offset: self.length, length: bytes.len() as u64, ..View::default() };
        self.file.put(bytes)?;
        self.length += view.length;
        Ok(view)
    }

    fn put_vectors(&mut self, vectors: &[[f32; 3]]) -> Result<View, OutputError> {
        let view = self.put(vectors.as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>().as_slice())?;
        let bound = |pick: fn(f32, f32) -> f32| vectors.iter().copied().reduce(|a, b| std::array::from_fn(|i| pick(a[i], b[i])));
        Ok(View { bounds: [bound(f32::min), bound(f32::max)].map(Option::unwrap_or_default), ..view })
    }

    /// Writes the meshes of the first frame, rigid bodies and obstacles in their own frames of reference.
    fn begin(&mut self, frame: &Frame) -> Result<(), OutputError> {
        if self.container == Container::OneFile {
            // Room for as many frames as may come, with numbers as long as they can be.
            let widest = View { offset: 1 << 40, length: 1 << 40, bounds: [[WIDEST_NUMBER; 3]; 2] };
            let views = |part: &Part| PartViews {
                indices: widest,
                positions: widest,
                normals: widest,
                texture: part.texture.as_ref().map(|_| widest),
            };
            self.base.views = self.surfaces.parts.iter().map(views).collect();
            let targets = vec![[widest; 2]; self.n_soft()];
            self.frames = (0..self.subject.n_frames).map(|_| Keyframe { time: 0.0, targets: targets.clone(), poses: vec![] }).collect();
            let room = (self.json(&[widest; 4], widest.length, &CancelToken::default())?.to_string().len() as u64).next_multiple_of(4);
            self.base.views.clear();
            self.frames.clear();
            self.start = HEAD_BYTES + room + 8;
            self.file.put(&vec![b' '; self.start as usize])?;
        }
        let own = |poses: &[Isometry]| vec![Isometry::identity(); poses.len()];
        let frame = Frame { rigid_poses: own(&frame.rigid_poses), obstacle_poses: own(&frame.obstacle_poses), ..frame.clone() };
        let positions = self.surfaces.positions(&self.subject.model, &frame);
        self.base.normals = self.shading.normals(&self.subject.model, &frame, &positions);
        self.base.positions = positions.iter().map(single).collect();
        for part in 0..self.parts.len() {
            let shown = std::mem::take(&mut self.parts[part]);
            let index = |corner: Shown| shown.partition_point(|s| s.key() < corner.key()) as u32;
            let triangles = self.looks[part].iter().flat_map(|look| &look.triangles);
            let corners = triangles.flat_map(|&t| Shown::of(&self.surfaces.parts[part], &self.shading, t));
            let indices: Vec<u8> = corners.flat_map(|corner| index(corner).to_le_bytes()).collect();
            let points: Vec<_> = shown.iter().map(|s| self.base.positions[self.shading.sources[s.drawn as usize] as usize]).collect();
            let normals: Vec<_> = shown.iter().map(|s| self.base.normals[s.drawn as usize]).collect();
            // glTF measures from the upper left corner.
            let texture = self.surfaces.parts[part].texture.is_some().then(|| {
                let coordinates = shown.iter().flat_map(|s| [s.texture[0], 1.0 - s.texture[1]]);
                coordinates.flat_map(f32::to_le_bytes).collect::<Vec<u8>>()
            });
            let views = PartViews {
                indices: self.put(&indices)?,
                positions: self.put_vectors(&points)?,
                normals: self.put_vectors(&normals)?,
                texture: texture.map(|bytes| self.put(&bytes)).transpose()?,
            };
            self.parts[part] = shown;
            self.base.views.push(views);
        }
        Ok(())
    }

    fn n_soft(&self) -> usize {
        self.subject.model.bodies.len()
    }
}

impl Exporter for Animation {
    fn write(&mut self, frame: &Frame) -> Result<(), OutputError> {
        if self.frames.is_empty() {
            self.begin(frame)?;
        }
        let before = self.length;
        let n_shown = self.parts.iter().map(Vec::len).sum::<usize>() as u64;
        let n_poses = (frame.rigid_poses.len() + frame.obstacle_poses.len()) as u64;
        let keys =
            (self.frames.len() as u64 + 1).pow(2) * 4 * self.n_soft().min(1) as u64 + (self.frames.len() as u64 + 1) * (4 + 28 * n_poses);
        if self.start + before + 24 * n_shown + keys > u64::from(u32::MAX) {
            let source = std::io::Error::other("glTF holds at most 4 GiB; take fewer frames a second, or another format");
            return Err(OutputError::Failed { path: self.path.clone(), source });
        }
        let positions = self.surfaces.positions(&self.subject.model, frame);
        let now = self.shading.normals(&self.subject.model, frame, &positions);
        let mut targets = vec![];
        for part in 0..self.n_soft() {
            let shown = std::mem::take(&mut self.parts[part]);
            let difference = |a: [f32; 3], b: [f32; 3]| std::array::from_fn(|i| a[i] - b[i]);
            let sources = shown.iter().map(|s| self.shading.sources[s.drawn as usize] as usize);
            let moved: Vec<_> = sources.map(|v| difference(single(&positions[v]), self.base.positions[v])).collect();
            let drawn = shown.iter().map(|s| s.drawn as usize);
            let turned: Vec<_> = drawn.map(|d| difference(now[d], self.base.normals[d])).collect();
            self.parts[part] = shown;
            let views = self.put_vectors(&moved).and_then(|moved| Ok([moved, self.put_vectors(&turned)?]));
            targets.push(views.inspect_err(|_| self.length = before)?);
        }
        self.file.mark().inspect_err(|_| self.length = before)?;
        let poses = frame.rigid_poses.iter().chain(&frame.obstacle_poses).copied().collect();
        self.frames.push(Keyframe { time: frame.time, targets, poses });
        Ok(())
    }

    fn finish(mut self: Box<Self>, cancel: &CancelToken) -> Result<Written, OutputError> {
        let n = self.frames.len();
        if n == 0 {
            return Ok(Written::default());
        }
        // On a full disk the last frames make room for the keys of the animation.
        let keys = loop {
            self.file.cut()?;
            OutputError::check(cancel, &self.path)?;
            match self.put_keys(cancel) {
                Ok(keys) => break keys,
                Err(error) if self.frames.len() < 2 || cancel.is_cancelled() => return Err(error),
                Err(_) => {
                    self.frames.pop();
                    let end = self.frames.last().and_then(|frame| frame.targets.last()).map(|[_, turned]| turned.offset + turned.length);
                    self.length = end.unwrap_or_else(|| self.base.views.last().map_or(0, |views| views.end()));
                    self.file.cut_to(self.start + self.length)?;
                }
            }
        };
        let mut json = self.json(&keys, self.length, cancel)?.to_string().into_bytes();
        OutputError::check(cancel, &self.path)?;
        let mut written = Written { frames: self.frames.len() as u64, ..Written::default() };
        if self.container == Container::OneFile {
            json.resize((self.start - HEAD_BYTES - 8) as usize, b' ');
            let total = (self.start + self.length) as u32;
            let mut head = vec![];
            head.extend_from_slice(b"glTF");
            for word in [2, total, json.len() as u32] {
                head.extend_from_slice(&word.to_le_bytes());
            }
            head.extend_from_slice(b"JSON");
            head.extend_from_slice(&json);
            head.extend_from_slice(&(self.length as u32).to_le_bytes());
            head.extend_from_slice(b"BIN\0");
            self.file.put_at(0, &head)?;
            written.bytes = self.file.len();
            self.file.finish()?;
        } else {
            written.files = format!("its data are in {}", self.file.path().display());
            written.bytes = self.file.len() + json.len() as u64;
            let mut document = OutputFile::create(&self.path)?;
            document.put(&json)?;
            self.file.finish()?;
            document.finish()?;
        }
        Ok(written)
    }
}

impl Animation {
    /// Writes times, weights of the morph targets, translations and rotations.
    fn put_keys(&mut self, cancel: &CancelToken) -> Result<[View; 4], OutputError> {
        let n = self.frames.len();
        let start = self.length;
        let times: Vec<f32> = self.frames.iter().map(|frame| (frame.time - self.frames[0].time) as f32).collect();
        let last = times[n - 1];
        let bytes = |values: &[f32]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        let put = |animation: &mut Self| {
            let times = View { bounds: [[0.0; 3], [last; 3]], ..animation.put(&bytes(&times))? };
            // Frame k is the k-th target alone.
            let mut weights = vec![0.0f32; n * n];
            (0..n).for_each(|k| weights[k * n + k] = 1.0);
            let weights = if animation.n_soft() > 0 { animation.put(&bytes(&weights))? } else { View::default() };
            let n_poses = animation.frames[0].poses.len();
            let (mut translations, mut rotations) = (vec![], vec![]);
            for body in 0..n_poses {
                OutputError::check(cancel, &animation.path)?;
                let mut before = [0.0; 4];
                for frame in &animation.frames {
                    let pose = &frame.poses[body];
                    translations.extend(single(&pose.translation.vector));
                    let q = quaternion(pose);
                    // q and -q are the same rotation, but the paths from another rotation to them differ.
                    let side = (0..4).map(|i| q[i] * before[i]).sum::<f32>();
                    before = q.map(|x| if side < 0.0 { -x } else { x });
                    rotations.extend(before);
                }
            }
            let translations = animation.put(&bytes(&translations))?;
            let rotations = animation.put(&bytes(&rotations))?;
            animation.file.mark()?;
            Ok([times, weights, translations, rotations])
        };
        put(self).inspect_err(|_| self.length = start)
    }

    /// The JSON that describes the binary data.
    fn json(&self, views: &[View; 4], length: u64, cancel: &CancelToken) -> Result<Value, OutputError> {
        let [times, weights, translations, rotations] = views;
        let n = self.frames.len();
        let mut document = Document::default();
        let time = document.accessor(times, n, "SCALAR", COMPONENT_F32, None, true);
        let (mut meshes, mut nodes, mut materials) = (vec![], vec![], vec![]);
        let (mut samplers, mut channels) = (vec![], vec![]);
        let mut channel = |node: usize, path: &str, output: usize| {
            channels.push(json!({ "sampler": samplers.len(), "target": { "node": node, "path": path } }));
            samplers.push(json!({ "input": time, "output": output, "interpolation": "LINEAR" }));
        };
        for (index, part) in self.surfaces.parts.iter().enumerate() {
            OutputError::check(cancel, &self.path)?;
            let (shown, views) = (self.parts[index].len(), &self.base.views[index]);
            let positions = document.accessor(&views.positions, shown, "VEC3", COMPONENT_F32, Some(TARGET_VERTICES), true);
            let normals = document.accessor(&views.normals, shown, "VEC3", COMPONENT_F32, Some(TARGET_VERTICES), false);
            let mut attributes = json!({ "POSITION": positions, "NORMAL": normals });
            if let Some(texture) = &views.texture {
                attributes["TEXCOORD_0"] = document.accessor(texture, shown, "VEC2", COMPONENT_F32, Some(TARGET_VERTICES), false).into();
            }
            let mut mesh = json!({ "name": part.name });
            let mut targets: Vec<Value> = vec![];
            if part.carrier == Carrier::Soft {
                let target = self.frames.iter().map(|frame| {
                    let [moved, turned] = &frame.targets[index];
                    let moved = document.accessor(moved, shown, "VEC3", COMPONENT_F32, Some(TARGET_VERTICES), true);
                    json!({ "POSITION": moved, "NORMAL": document.accessor(turned, shown, "VEC3", COMPONENT_F32, Some(TARGET_VERTICES), false) })
                });
                targets.extend(target);
                mesh["weights"] = vec![0; n].into();
                let weights = document.accessor(weights, n * n, "SCALAR", COMPONENT_F32, None, false);
                channel(index, "weights", weights);
            } else {
                let first = (index - self.n_soft()) as u64;
                let key =
                    |whole: &View, size: u64| View { offset: whole.offset + first * n as u64 * size, length: n as u64 * size, ..*whole };
                channel(index, "translation", document.accessor(&key(translations, 12), n, "VEC3", COMPONENT_F32, None, false));
                channel(index, "rotation", document.accessor(&key(rotations, 16), n, "VEC4", COMPONENT_F32, None, false));
            }
            let mut first = 0;
            let mut primitives = vec![];
            for Look { name, color, triangles } in &self.looks[index] {
                let view = View { offset: views.indices.offset + 12 * first, length: 12 * triangles.len() as u64, ..views.indices };
                first += triangles.len() as u64;
                let indices = document.accessor(&view, 3 * triangles.len(), "SCALAR", COMPONENT_U32, Some(TARGET_INDICES), false);
                let mut primitive = json!({ "attributes": attributes, "indices": indices, "material": materials.len() });
                if !targets.is_empty() {
                    primitive["targets"] = targets.clone().into();
                }
                primitives.push(primitive);
                let [r, g, b] = color;
                materials.push(json!({ "name": name, "pbrMetallicRoughness":
                    { "baseColorFactor": [r, g, b, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.6 } }));
            }
            mesh["primitives"] = primitives.into();
            meshes.push(mesh);
            let mut node = json!({ "name": part.name, "mesh": index });
            if let Some(body) = index.checked_sub(self.n_soft()) {
                // Viewers that do not play need a pose. Before the first frame only its room counts: numbers of the
                // greatest width stand there.
                let pose = self.frames.first().and_then(|frame| frame.poses.get(body));
                let (at, q) =
                    pose.map_or(([WIDEST_NUMBER; 3], [WIDEST_NUMBER; 4]), |pose| (single(&pose.translation.vector), quaternion(pose)));
                (node["translation"], node["rotation"]) = (json!(at), json!(q));
            }
            nodes.push(node);
        }
        let scene: Vec<usize> = (0..nodes.len()).collect();
        let mut buffer = json!({ "byteLength": length });
        if self.container == Container::TwoFiles {
            buffer["uri"] = format!("{}.bin", encoded(&stem(&self.path))).into();
        }
        Ok(json!({
            "asset": { "version": "2.0", "generator": concat!("Pliant ", env!("CARGO_PKG_VERSION")) },
            "scene": 0,
            "scenes": [{ "name": self.subject.name, "nodes": scene }],
            "nodes": nodes, "meshes": meshes, "materials": materials,
            "animations": [{ "name": self.subject.name, "samplers": samplers, "channels": channels }],
            "accessors": document.accessors, "bufferViews": document.views, "buffers": [buffer],
        }))
    }
}

/// Lists that grow while the JSON is made.
#[derive(Default)]
struct Document {
    accessors: Vec<Value>,
    views: Vec<Value>,
}

impl Document {
    fn accessor(&mut self, view: &View, count: usize, kind: &str, component: u32, target: Option<u32>, bounded: bool) -> usize {
        let mut entry = json!({ "buffer": 0, "byteOffset": view.offset, "byteLength": view.length });
        if let Some(target) = target {
            entry["target"] = target.into();
        }
        self.views.push(entry);
        let mut accessor = json!({ "bufferView": self.views.len() - 1, "componentType": component, "count": count, "type": kind });
        if bounded {
            let width = if kind == "SCALAR" { 1 } else { 3 };
            (accessor["min"], accessor["max"]) = (json!(view.bounds[0][..width]), json!(view.bounds[1][..width]));
        }
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }
}

fn quaternion(pose: &Isometry) -> [f32; 4] {
    let q = pose.rotation.coords;
    [q.x as f32, q.y as f32, q.z as f32, q.w as f32]
}

/// Encodes a file name for a URI.
fn encoded(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
    name.chars().map(|c| if plain(c) { c.to_string() } else { c.to_string().bytes().map(|b| format!("%{b:02X}")).collect() }).collect()
}
