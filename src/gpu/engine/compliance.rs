//! Corrected warped compliance, round by round: the device solves the rows of all islands, the host renews them
//! (`contact::driver`). Twin: `contact::methods::cwc`.

use super::*;
use crate::body::BodyRef;
use crate::budget::Allowance;
use crate::contact::driver::{Found, Limits, Next, Relinearisation, RowsSolved};
use crate::gpu::tiles::CORES_OF_DEVICE;

/// What a submission answers.
struct Answer {
    controls: Vec<ControlData>,
    /// `VECTORS` vectors an island.
    islands: Vec<[f32; 4]>,
    forces: Vec<[f32; 4]>,
    scales: Vec<[f32; 4]>,
    dv: Vec<[f32; 4]>,
    /// Of the tets, after their pass.
    rotations: Option<Vec<[f32; 4]>>,
}

impl Answer {
    /// Passes of the slowest island.
    fn passes(&self) -> u64 {
        self.islands.chunks_exact(VECTORS).map(|island| island[FACTOR][3] as u64).max().unwrap_or(1).max(1)
    }

    /// Iterations of a pass of the slowest island, in the mean, and half as many more.
    fn iterations(&self) -> u32 {
        let of_pass = |island: &[[f32; 4]]| (1.5 * island[PROGRESS][1] / island[FACTOR][3].max(1.0)) as u32;
        self.islands.chunks_exact(VECTORS).map(of_pass).max().unwrap_or(0)
    }

    /// The first body whose elastic solve has stopped at what is not finite.
    fn fault(&self) -> Option<usize> {
        self.controls.iter().position(|control| !control.residual2.is_finite())
    }
}

/// How the solve of an island goes.
struct Course {
    progress: Relinearisation,
    /// How much larger the compliance is than told.
    factor: f32,
    /// What the last round found.
    solved: RowsSolved,
}

/// Passes of a submission: as many as the last round of its kind took, within these bounds.
pub const PASSES: std::ops::RangeInclusive<u32> = 2..=6;
/// Iterations for the forces that a pass is recorded with, likewise.
pub const CUT: std::ops::RangeInclusive<u32> = 24..=ITERATIONS;
/// Elastic iterations of the first pass of a round, and of the others, which begin near the solution.
const ELASTIC_ITERATIONS: [u32; 2] = [64, 32];
/// Bound on the passes of a round, with those that only go on with an elastic solve.
const MAX_ROUND: f32 = 60.0;

impl DeviceBackend {
    /// Solves all islands by corrected warped compliance, round by round.
    pub(super) fn solve_with_compliance(
        &mut self,
        step: &StepInputs,
        detection: &Detection,
        work: &mut Work,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let params = step.params;
        let begin = |(island, work): (&Island, &IslandWork)| {
            let limits = Limits {
                tolerance: params.contact_tolerance,
                gives_up: params.acceptance == AcceptancePolicy::MustConverge,
                may_halve: params.acceptance.may_halve(),
                max_rows: detection.max_rows(island, &work.contacts),
            };
            Course { progress: Relinearisation::new(limits, cwc::SCHEDULE), factor: 1.0, solved: RowsSolved::default() }
        };
        let mut courses: Vec<Course> = work.islands.list.iter().zip(&work.island_works).map(begin).collect();
        self.detector.forget();
        let allowance = Allowance::of_island(step.loads.budget.left(), 1, 1.0);
        for round in 0.. {
            check_cancelled(step.loads)?;
            if work.island_works.iter().all(|work| work.solved.is_some()) {
                break;
            }
            let before = self.work.total().bytes;
            self.solve_round(step, work, &mut courses, round.min(1), report)?;
            allowance.spend((self.work.total().bytes - before) / CORES_OF_DEVICE);
            let open = work.islands.list.iter().zip(&work.island_works).filter(|(_, work)| work.solved.is_none());
            allowance.spend(open.map(|(island, work)| detection.renewal_work(island, &work.contacts)).sum());
            if allowance.is_spent() {
                courses.iter_mut().for_each(|course| course.solved.exhausted = true);
            }
            self.renew_rows(step, detection, work, &mut courses, report).map_err(|error| self.lost(&error))?;
        }
        step.loads.budget.take(&allowance, true);
        for (stage, work) in std::mem::take(&mut self.work).0 {
            report.device_work.add(stage, work);
        }
        Ok(())
    }

