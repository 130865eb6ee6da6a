//! Blocks of the inverse between nodes of the surface: what an impulse on one does to another.
//!
//! With `A = L L^T` and `Y = L^-1` the block of nodes i and j is `G_ij = y_i^T y_j`, and column y_j has entries only in
//! the blocks of the tree from that of node j to the root. So a node that is touched takes a short sweep up its way
//! (`contact-speed.md` 4.2 c), and each pair of touched nodes one product over the way that both have in common.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pulp::Arch;
use rayon::prelude::*;

use super::many::ManyValues;
use super::products::{Block, PAIRS, Pair, Products};
use super::{Entries, PADDING, RestFactor};
use crate::cancel::CancelToken;
use crate::memory::Pool;

/// Most nodes that go up the tree together: three full lines of right-hand sides.
const AT_ONCE: usize = 16;
/// Nodes whose products one thread takes: what others are read for.
const TOGETHER: usize = 16;
/// A request may bring as many more as this part of it.
const MORE: usize = 4;
/// The stamp of the next columns.
static STAMPS: AtomicU64 = AtomicU64::new(1);
/// Rows and columns of blocks that are turned over together.
const SQUARE: usize = 16;
/// Rows of a column whose blocks are stored together once one of them is asked for: a contact touches neighbours, which
/// are neighbours in the tree, too.
const PAGE: usize = 8;
/// A block that nobody has asked for: no block of a factor is like that.
const ABSENT: Block = [f32::NAN; 9];

/// A lazily filled part of `G = A^-1` in f32: for nodes that are touched, of a given set (the surface), the blocks that
/// they have with each other. Memory: a limit for what is kept, and what is in use. A block has the same bits whenever, by
/// whomever and with whichever others it is asked for: a run that is resumed goes on as if it had not stopped.
#[derive(Debug)]
pub struct Columns {
    /// A number that tells them from all others.
    stamp: u64,
    /// Row of each node, `u32::MAX` for nodes outside the set.
    row_of: Vec<u32>,
    /// By row: in the order of the tree, where neighbours share most of the way.
    nodes: Vec<u32>,
    /// Block of the tree of each row; none of fixed nodes.
    block_of: Vec<Option<usize>>,
    /// First of the rows that each row is connected with: with others its blocks are zero.
    starts: Vec<usize>,
    /// Of each block of the tree.
    ways: Vec<Way>,
    /// Blocks of the tree that hold rows, and all above them.
    wanted: Vec<bool>,
    /// Most memory of what is kept [bytes], and most columns that are kept and that one request gets: as many as have
    /// room with all the blocks between them.
    limit: usize,
    capacity: usize,
    way_memory: usize,
    kept: Mutex<Kept>,
    /// Memory of the solves: fresh pages would take a third of their time.
    solves: Pool<ManyValues>,
}

/// The way from the root of the tree to one of its blocks.
#[derive(Clone, Copy, Debug)]
struct Way {
    parent: Option<usize>,
    /// The outermost block on it that has nodes; nothing connects those of two of them.
    top: usize,
    /// Entries from the root through this block, each block padded to full registers.
    end: usize,
    /// Memory of the panels from the root through this block [bytes].
    memory: usize,
}

/// What is known of a node that was touched.
#[derive(Clone, Debug)]
struct Column {
    /// y of the three axes, one after the other, each from the root on.
    forward: Arc<Entries>,
    /// Of each [`PAGE`] of the rows up to its own, from the first that it is connected with, where its blocks stand in
    /// `blocks`; `u32::MAX`: nobody has asked. Empty before the first time.
    pages: Vec<u32>,
    /// [`ABSENT`] where nobody has asked.
    blocks: Vec<Block>,
}

impl Column {
    /// `place`: of the row among those that it is connected with.
    fn block(&self, place: usize) -> &Block {
        let page = self.pages.get(place / PAGE).copied().filter(|page| *page != u32::MAX);
        page.map_or(&ABSENT, |page| &self.blocks[page as usize + place % PAGE])
    }

    /// The place of a block, made if it is not there.
    fn block_mut(&mut self, place: usize) -> &mut Block {
        let page = &mut self.pages[place / PAGE];
        if *page == u32::MAX {
            *page = self.blocks.len() as u32;
            self.blocks.resize(self.blocks.len() + PAGE, ABSENT);
        }
        &mut self.blocks[*page as usize + place % PAGE]
    }

    /// [bytes]
    fn memory(&self) -> usize {
        size_of_val(&self.forward[..]) + size_of_val(&self.pages[..]) + size_of_val(&self.blocks[..])
    }
}

