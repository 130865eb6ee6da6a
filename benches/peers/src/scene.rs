//! The shared scenes, read from the files in `scenes/peers` that Pliant runs too, so that both engines get the same numbers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::mesh::{Mesh, Vec3};

/// Standard gravity of the scenes [m/s^2].
const GRAVITY: [f64; 3] = [0.0, -9.81, 0.0];

/// A scene as both engines need it.
pub struct Scene {
    pub name: String,
    pub path: PathBuf,
    /// Length of a frame [s].
    pub time_step: f64,
    /// [m/s^2]
    pub gravity: Vec3,
    /// Coulomb's coefficient of all contacts.
    pub friction: f64,
    pub material: Material,
    pub bodies: Vec<Body>,
    /// Whether the plane y = 0 is there.
    pub floor: bool,
}

/// What the deformable bodies are made of.
#[derive(Clone, Copy, Deserialize)]
pub struct Material {
    /// [Pa]
    pub young_modulus: f64,
    pub poisson_ratio: f64,
    /// [kg/m^3]
    pub density: f64,
    /// [1/s]
    #[serde(default)]
    pub mass_damping: f64,
}

/// A deformable box.
pub struct Body {
    pub mesh: Mesh,
    /// Nodes that stand still.
    pub fixed: Vec<u32>,
}

#[derive(Deserialize)]
struct File {
    simulation: Simulation,
    #[serde(default)]
    contact: Contact,
    material: BTreeMap<String, Material>,
    body: Vec<BodyEntry>,
}

#[derive(Deserialize)]
struct Simulation {
    time_step: f64,
    #[serde(default = "standard_gravity")]
    gravity: Vec3,
}

#[derive(Default, Deserialize)]
struct Contact {
    friction: f64,
}

#[derive(Deserialize)]
struct BodyEntry {
    kind: Option<String>,
    shape: Shape,
    origin: Option<String>,
    #[serde(default = "Vec3::zeros")]
    position: Vec3,
    array: Option<Array>,
    #[serde(default)]
    fix: Vec<Fix>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Shape {
    Box { size: Vec3, cells: [usize; 3] },
    Plane,
}

#[derive(Deserialize)]
struct Array {
    count: [usize; 3],
    pitch: Vec3,
}

#[derive(Deserialize)]
struct Fix {
    side: Side,
}

#[derive(Deserialize, PartialEq)]
enum Side {
    #[serde(rename = "x-")]
    Near,
}

fn standard_gravity() -> Vec3 {
    GRAVITY.into()
}

impl Scene {
    /// The scene `NAME.toml` in `folder`.
    pub fn read(folder: &Path, name: &str) -> Result<Self> {
        let path = folder.join(name).with_extension("toml");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read the scene {}", path.display()))?;
        let file: File = toml::from_str(&text).with_context(|| format!("{} is not a scene that peers can run", path.display()))?;
        let Some(&material) = file.material.values().next().filter(|_| file.material.len() == 1) else {
            bail!("{}: peers take one material, this scene has {}", path.display(), file.material.len());
        };
        let (mut bodies, mut floor) = (vec![], false);
        for entry in &file.body {
            match entry.shape {
                Shape::Plane => floor = true,
                Shape::Box { .. } if entry.kind.is_some() => bail!("{}: peers take boxes that are deformable only", path.display()),
                Shape::Box { size, cells } => bodies.extend(entry.copies(size).map(|center| entry.body(center, size, cells, &material))),
            }
        }
        let Simulation { time_step, gravity } = file.simulation;
        Ok(Self { name: name.into(), path, time_step, gravity, friction: file.contact.friction, material, bodies, floor })
    }

    /// Number of nodes of all bodies.
    pub fn n_nodes(&self) -> usize {
        self.bodies.iter().map(|body| body.mesh.nodes.len()).sum()
    }

    /// Number of tets of all bodies.
    pub fn n_tets(&self) -> usize {
        self.bodies.iter().map(|body| body.mesh.tets.len()).sum()
    }

    /// Direction of gravity along the floor, if it is turned.
    pub fn downhill(&self) -> Option<Vec3> {
        Vec3::new(self.gravity.x, 0.0, self.gravity.z).try_normalize(1e-9)
    }

    /// Acceleration of a rigid block on the slope after Coulomb [m/s^2]: 0 where it sticks.
    pub fn slope_acceleration(&self) -> Option<f64> {
        self.downhill().map(|downhill| (self.gravity.dot(&downhill) + self.friction * self.gravity.y).max(0.0))
    }
}

impl BodyEntry {
    /// Centres of all copies.
    fn copies(&self, size: Vec3) -> impl Iterator<Item = Vec3> {
        let lift = if self.origin.as_deref() == Some("bottom") { 0.5 * size.y } else { 0.0 };
        let first = self.position + Vec3::new(0.0, lift, 0.0);
        let (count, pitch) = self.array.as_ref().map_or(([1; 3], Vec3::zeros()), |array| (array.count, array.pitch));
        let [nx, ny, nz] = count;
        (0..nx * ny * nz)
            .map(move |i| first + pitch.component_mul(&Vec3::new((i % nx) as f64, (i / nx % ny) as f64, (i / (nx * ny)) as f64)))
    }

    fn body(&self, center: Vec3, size: Vec3, cells: [usize; 3], material: &Material) -> Body {
        let mesh = Mesh::grid(center, size, cells, material.density);
        let near_side = center.x - 0.5 * size.x;
        let clamped = self.fix.iter().any(|fix| fix.side == Side::Near);
        let fixed = (0..mesh.nodes.len() as u32).filter(|&n| clamped && mesh.nodes[n as usize].x < near_side + 1e-9).collect();
        Body { mesh, fixed }
    }
}
