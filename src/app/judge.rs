//! Whether a number is good, fair or bad, and what that means in words.

use crate::step::StepReport;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Good,
    Fair,
    Bad,
}

/// A verdict with its sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    pub verdict: Verdict,
    pub words: String,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Self::Good => "Good",
            Self::Fair => "Fair",
            Self::Bad => "Bad",
        }
    }

    /// Good up to one bound, fair up to another, bad beyond; what is not a number is bad.
    fn below(value: f64, good: f64, fair: f64) -> Self {
        match value {
            v if v <= good => Self::Good,
            v if v <= fair => Self::Fair,
            _ => Self::Bad,
        }
    }
}

impl Judgement {
    fn new(verdict: Verdict, words: impl Into<String>) -> Self {
        Self { verdict, words: words.into() }
    }

    /// "Good: it keeps up."
    pub fn sentence(&self) -> String {
        format!("{}: {}.", self.verdict.word(), self.words)
    }
}

/// Slow motion beyond this is no longer an interaction.
const USABLE_FACTOR: f64 = 0.25;

/// Simulated over wall time.
pub fn real_time(factor: f64) -> Judgement {
    let verdict = Verdict::below(1.0 / factor, 1.05, 1.0 / USABLE_FACTOR);
    Judgement::new(
        verdict,
        match verdict {
            Verdict::Good => "it keeps up with real time",
            Verdict::Fair => "slow motion, but it can be pulled",
            Verdict::Bad => "far slower than real time",
        },
    )
}

/// Wall time of a step [ms] that advances simulated time [s].
pub fn step_time(ms: f64, duration: f64) -> Judgement {
    real_time(1e3 * duration / ms.max(1e-9))
}

/// The residual of a step.
pub fn residual(residual: f64, converged: bool) -> Judgement {
    match (converged, residual) {
        (true, r) if r <= 1e-2 => Judgement::new(Verdict::Good, "the step is solved to its tolerance"),
        (true, _) => Judgement::new(Verdict::Fair, "the step was accepted, though more of it than usual is left unsolved"),
        (false, _) => Judgement::new(Verdict::Bad, "the step was not solved to its tolerance; a smaller time step helps"),
    }
}

/// The iterations of a step, whatever they were spent on.
pub fn iterations(iterations: u32, converged: bool) -> Judgement {
    match (Verdict::below(f64::from(iterations), 200.0, 1000.0), converged) {
        (Verdict::Good, true) => Judgement::new(Verdict::Good, "an easy step"),
        (_, true) => Judgement::new(Verdict::Fair, "a hard step, which was solved"),
        (_, false) => Judgement::new(Verdict::Bad, "the step is not solved in spite of them"),
    }
}

/// The largest gap of a contact that pushes, or the largest complementarity error, against the contact tolerance [m].
pub fn within_tolerance(error: f64, tolerance: f64) -> Judgement {
    let verdict = Verdict::below(error, 2.0 * tolerance, 20.0 * tolerance);
    Judgement::new(
        verdict,
        match verdict {
            Verdict::Good => "within the contact tolerance",
            Verdict::Fair => "above the contact tolerance, but hardly to be seen",
            Verdict::Bad => "far above the contact tolerance",
        },
    )
}

/// The largest growth of the sum of energies, as a part of the energy that takes part.
pub fn energy_growth(growth: f64) -> Judgement {
    let verdict = Verdict::below(growth, 0.01, 0.05);
    Judgement::new(
        verdict,
        match verdict {
            Verdict::Good => "the sum does not grow",
            Verdict::Fair => "the sum grows a little",
            Verdict::Bad => "the sum grows: something puts energy in, or the time step is too long",
        },
    )
}

/// A step as a whole: the dot beside "Solver".
pub fn step(report: &StepReport) -> Judgement {
    match (report.limited, report.converged) {
        (Some(_), _) => Judgement::new(Verdict::Bad, "the step was too hard for its time, and points were limited in their motion"),
        (None, false) => residual(report.residual, false),
        (None, true) => residual(report.residual, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_judged_from_good_to_bad() {
        let verdicts = |judged: [Judgement; 3]| judged.map(|j| j.verdict);
        let all = [Verdict::Good, Verdict::Fair, Verdict::Bad];
        assert_eq!(verdicts([1.3, 0.5, 0.1].map(real_time)), all);
        assert_eq!(verdicts([5.0, 20.0, 400.0].map(|ms| step_time(ms, 0.01))), all);
        assert_eq!(verdicts([(1e-4, true), (0.5, true), (1e-4, false)].map(|(r, converged)| residual(r, converged))), all);
        assert_eq!(verdicts([(10, true), (5000, true), (5000, false)].map(|(n, converged)| iterations(n, converged))), all);
        assert_eq!(verdicts([5e-6, 5e-5, 1e-3].map(|error| within_tolerance(error, 5e-6))), all);
        assert_eq!(verdicts([0.0, 0.03, 0.5].map(energy_growth)), all);
        // What is not a number is never good.
        assert_eq!(verdicts([real_time(f64::NAN), within_tolerance(f64::NAN, 1.0), energy_growth(f64::NAN)]), [Verdict::Bad; 3]);
        assert_eq!(real_time(2.0).sentence(), "Good: it keeps up with real time.");
    }

    #[test]
    fn a_limited_step_is_bad_even_where_its_residual_is_small() {
        let report = StepReport { converged: true, residual: 1e-5, ..StepReport::default() };
        assert_eq!(step(&report).verdict, Verdict::Good);
        assert_eq!(step(&StepReport { limited: Some(3), ..report.clone() }).verdict, Verdict::Bad);
        assert_eq!(step(&StepReport { converged: false, ..report }).verdict, Verdict::Bad);
    }
}
