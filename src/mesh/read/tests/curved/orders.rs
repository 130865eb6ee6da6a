//! Cells of orders up to four and beyond.

use super::*;
use crate::mesh::doctor::diagnose_tets;
use crate::mesh::quadratic::jacobian;
use crate::mesh::read::lattice;

/// Places of the corners of a tet.
const TET: &[[f64; 3]] = &[[0., 0., 0.], [1., 0., 0.], [0., 1., 0.], [0., 0., 1.]];

/// A solid and what its nodes beside the corners lie in, by the corners of that: in the order of VTK's manual, and of
/// Gmsh's. Triangles have three corners.
struct Solid {
    corners: &'static [[f64; 3]],
    vtk: Others,
    gmsh: Others,
    /// VTK's type of any order.
    lagrange: u64,
    /// Gmsh's types from order 1 on.
    types: [u64; 4],
    /// Without nodes in faces, from order 3 on.
    incomplete: [u64; 2],
    n_nodes: fn(usize) -> usize,
    volume: f64,
}

const SOLIDS: [Solid; 4] = [
    Solid {
        corners: TET,
        vtk: &[&[0, 1], &[1, 2], &[2, 0], &[0, 3], &[1, 3], &[2, 3]],
        gmsh: &[&[0, 1], &[1, 2], &[2, 0], &[3, 0], &[3, 2], &[3, 1]],
        lagrange: 71,
        types: [4, 11, 29, 30],
        incomplete: [137, 32],
        n_nodes: |p| (p + 1) * (p + 2) * (p + 3) / 6,
        volume: 1.0 / 6.0,
    },
    Solid {
        corners: HEXAHEDRON,
        vtk: &[
            &[0, 1],
            &[1, 2],
            &[3, 2],
            &[0, 3],
            &[4, 5],
            &[5, 6],
            &[7, 6],
            &[4, 7],
            &[0, 4],
            &[1, 5],
            &[2, 6],
            &[3, 7],
            &[0, 3, 7, 4],
            &[1, 2, 6, 5],
            &[0, 1, 5, 4],
            &[3, 2, 6, 7],
            &[0, 1, 2, 3],
            &[4, 5, 6, 7],
            &[0, 1, 2, 3, 4, 5, 6, 7],
        ],
        gmsh: GMSH[0].2,
        lagrange: 72,
        types: [5, 12, 92, 93],
        incomplete: [99, 100],
        n_nodes: |p| (p + 1) * (p + 1) * (p + 1),
        volume: 1.0,
    },
    Solid {
        corners: WEDGE,
        vtk: &[
            &[0, 1],
            &[1, 2],
            &[2, 0],
            &[3, 4],
            &[4, 5],
            &[5, 3],
            &[0, 3],
            &[1, 4],
            &[2, 5],
            &[0, 1, 2],
            &[3, 4, 5],
            &[0, 1, 4, 3],
            &[1, 2, 5, 4],
            &[0, 2, 5, 3],
        ],
        gmsh: &[
            &[0, 1],
            &[0, 2],
            &[0, 3],
            &[1, 2],
            &[1, 4],
            &[2, 5],
            &[3, 4],
            &[3, 5],
            &[4, 5],
            &[0, 2, 1],
            &[3, 4, 5],
            &[0, 1, 4, 3],
            &[0, 3, 5, 2],
            &[1, 2, 5, 4],
        ],
        lagrange: 73,
        types: [6, 13, 90, 91],
        incomplete: [111, 112],
        n_nodes: |p| (p + 1) * (p + 1) * (p + 2) / 2,
        volume: 0.5,
    },
    Solid {
        corners: PYRAMID,
        vtk: &[],
        gmsh: &[
            &[0, 1],
            &[0, 3],
            &[0, 4],
            &[1, 2],
            &[1, 4],
            &[2, 3],
            &[2, 4],
            &[3, 4],
            &[0, 1, 4],
            &[3, 0, 4],
            &[1, 2, 4],
            &[2, 3, 4],
            &[0, 3, 2, 1],
        ],
        lagrange: 0,
        types: [7, 14, 118, 119],
        incomplete: [125, 126],
        n_nodes: |p| (p + 1) * (p + 2) * (2 * p + 3) / 6,
        volume: 1.0 / 3.0,
    },
];

