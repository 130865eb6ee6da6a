//! Contact forces that are remembered from step to step.

use crate::math::Vec3;

/// Which features of the surfaces meet. Vertices, edges and triangles are those of the collision mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PairKind {
    VertexObstacle,
    EdgeObstacle,
    TriangleObstacle,
    VertexTriangle,
    EdgeEdge,
}

impl PairKind {
    pub const ALL: [Self; 5] = [Self::VertexObstacle, Self::EdgeObstacle, Self::TriangleObstacle, Self::VertexTriangle, Self::EdgeEdge];

    /// As saved runs write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::VertexObstacle => "vertex_obstacle",
            Self::EdgeObstacle => "edge_obstacle",
            Self::TriangleObstacle => "triangle_obstacle",
            Self::VertexTriangle => "vertex_triangle",
            Self::EdgeEdge => "edge_edge",
        }
    }
}

/// A pair of features, the same from step to step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PairId {
    pub kind: PairKind,
    /// A vertex, edge or triangle.
    pub first: u32,
    /// An obstacle, a triangle or an edge.
    pub second: u32,
}

/// Active contacts at the end of a step: the warm start of the next one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WarmStart {
    /// Sorted by pair.
    pub entries: Vec<WarmContact>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarmContact {
    pub pair: PairId,
    /// Normal force [N], > 0.
    pub normal_force: f64,
    /// Force on the first body along the surface [N], world frame.
    pub friction_force: Vec3,
    pub sliding: bool,
    /// How far a sticking contact has slipped since it sticks [m], in space: what the tolerance left of each step.
    pub slip: Vec3,
    /// Where it is [m] and its normal, towards the first body; for drawing, not kept on disk.
    pub place: Option<[Vec3; 2]>,
}

impl WarmContact {
    /// Takes the forces of another point of the same pair; true.
    pub fn join(&mut self, other: &Self) -> bool {
        self.normal_force += other.normal_force;
        self.friction_force += other.friction_force;
        true
    }
}
