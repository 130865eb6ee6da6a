//! Gmsh MSH, versions 2.2 and 4.1, ASCII and binary. Nodes, elements and physical groups are read; other sections are
//! skipped.

mod elements;

use std::collections::HashMap;

use self::elements::Element;
use super::cells::Cells;
use super::cursor::{Cursor, Encoding, Scalar, shortened};
use super::curved::Order;
use super::{Fault, MeshFile, Source};

struct Reader<'a> {
    cursor: Cursor<'a>,
    encoding: Encoding,
    /// The node of each tag, which may be any number.
    node_at: HashMap<u64, u32>,
    /// In version 4: tags of volumes and of the first physical group of each, 0 without one.
    volumes: Vec<(i64, i64)>,
    cells: Cells,
}

const EXPORT_AGAIN: &str = "export it again from Gmsh, as version 4.1 or 2.2";

pub(super) fn parse(source: Source) -> Result<MeshFile, Fault> {
    let mut cursor = Cursor::new(source);
    let magic = cursor.word("$MeshFormat")?;
    if magic != "$MeshFormat" {
        return Err(cursor.fault(format!("expected $MeshFormat, found '{}': this is no Gmsh file", shortened(magic)), EXPORT_AGAIN));
    }
    let version = cursor.word("the version")?;
    let is_four = match version {
        "2.2" | "2.1" | "2" | "2.0" => false,
        "4.1" => true,
        _ => return Err(cursor.fault(format!("MSH version {} is not read", shortened(version)), EXPORT_AGAIN)),
    };
    let is_binary = cursor.number::<u8>("0 for text or 1 for binary")? == 1;
    let word_size: usize = cursor.number("the size of a number in bytes")?;
    if word_size != 8 {
        return Err(cursor.fault(format!("numbers of {word_size} bytes are not read"), EXPORT_AGAIN));
    }
    cursor.line();
    let mut encoding = Encoding::Text;
    if is_binary {
        encoding = match cursor.take(4, "the mark of the byte order")? {
            [1, 0, 0, 0] => Encoding::LittleEndian,
            [0, 0, 0, 1] => Encoding::BigEndian,
            _ => return Err(cursor.byte_fault("expected the number 1, which tells the byte order", EXPORT_AGAIN)),
        };
    }
    let mut reader = Reader { cursor, encoding, node_at: HashMap::new(), volumes: Vec::new(), cells: Cells::default() };
    reader.sections(is_four)?;
    reader.cells.finish()
}

