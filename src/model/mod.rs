//! What does not change while a simulation runs: bodies, rest geometry, masses, fixed nodes, the matrix pattern.
//!
//! All deformable bodies share one numbering of nodes, tets and surface vertices, so that every kernel is one loop.

mod attachment;
mod build;
mod fixed;
mod friction;
mod later_pose;
mod loads;
mod materials;
mod motion;
mod obstacle;
mod params;
mod rigid;
mod state;
mod warm_start;

pub use attachment::{Attachment, End};
pub use build::{ModelBuilder, ModelError, SoftBody};
pub use fixed::{Ball, Extent, FixedParts, element_centers};
pub use friction::{Friction, FrictionTable, PairFriction};
pub use loads::{Grab, HeldPoint, Loads, MAX_GRABS};
pub use materials::NamedMaterial;
pub use motion::{Keyframe, Keyframes, Motion};
pub use obstacle::Obstacle;
pub use params::{AcceptancePolicy, ContactMethod, ElasticPrecision, GapPolicy, Integration, Params, Preconditioner};
pub use rigid::{Mobility, RigidBody};
pub use state::{History, InjectivityProof, LaterPose, RigidState, State, StepSpan};
pub use warm_start::{PairId, PairKind, WarmContact, WarmStart};

use std::ops::Range;
use std::sync::Arc;

use crate::body::{BodyNumbering, BodyRef};
use crate::element::{Cell, Element, ElementKind, Tet4, Tet10};
use crate::material::Material;
use crate::math::Vec3;
use crate::mesh::{CornerNormals, SurfaceParts};
use crate::sparse::Pattern;

/// The constant part of a simulation.
#[derive(Clone, Debug)]
pub struct Model {
    /// Deformable bodies in scene order.
    pub bodies: Vec<Body>,
    /// Rigid bodies with a mesh: free ones, and static or driven ones.
    pub rigid_bodies: Vec<RigidBody>,
    /// Of each: normals of the corners of its triangles in its frame, if its mesh has some (`SurfaceMesh::normals`).
    pub rigid_normals: Vec<Option<Vec<CornerNormals>>>,
    /// Static and driven bodies of an exact shape, in scene order.
    pub obstacles: Vec<Obstacle>,
    /// Springs between bodies, in scene order.
    pub attachments: Vec<Attachment>,
    /// Friction coefficients of pairs that are not a deformable body and an obstacle.
    pub friction: FrictionTable,
    /// Node positions at rest [m], in the world frame.
    pub rest_positions: Vec<Vec3>,
    /// Lumped mass of each node [kg], a quarter of each tet.
    pub node_masses: Vec<f64>,
    /// Velocities at the start [m/s].
    pub initial_velocities: Vec<Vec3>,
    /// Where nodes start, from where they are at rest [m].
    pub initial_displacements: Vec<Vec3>,
    /// Nodes that never move.
    pub fixed: Vec<bool>,
    /// The parts by which the scene or a command says that.
    pub fixed_parts: Vec<FixedParts>,
    /// Body of each node.
    pub node_bodies: Vec<u32>,
    /// Where bodies are: contact, pictures and files know these alone. Of bodies of linear elements they are the
    /// elements, too.
    pub tets: Vec<Tet>,
    /// Elements of [`ElementKind::Averaged`] bodies.
    pub cells: Vec<Cell>,
    /// Elements of [`ElementKind::Quadratic`] bodies.
    pub tets10: Vec<Tet10>,
    /// What tets are made of, each once.
    pub materials: Vec<Material>,
    /// How each of these follows from the named ones.
    pub(crate) derivations: Vec<materials::Derivation>,
    /// What bodies and regions are made of by the scene.
    pub named_materials: Vec<NamedMaterial>,
    /// What is drawn, picked and recorded.
    pub surface: Arc<Surface>,
    /// What touches: the drawn surface itself, unless a body has another one for that.
    pub collision: Arc<Surface>,
    /// Where the 3x3 blocks of the system matrix stand.
    pub pattern: Pattern,
    /// For each mesh edge (`pattern.edges`), the tets that share it and which corners its two nodes are.
    pub edge_tets: EdgeTets,
    /// For each edge, the blocks of cells and tets of ten nodes that it gets ([`Model::patch_edge`]); no lists where
    /// there are no such elements.
    pub edge_patches: Lists,
    /// For each node, the tet corners that stand on it ([`Element::corner_item`]).
    pub node_corners: Lists,
    /// For each node, the corners of cells and tets of ten nodes ([`Model::first_corner_of_tets10`]); no lists where
    /// there are no such elements.
    pub node_patches: Lists,
}

