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
mod weld;

pub use crossings::{Crossing, crosses_itself, crossings, crossings_unless};
pub use diagnosis::{Diagnosis, diagnose};
pub use findings::Finding;
pub use mend::{mend, mend_and_close, mend_unless};
pub use report::{Report, examine, examine_unless, scale_hint};
pub use tets::{Mending, TetDiagnosis, diagnose_tets, mend_tets, mend_tets_unless, pieces, tet_notes};
