//! Questions that need the positions on the host: what is under the cursor, where a body is. Where the device has the
//! positions they are fetched without waiting.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use egui::{Pos2, Rect};

use crate::app::worker::Snapshot;
use crate::body::BodyRef;
use crate::geometry::{Shape, nearest};
use crate::gpu;
use crate::math::{Aabb, Isometry, Vec3};
use crate::model::Model;
use crate::render::{Hit, Ray, pick};
use crate::stage;
use crate::step::SurfacePositions;

/// A question about the point under the cursor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Question {
    /// Asks for the point to pull.
    Grab(Ray),
    /// Asks for the body to select, alone or with others.
    Select {
        ray: Ray,
        several: bool,
    },
    /// Asks for the body that a menu is about, which opens at a point of the window.
    Menu {
        ray: Ray,
        at: Pos2,
    },
    /// Asks for the point that is set with a tool.
    Point(Ray),
    /// Asks for the point to look at.
    FrameAt(Ray),
    FrameSelected,
    /// Asks for the point to paint.
    Brush(Ray),
    /// Asks how far what is under the brush is.
    BrushOver(Ray),
    /// Asks for the point to pin.
    Pin(Ray),
    /// Asks for what of soft bodies is in a part of the window, to be pinned or unpinned.
    PinFrame {
        frame: Rect,
        unpins: bool,
    },
    /// As bodies are numbered (`body::BodyNumbering`).
    FrameBodies {
        first: usize,
        count: usize,
    },
    FrameAll,
    /// Asks for what shall stay in view.
    Follow,
}

/// Answered with the positions of one snapshot.
pub struct Found {
    pub snapshot: Arc<Snapshot>,
    pub positions: Vec<[f32; 4]>,
    pub questions: Vec<Question>,
}

/// Questions under way.
#[derive(Default)]
pub struct Lookup {
    asked: Vec<Question>,
    reading: Option<Reading>,
}

struct Reading {
    snapshot: Arc<Snapshot>,
    questions: Vec<Question>,
    staging: wgpu::Buffer,
    mapped: Receiver<Result<(), wgpu::BufferAsyncError>>,
}

impl Lookup {
    pub fn ask(&mut self, question: Question) {
        self.asked.push(question);
    }

    /// Whether an answer is still to come.
    pub fn is_busy(&self) -> bool {
        !self.asked.is_empty() || self.reading.is_some()
    }

    /// Answers what can be answered now, from the positions that are shown.
    pub fn poll(&mut self, shown: &Arc<Snapshot>, device: &wgpu::Device, queue: &wgpu::Queue) -> Option<Found> {
        if let Some(reading) = self.reading.take() {
            return self.finish(reading, device);
        }
        if self.asked.is_empty() {
            return None;
        }
        let view = shown.view.as_ref()?;
        let questions = std::mem::take(&mut self.asked);
        match &view.surface {
            SurfacePositions::Host(positions) => Some(Found { snapshot: shown.clone(), positions: positions.clone(), questions }),
            SurfacePositions::Device(surface) => {
                let buffer = gpu::surface_buffer(surface);
                let staging = device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some("app/lookup"),
                    size: buffer.size(),
                    usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
                    mapped_at_creation: false,
                });
                let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("app/lookup") });
                encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
                queue.submit([encoder.finish()]);
                let (sender, mapped) = channel();
                // A receiver that is gone has no more questions.
                staging.map_async(wgpu::MapMode::Read, .., move |result| drop(sender.send(result)));
                self.reading = Some(Reading { snapshot: shown.clone(), questions, staging, mapped });
                None
            }
        }
    }

    fn finish(&mut self, reading: Reading, device: &wgpu::Device) -> Option<Found> {
        // A failing poll means a lost device, which the simulation reports.
        let _ = device.poll(wgpu::PollType::Poll);
        match reading.mapped.try_recv() {
            Err(std::sync::mpsc::TryRecvError::Empty) => {
                self.reading = Some(reading);
                None
            }
            Ok(Ok(())) => {
                let positions = reading.staging.get_mapped_range(..).ok().map(|bytes| bytemuck::pod_collect_to_vec(&bytes[..]));
                positions.map(|positions| Found { snapshot: reading.snapshot, positions, questions: reading.questions })
            }
            Ok(Err(_)) | Err(_) => Some(Found { snapshot: reading.snapshot, positions: vec![], questions: reading.questions }),
        }
    }
}

