//! Welds the nodes of tets that should be joined, and leaves out parts that lie in others.

use rayon::prelude::*;

use crate::cancel::{CancelToken, Cancelled};
use crate::disjoint_sets::DisjointSets;
use crate::math::{Aabb, Vec3};
use crate::mesh::TetMesh;

/// Nodes nearer than this part of the longest side are at one place: f32 files hold about this much.
const ONE_PLACE: f64 = 1e-6;

/// Joins nodes at one place where that makes one face of two that face each other, or one tet of two: contact could not
/// keep such faces apart, which have no distance. Nodes at one place stay apart where no faces meet. Tets may collapse.
/// Gives the node that each node becomes, the first of its class; nothing where all stay.
pub(super) fn welded(mesh: &TetMesh, cancel: &CancelToken) -> Result<Option<Vec<u32>>, Cancelled> {
    let Some(places) = places(mesh, cancel)? else { return Ok(None) };
    let at = |nodes: &[u32]| nodes.iter().map(|&node| places[node as usize]).collect::<Vec<u32>>();
    let mut classes = DisjointSets::new(mesh.positions.len());
    let mut join = |a: &[u32], b: &[u32]| {
        for &node in a {
            let twin = b.iter().find(|&&other| places[other as usize] == places[node as usize]);
            twin.iter().for_each(|&&twin| {
                classes.join(node as usize, twin as usize);
            });
        }
    };
    // Faces of the border by the places of their corners, turned to begin with the lowest.
    let (border, _) = mesh.boundary_with_tets_unless(cancel)?;
    let mut faces: Vec<([u32; 3], bool, usize)> = border
        .iter()
        .enumerate()
        .map(|(f, face)| {
            let of = at(face);
            let mut key = [of[0], of[1], of[2]];
            let is_even = (0..3).any(|first| key[first] < key[(first + 1) % 3] && key[(first + 1) % 3] < key[(first + 2) % 3]);
            key.sort_unstable();
            (key, is_even, f)
        })
        .filter(|([a, b, c], ..)| a != b && b != c)
        .collect();
    faces.par_sort_unstable();
    for same in faces.chunk_by(|a, b| a.0 == b.0) {
        // Those that face one way come first.
        let others = same.partition_point(|(_, is_even, _)| !is_even);
        if (1..same.len()).contains(&others) {
            same[1..].iter().for_each(|(.., f)| join(&border[same[0].2], &border[*f]));
        }
    }
    cancel.check()?;
    let mut tets: Vec<(Vec<u32>, usize)> = (0..mesh.tets.len())
        .map(|t| {
            let mut key = at(&mesh.tets[t]);
            key.sort_unstable();
            (key, t)
        })
        .collect();
    tets.par_sort_unstable();
    for same in tets.chunk_by(|a, b| a.0 == b.0) {
        same[1..].iter().for_each(|(_, t)| join(&mesh.tets[same[0].1], &mesh.tets[*t]));
    }
    let welded: Vec<u32> = (0..mesh.positions.len()).map(|node| classes.root(node) as u32).collect();
    Ok(welded.iter().enumerate().any(|(node, first)| node != *first as usize).then_some(welded))
}

/// The first node at the place of each node; nothing where no two share one.
fn places(mesh: &TetMesh, cancel: &CancelToken) -> Result<Option<Vec<u32>>, Cancelled> {
    let cell = 4.0 * ONE_PLACE * Aabb::of(&mesh.positions).extent().max();
    if cell.is_nan() || cell <= 0.0 {
        return Ok(None);
    }
    let mut classes = DisjointSets::new(mesh.positions.len());
    let mut any = false;
    // Near nodes share a cell in at least one of eight grids, each shifted by half a cell along some axes.
    for shift in 0..8 {
        cancel.check()?;
        let offset = Vec3::from_fn(|axis, _| if shift >> axis & 1 == 1 { 0.5 } else { 0.0 });
        let key = |p: &Vec3| -> [i64; 3] { (p / cell + offset).map(|x| x.floor() as i64).into() };
        let mut cells: Vec<([i64; 3], u32)> = (0..).zip(&mesh.positions).map(|(node, p)| (key(p), node)).collect();
        cells.par_sort_unstable();
        for same in cells.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
            for (k, (_, a)) in same.iter().enumerate() {
                for (_, b) in &same[k + 1..] {
                    let apart = mesh.positions[*a as usize] - mesh.positions[*b as usize];
                    if apart.norm() <= 0.25 * cell {
                        any |= classes.join(*a as usize, *b as usize);
                    }
                }
            }
        }
    }
    Ok(any.then(|| (0..mesh.positions.len()).map(|node| classes.root(node) as u32).collect()))
}

