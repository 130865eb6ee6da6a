//! A start in which bodies overlap is refused with a remedy: nobody could guess which way out of each other is meant.

use std::fmt;

use super::checker::{InObstacle, PenetrationChecker};
use crate::body::BodyRef;
use crate::math::Vec3;
use crate::model::Model;
use crate::model::State;

/// Bodies may start as deep in obstacles as this part of their size: contact puts them out gently.
const GENTLE: f64 = 1e-4;

/// At most this many pairs are named.
const NAMED: usize = 5;

/// Bodies that overlap at the start.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct OverlapError {
    /// The first ones.
    pub named: Vec<StartOverlap>,
    /// How many more there are.
    pub more: usize,
}

/// Two bodies that overlap at the start.
#[derive(Clone, Debug, PartialEq)]
pub struct StartOverlap {
    pub bodies: [String; 2],
    /// [m]
    pub depth: f64,
    /// Which of the two to move, and how far [m].
    pub moved: usize,
    pub way_out: Vec3,
}

impl fmt::Display for OverlapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, overlap) in self.named.iter().enumerate() {
            let StartOverlap { bodies: [a, b], depth, moved, way_out } = overlap;
            let [x, y, z] = [way_out.x, way_out.y, way_out.z].map(rounded_out);
            let line_break = if i == 0 { "" } else { "\n" };
            let depth = rounded_out(*depth);
            write!(f, "{line_break}\"{a}\" and \"{b}\" overlap at the start, {depth} m deep; add [{x}, {y}, {z}] to the position of ")?;
            write!(f, "\"{}\", or make one of them smaller", overlap.bodies[*moved])?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\n{more} more pairs of bodies overlap at the start"),
        }
    }
}

/// To two digits, away from zero.
fn rounded_out(x: f64) -> f64 {
    if x == 0.0 {
        return 0.0;
    }
    let digit = 10f64.powf(x.abs().log10().floor() - 1.0);
    // By way of text, so that 0.013 does not read 0.013000000000000001.
    format!("{:.1e}", (x.abs() / digit - 1e-9).ceil() * digit).parse::<f64>().unwrap_or(x.abs()).copysign(x)
}

/// Looks whether bodies overlap one another, or are deeper in obstacles than contact puts out gently.
/// `contact_tolerance` [m].
pub fn check_start(checker: &PenetrationChecker, model: &Model, state: &State, contact_tolerance: f64) -> Result<(), OverlapError> {
    let among_bodies = checker.overlaps(model, state);
    let too_deep = |found: &InObstacle| found.depth > f64::max(4.0 * contact_tolerance, GENTLE * checker.size(model, state, found.body));
    let in_obstacles: Vec<InObstacle> = checker.in_obstacles(model, state).into_iter().filter(too_deep).collect();
    let count = among_bodies.len() + in_obstacles.len();
    if count == 0 {
        return Ok(());
    }
    let name = |body: BodyRef| model.body_name(body).to_owned();
    let of_number = |number: usize| name(model.numbering().body(number));
    let of_bodies = among_bodies.iter().map(|overlap| {
        let [a, b] = overlap.bodies;
        let way_out = checker.way_out(model, state, [a, b]);
        // Upwards rather than into what lies below.
        let (moved, way_out) =
            if !checker.is_free(b as usize) || way_out.y < 0.0 && checker.is_free(a as usize) { (0, -way_out) } else { (1, way_out) };
        StartOverlap { bodies: [of_number(a as usize), of_number(b as usize)], depth: overlap.depth, moved, way_out }
    });
    let of_obstacles = in_obstacles.iter().map(|found| {
        let bodies = [of_number(found.body), name(BodyRef::Obstacle(found.obstacle as u32))];
        StartOverlap { bodies, depth: found.depth, moved: 0, way_out: checker.way_out_of_obstacle(model, state, found) }
    });
    let named: Vec<StartOverlap> = of_bodies.chain(of_obstacles).take(NAMED).collect();
    Err(OverlapError { more: count - named.len(), named })
}
