//! The compliance matrix W of the contacts: what a force at one contact does to the motion at another.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{Law, Scale};
use crate::cancel::CancelToken;
use crate::math::{Mat3, Vec3};
use crate::sparse::lanes::{Entries, PADDING, dot3};

/// The stamp of the next assembly; 0 is none.
static STAMPS: AtomicU64 = AtomicU64::new(1);

/// Contacts a thread takes at once.
const CHUNK: usize = 64;

/// Below this many entries a product is done by the calling thread: waking others costs more.
const PARALLEL: usize = 1024 * 1024;
/// What is copied to the other triangle at once: as many columns as cache lines are read, and few enough rows, each of
/// which is on a page of its own, that these are looked up once.
const MIRRORED_COLUMNS: usize = 16;
const MIRRORED_ROWS: usize = 64;

/// Contacts of one body pair: they stand next to each other and meet the same others.
#[derive(Clone, Debug)]
struct Group {
    contacts: Range<usize>,
    /// Ranges of contacts of the groups that share a movable body with this one, itself included, ascending: a part of
    /// `Compliance::neighbours`.
    neighbours: Range<usize>,
    /// Column at which the contacts of the group itself stand.
    own_column: usize,
    /// Entries of a row.
    width: usize,
    /// First entry of the first row.
    offset: usize,
    /// First entry of the gathered forces.
    gathered: usize,
}

/// W [m/N], symmetric positive semidefinite, 3x3 blocks in the contact frames. Blocks of contacts without a common
/// movable body are zero and not stored. One dense row-major f32 block row for each group of contacts, over the
/// contacts of its neighbour groups. Memory: 36 bytes a block, so 36 n m bytes for n contacts with m contacts each in
/// their neighbourhood.
#[derive(Clone, Debug, Default)]
pub struct Compliance {
    groups: Vec<Group>,
    neighbours: Vec<Range<usize>>,
    /// Group of each contact.
    group_of: Vec<u32>,
    entries: Entries,
    scales: Vec<Scale>,
    gathered_length: usize,
    /// Another one for each assembly.
    stamp: u64,
    work: Layout,
}

/// Memory of the layout, kept between steps.
#[derive(Clone, Debug, Default)]
struct Layout {
    /// (body, group), sorted.
    members: Vec<(u32, u32)>,
    groups: Vec<u32>,
}

/// Memory of a product, kept between calls.
#[derive(Clone, Debug, Default)]
pub struct Gather {
    forces: Vec<f32>,
    gathered: Entries,
}

impl Gather {
    fn round(&mut self, p: &[Vec3], gathered_length: usize) {
        self.forces.resize(3 * p.len(), 0.0);
        for (forces, p) in self.forces.as_chunks_mut::<3>().0.iter_mut().zip(p) {
            *forces = [p.x as f32, p.y as f32, p.z as f32];
        }
        if self.gathered.len() != gathered_length {
            self.gathered.reset(gathered_length);
        }
    }
}

impl Compliance {
    /// Most blocks that the caller of `assemble` fills at once.
    pub const AT_ONCE: usize = 64;

    /// Lays out and fills W. `bodies[k]` are the movable bodies of contact k (none: it stays); contacts of one pair
    /// stand next to each other.
    /// `fill(k, columns, blocks)` writes the blocks (k, l), l in `columns` [m/N]; it is asked for the upper triangle
    /// only, and for contacts l of one group at a time (all with the same two bodies). Once `cancel` is cancelled W is
    /// left as it is: thousands of contacts take seconds.
    pub fn assemble(&mut self, bodies: &[[Option<u32>; 2]], cancel: &CancelToken, fill: impl Fn(usize, Range<usize>, &mut [Mat3]) + Sync) {
        self.stamp = STAMPS.fetch_add(1, Ordering::Relaxed);
        self.lay_out(bodies);
        self.scales.clear();
        self.scales.resize(bodies.len(), Scale::default());
        fill_groups(&self.groups, &self.neighbours, &mut self.entries, &mut self.scales, &fill);
        self.mirror(cancel);
    }

    pub fn n_contacts(&self) -> usize {
        self.scales.len()
    }

    /// A number that tells the last assembly from all others.
    pub(super) fn stamp(&self) -> u64 {
        self.stamp
    }

    /// The first contact that shares a body with contact k.
    pub(super) fn first_neighbour(&self, k: usize) -> usize {
        self.neighbours[self.groups[self.group_of[k] as usize].neighbours.clone()].first().map_or(k, |contacts| contacts.start)
    }

