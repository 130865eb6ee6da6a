//! The compliance matrix W of the contacts: what a force at one contact does to the motion at another.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{Law, Scale};
use crate::math::{Mat3, Vec3};
use crate::sparse::lanes::{Entries, PADDING, dot_and_add3};

/// The stamp of the next assembly; 0 is none.
static STAMPS: AtomicU64 = AtomicU64::new(1);

/// Contacts whose rows one thread takes.
const CHUNK: usize = 64;

/// Below this many entries a product is done by the calling thread: waking others costs more.
const PARALLEL: usize = 512 * 1024;

/// Contacts of one body pair: they stand next to each other and meet the same others.
#[derive(Clone, Debug)]
struct Group {
    contacts: Range<usize>,
    /// Ranges of contacts of the groups that share a movable body with this one, ascending, parts of
    /// `Compliance::neighbours`: those before it; itself and those after it.
    earlier: Range<usize>,
    later: Range<usize>,
    /// Entries of a row, from the first contact of the group on.
    width: usize,
    /// First entry of the first row.
    offset: usize,
    /// First entry of the gathered forces.
    gathered: usize,
}

/// Some contacts of a group: the work of one thread in a product.
#[derive(Clone, Debug)]
struct Part {
    group: usize,
    contacts: Range<usize>,
    /// First entry of its sums.
    sums: usize,
}

/// W [m/N], symmetric positive semidefinite, 3x3 blocks in the contact frames. Blocks of contacts without a common
/// movable body are zero and not stored, and of the others only (k, l) with k < l: a product reads each entry once, and
/// it is memory that it waits for. One dense row-major f32 block row for each group of contacts, over its own contacts
/// and those of its later neighbour groups. Memory: up to 36 bytes a block, so up to 36 n m bytes for n contacts with m
/// contacts each in their neighbourhood.
#[derive(Clone, Debug, Default)]
pub struct Compliance {
    groups: Vec<Group>,
    neighbours: Vec<Range<usize>>,
    /// Group of each contact.
    group_of: Vec<u32>,
    /// The blocks (k, l), k < l. Before those, a row has zeros down to a full line of the cache.
    entries: Entries,
    /// The blocks (k, k).
    diagonals: Vec<[[f32; 3]; 3]>,
    scales: Vec<Scale>,
    gathered_length: usize,
    parts: Vec<Part>,
    sums_length: usize,
    /// Entries that a product reads.
    n_read: usize,
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
    sums: Entries,
    motion: Vec<Vec3>,
}

impl Compliance {
    /// Most blocks that the caller of `assemble` fills at once.
    pub const AT_ONCE: usize = 64;

    /// Lays out and fills W. `bodies[k]` are the movable bodies of contact k (none: it stays); contacts of one pair
    /// stand next to each other.
    /// `fill(k, columns, blocks)` writes the blocks (k, l), l in `columns` [m/N]; it is asked for the upper triangle
    /// only, and for contacts l of one group at a time (all with the same two bodies).
    pub fn assemble(&mut self, bodies: &[[Option<u32>; 2]], fill: impl Fn(usize, Range<usize>, &mut [Mat3]) + Sync) {
        self.stamp = STAMPS.fetch_add(1, Ordering::Relaxed);
        self.lay_out(bodies);
        let Self { groups, neighbours, entries, diagonals, scales, .. } = self;
        diagonals.clear();
        diagonals.resize(bodies.len(), Default::default());
        fill_groups(groups, neighbours, entries, diagonals, &fill);
        scales.clear();
        scales.extend(diagonals.iter().map(|block| Scale::new(&matrix(block))));
    }

    pub fn n_contacts(&self) -> usize {
        self.scales.len()
    }

    /// A number that tells the last assembly from all others.
    pub(super) fn stamp(&self) -> u64 {
        self.stamp
    }

    /// The contacts of each pair of bodies.
    pub(super) fn pairs(&self) -> impl ExactSizeIterator<Item = Range<usize>> {
        self.groups.iter().map(|group| group.contacts.clone())
    }

    /// The pairs that share a movable body with a pair, itself too; ascending.
    pub(super) fn neighbours_of(&self, pair: usize) -> impl Iterator<Item = usize> {
        let group = &self.groups[pair];
        self.neighbours[group.earlier.start..group.later.end].iter().map(|contacts| self.group_of[contacts.start] as usize)
    }

    /// Hands out all blocks (k, l), k <= l, that are stored, row after row of W.
    pub(super) fn for_each_block(&self, mut each: impl FnMut(usize, usize, [[f32; 3]; 3])) {
        for (k, diagonal) in self.diagonals.iter().enumerate() {
            each(k, k, *diagonal);
            let (group, own) = self.row(k);
            for (column, contacts) in self.columns(group) {
                for l in contacts.start.max(k + 1)..contacts.end {
                    let at = own + column + 3 * (l - contacts.start);
                    each(k, l, std::array::from_fn(|r| std::array::from_fn(|c| self.entries[at + r * group.width + c])));
                }
            }
        }
    }

