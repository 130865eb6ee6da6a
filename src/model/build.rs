//! From meshes and materials to the shared arrays of a `Model`.

use std::ops::Range;
use std::sync::Arc;

use super::materials::Derivation;
use super::{Body, FrictionTable, Lists, Model, NamedMaterial, Obstacle, RigidBody, Surface, Tet};
use crate::cancel::{CancelToken, Cancelled};
use crate::element::{Cell, Element, ElementKind, Patch, Tet4, Tet4Rest, Tet10};
use crate::math::Vec3;
use crate::mesh::{CornerNormals, Embedding, SurfaceParts, TetMesh, quadratic, softening};
use crate::sorting::sorted_unless;
use crate::sparse::Pattern;

/// A deformable body as it enters a model; all geometry in the world frame.
#[derive(Clone, Debug)]
pub struct SoftBody {
    pub name: String,
    pub material: NamedMaterial,
    /// Tets that are made of something else; what comes later prevails.
    pub regions: Vec<(NamedMaterial, Vec<u32>)>,
    /// Part of the volume of its tets that the body fills, in (0, 1]: it is as much lighter.
    pub filled: f64,
    pub tets: TetMesh,
    /// What the tets are for elasticity. Of [`ElementKind::Quadratic`] they are parts (`TetMesh::quadratic`), of
    /// [`ElementKind::Averaged`] a lattice.
    pub element: ElementKind,
    /// The drawn surface: its triangles, and where its vertices lie in the tets.
    pub surface_triangles: Vec<[u32; 3]>,
    pub embedding: Embedding,
    /// Of the corners of the triangles of the drawn surface, if it has a texture (`SurfaceMesh::texture_coordinates`).
    pub texture_coordinates: Option<Vec<[[f32; 2]; 3]>>,
    /// Of the drawn surface, if its file names or paints some (`SurfaceMesh::parts`).
    pub parts: Option<SurfaceParts>,
    /// The same of normals at rest (`SurfaceMesh::normals`).
    pub normals: Option<Vec<CornerNormals>>,
    /// The surface that touches, if it is not the drawn one.
    pub collision: Option<(Vec<[u32; 3]>, Embedding)>,
    /// Nodes that never move.
    pub fixed: Vec<bool>,
    /// Velocity of each node at the start [m/s].
    pub velocities: Vec<Vec3>,
    /// Where each node starts, from where it is at rest [m].
    pub displacements: Vec<Vec3>,
    pub color: Option<[f32; 3]>,
    /// Parts of the surface do not pass through each other, once they do not do so at the start
    /// ([`State::tangled`](super::State)).
    pub self_contact: bool,
}

#[derive(Debug, thiserror::Error, PartialEq)]
pub enum ModelError {
    #[error("tet {tet} of body \"{body}\" has volume {volume:.3e} m^3; every tet must have a positive volume (reorder or repair the mesh)")]
    NonPositiveVolume { body: String, tet: usize, volume: f64 },
    #[error("body \"{body}\" has no tets; give it a closed surface or a finer resolution")]
    Empty { body: String },
    #[error("node {node} of body \"{body}\" is not a finite point; repair the mesh or the body's transform")]
    NotFinite { body: String, node: usize },
    #[error("node {node} of body \"{body}\" belongs to no tet; remove unused nodes from the mesh")]
    Unused { body: String, node: usize },
    #[error(
        "body \"{body}\" has no elements \"averaged\": its tets are no cells of a lattice; fill it with voxels, or give it \"quadratic\" ones"
    )]
    NoCells { body: String },
    #[error("body \"{body}\" has no elements \"quadratic\": its tets are not eight parts each of tets of ten nodes that turn over nowhere")]
    NoTets10 { body: String },
    #[error("the building of the model was {0}")]
    Cancelled(#[from] Cancelled),
}

#[derive(Default)]
pub struct ModelBuilder {
    bodies: Vec<SoftBody>,
    rigid_bodies: Vec<RigidBody>,
    rigid_normals: Vec<Option<Vec<CornerNormals>>>,
    obstacles: Vec<Obstacle>,
    friction: FrictionTable,
}

impl SoftBody {
    /// A body whose surface is the boundary of its tets.
    pub fn with_boundary_surface(name: impl Into<String>, material: impl Into<NamedMaterial>, tets: TetMesh) -> Self {
        let skin = tets.boundary_skin();
        Self::with_surface(name, material, tets, skin)
    }

    /// A body with this drawn surface: triangles, and where their vertices lie in the tets.
    pub fn with_surface(
        name: impl Into<String>,
        material: impl Into<NamedMaterial>,
        tets: TetMesh,
        (surface_triangles, embedding): (Vec<[u32; 3]>, Embedding),
    ) -> Self {
        let n = tets.positions.len();
        Self {
            name: name.into(),
            material: material.into(),
            regions: vec![],
            filled: 1.0,
            tets,
            element: ElementKind::Linear,
            surface_triangles,
            embedding,
            texture_coordinates: None,
            parts: None,
            normals: None,
            collision: None,
            fixed: vec![false; n],
            velocities: vec![Vec3::zeros(); n],
            displacements: vec![Vec3::zeros(); n],
            color: None,
            self_contact: true,
        }
    }
}

