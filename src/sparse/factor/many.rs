//! Solves for many right-hand sides, which stand side by side in lines: a panel is read once for all of them.

use pulp::{Arch, Simd, WithSimd};

use super::order::Block;
use super::{Entries, PADDING, Panel, RestFactor};

/// Right-hand sides in a line: as many as a line of the cache, and at least a register, has entries.
pub const LINE: usize = PADDING;

/// Right-hand sides and then solutions, in lines: in each one an entry of [`LINE`] right-hand sides for each unknown in
/// the order of elimination. A right-hand side has the same bits whatever stands beside it.
#[derive(Debug, Default)]
pub struct ManyValues {
    /// Memory of lines that are not in use is kept.
    lines: Vec<Entries>,
    n_lines: usize,
}

impl ManyValues {
    /// Zeros: `n_rhs` right-hand sides of `n_unknowns`.
    pub fn reset(&mut self, n_rhs: usize, n_unknowns: usize) {
        self.n_lines = n_rhs.div_ceil(LINE);
        self.lines.resize_with(self.lines.len().max(self.n_lines), Entries::default);
        self.lines[..self.n_lines].iter_mut().for_each(|line| line.reset(LINE * n_unknowns));
    }

    pub fn get(&self, rhs: usize, unknown: usize) -> f32 {
        self.lines[rhs / LINE][LINE * unknown + rhs % LINE]
    }

    pub fn set(&mut self, rhs: usize, unknown: usize, value: f32) {
        self.lines[rhs / LINE][LINE * unknown + rhs % LINE] = value;
    }
}

impl RestFactor {
    /// Takes the right-hand sides b of `values` to `y = L^-1 b`, A = L L^T. Blocks of the tree that `loaded` does not
    /// name have no load.
    pub fn solve_forward(&self, values: &mut ManyValues, loaded: &[bool]) {
        Arch::new().dispatch(Sweep { factor: self, values, blocks: loaded, is_forward: true });
    }

    /// Takes y to `x = L^-T y`, which counts only in blocks of the tree that `wanted` names, with all above them.
    pub fn solve_backward(&self, values: &mut ManyValues, wanted: &[bool]) {
        Arch::new().dispatch(Sweep { factor: self, values, blocks: wanted, is_forward: false });
    }
}

struct Sweep<'a> {
    factor: &'a RestFactor,
    values: &'a mut ManyValues,
    blocks: &'a [bool],
    is_forward: bool,
}

impl WithSimd for Sweep<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // Registers in a line, and rows whose sums nearly fill the registers there are: each sum waits for itself.
        match S::F32_LANES {
            16 => self.sweep::<S, 1, 12>(simd),
            8 => self.sweep::<S, 2, 6>(simd),
            4 => self.sweep::<S, 4, 3>(simd),
            _ => self.sweep::<S, LINE, 3>(simd),
        }
    }
}

impl Sweep<'_> {
    #[inline(always)]
    fn sweep<S: Simd, const N: usize, const ROWS: usize>(self, simd: S) {
        let Self { factor, values, blocks, is_forward } = self;
        let taken = factor.tree.blocks.iter().enumerate().filter(|(b, _)| blocks[*b]);
        if is_forward {
            for (b, block) in taken {
                forward::<S, N, ROWS>(simd, block, &factor.panel(b), &mut values.lines[..values.n_lines]);
            }
            return;
        }
        let mut known = Entries::default();
        for (b, block) in taken.rev() {
            let panel = factor.panel(b);
            known.reset(LINE * 3 * (block.own.len() + block.later.len()));
            for line in &mut values.lines[..values.n_lines] {
                backward::<S, N, ROWS>(simd, block, &panel, S::as_mut_simd_f32s(line).0, S::as_mut_simd_f32s(&mut known).0);
            }
        }
    }
}

/// `(y1, y2) <- (L11^-1 b1, y2 - L21 L11^-1 b1)` of a block. Rows of a panel, which may be larger than the cache, are
/// read once for all lines.
#[inline(always)]
fn forward<S: Simd, const N: usize, const ROWS: usize>(simd: S, block: &Block, panel: &Panel, lines: &mut [Entries]) {
    let n_own = panel.n_own;
    let mut end = n_own + 3 * block.later.len();
    // From the last: an own row needs the entries before it.
    while end > 0 {
        let here = chunk(if end > n_own { end - n_own } else { end }, ROWS);
        end -= here;
        for line in &mut *lines {
            let values = S::as_mut_simd_f32s(line).0;
            if here == ROWS {
                forward_rows::<S, N, ROWS>(simd, block, panel, end, values);
            } else {
                forward_rows::<S, N, 3>(simd, block, panel, end, values);
            }
        }
    }
}

