//! Newton's method for the non-linear step: contacts are solved in each of its iterations, with the matrix and the
//! right-hand side of the iterate.
//!
//! About the velocity changes `dv_k`, which lead to the positions y_k, the step is linear in its whole velocity change,
//!
//! ```text
//! A_k dv = momentum + dt (f(y_k) + loads) + dt^2 K_k dv_k + contact impulses,     A_k = factor M + dt^2 K_k
//! ```
//!
//! so that rows and methods of contact need not know of it. The first iterate stands still, as the positions that
//! velocities lead to may be turned inside out (`materials-study.md` 1). From there each body goes on along a straight
//! way as far as its incremental potential falls, with the contact forces of the iteration taken as given.
//!
//! A step of second order is the two-step backward differentiation formula. Its unknown is the mean velocity of the
//! step, so that everything moves by `dt (v + dv)` here as well;
//! [`SystemInputs::inertia`](crate::elastic::SystemInputs) has its momentum. A body makes the step by backward Euler
//! where there is no history of this time step, and where a contact pushes it, in this step or in the last one: what
//! contact makes jump would jump back with what the formula remembers.

use super::potential::{Potential, gather_impulses};
use super::{StepError, StepInputs, StepReport};
use crate::contact::Constraint;
use crate::contact::islands::{Island, Islands};
use crate::contact::methods::cwc::elastic_tolerance;
use crate::elastic::{self, Forces, ForcesMemory, NodeMotion, Quaternion, SECOND_ORDER, gather_motions, grab_factor, right_hand_side};
use crate::element::ElementKind;
use crate::math::Vec3;
use crate::model::{AcceptancePolicy, Body, Grab, HeldPoint, Integration, Model, Params, State, Tet};
use crate::sparse::{RankOne, Segment};

/// Iterations after which a smaller step is a better answer.
const MAX_ITERATIONS: u32 = 30;
/// A way is halved at most this often.
const MAX_HALVINGS: u32 = 30;
/// Linear systems are solved to this part of the residual, times the residual itself where that is below one: enough
/// for errors to fall quadratically.
const FORCING: f64 = 0.1;
/// The first systems are solved to this part of the driving impulse.
const FIRST: f64 = 1e-2;

/// Newton's method in a step, and its memory.
#[derive(Default)]
pub(crate) struct Newton {
    /// With the tolerance of the next linear systems.
    params: Params,
    /// Velocity changes of all unknowns.
    iterate: Vec<Vec3>,
    /// Bodies that make a step of second order, and those that no contact has pushed.
    pub second_order: Vec<bool>,
    pub is_smooth: Vec<bool>,
    /// After each iteration of the step, relative to the driving impulse, of the worst island.
    pub residuals: Vec<f64>,
    /// Islands with contacts or joints.
    is_touched: Vec<bool>,
    impulses: Vec<Vec3>,
    along: Vec<Vec3>,
    displacements: Vec<Vec3>,
    velocities: Vec<Vec3>,
    rows: Vec<[f64; 4]>,
    motions: Vec<NodeMotion>,
    gains: Vec<f64>,
    equation: NonlinearEquation,
    residual: Vec<Vec3>,
}

/// The equation of the non-linear step, and its memory.
#[derive(Default)]
pub(crate) struct NonlinearEquation {
    displacements: Vec<Vec3>,
    velocities: Vec<Vec3>,
    motions: Vec<NodeMotion>,
    /// Of the elements where an iterate leads.
    pub forces: Forces,
    memory: ForcesMemory,
}

impl NonlinearEquation {
    /// What is left of it at an iterate without contacts, over all unknowns [kg m/s]: what loads and elements give
    /// beyond what the masses take; of rigid bodies, which have nothing non-linear, all that they are given. `states`:
    /// what elements remember.
    pub fn residual(&mut self, step: &StepInputs, iterate: &[Vec3], states: &[Quaternion], residual: &mut Vec<Vec3>) {
        let StepInputs { model, groups, params, loads, .. } = *step;
        let (dt, system) = (params.time_step, step.system());
        let Self { displacements, velocities, motions, forces, memory } = self;
        displacements.clear();
        displacements.extend(step.displacements(iterate));
        velocities.clear();
        velocities.extend((0..model.n_nodes()).map(|i| end_velocity(&system, model, i, iterate)));
        gather_motions(displacements, velocities, motions);
        groups.forces_at(states, motions, forces, memory);
        residual.resize(model.n_unknowns(), Vec3::zeros());
        right_hand_side(system, forces, residual);
        for (node, residual) in residual[..model.n_nodes()].iter_mut().enumerate().filter(|(node, _)| !model.fixed[*node]) {
            *residual -= iterate[node] * (system.inertia(node).factor * model.node_masses[node]);
        }
        for grab in &loads.grabs {
            let HeldPoint::Nodes { nodes, weights } = grab.point else { continue };
            let change: Vec3 = nodes.iter().zip(&weights).map(|(node, weight)| iterate[*node as usize] * *weight).sum();
            RankOne { nodes, weights, factor: 1.0 }.spread(&(change * -grab_factor(grab, dt)), residual, 0);
        }
        for (residual, _) in residual.iter_mut().zip(&model.fixed).filter(|(_, fixed)| **fixed) {
            *residual = Vec3::zeros();
        }
    }

