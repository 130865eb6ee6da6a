//! The first part of the narrow phase on the device: it proves in f32 of most candidates that they do not cross on
//! their way, and the host examines the others only. `geometry::first_crossing` says no to all that is left out, so
//! that nothing depends on whether candidates were sieved.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use crate::geometry::{Candidates, Mesh, Mobility};
use crate::gpu::device::{Device, DeviceError};
use crate::gpu::kernel::{Bound, Buffers, Stage, kernels};
use crate::gpu::layout;
use crate::gpu::readback::ReadbackBuffer;
use crate::gpu::staging::UploadStaging;
use crate::gpu::wgsl::{HostModule, shared_constants, shared_struct};
use crate::math::{Aabb, Vec3};
use crate::step::StageWork;

static HOST: HostModule = HostModule {
    name: "sieve",
    uses: &[&layout::HOST],
    declare: |declarations| {
        declare_constants(declarations);
        declarations.structure::<SieveData>();
    },
};

shared_constants! {
    fn declare_constants, "SIEVE_":
    /// Pairs smaller than this have no shape [quanta].
    LEAST_SIZE: f64 = 64.0;
    /// Rounding errors, in the size of a pair, of a projection and of a volume: 2^-18.
    BLUR: f64 = 0.000003814697265625;
    /// Sine of an angle of a triangle below which its nearest point is left to the host: 2^-10.
    LEAST_SINE: f64 = 0.0009765625;
    /// What keeps this part of its first distance has not touched.
    KEPT_PART: f64 = 0.125;
}
const _: () = assert!(KEPT_PART > crate::geometry::MAX_TOUCH_OF_GAP, "the host must not see a touch that the device leaves out");

shared_struct! {
    /// What is sieved.
    pub struct SieveData as "Sieve" {
        n_vertex_faces: u32,
        /// Vertex-face pairs, then edge-edge pairs.
        n_pairs: u32,
        /// Where the edges begin in `sieve_features`, after the triangles.
        edges: u32,
        pad: u32,
    }
}

kernels! {
    pub struct Kernels in "detection", HOST {
        sieve: Bound,
    }
}

/// Quanta along the longest side of what positions may be in; differences of two hold in an i32.
const QUANTA: f64 = (1 << 30) as f64;
/// How much longer that is than the longest side of where vertices start.
const SPARE: f64 = 2.0;
/// First coordinate of a position that is elsewhere.
const OUTSIDE: i32 = -1;

pub struct Sieve {
    device: Arc<Device>,
    buffers: Buffers,
    staging: UploadStaging,
    readback: ReadbackBuffer,
    kernels: Kernels,
    data: SieveData,
    /// Candidates that there is room for.
    capacity: usize,
    /// Vertices that move.
    movable: Vec<bool>,
    /// Of the present search: where each part of the candidates is among those of the device.
    places: Vec<[Range<usize>; 2]>,
    grid: Grid,
    words: Vec<i32>,
    /// Of the last look.
    pub work: StageWork,
}

/// Whole numbers for positions.
#[derive(Clone, Copy, Debug, Default)]
struct Grid {
    origin: Vec3,
    /// [1/m]
    quanta: f64,
}

impl Grid {
    fn new<'a>(positions: impl Iterator<Item = &'a Vec3>) -> Self {
        let around = Aabb::of(positions);
        let side = SPARE * around.extent().max().max(f64::MIN_POSITIVE / f64::EPSILON);
        Self { origin: around.center() - Vec3::repeat(0.5 * side), quanta: QUANTA / side }
    }

    /// Rounded down: differences come out less than a quantum from those of the positions.
    fn words(&self, x: &Vec3) -> [i32; 3] {
        let q = (x - self.origin) * self.quanta;
        let is_inside = q.iter().all(|q| (0.0..QUANTA).contains(q));
        if is_inside { [q.x as i32, q.y as i32, q.z as i32] } else { [OUTSIDE; 3] }
    }
}

impl Sieve {
    pub fn new(device: &Arc<Device>, mesh: &Mesh) -> Result<Self, DeviceError> {
        let mut buffers = Buffers::new(device.clone());
        let features: Vec<u32> = mesh.triangles.iter().flatten().chain(mesh.edges.iter().flatten()).copied().collect();
        let data = SieveData { edges: 3 * mesh.triangles.len() as u32, ..SieveData::default() };
        buffers.uniform("sieve_data", &[data]);
        buffers.upload("sieve_features", &features)?;
        let n = mesh.body.len();
        for name in ["sieve_start", "sieve_end"] {
            buffers.storage::<[i32; 3]>(name, n)?;
        }
        buffers.storage::<[u32; 2]>("sieve_pairs", 0)?;
        buffers.storage::<u32>("sieve_bits", 0)?;
        Ok(Self {
            staging: UploadStaging::new(device, 2 * 12 * n, 4),
            readback: ReadbackBuffer::new(device, 256),
            kernels: Kernels::new(&buffers, &[])?,
            buffers,
            device: device.clone(),
            data,
            capacity: 0,
            movable: mesh.body.iter().map(|body| mesh.mobility[*body as usize] != Mobility::Immovable).collect(),
            places: vec![],
            grid: Grid::default(),
            words: vec![],
            work: StageWork::default(),
        })
    }

