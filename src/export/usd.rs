//! Universal Scene Description as text (`.usda`) [Pixar, usd.org]: a mesh for each body. Points, normals and poses are
//! time samples.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::fields::single;
use super::shading::Shading;
use super::surfaces::{Carrier, Part, Surfaces};
use super::{Exporter, Frame, Subject, Written};
use crate::cancel::CancelToken;
use crate::math::Isometry;
use crate::output::{OutputError, OutputFile, check_writable};
use crate::stage;

/// The text lists all samples of one attribute together, so frames wait in memory, in this many bytes at most: more
/// would be some gigabytes of text.
const MAX_BYTES: usize = 1 << 30;

/// `NAME.usda`
pub struct Stage {
    path: PathBuf,
    subject: Subject,
    surfaces: Surfaces,
    shading: Shading,
    /// For each part the drawn vertices that its triangles name, sorted.
    drawn: Vec<Vec<u32>>,
    frames: Vec<Samples>,
}

/// The samples of a frame.
struct Samples {
    time: f64,
    positions: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    poses: Vec<Isometry>,
}

impl Stage {
    pub fn new(path: &Path, subject: &Subject) -> Result<Self, OutputError> {
        check_writable(path)?;
        let surfaces = Surfaces::new(&subject.model);
        let shading = Shading::new(&subject.model, &surfaces);
        let drawn = |part: &Part| {
            let mut drawn = shading.triangles[part.triangles.clone()].as_flattened().to_vec();
            drawn.sort_unstable();
            drawn.dedup();
            drawn
        };
        let drawn = surfaces.parts.iter().map(drawn).collect();
        Ok(Self { path: path.to_owned(), subject: subject.clone(), surfaces, shading, drawn, frames: vec![] })
    }

    /// The file with the first frames.
    fn save(&self, n_frames: usize, cancel: &CancelToken) -> Result<u64, OutputError> {
        let mut file = OutputFile::create(&self.path)?;
        let frames = &self.frames[..n_frames];
        // The sum of steps is off by roundings.
        let code = |frame: &Samples| ((frame.time - frames[0].time) * self.subject.frames_per_second * 1e6).round() / 1e6;
        let rate = self.subject.frames_per_second;
        file.put(
            format!(
                "#usda 1.0\n(\n    defaultPrim = \"World\"\n    doc = \"Pliant {}\"\n    endTimeCode = {}\n    framesPerSecond = {rate}\n    metersPerUnit = 1\n    \
                 startTimeCode = 0\n    timeCodesPerSecond = {rate}\n    upAxis = \"Y\"\n)\n\ndef Xform \"World\"\n{{\n",
                env!("CARGO_PKG_VERSION"),
                frames.last().map_or(0.0, code),
            )
            .as_bytes(),
        )?;
        let mut names: Vec<String> = vec![];
        let n_parts = self.surfaces.parts.len();
        for (index, part) in self.surfaces.parts.iter().enumerate() {
            let name = identifier(&part.name, &names);
            let shown = part.name.replace('\\', "\\\\").replace('"', "\\\"").replace(char::is_control, " ");
            file.put(format!("    def Mesh \"{name}\" (\n        displayName = \"{shown}\"\n    )\n    {{\n").as_bytes())?;
            names.push(name);
            file.put(self.constant(index, part).as_bytes())?;
            // A rigid body or an obstacle has the points of the first frame, and a pose for each frame.
            let moving = if part.carrier == Carrier::Soft { frames } else { &frames[..1] };
            for (attribute, sample) in [
                ("float3[] extent", &(|frame: &Samples| extent(&frame.positions[part.vertices.clone()])) as &dyn Fn(&Samples) -> String),
                ("point3f[] points", &|frame| tuples(&frame.positions[part.vertices.clone()])),
                ("normal3f[] primvars:normals", &|frame| {
                    tuples(&self.drawn[index].iter().map(|&d| frame.normals[d as usize]).collect::<Vec<_>>())
                }),
            ] {
                file.put(format!("        {attribute}.timeSamples = {{\n").as_bytes())?;
                for frame in moving {
                    OutputError::check(cancel, &self.path)?;
                    file.put(format!("            {}: {},\n", code(frame), sample(frame)).as_bytes())?;
                }
                file.put(b"        }\n")?;
            }
            if let Some(body) = index.checked_sub(self.subject.model.bodies.len()) {
                file.put(poses(frames, body, code).as_bytes())?;
            }
            file.put(b"    }\n\n")?;
            cancel.reached((index + 1) as f32 / n_parts as f32);
        }
        file.put(b"}\n")?;
        let bytes = file.len();
        file.finish()?;
        Ok(bytes)
    }