impl Reader<'_> {
    fn sections(&mut self, is_four: bool) -> Result<(), Fault> {
        while let Some(word) = self.cursor.next_word() {
            match word {
                b"$Nodes" => {
                    self.begin();
                    if is_four {
                        self.nodes_4()?
                    } else {
                        self.nodes_2()?
                    }
                    self.end("$EndNodes")?;
                }
                b"$Elements" => {
                    self.begin();
                    if is_four {
                        self.elements_4()?
                    } else {
                        self.elements_2()?
                    }
                    self.end("$EndElements")?;
                }
                b"$PhysicalNames" => self.physical_names()?,
                b"$Entities" if is_four => {
                    self.begin();
                    self.entities()?;
                    self.end("$EndEntities")?;
                }
                _ if word.starts_with(b"$End") => {}
                _ if word.starts_with(b"$") => {
                    let end = [b"$End", &word[1..]].concat();
                    if !self.cursor.skip_past(&end) {
                        let name = String::from_utf8_lossy(word);
                        return Err(self.cursor.fault(format!("the section {} has no end", shortened(&name)), EXPORT_AGAIN));
                    }
                }
                _ => {
                    let word = String::from_utf8_lossy(word);
                    return Err(self
                        .cursor
                        .fault(format!("expected a section such as $Nodes, found '{}'", shortened(&word)), EXPORT_AGAIN));
                }
            }
        }
        Ok(())
    }

    /// Binary numbers begin on the next line, and their number in version 2 stands on a line of its own.
    fn begin(&mut self) {
        if self.encoding != Encoding::Text {
            self.cursor.line();
        }
    }

    fn end(&mut self, mark: &str) -> Result<(), Fault> {
        let word = self.cursor.word(mark)?;
        if word == mark {
            return Ok(());
        }
        Err(self.cursor.fault(format!("expected {mark}, found '{}': the counts before it are wrong", shortened(word)), EXPORT_AGAIN))
    }

    fn int(&mut self, what: &str) -> Result<u64, Fault> {
        self.cursor.whole(self.encoding, Scalar::I32, what)
    }

    /// An int, which may be negative.
    fn signed(&mut self, what: &str) -> Result<i64, Fault> {
        self.cursor.scalar(self.encoding, Scalar::I32, what).map(|number| number as i64)
    }

    /// Lines `dimension tag "name"`, also in binary files.
    fn physical_names(&mut self) -> Result<(), Fault> {
        while let Some(line) = self.cursor.line() {
            if line.starts_with(b"$End") {
                return Ok(());
            }
            let line = String::from_utf8_lossy(line);
            let mut parts = line.splitn(3, char::is_whitespace);
            if let (Some("3"), Some(tag), Some(name)) = (parts.next(), parts.next(), parts.next())
                && let Ok(tag) = tag.parse()
            {
                self.cells.tag_names.push((tag, name.trim().trim_matches('"').to_owned()));
            }
        }
        Err(self.cursor.fault("the section $PhysicalNames has no end", EXPORT_AGAIN))
    }

    /// Points, curves, surfaces and volumes: the tag, the place or the box, physical groups, and what bounds it.
    fn entities(&mut self) -> Result<(), Fault> {
        let mut counts = [0; 4];
        for (count, what) in counts.iter_mut().zip(["points", "curves", "surfaces", "volumes"]) {
            *count = self.cursor.count(self.encoding, Scalar::U64, 4, what)?;
        }
        for (dimension, count) in counts.into_iter().enumerate() {
            for _ in 0..count {
                let tag = self.signed("the tag of an entity")?;
                for _ in 0..if dimension == 0 { 3 } else { 6 } {
                    self.cursor.scalar(self.encoding, Scalar::F64, "the place of an entity")?;
                }
                let mut group = 0;
                for k in 0..self.cursor.count(self.encoding, Scalar::U64, 2, "physical groups")? {
                    let number = self.signed("a physical group")?;
                    group = if k == 0 { number } else { group };
                }
                if dimension == 3 {
                    self.volumes.push((tag, group));
                }
                for _ in 0..if dimension == 0 { 0 } else { self.cursor.count(self.encoding, Scalar::U64, 2, "bounds of an entity")? } {
                    self.signed("a bound of an entity")?;
                }
            }
        }
        self.volumes.sort_unstable();
        Ok(())
    }

    fn size(&mut self, what: &str) -> Result<u64, Fault> {
        self.cursor.whole(self.encoding, Scalar::U64, what)
    }

    fn node(&mut self, tag: u64) -> Result<(), Fault> {
        let point = self.cursor.point(self.encoding, Scalar::F64)?;
        if self.node_at.insert(tag, self.cells.positions.len() as u32).is_some() {
            return Err(self.fault(format!("node {tag} is there twice")));
        }
        self.cells.positions.push(point);
        Ok(())
    }

    fn fault(&self, reason: String) -> Fault {
        if self.encoding == Encoding::Text { self.cursor.fault(reason, EXPORT_AGAIN) } else { self.cursor.byte_fault(reason, EXPORT_AGAIN) }
    }

    /// Reads the nodes of an element by their tags.
    fn element(&mut self, kind: &Element, wide: Scalar, (read, nodes): (&mut Vec<u32>, &mut Vec<u32>)) -> Result<(), Fault> {
        read.clear();
        for _ in 0..kind.n_nodes {
            let tag = self.cursor.whole(self.encoding, wide, "a node of an element")?;
            let node = self.node_at.get(&tag).copied();
            read.push(node.ok_or_else(|| self.fault(format!("an element names node {tag}, which the file does not have")))?);
        }
        nodes.clear();
        nodes.extend(kind.places.iter().map(|&place| read[place]));
        if kind.order > 2 {
            self.cells.add_curved(kind.shape, Order::of(kind.order), nodes);
        } else {
            self.cells.add(kind.shape, nodes);
        }
        Ok(())
    }

    fn kind(&mut self) -> Result<Element, Fault> {
        let kind = self.int("the type of an element")?;
        elements::element(kind).ok_or_else(|| self.fault(format!("elements of type {kind} are not read")))
    }

    fn nodes_2(&mut self) -> Result<(), Fault> {
        let count = self.cursor.count(Encoding::Text, Scalar::U64, 7, "nodes")?;
        self.begin();
        for _ in 0..count {
            let tag = self.int("the number of a node")?;
            self.node(tag)?;
        }
        Ok(())
    }

    fn elements_2(&mut self) -> Result<(), Fault> {
        let count = self.cursor.count(Encoding::Text, Scalar::U64, 4, "elements")?;
        self.begin();
        let (mut read, mut nodes) = (Vec::new(), Vec::new());
        let mut done = 0;
        while done < count {
            // In binary files a header stands before all elements of a type.
            let mut block = 1;
            if self.encoding == Encoding::Text {
                self.int("the number of an element")?;
            }
            let kind = self.kind()?;
            if self.encoding != Encoding::Text {
                block = self.cursor.count(self.encoding, Scalar::I32, 4, "elements")?;
                if block == 0 || block > count - done {
                    return Err(self.fault(format!("a block has {block} elements where 1 to {} are expected", count - done)));
                }
            }
            let tags = self.int("the number of tags")?;
            for _ in 0..block {
                if self.encoding != Encoding::Text {
                    self.signed("the number of an element")?;
                }
                // The first is the physical group.
                self.cells.tag = 0;
                for k in 0..tags {
                    let tag = self.signed("a tag")?;
                    self.cells.tag = if k == 0 { tag } else { self.cells.tag };
                }
                self.element(&kind, Scalar::I32, (&mut read, &mut nodes))?;
            }
            done += block;
        }
        Ok(())
    }

    fn nodes_4(&mut self) -> Result<(), Fault> {
        let blocks = self.cursor.count(self.encoding, Scalar::U64, 4, "blocks of nodes")?;
        for what in ["the number of nodes", "the lowest tag", "the highest tag"] {
            self.size(what)?;
        }
        let mut tags = Vec::new();
        for _ in 0..blocks {
            let dimension = self.int("the dimension of an entity")?.min(3);
            self.signed("the tag of an entity")?;
            let is_parametric = self.int("whether nodes have parameters")? != 0;
            let count = self.cursor.count(self.encoding, Scalar::U64, 8, "nodes")?;
            tags.clear();
            for _ in 0..count {
                tags.push(self.size("the tag of a node")?);
            }
            for &tag in &tags {
                self.node(tag)?;
                for _ in 0..if is_parametric { dimension } else { 0 } {
                    self.cursor.scalar(self.encoding, Scalar::F64, "a parameter of a node")?;
                }
            }
        }
        Ok(())
    }

    /// The physical group of a volume; the volume's own tag where no volume of the file belongs to a group.
    fn tag_of_volume(&self, volume: i64) -> i64 {
        match self.volumes.binary_search_by_key(&volume, |(tag, _)| *tag) {
            Ok(place) if self.volumes.iter().any(|(_, group)| *group != 0) => self.volumes[place].1,
            _ => volume,
        }
    }

    fn elements_4(&mut self) -> Result<(), Fault> {
        let blocks = self.cursor.count(self.encoding, Scalar::U64, 4, "blocks of elements")?;
        for what in ["the number of elements", "the lowest tag", "the highest tag"] {
            self.size(what)?;
        }
        let (mut read, mut nodes) = (Vec::new(), Vec::new());
        for _ in 0..blocks {
            let dimension = self.signed("the dimension of an entity")?;
            let entity = self.signed("the tag of an entity")?;
            self.cells.tag = if dimension == 3 { self.tag_of_volume(entity) } else { 0 };
            let kind = self.kind()?;
            let count = self.cursor.count(self.encoding, Scalar::U64, 4, "elements")?;
            for _ in 0..count {
                self.size("the tag of an element")?;
                self.element(&kind, Scalar::U64, (&mut read, &mut nodes))?;
            }
        }
        Ok(())
    }
}
