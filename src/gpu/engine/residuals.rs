//! The engine with conjugate residuals (`gpu::cr`). A island without contacts is solved as it is for the warped compliance; the others with their contacts, until
//! states and forces agree. The host then looks at the geometry, and the solve goes on from where it was. Twin: `step::solve::with_residuals`.

#[cfg(test)]
mod tests;

use super::*;
use crate::contact::MAX_RELINEARISATIONS;
use crate::gpu::cr::{self, Cr, CrControlData, CrIsland};
use crate::gpu::cwc::ColumnStore;
use crate::step::MOMENTUM_SHARE;

/// Elastic iterations of a submission.
const ELASTIC: u32 = 64;

/// Rounds of a submission: where it is dear to wait more, where empty dispatches are dear less.
fn rounds(device: &Device) -> u32 {
    if device.is_hardware() { 64 } else { 16 }
}

/// Tables of contacts whose compliance nobody asks for.
fn rows_of(contacts: &[Constraint]) -> IslandRows<'_> {
    IslandRows { contacts, bodies: 0..0, accuracy: 0.0, factor: 1.0 }
}

/// How the solve of a island goes.
#[derive(Default)]
struct Pursuit {
    /// As the last submission left it.
    control: CrControlData,
    /// Iterations without contacts.
    elastic: u32,
    restarts: u32,
    relinearisations: u32,
}

/// What a round answers.
struct Found {
    controls: Vec<ControlData>,
    islands: Vec<CrControlData>,
    /// `cr::READ` planes over contacts.
    planes: Vec<[f32; 4]>,
    dv: Vec<[f32; 4]>,
    rotations: Option<Vec<[f32; 4]>>,
}

impl Found {
    fn is_done(&self) -> bool {
        self.controls.iter().all(|control| control.elastic_done != 0) && self.islands.iter().all(|island| island.done != 0)
    }

    /// The first body whose solve has stopped at what is not finite, or the first of its island. `owners`: the first body of each island.
    fn fault(&self, owners: &[usize]) -> Option<usize> {
        let of_islands = self.islands.iter().zip(owners).find(|(island, _)| !island.residual2.is_finite());
        self.controls.iter().position(|control| !control.residual2.is_finite()).or(of_islands.map(|(_, body)| *body))
    }
}

impl DeviceBackend {
    pub(super) fn solve_with_residuals(
        &mut self,
        step: &Step,
        detection: &Detection,
        work: &mut StepWork,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let (model, state) = (step.model, step.state);
        let mut pursuits: Vec<Pursuit> = work.islands.list.iter().map(|island| Pursuit::begin(step, island)).collect();
        while work.island_works.iter().any(|work| work.solved.is_none()) {
            let is_island = |k: &usize| work.island_works[*k].solved.is_none() && !work.island_works[*k].contacts.is_empty();
            let islands: Vec<usize> = (0..pursuits.len()).filter(is_island).collect();
            let found = self.pursue(step, work, &pursuits, &islands, report).map_err(|error| self.lost(&error))?;
            let owners: Vec<usize> = islands.iter().map(|k| work.islands.list[*k].bodies.start).collect();
            if let Some(body) = found.fault(&owners) {
                let body = model.contact_body_name(body).to_owned();
                return Err(StepError::NotFinite { what: "the velocity", body, step: state.step });
            }
            if let Some(rotations) = &found.rotations {
                work.rotations = rotations.iter().map(|q| q.map(f64::from)).collect();
            }
            self.count_moved(step, &pursuits, &islands, &found);
            self.follow(step, detection, work, &mut pursuits, &islands, &found, report);
        }
        for (stage, work) in std::mem::take(&mut self.work).0 {
            report.device_work.add(stage, work);
        }
        Ok(())
    }

