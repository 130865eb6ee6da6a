//! DisjointSets of connected items (union-find [Tarjan 1975]).

/// Items from 0 on; a class is known by its lowest item.
#[derive(Clone, Debug, Default)]
pub struct DisjointSets(Vec<usize>);

impl DisjointSets {
    /// Each item is a class of its own.
    pub fn new(items: usize) -> Self {
        let mut classes = Self::default();
        classes.reset(items);
        classes
    }

    /// As new, in the same memory.
    pub fn reset(&mut self, items: usize) {
        self.0.clear();
        self.0.extend(0..items);
    }

    /// The lowest item of a class.
    pub fn root(&mut self, mut item: usize) -> usize {
        while self.0[item] != item {
            // Ways are halved as they are gone.
            self.0[item] = self.0[self.0[item]];
            item = self.0[item];
        }
        item
    }

    /// The same, where ways may not be changed.
    pub fn find(&self, mut item: usize) -> usize {
        while self.0[item] != item {
            item = self.0[item];
        }
        item
    }

    /// Makes one class of two; false if they were one before.
    pub fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
        a != b
    }
}
