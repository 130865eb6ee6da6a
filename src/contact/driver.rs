//! The one relinearisation loop: rows are solved, the geometry that this moves is looked at, rows are renewed where it
//! is not what they predicted, until nothing crosses any more. A method only solves given rows to a given accuracy;
//! everything else is decided here, for all methods and backends.
//!
//! ```text
//!           +-----------------------------------------------------------+
//!           v                                                           | relinearised, or solved roughly so far
//!     solve rows --> give up? --> renew rows from the moved geometry ---+--> nothing changed: converged
//!                       |                                               |
//!                       +--> not converged                              +--> too many renewals or rows: not converged
//! ```

use super::generate::Renewal;

/// Renewals of the rows in one solve.
pub const MAX_RELINEARISATIONS: u32 = 20;
/// Forces are accepted within this part of the contact tolerance: gaps that aim at the middle of the band stay in it.
pub const ACCEPTED: f64 = 0.5;
/// Solves that failed to reach their accuracy after which a step that may be halved is given up.
pub const MAX_FAILURES: u32 = 3;
/// Solves to a finer and finer accuracy where something crosses though its row is as it should be.
const MAX_REFINEMENTS: u32 = 3;

/// What a step must satisfy in the solve of an island.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Contact tolerance [m].
    pub tolerance: f64,
    /// A smaller step is a better answer than a long search: the solve is given up after [`MAX_FAILURES`].
    pub gives_up: bool,
    /// With more rows the solve is given up: bodies have gone through each other, and smaller steps will find fewer.
    pub max_rows: usize,
}

impl Limits {
    /// The finest accuracy that rows are solved to [m].
    pub fn finest(&self) -> f64 {
        ACCEPTED * self.tolerance
    }
}

/// What a method found for given rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowsSolved {
    /// Inner and elastic iterations.
    pub iterations: u32,
    /// Elastic corrections with fixed rows.
    pub passes: u32,
    /// Beginnings of a Krylov space anew.
    pub restarts: u32,
    /// Applications of the factor of the rest pose.
    pub solves: u32,
    /// Iterations for the forces alone.
    pub dual_iterations: u32,
    /// Inner solves that did not reach their accuracy.
    pub failures: u32,
    /// 2-norm of the velocity residual [kg m/s].
    pub residual: f64,
    /// What the method has solved to, where it saw that finer is not worth while yet [m]; else zero.
    pub accuracy: f64,
    /// Forces and velocities are within the accuracy.
    pub settled: bool,
    /// The method may not go on: its iterations are used up, or its numbers run away.
    pub exhausted: bool,
}

/// What comes after a look at the moved geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    SolveRows,
    Done { converged: bool },
}

/// How fine a method solves rows that may still change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    /// Always to the finest accuracy.
    Finest,
    /// To this part of how far gaps were from what the rows predicted.
    Part(f64),
    /// Roughly, as the method sees fit, until the rows stay as they are.
    RoughFirst,
}

impl Schedule {
    fn first(self, finest: f64) -> f64 {
        if self == Self::RoughFirst { f64::INFINITY } else { finest }
    }

    fn after(self, accuracy: f64, finest: f64, gap_error: f64) -> f64 {
        match self {
            Self::Finest => finest,
            Self::Part(part) => finest.max(part * gap_error),
            Self::RoughFirst if gap_error > 0.0 => accuracy,
            Self::RoughFirst => finest,
        }
    }
}

/// The relinearisation of one island: how far it has come.
#[derive(Clone, Copy, Debug)]
pub struct Relinearisation {
    limits: Limits,
    schedule: Schedule,
    /// Rows are to be solved to this [m].
    pub accuracy: f64,
    /// Sums over all solves so far, and the last residual.
    pub total: RowsSolved,
    pub relinearisations: u32,
    /// Rows are solved no finer than this [m].
    finest: f64,
    refinements: u32,
}

