//! Columns of the inverse, kept node by node: what a force on one node of the surface does to the others.

use nalgebra::DMatrix;
use rayon::prelude::*;

use super::RestFactor;
use crate::math::Mat3;

/// Nodes whose columns are computed in one pass over the factor, and kept together.
const GROUP: usize = 16;

/// A lazily filled part of `G = A^-1`: for touched nodes j the blocks (i, j) with all nodes i of a given set (the surface), in f32.
/// Memory: 36 bytes for each i and j, at most `limit`. Nodes come in fixed groups, so that a column has the same bits whenever and with whichever others it is asked
/// for: a run that is resumed goes on as if it had not stopped.
#[derive(Clone, Debug)]
pub struct Columns {
    /// Row of each node, `u32::MAX` for nodes outside the set.
    row_of: Vec<u32>,
    /// By row: in the order of the tree, where neighbours share most of the way.
    nodes: Vec<u32>,
    /// Blocks of the tree that hold rows, and all above them.
    wanted: Vec<bool>,
    /// Of `GROUP` rows each.
    groups: Vec<Option<Group>>,
    /// Most groups that are kept.
    capacity: usize,
    time: u64,
}

#[derive(Clone, Debug)]
struct Group {
    /// Of each node of the group.
    columns: Vec<Box<[[f32; 9]]>>,
    /// Of the last request.
    time: u64,
}

/// What an impulse on one node does to the nodes of the set.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    blocks: &'a [[f32; 9]],
    row_of: &'a [u32],
}

impl Column<'_> {
    /// Its block at node i [1/kg], column by column; `None` outside the set.
    pub fn block(&self, i: u32) -> Option<&[f32; 9]> {
        self.blocks.get(self.row_of[i as usize] as usize)
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
        let groups = vec![None; nodes.len().div_ceil(GROUP)];
        let group_memory = GROUP * nodes.len() * size_of::<[f32; 9]>();
        Self { row_of, wanted, groups, capacity: (limit / group_memory.max(1)).max(1), nodes, time: 0 }
    }

    /// Computes the columns of those of `nodes` that are missing. Where the memory ends, columns that were not asked for longest make room; if the request
    /// alone is too large, some of its nodes stay without. Nodes outside the set are passed over. True if all columns are there.
    pub fn request(&mut self, factor: &RestFactor, nodes: &[u32]) -> bool {
        self.time += 1;
        let rows = nodes.iter().map(|node| self.row_of[*node as usize]).filter(|row| *row != u32::MAX);
        let mut asked: Vec<usize> = rows.map(|row| row as usize / GROUP).collect();
        asked.sort_unstable();
        asked.dedup();
        let mut missing = vec![];
        for group in asked {
            match &mut self.groups[group] {
                Some(group) => group.time = self.time,
                None => missing.push(group),
            }
        }
        if missing.is_empty() {
            return true;
        }
        let n_asked = missing.len();
        missing.truncate(self.make_room(n_asked));
        let computed: Vec<_> = missing.par_iter().map(|group| self.compute(factor, *group)).collect();
        for (group, columns) in missing.iter().zip(computed) {
            self.groups[*group] = Some(Group { columns, time: self.time });
        }
        missing.len() == n_asked
    }

    /// The block (i, j) [1/kg]: velocity of node i for an impulse on node j; `None` as long as neither column was requested.
    pub fn get(&self, i: u32, j: u32) -> Option<Mat3> {
        let block = |i, j| Some(Mat3::from_iterator(self.column(j)?.block(i)?.iter().map(|v| f64::from(*v))));
        block(i, j).or_else(|| block(j, i).map(|block| block.transpose()))
    }

    /// The column of node j, if it was requested.
    pub fn column(&self, j: u32) -> Option<Column<'_>> {
        let row = self.row_of[j as usize] as usize;
        let group = self.groups.get(row / GROUP)?.as_ref()?;
        Some(Column { blocks: &group.columns[row % GROUP], row_of: &self.row_of })
    }

    pub fn has(&self, node: u32) -> bool {
        self.groups.get(self.row_of[node as usize] as usize / GROUP).is_some_and(Option::is_some)
    }

    /// Memory of the columns [bytes].
    pub fn memory(&self) -> usize {
        let n_columns: usize = self.groups.iter().flatten().map(|group| group.columns.len()).sum();
        n_columns * self.nodes.len() * size_of::<[f32; 9]>()
    }

    /// Drops the groups that were not asked for longest, none of this request. Returns for how many of `n` there is room.
    fn make_room(&mut self, n: usize) -> usize {
        let n_kept = self.groups.iter().flatten().count();
        let excess = (n_kept + n).saturating_sub(self.capacity);
        let mut old: Vec<(u64, usize)> = vec![];
        if excess > 0 {
            let groups = self.groups.iter().enumerate();
            old.extend(groups.filter_map(|(g, group)| group.as_ref().filter(|group| group.time < self.time).map(|group| (group.time, g))));
            old.sort_unstable();
            old.truncate(excess);
        }
        for (_, group) in &old {
            self.groups[*group] = None;
        }
        n.min(self.capacity.saturating_sub(n_kept - old.len()))
    }

    fn compute(&self, factor: &RestFactor, group: usize) -> Vec<Box<[[f32; 9]]>> {
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
