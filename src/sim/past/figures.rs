//! The numbers of recorded steps, for plots: they are kept longer than pictures, and a branch has those of its steps.

use std::sync::Arc;

use super::{BranchId, Past};
use crate::body::BodyRef;
use crate::math::Vec3;
use crate::sim::Simulation;
use crate::sim::report::{Energy, ProbeReport};
use crate::step::{StepError, StepReport};

/// One step in numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    pub step: u64,
    /// At the end of the step [s].
    pub time: f64,
    /// Simulated time that the step has advanced [s].
    pub duration: f64,
    /// Wall time [ms].
    pub ms: f64,
    /// Measured as often as the meter allows.
    pub energy: Option<Energy>,
    /// Mean displacement of each probe of the scene, and of the points that are followed beside them [m].
    pub probes: Box<[Vec3]>,
    /// Sum of the magnitudes of all grabs [N].
    pub grab_force: f64,
    pub iterations: u32,
    pub residual: f64,
    /// Neither refused by the solver nor cut short.
    pub converged: bool,
    /// Contacts that carry a force.
    pub contacts: u32,
    /// Wall time of the stages [ms], in the order in which they ran.
    pub stages: Box<[(&'static str, f32)]>,
    pub pairs: Box<[PairFigures]>,
}

/// Magnitudes of the contact forces between two bodies [N].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairFigures {
    pub bodies: [BodyRef; 2],
    pub normal: f64,
    pub friction: f64,
}

/// So many rows of one stretch are kept; beyond that every second one of its older half goes.
const MOST_ROWS: usize = 20_000;

/// Drops every second row of the older half where there are too many.
pub fn thin(rows: &mut Vec<Arc<Figures>>) {
    if rows.len() > MOST_ROWS {
        let half = rows.len() / 2;
        let mut place = 0;
        rows.retain(|_| {
            place += 1;
            place > half || place % 2 == 1
        });
    }
}

/// Part of the time of steps that the energy of their ends may take.
const METERED_PART: f64 = 0.04;

/// Decides how often the energy is measured: it takes a pass over all elements.
#[derive(Clone, Copy, Debug, Default)]
pub struct EnergyMeter {
    /// Time that may be spent [ms].
    saved: f64,
    /// Of the last measurement [ms].
    cost: f64,
}

impl EnergyMeter {
    /// Whether to measure after a step of so many milliseconds.
    pub fn is_due(&mut self, step_ms: f64) -> bool {
        self.saved = (self.saved + METERED_PART * step_ms).min(2.0 * self.cost.max(METERED_PART * step_ms));
        self.saved >= self.cost
    }

    /// Books a measurement.
    pub fn spend(&mut self, ms: f64) {
        self.cost = ms;
        self.saved -= ms;
    }
}

impl Simulation {
    /// The numbers of the last step, of which `report` tells.
    pub fn figures(&mut self, report: &StepReport, meter: &mut EnergyMeter) -> Result<Figures, StepError> {
        let (step, time, duration) = (self.step_index(), self.time(), self.params().time_step);
        let ms = self.tally().records.last().map_or(0.0, |record| record.ms);
        let grab_force = self.grabs()?.iter().map(|grab| grab.force.norm()).sum();
        let (model, gravity, probes) = (self.model().clone(), self.params().gravity, [&self.probes[..], &self.watched].concat());
        let state = self.state()?;
        let displacement = |probe| Vec3::from(ProbeReport::of(probe, &model, state).displacement);
        let probes = probes.iter().map(displacement).collect();
        let energy = meter.is_due(ms).then(|| {
            let start = std::time::Instant::now();
            let energy = Energy::of(&model, &gravity, state);
            meter.spend(start.elapsed().as_secs_f64() * 1e3);
            energy
        });
        Ok(Figures {
            step,
            time,
            duration,
            ms,
            energy,
            probes,
            grab_force,
            iterations: report.iterations,
            residual: report.residual,
            converged: report.converged && report.limited.is_none(),
            contacts: report.contact.active,
            stages: report.stages.times.iter().map(|(name, ms)| (*name, *ms as f32)).collect(),
            pairs: report.contact.pairs.iter().map(PairFigures::of).collect(),
        })
    }
}

impl PairFigures {
    fn of(pair: &crate::contact::PairForce) -> Self {
        Self { bodies: pair.bodies, normal: pair.normal.norm(), friction: pair.friction.norm() }
    }
}

impl Past {
    /// Records the numbers of a step of the live branch.
    pub fn note(&mut self, figures: Figures) {
        if let Some(segment) = self.live_segment() {
            segment.figures.push(Arc::new(figures));
            thin(&mut segment.figures);
            self.version += 1;
        }
    }

    /// The numbers of the steps of a branch, ascending.
    pub fn figures(&self, id: BranchId) -> Vec<Arc<Figures>> {
        self.path(id).flat_map(|(segment, until)| segment.figures.iter().take_while(move |row| row.step <= until).cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_in_two_goes_where_there_are_too_many() {
        let row = |step| Arc::new(Figures { step, ..Figures::default() });
        let mut rows: Vec<_> = (0..=MOST_ROWS as u64).map(row).collect();
        thin(&mut rows);
        let half = MOST_ROWS / 2;
        assert_eq!(rows.len(), half / 2 + half + 1);
        assert!(rows.windows(2).all(|pair| pair[0].step < pair[1].step));
        assert_eq!((rows[0].step, rows[1].step, rows.last().unwrap().step), (0, 2, MOST_ROWS as u64));
    }

    #[test]
    fn the_energy_takes_a_small_part_of_the_time() {
        let mut meter = EnergyMeter::default();
        let (mut spent, mut measured) = (0.0, 0);
        for _ in 0..1000 {
            if meter.is_due(10.0) {
                meter.spend(4.0);
                spent += 4.0;
                measured += 1;
            }
        }
        assert!(spent < 0.05 * 10_000.0 && measured > 90, "{spent} ms in {measured} measurements");
        // Where it costs next to nothing, every step is measured.
        let mut meter = EnergyMeter::default();
        assert!((0..100).all(|_| {
            let due = meter.is_due(10.0);
            meter.spend(0.1);
            due
        }));
    }
}
