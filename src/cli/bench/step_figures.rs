//! What each step of a run took and did: counts of its work and times of its stages, each over all steps.

use serde::Serialize;

use super::elastic_step::ElasticStep;
use crate::sim::report::Statistics;
use crate::step::StepReport;

/// Figures of all steps of a run.
#[derive(Debug, Default, Serialize)]
pub struct StepFigures {
    steps: usize,
    /// Work of a step.
    counts: Vec<Row>,
    /// Times of a step, the whole step first [ms]. Stages that several threads share are thread time.
    times: Vec<Row>,
    /// Simulated time over wall time.
    real_time_factor: f64,
    unconverged_steps: u64,
    /// By the independent checker, if that was asked for [m].
    max_penetration: Option<f64>,
    /// At the end: the same with any number of threads.
    state_hash: String,
    elastic_step: Option<ElasticStep>,
    /// The whole step over the elastic step.
    over_elastic_step: Option<Statistics>,
}

/// One figure over all steps.
#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    #[serde(flatten)]
    over_steps: Statistics,
}

type Count = fn(&StepReport) -> u32;

/// What is counted of a step.
const COUNTS: [(&str, Count); 9] = [
    ("passes", |report| report.passes),
    ("solves", |report| report.solves),
    ("inner iterations", |report| report.dual_iterations),
    ("all iterations", |report| report.iterations),
    ("relinearisations", |report| report.relinearisations),
    ("searches", |report| report.searches),
    ("contacts", |report| report.contact.contacts),
    ("attempts", |report| report.attempts),
    ("round trips", |report| report.round_trips),
];

/// The name of the time of the whole step, and of what no stage has of it.
const WHOLE: &str = "step";
const OTHER: &str = "other";

/// Figures of each step so far.
#[derive(Default)]
pub struct Columns {
    counts: [Vec<f64>; COUNTS.len()],
    /// Of the whole step [ms].
    pub ms: Vec<f64>,
    stages: Vec<(&'static str, Vec<f64>)>,
}

/// What is known at the end of a run.
pub struct End {
    pub time_step: f64,
    pub unconverged_steps: u64,
    pub max_penetration: Option<f64>,
    pub state_hash: String,
    pub elastic_step: Option<ElasticStep>,
}

impl Columns {
    /// Takes a step that took `ms` of wall time.
    pub fn add(&mut self, report: &StepReport, ms: f64) {
        let before = self.ms.len();
        for (column, (_, count)) in self.counts.iter_mut().zip(COUNTS) {
            column.push(f64::from(count(report)));
        }
        self.ms.push(ms);
        let other = (OTHER, (ms - report.stages.total()).max(0.0));
        for (stage, ms) in report.stages.times.iter().copied().chain([other]) {
            let place = self.stages.iter().position(|(name, _)| *name == stage).unwrap_or_else(|| {
                self.stages.push((stage, vec![]));
                self.stages.len() - 1
            });
            // Steps without this stage spent nothing in it.
            let column = &mut self.stages[place].1;
            column.resize(before, 0.0);
            column.push(ms);
        }
    }

    pub fn finish(mut self, end: End) -> StepFigures {
        let End { time_step, unconverged_steps, max_penetration, state_hash, elastic_step } = end;
        let n = self.ms.len();
        self.stages.iter_mut().for_each(|(_, column)| column.resize(n, 0.0));
        let row = |name, column: &[f64]| Row { name, over_steps: Statistics::of(column) };
        let whole = Statistics::of(&self.ms);
        // What no step has at all is left out.
        let counts = COUNTS.iter().zip(&self.counts).map(|((name, _), column)| row(*name, column)).filter(|row| row.over_steps.max > 0.0);
        let of_stages = self.stages.iter().map(|(stage, column)| row(stage, column));
        StepFigures {
            steps: n,
            counts: counts.collect(),
            times: std::iter::once(row(WHOLE, &self.ms)).chain(of_stages).collect(),
            real_time_factor: if whole.mean > 0.0 { 1e3 * time_step / whole.mean } else { 0.0 },
            unconverged_steps,
            max_penetration,
            state_hash,
            over_elastic_step: elastic_step.as_ref().map(|elastic| over(&whole, elastic.ms)),
            elastic_step,
        }
    }
}

fn over(whole: &Statistics, part: f64) -> Statistics {
    let Statistics { mean, median, p95, max } = *whole;
    Statistics { mean: mean / part, median: median / part, p95: p95 / part, max: max / part }
}

impl StepFigures {
    /// Statistics of the whole step [ms].
    pub fn whole(&self) -> Statistics {
        self.times.first().map_or_else(|| Statistics::of(&[]), |row| row.over_steps)
    }

    pub fn state_hash(&self) -> &str {
        &self.state_hash
    }