impl ModelBuilder {
    pub fn soft_body(&mut self, body: SoftBody) -> &mut Self {
        self.bodies.push(body);
        self
    }

    pub fn rigid_body(&mut self, body: RigidBody) -> &mut Self {
        self.rigid_bodies.push(body);
        self.rigid_normals.push(None);
        self
    }

    /// Gives the last rigid body normals of the corners of its triangles, in its frame.
    pub fn rigid_normals(&mut self, normals: Option<Vec<CornerNormals>>) -> &mut Self {
        self.rigid_normals.pop();
        self.rigid_normals.push(normals);
        self
    }

    /// Friction between bodies of which none is an exact obstacle, and between rigid bodies and obstacles.
    pub fn friction(&mut self, friction: FrictionTable) -> &mut Self {
        self.friction = friction;
        self
    }

    pub fn obstacle(&mut self, obstacle: Obstacle) -> &mut Self {
        self.obstacles.push(obstacle);
        self
    }

    /// Joins everything into one numbering.
    pub fn build(self) -> Result<Model, ModelError> {
        self.build_unless(&CancelToken::default())
    }

    /// The same, which ends with [`ModelError::Cancelled`] soon after `cancel` is cancelled.
    pub fn build_unless(self, cancel: &CancelToken) -> Result<Model, ModelError> {
        let mut model = Model {
            bodies: vec![],
            rigid_bodies: self.rigid_bodies,
            rigid_normals: self.rigid_normals,
            obstacles: self.obstacles,
            attachments: vec![],
            friction: self.friction,
            rest_positions: vec![],
            node_masses: vec![],
            initial_velocities: vec![],
            initial_displacements: vec![],
            fixed: vec![],
            fixed_parts: vec![],
            node_bodies: vec![],
            tets: vec![],
            cells: vec![],
            tets10: vec![],
            materials: vec![],
            named_materials: vec![],
            derivations: vec![],
            surface: Arc::default(),
            collision: Arc::default(),
            pattern: Pattern::default(),
            edge_tets: Lists::default(),
            edge_patches: Lists::default(),
            node_corners: Lists::default(),
            node_patches: Lists::default(),
        };
        let mut drawn = Surface::default();
        let mut touching = self.bodies.iter().any(|body| body.collision.is_some()).then(Surface::default);
        let n_tets: usize = self.bodies.iter().map(|body| body.tets.tets.len()).sum();
        for (index, body) in self.bodies.into_iter().enumerate() {
            cancel.check()?;
            let [first, end] = [model.tets.len(), model.tets.len() + body.tets.tets.len()];
            let of_body = [first, end].map(|tets| APPENDING * tets as f32 / n_tets as f32);
            append(&mut model, &mut drawn, touching.as_mut(), index as u32, body, &cancel.part(of_body[0], of_body[1]))?;
        }
        model.surface = Arc::new(drawn);
        model.collision = touching.map_or_else(|| model.surface.clone(), Arc::new);
        model.weigh();
        connect(&mut model, &cancel.part(APPENDING, 1.0))?;
        Ok(model)
    }
}

/// Part of the building of a model that is not [`connect`].
const APPENDING: f32 = 0.3;

