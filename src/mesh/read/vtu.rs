//! VTK's XML files of unstructured grids (.vtu): text, base64 or appended data, as they are or packed with zlib.
//!
//! The reason for a reader of our own stands in `vtk`.

use std::io::Read;

use quick_xml::events::{BytesStart, Event};

use super::cells::{Cells, tag_array};
use super::cursor::{Cursor, Encoding, Scalar, base64, shortened};
use super::vtk::{BEZIER, Cell, OF_ANY_ORDER, is_before};
use super::{At, Fault, MeshFile, Source};
use crate::math::Vec3;

const EXPORT_AGAIN: &str = "export it again as .vtu, with text, base64 or appended data";

/// The storage of the data of a file.
struct Storage {
    big_endian: bool,
    /// The type of the numbers before each block of data.
    header: Scalar,
    is_packed: bool,
    /// From before version 2.1.
    is_old: bool,
    /// The place of the appended data, behind `_`, and whether they are base64.
    appended: Option<(usize, bool)>,
    /// The number of bytes that may still be unpacked.
    budget: u64,
}

/// An array of a piece: its attributes and the place of its text.
#[derive(Clone, Default)]
struct Array {
    name: String,
    kind: String,
    format: String,
    offset: Option<usize>,
    components: Option<usize>,
    text: (usize, usize),
}

#[derive(Default)]
struct Piece {
    at: usize,
    points: Option<Array>,
    cells: Vec<Array>,
    cell_data: Vec<Array>,
    point_data: Vec<Array>,
    /// The names of the arrays with the orders of cells along their directions, and with the weights of points.
    orders: String,
    weights: String,
}

pub(super) fn parse(source: Source) -> Result<MeshFile, Fault> {
    let bytes = source.bytes;
    // Raw data are no XML: only what stands before them is read as such.
    let appended = find(bytes, b"<AppendedData");
    let head = &bytes[..appended.unwrap_or(bytes.len())];
    let mut storage = Storage {
        big_endian: false,
        header: Scalar::U32,
        is_packed: false,
        is_old: true,
        appended: None,
        // Well-packed indices take about a hundredth of their size; a file made to exhaust memory takes a thousandth.
        budget: (1 << 24) + 50 * bytes.len() as u64,
    };
    let pieces = outline(head, &mut storage)?;
    if let Some(at) = appended {
        let mut cursor = Cursor::within(source, at, bytes.len());
        cursor.skip_past(b">");
        let tag = String::from_utf8_lossy(&bytes[at..cursor.at()]).into_owned();
        if !cursor.skip_past(b"_") {
            return Err(cursor.byte_fault("expected '_' before the appended data", EXPORT_AGAIN));
        }
        storage.appended = Some((cursor.at(), tag.contains("base64")));
    }
    let mut cells = Cells::default();
    for piece in &pieces {
        storage.add_piece(source, piece, &mut cells)?;
    }
    cells.finish()
}

/// Finds the pieces and their arrays, and how the data are stored.
fn outline(head: &[u8], storage: &mut Storage) -> Result<Vec<Piece>, Fault> {
    let mut reader = quick_xml::Reader::from_reader(head);
    reader.config_mut().check_end_names = false;
    let fault = |at: u64, reason: String| Fault { at: At::Byte(at as usize), ..Fault::new(reason, EXPORT_AGAIN) };
    let mut pieces: Vec<Piece> = Vec::new();
    // The element around an array says what it is for.
    let mut section = String::new();
    let mut array: Option<Array> = None;
    // Elements in an array, which tell of its range and such, after its numbers.
    let mut depth = 0;
    loop {
        let event = reader.read_event().map_err(|error| fault(reader.error_position(), format!("the XML is broken ({error})")))?;
        let at = reader.buffer_position();
        let is_empty = matches!(event, Event::Empty(_));
        match event {
            Event::Eof => break,
            Event::Start(_) if array.is_some() => depth += 1,
            Event::Empty(_) if array.is_some() => {}
            Event::Start(tag) | Event::Empty(tag) => match tag.local_name().as_ref() {
                b"VTKFile" => storage.read_header(&tag).map_err(|reason| fault(at, reason))?,
                b"Piece" => pieces.push(Piece { at: at as usize, ..Piece::default() }),
                b"DataArray" => {
                    let found = read_array(&tag, at as usize).map_err(|reason| fault(at, reason))?;
                    if is_empty {
                        keep(&mut pieces, &section, found);
                    } else {
                        array = Some(found);
                    }
                }
                name if !is_empty => {
                    section = String::from_utf8_lossy(name).into_owned();
                    if let Some(piece) = pieces.last_mut() {
                        piece.read_attributes(&tag).map_err(|reason| fault(at, reason))?;
                    }
                }
                _ => {}
            },
            Event::Text(text) => {
                if let Some(array) = array.as_mut().filter(|array| depth == 0 && array.text.0 == array.text.1) {
                    array.text = (at as usize - text.len(), at as usize);
                }
            }
            Event::End(_) if depth > 0 => depth -= 1,
            Event::End(tag) => {
                if tag.local_name().as_ref() == b"DataArray"
                    && let Some(found) = array.take()
                {
                    keep(&mut pieces, &section, found);
                }
            }
            _ => {}
        }
    }
    if pieces.is_empty() {
        return Err(Fault::new("expected <VTKFile> with a <Piece>, found neither points nor cells", EXPORT_AGAIN));
    }
    Ok(pieces)
}

