//! Object File Format: a header, three counts, the vertices, the faces. `COFF`, `NOFF` and the like carry more values
//! on a vertex line; they and the colours of faces are ignored.

use super::{Fault, MeshFile, Source, parse_point, push_fan};
use crate::mesh::SurfaceMesh;

pub(super) fn parse(source: Source) -> Result<MeshFile, Fault> {
    let text = String::from_utf8_lossy(source.bytes);
    let mut lines = source
        .until_cancelled((1..).zip(text.lines()))
        .map(|(line, content)| (line, content.split('#').next().unwrap_or("").trim()))
        .filter(|(_, content)| !content.is_empty());

    // The counts may follow the magic word on its own line.
    let (line, header) = lines.next().ok_or_else(|| Fault::new("the file is empty", "export it again"))?;
    let mut header = header.split_ascii_whitespace();
    let magic = header.next().unwrap_or("");
    if !magic.ends_with("OFF") || magic.contains("4") || magic.contains("n") {
        return Err(Fault::on(line, format!("'{magic}' is not the header of a three-dimensional OFF file"), "begin the file with OFF"));
    }
    let mut counts = header.collect::<Vec<_>>();
    if counts == ["BINARY"] {
        return Err(Fault::on(line, "binary OFF is not supported", "export it as text, or as PLY"));
    }
    let mut count_line = line;
    if counts.is_empty() {
        let (line, content) = lines.next().ok_or_else(|| truncated("the counts"))?;
        count_line = line;
        counts = content.split_ascii_whitespace().collect();
    }
    let count = |i: usize| counts.get(i).and_then(|word: &&str| word.parse::<u32>().ok());
    let (Some(vertices), Some(faces)) = (count(0), count(1)) else {
        return Err(Fault::on(count_line, "the counts of vertices and faces are missing", "write them after OFF"));
    };

    // No memory is reserved by the counts: they may be wrong.
    let mut surface = SurfaceMesh::default();
    for i in 0..vertices {
        let (line, content) = lines.next().ok_or_else(|| truncated(&format!("vertex {i} of {vertices}")))?;
        surface.positions.push(parse_point(&mut content.split_ascii_whitespace(), line)?);
    }
    let mut polygon = Vec::new();
    for i in 0..faces {
        let (line, content) = lines.next().ok_or_else(|| truncated(&format!("face {i} of {faces}")))?;
        let mut words = content.split_ascii_whitespace();
        let corners = parse_index(words.next(), line)?;
        if corners < 3 {
            return Err(Fault::on(line, format!("a face has {corners} corners"), "give it at least three"));
        }
        polygon.clear();
        for _ in 0..corners {
            let index = parse_index(words.next(), line)?;
            if index >= vertices {
                let reason = format!("a face names vertex {index}, but the file has {vertices} vertices, counted from 0");
                return Err(Fault::on(line, reason, "correct the index or export the file again"));
            }
            polygon.push(index);
        }
        push_fan(&mut surface.triangles, &polygon);
    }
    Ok(surface.into())
}

fn parse_index(word: Option<&str>, line: usize) -> Result<u32, Fault> {
    let word = word.ok_or_else(|| Fault::on(line, "a face ends early", "give it as many corners as its first number says"))?;
    word.parse().map_err(|_| Fault::on(line, format!("'{word}' is not a vertex index"), "correct the face"))
}

fn truncated(missing: &str) -> Fault {
    Fault::new(format!("the file ends before {missing}"), "it may be cut off: fetch or export it again")
}
