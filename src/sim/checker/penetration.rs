//! The penetration checker of one model: all its bodies together.

use std::ops::Range;

use super::obstacles;
use super::surfaces::{Crossing, Kind, Overlap, Surfaces};
use crate::geometry::Shape;
use crate::math::{Aabb, Isometry, Vec3};
use crate::model::{Model, PairKind, State, WarmContact};

/// Measures how deep the bodies of a model are in one another and in its obstacles. Bodies count as the model's contact
/// bodies do.
#[derive(Clone, Debug)]
pub struct PenetrationChecker {
    /// Surfaces of deformable and rigid bodies; vertices and triangles in this order.
    surfaces: Surfaces,
    triangles: Vec<[u32; 3]>,
    /// Triangles of each body.
    ranges: Vec<Range<usize>>,
    kinds: Vec<Kind>,
}

impl PenetrationChecker {
    pub fn new(model: &Model) -> Self {
        let mut triangles = model.collision.triangles.clone();
        let mut ranges: Vec<Range<usize>> = model.bodies.iter().map(|body| body.collision_triangles.clone()).collect();
        // A body without self-contact may pass through itself: it is not checked for that.
        let of_body = |body: &crate::model::Body| if body.self_contact { Kind::Deformable } else { Kind::Rigid };
        let mut kinds: Vec<Kind> = model.bodies.iter().map(of_body).collect();
        let mut first = model.collision.n_vertices() as u32;
        for rigid in &model.rigid_bodies {
            let start = triangles.len();
            triangles.extend(rigid.triangles.iter().map(|t| t.map(|v| first + v)));
            ranges.push(start..triangles.len());
            kinds.push(if rigid.is_free() { Kind::Rigid } else { Kind::Immovable });
            first += rigid.vertices.len() as u32;
        }
        let bodies: Vec<u32> = ranges.iter().enumerate().flat_map(|(b, range)| range.clone().map(move |_| b as u32)).collect();
        let surfaces = Surfaces::new(&vertices(model, &State::at_rest(model)), &triangles, &bodies, &kinds);
        Self { surfaces, triangles, ranges, kinds }
    }

    /// Deepest penetration of any two bodies, of a body by itself, and of bodies and obstacles [m].
    pub fn penetration(&self, model: &Model, state: &State) -> f64 {
        let among_surfaces = self.overlaps(model, state).iter().map(|overlap| overlap.depth).fold(0.0, f64::max);
        self.in_obstacles(model, state).iter().map(|found| found.depth).fold(among_surfaces, f64::max)
    }

    /// Bodies that overlap, or that overlap themselves but do not so at rest. What tangled bodies do to themselves is
    /// told elsewhere (`Faults::tangled_bodies`).
    pub fn overlaps(&self, model: &Model, state: &State) -> Vec<Overlap> {
        let mut overlaps = self.surfaces.overlaps(&vertices(model, state));
        overlaps.retain(|overlap| !is_tangled(state, overlap.bodies));
        overlaps
    }

    /// Deformable bodies that cross themselves at rest: they are taken as grown together there.
    pub fn grown_together(&self) -> Vec<u32> {
        self.surfaces.grown_together()
    }

    /// Surface vertices that are deeper than `tolerance` [m] in an obstacle, and edges that are as deep in another
    /// surface or in their own, although no contact force holds them there: the search for contacts missed them.
    pub fn missed_candidates(&self, model: &Model, state: &State, tolerance: f64) -> u64 {
        let vertices = vertices(model, state);
        let poses: Vec<Isometry> = model.obstacles.iter().map(|o| o.pose_at(state.script_time())).collect();
        let of_bodies = &vertices[..model.collision.n_vertices()];
        let in_obstacles = obstacles::missed_candidates(model, of_bodies, &poses, &state.contacts, tolerance);
        in_obstacles + self.missed_crossings(&vertices, state, tolerance)
    }

    /// Crossings of surfaces without a contact force near by: one between the features that cross is within their size.
    fn missed_crossings(&self, vertices: &[Vec3], state: &State, tolerance: f64) -> u64 {
        let of_surfaces = |contact: &&WarmContact| matches!(contact.pair.kind, PairKind::VertexTriangle | PairKind::EdgeEdge);
        let points: Vec<Vec3> =
            state.contacts.entries.iter().filter(of_surfaces).filter_map(|contact| contact.place.map(|[point, _]| point)).collect();
        let is_held = |crossing: &Crossing| points.iter().any(|point| (point - crossing.point).norm() <= crossing.reach);
        let is_missed = |crossing: &&Crossing| !is_tangled(state, crossing.bodies) && !is_held(crossing);
        self.surfaces.crossings(vertices, tolerance).iter().filter(is_missed).count() as u64
    }

