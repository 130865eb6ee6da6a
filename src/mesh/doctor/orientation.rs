//! Makes the triangles of a surface agree on which side is outside.

use super::diagnosis::is_solid_volume;
use super::sides::sides;
use crate::math::{Aabb, Vec3};
use crate::mesh::SurfaceMesh;
use crate::mesh::tree::solid_angle;

/// Makes triangles that share an edge run opposite ways along it, piece by piece, as most of the piece's area does;
/// then turns closed pieces that are inside out, unless they lie in another one, as the inner wall of a hollow body
/// does. Edges of more or less than two triangles bound pieces. A piece with only one side (a Möbius strip) keeps some
/// edges that disagree.
pub(super) fn orient(surface: &mut SurfaceMesh) {
    let n = surface.triangles.len();
    // Neighbours over edges of two triangles, and whether the two disagree.
    let mut neighbours: Vec<Vec<(u32, bool)>> = vec![Vec::new(); n];
    let mut is_open = vec![false; n];
    for edge in sides(&surface.triangles).chunk_by(|a, b| a.ends == b.ends) {
        if let [a, b] = edge {
            let (s, t) = (a.corners[0] / 3, b.corners[0] / 3);
            neighbours[s].push((t as u32, a.forward == b.forward));
            neighbours[t].push((s as u32, a.forward == b.forward));
        } else {
            edge.iter().for_each(|side| is_open[side.corners[0] / 3] = true);
        }
    }
    let mut piece_of = vec![usize::MAX; n];
    let mut pieces: Vec<Vec<usize>> = Vec::new();
    let mut turned = vec![false; n];
    for start in 0..n {
        if piece_of[start] != usize::MAX {
            continue;
        }
        let mut piece = vec![start];
        piece_of[start] = pieces.len();
        let mut next = 0;
        while let Some(&triangle) = piece.get(next) {
            next += 1;
            for &(other, disagrees) in &neighbours[triangle] {
                let other = other as usize;
                if piece_of[other] == usize::MAX {
                    piece_of[other] = pieces.len();
                    turned[other] = turned[triangle] != disagrees;
                    piece.push(other);
                }
            }
        }
        // The piece keeps the side to which most of its area faces.
        let area = |&t: &usize| {
            let [a, b, c] = surface.corners(t);
            (b - a).cross(&(c - a)).norm() * if turned[t] { -1.0 } else { 1.0 }
        };
        if piece.iter().map(area).sum::<f64>() < 0.0 {
            piece.iter().for_each(|&t| turned[t] = !turned[t]);
        }
        pieces.push(piece);
    }
    (0..n).filter(|&t| turned[t]).for_each(|t| surface.flip(t));
    turn_outwards(surface, &pieces, &is_open);
}

/// At most this many pairs of a point and a triangle are examined to find which piece lies in which; surfaces that need
/// more keep their orientation.
const MAX_PAIRS: usize = 1 << 28;

fn turn_outwards(surface: &mut SurfaceMesh, pieces: &[Vec<usize>], is_open: &[bool]) {
    let closed: Vec<&Vec<usize>> = pieces.iter().filter(|piece| piece.iter().all(|&t| !is_open[t])).collect();
    let volume = |piece: &[usize]| {
        let origin = surface.positions[surface.triangles[piece[0]][0] as usize];
        let six = |&t: &usize| {
            let [a, b, c] = surface.corners(t).map(|p| p - origin);
            a.dot(&b.cross(&c))
        };
        piece.iter().map(six).sum::<f64>() / 6.0
    };
    let inverted: Vec<&Vec<usize>> = closed.iter().copied().filter(|piece| volume(piece) < 0.0).collect();
    if inverted.len().saturating_mul(surface.triangles.len()) > MAX_PAIRS {
        return;
    }
    let mut wrong: Vec<usize> = Vec::new();
    for piece in inverted {
        let bounds = |piece: &[usize]| piece.iter().fold(Aabb::EMPTY, |all, &t| all.joined(Aabb::of(&surface.corners(t))));
        let own = bounds(piece);
        let point: Vec3 = surface.positions[surface.triangles[piece[0]][0] as usize];
        let contains = |other: &[usize]| {
            let box_of = bounds(other);
            let around = (0..3).all(|k| box_of.min[k] <= own.min[k] && own.max[k] <= box_of.max[k]);
            let angle = |&t: &usize| solid_angle(&surface.corners(t).map(|corner| corner - point));
            around && is_solid_volume(volume(other), &box_of) && other.iter().map(angle).sum::<f64>() > std::f64::consts::TAU
        };
        if !closed.iter().any(|other| !std::ptr::eq(*other, piece) && contains(other)) {
            wrong.extend(piece);
        }
    }
    wrong.into_iter().for_each(|t| surface.flip(t));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::doctor::diagnose;
    use crate::mesh::shapes;

    #[test]
    fn scrambled_triangles_agree_again_and_face_outwards() {
        let ball = shapes::surface_sphere(1.0, 16);
        let mut scrambled = ball.clone();
        for (i, triangle) in scrambled.triangles.iter_mut().enumerate() {
            if (i * 7919) % 5 < 3 {
                triangle.swap(0, 1);
            }
        }
        assert!(diagnose(&scrambled).misoriented_edges > 100);
        orient(&mut scrambled);
        let found = diagnose(&scrambled);
        assert!(found.misoriented_edges == 0 && (found.signed_volume - ball.signed_volume()).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn inner_walls_stay_and_other_pieces_that_are_inside_out_turn() {
        let ball = shapes::surface_sphere(1.0, 16);
        let n = ball.positions.len() as u32;
        let with = |factor: f64, shift: f64| {
            let mut both = ball.clone();
            both.positions.extend(ball.positions.iter().map(|p| p * factor + Vec3::x() * shift));
            both.triangles.extend(ball.triangles.iter().map(|&[a, b, c]| [a + n, c + n, b + n]));
            orient(&mut both);
            both.signed_volume() / ball.signed_volume()
        };
        assert!((with(0.5, 0.2) - 0.875).abs() < 1e-9, "a hollow ball");
        assert!((with(0.5, 3.0) - 1.125).abs() < 1e-9, "two balls");
        assert!((with(1.0, 1.0) - 2.0).abs() < 1e-9, "two balls that overlap");
    }
}
