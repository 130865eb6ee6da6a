//! Islands: bodies that candidates, contacts and joints link with each other, and with no others. Each is a contact
//! problem of its own.

use crate::body::{BodyNumbering, BodyRef};
use crate::disjoint_sets::DisjointSets;
use crate::geometry::{Candidates, Mesh, Pair};
use crate::math::Vec3;
use crate::model::Model;
use crate::sparse::Segment;

/// A connected component of the bodies, by the candidates, contacts and joints between movable bodies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Island {
    /// The bodies, ascending, with their unknowns: first the deformable, then the rigid ones.
    pub segments: Vec<Segment>,
    /// How many of them are deformable.
    pub n_deformable: usize,
    /// Pairs of features that may meet.
    pub candidates: Candidates,
}

impl Island {
    /// All bodies, without candidates.
    pub fn whole(model: &Model) -> Self {
        let mut island = Self::default();
        let numbering = model.numbering();
        (0..numbering.n_with_unknowns()).for_each(|number| island.add(model, numbering.body(number)));
        island
    }

    fn add(&mut self, model: &Model, body: BodyRef) {
        let (start, place) = (self.n_unknowns(), body.index());
        let unknowns = if body.is_deformable() {
            model.bodies[place].nodes.clone()
        } else {
            model.linear_unknown(place)..model.angular_unknown(place) + 1
        };
        self.n_deformable += usize::from(body.is_deformable());
        self.segments.push(Segment { body, unknowns, start });
    }

    fn clear(&mut self) {
        self.segments.clear();
        self.n_deformable = 0;
        self.candidates.vertex_faces.clear();
        self.candidates.edge_edges.clear();
    }

    pub fn deformable(&self) -> &[Segment] {
        &self.segments[..self.n_deformable]
    }

    pub fn rigid(&self) -> &[Segment] {
        &self.segments[self.n_deformable..]
    }

    /// Whether a joint between these bodies is solved here: where the first movable one is.
    pub fn owns(&self, model: &Model, bodies: [BodyRef; 2]) -> bool {
        let first = bodies.into_iter().find(|body| model.is_movable(*body));
        first.is_some_and(|body| self.segments.binary_search_by_key(&body, |segment| segment.body).is_ok())
    }

    pub fn n_unknowns(&self) -> usize {
        self.segments.last().map_or(0, |segment| segment.places().end)
    }

    /// The part of the unknowns of the model that it has.
    pub fn share(&self, model: &Model) -> f64 {
        self.n_unknowns() as f64 / model.n_unknowns() as f64
    }

    /// The unknowns of the island out of those of the model, into `local`.
    pub fn gather(&self, all: &[Vec3], local: &mut Vec<Vec3>) {
        local.clear();
        self.segments.iter().for_each(|segment| local.extend_from_slice(&all[segment.unknowns.clone()]));
    }

    /// The unknowns of the island back to those of the model.
    pub fn scatter(&self, local: &[Vec3], all: &mut [Vec3]) {
        for segment in &self.segments {
            all[segment.unknowns.clone()].copy_from_slice(&local[segment.places()]);
        }
    }
}

/// All islands of a step, in the order of their first bodies; memory is kept.
#[derive(Clone, Debug, Default)]
pub struct Islands {
    pub list: Vec<Island>,
    /// Place of each unknown of the model among those of its island.
    pub local: Vec<u32>,
    /// Island of each body with unknowns, by its number; none of bodies that do not move.
    owners: Vec<Option<u32>>,
    numbering: BodyNumbering,
    sets: DisjointSets,
}

impl Islands {
    /// Splits the movable bodies into islands, and deals out the candidates. `link_bodies` tells the bodies that may
    /// meet in this step; joints are known here.
    pub fn split(&mut self, model: &Model, mesh: &Mesh, candidates: &Candidates, link_bodies: impl FnOnce(&mut dyn FnMut([BodyRef; 2]))) {
        let Self { list, local, owners, sets, numbering } = self;
        *numbering = model.numbering();
        sets.reset(numbering.n_with_unknowns());
        let mut link = |bodies: [BodyRef; 2]| {
            if bodies.iter().all(|body| model.is_movable(*body))
                && let [Some(a), Some(b)] = bodies.map(|body| numbering.number(body))
            {
                sets.join(a, b);
            }
        };
        link_bodies(&mut link);
        model.attachments.iter().for_each(|joint| link(joint.bodies(model)));
        Self::collect(model, list, owners, sets);
        local.resize(model.n_unknowns(), 0);
        for segment in list.iter().flat_map(|island| &island.segments) {
            local[segment.unknowns.clone()].iter_mut().zip(segment.start as u32..).for_each(|(local, place)| *local = place);
        }
        let owner = |pair| mesh.bodies(pair).into_iter().find_map(|number| owners.get(number as usize).copied().flatten());
        for &[vertex, triangle] in &candidates.vertex_faces {
            let Some(owner) = owner(Pair::VertexFace { vertex, triangle }) else { continue };
            list[owner as usize].candidates.vertex_faces.push([vertex, triangle]);
        }
        for &[first, second] in &candidates.edge_edges {
            let Some(owner) = owner(Pair::EdgeEdge { first, second }) else { continue };
            list[owner as usize].candidates.edge_edges.push([first, second]);
        }
    }

    /// The bodies of each set, with those that do not move in none.
    fn collect(model: &Model, list: &mut Vec<Island>, owners: &mut Vec<Option<u32>>, sets: &mut DisjointSets) {
        let numbering = model.numbering();
        owners.clear();
        owners.resize(numbering.n_with_unknowns(), None);
        let mut n_islands = 0;
        let bodies = (0..numbering.n_with_unknowns()).map(|number| (number, numbering.body(number)));
        for (number, body) in bodies.filter(|(_, body)| model.is_movable(*body)) {
            // The root of a set is its first body.
            let root = sets.root(number);
            let owner = match owners[root] {
                Some(owner) => owner,
                None => {
                    if n_islands == list.len() {
                        list.push(Island::default());
                    }
                    list[n_islands].clear();
                    n_islands += 1;
                    n_islands as u32 - 1
                }
            };
            owners[number] = Some(owner);
            list[owner as usize].add(model, body);
        }
        list.truncate(n_islands);
    }

    /// The island in which contacts of these two bodies are solved, if one of them moves.
    pub fn owner(&self, bodies: [BodyRef; 2]) -> Option<usize> {
        let of_body = |body: BodyRef| self.owners.get(self.numbering.number(body)?).copied().flatten();
        bodies.into_iter().find_map(of_body).map(|owner| owner as usize)
    }
}

/// A trial motion: an island with some velocity change `dv` of its unknowns.
#[derive(Clone, Copy)]
pub struct Trial<'a> {
    pub island: &'a Island,
    /// [`Islands::local`].
    pub local: &'a [u32],
    pub dv: &'a [Vec3],
}

impl Trial<'_> {
    /// Velocity change of an unknown of the model that is one of the island.
    pub fn at(&self, unknown: usize) -> Vec3 {
        self.dv[self.local[unknown] as usize]
    }
}
