//! The fuzz targets of `fuzz/`, driven by damaged files and noise: a bounded number of times with fixed seeds, without
//! libFuzzer.

use std::cell::Cell;
use std::path::Path;

use pliant::mesh::ENDINGS;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::{Index, select};

use crate::cases::for_all;
use crate::source;

// The files themselves, as cargo-fuzz compiles them; `fuzz_target!` of `main.rs` makes functions of them.
#[allow(unused_attributes, dead_code)]
#[path = "../../fuzz/fuzz_targets/mend.rs"]
mod mend;
#[allow(unused_attributes, dead_code)]
#[path = "../../fuzz/fuzz_targets/read_mesh.rs"]
mod read_mesh;

/// What a bad disk, a cut transfer or a hostile hand does to a file.
#[derive(Clone, Debug)]
enum Damage {
    Cut(Index),
    Remove(Index, usize),
    Repeat(Index, usize),
    Overwrite(Index, Vec<u8>),
}

const NUMBERS: [&[u8]; 8] = [b"-1", b"4294967295", b"99999999999999999999", b"nan", b"1e999", b"0", b"\xff\xff\xff\xff", b"\0\0\0\x80"];

/// Up to six damages.
fn damages() -> impl Strategy<Value = Vec<Damage>> {
    let at = any::<Index>;
    let one = prop_oneof![
        1 => at().prop_map(Damage::Cut),
        1 => (at(), 0..64usize).prop_map(|(at, n)| Damage::Remove(at, n)),
        1 => (at(), 0..64usize).prop_map(|(at, n)| Damage::Repeat(at, n)),
        1 => (at(), select(&NUMBERS[..])).prop_map(|(at, number)| Damage::Overwrite(at, number.to_vec())),
        2 => (at(), any::<u8>()).prop_map(|(at, byte)| Damage::Overwrite(at, vec![byte])),
    ];
    vec(one, 1..=6)
}

fn damaged(bytes: &[u8], damages: &[Damage]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for damage in damages {
        let place = |at: &Index| at.index(bytes.len() + 1);
        match damage {
            Damage::Cut(at) => bytes.truncate(place(at)),
            Damage::Remove(at, n) => {
                let start = place(at);
                bytes.drain(start..(start + n).min(bytes.len()));
            }
            Damage::Repeat(at, n) => {
                let start = place(at);
                let copy = bytes[start..(start + n).min(bytes.len())].to_vec();
                bytes.splice(start..start, copy);
            }
            Damage::Overwrite(at, with) => {
                let start = place(at);
                let end = (start + with.len()).min(bytes.len());
                bytes.splice(start..end, with.iter().copied());
            }
        }
    }
    bytes
}

/// Input of the target `read_mesh`: the number of the format, then the file.
fn with_format(ending: &str, bytes: &[u8]) -> Vec<u8> {
    let format = ENDINGS.iter().position(|(known, _)| *known == ending).unwrap_or_else(|| panic!("no format {ending}"));
    std::iter::once(format as u8).chain(bytes.iter().copied()).collect()
}

/// The files of the tests, large ones cut; of a pair of files both, as the target divides them.
fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = source::root().join("tests/data");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let ending = |path: &Path| path.extension().unwrap().to_str().unwrap().to_owned();
    files.retain(|path| ENDINGS.iter().any(|(known, _)| *known == ending(path)) && path.metadata().unwrap().len() < 400_000);
    let read = |path: &Path| {
        let mut bytes = std::fs::read(path).unwrap();
        let other = match ending(path).as_str() {
            "ele" => std::fs::read(path.with_extension("node")).unwrap(),
            "node" => std::fs::read(path.with_extension("ele")).unwrap(),
            _ => return bytes,
        };
        let length = bytes.len().max(other.len());
        bytes.resize(length, b'\n');
        bytes.extend(other);
        bytes.resize(2 * length, b'\n');
        bytes
    };
    files.iter().map(|path| (ending(path), read(path))).collect()
}

#[test]
fn damaged_files_are_errors_and_never_panic() {
    let (read, refused) = (Cell::new(0), Cell::new(0));
    for (ending, bytes) in corpus() {
        // Headers hold what is believed or not: half of the damage is there. Large files are tried less often.
        for part in [bytes.len().min(400), bytes.len()] {
            for_all((1_500_000 / bytes.len() as u32).clamp(6, 60), &damages(), |damages| {
                let mut changed = damaged(&bytes[..part], &damages);
                changed.extend_from_slice(&bytes[part..]);
                let count = if read_mesh::read(&with_format(&ending, &changed)) { &read } else { &refused };
                count.set(count.get() + 1);
            });
        }
    }
    println!("{} read, {} refused", read.get(), refused.get());
    assert!(read.get() > 50 && refused.get() > 300, "{} read, {} refused", read.get(), refused.get());
}

/// Beginnings of formats.
const MARKS: [&[u8]; 4] = [
    b"",
    b"ply\nformat binary_little_endian 1.0\nelement vertex 9\nproperty list uint uint x\nend_header\n",
    b"glTF\x02\0\0\0",
    b"$MeshFormat 4.1 1 8\n\x01\0\0\0\n$Nodes\n",
];

/// Whatever follows the mark of a format.
#[test]
fn noise_is_refused() {
    let noise = vec(prop_oneof![1 => Just(b' '), 2 => any::<u8>()], 0..400);
    for (ending, _) in ENDINGS {
        for_all(40, &(select(&MARKS[..]), &noise), |(mark, noise)| {
            assert!(!read_mesh::read(&with_format(ending, &[mark, &noise].concat())));
        });
    }
}

#[test]
fn any_triangles_and_tets_are_mended() {
    for_all(2000, &vec(any::<u8>(), 0..240), |bytes| mend::target(&bytes));
}
