//! `pliant bench detection`: what may meet and what crosses, found by the host and with the device's help.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::{BenchArgs, Failure, MachineArgs, Milliseconds, Record};
use crate::contact::generate::Detection;
use crate::contact::islands::{Island, Trial};
use crate::cpu::CpuBackend;
use crate::elastic::Quaternion;
use crate::geometry::{Bvh, Candidates, Mesh};
use crate::gpu::{DetectionPlace, Detector, Device, DeviceError, DeviceRequest};
use crate::math::Vec3;
use crate::model::Model;
use crate::model::{AcceptancePolicy, ContactMethod, Loads, Params, State};
use crate::scene::{BackendChoice, Scene, build};
use crate::sim::{Options, Simulation, Threaded};
use crate::step::{Backend, StepInputs, Work};
use crate::step::{StageWork, StepError, StepReport, Stepper, SurfacePositions};

/// Steps before those that are measured, unless told otherwise, and how many are measured.
const BEFORE: u32 = 40;
const MEASURED: u32 = 10;

/// Steps on the CPU; in each, the search for pairs and the look at what crosses at its end are done in both places.
struct Probe {
    host: CpuBackend,
    detector: Detector,
    figures: Arc<Mutex<Figures>>,
}

#[derive(Default)]
struct Figures {
    /// On the host and on the device [ms].
    search: [Vec<f64>; 2],
    look: [Vec<f64>; 2],
    /// Time of the parts that stay on the host: the test whether vertices have left their boxes; contacts, springs and
    /// obstacles of exact shape [ms].
    cover: Vec<f64>,
    rest: Vec<f64>,
    /// Figures of the last step.
    candidates: usize,
    survivors: usize,
    crossing: usize,
    search_work: StageWork,
    look_work: StageWork,
    differs: bool,
}

fn timed<T>(times: &mut Vec<f64>, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    times.push(start.elapsed().as_secs_f64() * 1e3);
    result
}

fn lost(error: &DeviceError, step: u64) -> StepError {
    StepError::DeviceLost { step, reason: error.to_string() }
}

/// Work of the device since the last call.
fn work_of(report: &mut StepReport) -> StageWork {
    std::mem::take(&mut report.device_work).0.first().map(|(_, work)| *work).unwrap_or_default()
}

impl Backend for Probe {
    fn offers(&self, method: ContactMethod) -> bool {
        self.host.offers(method)
    }

    fn find_candidates(
        &mut self,
        bvh: &mut Bvh,
        mesh: &Mesh,
        x: &[Vec3],
        candidates: &mut Candidates,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let Ok(mut figures) = self.figures.lock() else { return self.host.find_candidates(bvh, mesh, x, candidates, report) };
        let Figures { search: [on_host, on_device], cover, differs, search_work, .. } = &mut *figures;
        timed(on_host, || bvh.find(mesh, x, candidates));
        let found = timed(on_device, || self.detector.query(bvh, mesh, x, report)).map_err(|error| lost(&error, 0))?;
        timed(cover, || bvh.holds(x));
        *search_work = work_of(report);
        *differs |= found != *candidates;
        figures.candidates = candidates.len();
        Ok(())
    }

    fn begin(&mut self, step: &StepInputs, dv: &mut [Vec3], report: &mut StepReport) -> Result<(), StepError> {
        self.host.begin(step, dv, report)
    }

    fn linearise(&mut self, step: &StepInputs, report: &mut StepReport) -> Result<(), StepError> {
        self.host.linearise(step, report)
    }

    fn element_states(&self) -> &[Quaternion] {
        self.host.element_states()
    }

    fn solve_islands(
        &mut self,
        step: &StepInputs,
        detection: &Detection,
        work: &mut Work,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        self.host.solve_islands(step, detection, work, report)?;
        let Ok(mut figures) = self.figures.lock() else { return Ok(()) };
        let Figures { look: [on_host, on_device], rest, differs, look_work, survivors, crossing, .. } = &mut *figures;
        for (island, own) in work.islands.list.iter().zip(&work.island_works) {
            island.scatter(&own.dv, &mut work.dv);
        }
        let (islands, dv) = (&work.islands.list, &work.dv);
        let whole = Island::whole(step.model);
        let all = timed(on_host, || {
            let end = detection.step.end_positions(&whole, dv);
            islands.iter().map(|island| detection.crossings(&island.candidates, &end)).collect::<Vec<_>>()
        });
        // The first look of a search brings the candidates too.
        self.detector.forget();
        let sieved = timed(on_device, || {
            let sieved = self.detector.sieve(detection, islands, |_| true, dv, report)?;
            let found = sieved.as_ref().map(|sieved| {
                let crossings = |candidates: &Candidates| detection.crossings(candidates, &sieved.end);
                sieved.candidates.iter().map(crossings).collect::<Vec<_>>()
            });
            Ok((sieved, found))
        });
        let (sieved, found) = sieved.map_err(|error: DeviceError| lost(&error, step.loads.step))?;
        *look_work = work_of(report);
        *differs |= found.is_some_and(|found| found != all);
        *survivors = sieved.map_or(0, |sieved| sieved.candidates.iter().map(Candidates::len).sum());
        *crossing = all.iter().map(Vec::len).sum();
        let end = detection.step.end_positions(&whole, dv);
        let locals = &work.islands.local;
        let mut contacts: Vec<_> = work.island_works.iter().map(|work| work.contacts.clone()).collect();
        timed(rest, || {
            for ((island, work), contacts) in islands.iter().zip(&work.island_works).zip(&mut contacts) {
                let trial = Trial { island, local: locals, dv: &work.dv };
                detection.renew_rows_among(&Candidates::default(), &trial, &end, contacts);
            }
        });
        Ok(())
    }

