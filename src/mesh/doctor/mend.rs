//! The repairs of a surface that are safe without asking.

use std::collections::{HashMap, HashSet};

use super::holes::close_small_holes;
use super::orientation::orient;
use super::sides::{place, sides, sorted};
use crate::cancel::{CancelToken, Cancelled};
use crate::disjoint_sets::DisjointSets;
use crate::mesh::SurfaceMesh;

/// Welds vertices at one place; drops triangles that use a vertex twice or repeat an earlier one, walls inside of the
/// body whose triangles are there twice, facing both ways, and unused vertices; makes the triangles of a piece agree
/// which side is outside and turns pieces that are inside out; closes small holes. Triangles that stay keep their
/// texture coordinates and normals. Flat triangles with three different corners stay: without them the surface would
/// open.
pub fn mend(surface: SurfaceMesh) -> SurfaceMesh {
    mend_and_close(surface).0
}

/// Does what [`mend`] does and counts the triangles that now close holes.
pub fn mend_and_close(surface: SurfaceMesh) -> (SurfaceMesh, usize) {
    mend_unless(surface, &CancelToken::default()).expect("nobody cancels it")
}

/// The same, which ends soon after `cancel` is cancelled.
pub fn mend_unless(surface: SurfaceMesh, cancel: &CancelToken) -> Result<(SurfaceMesh, usize), Cancelled> {
    let mut first_at: HashMap<[u64; 3], u32> = HashMap::new();
    let welded: Vec<u32> =
        (0..).zip(&surface.positions).map(|(vertex, position)| *first_at.entry(place(position)).or_insert(vertex)).collect();
    let mut seen = HashSet::new();
    // The triangles that stay, and their vertices.
    let (mut kept, mut triangles): (Vec<usize>, Vec<[u32; 3]>) = (0..)
        .zip(surface.triangles.iter().map(|t| t.map(|v| welded[v as usize])))
        .filter(|&(_, [a, b, c])| a != b && b != c && c != a && seen.insert(rotated([a, b, c])))
        .unzip();
    cancel.check()?;
    if let Some(is_kept) = without_inner_walls(&triangles) {
        (kept, triangles) = kept.into_iter().zip(triangles).zip(is_kept).filter(|(_, is_kept)| *is_kept).map(|(kept, _)| kept).unzip();
    }

    cancel.check()?;
    // Vertices keep their order.
    let mut index_of = vec![u32::MAX; surface.positions.len()];
    triangles.as_flattened().iter().for_each(|&vertex| index_of[vertex as usize] = 0);
    let mut mended = SurfaceMesh::default();
    for (index, position) in index_of.iter_mut().zip(&surface.positions).filter(|(index, _)| **index == 0) {
        *index = mended.positions.len() as u32;
        mended.positions.push(*position);
    }
    mended.triangles = triangles.iter().map(|t| t.map(|v| index_of[v as usize])).collect();
    mended.texture_coordinates = surface.texture_coordinates.map(|texture| kept.iter().map(|&t| texture[t]).collect());
    mended.parts = surface.parts.map(|parts| parts.of(kept.iter().copied()));
    mended.normals = surface.normals.map(|normals| kept.iter().map(|&t| normals[t]).collect());
    cancel.check()?;
    orient(&mut mended);
    cancel.check()?;
    let before = mended.triangles.len();
    close_small_holes(&mut mended);
    cancel.check()?;
    let lids = mended.triangles.len() - before;
    // A piece that was open has an outside only now.
    if lids > 0 {
        orient(&mut mended);
    }
    Ok((mended, lids))
}

/// Finds triangles that are there twice, facing both ways, and drops both where they are a wall between parts of one
/// body, one of the two where they are a sheet with two sides. Gives for each triangle whether it stays; nothing when
/// all do.
fn without_inner_walls(triangles: &[[u32; 3]]) -> Option<Vec<bool>> {
    let mut first_of: HashMap<[u32; 3], usize> = HashMap::new();
    let mut twin: Vec<Option<usize>> = vec![None; triangles.len()];
    for (t, triangle) in triangles.iter().enumerate() {
        if let Some(first) = first_of.insert(sorted(triangle), t) {
            (twin[t], twin[first]) = (Some(first), Some(t));
        }
    }
    if twin.iter().all(Option::is_none) {
        return None;
    }
    // A wall is made of triangles with twins that share edges; it is within the body when other triangles continue it
    // at its border.
    let mut walls = DisjointSets::new(triangles.len());
    let all_sides = sides(triangles);
    let edges = || all_sides.chunk_by(|a, b| a.ends == b.ends);
    for edge in edges() {
        let mut doubled = edge.iter().map(|side| side.corners[0] / 3).filter(|&t| twin[t].is_some());
        if let Some(first) = doubled.next() {
            doubled.for_each(|other| {
                walls.join(first, other);
            });
        }
    }
    let (mut is_held, mut is_free) = (vec![false; triangles.len()], vec![false; triangles.len()]);
    for edge in edges() {
        let Some(wall) = edge.iter().map(|side| side.corners[0] / 3).find(|&t| twin[t].is_some()).map(|t| walls.root(t)) else { continue };
        match edge.iter().filter(|side| twin[side.corners[0] / 3].is_none()).count() {
            0 => is_free[wall] |= edge.len() == 2,
            1 => is_free[wall] = true,
            _ => is_held[wall] = true,
        }
    }
    let keeps = |t: usize, walls: &mut DisjointSets| match twin[t] {
        None => true,
        Some(other) => {
            let wall = walls.root(t);
            (is_free[wall] || !is_held[wall]) && t < other
        }
    };
    Some((0..triangles.len()).map(|t| keeps(t, &mut walls)).collect())
}