    /// The attributes of a part that do not change.
    fn constant(&self, index: usize, part: &Part) -> String {
        let first = part.vertices.start as u32;
        let triangles = &self.surfaces.triangles[part.triangles.clone()];
        let normals = self.shading.triangles[part.triangles.clone()].as_flattened();
        let place = |drawn: &u32| self.drawn[index].partition_point(|d| d < drawn);
        let tuple = |[r, g, b]: [f32; 3]| format!("({r}, {g}, {b})");
        let color = match part.colors() {
            None => format!("[{}]", tuple(stage::linear(part.color))),
            Some(colors) => {
                format!("{} (\n            interpolation = \"uniform\"\n        )", list(colors.into_iter().map(tuple)))
            }
        };
        let mut text = format!(
            "        uniform token subdivisionScheme = \"none\"\n        int[] faceVertexCounts = {}\n        int[] faceVertexIndices = {}\n        \
             normal3f[] primvars:normals (\n            interpolation = \"faceVarying\"\n        )\n        int[] primvars:normals:indices = {}\n        color3f[] primvars:displayColor = {color}\n",
            list(triangles.iter().map(|_| 3)),
            list(triangles.as_flattened().iter().map(|v| v - first)),
            list(normals.iter().map(place)),
        );
        if let Some(texture) = &part.texture {
            let coordinates = list(texture.as_flattened().iter().map(|[u, v]| format!("({u}, {v})")));
            text +=
                &format!("        texCoord2f[] primvars:st = {coordinates} (\n            interpolation = \"faceVarying\"\n        )\n");
        }
        text
    }
}

impl Exporter for Stage {
    fn write(&mut self, frame: &Frame) -> Result<(), OutputError> {
        let model = &self.subject.model;
        let size = 12 * (self.surfaces.local.len() + self.shading.sources.len());
        if (self.frames.len() + 1) * size > MAX_BYTES {
            let source = std::io::Error::other("as text of USD this is too much; take fewer frames a second, or another format");
            return Err(OutputError::Failed { path: self.path.clone(), source });
        }
        // Rigid bodies and obstacles in their own frames of reference.
        let own = |poses: &[Isometry]| vec![Isometry::identity(); poses.len()];
        let still = Frame { rigid_poses: own(&frame.rigid_poses), obstacle_poses: own(&frame.obstacle_poses), ..frame.clone() };
        let positions = self.surfaces.positions(model, &still);
        let normals = self.shading.normals(model, &still, &positions);
        let poses = frame.rigid_poses.iter().chain(&frame.obstacle_poses).copied().collect();
        self.frames.push(Samples { time: frame.time, positions: positions.iter().map(single).collect(), normals, poses });
        Ok(())
    }

    fn finish(self: Box<Self>, cancel: &CancelToken) -> Result<Written, OutputError> {
        let mut n = self.frames.len();
        if n == 0 {
            return Ok(Written::default());
        }
        // On a full disk there may be room for half of the frames.
        loop {
            match self.save(n, cancel) {
                Ok(bytes) => return Ok(Written { frames: n as u64, bytes, files: String::new() }),
                Err(error) if n == 1 || cancel.is_cancelled() => return Err(error),
                Err(_) => n /= 2,
            }
        }
    }
}

/// The poses of a rigid body or an obstacle.
fn poses(frames: &[Samples], body: usize, code: impl Fn(&Samples) -> f64) -> String {
    let (mut translations, mut rotations) = (String::new(), String::new());
    let mut before = [0.0; 4];
    for frame in frames {
        let (at, q) = (frame.poses[body].translation.vector, frame.poses[body].rotation.coords);
        // q and -q are the same rotation, but the paths from another rotation to them differ.
        let q = [q.w, q.x, q.y, q.z];
        let side: f64 = (0..4).map(|i| q[i] * before[i]).sum();
        before = q.map(|x| if side < 0.0 { -x } else { x });
        let [w, x, y, z] = before.map(|x| x as f32);
        translations += &format!("            {}: ({}, {}, {}),\n", code(frame), at.x, at.y, at.z);
        rotations += &format!("            {}: ({w}, {x}, {y}, {z}),\n", code(frame));
    }
    format!(
        "        double3 xformOp:translate.timeSamples = {{\n{translations}        }}\n        quatf xformOp:orient.timeSamples = {{\n{rotations}        }}\n        \
         uniform token[] xformOpOrder = [\"xformOp:translate\", \"xformOp:orient\"]\n"
    )
}

/// A name of letters, digits and underscores that no other part has.
fn identifier(name: &str, taken: &[String]) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut found: String = name.chars().map(plain).collect();
    if !found.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        found.insert(0, '_');
    }
    let numbered = (2..).map(|n| format!("{found}_{n}"));
    std::iter::once(found.clone()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or(found)
}

fn list<T: std::fmt::Display>(items: impl Iterator<Item = T>) -> String {
    let mut text = String::from("[");
    for (i, item) in items.enumerate() {
        // A String takes everything.
        write!(text, "{}{item}", if i == 0 { "" } else { ", " }).unwrap_or_default();
    }
    text + "]"
}

fn tuples(vectors: &[[f32; 3]]) -> String {
    let mut text = String::with_capacity(36 * vectors.len() + 2);
    text.push('[');
    for (i, [x, y, z]) in vectors.iter().enumerate() {
        write!(text, "{}({x}, {y}, {z})", if i == 0 { "" } else { ", " }).unwrap_or_default();
    }
    text + "]"
}

/// The lowest and the highest corner of the box around some points.
fn extent(points: &[[f32; 3]]) -> String {
    let fold = |start: f32, pick: fn(f32, f32) -> f32| points.iter().fold([start; 3], |e, p| std::array::from_fn(|i| pick(e[i], p[i])));
    tuples(&[fold(f32::INFINITY, f32::min), fold(f32::NEG_INFINITY, f32::max)])
}
