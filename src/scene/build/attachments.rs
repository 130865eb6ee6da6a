//! The ends of springs: where they are at the start, and what they hold.

use super::{Builder, Slot};
use crate::math::{Isometry, Vec3};
use crate::model::{Attachment, End, Model};
use crate::scene::error::SceneError;
use crate::scene::read::{AttachmentContent, EndContent, Target};
use crate::scene::regions::Region;

/// Ends that meet at the start are this near [m], by rounding: the line between them has no direction.
const NO_LENGTH: f64 = 1e-9;

impl Builder<'_> {
    pub(super) fn attachment(&self, wish: &AttachmentContent, slots: &[Slot], model: &Model) -> Result<Attachment, SceneError> {
        let end = |end: &EndContent| match end {
            EndContent::World(point) => Ok((End::World(*point), *point)),
            EndContent::Point(target, point) => Ok(held_point(target, point, slots, model)),
            EndContent::Region(target, region) => self.held_region(target, region, slots, model),
        };
        let ((from, start), (to, finish)) = (end(&wish.ends[0])?, end(&wish.ends[1])?);
        let length = wish.length.unwrap_or((finish - start).norm());
        Ok(Attachment {
            name: wish.name.clone(),
            ends: [from, to],
            stiffness: wish.stiffness,
            damping: wish.damping,
            length: if length > NO_LENGTH { length } else { 0.0 },
        })
    }

    /// The centre of mass of a part of a body.
    fn held_region(&self, target: &Target, region: &Region, slots: &[Slot], model: &Model) -> Result<(End, Vec3), SceneError> {
        match slots[target.body] {
            Slot::Soft(first) => {
                let nodes = self.nodes(model, first + target.copy, Some(region))?;
                let mass = |n: u32| model.node_masses[n as usize];
                let total: f64 = nodes.iter().map(|&n| mass(n)).sum();
                let weighted: Vec<(u32, f64)> = nodes.into_iter().map(|n| (n, mass(n) / total)).collect();
                let center = weighted.iter().map(|&(n, weight)| model.rest_positions[n as usize] * weight).sum();
                Ok((End::Nodes(weighted), center))
            }
            Slot::Rigid(first) => {
                let body = &model.rigid_bodies[first + target.copy];
                let points: Vec<Vec3> = body.vertices.iter().map(|p| (body.pose * nalgebra::Point3::from(*p)).coords).collect();
                let chosen = self.select(region, &points, "surface vertex", &body.name)?;
                let center = chosen.iter().map(|&v| points[v as usize]).sum::<Vec3>() / chosen.len() as f64;
                Ok((End::Rigid { body: first + target.copy, point: in_frame(&body.pose, &center) }, center))
            }
            Slot::Obstacle(_) => unreachable!("regions of obstacles were refused when the scene was read"),
        }
    }
}

fn held_point(target: &Target, point: &Vec3, slots: &[Slot], model: &Model) -> (End, Vec3) {
    match slots[target.body] {
        Slot::Soft(first) => {
            let body = &model.bodies[first + target.copy];
            let positions = model.surface_positions(&model.rest_positions);
            let distance = |v: &usize| (positions[*v] - point).norm_squared();
            let nearest = body.vertices.clone().min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(body.vertices.start);
            let (nodes, weights) = (model.surface.nodes[nearest], model.surface.weights[nearest]);
            let used = (0..4).filter(|&c| weights[c] != 0.0).map(|c| (nodes[c], weights[c])).collect();
            (End::Nodes(used), positions[nearest])
        }
        Slot::Rigid(first) => {
            let body = first + target.copy;
            (End::Rigid { body, point: in_frame(&model.rigid_bodies[body].pose, point) }, *point)
        }
        Slot::Obstacle(first) => {
            let obstacle = first + target.copy;
            (End::Obstacle { obstacle, point: in_frame(&model.obstacles[obstacle].pose, point) }, *point)
        }
    }
}

fn in_frame(pose: &Isometry, point: &Vec3) -> Vec3 {
    pose.inverse_transform_point(&nalgebra::Point3::from(*point)).coords
}
