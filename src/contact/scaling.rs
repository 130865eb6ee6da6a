//! The diagonal compliance of contact rows: the preconditioner of conjugate residuals, and the scale of the figures of
//! all methods.

use super::{Constraint, Problem};
use crate::math::Mat3;

/// S of every contact: the 3x3 diagonal block of dt^2 C H D^-1 H^T C^T with each node's share multiplied by the sum of
/// the weights that active contacts put on it. For a lone contact this is the block itself up to the weights; for m
/// equal contacts it is m times the block, as the scaling Z of the thesis' appendix A; in general it bounds the whole
/// matrix from above (row sums), so nearly equal rows cannot spoil the preconditioner. `load`: memory.
pub fn update_compliances(problem: &Problem, contacts: &mut [Constraint], load: &mut Vec<f64>) {
    load.clear();
    load.resize(problem.system.len(), 0.0);
    for entry in contacts.iter().filter(|c| c.is_active()).flat_map(|c| &c.row.entries) {
        load[problem.place(entry.unknown())] += entry.weight();
    }
    for contact in contacts {
        let mut inverse_mass = Mat3::zeros();
        for entry in &contact.row.entries {
            let loaded = load[problem.place(entry.unknown())];
            let share = if contact.is_active() { loaded } else { loaded + entry.weight() };
            let inverse = problem.inverse_diagonal(entry.unknown());
            let coefficient = entry.matrix();
            // |weight| share = weight^2 (share / |weight|).
            inverse_mass += coefficient * inverse * coefficient.transpose() * (share / entry.weight());
        }
        contact.scaling.compliance = contact.row.frame * inverse_mass * contact.row.frame.transpose() * (problem.dt * problem.dt);
        if contact.law.is_bilateral() {
            contact.scaling.compliance += Mat3::from_diagonal(&contact.law.compliance());
        }
    }
}
