//! Block Gauss-Seidel on the elastic part of the contact problem, body by body.

use std::ops::Range;

use rayon::prelude::*;

use crate::math::{Mat3, Vec3, split_mut};
use crate::sparse::System;

/// Forward sweeps on `A x = rhs + impulses`, each for one product with A, residual included. With A = D + Lo + Up, a
/// sweep needs `Up x` of what it begins with and the residual that of what it ends with, so the latter is kept for the
/// next. Both halves of the matrix of a body are read one soon after the other.
#[derive(Debug, Default)]
pub struct GaussSeidel {
    /// Up x.
    upper: Vec<Vec3>,
    residual: Vec<Vec3>,
    /// What springs on points add to A x; they act with the old values.
    springs: Vec<Vec3>,
}

/// The part of the vectors that belongs to a body.
struct Part<'a> {
    x: &'a mut [Vec3],
    upper: &'a mut [Vec3],
    residual: &'a mut [Vec3],
    springs: &'a [Vec3],
    rhs: &'a [Vec3],
    impulses: &'a [Vec3],
}

impl GaussSeidel {
    /// The residual of `x`, before the first sweep.
    pub fn begin(&mut self, system: &System, rhs: &[Vec3], impulses: &[Vec3], x: &mut [Vec3]) {
        for vector in [&mut self.upper, &mut self.residual, &mut self.springs] {
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
        let vectors = [x, &mut self.upper, &mut self.residual].map(|vector| split_mut(vector, lengths()));
        let [x, upper, residual] = vectors;
        let springs = &self.springs;
        (system.segments, x, upper, residual).into_par_iter().for_each(|(segment, x, upper, residual)| {
            let places = segment.places();
            let (springs, rhs, impulses) = (&springs[places.clone()], &rhs[places.clone()], &impulses[places]);
            each(Body { system, first: segment.unknowns.start }, &mut Part { x, upper, residual, springs, rhs, impulses });
        });
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
        for i in 0..part.x.len() {
            let load = part.rhs[i] + part.impulses[i] - self.lower(i, part.x);
            part.residual[i] = load - self.own(i) * part.x[i];
        }
        self.take_upper(part);
    }

    fn sweep(self, part: &mut Part) {
        for i in 0..part.x.len() {
            let load = part.rhs[i] + part.impulses[i] - self.lower(i, part.x);
            let residual = load - self.own(i) * part.x[i] - part.upper[i] - part.springs[i];
            part.x[i] += self.system.a.inverse_diagonals[self.first + i] * residual;
            part.residual[i] = load - self.own(i) * part.x[i];
        }
        self.take_upper(part);
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

    /// Lo x.
    fn lower(self, i: usize, x: &[Vec3]) -> Vec3 {
        let pattern = self.system.pattern;
        match pattern.diagonals.get(self.first + i) {
            Some(diagonal) => self.product(pattern.row_starts[self.first + i] as usize..*diagonal as usize, x),
            None => Vec3::zeros(),
        }
    }

    /// Takes Up x, and its part of the residual.
    fn take_upper(self, part: &mut Part) {
        let pattern = self.system.pattern;
        for i in 0..part.x.len() {
            let Some(diagonal) = pattern.diagonals.get(self.first + i) else { return };
            let after = *diagonal as usize + 1..pattern.row_starts[self.first + i + 1] as usize;
            part.upper[i] = self.product(after, part.x);
            part.residual[i] -= part.upper[i];
        }
    }

    /// Of some blocks of a row with the values that belong to them.
    fn product(self, blocks: Range<usize>, x: &[Vec3]) -> Vec3 {
        let System { a, pattern, .. } = self.system;
        let entries = pattern.columns[blocks.clone()].iter().zip(&a.blocks[blocks]);
        entries.fold(Vec3::zeros(), |sum, (column, block)| sum + block * x[*column as usize - self.first])
    }
}
