//! Measures how good a tet mesh is: its angles and shapes, and how far its border is from a surface.

use std::f64::consts::PI;
use std::ops::Range;

use rayon::prelude::*;
use serde::Serialize;

use super::tree::Tree;
use super::{SurfaceMesh, TetMesh, doctor};
use crate::cancel::{CancelToken, Cancelled};
use crate::math::Vec3;

/// Extent, angles and shapes of all tets of a mesh.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shape {
    pub nodes: usize,
    pub tets: usize,
    /// Parts that share no node.
    pub pieces: usize,
    /// Tets of no or negative volume.
    pub inverted: usize,
    /// [m^3]
    pub volume: f64,
    pub smallest_volume: f64,
    pub largest_volume: f64,
    /// Least and largest angle between two faces of a tet [degrees].
    pub dihedral: [f64; 2],
    /// The number of angles in each ten degrees: 0 to 10, 10 to 20, …, 170 to 180.
    pub dihedral_histogram: [u64; 18],
    /// Three times the inner over the outer radius, 1 for a regular tet: the least, and the mean.
    pub radius_ratio: [f64; 2],
}

/// The distance between two surfaces, by samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Deviation {
    /// The largest and the mean distance [m].
    pub largest: f64,
    pub mean: f64,
    pub samples: usize,
}

impl Shape {
    /// Measures a mesh with at least one tet.
    pub fn of(mesh: &TetMesh) -> Self {
        struct Sums {
            volume: [f64; 3],
            dihedral: [f64; 2],
            histogram: [u64; 18],
            ratio: [f64; 2],
        }
        let nothing = || Sums {
            volume: [f64::INFINITY, f64::NEG_INFINITY, 0.0],
            dihedral: [180.0, 0.0],
            histogram: [0; 18],
            ratio: [f64::INFINITY, 0.0],
        };
        let part = |tets: Range<usize>| {
            tets.fold(nothing(), |mut sums, tet| {
                let corners = mesh.corners(tet);
                let volume = mesh.volume(tet);
                sums.volume = [sums.volume[0].min(volume), sums.volume[1].max(volume), sums.volume[2] + volume];
                for angle in dihedral_angles(&corners) {
                    sums.dihedral = [sums.dihedral[0].min(angle), sums.dihedral[1].max(angle)];
                    sums.histogram[((angle / 10.0) as usize).min(17)] += 1;
                }
                let ratio = radius_ratio(&corners);
                sums.ratio = [sums.ratio[0].min(ratio), sums.ratio[1] + ratio];
                sums
            })
        };
        // Parts of a fixed size, added in their order: the same sums for any number of threads.
        const PART: usize = 4096;
        let n = mesh.tets.len();
        let parts: Vec<Sums> = (0..n.div_ceil(PART)).into_par_iter().map(|k| part(k * PART..((k + 1) * PART).min(n))).collect();
        let all = parts.into_iter().fold(nothing(), |mut all, part| {
            all.volume = [all.volume[0].min(part.volume[0]), all.volume[1].max(part.volume[1]), all.volume[2] + part.volume[2]];
            all.dihedral = [all.dihedral[0].min(part.dihedral[0]), all.dihedral[1].max(part.dihedral[1])];
            all.histogram.iter_mut().zip(part.histogram).for_each(|(sum, n)| *sum += n);
            all.ratio = [all.ratio[0].min(part.ratio[0]), all.ratio[1] + part.ratio[1]];
            all
        });
        Self {
            nodes: mesh.positions.len(),
            tets: n,
            pieces: doctor::pieces(mesh),
            inverted: (0..n).filter(|&tet| mesh.volume(tet) <= 0.0).count(),
            volume: all.volume[2],
            smallest_volume: all.volume[0],
            largest_volume: all.volume[1],
            dihedral: all.dihedral,
            dihedral_histogram: all.histogram,
            radius_ratio: [all.ratio[0], all.ratio[1] / n as f64],
        }
    }
}

impl Deviation {
    /// Measures how far points of one surface are from another: its vertices, and about `samples` points spread evenly
    /// over its triangles.
    ///
    /// # Errors
    /// If `cancel` is cancelled meanwhile.
    pub fn between_unless(surface: &SurfaceMesh, other: &SurfaceMesh, samples: usize, cancel: &CancelToken) -> Result<Self, Cancelled> {
        let tree = Tree::new(other);
        let points = sampled(surface, samples);
        let of_chunk = |points: &[Vec3]| -> Result<Vec<f64>, Cancelled> {
            cancel.check()?;
            Ok(points.iter().map(|point| tree.distance(point)).collect())
        };
        let chunks: Vec<Vec<f64>> = points.par_chunks(POINTS_PER_QUESTION).map(of_chunk).collect::<Result<_, _>>()?;
        let distances = chunks.concat();
        let largest = distances.iter().fold(0.0, |largest: f64, d| largest.max(*d));
        Ok(Self { largest, mean: distances.iter().sum::<f64>() / distances.len() as f64, samples: distances.len() })
    }
}

/// Points that are measured between two questions whether to go on: some milliseconds.
const POINTS_PER_QUESTION: usize = 256;

