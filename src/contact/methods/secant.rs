//! What the factor of the rest pose misrates, learnt from the elastic corrections of a solve or from its passes.
//!
//! Forces that change by f move a body by A~^-1 f as foreseen, and the elastic correction by (A^-1 - A~^-1) f more. Where
//! A^-1 is more than twice A~^-1, as along a hinge that has turned, each correction undoes more than the forces before it
//! have done, and passes never end. A correction z is found with its product g = A z, and with z' = z - A~^-1 g the
//! symmetric rank-one update of quasi-Newton methods,
//!
//! ```text
//! A~^-1 + z' z'^T / (z' . g)
//! ```
//!
//! is right for g and for all g before [Nocedal & Wright 2006, 6.2]. It is taken only where z' . g is positive, and not
//! small, so that A~^-1 stays positive definite. Where A~^-1 is too large, as along what is pressed, passes converge,
//! but slowly: each leaves the part of an error that is foreseen to go and does not. There the rank-two update of
//! Davidon, Fletcher and Powell is taken, with y = A~^-1 g,
//!
//! ```text
//! A~^-1 - y y^T / (y . g) + z z^T / (z . g)
//! ```
//!
//! which is right for g, and stays positive definite where z . g is positive [there, (6.15)].

use std::ops::Range;

use crate::contact::{Constraint, Problem};
use crate::math::{Mat3, Vec3};
use crate::sparse::{axpy, dot};

/// A correction that goes further than foreseen by more than this part is learnt, or less far: from 1 on passes
/// diverge, and below they contract by themselves.
pub(super) const MISRATED: f64 = 0.5;
/// What goes less far than this part of what was foreseen is no measure.
const LEAST: f64 = 0.01;
/// Most terms of a body in a step, as each is read with every application of the factor: what folds has a few hinges.
const MAX_TERMS: usize = 24;

/// One term of an update: a vector, `z' / sqrt(z' . g)` or its likes, and the sign of its product with itself.
#[derive(Clone, Debug)]
struct Term {
    vector: Vec<Vec3>,
    sign: f64,
}

/// What is known of one body in one step.
#[derive(Clone, Debug, Default)]
pub(super) struct Secants {
    known: Vec<Term>,
    has_new: bool,
}

impl Secants {
    /// For another matrix.
    pub fn forget(&mut self) {
        self.known.clear();
        self.has_new = false;
    }

    /// `z += sum +-s (s . r)`: what the rest pose leaves out of A^-1 r.
    pub fn add(&self, r: &[Vec3], z: &mut [Vec3]) {
        for Term { vector, sign } in &self.known {
            axpy(z, sign * dot(vector, r), vector);
        }
    }

    /// Takes a correction with its product A z, and with what was `foreseen` for that, A~^-1 A z: each of the `parts` of
    /// the body (`sparse::Pattern::parts` of its nodes) by itself, as what one does says nothing of another.
    pub fn learn(&mut self, z: &[Vec3], product: &[Vec3], foreseen: &[Vec3], parts: &[u32]) {
        let mut nodes: Vec<usize> = (0..parts.len()).collect();
        nodes.sort_by_key(|node| parts[*node]);
        for part in nodes.chunk_by(|a, b| parts[*a] == parts[*b]) {
            let of_part = |all: &[Vec3]| part.iter().map(|node| all[*node]).collect::<Vec<_>>();
            let [z, product, foreseen] = [z, product, foreseen].map(of_part);
            let (expected, found) = (dot(&foreseen, &product), dot(&z, &product));
            let more = found - expected;
            // Written so that what is not a number is not learnt.
            let is_measured = expected > 0.0 && found > LEAST * expected && found.is_finite();
            if !is_measured || more.abs() <= MISRATED * expected || self.known.len() + 2 > MAX_TERMS {
                continue;
            }
            let mut add_term = |sign: f64, of_part: &[Vec3], square: f64| {
                let (mut vector, scale) = (vec![Vec3::zeros(); parts.len()], 1.0 / square.sqrt());
                part.iter().zip(of_part).for_each(|(node, v)| vector[*node] = v * scale);
                self.known.push(Term { vector, sign });
            };
            if more > 0.0 {
                let beyond: Vec<Vec3> = z.iter().zip(&foreseen).map(|(z, foreseen)| z - foreseen).collect();
                add_term(1.0, &beyond, more);
            } else {
                add_term(-1.0, &foreseen, expected);
                add_term(1.0, &z, found);
            }
            self.has_new = true;
        }
    }

    /// Whether something was learnt since this was last asked.
    pub fn take_new(&mut self) -> bool {
        std::mem::take(&mut self.has_new)
    }
}

/// The secants of all bodies as contacts see them, with their signs: what W~ is to be added to.
#[derive(Debug, Default)]
pub(super) struct SecantMotions(Vec<(f64, Vec<Vec3>)>);