/// The bodies with a mesh: deformable and rigid ones.
fn bodies_with_mesh(model: &Model) -> impl Iterator<Item = BodyRef> {
    let numbering = model.numbering();
    (0..numbering.n_with_unknowns()).map(move |number| numbering.body(number))
}

/// The bodies that move freely: they can be held, and the picture is about them.
pub fn free_bodies(model: &Model) -> impl Iterator<Item = BodyRef> {
    bodies_with_mesh(model).filter(|body| model.is_movable(*body))
}

/// The first body under the ray, unless an obstacle of an exact shape hides it: the triangle in the mesh of the body,
/// and that body. Deformable bodies share one mesh. `poses`: of the rigid bodies, and of the obstacles. What is
/// `hidden` is not there.
pub fn hit_body(model: &Model, positions: &[[f32; 4]], poses: [&[Isometry]; 2], hidden: &[BodyRef], ray: &Ray) -> Option<(Hit, BodyRef)> {
    let [poses, obstacle_poses] = poses;
    let soft = || {
        let positions = positions.get(..model.n_vertices())?;
        let hits = (0..).zip(&model.bodies).filter(|(b, _)| !hidden.contains(&BodyRef::Deformable(*b))).filter_map(|(b, body)| {
            let first = body.triangles.start;
            let hit = pick(ray, positions, &model.surface.triangles[body.triangles.clone()])?;
            Some((Hit { triangle: first + hit.triangle, ..hit }, BodyRef::Deformable(b)))
        });
        hits.min_by(|(a, _), (b, _)| a.distance.total_cmp(&b.distance))
    };
    let rigid = model.rigid_bodies.iter().zip(poses).enumerate().filter_map(|(r, (body, pose))| {
        if hidden.contains(&BodyRef::Rigid(r as u32)) {
            return None;
        }
        let local = Ray {
            origin: pose.inverse_transform_point(&ray.origin.into()).coords,
            direction: pose.inverse_transform_vector(&ray.direction),
        };
        let vertices: Vec<[f32; 4]> = body.vertices.iter().map(stage::vertex).collect();
        let hit = pick(&local, &vertices, &body.triangles)?;
        Some((Hit { point: ray.at(hit.distance), ..hit }, BodyRef::Rigid(r as u32)))
    });
    let is_seen = |(hit, _): &(Hit, BodyRef)| {
        let mut obstacles = shown_obstacles(model, obstacle_poses, hidden);
        !obstacles.any(|(_, shape, pose)| meets(shape, pose, ray, hit.distance, 1e-3 * hit.distance).is_some())
    };
    soft().into_iter().chain(rigid).min_by(|(a, _), (b, _)| a.distance.total_cmp(&b.distance)).filter(is_seen)
}

/// Steps along a ray to an obstacle, each as long as the way to its nearest point.
const MOST_STEPS: usize = 100;

/// The first obstacle of an exact shape under the ray, and how far along it that is met [m].
pub fn hit_obstacle(model: &Model, poses: &[Isometry], hidden: &[BodyRef], ray: &Ray) -> Option<(f64, BodyRef)> {
    let met = shown_obstacles(model, poses, hidden).filter_map(|(body, shape, pose)| {
        let nearest = nearest(shape, &pose.inverse_transform_point(&ray.origin.into()).coords).distance;
        Some((meets(shape, pose, ray, FAR, 1e-4 * nearest)?, body))
    });
    met.min_by(|(a, _), (b, _)| a.total_cmp(b))
}

