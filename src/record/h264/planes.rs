//! Pictures as an encoder takes them.

use rayon::prelude::*;

use crate::render::Image;

/// Luma and the two chroma planes, of whole macroblocks.
#[derive(Clone, Debug)]
pub struct Planes {
    /// Macroblocks in a row, and rows.
    pub size: [usize; 2],
    pub y: Vec<u8>,
    pub u: Vec<u8>,
    pub v: Vec<u8>,
}

impl Planes {
    pub fn new(size: [usize; 2]) -> Self {
        let n = size[0] * size[1];
        Self { size, y: vec![0; 256 * n], u: vec![0; 64 * n], v: vec![0; 64 * n] }
    }

    /// A picture in Y'CbCr of BT.709, luma from 16 to 235, chroma of each four pixels together; its last column and row
    /// are repeated.
    pub fn of(image: &Image, size: [usize; 2]) -> Self {
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