impl Relinearisation {
    pub fn new(limits: Limits, schedule: Schedule) -> Self {
        let finest = limits.finest();
        let (accuracy, total) = (schedule.first(finest), RowsSolved::default());
        Self { limits, schedule, accuracy, total, relinearisations: 0, finest, refinements: 0 }
    }

    /// Takes the last solve of the rows; false if the solve of the island has failed for good.
    fn goes_on(&mut self, solved: RowsSolved) -> bool {
        let total = &mut self.total;
        total.iterations += solved.iterations;
        total.passes += solved.passes;
        total.restarts += solved.restarts;
        total.solves += solved.solves;
        total.dual_iterations += solved.dual_iterations;
        total.failures += solved.failures;
        (total.residual, total.settled, total.exhausted) = (solved.residual, solved.settled, solved.exhausted);
        total.accuracy = solved.accuracy;
        let is_hopeless = self.limits.gives_up && total.failures >= MAX_FAILURES && !solved.settled;
        !is_hopeless && !solved.exhausted
    }

    /// Decides after the rows were renewed; `n_rows`: how many there are now.
    fn decide(&mut self, renewal: &Renewal, n_rows: usize) -> Next {
        let was_rough = self.accuracy.max(self.total.accuracy) > self.finest;
        self.accuracy = self.schedule.after(self.accuracy, self.finest, renewal.gap_error);
        let changed = renewal.gap_error > 0.0;
        if !changed && was_rough {
            return Next::SolveRows;
        }
        if !changed && renewal.crosses && self.total.settled && self.refinements < MAX_REFINEMENTS {
            // Gaps that aim at the middle of the band and are as far from it as they may be have nothing left: rather
            // than taking the step back they are brought nearer.
            self.refinements += 1;
            self.finest *= 0.5;
            self.accuracy = self.finest;
            return Next::SolveRows;
        }
        if !changed || self.relinearisations >= MAX_RELINEARISATIONS || n_rows > self.limits.max_rows {
            return Next::Done { converged: self.total.settled && !changed };
        }
        self.relinearisations += 1;
        Next::SolveRows
    }

    /// One turn of the loop: takes the solve of the rows, lets `renew` look at the geometry (it returns how many rows
    /// there are then), and decides.
    pub fn advance(&mut self, solved: RowsSolved, renew: impl FnOnce() -> (Renewal, usize)) -> Next {
        if !self.goes_on(solved) {
            return Next::Done { converged: false };
        }
        let (renewal, n_rows) = renew();
        self.decide(&renewal, n_rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What crosses by less than forces are exact is solved more finely, again and again, but not for ever.
    #[test]
    fn what_crosses_though_its_row_is_right_is_solved_more_finely() {
        let limits = Limits { tolerance: 1e-5, gives_up: true, max_rows: 10 };
        let solved = RowsSolved { settled: true, ..RowsSolved::default() };
        let crossing = Renewal { gap_error: 0.0, crosses: true };
        let mut progress = Relinearisation::new(limits, Schedule::Finest);
        let mut finer = vec![];
        let end = loop {
            match progress.advance(solved, || (crossing, 1)) {
                Next::SolveRows => finer.push(progress.accuracy / limits.finest()),
                end @ Next::Done { .. } => break end,
            }
        };
        assert_eq!((finer, end), (vec![0.5, 0.25, 0.125], Next::Done { converged: true }));
        assert_eq!(progress.relinearisations, 0, "no row has changed");
        // Where rows change as well it stays as fine; where nothing crosses once is enough.
        assert_eq!(progress.advance(solved, || (Renewal { gap_error: 1e-5, crosses: true }, 1)), Next::SolveRows);
        assert!(progress.accuracy <= 0.125 * limits.finest());
        let mut once = Relinearisation::new(limits, Schedule::Finest);
        let apart = Renewal { gap_error: 0.0, crosses: false };
        assert_eq!(once.advance(solved, || (apart, 1)), Next::Done { converged: true });
    }
}