fn keep(pieces: &mut [Piece], section: &str, array: Array) {
    if let Some(piece) = pieces.last_mut() {
        match section {
            "Points" => piece.points = Some(array),
            "Cells" => piece.cells.push(array),
            "CellData" => piece.cell_data.push(array),
            "PointData" => piece.point_data.push(array),
            _ => {}
        }
    }
}

impl Piece {
    /// Which of the arrays in a section has a meaning of its own.
    fn read_attributes(&mut self, tag: &BytesStart) -> Result<(), String> {
        let (wanted, array) = match tag.local_name().as_ref() {
            b"CellData" => ("HigherOrderDegrees", &mut self.orders),
            b"PointData" => ("RationalWeights", &mut self.weights),
            _ => return Ok(()),
        };
        attributes(tag, |name, value| {
            if name == wanted {
                *array = value.to_owned();
            }
        })
    }
}

/// Calls `each` with name and value of every attribute.
fn attributes(tag: &BytesStart, mut each: impl FnMut(&str, &str)) -> Result<(), String> {
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|error| format!("an attribute is broken ({error})"))?;
        each(&String::from_utf8_lossy(attribute.key.as_ref()), &String::from_utf8_lossy(&attribute.value));
    }
    Ok(())
}

fn read_array(tag: &BytesStart, at: usize) -> Result<Array, String> {
    let mut array = Array { text: (at, at), ..Array::default() };
    attributes(tag, |name, value| match name {
        "Name" => array.name = value.to_owned(),
        "type" => array.kind = value.to_owned(),
        "format" => array.format = value.to_owned(),
        "offset" => array.offset = value.parse().ok(),
        "NumberOfComponents" => array.components = value.parse().ok(),
        _ => {}
    })?;
    Ok(array)
}

impl Storage {
    fn read_header(&mut self, tag: &BytesStart) -> Result<(), String> {
        let mut wrong = None;
        attributes(tag, |name, value| match (name, value) {
            ("type", "UnstructuredGrid") => {}
            ("type", other) => wrong = Some(format!("data of kind '{}' are not read, only UnstructuredGrid", shortened(other))),
            ("version", version) => self.is_old = is_before(version, [2, 1]),
            ("byte_order", order) => self.big_endian = order == "BigEndian",
            ("header_type", "UInt64") => self.header = Scalar::U64,
            ("compressor", "vtkZLibDataCompressor") => self.is_packed = true,
            ("compressor", other) if !other.is_empty() => {
                wrong = Some(format!("data packed with {} are not read, only zlib", shortened(other)));
            }
            _ => {}
        })?;
        wrong.map_or(Ok(()), Err)
    }

