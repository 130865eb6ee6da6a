//! What clearances and sagittas pass over, against a look at everything.

use super::clearance::Ways;
use super::*;
use crate::contact::generate::{SurfaceMemory, Surfaces};
use crate::material::Material;
use crate::math::{Isometry, Quat};
use crate::mesh::shapes;
use crate::model::{FrictionTable, Model, ModelBuilder, Motion, Obstacle, SoftBody, State, StepSpan};

const DT: f64 = 0.01;

/// A cube of 602 vertices among a floor, a roller that turns, a ball that passes and a tilting plane.
fn model() -> Model {
    let mut builder = ModelBuilder::default();
    let mut tets = shapes::box_tets(Vec3::repeat(0.4), [10; 3]);
    tets.positions.iter_mut().for_each(|p| *p += Vec3::new(0.0, 0.3, 0.0));
    builder.soft_body(SoftBody::with_boundary_surface("cube", Material::default(), tets));
    let turns = |angular_velocity: Vec3| Some(Motion { angular_velocity, ..Motion::default() });
    let lying = Isometry::from_parts(Vec3::new(0.1, 0.02, 0.05).into(), Quat::from_axis_angle(&Vec3::x_axis(), 1.57));
    let ball = Isometry::translation(-0.38, 0.3, -0.1);
    let wall = Isometry::from_parts(Vec3::new(0.0, -0.15, 0.0).into(), Quat::from_axis_angle(&Vec3::z_axis(), 0.4));
    let obstacles = [
        ("floor", Shape::Plane, Isometry::translation(0.0, 0.08, 0.0), None),
        ("roller", Shape::Cylinder { radius: 0.09, half_height: 0.15 }, lying, turns(Vec3::z() * 2.0)),
        ("ball", Shape::Sphere { radius: 0.2 }, ball, Some(Motion { velocity: Vec3::new(0.2, 0.0, 0.1), ..Motion::default() })),
        ("wall", Shape::Plane, wall, turns(Vec3::x() * 0.1)),
    ];
    for (name, shape, pose, motion) in obstacles {
        builder.obstacle(Obstacle { name: name.into(), shape, pose, motion, friction: vec![0.5], color: None });
    }
    builder.friction(FrictionTable::new(0.5, (0..5).collect()));
    builder.build().unwrap()
}

/// A low-discrepancy number in [-1, 1].
fn number(k: usize, axis: usize) -> f64 {
    ([0.819_172_5, 0.671_043_6, 0.549_700_5][axis] * k as f64).fract() * 2.0 - 1.0
}

fn vector(k: usize) -> Vec3 {
    Vec3::from_fn(|axis, _| number(k, axis))
}

/// A turn, a shift and waves, so large [m].
fn motion(model: &Model, k: usize, size: f64) -> Vec<Vec3> {
    let (shift, turn, wave) = (vector(7 * k + 1), vector(7 * k + 2), vector(7 * k + 3) * 6.0);
    let at = |x: &Vec3| (shift + turn.cross(&(x - Vec3::new(0.0, 0.3, 0.0))) * 3.0 + vector(7 * k + 4) * (x.dot(&wave)).sin() * 0.4) * size;
    model.rest_positions.iter().map(at).collect()
}

/// Edges and triangles that end inside a round obstacle with their corners outside, each looked at.
fn edges_and_triangles(obstacles: &Obstacles, end: &End) -> Vec<PairId> {
    let (step, mut found) = (end.step, vec![]);
    let mesh = &step.surfaces.mesh;
    for (o, shape) in obstacles.shapes.iter().enumerate().filter(|(_, shape)| shape.shape != Shape::Plane) {
        let is_below = |v: &u32| shape.tangent_plane(&step.start[*v as usize], &end.x[*v as usize]).gap < 0.0;
        let features = [(PairKind::EdgeObstacle, mesh.edges.len()), (PairKind::TriangleObstacle, mesh.triangles.len())];
        for pair in features.into_iter().flat_map(|(kind, n)| (0..n as u32).map(move |first| PairId { kind, first, second: o as u32 })) {
            if corners(step, &pair).iter().any(is_below) {
                continue;
            }
            let row = obstacles.deepest_at_end(&pair, end);
            if obstacles.gap_of_point(&pair, &row.weights, end) < 0.0 && !obstacles.is_of_an_edge(&pair, &row.weights, end) {
                found.push(pair);
            }
        }
    }
    found.sort_unstable();
    found
}