/// `touching`: what touches, if that is not what is drawn of all bodies.
fn append(
    model: &mut Model,
    drawn: &mut Surface,
    touching: Option<&mut Surface>,
    index: u32,
    body: SoftBody,
    cancel: &CancelToken,
) -> Result<(), ModelError> {
    let (first_node, first_tet) = (model.n_nodes(), model.tets.len());
    let SoftBody {
        name,
        material,
        regions,
        filled,
        tets,
        element,
        surface_triangles,
        embedding,
        texture_coordinates,
        parts,
        normals,
        collision,
        fixed,
        velocities,
        displacements,
        color,
        self_contact,
    } = body;
    if tets.tets.is_empty() {
        return Err(ModelError::Empty { body: name });
    }
    if let Some(node) = tets.positions.iter().position(|p| !p.iter().all(|c| c.is_finite())) {
        return Err(ModelError::NotFinite { body: name, node });
    }
    // The material of the body comes first, whether all tets are made of it or none.
    let own = Derivation { named: model.named_material(&material), stiffness: 1.0, filled };
    let material_of_body = model.tet_material(own);
    let mut named = vec![own.named; tets.tets.len()];
    for (material, tets) in &regions {
        let place = model.named_material(material);
        tets.iter().for_each(|tet| named[*tet as usize] = place);
    }
    let softer = softening(&tets);
    let offset = first_node as u32;
    let mut is_used = vec![false; tets.positions.len()];
    for (t, nodes) in tets.tets.iter().enumerate() {
        cancel.check_item(t, tets.tets.len())?;
        let Tet4Rest { gradients, volume } = match Tet4Rest::new(&nodes.map(|n| tets.positions[n as usize])) {
            Ok(rest) => rest,
            Err(volume) => return Err(ModelError::NonPositiveVolume { body: name, tet: t, volume }),
        };
        nodes.iter().for_each(|n| is_used[*n as usize] = true);
        // Parts of one element are of one material.
        let of_material = if element == ElementKind::Quadratic { t - t % quadratic::PARTS } else { t };
        let stiffness = softer.as_ref().map_or(1.0, |factors| factors[of_material]);
        let material = model.tet_material(Derivation { named: named[of_material], stiffness, filled });
        model.tets.push(Tet { nodes: nodes.map(|n| n + offset), gradients, volume, material, body: index });
    }
    if let Some(node) = is_used.iter().position(|used| !used) {
        return Err(ModelError::Unused { body: name, node });
    }
    let n = tets.positions.len();
    let patches = model.append_patches(&name, element, &tets, [first_node, first_tet])?;
    let (vertices, triangles) = drawn.append(index, offset, &surface_triangles, &embedding);
    let (collision_triangles, collision_embedding) = collision.as_ref().map_or((&surface_triangles, &embedding), |(t, e)| (t, e));
    let (collision_vertices, collision_triangles) = match touching {
        None => (vertices.clone(), triangles.clone()),
        Some(touching) => touching.append(index, offset, collision_triangles, collision_embedding),
    };
    model.bodies.push(Body {
        name,
        material: model.materials[material_of_body as usize],
        derivation: own,
        nodes: first_node..first_node + n,
        tets: first_tet..model.tets.len(),
        element,
        patches,
        vertices,
        triangles,
        collision_vertices,
        collision_triangles,
        has_own_collision: collision.is_some(),
        // Weighed once all bodies are there.
        mass: 0.0,
        volume: 0.0,
        mass_damping: 0.0,
        color,
        self_contact,
        texture_coordinates,
        parts,
        normals,
    });
    model.rest_positions.extend(tets.positions);
    model.node_masses.extend(std::iter::repeat_n(0.0, n));
    model.fixed.extend(fixed);
    model.initial_velocities.extend(velocities);
    model.initial_displacements.extend(displacements);
    model.node_bodies.extend(std::iter::repeat_n(index, n));
    Ok(())
}

impl Model {
    /// Adds the elements of a body whose tets are there; its first node and tet are given.
    fn append_patches(
        &mut self,
        body: &str,
        element: ElementKind,
        mesh: &TetMesh,
        [first_node, first_tet]: [usize; 2],
    ) -> Result<Range<usize>, ModelError> {
        match element {
            ElementKind::Linear => Ok(0..0),
            ElementKind::Averaged => {
                let no_cells = || ModelError::NoCells { body: body.into() };
                let first = self.cells.len();
                for cell in mesh.lattice_cells().ok_or_else(no_cells)? {
                    let tets = &self.tets[first_tet + cell.start..first_tet + cell.end];
                    let mut begin = first_tet + cell.start;
                    for same in tets.chunk_by(|a, b| a.material == b.material) {
                        let of_tets: Vec<_> = same.iter().map(|tet| (tet.nodes, tet.gradients, tet.volume)).collect();
                        self.cells.push(Cell::new(&of_tets, begin, same[0].material).ok_or_else(no_cells)?);
                        begin += same.len();
                    }
                }
                Ok(first..self.cells.len())
            }
            ElementKind::Quadratic => {
                let no_tets = || ModelError::NoTets10 { body: body.into() };
                let first = self.tets10.len();
                for (t, nodes) in mesh.ten_nodes().ok_or_else(no_tets)?.into_iter().enumerate() {
                    let (x, tet) = (nodes.map(|n| mesh.positions[n as usize]), first_tet + quadratic::PARTS * t);
                    let nodes = nodes.map(|n| n + first_node as u32);
                    self.tets10.push(Tet10::new(nodes, &x, tet, self.tets[tet].material).ok_or_else(no_tets)?);
                }
                Ok(first..self.tets10.len())
            }
        }
    }
}

impl Surface {
    /// Adds the surface of a body whose first node is `offset`; returns its vertices and triangles.
    fn append(&mut self, body: u32, offset: u32, triangles: &[[u32; 3]], embedding: &Embedding) -> (Range<usize>, Range<usize>) {
        let (first, first_triangle) = (self.n_vertices(), self.triangles.len());
        self.bodies.extend(std::iter::repeat_n(body, embedding.nodes.len()));
        self.nodes.extend(embedding.nodes.iter().map(|nodes| nodes.map(|n| n + offset)));
        self.weights.extend_from_slice(&embedding.weights);
        self.triangles.extend(triangles.iter().map(|t| t.map(|v| v + first as u32)));
        (first..self.n_vertices(), first_triangle..self.triangles.len())
    }
}

