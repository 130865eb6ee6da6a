//! Any triangles or tets: the doctor tells what is wrong and mends without a panic, and what it calls a solid is one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pliant::math::Vec3;
use pliant::mesh::doctor::{diagnose, examine, mend, mend_tets};
use pliant::mesh::{MeshData, MeshFile, SurfaceMesh, TetMesh};

fuzz_target!(|data: &[u8]| {
    let [n, rest @ ..] = data else { return };
    let n = usize::from(*n % 32) + 1;
    let positions: Vec<Vec3> =
        (0..n).map(|i| Vec3::from_fn(|k, _| f64::from(rest.get(3 * i + k).copied().unwrap_or(0) % 8))).collect();
    let corners: Vec<u32> = rest.iter().skip(3 * n).map(|byte| u32::from(*byte) % n as u32).collect();
    let surface = SurfaceMesh { positions: positions.clone(), triangles: corners.as_chunks::<3>().0.to_vec() };
    let mended = mend(surface.clone());
    let found = diagnose(&mended);
    assert!(found.duplicate_vertices == 0 && found.unused_vertices == 0);
    let _ = examine(&surface.into()).to_string();
    let tets = TetMesh { positions, tets: corners.as_chunks::<4>().0.to_vec() };
    let _ = examine(&MeshFile { data: MeshData::Tets(tets.clone()), notes: vec![] }).to_string();
    let mended = mend_tets(tets);
    assert!(mended.tets.is_empty() || mended.check().is_ok());
});