/// Who numbers the nodes inside of faces and cells.
#[derive(Clone, Copy, PartialEq)]
enum By {
    Vtk,
    Gmsh,
}

impl Solid {
    /// All nodes of the cell at rest, of an order `p`; those that play no part are elsewhere.
    fn nodes(&self, p: usize, by: By) -> Vec<Vec3> {
        let corner = |c: usize| Vec3::from(self.corners[c]);
        let step = |from: usize, to: usize, n: usize| (corner(to) - corner(from)) * (n as f64 / p as f64);
        let mut all: Vec<Vec3> = self.corners.iter().map(|c| Vec3::from(*c)).collect();
        let inner = 1..p;
        for part in if by == By::Vtk { self.vtk } else { self.gmsh } {
            match *part {
                [a, b] => all.extend(inner.clone().map(|i| corner(*a) + step(*a, *b, i))),
                [_, _, _] => all.extend(vec![Vec3::repeat(7.0); (p - 1) * p.saturating_sub(2) / 2]),
                [a, b, _, d] if p > 1 => {
                    let rows: Vec<[usize; 2]> = inner.clone().flat_map(|j| inner.clone().map(move |i| [i, j])).collect();
                    let places = if by == By::Vtk { rows } else { lattice::quad(p - 2).iter().map(|place| place.map(|x| x + 1)).collect() };
                    all.extend(places.iter().map(|[i, j]| corner(*a) + step(*a, *b, *i) + step(*a, *d, *j)));
                }
                [a, b, _, d, e, ..] if p > 1 => {
                    let layer = || inner.clone().flat_map(|j| inner.clone().map(move |i| [i, j]));
                    let rows: Vec<[usize; 3]> = inner.clone().flat_map(|k| layer().map(move |[i, j]| [i, j, k])).collect();
                    let inside = || lattice::hexahedron(p - 2).into_iter().map(|place| place.map(|x| x + 1));
                    let places = if by == By::Vtk { rows } else { inside().collect() };
                    all.extend(places.iter().map(|[i, j, k]| corner(*a) + step(*a, *b, *i) + step(*a, *d, *j) + step(*a, *e, *k)));
                }
                _ => {}
            }
        }
        all.resize((self.n_nodes)(p), Vec3::repeat(7.0));
        all
    }
}

/// A motion that keeps volumes: polynomials up to an order.
fn polynomial(p: &Vec3, order: usize) -> Vec3 {
    let [along, across] = shifts(p.y, p.z, order);
    Vec3::new(p.x + along, p.y, p.z + across)
}

fn polynomial_before(p: &Vec3, order: usize) -> Vec3 {
    let [_, across] = shifts(p.y, 0.0, order);
    let z = p.z - across;
    Vec3::new(p.x - shifts(p.y, z, order)[0], p.y, z)
}

fn shifts(y: f64, z: f64, order: usize) -> [f64; 2] {
    let order = order as i32;
    if order < 2 { [0.0; 2] } else { [0.1 * y * y + 0.05 * y * z + 0.07 * z.powi(order), 0.1 * y * y - 0.06 * y.powi(order)] }
}

/// Volume of tets of ten nodes, by a rule that is exact for cubic functions [Keast 1986].
fn volume_of_curved(mesh: &TetMesh, middles: &EdgeMiddles) -> f64 {
    let known = middles.on(mesh);
    let of_tet = |tet: &[u32; 4]| {
        let middle = |i: usize, j: usize| {
            let edge = [tet[i].min(tet[j]), tet[i].max(tet[j])];
            let [a, b] = edge.map(|node| mesh.positions[node as usize]);
            known.iter().find(|(other, _)| *other == edge).map_or((a + b) / 2.0, |(_, middle)| *middle)
        };
        let [a, b, c, d] = tet.map(|node| mesh.positions[node as usize]);
        let x = [a, b, c, d, middle(0, 1), middle(0, 2), middle(0, 3), middle(1, 2), middle(1, 3), middle(2, 3)];
        let of_points: f64 =
            (0..4).map(|c| [0, 1, 2, 3].map(|i| if i == c { 0.5 } else { 1.0 / 6.0 })).map(|at| jacobian(&x, &at).determinant()).sum();
        (0.45 * of_points - 0.8 * jacobian(&x, &[0.25; 4]).determinant()) / 6.0
    };
    mesh.tets.iter().map(of_tet).sum()
}

