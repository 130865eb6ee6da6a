//! The part that volume formats share: cells of several shapes over one list of nodes.

use super::curved::{Curved, Order, Weighted};
use super::shape::Shape;
use super::{Fault, MeshData, MeshFile, Tags};
use crate::math::Vec3;
use crate::mesh::{EdgeMiddles, SurfaceMesh, TetMesh};

/// Names of arrays of cell data in which programs keep tags, in small letters, the likelier first.
const TAG_ARRAYS: [&str; 9] =
    ["material", "gmsh:physical", "medit:ref", "physicalids", "cellentityids", "materialids", "region", "tag", "attribute"];

/// Which of the arrays of cell data, each with its name and whether it has one whole number a cell, has the tags.
pub(super) fn tag_array<'a>(arrays: impl Iterator<Item = (&'a str, bool)> + Clone) -> Option<usize> {
    let named = |wanted: &&str| arrays.clone().position(|(name, is_whole)| is_whole && name.eq_ignore_ascii_case(wanted));
    TAG_ARRAYS.iter().find_map(named).or_else(|| arrays.clone().position(|(_, is_whole)| is_whole))
}

/// Gathers nodes and cells.
#[derive(Default)]
pub(super) struct Cells {
    pub positions: Vec<Vec3>,
    /// Weights of the control points of rational cells; 1 beyond the end.
    pub weights: Vec<f64>,
    tets: Vec<[u32; 4]>,
    /// The tag of the cells that are added next, and those of the tets that were added.
    pub tag: i64,
    tags: Vec<i64>,
    pub tag_names: Vec<(i64, String)>,
    triangles: Vec<[u32; 3]>,
    /// Ends and middle of the edges of tets of ten nodes.
    middles: Vec<[u32; 3]>,
    /// Other curved cells.
    curved: Vec<Curved>,
    /// The numbers of solids and of faces with more nodes than are read; of faces that are cut by the middles of their
    /// edges, and by all nodes in rows; of solids of an order above 2.
    by_corners: usize,
    faces_by_corners: usize,
    curved_faces: usize,
    higher_faces: usize,
    higher: usize,
    points_and_lines: usize,
    /// Triangles and polygons of the file.
    faces: usize,
    /// The numbers of hexahedra, wedges and pyramids.
    split: [usize; 3],
    pub notes: Vec<String>,
}

