//! The life of a contact's row in a step: when it takes another linearisation, how much of one it takes, and when it
//! ends.
//!
//! A row is linear and the surfaces are not, so that the gap at the end of a trial motion may be another than the row
//! predicted. Then the row is renewed, with normal and gap of the features at the end. Two things could go on forever,
//! and each is ended by a state of its own: features that cross in spite of the row of the end, and normals that turn
//! to and fro.
//!
//! ```text
//!   remembered from the last step            found to cross in this step
//!        |                                        |
//!        v              crosses                   v        crosses again
//!      Warm ----------------------------------> Met ------------------------> Frozen --+
//!        |                                                                      ^      | crosses
//!        v  features slide off each other                                       +------+
//!     dropped
//!
//!   Warm    may be dropped: other features touch instead.
//!   Met     has crossed in a trial, and stays even where the features slide off each other.
//!   Frozen  has crossed in spite of the row of the end: it keeps the row of the time of impact
//!           unless the features overlap at the end. If that does not keep them apart it asks for more
//!           (a secant).
//!
//!           renewed                  renewed, none left
//!   Following { left } --> left - 1 --------------------> Damped { turns: 1 } --> turns + 1
//!
//!   Following  takes the normal of the end, turned by 15 degrees at most.
//!   Damped     turns half of the way, then a third, a fourth and so on: to the mean of the normals that it meets. And
//!              it asks for more of a gap that opens less than its rows predicted (a secant). A pair that crosses is
//!              given the normal of the end all the same, up to the 9th turn.
//! ```

use crate::math::Vec3;

/// Remembered pairs of features that have come apart by more than this many contact tolerances are forgotten.
pub const MAX_ASIDE: f64 = 4.0;
/// Gaps that differ by less than this part of the tolerance from the prediction of their row are as predicted.
const PREDICTION_TOLERANCE: f64 = 0.1;
/// Renewals that turn a normal all the way.
const MAX_FULL_RENEWALS: u32 = 3;
/// Renewals after that, up to which a pair that crosses takes the row of the end as it is all the same: it converges
/// quickest where it does, and in the others, where two rows of a pair each let through what the other holds, it never
/// does.
const MAX_TURNS: u32 = 9;
/// Of a predicted opening at least this part is taken to come.
const MIN_SHARE_OF_OPENING: f64 = 0.2;
/// Cosine of the most that a normal turns in one renewal: 15 degrees.
const MIN_TURN_COSINE: f64 = 0.965_925_8;
/// Sums of two normals shorter than this have no direction: the normals are opposite.
const MIN_NORMAL_SUM: f64 = 1e-3;

/// Where a row is in its life.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowLife {
    origin: Origin,
    damping: Damping,
    last: Renewed,
}

/// What is known of the features of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Warm,
    Met,
    Frozen,
}

/// How much of a new linearisation a row takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damping {
    Following { left: u32 },
    Damped { turns: u32 },
}

/// The last renewal: the gap that the features had, and the one that the row was given [m].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Renewed {
    gap: f64,
    given: f64,
}

/// Normal and gap of a row [m].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aim {
    pub normal: Vec3,
    pub gap: f64,
}

/// What a renewal is decided by, of an active row.
#[derive(Clone, Copy, Debug)]
pub struct Present {
    pub normal: Vec3,
    /// The gap that the row predicts for the end [m].
    pub predicted_gap: f64,
    /// The gap that counts as touching [m].
    pub contact_offset: f64,
    /// Contact tolerance [m].
    pub tolerance: f64,
}

impl RowLife {
    /// A row of a contact that the last step remembers.
    pub fn warm() -> Self {
        Self { origin: Origin::Warm, damping: Damping::Following { left: MAX_FULL_RENEWALS }, last: Renewed::default() }
    }

    /// A row of features that cross in this step.
    pub fn met() -> Self {
        Self { origin: Origin::Met, ..Self::warm() }
    }

    /// The features cross in a trial in spite of their row.
    pub fn cross(&mut self) {
        self.origin = match self.origin {
            Origin::Warm => Origin::Met,
            Origin::Met | Origin::Frozen => Origin::Frozen,
        };
    }