    /// Depth [m, > 0] of each body in each obstacle it is in. Bodies that nothing moves may stand in obstacles.
    pub fn in_obstacles(&self, model: &Model, state: &State) -> Vec<InObstacle> {
        let vertices = vertices(model, state);
        let mut found = vec![];
        for (o, obstacle) in model.obstacles.iter().enumerate() {
            let pose = obstacle.pose_at(state.script_time());
            for body in (0..self.ranges.len()).filter(|b| self.is_free(*b)) {
                let triangles = &self.triangles[self.ranges[body].clone()];
                let depth = obstacles::depth_in_obstacle(&obstacle.shape, &pose, &vertices, triangles);
                if depth > 0.0 {
                    found.push(InObstacle { body, obstacle: o, depth });
                }
            }
        }
        found
    }

    /// Whether contact moves a body.
    pub fn is_free(&self, body: usize) -> bool {
        self.kinds[body] != Kind::Immovable
    }

    /// Diagonal of the box around a body [m].
    pub fn size(&self, model: &Model, state: &State, body: usize) -> f64 {
        self.bounds(&vertices(model, state), body).extent().norm()
    }

    /// The least motion along an axis of the world, to a hundredth, that takes the second of two overlapping bodies out
    /// of the first [m].
    pub fn way_out(&self, model: &Model, state: &State, [a, b]: [u32; 2]) -> Vec3 {
        let start = vertices(model, state);
        let overlap_after = |motion: &Vec3| self.surfaces.do_overlap(&self.with_moved(&start, b as usize, motion), [a, b]);
        least_way_out(&self.bounds(&start, b as usize), &self.bounds(&start, a as usize), overlap_after)
    }

    /// The same for a body in an obstacle; out of a plane along its normal.
    pub fn way_out_of_obstacle(&self, model: &Model, state: &State, found: &InObstacle) -> Vec3 {
        let InObstacle { body, depth, .. } = *found;
        let obstacle = &model.obstacles[found.obstacle];
        let pose = obstacle.pose_at(state.script_time());
        let radius = match obstacle.shape {
            Shape::Plane => return pose.rotation * Vec3::y() * (1.01 * depth),
            Shape::Box { half_extents } => half_extents.norm(),
            Shape::Sphere { radius } => radius,
            Shape::Cylinder { radius, half_height } => radius.hypot(half_height),
        };
        let center = pose.translation.vector;
        let around = Aabb { min: center.add_scalar(-radius), max: center.add_scalar(radius) };
        let start = vertices(model, state);
        let triangles = &self.triangles[self.ranges[body].clone()];
        let overlap_after =
            |motion: &Vec3| obstacles::depth_in_obstacle(&obstacle.shape, &pose, &self.with_moved(&start, body, motion), triangles) > 0.0;
        least_way_out(&self.bounds(&start, body), &around, overlap_after)
    }

    fn bounds(&self, vertices: &[Vec3], body: usize) -> Aabb {
        Aabb::of(self.surfaces.vertices_of(body as u32).iter().map(|v| &vertices[*v as usize]))
    }

    fn with_moved(&self, vertices: &[Vec3], body: usize, motion: &Vec3) -> Vec<Vec3> {
        let mut moved = vertices.to_vec();
        self.surfaces.vertices_of(body as u32).iter().for_each(|v| moved[*v as usize] += motion);
        moved
    }
}

/// The least motion along an axis that takes a body out of another one. `bounds`, `other`: boxes around them.
fn least_way_out(bounds: &Aabb, other: &Aabb, overlap_after: impl Fn(&Vec3) -> bool) -> Vec3 {
    let along = |axis: usize, sign: f64| {
        let direction = Vec3::ith(axis, sign);
        // Here their boxes are apart.
        let mut out = 1.01 * if sign > 0.0 { other.max[axis] - bounds.min[axis] } else { bounds.max[axis] - other.min[axis] };
        let mut inside = 0.0;
        while out - inside > 0.01 * out {
            let middle = 0.5 * (inside + out);
            *if overlap_after(&(direction * middle)) { &mut inside } else { &mut out } = middle;
        }
        direction * out
    };
    // Among motions of the same length the first one counts: upwards.
    let ways = [1, 0, 2].into_iter().flat_map(|axis| [along(axis, 1.0), along(axis, -1.0)]);
    ways.min_by(|p, q| p.norm().total_cmp(&q.norm())).unwrap_or_default()
}

/// A body in an obstacle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InObstacle {
    pub body: usize,
    pub obstacle: usize,
    /// [m, > 0]
    pub depth: f64,
}

