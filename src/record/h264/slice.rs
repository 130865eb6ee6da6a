//! Slices: rows of macroblocks that are encoded independently of the rest of the picture.

use super::bits::{Bits, FRAME_NUMBER_BITS};
use super::cavlc::{Context, put_block};
use super::planes::Planes;
use super::transform::{Quantiser, forward, inverse};

/// Columns and rows of the 4x4 blocks of a macroblock in the order of sending.
const BLOCK_ORDER: [[usize; 2]; 16] =
    [[0, 0], [1, 0], [0, 1], [1, 1], [2, 0], [3, 0], [2, 1], [3, 1], [0, 2], [1, 2], [0, 3], [1, 3], [2, 2], [3, 2], [2, 3], [3, 3]];
/// The patterns of coded blocks in the order of their codes, where the picture before predicts (table 9-4).
const PATTERNS: [u8; 48] = [
    0, 16, 1, 2, 4, 8, 32, 3, 5, 10, 12, 15, 47, 7, 11, 13, 14, 6, 9, 31, 35, 37, 42, 44, 33, 34, 36, 40, 39, 43, 45, 46, 17, 18, 20, 24,
    19, 21, 26, 28, 23, 27, 29, 30, 22, 25, 38, 41,
];
/// A macroblock predicted from its neighbours costs this much more than a moved macroblock, as a sum of differences.
const INTRA_COST: u32 = 400;
/// Each bit of a motion costs this much, as a sum of differences.
const BIT_COST: u32 = 4;

type Luma = [u8; 256];
type Chroma = [[u8; 64]; 2];

/// The part of a macroblock that later macroblocks need.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    /// Its motion in whole pixels; none where it was predicted from its neighbours.
    motion: Option<[i32; 2]>,
    /// Numbers of coefficients of the luma blocks, row by row, and of the two times four chroma blocks.
    luma: [u8; 16],
    chroma: [[u8; 4]; 2],
}

pub struct Slice<'a> {
    first_row: usize,
    columns: usize,
    rows: usize,
    source: &'a Planes,
    before: Option<&'a Planes>,
    /// The pixels as a decoder has them.
    planes: [&'a mut [u8]; 3],
    done: Vec<Done>,
    quantiser: i32,
    bits: Bits,
    skipped: u32,
}

/// The levels of a macroblock, and the pixels that they give.
struct Coded {
    luma_dc: Option<[i32; 16]>,
    /// Levels in the order of sending.
    luma: [[i32; 16]; 16],
    chroma_dc: [[i32; 4]; 2],
    chroma: [[[i32; 16]; 4]; 2],
    pixels: Luma,
    chroma_pixels: Chroma,
}

