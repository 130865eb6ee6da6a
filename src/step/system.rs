//! The parts of one step that are solved: elements and right-hand side of everything, then the velocity changes island by island.

use super::solve::{Elastic, IslandWork, solve_island};
use crate::contact::generate::{Detection, DetectionMemory, Island, Islands};
use crate::contact::{Constraint, Problem};
use crate::elastic::{
    CornerForces, Elements, NodeMotion, Quaternion, RestPoses, SystemInputs, Tangents, TetGroups, gather_motions, link, matrix,
    right_hand_side, single_blocks,
};
use crate::geometry::Candidates;
use crate::math::{Mat3, Vec3};
use crate::memory::Pages;
use crate::model::Model;
use crate::model::{ContactMethod, Loads, Params, State};
use crate::sparse::{Operator, SingleBlock, TwoLevel};
use crate::step::{StageTimes, StepReport};

/// What a step is given.
pub struct Step<'a> {
    pub model: &'a Model,
    pub groups: &'a TetGroups,
    pub state: &'a State,
    pub params: &'a Params,
    pub loads: &'a Loads,
    /// For what touches.
    pub solver: ContactMethod,
}

/// What a step works with; memory is kept.
#[derive(Default)]
pub struct StepWork {
    pub rotations: Vec<Quaternion>,
    motions: Vec<NodeMotion>,
    /// Forces of the step, and its tangents: in f32 if the step may do without the matrix in f64.
    elements: Elements,
    single_tangents: Tangents<f32>,
    /// The tangents of this step are there in f64.
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
    pub islands: Islands,
    pub island_works: Vec<IslandWork>,
    pub detection_memory: DetectionMemory,
    pub candidates: Candidates,
    /// Contacts of all islands, as solved.
    pub found: Vec<Constraint>,
    pub order: Vec<u32>,
    /// Ways of all vertices, if velocities change as they did in the last step [m].
    pub predicted: Vec<Vec3>,
}

impl StepWork {
    pub fn new(model: &Model) -> Self {
        let n = model.n_unknowns();
        Self { rhs: vec![Vec3::zeros(); n], dv: vec![Vec3::zeros(); n], ..Self::default() }
    }

    /// Each island gets the contacts to begin with: in the first search of a step what is remembered and attached, then those that were found by the last one.
    pub fn deal_contacts(&mut self, detection: &Detection, is_first: bool) {
        let islands = &self.islands.list;
        self.island_works.resize_with(islands.len(), IslandWork::default);
        for (island, work) in islands.iter().zip(&mut self.island_works) {
            work.solved = None;
            let ours = |c: &mut Constraint| island.owns(detection.model, &c.bodies.map(|b| b as usize));
            work.contacts.clear();
            if is_first {
                let dv = &self.dv[island.unknowns.clone()];
                detection.remember(island, dv, &mut work.contacts);
                detection.attach(island, dv, &mut work.contacts);
            } else {
                work.contacts.extend(self.found.extract_if(.., ours));
            }
        }
    }

    /// What the solves of all islands came to.
    pub fn take_report(&mut self) -> StepReport {
        let mut together = StepReport { converged: true, ..StepReport::default() };
        self.island_works.iter_mut().filter_map(|work| work.solved.take()).for_each(|part| together.join(part));
        together
    }

    /// A look at the geometry saw surfaces of a island cross.
    pub fn crosses(&self) -> bool {
        self.island_works.iter().any(|work| work.crosses)
    }

    /// Brings the contacts of all islands together.
    pub fn gather_contacts(&mut self) {
        self.found.clear();
        self.island_works.iter_mut().for_each(|work| self.found.append(&mut work.contacts));
    }
}

/// Islands side by side, each with its part of what is solved.
struct Parts<'a> {
    islands: &'a [Island],
    works: &'a mut [IslandWork],
    /// Of all unknowns of the islands.
    dv: &'a mut [Vec3],
    /// Of the deformable bodies of the islands; or none.
    systems: &'a mut [TwoLevel],
}

