//! From the geometry of a scene file to tets, to a surface or to an exact shape; in the body's own frame.

use std::path::Path;

use super::at_rest::{self, AtRest, Skin};
use super::nodes::Transform;
use super::read::{Anchor, BodyContent, Collision, Filling, Geometry, Role};
use super::up::Up;
use crate::cancel::{CancelToken, Cancelled};
use crate::element::ElementKind;
use crate::geometry::Shape;
use crate::math::{Aabb, Vec3};
use crate::mesh::{
    Border, CornerNormals, Embedding, Fineness, MeshData, MeshError, MeshFile, Method, Outside, SurfaceMesh, SurfaceParts, Tags, TetMesh,
    assets, doctor, embed_unless, fill::voxel, open_mesh_unless, parse_surface, shapes,
};
use crate::model::NamedMaterial;

/// Tets and surface of a deformable body before it is placed.
pub struct Solid {
    pub tets: TetMesh,
    /// What they are for elasticity.
    pub element: ElementKind,
    /// An embedded surface; none when it is the boundary of the tets.
    pub surface: Option<Skin>,
    /// Texture coordinates of the corners of its triangles, if the surface has a texture.
    pub texture_coordinates: Option<Vec<[[f32; 2]; 3]>>,
    /// The same of normals, if the file has some.
    pub normals: Option<Vec<CornerNormals>>,
    /// Its parts, if the file names or paints some.
    pub parts: Option<SurfaceParts>,
    /// The surface that touches; none when it is the drawn one.
    pub collision: Option<Skin>,
    /// Unless the scene says what touches, it is not the drawn surface.
    touches_with_tets: bool,
    /// It is looked at whether what touches meets itself at rest: not where the scene names a surface for that.
    pub may_settle: bool,
    /// What touches meets itself at rest, and cannot be set apart.
    pub passes_through_itself: bool,
    /// Of the tets, by their file.
    pub tags: Tags,
    /// Changes by the reader and the doctor, one sentence each.
    pub notes: Vec<String>,
    /// Part of the tets' volume that the body fills: tets that hold its surface have a larger volume than it encloses,
    /// and are lighter for that.
    pub filled: f64,
    /// Where a point of the mesh file or shape is: `scale * turned(p) - shift`.
    up: Up,
    scale: f64,
    shift: Vec3,
}

/// A mesh that cannot become a solid, with the reason and what would mend it.
pub enum Fault {
    Mesh(MeshError),
    /// A relative path in a scene that has no folder.
    NoFolder,
    UnknownBuiltin,
    /// Averaged elements are asked for, and there are no cells of a lattice.
    NoCells,
    /// Elements of several tets are asked for, of a material that has a degeneration ratio.
    Linear,
    /// A vertex of a collision surface so far [m] out of the tets that it cannot be meant.
    Outside {
        vertex: usize,
        distance: f64,
    },
}

impl From<Cancelled> for Fault {
    fn from(cancelled: Cancelled) -> Self {
        Self::Mesh(cancelled.into())
    }
}

impl From<MeshError> for Fault {
    fn from(error: MeshError) -> Self {
        Self::Mesh(error)
    }
}

/// Geometry of a body before it is placed, its anchored point at the origin.
pub enum Made {
    /// A deformable body.
    Solid(Box<Solid>),
    /// A body that keeps its shape.
    Surface(SurfaceMesh),
    /// A static or driven body of an exact shape, which is built around its centre; and the point of it that is
    /// anchored.
    Exact(Shape, Vec3),
}

impl Made {
    /// Makes the geometry of a body; `folder` is where the names of its files start.
    pub fn new(body: &BodyContent, folder: Option<&Path>, cancel: &CancelToken) -> Result<Self, Fault> {
        match (&body.role, exact(&body.geometry)) {
            (Role::Deformable { .. }, _) => Ok(Self::Solid(Box::new(solid(body, folder, cancel)?))),
            (Role::Obstacle { .. }, Some(shape)) => Ok(Self::Exact(shape, anchor_point(body.anchor, &shape_bounds(&shape)))),
            _ => {
                let mut surface = surface(&body.geometry, folder, cancel)?;
                let shift = anchor_point(body.anchor, &surface.aabb());
                surface.positions.iter_mut().for_each(|p| *p -= shift);
                Ok(Self::Surface(surface))
            }
        }
    }