    /// Candidates for the following looks, in parts, and where vertices start [m].
    pub fn begin<'c>(&mut self, parts: impl Iterator<Item = &'c Candidates> + Clone, start: &[Vec3]) -> Result<(), DeviceError> {
        let [faces, edges] = [parts.clone().map(|p| p.vertex_faces.len()).sum(), parts.clone().map(|p| p.edge_edges.len()).sum::<usize>()];
        let n = faces + edges;
        if n > self.capacity {
            self.capacity = n + n / 2;
            self.buffers.storage::<[u32; 2]>("sieve_pairs", self.capacity)?;
            self.buffers.storage::<u32>("sieve_bits", self.capacity.div_ceil(32))?;
            self.kernels.rebind(&self.buffers)?;
        }
        self.data = SieveData { n_vertex_faces: faces as u32, n_pairs: n as u32, ..self.data };
        let mut pairs: Vec<[u32; 2]> = Vec::with_capacity(n);
        self.places.clear();
        for part in parts.clone() {
            pairs.extend_from_slice(&part.vertex_faces);
            self.places.push([pairs.len() - part.vertex_faces.len()..pairs.len(), 0..0]);
        }
        for (part, place) in parts.zip(&mut self.places) {
            pairs.extend_from_slice(&part.edge_edges);
            place[1] = pairs.len() - part.edge_edges.len()..pairs.len();
        }
        self.grid = Grid::new(start.iter().zip(&self.movable).filter(|(_, moves)| **moves).map(|(x, _)| x));
        self.staging.put(self.buffers.get("sieve_data"), 0, &[self.data]);
        self.staging.put(self.buffers.get("sieve_pairs"), 0, &pairs);
        self.put("sieve_start", start);
        Ok(())
    }

    fn put(&mut self, name: &str, x: &[Vec3]) {
        let Self { words, grid, staging, buffers, .. } = self;
        words.resize(3 * x.len(), 0);
        words.par_chunks_mut(3).zip(x).with_min_len(4096).for_each(|(words, x)| words.copy_from_slice(&grid.words(x)));
        staging.put(buffers.get(name), 0, words);
    }

    /// Of each part, the candidates that may cross while vertices go straight to `end` [m].
    pub fn look<'c>(&mut self, parts: impl Iterator<Item = &'c Candidates>, end: &[Vec3]) -> Result<Vec<Candidates>, DeviceError> {
        let n = self.data.n_pairs as usize;
        let before = self.buffers.n_dispatches();
        self.put("sieve_end", end);
        let mut encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("sieve") });
        self.staging.record(&mut encoder)?;
        self.kernels.sieve.dispatch(&mut encoder.begin_compute_pass(&Default::default()), n);
        let bytes = 4 * n.div_ceil(32) as u64;
        self.readback.reserve(bytes);
        if bytes > 0 {
            self.readback.collect(&mut encoder, self.buffers.get("sieve_bits"), bytes, 0);
        }
        let bits = self.readback.submit(encoder, |content| bytemuck::pod_collect_to_vec::<u8, u32>(&content[..bytes as usize]));
        self.staging.take_back();
        let bits = bits?;
        // Pairs and features are read, the positions at least once; bits are written.
        let bytes_moved = n * (8 + 16) + 24 * end.len() + n / 8;
        self.work = StageWork {
            dispatches: self.buffers.n_dispatches() - before,
            bytes: bytes_moved as u64,
            sent: self.staging.take_sent(),
            fetched: bytes,
            ..StageWork::default()
        };
        let kept = |(part, [faces, edges]): (&Candidates, &[Range<usize>; 2])| Candidates {
            vertex_faces: kept(&bits, faces, &part.vertex_faces),
            edge_edges: kept(&bits, edges, &part.edge_edges),
        };
        Ok(parts.zip(&self.places).map(kept).collect())
    }
}

/// Those of `pairs`, which have the bits `range`, whose bit is set.
fn kept(bits: &[u32], range: &Range<usize>, pairs: &[[u32; 2]]) -> Vec<[u32; 2]> {
    let mut kept = vec![];
    let mut k = range.start;
    while k < range.end {
        let rest = bits[k / 32] >> (k % 32);
        if rest == 0 {
            k = (k / 32 + 1) * 32;
            continue;
        }
        k += rest.trailing_zeros() as usize;
        if k < range.end {
            kept.push(pairs[k - range.start]);
        }
        k += 1;
    }
    kept
}
