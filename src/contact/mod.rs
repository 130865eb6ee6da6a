//! Frictional contact as complementarity: rows J = C H, the methods that solve them, and the driver that makes rows
//! follow the moved surfaces.
//!
//! H maps the unknowns (nodes, rigid bodies) to the relative velocity of two material points, C holds the directions
//! (n, t1, t2) of a contact. A contact of any kind of surface, and a joint, is this one row type.

mod constraint;
pub mod driver;
pub mod dual;
mod force;
pub mod generate;
pub mod islands;
mod law;
pub mod methods;
mod point;
mod pressure;
pub mod problem;
mod report;
mod row;
mod scaling;

pub use constraint::{Constraint, Scaling, Source, SourceId};
pub use force::{Force, Status};
pub use law::{Law, NaturalError, Scale};
pub use point::{ContactPoint, Linearisation};
pub use pressure::{ContactPressure, node_pressures, smooth_pressures};
pub use problem::{Block, Bounds, Problem, Rest, Single};
pub use report::{ContactReport, PairForce, report as contact_report};
pub use row::{JacobianEntry, Row};
pub use scaling::update_compliances;
