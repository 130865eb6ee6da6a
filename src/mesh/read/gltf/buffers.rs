//! The bytes of a glTF file, beside its JSON or behind it.

use super::document::{Buffer, BufferView};
use crate::mesh::read::cursor::{Cursor, Encoding, Scalar, base64};
use crate::mesh::read::{Beside, Fault, Source};

pub const EXPORT_AGAIN: &str = "export it again, uncompressed, as .glb";
pub const CUT_OFF: &str = "it may be cut off: fetch it again, or export it again as .glb";

/// The JSON and the binary chunk of a .glb file.
pub fn chunks(source: Source<'_>) -> Result<(&[u8], Option<&[u8]>), Fault> {
    const LE: Encoding = Encoding::LittleEndian;
    let mut cursor = Cursor::new(source);
    cursor.take(4, "the magic word")?;
    let version = cursor.whole(LE, Scalar::U32, "the version")?;
    if version != 2 {
        return Err(cursor.byte_fault(format!("glTF of version {version} is not read, only 2"), EXPORT_AGAIN));
    }
    cursor.whole(LE, Scalar::U32, "the length of the file")?;
    let (mut json, mut binary) = (None, None);
    while cursor.remaining() > 0 {
        let length = cursor.whole(LE, Scalar::U32, "the length of a chunk")? as usize;
        let kind = cursor.take(4, "the kind of a chunk")?;
        let data = cursor.take(length, "a chunk")?;
        match kind {
            b"JSON" if json.is_none() => json = Some(data),
            b"BIN\0" if binary.is_none() => binary = Some(data),
            _ => {}
        }
    }
    json.map(|json| (json, binary)).ok_or_else(|| cursor.byte_fault("expected a chunk of JSON, found none", EXPORT_AGAIN))
}

/// The bytes of a buffer, as many as it says; padding behind them is left out.
pub fn load(buffer: &Buffer, number: usize, binary: Option<&[u8]>, beside: Beside) -> Result<Vec<u8>, Fault> {
    let fault = |reason: String| Fault::new(format!("buffer {number}: {reason}"), "keep its files together, or export it again as .glb");
    let mut data = match &buffer.uri {
        None => binary.map(<[u8]>::to_vec).ok_or_else(|| fault("it has neither an address nor data in this file".into()))?,
        Some(uri) => match uri.strip_prefix("data:") {
            Some(data) => {
                let (_, text) = data.split_once(";base64,").ok_or_else(|| fault("its data are not base64".into()))?;
                base64(text.as_bytes(), usize::MAX).ok_or_else(|| fault("its data are not base64".into()))?
            }
            None => beside(&percent_decoded(uri)).map_err(fault)?,
        },
    };
    let promised = buffer.byte_length.unwrap_or(data.len());
    if data.len() < promised {
        return Err(Fault::new(format!("buffer {number} should have {promised} bytes, but {} are there", data.len()), CUT_OFF));
    }
    data.truncate(promised);
    Ok(data)
}

/// Refuses buffers that are shorter than one of their views, whether or not a mesh uses that view: such a file is not
/// whole.
pub fn check_views(views: &[BufferView], buffers: &[Vec<u8>]) -> Result<(), Fault> {
    for (number, view) in views.iter().enumerate() {
        let length = buffers.get(view.buffer).ok_or_else(|| missing("buffer", view.buffer))?.len();
        let end = view.byte_offset.saturating_add(view.byte_length);
        if end > length {
            let reason = format!("buffer view {number} ends at byte {end} of buffer {}, which has {length} bytes", view.buffer);
            return Err(Fault::new(reason, CUT_OFF));
        }
    }
    Ok(())
}

fn percent_decoded(uri: &str) -> String {
    let mut decoded = Vec::new();
    let mut rest = uri.as_bytes();
    while let [byte, after @ ..] = rest {
        let digits = after.get(..2).filter(|_| *byte == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(value.unwrap_or(*byte));
        rest = if value.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// A reference to a part of the document that is not there.
pub fn missing(what: &str, index: usize) -> Fault {
    Fault::new(format!("it names {what} {index}, which it does not have"), EXPORT_AGAIN)
}
