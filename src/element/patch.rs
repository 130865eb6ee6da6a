//! Elements of several tets, whose points share one volume change.

use std::ops::Range;

use pulp::Simd;

use super::Element;
use crate::math::Vec3;
use crate::math::lanes::{Lanes, Matrix, Vector, minus, scaled, times_vector};
use crate::mesh::quadratic::{self, POINTS, jacobian, shape_derivatives};

/// What the tets of a body are for elasticity (`materials-study.md` 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ElementKind {
    /// Each is an element.
    #[default]
    Linear,
    /// Each is a point of a [`Cell`].
    Averaged,
    /// Eight are a [`Tet10`] (`mesh::quadratic`).
    Quadratic,
}

/// N nodes and P points of quadrature with one volume change: the mean of those of its points.
///
/// The split of the energy: what does not come from the volume change is summed over the points, each with its own
/// deformation; the energy of the volume change is U of the mean. Its slope adds a pressure to the stress of all
/// points, its curvature a term of rank one, `U'' / V b b^T`, to the tangent.
#[derive(Clone, Copy, Debug)]
pub struct Patch<const N: usize, const P: usize> {
    /// Nodes that it lacks are its first one once more.
    pub nodes: [u32; N],
    /// Gradients of the shape functions at each point [1/m].
    pub gradients: [[Vec3; N]; P],
    /// The volume that each point stands for [m^3]; 0 of points that it lacks.
    pub volumes: [f64; P],
    /// First of its tets, and the one after the last. The k-th of them keeps rotation and state of point k modulo P.
    pub tets: [u32; 2],
    /// Index of its material.
    pub material: u32,
}

/// The linear tets of a cell of a lattice: six around a diagonal, or what there is of them.
pub type Cell = Patch<8, 6>;
/// A tet of ten nodes, integrated at four points.
pub type Tet10 = Patch<{ quadratic::NODES }, 4>;

impl<const N: usize, const P: usize> Patch<N, P> {
    pub fn volume(&self) -> f64 {
        self.volumes.iter().sum()
    }

    pub fn tets(&self) -> Range<usize> {
        self.tets[0] as usize..self.tets[1] as usize
    }

    /// Points that have a volume.
    pub fn n_points(&self) -> usize {
        P.min(self.tets().len())
    }
}

impl<const N: usize, const P: usize> Element for Patch<N, P> {
    const NODES: usize = N;
    const QUADRATURE_POINTS: usize = P;
    type Gradients<S: Simd> = [Vector<S>; N];
    type Vectors<S: Simd> = [Vector<S>; N];

    /// Summed from differences to the first node, so that a common translation leaves no trace.
    #[inline(always)]
    fn gradient<S: Simd>(gradients: &[Vector<S>; N], vectors: &[Vector<S>; N]) -> Matrix<S> {
        let first = minus(&vectors[1], &vectors[0]);
        let mut sum = [scaled(&gradients[1], first[0]), scaled(&gradients[1], first[1]), scaled(&gradients[1], first[2])];
        for c in 2..N {
            let a = minus(&vectors[c], &vectors[0]);
            for row in 0..3 {
                for column in 0..3 {
                    sum[row][column] = a[row].mul_add(gradients[c][column], sum[row][column]);
                }
            }
        }
        sum
    }

    #[inline(always)]
    fn scatter<S: Simd>(gradients: &[Vector<S>; N], p: &Matrix<S>, factor: Lanes<S>) -> [Vector<S>; N] {
        let mut forces = *gradients;
        for c in 0..N {
            forces[c] = scaled(&times_vector(p, &gradients[c]), factor);
        }
        forces
    }
}

impl Cell {
    /// The cell of some tets, given by their nodes and gradients [1/m] and volumes [m^3], `first` being the first of
    /// them; None where they have more than eight nodes.
    pub fn new(tets: &[([u32; 4], [Vec3; 4], f64)], first: usize, material: u32) -> Option<Self> {
        let mut known: Vec<u32> = vec![];
        for node in tets.iter().flat_map(|(nodes, ..)| nodes) {
            if !known.contains(node) {
                known.push(*node);
            }
        }
        let mut nodes = [*known.first()?; 8];
        nodes.get_mut(..known.len())?.copy_from_slice(&known);
        let (mut gradients, mut volumes) = ([[Vec3::zeros(); 8]; 6], [0.0; 6]);
        for (point, (of_tet, of_nodes, volume)) in tets.iter().enumerate() {
            *volumes.get_mut(point)? = *volume;
            for (node, gradient) in of_tet.iter().zip(of_nodes) {
                gradients[point][known.iter().position(|n| n == node)?] = *gradient;
            }
        }
        Some(Self { nodes, gradients, volumes, tets: [first as u32, (first + tets.len()) as u32], material })
    }
}

impl Tet10 {
    /// The tet with these nodes, at `x` [m] at rest; `first` is the first of its parts. None where it turns over.
    pub fn new(nodes: [u32; quadratic::NODES], x: &[Vec3; quadratic::NODES], first: usize, material: u32) -> Option<Self> {
        let (mut gradients, mut volumes) = ([[Vec3::zeros(); quadratic::NODES]; 4], [0.0; 4]);
        for (point, at) in POINTS.iter().enumerate() {
            let j = jacobian(x, at);
            // A unit tet has the volume 1/6, and four points.
            volumes[point] = j.determinant() / 24.0;
            let inverse = j.try_inverse().filter(|_| volumes[point] > 0.0)?.transpose();
            for (gradient, derivative) in gradients[point].iter_mut().zip(shape_derivatives(at)) {
                *gradient = inverse * derivative;
            }
        }
        Some(Self { nodes, gradients, volumes, tets: [first as u32, (first + quadratic::PARTS) as u32], material })
    }
}

impl ElementKind {
    pub const ALL: [(&str, Self); 3] = [("linear", Self::Linear), ("averaged", Self::Averaged), ("quadratic", Self::Quadratic)];

    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    /// Tets in a row that are of one material: those of a tet of ten nodes. (Those of a cell may be of several.)
    pub fn parts(self) -> usize {
        if self == Self::Quadratic { quadratic::PARTS } else { 1 }
    }
}
