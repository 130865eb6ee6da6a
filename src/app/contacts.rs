//! Contacts as marks over the view: points, normals, and forces as arrows whose scale a legend tells.

use glam::Vec3;

use super::format;
use crate::body::BodyRef;
use crate::geometry::{Shape, nearest};
use crate::math::{self, Isometry};
use crate::model::{Model, PairId, PairKind, WarmContact, interpolate};
use crate::render::{Camera, Overlays, Point, Rgb, Segment};
use crate::stage::glam_vec;

/// A contact that carries a force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactMark {
    /// [m]
    pub point: math::Vec3,
    /// Unit vector towards the body that is pushed.
    pub normal: math::Vec3,
    /// On that body along the normal [N], > 0.
    pub normal_force: f64,
    /// On that body along the surface [N].
    pub friction_force: math::Vec3,
    pub sliding: bool,
    /// Whose surfaces touch; none of edges, which do not say whose they are.
    pub bodies: Option<[BodyRef; 2]>,
    /// Coulomb's coefficient, if it is known.
    pub coefficient: Option<f64>,
}

impl ContactMark {
    /// What is to be known of it, a line each.
    pub fn told(&self, model: &Model) -> Vec<String> {
        let mut lines = vec![];
        if let Some(bodies) = self.bodies {
            lines.push(bodies.map(|body| model.body_name(body)).join(" – "));
        }
        lines.push(format!("push {}", format::force(self.normal_force)));
        let friction = self.friction_force.norm();
        let used = friction / self.normal_force.max(f64::MIN_POSITIVE);
        lines.push(match self.coefficient {
            Some(0.0) => "no friction".to_owned(),
            _ => format!("friction {}, {used:.2} of the push", format::force(friction)),
        });
        match self.coefficient.filter(|mu| *mu > 0.0) {
            Some(mu) if self.sliding => lines.push(format!("slides: on the edge of the cone of {mu:.2}")),
            Some(mu) => lines.push(format!("sticks: {:.0} % of the cone of {mu:.2}", 100.0 * (used / mu).min(1.0))),
            None => lines.push(if self.sliding { "slides" } else { "sticks" }.to_owned()),
        }
        lines
    }
}

/// Whose surfaces a pair of features belongs to.
fn bodies_of(model: &Model, pair: &PairId) -> Option<[BodyRef; 2]> {
    let box_of = |obstacle: &crate::model::Obstacle| matches!(obstacle.shape, Shape::Box { .. });
    // Vertices and triangles of all bodies follow one another: deformable, rigid, and boxes among the obstacles.
    let owner = |mut place: usize, count: fn(&Model, BodyRef) -> usize| {
        let boxes = (0..).zip(&model.obstacles).filter(|(_, obstacle)| box_of(obstacle)).map(|(o, _)| BodyRef::Obstacle(o));
        let numbering = model.numbering();
        let mut all = (0..numbering.n_with_unknowns()).map(|number| numbering.body(number)).chain(boxes);
        all.find(|body| {
            let n = count(model, *body);
            let is_it = place < n;
            place = place.wrapping_sub(n);
            is_it
        })
    };
    let vertices = |model: &Model, body: BodyRef| match body {
        BodyRef::Deformable(b) => model.bodies[b as usize].collision_vertices.len(),
        BodyRef::Rigid(r) => model.rigid_bodies[r as usize].vertices.len(),
        BodyRef::Obstacle(_) | BodyRef::World => 8,
    };
    let triangles = |model: &Model, body: BodyRef| match body {
        BodyRef::Deformable(b) => model.bodies[b as usize].collision_triangles.len(),
        BodyRef::Rigid(r) => model.rigid_bodies[r as usize].triangles.len(),
        BodyRef::Obstacle(_) | BodyRef::World => 12,
    };
    let (first, obstacle) = (pair.first as usize, BodyRef::Obstacle(pair.second));
    match pair.kind {
        PairKind::VertexObstacle => Some([owner(first, vertices)?, obstacle]),
        PairKind::TriangleObstacle => Some([owner(first, triangles)?, obstacle]),
        PairKind::VertexTriangle => Some([owner(first, vertices)?, owner(pair.second as usize, triangles)?]),
        PairKind::EdgeObstacle | PairKind::EdgeEdge => None,
    }
}

