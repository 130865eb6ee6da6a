//! What the doctor says: in words, as JSON, and by places.

use std::fmt;

use serde::Serialize;

use super::surface::{self, mend};
use super::tets::{self, mend_tets};
use super::{crossings, diagnose, diagnose_tets};
use crate::math::{Aabb, Vec3};
use crate::mesh::{MeshData, MeshFile, SurfaceMesh, TetMesh};

/// What was found in a mesh, what mending leaves of it, and what the mesh is fit for.
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
    /// In cubed units of the file; of a surface negative when it is inside out, and meaningless when it is open.
    pub volume: f64,
    /// Of a surface, in squared units of the file.
    pub area: Option<f64>,
    /// Worst and mean quality of the tets, 1 for a regular one.
    pub quality: Option<[f64; 2]>,
    /// What the reader changed or left out, and what the size tells about units.
    pub notes: Vec<String>,
    pub findings: Vec<Finding>,
    /// Whether there is something left to simulate.
    #[serde(skip)]
    pub is_fit: bool,
    /// Whether it is a solid once it is mended.
    #[serde(skip)]
    pub is_sound: bool,
    /// What becomes of it.
    pub verdict: String,
}

/// One kind of fault.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// A short name that stays, such as "boundary_edges".
    pub fault: &'static str,
    pub count: usize,
    /// How many are left after mending.
    pub left: usize,
    pub sentence: String,
    /// Where the first of them are, in coordinates of the file.
    pub places: Vec<[f64; 3]>,
    /// Outlines of the first of them, for pictures: a point, the ends of an edge, the corners of a triangle or of a tet.
    #[serde(skip)]
    pub outlines: Vec<Vec<Vec3>>,
}

/// No more places are listed of one kind.
const MOST_PLACES: usize = 100;

/// And no more outlines.
const MOST_OUTLINES: usize = 1000;

