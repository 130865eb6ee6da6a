//! A small H.264 encoder [ITU-T H.264, sections in brackets]: constrained baseline profile, which every player knows.
//! It is made for pictures of a simulation: most of a picture stands still and costs next to nothing, the rest moves by
//! whole pixels. Macroblocks are skipped, moved as a whole from the picture before, or predicted from their left and
//! upper neighbours (16x16); the quantiser is fixed, and therefore the quality.
//!
//! A picture is cut into slices of a fixed height, encoded in parallel and independent of each other: the same bytes
//! for any number of threads.

mod bits;
mod cavlc;
mod slice;
mod transform;

use rayon::prelude::*;

use self::bits::{level, nal, picture_parameters, sequence_parameters};
use self::slice::Slice;
use crate::math::split_mut;
use crate::render::Image;

const FRAME_NUMBER_BITS: u32 = 8;
/// The number of rows of macroblocks in a slice.
const SLICE: usize = 12;
/// The quantiser: pictures at 18 look like the original, at 28 a difference can be seen.
const QUANTISER: i32 = 23;

/// Luma and the two chroma planes, of whole macroblocks.
#[derive(Clone, Debug)]
struct Planes {
    /// Macroblocks in a row, and rows.
    size: [usize; 2],
    y: Vec<u8>,
    u: Vec<u8>,
    v: Vec<u8>,
}

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
        let heights: Vec<usize> = (0..rows).step_by(SLICE).map(|first| SLICE.min(rows - first)).collect();
        let of_planes = |pixels: usize| heights.iter().map(move |height| height * columns * pixels);
        let luma = split_mut(&mut now.y, of_planes(256));
        let chroma = split_mut(&mut now.u, of_planes(64)).into_iter().zip(split_mut(&mut now.v, of_planes(64)));
        let mut slices: Vec<Slice> = luma
            .into_iter()
            .zip(chroma)
            .enumerate()
            .map(|(i, (y, (u, v)))| Slice::new(i * SLICE, [y, u, v], &source, (!is_key).then_some(&self.before), QUANTISER))
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

impl Planes {
    fn new(size: [usize; 2]) -> Self {
        let n = size[0] * size[1];
        Self { size, y: vec![0; 256 * n], u: vec![0; 64 * n], v: vec![0; 64 * n] }
    }

    /// A picture in Y'CbCr of BT.709, luma from 16 to 235, chroma of each four pixels together; its last column and row
    /// are repeated.
    fn of(image: &Image, size: [usize; 2]) -> Self {
        let mut planes = Self::new(size);
        let (width, height) = (image.width as usize, image.height as usize);
        let pixel = |x: usize, y: usize| {
            let at = 4 * (y.min(height - 1) * width + x.min(width - 1));
            [image.pixels[at], image.pixels[at + 1], image.pixels[at + 2]].map(i32::from)
        };
        let columns = 8 * size[0];
        let lines = planes.y.par_chunks_mut(4 * columns).zip(planes.u.par_chunks_mut(columns).zip(planes.v.par_chunks_mut(columns)));
        lines.enumerate().for_each(|(line, (y, (u, v)))| {
            for x in 0..columns {
                let four = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(i, j)| (i, j, pixel(2 * x + i, 2 * line + j)));
                // Weights in parts of 2^16, each row summing up to 219 / 255, or to 0.
                for (i, j, [r, g, b]) in four {
                    y[2 * columns * j + 2 * x + i] = (16 + ((11_966 * r + 40_254 * g + 4_064 * b + (1 << 15)) >> 16)) as u8;
                }
                let [r, g, b] = [0, 1, 2].map(|c| four.iter().map(|(_, _, pixel)| pixel[c]).sum::<i32>());
                u[x] = (128 + ((-6_596 * r - 22_189 * g + 28_785 * b + (1 << 17)) >> 18)).clamp(0, 255) as u8;
                v[x] = (128 + ((28_784 * r - 26_145 * g - 2_639 * b + (1 << 17)) >> 18)).clamp(0, 255) as u8;
            }
        });
        planes
    }
}