    /// One round: solves all islands with the rows that they have.
    fn pursue(
        &mut self,
        step: &Step,
        work: &StepWork,
        pursuits: &[Pursuit],
        islands: &[usize],
        report: &mut StepReport,
    ) -> Result<Found, DeviceError> {
        let model = step.model;
        let rows: Vec<IslandRows> = islands.iter().map(|k| rows_of(&work.island_works[*k].contacts)).collect();
        let tables = report
            .stages
            .time("rows", || Tables::new(model, &rows, Inverses { rests: &[], rigid: &self.inverses }, &mut ColumnStore::default(), 0));
        self.bring(step, work, pursuits, islands, &tables)?;
        let has_free = work.island_works.iter().any(|work| work.solved.is_none() && work.contacts.is_empty());
        let has_islands = !islands.is_empty();
        let mut is_new = true;
        let mut rotations = None;
        loop {
            let (mut encoder, is_fresh) = self.begin_submission(step)?;
            if is_fresh {
                let (free, rhs) = (self.buffers.get("rhs_free"), self.buffers.get("rhs"));
                encoder.copy_buffer_to_buffer(free, 0, rhs, 0, free.size());
            }
            if std::mem::take(&mut is_new) {
                self.record(&mut encoder, "elastic solve", |s, pass| s.cg.record_start(pass));
                if has_islands {
                    self.record(&mut encoder, "contact solve", |s, pass| s.cr.iter().for_each(|cr| cr.record_entry(pass)));
                }
            }
            if has_free {
                self.record(&mut encoder, "elastic solve", |s, pass| s.cg.record_iterations(pass, &s.buffers, ELASTIC));
            }
            if has_islands {
                self.record(&mut encoder, "contact solve", |s, pass| {
                    s.cr.iter().for_each(|cr| cr.record_rounds(pass, &s.buffers, rounds(&s.device)));
                });
            }
            let parts: [(&str, u64, usize); 5] = [
                ("reductions", 0, model.bodies.len() * size_of::<ControlData>()),
                ("cr_controls", 0, islands.len() * size_of::<CrControlData>()),
                ("cr_state", 0, 16 * cr::READ * tables.rows.len()),
                ("dv", 0, 16 * model.n_unknowns()),
                ("rotations", 0, if is_fresh { 16 * model.tets.len() } else { 0 }),
            ];
            let mut found = self.deliver(encoder, &parts, report, |found| Found {
                controls: bytemuck::pod_collect_to_vec(found[0]),
                islands: bytemuck::pod_collect_to_vec(found[1]),
                planes: bytemuck::pod_collect_to_vec(found[2]),
                dv: bytemuck::pod_collect_to_vec(found[3]),
                rotations: is_fresh.then(|| bytemuck::pod_collect_to_vec(found[4])),
            })?;
            rotations = found.rotations.take().or(rotations);
            if found.is_done() || !is_finite(&found.dv) {
                found.rotations = rotations;
                return Ok(found);
            }
        }
    }

    /// Brings what a round begins with.
    fn bring(&mut self, step: &Step, work: &StepWork, pursuits: &[Pursuit], islands: &[usize], tables: &Tables) -> Result<(), DeviceError> {
        let model = step.model;
        let n_bodies = model.bodies.len();
        let (all_islands, works) = (&work.islands.list, &work.island_works);
        // The contacts solve for their bodies themselves.
        let mut all = controls(model, step.params, step.loads, &vec![true; n_bodies]);
        for (island, _) in all_islands.iter().zip(works).filter(|(_, work)| work.solved.is_none() && work.contacts.is_empty()) {
            for control in &mut all[island.deformable(n_bodies)] {
                (control.remembered, control.elastic_done) = (0, 0);
            }
        }
        self.outbox.put(self.buffers.get("reductions"), 0, &all);
        let island = |k: &usize| CrIsland {
            contacts: &works[*k].contacts,
            unknowns: all_islands[*k].unknowns.clone(),
            bodies: all_islands[*k].deformable(n_bodies),
            control: pursuits[*k].control,
        };
        let parts: Vec<CrIsland> = islands.iter().map(island).collect();
        // The kernels are made when they are first asked for.
        let mut solver = self.cr.take().map_or_else(|| Cr::new(&self.device, &mut self.buffers, model), Ok)?;
        let rigid = (&self.links.rigid_blocks[..], &self.inverses[..]);
        solver.upload(&mut self.buffers, &mut self.outbox, tables, &parts, rigid)?;
        self.cr = Some(solver);
        Ok(())
    }

    /// What a round has moved at least.
    fn count_moved(&mut self, step: &Step, pursuits: &[Pursuit], islands: &[usize], found: &Found) {
        let [elements, assembly] = if found.rotations.is_some() { bytes_of_system(step.model) } else { [0, 0] };
        let [iteration, start] = self.tiles.bytes_of_iteration(step.model, step.params.is_two_level());
        let elastic = found.controls.iter().map(|control| control.iterations).max().unwrap_or(0);
        let iterations = found.islands.iter().zip(islands).map(|(control, k)| control.iterations - pursuits[*k].control.iterations);
        let contact = u64::from(iterations.max().unwrap_or(0)) * cr::bytes_of_iteration(step.model, found.planes.len() / cr::READ);
        let elastic = start + u64::from(elastic) * iteration;
        for (stage, bytes) in [("elements", elements), ("assembly", assembly), ("elastic solve", elastic), ("contact solve", contact)] {
            self.work.add(stage, Work { dispatches: 0, bytes });
        }
    }

