//! The collision geometry of a model.

use std::ops::Range;

use rayon::prelude::*;

use crate::body::{BodyNumbering, BodyRef};
use crate::contact::islands::Island;
use crate::geometry::{HostTet, Hosts, Mesh, MeshError, Mobility, Shape, group};
use crate::math::{Isometry, Vec3};
use crate::model::{Lists, Model};

/// Vertices of the deformable bodies' collision surfaces, then those of the rigid bodies, then the corners of the boxes
/// among the obstacles (which have edges; the round ones and planes stay exact shapes).
#[derive(Debug)]
pub struct Surfaces {
    /// Its bodies are numbered by `numbering`.
    pub mesh: Mesh,
    pub numbering: BodyNumbering,
    /// All vertices where the model starts [m].
    pub rest: Vec<Vec3>,
    /// Carrier and place in its frame of every vertex after the deformable ones: a rigid body or an obstacle.
    pub carried_vertices: Vec<(BodyRef, Vec3)>,
    /// The edges and the triangles at each vertex, in order.
    pub edges_at: Lists,
    pub triangles_at: Lists,
    /// Of each deformable and each rigid body.
    features: Vec<Features>,
    /// The vertices of each deformable body, [`GROUP`] neighbours after each other; none of small ones, or where no
    /// obstacle is of exact shape.
    pub neighbours: Vec<Vec<u32>>,
    /// All bodies.
    pub whole: Island,
}

/// Vertices of a group of neighbours.
pub const GROUP: usize = 16;
/// A body with fewer vertices has no groups.
const FEWEST: usize = 512;

/// The features of a body in the collision mesh.
#[derive(Clone, Debug)]
pub struct Features {
    pub vertices: Range<usize>,
    pub edges: Range<usize>,
    pub triangles: Range<usize>,
}

impl Surfaces {
    pub fn new(model: &Model) -> Result<Self, MeshError> {
        let mut triangles = model.collision.triangles.clone();
        let mut bodies = model.collision.bodies.clone();
        let mut carried_vertices = vec![];
        let mut ranges: Vec<_> = model.bodies.iter().map(|b| [b.collision_vertices.clone(), b.collision_triangles.clone()]).collect();
        let of_body = |b: &crate::model::Body| if b.self_contact { Mobility::Deformable } else { Mobility::PassesThroughItself };
        let mut mobilities: Vec<_> = model.bodies.iter().map(of_body).collect();
        for (r, rigid) in model.rigid_bodies.iter().enumerate() {
            let (number, first, first_triangle) = (mobilities.len() as u32, bodies.len(), triangles.len());
            triangles.extend(rigid.triangles.iter().map(|t| t.map(|v| v + first as u32)));
            bodies.extend(std::iter::repeat_n(number, rigid.vertices.len()));
            carried_vertices.extend(rigid.vertices.iter().map(|v| (BodyRef::Rigid(r as u32), *v)));
            ranges.push([first..bodies.len(), first_triangle..triangles.len()]);
            mobilities.push(if rigid.is_free() { Mobility::Rigid } else { Mobility::Immovable });
        }
        for (o, obstacle) in model.obstacles.iter().enumerate() {
            let number = mobilities.len() as u32;
            mobilities.push(Mobility::Immovable);
            let Shape::Box { half_extents } = obstacle.shape else { continue };
            let first = bodies.len() as u32;
            let corner = |i: usize| Vec3::from_fn(|axis, _| if i >> axis & 1 == 1 { half_extents[axis] } else { -half_extents[axis] });
            triangles.extend(BOX_TRIANGLES.map(|t| t.map(|v| v + first)));
            bodies.extend([number; 8]);
            carried_vertices.extend((0..8).map(|i| (BodyRef::Obstacle(o as u32), corner(i))));
        }
        let mesh = Mesh::new(triangles, bodies, mobilities)?;
        let first_edge = |vertex: usize| mesh.edges.partition_point(|e| (e[0] as usize) < vertex);
        let features = ranges.into_iter().map(|[vertices, triangles]| Features {
            edges: first_edge(vertices.start)..first_edge(vertices.end),
            vertices,
            triangles,
        });
        let features = features.collect();
        let lists = |pairs: &mut dyn Iterator<Item = (u32, u32)>| Lists::from_pairs(mesh.body.len(), &pairs.collect::<Vec<_>>());
        let edges_at = lists(&mut (0..).zip(&mesh.edges).flat_map(|(e, ends)| ends.map(|v| (v, e))));
        let triangles_at = lists(&mut (0..).zip(&mesh.triangles).flat_map(|(t, corners)| corners.map(|v| (v, t))));
        let mut rest = model.collision.positions(&model.rest_positions);
        let pose_at_start = |carrier: &BodyRef| match carrier {
            BodyRef::Rigid(_) => model.rigid_bodies[carrier.index()].pose,
            BodyRef::Obstacle(_) => model.obstacles[carrier.index()].pose_at(0.0),
            BodyRef::Deformable(_) | BodyRef::World => Isometry::identity(),
        };
        rest.extend(carried_vertices.iter().map(|(carrier, v)| (pose_at_start(carrier) * nalgebra::Point3::from(*v)).coords));
        let has_exact_shapes = model.obstacles.iter().any(|obstacle| !matches!(obstacle.shape, Shape::Box { .. }));
        let neighbours_of = |body: &crate::model::Body| {
            if !has_exact_shapes || body.collision_vertices.len() < FEWEST {
                return vec![];
            }
            let mut vertices: Vec<_> = body.collision_vertices.clone().map(|v| (rest[v], v as u32)).collect();
            group(&mut vertices, GROUP);
            vertices.into_iter().map(|(_, v)| v).collect()
        };
        let neighbours = model.bodies.par_iter().map(neighbours_of).collect();
        let (numbering, whole) = (model.numbering(), Island::whole(model));
        Ok(Self { mesh, numbering, rest, carried_vertices, edges_at, triangles_at, features, neighbours, whole })
    }

