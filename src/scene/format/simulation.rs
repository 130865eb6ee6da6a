//! How time advances.

use crate::model::{ContactMethod, Integration};
use crate::scene::spec::{ANY, Field, Kind, Presence, Table, above_to, from_to};
use Presence::{Default, Optional};

pub static SIMULATION: Table = Table {
    title: "[simulation]",
    doc: "How time advances.",
    fields: &[
        Field::new("time_step", Kind::Number(above_to(0.0, 10.0)), "s", Default("0.01"), "Simulated time of one step.").live(),
        Field::new(
            "substeps",
            Kind::Integer { min: 1, max: 100 },
            "",
            Default("1"),
            "Solves that one step is divided into, of equal duration.",
        ).live(),
        Field::new(
            "max_step_ms",
            Kind::Number(from_to(0.0, 1e6)),
            "ms",
            Default("0.0"),
            "Work that one step may do, as the time that it takes on one core; 0 for as much as it takes (the window then takes 250). It is counted, not clocked: \
             the same scene gives the same bits on every machine. A step that has used it up is told as limited: what would cross is limited in its motion, and driven bodies wait where they would run over it.",
        ).live(),
        Field::new("gravity", Kind::Vector(ANY), "m/s^2", Default("[0.0, -9.81, 0.0]"), "Acceleration of free fall.").live(),
        Field::new(
            "solver",
            Kind::Choice(&ContactMethod::NAMES),
            "",
            Default("\"auto\""),
            "Solver of elasticity and contact. `auto`: `ica` where masses dominate in the time step, nothing is held by springs and the backend has it (the CPU), else `cwc`; the report says which and why. `cwc`: corrected \
             warped compliance; `ica`: iterative constraint anticipation; `cr`: conjugate residuals with contact states (steps that it does not solve are halved and \
             given to `cwc`), `cr-diag` with the diagonal preconditioner only, `cr-none` with none, `cr-turn` with the published friction update. For comparison: `sp`, \
             staggered projections; `pgs`, projected Gauss-Seidel; `ssn`, semi-smooth Newton. The GPU has `cwc`.",
        ).live(),
        Field::new(
            "backend",
            Kind::Choice(&["auto", "gpu", "cpu"]),
            "",
            Default("\"auto\""),
            "Where to compute; `auto` takes the GPU where there is a hardware adapter on which the first steps are faster; the report says why, and a session is repeated on the backend that computed it.",
        ),
        Field::new(
            "integration",
            Kind::Choice(&Integration::NAMES),
            "",
            Default("\"semi_implicit\""),
            "How a step advances time. `semi_implicit`: backward Euler, linearised once a step: the quickest, and it keeps the spin of bodies. `newton`: backward Euler \
             solved to `newton_tolerance`; what vibrates or spins loses more energy. `bdf2`: of second order, solved in the same way: errors of free motion fall with the square of \
             the time step, and little energy is lost; bodies that a contact pushes make that step and the next one by backward Euler. `newton` and `bdf2` take several times as long.",
        ).live(),
        Field::new(
            "newton_tolerance",
            Kind::Number(above_to(0.0, 0.1)),
            "",
            Default("1e-6"),
            "Newton's method stops when the residual of the non-linear equation is below this fraction of the step's driving impulse; where there are contacts, at the latest when it \
             moves nothing any more by what their solve leaves.",
        ).live(),
        Field::new(
            "tolerance",
            Kind::Number(above_to(0.0, 0.1)),
            "",
            Default("1e-3"),
            "The elastic solve stops when its residual is below this fraction of the step's driving impulse.",
        ).live(),
        Field::new(
            "max_iterations",
            Kind::Integer { min: 1, max: 1_000_000 },
            "",
            Default("2000"),
            "Bound on conjugate-gradient iterations a step.",
        ).live(),
        Field::new(
            "fixed_iterations",
            Kind::Integer { min: 1, max: 1_000_000 },
            "",
            Optional("as many as `tolerance` takes"),
            "Exactly so many conjugate-gradient iterations, however accurate they are, in a step in which nothing touches: to compare speeds. \
             For the solvers `auto` and `cr`.",
        ),
        Field::new(
            "preconditioner",
            Kind::Choice(&["auto", "two_level", "jacobi"]),
            "",
            Default("\"auto\""),
            "Preconditioner of the conjugate gradients in steps in which nothing touches: `two_level` moves parts of a body as rigid ones besides, and takes a fraction of \
             the iterations; `jacobi` has the diagonal blocks alone. `auto` takes `two_level`, and `jacobi` with `fixed_iterations`. On the CPU, solvers other than `auto` and `cwc` have `jacobi` only.",
        ).live(),
        Field::new(
            "max_contact_iterations",
            Kind::Integer { min: 1, max: 1_000_000 },
            "",
            Default("900"),
            "Bound on conjugate-residual iterations a step.",
        ).live(),
    ],
};
