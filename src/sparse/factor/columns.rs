//! Columns of the inverse, kept node by node: what a force on one node of the surface does to the others.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nalgebra::DMatrix;
use rayon::prelude::*;

use super::RestFactor;
use crate::math::Mat3;

/// Nodes whose columns are computed in one pass over the factor, and kept together.
const GROUP: usize = 4;

/// A lazily filled part of `G = A^-1`: for touched nodes j the blocks (i, j) with all nodes i of a given set (the surface), in f32.
/// Memory: 36 bytes for each i and j, at most `limit` and what is in use. Nodes come in fixed groups, so that a column has the same bits whenever, by whomever and
/// with whichever others it is asked for: a run that is resumed goes on as if it had not stopped.
#[derive(Debug)]
pub struct Columns {
    /// Row of each node, `u32::MAX` for nodes outside the set.
    row_of: Vec<u32>,
    /// By row: in the order of the tree, where neighbours share most of the way.
    nodes: Vec<u32>,
    /// Blocks of the tree that hold rows, and all above them.
    wanted: Vec<bool>,
    /// Most groups that are kept, and most that one request gets.
    capacity: usize,
    kept: Mutex<Kept>,
}

/// The columns of the nodes of a group.
type Group = Vec<Box<[[f32; 9]]>>;

#[derive(Debug)]
struct Kept {
    /// Of `GROUP` rows each, with the number of the last request.
    groups: Vec<Option<(Arc<Group>, u64)>>,
    n_requests: u64,
}

/// The columns that a request found: those of its nodes, as many as the memory allows. They are of the [`Columns`] that it was made to.
#[derive(Debug, Default)]
pub struct Requested {
    asked: Vec<usize>,
    groups: Vec<Option<Arc<Group>>>,
    /// No node of the set is without its column.
    pub is_complete: bool,
}

/// What an impulse on one node does to the nodes of the set.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    blocks: &'a [[f32; 9]],
    row_of: &'a [u32],
}

impl<'a> Column<'a> {
    /// The blocks of all rows of the set [1/kg], column by column.
    pub fn blocks(&self) -> &'a [[f32; 9]] {
        self.blocks
    }

    /// Its block at node i [1/kg], column by column; `None` outside the set.
    pub fn block(&self, i: u32) -> Option<&[f32; 9]> {
        self.blocks.get(self.row_of[i as usize] as usize)
    }
}

impl Requested {
    /// The block (i, j) [1/kg]: velocity of node i for an impulse on node j; `None` where neither column was requested.
    pub fn get(&self, of: &Columns, i: u32, j: u32) -> Option<Mat3> {
        let block = |i, j| Some(Mat3::from_iterator(self.column(of, j)?.block(i)?.iter().map(|v| f64::from(*v))));
        block(i, j).or_else(|| block(j, i).map(|block| block.transpose()))
    }

    /// The column of node j, if it was requested.
    pub fn column<'a>(&'a self, of: &'a Columns, j: u32) -> Option<Column<'a>> {
        let row = of.row_of[j as usize] as usize;
        let group = self.groups.get(row / GROUP)?.as_ref()?;
        Some(Column { blocks: &group[row % GROUP], row_of: &of.row_of })
    }

    /// Lets the columns go; memory is kept for the next request.
    pub fn clear(&mut self) {
        self.groups.clear();
    }
}

impl Columns {
    /// `nodes`: the set, counted from the first node of the body. `limit` [bytes] bounds the columns; at least one group is kept.
    pub fn new(factor: &RestFactor, nodes: &[u32], limit: usize) -> Self {
        let tree = &factor.tree;
        let mut nodes = nodes.to_vec();
        nodes.sort_unstable_by_key(|node| (tree.places[*node as usize], *node));
        nodes.dedup();
        let mut row_of = vec![u32::MAX; factor.n_nodes()];
        for (row, node) in nodes.iter().enumerate() {
            row_of[*node as usize] = row as u32;
        }
        let mut wanted = vec![false; tree.blocks.len()];
        for (b, block) in tree.blocks.iter().enumerate() {
            let holds_row = tree.nodes[block.own.clone()].iter().any(|node| row_of[*node as usize] != u32::MAX);
            wanted[b] = holds_row || block.children.iter().any(|child| wanted[*child]);
        }
        let kept = Mutex::new(Kept { groups: vec![None; nodes.len().div_ceil(GROUP)], n_requests: 0 });
        let group_memory = GROUP * nodes.len() * size_of::<[f32; 9]>();
        Self { row_of, wanted, capacity: (limit / group_memory.max(1)).max(1), nodes, kept }
    }

    /// Brings the columns of `nodes` to `found`; those that are missing are computed. If the request alone is larger than the memory, some of its nodes stay
    /// without. Nodes outside the set are passed over.
    pub fn request(&self, factor: &RestFactor, nodes: &[u32], found: &mut Requested) {
        let Requested { asked, groups, is_complete } = found;
        let rows = nodes.iter().map(|node| self.row_of[*node as usize]).filter(|row| *row != u32::MAX);
        asked.clear();
        asked.extend(rows.map(|row| row as usize / GROUP));
        asked.sort_unstable();
        asked.dedup();
        *is_complete = asked.len() <= self.capacity;
        asked.truncate(self.capacity);
        self.kept().find(asked, groups);
        asked.retain(|group| groups[*group].is_none());
        if !asked.is_empty() {
            // Not under the lock: a thread that waits here for others takes up work of theirs, which may ask too.
            let computed: Vec<_> = asked.par_iter().map(|group| (*group, Arc::new(self.compute(factor, *group)))).collect();
            for (group, columns) in &computed {
                groups[*group] = Some(columns.clone());
            }
            self.kept().keep(computed, self.capacity);
        }
    }

    /// Row of node i in a column; `None` outside the set.
    pub fn row(&self, i: u32) -> Option<u32> {
        Some(self.row_of[i as usize]).filter(|row| *row != u32::MAX)
    }

    /// Rows of a column.
    pub fn n_rows(&self) -> usize {
        self.nodes.len()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Memory of the columns [bytes].
    pub fn memory(&self) -> usize {
        let n_columns: usize = self.kept().groups.iter().flatten().map(|(group, _)| group.len()).sum();
        n_columns * self.nodes.len() * size_of::<[f32; 9]>()
    }

    fn compute(&self, factor: &RestFactor, group: usize) -> Group {
        let tree = &factor.tree;
        let batch = &self.nodes[group * GROUP..self.nodes.len().min((group + 1) * GROUP)];
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

impl Kept {
    /// Those of `asked` that are here, by group.
    fn find(&mut self, asked: &[usize], found: &mut Vec<Option<Arc<Group>>>) {
        self.n_requests += 1;
        found.clear();
        found.resize(self.groups.len(), None);
        for group in asked {
            if let Some((columns, last)) = &mut self.groups[*group] {
                *last = self.n_requests;
                found[*group] = Some(columns.clone());
            }
        }
    }

    /// Those that were not asked for longest make room.
    fn keep(&mut self, computed: Vec<(usize, Arc<Group>)>, capacity: usize) {
        for (group, columns) in computed {
            self.groups[group] = Some((columns, self.n_requests));
        }
        let mut last: Vec<(u64, usize)> =
            self.groups.iter().enumerate().filter_map(|(g, group)| group.as_ref().map(|(_, last)| (*last, g))).collect();
        last.sort_unstable();
        for (_, group) in &last[..last.len().saturating_sub(capacity)] {
            self.groups[*group] = None;
        }
    }
}
