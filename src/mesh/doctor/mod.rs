//! What is wrong with a mesh, where, and the repairs that are safe without asking.

mod crossings;
mod holes;
mod orientation;
mod report;
mod surface;
mod tets;

pub use crossings::{Crossing, crosses_itself, crossings};
pub use report::{Finding, Report, examine, scale_hint};
pub use surface::{Diagnosis, diagnose, mend, mend_and_close};
pub use tets::{TetDiagnosis, diagnose_tets, mend_tets, pieces};