/// A deformable body: ranges into the shared arrays.
#[derive(Clone, Debug)]
pub struct Body {
    pub name: String,
    /// What it is made of where no region of it says otherwise.
    pub material: Material,
    pub(crate) derivation: materials::Derivation,
    pub nodes: Range<usize>,
    pub tets: Range<usize>,
    pub element: ElementKind,
    /// Its elements among `Model::cells` or `Model::tets10`; none of linear ones.
    pub patches: Range<usize>,
    /// Vertices of the drawn surface.
    pub vertices: Range<usize>,
    /// Triangles of the drawn surface.
    pub triangles: Range<usize>,
    /// Vertices of the surface that touches.
    pub collision_vertices: Range<usize>,
    /// Triangles of the surface that touches.
    pub collision_triangles: Range<usize>,
    /// What touches is not what is drawn.
    pub has_own_collision: bool,
    /// Total mass [kg].
    pub mass: f64,
    /// Rest volume [m^3].
    pub volume: f64,
    /// Rayleigh damping proportional to mass [1/s]: the mean over its tets by mass, as drag acts on the body as a
    /// whole.
    pub mass_damping: f64,
    /// Colour to draw it with, linear RGB, if the scene says.
    pub color: Option<[f32; 3]>,
    /// Parts of its surface do not pass through each other.
    pub self_contact: bool,
    /// Of the corners of the triangles of the drawn surface, if it has a texture (`SurfaceMesh::texture_coordinates`).
    pub texture_coordinates: Option<Vec<[[f32; 2]; 3]>>,
    /// Of the drawn surface, if its file names or paints some (`SurfaceMesh::parts`); without colours where the scene
    /// gives the body one.
    pub parts: Option<SurfaceParts>,
    /// The same of normals at rest (`SurfaceMesh::normals`).
    pub normals: Option<Vec<CornerNormals>>,
}

/// A linear tetrahedron at rest.
#[derive(Clone, Copy, Debug)]
pub struct Tet {
    pub nodes: [u32; Tet4::NODES],
    /// grad N_c [1/m] in the rest configuration; the four sum to zero.
    pub gradients: [Vec3; Tet4::NODES],
    /// Rest volume [m^3].
    pub volume: f64,
    /// Index of its material.
    pub material: u32,
    pub body: u32,
}

/// Surfaces of all deformable bodies: those that are drawn and picked, or those that are in contact. Vertex `k` is the
/// material point
/// `sum_c weights[k][c] * x[nodes[k][c]]` (the mapping H of J = C H; a node of the boundary has the weights 1, 0, 0,
/// 0).
#[derive(Clone, Debug, Default)]
pub struct Surface {
    pub nodes: Vec<[u32; 4]>,
    pub weights: Vec<[f64; 4]>,
    /// Outward-facing triangles over surface vertices.
    pub triangles: Vec<[u32; 3]>,
    /// Body of each vertex.
    pub bodies: Vec<u32>,
}

/// Lists of different length in one array: list `i` is `items[starts[i]..starts[i + 1]]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lists {
    pub starts: Vec<u32>,
    pub items: Vec<u32>,
}

impl Lists {
    pub fn get(&self, i: usize) -> &[u32] {
        &self.items[self.starts[i] as usize..self.starts[i + 1] as usize]
    }

    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lists from (list, item) pairs; the items of a list keep the order of the pairs.
    pub fn from_pairs(n_lists: usize, pairs: &[(u32, u32)]) -> Self {
        let mut starts = vec![0u32; n_lists + 1];
        for &(list, _) in pairs {
            starts[list as usize + 1] += 1;
        }
        for i in 0..n_lists {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut items = vec![0u32; pairs.len()];
        for &(list, item) in pairs {
            items[next[list as usize] as usize] = item;
            next[list as usize] += 1;
        }
        Self { starts, items }
    }
}

impl Surface {
    pub fn n_vertices(&self) -> usize {
        self.nodes.len()
    }