    pub fn scales(&self) -> &[Scale] {
        &self.scales
    }

    /// Entries that a product reads.
    pub fn n_entries(&self) -> usize {
        self.n_read
    }

    /// Work of a product, with laws and vectors, which come to as much again [bytes].
    pub fn work(&self) -> u64 {
        (2 * self.n_read * size_of::<f32>()) as u64
    }

    /// The group of a contact, and the first entry of its rows.
    fn row(&self, k: usize) -> (&Group, usize) {
        let group = &self.groups[self.group_of[k] as usize];
        (group, group.offset + 3 * (k - group.contacts.start) * group.width)
    }

    /// The contacts of the rows of a group, and the column that they begin at.
    fn columns(&self, group: &Group) -> impl Iterator<Item = (usize, &Range<usize>)> {
        columns(&self.neighbours, group)
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
                self.groups.push(Group { contacts: k..k, earlier: 0..0, later: 0..0, width: 0, offset: 0, gathered: 0 });
            }
            self.group_of.push(self.groups.len() as u32 - 1);
            if let Some(group) = self.groups.last_mut() {
                group.contacts.end = k + 1;
            }
        }
        members.sort_unstable();
        self.parts.clear();
        (self.gathered_length, self.sums_length, self.n_read) = (0, 0, 0);
        let mut offset = 0;
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
            self.neighbours.extend(adjacent.iter().map(|h| self.groups[*h as usize].contacts.clone()));
            let own = first + adjacent.partition_point(|h| (*h as usize) < g);
            let end = self.neighbours.len();
            let n_columns: usize = self.neighbours[own..end].iter().map(|contacts| 3 * contacts.len()).sum();
            let group = &mut self.groups[g];
            (group.earlier, group.later) = (first..own, own..end);
            group.width = n_columns.next_multiple_of(PADDING);
            (group.offset, group.gathered) = (offset, self.gathered_length);
            offset += group.width * 3 * group.contacts.len();
            self.gathered_length += group.width;
            for first in group.contacts.clone().step_by(CHUNK) {
                let contacts = first..group.contacts.end.min(first + CHUNK);
                self.parts.push(Part { group: g, contacts, sums: self.sums_length });
                self.sums_length += group.width;
            }
            self.n_read += (0..group.contacts.len()).map(|i| 3 * (group.width - start_of_row(i))).sum::<usize>();
        }
        self.entries.resize(offset);
    }

    /// `u = free + W p` [m], in the same order of sums for any number of threads.
    pub fn product(&self, p: &[Vec3], free: &[Vec3], u: &mut [Vec3], memory: &mut Gather) {
        let Gather { forces, gathered, sums, .. } = memory;
        self.gather(p, forces, gathered);
        let (forces, gathered) = (&*forces, &*gathered);
        sums.resize(self.sums_length);
        let is_parallel = self.n_read >= PARALLEL;
        for_each_part(&self.parts, &mut sums[..self.sums_length], is_parallel, &|part, sums| {
            let sums = &mut sums[..self.groups[part.group].width];
            pulp::Arch::new().dispatch(Product { w: self, part, forces, gathered, sums });
        });
        u.copy_from_slice(free);
        for part in &self.parts {
            let group = &self.groups[part.group];
            for (column, contacts) in self.columns(group) {
                // Those before the part have nothing of it.
                let first = contacts.start.max(part.contacts.start);
                let sums = &sums[part.sums + column + 3 * (first - contacts.start)..];
                for (u, sum) in u[first..contacts.end].iter_mut().zip(sums.as_chunks::<3>().0) {
                    *u += Vec3::from(sum.map(f64::from));
                }
            }
        }
    }

    /// The forces, and those of the contacts of the rows of each group.
    fn gather(&self, p: &[Vec3], forces: &mut Vec<f32>, gathered: &mut Entries) {
        forces.clear();
        forces.extend(p.iter().flat_map(|p| [p.x as f32, p.y as f32, p.z as f32]));
        gathered.resize(self.gathered_length);
        for group in &self.groups {
            let gathered = &mut gathered[group.gathered..group.gathered + group.width];
            let mut end = 0;
            for (column, contacts) in self.columns(group) {
                end = column + 3 * contacts.len();
                gathered[column..end].copy_from_slice(&forces[3 * contacts.start..3 * contacts.end]);
            }
            gathered[end..].fill(0.0);
        }
    }

    /// One sweep of block Gauss-Seidel over all contacts, ascending or descending: each contact in turn obeys its law,
    /// the other forces fixed (normal first, then friction in the cone of the new normal force).
    pub fn sweep(&self, laws: &[Law], free: &[Vec3], p: &mut [Vec3], ascending: bool, memory: &mut Gather) {
        let mut u = std::mem::take(&mut memory.motion);
        u.resize(p.len(), Vec3::zeros());
        self.product(p, free, &mut u, memory);
        for i in 0..p.len() {
            let k = if ascending { i } else { p.len() - 1 - i };
            let relaxed = laws[k].relax(&p[k], &u[k], &matrix(&self.diagonals[k]), &self.scales[k]);
            let change = relaxed - p[k];
            if change != Vec3::zeros() {
                p[k] = relaxed;
                self.add_column(k, &change, &mut u);
            }
        }
        memory.motion = u;
    }

    /// `u += W f` for a force f on contact k alone.
    fn add_column(&self, k: usize, f: &Vec3, u: &mut [Vec3]) {
        u[k] += matrix(&self.diagonals[k]) * f;
        let (group, own) = self.row(k);
        for (column, contacts) in self.columns(group) {
            for l in contacts.start.max(k + 1)..contacts.end {
                u[l] += self.block(own + column + 3 * (l - contacts.start), group.width).tr_mul(f);
            }
        }
        let mut add = |l: usize, column: usize| {
            let (group, first) = self.row(l);
            u[l] += self.block(first + column, group.width) * f;
        };
        let local = k - group.contacts.start;
        (group.contacts.start..k).for_each(|l| add(l, 3 * local));
        for contacts in &self.neighbours[group.earlier.clone()] {
            let other = &self.groups[self.group_of[contacts.start] as usize];
            let column = self.columns(other).find(|(_, c)| c.start == group.contacts.start).map(|(column, _)| column);
            let Some(column) = column else { continue };
            contacts.clone().for_each(|l| add(l, column + 3 * local));
        }
    }

    /// The blocks (k, l) of a contact with itself and those after it, as they are stored; none where these share no body.
    pub fn blocks_of(&self, k: usize) -> impl FnMut(usize) -> Option<Mat3> + '_ {
        let (group, own) = self.row(k);
        // Those that are asked for mostly stand next to each other.
        let mut last = (0, 0..0);
        move |l| {
            if l <= k {
                return (l == k).then(|| matrix(&self.diagonals[k]));
            }
            if !last.1.contains(&l) {
                let (column, contacts) = self.columns(group).find(|(_, contacts)| contacts.contains(&l))?;
                last = (column, contacts.clone());
            }
            Some(self.block(own + last.0 + 3 * (l - last.1.start), group.width))
        }
    }

    /// The stored block that begins at an entry.
    fn block(&self, at: usize, width: usize) -> Mat3 {
        Mat3::from_fn(|r, c| f64::from(self.entries[at + r * width + c]))
    }

    /// W as a dense matrix.
    pub fn to_dense(&self) -> nalgebra::DMatrix<f64> {
        let n = self.n_contacts();
        let mut dense = nalgebra::DMatrix::zeros(3 * n, 3 * n);
        for k in 0..n {
            dense.fixed_view_mut::<3, 3>(3 * k, 3 * k).copy_from(&matrix(&self.diagonals[k]));
            let (group, own) = self.row(k);
            for (column, contacts) in self.columns(group) {
                for l in contacts.start.max(k + 1)..contacts.end {
                    let block = self.block(own + column + 3 * (l - contacts.start), group.width);
                    dense.fixed_view_mut::<3, 3>(3 * k, 3 * l).copy_from(&block);
                    dense.fixed_view_mut::<3, 3>(3 * l, 3 * k).copy_from(&block.transpose());
                }
            }
        }
        dense
    }
}