    /// Puts the blocks (k, l), l in `columns`, into three rows with `stride` entries from row to row; those that are not
    /// stored are left as they are.
    pub(super) fn put_blocks(&self, k: usize, columns: Range<usize>, stride: usize, rows: &mut [f32]) {
        let group = &self.groups[self.group_of[k] as usize];
        let own = group.offset + 3 * (k - group.contacts.start) * group.width;
        let mut column = 0;
        for contacts in &self.neighbours[group.neighbours.clone()] {
            let (first, end) = (contacts.start.max(columns.start), contacts.end.min(columns.end));
            if first < end {
                for r in 0..3 {
                    let from = own + r * group.width + column + 3 * (first - contacts.start);
                    let to = r * stride + 3 * (first - columns.start);
                    rows[to..to + 3 * (end - first)].copy_from_slice(&self.entries[from..from + 3 * (end - first)]);
                }
            }
            column += 3 * contacts.len();
        }
    }

    pub fn scales(&self) -> &[Scale] {
        &self.scales
    }

    /// Stored entries, padding included; a product reads each once.
    pub fn n_entries(&self) -> usize {
        self.entries.len()
    }

    fn lay_out(&mut self, bodies: &[[Option<u32>; 2]]) {
        let Layout { members, groups: adjacent } = &mut self.work;
        self.groups.clear();
        self.neighbours.clear();
        self.group_of.clear();
        members.clear();
        for (k, pair) in bodies.iter().enumerate() {
            if k == 0 || bodies[k - 1] != *pair {
                let group = self.groups.len() as u32;
                members.extend(pair.iter().flatten().map(|b| (*b, group)));
                self.groups.push(Group { contacts: k..k, neighbours: 0..0, own_column: 0, width: 0, offset: 0, gathered: 0 });
            }
            self.group_of.push(self.groups.len() as u32 - 1);
            if let Some(group) = self.groups.last_mut() {
                group.contacts.end = k + 1;
            }
        }
        members.sort_unstable();
        let (mut offset, mut gathered) = (0, 0);
        for g in 0..self.groups.len() {
            adjacent.clear();
            adjacent.push(g as u32);
            for body in bodies[self.groups[g].contacts.start].iter().flatten() {
                let first = members.partition_point(|m| m.0 < *body);
                adjacent.extend(members[first..].iter().take_while(|m| m.0 == *body).map(|m| m.1));
            }
            adjacent.sort_unstable();
            adjacent.dedup();
            let first = self.neighbours.len();
            let mut columns = 0;
            for h in adjacent.iter() {
                let contacts = self.groups[*h as usize].contacts.clone();
                if *h as usize == g {
                    self.groups[g].own_column = columns;
                }
                columns += 3 * contacts.len();
                self.neighbours.push(contacts);
            }
            let group = &mut self.groups[g];
            group.neighbours = first..self.neighbours.len();
            group.width = columns.next_multiple_of(PADDING);
            group.offset = offset;
            group.gathered = gathered;
            offset += group.width * 3 * group.contacts.len();
            gathered += group.width;
        }
        self.gathered_length = gathered;
        self.entries.resize(offset);
    }

    /// Copies the upper triangle to the lower one, tile by tile.
    fn mirror(&mut self, cancel: &CancelToken) {
        for group in &self.groups {
            let (before, own) = self.entries.split_at_mut(group.offset);
            let mut column = 0;
            for contacts in &self.neighbours[group.neighbours.clone()] {
                if contacts.start >= group.contacts.start {
                    break;
                }
                let other = &self.groups[self.group_of[contacts.start] as usize];
                let back = column_of(&self.neighbours[other.neighbours.clone()], group.contacts.start);
                for (rows, columns) in tiles(3 * group.contacts.len(), 3 * contacts.len()) {
                    if cancel.has_been_cancelled() {
                        return;
                    }
                    for row in rows {
                        for c in columns.clone() {
                            own[row * group.width + column + c] = before[other.offset + c * other.width + back + row];
                        }
                    }
                }
                column += 3 * contacts.len();
            }
            for (rows, columns) in tiles(3 * group.contacts.len(), 3 * group.contacts.len()) {
                if cancel.has_been_cancelled() {
                    return;
                }
                for row in rows.start.max(columns.start)..rows.end {
                    for c in columns.start..columns.end.min(row / 3 * 3) {
                        own[row * group.width + group.own_column + c] = own[c * group.width + group.own_column + row];
                    }
                }
            }
        }
    }