    /// Solves the rows of all islands that are open. `kind`: 0 in the first round of a step.
    fn solve_round(
        &mut self,
        step: &StepInputs,
        work: &mut Work,
        courses: &mut [Course],
        kind: usize,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let model = step.model;
        for island_work in work.island_works.iter_mut().filter(|work| work.solved.is_none()) {
            island_work.contacts.sort_by_key(|contact| (contact.bodies, contact.id()));
        }
        let is_touched = |k: &usize| work.island_works[*k].solved.is_none() && !work.island_works[*k].contacts.is_empty();
        let touched: Vec<usize> = (0..courses.len()).filter(is_touched).collect();
        let shifted = |k: &usize| self.iterate.shift(&work.island_works[*k].contacts, step.params.time_step);
        let shifted: Vec<Vec<Constraint>> = if self.iterate.is_there() { touched.iter().map(shifted).collect() } else { vec![] };
        let rows = |(i, k): (usize, &usize)| IslandRows {
            contacts: shifted.get(i).unwrap_or(&work.island_works[*k].contacts),
            segments: work.islands.list[*k].deformable(),
            accuracy: courses[*k].progress.accuracy,
            factor: courses[*k].factor,
        };
        let rows: Vec<IslandRows> = touched.iter().enumerate().map(rows).collect();
        let tables =
            report.stages.time("rows", || self.cwc.tables(model, &rows, Inverses { rests: self.rests.bodies(), rigid: &self.inverses }));
        self.upload_round(step, work, courses, &tables).map_err(|error| match error {
            DeviceError::TooLarge { .. } => StepError::DeviceTooSmall { step: self.step, reason: error.to_string() },
            error => self.lost(&error),
        })?;
        let answer = self.settle(step, &tables, kind, report).map_err(|error| self.lost(&error))?;
        if let Some(body) = answer.fault() {
            let body = BodyRef::Deformable(body as u32);
            return Err(StepError::not_finite("the velocity", model, body, step.state, step.params.time_step, self.step));
        }
        self.count_bytes(step, &tables, &answer);
        if let Some(rotations) = answer.rotations.as_ref() {
            self.rotations = rotations.iter().map(|q| q.map(f64::from)).chain(self.laws.rows.iter().copied()).collect();
            self.has_rotations = true;
        }
        self.take_answer(step, work, courses, &touched, &answer);
        Ok(())
    }

    /// Brings what a round begins with: which bodies take part and to what they are solved, and the contacts.
    fn upload_round(&mut self, step: &StepInputs, work: &Work, courses: &[Course], tables: &Tables) -> Result<(), DeviceError> {
        let model = step.model;
        let mut all = controls(model, step.params, step.loads, &vec![true; model.bodies.len()]);
        for ((island, island_work), course) in work.islands.list.iter().zip(&work.island_works).zip(courses) {
            if island_work.solved.is_some() {
                continue;
            }
            for segment in island.deformable() {
                let control = &mut all[segment.body.index()];
                (control.remembered, control.elastic_done) = (0, 0);
                if !island_work.contacts.is_empty() {
                    control.energy_target = energy_target(step, segment.body.index(), course.progress.accuracy);
                }
            }
        }
        self.iterate.scale(&mut all);
        let Self { cwc, buffers, staging, .. } = self;
        staging.put(buffers.get("reductions"), 0, &all);
        cwc.upload(buffers, staging, tables)
    }

