//! Islands without contacts, in f32: each deformable body by conjugate gradients with two levels, rigid bodies by their
//! blocks.

use super::body_system::{BodySystem, damped, springs_of};
use super::matrix::Matrix;
use crate::budget::Allowance;
use crate::contact::islands::Island;
use crate::contact::problem::restore_momentum;
use crate::elastic::{Levels, RestPoses};
use crate::math::{Mat3, Vec3};
use crate::model::{Body, Params};
use crate::sparse::{Coarse, Segment, Solved, TwoLevelSystem, Until};
use crate::step::{Clock, StageTimes, StepInputs, StepReport};

/// Work of an iteration for each block of the matrix [bytes]: it is read, and the coarse factor with it.
const ITERATION_WORK: u64 = 72;

/// What the elastic solve of untouched bodies needs.
pub struct UntouchedBodies<'a> {
    step: &'a StepInputs<'a>,
    matrix: &'a Matrix,
    levels: &'a [Levels],
    coarse: &'a [Option<Coarse>],
    clock: Clock,
}

impl<'a> UntouchedBodies<'a> {
    pub fn new(step: &'a StepInputs<'a>, matrix: &'a Matrix, rests: &'a RestPoses, clock: Clock) -> Self {
        let (levels, coarse) = rests.coarse();
        Self { step, matrix, levels, coarse, clock }
    }

    /// The velocity change of an island without contacts, body by body: `dv` holds the start value and the result. None
    /// if f32 does not hold the matrix of one of the bodies. `systems`: their matrices.
    pub fn solve(&self, island: &Island, systems: &mut [Box<BodySystem>], dv: &mut [Vec3], allowance: &Allowance) -> Option<StepReport> {
        let StepInputs { model, params, .. } = *self.step;
        if island.deformable().iter().any(|segment| self.coarse[segment.body.index()].is_none()) {
            return None;
        }
        let scale = self.step.drive(island).scale(|| self.matrix.element_impulse(self.step, island));
        let n_nodes: usize = island.deformable().iter().map(|segment| segment.unknowns.len()).sum();
        let mut report = StepReport { converged: true, ..StepReport::timed(self.clock) };
        let mut residual2 = 0.0;
        for (segment, system) in island.deformable().iter().zip(systems) {
            let Some(coarse) = &self.coarse[segment.body.index()] else { continue };
            let share = segment.unknowns.len() as f64 / n_nodes as f64;
            let Params { tolerance, max_iterations, fixed_iterations, .. } = *params;
            let (residual, iterations) =
                fixed_iterations.map_or((tolerance * scale * share.sqrt(), max_iterations), |iterations| (0.0, iterations));
            let rows = &model.pattern.row_starts[segment.unknowns.start..=segment.unknowns.end];
            let product_work = u64::from(rows[rows.len() - 1] - rows[0]) * ITERATION_WORK;
            let iterations = if fixed_iterations.is_some() { iterations } else { iterations.min(allowance.iterations(product_work)) };
            let until = Until { residual, iterations, cancel: &self.step.loads.cancel };
            let solved = self.solve_body(segment, coarse, system, until, &mut dv[segment.places()], &mut report.stages);
            allowance.spend(u64::from(solved.iterations) * product_work);
            report.iterations = report.iterations.max(solved.iterations);
            report.converged &= solved.converged || fixed_iterations.is_some();
            residual2 += solved.residual * solved.residual;
        }
        let links = self.matrix.operator();
        for segment in island.rigid() {
            for (dv, i) in dv[segment.places()].iter_mut().zip(segment.unknowns.clone()) {
                let block = links.rigid_blocks[i - model.n_nodes()];
                *dv = block.try_inverse().unwrap_or_else(Mat3::zeros) * self.matrix.rhs()[i];
            }
        }
        report.residual = residual2.sqrt() / scale;
        Some(report)
    }

    fn solve_body(
        &self,
        segment: &Segment,
        coarse: &Coarse,
        system: &mut BodySystem,
        until: Until,
        dv: &mut [Vec3],
        stages: &mut StageTimes,
    ) -> Solved {
        let StepInputs { model, params, .. } = *self.step;
        let (body, levels): (&Body, &Levels) = (&model.bodies[segment.body.index()], &self.levels[segment.body.index()]);
        stages.time("assembly", || system.assemble(self.step, self.matrix, levels, segment));
        stages.time("elastic solve", || {
            let BodySystem { matrix, work, .. } = system;
            let rhs = &self.matrix.rhs()[body.nodes.clone()];
            let coarse = params.is_two_level().then_some(coarse);
            let solved = TwoLevelSystem { layout: &levels.layout, coarse, matrix, factor: None }.solve(rhs, dv, until, work);
            let is_free = springs_of(self.matrix, segment).next().is_none() && !model.fixed[body.nodes.clone()].contains(&true);
            if is_free {
                // The matrix takes a common velocity to the masses: the sum of the residual is momentum that is lost.
                let (masses, damped) = (&model.node_masses[body.nodes.clone()], damped(self.step, segment));
                let lost = rhs.iter().sum::<Vec3>() - dv.iter().zip(masses).map(|(dv, m)| dv * *m).sum::<Vec3>() * damped;
                restore_momentum(dv, lost, damped * body.mass);
            }
            solved
        })
    }
}
