//! Meshes as others make them, with every fault that we could think of, and a fall of each onto a floor.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pliant::cancel::CancelToken;
use pliant::math::Vec3;
use pliant::mesh::{Format, MeshData, SurfaceMesh, TetMesh, shapes, write_obj, write_tets};
use pliant::scene::{self, BackendChoice, Scene};
use pliant::sim::{Health, Options, Simulation};
use pliant::step::StepError;

/// A mesh with its name.
pub struct Odd {
    pub name: &'static str,
    pub data: MeshData,
}

/// What became of a mesh that fell.
#[derive(Debug)]
pub struct Fall {
    pub name: &'static str,
    pub notes: Vec<String>,
    pub health: Health,
    pub unconverged_steps: u64,
    pub rollbacks: u64,
    /// Iterations of the worst step over those of the median one.
    pub worst_over_median: f64,
    /// The same of the time they took.
    pub worst_over_median_time: f64,
    pub penetration: f64,
    /// Of all steps [s].
    pub duration: f64,
    /// Whether it came to the end in time.
    pub is_done: bool,
}

/// Falls are ended after this time.
const PATIENCE: Duration = Duration::from_secs(60);

/// Numbers in [0, 1), the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }

    fn vector(&mut self) -> Vec3 {
        Vec3::from_fn(|_, _| 2.0 * self.next() - 1.0)
    }
}

/// All of them: tets first.
pub fn odd_meshes() -> Vec<Odd> {
    let tets = tet_meshes().into_iter().map(|(name, mesh)| Odd { name, data: MeshData::Tets(mesh) });
    tets.chain(surfaces().into_iter().map(|(name, mesh)| Odd { name, data: MeshData::Surface(mesh) })).collect()
}

fn cube() -> TetMesh {
    shapes::box_tets(Vec3::repeat(1.0), [4, 4, 4])
}

fn tet_meshes() -> Vec<(&'static str, TetMesh)> {
    let mut all = vec![
        ("one_tet", TetMesh { positions: vec![Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z()], tets: vec![[0, 1, 2, 3]] }),
        (
            "one_flat_tet",
            TetMesh { positions: vec![Vec3::zeros(), Vec3::x(), Vec3::z(), Vec3::new(0.3, 0.002, 0.3)], tets: vec![[0, 2, 1, 3]] },
        ),
        ("slivers_1e-3", slivers(1e-3)),
        ("slivers_1e-6", slivers(1e-6)),
        ("slivers_1e-8", slivers(1e-8)),
        ("slivers_on_the_border", border_slivers(1e-5)),
        ("needles", shapes::box_tets(Vec3::new(1.0, 0.2, 0.2), [200, 2, 2])),
        ("shaken", shaken(0.12)),
        ("shaken_until_inverted", shaken(0.3)),
        ("one_node_far_out", one_node_far_out()),
        ("mixed_diagonals", mixed_diagonals()),
        ("slivers_between_cells", between_cells(1e-6)),
        ("flatter_slivers_between_cells", between_cells(1e-8)),
        ("hanging_nodes", hanging_nodes()),
        ("coarse_on_fine", joined(&[moved(&cube(), Vec3::y()), shapes::box_tets(Vec3::repeat(1.0), [3, 3, 3])])),
        ("tets_of_their_own", exploded(&cube())),
        ("cut_in_two", joined(&[moved(&cube(), Vec3::x()), cube()])),
        ("twice_the_same_tets", repeated(&cube())),
        ("twice_the_same_body", joined(&[cube(), cube()])),
        ("overlapping_boxes", joined(&[cube(), moved(&cube(), Vec3::new(0.43, 0.31, 0.17))])),
        ("box_in_a_box", joined(&[cube(), moved(&shapes::box_tets(Vec3::repeat(0.4), [2, 2, 2]), Vec3::new(0.02, 0.05, 0.01))])),
        ("inverted_tets", every(&cube(), 3, |tet| tet.swap(0, 1))),
        ("all_inverted", every(&cube(), 1, |tet| tet.swap(0, 1))),
        ("degenerate_tets", degenerate()),
        (
            "missing_tets",
            TetMesh { tets: cube().tets.into_iter().enumerate().filter(|(t, _)| t % 5 != 0).map(|(_, tet)| tet).collect(), ..cube() },
        ),
        ("thin_sheet", shapes::box_tets(Vec3::new(1.0, 0.01, 1.0), [12, 1, 12])),
        ("very_thin_sheet", shapes::box_tets(Vec3::new(1.0, 0.001, 1.0), [8, 1, 8])),
        ("thin_rod", shapes::box_tets(Vec3::new(1.0, 0.01, 0.01), [60, 1, 1])),
        ("touching_at_an_edge", joined(&[cube(), moved(&cube(), Vec3::new(1.0, 1.0, 0.0))])),
        ("touching_at_a_corner", joined(&[cube(), moved(&cube(), Vec3::repeat(1.0))])),
        ("a_hair_apart", joined(&[cube(), moved(&cube(), Vec3::new(1.0 + 1e-9, 0.0, 0.0))])),
        ("a_hair_into_each_other", joined(&[cube(), moved(&cube(), Vec3::new(1.0 - 1e-7, 0.1, 0.0))])),
        ("folded_sheet", bent(&shapes::box_tets(Vec3::new(3.0, 0.1, 1.0), [30, 1, 8]))),
    ];
    let far = all.iter().find(|(name, _)| *name == "slivers_1e-6").map(|(_, mesh)| moved(mesh, Vec3::repeat(1e5)));
    all.extend(far.map(|mesh| ("far_from_the_origin", mesh)));
    all
}