/// Edges, pattern and the gather lists.
fn connect(model: &mut Model, cancel: &CancelToken) -> Result<(), Cancelled> {
    let mut pairs: Vec<(u64, u32)> = Vec::with_capacity(model.tets.len() * Tet4::EDGES);
    for body in model.bodies.iter().filter(|body| body.element == ElementKind::Linear) {
        for t in body.tets.clone() {
            cancel.check_item(t, 10 * model.tets.len())?;
            edges_of(&model.tets[t].nodes, |key, corners| pairs.push((key, Tet4::edge_item(t, corners))));
        }
    }
    let mut patch_pairs = patch_pairs(&model.cells, 0);
    patch_pairs.extend(self::patch_pairs(&model.tets10, Cell::EDGES * model.cells.len()));
    cancel.check()?;
    let lower_node = |(key, _): &(u64, u32)| (key >> 32) as usize;
    let pairs = sorted_unless(&pairs, model.n_nodes(), lower_node, &cancel.part(0.1, 0.5))?;
    let patch_pairs = sorted_unless(&patch_pairs, model.n_nodes(), lower_node, &cancel.part(0.1, 0.5))?;
    // Bodies are of one kind of element, so that both lists have edges of their own.
    let keys = pairs.chunk_by(|a, b| a.0 == b.0).chain(patch_pairs.chunk_by(|a, b| a.0 == b.0)).map(|same| same[0].0);
    let mut keys: Vec<u64> = keys.collect();
    if !patch_pairs.is_empty() {
        keys.sort_unstable();
    }
    cancel.reached(0.6);
    cancel.check()?;
    model.edge_tets = lists_of(&keys, &pairs);
    cancel.check()?;
    model.edge_patches = if patch_pairs.is_empty() { Lists::default() } else { lists_of(&keys, &patch_pairs) };
    cancel.reached(0.7);
    cancel.check()?;
    model.pattern = Pattern::new(model.n_nodes(), keys.iter().map(|key| [(key >> 32) as u32, *key as u32]).collect());
    cancel.reached(0.9);
    cancel.check()?;
    let corners_of = |(t, tet): (usize, &Tet)| [0, 1, 2, 3].map(|c| (tet.nodes[c], Tet4::corner_item(t, c)));
    let corners: Vec<_> = model.tets.iter().enumerate().flat_map(corners_of).collect();
    model.node_corners = Lists::from_pairs(model.n_nodes(), &corners);
    if model.n_patch_corners() > 0 {
        let nodes = model.cells.iter().flat_map(|cell| &cell.nodes).chain(model.tets10.iter().flat_map(|tet| &tet.nodes));
        let corners: Vec<_> = nodes.copied().zip(0..).collect();
        model.node_patches = Lists::from_pairs(model.n_nodes(), &corners);
    }
    Ok(())
}

/// Calls `each` with the edges of an element: both nodes as one number, the lower first, and their corners.
fn edges_of<const N: usize>(nodes: &[u32; N], mut each: impl FnMut(u64, [usize; 2])) {
    for a in 0..N {
        for b in (a + 1..N).filter(|b| nodes[a] != nodes[*b]) {
            let mut corners = [a, b];
            corners.sort_unstable_by_key(|c| nodes[*c]);
            let [i, j] = corners.map(|c| u64::from(nodes[c]));
            each((i << 32) | j, corners);
        }
    }
}

/// The edges of elements, the first block of which is at `first`.
fn patch_pairs<const N: usize, const P: usize>(patches: &[Patch<N, P>], first: usize) -> Vec<(u64, u32)> {
    let mut pairs = Vec::with_capacity(patches.len() * Patch::<N, P>::EDGES);
    for (k, patch) in patches.iter().enumerate() {
        let first = first + k * Patch::<N, P>::EDGES;
        edges_of(&patch.nodes, |key, [i, j]| {
            let place = first + Patch::<N, P>::edge_number(i.min(j), i.max(j));
            pairs.push((key, Model::patch_edge(place, i > j)));
        });
    }
    pairs
}

/// For each of the ascending `keys` the items of its pairs, which are sorted.
fn lists_of(keys: &[u64], pairs: &[(u64, u32)]) -> Lists {
    let mut listed = Vec::with_capacity(pairs.len());
    let mut edge = 0;
    for (key, item) in pairs {
        while keys[edge] != *key {
            edge += 1;
        }
        listed.push((edge as u32, *item));
    }
    Lists::from_pairs(keys.len(), &listed)
}