/// A triangle rotated to begin with its lowest vertex.
fn rotated([a, b, c]: [u32; 3]) -> [u32; 3] {
    if a <= b && a <= c {
        [a, b, c]
    } else if b <= c {
        [b, c, a]
    } else {
        [c, a, b]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;
    use crate::mesh::doctor::diagnose;
    use crate::mesh::shapes::surface_box;

    fn cube() -> SurfaceMesh {
        surface_box(Vec3::repeat(2.0))
    }

    #[test]
    fn a_sound_surface_has_no_problems() {
        let found = diagnose(&cube());
        assert!(found.is_solid() && found.is_manifold() && found.is_closed());
        assert_eq!((found.vertices, found.triangles, found.pieces), (8, 12, 1));
        assert!((found.signed_volume - 8.0).abs() < 1e-12 && (found.area - 24.0).abs() < 1e-12);
        assert_eq!(mend(cube()), cube());
    }

    #[test]
    fn each_fault_is_counted() {
        let mut open = cube();
        open.triangles.pop();
        assert_eq!(diagnose(&open).boundary_edges, 3);
        assert!(!diagnose(&open).is_solid());

        let mut flipped = cube();
        flipped.triangles[0].swap(0, 1);
        assert_eq!(diagnose(&flipped).misoriented_edges, 3);
        assert!(!diagnose(&flipped).is_solid() && diagnose(&mend(flipped)).is_solid());

        let mut inside_out = cube();
        inside_out.triangles.iter_mut().for_each(|t| t.swap(0, 1));
        assert!(diagnose(&inside_out).is_inside_out() && diagnose(&mend(inside_out)).is_solid());

        // Two cubes that share one vertex.
        let touching = two_cubes(Vec3::repeat(2.0));
        assert_eq!((diagnose(&touching).pieces, diagnose(&touching).duplicate_vertices), (2, 1));
        let touching = mend(touching);
        assert_eq!((diagnose(&touching).pieces, diagnose(&touching).non_manifold_vertices), (1, 1));
        assert_eq!(diagnose(&SurfaceMesh::default()).triangles, 0);
    }

    fn two_cubes(shift: Vec3) -> SurfaceMesh {
        let mut both = cube();
        both.positions.extend(cube().positions.iter().map(|p| p + shift));
        both.triangles.extend(cube().triangles.iter().map(|t| t.map(|v| v + 8)));
        both
    }

    #[test]
    fn a_wall_between_two_rooms_is_taken_out_and_a_sheet_with_two_sides_keeps_one() {
        let mended = mend(two_cubes(Vec3::x() * 2.0));
        let found = diagnose(&mended);
        assert!(found.is_solid() && found.is_manifold() && (found.signed_volume - 16.0).abs() < 1e-12, "{found:?}");
        assert_eq!((found.vertices, found.triangles), (12, 20));

        let mut sheet = cube();
        sheet.triangles.truncate(4);
        let one_side = sheet.triangles.clone();
        sheet.triangles.extend(one_side.iter().map(|&[a, b, c]| [a, c, b]));
        assert_eq!(mend(sheet).triangles.len(), one_side.len());
    }

    #[test]
    fn texture_coordinates_stay_with_their_corners() {
        // A soup as a file with a seam at every edge has it: the corners of each triangle know where they lie, one
        // triangle is there twice, another is turned over; a hole is closed.
        let cube = cube().subdivided(1.5);
        let mut soup = SurfaceMesh::default();
        for t in 0..cube.triangles.len() {
            soup.positions.extend(cube.corners(t));
            soup.triangles.push([0, 1, 2].map(|k| (3 * t + k) as u32));
        }
        soup.triangles[5].swap(0, 2);
        soup.triangles.insert(3, soup.triangles[2]);
        soup.triangles.pop();
        let on = |surface: &SurfaceMesh, t: usize| surface.corners(t).map(|p| [p.x + 3.0 * p.y, p.z - 5.0 * p.y].map(|x| x as f32));
        soup.texture_coordinates = Some((0..soup.triangles.len()).map(|t| on(&soup, t)).collect());
        let mended = mend(soup);
        assert!(diagnose(&mended).is_solid() && mended.positions.len() == cube.positions.len(), "{:?}", diagnose(&mended));
        // They are a function of the place here, so that the lid fits too.
        let (texture, n) = (mended.texture_coordinates.clone().unwrap(), cube.triangles.len());
        assert!(texture.len() == n && (0..n).all(|t| texture[t] == on(&mended, t)));
    }

    #[test]
    fn mending_a_soup_gives_the_solid_back() {
        // Every triangle with corners of its own, one twice, one collapsed, one stray vertex.
        let cube = cube();
        let mut soup = SurfaceMesh::default();
        for t in 0..cube.triangles.len() {
            let n = soup.positions.len() as u32;
            soup.positions.extend(cube.corners(t));
            soup.triangles.push([n, n + 1, n + 2]);
        }
        soup.triangles.push([1, 2, 0]);
        soup.triangles.push([4, 4, 5]);
        soup.positions.push(Vec3::repeat(9.0));
        let found = diagnose(&soup);
        assert_eq!((found.duplicate_vertices, found.repeated_triangles, found.degenerate_triangles), (28, 1, 1));
        assert_eq!(found.unused_vertices, 1);

        let mended = mend(soup);
        assert!(diagnose(&mended).is_solid() && diagnose(&mended).is_manifold());
        assert_eq!((mended.positions.len(), mended.triangles.len()), (8, 12));
    }
}
