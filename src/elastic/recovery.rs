//! How tangled bodies find back ([`State::tangled`]): in frames of their elements, then in one frame of the whole body.
//!
//! Elements in their own frames ([`crate::material::Material::recovering`]) take most bodies back, and look elastic.
//! But what is closed, a ring that is wound twice or a tube inside out, may come to rest with every element upright and
//! about as large as at rest. A body that is still tangled after its [`patience`] therefore answers in one frame R, the
//! rotation that brings its rest shape nearest to it: it makes the sum of `m |x - R X|^2` least, x and X counted from
//! centres of mass, so that `R^T sum(m x X^T)` is symmetric [Müller 2005]. Nothing but a motion of its rest shape is an
//! equilibrium then. Without loads the strain `sym(R^T F) - I` of an equilibrium is 0, as the energy is convex in the
//! positions where R stays, so `R^T F = I + W` with the same antisymmetric W everywhere. With S the sum of `m X X^T`,
//! `(I + W) S` is then symmetric, `W S + S W = 0`, and W = 0 as S is positive. What is fixed, or pressed by others, may
//! hold it elsewhere.
//!
//! In a frame that is not that of each element, forces turn the body. A free one is not turned (`step::keep_spin`): it
//! is given accelerations `a × x` besides. They hold it nowhere: their work on the way to the rest shape, the sum of
//! `m (a × x) (R X - x)`, is 0 by the choice of R, where that of the elastic forces is at least the energy.

use super::rotation::Quaternion;
use super::stress::{gradient, nearest_rotation};
use crate::math::{Aabb, Mat3, Quat, Vec3};
use crate::model::{Body, Model, State};

/// A shear wave crosses the body this often before a tangled body stops answering in the frames of its elements.
const CROSSINGS: f64 = 20.0;

/// How long a tangled body answers in the frames of its elements [s].
pub fn patience(model: &Model, body: &Body) -> f64 {
    let tets = &model.tets[body.tets.clone()];
    let stiffness: f64 = tets.iter().map(|tet| model.material(tet).lame().mu * tet.volume).sum();
    CROSSINGS * Aabb::of(&model.rest_positions[body.nodes.clone()]).extent().max() * (body.mass / stiffness).sqrt()
}

/// How a body is deformed as a whole.
#[derive(Clone, Copy, Debug)]
pub struct MeanDeformation {
    /// R, det R = +1: the rotation that brings the rest shape nearest to the body, each of its masses counted.
    pub rotation: Mat3,
    /// The root of the mean of `|F - R|^2` [-]: 0 at rest, 2 of a thin ring that is twisted by one turn.
    pub distance: f64,
}

/// None where a position is not finite.
pub fn mean_deformation(model: &Model, body: &Body, displacements: &[Vec3]) -> Option<MeanDeformation> {
    let (mut sum, mut squares, mut volume) = (Mat3::zeros(), 0.0, 0.0);
    for tet in &model.tets[body.tets.clone()] {
        let f = gradient(tet, displacements) + Mat3::identity();
        sum += f * tet.volume;
        squares += f.norm_squared() * tet.volume;
        volume += tet.volume;
    }
    let mean = sum / volume;
    let rotation = nearest_frame(model, body, displacements)?;
    let squared = squares / volume - 2.0 * rotation.dot(&mean) + 3.0;
    Some(MeanDeformation { rotation, distance: squared.max(0.0).sqrt() })
}

/// The rotation that brings the rest shape nearest to a body.
fn nearest_frame(model: &Model, body: &Body, displacements: &[Vec3]) -> Option<Mat3> {
    let nodes = || body.nodes.clone().map(|node| (model.node_masses[node], model.rest_positions[node], displacements[node]));
    let [rest_center, shift] = nodes().fold([Vec3::zeros(); 2], |[rest, shift], (m, x, u)| [rest + x * m, shift + u * m]);
    let (rest_center, shift) = (rest_center / body.mass, shift / body.mass);
    let (mut moments, mut squares) = (Mat3::zeros(), 0.0);
    for (m, rest, displacement) in nodes() {
        let arm = rest - rest_center;
        moments += (arm + displacement - shift) * arm.transpose() * m;
        squares += arm.norm_squared() * m;
    }
    nearest_rotation(&(moments / squares))
}