    /// Square of the impulse of the element forces of a body where the iterate leads, over corners [kg^2 m^2/s^2].
    pub fn element_impulse2(&self, step: &StepInputs, body: &Body) -> f64 {
        let forces = match body.element {
            ElementKind::Linear => self.forces.tets[body.tets.clone()].as_flattened(),
            _ => &self.forces.patches[step.model.patch_corners(body)],
        };
        let dt = step.params.time_step;
        dt * dt * forces.iter().flatten().map(|f| f * f).sum::<f64>()
    }
}

/// What comes after an iteration.
pub(crate) enum Next {
    Linearise,
    Done {
        /// The last way was not gone to its end, so that contacts are not where they were solved.
        is_cut: bool,
    },
}

impl Newton {
    /// Another step begins, standing still.
    pub fn begin(&mut self, model: &Model, state: &State, params: &Params) {
        self.params = Params { tolerance: FIRST.min(params.tolerance.max(FORCING * params.newton_tolerance)), ..*params };
        self.residuals.clear();
        self.iterate.clear();
        self.iterate.extend(state.velocities.iter().map(|v| -v));
        self.iterate.extend(state.rigid_bodies.iter().flat_map(|rigid| [-rigid.velocity, -rigid.angular_velocity]));
        self.second_order.clear();
        let is_second = params.integration == Integration::Bdf2;
        // What is tangled keeps its angular momentum by the positions of first order.
        let serves = |body: usize| is_second && !state.tangled[body] && state.history.serves(body, params.time_step);
        self.second_order.extend((0..model.bodies.len()).map(serves));
    }

    /// What the step is given at the present iterate.
    pub fn inputs<'a>(&'a self, step: &StepInputs<'a>) -> StepInputs<'a> {
        StepInputs { params: &self.params, second_order: &self.second_order, iterate: Some(&self.iterate), ..*step }
    }

    /// Goes on from the iterate towards the velocity changes `dv` that the linear step has found with `contacts`, and
    /// measures what is left of the non-linear equation; `dv` takes where that leads. `states`: what elements remember
    /// at the iterate; `step`: without iterate.
    pub fn advance(
        &mut self,
        step: &StepInputs,
        states: &[Quaternion],
        islands: &Islands,
        contacts: &[Constraint],
        dv: &mut [Vec3],
        report: &mut StepReport,
    ) -> Result<Next, StepError> {
        report.newton_iterations += 1;
        let StepInputs { model, state, params, loads, .. } = *step;
        gather_impulses(step, contacts, &mut self.impulses);
        self.is_touched.clear();
        self.is_touched.resize(islands.list.len(), false);
        contacts.iter().filter_map(|contact| islands.owner(contact.bodies)).for_each(|owner| self.is_touched[owner] = true);
        let is_cut = self.search(step, states, islands, dv);
        let moved: Vec<f64> = islands.list.iter().map(|island| self.moved(model, island, dv, params.time_step)).collect();
        self.iterate.copy_from_slice(dv);
        let was_second = self.second_order.contains(&true);
        self.find_smooth(model, contacts);
        let fell_back = was_second && self.fall_back();
        self.measure(step, states);
        self.restore_momentum(step, dv);
        let (mut is_solved, mut worst): (bool, (f64, usize)) = (!fell_back && !is_cut, (0.0, 0));
        for (k, (island, moved)) in islands.list.iter().zip(&moved).enumerate() {
            let residual = self.residual_of(step, island);
            let fastest = island.deformable().iter().flat_map(|segment| &state.velocities[segment.unknowns.clone()]);
            let fastest = params.time_step * fastest.map(Vec3::norm_squared).fold(0.0, f64::max).sqrt();
            let is_still = self.is_touched[k] && *moved <= elastic_tolerance(params.contact_tolerance, fastest);
            is_solved &= residual <= params.newton_tolerance || is_still;
            if residual > worst.0 || residual.is_nan() {
                worst = (residual, k);
            }
        }
        self.residuals.push(worst.0);
        report.newton_residual = worst.0;
        if is_solved {
            return Ok(Next::Done { is_cut });
        }
        let iterations = self.residuals.len() as u32;
        if iterations >= MAX_ITERATIONS {
            if params.acceptance != AcceptancePolicy::MustConverge {
                // Bodies have less energy than where they would stand still: a step that is not exact does no harm.
                report.converged = false;
                return Ok(Next::Done { is_cut: true });
            }
            let (body, tet) = self.worst_tet(model, &islands.list[worst.1]);
            return Err(StepError::NewtonFailed { body, tet, residual: worst.0, iterations, step: loads.step });
        }
        self.params.tolerance = (FORCING * worst.0 * worst.0.min(1.0)).max(FORCING * params.newton_tolerance).min(FIRST);
        Ok(Next::Linearise)
    }

