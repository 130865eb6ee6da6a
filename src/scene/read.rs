//! From a document that keeps to the format to typed content: names resolved, values that exclude each other refused.

mod links;
mod materials;
mod shapes;

use std::collections::BTreeMap;

pub use materials::material_fault;

use super::error::{Complaints, Message, SceneError, unknown};
use super::format::SCENE;
use super::node::{CHECKED, Node};
use super::nodes::{Group, Transform, local, world_transforms};
use super::regions::{MaterialRegion, Region};
use super::settings::{BackendChoice, LightSetting, RecordingSetting};
use super::spec::Kind;
use super::start::Start;
use super::up::Up;
use super::value::{Origin, Value};
use super::{Document, check};
use crate::element::ElementKind;
use crate::material::Material;
use crate::math::Vec3;
use crate::mesh::{Fineness, Method};
use crate::model::{ContactMethod, Integration, Keyframe, Keyframes, Motion, NamedMaterial};
use crate::model::{Params, Preconditioner};

/// Content of a scene, with references resolved to indices.
#[derive(Clone, Debug)]
pub struct Content {
    pub title: Option<String>,
    pub description: String,
    pub params: Params,
    pub backend: BackendChoice,
    pub materials: BTreeMap<String, Material>,
    pub friction: f64,
    /// (body, body, coefficient), by index into `bodies`, the lower one first.
    pub pair_frictions: Vec<(usize, usize, f64)>,
    pub bodies: Vec<BodyContent>,
    pub attachments: Vec<AttachmentContent>,
    pub forces: Vec<ForceContent>,
    pub grabs: Vec<GrabContent>,
    pub probes: Vec<ProbeContent>,
    pub camera: CameraContent,
    pub light: LightSetting,
    pub recording: RecordingSetting,
}

#[derive(Clone, Debug)]
pub struct BodyContent {
    pub name: String,
    pub role: Role,
    pub geometry: Geometry,
    /// Where the geometry is written, for complaints about it.
    pub geometry_origin: Origin,
    pub geometry_key: String,
    pub collision: Collision,
    pub collision_origin: Origin,
    pub anchor: Anchor,
    /// Transform of the group that carries the body.
    pub parent: Transform,
    /// From the anchored geometry to the parent's frame.
    pub own: Transform,
    pub copies: Copies,
    pub color: Option<[f32; 3]>,
    pub self_contact: bool,
}

#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // one a body of a file, for the time of its reading
pub enum Role {
    Deformable {
        material: NamedMaterial,
        regions: Vec<MaterialRegion>,
        /// None: what suits material and tets.
        element: Option<ElementKind>,
        element_origin: Origin,
        velocity: Vec3,
        angular_velocity: Vec3,
        start: Start,
        start_seed: u64,
        fix: Vec<Region>,
    },
    Rigid {
        amount: Amount,
        velocity: Vec3,
        angular_velocity: Vec3,
    },
    /// Static, or driven along a motion.
    Obstacle {
        motion: Option<Motion>,
    },
}

impl BodyContent {
    /// The meshes that it names.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let mesh = if let Geometry::Mesh { file, .. } = &self.geometry { Some(file.as_str()) } else { None };
        let collision = if let Collision::Mesh(file) = &self.collision { Some(file.as_str()) } else { None };
        [mesh, collision].into_iter().flatten()
    }
}

/// How heavy a rigid body is.
#[derive(Clone, Copy, Debug)]
pub enum Amount {
    /// [kg/m^3]
    Density(f64),
    /// [kg]
    Mass(f64),
}

/// How many there are of a body, and where; in the parent's frame, added to the body's own place.
#[derive(Clone, Copy, Debug)]
pub enum Copies {
    One,
    Array { count: [u32; 3], pitch: Vec3 },
    Circle { count: u32 },
    Scatter { count: u32, seed: u64, min: Vec3, max: Vec3, origin: Origin },
}

/// How a surface becomes a body of tets.
#[derive(Clone, Copy, Debug)]
pub struct Filling {
    pub method: Method,
    pub fineness: Fineness,
    /// Triangles that are larger than the cells are cut.
    pub subdivides: bool,
}

