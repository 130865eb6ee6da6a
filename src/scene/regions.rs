//! Parts of a body by place.

use super::value::Origin;
use crate::math::{Aabb, Vec3};
use crate::mesh::TetMesh;
use crate::model::{Ball, Extent, NamedMaterial, element_centers};

#[derive(Clone, Debug)]
pub struct Region {
    pub extent: Extent,
    /// Where the file says it, for complaints about an empty one.
    pub origin: Origin,
    pub key: String,
}

/// A part of a body that is made of another material.
#[derive(Clone, Debug)]
pub struct MaterialRegion {
    /// None of spheres that erase what other spheres before them have painted.
    pub material: Option<NamedMaterial>,
    pub tets: TetChoice,
}

/// How a region chooses tets.
#[derive(Clone, Debug)]
pub enum TetChoice {
    Place(Region),
    /// By the number or name that the mesh file gives them.
    Tag {
        tag: String,
        origin: Origin,
        key: String,
    },
}

impl TetChoice {
    /// The balls of a stroke of paint.
    pub fn stroke(&self) -> Option<&[Ball]> {
        match self {
            Self::Place(Region { extent: Extent::Spheres(balls), .. }) => Some(balls),
            _ => None,
        }
    }
}

impl Region {
    /// Indices of the points of a body inside.
    pub fn select(&self, points: &[Vec3]) -> Vec<u32> {
        self.extent.select(points, &Aabb::of(points))
    }

    /// The elements of this part: those with a node at a side, those whose centre is inside of all others. Each is of
    /// `parts` tets in a row.
    pub fn select_elements(&self, tets: &TetMesh, parts: usize) -> Vec<u32> {
        if let Extent::Side { .. } = self.extent {
            let mut is_there = vec![false; tets.positions.len()];
            self.select(&tets.positions).into_iter().for_each(|node| is_there[node as usize] = true);
            let touches = |of_element: &[[u32; 4]]| of_element.as_flattened().iter().any(|node| is_there[*node as usize]);
            return (0..).zip(tets.tets.chunks(parts)).filter(|(_, tets)| touches(tets)).map(|(element, _)| element).collect();
        }
        self.select(&element_centers(&tets.positions, &tets.tets, parts))
    }
}