/// A body that wanders, turns and bends, fast and slowly, with what is known of it kept from step to step.
#[test]
fn nothing_that_ends_inside_is_passed_over() {
    let model = model();
    let surfaces = Surfaces::new(&model).unwrap();
    let body = BodyRef::Deformable(0);
    let (mut state, mut kept, mut whole) = (State::initial(&model), Obstacles::default(), Obstacles::default());
    let (mut n_vertices, mut n_features, mut n_near, mut n_looks, mut n_missed) = (0, 0, 0, 0, 0);
    for k in 0..120 {
        let size = [0.0004, 0.002, 0.02][k / 5 % 3];
        let span = StepSpan { dt: DT, script: DT };
        let step = SurfaceStep::new(&model, &surfaces, &state, span, SurfaceMemory::default());
        let time = k as f64 * DT;
        kept.begin(&step, [time, time + DT]);
        whole.begin(&step, [time, time + DT]);
        whole.clearances.clear();
        let dv: Vec<Vec3> = motion(&model, k, size).iter().zip(&state.velocities).map(|(x, v)| x / DT - v).collect();
        let end = step.end_positions(&surfaces.whole, &dv);
        let [found, all] = [&kept, &whole].map(|obstacles| {
            let mut part = Part::default();
            obstacles.enter(body, &end, &mut part);
            let mut pairs: Vec<PairId> = part.found.iter().map(|(pair, _)| *pair).collect();
            pairs.sort_unstable();
            pairs
        });
        assert_eq!(found, all, "step {k}");
        let of_vertices = found.iter().filter(|pair| pair.kind == PairKind::VertexObstacle).count();
        let (mut features, expected) = (found.clone(), edges_and_triangles(&kept, &end));
        features.retain(|pair| pair.kind != PairKind::VertexObstacle);
        // What is fast is told by more than where it ends.
        if size < 0.01 {
            assert_eq!(features, expected, "step {k}");
        }
        (n_vertices, n_features) = (n_vertices + of_vertices, n_features + features.len());
        // How few vertices are looked at; and what motions are for.
        let clearance = kept.clearances[0].as_ref().unwrap();
        for (o, obstacle) in kept.shapes.iter().enumerate() {
            let mut near = vec![];
            let ways = clearance.ways(end.motions_of(body).unwrap());
            clearance.near(o, obstacle, &ways, &surfaces, &mut near);
            // Nothing bounds what a plane does that turns.
            if obstacle.shape != Shape::Plane || obstacle.pose_t0 == obstacle.pose_t1 {
                (n_near, n_looks) = (n_near + near.len(), n_looks + surfaces.neighbours[0].len());
            }
            clearance.near(o, obstacle, &Ways::default(), &surfaces, &mut near);
            let is_missed =
                |pair: &&PairId| pair.second == o as u32 && pair.kind == PairKind::VertexObstacle && !near.contains(&pair.first);
            n_missed += found.iter().filter(is_missed).count();
        }
        drop(end);
        for (at, way) in state.displacements.iter_mut().zip(motion(&model, k, size)) {
            *at += way;
        }
    }
    assert!(n_vertices > 1000 && n_features > 50, "{n_vertices} {n_features}");
    assert!(n_near < n_looks / 2, "{n_near} of {n_looks}");
    assert!(n_missed > 0, "without motions nothing would have been missed");
}
