//! Solids made to measure, centred at the origin: tet meshes on mapped grids, and plain surfaces for drawing.

use std::collections::BTreeMap;
use std::f64::consts::{FRAC_PI_4, PI, TAU};

use super::kuhn::KuhnGrid;
use super::{SurfaceMesh, TetMesh};
use crate::math::Vec3;

/// A box of `size` [m], cut into `cells` along each axis (at least one), six tets a cell. Its volume is exact.
pub fn box_tets(size: Vec3, cells: [u32; 3]) -> TetMesh {
    let cells = cells.map(|n| n.max(1) as usize);
    let lattice = KuhnGrid { cells, wrapped: None };
    lattice.tetrahedralise(
        |_| true,
        |_| 0,
        |point| Vec3::from(std::array::from_fn(|axis| size[axis] * (point[axis] as f64 / cells[axis] as f64 - 0.5))),
    )
}

/// A ball: a cube of `resolution` cells a side (made even) mapped onto it, its border nodes on the sphere.
pub fn sphere(radius: f64, resolution: u32) -> TetMesh {
    let n = even(resolution);
    let lattice = KuhnGrid { cells: [n; 3], wrapped: None };
    lattice.tetrahedralise(
        |_| true,
        |cell| mirror_bits(cell, [Some(n); 3]),
        |point| Vec3::from(ball_from_cube(point.map(|i| unit(i, n)))) * radius,
    )
}

/// A cylinder along y: squares of `resolution` cells a side (made even) mapped onto discs and stacked in cells about as
/// high as wide.
pub fn cylinder(radius: f64, height: f64, resolution: u32) -> TetMesh {
    let n = even(resolution);
    let layers = layers(height, 2.0 * radius / n as f64);
    let lattice = KuhnGrid { cells: [n, layers, n], wrapped: None };
    lattice.tetrahedralise(
        |_| true,
        |cell| mirror_bits(cell, [Some(n), None, Some(n)]),
        |[i, j, k]| {
            let [x, z] = ball_from_cube([unit(i, n), unit(k, n)]).map(|x| x * radius);
            Vec3::new(x, height * (j as f64 / layers as f64 - 0.5), z)
        },
    )
}

/// A torus around y: the disc of the tube, as in [`cylinder`], swept around a circle of `radius`.
pub fn torus(radius: f64, tube_radius: f64, resolution: u32) -> TetMesh {
    let n = even(resolution);
    let sectors = layers(TAU * radius, 2.0 * tube_radius / n as f64).max(3);
    // Axes of the grid: along the tube, out, up. In this order they are right-handed.
    let lattice = KuhnGrid { cells: [sectors, n, n], wrapped: Some(0) };
    lattice.tetrahedralise(
        |_| true,
        |cell| mirror_bits(cell, [None, Some(n), Some(n)]),
        |[i, j, k]| {
            let [out, up] = ball_from_cube([unit(j, n), unit(k, n)]).map(|x| x * tube_radius);
            let (sin, cos) = (TAU * i as f64 / sectors as f64).sin_cos();
            Vec3::new(-sin * (radius + out), up, cos * (radius + out))
        },
    )
}

/// A ring around y with a rectangular cross-section, one cell thick: `segments` hexahedra (at least three) of six tets
/// each, all nodes on the surface. `radius` [m] reaches from the axis to the middle of the section, which is `width`
/// wide along the radius and `height` high along y. The nodes lie at these measures: the ring is a prism of `segments`
/// sides.
pub fn ring(radius: f64, width: f64, height: f64, segments: u32) -> TetMesh {
    let segments = segments.max(3) as usize;
    // Axes of the grid as in [`torus`].
    let lattice = KuhnGrid { cells: [segments, 1, 1], wrapped: Some(0) };
    lattice.tetrahedralise(
        |_| true,
        |_| 0,
        |[i, j, k]| {
            let out = radius + width * (j as f64 - 0.5);
            let (sin, cos) = (TAU * i as f64 / segments as f64).sin_cos();
            Vec3::new(-sin * out, height * (k as f64 - 0.5), cos * out)
        },
    )
}

/// A flat square frame with three holes, of `size` [m] with its thickness along y: 72 of 12 x 1 x 12 cells, two holes
/// of 10 x 2 cells beside a hole of 8 x 4 cells. It has 260 nodes, all on the surface, 432 tets and 528 boundary
/// triangles.
pub fn frame(size: Vec3) -> TetMesh {
    let hole = |x: usize, z: usize| match z {
        1 | 2 | 9 | 10 => (1..11).contains(&x),
        4..=7 => (2..10).contains(&x),
        _ => false,
    };
    let cells = [12, 1, 12];
    let lattice = KuhnGrid { cells, wrapped: None };
    let place = |point: [usize; 3]| Vec3::from(std::array::from_fn(|axis| size[axis] * (point[axis] as f64 / cells[axis] as f64 - 0.5)));
    lattice.tetrahedralise(|[x, _, z]| !hole(x, z), |_| 0, place)
}

