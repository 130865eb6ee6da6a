//! Cells of a regular lattice over a body at rest: the coarse space of the two-level preconditioner.
//!
//! A field on the points of the lattice is carried to the nodes of the body trilinearly. A cell is what is connected
//! inside of it, and cells share points only where the mesh connects them: fingers that lie in one box move each on
//! its own [Nesme, Kry, Jerabkova & Faure 2009].

use std::ops::Range;

use super::Pattern;
use super::aggregates::{Body, number_of_parts};
use crate::disjoint_sets::DisjointSets;
use crate::math::{Aabb, Vec3};

/// Nodes of a cell of a small body.
const NODES: usize = 32;
/// Bodies with more cells than this get larger ones: the solve of the coarse problem grows faster than their number.
/// Measured on bars of 52k to 1.05M tets: twice as many cells save one iteration of ten and cost as much, half as many
/// cost three.
const MANY: usize = 110;
const GROWTH: f64 = 0.65;
/// Halvings of the interval in which the size of a cell is looked for.
const ROUNDS: usize = 14;
const WIDEST: f64 = 4096.0;

const NONE: u32 = u32::MAX;

/// The free nodes of one body by cells, and the points of these.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    /// Nodes of each cell, counted from the first of the body.
    pub nodes: Vec<Vec<u32>>,
    /// Points at its corners; bit a of a corner is set on the far side of the axis a.
    pub corners: Vec<[u32; 8]>,
    /// Where each node of the body stands in its cell: 0 to 1 along each axis, beyond that what came from a small cell.
    pub places: Vec<Vec3>,
    /// Positions of the points [m].
    pub points: Vec<Vec3>,
}

/// Boxes of equal size over some positions.
struct Lattice {
    low: Vec3,
    size: Vec3,
    /// Along each axis.
    n: [i64; 3],
    /// The longest axis first.
    order: [usize; 3],
}

impl Lattice {
    fn new(bounds: &Aabb, size: f64) -> Self {
        let extent = bounds.extent();
        let n: [i64; 3] = std::array::from_fn(|axis| ((extent[axis] / size).round() as i64).max(1));
        let mut order = [0, 1, 2];
        order.sort_by_key(|axis| std::cmp::Reverse(n[*axis]));
        let size = |axis: usize| if extent[axis] > 0.0 { extent[axis] / n[axis] as f64 } else { 1.0 };
        Self { low: bounds.min, size: Vec3::new(size(0), size(1), size(2)), n, order }
    }

    /// In units of the cells.
    fn coordinates(&self, x: &Vec3) -> Vec3 {
        (x - self.low).component_div(&self.size)
    }

    fn cell(&self, x: &Vec3) -> [i64; 3] {
        let at = self.coordinates(x);
        std::array::from_fn(|axis| (at[axis].floor() as i64).clamp(0, self.n[axis] - 1))
    }

    /// Ascends along the shorter axes first.
    fn key(&self, cell: [i64; 3]) -> i64 {
        self.order.iter().fold(0, |key, axis| key * self.n[*axis] + cell[*axis])
    }
}