/// That every edge of the tets of a file has its middle where the polynomial motion has it.
fn assert_moved(name: &str, file: MeshFile, order: usize) -> (TetMesh, EdgeMiddles) {
    let middles = file.middles.clone();
    let mesh = mend_tets(tets(file));
    let known = middles.on(&mesh);
    for edge in mesh.edges() {
        let [a, b] = edge.map(|node| mesh.positions[node as usize]);
        let found = known.iter().find(|(other, _)| *other == edge).map_or((a + b) / 2.0, |(_, middle)| *middle);
        let wanted = polynomial(&((polynomial_before(&a, order) + polynomial_before(&b, order)) / 2.0), order);
        assert!((found - wanted).norm() < 1e-12, "{name}: {a:?} {b:?} {found:?} {wanted:?}");
    }
    (mesh, middles)
}

fn msh_2(points: &[Vec3], kind: u64) -> Vec<u8> {
    let numbered: String = points.iter().zip(1..).map(|(p, n)| format!("{n} {:?} {:?} {:?}\n", p.x, p.y, p.z)).collect();
    let (n, cell) = (points.len(), (1..=points.len()).map(|i| format!(" {i}")).collect::<String>());
    format!("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{n}\n{numbered}$EndNodes\n$Elements\n1\n1 {kind} 0{cell}\n$EndElements\n").into()
}

fn msh_4_binary(points: &[Vec3], kind: u64) -> Vec<u8> {
    let n = points.len() as u64;
    let longs = |numbers: &[u64]| numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let ints = |numbers: &[i32]| numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let tags: Vec<u64> = (1..=n).collect();
    let coordinates: Vec<u8> = points.iter().flat_map(|p| [p.x, p.y, p.z]).flat_map(f64::to_le_bytes).collect();
    [
        b"$MeshFormat\n4.1 1 8\n".to_vec(),
        ints(&[1]),
        b"\n$EndMeshFormat\n$Nodes\n".to_vec(),
        longs(&[1, n, 1, n]),
        ints(&[3, 1, 0]),
        longs(&[n]),
        longs(&tags),
        coordinates,
        b"\n$EndNodes\n$Elements\n".to_vec(),
        longs(&[1, 1, 1, 1]),
        ints(&[3, 1, kind as i32]),
        longs(&[1, 1]),
        longs(&tags),
        b"\n$EndElements\n".to_vec(),
    ]
    .concat()
}

/// As VTK from 9.1 on writes it.
fn vtk_binary(points: &[Vec3], kind: u64) -> Vec<u8> {
    let n = points.len();
    let coordinates: Vec<u8> = points.iter().flat_map(|p| [p.x, p.y, p.z]).flat_map(f64::to_be_bytes).collect();
    let longs = |numbers: &[i64]| numbers.iter().flat_map(|x| x.to_be_bytes()).collect::<Vec<u8>>();
    [
        format!("# vtk DataFile Version 5.1\nt\nBINARY\nDATASET UNSTRUCTURED_GRID\nPOINTS {n} double\n").into_bytes(),
        coordinates,
        format!("\nCELLS 2 {n}\nOFFSETS vtktypeint64\n").into_bytes(),
        longs(&[0, n as i64]),
        b"\nCONNECTIVITY vtktypeint64\n".to_vec(),
        longs(&(0..n as i64).collect::<Vec<_>>()),
        b"\nCELL_TYPES 1\n".to_vec(),
        (kind as i32).to_be_bytes().to_vec(),
        b"\n".to_vec(),
    ]
    .concat()
}