    /// Takes over what a round came to, and looks at the geometry of the islands that were in it.
    fn follow(
        &self,
        step: &Step,
        detection: &Detection,
        work: &mut StepWork,
        pursuits: &mut [Pursuit],
        islands: &[usize],
        found: &Found,
        report: &mut StepReport,
    ) {
        let (model, dt) = (step.model, step.params.time_step);
        let StepWork { islands: all_islands, island_works, dv, .. } = work;
        for (island, work) in all_islands.list.iter().zip(&*island_works).filter(|(_, work)| work.solved.is_none()) {
            let range = island.unknowns.clone();
            dv[range.clone()].iter_mut().zip(&found.dv[range]).for_each(|(dv, found)| *dv = three(found));
            if work.contacts.is_empty() {
                self.keep_momentum(step, island.deformable(model.bodies.len()), &[], dv);
                self.move_rigid_bodies(model, island, &[], dt, dv);
            }
        }
        let mut first = 0;
        let n_contacts = found.planes.len() / cr::READ;
        for (control, k) in found.islands.iter().zip(islands) {
            pursuits[*k].control = *control;
            pursuits[*k].restarts += control.restarts;
            let contacts = &mut island_works[*k].contacts;
            for (j, contact) in (first..).zip(contacts.iter_mut()) {
                cr::take(contact, std::array::from_fn(|plane| &found.planes[plane * n_contacts + j]));
            }
            first += contacts.len();
        }
        let dv: &[Vec3] = dv;
        let is_finite = dv.iter().all(|dv| dv.iter().all(|c| c.is_finite()));
        let start = Instant::now();
        let look = |((island, work), pursuit): ((&Island, &mut IslandWork), &mut Pursuit)| {
            if work.solved.is_some() {
                return;
            }
            let of_bodies = &found.controls[island.deformable(model.bodies.len())];
            let dv = &dv[island.unknowns.clone()];
            let outcome = match work.contacts.is_empty() {
                true => pursuit.look_alone(island, detection, work, dv, of_bodies, is_finite),
                false => pursuit.look(island, detection, work, dv, is_finite),
            };
            work.solved = outcome.map(|(converged, residual)| StepReport {
                iterations: pursuit.elastic + pursuit.control.iterations,
                restarts: pursuit.restarts,
                relinearisations: pursuit.relinearisations,
                residual,
                converged,
                contact: contact_report(&work.contacts, dv, island.unknowns.start, dt, &work.pairs),
                ..StepReport::default()
            });
        };
        let islands = all_islands.list.par_iter().zip(&mut *island_works);
        islands.zip(pursuits).for_each(look);
        report.stages.add("detection", start.elapsed().as_secs_f64() * 1e3);
    }
}

impl Pursuit {
    fn begin(step: &Step, island: &Island) -> Self {
        let drive = step.drive(island);
        let is_loaded = drive.loads > 0.0;
        let scale = if is_loaded { drive.loads.max(drive.least) } else { MOMENTUM_SHARE * drive.momentum };
        let control = CrControlData {
            is_loaded: is_loaded.into(),
            scale: scale as f32,
            least_scale: (drive.least as f32).max(f32::MIN_POSITIVE),
            ..CrControlData::default()
        };
        Self { control, ..Self::default() }
    }

    /// A island that was solved without contacts: whether it has converged, and its residual; None if it meets something.
    fn look_alone(
        &mut self,
        island: &Island,
        detection: &Detection,
        work: &mut IslandWork,
        dv: &[Vec3],
        of_bodies: &[ControlData],
        is_finite: bool,
    ) -> Option<(bool, f64)> {
        self.elastic += of_bodies.iter().map(|control| control.iterations).max().unwrap_or(0);
        if is_finite {
            work.crosses = detection.adapt(island, dv, &mut work.contacts).crosses;
        }
        let residual = of_bodies.iter().map(|c| f64::from(c.residual2).sqrt() / f64::from(c.scale)).fold(0.0, f64::max);
        let converged = is_finite && of_bodies.iter().all(|control| control.converged != 0);
        work.contacts.is_empty().then_some((converged, residual))
    }

    /// The same of a island with contacts; None if it goes on.
    fn look(&mut self, island: &Island, detection: &Detection, work: &mut IslandWork, dv: &[Vec3], is_finite: bool) -> Option<(bool, f64)> {
        let control = &mut self.control;
        let residual = f64::from(control.residual2).sqrt() / f64::from(control.scale);
        if !is_finite || control.is_exhausted != 0 {
            return Some((false, residual));
        }
        if self.relinearisations < MAX_RELINEARISATIONS {
            let adapted = detection.adapt(island, dv, &mut work.contacts);
            work.crosses = adapted.crosses;
            if adapted.off > 0.0 {
                self.relinearisations += 1;
                return None;
            }
        }
        if control.bound2 > control.final2 && control.stuck == 0 {
            // States and rows have settled roughly.
            control.bound2 = control.final2;
            return None;
        }
        Some((control.converged != 0, residual))
    }
}
