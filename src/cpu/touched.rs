//! Islands with contacts: the method solves the rows, the driver renews them.

use rayon::prelude::*;

use super::Methods;
use super::body_system::{BodySystem, damped};
use super::matrix::Matrix;
use crate::budget::Allowance;
use crate::contact::driver::{Found, Limits, Next, Relinearisation};
use crate::contact::generate::Detection;
use crate::contact::islands::{Island, Trial};
use crate::contact::methods::{Factored, RowSolver, cwc};
use crate::contact::{Block, Bounds, Problem, Rest, Single, contact_report, update_compliances};
use crate::elastic::RestPoses;
use crate::math::Vec3;
use crate::memory::reuse_allocation;
use crate::model::{AcceptancePolicy, ContactMethod};
use crate::sparse::{CoarseField, Segment, System, TwoLevelSystem};
use crate::step::{Clock, IslandWork, StageTimes, StepInputs, StepReport};

/// What the solve of an island keeps from step to step.
#[derive(Default)]
pub struct IslandScratch {
    solver: Option<(ContactMethod, Box<dyn RowSolver>)>,
    rhs: Vec<Vec3>,
    load: Vec<f64>,
    /// Memory of a list of blocks.
    blocks: Vec<Block<'static>>,
    /// Matrices of the bodies of the island.
    #[expect(clippy::vec_box, reason = "they go from list to list in each step")]
    pub systems: Vec<Box<BodySystem>>,
}

/// The islands of a step that are solved in f64.
pub struct TouchedIslands<'a> {
    pub step: &'a StepInputs<'a>,
    pub detection: &'a Detection<'a>,
    pub matrix: &'a Matrix,
    /// Rest poses of the deformable bodies; none for methods without.
    pub rests: Option<&'a RestPoses>,
    /// The same for methods that take coarse fields.
    pub fields: Option<&'a RestPoses>,
    pub methods: Methods,
    pub clock: Clock,
    /// What all islands together may do [bytes], if there is a limit.
    pub work_left: Option<u64>,
    pub n_islands: usize,
}

