//! The doctor's report: in words, as JSON, and by places.

use std::fmt;

use serde::Serialize;

use super::crossings::crossings_unless;
use super::diagnosis::{self, Diagnosis, diagnose};
use super::findings::{Finding, Findings, Outcome, of_surfaces, of_tets};
use super::mend::mend_unless;
use super::tets::{self, Mending, TetDiagnosis, diagnose_tets_unless, mend_tets_unless};
use crate::cancel::{CancelToken, Cancelled};
use crate::math::Aabb;
use crate::mesh::{MeshData, MeshFile, SurfaceMesh, TetMesh};

/// The faults found in a mesh, how many of them mending leaves, and what the mesh is fit for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// "surface" or "tets".
    pub kind: &'static str,
    pub vertices: usize,
    /// Triangles or tets.
    pub cells: usize,
    pub pieces: usize,
    /// Sides of the bounding box, in units of the file.
    pub size: [f64; 3],
    /// Volume in cubed units of the file; for a surface negative when it is inside out, and meaningless when it is
    /// open.
    pub volume: f64,
    /// Area of a surface, in squared units of the file.
    pub area: Option<f64>,
    /// Worst and mean quality of the tets, 1 for a regular tet.
    pub quality: Option<[f64; 2]>,
    /// Notes on what the reader changed or left out, and on the unit that the size suggests.
    pub notes: Vec<String>,
    pub findings: Vec<Finding>,
    /// Whether there is something left to simulate.
    #[serde(skip)]
    pub is_fit: bool,
    /// Whether it is a solid once it is mended.
    #[serde(skip)]
    pub is_sound: bool,
    /// A sentence on what can be done with the mesh.
    pub verdict: String,
}

/// Examines a mesh as it was read.
pub fn examine(file: &MeshFile) -> Report {
    examine_unless(file, &CancelToken::default()).expect("nobody cancels it")
}