impl<'a> Slice<'a> {
    pub fn new(first_row: usize, planes: [&'a mut [u8]; 3], source: &'a Planes, before: Option<&'a Planes>, quantiser: i32) -> Self {
        let columns = source.size[0];
        let rows = planes[0].len() / (256 * columns);
        Self { first_row, columns, rows, source, before, planes, done: vec![], quantiser, bits: Bits::default(), skipped: 0 }
    }

    /// The payload of the slice. `number` counts pictures since the last key picture, `key` the key pictures before.
    pub fn encode(&mut self, number: u64, key: u64) -> Vec<u8> {
        let is_key = self.before.is_none();
        self.bits.ue((self.first_row * self.columns) as u32);
        self.bits.ue(if is_key { 7 } else { 5 });
        self.bits.ue(0);
        self.bits.put(FRAME_NUMBER_BITS, (number % (1 << FRAME_NUMBER_BITS)) as u32);
        if is_key {
            self.bits.ue((key % 2) as u32);
            self.bits.put(2, 0);
        } else {
            self.bits.put(3, 0); // references as they are, and forgotten in their order
        }
        self.bits.se(0);
        self.bits.ue(1); // blocks are not filtered
        for row in 0..self.rows {
            for column in 0..self.columns {
                let done = self.macroblock(column, row);
                self.done.push(done);
            }
        }
        if self.skipped > 0 {
            self.bits.ue(self.skipped);
        }
        std::mem::take(&mut self.bits).finish()
    }

    fn macroblock(&mut self, column: usize, row: usize) -> Done {
        let at = [column, row + self.first_row];
        let (luma, chroma) = (luma_at(self.source, at), chroma_at(self.source, at));
        let inter = self.before.map(|before| {
            let (predicted, skip) = (self.predicted_motion(column, row), self.skip_motion(column, row));
            let quantiser = Quantiser { qp: self.quantiser, intra: false };
            if let Some(skip) = skip.filter(|motion| is_inside(before, at, *motion)) {
                let moved = moved(before, at, skip);
                if difference(&luma, &moved.0) < 16 * 256 {
                    let coded = Coded::of(&luma, &chroma, &moved, quantiser, false);
                    if coded.is_nothing() {
                        return (skip, 0, coded, true, predicted);
                    }
                }
            }
            let (motion, cost) = self.search(before, &luma, at, predicted);
            let coded = Coded::of(&luma, &chroma, &moved(before, at, motion), quantiser, false);
            let is_skip = coded.is_nothing() && skip == Some(motion);
            (motion, cost, coded, is_skip, predicted)
        });
        match inter {
            Some((motion, _, coded, true, _)) => {
                self.skipped += 1;
                self.keep(column, row, &coded);
                Done { motion: Some(motion), ..Done::default() }
            }
            Some((motion, cost, coded, _, predicted)) => {
                let (mode, pixels) = self.intra_luma(column, row, &luma);
                if difference(&luma, &pixels) + INTRA_COST < cost {
                    return self.put_intra(column, row, (mode, pixels), &luma, &chroma);
                }
                self.put_inter(column, row, motion, predicted, &coded)
            }
            None => {
                let prediction = self.intra_luma(column, row, &luma);
                self.put_intra(column, row, prediction, &luma, &chroma)
            }
        }
    }

    fn put_inter(&mut self, column: usize, row: usize, motion: [i32; 2], predicted: [i32; 2], coded: &Coded) -> Done {
        self.keep(column, row, coded);
        self.bits.ue(std::mem::take(&mut self.skipped));
        self.bits.ue(0);
        for axis in 0..2 {
            self.bits.se(4 * (motion[axis] - predicted[axis]));
        }
        let pattern = coded.luma_pattern() | coded.chroma_pattern() << 4;
        let code = PATTERNS.iter().position(|p| *p == pattern).unwrap_or_default();
        self.bits.ue(code as u32);
        if pattern > 0 {
            self.bits.se(0);
        }
        self.put_blocks(column, row, coded, pattern, Some(motion))
    }

    fn put_intra(&mut self, column: usize, row: usize, (mode, pixels): (u32, Luma), luma: &Luma, chroma: &Chroma) -> Done {
        let (chroma_mode, chroma_pixels) = self.intra_chroma(column, row, chroma);
        let quantiser = Quantiser { qp: self.quantiser, intra: true };
        let coded = Coded::of(luma, chroma, &(pixels, chroma_pixels), quantiser, true);
        self.keep(column, row, &coded);
        let luma_pattern = if coded.luma_pattern() > 0 { 15 } else { 0 };
        let chroma_pattern = coded.chroma_pattern();
        let kind = 1 + mode + 4 * u32::from(chroma_pattern) + if luma_pattern > 0 { 12 } else { 0 };
        if self.before.is_some() {
            self.bits.ue(std::mem::take(&mut self.skipped));
            self.bits.ue(5 + kind);
        } else {
            self.bits.ue(kind);
        }
        self.bits.ue(chroma_mode);
        self.bits.se(0);
        self.put_blocks(column, row, &coded, luma_pattern | chroma_pattern << 4, None)
    }

    /// Sends all coefficients of a macroblock.
    fn put_blocks(&mut self, column: usize, row: usize, coded: &Coded, pattern: u8, motion: Option<[i32; 2]>) -> Done {
        let mut done = Done { motion, ..Done::default() };
        if let Some(dc) = &coded.luma_dc {
            let context = self.luma_context(column, row, [0, 0], &done);
            put_block(&mut self.bits, dc, context);
        }
        let first = usize::from(coded.luma_dc.is_some());
        for (b, [x, y]) in BLOCK_ORDER.into_iter().enumerate().filter(|(b, _)| pattern >> (b / 4) & 1 == 1) {
            let context = self.luma_context(column, row, [x, y], &done);
            done.luma[4 * y + x] = put_block(&mut self.bits, &coded.luma[b][first..], context);
        }
        if pattern >> 4 > 0 {
            for dc in &coded.chroma_dc {
                put_block(&mut self.bits, dc, Context::ChromaDc);
            }
        }
        if pattern >> 4 == 2 {
            for plane in 0..2 {
                for b in 0..4 {
                    let context = self.chroma_context(column, row, plane, [b % 2, b / 2], &done);
                    done.chroma[plane][b] = put_block(&mut self.bits, &coded.chroma[plane][b][1..], context);
                }
            }
        }
        done
    }

    fn neighbour(&self, column: usize, row: usize, step: [isize; 2]) -> Option<&Done> {
        let x = column.checked_add_signed(step[0]).filter(|x| *x < self.columns)?;
        let y = row.checked_add_signed(step[1])?;
        self.done.get(y * self.columns + x)
    }

    fn luma_context(&self, column: usize, row: usize, [x, y]: [usize; 2], own: &Done) -> Context {
        let left =
            if x > 0 { Some(own.luma[4 * y + x - 1]) } else { self.neighbour(column, row, [-1, 0]).map(|done| done.luma[4 * y + 3]) };
        let above = if y > 0 { Some(own.luma[4 * y + x - 4]) } else { self.neighbour(column, row, [0, -1]).map(|done| done.luma[12 + x]) };
        mean(left, above)
    }

    fn chroma_context(&self, column: usize, row: usize, plane: usize, [x, y]: [usize; 2], own: &Done) -> Context {
        let of = |done: &Done, x: usize, y: usize| done.chroma[plane][2 * y + x];
        let left = if x > 0 { Some(of(own, 0, y)) } else { self.neighbour(column, row, [-1, 0]).map(|done| of(done, 1, y)) };
        let above = if y > 0 { Some(of(own, x, 0)) } else { self.neighbour(column, row, [0, -1]).map(|done| of(done, x, 1)) };
        mean(left, above)
    }

    /// The median of the motions around (8.4.1.3).
    fn predicted_motion(&self, column: usize, row: usize) -> [i32; 2] {
        let [left, above, right] = [[-1, 0], [0, -1], [1, -1]].map(|step| self.neighbour(column, row, step));
        let right = right.or_else(|| self.neighbour(column, row, [-1, -1]));
        let motions = [left, above, right].map(|done| done.and_then(|done| done.motion));
        if above.is_none() && right.is_none() && left.is_some() {
            return motions[0].unwrap_or_default();
        }
        match motions {
            [Some(only), None, None] | [None, Some(only), None] | [None, None, Some(only)] => only,
            _ => std::array::from_fn(|axis| {
                let mut three = motions.map(|motion| motion.unwrap_or_default()[axis]);
                three.sort_unstable();
                three[1]
            }),
        }
    }

    /// The motion of a macroblock that is skipped (8.4.1.1).
    fn skip_motion(&self, column: usize, row: usize) -> Option<[i32; 2]> {
        let around = [[-1, 0], [0, -1]].map(|step| self.neighbour(column, row, step));
        let rests = |done: Option<&Done>| done.is_none_or(|done| done.motion == Some([0, 0]));
        Some(if around.iter().any(|done| rests(*done)) { [0, 0] } else { self.predicted_motion(column, row) })
    }

    /// Searches a motion that fits well, in whole pixels within the picture, and gives it with its cost.
    fn search(&self, before: &Planes, luma: &Luma, at: [usize; 2], predicted: [i32; 2]) -> ([i32; 2], u32) {
        let cost = |motion: [i32; 2]| {
            let bits = |axis: usize| 2 * (8 * (motion[axis] - predicted[axis])).unsigned_abs().max(1).ilog2() + 1;
            luma_difference(before, luma, at, motion) + BIT_COST * (bits(0) + bits(1))
        };
        let mut best = ([0, 0], cost([0, 0]));
        let look = |motion: [i32; 2], best: &mut ([i32; 2], u32)| {
            if motion != best.0 && is_inside(before, at, motion) {
                let found = cost(motion);
                if found < best.1 {
                    *best = (motion, found);
                }
            }
        };
        look(predicted, &mut best);
        for step in [8, 4, 2, 1] {
            for _ in 0..8 {
                let [x, y] = best.0;
                let from = best.0;
                for (dx, dy) in [(-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (1, -1), (-1, 1), (1, 1)] {
                    look([x + dx * step, y + dy * step], &mut best);
                }
                if best.0 == from {
                    break;
                }
            }
        }
        best
    }

    /// The pixels left of and above a block of a plane, if there are any in the slice.
    fn edges<const N: usize>(&self, plane: usize, column: usize, row: usize) -> [Option<[u8; N]>; 2] {
        let (stride, pixels) = (N * self.columns, &self.planes[plane]);
        let (x, y) = (N * column, N * row);
        let left = (column > 0).then(|| std::array::from_fn(|i| pixels[(y + i) * stride + x - 1]));
        let above = (row > 0).then(|| std::array::from_fn(|i| pixels[(y - 1) * stride + x + i]));
        [left, above]
    }

    /// Chooses the best prediction of luma: the pixels above, the pixels to the left, or the mean of both (8.3.3).
    /// Gives its number and pixels.
    fn intra_luma(&self, column: usize, row: usize, luma: &Luma) -> (u32, Luma) {
        let [left, above] = self.edges::<16>(0, column, row);
        let sum = |edge: &Option<[u8; 16]>| edge.map(|edge| edge.iter().map(|p| u32::from(*p)).sum::<u32>());
        let mean = match (sum(&left), sum(&above)) {
            (Some(a), Some(b)) => (a + b + 16) >> 5,
            (Some(a), None) | (None, Some(a)) => (a + 8) >> 4,
            (None, None) => 128,
        };
        let mut best = (2, [mean as u8; 256]);
        let mut least = difference(luma, &best.1);
        let vertical = above.map(|edge| (0, std::array::from_fn(|i| edge[i % 16])));
        let horizontal = left.map(|edge| (1, std::array::from_fn(|i| edge[i / 16])));
        for (mode, pixels) in [vertical, horizontal].into_iter().flatten() {
            let found = difference(luma, &pixels);
            if found < least {
                (best, least) = ((mode, pixels), found);
            }
        }
        best
    }

    /// Chooses the best prediction of chroma (8.3.4), whose means are taken in its 4x4 blocks.
    fn intra_chroma(&self, column: usize, row: usize, chroma: &Chroma) -> (u32, Chroma) {
        let edges = [1, 2].map(|plane| self.edges::<8>(plane, column, row));
        let means = edges.map(|[left, above]| {
            let part =
                |edge: Option<[u8; 8]>, half: usize| edge.map(|e| e[4 * half..4 * half + 4].iter().map(|p| u32::from(*p)).sum::<u32>());
            let block = |x: usize, y: usize| {
                let (left, above) = (part(left, y), part(above, x));
                // Off the diagonal the nearer edge counts alone.
                let (first, second) = if (x, y) == (1, 0) { (above, left) } else { (left, above) };
                let mean = match (first, second) {
                    (Some(a), Some(b)) if x == y => (a + b + 4) >> 3,
                    (Some(a), _) | (None, Some(a)) => (a + 2) >> 2,
                    (None, None) => 128,
                };
                mean as u8
            };
            let blocks = [block(0, 0), block(1, 0), block(0, 1), block(1, 1)];
            std::array::from_fn(|i| blocks[i / 32 * 2 + i % 8 / 4])
        });
        let mut best = (0, means);
        let cost = |pixels: &Chroma| (0..2).map(|p| difference(&chroma[p], &pixels[p])).sum::<u32>();
        let mut least = cost(&means);
        let [[left_u, above_u], [left_v, above_v]] = edges;
        let horizontal = left_u.zip(left_v).map(|(u, v)| (1, [u, v].map(|edge| std::array::from_fn(|i| edge[i / 8]))));
        let vertical = above_u.zip(above_v).map(|(u, v)| (2, [u, v].map(|edge| std::array::from_fn(|i| edge[i % 8]))));
        for (mode, pixels) in [horizontal, vertical].into_iter().flatten() {
            let found = cost(&pixels);
            if found < least {
                (best, least) = ((mode, pixels), found);
            }
        }
        best
    }

    /// Stores the pixels as a decoder has them.
    fn keep(&mut self, column: usize, row: usize, coded: &Coded) {
        let columns = self.columns;
        let mut put = |plane: usize, width: usize, pixels: &[u8]| {
            for (i, line) in pixels.chunks_exact(width).enumerate() {
                let at = (width * row + i) * width * columns + width * column;
                self.planes[plane][at..at + width].copy_from_slice(line);
            }
        };
        put(0, 16, &coded.pixels);
        put(1, 8, &coded.chroma_pixels[0]);
        put(2, 8, &coded.chroma_pixels[1]);
    }
}

impl Coded {
    /// Transforms the difference of a macroblock from its prediction. With `apart` the first coefficients of the luma
    /// blocks are sent apart.
    fn of(luma: &Luma, chroma: &Chroma, prediction: &(Luma, Chroma), quantiser: Quantiser, apart: bool) -> Self {
        let mut coded = Self {
            luma_dc: None,
            luma: [[0; 16]; 16],
            chroma_dc: [[0; 4]; 2],
            chroma: [[[0; 16]; 4]; 2],
            pixels: prediction.0,
            chroma_pixels: prediction.1,
        };
        let coefficients = BLOCK_ORDER.map(|[x, y]| forward(&block_difference::<16>(luma, &prediction.0, x, y)));
        let mut dc = [0; 16];
        if apart {
            BLOCK_ORDER.iter().zip(&coefficients).for_each(|([x, y], block)| dc[4 * y + x] = block[0]);
            let levels = quantiser.luma_dc_levels(&dc);
            dc = quantiser.luma_dc(&levels);
            coded.luma_dc = Some(levels);
        }
        for (b, [x, y]) in BLOCK_ORDER.into_iter().enumerate() {
            coded.luma[b] = quantiser.levels(&coefficients[b], !apart);
            let mut back = quantiser.coefficients(&coded.luma[b]);
            if apart {
                back[0] = dc[4 * y + x];
            }
            add::<16>(&mut coded.pixels, &back, x, y);
        }
        let of_chroma = quantiser.of_chroma();
        for plane in 0..2 {
            let block = |b: usize| forward(&block_difference::<8>(&chroma[plane], &prediction.1[plane], b % 2, b / 2));
            let coefficients = [0, 1, 2, 3].map(block);
            coded.chroma_dc[plane] = of_chroma.chroma_dc_levels(&coefficients.map(|block| block[0]));
            let dc = of_chroma.chroma_dc(&coded.chroma_dc[plane]);
            for b in 0..4 {
                coded.chroma[plane][b] = of_chroma.levels(&coefficients[b], false);
                let mut back = of_chroma.coefficients(&coded.chroma[plane][b]);
                back[0] = dc[b];
                add::<8>(&mut coded.chroma_pixels[plane], &back, b % 2, b / 2);
            }
        }
        coded
    }

    /// The quarters of luma that have levels, as bits.
    fn luma_pattern(&self) -> u8 {
        (0..4).map(|quarter| u8::from(self.luma[4 * quarter..4 * quarter + 4].as_flattened().iter().any(|l| *l != 0)) << quarter).sum()
    }

    /// 0 if chroma has no levels, 1 if only its means have, 2 if others have.
    fn chroma_pattern(&self) -> u8 {
        match () {
            () if self.chroma.as_flattened().as_flattened().iter().any(|l| *l != 0) => 2,
            () if self.chroma_dc.as_flattened().iter().any(|l| *l != 0) => 1,
            () => 0,
        }
    }

    fn is_nothing(&self) -> bool {
        self.luma_dc.is_none() && self.luma_pattern() == 0 && self.chroma_pattern() == 0
    }
}

fn mean(left: Option<u8>, above: Option<u8>) -> Context {
    Context::Around(match (left, above) {
        (Some(a), Some(b)) => (a + b).div_ceil(2),
        (a, b) => a.or(b).unwrap_or(0),
    })
}

fn block_difference<const N: usize>(a: &[u8], b: &[u8], x: usize, y: usize) -> [i32; 16] {
    std::array::from_fn(|i| {
        let at = (4 * y + i / 4) * N + 4 * x + i % 4;
        i32::from(a[at]) - i32::from(b[at])
    })
}

fn add<const N: usize>(pixels: &mut [u8], coefficients: &[i32; 16], x: usize, y: usize) {
    if *coefficients == [0; 16] {
        return;
    }
    for (i, d) in inverse(coefficients).into_iter().enumerate() {
        let pixel = &mut pixels[(4 * y + i / 4) * N + 4 * x + i % 4];
        *pixel = (i32::from(*pixel) + d).clamp(0, 255) as u8;
    }
}

fn difference(a: &[u8], b: &[u8]) -> u32 {
    a.iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(*b))).sum()
}

