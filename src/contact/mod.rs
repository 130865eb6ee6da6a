//! Frictional contact as complementarity: rows J = C H, their states, and the preconditioned conjugate-residual solver.
//!
//! H maps the unknowns (nodes, rigid bodies) to the relative velocity of two material points, C holds the directions (n, t1, t2) of a contact.
//! A contact of any kind of surface is this one row type.

pub mod baselines;
mod constraint;
mod cr;
pub mod cwc;
pub mod dual;
mod force;
pub mod generate;
mod law;
mod point;
mod pressure;
mod report;
mod row;
mod state;
mod warped;

pub use constraint::{Constraint, Scaling, Source, SourceId};
pub use cr::{
    CrOptions, CrOutcome, CrWork, FrictionUpdate, MAX_RELINEARISATIONS, Part, Preconditioner, Problem, RELATIVE_RESIDUAL, ROUGH_TOLERANCE,
    ROW_TOLERANCE, solve, update_compliances,
};
pub use cwc::{Block, CwcOptions, CwcOutcome, CwcWork, Rest, solve as solve_cwc};
pub use force::{Force, Status};
pub use law::{Law, NaturalError, Scale};
pub use point::{ContactPoint, Linearisation};
pub use pressure::ContactPressure;
pub use report::{ContactReport, PairForce, report as contact_report};
pub use row::{JacobianEntry, Row};
pub use state::{Effort, FORCE_TOLERANCE, LENIENCY, Occasion, evaluate};
