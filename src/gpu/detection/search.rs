//! The broad phase on the device: pairs of features that may touch by their boxes. Boxes are those of the host, in
//! f32, and are only compared: the pairs are those of `geometry::Bvh::query` before it looks for planes between them,
//! however an adapter rounds.
//!
//! Around eight leaves of the host's tree in a row there is a block, around eight blocks a larger one. Every leaf
//! searches for the leaves that it may touch, every vertex and edge counts what it may touch there, prefix sums give
//! the places where each may write, and they write, always in the same order. Where there is no room for all pairs,
//! the buffer grows and the pairs are written again.

use std::sync::Arc;

use crate::geometry::{Candidates, Leaves};
use crate::gpu::device::{Device, DeviceError};
use crate::gpu::kernel::{Bound, Buffers, DeclaredKernel, Kernel, KernelSource, Stage, kernels};
use crate::gpu::layout;
use crate::gpu::readback::ReadbackBuffer;
use crate::gpu::staging::UploadStaging;
use crate::gpu::wgsl::{Element, HostModule, WordTable, shared_constants, shared_struct, word_table};
use crate::step::StageWork;

static HOST: HostModule = HostModule {
    name: "search",
    uses: &[&layout::HOST, &TABLES],
    declare: |declarations| {
        declare_constants(declarations);
        declarations.structure::<LevelData>();
        declarations.structure::<SearchData>();
        declarations.structure::<SearchBodyData>();
    },
};

/// The tables, for shaders that have `search_words`.
static TABLES: HostModule = HostModule {
    name: "search_tables",
    uses: &[],
    declare: |declarations| {
        declarations.record::<VertexData>();
        declarations.record::<EdgeData>();
        declarations.record::<TriangleData>();
        declarations.record::<LeafData>();
        SearchTables::declare(declarations);
    },
};

shared_constants! {
    fn declare_constants, "SEARCH_":
    /// Threads of the search that one workgroup of the prefix sum takes.
    pub GROUP: u32 = 512;
    /// Levels of blocks and of leaves: 8^9 leaves are more than memory holds.
    pub LEVELS: usize = 10;
    /// Leaves that the features of a leaf may touch without searching each for itself.
    pub PARTNERS: u32 = 31;
    /// A count that is none: a search was broken off, or there are more pairs than a number holds.
    pub BROKEN: u32 = u32::MAX;
    /// Boxes in a block.
    FAN: usize = 8;
    /// Bits of the flags of a body: it moves,
    MOVES: u32 = 1;
    /// and its features may touch each other.
    MEETS_ITSELF: u32 = 2;
}

shared_struct! {
    /// First box of a level in `search_blocks`, and how many there are.
    pub struct LevelData as "Level" {
        first: u32,
        count: u32,
        pad_0: u32,
        pad_1: u32,
    }
}
impl Element for LevelData {}

shared_struct! {
    /// Sizes of a search, and where its tables stand.
    pub struct SearchData as "Search" {
        /// First words of the sections of [`SearchTables`].
        sections: [[u32; 4]; SearchTables::OFFSETS],
        n_vertices: u32,
        n_edges: u32,
        n_triangles: u32,
        n_leaves: u32,
        /// Pairs that there is room for.
        capacity: u32,
        /// Levels of blocks; the leaves are level 0.
        n_levels: u32,
        /// Where the partners of the leaves begin in `search_counts`.
        partners: u32,
        pad: u32,
        levels: [LevelData; LEVELS],
    }
}

shared_struct! {
    /// What a body has to do with a search.
    pub struct SearchBodyData as "SearchBody" {
        flags: u32,
        first_leaf: u32,
        end_leaf: u32,
    }
}

shared_struct! {
    struct VertexData as "SearchVertex" {
        vertex: u32,
        leaf: u32,
    }
}

shared_struct! {
    struct EdgeData as "SearchEdge" {
        edge: u32,
        vertices: [u32; 2],
        leaf: u32,
    }
}

shared_struct! {
    struct TriangleData as "SearchTriangle" {
        triangle: u32,
        vertices: [u32; 3],
    }
}

shared_struct! {
    /// First features of a leaf; they end where those of the next leaf begin.
    struct LeafData as "SearchLeaf" {
        vertex: u32,
        edge: u32,
        triangle: u32,
        body: u32,
    }
}

word_table! {
    /// Features leaf by leaf, as the host's tree has them.
    struct SearchTables in "search_words" at "search_data.sections" {
        vertices: VertexData => search_vertex,
        edges: EdgeData => search_edge,
        triangles: TriangleData => search_triangle,
        leaves: LeafData => search_leaf,
    }
}

kernels! {
    /// Kernels of a search.
    pub struct Kernels in "detection", HOST {
        boxes: Bound,
        /// Bound once for each level above the leaves.
        blocks: Arc<Kernel>,
        partners: Bound,
        search: CountAndWrite,
        scan: Bound,
        total: Bound,
    }
}

/// The search twice: it counts the pairs, and it writes them.
pub struct CountAndWrite([Bound; 2]);