/// Rows that are taken at once where `left` are left: the rest of them is taken three by three.
#[inline(always)]
fn chunk(left: usize, rows: usize) -> usize {
    if left.is_multiple_of(rows) { rows } else { 3 }
}

/// The same for rows from `row` on, all own ones or all of later nodes.
#[inline(always)]
fn forward_rows<S: Simd, const N: usize, const ROWS: usize>(simd: S, block: &Block, panel: &Panel, row: usize, values: &mut [S::f32s]) {
    let (first, n_own) = (3 * block.own.start, panel.n_own);
    let sums = rows_times::<S, N, ROWS>(simd, panel, row, &values[N * first..N * (first + n_own.min(row + ROWS))]);
    if row < n_own {
        values[N * (first + row)..N * (first + row + ROWS)].copy_from_slice(sums.as_flattened());
        return;
    }
    for (i, sum) in sums.iter().enumerate() {
        let later = row + i - n_own;
        let at = N * (3 * block.later[later / 3] as usize + later % 3);
        for (value, sum) in values[at..at + N].iter_mut().zip(sum) {
            *value = simd.sub_f32s(*value, *sum);
        }
    }
}

/// Rows of the panel from `row` on times `x`, which has the first unknowns of the block.
#[inline(always)]
fn rows_times<S: Simd, const N: usize, const ROWS: usize>(simd: S, panel: &Panel, row: usize, x: &[S::f32s]) -> [[S::f32s; N]; ROWS] {
    let (x, _) = x.as_chunks::<N>();
    let mut rows = [&panel.entries[..0]; ROWS];
    for (i, entries) in rows.iter_mut().enumerate() {
        *entries = &panel.entries[(row + i) * panel.stride..][..x.len()];
    }
    let mut sums = [[simd.splat_f32s(0.0); N]; ROWS];
    for (c, x) in x.iter().enumerate() {
        for i in 0..ROWS {
            let entry = simd.splat_f32s(rows[i][c]);
            for n in 0..N {
                sums[i][n] = simd.mul_add_f32s(entry, x[n], sums[i][n]);
            }
        }
    }
    sums
}

/// `x1 = L11^-T y1 - (L21 L11^-1)^T x2` of a block; `known` is memory for its rows.
#[inline(always)]
fn backward<S: Simd, const N: usize, const ROWS: usize>(
    simd: S,
    block: &Block,
    panel: &Panel,
    values: &mut [S::f32s],
    known: &mut [S::f32s],
) {
    let (first, n_own) = (3 * block.own.start, panel.n_own);
    let (own, later) = known.split_at_mut(N * n_own);
    own.copy_from_slice(&values[N * first..N * (first + n_own)]);
    for (known, place) in later.chunks_exact_mut(3 * N).zip(&block.later) {
        let at = N * 3 * *place as usize;
        for (known, value) in known.iter_mut().zip(&values[at..at + 3 * N]) {
            *known = simd.neg_f32s(*value);
        }
    }
    let mut end = n_own;
    while end > 0 {
        let here = chunk(end, ROWS);
        end -= here;
        if here == ROWS {
            let sums = columns_times::<S, N, ROWS>(simd, panel, end, known);
            values[N * (first + end)..N * (first + end + ROWS)].copy_from_slice(sums.as_flattened());
        } else {
            let sums = columns_times::<S, N, 3>(simd, panel, end, known);
            values[N * (first + end)..N * (first + end + 3)].copy_from_slice(sums.as_flattened());
        }
    }
}

/// Transposed columns of the panel from `column` on times `x`, which has all rows; those above the diagonal are zero.
#[inline(always)]
fn columns_times<S: Simd, const N: usize, const COLUMNS: usize>(
    simd: S,
    panel: &Panel,
    column: usize,
    x: &[S::f32s],
) -> [[S::f32s; N]; COLUMNS] {
    let (x, _) = x.as_chunks::<N>();
    let mut sums = [[simd.splat_f32s(0.0); N]; COLUMNS];
    for (x, row) in x.iter().zip(panel.entries.chunks_exact(panel.stride)).skip(column) {
        let entries = &row[column..column + COLUMNS];
        for i in 0..COLUMNS {
            let entry = simd.splat_f32s(entries[i]);
            for n in 0..N {
                sums[i][n] = simd.mul_add_f32s(entry, x[n], sums[i][n]);
            }
        }
    }
    sums
}