/// The cells of the body `range`; `fixed` and `positions` (at rest) are given for all nodes of the pattern.
pub fn cells(pattern: &Pattern, range: &Range<usize>, fixed: &[bool], positions: &[Vec3]) -> Cells {
    let body = Body { pattern, first: range.start, fixed: &fixed[range.clone()], positions: &positions[range.clone()] };
    let free: Vec<u32> = (0..range.len() as u32).filter(|i| !body.fixed[*i as usize]).collect();
    let at = |i: u32| &body.positions[i as usize];
    if free.is_empty() {
        return Cells::default();
    }
    let lattice = lattice(free.iter().map(|i| at(*i)), number_of_parts(free.len(), NODES, MANY, GROWTH));
    let mut nodes = parts(&body, &free, |i| lattice.key(lattice.cell(at(i))));
    body.merge_small(&mut nodes);

    // What a cell took over stands behind its own.
    let boxes: Vec<[i64; 3]> = nodes.iter().map(|part| lattice.cell(at(part[0]))).collect();
    let mut owner = vec![NONE; range.len()];
    let mut places = vec![Vec3::zeros(); range.len()];
    for (c, (part, cell)) in nodes.iter().zip(&boxes).enumerate() {
        for i in part {
            owner[*i as usize] = c as u32;
            places[*i as usize] = lattice.coordinates(at(*i)) - Vec3::from(cell.map(|k| k as f64));
        }
    }
    let neighbours = |i: &u32| body.neighbours(*i).map(|j| owner[j as usize]);
    let mut pairs: Vec<[u32; 2]> =
        free.iter().flat_map(|i| neighbours(i).map(|b| [owner[*i as usize], b])).filter(|[a, b]| a < b).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut slots = DisjointSets::new(8 * nodes.len());
    for [a, b] in pairs {
        let [from, to] = [a, b].map(|c| boxes[c as usize]);
        for corner in 0..8 {
            let other: [i64; 3] = std::array::from_fn(|axis| from[axis] + (corner >> axis & 1) - to[axis]);
            if other.iter().all(|k| (0..2).contains(k)) {
                let same = other[0] | other[1] << 1 | other[2] << 2;
                slots.join(8 * a as usize + corner as usize, 8 * b as usize + same as usize);
            }
        }
    }
    let (mut points, mut numbers) = (vec![], vec![NONE; 8 * nodes.len()]);
    let mut point_of = |slot: usize| {
        let first = slots.root(slot);
        if numbers[first] == NONE {
            numbers[first] = points.len() as u32;
            let corner = |axis: usize| (boxes[slot / 8][axis] + (slot as i64 >> axis & 1)) as f64;
            points.push(lattice.low + Vec3::new(corner(0), corner(1), corner(2)).component_mul(&lattice.size));
        }
        numbers[first]
    };
    let corners = (0..nodes.len()).map(|c| std::array::from_fn(|corner| point_of(8 * c + corner))).collect();
    Cells { nodes, corners, places, points }
}

/// The smallest boxes of which no more than `wanted` hold something.
fn lattice<'a>(positions: impl Iterator<Item = &'a Vec3> + Clone, wanted: usize) -> Lattice {
    let bounds = Aabb::of(positions.clone());
    let widest = bounds.extent().amax().max(f64::MIN_POSITIVE);
    let [mut low, mut high] = [widest / WIDEST, 2.0 * widest];
    for _ in 0..ROUNDS {
        let middle = (low * high).sqrt();
        let lattice = Lattice::new(&bounds, middle);
        let mut keys: Vec<i64> = positions.clone().map(|x| lattice.key(lattice.cell(x))).collect();
        keys.sort_unstable();
        keys.dedup();
        *(if keys.len() <= wanted { &mut high } else { &mut low }) = middle;
    }
    Lattice::new(&bounds, high)
}

