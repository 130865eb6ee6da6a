//! TetGen's pair of text files: `.node` with the points, `.ele` with the tets. Indices count from the number of the
//! first node.

use super::cells::Cells;
use super::cursor::{Cursor, Encoding, Scalar};
use super::shape::Shape;
use super::{Fault, MeshFile, Source};

const T: Encoding = Encoding::Text;

/// Parses a pair. Faults do not say in which of the two they are: `Err((is_node, fault))` does.
pub(super) fn parse(node: Source, ele: Source) -> Result<MeshFile, (bool, Fault)> {
    let mut cells = Cells::default();
    let base = nodes(node, &mut cells).map_err(|fault| (true, fault))?;
    elements(ele, base, &mut cells).map_err(|fault| (false, fault))?;
    cells.finish().map_err(|fault| (false, fault))
}

/// Reads the points and returns the number of the first.
fn nodes(source: Source, cells: &mut Cells) -> Result<u64, Fault> {
    let mut cursor = Cursor::new(source).with_comments(b'#');
    let count = cursor.count(T, Scalar::U64, 8, "nodes")?;
    let dimension: u32 = cursor.number("the dimension")?;
    if dimension != 3 {
        return Err(cursor.fault(format!("the nodes have {dimension} dimensions"), "give a mesh of three dimensions"));
    }
    let attributes: u64 = cursor.number("the number of attributes of a node")?;
    let markers: u64 = cursor.number("the number of boundary markers, 0 or 1")?;
    let mut base = 0;
    for i in 0..count as u64 {
        let number: u64 = cursor.number("the number of a node")?;
        if i == 0 {
            base = number;
        }
        if number.checked_sub(base) != Some(i) {
            return Err(cursor.fault(format!("expected node {}, found node {number}", base + i), "number the nodes without gaps"));
        }
        cells.positions.push(cursor.point(T, Scalar::F64)?);
        for _ in 0..attributes.saturating_add(markers) {
            cursor.number::<f64>("an attribute or a marker of a node")?;
        }
    }
    Ok(base)
}

fn elements(source: Source, base: u64, cells: &mut Cells) -> Result<(), Fault> {
    let mut cursor = Cursor::new(source).with_comments(b'#');
    let count = cursor.count(T, Scalar::U64, 10, "tets")?;
    let n_nodes: usize = cursor.number("the number of nodes of a tet")?;
    if n_nodes != 4 && n_nodes != 10 {
        return Err(cursor.fault(format!("the elements have {n_nodes} nodes"), "give tets of 4 or 10 nodes"));
    }
    let attributes: u64 = cursor.number("the number of attributes of a tet")?;
    let mut tet = Vec::new();
    for _ in 0..count {
        cursor.number::<u64>("the number of a tet")?;
        tet.clear();
        for _ in 0..n_nodes {
            let node = cursor.index(T, Scalar::U64, base)?;
            if node as usize >= cells.positions.len() {
                let reason =
                    format!("a tet names node {}, but the last one is {}", node as u64 + base, cells.positions.len() as u64 + base - 1);
                return Err(cursor.fault(reason, "give the .node file that belongs to it"));
            }
            tet.push(node);
        }
        for attribute in 0..attributes {
            let value: f64 = cursor.number("an attribute of a tet")?;
            if attribute == 0 {
                cells.tag = value as i64;
            }
        }
        // Its order of edges is of its own.
        if let &[a, b, c, d, cd, da, ab, bc, bd, ac] = tet.as_slice() {
            tet = vec![a, b, c, d, ab, bc, ac, da, bd, cd];
        }
        cells.add(Shape::Tet, &tet);
    }
    Ok(())
}
