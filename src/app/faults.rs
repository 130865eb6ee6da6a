//! Faults that the doctor found in the mesh files of a scene, as marks on the bodies that were made from the files.

use std::ops::Range;
use std::path::Path;

use super::file_name;
use crate::cancel::CancelToken;
use crate::math::{Aabb, Vec3};
use crate::mesh::doctor::{Report, examine, examine_unless};
use crate::mesh::{Embedding, MeshFile, TetMesh, embed_unless, open_mesh_unless};
use crate::model::Model;
use crate::render::{Overlays, Point, Rgb, Segment};
use crate::scene::{MeshOrigin, Transform};
use crate::stage::glam_vec;

/// The doctor's report of one mesh file, and where its faults are.
#[derive(Clone)]
pub struct Checkup {
    /// Its name.
    pub file: String,
    /// Why nothing came of it.
    pub refusal: Option<String>,
    pub report: Report,
    outlines: Vec<Outline>,
    /// The points of all outlines in space [m]: at rest, where they do not move.
    points: Vec<Vec3>,
    /// And where they lie in the tets of the model.
    embedding: Option<Embedding>,
}

/// A fault by its points.
#[derive(Clone)]
struct Outline {
    points: Range<usize>,
    /// The place of its finding in the report.
    finding: usize,
    /// Mending leaves it.
    left: bool,
}

/// Colours of marks: for faults that were mended, and for those that are left.
pub struct Colors {
    pub mended: Rgb,
    pub left: Rgb,
}

/// Told from the colours of bodies by their brightness.
pub const COLORS: Colors = Colors { mended: Rgb::hex(0x6ff2d4), left: Rgb::hex(0xffd24a) };

impl Checkup {
    /// Marks of a file that became a body of the model; none where it cannot be read any more, or once `cancel` is
    /// cancelled.
    pub fn of(origin: &MeshOrigin, model: &Model, cancel: &CancelToken) -> Option<Self> {
        let report = examine_unless(&open_mesh_unless(&origin.file, cancel).ok()?, cancel).ok()?;
        let mut checkup = Self::new(&origin.file, report, &origin.world_from_file);
        let body = &model.bodies[origin.body];
        let first = body.nodes.start as u32;
        let tets = TetMesh {
            positions: model.rest_positions[body.nodes.clone()].to_vec(),
            tets: model.tets[body.tets.clone()].iter().map(|tet| tet.nodes.map(|node| node - first)).collect(),
        };
        let mut embedding = embed_unless(&tets, &checkup.points, cancel).ok()?;
        embedding.nodes.iter_mut().flatten().for_each(|node| *node += first);
        checkup.embedding = Some(embedding);
        Some(checkup)
    }

    /// Marks of a file that became no body, and stands still.
    pub fn of_refused(path: &Path, file: &MeshFile, world_from_file: &Transform, refusal: String) -> Self {
        Self { refusal: Some(refusal), ..Self::new(path, examine(file), world_from_file) }
    }

    fn new(path: &Path, report: Report, world_from_file: &Transform) -> Self {
        let (mut outlines, mut points) = (Vec::new(), Vec::new());
        for (k, finding) in report.findings.iter().enumerate() {
            for outline in &finding.outlines {
                let first = points.len();
                points.extend(outline.iter().map(|p| (world_from_file * nalgebra::Point3::from(*p)).coords));
                outlines.push(Outline { points: first..points.len(), finding: k, left: finding.left > 0 });
            }
        }
        Self { file: file_name(path), refusal: None, report, outlines, points, embedding: None }
    }

    /// Whether its marks need the nodes.
    pub fn moves(&self) -> bool {
        self.embedding.is_some()
    }

    /// Where the points of all outlines are now; nothing where that is not known.
    fn points_now(&self, nodes: Option<&[[f32; 4]]>) -> Option<Vec<glam::Vec3>> {
        match (&self.embedding, nodes) {
            (None, _) => Some(self.points.iter().map(glam_vec).collect()),
            (Some(embedding), Some(nodes)) => Some(embedding.nodes.iter().zip(&embedding.weights).map(|at| moved(at, nodes)).collect()),
            (Some(_), None) => None,
        }
    }

    /// A box around the first fault of a finding now, by its place in the report.
    pub fn first_of(&self, finding: usize, nodes: Option<&[[f32; 4]]>) -> Option<Aabb> {
        let points = self.points_now(nodes)?;
        let outline = self.outlines.iter().find(|outline| outline.finding == finding)?;
        let points: Vec<Vec3> = points[outline.points.clone()].iter().map(|p| Vec3::from(p.to_array().map(f64::from))).collect();
        Some(Aabb::of(&points))
    }

