//! From the geometry of a scene file to tets, or to the shape of an obstacle; in the body's own frame.

use std::path::Path;

use super::read::{Anchor, Geometry};
use crate::math::{Aabb, Vec3};
use crate::mesh::{Embedding, MeshError, SurfaceMesh, TetMesh, assets, doctor, embed, parse_surface, read_surface, shapes, voxel};
use crate::model::Shape;

/// Tets and surface of a deformable body before it is placed.
pub struct Solid {
    pub tets: TetMesh,
    /// An embedded surface; none when it is the boundary of the tets.
    pub surface: Option<(Vec<[u32; 3]>, Embedding)>,
}

/// What cannot become a solid: a mesh, with the reason and what would mend it.
pub enum Fault {
    Mesh(MeshError),
    /// A relative path in a scene that has no folder.
    NoFolder,
    UnknownBuiltin,
}

impl From<MeshError> for Fault {
    fn from(error: MeshError) -> Self {
        Self::Mesh(error)
    }
}

/// Makes the solid of a deformable body.
pub fn solid(geometry: &Geometry, anchor: Anchor, folder: Option<&Path>) -> Result<Solid, Fault> {
    let mut solid = match *geometry {
        Geometry::Mesh { ref file, resolution, size } => from_surface(file, resolution, size, folder)?,
        Geometry::Box { size, cells } => plain(shapes::box_tets(size, cells)),
        Geometry::Sphere { radius, resolution } => plain(shapes::sphere(radius, resolution)),
        Geometry::Cylinder { radius, height, resolution } => plain(shapes::cylinder(radius, height, resolution)),
        Geometry::Torus { radius, tube_radius, resolution } => plain(shapes::torus(radius, tube_radius, resolution)),
        Geometry::Plane => unreachable!("a deformable plane was refused when the scene was read"),
    };
    let shift = anchor_point(anchor, &solid.surface_bounds());
    solid.tets.positions.iter_mut().for_each(|p| *p -= shift);
    Ok(solid)
}

/// The shape of a static or driven body, `scale` times as large, and the point of it that is anchored.
pub fn obstacle(geometry: &Geometry, anchor: Anchor, scale: f64) -> (Shape, Vec3) {
    let (shape, half) = match *geometry {
        Geometry::Box { size, .. } => (Shape::Box { half_extents: size * (0.5 * scale) }, size * 0.5),
        Geometry::Sphere { radius, .. } => (Shape::Sphere { radius: radius * scale }, Vec3::repeat(radius)),
        Geometry::Cylinder { radius, height, .. } => {
            let half = Vec3::new(radius, height * 0.5, radius);
            (Shape::Cylinder { radius: radius * scale, half_height: half.y * scale }, half)
        }
        Geometry::Plane => (Shape::Plane, Vec3::zeros()),
        Geometry::Mesh { .. } | Geometry::Torus { .. } => unreachable!("refused when the scene was read"),
    };
    (shape, anchor_point(anchor, &Aabb { min: -half, max: half }))
}

fn anchor_point(anchor: Anchor, bounds: &Aabb) -> Vec3 {
    match anchor {
        Anchor::File => Vec3::zeros(),
        Anchor::Center => bounds.center(),
        Anchor::Bottom => Vec3::new(bounds.center().x, bounds.min.y, bounds.center().z),
    }
}

fn plain(tets: TetMesh) -> Solid {
    Solid { tets, surface: None }
}

/// Fills a closed surface with tets and embeds it in them.
fn from_surface(file: &str, resolution: u32, size: Option<f64>, folder: Option<&Path>) -> Result<Solid, Fault> {
    let mut surface = doctor::mend(load(file, folder)?);
    if let Some(size) = size {
        let scale = size / surface.aabb().extent().max();
        surface.positions.iter_mut().for_each(|p| *p *= scale);
    }
    let tets = voxel::tetrahedralise(&surface, resolution)?;
    let embedding = embed(&tets, &surface.positions)?;
    Ok(Solid { tets, surface: Some((surface.triangles, embedding)) })
}

fn load(file: &str, folder: Option<&Path>) -> Result<SurfaceMesh, Fault> {
    if let Some(name) = file.strip_prefix("builtin:") {
        let bytes = assets::builtin(name).ok_or(Fault::UnknownBuiltin)?;
        return Ok(parse_surface(name, bytes)?);
    }
    let path = Path::new(file);
    match folder {
        Some(folder) => Ok(read_surface(&folder.join(path))?),
        None if path.is_absolute() => Ok(read_surface(path)?),
        None => Err(Fault::NoFolder),
    }
}

impl Solid {
    /// Box of the surface: of the mesh as given, not of the tets around it.
    fn surface_bounds(&self) -> Aabb {
        match &self.surface {
            Some((_, embedding)) => Aabb::of(&embedding.positions(&self.tets.positions)),
            None => Aabb::of(&self.tets.positions),
        }
    }
}