    /// The tets that carry the vertices of the deformable bodies.
    pub fn hosts(model: &Model) -> Hosts {
        let collision = &model.collision;
        let mut hosts = Hosts { starts: vec![0], ..Hosts::default() };
        for (nodes, weights) in collision.nodes.iter().zip(&collision.weights) {
            let at_first = model.node_corners.get(nodes[0] as usize).iter().map(|corner| corner / 4);
            if weights[0] == 1.0 {
                hosts.of_vertices.extend(at_first);
            } else {
                hosts.of_vertices.extend(at_first.filter(|tet| nodes.iter().all(|node| model.tets[*tet as usize].nodes.contains(node))));
            }
            hosts.starts.push(hosts.of_vertices.len() as u32);
        }
        hosts.tets = model
            .tets
            .iter()
            .map(|tet| HostTet {
                nodes: tet.nodes,
                corners: tet.nodes.map(|node| model.rest_positions[node as usize]),
                gradients: tet.gradients,
            })
            .collect();
        hosts
    }

    /// No edge of a triangle at a vertex is longer than this, with the vertices at `x` [m]: no side of a triangle is
    /// longer than both others together.
    pub fn size_at(&self, vertex: u32, x: &[Vec3]) -> f64 {
        let edges = self.edges_at.get(vertex as usize).iter().map(|e| self.mesh.edges[*e as usize]);
        2.0 * edges.map(|[a, b]| (x[a as usize] - x[b as usize]).norm_squared()).fold(0.0, f64::max).sqrt()
    }

    /// The body of a vertex of the mesh.
    pub fn body_of_vertex(&self, vertex: u32) -> BodyRef {
        self.numbering.body(self.mesh.body[vertex as usize] as usize)
    }

    /// The features of a deformable or rigid body; none of others.
    pub fn features(&self, body: BodyRef) -> &Features {
        const NONE: &Features = &Features { vertices: 0..0, edges: 0..0, triangles: 0..0 };
        self.numbering.number(body).and_then(|number| self.features.get(number)).unwrap_or(NONE)
    }
}

/// Of a box whose corner i has the signs of the bits of i, seen from outside.
const BOX_TRIANGLES: [[u32; 3]; 12] =
    [[0, 2, 3], [0, 3, 1], [4, 5, 7], [4, 7, 6], [0, 1, 5], [0, 5, 4], [2, 6, 7], [2, 7, 3], [0, 4, 6], [0, 6, 2], [1, 3, 7], [1, 7, 5]];
