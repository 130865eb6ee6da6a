//! Block Gauss-Seidel on the elastic part of the contact problem, body by body.

use rayon::prelude::*;

use crate::math::{Mat3, Vec3, for_each_part, split_mut};
use crate::sparse::{Segment, System};

/// Forward sweeps on `A x = rhs + impulses`, residual included, each of which reads half of A. With A = D + Lo + Up, a
/// sweep needs `Up x` of what it begins with, and the residual that of what it ends with, which the next sweep begins
/// with. As Up is the transpose of Lo, the blocks that are read for `Lo x` add up to it on the way.
#[derive(Debug, Default)]
pub struct GaussSeidel {
    /// Up x, and what becomes of it in a sweep.
    upper: [Vec<Vec3>; 2],
    residual: Vec<Vec3>,
    /// What springs on points add to A x; they act with the old values.
    springs: Vec<Vec3>,
    lower: Lower,
}

/// The blocks of Lo and D, row after row as sweeps read them: they wait for memory.
#[derive(Debug, Default)]
struct Lower {
    /// First entry of each row, and the end of the last. A row ends with its block of D.
    starts: Vec<u32>,
    /// Places in the body.
    columns: Vec<u32>,
    blocks: Vec<Mat3>,
}

impl Lower {
    fn take(&mut self, system: &System) {
        let Self { starts, columns, blocks } = self;
        let System { a, pattern, segments, .. } = *system;
        let row = |unknown: usize| match pattern.diagonals.get(unknown) {
            Some(diagonal) => pattern.row_starts[unknown] as usize..*diagonal as usize,
            None => 0..0,
        };
        starts.clear();
        starts.push(0);
        let mut n = 0;
        starts.extend(segments.iter().flat_map(|segment| segment.unknowns.clone()).map(|unknown| {
            n += row(unknown).len() as u32 + 1;
            n
        }));
        columns.resize(n as usize, 0);
        blocks.resize(n as usize, Mat3::zeros());
        let entries = |segment: &Segment| starts[segment.start] as usize..starts[segment.places().end] as usize;
        for_each_part(segments, &entries, (0, columns), &|segment, columns| {
            let first = segment.unknowns.start as u32;
            let of_row = |unknown: usize| pattern.columns[row(unknown)].iter().copied().chain([unknown as u32]);
            let own = segment.unknowns.clone().flat_map(of_row);
            columns.iter_mut().zip(own).for_each(|(column, own)| *column = own - first);
        });
        for_each_part(segments, &entries, (0, blocks), &|segment, blocks| {
            let of_row = |unknown: usize| a.blocks[row(unknown)].iter().chain([diagonal(system, unknown)]);
            let own = segment.unknowns.clone().flat_map(of_row);
            blocks.iter_mut().zip(own).for_each(|(block, own)| *block = *own);
        });
    }
}

/// The block of D of an unknown.
fn diagonal<'a>(system: &System<'a>, unknown: usize) -> &'a Mat3 {
    let System { a, pattern, .. } = system;
    match unknown.checked_sub(pattern.n_rows()) {
        Some(rigid) => &a.rigid_blocks[rigid],
        None => &a.blocks[pattern.diagonals[unknown] as usize],
    }
}

/// The part of the vectors that belongs to a body.
struct Part<'a> {
    x: &'a mut [Vec3],
    upper: &'a [Vec3],
    next_upper: &'a mut [Vec3],
    residual: &'a mut [Vec3],
    springs: &'a [Vec3],
    rhs: &'a [Vec3],
    impulses: &'a [Vec3],
}

impl GaussSeidel {
    /// Takes the matrix of the sweeps that follow.
    pub fn take(&mut self, system: &System) {
        self.lower.take(system);
    }