fn surfaces() -> Vec<(&'static str, SurfaceMesh)> {
    let cube = || shapes::surface_box(Vec3::repeat(1.0));
    let ball = || shapes::icosphere(0.5, 2);
    let mut random = Random(5);
    let triangle = SurfaceMesh {
        positions: vec![Vec3::zeros(), Vec3::x(), Vec3::new(0.2, 0.3, 0.8)],
        triangles: vec![[0, 1, 2]],
        ..SurfaceMesh::default()
    };
    let mut open = cube();
    open.triangles.truncate(10);
    let mut flipped = ball();
    (0..flipped.triangles.len()).step_by(3).for_each(|t| flipped.triangles[t].swap(0, 1));
    let mut doubled = ball();
    doubled.triangles.extend(ball().triangles);
    let mut sided = open.clone();
    sided.triangles.extend(open.triangles.iter().map(|&[a, b, c]| [a, c, b]));
    let mut inward = shapes::icosphere(0.4, 2);
    inward.triangles.iter_mut().for_each(|t| t.swap(0, 1));
    let mut finned = ball();
    let far = finned.positions.len() as u32;
    finned.positions.push(Vec3::new(0.0, 1.2, 0.0));
    (0..finned.triangles.len()).step_by(9).for_each(|t| finned.triangles.push([finned.triangles[t][0], finned.triangles[t][1], far]));
    let mut spiked = ball();
    spiked.positions.iter_mut().step_by(11).for_each(|p| *p *= 2.2);
    let mut crossed = ball();
    crossed.positions.iter_mut().step_by(17).for_each(|p| *p *= -1.6);
    let mut flat = cube();
    flat.positions.iter_mut().for_each(|p| p.y = 0.0);
    let soup = SurfaceMesh {
        positions: (0..300).map(|_| random.vector()).collect(),
        triangles: (0..100).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect(),
        ..SurfaceMesh::default()
    };
    let pieces: Vec<SurfaceMesh> =
        (0..18).map(|k| placed(&open, 0.3, random.vector() * 0.8 + Vec3::repeat(0.001 * f64::from(k)))).collect();
    let stacked = |shift: Vec3| union(&[cube(), placed(&cube(), 1.0, shift)]);
    vec![
        ("one_triangle", triangle),
        ("open_box", open),
        ("eighteen_open_pieces", union(&pieces)),
        ("nested_shells", union(&[ball(), shapes::icosphere(0.4, 2), shapes::icosphere(0.3, 2)])),
        ("hollow_ball", union(&[ball(), inward])),
        ("cubes_with_a_common_face", stacked(Vec3::x())),
        ("cubes_with_a_part_of_a_face", stacked(Vec3::new(1.0, 0.3, 0.2))),
        ("cubes_with_a_common_edge", stacked(Vec3::new(1.0, 1.0, 0.0))),
        ("cubes_with_a_common_corner", stacked(Vec3::repeat(1.0))),
        ("cubes_through_each_other", stacked(Vec3::new(0.6, 0.3, 0.1))),
        ("flipped_triangles", flipped),
        ("doubled_triangles", doubled),
        ("sheet_with_two_sides", sided),
        ("moebius_strip", moebius()),
        ("flat_box", flat),
        ("plate", shapes::surface_box(Vec3::new(1.0, 0.002, 1.0))),
        ("fins", finned),
        ("spikes", spiked),
        ("through_itself", crossed),
        ("soup", soup),
        ("thin_ring", shapes::surface_torus(0.5, 0.01, 24)),
        ("rolled_sheet", rolled()),
    ]
}

