//! VTK legacy files, ASCII and binary (big-endian), of unstructured grids and of polygons, with cells as versions
//! before and from 5.1 write them.
//!
//! We have our own readers of VTK files, here and in `vtu`, because the crate `vtkio` (0.7.0-rc2) names no place in its
//! errors ("Parse error: Digit"), panicked on 8 of 894 damaged files and let indices out of range through in 5, and
//! reads neither raw appended data nor a grid behind a FIELD. It would add ten packages, one of them C. It is faster:
//! 1.3 million tets take 0.54 s as text and 0.26 s as binary, here 0.77 s and 0.46 s, checks and tets included.

mod cells;

pub(super) use self::cells::{BEZIER, Cell, OF_ANY_ORDER};
use super::cells::{Cells, tag_array};
use super::cursor::{Cursor, Encoding, Scalar, shortened};
use super::shape::Shape;
use super::{Fault, MeshFile, Source};

const EXPORT_AGAIN: &str = "export it again as an unstructured grid (.vtu, .vtk) or as another format";

struct Reader<'a> {
    cursor: Cursor<'a>,
    encoding: Encoding,
    cells: Cells,
    /// The nodes of all cells, and for each cell where its nodes end.
    connectivity: Vec<u32>,
    ends: Vec<usize>,
    types: Vec<u64>,
    has_cell_tags: bool,
    /// From before version 5.1.
    is_old: bool,
}

pub(super) fn parse(source: Source) -> Result<MeshFile, Fault> {
    let mut cursor = Cursor::new(source);
    let Some(first) = cursor.line().and_then(|line| line.strip_prefix(b"# vtk DataFile")) else {
        return Err(cursor.fault("expected '# vtk DataFile Version ...' on the first line", EXPORT_AGAIN));
    };
    let is_old = String::from_utf8_lossy(first).split_whitespace().nth(1).is_none_or(|version| is_before(version, [5, 1]));
    cursor.line(); // a title
    let encoding = match cursor.word("ASCII or BINARY")? {
        "ASCII" => Encoding::Text,
        "BINARY" => Encoding::BigEndian,
        other => return Err(cursor.fault(format!("expected ASCII or BINARY, found '{}'", shortened(other)), EXPORT_AGAIN)),
    };
    let mut reader = Reader {
        cursor,
        encoding,
        cells: Cells::default(),
        connectivity: Vec::new(),
        ends: Vec::new(),
        types: Vec::new(),
        has_cell_tags: false,
        is_old,
    };
    reader.sections()?;
    if !reader.has_cell_tags {
        reader.cells.set_tags(|_| 0);
    }
    reader.cells.finish()
}