fn luma_at(planes: &Planes, [column, row]: [usize; 2]) -> Luma {
    let stride = 16 * planes.size[0];
    std::array::from_fn(|i| planes.y[(16 * row + i / 16) * stride + 16 * column + i % 16])
}

fn chroma_at(planes: &Planes, [column, row]: [usize; 2]) -> Chroma {
    let stride = 8 * planes.size[0];
    [&planes.u, &planes.v].map(|plane| std::array::from_fn(|i| plane[(8 * row + i / 8) * stride + 8 * column + i % 8]))
}

/// Whether a moved macroblock, and one pixel of chroma more, lies within the picture.
fn is_inside(planes: &Planes, at: [usize; 2], motion: [i32; 2]) -> bool {
    (0..2).all(|axis| {
        let from = 16 * at[axis] as i32 + motion[axis];
        (0..=16 * planes.size[axis] as i32 - 18).contains(&from) || (motion[axis] == 0)
    })
}

fn luma_difference(planes: &Planes, luma: &Luma, [column, row]: [usize; 2], motion: [i32; 2]) -> u32 {
    let stride = 16 * planes.size[0];
    let (x, y) = ((16 * column as i32 + motion[0]) as usize, (16 * row as i32 + motion[1]) as usize);
    let lines = luma.chunks_exact(16).enumerate();
    lines.map(|(i, line)| difference(line, &planes.y[(y + i) * stride + x..][..16])).sum()
}

/// The macroblock of the previous picture at a motion; chroma is interpolated where the motion is odd (8.4.2.2.2).
fn moved(planes: &Planes, [column, row]: [usize; 2], motion: [i32; 2]) -> (Luma, Chroma) {
    let (x, y) = ((16 * column as i32 + motion[0]) as usize, (16 * row as i32 + motion[1]) as usize);
    let stride = 16 * planes.size[0];
    let luma = std::array::from_fn(|i| planes.y[(y + i / 16) * stride + x + i % 16]);
    let stride = 8 * planes.size[0];
    let (odd_x, odd_y) = (x % 2, y % 2);
    let chroma = [&planes.u, &planes.v].map(|plane| {
        std::array::from_fn(|i| {
            let at = |dx: usize, dy: usize| u32::from(plane[(y / 2 + i / 8 + dy) * stride + x / 2 + i % 8 + dx]);
            let sum = at(0, 0) + at(odd_x, 0) + at(0, odd_y) + at(odd_x, odd_y);
            ((sum + 2) / 4) as u8
        })
    });
    (luma, chroma)
}
