//! The velocity change of the bodies of one scope.

use super::contacts::{Detection, Scope, report as summed_up};
use crate::contact::{Contact, CrOptions, CrWork, Problem, solve};
use crate::math::Vec3;
use crate::solver::{Params, StageTimes, StepReport};
use crate::sparse::conjugate_gradient;

/// What the solve of one scope needs and leaves.
#[derive(Default)]
pub struct ScopeWork {
    cg: [Vec<Vec3>; 4],
    cr: CrWork,
    pub contacts: Vec<Contact>,
}

/// Conjugate gradients while nothing touches, else conjugate residuals with the contacts.
pub fn solve_scope(
    problem: &Problem,
    scope: &Scope,
    detection: &Detection,
    params: &Params,
    scale: f64,
    dv: &mut [Vec3],
    work: &mut ScopeWork,
) -> StepReport {
    let mut report = StepReport::default();
    let bound = params.tolerance * scale;
    let ScopeWork { cg, cr, contacts } = work;
    let mut given_up = vec![];
    if contacts.is_empty() {
        let solved = report.stages.time("elastic solve", || {
            conjugate_gradient(problem.a, problem.pattern, problem.fixed, &problem.unknowns, problem.rhs, dv, bound, params.max_iterations, cg)
        });
        report.iterations = solved.iterations;
        report.residual = solved.residual / scale;
        report.converged = solved.converged;
        report.stages.time("detection", || detection.adapt(scope, dv, contacts, &mut given_up));
    }
    if contacts.is_empty() {
        return report;
    }
    let options = CrOptions { residual: bound, max_iterations: params.max_contact_iterations };
    let mut detecting = StageTimes::default();
    let start = std::time::Instant::now();
    let outcome = solve(problem, contacts, dv, &options, cr, |dv, contacts| {
        detecting.time("detection", || detection.adapt(scope, dv, contacts, &mut given_up))
    });
    report.stages.add("contact solve", start.elapsed().as_secs_f64() * 1e3 - detecting.total());
    report.stages.add("detection", detecting.total());
    report.iterations += outcome.iterations;
    report.restarts = outcome.restarts;
    report.relinearisations = outcome.relinearisations;
    report.residual = outcome.residual / scale;
    report.converged = outcome.converged;
    report.contact = summed_up(problem, contacts, dv);
    report
}
