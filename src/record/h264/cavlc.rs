//! Context-adaptive variable-length codes of transform coefficients (9.2).

use super::bits::Bits;

/// Lengths and values of the codes of (number of coefficients, trailing ones), at `4 * coefficients + ones`, for each
/// range of the context (table 9-5).
const TOKEN_LENGTHS: [[u8; 68]; 3] = [
    [
        1, 0, 0, 0, 6, 2, 0, 0, 8, 6, 3, 0, 9, 8, 7, 5, 10, 9, 8, 6, 11, 10, 9, 7, 13, 11, 10, 8, 13, 13, 11, 9, 13, 13, 13, 10, 14, 14,
        13, 11, 14, 14, 14, 13, 15, 15, 14, 14, 15, 15, 15, 14, 16, 15, 15, 15, 16, 16, 16, 15, 16, 16, 16, 16, 16, 16, 16, 16,
    ],
    [
        2, 0, 0, 0, 6, 2, 0, 0, 6, 5, 3, 0, 7, 6, 6, 4, 8, 6, 6, 4, 8, 7, 7, 5, 9, 8, 8, 6, 11, 9, 9, 6, 11, 11, 11, 7, 12, 11, 11, 9, 12,
        12, 12, 11, 12, 12, 12, 11, 13, 13, 13, 12, 13, 13, 13, 13, 13, 14, 13, 13, 14, 14, 14, 13, 14, 14, 14, 14,
    ],
    [
        4, 0, 0, 0, 6, 4, 0, 0, 6, 5, 4, 0, 6, 5, 5, 4, 7, 5, 5, 4, 7, 5, 5, 4, 7, 6, 6, 4, 7, 6, 6, 4, 8, 7, 7, 5, 8, 8, 7, 6, 9, 8, 8, 7,
        9, 9, 8, 8, 9, 9, 9, 8, 10, 9, 9, 9, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10,
    ],
];
const TOKENS: [[u8; 68]; 3] = [
    [
        1, 0, 0, 0, 5, 1, 0, 0, 7, 4, 1, 0, 7, 6, 5, 3, 7, 6, 5, 3, 7, 6, 5, 4, 15, 6, 5, 4, 11, 14, 5, 4, 8, 10, 13, 4, 15, 14, 9, 4, 11,
        10, 13, 12, 15, 14, 9, 12, 11, 10, 13, 8, 15, 1, 9, 12, 11, 14, 13, 8, 7, 10, 9, 12, 4, 6, 5, 8,
    ],
    [
        3, 0, 0, 0, 11, 2, 0, 0, 7, 7, 3, 0, 7, 10, 9, 5, 7, 6, 5, 4, 4, 6, 5, 6, 7, 6, 5, 8, 15, 6, 5, 4, 11, 14, 13, 4, 15, 10, 9, 4, 11,
        14, 13, 12, 8, 10, 9, 8, 15, 14, 13, 12, 11, 10, 9, 12, 7, 11, 6, 8, 9, 8, 10, 1, 7, 6, 5, 4,
    ],
    [
        15, 0, 0, 0, 15, 14, 0, 0, 11, 15, 13, 0, 8, 12, 14, 12, 15, 10, 11, 11, 11, 8, 9, 10, 9, 14, 13, 9, 8, 10, 9, 8, 15, 14, 13, 13,
        11, 14, 10, 12, 15, 10, 13, 12, 11, 14, 9, 12, 8, 10, 13, 8, 13, 7, 9, 12, 9, 12, 11, 10, 5, 8, 7, 6, 1, 4, 3, 2,
    ],
];
/// Lengths and values of these codes for the four DC coefficients of chroma.
const CHROMA_TOKEN_LENGTHS: [u8; 20] = [2, 0, 0, 0, 6, 1, 0, 0, 6, 6, 3, 0, 6, 7, 7, 6, 6, 8, 8, 7];
const CHROMA_TOKENS: [u8; 20] = [1, 0, 0, 0, 7, 1, 0, 0, 4, 6, 1, 0, 3, 3, 2, 5, 2, 3, 2, 0];

