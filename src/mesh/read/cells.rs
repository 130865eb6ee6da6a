//! The part that volume formats share: cells of several shapes over one list of nodes.

use super::{Fault, MeshData, MeshFile, Tags};
use crate::math::Vec3;
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
    /// The number of other cells with more nodes than corners.
    curved: usize,
    points_and_lines: usize,
    quads: usize,
    /// The numbers of hexahedra, wedges and pyramids.
    split: [usize; 3],
    pub notes: Vec<String>,
}

impl Cells {
    /// Adds a cell by its nodes in the order of VTK, corners first. Of tets the middles of edges are kept if they are
    /// ten nodes; all others are left out. The caller sees to it that there are enough nodes.
    pub fn add(&mut self, shape: Shape, nodes: &[u32]) {
        let corners = &nodes[..shape.corners()];
        match (shape, nodes) {
            (Shape::Tet, &[a, b, c, d, ab, bc, ca, ad, bd, cd]) => {
                self.middles.extend([[a, b, ab], [b, c, bc], [c, a, ca], [a, d, ad], [b, d, bd], [c, d, cd]]);
            }
            _ => self.curved += usize::from(nodes.len() > corners.len()),
        }
        match (shape, corners) {
            (Shape::Triangle, &[a, b, c]) => self.triangles.push([a, b, c]),
            (Shape::Quad, &[a, b, c, d]) => {
                self.quads += 1;
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
        super::push_fan(&mut self.triangles, polygon);
    }

    /// Splits a cell into tets from the corner of the lowest number to the triangles of the faces without it. Every
    /// face is cut from its own lowest corner: neighbours cut a common face alike, whatever their shapes (as by
    /// Dompierre, Labbe, Vallet & Camarero 1999). `kind` is the place where the shape is counted.
    fn split(&mut self, kind: usize, shape: Shape, corners: &[u32]) {
        self.split[kind] += 1;
        let apex = corners.iter().copied().min().unwrap_or_default();
        for face in shape.faces() {
            let face: Vec<u32> = face.iter().map(|&corner| corners[corner]).collect();
            if face.contains(&apex) {
                continue;
            }
            let lowest = (0..face.len()).min_by_key(|&i| face[i]).unwrap_or_default();
            let around = |i: usize| face[(lowest + i) % face.len()];
            self.tets.extend((1..face.len() - 1).map(|i| [around(0), around(i), around(i + 1), apex]));
        }
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
        if self.curved > 0 {
            self.notes.push(format!("{} curved cells are read by their corners alone; their other nodes are left out", self.curved));
        }
        if self.tets.is_empty() {
            if self.triangles.is_empty() {
                let reason = format!("the file has {} nodes, but neither tets nor triangles", self.positions.len());
                return Err(Fault::new(reason, "export it with its volume mesh"));
            }
            if self.points_and_lines > 0 {
                self.notes.push(format!("{} points and lines are left out", self.points_and_lines));
            }
            let surface = SurfaceMesh { positions: self.positions, triangles: self.triangles, ..SurfaceMesh::default() };
            return Ok(MeshFile { notes: self.notes, ..surface.into() });
        }
        let lower = self.points_and_lines + self.triangles.len() - self.quads;
        if lower > 0 {
            self.notes
                .push(format!("{lower} points, lines and faces beside the tets are left out: the outside of the tets is the surface"));
        }
        // Programs that give no tags write zeros.
        let has_tags = self.tags.iter().any(|tag| *tag != 0);
        let tags = if has_tags { Tags { of_tets: self.tags, names: self.tag_names } } else { Tags::default() };
        // Nodes that are not there are complained of where the tets are checked.
        let place = |node: u32| self.positions.get(node as usize).copied();
        let middles = self.middles.iter().filter_map(|[a, b, middle]| Some([place(*a)?, place(*b)?, place(*middle)?]));
        let middles = EdgeMiddles::new(middles);
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