/// The contacts of a state. The one place that knows how a state keeps them. `positions`: of the nodes; `poses`: of
/// the model's obstacles.
pub fn contact_marks(model: &Model, contacts: &[WarmContact], positions: &[math::Vec3], poses: &[Isometry]) -> Vec<ContactMark> {
    let surface = &model.collision;
    let friction = model.friction();
    let only_coefficient = friction.pairs.is_empty().then_some(friction.default);
    let mark = |contact: &WarmContact| {
        let [point, normal] = match contact.place {
            Some(place) => place,
            // A vertex at an obstacle is remembered without a place: it is where the obstacle is nearest.
            None if contact.pair.kind == PairKind::VertexObstacle => {
                let (vertex, obstacle) = (contact.pair.first as usize, contact.pair.second as usize);
                let point = interpolate(positions, surface.nodes.get(vertex)?, surface.weights.get(vertex)?);
                let pose = poses.get(obstacle)?;
                let local = nearest(&model.obstacles.get(obstacle)?.shape, &pose.inverse_transform_point(&point.into()).coords);
                [point, pose.rotation * local.normal]
            }
            None => return None,
        };
        let bodies = bodies_of(model, &contact.pair);
        let coefficient = bodies.map(|[a, b]| model.friction_between(a, b)).or(only_coefficient);
        let WarmContact { normal_force, friction_force, sliding, .. } = *contact;
        Some(ContactMark { point, normal, normal_force, friction_force, sliding, bodies, coefficient })
    };
    contacts.iter().filter_map(mark).collect()
}

/// Length of the legend's arrow on the screen, in points.
pub const REFERENCE_LENGTH: f32 = 74.0;

/// How forces are drawn: one of `force` newtons is `REFERENCE_LENGTH` long.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scale {
    /// [N], 1, 2 or 5 times a power of ten; 0 before there was a force.
    pub force: f64,
}

impl Scale {
    /// Follows the largest force, but not every flicker of it: arrows end between a third of the legend's and 1.05
    /// times it.
    pub fn following(self, marks: &[ContactMark]) -> Self {
        let largest = marks.iter().map(|m| m.normal_force.max(m.friction_force.norm())).fold(0.0, f64::max);
        let fits = largest == 0.0 || (0.33 * self.force..=1.05 * self.force).contains(&largest);
        if fits { self } else { Self { force: round_up(largest) } }
    }
}

/// The next of 1, 2 and 5 times a power of ten.
fn round_up(force: f64) -> f64 {
    let power = 10_f64.powf(force.log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|step| step * power).find(|round| *round >= force * (1.0 - 1e-9)).unwrap_or(10.0 * power)
}

/// Colours of the normals, normal forces and friction forces.
pub struct Colors {
    pub normal: Rgb,
    pub push: Rgb,
    pub friction: Rgb,
}

pub const COLORS: Colors = Colors { normal: Rgb::hex(0x8fa3b8), push: Rgb::hex(0x35c4f0), friction: Rgb::hex(0xffb02e) };