fn shown_obstacles<'a>(
    model: &'a Model,
    poses: &'a [Isometry],
    hidden: &'a [BodyRef],
) -> impl Iterator<Item = (BodyRef, &'a Shape, &'a Isometry)> {
    let all = (0..).zip(model.obstacles.iter().zip(poses)).map(|(o, (obstacle, pose))| (BodyRef::Obstacle(o), &obstacle.shape, pose));
    all.filter(|(body, ..)| !hidden.contains(body))
}

/// Nothing is looked at from further away [m].
const FAR: f64 = 1e6;

/// Where the ray meets the obstacle from outside before `distance` [m], and by more than a `touch` [m]. A ray that
/// begins within one sees through it.
fn meets(shape: &Shape, pose: &Isometry, ray: &Ray, distance: f64, touch: f64) -> Option<f64> {
    let gap = |along: f64| nearest(shape, &pose.inverse_transform_point(&ray.at(along).into()).coords).distance;
    let mut along = 0.0;
    if gap(0.0) <= 0.0 {
        return None;
    }
    for _ in 0..MOST_STEPS {
        let step = gap(along);
        if along + step > distance - touch {
            return None;
        }
        if step < 1e-3 * touch {
            return Some(along);
        }
        along += step;
    }
    None
}

/// The box around a body; empty around an obstacle.
pub fn bounds(model: &Model, positions: &[[f32; 4]], poses: &[Isometry], body: BodyRef) -> Aabb {
    match body {
        BodyRef::Deformable(_) => {
            let points = positions.get(model.bodies[body.index()].vertices.clone()).unwrap_or_default();
            points.iter().fold(Aabb::EMPTY, |aabb, p| aabb.with(&Vec3::new(p[0].into(), p[1].into(), p[2].into())))
        }
        BodyRef::Rigid(_) => {
            let points = poses.get(body.index()).into_iter().flat_map(|pose| model.rigid_bodies[body.index()].positions(pose));
            points.fold(Aabb::EMPTY, |aabb, p| aabb.with(&p))
        }
        BodyRef::Obstacle(_) | BodyRef::World => Aabb::EMPTY,
    }
}

/// The box around several bodies.
pub fn bounds_of(model: &Model, positions: &[[f32; 4]], poses: &[Isometry], bodies: impl Iterator<Item = BodyRef>) -> Aabb {
    bodies.map(|body| bounds(model, positions, poses, body)).fold(Aabb::EMPTY, Aabb::joined)
}

