//! Points of bodies that are set by a click and move along with them: the ends of a ruler, and probes.

use crate::app::engine::View;
use crate::body::BodyRef;
use crate::math::{Isometry, Vec3};
use crate::model::{Model, interpolate};
use crate::render::Hit;
use crate::scene::Probe;
use crate::step::SurfacePositions;

/// What a click in the view does, instead of selecting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Two points, and the distance between them.
    Ruler,
    /// A point that is plotted.
    Probe,
    /// A face of a body, along which bodies are cut open.
    Face,
    /// A material that is painted onto soft bodies.
    Brush,
}

impl Tool {
    /// What to do with it.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Ruler => "Click two points of bodies to measure between them   ·   Esc ends",
            Self::Face => "Click a face of a body to cut along it   ·   Esc ends",
            Self::Brush => "Drag over a soft body   ·   Alt erases   ·   Ctrl + wheel: radius   ·   Esc ends",
            Self::Probe => "Click a point of a soft body to plot how it moves   ·   Esc ends",
        }
    }
}

/// A point on the surface of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaterialPoint {
    pub body: BodyRef,
    place: Place,
}

/// Where on its body a point is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// Vertices of the drawn surface, or of the rigid body's mesh, and their weights.
    Mesh { vertices: [u32; 3], weights: [f64; 3] },
    /// On an obstacle of exact shape, in its own frame [m].
    Exact(Vec3),
}

impl MaterialPoint {
    /// Where a ray has hit a body; none of a body without a mesh.
    pub fn of_hit(model: &Model, hit: &Hit, body: BodyRef) -> Option<Self> {
        let triangles = match body {
            BodyRef::Deformable(_) => &model.surface.triangles,
            BodyRef::Rigid(place) => &model.rigid_bodies.get(place as usize)?.triangles,
            BodyRef::Obstacle(_) | BodyRef::World => return None,
        };
        Some(Self { body, place: Place::Mesh { vertices: *triangles.get(hit.triangle)?, weights: hit.barycentric } })
    }

    /// A point of the world on an obstacle at a pose.
    pub fn of_obstacle(body: BodyRef, point: &Vec3, pose: &Isometry) -> Self {
        Self { body, place: Place::Exact(pose.inverse_transform_point(&(*point).into()).coords) }
    }

    /// Where it is now [m]; none where positions are on the device only.
    pub fn position(&self, model: &Model, view: &View) -> Option<Vec3> {
        let (vertices, weights) = match self.place {
            Place::Mesh { vertices, weights } => (vertices, weights),
            Place::Exact(point) => return Some((view.obstacle_poses.get(self.body.index())? * nalgebra::Point3::from(point)).coords),
        };
        let at = |vertex: u32| -> Option<Vec3> {
            let vertex = vertex as usize;
            match (self.body, &view.surface, &view.nodes) {
                (BodyRef::Rigid(place), ..) => model.rigid_bodies.get(place as usize)?.vertices.get(vertex).copied(),
                (_, SurfacePositions::Host(positions), _) => positions.get(vertex).map(double),
                (_, SurfacePositions::Device(_), Some(nodes)) => {
                    let corners = model.surface.nodes.get(vertex)?;
                    let positions: Vec<Vec3> = corners.iter().filter_map(|node| nodes.get(*node as usize)).map(double).collect();
                    (positions.len() == 4).then(|| interpolate(&positions, &[0, 1, 2, 3], &model.surface.weights[vertex]))
                }
                _ => None,
            }
        };
        let mut sum = Vec3::zeros();
        for (vertex, weight) in vertices.iter().zip(weights) {
            sum += at(*vertex)? * weight;
        }
        match self.body {
            BodyRef::Rigid(place) => Some((view.rigid_poses.get(place as usize)? * nalgebra::Point3::from(sum)).coords),
            _ => Some(sum),
        }
    }

    /// A probe of the nearest vertex; none of a rigid body, whose points are not followed.
    pub fn probe(&self, name: String) -> Option<Probe> {
        Some(Probe { name, vertices: vec![self.followed()?], nodes: vec![] })
    }

    /// The same as an entry of the scene, as `--set` says it.
    pub fn probe_of_scene(&self, model: &Model, name: &str) -> Option<String> {
        let at = model.surface_position(&model.rest_positions, self.followed()? as usize);
        let number = |x: f64| toml::Value::Float(format!("{x:.7}").parse().unwrap_or(x));
        let body = toml::Value::String(model.body_name(self.body).to_owned());
        Some(format!("probe.{name}={{ body = {body}, point = [{}, {}, {}] }}", number(at.x), number(at.y), number(at.z)))
    }

