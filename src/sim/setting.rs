//! Numbers and choices of the solver that change while a simulation runs.

use serde::{Deserialize, Serialize};

use crate::model::{ContactMethod, Params, Preconditioner};

/// A number or a choice of the solver, by the name that scenes have for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    Substeps(u32),
    Solver(ContactMethod),
    NewtonTolerance(f64),
    Tolerance(f64),
    MaxIterations(u32),
    Preconditioner(Preconditioner),
    MaxContactIterations(u32),
    /// [m]
    ContactTolerance(f64),
}

impl Setting {
    /// All settings as they are in `params`.
    pub fn all(params: &Params) -> [Self; 8] {
        [
            Self::Substeps(params.substeps),
            Self::Solver(params.method),
            Self::NewtonTolerance(params.newton_tolerance),
            Self::Tolerance(params.tolerance),
            Self::MaxIterations(params.max_iterations),
            Self::Preconditioner(params.preconditioner),
            Self::MaxContactIterations(params.max_contact_iterations),
            Self::ContactTolerance(params.contact_tolerance),
        ]
    }

    /// Whether two settings are values of the same thing.
    pub fn is_alike(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// The path by which scenes have it, and its number if it is one.
    pub fn declared(&self) -> (&'static str, Option<f64>) {
        match *self {
            Self::Substeps(n) => ("simulation.substeps", Some(n.into())),
            Self::Solver(_) => ("simulation.solver", None),
            Self::NewtonTolerance(x) => ("simulation.newton_tolerance", Some(x)),
            Self::Tolerance(x) => ("simulation.tolerance", Some(x)),
            Self::MaxIterations(n) => ("simulation.max_iterations", Some(n.into())),
            Self::Preconditioner(_) => ("simulation.preconditioner", None),
            Self::MaxContactIterations(n) => ("simulation.max_contact_iterations", Some(n.into())),
            Self::ContactTolerance(x) => ("contact.tolerance", Some(x)),
        }
    }

    /// Puts the value into its place.
    pub fn put(&self, params: &mut Params) {
        match *self {
            Self::Substeps(n) => params.substeps = n,
            Self::Solver(method) => params.method = method,
            Self::NewtonTolerance(tolerance) => params.newton_tolerance = tolerance,
            Self::Tolerance(tolerance) => params.tolerance = tolerance,
            Self::MaxIterations(n) => params.max_iterations = n,
            Self::Preconditioner(preconditioner) => params.preconditioner = preconditioner,
            Self::MaxContactIterations(n) => params.max_contact_iterations = n,
            Self::ContactTolerance(tolerance) => params.contact_tolerance = tolerance,
        }
    }
}
