//! From a checked scene to a model and everything else that a simulation starts with.

use std::f64::consts::PI;

use super::error::{Place, SceneError, quoted_list};
use super::geometry::{Fault, Solid, obstacle, solid};
use super::nodes::Transform;
use super::read::{BodyContent, CameraContent, Content, Geometry, Role, Target};
use super::regions::Region;
use super::value::Origin;
use super::{BackendChoice, CameraSetting, LightSetting, RecordingSetting, Scene, SolverChoice};
use crate::material::Material;
use crate::math::{Aabb, Isometry, Mat3, Vec3};
use crate::mesh::{MeshError, assets};
use crate::model::{Model, ModelBuilder, Obstacle, SoftBody};
use crate::solver::Params;

/// A scene ready to be simulated.
#[derive(Clone, Debug)]
pub struct Built {
    /// File name of the scene without its ending, or its name in the gallery.
    pub name: String,
    pub title: String,
    pub model: Model,
    pub params: Params,
    pub backend: BackendChoice,
    pub solver: SolverChoice,
    pub forces: Vec<Force>,
    pub probes: Vec<Probe>,
    pub camera: CameraSetting,
    pub light: LightSetting,
    pub recording: RecordingSetting,
}

/// A constant force on some nodes during `start <= t < end` [s].
#[derive(Clone, Debug, PartialEq)]
pub struct Force {
    pub nodes: Vec<u32>,
    /// Total [N], spread over the nodes by mass.
    pub force: Vec3,
    pub start: f64,
    pub end: f64,
}

/// A region whose mean motion is reported.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    pub name: String,
    /// Surface vertices of the model in the region at rest.
    pub vertices: Vec<u32>,
    /// Nodes of the model in the region at rest.
    pub nodes: Vec<u32>,
}

/// Reads the meshes and joins all bodies into a model.
pub fn build(scene: &Scene) -> Result<Built, SceneError> {
    Builder { scene, content: &scene.content }.build()
}

struct Builder<'a> {
    scene: &'a Scene,
    content: &'a Content,
}

