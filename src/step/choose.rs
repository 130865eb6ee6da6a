//! Which method solves the contacts of a step, and why.

use super::Backend;
use crate::elastic::stiffness;
use crate::model::{ContactMethod, Loads, Model, Params};

/// The method of a step, and the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    pub method: ContactMethod,
    pub reason: &'static str,
}

/// Where no diagonal block of A is more than this many times the mass of its node, bodies answer to a contact with
/// little more than the nodes that it touches: constraint anticipation then takes a few sweeps. Measured with one
/// thread, a step in ms with anticipation and with warped compliance:
/// `pyramid` (2.3) 223 and 1074; `rings` (7.0) 59 and 62 in the heap; with two threads, from there to rest, 33 and 20.
const MASS_DOMINATED: f64 = 4.0;

/// The one place that decides how a step solves contact. `mass_dominated`: time step and finding of the last step, as
/// the finding depends on both the model and the time step only. Parts of a halved step are solved as the whole one
/// would be: masses dominate in any part that is small enough, also where thousands of rows share nodes, through which
/// anticipation would sweep for minutes (a soft knot at 20 m/s).
pub fn choose(params: &Params, model: &Model, loads: &Loads, backend: &impl Backend, mass_dominated: &mut Option<(f64, bool)>) -> Choice {
    let cwc = |reason| Choice { method: ContactMethod::Cwc, reason };
    match params.method {
        ContactMethod::Auto => {}
        ContactMethod::Cr if params.halvings > 0 => return cwc("conjugate residuals did not solve the whole step"),
        method => return Choice { method, reason: "asked for" },
    }
    let dt = params.time_step * f64::from(1 << params.halvings);
    mass_dominated.take_if(|(known, _)| *known != dt);
    let is_dominated = || model.n_nodes() > 0 && model.bodies.iter().all(|body| stiffness(model, body, dt) <= MASS_DOMINATED);
    let (_, is_dominated) = *mass_dominated.get_or_insert_with(|| (dt, is_dominated()));
    if !is_dominated {
        return cwc("bodies are stiff for the time step");
    }
    if !loads.grabs.is_empty() || !model.attachments.is_empty() {
        return cwc("bodies are held by springs, which anticipation sees with their old velocities");
    }
    if !backend.offers(ContactMethod::Ica) {
        return cwc("masses dominate, but this backend does not have anticipation");
    }
    Choice { method: ContactMethod::Ica, reason: "masses dominate the stiffness in this time step" }
}