/// Codes (length, value) of the zeros before the last coefficient, by the number of coefficients less one (tables 9-7,
/// 9-8).
const ZEROS: [&[(u8, u8)]; 15] = [
    &[(1, 1), (3, 3), (3, 2), (4, 3), (4, 2), (5, 3), (5, 2), (6, 3), (6, 2), (7, 3), (7, 2), (8, 3), (8, 2), (9, 3), (9, 2), (9, 1)],
    &[(3, 7), (3, 6), (3, 5), (3, 4), (3, 3), (4, 5), (4, 4), (4, 3), (4, 2), (5, 3), (5, 2), (6, 3), (6, 2), (6, 1), (6, 0)],
    &[(4, 5), (3, 7), (3, 6), (3, 5), (4, 4), (4, 3), (3, 4), (3, 3), (4, 2), (5, 3), (5, 2), (6, 1), (5, 1), (6, 0)],
    &[(5, 3), (3, 7), (4, 5), (4, 4), (3, 6), (3, 5), (3, 4), (4, 3), (3, 3), (4, 2), (5, 2), (5, 1), (5, 0)],
    &[(4, 5), (4, 4), (4, 3), (3, 7), (3, 6), (3, 5), (3, 4), (3, 3), (4, 2), (5, 1), (4, 1), (5, 0)],
    &[(6, 1), (5, 1), (3, 7), (3, 6), (3, 5), (3, 4), (3, 3), (3, 2), (4, 1), (3, 1), (6, 0)],
    &[(6, 1), (5, 1), (3, 5), (3, 4), (3, 3), (2, 3), (3, 2), (4, 1), (3, 1), (6, 0)],
    &[(6, 1), (4, 1), (5, 1), (3, 3), (2, 3), (2, 2), (3, 2), (3, 1), (6, 0)],
    &[(6, 1), (6, 0), (4, 1), (2, 3), (2, 2), (3, 1), (2, 1), (5, 1)],
    &[(5, 1), (5, 0), (3, 1), (2, 3), (2, 2), (2, 1), (4, 1)],
    &[(4, 0), (4, 1), (3, 1), (3, 2), (1, 1), (3, 3)],
    &[(4, 0), (4, 1), (2, 1), (1, 1), (3, 1)],
    &[(3, 0), (3, 1), (1, 1), (2, 1)],
    &[(2, 0), (2, 1), (1, 1)],
    &[(1, 0), (1, 1)],
];
const CHROMA_ZEROS: [&[(u8, u8)]; 3] = [&[(1, 1), (2, 1), (3, 1), (3, 0)], &[(1, 1), (2, 1), (2, 0)], &[(1, 1), (1, 0)]];

/// Codes of the zeros before a coefficient, by the zeros that are left less one (table 9-10).
const RUNS: [&[(u8, u8)]; 7] = [
    &[(1, 1), (1, 0)],
    &[(1, 1), (2, 1), (2, 0)],
    &[(2, 3), (2, 2), (2, 1), (2, 0)],
    &[(2, 3), (2, 2), (2, 1), (3, 1), (3, 0)],
    &[(2, 3), (2, 2), (3, 3), (3, 2), (3, 1), (3, 0)],
    &[(2, 3), (3, 0), (3, 1), (3, 3), (3, 2), (3, 5), (3, 4)],
    &[(3, 7), (3, 6), (3, 5), (3, 4), (3, 3), (3, 2), (3, 1), (4, 1), (5, 1), (6, 1), (7, 1), (8, 1), (9, 1), (10, 1), (11, 1)],
];

/// The mean number of coefficients of the blocks around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    Around(u8),
    ChromaDc,
}

/// Sends the coefficients of a block in scan order and counts those that are not zero.
pub fn put_block(bits: &mut Bits, levels: &[i32], context: Context) -> u8 {
    // From the last to the first, each with the zeros before it.
    let mut coefficients: Vec<(i32, usize)> = Vec::with_capacity(16);
    let mut run = 0;
    for level in levels {
        if *level == 0 {
            run += 1;
        } else {
            coefficients.push((*level, run));
            run = 0;
        }
    }
    coefficients.reverse();
    let total = coefficients.len();
    let ones = coefficients.iter().take(3).take_while(|(level, _)| level.abs() == 1).count();
    put_token(bits, total, ones, context);
    for (level, _) in &coefficients[..ones] {
        bits.put(1, u32::from(*level < 0));
    }
    put_levels(bits, &coefficients[ones..], total, ones);
    let mut zeros: usize = coefficients.iter().map(|(_, run)| run).sum();
    if total > 0 && total < levels.len() {
        let codes = if context == Context::ChromaDc { CHROMA_ZEROS[total - 1] } else { ZEROS[total - 1] };
        put_code(bits, codes[zeros]);
    }
    for (_, run) in coefficients.iter().take(total.saturating_sub(1)) {
        if zeros == 0 {
            break;
        }
        put_code(bits, RUNS[zeros.min(7) - 1][*run]);
        zeros -= run;
    }
    total as u8
}

