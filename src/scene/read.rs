//! From a document that keeps to the format to typed content: names resolved, values that exclude each other refused.

use std::collections::BTreeMap;

use super::error::{Complaints, SceneError, unknown};
use super::format::SCENE;
use super::node::{CHECKED, Node};
use super::nodes::{Group, Transform, local, world_transforms};
use super::random::Random;
use super::regions::{Extent, Region};
use super::settings::{BackendChoice, LightSetting, RecordingSetting, SolverChoice};
use super::spec::Kind;
use super::value::{Origin, Value};
use super::{Document, check};
use crate::material::{Material, MaterialModel};
use crate::math::{Aabb, Vec3};
use crate::model::Motion;
use crate::solver::Params;

/// What a scene says, with references resolved to indices.
#[derive(Clone, Debug)]
pub struct Content {
    pub title: Option<String>,
    pub description: String,
    pub params: Params,
    pub backend: BackendChoice,
    pub solver: SolverChoice,
    pub friction: f64,
    /// (deformable body, static or driven body, coefficient), by index into `bodies`.
    pub pair_frictions: Vec<(usize, usize, f64)>,
    pub bodies: Vec<BodyContent>,
    pub forces: Vec<ForceContent>,
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
    pub anchor: Anchor,
    /// From the anchored geometry to the world: one for each copy.
    pub placements: Vec<Transform>,
    /// Whether the copies have names of their own.
    pub copied: bool,
    pub color: Option<[f32; 3]>,
}

#[derive(Clone, Debug)]
pub enum Role {
    Deformable {
        material: Material,
        velocity: Vec3,
        angular_velocity: Vec3,
        fix: Vec<Region>,
    },
    /// Static, or driven along a motion.
    Obstacle {
        motion: Option<Motion>,
    },
}

#[derive(Clone, Debug)]
pub enum Geometry {
    Mesh { file: String, resolution: u32, size: Option<f64> },
    Box { size: Vec3, cells: [u32; 3] },
    Sphere { radius: f64, resolution: u32 },
    Cylinder { radius: f64, height: f64, resolution: u32 },
    Torus { radius: f64, tube_radius: f64, resolution: u32 },
    Plane,
}

/// Which point of the geometry becomes the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    File,
    Center,
    Bottom,
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
pub struct ProbeContent {
    pub name: String,
    pub target: Target,
    pub region: Option<Region>,
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
const MAX_COPIES: usize = 10_000;
/// Five or six tets each: beyond this no machine of today steps.
const MAX_CELLS: u64 = 4_000_000;

/// Checks and reads a document.
pub fn read(document: &Document) -> Result<Content, SceneError> {
    let mut complaints = Complaints::new(document);
    check::check_table(&document.root, &SCENE, "", &mut complaints);
    complaints.finish()?;
    let mut reader = Reader { complaints: Complaints::new(document) };
    let content = reader.scene(&Node { value: &document.root, table: &SCENE, path: String::new() });
    reader.complaints.finish()?;
    Ok(content)
}

struct Reader<'a> {
    complaints: Complaints<'a>,
}