    /// They do so; the gap that the row of the crossing, where they have `gap`, is given. What is frozen keeps its
    /// normal, so that features that slide along it come apart by a part of what is asked for each time: that needs the
    /// secant from the second time on.
    pub fn on_crossing(&mut self, present: &Present, gap: f64) -> f64 {
        let is_again = self.origin == Origin::Frozen;
        self.cross();
        self.secant_corrected_gap(present, gap, is_again)
    }

    /// Whether the row ends where its features are `aside` [m] beside each other.
    pub fn is_dropped(&self, aside: f64, tolerance: f64) -> bool {
        self.origin == Origin::Warm && aside > MAX_ASIDE * tolerance
    }

    /// Whether a row whose features have the gap `gap` > 0 at the end is renewed, if it matters: if the gap is wide and
    /// not as wide as predicted. One that stays wider than predicted (edges that are nearly parallel) is left to the
    /// next step, which begins from there.
    pub fn wants_renewal(&self, gap: f64, predicted_gap: impl FnOnce() -> f64, tolerance: f64) -> bool {
        let follows = self.origin != Origin::Frozen && matches!(self.damping, Damping::Following { left: 1.. });
        follows && gap >= tolerance && (gap - predicted_gap()).abs() >= PREDICTION_TOLERANCE * tolerance
    }

    /// Whether the row was renewed so often that it probably goes to and fro between two.
    pub fn goes_to_and_fro(&self) -> bool {
        matches!(self.damping, Damping::Damped { turns } if turns >= MAX_TURNS)
    }

    /// Whether the active row was renewed in this step.
    pub fn was_renewed(&self) -> bool {
        self.damping != Self::warm().damping
    }

    /// The normal and the gap that an active row takes of `found`, those of its features at the end.
    pub fn on_renewal(&mut self, present: &Present, found: Aim) -> Aim {
        self.damping = match self.damping {
            Damping::Following { left: 0 } => Damping::Damped { turns: 1 },
            Damping::Following { left } => Damping::Following { left: left - 1 },
            Damping::Damped { turns } => Damping::Damped { turns: turns + 1 },
        };
        let separation = found.normal * found.gap;
        let mut aim = found;
        if let Damping::Damped { turns } = self.damping
            && let Some(middle) = (present.normal * f64::from(turns) + aim.normal).try_normalize(MIN_NORMAL_SUM)
        {
            aim = Aim { normal: middle, gap: separation.dot(&middle) };
        }
        // Halve the turn until it is allowed.
        while present.normal.dot(&aim.normal) < MIN_TURN_COSINE {
            let middle = present.normal + aim.normal;
            if middle.norm() < MIN_NORMAL_SUM {
                break;
            }
            aim.normal = middle.normalize();
            aim.gap = separation.dot(&aim.normal);
        }
        let is_damped = matches!(self.damping, Damping::Damped { .. });
        Aim { gap: self.secant_corrected_gap(present, aim.gap, is_damped), ..aim }
    }