    /// Box of what can touch; none for a plane.
    pub fn bounds(&self) -> Option<Aabb> {
        match self {
            Self::Solid(solid) => Some(match &solid.collision {
                Some((_, embedding)) => Aabb::of(&embedding.positions(&solid.tets.positions)),
                None => solid.surface_bounds(),
            }),
            Self::Surface(surface) => Some(surface.aabb()),
            Self::Exact(Shape::Plane, _) => None,
            Self::Exact(shape, anchor) => {
                let Aabb { min, max } = shape_bounds(shape);
                Some(Aabb { min: min - anchor, max: max - anchor })
            }
        }
    }
}

/// From this ratio of Poisson on linear tets lock: they bend far too little (`materials-study.md` 0.7). What flows keeps
/// its volume, so they lock at any: a ball meets half as much force again in clay of nu 0.3 as in tets of ten nodes.
const LOCKING: f64 = 0.4;

/// What the scene says about the elements of a body.
#[derive(Clone, Copy)]
struct Elements {
    asked: Option<ElementKind>,
    locks: bool,
    /// Some tets have a degeneration ratio, which tets that are elements alone know.
    is_linear: bool,
}

impl Elements {
    fn of(body: &BodyContent) -> Self {
        match &body.role {
            Role::Deformable { material, regions, element, .. } => {
                let locks = |named: &NamedMaterial| named.material.poisson_ratio >= LOCKING || named.material.plasticity.is_some();
                let is_linear = |named: &NamedMaterial| named.material.is_for_linear_tets();
                let any = |of: &dyn Fn(&NamedMaterial) -> bool| {
                    of(material) || regions.iter().filter_map(|region| region.material.as_ref()).any(of)
                };
                Self { asked: *element, locks: any(&locks), is_linear: any(&is_linear) }
            }
            _ => Self { asked: None, locks: false, is_linear: false },
        }
    }

    /// `is_lattice`: the tets are cells of a lattice; `is_curved`: a file has tets of ten nodes.
    fn kind(self, is_lattice: bool, is_curved: bool) -> ElementKind {
        self.asked.unwrap_or(match (self.locks, is_lattice) {
            _ if self.is_linear => ElementKind::Linear,
            _ if is_curved => ElementKind::Quadratic,
            (false, _) => ElementKind::Linear,
            (true, true) => ElementKind::Averaged,
            (true, false) => ElementKind::Quadratic,
        })
    }

    /// The tets as their elements need them.
    fn of_tets(self, tets: TetMesh, is_lattice: bool) -> Result<(TetMesh, ElementKind), Fault> {
        let kind = self.kind(is_lattice, false);
        match kind {
            ElementKind::Averaged if tets.lattice_cells().is_none() => Err(Fault::NoCells),
            ElementKind::Quadratic => Ok((tets.quadratic(&[]).0, kind)),
            _ => Ok((tets, kind)),
        }
    }
}

/// Tets and surface of a deformable body.
fn solid(body: &BodyContent, folder: Option<&Path>, cancel: &CancelToken) -> Result<Solid, Fault> {
    let elements = Elements::of(body);
    let mut solid = match body.geometry {
        Geometry::Mesh { ref file, filling, size, up } => {
            let read = up.turned_file(read(file, folder, &cancel.part(0.0, 0.2))?);
            cancel.reached(0.2);
            Solid { up, ..of_file(read, filling, size, &body.collision, elements, &cancel.part(0.2, 1.0))? }
        }
        Geometry::Icosphere { radius, level, resolution } => {
            embedded(shapes::icosphere(radius, level), Method::Voxel, Fineness::Cells(resolution), elements, cancel)?
        }
        ref shape => Solid::new(elements.of_tets(shape_tets(shape), false)?, None),
    };
    if elements.is_linear && solid.element != ElementKind::Linear {
        return Err(Fault::Linear);
    }
    solid.shift = anchor_point(body.anchor, &solid.surface_bounds());
    let shift = solid.shift;
    solid.tets.positions.iter_mut().for_each(|p| *p -= shift);
    Ok(solid)
}

