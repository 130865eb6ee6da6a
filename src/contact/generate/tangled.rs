//! Bodies whose surface passes through itself. Contact keeps surfaces apart by induction: what starts a step apart ends
//! it apart. A body that starts scrambled, flattened or mirrored has no such start, and continuous tests would hold its
//! features on the wrong sides of each other. It is left alone until it has found back to its shape, and meets itself
//! from then on (`collision-detection.md` A4: leaving an inversion is not misread as a collision). A body that does not
//! find back by itself is drawn back as a whole (`elastic::frames`), so nothing has to tell which way out of itself a
//! surface has to go (A6): each point of it goes where it belongs, through whatever of the body is on the way.

use std::ops::Range;

use super::Surfaces;
use crate::body::BodyRef;
use crate::cancel::CancelToken;
use crate::disjoint_sets::DisjointSets;
use crate::elastic::{mean_deformation, patience};
use crate::geometry::Mesh;
use crate::math::Vec3;
use crate::mesh::{SurfaceMesh, doctor};
use crate::model::{Body, Model, State, Tet};

/// Elements whose volume differs by more than this part from that at rest are still on their way.
const SETTLED: f64 = 0.1;
/// A body of a larger [`crate::elastic::MeanDeformation::distance`] is not near its shape: what is bent has less, what is
/// twisted by a turn 2.
const NEAR: f64 = 1.0;
/// A body that is drawn back as a whole comes nearer, so that little is left to its own law.
const NEAR_AS_WHOLE: f64 = 0.03;
/// Loads may hold a body further from its shape. In so many times its patience it has come to where they do; elements
/// above this part of their volume are then settled.
const HELD_PATIENCE: f64 = 3.0;
const HELD: f64 = 0.1;
/// A body may be whole with this part of its volume in elements that are not: slivers of a bad mesh.
const UNSETTLED_VOLUME: f64 = 0.01;

/// Takes the mark from those tangled bodies of `state` that have become whole in a step of `dt` [s]; true if there were
/// such.
pub fn untangle(model: &Model, surfaces: &Surfaces, state: &mut State, dt: f64) -> bool {
    if !state.tangled.contains(&true) {
        return false;
    }
    let nodes = state.positions(model);
    let x = model.collision.positions(&nodes);
    let mut any = false;
    let State { tangled, tangled_times, displacements, .. } = state;
    for (b, (is_tangled, time)) in tangled.iter_mut().zip(tangled_times).enumerate().filter(|(_, (is_tangled, _))| **is_tangled) {
        let may_meet_itself = || !model.bodies[b].self_contact || is_whole(surfaces, BodyRef::Deformable(b as u32), &x);
        *time += dt;
        *is_tangled = !(is_settled(model, &model.bodies[b], displacements, &nodes, *time) && may_meet_itself());
        if !*is_tangled {
            (any, *time) = (true, 0.0);
        }
    }
    any
}

/// Whether a body is near its shape and its elements have about their volumes at rest, so that its own law takes over
/// without a blow; or whether what is left is the work of loads, as it has been tangled for a `time` [s] long enough.
fn is_settled(model: &Model, body: &Body, displacements: &[Vec3], nodes: &[Vec3], time: f64) -> bool {
    let patience = patience(model, body);
    let (is_held, near) = (time > HELD_PATIENCE * patience, if time > patience { NEAR_AS_WHOLE } else { NEAR });
    let ratio = |tet: &Tet| {
        let [a, b, c, d] = tet.nodes.map(|n| nodes[n as usize]);
        (b - a).cross(&(c - a)).dot(&(d - a)) / (6.0 * tet.volume)
    };
    let is_unsettled = |ratio: f64| if is_held { ratio < HELD } else { (ratio - 1.0).abs() > SETTLED };
    let unsettled = model.tets[body.tets.clone()].iter().filter(|tet| is_unsettled(ratio(tet)));
    let is_near = || mean_deformation(model, body, displacements).is_some_and(|mean| mean.distance <= near);
    unsettled.map(|tet| tet.volume).sum::<f64>() <= UNSETTLED_VOLUME * body.volume && (is_held || is_near())
}

/// Whether the surface of a body crosses itself nowhere and its closed parts face outwards as they do at rest.
/// `x`: vertices of the collision surfaces of the deformable bodies [m].
fn is_whole(surfaces: &Surfaces, body: BodyRef, x: &[Vec3]) -> bool {
    let features = surfaces.features(body);
    let (vertices, mesh) = (features.vertices.clone(), &surfaces.mesh);
    let triangles = &mesh.triangles[features.triangles.clone()];
    let faces_out = |(now, rest): (f64, f64)| now * rest > 0.0 || rest == 0.0;
    let local = |t: &[u32; 3]| t.map(|v| v - vertices.start as u32);
    let surface = || SurfaceMesh {
        positions: x[vertices.clone()].to_vec(),
        triangles: triangles.iter().map(local).collect(),
        ..SurfaceMesh::default()
    };
    let volumes = |x: &[Vec3]| volumes_of_parts(mesh, &vertices, &features.edges, triangles, x);
    volumes(x).into_iter().zip(volumes(&surfaces.rest)).all(faces_out)
        && doctor::crosses_itself(&surface(), &CancelToken::default()) == Ok(false)
}

