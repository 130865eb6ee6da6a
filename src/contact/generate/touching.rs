//! Bodies that touch exactly at the start, as boxes put on one another by round numbers do. Contact keeps surfaces
//! apart by induction, and what starts at distance zero has no side to be kept on: such bodies are set apart by a part
//! of the contact tolerance, too little to be seen.

use super::row_life::MAX_ASIDE;
use super::{SAFETY, Surfaces};
use crate::body::BodyRef;
use crate::geometry::{self, Bvh, Mesh, Pair, Shape, nearest};
use crate::math::Vec3;
use crate::model::{Model, State};

/// Surfaces nearer than this part of the contact tolerance touch.
const TOUCHING: f64 = 0.1;
/// Sine of the angle by which neighbours of a touching point may be behind the plane that it touches.
const SUPPORTS: f64 = 1e-3;
/// Each moves the bodies of all pairs once: the way up a stack is a diffusion.
const SWEEPS: usize = 1000;

/// Two bodies may come no nearer than `least` along `normal`, which points to the first.
struct Separation {
    /// Their numbers.
    bodies: [usize; 2],
    normal: Vec3,
    distance: f64,
    least: f64,
}

/// Moves free bodies of `state` so that those which touch at the start have gaps of half the contact tolerance
/// `tolerance` [m]. Bodies that nothing brings apart, such as a peg that fits its hole exactly, stay as near as they
/// are. Returns how many bodies were moved.
pub fn set_apart(model: &Model, state: &mut State, tolerance: f64) -> usize {
    // Surfaces that cannot be tested are told by the solver.
    let Ok(surfaces) = Surfaces::new(model) else { return 0 };
    let separations = separations(model, &surfaces, tolerance);
    if separations.iter().all(|s| s.distance >= TOUCHING * tolerance) {
        return 0;
    }
    let numbering = model.numbering();
    let n_bodies = numbering.n_with_unknowns() + model.obstacles.len();
    let is_free: Vec<bool> = (0..n_bodies).map(|number| is_free(model, numbering.body(number))).collect();
    let mut motions = vec![Vec3::zeros(); is_free.len()];
    for _ in 0..SWEEPS {
        let mut worst = 0.0f64;
        for Separation { bodies: [a, b], normal, distance, least } in &separations {
            let missing = least - distance - (motions[*a] - motions[*b]).dot(normal);
            if missing <= 0.0 {
                continue;
            }
            worst = worst.max(missing / tolerance);
            let share = 1.0 / f64::from(u8::from(is_free[*a]) + u8::from(is_free[*b])).max(1.0);
            for (body, sign) in [(*a, share), (*b, -share)] {
                if is_free[body] {
                    motions[body] += normal * (missing * sign);
                }
            }
        }
        if worst < 0.01 {
            break;
        }
    }
    let mut n_moved = 0;
    for (number, motion) in motions.iter().enumerate().filter(|(_, motion)| **motion != Vec3::zeros()) {
        n_moved += 1;
        let body = numbering.body(number);
        if body.is_deformable() {
            state.displacements[model.bodies[body.index()].nodes.clone()].iter_mut().for_each(|u| *u += motion);
        } else {
            state.rigid_bodies[body.index()].pose.translation.vector += motion;
        }
    }
    n_moved
}

/// Whether a body can be moved as a whole.
fn is_free(model: &Model, body: BodyRef) -> bool {
    let is_held = || body.is_deformable() && model.fixed[model.bodies[body.index()].nodes.clone()].contains(&true);
    model.is_movable(body) && !is_held()
}

/// What keeps bodies apart that are near each other where the model starts.
fn separations(model: &Model, surfaces: &Surfaces, tolerance: f64) -> Vec<Separation> {
    let (mesh, x) = (&surfaces.mesh, &surfaces.rest);
    let mut bvh = Bvh::new(mesh, x);
    bvh.refit(mesh, x, &vec![Vec3::zeros(); x.len()], MAX_ASIDE * tolerance, 0.0);
    let candidates = bvh.query(mesh, x);
    let faces = candidates.vertex_faces.iter().map(|&[vertex, triangle]| Pair::VertexFace { vertex, triangle });
    let edges = candidates.edge_edges.iter().map(|&[first, second]| Pair::EdgeEdge { first, second });
    let of_two_bodies = |pair: &Pair| {
        let [a, b] = mesh.bodies(*pair);
        a != b
    };
    let near: Vec<Pair> = faces.chain(edges).filter(of_two_bodies).collect();
    if near.is_empty() {
        return vec![];
    }
    let mut neighbours = vec![vec![]; x.len()];
    for &[a, b] in &mesh.edges {
        neighbours[a as usize].push(b);
        neighbours[b as usize].push(a);
    }
    let least = SAFETY * tolerance;
    let mut separations = vec![];
    for pair in near {
        let found = geometry::closest(mesh, pair, x);
        if found.distance > MAX_ASIDE * tolerance {
            continue;
        }
        let bodies = mesh.bodies(pair).map(|b| b as usize);
        if let Some((normal, distance)) = supporting_plane(mesh, pair, x, &neighbours, &(found.direction * found.distance)) {
            separations.push(Separation { bodies, normal, distance, least });
        }
    }
    // Obstacles of exact shape put bodies out on their own: they only must not be pushed deeper.
    for (o, obstacle) in model.obstacles.iter().enumerate().filter(|(_, o)| !matches!(o.shape, Shape::Box { .. })) {
        let pose = obstacle.pose_at(0.0);
        for number in 0..surfaces.numbering.n_with_unknowns() {
            for x in &x[surfaces.features(surfaces.numbering.body(number)).vertices.clone()] {
                let found = nearest(&obstacle.shape, &pose.inverse_transform_point(&(*x).into()).coords);
                if found.distance < MAX_ASIDE * tolerance {
                    let bodies = [number, surfaces.numbering.n_with_unknowns() + o];
                    let normal = pose.rotation * found.normal;
                    separations.push(Separation { bodies, normal, distance: found.distance, least: least.min(found.distance) });
                }
            }
        }
    }
    separations
}

/// The plane between a pair on whose two sides the surfaces around it lie, as its normal towards the first feature and
/// the distance; none where there is no such one: a corner that touches the rim of a face is kept by the face around
/// the rim. `apart`: from the second to the first feature.
fn supporting_plane(mesh: &Mesh, pair: Pair, x: &[Vec3], neighbours: &[Vec<u32>], apart: &Vec3) -> Option<(Vec3, f64)> {
    let [a, b, c, d] = mesh.vertices(pair).map(|v| x[v as usize]);
    match pair {
        Pair::VertexFace { vertex, .. } => {
            let normal = (c - b).cross(&(d - b)).try_normalize(0.0)?;
            let is_before = |w: &u32| {
                let way = x[*w as usize] - a;
                way.dot(&normal) >= -SUPPORTS * way.norm()
            };
            neighbours[vertex as usize].iter().all(is_before).then(|| (normal, (a - b).dot(&normal)))
        }
        Pair::EdgeEdge { first, second } => {
            let normal = (b - a).cross(&(d - c)).try_normalize(SUPPORTS * (b - a).norm() * (d - c).norm())?;
            let [first, second] = [first, second].map(|edge| mesh.normal_cone(edge, x));
            let separates = |n: &Vec3| second.is_supported(n, SUPPORTS) && first.is_supported(&-n, SUPPORTS);
            let normal = [normal, -normal].into_iter().find(separates)?;
            Some((normal, apart.dot(&normal)))
        }
    }
}