/// The contacts of the rows of a group, and the column that they begin at.
fn columns<'n>(neighbours: &'n [Range<usize>], group: &Group) -> impl Iterator<Item = (usize, &'n Range<usize>)> {
    neighbours[group.later.clone()].iter().scan(0, |end, contacts| {
        *end += 3 * contacts.len();
        Some((*end - 3 * contacts.len(), contacts))
    })
}

/// Hands each part its sums, which begin with those of the first; halves of the parts to different threads.
fn for_each_part(parts: &[Part], sums: &mut [f32], is_parallel: bool, each: &(impl Fn(&Part, &mut [f32]) + Sync)) {
    let Some(first) = parts.first() else { return };
    if is_parallel && parts.len() > 1 {
        let (left, right) = parts.split_at(parts.len() / 2);
        let (left_sums, right_sums) = sums.split_at_mut(right[0].sums - first.sums);
        rayon::join(|| for_each_part(left, left_sums, true, each), || for_each_part(right, right_sums, true, each));
        return;
    }
    parts.iter().for_each(|part| each(part, &mut sums[part.sums - first.sums..]));
}

/// Where the rows of the i-th contact of a group begin to be read.
fn start_of_row(i: usize) -> usize {
    3 * (i + 1) / PADDING * PADDING
}

fn matrix(block: &[[f32; 3]; 3]) -> Mat3 {
    Mat3::from_fn(|r, c| f64::from(block[r][c]))
}

