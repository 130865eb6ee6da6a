//! Bits of a stream, and the parameters around its pictures.

/// Bits of the number of a picture since the last key picture.
pub const FRAME_NUMBER_BITS: u32 = 8;

/// Bits in the order in which they are sent.
#[derive(Default)]
pub struct Bits {
    bytes: Vec<u8>,
    word: u64,
    n: u32,
}

impl Bits {
    /// Adds the lowest `n` bits of `value`, at most 32.
    pub fn put(&mut self, n: u32, value: u32) {
        self.word = self.word << n | u64::from(value);
        self.n += n;
        while self.n >= 8 {
            self.n -= 8;
            self.bytes.push((self.word >> self.n) as u8);
        }
    }

    /// Adds the unsigned Exp-Golomb code ue(v).
    pub fn ue(&mut self, value: u32) {
        let code = value + 1;
        let length = code.ilog2();
        self.put(length, 0);
        self.put(length + 1, code);
    }

    /// Adds the signed code se(v), which counts 0, 1, -1, 2, -2, …
    pub fn se(&mut self, value: i32) {
        self.ue(if value > 0 { 2 * value as u32 - 1 } else { 2 * value.unsigned_abs() });
    }

    /// Adds a stop bit, and zeros up to a whole byte.
    pub fn finish(mut self) -> Vec<u8> {
        self.put(1, 1);
        if self.n > 0 {
            self.put(8 - self.n, 0);
        }
        self.bytes
    }
}

/// A unit of the stream: a 3 after two zero bytes keeps start codes out of it (7.4.1).
pub fn nal(head: u8, payload: &[u8]) -> Vec<u8> {
    let mut unit = vec![head];
    let mut zeros = 0;
    for byte in payload {
        if zeros == 2 && *byte <= 3 {
            unit.push(3);
            zeros = 0;
        }
        zeros = if *byte == 0 { zeros + 1 } else { 0 };
        unit.push(*byte);
    }
    unit
}

/// A level of the standard (table A-1) that allows pictures of this many macroblocks at 30 per second.
pub fn level(macroblocks: usize) -> u8 {
    let levels = [(396, 20), (792, 22), (1620, 30), (3600, 31), (5120, 32), (8192, 40), (22080, 50), (36864, 51)];
    levels.iter().find(|(most, _)| macroblocks <= *most).map_or(62, |(_, level)| *level)
}

/// Sequence parameters (7.3.2.1) of constrained baseline profile, colours of BT.709; the picture is the upper left of
/// the macroblocks.
pub fn sequence_parameters(size: [usize; 2], macroblocks: [usize; 2]) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.put(8, 66);
    bits.put(8, 0xc0);
    bits.put(8, level(macroblocks[0] * macroblocks[1]).into());
    bits.ue(0);
    bits.ue(FRAME_NUMBER_BITS - 4);
    bits.ue(2); // pictures come in the order in which they are shown
    bits.ue(1); // one reference picture
    bits.put(1, 0);
    bits.ue(macroblocks[0] as u32 - 1);
    bits.ue(macroblocks[1] as u32 - 1);
    bits.put(2, 0b11); // whole frames
    let crop = [0, 1].map(|axis| (16 * macroblocks[axis] - size[axis]) as u32 / 2);
    bits.put(1, u32::from(crop != [0, 0]));
    if crop != [0, 0] {
        [0, crop[0], 0, crop[1]].into_iter().for_each(|c| bits.ue(c));
    }
    bits.put(1, 1); // usability information follows
    bits.put(2, 0);
    bits.put(1, 1);
    bits.put(3, 5);
    bits.put(1, 0); // luma from 16 to 235
    bits.put(1, 1);
    [1, 1, 1].into_iter().for_each(|bt709| bits.put(8, bt709));
    bits.put(5, 0); // no chroma location, timing, buffering, fields
    bits.put(1, 1); // bounds: nothing is reordered
    bits.put(1, 1);
    [0, 0, 10, 10, 0, 1].into_iter().for_each(|bound| bits.ue(bound));
    nal(0x67, &bits.finish())
}

/// Picture parameters (7.3.2.2): CAVLC, a fixed quantiser.
pub fn picture_parameters(quantiser: i32) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.ue(0);
    bits.ue(0);
    bits.put(2, 0);
    bits.ue(0);
    bits.ue(0);
    bits.ue(0);
    bits.put(3, 0);
    bits.se(quantiser - 26);
    bits.se(0);
    bits.se(0);
    bits.put(3, 0b100); // slices say whether they are filtered
    nal(0x68, &bits.finish())
}