/// A cell in text, with arrays of data of it and its points.
fn vtu_with(points: &[Vec3], kind: u64, version: &str, cell_data: &str, point_data: &str) -> Vec<u8> {
    let n = points.len();
    let cell: String = (0..n).map(|i| format!(" {i}")).collect();
    format!(
        "<VTKFile type=\"UnstructuredGrid\" version=\"{version}\"><UnstructuredGrid><Piece NumberOfPoints=\"{n}\" NumberOfCells=\"1\">\
         {point_data}{cell_data}<Points><DataArray type=\"Float64\" NumberOfComponents=\"3\" format=\"ascii\">{}</DataArray></Points><Cells>\
         <DataArray type=\"Int64\" Name=\"connectivity\" format=\"ascii\">{cell}</DataArray>\
         <DataArray type=\"Int64\" Name=\"offsets\" format=\"ascii\">{n}</DataArray>\
         <DataArray type=\"UInt8\" Name=\"types\" format=\"ascii\">{kind}</DataArray></Cells></Piece></UnstructuredGrid></VTKFile>",
        text_of_points(points)
    )
    .into()
}

fn vtu(points: &[Vec3], kind: u64) -> Vec<u8> {
    vtu_with(points, kind, "2.2", "", "")
}

fn degrees(orders: [f64; 3]) -> String {
    let [p, q, r] = orders;
    format!(
        "<CellData HigherOrderDegrees=\"d\"><DataArray type=\"Float64\" Name=\"d\" NumberOfComponents=\"3\" format=\"ascii\">{p} {q} {r}\
         </DataArray></CellData>"
    )
}

/// A motion of the order of the cell is the cell's own, wherever its nodes stand in the file: orders 1 to 4 of every
/// shape in every format, text and binary.
#[test]
fn cells_of_every_order_have_their_middles() {
    type Write = fn(&[Vec3], u64) -> Vec<u8>;
    let writers: [(&str, By, Write); 5] = [
        ("a.msh", By::Gmsh, |points, kind| msh(points, kind).into()),
        ("two.msh", By::Gmsh, msh_2),
        ("binary.msh", By::Gmsh, msh_4_binary),
        ("binary.vtk", By::Vtk, vtk_binary),
        ("a.vtu", By::Vtk, vtu),
    ];
    for solid in &SOLIDS {
        for (p, (name, by, write)) in (1..=4).flat_map(|p| writers.map(|writer| (p, writer))) {
            let kind = if by == By::Vtk { solid.lagrange } else { solid.types[p - 1] };
            if kind == 0 {
                continue;
            }
            let name = &format!("{kind}_{p}_{name}");
            let at_rest = solid.nodes(p, by);
            let points: Vec<Vec3> = at_rest.iter().map(|x| polynomial(x, p)).collect();
            let file = read(name, write(&points, kind)).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(file.notes.iter().any(|note| note.contains("of an order above 2")), p > 2, "{name}: {:?}", file.notes);
            assert!(!file.notes.iter().any(|note| note.contains("by their corners")), "{name}: {:?}", file.notes);
            let MeshData::Tets(read_tets) = &file.data else { panic!("{name}: no tets") };
            let found = diagnose_tets(read_tets);
            assert_eq!((found.unused_nodes, found.nodes), (0, solid.corners.len()), "{name}");
            let (mesh, middles) = assert_moved(name, file, p);
            assert_eq!(middles.on(&mesh).is_empty(), p == 1, "{name}");
            // Of a quadratic motion the tets of ten nodes know all: the volume, too.
            let points: Vec<Vec3> = at_rest.iter().map(|x| polynomial(x, p.min(2))).collect();
            let (mesh, middles) = assert_moved(name, read(name, write(&points, kind)).unwrap(), p.min(2));
            assert!((volume_of_curved(&mesh, &middles) - solid.volume).abs() < 1e-12, "{name}");
            assert_eq!(mesh.quadratic(&middles.on(&mesh)).1, 0, "{name}");
        }
    }
}

