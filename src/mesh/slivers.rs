//! How much softer nearly flat tets are to be than their material, so that they are no stiffer than the tets around.

use super::TetMesh;

/// Tets of a lower quality move as they should, but hold large strains.
pub const SLIVER: f64 = 0.05;

/// A tet of this quality or a better one is as stiff as its material makes it: up to about a hundred times as stiff as
/// those around it, which solvers take easily.
const STIFF: f64 = 1e-2;

/// A tet of this quality or a worse one is at most as stiff at a node as the stiffest well-shaped tet there: it turns
/// over with the slightest motion of its nodes, and its stiffness with it, which must not be more than what the factor
/// of the rest pose can correct. In between the bound grows in proportion.
const TURNS: f64 = 1e-4;

/// Where there is no well-shaped tet around, as in a thin sheet, only tets of a lower quality are made softer: flatter
/// cells than 1 to 1000 are hardly meant.
const FLATTEST: f64 = 1e-3;

/// For each tet the factor of its stiffness: a power of two, 1 where it is well-shaped. Nothing where all are 1.
///
/// The stiffness of a tet at its corner c is V |grad N_c|^2 = A_c^2 / (9 V) with the area A_c of the face opposite: it
/// grows without bound as V goes to 0. Shape and volume stay as they are, so that a rotation still leaves no stress and
/// no mass is lost.
pub fn softening(mesh: &TetMesh) -> Option<Vec<f64>> {
    let qualities: Vec<f64> = (0..mesh.tets.len()).map(|t| mesh.tet_quality(t).abs()).collect();
    if qualities.iter().all(|quality| *quality >= STIFF) {
        return None;
    }
    let mut around = vec![0.0f64; mesh.positions.len()];
    for (t, _) in qualities.iter().enumerate().filter(|(_, quality)| **quality >= SLIVER) {
        for (node, stiffness) in mesh.tets[t].iter().zip(stiffnesses(mesh, t)) {
            around[*node as usize] = around[*node as usize].max(stiffness);
        }
    }
    let factor = |(t, quality): (usize, &f64)| {
        if *quality >= STIFF {
            return 1.0;
        }
        let stiffer = (quality / TURNS).max(1.0);
        let of_corner = |(node, stiffness): (&u32, f64)| {
            let around = around[*node as usize];
            if around > 0.0 { stiffer * around / stiffness } else { 1.0 }
        };
        let beside_others = mesh.tets[t].iter().zip(stiffnesses(mesh, t)).map(of_corner).fold(1.0, f64::min);
        let wanted = beside_others.min((quality / FLATTEST).powi(2)).min(1.0);
        // Few materials rather than one for each tet.
        if wanted > 0.0 { wanted.log2().floor().exp2() } else { f64::MIN_POSITIVE }
    };
    let factors: Vec<f64> = qualities.iter().enumerate().map(factor).collect();
    factors.iter().any(|factor| *factor < 1.0).then_some(factors)
}

fn stiffnesses(mesh: &TetMesh, tet: usize) -> [f64; 4] {
    let [a, b, c, d] = mesh.corners(tet);
    let volume = mesh.volume(tet).abs();
    [[b, c, d], [a, d, c], [a, b, d], [a, c, b]].map(|[p, q, r]| (q - p).cross(&(r - p)).norm_squared() / (36.0 * volume))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;
    use crate::mesh::shapes;

    #[test]
    fn flat_tets_among_others_are_softer_and_sheets_are_not() {
        let mut mesh = shapes::box_tets(Vec3::repeat(1.0), [2, 2, 2]);
        assert_eq!(softening(&mesh), None);
        assert_eq!(softening(&shapes::box_tets(Vec3::new(1.0, 1.0, 0.005), [4, 4, 1])), None);
        // A tet is divided by a point a millionth above its first face.
        let [a, b, c, d] = mesh.tets[0];
        let [pa, pb, pc, pd] = mesh.corners(0);
        let (face, new) = ((pb + pc + pd) / 3.0, mesh.positions.len() as u32);
        mesh.positions.push(face + (pa - face) * 1e-6);
        mesh.tets[0] = [new, b, c, d];
        mesh.tets.extend([[a, new, c, d], [a, b, new, d], [a, b, c, new]]);
        mesh.check().unwrap();
        let factors = softening(&mesh).unwrap();
        assert!(factors[1..].iter().all(|factor| *factor == 1.0), "{factors:?}");
        // No stiffer than before it was divided.
        let (now, before) = (stiffnesses(&mesh, 0)[0] * factors[0], stiffnesses(&mesh, 1).into_iter().fold(0.0, f64::max));
        assert!(now < 1.01 * before && now > 0.1 * before && stiffnesses(&mesh, 0)[0] > 1e5 * before, "{now} {before}");
        assert_eq!(factors[0], factors[0].log2().round().exp2());
    }
}