    fn followed(&self) -> Option<u32> {
        let Place::Mesh { vertices, weights } = self.place else { return None };
        let most = (0..3).max_by(|a, b| weights[*a].total_cmp(&weights[*b]))?;
        self.body.is_deformable().then_some(vertices[most])
    }
}

fn double(p: &[f32; 4]) -> Vec3 {
    Vec3::new(p[0].into(), p[1].into(), p[2].into())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::app::plots::tests::model as rigid_model;
    use crate::material::Material;
    use crate::mesh::shapes;
    use crate::model::{ModelBuilder, SoftBody};
    use crate::scene::{Scene, build};

    #[test]
    fn a_point_follows_its_body() {
        let mut builder = ModelBuilder::default();
        let tets = shapes::box_tets(Vec3::repeat(1.0), [1, 1, 1]);
        builder.soft_body(SoftBody::with_boundary_surface("cube", Material::default(), tets));
        let model = builder.build().unwrap();
        let hit = Hit { triangle: 2, barycentric: [0.2, 0.5, 0.3], distance: 1.0, point: Vec3::zeros() };
        let point = MaterialPoint::of_hit(&model, &hit, BodyRef::Deformable(0)).unwrap();
        let rest: Vec3 = model.surface.triangles[2]
            .iter()
            .zip(hit.barycentric)
            .map(|(v, b)| model.surface_positions(&model.rest_positions)[*v as usize] * b)
            .sum();
        let moved = |p: &Vec3| [(2.0 * p.x + 1.0) as f32, p.y as f32, p.z as f32, 1.0];
        let view = View {
            surface: SurfacePositions::Host(model.surface_positions(&model.rest_positions).iter().map(moved).collect()),
            ..View::default()
        };
        let expected = Vec3::new(2.0 * rest.x + 1.0, rest.y, rest.z);
        assert!((point.position(&model, &view).unwrap() - expected).norm() < 1e-6);
        let probe = point.probe("tip".into()).unwrap();
        assert_eq!((probe.name.as_str(), probe.vertices), ("tip", vec![model.surface.triangles[2][1]]));
        assert_eq!(MaterialPoint::of_hit(&model, &hit, BodyRef::World), None);
        // The scene says the same point, and finds it again.
        let text = "format = 1\n[[body]]\nname = \"cube\"\nshape = { type = \"box\", size = [1.0, 1.0, 1.0], cells = [1, 1, 1] }\n";
        let scene = Scene::from_text("s", "s.toml", text, None, &[]).unwrap();
        let model = build(&scene).unwrap().model;
        let point = MaterialPoint::of_hit(&model, &hit, BodyRef::Deformable(0)).unwrap();
        let saved = scene.edited(&[point.probe_of_scene(&model, "tip").unwrap()]).unwrap();
        assert!(saved.text_for(Path::new("")).unwrap().contains("[[probe]]\nname = \"tip\"\nbody = \"cube\"\npoint = ["));
        assert_eq!(build(&saved).unwrap().probes, vec![point.probe("tip".into()).unwrap()]);
    }

    #[test]
    fn a_point_of_a_rigid_body_moves_with_its_pose() {
        let model = rigid_model();
        let hit = Hit { triangle: 0, barycentric: [1.0, 0.0, 0.0], distance: 1.0, point: Vec3::zeros() };
        let point = MaterialPoint::of_hit(&model, &hit, BodyRef::Rigid(1)).unwrap();
        let view = View { rigid_poses: vec![Isometry::identity(), Isometry::translation(0.0, 3.0, 0.0)], ..View::default() };
        let corner = model.rigid_bodies[1].vertices[model.rigid_bodies[1].triangles[0][0] as usize];
        assert_eq!(point.position(&model, &view), Some(corner + Vec3::y() * 3.0));
        assert_eq!(point.probe("p".into()), None);
    }

    #[test]
    fn a_point_of_an_obstacle_moves_with_its_pose() {
        let (pose, at) = (Isometry::translation(1.0, 0.0, 0.0), Vec3::new(1.0, 0.5, 0.0));
        let point = MaterialPoint::of_obstacle(BodyRef::Obstacle(0), &at, &pose);
        let view = View { obstacle_poses: vec![Isometry::translation(1.0, 2.0, 0.0)], ..View::default() };
        assert_eq!(point.position(&rigid_model(), &view), Some(at + Vec3::y() * 2.0));
        assert_eq!((point.probe("p".into()), point.position(&rigid_model(), &View::default())), (None, None));
    }
}
