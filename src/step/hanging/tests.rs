//! What hangs in mid-air, and what does not.

use super::*;
use crate::contact::{ContactPoint, Status};
use crate::elastic::TetGroups;
use crate::material::Material;
use crate::math::{Isometry, Mat3};
use crate::mesh::shapes;
use crate::model::{ContactMethod, Grab, Loads, Mobility, Model, ModelBuilder, PairId, PairKind, Params, RigidBody, SoftBody, State};

/// Two soft cubes and a rigid one, in mid-air.
fn cubes() -> Model {
    let surface = shapes::surface_box(Vec3::repeat(0.1));
    let mut builder = ModelBuilder::default();
    for name in ["left", "right"] {
        let tets = shapes::box_tets(Vec3::repeat(0.1), [2, 2, 2]);
        builder.soft_body(SoftBody::with_boundary_surface(name, Material::default(), tets));
    }
    builder.rigid_body(RigidBody {
        name: "block".into(),
        mobility: Mobility::Free { mass: 1.0, inertia: Mat3::identity() },
        vertices: surface.positions,
        triangles: surface.triangles,
        texture_coordinates: None,
        pose: Isometry::translation(2.0, 1.0, 0.0),
        velocity: Vec3::zeros(),
        angular_velocity: Vec3::zeros(),
        color: None,
    });
    builder.build().unwrap()
}

fn found(model: &Model, params: &Params, state: &State, loads: &Loads, dv: &[Vec3], contacts: &[Constraint]) -> Vec<BodyRef> {
    found_among(model, params, state, loads, dv, contacts, &[])
}

fn found_among(
    model: &Model,
    params: &Params,
    state: &State,
    loads: &Loads,
    dv: &[Vec3],
    contacts: &[Constraint],
    limited: &[BodyRef],
) -> Vec<BodyRef> {
    let groups = TetGroups::of(model);
    let step = StepInputs {
        model,
        groups: &groups,
        state,
        params,
        loads,
        method: ContactMethod::Cwc,
        second_order: &[],
        iterate: None,
        boxes: None,
    };
    Hanging::default().find(&step, dv, contacts, limited)
}

fn touching(bodies: [BodyRef; 2]) -> Constraint {
    let point = ContactPoint::new(PairId { kind: PairKind::VertexTriangle, first: 0, second: 0 });
    let mut contact = Constraint::contact(point, bodies, 0.5);
    contact.force.status = Status::Sticking;
    contact
}

#[test]
fn only_what_nothing_holds_and_does_not_fall_hangs() {
    let (model, params, loads) = (&cubes(), &Params::default(), Loads::default());
    let mut state = State::initial(model);
    let [left, right, block] = [BodyRef::Deformable(0), BodyRef::Deformable(1), BodyRef::Rigid(0)];
    let floor = BodyRef::Obstacle(0);
    let still = vec![Vec3::zeros(); model.n_unknowns()];
    let mut falling = still.clone();
    let fall = params.gravity * params.time_step;
    falling[..model.n_nodes()].fill(fall);
    falling[model.linear_unknown(0)] = fall;
    assert_eq!(found(model, params, &state, &loads, &still, &[]), [left, right, block]);
    assert_eq!(found(model, params, &state, &loads, &falling, &[]), []);
    // Without gravity nothing falls.
    let weightless = Params { gravity: Vec3::zeros(), ..*params };
    assert_eq!(found(model, &weightless, &state, &loads, &still, &[]), []);
    // What rests on the floor holds what it touches; what touches itself or only each other is not held.
    assert_eq!(found(model, params, &state, &loads, &still, &[touching([left, floor])]), [right, block]);
    assert_eq!(found(model, params, &state, &loads, &still, &[touching([left, floor]), touching([left, right])]), [block]);
    assert_eq!(found(model, params, &state, &loads, &still, &[touching([left, left]), touching([right, block])]), [left, right, block]);
    // The floor stops one that a limited step would have taken through it, and what lies on that.
    assert_eq!(found_among(model, params, &state, &loads, &still, &[touching([left, right])], &[right]), [block]);
    // A force on the nodes, and a grab.
    let pushed = Loads { node_forces: vec![Vec3::y(); model.bodies[0].nodes.end], ..Loads::default() };
    assert_eq!(found(model, params, &state, &pushed, &still, &[]), [right, block]);
    let point = HeldPoint::Rigid { body: 0, point: Vec3::zeros() };
    let grab = Grab { point, stiffness: 1.0, damping: 0.0, target: Vec3::zeros() };
    let grabbed = Loads { grabs: vec![grab], ..Loads::default() };
    assert_eq!(found(model, params, &state, &grabbed, &still, &[]), [left, right]);
    // What is fast and slows down is stopped by something else; what stands still at the top of a throw falls.
    state.velocities.fill(Vec3::x());
    assert_eq!(found(model, params, &state, &loads, &still, &[]), [block]);
    state.velocities.fill(-fall);
    assert_eq!(found(model, params, &state, &loads, &falling, &[]), []);
}