/// The surface of a rigid body, or of a static or driven one.
fn surface(geometry: &Geometry, folder: Option<&Path>, cancel: &CancelToken) -> Result<SurfaceMesh, Fault> {
    let surface = match *geometry {
        Geometry::Mesh { ref file, size, up, .. } => {
            let mut surface = up.turned_surface(load(file, folder, cancel)?);
            rescale(&mut surface.positions, size);
            surface
        }
        Geometry::Icosphere { radius, level, .. } => shapes::icosphere(radius, level),
        ref shape => shape_tets(shape).surface(),
    };
    closed(&surface)?;
    Ok(surface)
}

fn shape_tets(geometry: &Geometry) -> TetMesh {
    match *geometry {
        Geometry::Box { size, cells } => shapes::box_tets(size, cells),
        Geometry::Sphere { radius, resolution } => shapes::sphere(radius, resolution),
        Geometry::Cylinder { radius, height, resolution } => shapes::cylinder(radius, height, resolution),
        Geometry::Torus { radius, tube_radius, resolution } => shapes::torus(radius, tube_radius, resolution),
        Geometry::Ring { radius, width, height, segments } => shapes::ring(radius, width, height, segments),
        Geometry::Frame { size } => shapes::frame(size),
        Geometry::Mesh { .. } | Geometry::Icosphere { .. } => unreachable!("surfaces have no tets of their own"),
        Geometry::Plane => unreachable!("planes without a body were refused when the scene was read"),
    }
}

/// The shape of a body that is one exactly.
fn exact(geometry: &Geometry) -> Option<Shape> {
    match *geometry {
        Geometry::Box { size, .. } => Some(Shape::Box { half_extents: size * 0.5 }),
        Geometry::Sphere { radius, .. } => Some(Shape::Sphere { radius }),
        Geometry::Cylinder { radius, height, .. } => Some(Shape::Cylinder { radius, half_height: height * 0.5 }),
        Geometry::Plane => Some(Shape::Plane),
        _ => None,
    }
}

fn shape_bounds(shape: &Shape) -> Aabb {
    let half = match *shape {
        Shape::Plane => Vec3::zeros(),
        Shape::Box { half_extents } => half_extents,
        Shape::Sphere { radius } => Vec3::repeat(radius),
        Shape::Cylinder { radius, half_height } => Vec3::new(radius, half_height, radius),
    };
    Aabb { min: -half, max: half }
}

/// The same shape, `scale` times as large.
pub fn scaled(shape: &Shape, scale: f64) -> Shape {
    match *shape {
        Shape::Plane => Shape::Plane,
        Shape::Box { half_extents } => Shape::Box { half_extents: half_extents * scale },
        Shape::Sphere { radius } => Shape::Sphere { radius: radius * scale },
        Shape::Cylinder { radius, half_height } => Shape::Cylinder { radius: radius * scale, half_height: half_height * scale },
    }
}

fn anchor_point(anchor: Anchor, bounds: &Aabb) -> Vec3 {
    match anchor {
        Anchor::File => Vec3::zeros(),
        Anchor::Center => bounds.center(),
        Anchor::Bottom => Vec3::new(bounds.center().x, bounds.min.y, bounds.center().z),
    }
}

/// The sentence about a mesh that was changed.
pub const MENDED: &str = "the mesh was mended: `pliant check` with its file tells what was wrong";

/// Edges of a subdivided surface are at most this long, in cells: then no cell's outside is without a vertex that
/// touches.
const LONGEST_EDGE: f64 = 1.5;

/// A surface with so much more area than its box that it would fall into more pieces than this is soup, and stays as it
/// is.
const MOST_PIECES: f64 = 1e6;

