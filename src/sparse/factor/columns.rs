//! Columns of the inverse, kept node by node: what a force on one node of the surface does to the others.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use super::RestFactor;
use super::many::ManyValues;
use crate::cancel::CancelToken;
use crate::math::Mat3;
use crate::memory::Pool;

/// Most nodes whose columns are computed in one pass over the factor: three full lines of right-hand sides.
const AT_ONCE: usize = 16;

/// A lazily filled part of `G = A^-1`: for touched nodes j the blocks (i, j) with all nodes i of a given set (the
/// surface), in f32. Memory: 36 bytes for each i and j, at most `limit` and what is in use. A column has the same bits
/// whenever, by whomever and with whichever others it is asked for: a run that is resumed goes on as if it had not
/// stopped.
#[derive(Debug)]
pub struct Columns {
    /// Row of each node, `u32::MAX` for nodes outside the set.
    row_of: Vec<u32>,
    /// By row: in the order of the tree, where neighbours share most of the way.
    nodes: Vec<u32>,
    /// Blocks of the tree that hold rows, and all above them.
    wanted: Vec<bool>,
    /// Most columns that are kept, and most that one request gets.
    capacity: usize,
    kept: Mutex<Kept>,
    /// Memory of the solves: fresh pages would take a third of their time.
    solves: Pool<ManyValues>,
}

/// The blocks of a column, by row.
type Blocks = Arc<[[f32; 9]]>;

#[derive(Debug)]
struct Kept {
    /// By row, with the number of the last request.
    columns: Vec<Option<(Blocks, u64)>>,
    n_requests: u64,
}

/// The columns that a request found: those of its nodes, as many as the memory allows. They are of the [`Columns`] that
/// it was made to.
#[derive(Debug, Default)]
pub struct Requested {
    asked: Vec<usize>,
    columns: Vec<Option<Blocks>>,
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
        let blocks = self.columns.get(of.row_of[j as usize] as usize)?.as_ref()?;
        Some(Column { blocks, row_of: &of.row_of })
    }

    /// Lets the columns go; memory is kept for the next request.
    pub fn clear(&mut self) {
        self.columns.clear();
    }
}

impl Columns {
    /// `nodes`: the set, counted from the first node of the body. `limit` [bytes] bounds the columns; at least one is
    /// kept.
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
        let kept = Mutex::new(Kept { columns: vec![None; nodes.len()], n_requests: 0 });
        let column_memory = nodes.len() * size_of::<[f32; 9]>();
        Self { row_of, wanted, capacity: (limit / column_memory.max(1)).max(1), nodes, kept, solves: Pool::default() }
    }

    /// Brings the columns of `nodes` to `found`; those that are missing are computed. If the request alone is larger
    /// than the memory, some of its nodes stay without, and so they do once `cancel` is cancelled. Nodes outside the set
    /// are passed over.
    pub fn request(&self, factor: &RestFactor, nodes: &[u32], cancel: &CancelToken, found: &mut Requested) {
        let Requested { asked, columns, is_complete } = found;
        let rows = nodes.iter().map(|node| self.row_of[*node as usize]).filter(|row| *row != u32::MAX);
        asked.clear();
        asked.extend(rows.map(|row| row as usize));
        asked.sort_unstable();
        asked.dedup();
        *is_complete = asked.len() <= self.capacity;
        asked.truncate(self.capacity);
        self.kept().find(asked, columns);
        asked.retain(|row| columns[*row].is_none());
        if !asked.is_empty() {
            // Not under the lock: a thread that waits here for others takes up work of theirs, which may ask too.
            let computed: Vec<_> = asked
                .par_chunks(AT_ONCE)
                .filter(|_| !cancel.has_been_cancelled())
                .flat_map_iter(|rows| self.compute(factor, rows))
                .collect();
            for (row, blocks) in &computed {
                columns[*row] = Some(blocks.clone());
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
        self.kept().columns.iter().flatten().count() * self.nodes.len() * size_of::<[f32; 9]>()
    }

    /// The columns of the nodes in `rows`, with their rows.
    fn compute(&self, factor: &RestFactor, rows: &[usize]) -> Vec<(usize, Blocks)> {
        let tree = &factor.tree;
        let places: Vec<u32> = rows.iter().map(|row| tree.places[self.nodes[*row] as usize]).collect();
        let mut values = self.solves.take().unwrap_or_default();
        values.reset(3 * rows.len(), 3 * tree.nodes.len());
        for (k, place) in places.iter().enumerate().filter(|(_, place)| **place != u32::MAX) {
            (0..3).for_each(|axis| values.set(3 * k + axis, 3 * *place as usize + axis, 1.0));
        }
        let mut loaded = vec![false; tree.blocks.len()];
        for (b, block) in tree.blocks.iter().enumerate() {
            loaded[b] =
                places.iter().any(|place| block.own.contains(&(*place as usize))) || block.children.iter().any(|child| loaded[*child]);
        }
        factor.solve_many(&mut values, &loaded, &self.wanted);
        let block = |k: usize, place: u32| {
            // Fixed nodes do not move.
            let unknown = (place != u32::MAX).then_some(3 * place as usize);
            unknown.map_or([0.0; 9], |unknown| std::array::from_fn(|e| values.get(3 * k + e / 3, unknown + e % 3)))
        };
        let column = |k: usize| self.nodes.iter().map(|node| block(k, tree.places[*node as usize])).collect::<Blocks>();
        let columns = rows.iter().enumerate().map(|(k, row)| (*row, column(k))).collect();
        self.solves.put(values);
        columns
    }
}

impl Kept {
    /// Those of `asked` that are here, by row.
    fn find(&mut self, asked: &[usize], found: &mut Vec<Option<Blocks>>) {
        self.n_requests += 1;
        found.clear();
        found.resize(self.columns.len(), None);
        for row in asked {
            if let Some((blocks, last)) = &mut self.columns[*row] {
                *last = self.n_requests;
                found[*row] = Some(blocks.clone());
            }
        }
    }

    /// Those that were not asked for longest make room.
    fn keep(&mut self, computed: Vec<(usize, Blocks)>, capacity: usize) {
        for (row, blocks) in computed {
            self.columns[row] = Some((blocks, self.n_requests));
        }
        let mut last: Vec<(u64, usize)> =
            self.columns.iter().enumerate().filter_map(|(row, kept)| kept.as_ref().map(|(_, last)| (*last, row))).collect();
        last.sort_unstable();
        for (_, row) in &last[..last.len().saturating_sub(capacity)] {
            self.columns[*row] = None;
        }
    }
}