fn moved(mesh: &TetMesh, shift: Vec3) -> TetMesh {
    TetMesh { positions: mesh.positions.iter().map(|p| p + shift).collect(), tets: mesh.tets.clone() }
}

fn placed(mesh: &SurfaceMesh, scale: f64, shift: Vec3) -> SurfaceMesh {
    mesh.transformed(|p| p * scale + shift)
}

/// One mesh of parts that share no node.
fn joined(parts: &[TetMesh]) -> TetMesh {
    let mut all = TetMesh::default();
    for part in parts {
        let first = all.positions.len() as u32;
        all.positions.extend(&part.positions);
        all.tets.extend(part.tets.iter().map(|tet| tet.map(|node| node + first)));
    }
    all
}

fn union(parts: &[SurfaceMesh]) -> SurfaceMesh {
    let mut all = SurfaceMesh::default();
    for part in parts {
        let first = all.positions.len() as u32;
        all.positions.extend(&part.positions);
        all.triangles.extend(part.triangles.iter().map(|t| t.map(|v| v + first)));
    }
    all
}

fn every(mesh: &TetMesh, nth: usize, change: impl Fn(&mut [u32; 4])) -> TetMesh {
    let mut mesh = mesh.clone();
    mesh.tets.iter_mut().step_by(nth).for_each(change);
    mesh
}

fn repeated(mesh: &TetMesh) -> TetMesh {
    TetMesh { positions: mesh.positions.clone(), tets: [mesh.tets.clone(), mesh.tets.clone()].concat() }
}

fn exploded(mesh: &TetMesh) -> TetMesh {
    let positions = (0..mesh.tets.len()).flat_map(|t| mesh.corners(t)).collect();
    TetMesh { positions, tets: (0..mesh.tets.len() as u32).map(|t| [0, 1, 2, 3].map(|c| 4 * t + c)).collect() }
}

/// Every seventh tet is divided into four by a node next to its first face, which leaves a sliver of that height.
fn slivers(height: f64) -> TetMesh {
    divided(&cube(), height, |t| t % 7 == 3)
}

/// The same at faces of the border.
fn border_slivers(height: f64) -> TetMesh {
    let (_, owners) = cube().boundary_with_tets();
    divided(&cube(), height, |t| owners.contains(&(t as u32)))
}

fn divided(mesh: &TetMesh, height: f64, wants: impl Fn(usize) -> bool) -> TetMesh {
    let mut divided = TetMesh { positions: mesh.positions.clone(), tets: vec![] };
    for (t, &[a, b, c, d]) in mesh.tets.iter().enumerate() {
        if !wants(t) {
            divided.tets.push([a, b, c, d]);
            continue;
        }
        let [pa, pb, pc, pd] = mesh.corners(t);
        let (new, face) = (divided.positions.len() as u32, (pb + pc + pd) / 3.0);
        divided.positions.push(face + (pa - face) * height);
        divided.tets.extend([[new, b, c, d], [a, new, c, d], [a, b, new, d], [a, b, c, new]]);
    }
    divided
}

/// All inner nodes moved about by up to `share` of the length of the cube.
fn shaken(share: f64) -> TetMesh {
    let (mut mesh, mut random) = (cube(), Random(3));
    for p in mesh.positions.iter_mut().filter(|p| p.amax() < 0.49) {
        *p += random.vector() * share;
    }
    mesh
}

fn one_node_far_out() -> TetMesh {
    let mut mesh = cube();
    let inner = mesh.positions.iter().position(|p| p.amax() < 0.3).unwrap();
    mesh.positions[inner] = Vec3::new(0.1, 1.4, 0.2);
    mesh
}