/// The nodes `free` with the same key that are connected among each other; by keys.
fn parts(body: &Body, free: &[u32], key: impl Fn(u32) -> i64) -> Vec<Vec<u32>> {
    let mut keys = vec![0; body.positions.len()];
    free.iter().for_each(|i| keys[*i as usize] = key(*i));
    let mut classes = DisjointSets::new(keys.len());
    for i in free {
        let alike = |j: &u32| j < i && keys[*j as usize] == keys[*i as usize];
        body.neighbours(*i).filter(alike).for_each(|j| {
            classes.join(*i as usize, j as usize);
        });
    }
    let mut order: Vec<(i64, usize, u32)> = free.iter().map(|i| (keys[*i as usize], classes.root(*i as usize), *i)).collect();
    order.sort_unstable();
    order.chunk_by(|a, b| a.1 == b.1).map(|part| part.iter().map(|(_, _, i)| *i).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two bars side by side, joined at one end, as nodes of a grid a meter apart: `n` long, 4 x 4 thick, with a gap
    /// that is smaller than a cell.
    fn fork(n: usize) -> (Pattern, Vec<Vec3>) {
        let size = [n, 9, 4];
        let is_there = |[i, j, _]: [usize; 3]| j != 4 || i < 3;
        let mut positions = vec![];
        let mut numbers = std::collections::BTreeMap::new();
        for i in 0..size[0] {
            for j in 0..size[1] {
                for k in 0..size[2] {
                    if is_there([i, j, k]) {
                        numbers.insert([i, j, k], positions.len() as u32);
                        positions.push(Vec3::new(i as f64, j as f64, k as f64));
                    }
                }
            }
        }
        let step = |at: &[usize; 3], axis: usize| {
            let mut next = *at;
            next[axis] += 1;
            numbers.get(&next).copied()
        };
        let edges = numbers.iter().flat_map(|(at, i)| (0..3).filter_map(move |axis| Some([*i, step(at, axis)?]))).collect::<Vec<_>>();
        let mut edges = edges;
        edges.sort_unstable();
        (Pattern::new(positions.len(), edges), positions)
    }

    #[test]
    fn linear_fields_are_carried_exactly_and_parts_that_lie_apart_share_no_points() {
        let (pattern, x) = fork(60);
        let n = x.len();
        let fixed: Vec<bool> = (0..n).map(|i| x[i].x < 1.0).collect();
        let Cells { nodes, corners, places, points } = cells(&pattern, &(0..n), &fixed, &x);
        let mut all = nodes.concat();
        all.sort_unstable();
        assert_eq!(all, (0..n as u32).filter(|i| !fixed[*i as usize]).collect::<Vec<_>>());
        assert!((10..=2 * n / NODES).contains(&nodes.len()) && points.len() < 6 * nodes.len(), "{} {}", nodes.len(), points.len());
        let field = |x: &Vec3| 3.0 * x.x - 2.0 * x.y + 0.7 * x.z + 4.0;
        for (part, corners) in nodes.iter().zip(&corners) {
            for i in part {
                let f = places[*i as usize];
                let weight =
                    |corner: usize| (0..3).map(|axis| if corner >> axis & 1 == 1 { f[axis] } else { 1.0 - f[axis] }).product::<f64>();
                let carried: f64 = (0..8).map(|corner| weight(corner) * field(&points[corners[corner] as usize])).sum();
                assert!((carried - field(&x[*i as usize])).abs() < 1e-9, "{carried} at {i}");
            }
        }
        // Of the two bars, far from where they are joined.
        let of_bar = |is_upper: bool| {
            let ours = move |part: &&Vec<u32>| part.iter().all(|i| x[*i as usize].x > 20.0 && (x[*i as usize].y > 4.0) == is_upper);
            let mut found: Vec<u32> = nodes.iter().zip(&corners).filter(|(part, _)| ours(part)).flat_map(|(_, corners)| *corners).collect();
            found.sort_unstable();
            found.dedup();
            found
        };
        let (lower, upper) = (of_bar.clone()(false), of_bar(true));
        assert!(lower.len() > 8 && upper.len() > 8 && lower.iter().all(|point| !upper.contains(point)));
    }

    #[test]
    fn flat_and_single_and_no_nodes_have_cells() {
        for x in [vec![], vec![Vec3::zeros()], vec![Vec3::zeros(), Vec3::x()], (0..50).map(|i| Vec3::new(i as f64, 0.0, 0.0)).collect()] {
            let edges = (1..x.len() as u32).map(|i| [i - 1, i]).collect();
            let found = cells(&Pattern::new(x.len(), edges), &(0..x.len()), &vec![false; x.len()], &x);
            assert_eq!(found.nodes.concat().len(), x.len());
            assert!(found.places.iter().chain(&found.points).all(|p| p.iter().all(|c| c.is_finite())));
        }
    }
}
