//! Block Gauss-Seidel on the elastic part of the contact problem, body by body.

use rayon::prelude::*;

use crate::math::{Mat3, Vec3, split_mut};
use crate::sparse::System;

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
    /// The residual of `x`, before the first sweep.
    pub fn begin(&mut self, system: &System, rhs: &[Vec3], impulses: &[Vec3], x: &mut [Vec3]) {
        let [upper, next_upper] = &mut self.upper;
        for vector in [upper, next_upper, &mut self.residual, &mut self.springs] {
            vector.clear();
            vector.resize(x.len(), Vec3::zeros());
        }
        self.for_each_body(system, rhs, impulses, x, &|body, part| body.look(part));
        self.finish(system, x);
    }

    /// Sweeps once.
    pub fn sweep(&mut self, system: &System, rhs: &[Vec3], impulses: &[Vec3], x: &mut [Vec3]) {
        self.for_each_body(system, rhs, impulses, x, &|body, part| body.sweep(part));
        self.finish(system, x);
    }

    /// `rhs + impulses - A x`; zero where nodes are fixed.
    pub fn residual(&self) -> &[Vec3] {
        &self.residual
    }

    fn for_each_body(
        &mut self,
        system: &System,
        rhs: &[Vec3],
        impulses: &[Vec3],
        x: &mut [Vec3],
        each: &(impl Fn(Body, &mut Part) + Sync),
    ) {
        let lengths = || system.segments.iter().map(|segment| segment.unknowns.len());
        let [upper, next_upper] = &mut self.upper;
        let vectors = [x, next_upper, &mut self.residual].map(|vector| split_mut(vector, lengths()));
        let [x, next_upper, residual] = vectors;
        let springs = &self.springs;
        (system.segments, x, next_upper, residual).into_par_iter().for_each(|(segment, x, next_upper, residual)| {
            let places = segment.places();
            let [upper, springs, rhs, impulses] = [upper, springs, rhs, impulses].map(|vector| &vector[places.clone()]);
            each(Body { system, first: segment.unknowns.start }, &mut Part { x, upper, next_upper, residual, springs, rhs, impulses });
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
#[derive(Clone, Copy)]
struct Body<'a> {
    system: &'a System<'a>,
    /// The first of its unknowns.
    first: usize,
}

impl<'a> Body<'a> {
    fn look(self, part: &mut Part) {
        self.for_each_row(part, &|_, _, _, _| {});
    }

    fn sweep(self, part: &mut Part) {
        self.for_each_row(part, &|part, i, own, load| {
            let residual = load - own * part.x[i] - part.upper[i] - part.springs[i];
            part.x[i] += self.system.a.inverse_diagonals[self.first + i] * residual;
        });
    }

    /// Hands each row in turn to `change`, with its block of D and its load less Lo x; then adds to Up x and to the
    /// residual what the value makes of it.
    fn for_each_row(self, part: &mut Part, change: &impl Fn(&mut Part, usize, &Mat3, Vec3)) {
        part.next_upper.fill(Vec3::zeros());
        for i in 0..part.x.len() {
            let (columns, blocks) = self.lower(i);
            let entries = || columns.iter().map(|column| *column as usize - self.first).zip(blocks);
            let load = entries().fold(part.rhs[i] + part.impulses[i], |load, (j, block)| load - block * part.x[j]);
            let own = self.own(i);
            change(part, i, own, load);
            part.residual[i] = load - own * part.x[i];
            entries().for_each(|(j, block)| part.next_upper[j] += block.tr_mul(&part.x[i]));
        }
        part.residual.iter_mut().zip(&*part.next_upper).for_each(|(residual, upper)| *residual -= upper);
    }

    /// The block of D.
    fn own(self, i: usize) -> &'a Mat3 {
        let System { a, pattern, .. } = self.system;
        let unknown = self.first + i;
        match unknown.checked_sub(pattern.n_rows()) {
            Some(rigid) => &a.rigid_blocks[rigid],
            None => &a.blocks[pattern.diagonals[unknown] as usize],
        }
    }

    /// The blocks of Lo, and their columns.
    fn lower(self, i: usize) -> (&'a [u32], &'a [Mat3]) {
        let System { a, pattern, .. } = self.system;
        let row = match pattern.diagonals.get(self.first + i) {
            Some(diagonal) => pattern.row_starts[self.first + i] as usize..*diagonal as usize,
            None => 0..0,
        };
        (&pattern.columns[row.clone()], &a.blocks[row])
    }
}
