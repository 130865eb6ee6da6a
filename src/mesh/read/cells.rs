//! The part that volume formats share: cells of several shapes over one list of nodes.

use super::{Fault, MeshData, MeshFile, Tags};
use crate::math::Vec3;
use crate::mesh::quadratic::EDGES;
use crate::mesh::{EdgeMiddles, SurfaceMesh, TetMesh};

/// The shape of a cell, whatever its order. Corners come first among its nodes, in the order of VTK (and Gmsh).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Point,
    Line,
    Triangle,
    Quad,
    Tet,
    Hexahedron,
    Wedge,
    Pyramid,
}

impl Shape {
    pub fn corners(self) -> usize {
        match self {
            Self::Point => 1,
            Self::Line => 2,
            Self::Triangle => 3,
            Self::Quad | Self::Tet => 4,
            Self::Pyramid => 5,
            Self::Wedge => 6,
            Self::Hexahedron => 8,
        }
    }

    /// The faces of a shape that is split into tets, their corners counter-clockwise seen from inside, so that a tet
    /// from a face to a corner beyond it is positive.
    fn faces(self) -> &'static [&'static [usize]] {
        match self {
            Self::Hexahedron => &[&[0, 1, 2, 3], &[4, 7, 6, 5], &[0, 4, 5, 1], &[1, 5, 6, 2], &[2, 6, 7, 3], &[3, 7, 4, 0]],
            Self::Wedge => &[&[0, 1, 2], &[3, 5, 4], &[0, 3, 4, 1], &[1, 4, 5, 2], &[2, 5, 3, 0]],
            Self::Pyramid => &[&[0, 1, 2, 3], &[0, 4, 1], &[1, 4, 2], &[2, 4, 3], &[3, 4, 0]],
            _ => &[],
        }
    }

    /// The edges of a shape that is split into tets, in the order in which VTK has the nodes in their middles.
    fn edges(self) -> &'static [[usize; 2]] {
        match self {
            Self::Hexahedron => &[[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [6, 7], [7, 4], [0, 4], [1, 5], [2, 6], [3, 7]],
            Self::Wedge => &[[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3], [0, 3], [1, 4], [2, 5]],
            Self::Pyramid => &[[0, 1], [1, 2], [2, 3], [3, 0], [0, 4], [1, 4], [2, 4], [3, 4]],
            _ => &[],
        }
    }

    /// How many of its edges have a node in the middle in a cell of so many nodes: none where the order of nodes is not
    /// that of a quadratic cell.
    fn curved_edges(self, n_nodes: usize) -> usize {
        match (self, n_nodes) {
            (Self::Hexahedron, 20 | 24 | 27) => 12,
            (Self::Wedge, 12) => 6,
            (Self::Wedge, 15 | 18) => 9,
            (Self::Pyramid, 13 | 14) => 8,
            _ => 0,
        }
    }

    /// The faces with a node in the middle in a cell of so many nodes, in the order of VTK: they follow the edges.
    fn face_nodes(self, n_nodes: usize) -> &'static [[usize; 4]] {
        match (self, n_nodes) {
            (Self::Hexahedron, 24) => &[[0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]],
            (Self::Hexahedron, 27) => &[[0, 3, 7, 4], [1, 2, 6, 5], [0, 1, 5, 4], [3, 2, 6, 7], [0, 1, 2, 3], [4, 5, 6, 7]],
            (Self::Wedge, 18) => &[[0, 1, 4, 3], [1, 2, 5, 4], [2, 0, 3, 5]],
            (Self::Pyramid, 14) => &[[0, 1, 2, 3]],
            _ => &[],
        }
    }

    /// The tets of a cell with these corners, by their places among them: from the corner of the lowest number to the
    /// triangles of the faces without it. Every face is cut from its own lowest corner: neighbours cut a common face
    /// alike, whatever their shapes (as by Dompierre, Labbe, Vallet & Camarero 1999).
    fn tets(self, corners: &[u32]) -> Vec<[usize; 4]> {
        let apex = (0..corners.len()).min_by_key(|&place| corners[place]).unwrap_or_default();
        let mut tets = vec![];
        for face in self.faces().iter().filter(|face| face.iter().all(|&place| corners[place] != corners[apex])) {
            let lowest = (0..face.len()).min_by_key(|&i| corners[face[i]]).unwrap_or_default();
            let around = |i: usize| face[(lowest + i) % face.len()];
            tets.extend((1..face.len() - 1).map(|i| [around(0), around(i), around(i + 1), apex]));
        }
        tets
    }

    /// Ends and middle of each edge of the tets of a curved cell with these nodes: an edge of the cell has its own
    /// node. A diagonal of a face has the middle of the face, and one through the cell that of the cell: nodes where
    /// there are such, else the place that the nodes around them give (transfinite interpolation; of cells without
    /// nodes in faces that of their shape functions).
    fn middles(self, nodes: &[u32], positions: &[Vec3]) -> Vec<[Vec3; 3]> {
        // Nodes that are not there are complained of where the tets are checked.
        let places: Option<Vec<Vec3>> = nodes.iter().map(|node| positions.get(*node as usize).copied()).collect();
        let Some(x) = places else { return vec![] };
        let (n_corners, n_nodes, edges) = (self.corners(), nodes.len(), self.edges());
        let (curved, face_nodes) = (self.curved_edges(n_nodes), self.face_nodes(n_nodes));
        let of_edge = |edge: usize| {
            let [a, b] = edges[edge];
            if edge < curved { x[n_corners + edge] } else { (x[a] + x[b]) * 0.5 }
        };
        let of_face = |face: &[usize]| {
            if let Some(known) = face_nodes.iter().position(|known| face.iter().all(|corner| known.contains(corner))) {
                return x[n_corners + curved + known];
            }
            let around = (0..edges.len()).filter(|edge| edges[*edge].iter().all(|corner| face.contains(corner)));
            around.map(of_edge).sum::<Vec3>() * 0.5 - face.iter().map(|corner| x[*corner]).sum::<Vec3>() * 0.25
        };
        let quads = || self.faces().iter().filter(|face| face.len() == 4);
        let inside = || match x.get(26) {
            Some(node) => *node,
            None => {
                let (of_faces, of_edges) = (quads().map(|face| of_face(face)).sum::<Vec3>(), (0..edges.len()).map(of_edge).sum::<Vec3>());
                of_faces * 0.5 - of_edges * 0.25 + x[..n_corners].iter().sum::<Vec3>() * 0.125
            }
        };
        let pairs_of = |tet: [usize; 4]| EDGES.map(|[i, j]| [tet[i].min(tet[j]), tet[i].max(tet[j])]);
        let mut pairs: Vec<[usize; 2]> = self.tets(&nodes[..n_corners]).into_iter().flat_map(pairs_of).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let middle = |[a, b]: [usize; 2]| match edges.iter().position(|edge| edge.contains(&a) && edge.contains(&b)) {
            Some(edge) => of_edge(edge),
            None => quads().find(|face| face.contains(&a) && face.contains(&b)).map_or_else(inside, |face| of_face(face)),
        };
        pairs.into_iter().map(|pair| [x[pair[0]], x[pair[1]], middle(pair)]).collect()
    }
}

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
    tets: Vec<[u32; 4]>,
    /// The tag of the cells that are added next, and those of the tets that were added.
    pub tag: i64,
    tags: Vec<i64>,
    pub tag_names: Vec<(i64, String)>,
    triangles: Vec<[u32; 3]>,
    /// Ends and middle of the edges of tets of ten nodes.
    middles: Vec<[u32; 3]>,
    /// Other quadratic cells, by their nodes.
    curved: Vec<(Shape, Vec<u32>)>,
    /// The numbers of cells with more nodes than are read, and of faces that are cut by the middles of their edges.
    by_corners: usize,
    curved_faces: usize,
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
        let corners = &nodes[..shape.corners()];
        match (shape, nodes) {
            (Shape::Tet, &[a, b, c, d, ab, bc, ca, ad, bd, cd]) => {
                self.middles.extend([[a, b, ab], [b, c, bc], [c, a, ca], [a, d, ad], [b, d, bd], [c, d, cd]]);
            }
            // Faces are cut into parts that meet in the middles of their edges.
            (Shape::Triangle, &[a, b, c, ab, bc, ca] | &[a, b, c, ab, bc, ca, _]) => {
                return self.add_face([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
            }
            (Shape::Quad, &[a, b, c, d, ab, bc, cd, da]) => {
                return self.add_face([[a, ab, da], [ab, b, bc], [bc, c, cd], [cd, d, da], [ab, bc, cd], [ab, cd, da]]);
            }
            (Shape::Quad, &[a, b, c, d, ab, bc, cd, da, m]) => {
                return self.add_face([[a, ab, m], [ab, b, m], [b, bc, m], [bc, c, m], [c, cd, m], [cd, d, m], [d, da, m], [da, a, m]]);
            }
            _ if shape.curved_edges(nodes.len()) > 0 => self.curved.push((shape, nodes.to_vec())),
            _ => self.by_corners += usize::from(nodes.len() > corners.len()),
        }
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

    /// Adds a cell whose nodes beside the corners stand in an order that is not known.
    pub fn add_by_corners(&mut self, shape: Shape, nodes: &[u32]) {
        self.by_corners += usize::from(nodes.len() > shape.corners());
        self.add(shape, &nodes[..shape.corners()]);
    }

    /// Adds a polygon as a fan of triangles.
    pub fn add_polygon(&mut self, polygon: &[u32]) {
        self.faces += 1;
        super::push_fan(&mut self.triangles, polygon);
    }

    /// Adds the triangles of a curved face.
    fn add_face<const N: usize>(&mut self, triangles: [[u32; 3]; N]) {
        self.faces += 1;
        self.curved_faces += 1;
        self.triangles.extend(triangles);
    }

    /// Splits a cell into tets. `kind` is the place where the shape is counted.
    fn split(&mut self, kind: usize, shape: Shape, corners: &[u32]) {
        self.split[kind] += 1;
        self.tets.extend(shape.tets(corners).into_iter().map(|tet| tet.map(|place| corners[place])));
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
        if !self.curved.is_empty() {
            self.notes.push(format!(
                "{} of these are curved: their tets have ten nodes, in the middles of the edges and faces of the cells",
                self.curved.len()
            ));
        }
        if self.by_corners > 0 {
            self.notes.push(format!("{} curved cells are read by their corners alone; their other nodes are left out", self.by_corners));
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
        let of_others = self.curved.iter().flat_map(|(shape, nodes)| shape.middles(nodes, &self.positions));
        let middles = EdgeMiddles::new(of_tets.chain(of_others));
        Ok(MeshFile { data: MeshData::Tets(TetMesh { positions: self.positions, tets: self.tets }), middles, tags, notes: self.notes })
    }
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