/// A solid of the tets of a file, or of its surface, mended and filled with tets. The longest side becomes `size` if
/// given.
fn of_file(
    file: MeshFile,
    filling: Filling,
    size: Option<f64>,
    collision: &Collision,
    elements: Elements,
    cancel: &CancelToken,
) -> Result<Solid, Fault> {
    let mut notes = file.notes;
    let mut was_mended = |is_changed: bool| {
        notes.extend(is_changed.then(|| MENDED.to_owned()));
    };
    let solid = match file.data {
        MeshData::Tets(read) => {
            let (mut tets, mending) = doctor::mend_tets_unless(read.clone(), &cancel.part(0.0, 0.4))?;
            was_mended(tets != read);
            tets.check()?;
            let mut middles = file.middles.on(&tets);
            let scale = rescale(&mut tets.positions, size);
            middles.iter_mut().for_each(|(_, p)| *p *= scale);
            let mut outside = tets.outside_unless(&cancel.part(0.4, 0.7))?;
            notes.extend(doctor::tet_notes(&tets, &outside, &mending));
            let kind = elements.kind(false, !file.middles.is_empty());
            let tets = match kind {
                ElementKind::Quadratic => {
                    let (tets, straightened) = tets.quadratic(&middles);
                    if straightened > 0 {
                        notes.push(format!("{straightened} curved tets have no volume somewhere: their edges are straight instead"));
                    }
                    cancel.check()?;
                    outside = tets.outside_unless(&cancel.part(0.7, 1.0))?;
                    (tets, kind)
                }
                _ if !middles.is_empty() => {
                    notes.push(format!("the tets are curved, and taken by their corners alone: elements are \"{}\"", kind.name()));
                    elements.of_tets(tets, false)?
                }
                _ => elements.of_tets(tets, false)?,
            };
            let skin = (!outside.inner_faces.is_empty()).then_some((outside.triangles, outside.embedding));
            let tags = Tags { of_tets: mending.of_left_tets(&file.tags.of_tets), ..file.tags };
            Solid { scale, may_settle: true, tags, ..Solid::new(tets, skin) }
        }
        MeshData::Surface(read) => {
            let (mut surface, lids) = doctor::mend_unless(read.clone(), cancel)?;
            cancel.reached(0.3);
            was_mended(surface != read);
            surface.check()?;
            let scale = rescale(&mut surface.positions, size);
            let found = doctor::diagnose(&surface);
            cancel.reached(0.4);
            cancel.check()?;
            let Filling { method, fineness, subdivides } = filling;
            let resolution = match fineness {
                Fineness::Cells(resolution) => resolution,
                Fineness::Tets(tets) => voxel::resolution_for(&found, tets, BORDER),
            };
            // Contact takes many small steps at triangles that pass through each other or have no normal, and where
            // both sides of a body hang on the same tets: where its mean thickness, 2 V / A, is less than a cell.
            let cell = found.bounds.extent().max() / f64::from(resolution);
            let is_thin = 2.0 * found.signed_volume < cell * found.area;
            let touches_with_tets = matches!(collision, Collision::Auto)
                && (is_thin || lids > 0 || found.degenerate_triangles > 0 || doctor::crosses_itself(&surface, cancel)?);
            let fineness = if method == Method::Voxel { Fineness::Cells(resolution) } else { fineness };
            let longest = LONGEST_EDGE * found.bounds.extent().max() / f64::from(resolution);
            if subdivides && found.area < MOST_PIECES * longest.powi(2) {
                surface = surface.subdivided(longest);
                cancel.check()?;
            }
            cancel.reached(0.5);
            let may_settle = matches!(collision, Collision::Auto);
            let filled = embedded(surface, method, fineness, elements, &cancel.part(0.5, 1.0))?;
            let mut solid = Solid { scale, touches_with_tets, may_settle, ..filled };
            if !found.is_solid() {
                // Its triangles do not tell which side touches.
                solid.collision = Some(solid.tets.boundary_skin_unless(cancel)?);
                notes.push(format!(
                    "the surface is no border of a solid ({} open edges, {} whose sides disagree): it is filled where it winds around, \
                     and the outside of the tets touches",
                    found.boundary_edges, found.misoriented_edges
                ));
            }
            solid
        }
    };
    Ok(Solid { notes, ..solid })
}