    /// Positions of the vertices for node positions `x`.
    pub fn positions(&self, x: &[Vec3]) -> Vec<Vec3> {
        self.nodes.iter().zip(&self.weights).map(|(nodes, weights)| interpolate(x, nodes, weights)).collect()
    }
}

/// For edge e, from its lower node i to its higher node j: the corners i and j of the tets around it
/// ([`Element::edge_item`]).
pub type EdgeTets = Lists;

impl Model {
    /// False where there is one body only that does not meet itself, and nothing for it to meet.
    pub fn may_touch(&self) -> bool {
        let links = self.obstacles.len() + self.attachments.len();
        links > 0 || self.bodies.len() + self.rigid_bodies.len() > 1 || self.bodies.iter().any(|body| body.self_contact)
    }

    /// Whether a body starts in another shape than it has at rest.
    pub fn starts_deformed(&self, body: &Body) -> bool {
        self.initial_displacements[body.nodes.clone()].iter().any(|u| *u != Vec3::zeros())
    }

    /// Rayleigh damping of a node proportional to mass, alpha [1/s]: that of its body.
    pub fn mass_damping(&self, node: usize) -> f64 {
        self.bodies[self.node_bodies[node] as usize].mass_damping
    }

    /// Rows of state that materials keep beside the rotations of their elements.
    pub fn n_state_rows(&self) -> usize {
        self.tets.iter().map(|tet| self.material(tet).state_rows()).sum()
    }

    /// Places in [`State::rotations`] of what the elements of the body number `body` remember: the rotations of its tets,
    /// and the other rows.
    pub fn element_rows(&self, body: usize) -> [Range<usize>; 2] {
        let tets = self.bodies[body].tets.clone();
        let n_rows = |tets: &[Tet]| tets.iter().map(|tet| self.material(tet).state_rows()).sum::<usize>();
        let first = self.tets.len() + n_rows(&self.tets[..tets.start]);
        let n = n_rows(&self.tets[tets.clone()]);
        [tets, first..first + n]
    }

    /// The materials of a body that damp vibrations, one of those that damp alike.
    pub fn damping_materials(&self, body: &Body) -> Vec<&Material> {
        let mut found: Vec<&Material> = vec![];
        for material in self.tets[body.tets.clone()].iter().map(|tet| self.material(tet)) {
            let damping = |m: &Material| [m.mass_damping, m.stiffness_damping];
            if damping(material) != [0.0; 2] && found.iter().all(|known| damping(known) != damping(material)) {
                found.push(material);
            }
        }
        found
    }

    /// Corners of elements of several tets: eight of each cell, then ten of each tet of ten nodes.
    pub fn n_patch_corners(&self) -> usize {
        self.first_corner_of_tets10() + Tet10::NODES * self.tets10.len()
    }

    pub fn first_corner_of_tets10(&self) -> usize {
        Cell::NODES * self.cells.len()
    }

    /// The corners of the patches of a body.
    pub fn patch_corners(&self, body: &Body) -> Range<usize> {
        let Range { start, end } = body.patches;
        match body.element {
            ElementKind::Linear => 0..0,
            ElementKind::Averaged => Cell::NODES * start..Cell::NODES * end,
            ElementKind::Quadratic => {
                let first = self.first_corner_of_tets10();
                first + Tet10::NODES * start..first + Tet10::NODES * end
            }
        }
    }

    /// Blocks that the edges of elements of several tets have in the element pass.
    pub fn n_patch_edges(&self) -> usize {
        Cell::EDGES * self.cells.len() + Tet10::EDGES * self.tets10.len()
    }

    /// How lists of edges name a block of the element pass: its place, and whether it is taken transposed.
    pub fn patch_edge(place: usize, transposed: bool) -> u32 {
        2 * place as u32 + u32::from(transposed)
    }

    pub fn material(&self, tet: &Tet) -> &Material {
        &self.materials[tet.material as usize]
    }

    pub fn n_nodes(&self) -> usize {
        self.rest_positions.len()
    }

    /// Of the drawn surface.
    pub fn n_vertices(&self) -> usize {
        self.surface.n_vertices()
    }

    /// Blocks of three unknowns: one a node, then two a rigid body (`linear_unknown`, `angular_unknown`).
    pub fn n_unknowns(&self) -> usize {
        self.n_nodes() + 2 * self.rigid_bodies.len()
    }