    /// `u = free + W p` [m], in the same order of sums for any number of threads.
    pub fn product(&self, p: &[Vec3], free: &[Vec3], u: &mut [Vec3], memory: &mut Gather) {
        self.gather(p, memory);
        let arch = pulp::Arch::new();
        let rows = |chunk, u| arch.dispatch(Product { w: self, gathered: &memory.gathered, free, first: chunk * CHUNK, u });
        if self.entries.len() < PARALLEL {
            arch.dispatch(Product { w: self, gathered: &memory.gathered, free, first: 0, u });
        } else {
            u.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, u)| rows(chunk, u));
        }
    }

    fn gather(&self, p: &[Vec3], memory: &mut Gather) {
        memory.round(p, self.gathered_length);
        for group in &self.groups {
            self.gather_group(group, &memory.forces, &mut memory.gathered[group.gathered..group.gathered + group.width]);
        }
    }

    fn gather_group(&self, group: &Group, forces: &[f32], gathered: &mut [f32]) {
        let mut column = 0;
        for contacts in &self.neighbours[group.neighbours.clone()] {
            let part = &forces[3 * contacts.start..3 * contacts.end];
            gathered[column..column + part.len()].copy_from_slice(part);
            column += part.len();
        }
        gathered[column..].fill(0.0);
    }

    /// One sweep of block Gauss-Seidel over all contacts, ascending or descending: each contact in turn obeys its law,
    /// the other forces fixed (normal first, then friction in the cone of the new normal force).
    pub fn sweep(&self, laws: &[Law], free: &[Vec3], p: &mut [Vec3], ascending: bool, memory: &mut Gather) {
        memory.round(p, self.gathered_length);
        pulp::Arch::new().dispatch(Sweep { w: self, laws, free, p, ascending, memory });
    }

    /// The block (k, k).
    fn diagonal(&self, group: &Group, k: usize) -> Mat3 {
        let local = k - group.contacts.start;
        Mat3::from_fn(|r, c| f64::from(self.entries[group.offset + (3 * local + r) * group.width + group.own_column + 3 * local + c]))
    }

    /// W as a dense matrix.
    pub fn to_dense(&self) -> nalgebra::DMatrix<f64> {
        let n = 3 * self.n_contacts();
        let mut dense = nalgebra::DMatrix::zeros(n, n);
        for group in &self.groups {
            let mut column = 0;
            for contacts in &self.neighbours[group.neighbours.clone()] {
                for (row, c) in pairs(3 * group.contacts.len(), 3 * contacts.len()) {
                    dense[(3 * group.contacts.start + row, 3 * contacts.start + c)] =
                        f64::from(self.entries[group.offset + row * group.width + column + c]);
                }
                column += 3 * contacts.len();
            }
        }
        dense
    }
}

fn pairs(n: usize, m: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |i| (0..m).map(move |j| (i, j)))
}

/// Rows and columns that are mirrored at once.
fn tiles(n_rows: usize, n_columns: usize) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
    let parts = |n: usize, size: usize| (0..n).step_by(size).map(move |first| first..n.min(first + size));
    parts(n_rows, MIRRORED_ROWS).flat_map(move |rows| parts(n_columns, MIRRORED_COLUMNS).map(move |columns| (rows.clone(), columns)))
}

/// Column of the contacts that start with `first` among the neighbours.
fn column_of(neighbours: &[Range<usize>], first: usize) -> usize {
    neighbours.iter().take_while(|contacts| contacts.start < first).map(|contacts| 3 * contacts.len()).sum()
}