impl Reader<'_> {
    fn scene(&mut self, root: &Node) -> Content {
        let simulation = root.table("simulation");
        let contact = root.table("contact");
        let materials = self.materials(root);
        let groups = self.groups(root);
        let bodies = self.bodies(root, &materials, &groups);
        Content {
            title: root.opt_text("title"),
            description: root.text("description"),
            params: Params {
                time_step: simulation.number("time_step"),
                substeps: simulation.integer("substeps") as u32,
                gravity: simulation.vector("gravity"),
                tolerance: simulation.number("tolerance"),
                max_iterations: simulation.integer("max_iterations") as u32,
                contact_tolerance: contact.number("tolerance"),
                max_contact_iterations: simulation.integer("max_contact_iterations") as u32,
                stop_before_crossing: false,
                solver: Default::default(),
            },
            backend: BackendChoice::from_name(&simulation.text("backend")).expect(CHECKED),
            solver: SolverChoice::from_name(&simulation.text("solver")).expect(CHECKED),
            friction: contact.number("friction"),
            pair_frictions: self.pairs(&contact, &bodies),
            forces: self.forces(root, &bodies),
            probes: self.probes(root, &bodies),
            camera: self.camera(&root.table("camera")),
            light: self.light(&root.table("light")),
            recording: RecordingSetting { fps: root.table("recording").number("fps"), size: root.table("recording").integers("size") },
            bodies,
        }
    }

    fn complain(&mut self, node: &Node, key: &str, message: impl Into<String>) {
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

    fn materials(&mut self, root: &Node) -> BTreeMap<String, Material> {
        let Some(Kind::Named(table)) = root.table.field("material").map(|f| f.kind) else { unreachable!("declared as named tables") };
        let entries = root.value.get("material").map_or(&[][..], Value::entries);
        entries.iter().map(|entry| (entry.key.clone(), material(&Node { value: &entry.value, table, path: String::new() }))).collect()
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
        let placements = self.copies(node).into_iter().map(|copy| parent * copy).collect();
        let role = if kind == "deformable" {
            Role::Deformable {
                material: self.body_material(node, materials),
                velocity: node.vector("velocity"),
                angular_velocity: node.vector("angular_velocity"),
                fix: node.list("fix").iter().filter_map(|n| self.region(n)).collect(),
            }
        } else {
            let motion = node.table("motion");
            let driven = Motion { velocity: motion.vector("velocity"), angular_velocity: motion.vector("angular_velocity") };
            Role::Obstacle { motion: (kind == "driven").then_some(driven) }
        };
        let geometry = self.geometry(node, &kind)?;
        let geometry_key = if node.has("mesh") { "mesh" } else { "shape" };
        Some(BodyContent {
            name: node.text("name"),
            role,
            geometry,
            geometry_origin: node.origin(geometry_key),
            geometry_key: node.key(geometry_key),
            anchor: match node.text("origin").as_str() {
                "center" => Anchor::Center,
                "bottom" => Anchor::Bottom,
                _ => Anchor::File,
            },
            placements,
            copied: node.has("array") || node.has("scatter"),
            color: node.color("color"),
        })
    }

    /// Refuses the values of other kinds of body: nothing is ignored.
    fn only_for_kind(&mut self, node: &Node, kind: &str) {
        for entry in node.value.entries() {
            let Some(field) = node.table.field(&entry.key) else { continue };
            if !field.kinds.is_empty() && !field.kinds.contains(&kind) {
                let remedy = match entry.key.as_str() {
                    "mesh" => "; give it a shape: a plane, a box, a sphere or a cylinder",
                    "motion" => "; use velocity and angular_velocity for its start, or kind = \"driven\"",
                    _ => "; remove it or change the kind",
                };
                let key = node.key(&entry.key);
                let message = format!("this is for {} bodies, and this one is {kind}{remedy}", field.kinds.join(" and "));
                self.complaints.add(entry.key_origin, key, message);
            }
        }
    }

    fn body_material(&mut self, node: &Node, materials: &BTreeMap<String, Material>) -> Material {
        let Some(name) = node.opt_text("material") else { return Material::default() };
        materials.get(&name).copied().unwrap_or_else(|| {
            let message = if materials.is_empty() {
                format!("there is no material \"{name}\"; add a table [material.{name}]")
            } else {
                unknown(&format!("there is no material \"{name}\""), &name, materials.keys().map(String::as_str))
            };
            self.complain(node, "material", message);
            Material::default()
        })
    }

    /// The body's own transforms in the parent's frame.
    fn copies(&mut self, node: &Node) -> Vec<Transform> {
        let own = placement(node);
        match (node.opt_table("array"), node.opt_table("scatter")) {
            (None, None) => vec![own],
            (Some(_), Some(_)) => {
                self.complain(node, "scatter", "a body has either an array or a scatter; remove one of them");
                vec![own]
            }
            (Some(array), None) => {
                let [nx, ny, nz] = array.integers::<3>("count");
                let pitch = array.vector("pitch");
                if u64::from(nx) * u64::from(ny) * u64::from(nz) > MAX_COPIES as u64 {
                    self.complain(&array, "count", format!("these are more than {MAX_COPIES} copies; give less"));
                    return vec![own];
                }
                let cells = (0..nz).flat_map(|k| (0..ny).flat_map(move |j| (0..nx).map(move |i| [i, j, k])));
                cells.map(|c| shifted(&own, pitch.component_mul(&Vec3::from(c.map(f64::from))))).collect()
            }
            (None, Some(scatter)) => {
                let (min, max) = (scatter.vector("min"), scatter.vector("max"));
                if (0..3).any(|i| min[i] > max[i]) {
                    self.complain(&scatter, "max", "no coordinate of max may be below that of min; swap them");
                    return vec![own];
                }
                let mut random = Random(scatter.integer("seed") as u64);
                (0..scatter.integer("count"))
                    .map(|_| {
                        let place = Vec3::from_fn(|i, _| min[i] + (max[i] - min[i]) * random.unit());
                        let turn = random.rotation();
                        let mut copy = shifted(&own, place);
                        copy.isometry.rotation = turn * copy.isometry.rotation;
                        copy
                    })
                    .collect()
            }
        }
    }

    fn geometry(&mut self, node: &Node, kind: &str) -> Option<Geometry> {
        match (node.has("mesh"), node.value.get("shape")) {
            (true, None) => {
                if node.has("size") && node.has("scale") {
                    self.complain(node, "scale", "a mesh has either a size or a scale; remove one of them");
                }
                let resolution = node.integer("resolution") as u32;
                (kind == "deformable").then(|| Geometry::Mesh { file: node.text("mesh"), resolution, size: node.opt_number("size") })
            }
            (false, Some(shape)) => {
                for key in ["size", "resolution"] {
                    if node.has(key) {
                        let inside = if key == "size" { "the measures are" } else { "the number of cells is" };
                        self.complain(node, key, format!("this is for meshes; {inside} given inside the shape"));
                    }
                }
                self.shape(node, shape, kind)
            }
            (true, Some(_)) => {
                self.complain(node, "shape", "a body has either a mesh or a shape; remove one of them");
                None
            }
            (false, None) => {
                let problem = "neither mesh nor shape is given; name a mesh file or describe a shape";
                self.complaints.add(node.value.origin, node.path.clone(), problem);
                None
            }
        }
    }

    fn shape(&mut self, body: &Node, value: &Value, kind: &str) -> Option<Geometry> {
        let Some(Kind::Variants(variants)) = body.table.field("shape").map(|f| f.kind) else { unreachable!("declared as variants") };
        let tag = value.get("type").and_then(Value::text).expect(CHECKED);
        let (_, table) = variants.iter().find(|(t, _)| *t == tag).expect(CHECKED);
        let node = Node { value, table, path: body.key("shape") };
        self.only_for_kind(&node, kind);
        let resolution = || node.integer("resolution") as u32;
        let geometry = match tag {
            "box" => {
                let cells = node.integers("cells");
                if cells.iter().map(|&n| u64::from(n)).product::<u64>() > MAX_CELLS {
                    self.complain(&node, "cells", format!("these are more than {MAX_CELLS} cells in all; give less"));
                }
                Geometry::Box { size: node.vector("size"), cells }
            }
            "sphere" => Geometry::Sphere { radius: node.number("radius"), resolution: resolution() },
            "cylinder" => Geometry::Cylinder { radius: node.number("radius"), height: node.number("height"), resolution: resolution() },
            "torus" => {
                let (radius, tube_radius) = (node.number("radius"), node.number("tube_radius"));
                if tube_radius >= radius {
                    self.complain(&node, "tube_radius", format!("the tube must be thinner than the ring: give less than {radius} [m]"));
                }
                Geometry::Torus { radius, tube_radius, resolution: resolution() }
            }
            _ => Geometry::Plane,
        };
        match (&geometry, kind) {
            (Geometry::Plane, "deformable") => {
                self.complain(&node, "type", "a plane has no inside that could deform; use kind = \"static\" or another shape");
                None
            }
            (Geometry::Torus { .. }, "static" | "driven") => {
                self.complain(&node, "type", format!("a {kind} body is a plane, a box, a sphere or a cylinder; use one of them"));
                None
            }
            _ => Some(geometry),
        }
    }

    fn region(&mut self, node: &Node) -> Option<Region> {
        let extent = match (node.opt_vector("min"), node.opt_vector("max"), node.opt_text("side")) {
            (Some(min), Some(max), None) => {
                if (0..3).any(|i| min[i] > max[i]) {
                    self.complain(node, "max", "no coordinate of max may be below that of min; swap them");
                    return None;
                }
                Extent::Box(Aabb { min, max })
            }
            (None, None, Some(side)) => {
                let axis = "xyz".find(&side[..1]).expect(CHECKED);
                Extent::Side { axis, high: side.ends_with('+') }
            }
            _ => {
                let problem = "a region is either a box, with min and max, or a side; give one of the two";
                self.complaints.add(node.value.origin, node.path.clone(), problem);
                return None;
            }
        };
        Some(Region { extent, origin: node.value.origin, key: node.path.clone() })
    }

    /// The deformable body that a force or probe names.
    fn target(&mut self, node: &Node, bodies: &[BodyContent]) -> Option<Target> {
        let name = node.text("body");
        for (body, content) in bodies.iter().enumerate() {
            let Some(copy) = content.copy_of_name(&name) else { continue };
            if matches!(content.role, Role::Obstacle { .. }) {
                self.complain(node, "body", format!("\"{name}\" is not deformable; name a deformable body"));
                return None;
            }
            let Some(copy) = copy else {
                let last = content.placements.len() - 1;
                self.complain(node, "body", format!("\"{name}\" has copies; name one of \"{name}[0]\" to \"{name}[{last}]\""));
                return None;
            };
            return Some(Target { body, copy });
        }
        let names = bodies.iter().filter(|b| matches!(b.role, Role::Deformable { .. })).map(|b| b.name.as_str());
        self.complain(node, "body", unknown(&format!("there is no body \"{name}\""), &name, names));
        None
    }

    fn pairs(&mut self, contact: &Node, bodies: &[BodyContent]) -> Vec<(usize, usize, f64)> {
        let mut pairs = vec![];
        for node in contact.list("pair") {
            let [a, b] = ["a", "b"].map(|key| {
                let name = node.text(key);
                let found = bodies.iter().position(|body| body.name == name);
                if found.is_none() {
                    let names = bodies.iter().map(|b| b.name.as_str());
                    self.complain(&node, key, unknown(&format!("there is no body \"{name}\""), &name, names));
                }
                found
            });
            let (Some(a), Some(b)) = (a, b) else { continue };
            let deformable = |i: usize| matches!(bodies[i].role, Role::Deformable { .. });
            let (soft, hard) = match (deformable(a), deformable(b)) {
                (true, false) => (a, b),
                (false, true) => (b, a),
                (true, true) => {
                    let problem = "contact between deformable bodies is not part of this version; pair one with a static or driven body";
                    self.complain(&node, "b", problem);
                    continue;
                }
                (false, false) => {
                    self.complain(&node, "b", "two bodies that nothing moves do not react to contact; pair one with a deformable body");
                    continue;
                }
            };
            if pairs.iter().any(|(s, h, _)| (*s, *h) == (soft, hard)) {
                self.complain(&node, "b", "this pair is given twice; remove one of the two");
            }
            pairs.push((soft, hard, node.number("friction")));
        }
        pairs
    }

    fn forces(&mut self, root: &Node, bodies: &[BodyContent]) -> Vec<ForceContent> {
        let mut forces = vec![];
        for node in root.list("force") {
            let region = node.opt_table("region").map(|r| self.region(&r));
            let (start, end) = (node.number("start"), node.opt_number("end").unwrap_or(f64::INFINITY));
            if end <= start {
                self.complain(&node, "end", format!("the force must end after its start at {start} s"));
            }
            if let Some(target) = self.target(&node, bodies) {
                forces.push(ForceContent { target, region: region.flatten(), force: node.vector("force"), start, end });
            }
        }
        forces
    }

    fn probes(&mut self, root: &Node, bodies: &[BodyContent]) -> Vec<ProbeContent> {
        let nodes = root.list("probe");
        self.unique(&nodes, "probes");
        let mut probes = vec![];
        for node in &nodes {
            let region = node.opt_table("region").map(|r| self.region(&r));
            if let Some(target) = self.target(node, bodies) {
                probes.push(ProbeContent { name: node.text("name"), target, region: region.flatten() });
            }
        }
        probes
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
    /// If `name` means this body: which copy, or none when it stands for all of several.
    fn copy_of_name(&self, name: &str) -> Option<Option<usize>> {
        if name == self.name {
            return Some((!self.copied).then_some(0));
        }
        let index = name.strip_prefix(&self.name)?.strip_prefix('[')?.strip_suffix(']')?;
        index.parse().ok().filter(|&i| self.copied && i < self.placements.len()).map(Some)
    }

    /// Name of a copy in the model.
    pub fn copy_name(&self, copy: usize) -> String {
        if self.copied { format!("{}[{copy}]", self.name) } else { self.name.clone() }
    }
}

fn material(node: &Node) -> Material {
    Material {
        model: MaterialModel::Corotational,
        young_modulus: node.number("young_modulus"),
        poisson_ratio: node.number("poisson_ratio"),
        density: node.number("density"),
        mass_damping: node.number("mass_damping"),
        stiffness_damping: node.number("stiffness_damping"),
    }
}

fn placement(node: &Node) -> Transform {
    local(node.vector("position"), node.vector("rotation"), node.number("scale"))
}

fn shifted(transform: &Transform, by: Vec3) -> Transform {
    let mut result = *transform;
    result.isometry.translation.vector += by;
    result
}