impl Reader<'_> {
    fn sections(&mut self) -> Result<(), Fault> {
        while let Some(word) = self.cursor.next_word() {
            match word.to_ascii_uppercase().as_slice() {
                b"DATASET" => match self.cursor.word("the kind of data")? {
                    "UNSTRUCTURED_GRID" | "POLYDATA" => {}
                    other => {
                        let reason = format!("data of kind '{}' have no tets or triangles of their own", shortened(other));
                        return Err(self.cursor.fault(reason, EXPORT_AGAIN));
                    }
                },
                b"POINTS" => self.points()?,
                b"CELLS" => self.cell_lists()?,
                b"CELL_TYPES" => {
                    let count = self.count(1, "cell types")?;
                    self.begin();
                    for _ in 0..count {
                        let kind = self.cursor.whole(self.encoding, Scalar::I32, "the type of a cell")?;
                        self.types.push(kind);
                    }
                    self.add_cells()?;
                }
                b"POLYGONS" => {
                    self.cell_lists()?;
                    for (begin, end) in self.ranges() {
                        self.cells.add_polygon(&self.connectivity[begin..end]);
                    }
                }
                b"TRIANGLE_STRIPS" => {
                    self.cell_lists()?;
                    for (begin, end) in self.ranges() {
                        for (i, corners) in self.connectivity[begin..end].windows(3).enumerate() {
                            let [a, b, c] = [corners[i % 2], corners[1 - i % 2], corners[2]];
                            self.cells.add(Shape::Triangle, &[a, b, c]);
                        }
                    }
                }
                b"VERTICES" | b"LINES" => {
                    self.cell_lists()?;
                    self.cells.notes.push(format!("{} points and lines are left out", self.ends.len()));
                }
                b"FIELD" => self.field()?,
                // The section ends at an empty line.
                b"METADATA" => {
                    self.cursor.line();
                    while self.cursor.line().is_some_and(|line| !line.is_empty()) {}
                }
                // Attributes of cells and points come last. Only tags are needed, and they are not worth an error.
                b"CELL_DATA" | b"POINT_DATA" => {
                    self.cursor.back();
                    if let Some(tags) = self.cell_tags() {
                        self.has_cell_tags = true;
                        self.cells.set_tags(|cell| tags.get(cell as usize).map_or(0, |tag| *tag as i64));
                    }
                    break;
                }
                _ => {
                    let word = String::from_utf8_lossy(word);
                    return Err(self
                        .cursor
                        .fault(format!("expected a section such as POINTS or CELLS, found '{}'", shortened(&word)), EXPORT_AGAIN));
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, least: usize, what: &str) -> Result<usize, Fault> {
        self.cursor.count(Encoding::Text, Scalar::U64, least, what)
    }

    /// Binary numbers begin on the next line.
    fn begin(&mut self) {
        if self.encoding != Encoding::Text {
            self.cursor.line();
        }
    }

    fn kind(&mut self) -> Result<Scalar, Fault> {
        let word = self.cursor.word("a number type")?;
        Ok(match word.to_ascii_lowercase().as_str() {
            "float" => Scalar::F32,
            "double" => Scalar::F64,
            "char" => Scalar::I8,
            "unsigned_char" => Scalar::U8,
            "short" => Scalar::I16,
            "unsigned_short" => Scalar::U16,
            "int" | "vtkidtype" => Scalar::I32,
            "unsigned_int" => Scalar::U32,
            "long" | "vtktypeint64" => Scalar::I64,
            "unsigned_long" | "vtktypeuint64" => Scalar::U64,
            _ => return Err(self.cursor.fault(format!("numbers of type '{}' are not read", shortened(word)), EXPORT_AGAIN)),
        })
    }

    fn points(&mut self) -> Result<(), Fault> {
        let count = self.count(3, "points")?;
        let kind = self.kind()?;
        self.begin();
        for _ in 0..count {
            self.cells.positions.push(self.cursor.point(self.encoding, kind)?);
        }
        Ok(())
    }

    /// `CELLS n size`, then for each cell its number of nodes and these; or, from version 5.1 on, offsets and nodes
    /// apart.
    fn cell_lists(&mut self) -> Result<(), Fault> {
        let count = self.count(0, "cells")?;
        let size = self.count(1, "numbers in the list of cells")?;
        self.ends.clear();
        self.connectivity.clear();
        self.begin();
        if self.cursor.next_is(b"OFFSETS") {
            return self.offsets(count, size);
        }
        for _ in 0..count {
            let nodes = self.cursor.whole(self.encoding, Scalar::I32, "the number of nodes of a cell")?;
            for _ in 0..nodes {
                self.node(Scalar::I32)?;
            }
            self.ends.push(self.connectivity.len());
        }
        if self.connectivity.len() + count != size {
            let reason = format!("the list of cells has {} numbers where {size} are promised", self.connectivity.len() + count);
            return Err(self.cursor.fault(reason, EXPORT_AGAIN));
        }
        Ok(())
    }

    fn node(&mut self, kind: Scalar) -> Result<(), Fault> {
        let node = self.cursor.index(self.encoding, kind, 0)?;
        if node as usize >= self.cells.positions.len() {
            let reason = format!("a cell names point {node}, but there are {} points, counted from 0", self.cells.positions.len());
            return Err(if self.encoding == Encoding::Text {
                self.cursor.fault(reason, EXPORT_AGAIN)
            } else {
                self.cursor.byte_fault(reason, EXPORT_AGAIN)
            });
        }
        self.connectivity.push(node);
        Ok(())
    }

    fn offsets(&mut self, count: usize, size: usize) -> Result<(), Fault> {
        self.cursor.word("OFFSETS")?;
        let kind = self.kind()?;
        self.begin();
        let mut last = 0;
        for i in 0..count {
            let end = self.cursor.whole(self.encoding, kind, "the end of a cell")?;
            if end < last || end > size as u64 || (i == 0 && end != 0) {
                return Err(self.cursor.fault(format!("the offset {end} of cell {i} is out of order"), EXPORT_AGAIN));
            }
            last = end;
            if i > 0 {
                self.ends.push(end as usize);
            }
        }
        let word = self.cursor.word("CONNECTIVITY")?;
        if word != "CONNECTIVITY" {
            return Err(self.cursor.fault(format!("expected CONNECTIVITY, found '{}'", shortened(word)), EXPORT_AGAIN));
        }
        let kind = self.kind()?;
        self.begin();
        for _ in 0..size {
            self.node(kind)?;
        }
        Ok(())
    }

    fn ranges(&self) -> Vec<(usize, usize)> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(self.ends.iter().copied()).collect()
    }

    fn add_cells(&mut self) -> Result<(), Fault> {
        if self.types.len() != self.ends.len() {
            let reason = format!("there are {} cells, but types of {}", self.ends.len(), self.types.len());
            return Err(self.cursor.fault(reason, EXPORT_AGAIN));
        }
        for (i, (begin, end)) in self.ranges().into_iter().enumerate() {
            self.cells.tag = i as i64; // until the attributes are known
            let nodes = &self.connectivity[begin..end];
            let cell = Cell { number: i, kind: self.types[i], nodes, orders: None, is_old: self.is_old };
            cell.add_to(&mut self.cells).map_err(|reason| self.cursor.fault(reason, EXPORT_AGAIN))?;
        }
        Ok(())
    }

    /// The tags of all cells, from the sections of attributes; none where no array has them, or where something that is
    /// not understood stands before.
    fn cell_tags(&mut self) -> Option<Vec<f64>> {
        let is_whole = |kind: Scalar| !matches!(kind, Scalar::F32 | Scalar::F64);
        let (mut arrays, mut count, mut is_of_cells) = (Vec::<(String, bool, Vec<f64>)>::new(), 0, false);
        while let Some(word) = self.cursor.next_word() {
            let word = word.to_ascii_uppercase();
            let numbers = |reader: &mut Self, n: usize, kind: Scalar| -> Option<Vec<f64>> {
                reader.begin();
                (0..n).map(|_| reader.cursor.scalar(reader.encoding, kind, "a number").ok()).collect()
            };
            match word.as_slice() {
                b"CELL_DATA" | b"POINT_DATA" => {
                    is_of_cells = word == b"CELL_DATA";
                    count = self.count(0, "attributes").ok()?;
                }
                b"SCALARS" => {
                    let name = self.cursor.word("a name").ok()?.to_owned();
                    let kind = self.kind().ok()?;
                    let components = if self.cursor.next_is(b"LOOKUP_TABLE") { 1 } else { self.count(1, "components").ok()? };
                    if self.cursor.next_is(b"LOOKUP_TABLE") {
                        self.cursor.word("LOOKUP_TABLE").and_then(|_| self.cursor.word("a name")).ok()?;
                    }
                    let values = numbers(self, count.checked_mul(components)?, kind)?;
                    arrays.push((name, is_of_cells && components == 1 && is_whole(kind), values));
                }
                b"FIELD" => {
                    self.cursor.word("a name").ok()?;
                    for _ in 0..self.count(0, "arrays").ok()? {
                        let name = self.cursor.word("a name").ok()?.to_owned();
                        let components = self.count(0, "components").ok()?;
                        let tuples = self.count(0, "tuples").ok()?;
                        let kind = self.kind().ok()?;
                        let values = numbers(self, components.checked_mul(tuples)?, kind)?;
                        arrays.push((name, is_of_cells && components == 1 && tuples == count && is_whole(kind), values));
                    }
                }
                b"VECTORS" | b"NORMALS" | b"TENSORS" => {
                    self.cursor.word("a name").ok()?;
                    let kind = self.kind().ok()?;
                    numbers(self, count.checked_mul(if word == b"TENSORS" { 9 } else { 3 })?, kind)?;
                }
                b"METADATA" => {
                    self.cursor.line();
                    while self.cursor.line().is_some_and(|line| !line.is_empty()) {}
                }
                _ => break,
            }
        }
        let place = tag_array(arrays.iter().map(|(name, may_be_tags, _)| (name.as_str(), *may_be_tags)))?;
        Some(arrays.swap_remove(place).2)
    }

    /// Skips arrays of other data before the points.
    fn field(&mut self) -> Result<(), Fault> {
        self.cursor.word("the name of a field")?;
        let arrays = self.count(4, "arrays")?;
        for _ in 0..arrays {
            self.cursor.word("the name of an array")?;
            let components: u64 = self.cursor.number("a number of components")?;
            let tuples: u64 = self.cursor.number("a number of tuples")?;
            let word = self.cursor.word("a number type")?;
            let is_text = word.eq_ignore_ascii_case("string");
            self.cursor.back();
            let kind = if is_text { self.cursor.word("a type").map(|_| Scalar::U8)? } else { self.kind()? };
            self.cursor.line();
            for _ in 0..components.saturating_mul(tuples) {
                if is_text {
                    self.cursor.line().ok_or_else(|| Fault::new("the file ends within a field", EXPORT_AGAIN))?;
                } else {
                    self.cursor.scalar(self.encoding, kind, "a number of a field")?;
                }
            }
        }
        Ok(())
    }
}

/// Whether a version, written as `2.0`, comes before another.
pub(super) fn is_before(version: &str, other: [u32; 2]) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    [numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)] < other
}