/// Of cells without nodes in faces and inside: smooth between their edges.
#[test]
fn incomplete_cells_are_what_their_edges_make_them() {
    for solid in &SOLIDS {
        for (p, kind) in [3, 4].into_iter().zip(solid.incomplete) {
            let n = solid.corners.len() + solid.gmsh.iter().filter(|part| part.len() == 2).count() * (p - 1);
            let points: Vec<Vec3> = solid.nodes(p, By::Gmsh)[..n].iter().map(|x| polynomial(x, p)).collect();
            assert_moved(&kind.to_string(), read("a.msh", msh(&points, kind)).unwrap(), p);
        }
    }
}

/// VTK before 9.1 had two edges of hexahedra in each other's place; versions of files tell.
#[test]
fn hexahedra_of_old_files_have_their_last_edges_swapped() {
    let [_, solid, ..] = &SOLIDS;
    let mut points: Vec<Vec3> = solid.nodes(3, By::Vtk).iter().map(|x| polynomial(x, 3)).collect();
    points[8 + 20..8 + 24].rotate_left(2);
    assert_moved("a.vtk", read("a.vtk", vtk(&points, 72)).unwrap(), 3);
    for version in ["0.1", "1.0", "2.0"] {
        assert_moved(version, read("a.vtu", vtu_with(&points, 72, version, "", "")).unwrap(), 3);
    }
    let new = read("a.vtu", vtu_with(&points, 72, "2.1", "", "")).unwrap();
    assert_ne!(new.middles, read("a.vtk", vtk(&points, 72)).unwrap().middles);
}

/// Cells of different orders along their directions, quadratic ones with nodes in triangles, and VTK's pyramid.
#[test]
fn orders_by_direction_and_further_nodes_are_read() {
    let [tet, hexahedron, wedge, pyramid] = &SOLIDS;
    // Two along x, three along y, four along z: corners, edges, faces and inside, each by its steps.
    let [p, q, r] = [2, 3, 4];
    let along = |corners: &[usize], steps: [usize; 3]| {
        let corner = Vec3::from(hexahedron.corners[corners[0]]);
        corner + Vec3::new(steps[0] as f64 / p as f64, steps[1] as f64 / q as f64, steps[2] as f64 / r as f64)
    };
    let mut points: Vec<Vec3> = HEXAHEDRON.iter().map(|c| Vec3::from(*c)).collect();
    let range = |is_inner: bool, order: usize| if is_inner { 1..order } else { 0..1 };
    for part in hexahedron.vtk {
        let varies = |d: usize| part.iter().any(|c| HEXAHEDRON[*c][d] != HEXAHEDRON[part[0]][d]);
        for k in range(varies(2), r) {
            for j in range(varies(1), q) {
                points.extend(range(varies(0), p).map(|i| along(part, [i, j, k])));
            }
        }
    }
    assert_eq!(points.len(), 60);
    let moved = |points: &[Vec3], order: usize| points.iter().map(|x| polynomial(x, order)).collect::<Vec<_>>();
    let cubic = moved(&points, 3);
    let file = read("a.vtu", vtu_with(&cubic, 72, "2.2", &degrees([2.0, 3.0, 4.0]), "")).unwrap();
    assert_moved("2, 3, 4", file, 3);
    // Nodes in triangles stand before those in quadrilaterals.
    let mut points = wedge.nodes(2, By::Vtk);
    points.splice(15..15, [Vec3::repeat(7.0); 2]);
    points.push(Vec3::repeat(7.0));
    assert_moved("21", read("a.vtu", vtu(&moved(&points, 2), 73)).unwrap(), 2);
    let mut points = tet.nodes(2, By::Vtk);
    points.resize(15, Vec3::repeat(7.0));
    assert_moved("15", read("a.vtu", vtu(&moved(&points, 2), 71)).unwrap(), 2);
    // Corners, edges around the base and up, the base, triangles, the inside.
    let mut points: Vec<Vec3> = pyramid.corners.iter().map(|c| Vec3::from(*c)).collect();
    let edges = [[0, 1], [1, 2], [2, 3], [3, 0], [0, 4], [1, 4], [2, 4], [3, 4]];
    points.extend(edges.map(|[a, b]: [usize; 2]| (points[a] + points[b]) / 2.0));
    points.push((points[0] + points[2]) / 2.0);
    points.resize(19, Vec3::repeat(7.0));
    assert_moved("37", read("a.vtk", vtk(&moved(&points, 2), 37)).unwrap(), 2);
}