    pub fn print(&self) {
        say!("    {:20} {:>11} {:>11} {:>11} {:>11}", "a step", "mean", "median", "p95", "max");
        self.counts.iter().for_each(|row| say!("{}", line(row.name, &row.over_steps, 1)));
        say!("    {:20} {:>11} {:>11} {:>11} {:>11}   share", "ms", "mean", "median", "p95", "max");
        for row in &self.times {
            let share = 100.0 * row.over_steps.mean / self.whole().mean;
            say!("{} {share:5.1} %", line(row.name, &row.over_steps, 3));
        }
        if let (Some(elastic), Some(over)) = (&self.elastic_step, &self.over_elastic_step) {
            let stages: Vec<String> = elastic.stages.iter().map(|(stage, ms)| format!("{stage} {ms:.3}")).collect();
            say!("    elastic step: {:.3} ms in all threads ({}), {:.3} ms by the clock", elastic.ms, stages.join(", "), elastic.clock_ms);
            say!("{}", line("step / elastic step", over, 2));
        }
        let penetration = self.max_penetration.map_or_else(String::new, |depth| format!(", penetration {depth:.1e} m"));
        say!(
            "    {} steps, {:.2} times real time, {} unconverged{penetration}, state hash {}",
            self.steps,
            self.real_time_factor,
            self.unconverged_steps,
            self.state_hash
        );
    }
}

fn line(name: &str, Statistics { mean, median, p95, max }: &Statistics, digits: usize) -> String {
    format!("    {name:20} {mean:11.digits$} {median:11.digits$} {p95:11.digits$} {max:11.digits$}")
}

/// Times of the same run with a number of threads.
pub struct OfThreads {
    pub threads: usize,
    pub whole: Statistics,
}

/// How many times faster `many` is than `few`, by mean and median, and which part of the work of `few` is serial then
/// [Amdahl 1967]: with s of it serial, n times the threads take s + (1 - s) / n of the time.
pub fn speed_up(few: &OfThreads, many: &OfThreads) -> Option<SpeedUp> {
    let n = many.threads as f64 / few.threads as f64;
    let [mean, median] = [(few.whole.mean, many.whole.mean), (few.whole.median, many.whole.median)].map(|(few, many)| few / many);
    let serial_share = (n / mean - 1.0) / (n - 1.0);
    (n > 1.0 && mean.is_finite()).then_some(SpeedUp { threads: [few.threads, many.threads], mean, median, serial_share })
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SpeedUp {
    threads: [usize; 2],
    mean: f64,
    median: f64,
    serial_share: f64,
}

impl SpeedUp {
    pub fn print(&self) {
        let Self { threads: [few, many], mean, median, serial_share } = self;
        say!(
            "    {many} threads are {mean:.2} times as fast as {few} in the mean, {median:.2} in the median: {:.1} % serial",
            100.0 * serial_share
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(passes: u32, stages: &[(&'static str, f64)]) -> StepReport {
        let mut report = StepReport { passes, attempts: 1, ..StepReport::default() };
        stages.iter().for_each(|(stage, ms)| report.stages.add(stage, *ms));
        report
    }

    #[test]
    fn a_stage_that_comes_late_has_all_steps() {
        let mut columns = Columns::default();
        columns.add(&report(1, &[("elements", 1.0)]), 2.0);
        columns.add(&report(5, &[("elements", 1.0), ("contact solve", 6.0)]), 8.0);
        columns.add(&report(0, &[("elements", 1.0)]), 2.0);
        let elastic_step = ElasticStep { ms: 2.0, clock_ms: 1.5, stages: Default::default() };
        let end =
            End { time_step: 0.01, unconverged_steps: 0, max_penetration: None, state_hash: "0".into(), elastic_step: Some(elastic_step) };
        let figures = columns.finish(end);
        let of = |rows: &[Row], name: &str| rows.iter().find(|row| row.name == name).map(|row| row.over_steps);
        assert_eq!(of(&figures.times, "contact solve"), Some(Statistics::of(&[0.0, 6.0, 0.0])));
        assert_eq!(of(&figures.times, "other"), Some(Statistics::of(&[1.0, 1.0, 1.0])));
        assert_eq!(of(&figures.times, "step"), Some(Statistics::of(&[2.0, 8.0, 2.0])));
        assert_eq!(of(&figures.counts, "passes").map(|row| (row.mean, row.max)), Some((2.0, 5.0)));
        assert_eq!(of(&figures.counts, "searches"), None, "no step has searched");
        assert_eq!(figures.over_elastic_step, Some(Statistics::of(&[1.0, 4.0, 1.0])));
        assert!((figures.real_time_factor - 2.5).abs() < 1e-12);
    }

    #[test]
    fn the_serial_share_is_what_more_threads_do_not_take() {
        let of = |threads, ms: f64| OfThreads { threads, whole: Statistics::of(&[ms]) };
        // 20 % serial: 2 + 8 / 4 = 4 of 10 ms.
        let found = speed_up(&of(1, 10.0), &of(4, 4.0)).unwrap();
        assert!((found.mean - 2.5).abs() < 1e-12 && (found.serial_share - 0.2).abs() < 1e-12, "{found:?}");
        assert!(speed_up(&of(2, 4.0), &of(4, 2.0)).unwrap().serial_share.abs() < 1e-12);
        assert_eq!(speed_up(&of(2, 4.0), &of(2, 4.0)), None);
    }
}