fn even(resolution: u32) -> usize {
    (resolution.max(2) as usize).next_multiple_of(2)
}

fn layers(length: f64, thickness: f64) -> usize {
    ((length / thickness).round() as usize).max(1)
}

/// Grid index to [-1, 1].
fn unit(i: usize, n: usize) -> f64 {
    2.0 * i as f64 / n as f64 - 1.0
}

/// Mirrors the cut of the lower halves along the axes with a size: then every cell's diagonal points away from the
/// centre, and no tet has all its corners on the border where the mapping flattens the edges of the cube.
fn mirror_bits(cell: [usize; 3], sizes: [Option<usize>; 3]) -> usize {
    (0..3).filter(|&axis| sizes[axis].is_some_and(|n| cell[axis] < n / 2)).map(|axis| 1 << axis).sum()
}

/// Maps [-1, 1]^N onto the unit ball, every cube around the centre onto a sphere, with equal angles between the grid
/// lines of a face (the "equiangular" cubed sphere [Ronchi, Iacono & Paolucci 1996], filled). It bends where two faces
/// meet, along the diagonals, where the mirrored cut has faces too. Unlike the smooth maps of a cube to a ball it
/// flattens no cell more than another as the grid becomes finer.
fn ball_from_cube<const N: usize>(point: [f64; N]) -> [f64; N] {
    let shell = point.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    if shell == 0.0 {
        return point;
    }
    let direction = point.map(|x| (FRAC_PI_4 * x / shell).tan());
    let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
    direction.map(|x| x * shell / length)
}

/// A box of `size` [m] as 12 triangles.
pub fn surface_box(size: Vec3) -> SurfaceMesh {
    let mesh = box_tets(size, [1; 3]);
    SurfaceMesh { triangles: mesh.boundary(), positions: mesh.positions, ..SurfaceMesh::default() }
}

/// A sphere of `segments` meridians.
pub fn surface_sphere(radius: f64, segments: u32) -> SurfaceMesh {
    let segments = segments.max(3);
    let parallels = (segments / 2).max(2);
    let profile: Vec<[f64; 2]> = (0..=parallels)
        .map(|i| PI * f64::from(i) / f64::from(parallels))
        .map(|angle| [radius * angle.sin(), -radius * angle.cos()])
        .collect();
    revolve(&profile, segments, false)
}