impl DeclaredKernel for CountAndWrite {
    fn declared(source: KernelSource, buffers: &Buffers, renamed: &[(&str, &str)]) -> Result<Self, DeviceError> {
        let bound = |writes: f64| Kernel::specialised(buffers.device(), source, &[("EMITS", writes)])?.bind(buffers, renamed);
        Ok(Self([bound(0.0)?, bound(1.0)?]))
    }

    fn rebind(&mut self, buffers: &Buffers) -> Result<(), DeviceError> {
        self.0.iter_mut().try_for_each(|bound| bound.rebind(buffers))
    }
}

/// Level of the blocks that a dispatch makes.
const LEVEL_NAMES: [&str; LEVELS] =
    ["level_0", "level_1", "level_2", "level_3", "level_4", "level_5", "level_6", "level_7", "level_8", "level_9"];
const SWEEP_BYTES: usize = 64;
const PAIR_BYTES: usize = 8;

pub struct Search {
    device: Arc<Device>,
    buffers: Buffers,
    staging: UploadStaging,
    readback: ReadbackBuffer,
    kernels: Kernels,
    /// Of the levels above the leaves.
    blocks: Vec<Bound>,
    data: SearchData,
    bodies: Vec<SearchBodyData>,
    /// Pairs that are fetched together with their number.
    expected: usize,
    /// Of the last search.
    pub work: StageWork,
    pub round_trips: u32,
}

/// What a body has to do with the search.
pub fn flags(moves: bool, meets_itself: bool) -> u32 {
    MOVES * u32::from(moves) + MEETS_ITSELF * u32::from(meets_itself)
}

/// Blocks over `n_leaves` leaves: the levels with their boxes, and the number of all boxes.
fn levels(n_leaves: usize) -> (u32, [LevelData; LEVELS], usize) {
    let mut levels = [LevelData::default(); LEVELS];
    let (mut count, mut first, mut level) = (n_leaves, 0, 0);
    loop {
        levels[level] = LevelData { first: first as u32, count: count as u32, ..LevelData::default() };
        first += count;
        if count <= FAN || level + 1 == LEVELS {
            return (level as u32, levels, first);
        }
        count = count.div_ceil(FAN);
        level += 1;
    }
}

/// The bodies with their leaves, whose last entry is the end of all.
fn bodies_of(leaves: &[[u32; 4]], n_bodies: usize) -> Vec<SearchBodyData> {
    let mut bodies = vec![SearchBodyData::default(); n_bodies];
    for (leaf, body) in leaves.iter().map(|[.., body]| *body as usize).enumerate().take(leaves.len() - 1) {
        let body = &mut bodies[body];
        body.first_leaf = if body.end_leaf == 0 { leaf as u32 } else { body.first_leaf };
        body.end_leaf = leaf as u32 + 1;
    }
    bodies
}

impl Search {
    /// Over `n_vertices` vertices of `n_bodies` bodies, with room for `capacity` pairs until there are more.
    pub fn new(device: &Arc<Device>, leaves: &Leaves, n_vertices: usize, n_bodies: usize, capacity: usize) -> Result<Self, DeviceError> {
        let n_leaves = leaves.leaves.len() - 1;
        let tables = SearchTables {
            vertices: bytemuck::cast_slice(&leaves.vertices).to_vec(),
            edges: bytemuck::cast_slice(&leaves.edges).to_vec(),
            triangles: bytemuck::cast_slice(&leaves.triangles).to_vec(),
            leaves: bytemuck::cast_slice(&leaves.leaves).to_vec(),
        };
        let (words, sections) = tables.pack();
        let (n_levels, levels, n_blocks) = levels(n_leaves);
        let n_threads = tables.vertices.len() + tables.edges.len();
        let data = SearchData {
            sections,
            n_vertices: tables.vertices.len() as u32,
            n_edges: tables.edges.len() as u32,
            n_triangles: tables.triangles.len() as u32,
            n_leaves: n_leaves as u32,
            capacity: capacity as u32,
            n_levels,
            partners: n_threads as u32 + 1,
            levels,
            ..SearchData::default()
        };
        let mut buffers = Buffers::new(device.clone());
        buffers.uniform("search_data", &[data]);
        buffers.upload("search_words", &words)?;
        buffers.storage::<SearchBodyData>("search_bodies", n_bodies)?;
        buffers.storage::<u32>("search_counts", data.partners as usize + n_leaves * (PARTNERS as usize + 1))?;
        buffers.storage::<u32>("search_sums", n_threads.div_ceil(GROUP as usize))?;
        buffers.storage::<u32>("search_totals", 2)?;
        let n_features = tables.edges.len() + tables.triangles.len();
        for (name, n) in [("vertex_sweeps", n_vertices), ("feature_sweeps", n_features), ("search_blocks", n_blocks)] {
            buffers.storage::<u8>(name, n * SWEEP_BYTES)?;
        }
        buffers.storage::<u8>("search_pairs", capacity * PAIR_BYTES)?;
        let names = &LEVEL_NAMES[1..=n_levels as usize];
        for (level, name) in (1..).zip(names) {
            buffers.uniform(name, &[[level, 0u32, 0, 0]]);
        }
        let kernels = Kernels::new(&buffers, &[])?;
        Ok(Self {
            staging: UploadStaging::new(device, n_vertices * SWEEP_BYTES + 16 * n_bodies, 3),
            readback: ReadbackBuffer::new(device, 256),
            blocks: names.iter().map(|name| kernels.blocks.bind(&buffers, &[("level", name)])).collect::<Result<_, _>>()?,
            kernels,
            device: device.clone(),
            buffers,
            data,
            bodies: bodies_of(&leaves.leaves, n_bodies),
            expected: 0,
            work: StageWork::default(),
            round_trips: 0,
        })
    }

