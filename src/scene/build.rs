//! From a checked scene to a model and everything else that a simulation starts with.

mod attachments;
mod grabs;
mod regions;
mod work;

use std::f64::consts::PI;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use self::grabs::RecordedGrab;
use super::error::{Diagnostic, Place, SceneError, quoted_list};
use super::geometry::{Fault, Made, Solid, scaled};
use super::nodes::Transform;
use super::placing::{NoRoom, Occupied, TurnedBox, placements};
use super::read::{
    Amount, BodyContent, CameraContent, Collision, Content, Copies, ForceContent, Geometry, ProbeContent, ProbeRegion, Role, Target,
};
use super::regions::Region;
use super::value::Origin;
use super::{BackendChoice, CameraSetting, LightSetting, RecordingSetting, Scene};
use crate::cancel::CancelToken;
use crate::geometry::Shape;
use crate::math::{Aabb, Isometry, Mat3, Vec3};
use crate::mesh::{MeshError, SurfaceMesh, assets, doctor, mass_properties};
use crate::model::Params;
use crate::model::{Extent, FrictionTable, Mobility, Model, ModelBuilder, NamedMaterial, Obstacle, RigidBody, SoftBody};

/// A scene ready to be simulated.
#[derive(Clone, Debug)]
pub struct Built {
    /// File name of the scene without its ending, or its name in the gallery.
    pub name: String,
    pub title: String,
    pub model: Arc<Model>,
    pub params: Params,
    pub backend: BackendChoice,
    pub forces: Vec<Force>,
    pub grabs: Vec<RecordedGrab>,
    pub probes: Vec<Probe>,
    pub camera: CameraSetting,
    pub light: LightSetting,
    pub recording: RecordingSetting,
    /// Changes that reading and mending made to the meshes, one sentence each with the name of the body.
    pub notes: Vec<String>,
    /// The mesh files that deformable bodies came of.
    pub meshes: Vec<MeshOrigin>,
}

impl Built {
    /// Steps in `seconds` of simulated time.
    pub fn n_steps(&self, seconds: f64) -> u64 {
        // A hair less, so that 1 s of 0.01 s steps is 100 of them whatever the rounding.
        (seconds / self.params.time_step - 1e-6).ceil().max(0.0) as u64
    }
}

/// Body that a mesh file became; the first one if it has several copies.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshOrigin {
    pub file: PathBuf,
    /// Index of the deformable body in the model.
    pub body: usize,
    pub world_from_file: Transform,
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
    build_unless(scene, &CancelToken::default())
}

/// The same, which ends with an error soon after `cancel` is cancelled.
pub fn build_unless(scene: &Scene, cancel: &CancelToken) -> Result<Built, SceneError> {
    Builder { scene, content: &scene.content, cancel }.build()
}

struct Builder<'a> {
    scene: &'a Scene,
    content: &'a Content,
    cancel: &'a CancelToken,
}

/// The bodies of a scene, made and placed.
struct Placed<'a> {
    /// Index in the scene's list.
    index: usize,
    body: &'a BodyContent,
    made: Made,
    placements: Vec<Transform>,
}

/// Where the first copy of a body of the scene's list is.
#[derive(Clone, Copy)]
enum Slot {
    Soft(usize),
    Rigid(usize),
    Obstacle(usize),
}

/// Adds static and driven bodies of exact shapes, after `n_soft` deformable and `n_rigid` rigid ones.
fn add_obstacles(placed: &[Placed], frictions: &FrictionTable, [n_soft, n_rigid]: [usize; 2], builder: &mut ModelBuilder) {
    let mut first = n_soft + n_rigid;
    for Placed { body, made, placements, .. } in placed {
        let (Made::Exact(shape, anchor), Role::Obstacle { motion }) = (made, &body.role) else { continue };
        let friction: Vec<f64> = (0..n_soft).map(|soft| frictions.get(soft, first)).collect();
        first += placements.len();
        for (copy, placement) in placements.iter().enumerate() {
            // The shape is built around its centre; the anchored point of it is what was placed.
            let pose = Isometry::from_parts((placement * nalgebra::Point3::from(-anchor)).coords.into(), placement.isometry.rotation);
            let (name, shape) = (body.copy_name(copy), scaled(shape, placement.scaling()));
            builder.obstacle(Obstacle { name, shape, pose, motion: motion.clone(), friction: friction.clone(), color: body.color });
        }
    }
}

