//! The 4x4 integer transform and its quantiser (8.5).

/// Raster places of the coefficients in the order in which they are sent.
pub const ZIGZAG: [usize; 16] = [0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15];

/// Factors by the quantiser modulo 6, for places (even, even), (odd, odd) and others.
const FORWARD_FACTORS: [[i32; 3]; 6] =
    [[13107, 5243, 8066], [11916, 4660, 7490], [10082, 4194, 6554], [9362, 3647, 5825], [8192, 3355, 5243], [7282, 2893, 4559]];
const INVERSE_FACTORS: [[i32; 3]; 6] = [[10, 16, 13], [11, 18, 14], [13, 20, 16], [14, 23, 18], [16, 25, 20], [18, 29, 23]];

fn class(place: usize) -> usize {
    match (place % 2, place / 4 % 2) {
        (0, 0) => 0,
        (1, 1) => 1,
        _ => 2,
    }
}

/// A quantiser from 0 to 51, and how it rounds: towards zero, and more so in blocks predicted from another picture.
#[derive(Clone, Copy, Debug)]
pub struct Quantiser {
    pub qp: i32,
    pub intra: bool,
}

impl Quantiser {
    /// The quantiser of chroma (table 8-15).
    pub fn of_chroma(self) -> Self {
        const HIGH: [i32; 22] = [29, 30, 31, 32, 32, 33, 34, 34, 35, 35, 36, 36, 37, 37, 37, 38, 38, 38, 39, 39, 39, 39];
        Self { qp: if self.qp < 30 { self.qp } else { HIGH[self.qp as usize - 30] }, ..self }
    }

    fn level(self, coefficient: i32, factor: i32, more: i32) -> i32 {
        let shift = 15 + self.qp / 6 + more;
        let rounding = (1 << shift) / if self.intra { 3 } else { 6 };
        let level = (coefficient.abs() * factor + rounding) >> shift;
        if coefficient < 0 { -level } else { level }
    }

    /// The levels of coefficients in the order of sending; the first is left out (0) where it is sent apart.
    pub fn levels(self, coefficients: &[i32; 16], with_first: bool) -> [i32; 16] {
        let factors = FORWARD_FACTORS[self.qp as usize % 6];
        std::array::from_fn(|i| {
            let place = ZIGZAG[i];
            if i == 0 && !with_first { 0 } else { self.level(coefficients[place], factors[class(place)], 0) }
        })
    }

    /// The coefficients of levels.
    pub fn coefficients(self, levels: &[i32; 16]) -> [i32; 16] {
        let factors = INVERSE_FACTORS[self.qp as usize % 6];
        let mut coefficients = [0; 16];
        for (i, level) in levels.iter().enumerate() {
            coefficients[ZIGZAG[i]] = (level * factors[class(ZIGZAG[i])]) << (self.qp / 6);
        }
        coefficients
    }

    /// The levels of the 16 first coefficients of the luma blocks of a macroblock, which stand at the places of the
    /// blocks, in the order of sending.
    pub fn luma_dc_levels(self, dc: &[i32; 16]) -> [i32; 16] {
        let factor = FORWARD_FACTORS[self.qp as usize % 6][0];
        let mixed = hadamard(dc).map(|x| (x + 1) >> 1);
        std::array::from_fn(|i| self.level(mixed[ZIGZAG[i]], factor, 1))
    }

    pub fn luma_dc(self, levels: &[i32; 16]) -> [i32; 16] {
        let mut placed = [0; 16];
        levels.iter().enumerate().for_each(|(i, level)| placed[ZIGZAG[i]] = *level);
        let (factor, shift) = (16 * INVERSE_FACTORS[self.qp as usize % 6][0], self.qp / 6);
        hadamard(&placed).map(|f| if shift >= 6 { (f * factor) << (shift - 6) } else { (f * factor + (1 << (5 - shift))) >> (6 - shift) })
    }

    pub fn chroma_dc_levels(self, dc: &[i32; 4]) -> [i32; 4] {
        hadamard_2(dc).map(|x| self.level(x, FORWARD_FACTORS[self.qp as usize % 6][0], 1))
    }

    pub fn chroma_dc(self, levels: &[i32; 4]) -> [i32; 4] {
        hadamard_2(levels).map(|f| ((f * 16 * INVERSE_FACTORS[self.qp as usize % 6][0]) << (self.qp / 6)) >> 5)
    }
}

fn hadamard(a: &[i32; 16]) -> [i32; 16] {
    let mut b = *a;
    for (start, step) in [(4, 1), (1, 4)] {
        for line in 0..4 {
            let at = |k: usize| line * start + k * step;
            let [p, q, r, s] = [0, 1, 2, 3].map(|k| b[at(k)]);
            [b[at(0)], b[at(1)], b[at(2)], b[at(3)]] = [p + q + r + s, p + q - r - s, p - q - r + s, p - q + r - s];
        }
    }
    b
}

fn hadamard_2([a, b, c, d]: &[i32; 4]) -> [i32; 4] {
    [a + b + c + d, a - b + c - d, a + b - c - d, a - b - c + d]
}

/// The coefficients of a block of differences.
pub fn forward(block: &[i32; 16]) -> [i32; 16] {
    let mut b = *block;
    for (start, step) in [(4, 1), (1, 4)] {
        for line in 0..4 {
            let at = |k: usize| line * start + k * step;
            let [p, q, r, s] = [0, 1, 2, 3].map(|k| b[at(k)]);
            let (even, odd) = ([p + s, q + r], [p - s, q - r]);
            [b[at(0)], b[at(1)], b[at(2)], b[at(3)]] = [even[0] + even[1], 2 * odd[0] + odd[1], even[0] - even[1], odd[0] - 2 * odd[1]];
        }
    }
    b
}

/// The differences of a block of coefficients, to the bit as every decoder has them.
pub fn inverse(coefficients: &[i32; 16]) -> [i32; 16] {
    let mut b = *coefficients;
    for (start, step) in [(4, 1), (1, 4)] {
        for line in 0..4 {
            let at = |k: usize| line * start + k * step;
            let [p, q, r, s] = [0, 1, 2, 3].map(|k| b[at(k)]);
            let (e, f, g, h) = (p + r, p - r, (q >> 1) - s, q + (s >> 1));
            [b[at(0)], b[at(1)], b[at(2)], b[at(3)]] = [e + h, f + g, f - g, e - h];
        }
    }
    b.map(|x| (x + 32) >> 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_comes_back_within_the_step() {
        let block: [i32; 16] = std::array::from_fn(|i| ((i * 37 + 11) % 64) as i32 - 30);
        for (qp, most) in [(16, 4), (22, 7), (28, 14)] {
            let quantiser = Quantiser { qp, intra: true };
            let levels = quantiser.levels(&forward(&block), true);
            let back = inverse(&quantiser.coefficients(&levels));
            let worst = block.iter().zip(back).map(|(a, b)| (a - b).abs()).max().unwrap();
            assert!(worst <= most, "{qp}: {worst}");
            // With the first coefficients apart, as in a macroblock that is predicted from itself.
            let dc = forward(&block)[0];
            let levels = quantiser.luma_dc_levels(&[dc; 16]);
            let back = quantiser.luma_dc(&levels);
            let step = 64 * most;
            assert!(back.iter().all(|b| (b - 4 * dc).abs() <= step), "{qp} {dc} {back:?}");
            let chroma = quantiser.chroma_dc(&quantiser.chroma_dc_levels(&[dc; 4]));
            assert!(chroma.iter().all(|b| (b - 4 * dc).abs() <= step), "{qp} {dc} {chroma:?}");
        }
    }
}