    /// The residual of `x`, before the first sweep.
    pub fn begin(&mut self, system: &System, rhs: &[Vec3], impulses: &[Vec3], x: &mut [Vec3]) {
        let [upper, next_upper] = &mut self.upper;
        for vector in [upper, next_upper, &mut self.residual, &mut self.springs] {
            vector.clear();
            vector.resize(x.len(), Vec3::zeros());
        }
        self.for_each_body(system, rhs, impulses, x, false);
        self.finish(system, x);
    }

    /// Sweeps once.
    pub fn sweep(&mut self, system: &System, rhs: &[Vec3], impulses: &[Vec3], x: &mut [Vec3]) {
        self.for_each_body(system, rhs, impulses, x, true);
        self.finish(system, x);
    }

    /// `rhs + impulses - A x`; zero where nodes are fixed.
    pub fn residual(&self) -> &[Vec3] {
        &self.residual
    }

    /// Residuals of all bodies, with what one sweep, or none, makes of `x`.
    fn for_each_body(&mut self, system: &System, rhs: &[Vec3], impulses: &[Vec3], x: &mut [Vec3], sweeps: bool) {
        let lengths = || system.segments.iter().map(|segment| segment.unknowns.len());
        let [upper, next_upper] = &mut self.upper;
        let vectors = [x, next_upper, &mut self.residual].map(|vector| split_mut(vector, lengths()));
        let [x, next_upper, residual] = vectors;
        let (springs, lower) = (&self.springs, &self.lower);
        (system.segments, x, next_upper, residual).into_par_iter().for_each(|(segment, x, next_upper, residual)| {
            let places = segment.places();
            let [upper, springs, rhs, impulses] = [upper, springs, rhs, impulses].map(|vector| &vector[places.clone()]);
            let part = Part { x, upper, next_upper, residual, springs, rhs, impulses };
            Rows { system, segment, lower, part, sweeps }.visit();
        });
        self.upper.swap(0, 1);
    }

    /// Springs on points, and fixed nodes.
    fn finish(&mut self, system: &System, x: &[Vec3]) {
        let Self { residual, springs, .. } = self;
        if !system.a.rank_ones.is_empty() {
            springs.fill(Vec3::zeros());
            for term in &system.a.rank_ones {
                let node = term.nodes[0] as usize;
                let Some(segment) = system.segments.iter().find(|segment| segment.unknowns.contains(&node)) else { continue };
                let (places, first) = (segment.places(), segment.unknowns.start);
                let value = term.gather(&x[places.clone()], first) * term.factor;
                term.spread(&value, &mut springs[places], first);
            }
            residual.iter_mut().zip(springs).for_each(|(residual, spring)| *residual -= *spring);
        }
        system.clear_fixed(residual);
    }
}

/// The rows of a body.
struct Rows<'a> {
    system: &'a System<'a>,
    segment: &'a Segment,
    lower: &'a Lower,
    part: Part<'a>,
    /// Values change.
    sweeps: bool,
}

impl Rows<'_> {
    /// Row after row: its new value, if it changes, and what that makes of Up x and of the residual.
    fn visit(self) {
        let Self { system, segment, lower: Lower { starts, columns, blocks }, part, sweeps } = self;
        let Part { x, upper, next_upper, residual, springs, rhs, impulses } = part;
        next_upper.fill(Vec3::zeros());
        for i in 0..x.len() {
            let own = starts[segment.start + i + 1] as usize - 1;
            let entries = starts[segment.start + i] as usize..own;
            let entries = || columns[entries.clone()].iter().map(|column| *column as usize).zip(&blocks[entries.clone()]);
            let load = entries().fold(rhs[i] + impulses[i], |load, (j, block)| load - block * x[j]);
            let own = &blocks[own];
            if sweeps {
                x[i] += system.a.inverse_diagonals[segment.unknowns.start + i] * (load - own * x[i] - upper[i] - springs[i]);
            }
            residual[i] = load - own * x[i];
            entries().for_each(|(j, block)| next_upper[j] += block.tr_mul(&x[i]));
        }
        residual.iter_mut().zip(&*next_upper).for_each(|(residual, upper)| *residual -= upper);
    }
}