/// Cells that share places but no nodes, as finite elements that jump are written: neighbours meet in whole faces.
#[test]
fn cells_with_nodes_of_their_own_meet_in_whole_faces() {
    let [_, solid, ..] = &SOLIDS;
    let cell = solid.nodes(3, By::Vtk);
    let shifts = (0..8).map(|i| Vec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2)));
    // Each turned another way about the vertical, and in an order of its own.
    let turned = |x: &Vec3, times: usize| (0..times).fold(*x, |x, _| Vec3::new(1.0 - x.y, x.x, x.z));
    let mut points: Vec<Vec3> = shifts
        .enumerate()
        .flat_map(|(i, shift)| cell.iter().map(move |x| (turned(x, i % 4) + shift) / 2.0))
        .map(|x| polynomial(&x, 3))
        .collect();
    let lists: String =
        (0..8).map(|i| format!("64 {}\n", (0..64).map(|k| (64 * i + k).to_string()).collect::<Vec<_>>().join(" "))).collect();
    // The old order, of a file of an old version.
    points.chunks_mut(64).for_each(|cell| cell[28..32].rotate_left(2));
    let text = format!(
        "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 512 double\n{}CELLS 8 {}\n{lists}CELL_TYPES 8\n{}",
        text_of_points(&points),
        8 * 65,
        "72\n".repeat(8)
    );
    let file = read("a.vtk", text).unwrap();
    let middles = file.middles.clone();
    let mesh = mend_tets(tets(file));
    assert_eq!((mesh.positions.len(), mesh.tets.len(), mesh.boundary().len()), (27, 48, 48));
    let (fine, straightened) = mesh.quadratic(&middles.on(&mesh));
    fine.check().unwrap();
    assert_eq!((straightened, fine.boundary().len()), (0, 4 * 48));
    assert!((volume_of_curved(&mesh, &middles) - 1.0).abs() < 1e-2);
}

/// A quarter of a ring by one rational cell is round: its middles lie on the circle.
#[test]
fn bezier_cells_are_evaluated() {
    let rows = [[1.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0]];
    let at = |[r, z]: [f64; 2], end: usize| [Vec3::new(r, 0.0, z), Vec3::new(r, r, z), Vec3::new(0.0, r, z)][end];
    // Around along the first direction, outwards along the second, up along the third.
    let [inner, outer, top, above] = rows;
    let mut points = vec![at(inner, 0), at(inner, 2), at(outer, 2), at(outer, 0), at(above, 0), at(above, 2), at(top, 2), at(top, 0)];
    points.extend([inner, outer, above, top].map(|row| at(row, 1)));
    let weights = format!(
        "<PointData RationalWeights=\"w\"><DataArray type=\"Float64\" Name=\"w\" format=\"ascii\">{}{}</DataArray></PointData>",
        "1 ".repeat(8),
        format!("{:?} ", 0.5f64.sqrt()).repeat(4)
    );
    for (point_data, part) in [(weights.as_str(), 0.5f64.sqrt()), ("", 0.75)] {
        let file = read("a.vtu", vtu_with(&points, 79, "2.2", &degrees([2.0, 1.0, 1.0]), point_data)).unwrap();
        let middles = file.middles.clone();
        let mesh = mend_tets(tets(file));
        let curved = middles.on(&mesh);
        // Of the four arcs, two quadrilaterals between arcs above each other and two between such beside each other,
        // and the diagonal through the cell.
        assert_eq!(curved.len(), 9);
        for (_, middle) in &curved {
            let radius = [1.0, 1.5, 2.0].into_iter().find(|r| (middle.x - r * part).abs() < 1e-12 && (middle.y - r * part).abs() < 1e-12);
            assert!(radius.is_some(), "{middle:?}");
        }
    }
    let zero = weights.replace("1 1 ", "0 1 ");
    let found = message("a.vtu", vtu_with(&points, 79, "2.2", &degrees([2.0, 1.0, 1.0]), &zero));
    assert!(found.contains("the rational weight of point 0 is 0, not a positive number"), "{found}");
    let few = weights.replace("1 1 ", "1 ");
    assert!(message("a.vtu", vtu_with(&points, 79, "2.2", &degrees([2.0, 1.0, 1.0]), &few)).contains("numbers instead of 12"));
    // A cubic tet whose one edge is pulled: a + 3 b + 3 c + d over 8.
    let [tet, ..] = &SOLIDS;
    let mut points = tet.nodes(3, By::Vtk);
    points[4] += Vec3::new(0.0, -0.8, 0.0);
    let file = read("a.vtu", vtu(&points, 78)).unwrap();
    let middles = file.middles.clone();
    let curved = middles.on(&tets(file));
    assert!(curved.len() == 1 && curved[0].0 == [0, 1] && (curved[0].1 - Vec3::new(0.5, -0.3, 0.0)).norm() < 1e-12, "{curved:?}");
}

