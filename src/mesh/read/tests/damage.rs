//! Files that are broken, and noise.

use super::*;

/// A fixed sequence of pseudo-random numbers [Steele & Vigna, splitmix64].
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

/// Damages a file as a bad disk, a cut transfer or a hostile hand may.
fn damaged(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    const NUMBERS: [&[u8]; 8] = [b"-1", b"4294967295", b"99999999999999999999", b"nan", b"1e999", b"0", b"\xff\xff\xff\xff", b"\0\0\0\x80"];
    for _ in 0..1 + random.below(6) {
        let at = random.below(bytes.len().max(1));
        match random.below(6) {
            0 => bytes.truncate(at),
            1 => {
                let end = (at + random.below(64)).min(bytes.len());
                bytes.drain(at.min(end)..end);
            }
            2 => {
                let end = (at + random.below(64)).min(bytes.len());
                let copy = bytes[at.min(end)..end].to_vec();
                bytes.splice(at..at, copy);
            }
            3 => {
                let number = NUMBERS[random.below(NUMBERS.len())];
                let end = (at + number.len()).min(bytes.len());
                bytes.splice(at.min(end)..end, number.iter().copied());
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = random.below(256) as u8;
                }
            }
        }
    }
    bytes
}

/// What the fuzz targets in `fuzz/` do without end, a bounded number of times with a fixed seed.
#[test]
fn damaged_files_are_errors_and_never_panic() {
    let names = [
        "cube.off",
        "joint.off",
        "sphere_binary.stl",
        "bunny_res4_scan_open.ply",
        "ant_parts.ply",
        "box_textured.glb",
        "cube86.mesh",
        "tetgen_sample.ele",
        "tetgen_sample.node",
        "bear.vtu",
        "bear.vtk",
        "bear.msh",
        "bear_v22_binary.msh",
        "bear_v41_binary.msh",
        "armadillo_7k.vtk",
    ];
    let mut files: Vec<(&str, Vec<u8>)> = names.iter().map(|&name| (name, std::fs::read(fixture(name)).unwrap())).collect();
    files.push(("torus.obj", write_obj(&shapes::surface_torus(1.0, 0.3, 8)).into_bytes()));
    let text = std::fs::read(fixture("sphere_ascii.stl")).unwrap();
    files.push(("sphere_ascii.stl", text[..8000].to_vec()));
    let mut random = Random(1);
    let (mut read, mut refused) = (0, 0);
    for (name, bytes) in files {
        // Less often the larger ones.
        for _ in 0..(4_000_000 / bytes.len()).clamp(12, 120) {
            // Headers hold what is believed or not: half of the damage is there.
            let part = if random.below(2) == 0 { bytes.len() } else { bytes.len().min(400) };
            let mut changed = damaged(bytes[..part].to_vec(), &mut random);
            changed.extend_from_slice(&bytes[part..]);
            let format = Format::of_name(name).unwrap();
            match read_mesh(name, &changed, format, &|other| Ok(std::fs::read(fixture(other)).unwrap())) {
                Ok(file) => {
                    read += 1;
                    match file.data {
                        MeshData::Surface(surface) => surface.check().unwrap(),
                        MeshData::Tets(tets) => tets.check_indices().unwrap(),
                    }
                }
                Err(error) => {
                    refused += 1;
                    let text = error.to_string();
                    assert!(text.contains(';') && text.len() < 600, "{text}");
                }
            }
        }
    }
    assert!(read > 50 && refused > 300, "{read} {refused}");
}

/// Whatever follows the mark of a format.
#[test]
fn noise_is_refused() {
    let mut random = Random(2);
    for (ending, format) in ENDINGS {
        for mark in [
            "",
            "ply\nformat binary_little_endian 1.0\nelement vertex 9\nproperty list uint uint x\nend_header\n",
            "glTF\x02\0\0\0",
            "$MeshFormat 4.1 1 8\n\x01\0\0\0\n$Nodes\n",
        ] {
            let noise = (0..200).map(|_| if random.below(3) == 0 { b' ' } else { random.below(256) as u8 });
            let bytes: Vec<u8> = mark.bytes().chain(noise).collect();
            assert!(read_mesh(&format!("a.{ending}"), &bytes, format, &|_| Ok(bytes.clone())).is_err());
        }
    }
}
