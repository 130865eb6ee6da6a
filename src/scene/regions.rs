//! Parts of a body by place.

use super::value::Origin;
use crate::math::{Aabb, Vec3};
use crate::mesh::TetMesh;
use crate::model::NamedMaterial;

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
    pub material: NamedMaterial,
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

#[derive(Clone, Debug)]
pub enum Extent {
    /// A box along the world's axes.
    Box(Aabb),
    /// The side of the body's own box at the low or high end of an axis.
    Side { axis: usize, high: bool },
    /// Balls in the world: centres and radii.
    Spheres(Vec<(Vec3, f64)>),
}

/// Points this part of the body's size outside still belong to a region: rounding must not decide.
const TOLERANCE: f64 = 1e-6;

impl Region {
    /// Indices of the points inside. `bounds`: the body's box.
    pub fn select(&self, points: &[Vec3], bounds: &Aabb) -> Vec<u32> {
        let tolerance = TOLERANCE * bounds.extent().max();
        let inside = |p: &Vec3| match &self.extent {
            Extent::Box(Aabb { min, max }) => (0..3).all(|i| p[i] >= min[i] - tolerance && p[i] <= max[i] + tolerance),
            Extent::Side { axis, high: false } => p[*axis] <= bounds.min[*axis] + tolerance,
            Extent::Side { axis, high: true } => p[*axis] >= bounds.max[*axis] - tolerance,
            Extent::Spheres(spheres) => spheres.iter().any(|(center, radius)| (p - center).norm() <= radius + tolerance),
        };
        (0..points.len() as u32).filter(|&i| inside(&points[i as usize])).collect()
    }

    /// The elements of this part: those with a node at a side, those whose centre is inside of all others. Each is of
    /// `parts` tets in a row.
    pub fn select_elements(&self, tets: &TetMesh, parts: usize) -> Vec<u32> {
        let bounds = Aabb::of(&tets.positions);
        if let Extent::Side { .. } = self.extent {
            let mut is_there = vec![false; tets.positions.len()];
            self.select(&tets.positions, &bounds).into_iter().for_each(|node| is_there[node as usize] = true);
            let touches = |of_element: &[[u32; 4]]| of_element.as_flattened().iter().any(|node| is_there[*node as usize]);
            return (0..).zip(tets.tets.chunks(parts)).filter(|(_, tets)| touches(tets)).map(|(element, _)| element).collect();
        }
        self.select(&centers(tets, parts), &bounds)
    }
}

/// The centres of elements, each of `parts` tets in a row.
pub fn centers(tets: &TetMesh, parts: usize) -> Vec<Vec3> {
    let center = |of_element: &[[u32; 4]]| {
        let nodes = of_element.as_flattened();
        nodes.iter().map(|n| tets.positions[*n as usize]).sum::<Vec3>() / nodes.len() as f64
    };
    tets.tets.chunks(parts).map(center).collect()
}