    /// All pairs of features that may touch by their boxes, of bodies that may touch by their `flags`;
    /// `vertex_sweeps` as of [`crate::geometry::Bvh::vertex_sweeps`]. None if there are more pairs than the device
    /// holds, or the search of a feature was broken off.
    pub fn find(&mut self, flags: &[u32], vertex_sweeps: &[[f32; 16]]) -> Result<Option<Candidates>, DeviceError> {
        let before = self.buffers.n_dispatches();
        (self.work, self.round_trips) = (StageWork::default(), 0);
        self.bodies.iter_mut().zip(flags).for_each(|(body, flags)| body.flags = *flags);
        self.staging.put(self.buffers.get("search_bodies"), 0, &self.bodies);
        self.staging.put(self.buffers.get("vertex_sweeps"), 0, vertex_sweeps);
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
        self.work.sent = self.staging.take_sent();
        Ok(Some(Candidates { vertex_faces: pairs, edge_edges }))
    }

    /// Room for `n` pairs and for some more.
    fn grow(&mut self, n: usize) -> Result<(), DeviceError> {
        let most = self.device.limits.max_storage_buffer_binding_size as usize / PAIR_BYTES;
        let capacity = (n + n / 2).min(most);
        self.buffers.storage::<u8>("search_pairs", capacity * PAIR_BYTES)?;
        self.kernels.rebind(&self.buffers)?;
        self.data.capacity = capacity as u32;
        self.staging.put(self.buffers.get("search_data"), 0, &[self.data]);
        Ok(())
    }

    /// Searches, if it is to, and fetches the numbers and the pairs from `first` to `end`.
    fn submit(&mut self, searches: bool, first: usize, end: usize) -> Result<([u32; 2], Vec<[u32; 2]>), DeviceError> {
        let mut encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("search") });
        self.staging.record(&mut encoder)?;
        if searches {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            let SearchData { n_vertices, n_edges, n_triangles, n_leaves, levels, .. } = self.data;
            let Kernels { boxes, partners, search: CountAndWrite([count, write]), scan, total, .. } = &self.kernels;
            let n_threads = (n_vertices + n_edges) as usize;
            boxes.dispatch(&mut pass, (n_edges + n_triangles + n_leaves) as usize);
            for (blocks, level) in self.blocks.iter().zip(&levels[1..]) {
                blocks.dispatch(&mut pass, level.count as usize);
            }
            partners.dispatch(&mut pass, n_leaves as usize);
            count.dispatch(&mut pass, n_threads);
            scan.dispatch_groups(&mut pass, [n_threads.div_ceil(GROUP as usize) as u32, 1, 1]);
            total.dispatch_groups(&mut pass, [1, 1, 1]);
            write.dispatch(&mut pass, n_threads);
        }
        let bytes = ((end - first) * PAIR_BYTES) as u64;
        self.readback.reserve(16 + bytes);
        self.readback.collect(&mut encoder, self.buffers.get("search_totals"), 8, 0);
        if bytes > 0 {
            self.readback.collect_from(&mut encoder, self.buffers.get("search_pairs"), (first * PAIR_BYTES) as u64, bytes, 16);
        }
        let submitted = self.readback.submit(encoder, |content| {
            let counts: Vec<u32> = bytemuck::pod_collect_to_vec(&content[..8]);
            ([counts[0], counts[1]], bytemuck::pod_collect_to_vec(&content[16..16 + bytes as usize]))
        });
        self.staging.take_back();
        self.work.fetched += 8 + bytes;
        self.round_trips += 1;
        submitted
    }

    /// What a search moves at least, of `n` pairs.
    fn bytes(&self, n: usize, n_vertices: usize) -> u64 {
        let SearchData { n_vertices: n_searching, n_edges, n_triangles, n_leaves, .. } = self.data;
        let (searching, features) = (n_searching + n_edges, n_edges + n_triangles);
        let words = 2 * n_searching + 4 * (n_edges + n_triangles + n_leaves);
        // Boxes of vertices are read to make the others, and all boxes by both passes of the search; so are the
        // words. Counts are written, summed and read.
        let boxes = SWEEP_BYTES * (3 * n_vertices + 3 * (features + n_leaves) as usize);
        (boxes + 4 * (3 * words + 4 * searching) as usize + 2 * PAIR_BYTES * n) as u64
    }
}