impl SecantMotions {
    /// Motions of the rows of `contacts` along the secants of each block of the problem [m/sqrt(N m)].
    pub fn new<'a>(problem: &Problem, contacts: &[Constraint], secants: impl Iterator<Item = &'a Secants>) -> Self {
        let mut motions = vec![];
        for (block, secants) in problem.blocks.iter().zip(secants) {
            let unknowns = &block.segment.unknowns;
            for Term { vector, sign } in &secants.known {
                let of_body = |unknown: usize| if unknowns.contains(&unknown) { vector[unknown - unknowns.start] } else { Vec3::zeros() };
                motions.push((*sign, contacts.iter().map(|contact| contact.row.apply(of_body, problem.dt)).collect()));
            }
        }
        Self(motions)
    }

    /// Adds to the blocks of W~ of one contact with others.
    pub fn add(&self, contact: usize, others: Range<usize>, blocks: &mut [Mat3]) {
        for (sign, motions) in &self.0 {
            let own = *sign * motions[contact];
            blocks.iter_mut().zip(&motions[others.clone()]).for_each(|(block, other)| *block += own * other.transpose());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body of three nodes whose matrix is `STIFFNESS`, and of which the factor knows the identity.
    const STIFFNESS: [f64; 3] = [0.01, 0.2, 4.0];

    fn scaled(x: &[Vec3]) -> Vec<Vec3> {
        x.iter().zip(STIFFNESS).map(|(x, a)| x * a).collect()
    }

    fn inverse(secants: &Secants, r: &[Vec3]) -> Vec<Vec3> {
        let mut z = r.to_vec();
        secants.add(r, &mut z);
        z
    }

    /// The largest entry of what the inverse misses of `z` where the load is its product.
    fn error(secants: &Secants, z: &[Vec3]) -> f64 {
        inverse(secants, &scaled(z)).iter().zip(z).map(|(found, z)| (found - z).amax()).fold(0.0, f64::max)
    }

    /// Learns from the correction `z`; whether that was new.
    fn learns(secants: &mut Secants, z: &[Vec3]) -> bool {
        let product = scaled(z);
        secants.learn(z, &product, &inverse(secants, &product), &[0; 3]);
        secants.take_new()
    }

    #[test]
    fn what_is_underrated_is_right_after_each_correction() {
        let mut secants = Secants::default();
        let mixed = [Vec3::new(1.0, 0.5, 0.0), Vec3::new(0.3, -1.0, 0.1), Vec3::zeros()];
        let other = [Vec3::new(1.0, -0.5, 0.2), Vec3::new(0.0, 0.4, 0.1), Vec3::zeros()];
        for z in [&mixed, &other] {
            assert!(learns(&mut secants, z));
        }
        // The later one leaves the first one right, and neither is news any more.
        for z in [&mixed, &other] {
            assert!(error(&secants, z) < 1e-9, "{}", error(&secants, z));
            assert!(!learns(&mut secants, z));
        }
        secants.forget();
        assert_eq!(inverse(&secants, &mixed), mixed);
    }

    #[test]
    fn what_one_part_of_a_body_does_says_nothing_of_another() {
        let mut secants = Secants::default();
        let z = [Vec3::new(1.0, 0.5, 0.0), Vec3::new(0.3, -1.0, 0.1), Vec3::zeros()];
        let product = scaled(&z);
        secants.learn(&z, &product, &product, &[0, 1, 0]);
        assert!(secants.take_new());
        // The second node is a part of its own, whatever pulls at the first.
        let pull = [Vec3::x(), Vec3::zeros(), Vec3::zeros()];
        let moved = inverse(&secants, &pull);
        assert!(moved[0] != pull[0] && moved[1] == Vec3::zeros());
        assert!(error(&secants, &z) < 1e-9, "{}", error(&secants, &z));
    }

    #[test]
    fn what_is_overrated_is_right_after_its_correction_and_stays_definite() {
        let mut secants = Secants::default();
        let mixed = [Vec3::new(0.0, 0.01, 0.0), Vec3::new(0.02, 0.0, 0.01), Vec3::new(1.0, -2.0, 0.5)];
        assert!(learns(&mut secants, &mixed));
        assert!(error(&secants, &mixed) < 1e-9, "{}", error(&secants, &mixed));
        assert!(!learns(&mut secants, &mixed), "it is no news any more");
        for k in 0..500 {
            let r = [0, 1, 2].map(|node| Vec3::from_fn(|c, _| f64::from(7 * k + 3 * node + c as i32).powi(2).sin()));
            assert!(dot(&r, &inverse(&secants, &r)) > 0.0);
        }
    }

    #[test]
    fn what_is_foreseen_or_not_measured_is_not_learnt() {
        let mut secants = Secants::default();
        let node = Vec3::new(0.0, 0.0, 1.0);
        for (stiffness, is_learnt) in [(0.5, true), (0.9, false), (1.5, false), (4.0, true), (200.0, false), (-1.0, false)] {
            let (z, product) = ([node; 3], [node * stiffness; 3]);
            secants.learn(&z, &product, &product, &[0; 3]);
            assert_eq!(secants.take_new(), is_learnt, "{stiffness}");
            secants.forget();
        }
        assert!(!learns(&mut secants, &[Vec3::zeros(); 3]));
        assert!(!learns(&mut secants, &[Vec3::repeat(f64::NAN); 3]));
    }
}
