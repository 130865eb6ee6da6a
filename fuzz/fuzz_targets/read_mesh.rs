//! Any bytes in any format: an error or a mesh whose indices are in range, and no more memory than the bytes can mean.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pliant::mesh::{ENDINGS, read_mesh};

fuzz_target!(|data: &[u8]| {
    let [which, bytes @ ..] = data else { return };
    let (ending, format) = ENDINGS[usize::from(*which) % ENDINGS.len()];
    // The other file of a pair is the second half.
    let (bytes, other) = bytes.split_at(if ending == "ele" || ending == "node" { bytes.len() / 2 } else { bytes.len() });
    if let Ok(file) = read_mesh(&format!("a.{ending}"), bytes, format, &|_| Ok(other.to_vec())) {
        match file.data {
            pliant::mesh::MeshData::Surface(surface) => surface.check().expect("the reader checks it"),
            pliant::mesh::MeshData::Tets(tets) => tets.check_indices().expect("the reader checks it"),
        }
    }
});
