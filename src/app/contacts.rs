//! Contacts as marks over the view: points, normals, and forces as arrows whose scale a legend tells.

use glam::Vec3;

use crate::geometry::nearest;
use crate::math::{self, Isometry};
use crate::model::{Model, interpolate};
use crate::model::{PairKind, WarmContact};
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
}

/// The contacts of a state. The one place that knows how a state keeps them. `positions`: of the nodes; `poses`: of
/// the model's obstacles.
pub fn contact_marks(model: &Model, contacts: &[WarmContact], positions: &[math::Vec3], poses: &[Isometry]) -> Vec<ContactMark> {
    let surface = &model.collision;
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
        Some(ContactMark { point, normal, normal_force: contact.normal_force, friction_force: contact.friction_force })
    };
    contacts.iter().filter_map(mark).collect()
}

/// Length of the legend's arrow on the screen, in points.
pub const REFERENCE_LENGTH: f32 = 72.0;

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
            overlays.segments.push(line(at, tip, color, 0.95, 2.0));
            let side = along.cross(camera.forward()).normalize_or(camera.right_up().0);
            let head = (0.3 * length).min(7.0 * size);
            for side in [side, -side] {
                overlays.segments.push(line(tip, tip + (0.55 * side - along) * head, color, 0.95, 2.0));
            }
        }
        overlays.points.push(Point { at, color: Rgb::hex(0xffffff), opacity: 0.9, size: 3.5 * pixels });
    }
    overlays
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Shape;
    use crate::material::Material;
    use crate::mesh::shapes;
    use crate::model::State;
    use crate::model::WarmContact;
    use crate::model::{ModelBuilder, Obstacle, SoftBody};

    fn mark(normal_force: f64) -> ContactMark {
        let (point, normal) = (math::Vec3::zeros(), math::Vec3::y());
        ContactMark { point, normal, normal_force, friction_force: math::Vec3::new(0.25, 0.0, 0.0) * normal_force }
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