#[derive(Clone, Debug)]
pub enum Geometry {
    Mesh { file: String, filling: Filling, size: Option<f64>, up: Up },
    Box { size: Vec3, cells: [u32; 3] },
    Sphere { radius: f64, resolution: u32 },
    Cylinder { radius: f64, height: f64, resolution: u32 },
    Torus { radius: f64, tube_radius: f64, resolution: u32 },
    Ring { radius: f64, width: f64, height: f64, segments: u32 },
    Frame { size: Vec3 },
    Icosphere { radius: f64, level: u32, resolution: u32 },
    Plane,
}

/// Surface of a deformable body that touches others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Collision {
    /// The drawn surface.
    Drawn,
    /// The boundary of the tets.
    Tets,
    /// The drawn surface; the boundary of the tets where that crosses itself, had holes or is thin.
    Auto,
    /// A mesh file.
    Mesh(String),
}

/// Which point of the geometry becomes the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    File,
    Center,
    Bottom,
}

#[derive(Clone, Debug)]
pub struct AttachmentContent {
    pub name: String,
    pub ends: [EndContent; 2],
    pub stiffness: f64,
    pub damping: f64,
    pub length: Option<f64>,
}

#[derive(Clone, Debug)]
pub enum EndContent {
    Region(Target, Region),
    Point(Target, Vec3),
    World(Vec3),
}

#[derive(Clone, Debug)]
pub struct ForceContent {
    pub target: Target,
    pub region: Option<Region>,
    pub force: Vec3,
    pub start: f64,
    pub end: f64,
}

#[derive(Clone, Debug)]
pub struct GrabContent {
    /// Deformable or rigid.
    pub target: Target,
    pub point: Vec3,
    /// Times, which rise, and places.
    pub path: Vec<(f64, Vec3)>,
}

#[derive(Clone, Debug)]
pub struct ProbeContent {
    pub name: String,
    pub target: Target,
    pub part: ProbeRegion,
}

/// What a probe follows.
#[derive(Clone, Debug)]
pub enum ProbeRegion {
    Whole,
    Region(Region),
    /// The nearest vertex of the surface.
    Point(Vec3),
}

/// One copy of one body.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub body: usize,
    pub copy: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct CameraContent {
    pub target: Option<Vec3>,
    pub eye: Option<Vec3>,
    pub distance: Option<f64>,
    pub azimuth: f64,
    pub elevation: f64,
    pub field_of_view: f64,
}

/// More copies than this are a slip of the hand.
const MAX_COPIES: u64 = 10_000;
/// Five or six tets each: beyond this no machine of today steps.
const MAX_CELLS: u64 = 4_000_000;

/// Checks and reads a document. All mistakes are told: those of names and of values that exclude each other, too, where
/// the check finds nothing that they could follow from.
pub fn read(document: &Document) -> Result<Content, SceneError> {
    let mut complaints = Complaints::new(document);
    check::check_table(&document.root, &SCENE, "", &mut complaints);
    let read = |root: &Value| {
        let mut reader = Reader { complaints: Complaints::new(document) };
        let content = reader.scene(&Node { value: root, table: &SCENE, path: String::new() });
        (content, reader.complaints)
    };
    if complaints.list.is_empty() {
        let (content, complaints) = read(&document.root);
        return complaints.finish().map(|()| content);
    }
    let faulty: Vec<String> = complaints.list.iter().map(|complaint| entry(&complaint.key).to_owned()).collect();
    // Nothing is known about entries of a list that is none.
    if !["body", "group", "material", ""].iter().any(|list| faulty.iter().any(|key| key == list)) {
        let (_, more) = read(&check::repaired(&document.root, &SCENE, 0));
        complaints.list.extend(more.list.into_iter().filter(|complaint| !faulty.iter().any(|key| key == entry(&complaint.key))));
    }
    Err(document.error(complaints.list))
}

/// The entry that a path leads into: `body.bar` of `body.bar.shape.size`, `contact` of `contact.friction`.
fn entry(path: &str) -> &str {
    let section = path.split('.').next().unwrap_or_default();
    let has_entries = SCENE.field(section).is_some_and(|field| matches!(field.kind, Kind::List(_) | Kind::Named(_)));
    let n_parts = if has_entries { 2 } else { 1 };
    path.match_indices('.').nth(n_parts - 1).map_or(path, |(end, _)| &path[..end])
}

