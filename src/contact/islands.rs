//! Islands: bodies that candidates, contacts and joints link with each other, and with no others. Each is a contact
//! problem of its own.

use crate::disjoint_sets::DisjointSets;
use crate::geometry::{Candidates, Mesh, Mobility, Pair};
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
        (0..model.bodies.len() + model.rigid_bodies.len()).for_each(|body| island.add(model, body));
        island
    }

    fn add(&mut self, model: &Model, body: usize) {
        let start = self.n_unknowns();
        let unknowns = match body.checked_sub(model.bodies.len()) {
            None => model.bodies[body].nodes.clone(),
            Some(r) => model.linear_unknown(r)..model.angular_unknown(r) + 1,
        };
        self.n_deformable += usize::from(body < model.bodies.len());
        self.segments.push(Segment { body: body as u32, unknowns, start });
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

    /// Whether a joint between these bodies (none: the world) is solved here: where the first movable one is.
    pub fn owns(&self, model: &Model, bodies: [Option<usize>; 2]) -> bool {
        let is_movable =
            |body: &usize| body.checked_sub(model.bodies.len()).is_none_or(|r| model.rigid_bodies.get(r).is_some_and(|r| r.is_free()));
        let first = bodies.into_iter().flatten().find(is_movable);
        first.is_some_and(|body| self.segments.binary_search_by_key(&(body as u32), |segment| segment.body).is_ok())
    }

    pub fn n_unknowns(&self) -> usize {
        self.segments.last().map_or(0, |segment| segment.places().end)
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
    /// Island of each body, none of bodies that do not move.
    owners: Vec<Option<u32>>,
    sets: DisjointSets,
}

impl Islands {
    /// Splits the movable bodies into islands. `warm`: the bodies of the contacts of the last step, which are tried
    /// again though their features may part.
    pub fn split(&mut self, model: &Model, mesh: &Mesh, candidates: &Candidates, warm: impl Iterator<Item = [u32; 2]>) {
        let movable = |b: u32| mesh.mobility[b as usize] != Mobility::Immovable;
        let faces = candidates.vertex_faces.iter().map(|&[vertex, triangle]| Pair::VertexFace { vertex, triangle });
        let edges = candidates.edge_edges.iter().map(|&[first, second]| Pair::EdgeEdge { first, second });
        let joints = model.attachments.iter().filter_map(|joint| {
            let [a, b] = joint.contact_bodies(model);
            Some([a? as u32, b? as u32])
        });
        let Self { list, local, owners, sets } = self;
        sets.reset(model.bodies.len() + model.rigid_bodies.len());
        for [a, b] in faces.chain(edges).map(|pair| mesh.bodies(pair)).chain(joints).chain(warm) {
            if movable(a) && movable(b) {
                sets.join(a as usize, b as usize);
            }
        }
        Self::collect(model, movable, list, owners, sets);
        local.resize(model.n_unknowns(), 0);
        for segment in list.iter().flat_map(|island| &island.segments) {
            local[segment.unknowns.clone()].iter_mut().zip(segment.start as u32..).for_each(|(local, place)| *local = place);
        }
        let owner = |pair| {
            let [a, b] = mesh.bodies(pair);
            owners[if movable(a) { a } else { b } as usize]
        };
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
    fn collect(
        model: &Model,
        movable: impl Fn(u32) -> bool,
        list: &mut Vec<Island>,
        owners: &mut Vec<Option<u32>>,
        sets: &mut DisjointSets,
    ) {
        let n = model.bodies.len() + model.rigid_bodies.len();
        owners.clear();
        owners.resize(n, None);
        let mut n_islands = 0;
        for body in (0..n).filter(|body| movable(*body as u32)) {
            // The root of a set is its first body.
            let root = sets.root(body);
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
            owners[body] = Some(owner);
            list[owner as usize].add(model, body);
        }
        list.truncate(n_islands);
    }

    /// The island in which contacts of these two bodies are solved, if one of them moves.
    pub fn owner(&self, bodies: [usize; 2]) -> Option<usize> {
        bodies.iter().find_map(|body| self.owners.get(*body).copied().flatten()).map(|owner| owner as usize)
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
