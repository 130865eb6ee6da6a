//! Pairs of features of surfaces: what crosses on the way to the end of a trial motion, and the rows of what does.

use arrayvec::ArrayVec;

use super::contract::{ContactGenerator, Met, Moved, Overlap, Search};
use super::{End, SurfaceStep, Surfaces};
use crate::body::BodyRef;
use crate::cancel::CancelToken;
use crate::contact::{ContactPoint, Linearisation};
use crate::geometry::{self, Candidates, Crossing, Crossings, Mesh, Pair};
use crate::math::Vec3;
use crate::memory::Pool;
use crate::model::{PairId, PairKind, WarmContact};

/// The generator of contacts between surfaces, the ones of rigid bodies and boxes included.
#[derive(Debug, Default)]
pub struct SurfacePairs {
    idle: Pool<Crossings>,
}

impl ContactGenerator for SurfacePairs {
    fn kinds(&self) -> &'static [PairKind] {
        &[PairKind::VertexTriangle, PairKind::EdgeEdge]
    }

    fn exists(&self, step: &SurfaceStep, pair: &PairId) -> bool {
        let mesh = &step.surfaces.mesh;
        let (first, second) = match pair.kind {
            PairKind::EdgeEdge => (mesh.edges.len(), mesh.edges.len()),
            _ => (mesh.body.len(), mesh.triangles.len()),
        };
        (pair.first as usize) < first && (pair.second as usize) < second
    }

    fn bodies(&self, step: &SurfaceStep, pair: &PairId) -> [BodyRef; 2] {
        step.surfaces.mesh.bodies(features(pair)).map(|number| step.surfaces.numbering.body(number as usize))
    }

    fn link(&self, step: &SurfaceStep, candidates: &Candidates, link: &mut dyn FnMut([BodyRef; 2])) {
        let Surfaces { mesh, numbering, .. } = step.surfaces;
        candidates.pairs().for_each(|pair| link(mesh.bodies(pair).map(|number| numbering.body(number as usize))));
    }

    fn at_start(&self, contact: &WarmContact, near: f64, moved: &Moved) -> Option<Linearisation> {
        let (pair, end) = (&contact.pair, moved.end);
        let (mesh, start) = (&end.step.surfaces.mesh, &end.step.start);
        let found = geometry::closest(mesh, features(pair), start);
        let normal = geometry::pushing_direction(mesh, features(pair), start, &found.direction, found.clamped);
        let gap = found.distance * found.direction.dot(&normal);
        (gap > 0.0 && found.distance < near).then(|| linearisation(features(pair), &found.weights, normal, end))
    }

    fn at_end(&self, point: &ContactPoint, normal: &Vec3, moved: &Moved) -> (Linearisation, f64) {
        at_end(features(&point.pair), normal, moved.end)
    }

    /// Pairs of flat and concave edges, and those from inside (what came in leaves elsewhere), are told only if there
    /// is nothing else to do: resolving the others mostly resolves them.
    fn meet(&self, search: &Search, met: &mut Met) {
        let mut crossings = self.idle.take().unwrap_or_default();
        let step = search.moved.step();
        let (mesh, start) = (&step.surfaces.mesh, &step.start);
        find_crossings(search.candidates, search.moved.end, search.cancel, &mut crossings);
        let comes_first = |crossing: &Crossing| mesh.meets_outside(crossing.pair, start, &crossing.normal);
        let any_first = search.is_busy || crossings.found.iter().any(comes_first);
        let told = crossings.found.iter().filter(|crossing| !any_first || comes_first(crossing));
        met.extend(told.map(|crossing| (pair_id(&crossing.pair), of_crossing(crossing, search))));
        self.idle.put(crossings);
    }

    fn is_continuous(&self) -> bool {
        true
    }

    fn crossings(&self, candidates: &Candidates, end: &End, cancel: &CancelToken) -> Vec<Crossing> {
        let mut crossings = Crossings::default();
        find_crossings(candidates, end, cancel, &mut crossings);
        crossings.found
    }

    fn overlaps(&self, candidates: &Candidates, end: &End, cancel: &CancelToken) -> Vec<Overlap> {
        let (mesh, numbering) = (&end.step.surfaces.mesh, end.step.surfaces.numbering);
        let overlap = |crossing: Crossing| {
            let bodies = mesh.bodies(crossing.pair).map(|number| numbering.body(number as usize));
            let motion = |v: &u32| end.x[*v as usize] - end.step.start[*v as usize];
            let still: ArrayVec<u32, 4> =
                crossing.vertices.into_iter().filter(|v| !end.step.model.is_movable(end.step.surfaces.body_of_vertex(*v))).collect();
            let immovable_motion = still.iter().map(motion).sum::<Vec3>() / still.len().max(1) as f64;
            Overlap { bodies, vertices: crossing.vertices.into(), time: crossing.time, immovable_motion }
        };
        self.crossings(candidates, end, cancel).into_iter().map(overlap).collect()
    }

    fn shares(&self, step: &SurfaceStep, contact: &WarmContact, x: &[Vec3]) -> Vec<(u32, f64)> {
        let (mesh, pair) = (&step.surfaces.mesh, features(&contact.pair));
        let weights = geometry::closest(mesh, pair, x).weights.map(f64::abs);
        mesh.vertices(pair).into_iter().zip(weights).collect()
    }
}