impl Builder<'_> {
    fn build(self) -> Result<Built, SceneError> {
        let content = self.content;
        let mut builder = ModelBuilder::default();
        // Index in the model of the first copy of each deformable body.
        let mut first = vec![0; content.bodies.len()];
        let mut scene_body = vec![];
        for (index, body) in content.bodies.iter().enumerate() {
            let Role::Deformable { .. } = body.role else { continue };
            first[index] = scene_body.len();
            let solid = solid(&body.geometry, body.anchor, self.scene.folder.as_deref()).map_err(|f| self.fault(body, f))?;
            for copy in 0..body.placements.len() {
                builder.soft_body(self.soft_body(body, copy, &solid)?);
                scene_body.push(index);
            }
        }
        for (index, body) in content.bodies.iter().enumerate() {
            let Role::Obstacle { motion } = body.role else { continue };
            let friction: Vec<f64> = scene_body.iter().map(|&soft| self.friction(soft, index)).collect();
            for (copy, placement) in body.placements.iter().enumerate() {
                let (shape, anchor) = obstacle(&body.geometry, body.anchor, placement.scaling());
                // The shape is built around its centre; the anchored point of it is what was placed.
                let pose = Isometry::from_parts((placement * nalgebra::Point3::from(-anchor)).coords.into(), placement.isometry.rotation);
                let name = body.copy_name(copy);
                builder.obstacle(Obstacle { name, shape, pose, motion, friction: friction.clone(), color: body.color });
            }
        }
        let model = builder.build().map_err(|e| self.error(Origin::File(0), "", e.to_string()))?;
        let target = |target: &Target| first[target.body] + target.copy;
        let mut forces = vec![];
        for force in &content.forces {
            let nodes = self.nodes(&model, target(&force.target), force.region.as_ref())?;
            forces.push(Force { nodes, force: force.force, start: force.start, end: force.end });
        }
        let mut probes = vec![];
        for probe in &content.probes {
            let body = target(&probe.target);
            let nodes = self.nodes(&model, body, probe.region.as_ref())?;
            let vertices = self.vertices(&model, body, probe.region.as_ref())?;
            probes.push(Probe { name: probe.name.clone(), vertices, nodes });
        }
        Ok(Built {
            name: self.scene.name().to_owned(),
            title: self.scene.title().to_owned(),
            camera: camera(&content.camera, &model),
            model,
            params: content.params,
            backend: content.backend,
            solver: content.solver,
            forces,
            probes,
            light: content.light,
            recording: content.recording,
        })
    }

    fn error(&self, origin: Origin, key: &str, message: String) -> SceneError {
        SceneError::one(self.scene.document.place(origin), key, message)
    }

    fn fault(&self, body: &BodyContent, fault: Fault) -> SceneError {
        let message = match fault {
            Fault::Mesh(error) if self.scene.document.generated => return self.mesh_fault(error),
            // A fault inside a file names the file already.
            Fault::Mesh(error @ MeshError::File { .. }) => error.to_string(),
            Fault::Mesh(error) => match &body.geometry {
                Geometry::Mesh { file, .. } => format!("{file}: {error}"),
                _ => error.to_string(),
            },
            Fault::NoFolder => {
                "a scene inside the program has no folder; name a mesh of the program (\"builtin:bunny.obj\") or give a full path".into()
            }
            Fault::UnknownBuiltin => {
                format!("the program has no mesh of this name; it has {}", quoted_list(assets::NAMES.iter().copied()))
            }
        };
        self.error(body.geometry_origin, &body.geometry_key, message)
    }

    /// A fault of the mesh that is the scene.
    fn mesh_fault(&self, error: MeshError) -> SceneError {
        let mut file = self.scene.document.file.clone();
        let message = match error {
            MeshError::File { line, reason, remedy, .. } => {
                file.extend(line.map(|line| format!(":{line}")));
                format!("{reason}; {remedy}")
            }
            other => other.to_string(),
        };
        SceneError::one(Place::File { file }, "", message)
    }

    fn friction(&self, soft: usize, hard: usize) -> f64 {
        let own = self.content.pair_frictions.iter().find(|(s, h, _)| (*s, *h) == (soft, hard));
        own.map_or(self.content.friction, |(_, _, friction)| *friction)
    }

    fn soft_body(&self, body: &BodyContent, copy: usize, solid: &Solid) -> Result<SoftBody, SceneError> {
        let Role::Deformable { material, velocity, angular_velocity, fix } = &body.role else {
            unreachable!("called for deformable bodies only")
        };
        let mut tets = solid.tets.clone();
        place(&mut tets.positions, &body.placements[copy]);
        let mut soft = SoftBody::with_boundary_surface(body.copy_name(copy), *material, tets);
        if let Some((triangles, embedding)) = &solid.surface {
            soft.surface_triangles.clone_from(triangles);
            soft.embedding.clone_from(embedding);
        }
        soft.color = body.color;
        let center = center_of_mass(&soft);
        soft.velocities = soft.tets.positions.iter().map(|p| velocity + angular_velocity.cross(&(p - center))).collect();
        for region in fix {
            for node in self.select(region, &soft.tets.positions, "node", &body.copy_name(copy))? {
                soft.fixed[node as usize] = true;
                soft.velocities[node as usize] = Vec3::zeros();
            }
        }
        self.check_mass(body, material, &soft)?;
        Ok(soft)
    }

    /// A body so small or light that its numbers vanish in rounding would only fail later, and less clearly.
    fn check_mass(&self, body: &BodyContent, material: &Material, soft: &SoftBody) -> Result<(), SceneError> {
        let extent = Aabb::of(&soft.tets.positions).extent();
        if extent.iter().all(|e| e.is_finite()) && (1e-4..=1e4).contains(&extent.max()) && material.density > 0.0 {
            return Ok(());
        }
        let message =
            format!("the body is {:.3e} m long in the world; Pliant handles bodies from 1e-4 to 1e4 m: change size or scale", extent.max());
        Err(self.error(body.geometry_origin, &body.geometry_key, message))
    }

    /// Points of a region; a region without any is a mistake.
    fn select(&self, region: &Region, points: &[Vec3], what: &str, body: &str) -> Result<Vec<u32>, SceneError> {
        let bounds = Aabb::of(points);
        let chosen = region.select(points, &bounds);
        if !chosen.is_empty() {
            return Ok(chosen);
        }
        let [min, max] = [bounds.min, bounds.max].map(|p| format!("[{:.4}, {:.4}, {:.4}]", p.x, p.y, p.z));
        let message = format!("no {what} of \"{body}\" is inside; at rest the body reaches from {min} to {max} in the world");
        Err(self.error(region.origin, &region.key, message))
    }

    fn nodes(&self, model: &Model, body: usize, region: Option<&Region>) -> Result<Vec<u32>, SceneError> {
        let body = &model.bodies[body];
        let Some(region) = region else { return Ok(body.nodes.clone().map(|n| n as u32).collect()) };
        let chosen = self.select(region, &model.rest_positions[body.nodes.clone()], "node", &body.name)?;
        Ok(chosen.into_iter().map(|n| n + body.nodes.start as u32).collect())
    }

    fn vertices(&self, model: &Model, body: usize, region: Option<&Region>) -> Result<Vec<u32>, SceneError> {
        let body = &model.bodies[body];
        let Some(region) = region else { return Ok(body.vertices.clone().map(|v| v as u32).collect()) };
        let positions = model.surface_positions(&model.rest_positions);
        let chosen = self.select(region, &positions[body.vertices.clone()], "surface vertex", &body.name)?;
        Ok(chosen.into_iter().map(|v| v + body.vertices.start as u32).collect())
    }
}

fn place(points: &mut [Vec3], placement: &Transform) {
    points.iter_mut().for_each(|p| *p = (placement * nalgebra::Point3::from(*p)).coords);
}

/// Of a body of uniform density, by the volumes of its tets.
fn center_of_mass(soft: &SoftBody) -> Vec3 {
    let (mut sum, mut total) = (Vec3::zeros(), 0.0);
    for nodes in &soft.tets.tets {
        let x = nodes.map(|n| soft.tets.positions[n as usize]);
        let volume = Mat3::from_columns(&[x[1] - x[0], x[2] - x[0], x[3] - x[0]]).determinant() / 6.0;
        sum += x.iter().sum::<Vec3>() * (volume / 4.0);
        total += volume;
    }
    sum / total
}

/// Fills in what the scene leaves open so that all deformable bodies are in view.
fn camera(wish: &CameraContent, model: &Model) -> CameraSetting {
    let bounds = if model.rest_positions.is_empty() {
        Aabb { min: Vec3::repeat(-0.5), max: Vec3::repeat(0.5) }
    } else {
        Aabb::of(&model.rest_positions)
    };
    let target = wish.target.unwrap_or(bounds.center());
    let half_angle = wish.field_of_view / 360.0 * PI;
    let distance = wish.distance.unwrap_or(0.6 * bounds.extent().norm() / half_angle.sin());
    let (azimuth, elevation) = (wish.azimuth.to_radians(), wish.elevation.to_radians());
    let direction = Vec3::new(elevation.cos() * azimuth.sin(), elevation.sin(), elevation.cos() * azimuth.cos());
    CameraSetting { target, eye: wish.eye.unwrap_or(target + direction * distance), field_of_view: wish.field_of_view }
}