    /// Halves the ways of islands until no body of them gains by it; true if any is cut short.
    fn search(&mut self, step: &StepInputs, states: &[Quaternion], islands: &Islands, dv: &mut [Vec3]) -> bool {
        let StepInputs { model, groups, params, .. } = *step;
        let step = &StepInputs { second_order: &self.second_order, ..*step };
        let (dt, system) = (params.time_step, step.system());
        let Self { iterate, along, displacements, velocities, rows, motions, gains, impulses, is_touched, .. } = self;
        along.clear();
        along.extend(dv.iter().zip(&*iterate).map(|(dv, iterate)| dv - iterate));
        displacements.clear();
        displacements.extend(step.displacements(iterate));
        gather_motions(displacements, &along[..model.n_nodes()], motions);
        velocities.clear();
        velocities.extend((0..model.n_nodes()).map(|i| end_velocity(&system, model, i, iterate)));
        rows.clear();
        rows.extend(velocities.iter().map(|v| [v.x, v.y, v.z, 0.0]));
        let factor = if step.second_order.contains(&true) { SECOND_ORDER } else { 1.0 };
        let damping = Some(elastic::Damping { velocities: rows, time_step: dt, factor });
        let way = |part: f64| elastic::Way { states, motions, time: dt * part, turns_frames: true, damping };
        gains.resize(model.tets.len(), 0.0);
        groups.energy_gains(way(1.0), 0..model.tets.len(), gains);
        let potential = Potential { step: *step, impulses };
        let mut is_cut = false;
        for (k, island) in islands.list.iter().enumerate() {
            let mut part = 1.0;
            for _ in 0..MAX_HALVINGS {
                let falls = |segment: &Segment| {
                    let body = &model.bodies[segment.body.index()];
                    let course = potential.way(body, |node| iterate[node], along);
                    let gain = course.gain(part, gains[body.tets.clone()].iter().sum());
                    course.allows(gain, model, body, params.newton_tolerance)
                };
                if island.deformable().iter().all(falls) {
                    break;
                }
                part *= 0.5;
                for body in island.deformable().iter().map(|segment| &model.bodies[segment.body.index()]) {
                    groups.energy_gains(way(part), body.tets.clone(), &mut gains[body.tets.clone()]);
                }
            }
            if part < 1.0 {
                is_cut |= is_touched[k];
                for unknown in island.segments.iter().flat_map(|segment| segment.unknowns.clone()) {
                    dv[unknown] = iterate[unknown] + along[unknown] * part;
                }
            }
        }
        is_cut
    }

    /// The step ends. Where it was limited, velocities are those of the motion as it was limited.
    pub fn end(&mut self, was_limited: bool) {
        if was_limited {
            self.second_order.fill(false);
            self.is_smooth.clear();
            self.is_smooth.resize(self.second_order.len(), false);
        }
    }

    /// How far an iteration has moved the nodes of an island [m], at most.
    fn moved(&self, model: &Model, island: &Island, dv: &[Vec3], dt: f64) -> f64 {
        let nodes = island.deformable().iter().flat_map(|segment| segment.unknowns.clone()).filter(|node| !model.fixed[*node]);
        nodes.map(|node| (dv[node] - self.iterate[node]).norm_squared()).fold(0.0, f64::max).sqrt() * dt
    }

