//! The broad phase on the device: pairs of features that may meet by their boxes. Boxes are those of the host, in f32, and are only compared: the pairs are those of
//! `geometry::Bvh::query` before it looks for planes between them, however an adapter rounds.
//!
//! Around eight leaves of the host's tree in a row there is a block, around eight blocks a larger one. Every leaf looks for the leaves that it may meet, every vertex and
//! edge counts what it may meet there, prefix sums tell where each may write, and they write: in an order that is always the same. What there is no room for makes room, and
//! is written again.

use std::sync::Arc;

use crate::geometry::{Candidates, Leaves};
use crate::gpu::kernel::{Bound, Buffers, Kernel};
use crate::gpu::layout::{SearchBodyData, SearchData};
use crate::gpu::outbox::Outbox;
use crate::gpu::readback::Mailbox;
use crate::gpu::{Device, DeviceError};
use crate::step::Work;

/// Threads of the search that one workgroup of the prefix sum takes.
pub const GROUP: u32 = 512;
/// Levels of blocks and of leaves: 8^9 leaves are more than memory holds.
pub const LEVELS: usize = 10;
/// Leaves that the features of a leaf may meet without searching each for itself.
pub const PARTNERS: u32 = 31;
/// A count that is none: a search was broken off, or there are more pairs than a number tells.
pub const BROKEN: u32 = u32::MAX;

const FAN: usize = 8;
/// As the shader has them.
const MOVES: u32 = 1;
const MEETS_ITSELF: u32 = 2;
/// Level of the blocks that a dispatch makes.
const LEVEL_NAMES: [&str; LEVELS] =
    ["level_0", "level_1", "level_2", "level_3", "level_4", "level_5", "level_6", "level_7", "level_8", "level_9"];
const SWEEP_BYTES: usize = 64;
const PAIR_BYTES: usize = 8;

pub struct Search {
    device: Arc<Device>,
    buffers: Buffers,
    outbox: Outbox,
    mailbox: Mailbox,
    /// With whether it writes.
    search: [Kernel; 2],
    bound: [Bound; 2],
    boxes: Bound,
    /// Of the levels above the leaves.
    blocks: Vec<Bound>,
    partners: Bound,
    scan: Bound,
    total: Bound,
    data: SearchData,
    bodies: Vec<SearchBodyData>,
    /// Pairs that are fetched together with their number.
    expected: usize,
    /// Of the last search.
    pub work: Work,
    pub round_trips: u32,
}

/// What a body has to do with the search.
pub fn flags(moves: bool, meets_itself: bool) -> u32 {
    MOVES * u32::from(moves) + MEETS_ITSELF * u32::from(meets_itself)
}