/// The same, which ends soon after `cancel` is cancelled.
pub fn examine_unless(file: &MeshFile, cancel: &CancelToken) -> Result<Report, Cancelled> {
    match &file.data {
        MeshData::Surface(surface) => examine_surface(surface, &file.notes, cancel),
        MeshData::Tets(mesh) => examine_tets(mesh, &file.notes, cancel),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = if self.kind == "tets" { "tets" } else { "triangles" };
        let pieces = if self.pieces == 1 { "piece" } else { "pieces" };
        writeln!(f, "{} vertices, {} {cells}, {} {pieces}", self.vertices, self.cells, self.pieces)?;
        let [x, y, z] = self.size;
        writeln!(f, "{x:.6} x {y:.6} x {z:.6} in units of the file")?;
        match (self.area, self.quality) {
            (Some(area), _) => writeln!(f, "area {}, volume {}", figures(area), figures(self.volume))?,
            (_, Some([worst, mean])) => writeln!(f, "volume {}; quality {worst:.3} at worst, {mean:.3} in the mean", figures(self.volume))?,
            _ => {}
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        for finding in &self.findings {
            writeln!(f, "found: {}", finding.sentence)?;
            if let Some([x, y, z]) = finding.places.first() {
                let others = if finding.count > 1 { ", among others" } else { "" };
                writeln!(f, "       at {x:.6} {y:.6} {z:.6}{others}")?;
            }
        }
        f.write_str(&self.verdict)
    }
}

/// Six figures, with an exponent only where they need one.
fn figures(x: f64) -> String {
    let rounded: f64 = format!("{x:.5e}").parse().unwrap_or(x);
    if x == 0.0 || (1e-4..1e7).contains(&x.abs()) { format!("{rounded}") } else { format!("{rounded:e}") }
}

fn examine_surface(surface: &SurfaceMesh, notes: &[String], cancel: &CancelToken) -> Result<Report, Cancelled> {
    let (mended, _) = mend_unless(surface.clone(), cancel)?;
    let before = diagnose(surface);
    cancel.check()?;
    let after = diagnose(&mended);
    cancel.check()?;
    let verdict = if after.is_solid() {
        "sound: it can be simulated"
    } else if mended.triangles.is_empty() {
        "unfit: no triangle with three corners is left"
    } else {
        "broken, and usable all the same: it is filled with the cells of a grid that touch it or lie inside by its winding number, and \
         touches others with the outside of its tets"
    };
    Ok(Report {
        kind: "surface",
        vertices: before.vertices,
        cells: before.triangles,
        pieces: after.pieces,
        size: before.bounds.extent().into(),
        volume: before.signed_volume,
        area: Some(before.area),
        quality: None,
        notes: with_hint(notes, &before.bounds),
        findings: surface_findings(surface, &mended, [&before, &after], cancel)?,
        is_fit: !mended.triangles.is_empty(),
        is_sound: after.is_solid(),
        verdict: verdict.to_owned(),
    })
}

/// The faults of a surface, counted `before` and `after` mending.
fn surface_findings(
    surface: &SurfaceMesh,
    mended: &SurfaceMesh,
    [before, after]: [&Diagnosis; 2],
    cancel: &CancelToken,
) -> Result<Vec<Finding>, Cancelled> {
    let faults = diagnosis::faults(surface);
    let vertices = |list: &[u32]| list.iter().map(|&v| vec![surface.positions[v as usize]]).collect::<Vec<_>>();
    let edges = |list: &[[u32; 2]]| list.iter().map(|ends| ends.map(|v| surface.positions[v as usize]).to_vec()).collect::<Vec<_>>();
    let triangles = |list: &[u32]| list.iter().map(|&t| surface.corners(t as usize).to_vec()).collect::<Vec<_>>();
    let counts = |count: fn(&Diagnosis) -> usize| Outcome { before: count(before), after: count(after) };
    let mut found = Findings::default();
    found.add(&of_surfaces::DUPLICATE_VERTICES, vertices(&faults.duplicate), counts(|d| d.duplicate_vertices));
    found.add(&of_surfaces::UNUSED_VERTICES, vertices(&faults.unused), counts(|d| d.unused_vertices));
    found.add(&of_surfaces::REPEATED_TRIANGLES, triangles(&faults.repeated), counts(|d| d.repeated_triangles));
    found.add(&of_surfaces::DEGENERATE_TRIANGLES, triangles(&faults.degenerate), counts(|d| d.degenerate_triangles));
    // Triangles that are not welded have neither neighbours nor a common outside: what mending leaves counts.
    found.add(&of_surfaces::BOUNDARY_EDGES, edges(&faults.boundary), counts(|d| d.boundary_edges));
    found.add(&of_surfaces::MISORIENTED_EDGES, edges(&faults.misoriented), counts(|d| d.misoriented_edges));
    found.add(&of_surfaces::NON_MANIFOLD_EDGES, edges(&faults.non_manifold), counts(|d| d.non_manifold_edges));
    found.add(&of_surfaces::NON_MANIFOLD_VERTICES, vertices(&faults.split), counts(|d| d.non_manifold_vertices));
    if before.is_inside_out() {
        found.add(&of_surfaces::INSIDE_OUT, Vec::new(), Outcome { before: 1, after: usize::from(after.is_inside_out()) });
    }
    let crossings = crossings_unless(mended, cancel)?;
    let places = crossings.iter().map(|crossing| vec![crossing.place]).collect();
    found.add(&of_surfaces::SELF_INTERSECTIONS, places, Outcome { before: crossings.len(), after: crossings.len() });
    Ok(found.0)
}

fn examine_tets(mesh: &TetMesh, notes: &[String], cancel: &CancelToken) -> Result<Report, Cancelled> {
    let (mended, mending) = mend_tets_unless(mesh.clone(), &cancel.part(0.0, 0.25))?;
    let (before, faults) = diagnose_tets_unless(mesh, &cancel.part(0.25, 0.55))?;
    let (after, _) = diagnose_tets_unless(&mended, &cancel.part(0.55, 0.85))?;
    let outside = mended.outside_unless(&cancel.part(0.85, 1.0))?;
    let verdict = if mended.tets.is_empty() {
        "unfit: no tet with a volume is left"
    } else {
        "sound: it can be simulated, its tets are the elements"
    };
    Ok(Report {
        kind: "tets",
        vertices: before.nodes,
        cells: before.tets,
        pieces: after.pieces,
        size: before.bounds.extent().into(),
        volume: before.volume,
        area: None,
        quality: Some([before.quality.worst, before.quality.mean]),
        notes: with_hint(notes, &before.bounds),
        findings: tet_findings(mesh, &faults, &outside.into_surface(&mended), [&before, &after], &mending),
        is_fit: !mended.tets.is_empty(),
        is_sound: !mended.tets.is_empty(),
        verdict: verdict.to_owned(),
    })
}

/// The faults of a tet mesh, counted `before` and `after` mending; `outside`: of the mended one.
fn tet_findings(
    mesh: &TetMesh,
    faults: &tets::Faults,
    outside: &SurfaceMesh,
    [before, after]: [&TetDiagnosis; 2],
    mending: &Mending,
) -> Vec<Finding> {
    let nodes = |list: &[u32]| list.iter().map(|&n| vec![mesh.positions[n as usize]]).collect::<Vec<_>>();
    let cells = |list: &[u32]| list.iter().map(|&t| mesh.corners(t as usize).to_vec()).collect::<Vec<_>>();
    let counts = |count: fn(&TetDiagnosis) -> usize| Outcome { before: count(before), after: count(after) };
    let mut found = Findings::default();
    found.add(&of_tets::INVERTED_TETS, cells(&faults.inverted), counts(|d| d.inverted));
    found.add(&of_tets::FLAT_TETS, cells(&faults.flat), counts(|d| d.flat));
    found.add(&of_tets::REPEATED_TETS, cells(&faults.repeated), counts(|d| d.repeated));
    found.add(&of_tets::SLIVERS, cells(&faults.slivers), counts(|d| d.slivers));
    found.add(&of_tets::SOFTER_TETS, cells(&faults.softer), counts(|d| d.softer));
    found.add(&of_tets::UNUSED_NODES, nodes(&faults.unused), counts(|d| d.unused_nodes));
    found.add(&of_tets::DUPLICATE_NODES, nodes(&faults.duplicate), counts(|d| d.duplicate_nodes));
    if after.pieces > 1 {
        found.add(&of_tets::PIECES, nodes(&faults.pieces), Outcome { before: after.pieces, after: after.pieces });
    }
    found.add(&of_tets::SWALLOWED_TETS, vec![], Outcome { before: mending.swallowed_tets, after: 0 });
    let inner = faults.inner_faces.iter().map(|face| face.map(|node| mesh.positions[node as usize]).to_vec()).collect();
    found.add(&of_tets::INNER_FACES, inner, counts(|d| d.inner_faces));
    let skin = diagnose(outside);
    let edges = Outcome { before: skin.non_manifold_edges, after: skin.non_manifold_edges };
    found.add(&of_tets::NON_MANIFOLD_EDGES, Vec::new(), edges);
    found.0
}

fn with_hint(notes: &[String], bounds: &Aabb) -> Vec<String> {
    notes.iter().cloned().chain(scale_hint(bounds.extent().max())).collect()
}

/// A hint on the unit of a file that states none, from its longest side; nothing where that may well be metres.
pub fn scale_hint(longest: f64) -> Option<String> {
    const PLAUSIBLE: std::ops::RangeInclusive<f64> = 0.02..=20.0; // m
    if PLAUSIBLE.contains(&longest) {
        return None;
    }
    let units = [("millimetres", 1e-3), ("centimetres", 1e-2), ("micrometres", 1e-6)];
    let unit = units.iter().find(|(_, scale)| PLAUSIBLE.contains(&(longest * scale)));
    let advice = match unit {
        Some((unit, scale)) => format!("if it is in {unit}, give scale = {scale} ({:.3} m)", longest * scale),
        None => "say how long it is meant to be".to_owned(),
    };
    let longest = if (1e-4..1e7).contains(&longest) { format!("{longest:.4}") } else { format!("{longest:.3e}") };
    Some(format!("the longest side is {longest} units of the file; as metres that is unusual: {advice}, or give size = 0.3 for 0.3 m"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;
    use crate::mesh::shapes;

    #[test]
    fn every_fault_is_told_with_its_place_and_remedy() {
        let mut cube = shapes::surface_box(Vec3::repeat(1.0));
        assert_eq!(examine(&cube.clone().into()).findings, []);
        cube.triangles[0].swap(0, 1);
        cube.triangles.push([0, 0, 1]);
        cube.positions.push(Vec3::repeat(3.0));
        let report = examine(&cube.clone().into());
        let names: Vec<&str> = report.findings.iter().map(|finding| finding.fault).collect();
        assert_eq!(names, ["unused_vertices", "degenerate_triangles", "misoriented_edges", "non_manifold_edges"]);
        assert!(report.findings.iter().all(|finding| finding.left == 0 && !finding.places.is_empty()), "{report:?}");
        assert!(report.verdict.starts_with("sound"), "{report}");
        assert_eq!(report.findings[0].places, [[3.0; 3]]);
        let json: serde_json::Value = serde_json::from_str(&serde_json::to_string(&report).unwrap()).unwrap();
        assert_eq!(json["findings"][2]["count"], 3);

        let mut open = shapes::surface_box(Vec3::repeat(1.0));
        open.triangles.truncate(8);
        let report = examine(&open.into());
        assert!(report.verdict.starts_with("broken") && report.to_string().contains("the surface is open"), "{report}");
    }

    #[test]
    fn tets_are_told_too() {
        let mut mesh = shapes::box_tets(Vec3::repeat(1.0), [2, 2, 2]);
        mesh.tets[4].swap(0, 1);
        let report = examine(&MeshFile {
            data: MeshData::Tets(mesh),
            tags: Default::default(),
            middles: Default::default(),
            notes: vec!["a note".into()],
        });
        assert_eq!((report.findings.len(), report.findings[0].fault, report.findings[0].left), (1, "inverted_tets", 0));
        assert!(report.to_string().contains("note: a note") && report.verdict.starts_with("sound"), "{report}");
    }

    #[test]
    fn sizes_that_are_no_metres_give_a_hint() {
        assert_eq!(scale_hint(0.3), None);
        assert!(scale_hint(229.0).unwrap().contains("millimetres, give scale = 0.001 (0.229 m)"));
        assert!(scale_hint(0.003).unwrap().contains("size"));
        assert!(scale_hint(1e9).unwrap().contains("say how long"));
    }
}
