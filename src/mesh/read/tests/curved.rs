//! Quadratic hexahedra, wedges and pyramids: tets of ten nodes that know the middles of their edges and faces.

mod orders;

use super::*;

/// Places of the corners of the cells in a unit cube.
const HEXAHEDRON: &[[f64; 3]] =
    &[[0., 0., 0.], [1., 0., 0.], [1., 1., 0.], [0., 1., 0.], [0., 0., 1.], [1., 0., 1.], [1., 1., 1.], [0., 1., 1.]];
const WEDGE: &[[f64; 3]] = &[[0., 0., 0.], [1., 0., 0.], [0., 1., 0.], [0., 0., 1.], [1., 0., 1.], [0., 1., 1.]];
const PYRAMID: &[[f64; 3]] = &[[0., 0., 0.], [1., 0., 0.], [1., 1., 0.], [0., 1., 0.], [0.3, 0.4, 1.]];

/// Each of the nodes after the corners by the corners that it is in the middle of.
type Others = &'static [&'static [usize]];

/// A cell of some type: its corners, and its other nodes.
type Cell = (u64, &'static [[f64; 3]], Others);

/// The cells with nodes in all edges and faces as the manual of Gmsh lists them.
const GMSH: &[Cell] = &[
    (
        12,
        HEXAHEDRON,
        &[
            &[0, 1],
            &[0, 3],
            &[0, 4],
            &[1, 2],
            &[1, 5],
            &[2, 3],
            &[2, 6],
            &[3, 7],
            &[4, 5],
            &[4, 7],
            &[5, 6],
            &[6, 7],
            &[0, 3, 2, 1],
            &[0, 1, 5, 4],
            &[0, 4, 7, 3],
            &[1, 2, 6, 5],
            &[2, 3, 7, 6],
            &[4, 5, 6, 7],
            &[0, 1, 2, 3, 4, 5, 6, 7],
        ],
    ),
    (
        13,
        WEDGE,
        &[&[0, 1], &[0, 2], &[0, 3], &[1, 2], &[1, 4], &[2, 5], &[3, 4], &[3, 5], &[4, 5], &[0, 1, 4, 3], &[0, 3, 5, 2], &[1, 2, 5, 4]],
    ),
    (14, PYRAMID, &[&[0, 1], &[0, 3], &[0, 4], &[1, 2], &[1, 4], &[2, 3], &[2, 4], &[3, 4], &[0, 1, 2, 3]]),
];

/// The same as the manual of VTK draws them.
const VTK: &[Cell] = &[
    (
        29,
        HEXAHEDRON,
        &[
            &[0, 1],
            &[1, 2],
            &[2, 3],
            &[3, 0],
            &[4, 5],
            &[5, 6],
            &[6, 7],
            &[7, 4],
            &[0, 4],
            &[1, 5],
            &[2, 6],
            &[3, 7],
            &[0, 3, 7, 4],
            &[1, 2, 6, 5],
            &[0, 1, 5, 4],
            &[2, 3, 7, 6],
            &[0, 1, 2, 3],
            &[4, 5, 6, 7],
            &[0, 1, 2, 3, 4, 5, 6, 7],
        ],
    ),
    (
        32,
        WEDGE,
        &[&[0, 1], &[1, 2], &[2, 0], &[3, 4], &[4, 5], &[5, 3], &[0, 3], &[1, 4], &[2, 5], &[0, 1, 4, 3], &[1, 2, 5, 4], &[2, 0, 3, 5]],
    ),
];

/// A motion that no nodes but those at a place know.
fn bent(p: &Vec3) -> Vec3 {
    p + Vec3::new((5.0 * p.y + p.z).sin(), (3.0 * p.z + p.x).cos(), (4.0 * p.x - p.y).sin()) * 0.03
}

/// All nodes of a cell, before they are bent.
fn nodes(corners: &[[f64; 3]], others: &[&[usize]]) -> Vec<Vec3> {
    let mut all: Vec<Vec3> = corners.iter().map(|p| Vec3::from(*p)).collect();
    all.extend(others.iter().map(|around| around.iter().map(|c| Vec3::from(corners[*c])).sum::<Vec3>() / around.len() as f64));
    all
}

fn text_of_points(points: &[Vec3]) -> String {
    points.iter().map(|p| format!("{:?} {:?} {:?}\n", p.x, p.y, p.z)).collect()
}

fn msh(points: &[Vec3], kind: u64) -> String {
    let n = points.len();
    let tags: String = (1..=n).map(|i| format!("{i}\n")).collect();
    format!(
        "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 {n} 1 {n}\n3 1 0 {n}\n{tags}{}$EndNodes\n$Elements\n1 1 1 1\n3 1 {kind} 1\n1 {}\n$EndElements\n",
        text_of_points(points),
        tags.replace('\n', " ")
    )
}

fn vtk(points: &[Vec3], kind: u64) -> String {
    let n = points.len();
    let cell: String = (0..n).map(|i| format!(" {i}")).collect();
    format!(
        "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS {n} double\n{}CELLS 1 {}\n{n}{cell}\nCELL_TYPES 1\n{kind}\n",
        text_of_points(points),
        n + 1
    )
}

/// The mesh of a file, and for each of its edges how far its middle is from where the bent cell has it.
fn errors(file: MeshFile, at_rest: &[Vec3]) -> (TetMesh, Vec<f64>) {
    let middles = file.middles.clone();
    let mesh = mend_tets(tets(file));
    let preimage = |p: &Vec3| *at_rest.iter().min_by(|a, b| (bent(a) - p).norm().total_cmp(&(bent(b) - p).norm())).unwrap();
    let known = middles.on(&mesh);
    let error = |edge: [u32; 2]| {
        let [a, b] = edge.map(|node| mesh.positions[node as usize]);
        let found = known.iter().find(|(other, _)| *other == edge).map_or((a + b) / 2.0, |(_, middle)| *middle);
        (found - bent(&((preimage(&a) + preimage(&b)) / 2.0))).norm()
    };
    let errors = mesh.edges().into_iter().map(error).collect();
    (mesh, errors)
}

/// Every edge of the tets, those through faces and through the cell too, has the node that the file has there.
#[test]
fn cells_with_all_their_nodes_keep_them() {
    type Write = fn(&[Vec3], u64) -> String;
    for (write, name, kinds) in [(msh as Write, "a.msh", GMSH), (vtk, "a.vtk", VTK)] {
        for (kind, corners, others) in kinds {
            let at_rest = nodes(corners, others);
            let points: Vec<Vec3> = at_rest.iter().map(bent).collect();
            let file = read(name, write(&points, *kind)).unwrap();
            assert!(file.notes.iter().any(|note| note.starts_with("1 of these are curved: ")), "{:?}", file.notes);
            let middles = file.middles.clone();
            let (mesh, errors) = errors(file, &at_rest);
            assert!(errors.iter().all(|error| *error < 1e-12), "{name} {kind}: {errors:?}");
            let (fine, straightened) = mesh.quadratic(&middles.on(&mesh));
            assert_eq!((straightened, fine.tets.len()), (0, 8 * mesh.tets.len()));
            // By the corners alone they are elsewhere.
            let linear = match (name, kind) {
                ("a.msh", kind) => kind - 7,
                (_, 29) => 12,
                _ => 13,
            };
            assert!(read(name, write(&points[..corners.len()], linear)).unwrap().middles.is_empty());
        }
    }
}

/// A quarter of a ring, of one hexahedron of twenty nodes: the middles of its faces follow from those of its edges.
#[test]
fn a_ring_is_round() {
    let place = |r: f64, turn: f64, z: f64| {
        let (sin, cos) = (turn * std::f64::consts::FRAC_PI_2).sin_cos();
        Vec3::new(r * cos, r * sin, z)
    };
    let (_, corners, others) = VTK[0];
    let points: Vec<Vec3> = nodes(corners, &others[..12]).iter().map(|p| place(1.0 + p.x, p.y, p.z)).collect();
    for (name, text) in [("a.vtk", vtk(&points, 25)), ("new.vtk", vtk(&points[..8], 12))] {
        let file = read(name, text).unwrap();
        let middles = file.middles.clone();
        let mesh = mend_tets(tets(file));
        let (fine, straightened) = mesh.quadratic(&middles.on(&mesh));
        assert_eq!((mesh.tets.len(), straightened), (6, 0));
        fine.check().unwrap();
        // Twelve triangles of the border, in four each.
        assert_eq!(fine.boundary().len(), 48);
        // Between the polygons through the ends and the middles of the arcs; by its corners between two triangles.
        let wanted = if name == "a.vtk" { 3.0 * std::f64::consts::FRAC_PI_4.sin() } else { 1.5 };
        assert!((fine.total_volume() - wanted).abs() < 1e-12, "{name}: {}", fine.total_volume());
    }
}

/// Cells of all shapes on each other, bent by a quadratic motion, which quadratic cells know exactly: so all edges of
/// the tets, and neighbours meet in whole faces.
#[test]
fn curved_cells_meet_in_whole_faces() {
    let quadratic = |p: &Vec3| Vec3::new(p.x + 0.1 * p.y * p.y + 0.05 * p.y * p.z, p.y, p.z + 0.1 * p.y * p.y);
    let before = |p: &Vec3| {
        let z = p.z - 0.1 * p.y * p.y;
        Vec3::new(p.x - 0.1 * p.y * p.y - 0.05 * p.y * z, p.y, z)
    };
    let square = [[0., 0., 0.], [1., 0., 0.], [1., 1., 0.], [0., 1., 0.]].map(Vec3::from);
    let layers: Vec<Vec3> = (0..4).flat_map(|z| square.map(|p| p + Vec3::z() * f64::from(z))).collect();
    let edges = |kind: u64| VTK.iter().find(|(known, ..)| *known == kind).unwrap().2;
    let of_pyramid: Others = &[&[0, 1], &[1, 2], &[2, 3], &[3, 0], &[0, 4], &[1, 4], &[2, 4], &[3, 4]];
    let cells: [(u64, &[usize], Others); 6] = [
        (25, &[0, 1, 2, 3, 4, 5, 6, 7], &edges(29)[..12]),
        (26, &[4, 7, 8, 5, 6, 9], &edges(32)[..9]),
        (26, &[7, 11, 8, 6, 10, 9], &edges(32)[..9]),
        (27, &[8, 9, 10, 11, 15], of_pyramid),
        (27, &[9, 13, 14, 10, 15], of_pyramid),
        (27, &[8, 12, 13, 9, 15], of_pyramid),
    ];
    let mut number: Vec<usize> = (0..16).collect();
    for turn in 0..20 {
        number.swap(turn % 16, (turn * 7 + 5) % 16);
        let mut points = vec![Vec3::zeros(); 16];
        number.iter().zip(&layers).for_each(|(n, p)| points[*n] = quadratic(p));
        let (mut lists, mut kinds, mut size) = (String::new(), String::new(), 0);
        for (kind, corners, edges) in cells {
            let mut cell: Vec<usize> = corners.iter().map(|place| number[*place]).collect();
            for edge in edges {
                let middle = edge.iter().map(|c| layers[corners[*c]]).sum::<Vec3>() / 2.0;
                points.push(quadratic(&middle));
                cell.push(points.len() - 1);
            }
            let words: Vec<String> = cell.iter().map(usize::to_string).collect();
            lists += &format!("{} {}\n", cell.len(), words.join(" "));
            kinds += &format!("{kind}\n");
            size += cell.len() + 1;
        }
        let text = format!(
            "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS {} double\n{}CELLS 6 {size}\n{lists}CELL_TYPES 6\n{kinds}",
            points.len(),
            text_of_points(&points)
        );
        let file = read("a.vtk", text).unwrap();
        let middles = file.middles.clone();
        let mesh = mend_tets(tets(file));
        assert_eq!(mesh.tets.len(), 6 + 2 * 3 + 3 * 2);
        let known = middles.on(&mesh);
        assert!(known.len() > 12, "{}", known.len());
        for edge in mesh.edges() {
            let [a, b] = edge.map(|node| mesh.positions[node as usize]);
            let found = known.iter().find(|(other, _)| *other == edge).map_or((a + b) / 2.0, |(_, middle)| *middle);
            let wanted = quadratic(&((before(&a) + before(&b)) / 2.0));
            assert!((found - wanted).norm() < 1e-12, "{turn}: {a:?} {b:?} {found:?} {wanted:?}");
        }
        let (fine, straightened) = mesh.quadratic(&known);
        fine.check().unwrap();
        assert_eq!((straightened, fine.boundary().len()), (0, 4 * 28), "{turn}");
    }
}

/// Of surfaces alone; orders that are not known are told.
#[test]
fn curved_faces_are_cut_by_the_middles_of_their_edges() {
    let corners = [[0., 0.], [1., 0.], [1., 1.], [0., 1.]].map(|[x, y]| Vec3::new(x, y, 0.0));
    let edges = [[0, 1], [1, 2], [2, 3], [3, 0]].map(|[a, b]: [usize; 2]| (corners[a] + corners[b]) / 2.0 + Vec3::z() * 0.1);
    let nine = [&corners[..], &edges, &[Vec3::new(0.5, 0.5, 0.2)]].concat();
    let triangle = [&corners[..3], &edges[..2], &[Vec3::new(0.5, 0.5, 0.1)]].concat();
    for (points, kind, n) in [(&nine[..8], 23, 6), (&nine[..], 28, 8), (&triangle[..], 22, 4)] {
        let file = read("a.vtk", vtk(points, kind)).unwrap();
        assert_eq!(file.notes, ["1 curved faces are cut into flat ones by the middles of their edges"]);
        let cut = surface(file);
        assert_eq!(cut.triangles.len(), n);
        let area = |t: usize| {
            let [a, b, c] = cut.corners(t);
            (b - a).cross(&(c - a)).z / 2.0
        };
        let whole = if kind == 22 { 0.5 } else { 1.0 };
        assert!((0..n).all(|t| area(t) > 0.0) && ((0..n).map(area).sum::<f64>() - whole).abs() < 1e-12, "{kind}");
    }
    // VTK has a number for Lagrange pyramids, but no order of their nodes.
    let (_, corners, others) = GMSH[2];
    let file = read("a.vtk", vtk(&nodes(corners, others), 74)).unwrap();
    assert!(file.middles.is_empty() && file.notes.iter().any(|note| note.contains("read by their corners alone")), "{:?}", file.notes);
}
