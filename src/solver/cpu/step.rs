//! The parts of one step that are solved: elements and right-hand side of everything, then the velocity changes scope by scope.

use super::assemble::{Damping, link, matrix, right_hand_side, single_blocks};
use super::contacts::{Detection, DetectionMemory, Scope, Scopes};
use super::elements::{CornerForces, CornerGradients, Elements, NodeMotion, TetGroups, gather_motions, round};
use super::rest::RestPoses;
use super::rotation::Quaternion;
use super::solve::{Elastic, ScopeWork, solve_scope};
use crate::collision::Candidates;
use crate::contact::{Contact, Problem};
use crate::math::{Mat3, Vec3};
use crate::memory::Pages;
use crate::model::Model;
use crate::solver::{ContactSolver, Loads, Params, StageTimes, State, StepReport};
use crate::sparse::{Operator, SingleBlock, TwoLevel};

/// What a step is given.
pub struct Step<'a> {
    pub model: &'a Model,
    pub damping: &'a Damping,
    pub groups: &'a TetGroups,
    pub state: &'a State,
    pub params: &'a Params,
    pub loads: &'a Loads,
    /// For what touches.
    pub solver: ContactSolver,
}

/// What a step works with; memory is kept.
#[derive(Default)]
pub struct Work {
    pub rotations: Vec<Quaternion>,
    motions: Vec<NodeMotion>,
    /// Forces of the step, and its gradients: in f32 if the step may do without the matrix in f64.
    elements: Elements,
    single_gradients: Vec<CornerGradients<f32>>,
    /// The gradients of this step are there in f64.
    is_whole: bool,
    rhs: Vec<Vec3>,
    a: Operator,
    /// The matrix of this step is there in f64.
    is_assembled: bool,
    edge_blocks: Vec<Mat3>,
    single_blocks: Pages<SingleBlock>,
    /// Of the deformable bodies.
    systems: Vec<TwoLevel>,
    pub dv: Vec<Vec3>,
    /// Time step, and whether all bodies are light in it.
    pub lightness: Option<(f64, bool)>,
    pub rests: RestPoses,
    pub scopes: Scopes,
    pub scope_works: Vec<ScopeWork>,
    pub detection_memory: DetectionMemory,
    pub candidates: Candidates,
    /// Contacts of all scopes, as solved.
    pub found: Vec<Contact>,
    pub order: Vec<u32>,
    /// Ways of all vertices, if velocities change as they did in the last step [m].
    pub foretold: Vec<Vec3>,
}

impl Work {
    pub fn new(model: &Model) -> Self {
        let n = model.n_unknowns();
        Self { rhs: vec![Vec3::zeros(); n], dv: vec![Vec3::zeros(); n], ..Self::default() }
    }

    /// Each scope gets the contacts to begin with: in the first search of a step what is remembered and attached, then those that were found by the last one.
    pub fn deal_contacts(&mut self, detection: &Detection, is_first: bool) {
        let scopes = &self.scopes.list;
        self.scope_works.resize_with(scopes.len(), ScopeWork::default);
        for (scope, work) in scopes.iter().zip(&mut self.scope_works) {
            work.solved = None;
            let ours = |c: &mut Contact| scope.owns(detection.model, &c.bodies.map(|b| b as usize));
            work.contacts.clear();
            if is_first {
                let dv = &self.dv[scope.unknowns.clone()];
                detection.remember(scope, dv, &mut work.contacts);
                detection.attach(scope, dv, &mut work.contacts);
            } else {
                work.contacts.extend(self.found.extract_if(.., ours));
            }
        }
    }

    /// What the solves of all scopes came to.
    pub fn take_report(&mut self) -> StepReport {
        let mut together = StepReport { converged: true, ..StepReport::default() };
        self.scope_works.iter_mut().filter_map(|work| work.solved.take()).for_each(|part| together.join(part));
        together
    }

    /// A look at the geometry saw surfaces of a scope cross.
    pub fn crosses(&self) -> bool {
        self.scope_works.iter().any(|work| work.crosses)
    }

    /// Brings the contacts of all scopes together.
    pub fn gather_contacts(&mut self) {
        self.found.clear();
        self.scope_works.iter_mut().for_each(|work| self.found.append(&mut work.contacts));
    }
}

/// Scopes side by side, each with its part of what is solved.
struct Parts<'a> {
    scopes: &'a [Scope],
    works: &'a mut [ScopeWork],
    /// Of all unknowns of the scopes.
    dv: &'a mut [Vec3],
    /// Of the deformable bodies of the scopes; or none.
    systems: &'a mut [TwoLevel],
}