/// A sphere of `20 * 4^level` triangles of nearly equal size: an icosahedron whose triangles are halved along every
/// edge `level` times (at most 7), all vertices on the sphere.
pub fn icosphere(radius: f64, level: u32) -> SurfaceMesh {
    let golden = (1.0 + 5f64.sqrt()) / 2.0;
    // The corners of three golden rectangles, one in each coordinate plane.
    let mut directions: Vec<Vec3> = (0..12)
        .map(|i| {
            let (short, long) = (if i & 1 == 0 { 1.0 } else { -1.0 }, if i & 2 == 0 { golden } else { -golden });
            match i / 4 {
                0 => Vec3::new(0.0, short, long),
                1 => Vec3::new(short, long, 0.0),
                _ => Vec3::new(long, 0.0, short),
            }
        })
        .map(|corner| corner.normalize())
        .collect();
    let mut triangles = icosahedron(&directions);
    for _ in 0..level.min(7) {
        // The sorted ends of an edge, and its middle.
        let mut middles: BTreeMap<[u32; 2], u32> = BTreeMap::new();
        let mut middle = |a: u32, b: u32| {
            *middles.entry([a.min(b), a.max(b)]).or_insert_with(|| {
                directions.push((directions[a as usize] + directions[b as usize]).normalize());
                directions.len() as u32 - 1
            })
        };
        triangles = triangles
            .iter()
            .flat_map(|&[a, b, c]| {
                let [ab, bc, ca] = [middle(a, b), middle(b, c), middle(c, a)];
                [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
            })
            .collect();
    }
    SurfaceMesh { positions: directions.into_iter().map(|d| d * radius).collect(), triangles, ..SurfaceMesh::default() }
}

/// The 20 triangles among the corners of an icosahedron: all triples of neighbours, seen from outside.
fn icosahedron(corners: &[Vec3]) -> Vec<[u32; 3]> {
    // Unit vectors to neighbours have the dot product 1/sqrt(5), to all others less.
    let near = |a: usize, b: usize| corners[a].dot(&corners[b]) > 0.4;
    let mut triangles = vec![];
    for a in 0..corners.len() {
        for b in (a + 1..corners.len()).filter(|&b| near(a, b)) {
            for c in (b + 1..corners.len()).filter(|&c| near(a, c) && near(b, c)) {
                let outward = corners[a].dot(&corners[b].cross(&corners[c])) > 0.0;
                triangles.push(if outward { [a, b, c] } else { [a, c, b] }.map(|i| i as u32));
            }
        }
    }
    triangles
}

/// A cylinder along y with flat ends.
pub fn surface_cylinder(radius: f64, height: f64, segments: u32) -> SurfaceMesh {
    let half = height / 2.0;
    revolve(&[[0.0, -half], [radius, -half], [radius, half], [0.0, half]], segments.max(3), false)
}

/// A torus around y of `segments` sections; the tube has sides of about the same length, at least eight.
pub fn surface_torus(radius: f64, tube_radius: f64, segments: u32) -> SurfaceMesh {
    let segments = segments.max(3);
    let sides = ((f64::from(segments) * tube_radius / radius).round() as u32).clamp(8, segments.max(8));
    let profile: Vec<[f64; 2]> = (0..sides)
        .map(|i| (TAU * f64::from(i) / f64::from(sides)).sin_cos())
        .map(|(sin, cos)| [radius + tube_radius * cos, tube_radius * sin])
        .collect();
    revolve(&profile, segments, true)
}

/// Turns a profile of points (distance from the axis, y) around y. An open profile runs upwards from the axis to the
/// axis, and its two ends are single vertices; a closed one runs counter-clockwise.
fn revolve(profile: &[[f64; 2]], segments: u32, closed: bool) -> SurfaceMesh {
    let mut surface = SurfaceMesh::default();
    let last = profile.len() - 1;
    let is_pole = |i: usize| !closed && (i == 0 || i == last);
    let mut starts = Vec::with_capacity(profile.len());
    for (i, &[distance, y]) in profile.iter().enumerate() {
        starts.push(surface.positions.len() as u32);
        for segment in 0..if is_pole(i) { 1 } else { segments } {
            let (sin, cos) = (TAU * f64::from(segment) / f64::from(segments)).sin_cos();
            let distance = if is_pole(i) { 0.0 } else { distance };
            surface.positions.push(Vec3::new(distance * sin, y, distance * cos));
        }
    }
    let vertex = |i: usize, segment: u32| starts[i] + if is_pole(i) { 0 } else { segment % segments };
    for i in 0..profile.len() - usize::from(!closed) {
        let next = (i + 1) % profile.len();
        for segment in 0..segments {
            let [a, b] = [vertex(i, segment), vertex(i, segment + 1)];
            let [c, d] = [vertex(next, segment), vertex(next, segment + 1)];
            if a != b {
                surface.triangles.push([a, b, c]);
            }
            if c != d {
                surface.triangles.push([b, d, c]);
            }
        }
    }
    surface
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::doctor::{diagnose, mend};

    /// Checks the mesh and its border, and gives the relative error of its volume.
    fn examine(name: &str, mesh: &TetMesh, volume: f64, euler: i64) -> f64 {
        mesh.check().unwrap();
        let quality = mesh.quality();
        assert!(quality.worst > 0.5, "{name}: {quality:?}");
        let border = SurfaceMesh { positions: mesh.positions.clone(), triangles: mesh.boundary(), ..SurfaceMesh::default() };
        let found = diagnose(&border);
        assert!(found.is_closed() && found.is_manifold() && found.misoriented_edges == 0, "{name}: {found:?}");
        // Overlapping tets would sum to more than the border encloses.
        assert!((found.signed_volume / mesh.total_volume() - 1.0).abs() < 1e-9, "{name}");
        let border = mend(border);
        let (v, f) = (border.positions.len() as i64, border.triangles.len() as i64);
        assert_eq!(v - f / 2, euler, "{name}");
        mesh.total_volume() / volume - 1.0
    }

    #[test]
    fn a_box_is_exact_and_centred() {
        let mesh = box_tets(Vec3::new(1.0, 2.0, 3.0), [2, 4, 5]);
        assert_eq!((mesh.positions.len(), mesh.tets.len()), (3 * 5 * 6, 6 * 40));
        assert!(examine("box", &mesh, 6.0, 2).abs() < 1e-12);
        assert!(mesh.positions.iter().sum::<Vec3>().norm() < 1e-12);
        assert!((0..mesh.tets.len()).all(|t| (mesh.volume(t) * 240.0 / 6.0 - 1.0).abs() < 1e-12));
    }

    #[test]
    fn every_cell_of_a_box_is_cut_around_the_same_diagonal() {
        // The mesh rule of the scenes shared with other simulators: six tets around the diagonal from (0,0,0) to
        // (1,1,1).
        let mesh = box_tets(Vec3::repeat(2.0), [2; 3]);
        for cell in mesh.tets.chunks(6) {
            for tet in cell {
                let corners = tet.map(|n| mesh.positions[n as usize]);
                let low = corners.iter().fold(corners[0], |low, p| low.inf(p));
                assert!(corners.contains(&low) && corners.contains(&(low + Vec3::repeat(1.0))), "{corners:?}");
            }
        }
    }

    #[test]
    fn round_shapes_converge_to_their_volumes() {
        type Shape = fn(u32) -> TetMesh;
        let shapes: [(&str, Shape, f64, i64); 3] = [
            ("sphere", |n| sphere(0.5, n), PI / 6.0, 2),
            ("cylinder", |n| cylinder(0.5, 2.0, n), PI / 2.0, 2),
            ("torus", |n| torus(1.0, 0.3, n), 2.0 * PI * PI * 0.09, 0),
        ];
        for (name, shape, volume, euler) in shapes {
            let errors = [4, 8, 16].map(|n| examine(name, &shape(n), volume, euler));
            assert!(errors[2].abs() < 0.01, "{name}: {errors:?}");
            // Second order: half the cell, a quarter of the error.
            assert!(errors.windows(2).all(|pair| (3.0..5.0).contains(&(pair[0] / pair[1]))), "{name}: {errors:?}");
        }
    }

    #[test]
    fn ring_and_frame_are_those_of_the_seeds() {
        let mesh = ring(0.09, 0.02, 0.02, 18);
        assert_eq!((mesh.positions.len(), mesh.tets.len(), mesh.boundary().len()), (72, 108, 144));
        // A prism between two regular polygons.
        let polygons = 18.0 / 2.0 * (TAU / 18.0).sin() * (0.1f64.powi(2) - 0.08f64.powi(2));
        assert!(examine("ring", &mesh, polygons * 0.02, 0).abs() < 1e-12);

        let mesh = frame(Vec3::new(0.24, 0.02, 0.24));
        assert_eq!((mesh.positions.len(), mesh.tets.len(), mesh.boundary().len()), (260, 432, 528));
        assert!(examine("frame", &mesh, 72.0 * 0.02f64.powi(3), -4).abs() < 1e-12);
        assert_eq!(mesh.surface().positions.len(), 260);
    }

    #[test]
    fn icospheres_are_even() {
        for level in 0..4 {
            let sphere = icosphere(2.0, level);
            let found = diagnose(&sphere);
            assert_eq!((found.is_solid() && found.is_manifold(), found.triangles), (true, 20 << (2 * level)));
            assert_eq!(found.vertices, 2 + 10 * (1 << (2 * level)));
            assert!(sphere.positions.iter().all(|p| (p.norm() - 2.0).abs() < 1e-12));
        }
        assert!((icosphere(1.0, 4).signed_volume() / (4.0 / 3.0 * PI) - 1.0).abs() < 0.005);
    }

    #[test]
    fn the_surface_of_a_solid_has_no_inner_nodes() {
        let surface = box_tets(Vec3::repeat(1.0), [3; 3]).surface();
        assert_eq!((surface.positions.len(), surface.triangles.len()), (56, 108));
        assert!(diagnose(&surface).is_solid() && diagnose(&surface).is_manifold());
        assert!((surface.signed_volume() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn awkward_sizes_still_give_sound_meshes() {
        examine("disc", &cylinder(1.0, 0.8, 1), PI * 0.8, 2);
        examine("odd", &sphere(1.0, 5), 4.0 / 3.0 * PI, 2);
        examine("bar", &box_tets(Vec3::new(1.0, 1.0, 3.0), [0, 1, 3]), 3.0, 2);
    }

    #[test]
    fn surfaces_are_closed_and_enclose_their_volume() {
        let shapes = [
            ("box", surface_box(Vec3::new(1.0, 2.0, 3.0)), 6.0, 2),
            ("sphere", surface_sphere(0.5, 64), PI / 6.0, 2),
            ("cylinder", surface_cylinder(0.5, 2.0, 64), PI / 2.0, 2),
            ("torus", surface_torus(1.0, 0.3, 128), 2.0 * PI * PI * 0.09, 0),
        ];
        for (name, surface, volume, euler) in shapes {
            let found = diagnose(&surface);
            assert!(found.is_solid() && found.is_manifold(), "{name}: {found:?}");
            assert!((found.signed_volume / volume - 1.0).abs() < 0.01, "{name}: {}", found.signed_volume);
            assert_eq!(found.vertices as i64 - found.triangles as i64 / 2, euler, "{name}");
        }
    }
}