    fn add_piece(&mut self, source: Source, piece: &Piece, cells: &mut Cells) -> Result<(), Fault> {
        let fault = |reason: String| Fault { at: At::Byte(piece.at), ..Fault::new(reason, EXPORT_AGAIN) };
        let points = piece.points.as_ref().ok_or_else(|| fault("the piece has no points".into()))?;
        if points.components.is_some_and(|n| n != 3) {
            return Err(fault("points must have three components".into()));
        }
        let coordinates = self.numbers(source, points)?;
        let first = cells.positions.len();
        for (i, point) in coordinates.chunks(3).enumerate() {
            match point {
                &[x, y, z] if x.is_finite() && y.is_finite() && z.is_finite() => cells.positions.push(Vec3::new(x, y, z)),
                _ => return Err(fault(format!("point {i} is not three finite numbers"))),
            }
        }
        let n_points = cells.positions.len() - first;
        let mut list = |name: &str| {
            let array = piece.cells.iter().find(|array| array.name == name);
            self.numbers(source, array.ok_or_else(|| fault(format!("its cells have no array named '{name}'")))?)
        };
        let (connectivity, ends, types) = (list("connectivity")?, list("offsets")?, list("types")?);
        if ends.len() != types.len() {
            return Err(fault(format!("there are {} offsets, but {} types of cells", ends.len(), types.len())));
        }
        let tags = self.tags(source, piece, types.len());
        let has = |kinds: &[u64]| types.iter().any(|kind| kinds.contains(&(*kind as u64)));
        // Only such cells have them, and only then must they be right.
        let mut named = |arrays: &[Array], name: &str, is_needed: bool, n: usize| {
            let Some(array) = arrays.iter().find(|array| is_needed && !name.is_empty() && array.name == name) else { return Ok(None) };
            let numbers = self.numbers(source, array)?;
            if numbers.len() == n {
                return Ok(Some(numbers));
            }
            Err(fault(format!("the array '{}' has {} numbers instead of {n}", shortened(name), numbers.len())))
        };
        let orders = named(&piece.cell_data, &piece.orders, has(&OF_ANY_ORDER), 3 * types.len())?;
        if let Some(weights) = named(&piece.point_data, &piece.weights, has(&BEZIER), n_points)? {
            if let Some(point) = weights.iter().position(|weight| !weight.is_finite() || *weight <= 0.0) {
                return Err(fault(format!("the rational weight of point {point} is {}, not a positive number", weights[point])));
            }
            cells.weights.resize(first, 1.0);
            cells.weights.extend(weights);
        }
        let mut nodes = Vec::new();
        let mut begin = 0;
        for (i, (&end, &kind)) in ends.iter().zip(&types).enumerate() {
            let end = end as usize;
            let Some(range) = connectivity.get(begin..end) else {
                let reason =
                    format!("the cell ends at {end}, out of the {} nodes of all cells or before the cell begins", connectivity.len());
                return Err(fault(format!("cell {i}: {reason}")));
            };
            nodes.clear();
            for &node in range {
                if node.fract() != 0.0 || !(0.0..n_points as f64).contains(&node) {
                    return Err(fault(format!("cell {i} names point {node}, but the piece has {n_points} points, counted from 0")));
                }
                nodes.push((first + node as usize) as u32);
            }
            cells.tag = tags.get(i).map_or(0, |tag| *tag as i64);
            let orders = orders.as_ref().and_then(|orders| orders.get(3 * i..)?.first_chunk().copied());
            let cell = Cell { number: i, kind: kind as u64, nodes: &nodes, orders, is_old: self.is_old };
            cell.add_to(cells).map_err(fault)?;
            begin = end;
        }
        Ok(())
    }

    /// The tags of the cells, if an array has them. An array that cannot be read is as none: tags are not worth an
    /// error.
    fn tags(&mut self, source: Source, piece: &Piece, n_cells: usize) -> Vec<f64> {
        let is_whole = |array: &Array| array.components.is_none_or(|n| n == 1) && (array.kind.contains("Int"));
        let place = tag_array(piece.cell_data.iter().map(|array| (array.name.as_str(), is_whole(array))));
        let numbers = place.and_then(|place| self.numbers(source, &piece.cell_data[place]).ok());
        numbers.filter(|numbers| numbers.len() == n_cells).unwrap_or_default()
    }