impl Parts<'_> {
    /// Hands each scope to `solve`, halves of them to different threads. `n_systems`: of the model.
    fn for_each(self, n_systems: usize, solve: &(impl Fn(&Scope, &mut ScopeWork, &mut [Vec3], &mut [TwoLevel]) + Sync)) {
        let Self { scopes, works, dv, systems } = self;
        match scopes {
            [] => {}
            [scope] => solve(scope, &mut works[0], dv, systems),
            _ => {
                let half = scopes.len() / 2;
                let (before, after) = scopes.split_at(half);
                let (works, works_after) = works.split_at_mut(half);
                let (dv, dv_after) = dv.split_at_mut(after[0].unknowns.start - before[0].unknowns.start);
                let first = |scopes: &[Scope]| scopes[0].deformable(n_systems).start;
                let (systems, systems_after) = systems.split_at_mut(first(after) - first(before));
                rayon::join(
                    || Parts { scopes: before, works, dv, systems }.for_each(n_systems, solve),
                    || Parts { scopes: after, works: works_after, dv: dv_after, systems: systems_after }.for_each(n_systems, solve),
                );
            }
        }
    }
}

impl Step<'_> {
    /// Whether what nothing touches is solved in f32. A method that is there to be compared with solves all on its own.
    fn may_round(&self) -> bool {
        self.params.solver.is_default()
    }

    /// Rotations, forces and gradients of all tets, and the right-hand side. The solve starts from the change of the last step.
    pub fn pass_elements(&self, work: &mut Work, stages: &mut StageTimes) {
        let Self { model, damping, groups, state, params, loads, .. } = *self;
        let Work {
            rotations, motions, elements: Elements { forces, gradients }, single_gradients, rhs, dv, is_whole, is_assembled, ..
        } = work;
        // What touched will touch.
        *is_whole = !self.may_round() || !state.contacts.entries.is_empty() || !model.attachments.is_empty();
        stages.time("elements", || {
            rotations.clone_from(&state.rotations);
            gather_motions(&state.displacements, &state.velocities, motions);
            match *is_whole {
                true => groups.pass::<_, true>(rotations, motions, params.time_step, forces, gradients),
                false => groups.pass::<_, true>(rotations, motions, params.time_step, forces, single_gradients),
            }
        });
        stages.time("assembly", || right_hand_side(model, forces, state, params, loads, damping, rhs));
        dv.copy_from_slice(&state.velocity_changes);
        *is_assembled = false;
    }

    /// The scopes without contacts, in f32, if they end without any.
    pub fn solve_untouched(&self, detection: &Detection, work: &mut Work, stages: &mut StageTimes) {
        let Self { model, damping, state, params, loads, .. } = *self;
        if !self.may_round() || !work.scope_works.iter().any(|work| work.contacts.is_empty()) {
            return;
        }
        let Work { rotations, elements, single_gradients, is_whole, rhs, a, single_blocks: blocks, systems, dv, rests, .. } = work;
        let Work { scopes, scope_works: works, .. } = work;
        stages.time("assembly", || {
            rests.select(model, params, damping, self.solver);
            link(model, state, params, loads, a);
            if *is_whole {
                round(&elements.gradients, single_gradients);
            }
            single_blocks(model, single_gradients, blocks);
        });
        systems.resize_with(model.bodies.len(), TwoLevel::default);
        let (levels, coarse) = rests.coarse();
        let elastic = Elastic { model, rotations, blocks, links: a, rhs, params };
        let n_bodies = model.bodies.len();
        Parts { scopes: &scopes.list, works, dv, systems }.for_each(n_bodies, &|scope, work, dv, systems| {
            if !work.contacts.is_empty() {
                return;
            }
            let (soft, scale) = (scope.deformable(n_bodies), self.driving_impulse(scope, &elements.forces));
            let Some(mut report) = elastic.solve(scope, &levels[soft.clone()], &coarse[soft], systems, scale, dv) else { return };
            let ScopeWork { contacts, crosses, .. } = work;
            *crosses = report.stages.time("detection", || detection.adapt(scope, dv, contacts)).crosses;
            work.solved = (work.contacts.is_empty() && report.converged).then_some(report);
        });
    }

    /// The scopes that are not solved yet, in f64.
    pub fn solve_touched(&self, detection: &Detection, work: &mut Work, stages: &mut StageTimes) {
        if work.scope_works.iter().all(|work| work.solved.is_some()) {
            return;
        }
        let Self { model, damping, groups, state, params, loads, solver } = *self;
        let dt = params.time_step;
        let Work { rotations, motions, elements, is_whole, rhs, a, is_assembled, edge_blocks, dv, rests, .. } = work;
        let Work { scopes, scope_works: works, .. } = work;
        if !*is_assembled {
            stages.time("assembly", || {
                if !*is_whole {
                    groups.pass::<_, false>(rotations, motions, dt, &mut elements.forces, &mut elements.gradients);
                }
                matrix(model, &elements.gradients, state, params, loads, damping, a, edge_blocks);
                if solver == ContactSolver::Cwc {
                    rests.turn(model, params, damping, rotations);
                }
            });
            *is_assembled = true;
        }
        // Only `cwc` has rest poses.
        let rests = if solver == ContactSolver::Cwc { rests.bodies() } else { &[] };
        let problem = |scope: &Scope| Problem {
            a,
            pattern: &model.pattern,
            fixed: &model.fixed,
            unknowns: scope.unknowns.clone(),
            dt,
            rhs: &rhs[scope.unknowns.clone()],
            tolerance: params.contact_tolerance,
        };
        Parts { scopes: &scopes.list, works, dv, systems: &mut [] }.for_each(0, &|scope, work, dv, _| {
            if work.solved.is_some() {
                return;
            }
            let (params, scale) = (Params { solver, ..*params }, self.driving_impulse(scope, &elements.forces));
            let rests = &rests[scope.deformable(rests.len())];
            work.solved = Some(solve_scope(&problem(scope), scope, detection, &params, scale, dv, rests, work));
        });
    }

    /// What the residual of a scope is measured against [kg m/s]: the impulse of its loads in this step (2-norm over nodes). Without any, the momentum and the
    /// element forces, so that a free body is solved as well as a loaded one.
    fn driving_impulse(&self, scope: &Scope, corner_forces: &[CornerForces]) -> f64 {
        let Drive { loads, momentum, least } = self.drive(scope);
        let mut scale = loads;
        if scale == 0.0 {
            let soft = scope.deformable(self.model.bodies.len());
            let forces = self.model.bodies[soft].iter().flat_map(|b| &corner_forces[b.tets.clone()]);
            let forces2: f64 = forces.flatten().flatten().map(|f| f * f).sum();
            scale = MOMENTUM_SHARE * momentum + self.params.time_step * forces2.sqrt();
        }
        scale.max(least)
    }

    /// What drives a scope, but for the element forces.
    pub fn drive(&self, scope: &Scope) -> Drive {
        let Self { model, state, params, loads, .. } = *self;
        let dt = params.time_step;
        let soft = scope.deformable(model.bodies.len());
        let rigid = scope.bodies.start.max(model.bodies.len())..scope.bodies.end.max(model.bodies.len());
        let nodes = model.bodies[soft].iter().flat_map(|b| b.nodes.clone());
        let rigid = rigid.map(|b| b - model.bodies.len());
        let of_nodes = nodes.clone().map(|i| (model.node_masses[i], state.velocities[i]));
        let of_rigid = rigid.filter_map(|r| {
            let (mass, _) = model.rigid_bodies[r].inertia_in_space(&state.rigid_bodies[r].pose.rotation)?;
            Some((mass, state.rigid_bodies[r].velocity))
        });
        let (mass2, momentum2) =
            of_nodes.chain(of_rigid).fold((0.0, 0.0), |(mass2, momentum2), (m, v)| (mass2 + m * m, momentum2 + v.norm_squared() * m * m));
        let mut scale = dt * params.gravity.norm() * mass2.sqrt();
        if !loads.node_forces.is_empty() {
            scale += dt * nodes.map(|i| loads.node_forces[i].norm_squared()).sum::<f64>().sqrt();
        }
        // The impulse of a spring, or, if it is stiff, one that would take its stretch away.
        for attachment in model.attachments.iter().filter(|a| scope.owns(model, &a.contact_bodies(model).map(|b| b.unwrap_or(usize::MAX))))
        {
            let [a, b] = state.attachment_points(model, attachment);
            let stretch = ((a - b).norm() - attachment.length).abs();
            scale += dt * stretch / (1.0 / attachment.stiffness + dt * dt / mass2.sqrt());
        }
        Drive { loads: scale, momentum: momentum2.sqrt(), least: 1e-12 * mass2.sqrt() }
    }
}

/// What drives a scope through a step [kg m/s], 2-norms over its nodes and rigid bodies.
pub struct Drive {
    /// The impulse of its loads.
    pub loads: f64,
    pub momentum: f64,
    /// A body at rest without loads has nothing to solve; any positive bound ends it at once.
    pub least: f64,
}

/// How much of the momentum drives a scope without loads.
pub const MOMENTUM_SHARE: f64 = 1e-2;
