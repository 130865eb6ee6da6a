//! VTK's XML files [VTK file formats, 2023]: a folder of VTU (tets, all fields) and VTP (surfaces), and a PVD file that
//! lists them with their times.
//!
//! We write these files ourselves because `vtkio` (0.7.0-rc2) writes no raw appended data, the smallest form that the
//! format has.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use rayon::prelude::*;

use super::fields::{node_pressures, single, stresses, surface_pressures, surface_velocities};
use super::surfaces::{Carrier, Surfaces};
use super::{Exporter, Frame, Subject, Written, stem};
use crate::cancel::CancelToken;
use crate::material::Material;
use crate::math::Vec3;
use crate::model::Model;
use crate::output::{OutputError, OutputFile, check_writable, create_folder};

/// `NAME.pvd`, and `NAME/tets_00000.vtu`, `NAME/surfaces_00000.vtp`, …
pub struct Series {
    index: PathBuf,
    folder: PathBuf,
    subject: Subject,
    /// With other materials, which the last frame had.
    changed: Option<(Vec<Material>, Arc<Model>)>,
    surfaces: Surfaces,
    /// Time and names of each frame's files.
    entries: Vec<(f64, Vec<String>)>,
    bytes: u64,
}

impl Series {
    pub fn new(path: &Path, subject: &Subject) -> Result<Self, OutputError> {
        let index = path.with_extension("pvd");
        let folder = path.with_extension("");
        check_writable(&index)?;
        create_folder(&folder)?;
        let surfaces = Surfaces::new(&subject.model);
        Ok(Self { index, folder, subject: subject.clone(), changed: None, surfaces, entries: vec![], bytes: 0 })
    }

    /// The model with the materials of a frame.
    fn model_of(&mut self, frame: &Frame) -> Arc<Model> {
        let Some(materials) = &frame.materials else { return self.subject.model.clone() };
        if let Some((_, model)) = self.changed.as_ref().filter(|(known, _)| known == materials) {
            return model.clone();
        }
        let model = Arc::new(self.subject.model.with_materials(materials));
        self.changed = Some((materials.clone(), model.clone()));
        model
    }

    fn put(&mut self, name: &str, dataset: &Dataset, time: f64) -> Result<String, OutputError> {
        let bytes = dataset.to_bytes(time);
        OutputFile::save(&self.folder.join(name), &bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(format!("{}/{name}", stem(&self.index)))
    }
}

impl Exporter for Series {
    fn write(&mut self, frame: &Frame) -> Result<(), OutputError> {
        let k = self.entries.len();
        let mut names = vec![];
        let model = self.model_of(frame);
        let pressures = node_pressures(&model, frame);
        if !model.tets.is_empty() {
            let tets = tets(&model, frame, &pressures);
            names.push(self.put(&format!("tets_{k:05}.vtu"), &tets, frame.time)?);
        }
        let surfaces = polygons(&model, &self.surfaces, frame, &pressures);
        names.push(self.put(&format!("surfaces_{k:05}.vtp"), &surfaces, frame.time)?);
        self.entries.push((frame.time, names));
        OutputFile::save(&self.index, index(&self.entries).as_bytes())
    }

