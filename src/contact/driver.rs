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
//!
//! A solve whose rows have come near to the geometry may stop where vertices have left the boxes of the search: what
//! they meet now is searched for, and the solve begins again with that and what it had found.
//!
//! Where a solve may not be given up for a smaller step, one that does not converge ends where its rows and the geometry
//! came nearest to each other: what came after that may be anywhere.

use super::constraint::Constraint;
use super::generate::Renewal;
use crate::math::Vec3;

/// Renewals of the rows in one solve, where it may be given up.
pub const MAX_RELINEARISATIONS: u32 = 20;
/// Where it may not, it goes on after these as long as one of so many in turn comes nearer to what rows predict.
const PATIENCE: u32 = 10;
/// Nearer is this part of the least error before.
const NEARER: f64 = 0.9;
/// Forces are accepted within this part of the contact tolerance: gaps that aim at the middle of the band stay in it.
pub const ACCEPTED: f64 = 0.5;
/// Solves that failed to reach their accuracy after which a step that may be halved is given up.
pub const MAX_FAILURES: u32 = 3;
/// Solves to a finer and finer accuracy where something crosses though its row is as it should be.
const MAX_REFINEMENTS: u32 = 3;

/// After so many renewals, where gaps are off by so many contact tolerances, the rows are near enough to the geometry
/// that vertices which have left the boxes of the last search may be searched about at once: rows solved to the end are
/// often found to be too few then, and are solved for nothing. Farther off, what such a search finds is not what will
/// meet; nearer, the end is as near (heaps of cubes, bunnies, rods and sheets).
const RENEWALS_BEFORE_SEARCH: u32 = 3;
const SEARCHED_ERRORS: [f64; 2] = [20.0, 200.0];

/// What a step must satisfy in the solve of an island.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Contact tolerance [m].
    pub tolerance: f64,
    /// A smaller step is a better answer than a long search: renewals are bounded.
    pub gives_up: bool,
    /// There is a smaller step: the solve is given up after [`MAX_FAILURES`].
    pub may_halve: bool,
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
    /// Inner solves that did not reach their accuracy, or that the rows as a whole did not.
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

/// What was found for an island so far: velocity changes of its unknowns, its contacts, and whether anything crosses
/// with these.
pub struct Found<'a> {
    pub dv: &'a mut Vec<Vec3>,
    pub contacts: &'a mut Vec<Constraint>,
    pub crosses: &'a mut bool,
}

/// Where rows and geometry came nearest to each other.
#[derive(Clone, Debug, Default)]
struct Nearest {
    dv: Vec<Vec3>,
    contacts: Vec<Constraint>,
    crosses: bool,
    /// Of gaps and forces [m].
    error: f64,
    residual: f64,
}

/// The relinearisation of one island: how far it has come.
#[derive(Clone, Debug)]
pub struct Relinearisation {
    limits: Limits,
    schedule: Schedule,
    /// Rows are to be solved to this [m].
    pub accuracy: f64,
    /// Sums over all solves so far, and the last residual.
    pub total: RowsSolved,
    pub relinearisations: u32,
    /// How far gaps were from what the rows predicted at the last renewal [m].
    gap_error: f64,
    /// Rows are solved no finer than this [m].
    finest: f64,
    refinements: u32,
    /// The least error of the gaps in a renewal so far [m], and when it was found.
    least_error: f64,
    least_at: u32,
    nearest: Option<Nearest>,
    /// It has ended with rows whose forces were not found.
    pub is_unsettled: bool,
}

impl Relinearisation {
    pub fn new(limits: Limits, schedule: Schedule) -> Self {
        let finest = limits.finest();
        let (accuracy, total) = (schedule.first(finest), RowsSolved::default());
        let (least_error, least_at, nearest) = (f64::INFINITY, 0, None);
        let (relinearisations, gap_error, refinements) = (0, f64::INFINITY, 0);
        Self {
            limits,
            schedule,
            accuracy,
            total,
            relinearisations,
            gap_error,
            finest,
            refinements,
            least_error,
            least_at,
            nearest,
            is_unsettled: false,
        }
    }

    /// Whether the rows were renewed often enough: what may not be given up has nothing better than going on, as long as
    /// it converges, however slowly.
    fn is_exhausted(&mut self, gap_error: f64) -> bool {
        if gap_error < NEARER * self.least_error {
            (self.least_error, self.least_at) = (gap_error, self.relinearisations);
        }
        let is_still_converging = !self.limits.gives_up && self.relinearisations < self.least_at + PATIENCE;
        self.relinearisations >= MAX_RELINEARISATIONS && !is_still_converging
    }

    /// Whether what has left its boxes is better searched for before the rows are solved again.
    pub fn may_search(&self) -> bool {
        let [near, far] = SEARCHED_ERRORS.map(|error| error * self.limits.tolerance);
        self.relinearisations >= RENEWALS_BEFORE_SEARCH && near < self.gap_error && self.gap_error < far
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
        let is_hopeless = self.limits.may_halve && total.failures >= MAX_FAILURES && !solved.settled;
        !is_hopeless && !solved.exhausted
    }

