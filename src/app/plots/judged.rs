//! What the end of a chart tells: good, fair or bad.

use super::{Chart, Rows};
use crate::app::judge::{self, Judgement};
use crate::model::{Mobility, Model};

impl Chart {
    /// None where a number is neither good nor bad by itself.
    pub fn judged(self, rows: &Rows, model: &Model) -> Option<Judgement> {
        let last = rows.last()?;
        match self {
            Self::Energy if !has_drive(model) => energy(rows),
            Self::Iterations => Some(judge::iterations(last.iterations, last.converged)),
            Self::Residual => Some(judge::residual(last.residual, last.converged)),
            Self::Stages | Self::RealTime => Some(judge::step_time(mean_ms(rows), last.duration)),
            Self::Energy | Self::Probes | Self::Pairs | Self::Grab | Self::Contacts => None,
        }
    }
}

impl Chart {
    /// What is said where nothing is judged.
    pub fn unjudged(self) -> &'static str {
        match self {
            Self::Energy => "Not judged while something is driven or pulled: that gives and takes energy.",
            Self::Iterations | Self::Residual | Self::Stages | Self::RealTime => "Not judged before the first step.",
            Self::Probes | Self::Pairs | Self::Grab | Self::Contacts => "No good or bad: it is what the scene does.",
        }
    }
}

/// Whether a body moves as it is told, which takes or gives energy.
fn has_drive(model: &Model) -> bool {
    let of_rigid = model.rigid_bodies.iter().any(|body| matches!(body.mobility, Mobility::Driven(Some(_))));
    of_rigid || model.obstacles.iter().any(|obstacle| obstacle.motion.is_some())
}

/// Over so many steps, so that the word does not flicker.
const STEPS: usize = 20;

fn mean_ms(rows: &Rows) -> f64 {
    let last = &rows[rows.len().saturating_sub(STEPS)..];
    last.iter().map(|row| row.ms).sum::<f64>() / last.len().max(1) as f64
}

/// The sum must not grow; that it does while something pulls is no fault, and then nothing is said.
fn energy(rows: &Rows) -> Option<Judgement> {
    if rows.iter().any(|row| row.grab_force > 0.0) {
        return None;
    }
    let (mut least, mut growth, mut moved) = (f64::INFINITY, 0.0f64, 0.0f64);
    let mut heights = [f64::INFINITY, f64::NEG_INFINITY];
    for energy in rows.iter().filter_map(|row| row.energy) {
        least = least.min(energy.total);
        growth = growth.max(energy.total - least);
        moved = moved.max(energy.kinetic + energy.elastic);
        heights = [heights[0].min(energy.gravitational), heights[1].max(energy.gravitational)];
    }
    let scale = moved.max(heights[1] - heights[0]);
    (scale > 0.0).then(|| judge::energy_growth(growth / scale))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::app::judge::Verdict;
    use crate::app::plots::tests::{model, rows};
    use crate::sim::past::Figures;
    use crate::sim::report::Energy;

    #[test]
    fn growing_energy_is_bad_unless_something_pulls() {
        let run = |end: f64, pull: f64| {
            let row = |(k, total): (usize, f64)| {
                let energy = Some(Energy { kinetic: 1.0, total, ..Energy::default() });
                Arc::new(Figures { step: k as u64, grab_force: pull, energy, ..Figures::default() })
            };
            [1.0, 0.8, end].into_iter().enumerate().map(row).collect::<Vec<_>>()
        };
        let verdict = |end, pull| Chart::Energy.judged(&run(end, pull), &model()).map(|judged| judged.verdict);
        assert_eq!([verdict(0.7, 0.0), verdict(0.83, 0.0), verdict(1.0, 0.0)], [Verdict::Good, Verdict::Fair, Verdict::Bad].map(Some));
        assert_eq!(verdict(1.0, 3.0), None);
    }

    #[test]
    fn a_step_of_twice_its_time_is_fair() {
        let rows = rows(30);
        let verdict = |chart: Chart| chart.judged(&rows, &model()).map(|judged| judged.verdict);
        assert_eq!([Chart::RealTime, Chart::Stages].map(verdict), [Some(Verdict::Fair); 2]);
        assert_eq!([Chart::Contacts, Chart::Grab].map(verdict), [None; 2]);
        assert_eq!(Chart::Residual.judged(&[], &model()), None);
    }
}
