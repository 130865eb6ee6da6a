//! Columns of the inverse, kept node by node: what a force on one node of the surface does to the others.

use nalgebra::DMatrix;
use rayon::prelude::*;

use super::RestFactor;
use crate::math::Mat3;

/// Nodes whose columns are computed in one pass over the factor.
const BATCH: usize = 16;

/// A lazily filled part of `G = A^-1`: for touched nodes j the blocks (i, j) with all nodes i of a given set (the surface), in f32.
/// Memory: 36 bytes for each i and j, at most `limit`. What it holds depends only on the calls, not on threads.
#[derive(Clone, Debug)]
pub struct Columns {
    /// Row of each node, `u32::MAX` for nodes outside the set.
    row_of: Vec<u32>,
    nodes: Vec<u32>,
    /// Blocks of the tree that hold rows, and all above them.
    wanted: Vec<bool>,
    /// By row.
    columns: Vec<Option<Column>>,
    n_columns: usize,
    limit: usize,
    time: u64,
}

#[derive(Clone, Debug)]
struct Column {
    blocks: Box<[[f32; 9]]>,
    /// Of the last request.
    time: u64,
}

impl Columns {
    /// `nodes`: the set, counted from the first node of the body. `limit` [bytes] bounds the columns; at least one is kept.
    pub fn new(factor: &RestFactor, nodes: &[u32], limit: usize) -> Self {
        let mut row_of = vec![u32::MAX; factor.n_nodes()];
        for (row, node) in nodes.iter().enumerate() {
            row_of[*node as usize] = row as u32;
        }
        let tree = &factor.tree;
        let mut wanted = vec![false; tree.blocks.len()];
        for (b, block) in tree.blocks.iter().enumerate() {
            let holds_row = tree.nodes[block.own.clone()].iter().any(|node| row_of[*node as usize] != u32::MAX);
            wanted[b] = holds_row || block.children.iter().any(|child| wanted[*child]);
        }
        Self { row_of, wanted, columns: vec![None; nodes.len()], nodes: nodes.to_vec(), n_columns: 0, limit, time: 0 }
    }

    /// Computes the columns of those of `nodes` that are missing. Where the memory ends, columns that were not asked for longest make
    /// room; if the request
    /// alone is too large, its last nodes stay without. Nodes outside the set are passed over. True if all columns are there.
    pub fn request(&mut self, factor: &RestFactor, nodes: &[u32]) -> bool {
        self.time += 1;
        let mut missing = vec![];
        for node in nodes {
            let row = self.row_of[*node as usize];
            match self.columns.get_mut(row as usize) {
                Some(Some(column)) => column.time = self.time,
                Some(None) => missing.push(*node),
                None => {}
            }
        }
        if missing.is_empty() {
            return true;
        }
        // Neighbours in the tree share most of the way.
        let asked = missing.len();
        missing.sort_unstable_by_key(|node| factor.tree.places[*node as usize]);
        missing.dedup();
        let repeated = asked - missing.len();
        let room = self.make_room(missing.len());
        missing.truncate(room);
        let batches: Vec<_> = missing.par_chunks(BATCH).map(|batch| self.compute(factor, batch)).collect();
        for (node, blocks) in missing.iter().zip(batches.into_iter().flatten()) {
            self.columns[self.row_of[*node as usize] as usize] = Some(Column { blocks, time: self.time });
        }
        self.n_columns += missing.len();
        missing.len() + repeated == asked
    }

    /// The block (i, j) [1/kg]: velocity of node i for an impulse on node j; `None` as long as neither column was requested.
    pub fn get(&self, i: u32, j: u32) -> Option<Mat3> {
        let (i, j) = (self.row_of[i as usize] as usize, self.row_of[j as usize] as usize);
        let block =
            |i: usize, j: usize| Some(Mat3::from_iterator(self.columns.get(j)?.as_ref()?.blocks.get(i)?.iter().map(|v| f64::from(*v))));
        block(i, j).or_else(|| block(j, i).map(|block| block.transpose()))
    }

    pub fn has(&self, node: u32) -> bool {
        self.columns.get(self.row_of[node as usize] as usize).is_some_and(Option::is_some)
    }

    /// Memory of the columns [bytes].
    pub fn memory(&self) -> usize {
        self.n_columns * self.column_memory()
    }

    fn column_memory(&self) -> usize {
        self.nodes.len() * size_of::<[f32; 9]>()
    }

    /// Drops the columns that were not asked for longest, none of this request. Returns for how many of `n` there is room.
    fn make_room(&mut self, n: usize) -> usize {
        let capacity = (self.limit / self.column_memory().max(1)).max(1);
        let excess = (self.n_columns + n).saturating_sub(capacity);
        let mut old: Vec<(u64, usize)> = vec![];
        if excess > 0 {
            let columns = self.columns.iter().enumerate();
            old.extend(columns.filter_map(|(row, column)| column.as_ref().filter(|c| c.time < self.time).map(|c| (c.time, row))));
            old.sort_unstable();
        }
        for (_, row) in old.into_iter().take(excess) {
            self.columns[row] = None;
            self.n_columns -= 1;
        }
        n.min(capacity.saturating_sub(self.n_columns))
    }

    fn compute(&self, factor: &RestFactor, batch: &[u32]) -> Vec<Box<[[f32; 9]]>> {
        let tree = &factor.tree;
        let mut values = DMatrix::<f32>::zeros(3 * batch.len(), 3 * tree.nodes.len());
        for (k, node) in batch.iter().enumerate() {
            let place = tree.places[*node as usize];
            if place != u32::MAX {
                values.fixed_view_mut::<3, 3>(3 * k, 3 * place as usize).fill_with_identity();
            }
        }
        let mut loaded = vec![false; tree.blocks.len()];
        for (b, block) in tree.blocks.iter().enumerate() {
            let places = batch.iter().map(|node| tree.places[*node as usize] as usize);
            loaded[b] = places.into_iter().any(|place| block.own.contains(&place)) || block.children.iter().any(|child| loaded[*child]);
        }
        factor.solve_rows(&mut values, &loaded, &self.wanted);
        let column = |k: usize| {
            let block = |i: &u32| {
                let place = tree.places[*i as usize];
                if place == u32::MAX {
                    return [0.0; 9];
                }
                // A row of `values` is a right-hand side, so that block (i, j) stands there transposed.
                std::array::from_fn(|e| values[(3 * k + e / 3, 3 * place as usize + e % 3)])
            };
            self.nodes.iter().map(block).collect()
        };
        (0..batch.len()).map(column).collect()
    }
}
