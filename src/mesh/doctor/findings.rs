//! Faults of a mesh with their wording: what each is called, what mending does about it, and what to do about the rest.

use serde::Serialize;

use crate::math::Vec3;

/// One kind of fault.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// A short name that stays, such as "boundary_edges".
    pub fault: &'static str,
    pub count: usize,
    /// Faults of this kind that are left after mending.
    pub left: usize,
    pub sentence: String,
    /// Places of the first faults, in coordinates of the file.
    pub places: Vec<[f64; 3]>,
    /// Outlines of the first faults, for pictures: a point, the ends of an edge, the corners of a triangle or of a tet.
    #[serde(skip)]
    pub outlines: Vec<Vec<Vec3>>,
}

/// At most this many places are listed of one kind.
const MAX_PLACES: usize = 100;

/// At most this many outlines are kept of one kind.
const MAX_OUTLINES: usize = 1000;

/// The words for one kind of fault.
pub(super) struct Wording {
    pub fault: &'static str,
    /// The fault in the singular and in the plural.
    pub one: &'static str,
    pub many: &'static str,
    /// A clause on the cure by mending.
    pub remedy: &'static str,
    /// A clause on faults that mending leaves: what follows or what would help.
    pub rest: &'static str,
}

/// The number of faults before and after mending.
#[derive(Clone, Copy)]
pub(super) struct Outcome {
    pub before: usize,
    pub after: usize,
}

/// Gathers findings.
#[derive(Default)]
pub(super) struct Findings(pub Vec<Finding>);

impl Findings {
    /// Adds a finding, unless there is no such fault. `outlines` show the faults before mending.
    pub fn add(&mut self, wording: &Wording, mut outlines: Vec<Vec<Vec3>>, outcome: Outcome) {
        // Welding may show what was hidden.
        let (count, left) = (outcome.before.max(outcome.after), outcome.after);
        if count == 0 {
            return;
        }
        let Wording { fault, one, many, remedy, rest } = *wording;
        let subject = format!("{count} {}", if count == 1 { one } else { many });
        let sentence = match left {
            0 => format!("{subject}: {remedy}"),
            _ if left >= count => format!("{subject}: {rest}"),
            _ => format!("{subject}: {remedy}, but {left} are left: {rest}"),
        };
        outlines.truncate(MAX_OUTLINES);
        let middle = |outline: &Vec<Vec3>| (outline.iter().sum::<Vec3>() / outline.len() as f64).into();
        let places = outlines.iter().take(MAX_PLACES).map(middle).collect();
        self.0.push(Finding { fault, count, left, sentence, places, outlines });
    }
}

/// Faults of surfaces.
pub(super) mod of_surfaces {
    use super::Wording;

    pub const DUPLICATE_VERTICES: Wording = Wording {
        fault: "duplicate_vertices",
        one: "vertex repeats the place of another",
        many: "vertices repeat the places of others",
        remedy: "mending welds them",
        rest: "weld them",
    };
    pub const UNUSED_VERTICES: Wording = Wording {
        fault: "unused_vertices",
        one: "vertex belongs to no triangle",
        many: "vertices belong to no triangle",
        remedy: "mending drops them",
        rest: "drop them",
    };
    pub const REPEATED_TRIANGLES: Wording = Wording {
        fault: "repeated_triangles",
        one: "triangle is there twice",
        many: "triangles repeat earlier ones",
        remedy: "mending drops them",
        rest: "drop them",
    };
    pub const DEGENERATE_TRIANGLES: Wording = Wording {
        fault: "degenerate_triangles",
        one: "triangle has no area",
        many: "triangles have no area",
        remedy: "mending drops those that use a vertex twice",
        rest: "they keep the surface closed; remesh it if its shading looks wrong",
    };
    pub const BOUNDARY_EDGES: Wording = Wording {
        fault: "boundary_edges",
        one: "edge has a triangle on one side only",
        many: "edges have a triangle on one side only",
        remedy: "mending welds what touches and closes small holes",
        rest: "the surface is open; what is inside is told by its winding number",
    };
    pub const MISORIENTED_EDGES: Wording = Wording {
        fault: "misoriented_edges",
        one: "edge lies between triangles that face opposite ways",
        many: "edges lie between triangles that face opposite ways",
        remedy: "mending turns the fewer",
        rest: "the surface has no outside there; make the orientation of its faces consistent",
    };
    pub const NON_MANIFOLD_EDGES: Wording = Wording {
        fault: "non_manifold_edges",
        one: "edge has more than two triangles",
        many: "edges have more than two triangles",
        remedy: "mending drops doubled faces and inner walls",
        rest: "the parts are taken as joined there",
    };
    pub const NON_MANIFOLD_VERTICES: Wording = Wording {
        fault: "non_manifold_vertices",
        one: "vertex joins parts that touch nowhere else",
        many: "vertices join parts that touch nowhere else",
        remedy: "mending parts them",
        rest: "the parts are taken as joined there",
    };
    pub const INSIDE_OUT: Wording = Wording {
        fault: "inside_out",
        one: "surface has its triangles facing inwards",
        many: "",
        remedy: "mending turns them",
        rest: "turn them",
    };
    pub const SELF_INTERSECTIONS: Wording = Wording {
        fault: "self_intersections",
        one: "pair of triangles passes through each other",
        many: "pairs of triangles pass through each other",
        remedy: "",
        rest: "the parts are taken as grown together there",
    };
}