/// A fault as a sentence; `file`: of the mesh, if it is from one.
fn message(fault: Fault, file: Option<&str>) -> String {
    let of_file = |text: String| file.map(|file| format!("{file}: {text}")).unwrap_or(text);
    match fault {
        // A fault inside a file names the file already.
        Fault::Mesh(error @ MeshError::File { .. }) => error.to_string(),
        Fault::Mesh(error) => of_file(error.to_string()),
        Fault::NoFolder => {
            "a scene inside the program has no folder; name a mesh of the program (\"builtin:bunny.obj\") or give a full path".into()
        }
        Fault::NoCells => {
            "the tets are no cells of a lattice, which averaged elements are; take element = \"quadratic\", or a mesh that is filled with \
                           method = \"voxel\", or a box"
                .into()
        }
        Fault::Linear => {
            "a material that has a degeneration_ratio needs tets that are elements of their own; take element = \"linear\", or remove \
                         that value"
                .into()
        }
        Fault::UnknownBuiltin => format!("the program has no mesh of this name; it has {}", quoted_list(assets::NAMES.iter().copied())),
        Fault::Outside { vertex, distance } => of_file(format!(
            "vertex {vertex} is {distance:.2e} m outside the tets of the body; give a surface that is near the drawn one, in the same \
             coordinates"
        )),
    }
}