/// Bodies get all cells that their surface touches. Cells that have its volume leave limbs one or two of them thick, at
/// resolutions that run while one watches, and legs then fold under what they carry: the dragon of the gallery lay on
/// the floor.
const BORDER: Border = Border::Covering;

/// A sheet far thinner than its tets weighs as this part of them: a body as light as its paper and as stiff as its tets
/// would only shake.
const LEAST_FILLED: f64 = 0.05;

/// Fills a surface with tets and embeds it in them.
fn embedded(surface: SurfaceMesh, method: Method, fineness: Fineness, elements: Elements, cancel: &CancelToken) -> Result<Solid, Fault> {
    let tets = method.tetrahedralise(&surface, fineness, BORDER, cancel)?;
    cancel.reached(0.3);
    let (tets, element) = elements.of_tets(tets, method == Method::Voxel)?;
    cancel.check()?;
    let embedding = embed_unless(&tets, &surface.positions, &cancel.part(0.3, 0.9))?;
    let filled = voxel::enclosed_volume(&surface, cancel)?.map_or(1.0, |volume| (volume / tets.total_volume()).max(LEAST_FILLED));
    let SurfaceMesh { triangles, texture_coordinates, normals, parts, .. } = surface;
    Ok(Solid { texture_coordinates, normals, parts, filled, ..Solid::new((tets, element), Some((triangles, embedding))) })
}

/// Refuses a surface that is open or whose triangles do not agree which side is outside.
fn closed(surface: &SurfaceMesh) -> Result<(), MeshError> {
    let found = doctor::diagnose(surface);
    match found {
        _ if found.boundary_edges > 0 => Err(MeshError::Open { boundary_edges: found.boundary_edges }),
        _ if found.misoriented_edges > 0 => Err(MeshError::Misoriented { edges: found.misoriented_edges }),
        _ => Ok(()),
    }
}

/// Refuses what is no surface of a solid: open, folded onto edges that more than two triangles share, or inside out.
fn solid_surface(surface: &SurfaceMesh) -> Result<(), MeshError> {
    closed(surface)?;
    let found = doctor::diagnose(surface);
    match found {
        _ if found.non_manifold_edges > 0 => Err(MeshError::NonManifold { edges: found.non_manifold_edges }),
        _ if found.signed_volume <= 0.0 => Err(MeshError::NoVolume { volume: found.signed_volume }),
        _ => Ok(()),
    }
}

/// Reads the surface of a mesh and mends what can be mended.
fn load(file: &str, folder: Option<&Path>, cancel: &CancelToken) -> Result<SurfaceMesh, Fault> {
    let (surface, _) = doctor::mend_unless(read(file, folder, cancel)?.into_surface(), cancel)?;
    surface.check()?;
    Ok(surface)
}

/// Makes the longest side `size` if given; the factor for that.
fn rescale(positions: &mut [Vec3], size: Option<f64>) -> f64 {
    let scale = size.map_or(1.0, |size| size / Aabb::of(positions.iter()).extent().max());
    positions.iter_mut().for_each(|p| *p *= scale);
    scale
}

fn read(file: &str, folder: Option<&Path>, cancel: &CancelToken) -> Result<MeshFile, Fault> {
    if let Some(name) = file.strip_prefix("builtin:") {
        let bytes = assets::builtin(name).ok_or(Fault::UnknownBuiltin)?;
        return Ok(parse_surface(name, bytes)?.into());
    }
    let path = Path::new(file);
    match folder {
        Some(folder) => Ok(open_mesh_unless(&folder.join(path), cancel)?),
        None if path.is_absolute() => Ok(open_mesh_unless(path, cancel)?),
        None => Err(Fault::NoFolder),
    }
}

/// A vertex of a collision surface that is further out of the tets than this, in heights of its tet, is a mistake of
/// place or unit.
const FAR: f64 = 1.0;

impl Solid {
    /// Where a point of the mesh file is in the body's frame.
    pub fn body_from_file(&self) -> Transform {
        Transform::from_parts((-self.shift).into(), self.up.turn(), self.scale)
    }