/// A row of packed blocks: with what it is connected with.
#[derive(Clone, Copy, Debug)]
struct PackedRow {
    /// The first of those, among all that was asked for.
    first: usize,
    /// Its block with that one.
    start: usize,
}

#[derive(Debug)]
struct Kept {
    /// By row, with the number of the last request.
    columns: Vec<Option<(Arc<Column>, u64)>>,
    n_requests: u64,
}

/// What a request found: the blocks between its nodes, as far as the memory allows. They are of the [`Columns`] that it
/// was made to, and stay for the next request: what rests touches the same nodes step after step.
#[derive(Debug, Default)]
pub struct Requested {
    /// [`Columns::stamp`] of those; 0: none.
    stamp: u64,
    wanted: Vec<usize>,
    asked: Vec<usize>,
    new: Vec<usize>,
    /// By row.
    columns: Vec<Option<Arc<Column>>>,
    /// Of each row that was asked for, where it stands among those.
    places: Vec<u32>,
    /// The blocks of each of those with all that it is connected with, side by side: in the columns each would be a line
    /// of memory of its own, and a resting body of 482 contacts spent more than half of its step waiting for them.
    packed: Vec<Block>,
    rows: Vec<PackedRow>,
    /// No node of the set is without its column.
    pub is_complete: bool,
}

impl Requested {
    /// The block (i, j) [1/kg], row after row: velocity of node i for an impulse on node j; `None` unless both were
    /// asked for.
    #[inline(always)]
    pub fn block(&self, of: &Columns, i: u32, j: u32) -> Option<[[f32; 3]; 3]> {
        let place = |node: u32| self.places.get(of.row_of[node as usize] as usize).copied().filter(|place| *place != u32::MAX);
        let (i, j) = (place(i)? as usize, place(j)? as usize);
        let [row, other] = [self.rows[i], self.rows[j]];
        if row.first != other.first {
            return Some([[0.0; 3]; 3]);
        }
        let b = &self.packed[row.start + j - row.first];
        (!b[0].is_nan()).then_some([[b[0], b[1], b[2]], [b[3], b[4], b[5]], [b[6], b[7], b[8]]])
    }

    /// Lets the columns go; blocks and memory are kept for the next request.
    pub fn clear(&mut self) {
        self.columns.clear();
    }

    /// Whether the blocks of all rows that are wanted are here.
    fn has_wanted(&self) -> bool {
        self.wanted.iter().all(|row| self.places[*row] != u32::MAX)
    }

    /// What is asked for: the rows that are wanted, and those of the last request where that are few more: contacts come
    /// and go.
    fn ask(&mut self, keeps: bool, capacity: usize) {
        let Self { wanted, asked, .. } = self;
        let n = wanted.len();
        if keeps {
            asked.extend_from_slice(wanted);
            asked.sort_unstable();
            asked.dedup();
        }
        if !keeps || asked.len() > capacity.min(n + n / MORE) {
            asked.clone_from(wanted);
        }
    }

    /// Packs the blocks between what was asked for; `starts`: those of [`Columns`].
    fn pack(&mut self, starts: &[usize]) {
        let Self { asked, columns, places, packed, rows, .. } = self;
        places.clear();
        places.resize(starts.len(), u32::MAX);
        asked.iter().zip(0..).for_each(|(row, place)| places[*row] = place);
        rows.clear();
        let mut end = 0;
        for connected in asked.chunk_by(|a, b| starts[*a] == starts[*b]) {
            let (first, n) = (rows.len(), connected.len());
            rows.extend((0..n).map(|k| PackedRow { first, start: end + k * n }));
            end += n * n;
        }
        packed.resize(end, ABSENT);
        let mut packed = &mut packed[..];
        for connected in asked.chunk_by(|a, b| starts[*a] == starts[*b]) {
            let (own, after) = std::mem::take(&mut packed).split_at_mut(connected.len() * connected.len());
            pack_connected(connected, columns, starts[connected[0]], own);
            packed = after;
        }
    }
}