    /// All numbers of an array.
    fn numbers(&mut self, source: Source, array: &Array) -> Result<Vec<f64>, Fault> {
        let bytes = source.bytes;
        let (begin, end) = array.text;
        let fault = |reason: &str| {
            let reason = format!("the array '{}': {reason}", shortened(if array.name.is_empty() { "points" } else { &array.name }));
            Fault { at: At::Byte(begin), ..Fault::new(reason, EXPORT_AGAIN) }
        };
        let kind = match array.kind.as_str() {
            "Float32" => Scalar::F32,
            "Float64" => Scalar::F64,
            "Int8" => Scalar::I8,
            "UInt8" => Scalar::U8,
            "Int16" => Scalar::I16,
            "UInt16" => Scalar::U16,
            "Int32" => Scalar::I32,
            "UInt32" => Scalar::U32,
            "Int64" => Scalar::I64,
            "UInt64" => Scalar::U64,
            _ => return Err(fault("its type is not known")),
        };
        if array.format == "ascii" {
            let mut cursor = Cursor::within(source, begin, end);
            let mut numbers = Vec::new();
            while cursor.skip_blanks() {
                numbers.push(cursor.scalar(Encoding::Text, kind, "a number")?);
            }
            return Ok(numbers);
        }
        let (data, is_base64) = match (array.format.as_str(), self.appended, array.offset) {
            ("binary", ..) => (&bytes[begin..end], true),
            ("appended", Some((start, is_base64)), Some(offset)) => {
                (bytes.get(start.saturating_add(offset)..).ok_or_else(|| fault("its offset is beyond the end of the file"))?, is_base64)
            }
            ("appended", ..) => return Err(fault("it lacks its offset or the file its appended data")),
            _ => return Err(fault("its format is neither ascii, binary nor appended")),
        };
        // Appended text ends in tags, which are beyond what is asked for.
        let prefix = |length: usize| {
            if is_base64 { base64(data, length) } else { Some(data[..length.min(data.len())].to_vec()) }
        };
        let raw = self.unpacked(prefix, data.len()).map_err(|reason| fault(&reason))?;
        if !raw.len().is_multiple_of(kind.size()) {
            return Err(fault("its length is not that of whole numbers"));
        }
        Ok(raw.chunks_exact(kind.size()).filter_map(|number| kind.read(number, self.big_endian)).collect())
    }

    /// The data of an array. `prefix(n)` gives the first `n` bytes of the stored data, or all where there are fewer;
    /// there are at most `stored`.
    fn unpacked(&mut self, prefix: impl Fn(usize) -> Option<Vec<u8>>, stored: usize) -> Result<Vec<u8>, String> {
        let size = self.header.size();
        let header = |n: usize| {
            let bytes = prefix(n.saturating_mul(size)).ok_or("it is not base64")?;
            let numbers: Vec<usize> =
                bytes.chunks_exact(size).filter_map(|number| self.header.read(number, self.big_endian)).map(|n| n as usize).collect();
            if numbers.len() == n { Ok(numbers) } else { Err("it ends early") }
        };
        if !self.is_packed {
            let length = header(1)?[0];
            if length > stored {
                return Err(format!("it promises {length} bytes, more than are there"));
            }
            let mut bytes = prefix(size + length).ok_or("it is not base64")?;
            if bytes.len() != size + length {
                return Err(format!("it promises {length} bytes, but {} are there", bytes.len().saturating_sub(size)));
            }
            self.spend(length as u64)?;
            return Ok(bytes.split_off(size));
        }
        // Number of blocks, size of each but the last, size of the last (0: as the others), and their packed sizes.
        let blocks = header(1)?[0];
        if blocks > stored {
            return Err(format!("it promises {blocks} blocks, more than there are bytes"));
        }
        let sizes = header(3 + blocks)?;
        let packed = sizes[3..].iter().try_fold(0usize, |sum, &n| sum.checked_add(n)).filter(|&n| n <= stored);
        let packed = packed.ok_or("its blocks are longer than the file")?;
        let begin = (3 + blocks) * size;
        let bytes = prefix(begin + packed).filter(|bytes| bytes.len() == begin + packed).ok_or("it ends early")?;
        let mut rest = &bytes[begin..];
        let mut unpacked = Vec::new();
        for (i, &length) in sizes[3..].iter().enumerate() {
            let (block, more) = rest.split_at(length);
            rest = more;
            let wanted = if i + 1 == blocks && sizes[2] != 0 { sizes[2] } else { sizes[1] } as u64;
            self.spend(wanted)?;
            // One byte more than wanted shows that a block is too long.
            let got = flate2::read::ZlibDecoder::new(block).take(wanted + 1).read_to_end(&mut unpacked);
            if got.map_err(|error| format!("block {i} cannot be unpacked ({error})"))? as u64 != wanted {
                return Err(format!("block {i} does not unpack to the {wanted} bytes that it promises"));
            }
        }
        Ok(unpacked)
    }

    fn spend(&mut self, bytes: u64) -> Result<(), String> {
        self.budget = self.budget.checked_sub(bytes).ok_or("the data unpack to far more than such a file can mean")?;
        Ok(())
    }
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}
