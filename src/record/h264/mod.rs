//! A small H.264 encoder [ITU-T H.264, sections in brackets]: constrained baseline profile, which every player knows.
//! It is made for pictures of a simulation: most of a picture stands still and costs next to nothing, the rest moves by
//! whole pixels. Macroblocks are skipped, moved as a whole from the picture before, or predicted from their left and
//! upper neighbours (16x16); the quantiser is fixed, and therefore the quality.
//!
//! A picture is cut into slices of a fixed height, encoded in parallel and independent of each other: the same bytes
//! for any number of threads.

mod bits;
mod cavlc;
mod planes;
mod slice;
mod transform;

use rayon::prelude::*;

use self::bits::{level, nal, picture_parameters, sequence_parameters};
use self::planes::Planes;
use self::slice::Slice;
use crate::math::split_mut;
use crate::render::Image;

/// The number of rows of macroblocks in a slice.
const ROWS_PER_SLICE: usize = 12;
/// The quantiser: pictures at 18 look like the original, at 28 a difference can be seen.
const QUANTISER: i32 = 23;

/// Encodes pictures of one size.
#[derive(Debug)]
pub struct Encoder {
    size: [usize; 2],
    macroblocks: [usize; 2],
    /// A key picture, which needs no other, comes after this many pictures.
    key_interval: u64,
    n: u64,
    /// The previous picture as a decoder has it.
    before: Planes,
}

/// An encoded picture: units, each with its length before it.
pub struct Packet {
    pub data: Vec<u8>,
    /// Whether the picture needs no other.
    pub is_key: bool,
}

impl Encoder {
    /// Makes an encoder; width and height must be even.
    pub fn new(size: [u32; 2], key_interval: u64) -> Self {
        let size = size.map(|n| n as usize);
        let macroblocks = size.map(|n| n.div_ceil(16));
        Self { size, macroblocks, key_interval, n: 0, before: Planes::new(macroblocks) }
    }

    /// The decoder's configuration record [ISO 14496-15, 5.2.4.1].
    pub fn configuration(&self) -> Vec<u8> {
        let sequence = sequence_parameters(self.size, self.macroblocks);
        let picture = picture_parameters(QUANTISER);
        let level = level(self.macroblocks[0] * self.macroblocks[1]);
        let mut record = vec![1, 66, 0xc0, level, 0xff, 0xe1];
        for (i, unit) in [sequence, picture].iter().enumerate() {
            if i == 1 {
                record.push(1);
            }
            record.extend_from_slice(&(unit.len() as u16).to_be_bytes());
            record.extend_from_slice(unit);
        }
        record
    }

    pub fn encode(&mut self, image: &Image) -> Packet {
        let source = Planes::of(image, self.macroblocks);
        let since_key = self.n % self.key_interval;
        let is_key = since_key == 0;
        let [columns, rows] = self.macroblocks;
        let mut now = Planes::new(self.macroblocks);
        let heights: Vec<usize> = (0..rows).step_by(ROWS_PER_SLICE).map(|first| ROWS_PER_SLICE.min(rows - first)).collect();
        let of_planes = |pixels: usize| heights.iter().map(move |height| height * columns * pixels);
        let luma = split_mut(&mut now.y, of_planes(256));
        let chroma = split_mut(&mut now.u, of_planes(64)).into_iter().zip(split_mut(&mut now.v, of_planes(64)));
        let mut slices: Vec<Slice> = luma
            .into_iter()
            .zip(chroma)
            .enumerate()
            .map(|(i, (y, (u, v)))| Slice::new(i * ROWS_PER_SLICE, [y, u, v], &source, (!is_key).then_some(&self.before), QUANTISER))
            .collect();
        let picture = self.n / self.key_interval;
        let units: Vec<Vec<u8>> =
            slices.par_iter_mut().map(|slice| nal(if is_key { 0x65 } else { 0x41 }, &slice.encode(since_key, picture))).collect();
        drop(slices);
        self.before = now;
        self.n += 1;
        let data = units.iter().flat_map(|unit| (unit.len() as u32).to_be_bytes().into_iter().chain(unit.iter().copied())).collect();
        Packet { data, is_key }
    }
}