    /// Marks where the faults are now. `nodes`: of the model, `[x, y, z, _]` [m], nothing where they are not known;
    /// `strength`: of each finding by its place, from 0 to 1; `eye`: of the camera; `pixels`: those of one point of the
    /// window.
    pub fn overlays(&self, nodes: Option<&[[f32; 4]]>, strength: impl Fn(usize) -> f32, eye: glam::Vec3, pixels: f32) -> Overlays {
        let Some(mut points) = self.points_now(nodes) else { return Overlays::default() };
        // A little nearer to the eye than the surface that they lie on, so that it does not hide them.
        points.iter_mut().for_each(|p| *p += NEARER * (eye - *p));
        let mut overlays = Overlays::default();
        // Faults that are left lie over those that were mended.
        for left in [false, true] {
            let shade = Pen { color: SHADE, opacity: 0.5, line: 4.0 * pixels, dot: 8.0 * pixels };
            let color = if left { COLORS.left } else { COLORS.mended };
            for pen in [shade, Pen { color, opacity: 1.0, line: 2.0 * pixels, dot: 5.0 * pixels }] {
                for outline in self.outlines.iter().filter(|outline| outline.left == left) {
                    let pen = Pen { opacity: pen.opacity * strength(outline.finding), ..pen };
                    pen.draw(&points[outline.points.clone()], &mut overlays);
                }
            }
        }
        overlays
    }
}

fn moved((corners, weights): (&[u32; 4], &[f64; 4]), nodes: &[[f32; 4]]) -> glam::Vec3 {
    let corner = |k: usize| nodes.get(corners[k] as usize).map_or(glam::Vec3::ZERO, |p| glam::Vec3::from_slice(&p[..3]));
    (0..4).map(|k| corner(k) * weights[k] as f32).sum()
}

/// How a mark is drawn; sizes in pixels.
#[derive(Clone, Copy)]
struct Pen {
    color: Rgb,
    opacity: f32,
    line: f32,
    dot: f32,
}

impl Pen {
    /// A point as a dot, more points as lines between any two of them.
    fn draw(&self, points: &[glam::Vec3], overlays: &mut Overlays) {
        let Pen { color, opacity, line, dot } = *self;
        if let [at] = *points {
            overlays.points.push(Point { at, color, opacity, size: dot });
        }
        for (i, &a) in points.iter().enumerate() {
            overlays.segments.extend(points[i + 1..].iter().map(|&b| Segment { a, b, color, opacity, width: line }));
        }
    }
}

/// As a part of the way to the eye.
const NEARER: f32 = 0.01;

/// Around marks, so that they show on every body.
const SHADE: Rgb = Rgb::hex(0x10141a);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Scene, build};

    #[test]
    fn marks_lie_on_the_body_and_move_with_it() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/mushroom_open.off");
        let built = build(&Scene::from_mesh_with(&path, &["body.0.tets=1000".into()]).unwrap()).unwrap();
        let [origin] = &built.meshes[..] else { panic!("one file") };
        let checkup = Checkup::of(origin, &built.model, CancelToken::never()).unwrap();
        // Open at the foot, which is the bottom of the body or its top: its edges are lines of two points.
        let hole = checkup.report.findings.iter().find(|finding| finding.fault == "boundary_edges").unwrap();
        assert!(hole.count == 64 && checkup.outlines.iter().all(|outline| outline.points.len() == 2));
        let nodes = |shift: f32| -> Vec<[f32; 4]> {
            built.model.rest_positions.iter().map(|p| [p.x as f32 + shift, p.y as f32, p.z as f32, 1.0]).collect()
        };
        let [rest, moved] = [0.0, 0.5].map(|shift| checkup.overlays(Some(&nodes(shift)), |_| 1.0, glam::Vec3::new(shift, 0.0, 1.0), 1.0));
        assert_eq!(rest.segments.len(), 2 * 64);
        let surface = built.model.surface_positions(&built.model.rest_positions);
        for (rest, moved) in rest.segments.iter().zip(&moved.segments) {
            assert!((moved.a - rest.a - glam::Vec3::X * 0.5).length() < 1e-5);
            let at = (rest.a - NEARER * glam::Vec3::Z) / (1.0 - NEARER);
            let nearest = surface.iter().map(|p| (glam_vec(p) - at).length()).fold(f32::INFINITY, f32::min);
            assert!(nearest < 1e-5, "{nearest}");
        }
        assert_eq!(checkup.overlays(None, |_| 1.0, glam::Vec3::Z, 1.0), Overlays::default());
        // The first fault of a finding is a small part of the body.
        let place = checkup.first_of(0, Some(&nodes(0.0))).unwrap();
        assert!(place.extent().max() < 0.1 && checkup.first_of(9, Some(&nodes(0.0))).is_none());
        // A sound file has none.
        let sound = MeshOrigin { file: path.with_file_name("joint.off"), ..origin.clone() };
        assert!(Checkup::of(&sound, &built.model, CancelToken::never()).unwrap().report.findings.is_empty());
    }
}