/// Fills the upper triangle of the rows of `groups`, whose entries and scales these are; halves go to two threads.
fn fill_groups<F: Fn(usize, Range<usize>, &mut [Mat3]) + Sync>(
    groups: &[Group],
    neighbours: &[Range<usize>],
    entries: &mut [f32],
    scales: &mut [Scale],
    fill: &F,
) {
    if groups.len() > 1 && entries.len() > PARALLEL / 64 {
        let (left, right) = groups.split_at(groups.len() / 2);
        let (left_entries, right_entries) = entries.split_at_mut(right[0].offset - left[0].offset);
        let (left_scales, right_scales) = scales.split_at_mut(right[0].contacts.start - left[0].contacts.start);
        rayon::join(
            || fill_groups(left, neighbours, left_entries, left_scales, fill),
            || fill_groups(right, neighbours, right_entries, right_scales, fill),
        );
        return;
    }
    let (mut entries, mut scales) = (entries, scales);
    for group in groups {
        let (rows, rest) = entries.split_at_mut(3 * group.contacts.len() * group.width);
        let (own_scales, rest_scales) = scales.split_at_mut(group.contacts.len());
        (entries, scales) = (rest, rest_scales);
        if rows.len() > PARALLEL / 64 {
            (rows.par_chunks_mut(3 * group.width), own_scales.par_iter_mut())
                .into_par_iter()
                .enumerate()
                .for_each(|(k, (rows, scale))| *scale = fill_contact(group, neighbours, k, rows, fill));
        } else {
            for (k, (rows, scale)) in rows.chunks_mut(3 * group.width).zip(own_scales).enumerate() {
                *scale = fill_contact(group, neighbours, k, rows, fill);
            }
        }
    }
}

/// Fills the upper triangle of the three rows of the contact `k` of a group.
fn fill_contact(
    group: &Group,
    neighbours: &[Range<usize>],
    k: usize,
    rows: &mut [f32],
    fill: &impl Fn(usize, Range<usize>, &mut [Mat3]),
) -> Scale {
    let mut blocks = [Mat3::zeros(); Compliance::AT_ONCE];
    let contact = group.contacts.start + k;
    let mut scale = Scale::default();
    let mut column = 0;
    for contacts in &neighbours[group.neighbours.clone()] {
        let mut first = contacts.start.max(contact.min(contacts.end));
        while first < contacts.end {
            let columns = first..(first + Compliance::AT_ONCE).min(contacts.end);
            let blocks = &mut blocks[..columns.len()];
            fill(contact, columns.clone(), blocks);
            if columns.start == contact {
                scale = Scale::new(&blocks[0]);
            }
            for (block, l) in blocks.iter().zip(columns.clone()) {
                let at = column + 3 * (l - contacts.start);
                for r in 0..3 {
                    for c in 0..3 {
                        rows[r * group.width + at + c] = block[(r, c)] as f32;
                    }
                }
            }
            first = columns.end;
        }
        column += 3 * contacts.len();
    }
    rows.chunks_exact_mut(group.width).for_each(|row| row[column..].fill(0.0));
    scale
}

/// The contacts `first..` of a product.
struct Product<'a> {
    w: &'a Compliance,
    gathered: &'a [f32],
    free: &'a [Vec3],
    first: usize,
    u: &'a mut [Vec3],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (i, u) in self.u.iter_mut().enumerate() {
            let k = self.first + i;
            let group = &self.w.groups[self.w.group_of[k] as usize];
            let offset = group.offset + 3 * (k - group.contacts.start) * group.width;
            let rows = &self.w.entries[offset..offset + 3 * group.width];
            let change = dot3(simd, rows, group.width, &self.gathered[group.gathered..group.gathered + group.width]);
            *u = self.free[k] + Vec3::from(change.map(f64::from));
        }
    }
}

struct Sweep<'a> {
    w: &'a Compliance,
    laws: &'a [Law],
    free: &'a [Vec3],
    p: &'a mut [Vec3],
    ascending: bool,
    memory: &'a mut Gather,
}

impl WithSimd for Sweep<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Gather { forces, gathered } = self.memory;
        let n = self.p.len();
        let mut current = usize::MAX;
        for i in 0..n {
            let k = if self.ascending { i } else { n - 1 - i };
            let g = self.w.group_of[k] as usize;
            let group = &self.w.groups[g];
            let gathered = &mut gathered[group.gathered..group.gathered + group.width];
            if g != current {
                self.w.gather_group(group, forces, gathered);
                current = g;
            }
            let local = 3 * (k - group.contacts.start);
            let offset = group.offset + local * group.width;
            let change = dot3(simd, &self.w.entries[offset..offset + 3 * group.width], group.width, gathered);
            let u = self.free[k] + Vec3::from(change.map(f64::from));
            let p = self.laws[k].relax(&self.p[k], &u, &self.w.diagonal(group, k), &self.w.scales[k]);
            self.p[k] = p;
            for (c, value) in [p.x as f32, p.y as f32, p.z as f32].into_iter().enumerate() {
                forces[3 * k + c] = value;
                gathered[group.own_column + local + c] = value;
            }
        }
    }
}