impl Cells {
    /// Adds a cell by its nodes in the order of VTK, corners first. Quadratic cells keep the middles of their edges and
    /// faces; of others the nodes beside the corners are left out. The caller sees to it that there are enough nodes.
    pub fn add(&mut self, shape: Shape, nodes: &[u32]) {
        match (shape, nodes) {
            (Shape::Tet, &[a, b, c, d, ab, bc, ca, ad, bd, cd]) => {
                self.middles.extend([[a, b, ab], [b, c, bc], [c, a, ca], [a, d, ad], [b, d, bd], [c, d, cd]]);
            }
            // Faces are cut into parts that meet in the middles of their edges.
            (Shape::Triangle, &[a, b, c, ab, bc, ca] | &[a, b, c, ab, bc, ca, _]) => {
                self.curved_faces += 1;
                return self.add_face([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
            }
            (Shape::Quad, &[a, b, c, d, ab, bc, cd, da]) => {
                self.curved_faces += 1;
                return self.add_face([[a, ab, da], [ab, b, bc], [bc, c, cd], [cd, d, da], [ab, bc, cd], [ab, cd, da]]);
            }
            (Shape::Quad, &[a, b, c, d, ab, bc, cd, da, m]) => {
                self.curved_faces += 1;
                return self.add_face([[a, ab, m], [ab, b, m], [b, bc, m], [bc, c, m], [c, cd, m], [cd, d, m], [d, da, m], [da, a, m]]);
            }
            _ => match (shape, nodes.len()) {
                (Shape::Hexahedron, 20 | 24 | 27) | (Shape::Wedge, 15 | 18) | (Shape::Pyramid, 13 | 14) => {
                    return self.add_curved(shape, Order::of(2), nodes);
                }
                (Shape::Wedge, 12) => return self.add_curved(shape, Order { along: [2, 2, 1], is_bezier: false }, nodes),
                _ => return self.add_by_corners(shape, nodes),
            },
        }
        self.add_flat(shape, &nodes[..shape.corners()]);
    }

    /// Adds a curved cell: a solid by its nodes as [`Curved`] has them, a face by its nodes in rows.
    pub fn add_curved(&mut self, shape: Shape, order: Order, nodes: &[u32]) {
        let [p, q, _] = order.along;
        match shape {
            Shape::Tet if order == Order::of(2) => self.add(shape, nodes),
            Shape::Triangle if nodes.len() == (p + 1) * (p + 2) / 2 => {
                let at = |i: usize, j: usize| nodes[j * (2 * p + 3 - j) / 2 + i];
                let upright = (0..p).flat_map(|j| (0..p - j).map(move |i| [at(i, j), at(i + 1, j), at(i, j + 1)]));
                let inverted = (1..p).flat_map(|j| (1..=p - j).map(move |i| [at(i, j), at(i - 1, j), at(i, j - 1)]));
                self.higher_faces += 1;
                self.add_face(upright.chain(inverted));
            }
            Shape::Quad if nodes.len() == (p + 1) * (q + 1) => {
                let at = |i: usize, j: usize| nodes[j * (p + 1) + i];
                let cells = (0..q).flat_map(|j| (0..p).map(move |i| [i, j]));
                let halves = |[i, j]: [usize; 2]| {
                    let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
                    [[a, b, c], [a, c, d]]
                };
                self.higher_faces += 1;
                self.add_face(cells.flat_map(halves));
            }
            Shape::Tet | Shape::Hexahedron | Shape::Wedge | Shape::Pyramid if nodes.len() >= order.nodes_of_edges(shape) => {
                self.higher += usize::from(order.along.iter().any(|order| *order > 2));
                self.curved.push(Curved { shape, order, nodes: nodes.to_vec() });
                self.add_flat(shape, &nodes[..shape.corners()]);
            }
            _ => self.add_by_corners(shape, nodes),
        }
    }

    /// Adds a cell whose nodes beside the corners stand in an order that is not known.
    pub fn add_by_corners(&mut self, shape: Shape, nodes: &[u32]) {
        let left_out = usize::from(nodes.len() > shape.corners());
        match shape {
            Shape::Point | Shape::Line => {}
            Shape::Triangle | Shape::Quad => self.faces_by_corners += left_out,
            _ => self.by_corners += left_out,
        }
        self.add_flat(shape, &nodes[..shape.corners()]);
    }

    /// Adds a cell by its corners.
    fn add_flat(&mut self, shape: Shape, corners: &[u32]) {
        match (shape, corners) {
            (Shape::Triangle, &[a, b, c]) => {
                self.faces += 1;
                self.triangles.push([a, b, c]);
            }
            (Shape::Quad, &[a, b, c, d]) => {
                self.faces += 1;
                self.triangles.extend([[a, b, c], [a, c, d]]);
            }
            (Shape::Tet, &[a, b, c, d]) => self.tets.push([a, b, c, d]),
            (Shape::Hexahedron, corners) => self.split(0, shape, corners),
            (Shape::Wedge, corners) => self.split(1, shape, corners),
            (Shape::Pyramid, corners) => self.split(2, shape, corners),
            _ => self.points_and_lines += 1,
        }
        self.tags.resize(self.tets.len(), self.tag);
    }

    /// Adds a polygon as a fan of triangles.
    pub fn add_polygon(&mut self, polygon: &[u32]) {
        self.faces += 1;
        super::push_fan(&mut self.triangles, polygon);
    }

    /// Adds the triangles of a curved face.
    fn add_face(&mut self, triangles: impl IntoIterator<Item = [u32; 3]>) {
        self.faces += 1;
        self.triangles.extend(triangles);
    }

    /// Splits a cell into tets. `kind` is the place where the shape is counted.
    fn split(&mut self, kind: usize, shape: Shape, corners: &[u32]) {
        self.split[kind] += 1;
        // Nodes that are not there are complained of where the tets are checked.
        let places: Vec<Vec3> = corners.iter().map(|node| self.positions.get(*node as usize).copied().unwrap_or_default()).collect();
        self.tets.extend(shape.tets(&places).into_iter().map(|tet| tet.map(|place| corners[place])));
    }

    /// Puts other tags in the place of those of the tets.
    pub fn set_tags(&mut self, tag: impl Fn(i64) -> i64) {
        self.tags.iter_mut().for_each(|old| *old = tag(*old));
    }

    /// The tets if there are any, else the triangles as a surface.
    pub fn finish(mut self) -> Result<MeshFile, Fault> {
        let [hexahedra, wedges, pyramids] = self.split;
        for (count, what, into) in [(hexahedra, "hexahedra", "six"), (wedges, "wedges", "three"), (pyramids, "pyramids", "two")] {
            if count > 0 {
                self.notes.push(format!("{count} {what} are split into {into} tets each"));
            }
        }
        let n_curved = self.curved.iter().filter(|cell| cell.shape != Shape::Tet).count();
        if n_curved > 0 {
            self.notes.push(format!(
                "{n_curved} of these are curved: their tets have ten nodes, in the middles of the edges and faces of the cells"
            ));
        }
        if self.higher > 0 {
            self.notes.push(format!(
                "{} cells are of an order above 2: tets of ten nodes go through the middles of their edges and faces, and what lies between is \
                 smoothed",
                self.higher
            ));
        }
        let by_corners = if self.tets.is_empty() { self.faces_by_corners } else { self.by_corners };
        if by_corners > 0 {
            self.notes.push(format!("{by_corners} curved cells are read by their corners alone; their other nodes are left out"));
        }
        if self.tets.is_empty() {
            if self.triangles.is_empty() {
                let reason = format!("the file has {} nodes, but neither tets nor triangles", self.positions.len());
                return Err(Fault::new(reason, "export it with its volume mesh"));
            }
            if self.points_and_lines > 0 {
                self.notes.push(format!("{} points and lines are left out", self.points_and_lines));
            }
            if self.curved_faces > 0 {
                self.notes.push(format!("{} curved faces are cut into flat ones by the middles of their edges", self.curved_faces));
            }
            if self.higher_faces > 0 {
                self.notes.push(format!("{} curved faces are cut into flat ones by all of their nodes", self.higher_faces));
            }
            let surface = SurfaceMesh { positions: self.positions, triangles: self.triangles, ..SurfaceMesh::default() };
            return Ok(MeshFile { notes: self.notes, ..surface.into() });
        }
        let lower = self.points_and_lines + self.faces;
        if lower > 0 {
            self.notes
                .push(format!("{lower} points, lines and faces beside the tets are left out: the outside of the tets is the surface"));
        }
        // Programs that give no tags write zeros.
        let has_tags = self.tags.iter().any(|tag| *tag != 0);
        let tags = if has_tags { Tags { of_tets: self.tags, names: self.tag_names } } else { Tags::default() };
        // Nodes that are not there are complained of where the tets are checked.
        let place = |node: u32| self.positions.get(node as usize).copied();
        let of_tets = self.middles.iter().filter_map(|[a, b, middle]| Some([place(*a)?, place(*b)?, place(*middle)?]));
        let weight = |node: u32, is_bezier: bool| self.weights.get(node as usize).copied().filter(|_| is_bezier).unwrap_or(1.0);
        let weighted = |node: u32, is_bezier: bool| {
            let (place, weight) = (place(node)?, weight(node, is_bezier));
            Some(Weighted::new(place.x * weight, place.y * weight, place.z * weight, weight))
        };
        let of_others = self.curved.iter().flat_map(|cell| cell.middles(|node| weighted(node, cell.order.is_bezier)));
        let middles = EdgeMiddles::new(of_tets.chain(of_others));
        let mesh = TetMesh { positions: self.positions, tets: self.tets };
        let mesh = if middles.is_empty() && by_corners == 0 { mesh } else { corners_alone(mesh) };
        Ok(MeshFile { data: MeshData::Tets(mesh), middles, tags, notes: self.notes })
    }
}

/// The mesh without the nodes of curved cells that are no corners: what they say is known, and they would pass for
/// nodes that nothing uses.
fn corners_alone(mesh: TetMesh) -> TetMesh {
    let mut number = vec![u32::MAX; mesh.positions.len()];
    for node in mesh.tets.iter().flatten() {
        number.get_mut(*node as usize).into_iter().for_each(|number| *number = 0);
    }
    let mut positions = vec![];
    for (number, position) in number.iter_mut().zip(mesh.positions).filter(|(number, _)| **number == 0) {
        *number = positions.len() as u32;
        positions.push(position);
    }
    let renumbered = |node: u32| number.get(node as usize).copied().unwrap_or(u32::MAX);
    TetMesh { positions, tets: mesh.tets.into_iter().map(|tet| tet.map(renumbered)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tets(cells: Cells) -> TetMesh {
        let Ok(MeshFile { data: MeshData::Tets(tets), .. }) = cells.finish() else { panic!("tets were added") };
        tets
    }

    /// Three unit cubes on each other, as a hexahedron, two wedges and three pyramids, in many numberings.
    #[test]
    fn split_cells_fill_their_volume_and_meet_in_whole_faces() {
        let square = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]].map(|p: [i32; 3]| Vec3::from(p.map(f64::from)));
        let layers: Vec<Vec3> = (0..4).flat_map(|z| square.map(|p| p + Vec3::z() * f64::from(z))).collect();
        let mut number: Vec<u32> = (0..16).collect();
        for turn in 0..200usize {
            number.swap(turn % 16, (turn * 7 + 5) % 16);
            let mut cells = Cells { positions: vec![Vec3::zeros(); 16], ..Cells::default() };
            for (place, &n) in number.iter().enumerate() {
                cells.positions[n as usize] = layers[place];
            }
            for (shape, places) in [
                (Shape::Hexahedron, &[0, 1, 2, 3, 4, 5, 6, 7][..]),
                (Shape::Wedge, &[4, 7, 8, 5, 6, 9]),
                (Shape::Wedge, &[7, 11, 8, 6, 10, 9]),
                (Shape::Pyramid, &[8, 9, 10, 11, 15]),
                (Shape::Pyramid, &[9, 13, 14, 10, 15]),
                (Shape::Pyramid, &[8, 12, 13, 9, 15]),
            ] {
                cells.add(shape, &places.iter().map(|&place| number[place]).collect::<Vec<_>>());
            }
            let mesh = tets(cells);
            assert_eq!(mesh.tets.len(), 6 + 2 * 3 + 3 * 2);
            mesh.check().unwrap_or_else(|e| panic!("{turn}: {e}"));
            assert!((mesh.total_volume() - 3.0).abs() < 1e-12);
            // The outside is fourteen squares; a face that does not match would add to it.
            assert_eq!(mesh.boundary().len(), 28);
        }
    }
}