    /// Decides after the rows were renewed; `n_rows`: how many there are now.
    fn decide(&mut self, renewal: &Renewal, n_rows: usize) -> Next {
        self.gap_error = renewal.gap_error;
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
        if !changed || self.is_exhausted(renewal.gap_error) || n_rows > self.limits.max_rows {
            return Next::Done { converged: self.total.settled && !changed };
        }
        self.relinearisations += 1;
        Next::SolveRows
    }

    /// One turn of the loop: takes the solve of the rows, lets `renew` look at the geometry, and decides. Ends without
    /// convergence at the nearest of all turns, where that is kept.
    pub fn advance(&mut self, solved: RowsSolved, trial: &mut Found, renew: impl FnOnce(&[Vec3], &mut Vec<Constraint>) -> Renewal) -> Next {
        let next = if self.goes_on(solved) {
            let renewal = renew(trial.dv, trial.contacts);
            *trial.crosses = renewal.crosses;
            let error = renewal.gap_error.max(self.accuracy).max(solved.accuracy);
            let next = self.decide(&renewal, trial.contacts.len());
            if !self.limits.gives_up && solved.settled && next != (Next::Done { converged: true }) {
                self.keep(trial, error);
            }
            next
        } else {
            Next::Done { converged: false }
        };
        if next == (Next::Done { converged: false }) {
            self.is_unsettled = !solved.settled && !trial.contacts.is_empty();
            self.go_back(trial);
        }
        next
    }

    /// Keeps what was found if it is nearer than all before.
    fn keep(&mut self, trial: &Found, error: f64) {
        if error < self.nearest.as_ref().map_or(f64::INFINITY, |nearest| nearest.error) {
            let nearest = self.nearest.get_or_insert_default();
            nearest.dv.clone_from(trial.dv);
            nearest.contacts.clone_from(trial.contacts);
            (nearest.crosses, nearest.error, nearest.residual) = (*trial.crosses, error, self.total.residual);
        }
    }