/// The tets of parts whose whole border lies in other parts: what they fill is filled already, and nothing would hold
/// them there. One flag a tet; nothing where there are none.
pub(super) fn swallowed(mesh: &TetMesh, cancel: &CancelToken) -> Result<Option<Vec<bool>>, Cancelled> {
    let piece = pieces_of_nodes(mesh);
    if mesh.tets.iter().all(|tet| piece[tet[0] as usize] == piece[mesh.tets[0][0] as usize]) {
        return Ok(None);
    }
    let (border, owners) = mesh.boundary_with_tets_unless(&cancel.part(0.0, 0.5))?;
    let covers = mesh.covers(&border, &owners, &cancel.part(0.5, 1.0))?;
    let mut is_swallowed = vec![true; mesh.positions.len()];
    for (cover, owner) in covers.iter().zip(&owners) {
        let own = piece[mesh.tets[*owner as usize][0] as usize] as usize;
        let is_in_other = cover.is_some_and(|by| by.iter().all(|tet| piece[mesh.tets[*tet as usize][0] as usize] as usize != own));
        is_swallowed[own] &= is_in_other;
    }
    // Of parts that swallow each other the first stays.
    let mut flags: Vec<bool> = mesh.tets.iter().map(|tet| is_swallowed[piece[tet[0] as usize] as usize]).collect();
    if flags.iter().all(|is_swallowed| *is_swallowed) {
        let first = piece[mesh.tets[0][0] as usize];
        flags.iter_mut().zip(&mesh.tets).filter(|(_, tet)| piece[tet[0] as usize] == first).for_each(|(flag, _)| *flag = false);
    }
    Ok(flags.contains(&true).then_some(flags))
}

/// The lowest node of the part that each node belongs to.
fn pieces_of_nodes(mesh: &TetMesh) -> Vec<u32> {
    let mut parts = DisjointSets::new(mesh.positions.len());
    mesh.tets.iter().for_each(|tet| {
        tet[1..].iter().for_each(|&node| {
            parts.join(tet[0] as usize, node as usize);
        });
    });
    (0..mesh.positions.len()).map(|node| parts.root(node) as u32).collect()
}

#[cfg(test)]
mod tests {
    use crate::cancel::CancelToken;
    use crate::math::Vec3;
    use crate::mesh::doctor::{Mending, mend_tets_unless};
    use crate::mesh::{TetMesh, shapes};

    fn mended(mesh: TetMesh) -> (TetMesh, Mending) {
        mend_tets_unless(mesh, CancelToken::never()).unwrap()
    }

    fn with(mesh: &TetMesh, other: &TetMesh, shift: Vec3) -> TetMesh {
        let (mut both, first) = (mesh.clone(), mesh.positions.len() as u32);
        both.positions.extend(other.positions.iter().map(|p| p + shift));
        both.tets.extend(other.tets.iter().map(|tet| tet.map(|node| node + first)));
        both
    }

    #[test]
    fn nodes_are_welded_where_faces_or_tets_meet_and_nowhere_else() {
        let cube = shapes::box_tets(Vec3::repeat(1.0), [2, 2, 2]);
        // Each tet with nodes of its own, a hair off.
        let place = |node: u32, t: usize| cube.positions[node as usize] + Vec3::new(1.0, -0.7, 0.4) * (1e-8 * t as f64);
        let alone = TetMesh {
            positions: cube.tets.iter().enumerate().flat_map(|(t, tet)| tet.map(|node| place(node, t))).collect(),
            tets: (0..cube.tets.len() as u32).map(|t| [0, 1, 2, 3].map(|c| 4 * t + c)).collect(),
        };
        let (joined, mending) = mended(alone.clone());
        assert_eq!((joined.positions.len(), joined.tets.len()), (cube.positions.len(), cube.tets.len()));
        assert_eq!(mending, Mending { welded_nodes: alone.positions.len() - cube.positions.len(), ..Mending::default() });
        assert_eq!(joined.boundary().len(), cube.boundary().len());

        // Face on face they become one; the same body twice is there once; edge at edge they stay two.
        let (joined, mending) = mended(with(&cube, &cube, Vec3::y()));
        assert_eq!((joined.positions.len(), mending.welded_nodes), (2 * cube.positions.len() - 9, 9));
        assert_eq!(mended(with(&cube, &cube, Vec3::zeros())).0, cube);
        let beside = with(&cube, &cube, Vec3::new(1.0, 1.0, 0.0));
        assert_eq!(mended(beside.clone()), (beside, Mending::default()));
        assert_eq!(mended(cube.clone()), (cube, Mending::default()));
    }

    #[test]
    fn a_part_that_lies_in_another_is_left_out() {
        let (cube, small) = (shapes::box_tets(Vec3::repeat(1.0), [3, 3, 3]), shapes::box_tets(Vec3::repeat(0.3), [1, 1, 1]));
        for (inside, n) in [(Vec3::new(0.1, 0.02, 0.03), small.tets.len()), (Vec3::new(0.4, 0.0, 0.0), 0), (Vec3::x() * 2.0, 0)] {
            let (mended, mending) = mended(with(&cube, &small, inside));
            assert_eq!(mending.swallowed_tets, n, "{inside:?}");
            assert_eq!(mended.tets.len(), cube.tets.len() + small.tets.len() - n, "{inside:?}");
        }
    }
}