fn put_code(bits: &mut Bits, (length, value): (u8, u8)) {
    bits.put(length.into(), value.into());
}

fn put_token(bits: &mut Bits, total: usize, ones: usize, context: Context) {
    let at = 4 * total + ones;
    let table = match context {
        Context::ChromaDc => return put_code(bits, (CHROMA_TOKEN_LENGTHS[at], CHROMA_TOKENS[at])),
        Context::Around(0..=1) => 0,
        Context::Around(2..=3) => 1,
        Context::Around(4..=7) => 2,
        Context::Around(_) => return bits.put(6, if total == 0 { 3 } else { (4 * (total - 1) + ones) as u32 }),
    };
    put_code(bits, (TOKEN_LENGTHS[table][at], TOKENS[table][at]));
}

/// The levels after the trailing ones (9.2.2.1).
fn put_levels(bits: &mut Bits, coefficients: &[(i32, usize)], total: usize, ones: usize) {
    let mut suffix = u32::from(total > 10 && ones < 3);
    for (i, (level, _)) in coefficients.iter().enumerate() {
        let mut code = 2 * level.unsigned_abs() - 2 + u32::from(*level < 0);
        if i == 0 && ones < 3 {
            code -= 2; // a level of one would be another trailing one
        }
        let (prefix, length, value) = match (suffix, code) {
            (0, 0..14) => (code, 0, 0),
            (0, 14..30) => (14, 4, code - 14),
            (0, _) => (15, 12, code - 30),
            (_, _) if code < 15 << suffix => (code >> suffix, suffix, code & ((1 << suffix) - 1)),
            _ => (15, 12, code - (15 << suffix)),
        };
        bits.put(prefix + 1, 1);
        bits.put(length, value);
        suffix = suffix.max(1);
        if level.unsigned_abs() > 3 << (suffix - 1) && suffix < 6 {
            suffix += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether no code is the start of another, and the share of all bit strings that begin with one of them, times
    /// 2^16.
    fn share(codes: &[(u8, u8)]) -> u32 {
        for (i, (length, value)) in codes.iter().enumerate() {
            for (other, longer) in codes.iter().skip(i + 1).chain(&codes[..i]).filter(|(other, _)| other >= length) {
                assert!(longer >> (other - length).min(7) != *value || (other - length > 7 && *longer > 0), "{codes:?} {length} {value}");
            }
        }
        codes.iter().map(|(length, _)| 1 << (16 - length)).sum()
    }

    #[test]
    fn codes_can_be_told_apart() {
        for (lengths, values) in TOKEN_LENGTHS.iter().zip(&TOKENS) {
            let codes: Vec<(u8, u8)> = lengths.iter().zip(values).map(|(l, v)| (*l, *v)).filter(|(l, _)| *l > 0).collect();
            assert!(codes.len() == 62 && (65_000..=65_536).contains(&share(&codes)), "{}", share(&codes));
        }
        let chroma: Vec<(u8, u8)> = CHROMA_TOKEN_LENGTHS.into_iter().zip(CHROMA_TOKENS).filter(|(l, _)| *l > 0).collect();
        assert!(chroma.len() == 14 && share(&chroma) <= 65_536);
        for (n, codes) in ZEROS.iter().enumerate() {
            assert!(codes.len() == 16 - n && share(codes) >= 65_536 - 128 && share(codes) <= 65_536, "{n} {}", share(codes));
        }
        for (n, codes) in RUNS.iter().take(6).enumerate() {
            assert!(codes.len() == n + 2 && share(codes) == 65_536, "{n}");
        }
        assert!(CHROMA_ZEROS.iter().all(|codes| share(codes) == 65_536));
    }
}
