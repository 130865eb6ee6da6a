//! A reading position in a file that is text, binary, or text first and then binary.

use std::str::FromStr;

use super::{At, Fault, Source};
use crate::cancel::CancelToken;
use crate::math::Vec3;

/// How the numbers of a file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Text,
    LittleEndian,
    BigEndian,
}

/// Number types of binary files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Scalar {
    /// The size of a number [bytes].
    pub fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// The number in the first bytes; `None` when they are too few. Whole numbers above 2^53 are rounded: no index is
    /// that large.
    pub fn read(self, bytes: &[u8], big_endian: bool) -> Option<f64> {
        /// The first bytes of a number, from the lowest on.
        fn low<const N: usize>(bytes: &[u8], big_endian: bool) -> Option<[u8; N]> {
            let mut low = *bytes.first_chunk()?;
            if big_endian {
                low.reverse();
            }
            Some(low)
        }
        Some(match self {
            Self::I8 => f64::from(i8::from_le_bytes(low(bytes, big_endian)?)),
            Self::U8 => f64::from(u8::from_le_bytes(low(bytes, big_endian)?)),
            Self::I16 => f64::from(i16::from_le_bytes(low(bytes, big_endian)?)),
            Self::U16 => f64::from(u16::from_le_bytes(low(bytes, big_endian)?)),
            Self::I32 => f64::from(i32::from_le_bytes(low(bytes, big_endian)?)),
            Self::U32 => f64::from(u32::from_le_bytes(low(bytes, big_endian)?)),
            Self::F32 => f64::from(f32::from_le_bytes(low(bytes, big_endian)?)),
            Self::F64 => f64::from_le_bytes(low(bytes, big_endian)?),
            Self::I64 => i64::from_le_bytes(low(bytes, big_endian)?) as f64,
            Self::U64 => u64::from_le_bytes(low(bytes, big_endian)?) as f64,
        })
    }
}

pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The beginning of the word, line or bytes read last: faults name this place.
    last: usize,
    comment: Option<u8>,
    cancel: &'a CancelToken,
    /// Words, lines and bytes that were asked for.
    asked: u32,
}

/// A cursor asks whether it is cancelled once in so many words.
const WORDS_PER_QUESTION: u32 = 1024;

const CUT_OFF: &str = "it may be cut off: fetch or export it again";

impl<'a> Cursor<'a> {
    pub fn new(source: Source<'a>) -> Self {
        Self::within(source, 0, source.bytes.len())
    }

    /// A cursor at `at` that ends before `end`; its faults count from the beginning of the file.
    pub fn within(source: Source<'a>, at: usize, end: usize) -> Self {
        let end = end.min(source.bytes.len());
        Self { bytes: &source.bytes[..end], at: at.min(end), last: at.min(end), comment: None, cancel: source.cancel, asked: 0 }
    }

    /// Once it is cancelled a file has no more: its reader ends, with whatever fault, and that it was cancelled is told
    /// instead.
    fn end_if_cancelled(&mut self) {
        self.asked += 1;
        if !self.asked.is_multiple_of(WORDS_PER_QUESTION) {
            return;
        }
        self.cancel.reached(self.at as f32 / self.bytes.len() as f32);
        if self.cancel.is_cancelled() {
            self.at = self.bytes.len();
        }
    }