    /// The gap that the row of a renewed contact is given. Where the closest points slide along as the features part,
    /// gaps open less than their rows predict; features that still overlap after some renewals are asked for as much
    /// more as they fell short of before. `is_again`: the last row was given for the same normal, or nearly so.
    fn secant_corrected_gap(&mut self, present: &Present, gap: f64, is_again: bool) -> f64 {
        let (opened, predicted) = (gap - self.last.gap, present.predicted_gap - self.last.given);
        let is_short = is_again && gap <= 0.0 && predicted > PREDICTION_TOLERANCE * present.tolerance;
        let share = if is_short { (opened / predicted).clamp(MIN_SHARE_OF_OPENING, 1.0) } else { 1.0 };
        let given = present.contact_offset - (present.contact_offset - gap) / share;
        self.last = Renewed { gap, given };
        given
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLERANCE: f64 = 5e-6;

    fn present(normal: Vec3, predicted_gap: f64) -> Present {
        Present { normal, predicted_gap, contact_offset: 0.5 * TOLERANCE, tolerance: TOLERANCE }
    }

    #[test]
    fn only_remembered_rows_are_dropped() {
        let far = 1.01 * MAX_ASIDE * TOLERANCE;
        let mut life = RowLife::warm();
        assert!(life.is_dropped(far, TOLERANCE) && !life.is_dropped(0.9 * far, TOLERANCE));
        life.on_crossing(&present(Vec3::x(), 0.0), -TOLERANCE);
        assert!(!life.is_dropped(far, TOLERANCE) && !RowLife::met().is_dropped(far, TOLERANCE));
    }

    #[test]
    fn what_crosses_twice_keeps_the_row_of_the_touch() {
        let mut life = RowLife::met();
        assert!(life.wants_renewal(2.0 * TOLERANCE, || TOLERANCE, TOLERANCE));
        assert!(!life.wants_renewal(2.0 * TOLERANCE, || 2.0 * TOLERANCE, TOLERANCE), "as predicted");
        assert!(!life.wants_renewal(0.9 * TOLERANCE, || 0.0, TOLERANCE), "within the band");
        life.on_crossing(&present(Vec3::x(), 0.0), -TOLERANCE);
        assert!(!life.wants_renewal(2.0 * TOLERANCE, || TOLERANCE, TOLERANCE));
    }

    /// Features that open by a tenth of what their row predicts are apart after a few rows, not after twenty.
    #[test]
    fn what_keeps_crossing_is_asked_for_more() {
        let (mut life, mut gap) = (RowLife::met(), -0.5 * TOLERANCE);
        let mut given = life.on_crossing(&present(Vec3::x(), 0.0), gap);
        assert_eq!(given, gap, "nothing is known yet");
        let mut rows = 0;
        while gap < 0.0 {
            // The row is obeyed: it predicts the gap that counts as touching.
            let predicted = present(Vec3::x(), 0.5 * TOLERANCE);
            gap += 0.1 * (predicted.predicted_gap - given);
            given = life.on_crossing(&predicted, gap);
            assert!(given <= gap && given >= present(Vec3::x(), 0.0).contact_offset - 5.0 * TOLERANCE);
            rows += 1;
        }
        assert!(rows <= 4, "{rows}");
    }

    /// Two normals in turn: from some time on a pair that crosses is left what its renewals gave it.
    #[test]
    fn rows_that_go_to_and_fro_are_told() {
        let turned = |degrees: f64| Vec3::new(degrees.to_radians().cos(), degrees.to_radians().sin(), 0.0);
        let mut life = RowLife::met();
        let renewals = (1..).find(|n| {
            let normal = turned(if n % 2 == 0 { 10.0 } else { -10.0 });
            life.on_renewal(&present(Vec3::x(), 0.0), Aim { normal, gap: -TOLERANCE });
            life.goes_to_and_fro()
        });
        assert_eq!(renewals, Some(MAX_FULL_RENEWALS + MAX_TURNS));
    }

    #[test]
    fn normals_follow_thrice_and_then_turn_half_of_the_way() {
        let turned = |degrees: f64| Vec3::new(degrees.to_radians().cos(), degrees.to_radians().sin(), 0.0);
        let angle = |aim: &Aim| aim.normal.y.atan2(aim.normal.x).to_degrees();
        let mut life = RowLife::met();
        let overlap = -TOLERANCE;
        for _ in 0..MAX_FULL_RENEWALS {
            assert!(life.wants_renewal(2.0 * TOLERANCE, || 0.0, TOLERANCE));
            let aim = life.on_renewal(&present(Vec3::x(), 0.0), Aim { normal: turned(10.0), gap: overlap });
            assert!((angle(&aim) - 10.0).abs() < 1e-9 && (aim.gap - overlap).abs() < 1e-18);
        }
        assert!(!life.wants_renewal(2.0 * TOLERANCE, || 0.0, TOLERANCE));
        let aim = life.on_renewal(&present(Vec3::x(), 0.0), Aim { normal: turned(10.0), gap: overlap });
        assert!((angle(&aim) - 5.0).abs() < 1e-9);
        let mut again = life;
        for turns in 2..5 {
            let aim = again.on_renewal(&present(turned(5.0), 0.0), Aim { normal: turned(-5.0), gap: overlap });
            let least = 10.0 / f64::from(turns + 1);
            assert!((angle(&aim) - (5.0 - least)).abs() < 0.02, "{turns}: {}", angle(&aim));
        }
        // The gap has hardly opened though the row predicted that it would: the secant asks for five times as much.
        assert!(aim.gap < 4.0 * overlap, "{}", aim.gap);
        let aim = RowLife::met().on_renewal(&present(Vec3::x(), 0.0), Aim { normal: turned(40.0), gap: overlap });
        assert!(angle(&aim) <= 15.0 && angle(&aim) > 0.0, "no more than the most turn");
    }
}