    fn new((tets, element): (TetMesh, ElementKind), surface: Option<Skin>) -> Self {
        Self {
            tets,
            element,
            surface,
            texture_coordinates: None,
            normals: None,
            parts: None,
            collision: None,
            touches_with_tets: false,
            may_settle: false,
            passes_through_itself: false,
            tags: Tags::default(),
            notes: Vec::new(),
            filled: 1.0,
            up: Up::default(),
            scale: 1.0,
            shift: Vec3::zeros(),
        }
    }

    /// Gives the solid the surface that touches.
    pub fn set_collision(&mut self, collision: &Collision, folder: Option<&Path>, cancel: &CancelToken) -> Result<(), Fault> {
        self.collision = match collision {
            // Which may be the tets where the drawn surface is no border of a solid.
            Collision::Drawn => return Ok(()),
            Collision::Auto if self.touches_with_tets && self.surface.is_some() && self.collision.is_none() => {
                self.notes.push(
                    "the surface crosses itself, had holes, is thinner than a tet, or has triangles without area: the outside of the \
                     tets touches instead"
                        .to_owned(),
                );
                Some(self.tets.boundary_skin_unless(cancel)?)
            }
            Collision::Auto => return Ok(()),
            // The boundary of the tets is what is drawn where there is no other surface.
            Collision::Tets if self.surface.is_some() => {
                let Outside { triangles, embedding, .. } = self.tets.outside_unless(cancel)?;
                Some((triangles, embedding))
            }
            Collision::Tets => None,
            Collision::Mesh(file) => {
                let mut surface = self.up.turned_surface(load(file, folder, cancel)?);
                surface.positions.iter_mut().for_each(|p| *p = *p * self.scale - self.shift);
                solid_surface(&surface)?;
                let embedding = embed_unless(&self.tets, &surface.positions, cancel)?;
                if let Some(vertex) = embedding.weights.iter().position(|weights| weights.iter().any(|w| *w < -FAR)) {
                    return Err(Fault::Outside { vertex, distance: self.distance_outside(&embedding, vertex) });
                }
                Some((surface.triangles, embedding))
            }
        };
        Ok(())
    }

    /// Sets apart what touches itself at rest, by about `tolerance` [m]; what cannot be set apart, or crosses itself,
    /// passes through itself from then on.
    pub fn settle(&mut self, tolerance: f64, cancel: &CancelToken) -> Result<(), Cancelled> {
        let mut skin = match self.collision.as_ref().or(self.surface.as_ref()) {
            Some(skin) => skin.clone(),
            None => self.tets.boundary_skin_unless(cancel)?,
        };
        let note = match at_rest::settle(&self.tets, &mut skin, tolerance, cancel)? {
            AtRest::Apart => return Ok(()),
            AtRest::SetApart(n) => {
                self.collision = Some(skin);
                format!("the surface touches itself at rest: {n} points of what touches were moved inwards, by about the contact tolerance")
            }
            AtRest::PassesThroughItself(n) => {
                self.passes_through_itself = true;
                format!(
                    "the surface crosses or touches itself at rest in {n} places: the body passes through itself, and touches others only"
                )
            }
        };
        self.notes.push(note);
        Ok(())
    }

    /// How far an embedded point is from a near point of its tet [m].
    fn distance_outside(&self, embedding: &Embedding, point: usize) -> f64 {
        let inside = embedding.weights[point].map(|w| w.max(0.0));
        let sum: f64 = inside.iter().sum();
        let off = (0..4).map(|c| self.tets.positions[embedding.nodes[point][c] as usize] * (embedding.weights[point][c] - inside[c] / sum));
        off.sum::<Vec3>().norm()
    }

    /// Box of the surface: of the mesh as given, not of the tets around it.
    fn surface_bounds(&self) -> Aabb {
        match &self.surface {
            Some((_, embedding)) => Aabb::of(&embedding.positions(&self.tets.positions)),
            None => Aabb::of(&self.tets.positions),
        }
    }
}