    /// Takes what follows `mark` on its line for a comment.
    pub fn with_comments(self, mark: u8) -> Self {
        Self { comment: Some(mark), ..self }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    /// The size of a number [bytes].
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// A fault of the word or line that was read last.
    pub fn fault(&self, reason: impl Into<String>, remedy: &'static str) -> Fault {
        let line = 1 + self.bytes[..self.last].iter().filter(|&&byte| byte == b'\n').count();
        Fault { at: At::Line(line), ..Fault::new(reason, remedy) }
    }

    /// A fault of the bytes that were read last.
    pub fn byte_fault(&self, reason: impl Into<String>, remedy: &'static str) -> Fault {
        Fault { at: At::Byte(self.last), ..Fault::new(reason, remedy) }
    }

    /// The rest of the line, without its end; nothing at the end of the file.
    pub fn line(&mut self) -> Option<&'a [u8]> {
        self.end_if_cancelled();
        self.last = self.at;
        let rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return None;
        }
        let length = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        self.at += (length + 1).min(rest.len());
        Some(rest[..length].trim_ascii())
    }

    /// Goes to the next word and says whether the file has another.
    pub fn skip_blanks(&mut self) -> bool {
        self.end_if_cancelled();
        loop {
            let rest = &self.bytes[self.at..];
            let blanks = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            self.at += blanks;
            match rest.get(blanks) {
                None => return false,
                byte if byte == self.comment.as_ref() => {
                    self.line();
                }
                Some(_) => return true,
            }
        }
    }

    /// The next word; nothing at the end of the file.
    pub fn next_word(&mut self) -> Option<&'a [u8]> {
        if !self.skip_blanks() {
            self.last = self.at;
            return None;
        }
        self.last = self.at;
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        self.at += length;
        Some(&rest[..length])
    }

    /// Whether `mark` stands next.
    pub fn next_is(&self, mark: &[u8]) -> bool {
        self.bytes[self.at..].trim_ascii_start().starts_with(mark)
    }

    /// Goes back to the beginning of the word, line or bytes read last.
    pub fn back(&mut self) {
        self.at = self.last;
    }

    /// The next word of text; messages call it `what`.
    pub fn word(&mut self, what: &str) -> Result<&'a str, Fault> {
        let word = self.next_word().ok_or_else(|| self.fault(format!("the file ends where {what} is expected"), CUT_OFF))?;
        std::str::from_utf8(word)
            .map_err(|_| self.fault(format!("expected {what}, found bytes that are no text"), "export the file again, as text"))
    }

    /// The next word as a number; messages call it `what`.
    pub fn number<T: FromStr>(&mut self, what: &str) -> Result<T, Fault> {
        let word = self.word(what)?;
        word.parse().map_err(|_| self.fault(format!("expected {what}, found '{}'", shortened(word)), "correct it or export the file again"))
    }

    /// The next `n` bytes; messages call them `what`.
    pub fn take(&mut self, n: usize, what: &str) -> Result<&'a [u8], Fault> {
        self.end_if_cancelled();
        self.last = self.at;
        let end = self.at.checked_add(n).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or_else(|| {
            self.byte_fault(format!("{what} should take {n} bytes, but only {} are left", self.bytes.len() - self.at), CUT_OFF)
        })?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    /// A number of any type; messages call it `what`.
    pub fn scalar(&mut self, encoding: Encoding, kind: Scalar, what: &str) -> Result<f64, Fault> {
        if encoding == Encoding::Text {
            return self.number(what);
        }
        let bytes = self.take(kind.size(), what)?;
        kind.read(bytes, encoding == Encoding::BigEndian).ok_or_else(|| self.byte_fault(format!("{what} ends early"), CUT_OFF))
    }

    /// A whole number that is not negative; messages call it `what`.
    pub fn whole(&mut self, encoding: Encoding, kind: Scalar, what: &str) -> Result<u64, Fault> {
        if encoding == Encoding::Text {
            return self.number(what);
        }
        let value = self.scalar(encoding, kind, what)?;
        if !(0.0..9e15).contains(&value) {
            return Err(self.byte_fault(format!("expected {what}, found {value}"), "correct it or export the file again"));
        }
        Ok(value as u64)
    }

    /// The number of things that take at least `least` bytes each; it is refused when the rest of the file cannot hold
    /// them, so that no count of a header makes the program reserve memory.
    pub fn count(&mut self, encoding: Encoding, kind: Scalar, least: usize, what: &str) -> Result<usize, Fault> {
        let count = self.whole(encoding, kind, &format!("the number of {what}"))?;
        if count.saturating_mul(least as u64) > self.remaining() as u64 {
            let reason = format!("the file promises {count} {what}, more than its {} remaining bytes can hold", self.remaining());
            return Err(if encoding == Encoding::Text { self.fault(reason, CUT_OFF) } else { self.byte_fault(reason, CUT_OFF) });
        }
        Ok(count as usize)
    }

    /// Three finite coordinates.
    pub fn point(&mut self, encoding: Encoding, kind: Scalar) -> Result<Vec3, Fault> {
        let mut point = Vec3::zeros();
        for x in point.iter_mut() {
            *x = self.scalar(encoding, kind, "a coordinate")?;
            if !x.is_finite() {
                let reason = format!("the coordinate {x} is not finite");
                return Err(if encoding == Encoding::Text { self.fault(reason, REMEDY) } else { self.byte_fault(reason, REMEDY) });
            }
        }
        Ok(point)
    }

    /// A vertex index that the file counts from `base`, counted from 0.
    pub fn index(&mut self, encoding: Encoding, kind: Scalar, base: u64) -> Result<u32, Fault> {
        let given = self.whole(encoding, kind, "a vertex index")?;
        let index = given.checked_sub(base).and_then(|index| u32::try_from(index).ok()).filter(|&index| index != u32::MAX);
        index.ok_or_else(|| {
            let reason = format!("the vertex index {given} is out of range: vertices count from {base}");
            if encoding == Encoding::Text { self.fault(reason, REMEDY) } else { self.byte_fault(reason, REMEDY) }
        })
    }

    /// Goes behind the next occurrence of `mark` and says whether it was found.
    pub fn skip_past(&mut self, mark: &[u8]) -> bool {
        self.last = self.at;
        match self.bytes[self.at..].windows(mark.len()).position(|window| window == mark) {
            Some(offset) => {
                self.at += offset + mark.len();
                true
            }
            None => false,
        }
    }
}