/// Points, short normals and arrows of constant scale on the screen. `pixels`: those of one point of the window.
pub fn overlays(marks: &[ContactMark], scale: Scale, camera: &Camera, viewport: [u32; 4], pixels: f32) -> Overlays {
    let mut overlays = Overlays::default();
    // [m] of one point of the window at the camera's target.
    let size = pixels * camera.pixel_size(viewport);
    let line = |a: Vec3, b: Vec3, color: Rgb, opacity: f32, width: f32| Segment { a, b, color, opacity, width: width * pixels };
    for mark in marks {
        let (at, normal) = (glam_vec(&mark.point), glam_vec(&mark.normal));
        overlays.segments.push(line(at, at + normal * (10.0 * size), COLORS.normal, 0.8, 1.2));
        for (force, color) in [(mark.normal * mark.normal_force, COLORS.push), (mark.friction_force, COLORS.friction)] {
            let arrow = glam_vec(&(force / scale.force.max(f64::MIN_POSITIVE))) * (REFERENCE_LENGTH * size);
            let length = arrow.length();
            // Shorter than the line is wide.
            let is_long = length > 1.5 * size;
            if !is_long {
                continue;
            }
            let (tip, along) = (at + arrow, arrow / length);
            overlays.segments.push(line(at, tip, color, 0.95, 2.2));
            let side = along.cross(camera.forward()).normalize_or(camera.right_up().0);
            let head = (0.3 * length).min(12.0 * size);
            for side in [side, -side] {
                overlays.segments.push(line(tip, tip + (0.5 * side - along) * head, color, 0.95, 2.2));
            }
        }
        overlays.points.push(Point { at, color: Rgb::hex(0xffffff), opacity: 0.9, size: 3.5 * pixels });
    }
    overlays
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::Material;
    use crate::mesh::shapes;
    use crate::model::State;
    use crate::model::{ModelBuilder, Obstacle, SoftBody};

    fn mark(normal_force: f64) -> ContactMark {
        let (point, normal) = (math::Vec3::zeros(), math::Vec3::y());
        let friction_force = math::Vec3::new(0.25, 0.0, 0.0) * normal_force;
        ContactMark { point, normal, normal_force, friction_force, sliding: false, bodies: None, coefficient: Some(0.5) }
    }

    #[test]
    fn marks_stand_where_the_contacts_are() {
        let pose = Isometry::from_parts(math::Vec3::new(0.0, -1.0, 0.0).into(), math::Quat::from_scaled_axis(math::Vec3::z() * 0.1));
        let mut builder = ModelBuilder::default();
        let tets = shapes::box_tets(math::Vec3::repeat(2.0), [1, 1, 1]);
        builder.soft_body(SoftBody::with_boundary_surface("cube", Material::default(), tets));
        builder.obstacle(Obstacle { name: "o".into(), shape: Shape::Plane, pose, motion: None, friction: vec![0.5], color: None });
        let model = builder.build().unwrap();
        let mut state = State::initial(&model);
        state.displacements.iter_mut().for_each(|u| u.x = 0.5);
        let friction_force = math::Vec3::x();
        state.contacts.entries.push(WarmContact {
            pair: crate::model::PairId { kind: PairKind::VertexObstacle, first: 3, second: 0 },
            normal_force: 7.0,
            friction_force,
            sliding: false,
            slip: math::Vec3::zeros(),
            place: None,
        });
        let [mark] = contact_marks(&model, &state.contacts.entries, &state.positions(&model), &[pose])[..] else { panic!("one mark") };
        let rest = model.surface_positions(&model.rest_positions)[3];
        assert!((mark.point - rest - math::Vec3::x() * 0.5).norm() < 1e-12);
        assert!((mark.normal - pose.rotation * math::Vec3::y()).norm() < 1e-12);
        assert_eq!((mark.normal_force, mark.friction_force), (7.0, friction_force));
        assert_eq!(mark.bodies, Some([BodyRef::Deformable(0), BodyRef::Obstacle(0)]));
        let told = ["cube – o", "push 7.0 N", "friction 1.0 N, 0.14 of the push", "sticks: 29 % of the cone of 0.50"];
        assert_eq!(mark.told(&model), told);
        let slides = ContactMark { sliding: true, friction_force: math::Vec3::x() * 3.5, ..mark };
        assert_eq!(slides.told(&model)[3], "slides: on the edge of the cone of 0.50");
    }

    #[test]
    fn the_scale_is_round_and_calm() {
        let mut scale = Scale::default().following(&[]);
        assert_eq!(scale.force, 0.0);
        for (largest, wanted) in [(3.0, 5.0), (5.2, 5.0), (1.7, 5.0), (5.3, 10.0), (3.4, 10.0), (0.02, 0.02), (1e6, 1e6)] {
            scale = scale.following(&[mark(0.1 * largest), mark(largest)]);
            assert!((scale.force / wanted - 1.0).abs() < 1e-9, "{largest}: {}", scale.force);
        }
    }

    #[test]
    fn arrows_have_the_length_that_the_legend_tells() {
        let (camera, viewport) = (Camera::default(), [0, 0, 800, 600]);
        let drawn = overlays(&[mark(10.0)], Scale { force: 20.0 }, &camera, viewport, 2.0);
        // A normal, and two arrows of three lines.
        assert_eq!((drawn.points.len(), drawn.segments.len()), (1, 7));
        let length = |k: usize| (drawn.segments[k].b - drawn.segments[k].a).length() / (2.0 * camera.pixel_size(viewport));
        assert!((length(1) - 0.5 * REFERENCE_LENGTH).abs() < 1e-3 && (length(4) - 0.125 * REFERENCE_LENGTH).abs() < 1e-3);
        // Without any scale, and without force, there is nothing to draw but where they are.
        assert_eq!(overlays(&[mark(0.0)], Scale::default(), &camera, viewport, 1.0).segments.len(), 1);
    }
}
