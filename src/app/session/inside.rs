//! Where the plane is that bodies are cut open by, and what it is turned to.

use glam::Vec3;

use super::Session;
use super::lookup::{Found, hit_body};
use crate::app::inside::reach;
use crate::body::BodyRef;
use crate::math::{self, Aabb};
use crate::model::Model;
use crate::render::Ray;
use crate::stage::{glam_vec, transform};

/// The rigid bodies that move freely, by their places, with the corners of the boxes around them in their own frames
/// [m].
pub fn rigid_corners(model: &Model) -> Vec<(usize, [Vec3; 8])> {
    let corners = |vertices: &[math::Vec3]| {
        let Aabb { min, max } = Aabb::of(vertices);
        std::array::from_fn(|k| {
            let corner = math::Vec3::from_fn(|i, _| if k >> i & 1 == 0 { min[i] } else { max[i] });
            glam_vec(&corner)
        })
    };
    let free = model.rigid_bodies.iter().enumerate().filter(|(_, body)| body.is_free());
    free.map(|(place, body)| (place, corners(&body.vertices))).collect()
}

impl Session {
    /// How far soft bodies and those that move freely reach in the direction of the plane [m]; none before their nodes
    /// have come.
    pub(super) fn reach_of_cut(&self) -> Option<[f32; 2]> {
        self.reach_along(self.ui.inside.normal())
    }

    /// The same in any direction.
    pub(super) fn reach_along(&self, direction: Vec3) -> Option<[f32; 2]> {
        let view = self.shown.view.as_ref()?;
        let nodes = view.nodes.as_ref()?.iter().map(|node| Vec3::from_slice(&node[..3]));
        let rigid = self.rigid_corners.iter().filter_map(|(place, corners)| Some((transform(view.rigid_poses.get(*place)?), corners)));
        let rigid = rigid.flat_map(|(pose, corners)| corners.map(|corner| pose.transform_point3(corner)));
        reach(direction, nodes.chain(rigid))
    }

    /// Turns the plane towards the camera: what is nearer than it is hidden.
    pub(super) fn cut_through_view(&mut self) {
        let camera = &self.viewpoint.camera;
        let towards = camera.eye() - camera.target;
        self.turn_cut(towards);
    }

    /// Turns the plane as the face that was clicked.
    pub(super) fn cut_along_face(&mut self, found: &Found, ray: &Ray) {
        let (Some(scene), Some(view)) = (&found.snapshot.scene, &found.snapshot.view) else { return };
        let model = &scene.model;
        let hidden = self.ui.selection.hidden_bodies(model);
        let Some((hit, body)) = hit_body(model, &found.positions, [&view.rigid_poses, &view.obstacle_poses], &hidden, ray) else { return };
        let corners = match body {
            BodyRef::Rigid(place) => {
                let (body, pose) = (&model.rigid_bodies[place as usize], view.rigid_poses.get(place as usize));
                pose.map(|pose| {
                    body.triangles[hit.triangle].map(|v| transform(pose).transform_point3(glam_vec(&body.vertices[v as usize])))
                })
            }
            _ => Some(model.surface.triangles[hit.triangle].map(|v| Vec3::from_slice(&found.positions[v as usize][..3]))),
        };
        if let Some([a, b, c]) = corners {
            self.ui.tool = None;
            self.turn_cut((b - a).cross(c - a));
        }
    }

    fn turn_cut(&mut self, direction: Vec3) {
        let inside = &mut self.ui.inside;
        inside.cuts = true;
        inside.point_along(direction);
        self.log_cut();
    }

    pub(super) fn log_cut(&self) {
        let inside = &self.ui.inside;
        self.log.say(format_args!("cut turn={:.1} tilt={:.1} place={:.3}", inside.turn, inside.tilt, inside.place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Scene, build};

    #[test]
    fn rigid_bodies_have_the_corners_of_their_boxes() {
        let text = "format = 1\n[[body]]\nname = \"block\"\nkind = \"rigid\"\nshape = { type = \"box\", size = [0.4, 0.2, 0.6] }\n\
                    position = [1, 2, 3]\n[[body]]\nname = \"table\"\nkind = \"static\"\nshape = { type = \"box\", size = [9, 1, 9] }\n\
                    [[body]]\nname = \"floor\"\nkind = \"static\"\nshape = { type = \"plane\" }\nposition = [0, -1, 0]\n";
        let model = build(&Scene::from_text("s", "s.toml", text, None, &[]).unwrap()).unwrap().model;
        let corners = rigid_corners(&model);
        assert_eq!(corners.len(), 1, "what stands still is none");
        let pose = transform(&model.rigid_bodies[0].pose);
        let found = reach(Vec3::Z, corners[0].1.into_iter().map(|corner| pose.transform_point3(corner))).unwrap();
        assert!((found[0] - 2.7).abs() < 1e-5 && (found[1] - 3.3).abs() < 1e-5, "{found:?}");
    }
}
