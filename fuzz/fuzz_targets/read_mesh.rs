//! Any bytes in any format: an error or a mesh whose indices are in range, and no more memory than the bytes can mean.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pliant::mesh::{ENDINGS, MeshData, read_mesh};

fuzz_target!(|data: &[u8]| {
    read(data);
});

/// Whether the bytes are a mesh.
pub fn read(data: &[u8]) -> bool {
    let [which, bytes @ ..] = data else { return false };
    let (ending, format) = ENDINGS[usize::from(*which) % ENDINGS.len()];
    // The other file of a pair is the second half.
    let (bytes, other) = bytes.split_at(if ending == "ele" || ending == "node" { bytes.len() / 2 } else { bytes.len() });
    match read_mesh(&format!("a.{ending}"), bytes, format, &|_| Ok(other.to_vec())) {
        Ok(file) => {
            match file.data {
                MeshData::Surface(surface) => surface.check().expect("the reader checks it"),
                MeshData::Tets(tets) => tets.check_indices().expect("the reader checks it"),
            }
            true
        }
        Err(error) => {
            // What is wrong, and what was expected or would mend it; not the file.
            let text = error.to_string();
            assert!(text.contains(';') && text.len() < 600, "{text}");
            false
        }
    }
}
