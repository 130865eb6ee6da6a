//! Finds what is wrong with a mesh and where, and makes the repairs that are safe without asking.

mod crossings;
mod diagnosis;
mod findings;
mod holes;
mod mend;
mod orientation;
mod report;
mod sides;
mod tets;

pub use crossings::{Crossing, crosses_itself, crossings};
pub use diagnosis::{Diagnosis, diagnose};
pub use findings::Finding;
pub use mend::{mend, mend_and_close};
pub use report::{Report, examine, scale_hint};
pub use tets::{TetDiagnosis, diagnose_tets, mend_tets, pieces};