/// Faults of tet meshes.
pub(super) mod of_tets {
    use super::Wording;

    pub const INVERTED_TETS: Wording = Wording {
        fault: "inverted_tets",
        one: "tet is ordered for a negative volume",
        many: "tets are ordered for a negative volume",
        remedy: "mending swaps two of their nodes",
        rest: "swap two of their nodes",
    };
    pub const FLAT_TETS: Wording = Wording {
        fault: "flat_tets",
        one: "tet has no volume",
        many: "tets have no volume",
        remedy: "mending drops them",
        rest: "drop them",
    };
    pub const REPEATED_TETS: Wording = Wording {
        fault: "repeated_tets",
        one: "tet is there twice",
        many: "tets repeat earlier ones",
        remedy: "mending drops them",
        rest: "drop them",
    };
    pub const SLIVERS: Wording = Wording {
        fault: "slivers",
        one: "tet is nearly flat (quality below 0.05)",
        many: "tets are nearly flat (quality below 0.05)",
        remedy: "mending drops them",
        rest: "they slow the solver; mesh again with a bound on quality if it matters",
    };
    pub const SOFTER_TETS: Wording = Wording {
        fault: "softer_tets",
        one: "tet is so flat that it would be hundreds of times as stiff as those around it",
        many: "tets are so flat that they would be hundreds of times as stiff as those around them",
        remedy: "mending drops them",
        rest: "they are simulated softer, about as those around; no shape or mass changes",
    };
    pub const INNER_FACES: Wording = Wording {
        fault: "inner_faces",
        one: "face of the border lies inside of the body",
        many: "faces of the border lie inside of the body",
        remedy: "mending joins the tets there",
        rest: "the tets do not conform there; such faces are no surface and touch nothing",
    };
    pub const SWALLOWED_TETS: Wording = Wording {
        fault: "swallowed_tets",
        one: "tet belongs to a part that lies wholly in other parts",
        many: "tets belong to parts that lie wholly in other parts",
        remedy: "mending leaves them out",
        rest: "leave them out",
    };
    pub const UNUSED_NODES: Wording = Wording {
        fault: "unused_nodes",
        one: "node belongs to no tet",
        many: "nodes belong to no tet",
        remedy: "mending drops them",
        rest: "drop them",
    };
    pub const DUPLICATE_NODES: Wording = Wording {
        fault: "duplicate_nodes",
        one: "node repeats the place of another",
        many: "nodes repeat the places of others",
        remedy: "mending welds them where faces meet",
        rest: "no faces meet there, and the tets are not joined; weld them if that is not meant",
    };
    pub const PIECES: Wording = Wording {
        fault: "pieces",
        one: "",
        many: "parts share no node",
        remedy: "",
        rest: "they move apart; join them if that is not meant",
    };
    pub const NON_MANIFOLD_EDGES: Wording = Wording {
        fault: "non_manifold_edges",
        one: "edge of the outside has more than two faces",
        many: "edges of the outside have more than two faces",
        remedy: "",
        rest: "tets touch there in an edge alone",
    };
}