    /// Bodies that no contact pushes.
    fn find_smooth(&mut self, model: &Model, contacts: &[Constraint]) {
        self.is_smooth.clear();
        self.is_smooth.resize(model.bodies.len(), true);
        let pushing = contacts.iter().filter(|contact| contact.law.is_unilateral() && contact.is_active());
        for body in pushing.flat_map(|contact| contact.bodies).filter(|body| body.is_deformable()) {
            self.is_smooth[body.index()] = false;
        }
    }

    /// Bodies that contacts push make the step by backward Euler from now on; whether that is new of any.
    fn fall_back(&mut self) -> bool {
        let mut is_new = false;
        for (second_order, is_smooth) in self.second_order.iter_mut().zip(&self.is_smooth) {
            is_new |= *second_order && !is_smooth;
            *second_order &= is_smooth;
        }
        is_new
    }

    /// The residual of the non-linear equation at the iterate, with contacts.
    fn measure(&mut self, step: &StepInputs, states: &[Quaternion]) {
        let step = &StepInputs { second_order: &self.second_order, ..*step };
        self.equation.residual(step, &self.iterate, states, &mut self.residual);
        let free = self.residual.iter_mut().zip(&self.impulses).zip(&step.model.fixed).filter(|(_, fixed)| !**fixed);
        free.for_each(|((residual, impulse), _)| *residual += impulse);
    }

    /// Bodies that nothing holds and nothing touches change their momentum by what acts on them: their common motion
    /// takes what the solve has left of that.
    fn restore_momentum(&mut self, step: &StepInputs, dv: &mut [Vec3]) {
        let StepInputs { model, loads, .. } = *step;
        for (b, body) in model.bodies.iter().enumerate() {
            let nodes = body.nodes.clone();
            let is_grabbed =
                |grab: &Grab| matches!(grab.point, HeldPoint::Nodes { nodes: held, .. } if nodes.contains(&(held[0] as usize)));
            let is_pushed = self.impulses[nodes.clone()].iter().any(|impulse| *impulse != Vec3::zeros());
            if is_pushed || model.fixed[nodes.clone()].contains(&true) || loads.grabs.iter().any(is_grabbed) {
                continue;
            }
            let factor = StepInputs { second_order: &self.second_order, ..*step }.system().mass_factor(b);
            let change = self.residual[nodes.clone()].iter().sum::<Vec3>() / (factor * body.mass);
            for node in nodes {
                dv[node] += change;
                self.iterate[node] += change;
                self.residual[node] -= change * (factor * model.node_masses[node]);
            }
        }
    }

    /// The body of an island with the node at which most of the residual is left, and a tet at that node, from 0 in the
    /// body.
    fn worst_tet(&self, model: &Model, island: &Island) -> (String, usize) {
        let nodes = island.deformable().iter().flat_map(|segment| segment.unknowns.clone());
        let worst = nodes.max_by(|a, b| self.residual[*a].norm_squared().total_cmp(&self.residual[*b].norm_squared()));
        let Some(node) = worst else { return (String::new(), 0) };
        let body = &model.bodies[model.node_bodies[node] as usize];
        let has_it = |tet: &Tet| tet.nodes.contains(&(node as u32));
        (body.name.clone(), model.tets[body.tets.clone()].iter().position(has_it).unwrap_or(0))
    }

    /// The residual of an island relative to its driving impulse [-].
    fn residual_of(&self, step: &StepInputs, island: &Island) -> f64 {
        let nodes = island.deformable().iter().flat_map(|segment| segment.unknowns.clone());
        let residual2: f64 = nodes.map(|node| self.residual[node].norm_squared()).sum();
        let bodies = || island.deformable().iter().map(|segment| &step.model.bodies[segment.body.index()]);
        let of_elements = || bodies().map(|body| self.equation.element_impulse2(step, body)).sum::<f64>().sqrt();
        residual2.sqrt() / step.drive(island).scale(of_elements)
    }
}

/// The velocity of a node at the end of the step with the velocity changes of an iterate [m/s].
fn end_velocity(system: &elastic::SystemInputs, model: &Model, node: usize, iterate: &[Vec3]) -> Vec3 {
    let factor = if system.is_second_order(model.node_bodies[node] as usize) { SECOND_ORDER } else { 1.0 };
    system.undisturbed(node) + iterate[node] * factor
}