    /// The body that an unknown belongs to.
    pub fn body_of_unknown(&self, unknown: usize) -> BodyRef {
        match unknown.checked_sub(self.n_nodes()) {
            None => BodyRef::Deformable(self.node_bodies[unknown]),
            Some(rigid) => BodyRef::Rigid(rigid as u32 / 2),
        }
    }

    /// Velocity of the centre of mass of a rigid body.
    pub fn linear_unknown(&self, rigid: usize) -> usize {
        self.n_nodes() + 2 * rigid
    }

    /// Angular velocity of a rigid body, in space.
    pub fn angular_unknown(&self, rigid: usize) -> usize {
        self.linear_unknown(rigid) + 1
    }

    /// How all bodies are numbered in tables.
    pub fn numbering(&self) -> BodyNumbering {
        BodyNumbering { n_deformable: self.bodies.len(), n_rigid: self.rigid_bodies.len() }
    }

    pub fn body_name(&self, body: BodyRef) -> &str {
        match body {
            BodyRef::Deformable(_) => &self.bodies[body.index()].name,
            BodyRef::Rigid(_) => &self.rigid_bodies[body.index()].name,
            BodyRef::Obstacle(_) => &self.obstacles[body.index()].name,
            BodyRef::World => "the world",
        }
    }

    /// Whether a body has unknowns that change: deformable bodies and free rigid ones.
    pub fn is_movable(&self, body: BodyRef) -> bool {
        match body {
            BodyRef::Deformable(_) => true,
            BodyRef::Rigid(_) => self.rigid_bodies[body.index()].is_free(),
            BodyRef::Obstacle(_) | BodyRef::World => false,
        }
    }

    /// Coulomb's coefficient between two bodies; zero of the world, which touches nothing.
    pub fn friction_between(&self, a: BodyRef, b: BodyRef) -> f64 {
        match [a.min(b), a.max(b)] {
            [body @ BodyRef::Deformable(_), obstacle @ BodyRef::Obstacle(_)] => self.obstacles[obstacle.index()].friction[body.index()],
            [a, b] => match [a, b].map(|body| self.numbering().number(body)) {
                [Some(a), Some(b)] => self.friction.get(a, b),
                _ => 0.0,
            },
        }
    }

    /// How many triangles can be held: those of the deformable bodies, then those of the free rigid bodies.
    pub fn n_held_triangles(&self) -> usize {
        self.first_held_triangle(self.rigid_bodies.len())
    }

    /// In that numbering, the first triangle of a free rigid body.
    pub fn first_held_triangle(&self, rigid: usize) -> usize {
        let before = self.rigid_bodies[..rigid].iter().filter(|body| body.is_free());
        self.surface.triangles.len() + before.map(|body| body.triangles.len()).sum::<usize>()
    }

    /// The free rigid body that a triangle of that numbering belongs to, and the triangle in its mesh.
    pub fn held_rigid_triangle(&self, triangle: usize) -> Option<(usize, usize)> {
        let mut local = triangle.checked_sub(self.surface.triangles.len())?;
        for (r, body) in self.rigid_bodies.iter().enumerate().filter(|(_, body)| body.is_free()) {
            match local.checked_sub(body.triangles.len()) {
                None => return Some((r, local)),
                Some(rest) => local = rest,
            }
        }
        None
    }

    /// Positions of the vertices of the drawn surface for node positions `x`.
    pub fn surface_positions(&self, x: &[Vec3]) -> Vec<Vec3> {
        self.surface.positions(x)
    }

    /// That of one of them.
    pub fn surface_position(&self, x: &[Vec3], vertex: usize) -> Vec3 {
        interpolate(x, &self.surface.nodes[vertex], &self.surface.weights[vertex])
    }

    /// The first body whose collision surface is not the drawn one.
    pub fn body_with_own_collision(&self) -> Option<&Body> {
        self.bodies.iter().find(|body| body.has_own_collision)
    }

    /// Diagonal of the box around all rest positions [m]; a length scale for tolerances.
    pub fn size(&self) -> f64 {
        if self.rest_positions.is_empty() { 1.0 } else { crate::math::Aabb::of(&self.rest_positions).extent().norm() }
    }
}

/// `sum_c weights[c] * x[nodes[c]]`.
pub fn interpolate(x: &[Vec3], nodes: &[u32; 4], weights: &[f64; 4]) -> Vec3 {
    (0..4).map(|c| x[nodes[c] as usize] * weights[c]).sum()
}