impl Parts<'_> {
    /// Hands each island to `solve`, halves of them to different threads. `n_systems`: of the model.
    fn for_each(self, n_systems: usize, solve: &(impl Fn(&Island, &mut IslandWork, &mut [Vec3], &mut [TwoLevel]) + Sync)) {
        let Self { islands, works, dv, systems } = self;
        match islands {
            [] => {}
            [island] => solve(island, &mut works[0], dv, systems),
            _ => {
                let half = islands.len() / 2;
                let (before, after) = islands.split_at(half);
                let (works, works_after) = works.split_at_mut(half);
                let (dv, dv_after) = dv.split_at_mut(after[0].unknowns.start - before[0].unknowns.start);
                let first = |islands: &[Island]| islands[0].deformable(n_systems).start;
                let (systems, systems_after) = systems.split_at_mut(first(after) - first(before));
                rayon::join(
                    || Parts { islands: before, works, dv, systems }.for_each(n_systems, solve),
                    || Parts { islands: after, works: works_after, dv: dv_after, systems: systems_after }.for_each(n_systems, solve),
                );
            }
        }
    }
}

impl Step<'_> {
    pub fn inputs(&self) -> SystemInputs<'_> {
        SystemInputs { model: self.model, state: self.state, params: self.params, loads: self.loads }
    }

    /// Whether what nothing touches is solved in f32. A method that is there to be compared with solves all on its own.
    fn may_round(&self) -> bool {
        self.params.solver.is_default()
    }

    /// Rotations, forces and gradients of all tets, and the right-hand side. The solve starts from the change of the last step.
    pub fn pass_elements(&self, work: &mut StepWork, stages: &mut StageTimes) {
        let Self { model, groups, state, params, .. } = *self;
        let StepWork {
            rotations, motions, elements: Elements { forces, tangents }, single_tangents, rhs, dv, is_whole, is_assembled, ..
        } = work;
        // What touched will touch.
        *is_whole = !self.may_round() || !state.contacts.entries.is_empty() || !model.attachments.is_empty();
        stages.time("elements", || {
            rotations.clone_from(&state.rotations);
            gather_motions(&state.displacements, &state.velocities, motions);
            match *is_whole {
                true => groups.pass::<_, true>(rotations, motions, params.time_step, forces, tangents),
                false => groups.pass::<_, true>(rotations, motions, params.time_step, forces, single_tangents),
            }
        });
        stages.time("assembly", || right_hand_side(self.inputs(), forces, rhs));
        dv.copy_from_slice(&state.velocity_changes);
        *is_assembled = false;
    }

    /// The islands without contacts, in f32, if they end without any.
    pub fn solve_untouched(&self, detection: &Detection, work: &mut StepWork, stages: &mut StageTimes) {
        let Self { model, params, .. } = *self;
        if !self.may_round() || !work.island_works.iter().any(|work| work.contacts.is_empty()) {
            return;
        }
        let StepWork { rotations, elements, single_tangents, is_whole, rhs, a, single_blocks: blocks, systems, dv, rests, .. } = work;
        let StepWork { islands, island_works: works, .. } = work;
        stages.time("assembly", || {
            rests.select(model, params, self.solver);
            link(self.inputs(), a);
            if *is_whole {
                elements.tangents.round(single_tangents);
            }
            single_blocks(model, single_tangents, blocks);
        });
        systems.resize_with(model.bodies.len(), TwoLevel::default);
        let (levels, coarse) = rests.coarse();
        let elastic = Elastic { model, rotations, blocks, links: a, rhs, params };
        let n_bodies = model.bodies.len();
        Parts { islands: &islands.list, works, dv, systems }.for_each(n_bodies, &|island, work, dv, systems| {
            if !work.contacts.is_empty() {
                return;
            }
            let (soft, scale) = (island.deformable(n_bodies), self.driving_impulse(island, &elements.forces));
            let Some(mut report) = elastic.solve(island, &levels[soft.clone()], &coarse[soft], systems, scale, dv) else { return };
            let IslandWork { contacts, crosses, .. } = work;
            *crosses = report.stages.time("detection", || detection.adapt(island, dv, contacts)).crosses;
            work.solved = (work.contacts.is_empty() && report.converged).then_some(report);
        });
    }

    /// The islands that are not solved yet, in f64.
    pub fn solve_touched(&self, detection: &Detection, work: &mut StepWork, stages: &mut StageTimes) {
        if work.island_works.iter().all(|work| work.solved.is_some()) {
            return;
        }
        let Self { model, groups, params, solver, .. } = *self;
        let dt = params.time_step;
        let StepWork { rotations, motions, elements, is_whole, rhs, a, is_assembled, edge_blocks, dv, rests, .. } = work;
        let StepWork { islands, island_works: works, .. } = work;
        if !*is_assembled {
            stages.time("assembly", || {
                if !*is_whole {
                    groups.pass::<_, false>(rotations, motions, dt, &mut elements.forces, &mut elements.tangents);
                }
                matrix(self.inputs(), &elements.tangents, a, edge_blocks);
                if solver == ContactMethod::Cwc {
                    rests.turn(model, params, rotations);
                }
            });
            *is_assembled = true;
        }
        // Only `cwc` has rest poses.
        let rests = if solver == ContactMethod::Cwc { rests.bodies() } else { &[] };
        let problem = |island: &Island| Problem {
            a,
            pattern: &model.pattern,
            fixed: &model.fixed,
            unknowns: island.unknowns.clone(),
            dt,
            rhs: &rhs[island.unknowns.clone()],
            tolerance: params.contact_tolerance,
        };
        Parts { islands: &islands.list, works, dv, systems: &mut [] }.for_each(0, &|island, work, dv, _| {
            if work.solved.is_some() {
                return;
            }
            let (params, scale) = (Params { solver, ..*params }, self.driving_impulse(island, &elements.forces));
            let rests = &rests[island.deformable(rests.len())];
            work.solved = Some(solve_island(&problem(island), island, detection, &params, scale, dv, rests, work));
        });
    }

    /// What the residual of a island is measured against [kg m/s]: the impulse of its loads in this step (2-norm over nodes). Without any, the momentum and the
    /// element forces, so that a free body is solved as well as a loaded one.
    fn driving_impulse(&self, island: &Island, corner_forces: &[CornerForces]) -> f64 {
        let Drive { loads, momentum, least } = self.drive(island);
        let mut scale = loads;
        if scale == 0.0 {
            let soft = island.deformable(self.model.bodies.len());
            let forces = self.model.bodies[soft].iter().flat_map(|b| &corner_forces[b.tets.clone()]);
            let forces2: f64 = forces.flatten().flatten().map(|f| f * f).sum();
            scale = MOMENTUM_SHARE * momentum + self.params.time_step * forces2.sqrt();
        }
        scale.max(least)
    }

    /// What drives a island, but for the element forces.
    pub fn drive(&self, island: &Island) -> Drive {
        let Self { model, state, params, loads, .. } = *self;
        let dt = params.time_step;
        let soft = island.deformable(model.bodies.len());
        let rigid = island.bodies.start.max(model.bodies.len())..island.bodies.end.max(model.bodies.len());
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
        for attachment in model.attachments.iter().filter(|a| island.owns(model, &a.contact_bodies(model).map(|b| b.unwrap_or(usize::MAX))))
        {
            let [a, b] = state.attachment_points(model, attachment);
            let stretch = ((a - b).norm() - attachment.length).abs();
            scale += dt * stretch / (1.0 / attachment.stiffness + dt * dt / mass2.sqrt());
        }
        Drive { loads: scale, momentum: momentum2.sqrt(), least: 1e-12 * mass2.sqrt() }
    }
}

/// What drives a island through a step [kg m/s], 2-norms over its nodes and rigid bodies.
pub struct Drive {
    /// The impulse of its loads.
    pub loads: f64,
    pub momentum: f64,
    /// A body at rest without loads has nothing to solve; any positive bound ends it at once.
    pub least: f64,
}

/// How much of the momentum drives a island without loads.
pub const MOMENTUM_SHARE: f64 = 1e-2;
