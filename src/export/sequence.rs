//! A numbered file of surfaces for each frame: Wavefront OBJ, and binary PLY.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::fields::single;
use super::shading::Shading;
use super::surfaces::Surfaces;
use super::{Exporter, Frame, Subject, Written, numbered};
use crate::cancel::CancelToken;
use crate::model::Model;
use crate::output::{OutputError, OutputFile, check_writable};

/// `NAME_00000.obj`, … or `.ply`.
pub struct Sequence {
    path: PathBuf,
    subject: Subject,
    surfaces: Surfaces,
    encode: fn(&Model, &Surfaces, &Shading, &Frame) -> Vec<u8>,
    ending: &'static str,
    shading: Shading,
    written: Written,
}

impl Sequence {
    pub fn obj(path: &Path, subject: &Subject) -> Result<Self, OutputError> {
        Self::new(path, subject, obj, "obj")
    }

    pub fn ply(path: &Path, subject: &Subject) -> Result<Self, OutputError> {
        Self::new(path, subject, ply, "ply")
    }

    fn new(
        path: &Path,
        subject: &Subject,
        encode: fn(&Model, &Surfaces, &Shading, &Frame) -> Vec<u8>,
        ending: &'static str,
    ) -> Result<Self, OutputError> {
        check_writable(&numbered(path, "", 0, ending))?;
        let surfaces = Surfaces::new(&subject.model);
        let shading = Shading::new(&subject.model, &surfaces);
        Ok(Self { path: path.to_owned(), subject: subject.clone(), surfaces, encode, ending, shading, written: Written::default() })
    }
}

impl Exporter for Sequence {
    fn write(&mut self, frame: &Frame) -> Result<(), OutputError> {
        let bytes = (self.encode)(&self.subject.model, &self.surfaces, &self.shading, frame);
        let path = numbered(&self.path, "", self.written.frames, self.ending);
        OutputFile::save(&path, &bytes)?;
        self.written.frames += 1;
        self.written.bytes += bytes.len() as u64;
        Ok(())
    }

    fn finish(self: Box<Self>, _: &CancelToken) -> Result<Written, OutputError> {
        let last = numbered(&self.path, "", self.written.frames.saturating_sub(1), self.ending);
        let files = format!("{} to {}", numbered(&self.path, "", 0, self.ending).display(), last.display());
        Ok(Written { files, ..self.written })
    }
}

/// Bodies are groups of one object: readers that make objects of groups only when asked keep the order of the vertices.
pub fn obj(model: &Model, surfaces: &Surfaces, shading: &Shading, frame: &Frame) -> Vec<u8> {
    let positions = surfaces.positions(model, frame);
    let mut text = format!("# Pliant, time {} s, metres, y up\n", frame.time);
    // A String takes everything.
    let mut put = |line: std::fmt::Arguments| text.write_fmt(line).unwrap_or_default();
    for [x, y, z] in positions.iter().map(single) {
        put(format_args!("v {x} {y} {z}\n"));
    }
    for [x, y, z] in shading.normals(model, frame, &positions) {
        put(format_args!("vn {x:.5} {y:.5} {z:.5}\n"));
    }
    // Coordinates are counted through all parts that have some.
    let mut first_texture = 1;
    for part in &surfaces.parts {
        let texture = part.texture.as_deref().unwrap_or_default();
        let bits = |corner: &[f32; 2]| corner.map(f32::to_bits);
        let mut coordinates = texture.as_flattened().to_vec();
        coordinates.sort_unstable_by_key(bits);
        coordinates.dedup_by_key(|corner| bits(corner));
        for [u, v] in &coordinates {
            put(format_args!("vt {u} {v}\n"));
        }
        put(format_args!("g {}\n", part.name.replace(char::is_whitespace, "_")));
        for (k, t) in part.triangles.clone().enumerate() {
            let ([a, b, c], [n, o, p]) = (surfaces.triangles[t].map(|v| v + 1), shading.triangles[t].map(|v| v + 1));
            match texture.get(k) {
                None => put(format_args!("f {a}//{n} {b}//{o} {c}//{p}\n")),
                Some(corners) => {
                    let [i, j, k] = corners.map(|corner| coordinates.partition_point(|c| bits(c) < bits(&corner)) + first_texture);
                    put(format_args!("f {a}/{i}/{n} {b}/{j}/{o} {c}/{k}/{p}\n"));
                }
            }
        }
        first_texture += coordinates.len();
    }
    text.into_bytes()
}

/// The corners of faces have texture coordinates, as other programs write and read them where there are seams. Vertices
/// have normals, for the format has no others, where a file had some.
fn ply(model: &Model, surfaces: &Surfaces, shading: &Shading, frame: &Frame) -> Vec<u8> {
    let positions = surfaces.positions(model, frame);
    let (n, m) = (positions.len(), surfaces.triangles.len());
    let is_textured = surfaces.parts.iter().any(|part| part.texture.is_some());
    let texture = if is_textured { "property list uchar float texcoord\n" } else { "" };
    let of_vertices = shading.has_given().then(|| shading.vertex_normals(model, frame, &positions));
    let normals = if of_vertices.is_some() { "property float nx\nproperty float ny\nproperty float nz\n" } else { "" };
    let mut bytes = format!(
        "ply\nformat binary_little_endian 1.0\ncomment Pliant, time {} s, metres, y up\nelement vertex {n}\nproperty float x\nproperty float y\n\
         property float z\n{normals}element face {m}\nproperty list uchar int vertex_indices\n{texture}property int body\nend_header\n",
        frame.time
    )
    .into_bytes();
    bytes.reserve(24 * n + if is_textured { 42 } else { 17 } * m);
    for (v, p) in positions.iter().enumerate() {
        bytes.extend_from_slice(bytemuck::bytes_of(&single(p)));
        if let Some(normals) = &of_vertices {
            bytes.extend_from_slice(bytemuck::bytes_of(&normals[v]));
        }
    }
    for (body, part) in surfaces.parts.iter().enumerate() {
        for (k, t) in part.triangles.clone().enumerate() {
            bytes.push(3);
            bytes.extend_from_slice(bytemuck::bytes_of(&surfaces.triangles[t]));
            if is_textured {
                // Readers like rows of one length: bodies without a texture have 0.
                let corners = part.texture.as_ref().map_or([[0.0; 2]; 3], |texture| texture[k]);
                bytes.push(6);
                bytes.extend_from_slice(bytemuck::bytes_of(&corners));
            }
            bytes.extend_from_slice(&(body as i32).to_le_bytes());
        }
    }
    bytes
}
