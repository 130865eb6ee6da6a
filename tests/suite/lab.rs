//! What the physics and contact tests share: bodies, backends, and measures of a state.

use std::sync::{Arc, OnceLock};

use pliant::gpu;
use pliant::material::Material;
use pliant::math::{Isometry, Mat3, Vec3};
use pliant::mesh::{TetMesh, shapes};
use pliant::model::{Model, ModelBuilder, Obstacle, Shape, SoftBody};
use pliant::solver::cpu::{self, CpuStepper};
use pliant::solver::{State, Stepper};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Cpu,
    Gpu,
}

impl Backend {
    /// The backends that compute elasticity.
    pub const ELASTIC: &[Self] = &[Self::Cpu, Self::Gpu];
    /// The backends that compute contact.
    pub const CONTACT: &[Self] = &[Self::Cpu];

    pub fn stepper(self, model: &Arc<Model>) -> Box<dyn Stepper> {
        match self {
            Self::Cpu => Box::new(CpuStepper::new(model.clone(), 1).unwrap()),
            Self::Gpu => Box::new(gpu::Stepper::new(device(), model.clone()).unwrap()),
        }
    }

    /// `f64` here, `f32` there: the bound that a test takes.
    pub fn pick(self, cpu: f64, gpu: f64) -> f64 {
        match self {
            Self::Cpu => cpu,
            Self::Gpu => gpu,
        }
    }
}

/// One device for all tests of a process.
pub fn device() -> Arc<gpu::Device> {
    static DEVICE: OnceLock<Arc<gpu::Device>> = OnceLock::new();
    DEVICE.get_or_init(|| gpu::Device::open(&Default::default()).expect("tests need an adapter: install mesa-vulkan-drivers")).clone()
}

/// xorshift64*: the same numbers everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// In [-1, 1).
    pub fn next(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub fn vector(&mut self) -> Vec3 {
        Vec3::new(self.next(), self.next(), self.next())
    }
}

pub fn rubber(young_modulus: f64, poisson_ratio: f64) -> Material {
    Material { young_modulus, poisson_ratio, density: 1000.0, ..Default::default() }
}

/// A box of `size` with its centre at the origin whose inner nodes are moved about by up to a fifth of a cell.
pub fn scrambled_box(size: Vec3, cells: [u32; 3]) -> TetMesh {
    let mut mesh = shapes::box_tets(size, cells);
    let mut random = Random::new(5);
    let step = Vec3::from_fn(|a, _| 0.2 * size[a] / f64::from(cells[a]));
    for p in &mut mesh.positions {
        if (0..3).all(|a| p[a].abs() < 0.499 * size[a]) {
            *p += random.vector().component_mul(&step);
        }
    }
    mesh
}

pub fn body(name: &str, material: Material, tets: TetMesh) -> SoftBody {
    SoftBody::with_boundary_surface(name, material, tets)
}

pub fn model(bodies: Vec<SoftBody>, obstacles: Vec<Obstacle>) -> Arc<Model> {
    let mut builder = ModelBuilder::default();
    for body in bodies {
        builder.soft_body(body);
    }
    for obstacle in obstacles {
        builder.obstacle(obstacle);
    }
    Arc::new(builder.build().unwrap())
}

pub fn obstacle(shape: Shape, pose: Isometry, friction: f64) -> Obstacle {
    Obstacle { name: "obstacle".into(), shape, pose, motion: None, friction: vec![friction; 4], color: None }
}

/// F of every tet.
pub fn deformations(model: &Model, state: &State) -> Vec<Mat3> {
    model.tets.iter().map(|t| Mat3::identity() + cpu::gradient(t, &state.displacements)).collect()
}

/// Strain energy [J] by singular values, with the signs of the determinant: a way of its own.
pub fn strain_energy(model: &Model, state: &State) -> f64 {
    let energy = |(tet, f): (&pliant::model::Tet, Mat3)| {
        let mut s = f.svd(false, false).singular_values;
        s[2] *= f.determinant().signum();
        let e = s - Vec3::repeat(1.0);
        tet.volume * (tet.mu * e.norm_squared() + 0.5 * tet.lambda * e.sum().powi(2))
    };
    model.tets.iter().zip(deformations(model, state)).map(energy).sum()
}

pub fn kinetic_energy(model: &Model, state: &State) -> f64 {
    state.velocities.iter().zip(&model.node_masses).map(|(v, m)| 0.5 * m * v.norm_squared()).sum()
}

pub fn momentum(model: &Model, state: &State) -> Vec3 {
    state.velocities.iter().zip(&model.node_masses).map(|(v, m)| v * *m).sum()
}

/// About the origin [kg m^2/s].
pub fn angular_momentum(model: &Model, state: &State) -> Vec3 {
    state.positions(model).iter().zip(&state.velocities).zip(&model.node_masses).map(|((x, v), m)| x.cross(v) * *m).sum()
}

pub fn total_mass(model: &Model) -> f64 {
    model.node_masses.iter().sum()
}

pub fn center_of_mass(model: &Model, state: &State) -> Vec3 {
    state.positions(model).iter().zip(&model.node_masses).map(|(x, m)| x * *m).sum::<Vec3>() / total_mass(model)
}

pub fn max_speed(state: &State) -> f64 {
    state.velocities.iter().map(Vec3::norm).fold(0.0, f64::max)
}
