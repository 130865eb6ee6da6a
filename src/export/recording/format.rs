//! The content of a recording, and the packing of its arrays.

use std::io::{Read, Write};

use bytemuck::{AnyBitPattern, NoUninit};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};

use crate::element::ElementKind;
use crate::export::{Frame, Subject};
use crate::geometry::Shape;
use crate::material::Material;
use crate::math::{Isometry, Quat, Vec3};
use crate::model::Model;
use crate::scene::{CameraSetting, LightSetting};

pub const FORMAT: &str = "pliant recording 1";
pub const GEOMETRY: [u8; 4] = *b"GEOM";
pub const FRAME: [u8; 4] = *b"FRAM";
/// Before the frames that are made of other materials than the ones before.
pub const MATERIALS: [u8; 4] = *b"MATS";
/// Length of the head of a block [bytes]: letters, unpacked and packed length, check sum.
pub const BLOCK_HEAD: usize = 4 + 8 + 8 + 4;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
pub struct Header {
    pub format: String,
    /// The version of the program that wrote it.
    pub program: String,
    pub scene: String,
    pub frames_per_second: f64,
    pub size: [u32; 2],
    pub camera: Camera,
    pub light: Light,
    pub bodies: Vec<Body>,
    pub rigid_bodies: Vec<Rigid>,
    pub obstacles: Vec<Obstacle>,
    pub attachments: usize,
    /// A description of the arrays of the blocks, for people.
    pub blocks: [String; 2],
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Camera {
    target: [f64; 3],
    eye: [f64; 3],
    field_of_view: f64,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Light {
    direction: [f64; 3],
    color: [f32; 3],
    intensity: f64,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Body {
    pub name: String,
    pub nodes: usize,
    pub tets: usize,
    pub surface: Skin,
    /// The collision surface, where it is not the drawn surface.
    pub collision: Option<Skin>,
    pub self_contact: bool,
    /// Its materials, first that of the body itself. Recordings without have one corotational material, whose numbers
    /// are the first array.
    #[serde(default)]
    pub materials: Vec<Material>,
    /// What its tets are for elasticity: "linear", unless it is named.
    #[serde(default)]
    pub element: Option<String>,
    /// Whether the drawn surface has texture coordinates.
    pub texture: bool,
    /// Whether the drawn surface has normals from its file. Recordings without normals may leave this out.
    #[serde(default)]
    pub normals: bool,
    pub color: Option<[f32; 3]>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Skin {
    pub vertices: usize,
    pub triangles: usize,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Rigid {
    pub name: String,
    pub free: bool,
    pub texture: bool,
    #[serde(default)]
    pub normals: bool,
    pub vertices: usize,
    pub triangles: usize,
    pub color: Option<[f32; 3]>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Obstacle {
    pub name: String,
    /// The name of its shape: see [`shape`].
    pub shape: String,
    pub color: Option<[f32; 3]>,
}

const ARRAYS_OF_GEOMETRY: &str = "for each body: material 5 f64 (young_modulus, poisson_ratio, density, mass_damping, stiffness_damping), \
    rest_positions f64 x 3 nodes, tets u32 x 4, surface nodes u32 x 4 and weights f64 x 4 and triangles u32 x 3, the same of what touches, texture coordinates f32 x 2 x 3 triangles, \
    normals f32 x 3 x 3 triangles, of a body of several materials the place u32 of each tet's among them; for each rigid body: pose 7 f64, vertices f64 x 3, triangles u32 x 3, texture coordinates and normals as above; for each obstacle: pose 7 f64, 3 f64 of its shape";
const ARRAYS_OF_FRAME: &str = "time f64; displacements f64 x 3 nodes; velocities f32 x 3 nodes; poses 7 f64 (position, quaternion x y z w) of rigid \
    bodies, of obstacles; ends of attachments f64 x 6; contact pressure f32 of vertices that touch, of rigid bodies; 8 f64 of each tet of a plastic material (the inverse of the plastic stretch less one: xx yy zz 0 yz xz xy 0). Every array has the \
    first bytes of all its numbers, then all second ones, ...; little-endian; blocks are compressed with deflate. A block MATS before a frame: \
    the materials of all bodies from then on, as JSON, those of each body in the order of the first line";

impl Header {
    pub fn of(subject: &Subject) -> Self {
        let model = &subject.model;
        let bodies = model.bodies.iter().map(|body| Body {
            materials: model.materials_of(body).0,
            element: (body.element != ElementKind::Linear).then(|| body.element.name().to_owned()),
            name: body.name.clone(),
            nodes: body.nodes.len(),
            tets: body.tets.len(),
            surface: Skin { vertices: body.vertices.len(), triangles: body.triangles.len() },
            collision: body
                .has_own_collision
                .then(|| Skin { vertices: body.collision_vertices.len(), triangles: body.collision_triangles.len() }),
            self_contact: body.self_contact,
            texture: body.texture_coordinates.is_some(),
            normals: body.normals.is_some(),
            color: body.color,
        });
        let rigid = model.rigid_bodies.iter().zip(&model.rigid_normals).map(|(body, normals)| Rigid {
            name: body.name.clone(),
            free: body.is_free(),
            texture: body.texture_coordinates.is_some(),
            normals: normals.is_some(),
            vertices: body.vertices.len(),
            triangles: body.triangles.len(),
            color: body.color,
        });
        let obstacles = model.obstacles.iter().map(|obstacle| Obstacle {
            name: obstacle.name.clone(),
            shape: shape_name(&obstacle.shape).into(),
            color: obstacle.color,
        });
        let (camera, light) = (&subject.camera, &subject.light);
        Self {
            format: FORMAT.into(),
            program: env!("CARGO_PKG_VERSION").into(),
            scene: subject.name.clone(),
            frames_per_second: subject.frames_per_second,
            size: subject.size,
            camera: Camera { target: camera.target.into(), eye: camera.eye.into(), field_of_view: camera.field_of_view },
            light: Light { direction: light.direction.into(), color: light.color, intensity: light.intensity },
            bodies: bodies.collect(),
            rigid_bodies: rigid.collect(),
            obstacles: obstacles.collect(),
            attachments: model.attachments.len(),
            blocks: [ARRAYS_OF_GEOMETRY, ARRAYS_OF_FRAME].map(String::from),
        }
    }

    /// The header as JSON, without the end of the line.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("names and finite numbers can be written")
    }

    pub fn camera(&self) -> CameraSetting {
        let Camera { target, eye, field_of_view } = self.camera;
        CameraSetting { target: target.into(), eye: eye.into(), field_of_view }
    }

    pub fn light(&self) -> LightSetting {
        let Light { direction, color, intensity } = self.light;
        LightSetting { direction: direction.into(), color, intensity }
    }
}

fn shape_name(shape: &Shape) -> &'static str {
    match shape {
        Shape::Plane => "plane",
        Shape::Box { .. } => "box",
        Shape::Sphere { .. } => "sphere",
        Shape::Cylinder { .. } => "cylinder",
    }
}

/// Three numbers of a shape.
fn shape_numbers(shape: &Shape) -> [f64; 3] {
    match *shape {
        Shape::Plane => [0.0; 3],
        Shape::Box { half_extents } => half_extents.into(),
        Shape::Sphere { radius } => [radius, 0.0, 0.0],
        Shape::Cylinder { radius, half_height } => [radius, half_height, 0.0],
    }
}

/// The shape of a name and three numbers.
pub fn shape(name: &str, [a, b, c]: [f64; 3]) -> Option<Shape> {
    match name {
        "plane" => Some(Shape::Plane),
        "box" => Some(Shape::Box { half_extents: Vec3::new(a, b, c) }),
        "sphere" => Some(Shape::Sphere { radius: a }),
        "cylinder" => Some(Shape::Cylinder { radius: a, half_height: b }),
        _ => None,
    }
}

/// The constant part of a model.
pub fn geometry_block(model: &Model) -> Vec<u8> {
    let mut pack = Packer::default();
    for body in &model.bodies {
        let local = |n: u32| n - body.nodes.start as u32;
        let m = &body.material;
        pack.array(&[m.young_modulus, m.poisson_ratio, m.density, m.mass_damping, m.stiffness_damping]);
        pack.vectors(&model.rest_positions[body.nodes.clone()]);
        pack.array(&model.tets[body.tets.clone()].iter().map(|tet| tet.nodes.map(local)).collect::<Vec<_>>());
        let mut skin = |surface: &crate::model::Surface, vertices: std::ops::Range<usize>, triangles: std::ops::Range<usize>| {
            pack.array(&surface.nodes[vertices.clone()].iter().map(|nodes| nodes.map(local)).collect::<Vec<_>>());
            pack.array(&surface.weights[vertices.clone()]);
            pack.array(&surface.triangles[triangles].iter().map(|t| t.map(|v| v - vertices.start as u32)).collect::<Vec<_>>());
        };
        skin(&model.surface, body.vertices.clone(), body.triangles.clone());
        if body.has_own_collision {
            skin(&model.collision, body.collision_vertices.clone(), body.collision_triangles.clone());
        }
        pack.array(body.texture_coordinates.as_deref().unwrap_or_default());
        pack.array(body.normals.as_deref().unwrap_or_default());
        let (materials, of_tets) = model.materials_of(body);
        if materials.len() > 1 {
            pack.array(&of_tets);
        }
    }
    for (body, normals) in model.rigid_bodies.iter().zip(&model.rigid_normals) {
        pack.array(&pose_numbers(&body.pose));
        pack.vectors(&body.vertices);
        pack.array(&body.triangles);
        pack.array(body.texture_coordinates.as_deref().unwrap_or_default());
        pack.array(normals.as_deref().unwrap_or_default());
    }
    for obstacle in &model.obstacles {
        pack.array(&pose_numbers(&obstacle.pose));
        pack.array(&shape_numbers(&obstacle.shape));
    }
    pack.block(GEOMETRY)
}

pub fn frame_block(frame: &Frame) -> Vec<u8> {
    let mut pack = Packer::default();
    pack.array(&[frame.time]);
    pack.vectors(&frame.displacements);
    pack.array(&frame.velocities);
    for poses in [&frame.rigid_poses, &frame.obstacle_poses] {
        pack.array(&poses.iter().map(pose_numbers).collect::<Vec<_>>());
    }
    pack.vectors(frame.attachments.as_flattened());
    pack.array(&frame.contact_pressures);
    pack.array(&frame.states);
    pack.block(FRAME)
}

/// The materials of the bodies of a model.
pub fn materials_block(model: &Model) -> Vec<u8> {
    let of_bodies: Vec<Vec<Material>> = model.bodies.iter().map(|body| model.materials_of(body).0).collect();
    let bytes = serde_json::to_vec(&of_bodies).expect("finite numbers can be written");
    Packer { bytes }.block(MATERIALS)
}

fn pose_numbers(pose: &Isometry) -> [f64; 7] {
    let (t, q) = (pose.translation.vector, pose.rotation.coords);
    [t.x, t.y, t.z, q.x, q.y, q.z, q.w]
}

pub fn pose([x, y, z, i, j, k, w]: [f64; 7]) -> Isometry {
    // The quaternion is not normalised again: it would differ in the last bit.
    Isometry::from_parts(Vec3::new(x, y, z).into(), Quat::new_unchecked(nalgebra::Quaternion::new(w, i, j, k)))
}

/// Packs arrays into a block.
#[derive(Default)]
struct Packer {
    bytes: Vec<u8>,
}

impl Packer {
    /// Adds the bytes of the numbers in the order of their weight: high bytes are alike and pack well.
    fn array<T: NoUninit + Element>(&mut self, values: &[T]) {
        let plain: &[u8] = bytemuck::cast_slice(values);
        for byte in 0..T::WIDTH {
            self.bytes.extend(plain.iter().skip(byte).step_by(T::WIDTH));
        }
    }

    fn vectors(&mut self, values: &[Vec3]) {
        self.array(&values.iter().map(|v| [v.x, v.y, v.z]).collect::<Vec<_>>());
    }

    fn block(self, letters: [u8; 4]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        let packed = encoder.write_all(&self.bytes).and_then(|()| encoder.finish()).expect("writing to a Vec cannot fail");
        let mut block = letters.to_vec();
        block.extend_from_slice(&(self.bytes.len() as u64).to_le_bytes());
        block.extend_from_slice(&(packed.len() as u64).to_le_bytes());
        block.extend_from_slice(&check_sum(&packed).to_le_bytes());
        block.extend_from_slice(&packed);
        block
    }
}

/// The CRC-32 of bytes.
pub fn check_sum(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// An element of an array.
pub trait Element {
    /// Bytes of one number in it.
    const WIDTH: usize;
}

impl Element for f64 {
    const WIDTH: usize = 8;
}

impl Element for f32 {
    const WIDTH: usize = 4;
}

impl Element for u32 {
    const WIDTH: usize = 4;
}

impl<T: Element, const N: usize> Element for [T; N] {
    const WIDTH: usize = T::WIDTH;
}

/// Takes arrays out of a block.
pub struct Unpacker {
    bytes: Vec<u8>,
    at: usize,
}

impl Unpacker {
    /// Unpacks a block. `length` stands in its head; no more bytes are unpacked.
    pub fn new(packed: &[u8], length: u64) -> Option<Self> {
        let mut bytes = vec![];
        DeflateDecoder::new(packed).take(length + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 == length).then_some(Self { bytes, at: 0 })
    }

    /// The next `n` elements.
    pub fn array<T: AnyBitPattern + NoUninit + Element>(&mut self, n: usize) -> Option<Vec<T>> {
        let length = n.checked_mul(size_of::<T>())?;
        let planes = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        let mut values = vec![T::zeroed(); n];
        let plain: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
        let count = length / T::WIDTH;
        for (byte, plane) in planes.chunks_exact(count.max(1)).enumerate() {
            plane.iter().enumerate().for_each(|(i, b)| plain[i * T::WIDTH + byte] = *b);
        }
        self.at += length;
        Some(values)
    }

    /// The next `n` numbers, all of them finite.
    pub fn finite<T: AnyBitPattern + NoUninit + Element>(&mut self, n: usize, is_finite: impl Fn(&T) -> bool) -> Option<Vec<T>> {
        self.array(n).filter(|values| values.iter().all(is_finite))
    }

    pub fn vectors(&mut self, n: usize) -> Option<Vec<Vec3>> {
        let values = self.finite(n, |v: &[f64; 3]| v.iter().all(|x| x.is_finite()))?;
        Some(values.into_iter().map(Vec3::from).collect())
    }

    pub fn poses(&mut self, n: usize) -> Option<Vec<Isometry>> {
        let values = self.finite(n, |v: &[f64; 7]| v.iter().all(|x| x.is_finite()))?;
        Some(values.into_iter().map(pose).collect())
    }

    /// All bytes, where nothing was taken.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether all arrays were taken.
    pub fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }
}