struct Reader<'a> {
    complaints: Complaints<'a>,
}

impl Reader<'_> {
    fn scene(&mut self, root: &Node) -> Content {
        let simulation = root.table("simulation");
        let contact = root.table("contact");
        let recording = root.table("recording");
        let fixed_iterations = simulation.opt_integer("fixed_iterations");
        if fixed_iterations.is_some() && !["auto", "cr"].contains(&simulation.text("solver").as_str()) {
            self.complain(&simulation, "fixed_iterations", "works with the solvers auto and cr only; change `solver`, or leave this out");
        }
        let materials = self.materials(root);
        let groups = self.groups(root);
        let bodies = self.bodies(root, &materials, &groups);
        Content {
            title: root.opt_text("title"),
            description: root.text("description"),
            params: Params {
                time_step: simulation.number("time_step"),
                substeps: simulation.integer("substeps") as u32,
                max_step_ms: simulation.number("max_step_ms"),
                gravity: simulation.vector("gravity"),
                tolerance: simulation.number("tolerance"),
                max_iterations: simulation.integer("max_iterations") as u32,
                fixed_iterations: fixed_iterations.map(|n| n as u32),
                preconditioner: Preconditioner::from_name(&simulation.text("preconditioner")).expect(CHECKED),
                contact_tolerance: contact.number("tolerance"),
                max_contact_iterations: simulation.integer("max_contact_iterations") as u32,
                method: ContactMethod::from_name(&simulation.text("solver")).expect(CHECKED),
                integration: Integration::from_name(&simulation.text("integration")).expect(CHECKED),
                newton_tolerance: simulation.number("newton_tolerance"),
                // The simulation sets the acceptance policy.
                ..Params::default()
            },
            backend: BackendChoice::from_name(&simulation.text("backend")).expect(CHECKED),
            friction: contact.number("friction"),
            pair_frictions: self.pairs(&contact, &bodies),
            attachments: self.attachments(root, &bodies),
            forces: self.forces(root, &bodies),
            grabs: self.grabs(root, &bodies),
            probes: self.probes(root, &bodies),
            camera: self.camera(&root.table("camera")),
            light: self.light(&root.table("light")),
            recording: RecordingSetting {
                fps: recording.number("fps"),
                seconds: recording.number("seconds"),
                size: recording.integers("size"),
            },
            bodies,
            materials,
        }
    }

    fn complain(&mut self, node: &Node, key: &str, message: impl Into<Message>) {
        self.complaints.add(node.origin(key), node.key(key), message);
    }

    /// Complains about the second use of a name.
    fn unique(&mut self, nodes: &[Node], what: &str) {
        for (i, node) in nodes.iter().enumerate() {
            let name = node.text("name");
            if nodes[..i].iter().any(|other| other.text("name") == name) {
                self.complain(node, "name", format!("there are two {what} of the name \"{name}\"; names must differ"));
            }
        }
    }

    fn groups(&mut self, root: &Node) -> BTreeMap<String, Transform> {
        let nodes = root.list("group");
        self.unique(&nodes, "groups");
        let names: Vec<String> = nodes.iter().map(|n| n.text("name")).collect();
        let mut groups = vec![];
        for node in &nodes {
            let parent = node.opt_text("parent").and_then(|parent| {
                let found = names.iter().position(|n| *n == parent);
                if found.is_none() {
                    let message = unknown(&format!("there is no group \"{parent}\""), &parent, names.iter().map(String::as_str));
                    self.complain(node, "parent", message);
                }
                found
            });
            groups.push(Group { parent, local: placement(node) });
        }
        match world_transforms(&groups) {
            Ok(worlds) => names.into_iter().zip(worlds).collect(),
            Err(group) => {
                self.complain(&nodes[group], "parent", "the groups carry each other in a circle; give one of them no parent");
                BTreeMap::new()
            }
        }
    }

    fn bodies(&mut self, root: &Node, materials: &BTreeMap<String, Material>, groups: &BTreeMap<String, Transform>) -> Vec<BodyContent> {
        let nodes = root.list("body");
        self.unique(&nodes, "bodies");
        nodes.iter().filter_map(|node| self.body(node, materials, groups)).collect()
    }

    fn body(&mut self, node: &Node, materials: &BTreeMap<String, Material>, groups: &BTreeMap<String, Transform>) -> Option<BodyContent> {
        let kind = node.text("kind");
        self.only_for_kind(node, &kind);
        let parent = match node.opt_text("parent") {
            None => Transform::identity(),
            Some(name) => groups.get(&name).copied().unwrap_or_else(|| {
                let message = unknown(&format!("there is no group \"{name}\""), &name, groups.keys().map(String::as_str));
                self.complain(node, "parent", message);
                Transform::identity()
            }),
        };
        let copies = self.copies(node);
        let role = match kind.as_str() {
            "deformable" => Role::Deformable {
                material: self.named_material(node, materials),
                regions: node.list("region").iter().filter_map(|n| self.material_region(n, materials)).collect(),
                element: ElementKind::from_name(&node.text("element")),
                element_origin: node.origin("element"),
                velocity: node.vector("velocity"),
                angular_velocity: node.vector("angular_velocity"),
                start: Start::from_name(&node.text("start")).unwrap_or(Start::Rest),
                start_seed: node.integer("start_seed") as u64,
                fix: node.list("fix").iter().filter_map(|n| self.region(n)).collect(),
            },
            "rigid" => Role::Rigid {
                amount: self.amount(node),
                velocity: node.vector("velocity"),
                angular_velocity: node.vector("angular_velocity"),
            },
            _ => {
                let motion = self.motion(&node.table("motion"));
                Role::Obstacle { motion: (kind == "driven").then_some(motion) }
            }
        };
        let geometry = self.geometry(node, &kind)?;
        let geometry_key = if node.has("mesh") { "mesh" } else { "shape" };
        Some(BodyContent {
            name: node.text("name"),
            role,
            geometry,
            geometry_origin: node.origin(geometry_key),
            geometry_key: node.key(geometry_key),
            collision: match node.text("collision_surface").as_str() {
                "drawn" => Collision::Drawn,
                "tets" => Collision::Tets,
                "auto" => Collision::Auto,
                file => Collision::Mesh(file.to_owned()),
            },
            collision_origin: node.origin("collision_surface"),
            anchor: match node.text("origin").as_str() {
                "center" => Anchor::Center,
                "bottom" => Anchor::Bottom,
                _ => Anchor::File,
            },
            parent,
            own: placement(node),
            copies,
            color: node.color("color"),
            self_contact: node.text("self_contact") == "on",
        })
    }

    /// Refuses the values of other kinds of body: nothing is ignored.
    fn only_for_kind(&mut self, node: &Node, kind: &str) {
        for entry in node.value.entries() {
            let Some(field) = node.table.field(&entry.key) else { continue };
            if !field.kinds.is_empty() && !field.kinds.contains(&kind) {
                let remedy = match entry.key.as_str() {
                    "cells" | "resolution" => "; remove it: the shape is exact",
                    "density" if kind == "deformable" => "; its material has the density",
                    "motion" => "; use velocity and angular_velocity for its start, or kind = \"driven\"",
                    _ => "; remove it or change the kind",
                };
                let key = node.key(&entry.key);
                let message = format!("this is for {} bodies, and this one is {kind}{remedy}", field.kinds.join(" and "));
                self.complaints.add(entry.key_origin, key, message);
            }
        }
    }

    fn amount(&mut self, node: &Node) -> Amount {
        match (node.opt_number("mass"), node.opt_number("density")) {
            (Some(mass), None) => Amount::Mass(mass),
            (None, density) => Amount::Density(density.unwrap_or(1000.0)),
            (Some(_), Some(density)) => {
                self.complain(node, "mass", "a body has either a density or a mass; remove one of them");
                Amount::Density(density)
            }
        }
    }

    fn motion(&mut self, node: &Node) -> Motion {
        let mut frames: Vec<Keyframe> = vec![];
        for frame in node.list("keyframes") {
            let time = frame.number("time");
            if let Some(before) = frames.last().filter(|before| before.time >= time) {
                self.complain(&frame, "time", format!("the keyframe before is at {} s; give a later time", before.time));
            }
            let place = local(frame.vector("position"), frame.vector("rotation"), 1.0).isometry;
            frames.push(Keyframe { time, shift: place.translation.vector, turn: place.rotation });
        }
        let repeat = node.text("after") == "repeat";
        if let (true, [first, .., last]) = (repeat, &frames[..])
            && ((first.shift - last.shift).norm() > 0.0 || first.turn.angle_to(&last.turn) > 1e-9)
        {
            self.complain(node, "after", "a motion that repeats must end where it begins; add a last keyframe at the place of the first");
        }
        Motion {
            velocity: node.vector("velocity"),
            angular_velocity: node.vector("angular_velocity"),
            keyframes: Keyframes { frames, repeat },
        }
    }

    fn copies(&mut self, node: &Node) -> Copies {
        let given: Vec<&str> = ["array", "circle", "scatter"].into_iter().filter(|key| node.has(key)).collect();
        if let [first, second, ..] = given[..] {
            self.complain(node, second, format!("this body has copies by {first} already; remove one of the two"));
        }
        match given[..] {
            ["array", ..] => {
                let array = node.table("array");
                let count = array.integers("count");
                if count.iter().map(|&n| u64::from(n)).product::<u64>() > MAX_COPIES {
                    self.complain(&array, "count", format!("these are more than {MAX_COPIES} copies; give less"));
                }
                Copies::Array { count, pitch: array.vector("pitch") }
            }
            ["circle", ..] => Copies::Circle { count: node.integer("circle") as u32 },
            ["scatter", ..] => {
                let scatter = node.table("scatter");
                let (min, max) = (scatter.vector("min"), scatter.vector("max"));
                if (0..3).any(|i| min[i] > max[i]) {
                    self.complain(&scatter, "max", "no coordinate of max may be below that of min; swap them");
                }
                let (count, seed) = (scatter.integer("count") as u32, scatter.integer("seed") as u64);
                Copies::Scatter { count, seed, min, max, origin: node.origin("scatter") }
            }
            _ => Copies::One,
        }
    }

    fn camera(&mut self, node: &Node) -> CameraContent {
        if node.has("eye") {
            for key in ["distance", "azimuth", "elevation"] {
                if node.has(key) {
                    self.complain(node, key, "the camera has an eye already; remove one of the two");
                }
            }
        }
        CameraContent {
            target: node.opt_vector("target"),
            eye: node.opt_vector("eye"),
            distance: node.opt_number("distance"),
            azimuth: node.number("azimuth"),
            elevation: node.number("elevation"),
            field_of_view: node.number("field_of_view"),
        }
    }

    fn light(&mut self, node: &Node) -> LightSetting {
        let direction = node.vector("direction");
        if direction.norm() == 0.0 {
            self.complain(node, "direction", "a direction must not be zero");
        }
        LightSetting {
            direction: direction.try_normalize(0.0).unwrap_or(Vec3::y()),
            color: node.color("color").expect(CHECKED),
            intensity: node.number("intensity"),
        }
    }
}

impl BodyContent {
    pub fn n_copies(&self) -> usize {
        match self.copies {
            Copies::One => 1,
            Copies::Array { count, .. } => count.iter().map(|&n| n as usize).product(),
            Copies::Circle { count } | Copies::Scatter { count, .. } => count as usize,
        }
    }

    /// If `name` means this body: which copy, or none when it stands for all of several.
    fn copy_of_name(&self, name: &str) -> Option<Option<usize>> {
        let single = matches!(self.copies, Copies::One);
        if name == self.name {
            return Some(single.then_some(0));
        }
        let index = name.strip_prefix(&self.name)?.strip_prefix('[')?.strip_suffix(']')?;
        index.parse().ok().filter(|&i| !single && i < self.n_copies()).map(Some)
    }

    /// Name of a copy in the model.
    pub fn copy_name(&self, copy: usize) -> String {
        if matches!(self.copies, Copies::One) { self.name.clone() } else { format!("{}[{copy}]", self.name) }
    }
}

fn placement(node: &Node) -> Transform {
    local(node.vector("position"), node.vector("rotation"), node.number("scale"))
}