    fn commit(&mut self, model: &Model, state: &mut State) -> Result<(), StepError> {
        self.host.commit(model, state)
    }

    fn restore(&mut self, model: &Model, state: &State) -> Result<(), StepError> {
        self.host.restore(model, state)
    }

    fn surface(&mut self, model: &Model, state: &State) -> SurfacePositions {
        self.host.surface(model, state)
    }
}

pub fn bench(args: &BenchArgs) -> Result<Vec<Record>, Failure> {
    let mut scenes = args.scenes();
    if scenes.is_empty() {
        scenes.push("rings");
    }
    let mut records = vec![];
    for scene in scenes {
        records.extend(of_scene(scene, args)?);
    }
    Ok(records)
}

fn of_scene(scene: &str, args: &BenchArgs) -> Result<[Record; 4], Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Run(error.to_string());
    let MachineArgs { place, .. } = &args.machine;
    let request = DeviceRequest { adapter: place.adapter.clone(), ..DeviceRequest::default() };
    let device = Device::open(&request).map_err(|error| failed(&error))?;
    let built = build(&Scene::load(scene, &args.step.set)?)?;
    let (model, threads) = (built.model.clone(), args.machine.threads());
    let options = Options { backend: Some(BackendChoice::Cpu), threads, ..Options::default() };
    let mut simulation = Simulation::new(built, &options)?;
    for _ in 0..args.step.steps.unwrap_or(BEFORE) {
        simulation.step().map_err(|error| failed(&error))?;
    }
    let figures = Arc::new(Mutex::new(Figures::default()));
    let probe = Probe { host: CpuBackend::default(), detector: Detector::new(&device, DetectionPlace::Device), figures: figures.clone() };
    let mut stepper = Threaded::implicit(model, probe, threads.unwrap_or(0)).map_err(|error| failed(&error))?;
    stepper.set_state(simulation.state().map_err(|error| failed(&error))?).map_err(|error| failed(&error))?;
    let params = Params { acceptance: AcceptancePolicy::Anything, ..*simulation.params() };
    for k in 0..=MEASURED {
        stepper.step(&params, &Loads::default()).map_err(|error| failed(&error))?;
        // The first step compiles.
        if let (0, Ok(mut figures)) = (k, figures.lock()) {
            *figures = Figures::default();
        }
    }
    let mut figures = figures.lock().map_err(|error| failed(&error))?;
    let Figures { search, look, cover, rest, candidates, survivors, crossing, search_work, look_work, differs } =
        std::mem::take(&mut *figures);
    if differs {
        return Err(Failure::Run(format!("{}: the device finds other pairs than the host; please report this", simulation.name())));
    }
    let [[search, search_there], [look, look_there]] = [search, look].map(|places| places.map(Milliseconds::of));
    let [cover, rest] = [cover, rest].map(Milliseconds::of);
    let share = 100.0 * survivors as f64 / (candidates as f64).max(1.0);
    say!(
        "{}: {candidates} candidates, {survivors} survivors ({share:.1} %), {crossing} cross, with {}",
        simulation.name(),
        device.info.name
    );
    let line = |what: &str, host: Milliseconds, there: Milliseconds, work: StageWork| {
        let (n, mb) = (work.dispatches, 1e-6 * work.bytes as f64);
        say!("    {what:16} {:9.3} ms on the host, {:9.3} ms with the device: {n} dispatches, {mb:.3} MB", host.median, there.median);
    };
    line("search for pairs", search, search_there, search_work);
    line("look at pairs", look, look_there, look_work);
    say!("    left to the host {:9.3} ms for boxes that were left, {:.3} ms for contacts and obstacles", cover.median, rest.median);
    let record = |solver: &'static str, ms: Milliseconds, work: Option<StageWork>| Record {
        bench: "detection",
        case: simulation.name().to_owned(),
        solver,
        backend: if work.is_some() { "gpu" } else { "cpu" },
        adapter: work.map(|_| device.info.name.clone()),
        precision: if work.is_some() { "f32" } else { "f64" },
        threads: stepper.threads(),
        ms,
        bytes: work.map(|work| work.bytes),
        dispatches: work.map(|work| f64::from(work.dispatches)),
        note: Some(format!("{candidates} candidates, {survivors} survivors, {crossing} cross")),
        ..Record::default()
    };
    Ok([
        record("search", search, None),
        record("search", search_there, Some(search_work)),
        record("look", look, None),
        record("look", look_there, Some(look_work)),
    ])
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        bench: BenchArgs,
    }

    #[test]
    fn both_places_are_measured_and_find_the_same() {
        let args = Line::parse_from(["bench", "detection", "--scene", "rigid_stack", "--steps", "3"]).bench;
        let records = bench(&args).unwrap();
        let of = |backend: &str| records.iter().filter(|r| r.backend == backend && r.ms.repetitions >= MEASURED as usize).count();
        assert!(of("cpu") == 2 && of("gpu") == 2, "{records:?}");
        assert!(records.iter().filter(|r| r.backend == "gpu").all(|r| r.dispatches.is_some_and(|n| n >= 1.0)), "{records:?}");
    }
}