    /// Solves for velocities and forces with the present rows, until all islands have settled or no more can be hoped
    /// for.
    fn settle(&mut self, step: &StepInputs, tables: &Tables, kind: usize, report: &mut StepReport) -> Result<Answer, DeviceError> {
        let model = step.model;
        let mut rotations = None;
        let mut is_new = true;
        self.recorded = [0; 2];
        let mut passes = 0;
        loop {
            let (mut encoder, is_fresh) = self.begin_submission(step)?;
            if std::mem::take(&mut is_new) {
                let (free, rhs) = (self.buffers.get("rhs_free"), self.buffers.get("rhs"));
                if self.iterate.is_there() {
                    encoder.copy_buffer_to_buffer(self.buffers.get("rhs_iterate"), 0, free, 0, free.size());
                }
                encoder.copy_buffer_to_buffer(free, 0, rhs, 0, free.size());
                self.record(&mut encoder, "contact solve", |s, pass| s.cwc.record_compliance(pass));
            }
            // Without contacts, one solve that goes on until it is over.
            let goes_on = passes > 0 && tables.rows.is_empty();
            let n_passes = match passes {
                _ if tables.rows.is_empty() => 1,
                0 => self.foreseen[kind],
                _ => *PASSES.start(),
            };
            for _ in 0..n_passes {
                let elastic_iterations = ELASTIC_ITERATIONS[usize::from(passes > 0 && !goes_on)];
                self.record(&mut encoder, "elastic solve", |s, pass| {
                    if !goes_on {
                        s.cwc.record_scatter(pass, model.bodies.len());
                        s.cg.record_start(pass);
                    }
                    s.cg.record_iterations(pass, &s.buffers, elastic_iterations);
                });
                let iterations = self.foreseen_iterations[kind];
                self.record(&mut encoder, "contact solve", |s, pass| s.cwc.record_forces(pass, &s.buffers, iterations));
                self.recorded[0] += elastic_iterations;
                self.recorded[1] += iterations;
                passes += 1;
            }
            let mut answer = self.submit(encoder, model, tables, is_fresh, report)?;
            rotations = answer.rotations.take().or(rotations);
            let solved = answer.controls.iter().all(|control| control.elastic_done != 0);
            let settled =
                answer.islands.chunks_exact(VECTORS).all(|island| island[FACTOR][2] != 0.0 || island[FACTOR][3] >= cwc::MAX_PASSES as f32);
            let is_hopeless = answer.islands.chunks_exact(VECTORS).any(|island| island[PROGRESS][3] >= MAX_ROUND);
            // Nothing is learnt from a solve that was cut short.
            let is_cancelled = step.loads.cancel.is_cancelled();
            if (solved && settled) || is_hopeless || is_cancelled || answer.fault().is_some() || !is_finite(&answer.dv) {
                answer.rotations = rotations;
                if !tables.rows.is_empty() && !is_cancelled {
                    self.foreseen[kind] = (answer.passes() as u32).clamp(*PASSES.start(), *PASSES.end());
                    self.foreseen_iterations[kind] = answer.iterations().next_multiple_of(CHECK_INTERVAL).clamp(*CUT.start(), *CUT.end());
                }
                return Ok(answer);
            }
        }
    }

    fn submit(
        &mut self,
        encoder: wgpu::CommandEncoder,
        model: &Model,
        tables: &Tables,
        with_rotations: bool,
        report: &mut StepReport,
    ) -> Result<Answer, DeviceError> {
        let (n, data) = (tables.rows.len(), &tables.data);
        let parts: [(&str, u64, usize); 6] = [
            ("reductions", 0, model.bodies.len() * size_of::<ControlData>()),
            ("cwc_state", 16 * u64::from(data.solves), 16 * VECTORS * data.n_islands as usize),
            ("cwc_state", 16 * (FORCE * n) as u64, 16 * n),
            ("cwc_state", 16 * (SCALE * n) as u64, 16 * n),
            ("dv", 0, 16 * model.n_unknowns()),
            ("rotations", 0, if with_rotations { 16 * model.tets.len() } else { 0 }),
        ];
        self.deliver(encoder, &parts, report, |found| {
            let vectors = |k: usize| bytemuck::pod_collect_to_vec::<u8, [f32; 4]>(found[k]);
            Answer {
                controls: bytemuck::pod_collect_to_vec(found[0]),
                islands: vectors(1),
                forces: vectors(2),
                scales: vectors(3),
                dv: vectors(4),
                rotations: with_rotations.then(|| vectors(5)),
            }
        })
    }