impl Search {
    /// Over `n_vertices` vertices of `n_bodies` bodies, with room for `capacity` pairs until there are more.
    pub fn new(device: &Arc<Device>, leaves: &Leaves, n_vertices: usize, n_bodies: usize, capacity: usize) -> Result<Self, DeviceError> {
        let Leaves { leaves, vertices, edges, triangles } = leaves;
        let mut words: Vec<u32> = vec![];
        let mut add = |items: &[u32]| {
            words.extend_from_slice(items);
            (words.len() - items.len()) as u32
        };
        add(bytemuck::cast_slice(vertices));
        let places = [edges, triangles, leaves].map(|fours| add(bytemuck::cast_slice(fours)));
        let mut data = SearchData {
            n_vertices: vertices.len() as u32,
            n_edges: edges.len() as u32,
            n_triangles: triangles.len() as u32,
            n_leaves: leaves.len() as u32 - 1,
            edges: places[0],
            triangles: places[1],
            leaves: places[2],
            capacity: capacity as u32,
            ..SearchData::default()
        };
        let n_threads = vertices.len() + edges.len();
        data.partners = n_threads as u32 + 1;
        let (mut count, mut first) = (leaves.len() - 1, 0);
        loop {
            data.levels[data.n_levels as usize] = [first as u32, count as u32, 0, 0];
            first += count;
            if count <= FAN || data.n_levels as usize + 1 == LEVELS {
                break;
            }
            count = count.div_ceil(FAN);
            data.n_levels += 1;
        }
        let mut buffers = Buffers::new(device.clone());
        buffers.uniform("search_data", &[data]);
        buffers.upload("search_words", &words)?;
        buffers.storage::<SearchBodyData>("search_bodies", n_bodies)?;
        let mut bodies = vec![SearchBodyData::default(); n_bodies];
        for (leaf, body) in leaves.iter().map(|[.., body]| *body as usize).enumerate().take(leaves.len() - 1) {
            let body = &mut bodies[body];
            body.first_leaf = if body.end_leaf == 0 { leaf as u32 } else { body.first_leaf };
            body.end_leaf = leaf as u32 + 1;
        }
        buffers.storage::<u32>("search_counts", data.partners as usize + (leaves.len() - 1) * (PARTNERS as usize + 1))?;
        buffers.storage::<u32>("search_sums", n_threads.div_ceil(GROUP as usize))?;
        buffers.storage::<u32>("search_totals", 2)?;
        for (name, n) in [("vertex_sweeps", n_vertices), ("feature_sweeps", edges.len() + triangles.len()), ("search_blocks", first)] {
            buffers.storage::<u8>(name, n * SWEEP_BYTES)?;
        }
        buffers.storage::<u8>("search_pairs", capacity * PAIR_BYTES)?;
        let levels = 1..=data.n_levels as usize;
        levels.clone().for_each(|level| buffers.uniform(LEVEL_NAMES[level], &[[level as u32, 0, 0, 0]]));
        let kernel = |name: &str| Kernel::new(device, name);
        let search = [0.0, 1.0].map(|emits| Kernel::specialised(device, "detection/search", &[("EMITS", emits)]));
        let [counting, emitting] = search;
        let search = [counting?, emitting?];
        let blocks = kernel("detection/blocks")?;
        Ok(Self {
            outbox: Outbox::new(device, n_vertices * SWEEP_BYTES + 16 * n_bodies, 3),
            mailbox: Mailbox::new(device, 256),
            bound: [search[0].bind(&buffers, &[])?, search[1].bind(&buffers, &[])?],
            search,
            boxes: kernel("detection/boxes")?.bind(&buffers, &[])?,
            blocks: levels.map(|level| blocks.bind(&buffers, &[("level", LEVEL_NAMES[level])])).collect::<Result<_, _>>()?,
            partners: kernel("detection/partners")?.bind(&buffers, &[])?,
            scan: kernel("detection/scan")?.bind(&buffers, &[])?,
            total: kernel("detection/total")?.bind(&buffers, &[])?,
            device: device.clone(),
            buffers,
            data,
            bodies,
            expected: 0,
            work: Work::default(),
            round_trips: 0,
        })
    }

    /// All pairs of features that may meet by their boxes, of bodies that may meet by their `flags`; `vertex_sweeps` as of [`crate::geometry::Bvh::vertex_sweeps`]. None if there are more than
    /// the device holds, or so many that one feature meets that it was left.
    pub fn find(&mut self, flags: &[u32], vertex_sweeps: &[[f32; 16]]) -> Result<Option<Candidates>, DeviceError> {
        let before = self.buffers.n_dispatches();
        (self.work, self.round_trips) = (Work::default(), 0);
        self.bodies.iter_mut().zip(flags).for_each(|(body, flags)| body.flags = *flags);
        self.outbox.put(self.buffers.get("search_bodies"), 0, &self.bodies);
        self.outbox.put(self.buffers.get("vertex_sweeps"), 0, vertex_sweeps);
        let (counts, mut pairs) = self.submit(true, 0, self.expected.min(self.data.capacity as usize))?;
        let [n_faces, n] = counts.map(|count| count as usize);
        let is_possible = |n: usize| (n * PAIR_BYTES) as u64 <= self.device.limits.max_storage_buffer_binding_size;
        if counts.contains(&BROKEN) || !is_possible(n) {
            return Ok(None);
        }
        if n > self.data.capacity as usize {
            self.grow(n)?;
            pairs = self.submit(true, 0, n)?.1;
        } else if n > pairs.len() {
            let first = pairs.len();
            pairs.extend(self.submit(false, first, n)?.1);
        }
        pairs.truncate(n);
        self.expected = n + n / 4;
        let edge_edges = pairs.split_off(n_faces);
        self.work.dispatches = self.buffers.n_dispatches() - before;
        self.work.bytes = self.bytes(n, vertex_sweeps.len());
        Ok(Some(Candidates { vertex_faces: pairs, edge_edges }))
    }

