//! Elastic corrections of a pass: one application of A~^-1 to the residual of each body, or conjugate gradients that it
//! preconditions.

use super::{BlockWork, LEAST_ITERATIONS, solve_work};
use crate::contact::{Block, Problem};
use crate::math::Vec3;
use crate::sparse::{System, axpy, dot, xpay};

/// Passes contract slower than this: the elastic solve becomes a conjugate-gradient one.
pub const SLOW: f64 = 0.2;
/// Most of its iterations in a pass.
const MAX_ELASTIC_ITERATIONS: u32 = 60;

/// Consecutive blocks with their memory and their parts of two vectors.
pub struct Parts<'a, 'b> {
    pub blocks: &'a [Block<'b>],
    pub r: &'a mut [Vec3],
    pub z: &'a mut [Vec3],
    pub work: &'a mut [BlockWork],
}

impl Parts<'_, '_> {
    /// Hands each block to `solve`, halves of them to different threads; returns the largest of what it tells.
    pub fn solve(self, solve: &(impl Fn(&Block, &mut [Vec3], &mut [Vec3], &mut BlockWork) -> (f64, u32) + Sync)) -> (f64, u32) {
        let Self { blocks, r, z, work } = self;
        match blocks {
            [] => (0.0, 0),
            [block] => solve(block, r, z, &mut work[0]),
            [first, ..] => {
                let (blocks, blocks_after) = blocks.split_at(blocks.len() / 2);
                let here = blocks_after[0].segment.start - first.segment.start;
                let ((r, r_after), (z, z_after)) = (r.split_at_mut(here), z.split_at_mut(here));
                let (work, work_after) = work.split_at_mut(blocks.len());
                let (a, b) = rayon::join(
                    || Parts { blocks, r, z, work }.solve(solve),
                    || Parts { blocks: blocks_after, r: r_after, z: z_after, work: work_after }.solve(solve),
                );
                (a.0.max(b.0), a.1.max(b.1))
            }
        }
    }
}

/// `z = A~^-1 r`.
pub fn invert_all(problem: &Problem, r: &mut [Vec3], z: &mut [Vec3], work: &mut [BlockWork]) {
    Parts { blocks: problem.blocks, r, z, work }.solve(&|block, r, z, work| {
        invert(problem, block, r, z, work);
        (0.0, 0)
    });
}

/// The same for one block.
pub fn invert(problem: &Problem, block: &Block, r: &[Vec3], z: &mut [Vec3], work: &mut BlockWork) {
    match &block.rest {
        None => problem.system.a.precondition(&block.segment.unknowns, r, z),
        Some(rest) => {
            let BlockWork { rotated, factor, secants, .. } = work;
            rotated.clear();
            rotated.extend(r.iter().enumerate().map(|(node, r)| rest.rotations.get(node).tr_mul(r)));
            rest.factor.solve(rotated, z, factor);
            work.solves += 1;
            work.applied += 1;
            z.iter_mut().enumerate().for_each(|(node, z)| *z = rest.rotations.get(node) * *z);
            secants.add(r, z);
        }
    }
}

/// `z` so that A z is near `r`; returns the largest entry of A~^-1 r and the iterations of the slowest body. One
/// application of A~^-1 a body, unless passes with that contract slowly: then conjugate gradients, which it
/// preconditions.
pub fn correct(problem: &Problem, r: &mut [Vec3], z: &mut [Vec3], tolerance: f64, work: &mut [BlockWork]) -> (f64, u32) {
    Parts { blocks: problem.blocks, r, z, work }.solve(&|block, r, z, work| {
        invert(problem, block, r, z, work);
        let largest = largest(z) * problem.dt;
        if work.last > 0.0 {
            work.contraction = work.contraction.max(largest / work.last);
            work.growths += u32::from(largest > work.last);
        }
        work.last = largest;
        let slow = work.contraction > SLOW || (block.rest.is_none() && block.segment.unknowns.len() > 2);
        if !slow || largest < tolerance {
            return (largest / problem.dt, 1);
        }
        (largest / problem.dt, 1 + conjugate_gradient(problem, block, r, z, 0.05 * largest.max(10.0 * tolerance), work))
    })
}

/// Largest entry.
pub fn largest(z: &[Vec3]) -> f64 {
    z.iter().map(Vec3::amax).fold(0.0, f64::max)
}

/// Solves A z = r on one block until A~^-1 of the residual moves nothing by more than `bound` [m]. At the start `z` is
/// A~^-1 r; `r` is used up.
fn conjugate_gradient(problem: &Problem, block: &Block, r: &mut [Vec3], z: &mut [Vec3], bound: f64, work: &mut BlockWork) -> u32 {
    let mut vectors = std::mem::take(&mut work.krylov);
    for vector in &mut vectors {
        vector.resize(z.len(), Vec3::zeros());
    }
    let [preconditioned, direction, product, first, first_preconditioned] = &mut vectors;
    first.copy_from_slice(r);
    first_preconditioned.copy_from_slice(z);
    preconditioned.copy_from_slice(z);
    direction.copy_from_slice(z);
    z.fill(Vec3::zeros());
    let System { a, pattern, fixed, .. } = problem.system;
    let mut rho = dot(r, preconditioned);
    // Bodies are solved side by side: what they may do was told before.
    let affordable = problem.allowance.left() / (problem.product_work() + solve_work(problem)).max(1);
    let most = affordable.clamp(LEAST_ITERATIONS, u64::from(MAX_ELASTIC_ITERATIONS)) as u32;
    let mut iterations = 0;
    while iterations < most && !problem.cancel.is_cancelled() {
        iterations += 1;
        a.apply(pattern, fixed, &block.segment.unknowns, direction, product);
        let alpha = rho / dot(direction, product);
        if !alpha.is_finite() {
            break;
        }
        axpy(z, alpha, direction);
        axpy(r, -alpha, product);
        invert(problem, block, r, preconditioned, work);
        if largest(preconditioned) * problem.dt < bound {
            break;
        }
        let rho_new = dot(r, preconditioned);
        xpay(direction, preconditioned, rho_new / rho);
        rho = rho_new;
    }
    if block.rest.is_some() {
        // What the correction took of the residual is its product with A.
        axpy(first, -1.0, r);
        axpy(first_preconditioned, -1.0, preconditioned);
        work.secants.learn(z, first, first_preconditioned, &pattern.parts[block.segment.unknowns.clone()]);
    }
    work.krylov = vectors;
    iterations
}