/// Cells that are divided along diagonals of their own: the two sides of most inner faces do not fit.
fn mixed_diagonals() -> TetMesh {
    const N: u32 = 4;
    let node = |[i, j, k]: [u32; 3]| (k * (N + 1) + j) * (N + 1) + i;
    let mut mesh = TetMesh::default();
    let mut random = Random(11);
    for k in 0..=N {
        for j in 0..=N {
            mesh.positions.extend((0..=N).map(|i| Vec3::new(f64::from(i), f64::from(j), f64::from(k)) / f64::from(N)));
        }
    }
    for cell in 0..N * N * N {
        let at = [cell % N, cell / N % N, cell / N / N];
        // Five tets, mirrored at random.
        let mirrored = random.next() < 0.5;
        let corner = |bits: u32| node([0, 1, 2].map(|axis| at[axis] + ((bits ^ u32::from(mirrored)) >> axis & 1)));
        for bits in [[0, 1, 2, 4], [3, 2, 1, 7], [5, 1, 4, 7], [6, 4, 2, 7], [1, 2, 4, 7]] {
            mesh.tets.push(bits.map(corner));
        }
    }
    mesh
}

/// The same with a tet of about that height between the two sides of such a face, as programs leave them that place
/// points on a grid.
fn between_cells(height: f64) -> TetMesh {
    let mut mesh = mixed_diagonals();
    let mut random = Random(7);
    mesh.positions.iter_mut().for_each(|p| *p += random.vector() * height);
    let (border, _) = mesh.boundary_with_tets();
    for (f, face) in border.iter().enumerate() {
        // The other side of the square has two of its corners and the fourth one.
        for other in &border[f + 1..] {
            let Some(fourth) = other.iter().find(|node| !face.contains(node)) else { continue };
            if face.iter().filter(|node| other.contains(node)).count() < 2 {
                continue;
            }
            let normal = |t: &[u32; 3]| {
                let [a, b, c] = t.map(|node| mesh.positions[node as usize]);
                (b - a).cross(&(c - a)).normalize()
            };
            if normal(face).dot(&normal(other)) < -0.999 {
                mesh.tets.push([face[0], face[2], face[1], *fourth]);
            }
        }
    }
    mesh
}

/// The tets on one side of the middle are halved at an edge, their neighbours are not.
fn hanging_nodes() -> TetMesh {
    let mesh = cube();
    let mut divided = TetMesh { positions: mesh.positions.clone(), tets: vec![] };
    for (t, &[a, b, c, d]) in mesh.tets.iter().enumerate() {
        let corners = mesh.corners(t);
        if corners.iter().any(|p| p.x > 0.01) {
            divided.tets.push([a, b, c, d]);
            continue;
        }
        let middle = divided.positions.len() as u32;
        divided.positions.push((corners[0] + corners[1]) / 2.0);
        divided.tets.extend([[a, middle, c, d], [middle, b, c, d]]);
    }
    divided
}

fn degenerate() -> TetMesh {
    let mut mesh = cube();
    for t in (0..mesh.tets.len()).step_by(9) {
        let [a, b, c, d] = mesh.tets[t];
        mesh.tets.extend([[a, a, b, c], [a, b, c, c], [d, d, d, d]]);
    }
    let (first, line) = (mesh.positions.len() as u32, [0.0, 0.1, 0.2, 0.4]);
    mesh.positions.extend(line.map(|x| Vec3::repeat(0.6 + x)));
    mesh.tets.push([first, first + 1, first + 2, first + 3]);
    mesh.positions.push(Vec3::repeat(7.0));
    mesh
}

/// A strip that is folded back on itself, its two layers at one place.
fn bent(strip: &TetMesh) -> TetMesh {
    let fold = |p: &Vec3| {
        let angle = ((p.x + 0.3) / 0.6).clamp(0.0, 1.0) * std::f64::consts::PI;
        let along = if p.x < 0.3 { p.x.min(-0.3) } else { -p.x };
        let (radius, y) = (0.05, p.y);
        Vec3::new(along + (radius - y) * angle.sin(), radius - (radius - y) * angle.cos(), p.z)
    };
    TetMesh { positions: strip.positions.iter().map(fold).collect(), tets: strip.tets.clone() }
}