    fn finish(self: Box<Self>, _: &CancelToken) -> Result<Written, OutputError> {
        let files = format!("its files are in {}", self.folder.display());
        Ok(Written { frames: self.entries.len() as u64, bytes: self.bytes + index(&self.entries).len() as u64, files })
    }
}

fn index(entries: &[(f64, Vec<String>)]) -> String {
    let mut text =
        String::from("<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\" byte_order=\"LittleEndian\">\n<Collection>\n");
    for (time, names) in entries {
        for (part, name) in names.iter().enumerate() {
            text.push_str(&format!("<DataSet timestep=\"{time}\" part=\"{part}\" file=\"{}\"/>\n", escaped(name)));
        }
    }
    text + "</Collection>\n</VTKFile>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

fn tets(model: &Model, frame: &Frame, pressures: &[f64]) -> Dataset {
    let (stress, von_mises) = stresses(model, frame);
    let points = frame.node_positions(model).iter().map(single).collect::<Vec<_>>();
    let n = model.tets.len();
    Dataset {
        kind: "UnstructuredGrid",
        piece: format!("NumberOfPoints=\"{}\" NumberOfCells=\"{n}\"", points.len()),
        sections: vec![
            (
                "PointData Vectors=\"displacement\"",
                vec![
                    vectors("displacement", &frame.displacements.iter().map(single).collect::<Vec<_>>()),
                    vectors("velocity", &frame.velocities),
                    floats("contact_pressure", 1, &pressures.iter().map(|p| *p as f32).collect::<Vec<_>>()),
                ],
            ),
            (
                "CellData Scalars=\"von_mises\"",
                vec![
                    floats("stress", 9, &stress.iter().flat_map(|s| s.as_slice()).map(|x| *x as f32).collect::<Vec<_>>()),
                    floats("von_mises", 1, &von_mises),
                    integers("body", &model.tets.iter().map(|tet| tet.body as i32).collect::<Vec<_>>()),
                    integers("material", &model.tets.iter().map(|tet| model.named_material_of(tet) as i32).collect::<Vec<_>>()),
                ],
            ),
            ("Points", vec![vectors("Points", &points)]),
            (
                "Cells",
                vec![
                    integers("connectivity", &model.tets.iter().flat_map(|tet| tet.nodes.map(|n| n as i32)).collect::<Vec<_>>()),
                    integers("offsets", &(1..=n).map(|t| 4 * t as i32).collect::<Vec<_>>()),
                    Array { name: "types", kind: "UInt8", components: 1, bytes: vec![10; n] },
                ],
            ),
        ],
    }
}

fn polygons(model: &Model, surfaces: &Surfaces, frame: &Frame, of_nodes: &[f64]) -> Dataset {
    let positions = surfaces.positions(model, frame);
    let mut displacements: Vec<Vec3> = surfaces.vectors_of_nodes(model, &frame.displacements);
    for part in &surfaces.parts {
        let start = match part.carrier {
            Carrier::Soft => continue,
            Carrier::Rigid(r) => model.rigid_bodies[r].pose,
            Carrier::Obstacle(o) => model.obstacles[o].pose,
        };
        for v in part.vertices.clone() {
            displacements[v] = positions[v] - (start.rotation * surfaces.local[v] + start.translation.vector);
        }
    }
    let bodies: Vec<i32> = surfaces.parts.iter().enumerate().flat_map(|(i, part)| part.triangles.clone().map(move |_| i as i32)).collect();
    let n = surfaces.triangles.len();
    Dataset {
        kind: "PolyData",
        piece: format!(
            "NumberOfPoints=\"{}\" NumberOfVerts=\"0\" NumberOfLines=\"0\" NumberOfStrips=\"0\" NumberOfPolys=\"{n}\"",
            positions.len()
        ),
        sections: vec![
            (
                "PointData Vectors=\"displacement\" Scalars=\"contact_pressure\"",
                vec![
                    vectors("displacement", &displacements.iter().map(single).collect::<Vec<_>>()),
                    vectors("velocity", &surface_velocities(model, surfaces, frame)),
                    floats("contact_pressure", 1, &surface_pressures(model, surfaces, frame, of_nodes)),
                ],
            ),
            ("CellData Scalars=\"body\"", vec![integers("body", &bodies)]),
            ("Points", vec![vectors("Points", &positions.iter().map(single).collect::<Vec<_>>())]),
            (
                "Polys",
                vec![
                    integers("connectivity", &surfaces.triangles.iter().flatten().map(|v| *v as i32).collect::<Vec<_>>()),
                    integers("offsets", &(1..=n).map(|t| 3 * t as i32).collect::<Vec<_>>()),
                ],
            ),
        ],
    }
}

/// A dataset of one piece.
struct Dataset {
    kind: &'static str,
    piece: String,
    /// Elements of the piece and their arrays.
    sections: Vec<(&'static str, Vec<Array>)>,
}

struct Array {
    name: &'static str,
    kind: &'static str,
    components: usize,
    bytes: Vec<u8>,
}

fn floats(name: &'static str, components: usize, values: &[f32]) -> Array {
    Array { name, kind: "Float32", components, bytes: bytemuck::cast_slice(values).to_vec() }
}

fn vectors(name: &'static str, values: &[[f32; 3]]) -> Array {
    floats(name, 3, values.as_flattened())
}

fn integers(name: &'static str, values: &[i32]) -> Array {
    Array { name, kind: "Int32", components: 1, bytes: bytemuck::cast_slice(values).to_vec() }
}

impl Dataset {
    /// The file: XML, and the arrays behind it as compressed binary data.
    fn to_bytes(&self, time: f64) -> Vec<u8> {
        let arrays: Vec<&Array> = self.sections.iter().flat_map(|(_, arrays)| arrays).collect();
        let blocks: Vec<Vec<u8>> = arrays.par_iter().map(|array| compressed(&array.bytes)).collect();
        let kind = self.kind;
        let mut text = format!(
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"{kind}\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\" \
             compressor=\"vtkZLibDataCompressor\">\n<{kind}>\n<FieldData>\n<DataArray type=\"Float64\" Name=\"TimeValue\" \
             NumberOfTuples=\"1\" format=\"ascii\">{time:?}</DataArray>\n</FieldData>\n<Piece {}>\n",
            self.piece
        );
        let (mut offset, mut block) = (0, blocks.iter());
        for (section, arrays) in &self.sections {
            text.push_str(&format!("<{section}>\n"));
            for Array { name, kind, components, .. } in arrays {
                text.push_str(&format!(
                    "<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{components}\" format=\"appended\" offset=\"{offset}\"/>\n"
                ));
                offset += block.next().map_or(0, Vec::len);
            }
            text.push_str(&format!("</{}>\n", section.split(' ').next().unwrap_or(section)));
        }
        text.push_str(&format!("</Piece>\n</{kind}>\n<AppendedData encoding=\"raw\">\n_"));
        let mut bytes = text.into_bytes();
        blocks.iter().for_each(|block| bytes.extend_from_slice(block));
        bytes.extend_from_slice(b"\n</AppendedData>\n</VTKFile>\n");
        bytes
    }
}

/// VTK's compressed block format: the number of blocks, their size, the size of the last block if it is smaller, the
/// compressed sizes, the blocks.
fn compressed(bytes: &[u8]) -> Vec<u8> {
    const BLOCK_BYTES: usize = 1 << 18;
    let blocks: Vec<Vec<u8>> = bytes.chunks(BLOCK_BYTES).map(deflated).collect();
    let header = [blocks.len(), BLOCK_BYTES, bytes.len() % BLOCK_BYTES];
    let header = header.into_iter().chain(blocks.iter().map(Vec::len)).flat_map(|n| (n as u64).to_le_bytes());
    header.chain(blocks.iter().flatten().copied()).collect()
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("writing to a Vec cannot fail")
}
