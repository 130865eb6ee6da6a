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

/// Classes of connected items (union-find); a class is known by its lowest item.
struct Classes(Vec<usize>);

impl Classes {
    fn new(items: usize) -> Self {
        Self((0..items).collect())
    }

    fn root(&mut self, mut item: usize) -> usize {
        while self.0[item] != item {
            self.0[item] = self.0[self.0[item]];
            item = self.0[item];
        }
        item
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}