/// The frame of each body that answers in one; none at all where no body does.
pub fn frames(model: &Model, state: &State) -> Vec<Option<Quaternion>> {
    let of_body = |(place, body): (usize, &Body)| {
        let is_one = state.tangled[place] && state.tangled_times[place] > patience(model, body);
        let found = is_one.then(|| mean_deformation(model, body, &state.displacements)).flatten()?;
        let q = Quat::from_rotation_matrix(&nalgebra::Rotation3::from_matrix_unchecked(found.rotation));
        Some([q.i, q.j, q.k, q.w])
    };
    let is_early = |(tangled, time): (&bool, &f64)| !*tangled || *time == 0.0;
    if state.tangled.iter().zip(&state.tangled_times).all(is_early) {
        return vec![];
    }
    let frames: Vec<_> = model.bodies.iter().enumerate().map(of_body).collect();
    if frames.iter().all(Option::is_none) { vec![] } else { frames }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::Material;
    use crate::mesh::shapes;
    use crate::model::{ModelBuilder, SoftBody};

    /// A bar of 1 m with the square section of 5 cm, where `place` puts its nodes.
    fn bar(place: impl Fn(&Vec3) -> Vec3) -> (Model, Vec<Vec3>) {
        let tets = shapes::box_tets(Vec3::new(1.0, 0.05, 0.05), [20, 1, 1]);
        let mut builder = ModelBuilder::default();
        builder.soft_body(SoftBody::with_boundary_surface("bar", Material::default(), tets));
        let model = builder.build().unwrap();
        let displacements = model.rest_positions.iter().map(|x| place(x) - x).collect();
        (model, displacements)
    }

    fn deformed(place: impl Fn(&Vec3) -> Vec3) -> MeanDeformation {
        let (model, displacements) = bar(place);
        mean_deformation(&model, &model.bodies[0], &displacements).unwrap()
    }

    #[test]
    fn a_body_is_seen_from_the_frame_that_is_nearest() {
        let turn = Quat::from_scaled_axis(Vec3::new(0.4, -2.0, 1.0));
        let found = deformed(|x| turn * x + Vec3::repeat(3.0));
        assert!(found.distance < 1e-6 && (found.rotation - turn.to_rotation_matrix().matrix()).amax() < 1e-6, "{found:?}");
        // |diag(-1, 1, 1) - R| = 2 for the nearest rotations.
        let mirrored = deformed(|x| Vec3::new(-x.x, x.y, x.z));
        assert!((mirrored.distance - 2.0).abs() < 1e-6 && (mirrored.rotation.determinant() - 1.0).abs() < 1e-9, "{mirrored:?}");
        // Twisted by a turn: the mean of 4 - 4 cos over it.
        let twisted = deformed(|x| Quat::from_scaled_axis(Vec3::x() * (std::f64::consts::TAU * x.x)) * x);
        assert!((twisted.distance - 2.0).abs() < 0.05, "{twisted:?}");
        let bent = deformed(|x| Vec3::new(x.x.sin() * (1.0 + x.y), x.x.cos() * (1.0 + x.y), x.z));
        assert!(bent.distance < 0.5, "{bent:?}");
        let (model, displacements) = bar(|x| x * f64::NAN);
        assert!(mean_deformation(&model, &model.bodies[0], &displacements).is_none());
    }

    #[test]
    fn only_what_has_been_tangled_for_long_has_one_frame() {
        let (model, _) = bar(|x| *x);
        let patience = patience(&model, &model.bodies[0]);
        let at = |tangled: bool, time: f64| {
            frames(&model, &State { tangled: vec![tangled], tangled_times: vec![time], ..State::at_rest(&model) })
        };
        assert!(at(false, 0.0).is_empty() && at(true, 0.9 * patience).is_empty());
        let [Some([x, y, z, w])] = at(true, 1.1 * patience)[..] else { panic!("it has no frame") };
        assert!(x.hypot(y).hypot(z) < 1e-12 && (w - 1.0).abs() < 1e-12);
    }
}