    /// What a round has moved at least.
    fn count_bytes(&mut self, step: &StepInputs, tables: &Tables, answer: &Answer) {
        let [elements, assembly] = match answer.rotations {
            Some(_) => bytes_of_system(step.model),
            None => [0, 0],
        };
        let [iteration, start] = self.tiles.bytes_of_iteration(step.model, step.params.is_two_level());
        let iterations = answer.controls.iter().map(|control| control.contact_iterations + control.iterations).max().unwrap_or(0);
        let passes = answer.passes();
        let inner = answer.islands.chunks_exact(VECTORS).map(|island| island[PROGRESS][1] as u64).max().unwrap_or(0);
        let contact = tables.bytes_of_compliance() + inner * tables.bytes_of_iteration();
        let elastic = passes * start + u64::from(iterations) * iteration;
        for (stage, bytes) in [("elements", elements), ("assembly", assembly), ("elastic solve", elastic), ("contact solve", contact)] {
            self.work.add(stage, StageWork { bytes, ..StageWork::default() });
        }
        self.work.add("elastic solve", self.groups.loops(self.recorded[0], iterations));
        // Iterations of the slowest island of each kind.
        let of_kind = |is_whole: u32| {
            let islands = answer.islands.chunks_exact(VECTORS).zip(&tables.sections.islands);
            islands.filter(|(_, data)| data.is_whole == is_whole).map(|(island, _)| island[PROGRESS][1] as u32).max().unwrap_or(0)
        };
        let empty = if tables.has_shared { self.recorded[1].saturating_sub(of_kind(0)) } else { 0 };
        self.work.add("contact solve", StageWork { empty, serial: of_kind(1), ..StageWork::default() });
    }

    /// Takes over what a round came to: velocity changes, forces and states of the islands that were in it, with
    /// their momentum restored.
    fn take_answer(&mut self, step: &StepInputs, work: &mut Work, courses: &mut [Course], touched: &[usize], answer: &Answer) {
        for ((island, work), course) in work.islands.list.iter().zip(&mut work.island_works).zip(&mut *courses) {
            if work.solved.is_some() {
                continue;
            }
            for segment in &island.segments {
                let found = segment.unknowns.clone().zip(&answer.dv[segment.unknowns.clone()]);
                work.dv[segment.places()].iter_mut().zip(found).for_each(|(dv, (i, found))| *dv = self.iterate.whole(i, three(found)));
            }
            let controls = || island.deformable().iter().map(|segment| &answer.controls[segment.body.index()]);
            course.solved = RowsSolved {
                iterations: controls().map(|control| control.contact_iterations + control.iterations).max().unwrap_or(0),
                residual: controls().map(|c| f64::from(c.residual2).sqrt() / f64::from(c.scale)).fold(0.0, f64::max),
                settled: controls().all(|control| control.converged != 0),
                ..RowsSolved::default()
            };
        }
        let mut first = 0;
        let mut are_settled = vec![true; courses.len()];
        for (i, k) in touched.iter().enumerate() {
            let contacts = &mut work.island_works[*k].contacts;
            let range = first..first + contacts.len();
            first = range.end;
            let forces: Vec<Vec3> = answer.forces[range.clone()].iter().map(three).collect();
            cwc::store(contacts, &forces);
            for (contact, scale) in contacts.iter_mut().zip(&answer.scales[range]) {
                contact.scaling.compliance = Mat3::from_diagonal(&Vec3::new(scale[0].into(), scale[1].into(), scale[1].into()));
            }
            let island = &answer.islands[VECTORS * i..][..VECTORS];
            let factor = island[FACTOR];
            are_settled[*k] = factor[2] != 0.0;
            let Course { solved, factor: told, .. } = &mut courses[*k];
            solved.passes = factor[3] as u32;
            solved.dual_iterations = island[PROGRESS][1] as u32;
            solved.iterations += solved.dual_iterations;
            solved.failures = u32::from(!are_settled[*k]);
            *told = factor[1];
        }
        let (dt, local) = (step.params.time_step, &work.islands.local);
        for (k, (island, work)) in work.islands.list.iter().zip(&mut work.island_works).enumerate() {
            if work.solved.is_some() {
                continue;
            }
            let IslandWork { dv, contacts, .. } = work;
            if are_settled[k] {
                // Newton's method does so itself.
                if !self.iterate.is_there() {
                    self.keep_momentum(step, island, contacts, dv);
                }
                self.move_rigid_bodies(step, island, contacts, dv);
                if !contacts.is_empty() {
                    let gap = courses[k].progress.accuracy / driver::ACCEPTED;
                    let at = |unknown: usize| dv[local[unknown] as usize];
                    cwc::release(contacts, at, dt, gap);
                }
            }
            let course = &mut courses[k];
            course.solved.settled &= are_settled[k];
            course.solved.exhausted = !dv.iter().all(|dv| dv.iter().all(|c| c.is_finite()));
        }
    }