/// Examines a mesh as it was read.
pub fn examine(file: &MeshFile) -> Report {
    match &file.data {
        MeshData::Surface(surface) => examine_surface(surface, &file.notes),
        MeshData::Tets(mesh) => examine_tets(mesh, &file.notes),
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
            (Some(area), _) => writeln!(f, "area {area:.6e}, volume {:.6e}", self.volume)?,
            (_, Some([worst, mean])) => writeln!(f, "volume {:.6e}; quality {worst:.3} at worst, {mean:.3} in the mean", self.volume)?,
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

/// Gathers findings.
struct Findings(Vec<Finding>);

impl Findings {
    /// `one` and `many` name the fault; `remedy` is what mending does, `rest` what to do about those that are left.
    fn add(
        &mut self,
        fault: &'static str,
        mut outlines: Vec<Vec<Vec3>>,
        [count, left]: [usize; 2],
        [one, many]: [&str; 2],
        [remedy, rest]: [&str; 2],
    ) {
        // Welding may show what was hidden.
        let count = count.max(left);
        if count == 0 {
            return;
        }
        let what = format!("{count} {}", if count == 1 { one } else { many });
        let sentence = match left {
            0 => format!("{what}: {remedy}"),
            _ if left >= count => format!("{what}: {rest}"),
            _ => format!("{what}: {remedy}, but {left} are left: {rest}"),
        };
        outlines.truncate(MOST_OUTLINES);
        let middle = |outline: &Vec<Vec3>| (outline.iter().sum::<Vec3>() / outline.len() as f64).into();
        let places = outlines.iter().take(MOST_PLACES).map(middle).collect();
        self.0.push(Finding { fault, count, left, sentence, places, outlines });
    }
}

fn examine_surface(surface: &SurfaceMesh, notes: &[String]) -> Report {
    let before = diagnose(surface);
    let faults = surface::faults(surface);
    let mended = mend(surface.clone());
    let after = diagnose(&mended);
    let crossings = crossings(&mended);

    let vertices = |list: &[u32]| list.iter().map(|&v| vec![surface.positions[v as usize]]).collect::<Vec<_>>();
    let edges = |list: &[[u32; 2]]| list.iter().map(|ends| ends.map(|v| surface.positions[v as usize]).to_vec()).collect::<Vec<_>>();
    let triangles = |list: &[u32]| list.iter().map(|&t| surface.corners(t as usize).to_vec()).collect::<Vec<_>>();
    let mut found = Findings(Vec::new());
    found.add(
        "duplicate_vertices",
        vertices(&faults.duplicate),
        [before.duplicate_vertices, after.duplicate_vertices],
        ["vertex repeats the place of another", "vertices repeat the places of others"],
        ["mending welds them", "weld them"],
    );
    found.add(
        "unused_vertices",
        vertices(&faults.unused),
        [before.unused_vertices, after.unused_vertices],
        ["vertex belongs to no triangle", "vertices belong to no triangle"],
        ["mending drops them", "drop them"],
    );
    found.add(
        "repeated_triangles",
        triangles(&faults.repeated),
        [before.repeated_triangles, after.repeated_triangles],
        ["triangle is there twice", "triangles repeat earlier ones"],
        ["mending drops them", "drop them"],
    );
    found.add(
        "degenerate_triangles",
        triangles(&faults.degenerate),
        [before.degenerate_triangles, after.degenerate_triangles],
        ["triangle has no area", "triangles have no area"],
        ["mending drops those that use a vertex twice", "they keep the surface closed; remesh it if its shading looks wrong"],
    );
    // Triangles that are not welded have neither neighbours nor a common outside: what mending leaves counts.
    let [boundary, misoriented] = [(before.boundary_edges, after.boundary_edges), (before.misoriented_edges, after.misoriented_edges)];
    found.add(
        "boundary_edges",
        edges(&faults.boundary),
        [boundary.0, boundary.1],
        ["edge has a triangle on one side only", "edges have a triangle on one side only"],
        ["mending welds what touches and closes small holes", "the surface is open; what is inside is told by its winding number"],
    );
    found.add(
        "misoriented_edges",
        edges(&faults.misoriented),
        [misoriented.0, misoriented.1],
        ["edge lies between triangles that face opposite ways", "edges lie between triangles that face opposite ways"],
        ["mending turns the fewer", "the surface has no outside there; make the orientation of its faces consistent"],
    );
    found.add(
        "non_manifold_edges",
        edges(&faults.non_manifold),
        [before.non_manifold_edges, after.non_manifold_edges],
        ["edge has more than two triangles", "edges have more than two triangles"],
        ["mending drops doubled faces and inner walls", "the parts are taken as joined there"],
    );
    found.add(
        "non_manifold_vertices",
        vertices(&faults.split),
        [before.non_manifold_vertices, after.non_manifold_vertices],
        ["vertex joins parts that touch nowhere else", "vertices join parts that touch nowhere else"],
        ["mending parts them", "the parts are taken as joined there"],
    );
    if before.is_inside_out() {
        let outcome = [1, usize::from(after.is_inside_out())];
        let flips = ["mending turns them", "turn them"];
        found.add("inside_out", Vec::new(), outcome, ["surface has its triangles facing inwards", ""], flips);
    }
    found.add(
        "self_intersections",
        crossings.iter().map(|crossing| vec![crossing.place]).collect(),
        [crossings.len(); 2],
        ["pair of triangles passes through each other", "pairs of triangles pass through each other"],
        ["", "the parts are taken as grown together there"],
    );
    let verdict = if after.is_solid() {
        "sound: it can be simulated"
    } else if mended.triangles.is_empty() {
        "unfit: no triangle with three corners is left"
    } else {
        "broken: it can be simulated as the cells of a grid that touch it or lie inside by its winding number; it then touches others with \
         the outside of its tets"
    };
    Report {
        kind: "surface",
        vertices: before.vertices,
        cells: before.triangles,
        pieces: after.pieces,
        size: before.bounds.extent().into(),
        volume: before.signed_volume,
        area: Some(before.area),
        quality: None,
        notes: with_hint(notes, &before.bounds),
        findings: found.0,
        is_fit: !mended.triangles.is_empty(),
        is_sound: after.is_solid(),
        verdict: verdict.to_owned(),
    }
}

fn examine_tets(mesh: &TetMesh, notes: &[String]) -> Report {
    let before = diagnose_tets(mesh);
    let faults = tets::faults(mesh);
    let mended = mend_tets(mesh.clone());
    let after = diagnose_tets(&mended);
    let skin = diagnose(&mended.surface());
    let nodes = |list: &[u32]| list.iter().map(|&n| vec![mesh.positions[n as usize]]).collect::<Vec<_>>();
    let cells = |list: &[u32]| list.iter().map(|&t| mesh.corners(t as usize).to_vec()).collect::<Vec<_>>();
    let mut found = Findings(Vec::new());
    found.add(
        "inverted_tets",
        cells(&faults.inverted),
        [before.inverted, after.inverted],
        ["tet is ordered for a negative volume", "tets are ordered for a negative volume"],
        ["mending swaps two of their nodes", "swap two of their nodes"],
    );
    found.add(
        "flat_tets",
        cells(&faults.flat),
        [before.flat, after.flat],
        ["tet has no volume", "tets have no volume"],
        ["mending drops them", "drop them"],
    );
    found.add(
        "repeated_tets",
        cells(&faults.repeated),
        [before.repeated, after.repeated],
        ["tet is there twice", "tets repeat earlier ones"],
        ["mending drops them", "drop them"],
    );
    found.add(
        "slivers",
        cells(&faults.slivers),
        [before.slivers, after.slivers],
        ["tet is nearly flat (quality below 0.05)", "tets are nearly flat (quality below 0.05)"],
        ["mending drops them", "they slow the solver; mesh again with a bound on quality if it matters"],
    );
    found.add(
        "unused_nodes",
        nodes(&faults.unused),
        [before.unused_nodes, after.unused_nodes],
        ["node belongs to no tet", "nodes belong to no tet"],
        ["mending drops them", "drop them"],
    );
    found.add(
        "duplicate_nodes",
        nodes(&faults.duplicate),
        [before.duplicate_nodes, after.duplicate_nodes],
        ["node repeats the place of another", "nodes repeat the places of others"],
        ["the others belong to no tet", "the tets are not joined there; weld them if that is not meant"],
    );
    if after.pieces > 1 {
        let parts = ["", "parts share no node"];
        found.add("pieces", nodes(&faults.pieces), [after.pieces; 2], parts, ["", "they move apart; join them if that is not meant"]);
    }
    found.add(
        "non_manifold_edges",
        Vec::new(),
        [skin.non_manifold_edges; 2],
        ["edge of the outside has more than two faces", "edges of the outside have more than two faces"],
        ["", "tets touch there in an edge alone"],
    );
    let verdict = if mended.tets.is_empty() {
        "unfit: no tet with a volume is left"
    } else {
        "sound: it can be simulated, its tets are the elements"
    };
    Report {
        kind: "tets",
        vertices: before.nodes,
        cells: before.tets,
        pieces: after.pieces,
        size: before.bounds.extent().into(),
        volume: before.volume,
        area: None,
        quality: Some([before.quality.worst, before.quality.mean]),
        notes: with_hint(notes, &before.bounds),
        findings: found.0,
        is_fit: !mended.tets.is_empty(),
        is_sound: !mended.tets.is_empty(),
        verdict: verdict.to_owned(),
    }
}

fn with_hint(notes: &[String], bounds: &Aabb) -> Vec<String> {
    notes.iter().cloned().chain(scale_hint(bounds.extent().max())).collect()
}

/// What the longest side tells about the unit of a file that states none: nothing where it may well be metres.
pub fn scale_hint(longest: f64) -> Option<String> {
    const PLAUSIBLE: std::ops::RangeInclusive<f64> = 0.02..=20.0; // m
    if PLAUSIBLE.contains(&longest) {
        return None;
    }
    let units = [("millimetres", 1e-3), ("centimetres", 1e-2), ("micrometres", 1e-6)];
    let unit = units.iter().find(|(_, scale)| PLAUSIBLE.contains(&(longest * scale)));
    let advice = match unit {
        Some((unit, scale)) => format!("if it is in {unit}, give scale = {scale} ({:.3} m)", longest * scale),
        None => "give the size that is meant".to_owned(),
    };
    let longest = if (1e-4..1e7).contains(&longest) { format!("{longest:.4}") } else { format!("{longest:.3e}") };
    Some(format!("the longest side is {longest} units of the file; as metres that is unusual: {advice}, or give size in metres"))
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let report = examine(&MeshFile { data: MeshData::Tets(mesh), notes: vec!["a note".into()] });
        assert_eq!((report.findings.len(), report.findings[0].fault, report.findings[0].left), (1, "inverted_tets", 0));
        assert!(report.to_string().contains("note: a note") && report.verdict.starts_with("sound"), "{report}");
    }

    #[test]
    fn sizes_that_are_no_metres_give_a_hint() {
        assert_eq!(scale_hint(0.3), None);
        assert!(scale_hint(229.0).unwrap().contains("millimetres, give scale = 0.001 (0.229 m)"));
        assert!(scale_hint(0.003).unwrap().contains("size"));
        assert!(scale_hint(1e9).unwrap().contains("give the size"));
    }
}