/// Fills the rows of `groups`, whose entries and diagonal blocks these are; halves go to two threads.
fn fill_groups<F: Fn(usize, Range<usize>, &mut [Mat3]) + Sync>(
    groups: &[Group],
    neighbours: &[Range<usize>],
    entries: &mut [f32],
    diagonals: &mut [[[f32; 3]; 3]],
    fill: &F,
) {
    if groups.len() > 1 && entries.len() > PARALLEL / 64 {
        let (left, right) = groups.split_at(groups.len() / 2);
        let (left_entries, right_entries) = entries.split_at_mut(right[0].offset - left[0].offset);
        let (left_diagonals, right_diagonals) = diagonals.split_at_mut(right[0].contacts.start - left[0].contacts.start);
        rayon::join(
            || fill_groups(left, neighbours, left_entries, left_diagonals, fill),
            || fill_groups(right, neighbours, right_entries, right_diagonals, fill),
        );
        return;
    }
    let (mut entries, mut diagonals) = (entries, diagonals);
    for group in groups {
        let (rows, rest) = entries.split_at_mut(3 * group.contacts.len() * group.width);
        let (own, rest_of_diagonals) = diagonals.split_at_mut(group.contacts.len());
        (entries, diagonals) = (rest, rest_of_diagonals);
        if rows.len() > PARALLEL / 64 {
            let parts = (rows.par_chunks_mut(3 * group.width), own.par_iter_mut()).into_par_iter().enumerate();
            parts.for_each(|(i, (rows, own))| *own = fill_contact(group, neighbours, i, rows, fill));
        } else {
            for (i, (rows, own)) in rows.chunks_mut(3 * group.width).zip(own).enumerate() {
                *own = fill_contact(group, neighbours, i, rows, fill);
            }
        }
    }
}

/// Fills the three rows of the i-th contact of a group; returns its block of the diagonal.
fn fill_contact(
    group: &Group,
    neighbours: &[Range<usize>],
    i: usize,
    rows: &mut [f32],
    fill: &impl Fn(usize, Range<usize>, &mut [Mat3]),
) -> [[f32; 3]; 3] {
    let mut blocks = [Mat3::zeros(); Compliance::AT_ONCE];
    let contact = group.contacts.start + i;
    let mut diagonal = [[0.0; 3]; 3];
    let mut end = 0;
    for (column, contacts) in columns(neighbours, group) {
        let mut first = contacts.start.max(contact);
        while first < contacts.end {
            let columns = first..(first + Compliance::AT_ONCE).min(contacts.end);
            let blocks = &mut blocks[..columns.len()];
            fill(contact, columns.clone(), blocks);
            if columns.start == contact {
                diagonal = [0, 1, 2].map(|r| [0, 1, 2].map(|c| blocks[0][(r, c)] as f32));
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
        end = column + 3 * contacts.len();
    }
    for row in rows.chunks_exact_mut(group.width) {
        row[start_of_row(i)..3 * (i + 1)].fill(0.0);
        row[end..].fill(0.0);
    }
    diagonal
}

/// The products of the rows of a part, as rows and as columns.
struct Product<'a> {
    w: &'a Compliance,
    part: &'a Part,
    forces: &'a [f32],
    gathered: &'a [f32],
    sums: &'a mut [f32],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { w, part, forces, gathered, sums } = self;
        let group = &w.groups[part.group];
        let gathered = &gathered[group.gathered..group.gathered + group.width];
        sums[3 * (part.contacts.start - group.contacts.start)..].fill(0.0);
        for k in part.contacts.clone() {
            let i = k - group.contacts.start;
            let start = start_of_row(i);
            let f = [forces[3 * k], forces[3 * k + 1], forces[3 * k + 2]];
            let rows = &w.entries[group.offset + 3 * i * group.width + start..];
            let mut own = dot_and_add3(simd, rows, group.width, &gathered[start..], f, &mut sums[start..]);
            for (own, row) in own.iter_mut().zip(&w.diagonals[k]) {
                *own += row[0] * f[0] + row[1] * f[1] + row[2] * f[2];
            }
            for (sum, own) in sums[3 * i..].iter_mut().zip(own) {
                *sum += own;
            }
        }
    }
}