/// Volumes that the connected parts of a surface enclose [m^3], negative if they face inwards; 0 of open ones.
fn volumes_of_parts(mesh: &Mesh, vertices: &Range<usize>, edges: &Range<usize>, triangles: &[[u32; 3]], x: &[Vec3]) -> Vec<f64> {
    let place = |v: u32| v as usize - vertices.start;
    let mut parts = DisjointSets::new(vertices.len());
    mesh.edges[edges.clone()].iter().for_each(|&[a, b]| {
        parts.join(place(a), place(b));
    });
    let origin = vertices.clone().map(|v| x[v]).sum::<Vec3>() / vertices.len().max(1) as f64;
    let mut volumes = vec![0.0; vertices.len()];
    for &[a, b, c] in triangles {
        let [p, q, r] = [a, b, c].map(|v| x[v as usize] - origin);
        volumes[parts.root(place(a))] += p.dot(&q.cross(&r)) / 6.0;
    }
    for e in edges.clone().filter(|e| mesh.edge_triangles[*e].contains(&Mesh::NONE)) {
        volumes[parts.root(place(mesh.edges[e][0]))] = 0.0;
    }
    volumes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::Material;
    use crate::mesh::shapes;
    use crate::model::{ModelBuilder, SoftBody};

    /// A bar of 0.4 m that starts where `place` puts its nodes.
    fn bar(place: impl Fn(&Vec3) -> Vec3) -> (Model, Surfaces, State) {
        let tets = shapes::box_tets(Vec3::new(0.4, 0.1, 0.1), [8, 2, 2]);
        let mut builder = ModelBuilder::default();
        let displacements = tets.positions.iter().map(|x| place(x) - x).collect();
        builder.soft_body(SoftBody { displacements, ..SoftBody::with_boundary_surface("bar", Material::default(), tets) });
        let model = builder.build().unwrap();
        let (surfaces, state) = (Surfaces::new(&model).unwrap(), State::initial(&model));
        (model, surfaces, state)
    }

    fn is_whole_where(place: impl Fn(&Vec3) -> Vec3) -> bool {
        let (model, surfaces, state) = bar(place);
        is_whole(&surfaces, BodyRef::Deformable(0), &model.collision.positions(&state.positions(&model)))
    }

    fn stays_tangled(place: impl Fn(&Vec3) -> Vec3) -> bool {
        let (model, surfaces, mut state) = bar(place);
        assert_eq!(state.tangled, [true]);
        assert_ne!(untangle(&model, &surfaces, &mut state, 0.01), state.tangled[0]);
        state.tangled[0]
    }

    /// A bar bent around by an angle, its axis a circle: from a whole turn on it goes through itself.
    fn bent(x: &Vec3, angle: f64) -> Vec3 {
        let (radius, phi) = (0.4 / angle, x.x / 0.4 * angle);
        Vec3::new((radius + x.y) * phi.sin(), (radius + x.y) * phi.cos(), x.z)
    }

    #[test]
    fn surfaces_that_are_whole_are_told_from_tangled_ones() {
        let is_whole = |angle: f64| is_whole_where(|x| bent(x, angle));
        assert!(is_whole(3.0) && is_whole(6.0) && !is_whole(6.5));
        // Inside out it crosses itself nowhere.
        assert!(!is_whole_where(|x| Vec3::new(-x.x, x.y, x.z)));
        assert!(!is_whole_where(|x| Vec3::new(x.x, 0.0, x.z)));
        // Turned about it is whole.
        assert!(is_whole_where(|x| Vec3::new(-x.x, -x.y, x.z)));
        assert!(!stays_tangled(|x| Vec3::new(-x.x, -x.y, x.z)));
        // Whole, but squeezed.
        assert!(is_whole_where(|x| x * 0.9) && stays_tangled(|x| x * 0.9) && !stays_tangled(|x| x * 0.99));
    }

    #[test]
    fn what_starts_at_rest_is_not_tangled() {
        let tets = shapes::box_tets(Vec3::repeat(0.1), [1; 3]);
        let displacements: Vec<Vec3> = tets.positions.iter().map(|x| Vec3::new(-2.0 * x.x, 0.0, 0.0)).collect();
        let at_rest = SoftBody::with_boundary_surface("at rest", Material::default(), tets.clone());
        let mirrored = SoftBody { displacements, ..SoftBody::with_boundary_surface("mirrored", Material::default(), tets) };
        let mut builder = ModelBuilder::default();
        builder.soft_body(at_rest).soft_body(mirrored);
        let model = builder.build().unwrap();
        assert_eq!(State::initial(&model).tangled, [false, true]);
        assert_eq!(State::at_rest(&model).tangled, [false; 2]);
    }
}