/// The box around everything that moves freely, or without any such body around all meshes.
pub fn bounds_of_all(model: &Model, positions: &[[f32; 4]], poses: &[Isometry]) -> Aabb {
    match free_bodies(model).next() {
        Some(_) => bounds_of(model, positions, poses, free_bodies(model)),
        None => bounds_of(model, positions, poses, bodies_with_mesh(model)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::Material;
    use crate::math::{Mat3, Quat};
    use crate::mesh::shapes;
    use crate::model::{Mobility, ModelBuilder, Obstacle, RigidBody, SoftBody};

    const BODIES: [BodyRef; 4] = [BodyRef::Deformable(0), BodyRef::Rigid(0), BodyRef::Rigid(1), BodyRef::Rigid(2)];

    /// Cubes of 1 m beside each other: a soft one at x = 0, a free one at 3, a driven one at 6, another free one at 9,
    /// which is turned.
    fn cubes() -> (Model, Vec<[f32; 4]>, Vec<Isometry>) {
        let tets = shapes::box_tets(Vec3::repeat(1.0), [1, 1, 1]);
        let surface = shapes::surface_box(Vec3::repeat(1.0));
        let mut builder = ModelBuilder::default();
        builder.soft_body(SoftBody::with_boundary_surface("soft", Material::default(), tets));
        for (name, x, free) in [("first", 3.0, true), ("given", 6.0, false), ("second", 9.0, true)] {
            builder.rigid_body(RigidBody {
                name: name.into(),
                mobility: if free { Mobility::Free { mass: 1.0, inertia: Mat3::identity() } } else { Mobility::Driven(None) },
                vertices: surface.positions.clone(),
                triangles: surface.triangles.clone(),
                texture_coordinates: None,
                pose: Isometry::translation(x, 0.0, 0.0),
                velocity: Vec3::zeros(),
                angular_velocity: Vec3::zeros(),
                color: None,
            });
        }
        let model = builder.build().unwrap();
        let positions = model.surface_positions(&model.rest_positions).iter().map(stage::vertex).collect();
        let mut poses: Vec<Isometry> = model.rigid_bodies.iter().map(|body| body.pose).collect();
        poses[2].rotation = Quat::from_scaled_axis(Vec3::y() * 0.6);
        (model, positions, poses)
    }

    #[test]
    fn the_nearest_body_under_the_ray_is_found_where_it_is_now() {
        let (model, positions, poses) = cubes();
        let from_left = Ray { origin: Vec3::new(-5.0, 0.1, 0.2), direction: Vec3::x() };
        assert_eq!(hit_body(&model, &positions, [&poses, &[]], &[], &from_left).unwrap().1, BodyRef::Deformable(0));
        let [soft, first, given, second] = BODIES;
        for (x, body) in [(0.1, soft), (3.1, first), (6.1, given), (9.1, second)] {
            let ray = Ray { origin: Vec3::new(x, 0.2, 5.0), direction: -Vec3::z() };
            let (hit, found) = hit_body(&model, &positions, [&poses, &[]], &[], &ray).unwrap();
            assert_eq!(found, body);
            // The weights give the point that was hit, in the body's mesh.
            let at = |v: u32| match found {
                BodyRef::Rigid(r) => {
                    (poses[r as usize] * nalgebra::Point3::from(model.rigid_bodies[r as usize].vertices[v as usize])).coords
                }
                _ => Vec3::from_fn(|i, _| positions[v as usize][i].into()),
            };
            let triangle = match found {
                BodyRef::Rigid(r) => model.rigid_bodies[r as usize].triangles[hit.triangle],
                _ => model.surface.triangles[hit.triangle],
            };
            let point: Vec3 = triangle.iter().zip(hit.barycentric).map(|(v, b)| at(*v) * b).sum();
            assert!((point - hit.point).norm() < 1e-6 && (hit.point - ray.at(hit.distance)).norm() < 1e-9, "{found:?}");
        }
        assert!(
            hit_body(&model, &positions, [&poses, &[]], &[], &Ray { origin: Vec3::new(1.5, 0.0, 5.0), direction: -Vec3::z() }).is_none()
        );
        assert_eq!(free_bodies(&model).collect::<Vec<_>>(), [soft, first, second]);
    }

    /// A ball, a box, a cylinder and a floor in the way hide what is behind them, beside it they do not; what lies on a
    /// floor is seen, and what is below is not.
    #[test]
    fn obstacles_hide_what_is_behind_them() {
        let (mut model, positions, poses) = cubes();
        let ray = |x: f64, y: f64| Ray { origin: Vec3::new(x, y, 5.0), direction: -Vec3::z() };
        let shapes = [
            Shape::Sphere { radius: 0.3 },
            Shape::Box { half_extents: Vec3::new(0.3, 0.3, 0.1) },
            Shape::Cylinder { radius: 0.3, half_height: 0.3 },
        ];
        for shape in shapes {
            model.obstacles =
                vec![Obstacle { name: "screen".into(), shape, pose: Isometry::identity(), motion: None, friction: vec![], color: None }];
            let found = |z: f64, ray: &Ray| hit_body(&model, &positions, [&poses, &[Isometry::translation(3.0, 0.0, z)]], &[], ray);
            assert!(found(2.0, &ray(3.1, 0.1)).is_none(), "{shape:?}");
            assert_eq!(found(2.0, &ray(3.4, 0.1)).unwrap().1, BODIES[1]);
            assert_eq!(found(-2.0, &ray(3.1, 0.1)).unwrap().1, BODIES[1]);
            assert_eq!(found(4.9, &Ray { origin: Vec3::new(3.1, 0.1, 4.9), direction: -Vec3::z() }).unwrap().1, BODIES[1]);
        }
        model.obstacles[0].shape = Shape::Plane;
        let from_above = Ray { origin: Vec3::new(3.0, 4.0, 3.0), direction: Vec3::new(0.0, -1.0, -1.0).normalize() };
        let found = |y: f64| hit_body(&model, &positions, [&poses, &[Isometry::translation(0.0, y, 0.0)]], &[], &from_above);
        assert_eq!(found(-0.5).unwrap().1, BODIES[1]);
        assert!(found(1.0).is_none());
    }

    /// The nearest one under the ray, if it is shown; what is hidden hides nothing.
    #[test]
    fn obstacles_and_hidden_bodies_are_picked_past() {
        let (mut model, positions, poses) = cubes();
        let ball = |name: &str| Obstacle {
            name: name.into(),
            shape: Shape::Sphere { radius: 0.3 },
            pose: Isometry::identity(),
            motion: None,
            friction: vec![],
            color: None,
        };
        model.obstacles = vec![ball("far"), ball("near")];
        let places = [Isometry::translation(3.0, 0.0, 1.0), Isometry::translation(3.0, 0.0, 2.0)];
        let ray = Ray { origin: Vec3::new(3.1, 0.1, 5.0), direction: -Vec3::z() };
        let [far, near] = [BodyRef::Obstacle(0), BodyRef::Obstacle(1)];
        let obstacle = |hidden: &[BodyRef]| hit_obstacle(&model, &places, hidden, &ray).map(|(_, body)| body);
        let along = hit_obstacle(&model, &places, &[], &ray).unwrap().0;
        let depth = 3.0 - (0.3f64.powi(2) - 0.1f64.powi(2) - 0.1f64.powi(2)).sqrt();
        assert!((along - depth).abs() < 1e-6, "{along} {depth}");
        assert_eq!((obstacle(&[]), obstacle(&[near]), obstacle(&[near, far])), (Some(near), Some(far), None));
        assert_eq!(hit_obstacle(&model, &places, &[], &Ray { origin: Vec3::new(3.5, 0.1, 5.0), direction: -Vec3::z() }), None);
        let body = |hidden: &[BodyRef]| hit_body(&model, &positions, [&poses, &places], hidden, &ray).map(|(_, body)| body);
        assert_eq!((body(&[near]), body(&[near, far]), body(&[near, far, BODIES[1]])), (None, Some(BODIES[1]), None));
        let soft = Ray { origin: Vec3::new(0.1, 0.1, 5.0), direction: -Vec3::z() };
        assert!(hit_body(&model, &positions, [&poses, &places], &[BODIES[0]], &soft).is_none());
    }

    #[test]
    fn boxes_follow_the_poses() {
        let (model, positions, poses) = cubes();
        let all = bounds_of_all(&model, &positions, &poses);
        let half = 0.5 * (0.6_f64.sin() + 0.6_f64.cos());
        assert!((all.min.x + 0.5).abs() < 1e-6 && (all.max.x - 9.0 - half).abs() < 1e-9);
        assert!((bounds(&model, &positions, &poses, BODIES[3]).extent().x - 2.0 * half).abs() < 1e-9);
        assert!((bounds(&model, &positions, &poses, BODIES[2]).center().x - 6.0).abs() < 1e-12);
        assert_eq!(bounds(&model, &positions, &poses, BodyRef::Obstacle(0)), Aabb::EMPTY);
    }
}