fn moebius() -> SurfaceMesh {
    const N: u32 = 40;
    let mut strip = SurfaceMesh::default();
    for i in 0..N {
        let angle = 2.0 * std::f64::consts::PI * f64::from(i) / f64::from(N);
        for side in [-0.2, 0.2] {
            let out = 1.0 + side * (0.5 * angle).cos();
            strip.positions.push(Vec3::new(out * angle.cos(), side * (0.5 * angle).sin(), out * angle.sin()));
        }
        let (a, b) = (2 * i, 2 * i + 1);
        let [c, d] = if i + 1 < N { [a + 2, b + 2] } else { [1, 0] };
        strip.triangles.extend([[a, b, c], [b, d, c]]);
    }
    strip
}

/// An open sheet that winds around twice, its turns close to each other.
fn rolled() -> SurfaceMesh {
    const N: u32 = 60;
    let mut sheet = SurfaceMesh::default();
    for i in 0..=N {
        let angle = 4.0 * std::f64::consts::PI * f64::from(i) / f64::from(N);
        let radius = 0.4 + 0.01 * angle;
        sheet.positions.extend([-0.5, 0.5].map(|z| Vec3::new(radius * angle.cos(), radius * angle.sin(), z)));
        if i < N {
            let a = 2 * i;
            sheet.triangles.extend([[a, a + 2, a + 1], [a + 1, a + 2, a + 3]]);
        }
    }
    sheet
}

/// A token that is cancelled when patience is at its end.
fn impatient() -> CancelToken {
    let cancel = CancelToken::default();
    let later = cancel.clone();
    std::thread::spawn(move || {
        std::thread::sleep(PATIENCE);
        later.cancel();
    });
    cancel
}

impl Odd {
    fn write(&self, folder: &Path) -> PathBuf {
        let (ending, text) = match &self.data {
            MeshData::Tets(mesh) => ("mesh", write_tets(mesh, Format::Medit).unwrap()),
            MeshData::Surface(mesh) => ("obj", write_obj(mesh)),
        };
        let path = folder.join(format!("{}.{ending}", self.name));
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Drops the mesh as `pliant run --drop` does, for `seconds`, filled coarser than by default where it is a surface.
    pub fn fall(&self, seconds: f64) -> Fall {
        let folder = std::env::temp_dir().join(format!("pliant-odd-{}-{}", std::process::id(), self.name));
        std::fs::create_dir_all(&folder).unwrap();
        let path = self.write(&folder);
        let built = scene::build(&Scene::from_mesh_with(&path, &["body.0.tets=1500".to_owned()]).unwrap());
        std::fs::remove_dir_all(&folder).unwrap();
        let built = built.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let (notes, dt) = (built.notes.clone(), built.params.time_step);
        let options = Options { backend: Some(BackendChoice::Cpu), ..Options::default() };
        let mut simulation = Simulation::new(built, &options).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let (start, cancel, mut work) = (Instant::now(), impatient(), vec![]);
        for _ in 0..(seconds / dt).round() as usize {
            match simulation.step_unless(&cancel) {
                Ok(report) => work.push(f64::from(report.iterations) + 1.0),
                Err(StepError::Cancelled { .. }) => break,
                Err(error) => panic!("{}: {error}", self.name),
            }
        }
        let duration = start.elapsed().as_secs_f64();
        let positions = simulation.node_positions().unwrap();
        assert!(positions.iter().all(|p| p.iter().all(|c| c.is_finite())), "{}", self.name);
        let health = Health::of(simulation.model(), &positions);
        let tally = simulation.tally();
        let times = tally.records.iter().map(|record| record.ms).collect();
        Fall {
            name: self.name,
            notes,
            health,
            unconverged_steps: tally.unconverged_steps,
            rollbacks: tally.rollbacks,
            worst_over_median: worst_over_median(work),
            worst_over_median_time: worst_over_median(times),
            penetration: simulation.penetration().unwrap(),
            duration,
            is_done: !cancel.is_cancelled(),
        }
    }
}

/// Not a number where there are no values.
fn worst_over_median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.last().map_or(f64::NAN, |worst| worst / values[values.len() / 2])
}