impl Builder<'_> {
    fn build(self) -> Result<Built, SceneError> {
        let content = self.content;
        let placed = self.place_all()?;
        let mut builder = ModelBuilder::default();
        let (slots, entries) = self.add_bodies(&placed, &mut builder)?;
        let [soft, rigid] = [&entries[0], &entries[1]].map(Vec::len);
        let mut frictions = FrictionTable::new(content.friction, entries.concat());
        for &(a, b, friction) in &content.pair_frictions {
            frictions.set(a as u32, b as u32, friction);
        }
        let notes = placed.iter().flat_map(notes).collect();
        let meshes = placed.iter().filter_map(|placed| self.mesh_origin(placed, &slots)).collect();
        add_obstacles(&placed, &frictions, [soft, rigid], &mut builder);
        builder.friction(frictions);
        self.check_cancelled()?;
        let made = work::made(&self.content.bodies);
        self.cancel.report("putting the model together", made);
        let mut model = builder.build_unless(&self.cancel.part(made, 1.0)).map_err(|e| self.error(Origin::START, "", e.to_string()))?;
        model.fixed_parts = self.scene.fixed_parts();
        let target = |target: &Target| match slots[target.body] {
            Slot::Soft(first) => first + target.copy,
            Slot::Rigid(_) | Slot::Obstacle(_) => unreachable!("forces and probes name deformable bodies"),
        };
        let mut faults = vec![];
        let force = |force: &ForceContent| -> Result<Force, SceneError> {
            let nodes = self.nodes(&model, target(&force.target), force.region.as_ref())?;
            Ok(Force { nodes, force: force.force, start: force.start, end: force.end })
        };
        let forces = sound(content.forces.iter().map(force), &mut faults);
        let probe = |probe: &ProbeContent| self.probe(probe, target(&probe.target), &model);
        let probes = sound(content.probes.iter().map(probe), &mut faults);
        let attachments = sound(content.attachments.iter().map(|a| self.attachment(a, &slots, &model)), &mut faults);
        SceneError::all(faults)?;
        model.attachments = attachments;
        let grabs = content.grabs.iter().map(|grab| self.grab(grab, &slots, &model)).collect();
        Ok(Built {
            name: self.scene.name().to_owned(),
            title: self.scene.title().to_owned(),
            camera: camera(&content.camera, &model),
            model: Arc::new(model),
            params: content.params,
            backend: content.backend,
            forces,
            grabs,
            probes,
            light: content.light,
            recording: content.recording,
            notes,
            meshes,
        })
    }

    /// Adds all copies of deformable and rigid bodies. Returns the place of each body of the scene's list in the model;
    /// and for deformable bodies, rigid ones and obstacles the entry of the scene's list that each copy is made from.
    fn add_bodies(&self, placed: &[Placed], builder: &mut ModelBuilder) -> Result<(Vec<Slot>, [Vec<u32>; 3]), SceneError> {
        let mut slots = vec![Slot::Soft(0); placed.len()];
        let mut entries = [vec![], vec![], vec![]];
        let mut faults = vec![];
        for placed in placed {
            let (kind, slot) = match &placed.made {
                Made::Solid(_) => (0, Slot::Soft(entries[0].len())),
                Made::Surface(_) => (1, Slot::Rigid(entries[1].len())),
                Made::Exact(..) => (2, Slot::Obstacle(entries[2].len())),
            };
            slots[placed.index] = slot;
            entries[kind].extend(std::iter::repeat_n(placed.index as u32, placed.placements.len()));
            faults.extend(self.add_copies(placed, builder).err());
            self.check_cancelled()?;
        }
        SceneError::all(faults)?;
        Ok((slots, entries))
    }

    /// Adds the copies of a body, up to the first one with a fault; those of exact shapes are added later.
    fn add_copies(&self, placed: &Placed, builder: &mut ModelBuilder) -> Result<(), SceneError> {
        let Placed { body, made, placements, .. } = placed;
        match made {
            Made::Solid(solid) => {
                let regions = match placements.first() {
                    Some(placement) => self.regions(body, placement, solid)?,
                    None => vec![],
                };
                for (copy, placement) in placements.iter().enumerate() {
                    self.check_cancelled()?;
                    builder.soft_body(self.soft_body(body, copy, placement, (solid, &regions))?);
                }
            }
            Made::Surface(surface) => {
                for (copy, placement) in placements.iter().enumerate() {
                    builder.rigid_body(self.rigid_body(body, copy, placement, surface)?).rigid_normals(surface.normals.clone());
                }
            }
            Made::Exact(..) => {}
        }
        Ok(())
    }

    fn probe(&self, wish: &ProbeContent, body: usize, model: &Model) -> Result<Probe, SceneError> {
        let name = wish.name.clone();
        let region = match &wish.part {
            ProbeRegion::Whole => None,
            ProbeRegion::Region(region) => Some(region),
            ProbeRegion::Point(point) => return Ok(Probe { name, vertices: vec![nearest_vertex(model, body, point)], nodes: vec![] }),
        };
        let (nodes, vertices) = (self.nodes(model, body, region)?, self.vertices(model, body, region)?);
        Ok(Probe { name, vertices, nodes })
    }

    /// The origin of a deformable body that was made from a mesh file.
    fn mesh_origin(&self, placed: &Placed, slots: &[Slot]) -> Option<MeshOrigin> {
        let Placed { index, body, made: Made::Solid(solid), placements } = placed else { return None };
        let (Geometry::Mesh { file, .. }, Slot::Soft(first)) = (&body.geometry, slots[*index]) else { return None };
        if file.starts_with("builtin:") {
            return None;
        }
        let folder = self.scene.folder.as_deref().unwrap_or(Path::new(""));
        Some(MeshOrigin { file: folder.join(file), body: first, world_from_file: placements.first()? * solid.body_from_file() })
    }

    /// Makes the geometry of all bodies and finds the places of their copies; scattered ones come last, so that they
    /// keep clear of all others.
    fn place_all(&self) -> Result<Vec<Placed<'_>>, SceneError> {
        let (mut placed, mut faults) = (vec![], vec![]);
        let all: f64 = self.content.bodies.iter().map(work::expected).sum();
        let (made, mut done) = (work::made(&self.content.bodies), 0.0);
        for (index, body) in self.content.bodies.iter().enumerate() {
            let of_body = [done, done + work::expected(body)].map(|work| made * (work / all) as f32);
            self.cancel.report("making bodies", of_body[0]);
            done += work::expected(body);
            match self.make(body, &self.cancel.part(of_body[0], of_body[1])) {
                Ok(made) => placed.push(Placed { index, body, made, placements: vec![] }),
                Err(fault) => faults.push(fault),
            }
            self.check_cancelled()?;
        }
        SceneError::all(std::mem::take(&mut faults))?;
        let mut occupied = vec![];
        for scattered in [false, true] {
            for Placed { body, made, placements: places, .. } in &mut placed {
                if matches!(body.copies, Copies::Scatter { .. }) != scattered {
                    continue;
                }
                let bounds = made.bounds().unwrap_or(Aabb { min: Vec3::zeros(), max: Vec3::zeros() });
                match placements(body, &bounds, &occupied) {
                    Ok(found) => *places = found,
                    Err(no_room) => faults.push(self.no_room(body, no_room)),
                }
                // A static or driven surface may be hollow: its box is not full.
                match (&body.role, &*made) {
                    (Role::Obstacle { .. }, Made::Surface(_)) => {}
                    (_, Made::Exact(Shape::Plane, _)) => occupied.extend(places.iter().map(|place| Occupied::HalfSpace {
                        point: place.isometry.translation.vector,
                        normal: place.isometry.rotation * Vec3::y(),
                    })),
                    _ => occupied.extend(places.iter().map(|place| Occupied::Box(TurnedBox::new(place, &bounds)))),
                }
            }
        }
        SceneError::all(faults)?;
        for Placed { body, made, placements, .. } in &mut placed {
            let (Made::Solid(solid), true, Some(place)) = (made, body.self_contact, placements.first()) else { continue };
            if solid.may_settle {
                let tolerance = self.content.params.contact_tolerance / place.scaling();
                solid.settle(tolerance, self.cancel).map_err(|cancelled| self.fault(body, cancelled.into()))?;
            }
        }
        Ok(placed)
    }

    fn make(&self, body: &BodyContent, cancel: &CancelToken) -> Result<Made, SceneError> {
        let folder = self.scene.folder.as_deref();
        let mut made = Made::new(body, folder, &cancel.part(0.0, 0.9)).map_err(|fault| self.fault(body, fault))?;
        if let Made::Solid(solid) = &mut made {
            solid.set_collision(&body.collision, folder, &cancel.part(0.9, 1.0)).map_err(|fault| self.collision_fault(body, fault))?;
        }
        Ok(made)
    }

    fn no_room(&self, body: &BodyContent, NoRoom { copy }: NoRoom) -> SceneError {
        let Copies::Scatter { origin, .. } = body.copies else { unreachable!("only scattered copies search for room") };
        let message = format!("copy {copy} finds no place that is free; enlarge the box from min to max, or give a smaller count");
        self.error(origin, &format!("body.{}.scatter", body.name), message)
    }

    fn check_cancelled(&self) -> Result<(), SceneError> {
        self.cancel.check().map_err(|cancelled| self.error(Origin::START, "", format!("its building was {cancelled}")))
    }

    fn error(&self, origin: Origin, key: &str, message: String) -> SceneError {
        let document = &self.scene.document;
        document.error(vec![Diagnostic::new(document.place(origin), key, message)])
    }

    fn fault(&self, body: &BodyContent, fault: Fault) -> SceneError {
        if let (Fault::NoCells | Fault::Linear, Role::Deformable { element_origin, .. }) = (&fault, &body.role) {
            return self.error(*element_origin, &format!("body.{}.element", body.name), message(fault, None));
        }
        if let (Fault::Mesh(error), true) = (&fault, self.scene.document.generated) {
            return self.mesh_fault(error.clone());
        }
        let file = if let Geometry::Mesh { file, .. } = &body.geometry { Some(file.as_str()) } else { None };
        self.error(body.geometry_origin, &body.geometry_key, message(fault, file))
    }

    fn collision_fault(&self, body: &BodyContent, fault: Fault) -> SceneError {
        let file = if let Collision::Mesh(file) = &body.collision { Some(file.as_str()) } else { None };
        self.error(body.collision_origin, &format!("body.{}.collision_surface", body.name), message(fault, file))
    }

    /// A fault of the mesh that is the scene.
    fn mesh_fault(&self, error: MeshError) -> SceneError {
        let mut file = self.scene.document.file.clone();
        let message = match error {
            MeshError::File { file: faulty, at, reason, remedy } => {
                // A mesh in two files: the name of the one that is wrong.
                file = format!("{faulty}{at}");
                format!("{reason}; {remedy}")
            }
            other => other.to_string(),
        };
        SceneError::one(Place::File { file }, "", message)
    }

    fn soft_body(
        &self,
        body: &BodyContent,
        copy: usize,
        placement: &Transform,
        (solid, regions): (&Solid, &[(NamedMaterial, Vec<u32>)]),
    ) -> Result<SoftBody, SceneError> {
        let Role::Deformable { material, velocity, angular_velocity, start, start_seed, fix, .. } = &body.role else {
            unreachable!("called for deformable bodies only")
        };
        let mut tets = solid.tets.clone();
        place(&mut tets.positions, placement);
        let skin = match &solid.surface {
            Some(skin) => skin.clone(),
            None => tets.boundary_skin_unless(self.cancel).map_err(|cancelled| self.fault(body, cancelled.into()))?,
        };
        let mut soft = SoftBody::with_surface(body.copy_name(copy), material.clone(), tets, skin);
        soft.filled = solid.filled;
        soft.regions.extend_from_slice(regions);
        if solid.surface.is_some() {
            soft.texture_coordinates.clone_from(&solid.texture_coordinates);
            let is_painted = body.color.is_some();
            soft.parts = solid.parts.clone().and_then(|parts| if is_painted { parts.unpainted() } else { Some(parts) });
            soft.normals = solid.normals.as_ref().map(|normals| normals.iter().map(|n| n.map(|n| turned(n, placement))).collect());
        }
        soft.collision.clone_from(&solid.collision);
        soft.element = solid.element;
        (soft.color, soft.self_contact) = (body.color, body.self_contact && !solid.passes_through_itself);
        let center = center_of_mass(&soft);
        soft.velocities = soft.tets.positions.iter().map(|p| velocity + angular_velocity.cross(&(p - center))).collect();
        for region in fix {
            // A pin is of one copy; everything else is of all.
            let is_of_other = |nodes: &[u32]| nodes.is_empty() && matches!(region.extent, Extent::Spheres(_)) && body.n_copies() > 1;
            if is_of_other(&region.select(&soft.tets.positions)) {
                continue;
            }
            for node in self.select(region, &soft.tets.positions, "node", &body.copy_name(copy))? {
                soft.fixed[node as usize] = true;
            }
        }
        // Seeds of copies are far from one another.
        let seed = start_seed + ((copy as u64) << 32);
        soft.displacements = start.displacements(seed, &soft.tets.positions);
        self.check_size(body, &soft.tets.positions)?;
        Ok(soft)
    }

    /// A body with a surface of triangles that keeps its shape.
    fn rigid_body(&self, body: &BodyContent, copy: usize, placement: &Transform, surface: &SurfaceMesh) -> Result<RigidBody, SceneError> {
        let scale = placement.scaling();
        let mut vertices: Vec<Vec3> = surface.positions.iter().map(|p| p * scale).collect();
        self.check_size(body, &vertices)?;
        let mut pose = placement.isometry;
        let (mobility, velocity, angular_velocity) = match &body.role {
            Role::Rigid { amount, velocity, angular_velocity } => {
                let unit = mass_properties(&vertices, &surface.triangles, 1.0).map_err(|e| self.fault(body, e.into()))?;
                let density = match *amount {
                    Amount::Density(density) => density,
                    Amount::Mass(mass) => mass / unit.mass,
                };
                vertices.iter_mut().for_each(|p| *p -= unit.center);
                pose.translation.vector += pose.rotation * unit.center;
                (Mobility::Free { mass: density * unit.mass, inertia: unit.inertia * density }, *velocity, *angular_velocity)
            }
            Role::Obstacle { motion } => (Mobility::Driven(motion.clone()), Vec3::zeros(), Vec3::zeros()),
            Role::Deformable { .. } => unreachable!("called for bodies that keep their shape"),
        };
        Ok(RigidBody {
            name: body.copy_name(copy),
            mobility,
            vertices,
            triangles: surface.triangles.clone(),
            texture_coordinates: surface.texture_coordinates.clone(),
            pose,
            velocity,
            angular_velocity,
            color: body.color,
        })
    }

    /// A body so small that its numbers vanish in rounding would only fail later, and less clearly.
    fn check_size(&self, body: &BodyContent, points: &[Vec3]) -> Result<(), SceneError> {
        let extent = Aabb::of(points).extent();
        if extent.iter().all(|e| e.is_finite()) && (1e-4..=1e4).contains(&extent.max()) {
            return Ok(());
        }
        let message =
            format!("the body is {:.3e} m long in the world; Pliant handles bodies from 1e-4 to 1e4 m: change size or scale", extent.max());
        Err(self.error(body.geometry_origin, &body.geometry_key, message))
    }

    /// Points of a region; a region without any is a mistake.
    fn select(&self, region: &Region, points: &[Vec3], what: &str, body: &str) -> Result<Vec<u32>, SceneError> {
        let bounds = Aabb::of(points);
        let chosen = region.select(points);
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

/// What could be made; the faults of the rest come to the others.
fn sound<T>(made: impl Iterator<Item = Result<T, SceneError>>, faults: &mut Vec<SceneError>) -> Vec<T> {
    made.filter_map(|result| result.map_err(|fault| faults.push(fault)).ok()).collect()
}

/// Sentences about changes to the mesh of a body, and a doubt about its unit where the scene gives it no size.
fn notes(placed: &Placed) -> Vec<String> {
    let Placed { body, made: Made::Solid(solid), placements, .. } = placed else { return vec![] };
    let is_sized = !matches!(body.geometry, Geometry::Mesh { size: None, .. }) || placements.iter().any(|place| place.scaling() != 1.0);
    let hint = if is_sized { None } else { doctor::scale_hint(Aabb::of(&solid.tets.positions).extent().max()) };
    solid.notes.iter().chain(&hint).map(|note| format!("{}: {note}", body.name)).collect()
}

/// The vertex of the drawn surface of a deformable body that is nearest to a point of the world at the start.
fn nearest_vertex(model: &Model, body: usize, point: &Vec3) -> u32 {
    let distance = |v: &u32| (model.surface_position(&model.rest_positions, *v as usize) - point).norm_squared();
    let used = model.surface.triangles[model.bodies[body].triangles.clone()].as_flattened();
    used.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or_default()
}

/// A normal where a body is placed: scales are the same along all axes.
fn turned(normal: [f32; 3], placement: &Transform) -> [f32; 3] {
    let normal = placement.isometry.rotation * Vec3::from(normal.map(f64::from));
    [normal.x as f32, normal.y as f32, normal.z as f32]
}

fn place(points: &mut [Vec3], placement: &Transform) {
    points.iter_mut().for_each(|p| *p = (placement * nalgebra::Point3::from(*p)).coords);
}

/// The centre of mass of a body, by the volumes and densities of its tets.
fn center_of_mass(soft: &SoftBody) -> Vec3 {
    // As parts of the density of the body.
    let mut densities = vec![1.0; soft.tets.tets.len()];
    for (region, tets) in &soft.regions {
        tets.iter().for_each(|tet| densities[*tet as usize] = region.material.density / soft.material.material.density);
    }
    let (mut sum, mut total) = (Vec3::zeros(), 0.0);
    for (nodes, density) in soft.tets.tets.iter().zip(densities) {
        let x = nodes.map(|n| soft.tets.positions[n as usize]);
        let volume = density * Mat3::from_columns(&[x[1] - x[0], x[2] - x[0], x[3] - x[0]]).determinant() / 6.0;
        sum += x.iter().sum::<Vec3>() * (volume / 4.0);
        total += volume;
    }
    sum / total
}

/// Fills in what the scene leaves open so that all bodies that move freely are in view; where nothing does, all meshes.
fn camera(wish: &CameraContent, model: &Model) -> CameraSetting {
    let of_rigid =
        |free: bool| model.rigid_bodies.iter().filter(move |body| body.is_free() == free).flat_map(|body| body.positions(&body.pose));
    let mut points: Vec<Vec3> = model.rest_positions.iter().copied().chain(of_rigid(true)).collect();
    if points.is_empty() {
        points.extend(of_rigid(false));
    }
    let bounds = if points.is_empty() { Aabb { min: Vec3::repeat(-0.5), max: Vec3::repeat(0.5) } } else { Aabb::of(&points) };
    let target = wish.target.unwrap_or(bounds.center());
    let half_angle = wish.field_of_view / 360.0 * PI;
    let distance = wish.distance.unwrap_or(0.6 * bounds.extent().norm() / half_angle.sin());
    let (azimuth, elevation) = (wish.azimuth.to_radians(), wish.elevation.to_radians());
    let direction = Vec3::new(elevation.cos() * azimuth.sin(), elevation.sin(), elevation.cos() * azimuth.cos());
    CameraSetting { target, eye: wish.eye.unwrap_or(target + direction * distance), field_of_view: wish.field_of_view }
}