    fn go_back(&mut self, trial: &mut Found) {
        if let Some(nearest) = self.nearest.take() {
            (*trial.dv, *trial.contacts, *trial.crosses) = (nearest.dv, nearest.contacts, nearest.crosses);
            self.total.residual = nearest.residual;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::BodyRef;

    /// One turn of a solve that is told how it goes.
    fn turn(progress: &mut Relinearisation, renewal: Renewal, dv: &mut Vec<Vec3>) -> Next {
        turn_of(progress, true, renewal, dv)
    }

    fn turn_of(progress: &mut Relinearisation, settled: bool, renewal: Renewal, dv: &mut Vec<Vec3>) -> Next {
        let solved = RowsSolved { settled, failures: u32::from(!settled), ..RowsSolved::default() };
        progress.advance(solved, &mut Found { dv, contacts: &mut vec![], crosses: &mut false }, |_, _| renewal)
    }

    /// Renewals until the end of a solve whose gap errors are given.
    fn renewals(gives_up: bool, gap_error: impl Fn(u32) -> f64) -> (u32, Next) {
        let limits = Limits { tolerance: 1e-5, gives_up, may_halve: gives_up, max_rows: 10 };
        let mut progress = Relinearisation::new(limits, Schedule::Finest);
        loop {
            let gap_error = gap_error(progress.relinearisations);
            match turn(&mut progress, Renewal { gap_error, crosses: gap_error > 0.0 }, &mut vec![]) {
                Next::SolveRows => {}
                end @ Next::Done { .. } => return (progress.relinearisations, end),
            }
        }
    }

    /// Far off one does not know what will meet, near the end it is not worth while.
    #[test]
    fn a_search_pays_between_the_first_renewals_and_the_last() {
        let limits = Limits { tolerance: 1e-5, gives_up: true, may_halve: true, max_rows: 10 };
        let mut progress = Relinearisation::new(limits, Schedule::Finest);
        let may_search = [5e-4, 5e-4, 5e-4, 3e-3, 1.5e-3, 3e-4, 1.5e-4].map(|gap_error| {
            turn(&mut progress, Renewal { gap_error, crosses: true }, &mut vec![]);
            progress.may_search()
        });
        assert_eq!(may_search, [false, false, true, false, true, true, false]);
    }

    /// Three failures are enough where there is a smaller step; the smallest one goes on.
    #[test]
    fn what_does_not_settle_again_and_again_is_given_up_where_it_may_be() {
        let turns = |may_halve: bool, settles: fn(u32) -> bool| {
            let limits = Limits { tolerance: 1e-5, gives_up: false, may_halve, max_rows: 10 };
            let mut progress = Relinearisation::new(limits, Schedule::Finest);
            let wide = Renewal { gap_error: 1e-3, crosses: true };
            (1..).find(|n| turn_of(&mut progress, settles(*n), wide, &mut vec![]) != Next::SolveRows)
        };
        assert_eq!(turns(true, |_| false), Some(MAX_FAILURES));
        assert_eq!(turns(true, |n| n % 2 == 0), Some(2 * MAX_FAILURES - 1));
        assert_eq!(turns(true, |_| true), Some(MAX_RELINEARISATIONS + 1));
        assert_eq!(turns(false, |_| false), Some(MAX_RELINEARISATIONS + 1));
    }

    /// Forces of rows that changed to the end were found all the same; without rows there are none.
    #[test]
    fn forces_that_were_not_found_are_told() {
        let is_unsettled = |settled: bool, mut contacts: Vec<Constraint>| {
            let limits = Limits { tolerance: 1e-5, gives_up: false, may_halve: true, max_rows: 10 };
            let mut progress = Relinearisation::new(limits, Schedule::Finest);
            let solved = RowsSolved { settled, failures: u32::from(!settled), ..RowsSolved::default() };
            loop {
                let mut found = Found { dv: &mut vec![], contacts: &mut contacts, crosses: &mut false };
                if progress.advance(solved, &mut found, |_, _| Renewal { gap_error: 1e-3, crosses: true }) != Next::SolveRows {
                    return progress.is_unsettled;
                }
            }
        };
        let row = || vec![Constraint::joint(0, [BodyRef::World; 2], Vec3::zeros())];
        assert!(is_unsettled(false, row()));
        assert!(!is_unsettled(true, row()) && !is_unsettled(false, vec![]));
    }

    /// Motions are numbered by their turn; the last one that was found is handed back where there may be a smaller step.
    #[test]
    fn without_convergence_the_nearest_is_kept() {
        let ends_at = |gives_up: bool| {
            let limits = Limits { tolerance: 1e-5, gives_up, may_halve: gives_up, max_rows: 10 };
            let mut progress = Relinearisation::new(limits, Schedule::Finest);
            let mut dv = vec![];
            loop {
                let n = progress.relinearisations;
                dv = vec![Vec3::repeat(f64::from(n))];
                let renewal = Renewal { gap_error: 1e-3 + 1e-4 * (f64::from(n) - 13.0).abs(), crosses: n > 13 };
                if turn(&mut progress, renewal, &mut dv) == (Next::Done { converged: false }) {
                    return dv[0].x;
                }
            }
        };
        assert_eq!(ends_at(false), 13.0);
        assert_eq!(ends_at(true), f64::from(MAX_RELINEARISATIONS));
    }

    /// A slow convergence has its time where there is no smaller step; one that does not converge has an end anywhere.
    #[test]
    fn the_smallest_step_converges_slowly_if_it_must() {
        let slowly = |n: u32| if n < 60 { 0.01 * 0.88f64.powi(n as i32) } else { 0.0 };
        assert_eq!(renewals(false, slowly), (60, Next::Done { converged: true }));
        assert_eq!(renewals(true, slowly), (MAX_RELINEARISATIONS, Next::Done { converged: false }));
        let to_and_fro = |n: u32| if n < 15 { 0.01 / f64::from(n + 1) } else { 0.01 };
        assert_eq!(renewals(false, to_and_fro), (24, Next::Done { converged: false }));
        assert_eq!(renewals(false, |_| 0.01), (MAX_RELINEARISATIONS, Next::Done { converged: false }));
    }

    /// What crosses by less than forces are exact is solved more finely, again and again, but not for ever.
    #[test]
    fn what_crosses_though_its_row_is_right_is_solved_more_finely() {
        let limits = Limits { tolerance: 1e-5, gives_up: true, may_halve: true, max_rows: 10 };
        let crossing = Renewal { gap_error: 0.0, crosses: true };
        let mut progress = Relinearisation::new(limits, Schedule::Finest);
        let mut finer = vec![];
        let end = loop {
            match turn(&mut progress, crossing, &mut vec![]) {
                Next::SolveRows => finer.push(progress.accuracy / limits.finest()),
                end @ Next::Done { .. } => break end,
            }
        };
        assert_eq!((finer, end), (vec![0.5, 0.25, 0.125], Next::Done { converged: true }));
        assert_eq!(progress.relinearisations, 0, "no row has changed");
        // Where rows change as well it stays as fine; where nothing crosses once is enough.
        assert_eq!(turn(&mut progress, Renewal { gap_error: 1e-5, crosses: true }, &mut vec![]), Next::SolveRows);
        assert!(progress.accuracy <= 0.125 * limits.finest());
        let mut once = Relinearisation::new(limits, Schedule::Finest);
        let apart = Renewal { gap_error: 0.0, crosses: false };
        assert_eq!(turn(&mut once, apart, &mut vec![]), Next::Done { converged: true });
    }
}
