//! Any triangles or tets: the doctor tells what is wrong and mends without a panic, and what it calls a solid is one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pliant::math::Vec3;
use pliant::mesh::doctor::{diagnose, examine, mend, mend_tets};
use pliant::mesh::{MeshData, MeshFile, SurfaceMesh, TetMesh};

fuzz_target!(|data: &[u8]| {
    let [n, rest @ ..] = data else { return };
    let n = usize::from(*n % 32) + 1;
    let positions: Vec<Vec3> = (0..n).map(|i| Vec3::from_fn(|k, _| f64::from(rest.get(3 * i + k).copied().unwrap_or(0) % 8))).collect();
    let corners: Vec<u32> = rest.iter().skip(3 * n).map(|byte| u32::from(*byte) % n as u32).collect();
    let triangles = corners.as_chunks::<3>().0.to_vec();
    // Of each corner the place of its vertex, so that it can be told whether they stay together.
    let place = |vertex: u32| [0, 1].map(|k| positions[vertex as usize][k] as f32);
    let texture_coordinates = Some(triangles.iter().map(|triangle| triangle.map(place)).collect());
    let surface = SurfaceMesh { positions: positions.clone(), triangles, texture_coordinates, normals: None, parts: None };
    let mended = mend(surface.clone());
    let found = diagnose(&mended);
    assert!(found.duplicate_vertices == 0 && found.unused_vertices == 0);
    for fine in [&mended, &mended.subdivided(1.5)] {
        let texture = fine.texture_coordinates.as_ref().map(Vec::len);
        assert!(texture == Some(fine.triangles.len()));
        for (t, texture) in fine.texture_coordinates.iter().flatten().enumerate() {
            assert!(fine.corners(t).iter().zip(texture).all(|(p, at)| (0..2).all(|k| (p[k] as f32 - at[k]).abs() < 1e-4)));
        }
    }
    let _ = examine(&surface.into()).to_string();
    let tets = TetMesh { positions, tets: corners.as_chunks::<4>().0.to_vec() };
    let _ = examine(&MeshFile { data: MeshData::Tets(tets.clone()), middles: Default::default(), tags: Default::default(), notes: vec![] })
        .to_string();
    let mended = mend_tets(tets);
    assert!(mended.tets.is_empty() || mended.check().is_ok());
});