/// Whether two bodies are the same one, and it may pass through itself now.
fn is_tangled(state: &State, [a, b]: [u32; 2]) -> bool {
    a == b && state.tangled.get(a as usize) == Some(&true)
}

/// Vertices of the collision surfaces of the deformable bodies, then of the rigid ones [m].
fn vertices(model: &Model, state: &State) -> Vec<Vec3> {
    let mut vertices = model.collision.positions(&state.positions(model));
    for (r, rigid) in model.rigid_bodies.iter().enumerate() {
        let pose = match state.rigid_bodies.get(r) {
            Some(moved) if rigid.is_free() => moved.pose,
            _ => rigid.pose_at(state.script_time()),
        };
        vertices.extend(rigid.positions(&pose));
    }
    vertices
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::Material;
    use crate::mesh::shapes;
    use crate::model::{ModelBuilder, PairId, SoftBody};

    const TOLERANCE: f64 = 1e-4;

    /// Two cubes of 0.1 m side by side, and the state in which the second one has moved by `way` into the first.
    fn cubes(way: f64) -> (Model, State) {
        let mut builder = ModelBuilder::default();
        for (name, x) in [("left", 0.0), ("right", 0.11)] {
            let mut tets = shapes::box_tets(Vec3::repeat(0.1), [2, 2, 2]);
            // Turned a little, so that edges pierce triangles.
            tets.positions.iter_mut().for_each(|p| *p = Vec3::new(p.x + x, p.y + 0.3 * x, p.z + 0.2 * x));
            builder.soft_body(SoftBody::with_boundary_surface(name, Material::default(), tets));
        }
        let model = builder.build().unwrap();
        let mut state = State::initial(&model);
        model.bodies[1].nodes.clone().for_each(|node| state.displacements[node].x = -way);
        (model, state)
    }

    fn missed(model: &Model, state: &State) -> u64 {
        PenetrationChecker::new(model).missed_candidates(model, state, TOLERANCE)
    }

    fn contact_at(point: Vec3) -> WarmContact {
        let pair = PairId { kind: PairKind::VertexTriangle, first: 0, second: 0 };
        let place = Some([point, Vec3::x()]);
        WarmContact { pair, normal_force: 1.0, friction_force: Vec3::zeros(), sliding: false, slip: Vec3::zeros(), place }
    }

    #[test]
    fn crossings_of_surfaces_without_a_contact_are_missed_candidates() {
        // Apart; less deep than the tolerance; deeper.
        for (way, is_missed) in [(0.0, false), (0.01 + 0.5 * TOLERANCE, false), (0.013, true)] {
            let (model, state) = cubes(way);
            assert_eq!(missed(&model, &state) > 0, is_missed, "{way}");
        }
    }

    #[test]
    fn crossings_near_a_contact_are_not_missed() {
        let (model, mut state) = cubes(0.013);
        let all = missed(&model, &state);
        let crossings = PenetrationChecker::new(&model).surfaces.crossings(&vertices(&model, &state), TOLERANCE);
        assert_eq!(all, crossings.len() as u64);
        state.contacts.entries = vec![contact_at(crossings[0].point)];
        assert!(missed(&model, &state) < all);
        state.contacts.entries = crossings.iter().map(|crossing| contact_at(crossing.point)).collect();
        assert_eq!(missed(&model, &state), 0);
        // A contact with an obstacle does not hold surfaces apart, and neither does one elsewhere.
        state.contacts.entries.iter_mut().for_each(|contact| contact.pair.kind = PairKind::EdgeObstacle);
        assert_eq!(missed(&model, &state), all);
        state.contacts.entries = vec![contact_at(Vec3::repeat(1.0))];
        assert_eq!(missed(&model, &state), all);
    }

    #[test]
    fn a_body_through_itself_is_a_missed_candidate() {
        let mut builder = ModelBuilder::default();
        let tets = shapes::box_tets(Vec3::new(0.4, 0.1, 0.1), [8, 2, 2]);
        builder.soft_body(SoftBody::with_boundary_surface("bar", Material::default(), tets));
        let mut model = builder.build().unwrap();
        let mut state = State::initial(&model);
        // One end is put into the middle.
        for (u, x) in state.displacements.iter_mut().zip(&model.rest_positions) {
            *u = if x.x > 0.11 { Vec3::new(-0.173, 0.061, 0.027) } else { Vec3::zeros() };
        }
        assert!(missed(&model, &state) > 0);
        // It may, where it is said so.
        model.bodies[0].self_contact = false;
        assert_eq!(missed(&model, &state), 0);
    }
}
