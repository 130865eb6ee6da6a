//! Columns of the inverses of rest matrices, on the device: computed when a node is first touched, kept while there
//! is room.

use std::sync::Arc;

use crate::elastic::{RestBody, RestShape};
use crate::gpu::{Buffers, DeviceError};
use crate::model::Model;

/// Name of the buffer.
const COLUMNS: &str = "cwc_columns";
/// Most memory [bytes].
const LIMIT: u64 = 256 << 20;
/// Of a block.
const BYTES: usize = size_of::<[f32; 9]>();
const NONE: u32 = u32::MAX;

/// Where the columns of each shape stand.
#[derive(Default)]
pub struct ColumnStore {
    shapes: Vec<Held>,
    /// Blocks in use, and that there is room for.
    used: usize,
    capacity: usize,
    /// What is to be written before the next submission.
    pending: Vec<(usize, Vec<[f32; 9]>)>,
}

struct Held {
    shape: Arc<RestShape>,
    /// First block of the column of each row.
    places: Vec<u32>,
}

impl ColumnStore {
    /// Makes room for the columns of the nodes among `unknowns`, and computes those that are not there. If there is
    /// no room for all of them, the others go.
    pub fn request(&mut self, model: &Model, rests: &[Option<RestBody>], unknowns: &[u32]) {
        let nodes = unknowns.partition_point(|unknown| (*unknown as usize) < model.n_nodes());
        let by_body: Vec<&[u32]> =
            unknowns[..nodes].chunk_by(|a, b| model.node_bodies[*a as usize] == model.node_bodies[*b as usize]).collect();
        if !self.add(model, rests, &by_body) {
            self.shapes.clear();
            self.pending.clear();
            self.used = 0;
            self.add(model, rests, &by_body);
        }
    }

    /// False if there was no room for all.
    fn add(&mut self, model: &Model, rests: &[Option<RestBody>], by_body: &[&[u32]]) -> bool {
        for nodes in by_body {
            let body = model.node_bodies[nodes[0] as usize] as usize;
            let Some(rest) = rests.get(body).and_then(Option::as_ref) else { continue };
            let (shape, first) = (&rest.shape, model.bodies[body].nodes.start as u32);
            let held = self.held(shape);
            let is_missing = |node: &u32| shape.columns.row(*node).is_some_and(|row| self.shapes[held].places[row as usize] == NONE);
            let missing: Vec<u32> = nodes.iter().map(|node| node - first).filter(is_missing).collect();
            if missing.is_empty() {
                continue;
            }
            for (node, column) in missing.iter().zip(shape.columns.whole(&shape.factor, &missing)) {
                let Some(row) = shape.columns.row(*node) else { continue };
                let end = self.used + shape.columns.n_rows();
                if end * BYTES > LIMIT as usize {
                    return false;
                }
                self.pending.push((self.used, column));
                self.shapes[held].places[row as usize] = self.used as u32;
                self.used = end;
            }
        }
        true
    }

    fn held(&mut self, shape: &Arc<RestShape>) -> usize {
        let known = self.shapes.iter().position(|held| Arc::ptr_eq(&held.shape, shape));
        known.unwrap_or_else(|| {
            self.shapes.push(Held { shape: shape.clone(), places: vec![NONE; shape.columns.n_rows()] });
            self.shapes.len() - 1
        })
    }

    /// Row and first block of the column of a node; `u32::MAX` where there is none.
    pub fn place(&self, model: &Model, rests: &[Option<RestBody>], node: u32) -> (u32, u32) {
        let body = model.node_bodies[node as usize] as usize;
        let Some(rest) = rests.get(body).and_then(Option::as_ref) else { return (NONE, NONE) };
        let Some(row) = rest.shape.columns.row(node - model.bodies[body].nodes.start as u32) else { return (NONE, NONE) };
        let held = self.shapes.iter().find(|held| Arc::ptr_eq(&held.shape, &rest.shape));
        (row, held.map_or(NONE, |held| held.places[row as usize]))
    }

    /// Brings what is new to the device; true if the buffer is another one.
    pub fn upload(&mut self, buffers: &mut Buffers) -> Result<bool, DeviceError> {
        let grows = self.used > self.capacity || self.capacity == 0;
        if grows {
            // The old contents are told anew.
            let before = self.capacity;
            self.capacity = (self.used + self.used / 2).clamp(1, LIMIT as usize / BYTES);
            let old = (before > 0).then(|| buffers.get(COLUMNS).clone());
            buffers.storage::<[f32; 9]>(COLUMNS, self.capacity)?;
            if let Some(old) = old {
                buffers.copy_from(COLUMNS, &old);
            }
        }
        for (first, blocks) in self.pending.drain(..) {
            buffers.write_at(COLUMNS, (first * BYTES) as u64, &blocks);
        }
        Ok(grows)
    }
}
