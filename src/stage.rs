//! Makes the renderer's stage, camera and light from a model and its scene.

use glam::{Mat4, Quat, Vec3};

use crate::geometry::Shape;
use crate::math::{self, Isometry};
use crate::mesh::SurfaceParts;
use crate::model::{Model, Obstacle};
use crate::render::{Camera, Host, Light, Rgb, RigidShape, RigidVisual, Segment, SoftBodyVisual, Stage, palette};
use crate::scene::{CameraSetting, LightSetting};

/// The constant part of the picture of a model.
pub fn stage(model: &Model, light: Light) -> Stage {
    let soft_bodies = (0..model.bodies.len()).map(|i| soft_body(model, i)).collect();
    let rigid = model.rigid_bodies.iter().enumerate().map(|(i, body)| RigidVisual {
        name: body.name.clone(),
        shape: RigidShape::Mesh {
            positions: body.vertices.iter().map(vertex).collect(),
            triangles: body.triangles.clone(),
            normals: model.rigid_normals[i].clone().unwrap_or_default(),
        },
        color: rigid_color(model, i),
        transform: transform(&body.pose),
        free: body.is_free(),
    });
    let obstacles = model.obstacles.iter().map(|obstacle| RigidVisual {
        name: obstacle.name.clone(),
        shape: shape(&obstacle.shape),
        color: obstacle_color(obstacle),
        transform: transform(&obstacle.pose),
        free: false,
    });
    let rigids = rigid.chain(obstacles).collect();
    let rest_positions = model.surface_positions(&model.rest_positions).iter().map(vertex).collect();
    let n_nodes = model.n_nodes() as u32;
    Stage { soft_bodies, rigids, rest_positions, n_nodes, light }
}

/// The poses of the rigid things of the stage: of `model.rigid_bodies`, then of `model.obstacles`.
pub fn transforms(rigid: &[Isometry], obstacles: &[Isometry]) -> Vec<Mat4> {
    rigid.iter().chain(obstacles).map(transform).collect()
}

/// Attachments as lines between their ends [m]. `pixels` is the number of pixels in a point of the window.
pub fn attachments(ends: &[[math::Vec3; 2]], pixels: f32) -> impl Iterator<Item = Segment> + '_ {
    let line = move |[a, b]: &[math::Vec3; 2]| Segment {
        a: glam_vec(a),
        b: glam_vec(b),
        color: Rgb::hex(0xb0905a),
        opacity: 0.95,
        width: 2.5 * pixels,
    };
    ends.iter().map(line)
}

/// The camera that a scene asks for.
pub fn camera(setting: &CameraSetting) -> Camera {
    let offset = glam_vec(&(setting.eye - setting.target));
    let distance = offset.length().max(1e-4);
    Camera {
        target: glam_vec(&setting.target),
        distance,
        azimuth: offset.x.atan2(offset.z),
        elevation: (offset.y / distance).asin(),
        fov_y: setting.field_of_view.to_radians() as f32,
    }
}

/// The key light of a scene.
pub fn light(setting: &LightSetting) -> Light {
    Light {
        direction: glam_vec(&setting.direction),
        color: encoded(setting.color),
        intensity: setting.intensity as f32,
        ..Light::default()
    }
}

/// The colour of a deformable body, in the picture and in the list.
pub fn body_color(model: &Model, body: usize) -> Rgb {
    let of_file = || model.bodies[body].parts.as_ref()?.colors().as_deref().and_then(most_common);
    model.bodies[body].color.or_else(of_file).map_or_else(|| palette(body), encoded)
}

/// The colour of most triangles.
fn most_common(colors: &[[f32; 3]]) -> Option<[f32; 3]> {
    let mut sorted = colors.to_vec();
    sorted.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])).then(a[2].total_cmp(&b[2])));
    sorted.chunk_by(|a, b| a == b).max_by_key(|same| same.len()).map(|same| same[0])
}

/// The colour of a rigid body, or of a static or driven mesh.
pub fn rigid_color(model: &Model, rigid: usize) -> Rgb {
    let body = &model.rigid_bodies[rigid];
    body.color.map_or_else(|| if body.is_free() { palette(model.bodies.len() + rigid) } else { OBSTACLE }, encoded)
}

/// The colour of a static or driven body of exact shape.
pub fn obstacle_color(obstacle: &Obstacle) -> Rgb {
    obstacle.color.map_or(OBSTACLE, encoded)
}

/// A colour of the screen as linear light, as scenes and glTF have colours [IEC 61966-2-1].
pub fn linear(color: Rgb) -> [f32; 3] {
    color.0.map(|c| if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) })
}

pub fn vertex(p: &crate::math::Vec3) -> [f32; 4] {
    [p.x as f32, p.y as f32, p.z as f32, 1.0]
}