/// The blocks of each of these rows with all of them, the first of which that there are is `start`.
fn pack_connected(asked: &[usize], columns: &[Option<Arc<Column>>], start: usize, packed: &mut [Block]) {
    let n = asked.len();
    for (i, row) in asked.iter().enumerate() {
        let own = &mut packed[i * n..=i * n + i];
        match &columns[*row] {
            Some(column) => own.iter_mut().zip(asked).for_each(|(block, at)| *block = *column.block(*at - start)),
            None => own.fill(ABSENT),
        }
    }
    // G is symmetric: columns of (j, i) are rows of (i, j). In squares that stay in the cache.
    for (rows, columns) in (0..n).step_by(SQUARE).flat_map(|i| (0..=i).step_by(SQUARE).map(move |j| (i, j))) {
        for i in rows..n.min(rows + SQUARE) {
            for j in columns..i.min(columns + SQUARE) {
                let b = packed[i * n + j];
                packed[j * n + i] = [b[0], b[3], b[6], b[1], b[4], b[7], b[2], b[5], b[8]];
            }
        }
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
        let mut ways = vec![Way { parent: None, top: 0, end: 0, memory: 0 }; tree.blocks.len()];
        // Parents stand after their children.
        for (b, block) in tree.blocks.iter().enumerate().rev() {
            if ways[b].end == 0 {
                ways[b].top = b;
            }
            ways[b].end += (3 * block.own.len()).next_multiple_of(PADDING);
            ways[b].memory += size_of_val(factor.panel(b).entries);
            for child in &block.children {
                ways[*child] = Way { parent: Some(b), ..ways[b] };
            }
        }
        let block_of: Vec<_> = nodes
            .iter()
            .map(|node| tree.places[*node as usize])
            .map(|place| (place != u32::MAX).then(|| tree.blocks.partition_point(|block| block.own.end <= place as usize)))
            .collect();
        let mut wanted = vec![false; tree.blocks.len()];
        block_of.iter().flatten().for_each(|b| mark_way(&ways, *b, &mut wanted));
        let top = |row: usize| block_of[row].map(|block: usize| ways[block].top);
        let mut starts: Vec<usize> = vec![];
        for row in 0..nodes.len() {
            let start = starts.last().copied().filter(|_| top(row) == top(row - 1));
            starts.push(start.unwrap_or(row));
        }
        let longest = ways.iter().map(|way| way.end).max().unwrap_or(0);
        // n columns take n forward + n^2 pair.
        let (forward, pair) = ((3 * longest * size_of::<f32>()) as f64, 0.5 * size_of::<Block>() as f64);
        let capacity = (((forward * forward + 4.0 * pair * limit as f64).sqrt() - forward) / (2.0 * pair)).max(1.0) as usize;
        let kept = Mutex::new(Kept { columns: vec![None; nodes.len()], n_requests: 0 });
        let way_memory = ways.iter().map(|way| way.memory).max().unwrap_or(0);
        let stamp = next_stamp();
        Self { stamp, row_of, nodes, block_of, starts, ways, wanted, limit, capacity, way_memory, kept, solves: Pool::default() }
    }

    /// Those of another factor in the same order, of the same nodes.
    pub fn of_factor(&self) -> Self {
        let Self { row_of, nodes, block_of, starts, ways, wanted, limit, capacity, way_memory, .. } = self;
        Self {
            stamp: next_stamp(),
            row_of: row_of.clone(),
            nodes: nodes.clone(),
            block_of: block_of.clone(),
            starts: starts.clone(),
            ways: ways.clone(),
            wanted: wanted.clone(),
            kept: Mutex::new(Kept { columns: vec![None; nodes.len()], n_requests: 0 }),
            solves: Pool::default(),
            limit: *limit,
            capacity: *capacity,
            way_memory: *way_memory,
        }
    }

    /// Brings the blocks between `nodes` to `found`; those that are missing are computed. If the request alone is larger
    /// than the memory there are none: with some of them alone a compliance would be that of no body. Nor are there once
    /// `cancel` is cancelled. Nodes outside the set are passed over.
    pub fn request(&self, factor: &RestFactor, nodes: &[u32], cancel: &CancelToken, found: &mut Requested) {
        found.wanted.clear();
        found.wanted.extend(nodes.iter().filter_map(|node| self.row(*node)).map(|row| row as usize));
        found.wanted.sort_unstable();
        found.wanted.dedup();
        let is_same = found.stamp == self.stamp;
        if is_same && found.has_wanted() {
            return;
        }
        found.ask(is_same, self.capacity);
        let Requested { stamp, asked, new, columns, is_complete, .. } = found;
        *is_complete = asked.len() <= self.capacity;
        if !*is_complete {
            asked.clear();
        }
        self.kept().find(asked, columns);
        new.clear();
        new.extend(asked.iter().filter(|row| columns[**row].is_none()));
        // Not under the lock: a thread that waits here for others takes up work of theirs, which may ask too.
        let forwards: Vec<_> =
            new.par_chunks(AT_ONCE).filter(|_| !cancel.has_been_cancelled()).flat_map_iter(|rows| self.forward(factor, rows)).collect();
        for (row, forward) in forwards {
            columns[row] = Some(Arc::new(Column { forward: Arc::new(forward), pages: vec![], blocks: vec![] }));
        }
        let (asked, before) = (&asked[..], &columns[..]);
        let filled: Vec<_> = asked
            .par_chunks(TOGETHER)
            .enumerate()
            .filter(|_| !cancel.has_been_cancelled())
            .flat_map_iter(|(k, rows)| self.fill(rows, &asked[..TOGETHER * k + rows.len()], before, cancel))
            .collect();
        if !filled.is_empty() {
            filled.iter().for_each(|(row, column)| columns[*row] = Some(column.clone()));
            self.kept().keep(filled, self.limit, self.capacity);
        }
        *is_complete &= !cancel.has_been_cancelled();
        *stamp = if *is_complete { self.stamp } else { 0 };
        if !*is_complete {
            found.asked.clear();
        }
        found.pack(&self.starts);
    }

    /// Row of node i; `None` outside the set.
    pub fn row(&self, i: u32) -> Option<u32> {
        Some(self.row_of[i as usize]).filter(|row| *row != u32::MAX)
    }

    /// The most that a node reads on its way up the tree [bytes].
    pub fn way_memory(&self) -> usize {
        self.way_memory
    }

    /// Nodes of the set.
    pub fn n_rows(&self) -> usize {
        self.nodes.len()
    }

    /// The blocks of all rows with `nodes`, which are of the set.
    pub fn whole(&self, factor: &RestFactor, nodes: &[u32]) -> Vec<Vec<Block>> {
        let rows: Vec<usize> = nodes.iter().filter_map(|node| self.row(*node)).map(|row| row as usize).collect();
        let columns = rows.par_chunks(AT_ONCE).flat_map_iter(|rows| {
            let mut values = self.solves.take().unwrap_or_default();
            let loaded = self.load(factor, rows, &mut values);
            factor.solve_forward(&mut values, &loaded);
            factor.solve_backward(&mut values, &self.wanted);
            let block = |k: usize, place: u32| {
                // Fixed nodes do not move.
                let unknown = (place != u32::MAX).then_some(3 * place as usize);
                unknown.map_or([0.0; 9], |unknown| std::array::from_fn(|e| values.get(3 * k + e / 3, unknown + e % 3)))
            };
            let column = |k: usize| self.nodes.iter().map(|node| block(k, factor.tree.places[*node as usize])).collect::<Vec<_>>();
            let columns: Vec<_> = (0..rows.len()).map(column).collect();
            self.solves.put(values);
            columns
        });
        columns.collect()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Most columns that are kept, and that one request gets.
    #[cfg(test)]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Of what is kept [bytes].
    #[cfg(test)]
    pub fn memory(&self) -> usize {
        self.kept().columns.iter().flatten().map(|(column, _)| column.memory()).sum()
    }

    /// Columns that are kept.
    #[cfg(test)]
    pub fn n_kept(&self) -> usize {
        self.kept().columns.iter().flatten().count()
    }

    /// Unit impulses on the three axes of the nodes in `rows`; returns the blocks of the tree that have a load then.
    fn load(&self, factor: &RestFactor, rows: &[usize], values: &mut ManyValues) -> Vec<bool> {
        let tree = &factor.tree;
        values.reset(3 * rows.len(), 3 * tree.nodes.len());
        let mut loaded = vec![false; tree.blocks.len()];
        for (k, row) in rows.iter().enumerate() {
            if let Some(block) = self.block_of[*row] {
                let place = tree.places[self.nodes[*row] as usize] as usize;
                (0..3).for_each(|axis| values.set(3 * k + axis, 3 * place + axis, 1.0));
                mark_way(&self.ways, block, &mut loaded);
            }
        }
        loaded
    }

    /// y of the nodes in `rows`, with their rows.
    fn forward(&self, factor: &RestFactor, rows: &[usize]) -> Vec<(usize, Entries)> {
        let mut values = self.solves.take().unwrap_or_default();
        let loaded = self.load(factor, rows, &mut values);
        factor.solve_forward(&mut values, &loaded);
        let forward = |k: usize, block: Option<usize>| {
            let mut forward = Entries::default();
            let length = block.map_or(0, |block| self.ways[block].end);
            forward.reset(3 * length);
            for (block, way) in self.way(block) {
                let own = &factor.tree.blocks[block].own;
                let start = way.end - (3 * own.len()).next_multiple_of(PADDING);
                for axis in 0..3 {
                    let entries = &mut forward[axis * length + start..][..3 * own.len()];
                    entries.iter_mut().zip(3 * own.start..).for_each(|(entry, unknown)| *entry = values.get(3 * k + axis, unknown));
                }
            }
            forward
        };
        let forwards = rows.iter().enumerate().map(|(k, row)| (*row, forward(k, self.block_of[*row]))).collect();
        self.solves.put(values);
        forwards
    }

    /// The columns of `rows` with the blocks that they have not with those of `partners` up to each of them that it is
    /// connected with: of rows where something is missing. With some of them once `cancel` is cancelled.
    fn fill(&self, rows: &[usize], partners: &[usize], columns: &[Option<Arc<Column>>], cancel: &CancelToken) -> Vec<(usize, Arc<Column>)> {
        let mut missing: Vec<(usize, usize)> = vec![];
        let mut pairs: Vec<Pair> = vec![];
        let connected = rows.first().map_or(0, |row| partners.partition_point(|at| *at < self.starts[*row]));
        for at in &partners[connected..] {
            let Some(partner) = &columns[*at] else { continue };
            for (k, row) in rows.iter().enumerate().filter(|(_, row)| (self.starts[**row]..=**row).contains(at)) {
                let own = columns[*row].as_ref().filter(|own| own.block(*at - self.starts[*row])[0].is_nan());
                if let Some(own) = own {
                    let common = self.common_way(self.block_of[*row], self.block_of[*at]);
                    missing.push((k, *at));
                    pairs.push(Pair { of: &partner.forward, with: &own.forward, common });
                }
            }
        }
        let mut filled: Vec<Option<Column>> = vec![None; rows.len()];
        let parts = pairs.chunks(PAIRS).take_while(|_| !cancel.has_been_cancelled());
        let blocks = parts.flat_map(|pairs| Arch::new().dispatch(Products { pairs }));
        for ((k, at), block) in missing.into_iter().zip(blocks) {
            let (row, start) = (rows[k], self.starts[rows[k]]);
            let Some(own) = &columns[row] else { continue };
            let filled = filled[k].get_or_insert_with(|| {
                let mut filled = Column::clone(own);
                filled.pages.resize((row + 1 - start).div_ceil(PAGE), u32::MAX);
                filled
            });
            *filled.block_mut(at - start) = block;
        }
        rows.iter().zip(filled).filter_map(|(row, filled)| Some((*row, Arc::new(filled?)))).collect()
    }

    /// A block of the tree and those above it.
    fn way(&self, block: Option<usize>) -> impl Iterator<Item = (usize, Way)> {
        std::iter::successors(block, |block| self.ways[*block].parent).map(|block| (block, self.ways[block]))
    }

    /// Entries that the ways to two blocks of the tree have in common.
    fn common_way(&self, a: Option<usize>, b: Option<usize>) -> usize {
        let (Some(mut a), Some(mut b)) = (a, b) else { return 0 };
        while a != b {
            // Parents stand after their children.
            let (lower, higher) = (a.min(b), a.max(b));
            let Some(parent) = self.ways[lower].parent else { return 0 };
            (a, b) = (parent, higher);
        }
        self.ways[a].end
    }
}

fn next_stamp() -> u64 {
    STAMPS.fetch_add(1, Ordering::Relaxed)
}

/// Names a block of the tree and those above it.
fn mark_way(ways: &[Way], block: usize, marked: &mut [bool]) {
    let mut next = Some(block);
    while let Some(block) = next.filter(|block| !marked[*block]) {
        marked[block] = true;
        next = ways[block].parent;
    }
}

impl Kept {
    /// Those of `asked` that are here, by row.
    fn find(&mut self, asked: &[usize], found: &mut Vec<Option<Arc<Column>>>) {
        self.n_requests += 1;
        found.clear();
        found.resize(self.columns.len(), None);
        for row in asked {
            if let Some((column, last)) = &mut self.columns[*row] {
                *last = self.n_requests;
                found[*row] = Some(column.clone());
            }
        }
    }

    /// Those that were not asked for longest make room.
    fn keep(&mut self, filled: Vec<(usize, Arc<Column>)>, limit: usize, capacity: usize) {
        for (row, column) in filled {
            self.columns[row] = Some((column, self.n_requests));
        }
        let kept =
            self.columns.iter().enumerate().filter_map(|(row, kept)| kept.as_ref().map(|(column, last)| (*last, row, column.memory())));
        let mut oldest: Vec<(u64, usize, usize)> = kept.collect();
        let mut memory: usize = oldest.iter().map(|(_, _, memory)| memory).sum();
        oldest.sort_unstable();
        let mut left = oldest.len();
        for (_, row, freed) in oldest {
            if left <= 1 || (memory <= limit && left <= capacity) {
                return;
            }
            self.columns[row] = None;
            memory -= freed;
            left -= 1;
        }
    }
}