/// Faces of surfaces alone are cut by all of their nodes.
#[test]
fn faces_of_higher_order_are_cut_by_their_nodes() {
    let [p, q] = [3, 2];
    let in_rows = |x: &[usize; 2]| Vec3::new(x[0] as f64, x[1] as f64, 0.0);
    let triangle: Vec<Vec3> = lattice::triangle(4).iter().map(in_rows).collect();
    let quad: Vec<Vec3> = lattice::quad(3).iter().map(in_rows).collect();
    // Edges of VTK run along the directions of the face, and its inner nodes in rows.
    let of_vtk = [[0, 0], [p, 0], [p, q], [0, q], [1, 0], [2, 0], [p, 1], [1, q], [2, q], [0, 1], [1, 1], [2, 1]];
    for (name, bytes, n, area) in [
        ("a.msh", msh(&triangle, 23).into_bytes(), 16, 8.0),
        ("a.msh", msh(&quad, 36).into_bytes(), 18, 9.0),
        ("a.vtu", vtu(&triangle, 69), 16, 8.0),
        ("a.vtu", vtu_with(&of_vtk.each_ref().map(in_rows), 70, "2.2", &degrees([3.0, 2.0, 0.0]), ""), 12, 6.0),
    ] {
        let file = read(name, bytes).unwrap();
        assert_eq!(file.notes, ["1 curved faces are cut into flat ones by all of their nodes"]);
        let cut = surface(file);
        let area_of = |t: usize| {
            let [a, b, c] = cut.corners(t);
            (b - a).cross(&(c - a)).z / 2.0
        };
        let areas: Vec<f64> = (0..cut.triangles.len()).map(area_of).collect();
        assert!(areas.len() == n && areas.iter().all(|a| *a == 0.5) && areas.iter().sum::<f64>() == area, "{name}: {areas:?}");
    }
}

