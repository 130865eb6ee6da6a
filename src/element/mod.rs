//! Elements: how the vectors of a few nodes make a displacement gradient, and how a stress makes forces on them.

mod patch;
mod tet4;

pub use patch::{Cell, ElementKind, Patch, Tet10};
pub use tet4::{Tet4, Tet4Rest};

use pulp::Simd;

use crate::math::lanes::{Lanes, Matrix, Vector};

/// A finite element, for as many of a kind as the processor takes side by side: [`Tet4`], and the [`Patch`]es of
/// several tets.
///
/// The integral of an energy or force over an element is a sum over its quadrature points, each with its shape
/// gradients and its part of the volume; the element passes, the encodings of nodes and edges below (and by
/// `ELEMENT_NODES` those of the shaders) and the gather lists ask this contract only. What asks where things are
/// (surfaces, contact, grabs, files, pictures) knows linear tets alone: `model::Tet`, of which a patch has several. So
/// a surface point has four nodes and weights that are not negative in every body.
///
/// A diagonal block of the matrix is minus the others of its row: right for every element whose shapes sum to one.
pub trait Element: Copy + Send + Sync + 'static {
    const NODES: usize;
    const QUADRATURE_POINTS: usize;
    /// Pairs of nodes.
    const EDGES: usize = Self::NODES * (Self::NODES - 1) / 2;
    /// Shape gradients at a quadrature point [1/m], as the element keeps them.
    type Gradients<S: Simd>: Copy;
    /// A vector for each node.
    type Vectors<S: Simd>: Copy + AsRef<[Vector<S>]>;

    /// `sum_c a_c g_c^T` of the vectors a of the nodes.
    fn gradient<S: Simd>(gradients: &Self::Gradients<S>, vectors: &Self::Vectors<S>) -> Matrix<S>;

    /// `factor P g_c` for each node. With the stress times minus the volume of the point for P those are the elastic
    /// forces [N].
    fn scatter<S: Simd>(gradients: &Self::Gradients<S>, p: &Matrix<S>, factor: Lanes<S>) -> Self::Vectors<S>;

    /// A node of an element, as lists of nodes name it.
    fn corner_item(element: usize, corner: usize) -> u32 {
        (Self::NODES * element + corner) as u32
    }

    /// Element and corner.
    #[inline(always)]
    fn corner_of(item: u32) -> (usize, usize) {
        let n = Self::NODES as u32;
        ((item / n) as usize, (item % n) as usize)
    }

    /// The edge from one corner of an element to another, as lists of edges name it.
    fn edge_item(element: usize, [i, j]: [usize; 2]) -> u32 {
        (Self::NODES * Self::NODES * element + Self::NODES * i + j) as u32
    }

    /// Element and corners.
    #[inline(always)]
    fn edge_of(item: u32) -> (usize, [usize; 2]) {
        let n = Self::NODES as u32;
        ((item / (n * n)) as usize, [(item / n % n) as usize, (item % n) as usize])
    }

    /// Number of the pair of corners `i < j` among the [`Self::EDGES`] of an element.
    #[inline(always)]
    fn edge_number(i: usize, j: usize) -> usize {
        j * (j - 1) / 2 + i
    }
}
