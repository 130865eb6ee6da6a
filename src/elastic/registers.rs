//! What the element passes share: registers filled from memory and emptied into it.

use bytemuck::{cast_slice, cast_slice_mut};
use pulp::Simd;
use rayon::prelude::*;

use crate::math::Vec3;
use crate::math::lanes::{Lanes, Row};

/// Elements side by side.
pub const LANES: usize = 8;
/// Most rows of state of a material.
pub(super) const MAX_STATE_ROWS: usize = 4;

/// Displacement and velocity of a node, each followed by a zero: a line of the cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct NodeMotion(pub(super) [[f64; 4]; 2]);

/// An iterate of the non-linear step, about which the pass linearises in place of the start: displacements are those
/// that it leads to, and velocities those of the end of the step where none change
/// ([`super::SystemInputs::undisturbed`]). Its forces are such that the right-hand side made of them is that of the
/// whole velocity change: `f(y) + dt K dv - beta K v`.
#[derive(Clone, Copy)]
pub struct Iterate<'a> {
    /// Velocity changes of the nodes [m/s], each followed by a zero.
    pub changes: &'a [[f64; 4]],
    /// Of each tet, beyond one: the part of a velocity change that stiffness damping sees; up to a multiple of
    /// [`LANES`].
    pub damped: &'a [f64],
    /// It is the first of its step: what elements remember is taken to the start of the step.
    pub is_first: bool,
}

/// Brings displacements and velocities together, node by node.
pub fn gather_motions(displacements: &[Vec3], velocities: &[Vec3], motions: &mut Vec<NodeMotion>) {
    motions.resize(displacements.len(), NodeMotion::default());
    let join = |((motion, u), v): ((&mut NodeMotion, &Vec3), &Vec3)| *motion = NodeMotion([[u.x, u.y, u.z, 0.0], [v.x, v.y, v.z, 0.0]]);
    motions.par_iter_mut().with_min_len(4096).zip(displacements).zip(velocities).for_each(join);
}

/// Four numbers for each lane.
#[inline(always)]
pub(super) fn as_rows_mut<S: Simd>(rows: &mut [S::f64s; 4]) -> &mut [[f64; 4]] {
    cast_slice_mut(rows)
}

/// Four numbers of each lane.
#[inline(always)]
pub(super) fn load<S: Simd>(simd: S, of: impl Fn(usize) -> [f64; 4]) -> Row<S> {
    let mut rows = [simd.splat_f64s(0.0); 4];
    for (lane, row) in as_rows_mut::<S>(&mut rows).iter_mut().enumerate() {
        *row = of(lane);
    }
    Lanes::join(simd, rows)
}

/// Four numbers of each lane, which `of` gives for its place.
#[inline(always)]
pub(super) fn load_rows<S: Simd, R>(simd: S, places: &[R], of: impl Fn(&R) -> [f64; 4]) -> Row<S> {
    let mut rows = [simd.splat_f64s(0.0); 4];
    for (row, place) in as_rows_mut::<S>(&mut rows).iter_mut().zip(places) {
        *row = of(place);
    }
    Lanes::join(simd, rows)
}

/// Hands out the four numbers of each lane to as many `places`.
#[inline(always)]
pub fn store<S: Simd, R>(values: Row<S>, places: &mut [R], mut write: impl FnMut(&mut R, [f64; 4])) {
    let rows = Lanes::separate(values);
    let rows = cast_slice::<S::f64s, [f64; 4]>(&rows);
    // Of a length that is known when this is compiled.
    let places = &mut places[..S::F64_LANES];
    for lane in 0..S::F64_LANES {
        write(&mut places[lane], rows[lane]);
    }
}