pub fn transform(pose: &Isometry) -> Mat4 {
    let r = pose.rotation.coords;
    let t = pose.translation.vector;
    Mat4::from_rotation_translation(Quat::from_xyzw(r.x as f32, r.y as f32, r.z as f32, r.w as f32), glam_vec(&t))
}

pub fn glam_vec(v: &crate::math::Vec3) -> Vec3 {
    Vec3::new(v.x as f32, v.y as f32, v.z as f32)
}

const OBSTACLE: Rgb = Rgb::hex(0x9aa3ad);

fn soft_body(model: &Model, index: usize) -> SoftBodyVisual {
    let body = &model.bodies[index];
    let hosts = model.surface.nodes[body.vertices.clone()].iter().zip(&model.surface.weights[body.vertices.clone()]);
    // A surface whose vertices are nodes is the border of the tets.
    let is_embedded = hosts.clone().any(|(_, weights)| !weights.contains(&1.0));
    SoftBodyVisual {
        name: body.name.clone(),
        vertices: body.vertices.start as u32..body.vertices.end as u32,
        triangles: model.surface.triangles[body.triangles.clone()].to_vec(),
        normals: body.normals.clone().unwrap_or_default(),
        color: body_color(model, index),
        colors: body.parts.as_ref().and_then(SurfaceParts::colors).unwrap_or_default().into_iter().map(encoded).collect(),
        tets: model.tets[body.tets.clone()].iter().map(|tet| tet.nodes).collect(),
        hosts: hosts.filter(|_| is_embedded).map(|(nodes, weights)| Host { nodes: *nodes, weights: weights.map(|w| w as f32) }).collect(),
    }
}

fn shape(shape: &Shape) -> RigidShape {
    match *shape {
        Shape::Plane => RigidShape::Plane,
        Shape::Box { half_extents } => RigidShape::Box { half_extents: glam_vec(&half_extents) },
        Shape::Sphere { radius } => RigidShape::Sphere { radius: radius as f32 },
        Shape::Cylinder { radius, half_height } => RigidShape::Cylinder { radius: radius as f32, half_height: half_height as f32 },
    }
}

/// Linear light, as models have colours, as a colour of the screen.
fn encoded(linear: [f32; 3]) -> Rgb {
    Rgb(linear.map(|c| if c <= 0.003_130_8 { 12.92 * c } else { 1.055 * c.powf(1.0 / 2.4) - 0.055 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Mobility;
    use crate::scene::{Scene, build, builtin_scenes};

    /// A mesh that is filled lies within its tets, a lattice is its own border.
    #[test]
    fn surfaces_within_tets_have_their_hosts() {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cube.off");
        let mesh = Scene::from_mesh_with(&file, &["body.0.tets=1000".to_owned()]).unwrap();
        let model = build(&mesh).unwrap().model;
        let visual = soft_body(&model, 0);
        assert_eq!(visual.hosts.len(), visual.vertices.len());
        let (rest, nodes) = (stage(&model, Light::default()).rest_positions, &model.rest_positions);
        for (host, expected) in visual.hosts.iter().zip(&rest) {
            let place: Vec3 = host.nodes.iter().zip(host.weights).map(|(node, weight)| weight * glam_vec(&nodes[*node as usize])).sum();
            assert!((place - Vec3::from_slice(&expected[..3])).length() < 1e-5);
        }
        let text = "format = 1\n[[body]]\nname = \"block\"\nshape = { type = \"box\", size = [1.0, 1.0, 1.0], cells = [2, 2, 2] }\n";
        let block = Scene::from_text("s", "s.toml", text, None, &[]).unwrap();
        assert!(soft_body(&build(&block).unwrap().model, 0).hosts.is_empty());
    }

    /// What moves is in the picture of 16:9 at the start, with a margin of 3 % of its height and width.
    #[test]
    fn no_view_of_the_gallery_cuts_what_moves() {
        const VIEWPORT: [u32; 4] = [0, 0, 1600, 900];
        let mut cut = vec![];
        for entry in builtin_scenes() {
            let built = build(&Scene::builtin(entry.name).unwrap()).unwrap();
            let (model, camera) = (&built.model, camera(&built.camera));
            let nodes: Vec<_> = model.rest_positions.iter().zip(&model.initial_displacements).map(|(x, u)| x + u).collect();
            let moving = model.rigid_bodies.iter().filter(|body| !matches!(body.mobility, Mobility::Driven(None)));
            let rigid = moving.flat_map(|body| body.positions(&body.pose));
            let mut points = model.surface_positions(&nodes).into_iter().chain(rigid);
            let is_inside = |point: math::Vec3| {
                let seen = camera.project(glam_vec(&point), VIEWPORT);
                seen.is_some_and(|([x, y], _)| (0.03..=0.97).contains(&(x / 1600.0)) && (0.03..=0.97).contains(&(y / 900.0)))
            };
            if !points.all(is_inside) {
                cut.push(entry.name);
            }
        }
        assert_eq!(cut, [""; 0]);
    }
}