/// Trajectories are taken to be straight: what ends on the side on which it started has not met on the true one.
fn find_crossings(candidates: &Candidates, end: &End, cancel: &CancelToken, crossings: &mut Crossings) {
    crossings.find(&end.step.surfaces.mesh, candidates, &end.step.start, &end.x, cancel);
    crossings.found.retain(|crossing| !crossing.returns);
}

/// The row of features that cross: of a contact that they have and that overlaps at the end, the one of the end; else
/// one that pushes them back to where they start, or the one of the touch.
fn of_crossing(crossing: &Crossing, search: &Search) -> Linearisation {
    let (step, end) = (search.moved.step(), search.moved.end);
    let (mesh, start) = (&step.surfaces.mesh, &step.start);
    if search.is_known(&pair_id(&crossing.pair)) {
        let (found, aside) = at_end(crossing.pair, &crossing.normal, end);
        // As where rows are renewed: else one row of the pair would take the place of the other, on and on.
        if found.gap < 0.0 && aside < search.near.max(-found.gap) {
            return found;
        }
    }
    let at_touch = linearisation(crossing.pair, &crossing.weights, crossing.normal, end);
    let separation = combine(mesh, crossing.pair, &crossing.weights, start);
    let normal = geometry::pushing_direction(mesh, crossing.pair, start, &crossing.normal, false);
    let pushed = linearisation(crossing.pair, &crossing.weights, normal, end);
    if pushed.gap < 0.0 && separation.dot(&normal) > 0.0 { pushed } else { at_touch }
}

/// A pair at the end of the step, on the side that `old_normal` tells; with how far the features are beside each other
/// [m].
fn at_end(pair: Pair, old_normal: &Vec3, end: &End) -> (Linearisation, f64) {
    let mesh = &end.step.surfaces.mesh;
    let found = geometry::closest(mesh, pair, &end.x);
    let normal = geometry::pushing_direction(mesh, pair, &end.x, old_normal, found.clamped);
    let apart = found.direction * found.distance;
    let aside = (apart - normal * apart.dot(&normal)).norm();
    (linearisation(pair, &found.weights, normal, end), aside)
}

fn combine(mesh: &Mesh, pair: Pair, weights: &[f64; 4], x: &[Vec3]) -> Vec3 {
    mesh.vertices(pair).iter().zip(weights).map(|(v, w)| x[*v as usize] * *w).sum()
}

fn linearisation(pair: Pair, weights: &[f64; 4], normal: Vec3, end: &End) -> Linearisation {
    let mesh = &end.step.surfaces.mesh;
    let vertices = mesh.vertices(pair);
    let separation = combine(mesh, pair, weights, &end.x);
    let slip = separation - combine(mesh, pair, weights, &end.step.start);
    let first_side = vertices.iter().zip(weights).filter(|(_, w)| **w > 0.0);
    let (sum, weight) = first_side.fold((Vec3::zeros(), 0.0), |(sum, weight), (v, w)| (sum + end.x[*v as usize] * *w, weight + w));
    let point = if weight > 0.0 { sum / weight } else { sum };
    Linearisation {
        sum: vertices.into_iter().zip(*weights).collect(),
        normal,
        gap: separation.dot(&normal),
        slip,
        point,
        weights: [1.0, 0.0, 0.0],
        travels: false,
    }
}

fn features(pair: &PairId) -> Pair {
    match pair.kind {
        PairKind::EdgeEdge => Pair::EdgeEdge { first: pair.first, second: pair.second },
        _ => Pair::VertexFace { vertex: pair.first, triangle: pair.second },
    }
}

fn pair_id(pair: &Pair) -> PairId {
    match *pair {
        Pair::VertexFace { vertex, triangle } => PairId { kind: PairKind::VertexTriangle, first: vertex, second: triangle },
        Pair::EdgeEdge { first, second } => PairId { kind: PairKind::EdgeEdge, first, second },
    }
}