const REMEDY: &str = "correct it or export the file again";

/// A word of a file, short enough for a message.
pub(super) fn shortened(word: &str) -> String {
    if word.chars().count() <= 40 { word.to_owned() } else { word.chars().take(40).chain(['…']).collect() }
}

/// At most `limit` bytes of base64 text, whose blanks are skipped. Parts that end in padding may follow each other, as
/// VTK writes them. Nothing when a character is not of base64.
pub(super) fn base64(text: &[u8], limit: usize) -> Option<Vec<u8>> {
    let mut decoded = Vec::new();
    let (mut bits, mut digits, mut padding) = (0u32, 0, 0);
    for &byte in text.iter().filter(|byte| !byte.is_ascii_whitespace()) {
        if decoded.len() >= limit {
            break;
        }
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => 0,
            _ => return None,
        };
        padding += usize::from(byte == b'=');
        if padding > 2 || (padding > 0 && byte != b'=') {
            return None;
        }
        bits = bits << 6 | u32::from(digit);
        digits += 1;
        if digits == 4 {
            decoded.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
            (bits, digits, padding) = (0, 0, 0);
        }
    }
    // A last group without its padding.
    if digits > 1 && decoded.len() < limit {
        let bytes = (bits << (6 * (4 - digits))).to_be_bytes();
        decoded.extend_from_slice(&bytes[1..digits - padding.min(digits - 1)]);
    }
    decoded.truncate(limit);
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_with_inner_padding_is_decoded() {
        assert_eq!(base64(b"TWFu", 9).unwrap(), b"Man");
        assert_eq!(base64(b"TWE=TQ==\nTWFu", 99).unwrap(), b"MaMMan");
        assert_eq!(base64(b"TWE", 99).unwrap(), b"Ma");
        assert_eq!(base64(b"TWFuTWFu", 4).unwrap(), b"ManM");
        assert_eq!(base64(b"T!Fu", 9), None);
        assert_eq!(base64(b"T===", 9), None);
    }

    #[test]
    fn numbers_of_both_byte_orders_are_read() {
        for (kind, value, bytes) in [
            (Scalar::I8, -3.0, vec![253]),
            (Scalar::U16, 513.0, vec![1, 2]),
            (Scalar::I16, -2.0, vec![254, 255]),
            (Scalar::U32, 1.0, vec![1, 0, 0, 0]),
            (Scalar::F32, -1.5, (-1.5f32).to_le_bytes().to_vec()),
            (Scalar::F64, 0.1, 0.1f64.to_le_bytes().to_vec()),
            (Scalar::I64, -7.0, (-7i64).to_le_bytes().to_vec()),
        ] {
            assert_eq!(kind.read(&bytes, false), Some(value));
            let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
            assert_eq!(kind.read(&reversed, true), Some(value));
            assert_eq!(kind.read(&bytes[1..], false), None);
        }
    }

    #[test]
    fn counts_are_not_believed() {
        let mut cursor = Cursor::new(Source { bytes: b"\n4000000000 1 2", cancel: CancelToken::never() });
        let fault = cursor.count(Encoding::Text, Scalar::U64, 2, "vertices").unwrap_err();
        assert!(fault.at == At::Line(2) && fault.reason.contains("4000000000 vertices"), "{fault:?}");
    }
}