    /// Renews the rows of the islands that were in the last round, and closes those that are done.
    fn renew_rows(
        &mut self,
        step: &StepInputs,
        detection: &Detection,
        work: &mut Work,
        courses: &mut [Course],
        report: &mut StepReport,
    ) -> Result<(), DeviceError> {
        let start = Instant::now();
        let Work { islands, island_works, dv, .. } = work;
        for (island, work) in islands.list.iter().zip(&*island_works).filter(|(_, work)| work.solved.is_none()) {
            island.scatter(&work.dv, dv);
        }
        let is_open = |k: usize| island_works[k].solved.is_none() && !courses[k].solved.exhausted;
        let sieved = self.detector.sieve(detection, &islands.list, is_open, dv, report)?;
        let (local, clock) = (&islands.local, report.stages.clock());
        let renew = |(k, ((island, work), course)): (usize, ((&Island, &mut IslandWork), &mut Course))| {
            if work.solved.is_some() {
                return;
            }
            let IslandWork { dv, contacts, crosses, solved, pairs, .. } = work;
            let next = course.progress.advance(course.solved, &mut Found { dv, contacts, crosses }, |dv, contacts| {
                let trial = Trial { island, local, dv };
                match &sieved {
                    Some(sieved) => detection.renew_rows_among(&sieved.candidates[k], &trial, &sieved.end, contacts),
                    None => detection.renew_rows(&trial, contacts),
                }
            });
            if let Next::Done { converged } = next {
                let trial = Trial { island, local, dv };
                let mut report = StepReport::timed(clock);
                report.take_progress(&course.progress, converged);
                report.contact = contact_report(contacts, |unknown| trial.at(unknown), step.params.time_step, pairs);
                *solved = Some(report);
            }
        };
        let open = islands.list.par_iter().zip(island_works);
        open.zip(courses).enumerate().for_each(renew);
        report.stages.add("detection", start.elapsed().as_secs_f64() * 1e3);
        Ok(())
    }
}

/// The residual of a body may still move this in the norm of A [J]: a node by what the elastic tolerance of
/// `accuracy` allows.
fn energy_target(step: &StepInputs, body: usize, accuracy: f64) -> f32 {
    let body = &step.model.bodies[body];
    let finest = driver::ACCEPTED * step.params.contact_tolerance;
    let fastest = step.state.velocities[body.nodes.clone()].iter().map(Vec3::norm_squared).fold(0.0, f64::max).sqrt();
    let dt = step.params.time_step;
    let velocity = cwc::elastic_tolerance(step.params.contact_tolerance, dt * fastest) * (accuracy / finest) / dt;
    (body.mass / body.nodes.len() as f64 * velocity * velocity) as f32
}