/// What cannot be right is told in a sentence.
#[test]
fn impossible_orders_and_numbers_of_nodes_are_refused() {
    let points = |n: usize| (0..n).map(|i| Vec3::new(i as f64, (i * i % 7) as f64, (i % 3) as f64)).collect::<Vec<_>>();
    let of = |n: usize, kind: u64, orders: [f64; 3]| message("a.vtu", vtu_with(&points(n), kind, "2.2", &degrees(orders), ""));
    for (found, wanted) in [
        (of(27, 72, [0.0, 2.0, 2.0]), "has the orders 0, 2 and 2, which are not read: they must be whole, from 1 to 10"),
        (of(27, 72, [200.0; 3]), "has the orders 200, 200 and 200, which are not read"),
        (of(27, 72, [f64::NAN, 2.0, 2.0]), "has the orders NaN, 2 and 2, which are not read"),
        (of(27, 72, [2.0, 2.0, 1.5]), "has the orders 2, 2 and 1.5, which are not read"),
        (of(18, 73, [2.0, 1.0, 2.0]), "of wedges the first two alike"),
        (of(27, 72, [2.0, 2.0, 3.0]), "cell 0 of VTK type 72 has 27 points instead of the 36 of the orders 2, 2 and 3"),
        (message("a.vtu", vtu(&points(65), 72)), "cell 0 of VTK type 72 has 65 points, as many as no order from 1 to 10 has"),
        (message("a.vtk", vtk_binary(&points(19), 71)), "cell 0 of VTK type 71 has 19 points, as many as no order from 1 to 10 has"),
        (message("a.vtk", vtk(&points(12 * 12 * 12), 72)), "has 1728 points, as many as no order"),
        (message("a.vtk", vtk(&points(3), 71)), "has 3 points instead of 4 or more"),
        (message("a.vtk", vtk(&points(1), 78)), "has 1 points instead of 4 or more"),
        // Gmsh's types of order 0, and such as there are none.
        (message("a.msh", msh(&points(1), 87)), "elements of type 87 are not read"),
        (message("a.msh", msh(&points(1), 0)), "elements of type 0 are not read"),
        (message("a.msh", msh(&points(1), 200)), "elements of type 200 are not read"),
        (message("a.msh", msh(&points(19), 29)), "a node of an element"),
    ] {
        assert!(found.contains(wanted) && found.contains(';'), "{found}");
    }
    // Files that end early, wherever.
    let [_, solid, ..] = &SOLIDS;
    for (name, bytes) in [
        ("a.vtk", vtk_binary(&solid.nodes(3, By::Vtk), 72)),
        ("a.msh", msh_4_binary(&solid.nodes(3, By::Gmsh), 92)),
        ("a.vtu", vtu(&solid.nodes(3, By::Vtk), 72)),
    ] {
        for end in (0..bytes.len() - 60).step_by(37) {
            if let Ok(file) = read(name, &bytes[..end]) {
                panic!("{name} of {end} bytes: {:?}", file.notes);
            }
        }
    }
}

/// Tets of ten nodes of TetGen (`-o2`), whose edges it gives in an order of its own; MEDIT files of orders beyond.
#[test]
fn tetgen_and_medit_have_orders_of_their_own() {
    let [tet, ..] = &SOLIDS;
    let corners: Vec<Vec3> = tet.corners.iter().map(|c| Vec3::from(*c)).collect();
    let edges = [[2, 3], [0, 3], [0, 1], [1, 2], [1, 3], [0, 2]].map(|[a, b]: [usize; 2]| (corners[a] + corners[b]) / 2.0);
    let points = corners.iter().chain(&edges).map(|x| polynomial(x, 2)).zip(1..);
    let node: String = points.map(|(p, n)| format!("{n} {:?} {:?} {:?}\n", p.x, p.y, p.z)).collect();
    let beside = |_: &str| Ok(format!("10 3 0 0\n{node}").into_bytes());
    let file = read_mesh("a.ele", b"1 10 0\n1 1 2 3 4 5 6 7 8 9 10\n", Format::TetGen, &beside).unwrap();
    let (mesh, middles) = assert_moved("a.ele", file, 2);
    assert!(middles.on(&mesh).len() > 2);
    let medit = |kind: &str| format!("MeshVersionFormatted 2\nDimension 3\nVertices\n1\n0 0 0 0\n{kind}\n1\n1 1 1 1 0\nEnd\n");
    for kind in ["HexahedraQ2", "TetrahedraP3", "PrismsP2", "PyramidsP2"] {
        let found = message("a.mesh", medit(kind));
        assert!(found.starts_with(&format!("a.mesh:6: cells of the kind '{kind}' are not read; export it again")), "{found}");
    }
}