impl TouchedIslands<'_> {
    pub fn solve(&self, island: &Island, local: &[u32], work: &mut IslandWork, scratch: &mut IslandScratch) {
        let Self { step, matrix, .. } = *self;
        if step.loads.cancel.is_cancelled() {
            return;
        }
        let IslandScratch { solver, rhs, load, blocks: memory, systems } = scratch;
        if solver.as_ref().is_none_or(|(method, _)| *method != step.method) {
            *solver = (self.methods)(step.method).map(|new| (step.method, new));
        }
        // A method that is not there was refused when the backend was opened.
        let Some((_, solver)) = solver else { return };
        let scale = step.drive(island).scale(|| matrix.element_impulse(step, island));
        island.gather(matrix.rhs(), rhs);
        let mut blocks: Vec<Block> = reuse_allocation(std::mem::take(memory));
        let mut report = StepReport::timed(self.clock);
        report.stages.time("assembly", || {
            self.assemble_single(island, systems);
            self.turn_fields(island, systems);
        });
        blocks.extend(self.blocks(island, systems));
        // Methods for comparison take what they take.
        let patience = step.loads.budget.patience().filter(|_| step.method == ContactMethod::Cwc && !work.contacts.is_empty());
        let unit = cwc::unit_of_work(&step.model.pattern, &island.segments, &blocks, work.contacts.len());
        let look = self.detection.renewal_work(island, &work.contacts);
        let allowance = Allowance::of_island(self.work_left, self.n_islands, island.share(step.model)).with_patience(patience, unit, look);
        let (model, state, n_nodes) = (step.model, step.state, step.model.n_nodes());
        let position = |unknown: usize| match unknown.checked_sub(n_nodes) {
            None => model.rest_positions[unknown] + state.displacements[unknown],
            Some(rigid) => state.rigid_bodies[rigid / 2].pose.translation.vector,
        };
        let problem = Problem {
            system: System { a: matrix.operator(), pattern: &step.model.pattern, fixed: &step.model.fixed, segments: &island.segments },
            blocks: &blocks,
            local,
            position: &position,
            dt: step.params.time_step,
            rhs,
            tolerance: step.params.contact_tolerance,
            bounds: bounds(step, island, scale),
            cancel: &step.loads.cancel,
            allowance: &allowance,
        };
        self.relinearise(&problem, island, solver.as_mut(), work, &mut report);
        step.loads.budget.take(&allowance, report.converged);
        // All methods are measured with the same scales.
        update_compliances(&problem, &mut work.contacts, load);
        report.residual /= scale;
        report.contact = contact_report(&work.contacts, |unknown| work.dv[problem.place(unknown)], problem.dt, &work.pairs);
        work.solved = Some(report);
        *memory = reuse_allocation(blocks);
    }

    /// The relinearisation loop of an island (`contact::driver`).
    fn relinearise(&self, problem: &Problem, island: &Island, solver: &mut dyn RowSolver, work: &mut IslandWork, report: &mut StepReport) {
        let IslandWork { dv, contacts, crosses, is_to_be_searched, .. } = work;
        let limits = Limits {
            tolerance: problem.tolerance,
            gives_up: problem.bounds.gives_up,
            may_halve: problem.bounds.may_halve,
            max_rows: self.detection.max_rows(island, contacts),
        };
        let mut progress = Relinearisation::new(limits, solver.schedule());
        let clock = self.clock;
        let (start, mut detecting) = (clock(), StageTimes::new(clock));
        solver.begin(problem, dv);
        let converged = loop {
            let mut solved = solver.solve_rows(problem, contacts, dv, progress.accuracy);
            solved.exhausted |= problem.must_end();
            let next = progress.advance(solved, &mut Found { dv, contacts, crosses }, |dv, contacts| {
                let trial = Trial { island, local: problem.local, dv };
                let renewal = detecting.time("detection", || self.detection.renew_rows(&trial, contacts));
                problem.allowance.spend(self.detection.renewal_work(island, contacts));
                renewal
            });
            if let Next::Done { converged } = next {
                break converged;
            }
            *is_to_be_searched = progress.may_search() && self.step.has_left_boxes(self.detection, island, dv);
            if *is_to_be_searched {
                break true;
            }
        };
        Factored { outgrown: report.outgrown, slow: report.slow } = solver.end(problem);
        report.stages.add(if contacts.is_empty() { "elastic solve" } else { "contact solve" }, clock() - start - detecting.total());
        report.stages.add("detection", detecting.total());
        report.take_progress(&progress, converged);
    }

    /// The matrices of the bodies of an island in f32, if it is solved with these.
    fn assemble_single(&self, island: &Island, systems: &mut [Box<BodySystem>]) {
        let (deformable, Some((rests, (levels, _)))) = (island.deformable(), self.rests.map(|rests| (rests, rests.coarse()))) else {
            return;
        };
        if rests.are_single(self.step.params, deformable) {
            let assemble = |(segment, system): (&Segment, &mut Box<BodySystem>)| {
                system.assemble(self.step, self.matrix, &levels[segment.body.index()], segment);
            };
            deformable.par_iter().zip(systems).for_each(assemble);
        }
    }

    /// Turns the coarse fields of the bodies of an island, if the method takes them.
    fn turn_fields(&self, island: &Island, systems: &mut [Box<BodySystem>]) {
        if let Some((levels, _)) = self.fields.map(RestPoses::coarse) {
            let turn = |(segment, system): (&Segment, &mut Box<BodySystem>)| system.turn_points(self.matrix, &levels[segment.body.index()]);
            island.deformable().par_iter().zip(systems).for_each(turn);
        }
    }

    /// The bodies of an island as blocks of the matrix.
    fn blocks<'b>(&'b self, island: &'b Island, systems: &'b [Box<BodySystem>]) -> impl Iterator<Item = Block<'b>> {
        let (step, model) = (self.step, self.step.model);
        let is_single = self.rests.is_some_and(|rests| rests.are_single(step.params, island.deformable()));
        island.segments.iter().enumerate().map(move |(k, segment)| {
            let place = segment.body.is_deformable().then(|| segment.body.index());
            let rest = place.zip(self.rests).and_then(|(place, rests)| Some((place, rests.turned(place)?))).map(|(place, rest)| Rest {
                factor: &rest.shape.factor,
                columns: &rest.shape.columns,
                rotations: rest.rotations(model, place, self.matrix.rotations()),
            });
            let single = place.zip(self.rests).filter(|_| is_single).map(|(place, rests)| {
                let (levels, coarse) = rests.coarse();
                let (layout, coarse) = (&levels[place].layout, coarse[place].as_ref());
                let system = TwoLevelSystem { layout, coarse, matrix: &systems[k].matrix, factor: None };
                let edge_blocks = &systems[k].edge_blocks;
                Single { system, edge_blocks, node_masses: &model.node_masses[segment.unknowns.clone()], damped: damped(step, segment) }
            });
            let is_free = !model.fixed.get(segment.unknowns.clone()).unwrap_or_default().contains(&true);
            let mass = place.filter(|_| is_free).map(|place| damped(step, segment) * model.bodies[place].mass);
            let coarse = place.zip(self.fields).and_then(|(place, rests)| {
                let (levels, coarse) = rests.coarse();
                Some(CoarseField {
                    layout: &levels[place].layout,
                    coarse: coarse.get(place)?.as_ref()?,
                    rotations: &systems[k].point_rotations,
                })
            });
            let slow = place.map_or(0, |place| step.state.slow[place]);
            Block { segment: segment.clone(), rest, single, coarse, slow, mass }
        })
    }
}

/// How far and how long an island is solved; `scale`: its driving impulse [kg m/s].
fn bounds(step: &StepInputs, island: &Island, scale: f64) -> Bounds {
    let params = step.params;
    let nodes = island.deformable().iter().flat_map(|segment| &step.state.velocities[segment.unknowns.clone()]);
    let fastest = nodes.map(Vec3::norm_squared).fold(0.0, f64::max).sqrt();
    Bounds {
        residual: params.tolerance * scale,
        elastic_tolerance: cwc::elastic_tolerance(params.contact_tolerance, params.time_step * fastest),
        max_elastic_iterations: params.max_iterations,
        fixed_iterations: params.fixed_iterations,
        max_iterations: params.max_contact_iterations,
        gives_up: params.acceptance == AcceptancePolicy::MustConverge,
        may_halve: params.acceptance.may_halve(),
    }
}