    /// Room for `n` pairs and for some more.
    fn grow(&mut self, n: usize) -> Result<(), DeviceError> {
        let most = self.device.limits.max_storage_buffer_binding_size as usize / PAIR_BYTES;
        let capacity = (n + n / 2).min(most);
        self.buffers.storage::<u8>("search_pairs", capacity * PAIR_BYTES)?;
        self.bound = [self.search[0].bind(&self.buffers, &[])?, self.search[1].bind(&self.buffers, &[])?];
        self.data.capacity = capacity as u32;
        self.outbox.put(self.buffers.get("search_data"), 0, &[self.data]);
        Ok(())
    }

    /// Searches, if it is to, and fetches the numbers and the pairs from `first` to `end`.
    fn submit(&mut self, searches: bool, first: usize, end: usize) -> Result<([u32; 2], Vec<[u32; 2]>), DeviceError> {
        let mut encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("search") });
        self.outbox.record(&mut encoder)?;
        if searches {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            let SearchData { n_vertices, n_edges, n_triangles, n_leaves, levels, .. } = self.data;
            let n_threads = (n_vertices + n_edges) as usize;
            self.boxes.dispatch(&mut pass, (n_edges + n_triangles + n_leaves) as usize);
            for (blocks, [_, count, ..]) in self.blocks.iter().zip(&levels[1..]) {
                blocks.dispatch(&mut pass, *count as usize);
            }
            self.partners.dispatch(&mut pass, n_leaves as usize);
            self.bound[0].dispatch(&mut pass, n_threads);
            self.scan.dispatch_groups(&mut pass, [n_threads.div_ceil(GROUP as usize) as u32, 1, 1]);
            self.total.dispatch_groups(&mut pass, [1, 1, 1]);
            self.bound[1].dispatch(&mut pass, n_threads);
        }
        let bytes = ((end - first) * PAIR_BYTES) as u64;
        self.mailbox.reserve(16 + bytes);
        self.mailbox.collect(&mut encoder, self.buffers.get("search_totals"), 8, 0);
        if bytes > 0 {
            self.mailbox.collect_from(&mut encoder, self.buffers.get("search_pairs"), (first * PAIR_BYTES) as u64, bytes, 16);
        }
        let submitted = self.mailbox.submit(encoder, |content| {
            let counts: Vec<u32> = bytemuck::pod_collect_to_vec(&content[..8]);
            ([counts[0], counts[1]], bytemuck::pod_collect_to_vec(&content[16..16 + bytes as usize]))
        });
        self.outbox.take_back();
        self.round_trips += 1;
        submitted
    }

    /// What a search moves at least, of `n` pairs.
    fn bytes(&self, n: usize, n_vertices: usize) -> u64 {
        let SearchData { n_vertices: n_searching, n_edges, n_triangles, n_leaves, .. } = self.data;
        let (searching, features) = (n_searching + n_edges, n_edges + n_triangles);
        let words = 2 * n_searching + 4 * (n_edges + n_triangles + n_leaves);
        // Boxes of vertices are read to make the others, and these and they by both passes of the search; so are the words. Counts are written, summed and read.
        let boxes = SWEEP_BYTES * (3 * n_vertices + 3 * (features + n_leaves) as usize);
        (boxes + 4 * (3 * words + 4 * searching) as usize + 2 * PAIR_BYTES * n) as u64
    }
}
