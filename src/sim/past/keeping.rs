//! Which exact states are kept.

use std::sync::Arc;

use crate::sim::Checkpoint;

/// All of the last so many steps are kept, every tenth of ten times as many, and every hundredth before.
const RECENT: u64 = 10;

/// The exact states of a segment, ascending by their steps.
#[derive(Default)]
pub struct Kept {
    /// Each with the number of pictures that were recorded before it.
    entries: Vec<(Arc<Checkpoint>, u64)>,
    bytes: usize,
}

impl Kept {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Memory of the newest.
    pub fn last_bytes(&self) -> usize {
        self.entries.last().map_or(0, |(checkpoint, _)| checkpoint.bytes())
    }

    /// Adds the state of a later step, and lets go of older ones by their age.
    pub fn push(&mut self, checkpoint: Checkpoint, recorded: u64) {
        let newest = checkpoint.step();
        self.bytes += checkpoint.bytes();
        self.entries.push((Arc::new(checkpoint), recorded));
        let first = self.entries[0].0.step();
        let is_kept = |step: u64| match newest - step.min(newest) {
            _ if step == first => true,
            age if age < RECENT => true,
            age if age < 10 * RECENT => step.is_multiple_of(10),
            _ => step.is_multiple_of(100),
        };
        self.entries.retain(|(checkpoint, _)| is_kept(checkpoint.step()));
        self.bytes = self.entries.iter().map(|(checkpoint, _)| checkpoint.bytes()).sum();
    }

    /// The last one that is not after `step`.
    pub fn last_until(&self, step: u64) -> Option<Arc<Checkpoint>> {
        let n = self.entries.partition_point(|(checkpoint, _)| checkpoint.step() <= step);
        self.entries[..n].last().map(|(checkpoint, _)| checkpoint.clone())
    }

    /// The one to be let go first: that which, for its age, opens the shortest gap. Never the first one, without which
    /// there would be no way back, nor the last.
    pub fn thinnable(&self, recorded: u64) -> Option<(usize, f64)> {
        let order = |three: &[(Arc<Checkpoint>, u64)]| {
            let gap = three[2].0.step() - three[0].0.step();
            gap as f64 / (recorded - three[1].1).max(1) as f64
        };
        let inner = self.entries.windows(3).enumerate().map(|(place, three)| (place + 1, order(three)));
        inner.min_by(|(_, a), (_, b)| a.total_cmp(b))
    }

    pub fn remove(&mut self, place: usize) {
        let (checkpoint, _) = self.entries.remove(place);
        self.bytes -= checkpoint.bytes();
    }

    #[cfg(test)]
    pub fn steps(&self) -> Vec<u64> {
        self.entries.iter().map(|(checkpoint, _)| checkpoint.step()).collect()
    }
}