/// The vertices of a surface, and points of its triangles in proportion to their areas.
fn sampled(surface: &SurfaceMesh, samples: usize) -> Vec<Vec3> {
    let mut points = surface.positions.clone();
    let per_area = samples as f64 / surface.area().max(f64::MIN_POSITIVE);
    let mut owed = 0.0;
    for triangle in 0..surface.triangles.len() {
        let [a, b, c] = surface.corners(triangle);
        owed += (b - a).cross(&(c - a)).norm() / 2.0 * per_area;
        while owed >= 1.0 {
            owed -= 1.0;
            // The additive sequence of two dimensions [Roberts 2018], folded onto the triangle.
            let k = points.len() as f64;
            let [mut s, mut t] = [(k * 0.7548776662466927).fract(), (k * 0.5698402909980532).fract()];
            if s + t > 1.0 {
                (s, t) = (1.0 - s, 1.0 - t);
            }
            points.push(a + (b - a) * s + (c - a) * t);
        }
    }
    points
}

/// The angles between the faces of a tet [degrees], in the order of its edges.
pub(super) fn dihedral_angles(corners: &[Vec3; 4]) -> [f64; 6] {
    // The edge, and the other two corners.
    const AROUND: [[usize; 4]; 6] = [[0, 1, 2, 3], [0, 2, 1, 3], [0, 3, 1, 2], [1, 2, 0, 3], [1, 3, 0, 2], [2, 3, 0, 1]];
    AROUND.map(|[i, j, k, l]| {
        let edge = corners[j] - corners[i];
        let [a, b] = [k, l].map(|other| edge.cross(&(corners[other] - corners[i])));
        a.cross(&b).norm().atan2(a.dot(&b)) * 180.0 / PI
    })
}

/// Three times the radius of the inner sphere over the radius of the outer sphere: 1 for a regular tet, 0 for a flat
/// tet, negative for a tet that is inside out.
fn radius_ratio([a, b, c, d]: &[Vec3; 4]) -> f64 {
    let (u, v, w) = (b - a, c - a, d - a);
    let six_volumes = u.dot(&v.cross(&w));
    let areas = [u.cross(&v), v.cross(&w), w.cross(&u), (v - u).cross(&(w - u))].map(|area| area.norm()).iter().sum::<f64>();
    let center = v.cross(&w) * u.norm_squared() + w.cross(&u) * v.norm_squared() + u.cross(&v) * w.norm_squared();
    // r = 6 V / sum(2 A), R = |center| / (12 V).
    let ratio = 6.0 * six_volumes.powi(2) * six_volumes.signum() / (areas * center.norm());
    if ratio.is_nan() { 0.0 } else { ratio }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::shapes;

    #[test]
    fn known_tets_have_their_known_shapes() {
        let corner = |x, y, z| Vec3::new(x, y, z);
        let regular = [corner(1., 1., 1.), corner(-1., 1., -1.), corner(1., -1., -1.), corner(-1., -1., 1.)];
        assert!(dihedral_angles(&regular).iter().all(|angle| (angle - (1.0f64 / 3.0).acos().to_degrees()).abs() < 1e-9));
        assert!((radius_ratio(&regular) - 1.0).abs() < 1e-12);
        // The corner of a cube: three right angles; r = (3 - sqrt 3) / 6, R = sqrt 3 / 2.
        let cube = [Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z()];
        let angles = dihedral_angles(&cube);
        assert_eq!(angles.iter().filter(|angle| (*angle - 90.0).abs() < 1e-9).count(), 3);
        assert!((radius_ratio(&cube) - 3.0 * ((3.0 - 3f64.sqrt()) / 6.0) / (3f64.sqrt() / 2.0)).abs() < 1e-12);
        let [a, b, c, d] = cube;
        assert!(radius_ratio(&[b, a, c, d]) < 0.0 && radius_ratio(&[a, b, c, b]) == 0.0);

        let shape = Shape::of(&shapes::box_tets(Vec3::new(1.0, 2.0, 3.0), [2, 4, 6]));
        assert_eq!((shape.tets, shape.inverted, shape.pieces, shape.dihedral_histogram.iter().sum::<u64>()), (288, 0, 1, 6 * 288));
        assert!((shape.volume - 6.0).abs() < 1e-12 && (shape.dihedral[0] - 45.0).abs() < 1e-9 && (shape.dihedral[1] - 90.0).abs() < 1e-9);
    }

    #[test]
    fn the_deviation_of_balls_is_that_of_their_radii() {
        let ball = shapes::icosphere(1.0, 4);
        let larger = ball.transformed(|p| p * 1.1);
        for (a, b) in [(&ball, &larger), (&larger, &ball)] {
            let found = Deviation::between_unless(a, b, 5000, CancelToken::never()).unwrap();
            assert!(
                (found.largest - 0.1).abs() < 1e-3 && (found.mean - 0.1).abs() < 5e-3 && (5000..9000).contains(&found.samples),
                "{found:?}"
            );
        }
        // A spike that is nearer to no other point than its own height.
        let mut spiked = ball.clone();
        spiked.positions[0] *= 1.5;
        let largest = |a, b| Deviation::between_unless(a, b, 1000, CancelToken::never()).unwrap().largest;
        assert!((largest(&spiked, &ball) - 0.5).abs() < 1e-3);
        assert!(largest(&ball, &spiked) < 0.1);
        // At each of its questions it can be cancelled.
        for question in 0..4 {
            assert_eq!(Deviation::between_unless(&ball, &spiked, 1000, &CancelToken::after(question)).err(), Some(Cancelled));
        }
    }
}
