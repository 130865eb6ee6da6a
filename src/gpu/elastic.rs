//! The elastic part of a step on the device: element pass, right-hand side, matrix, conjugate gradients, update.

use super::kernel::{Bound, Buffers, Kernel, bound};
use super::layout::{BlockData, ControlData, ShareData, TetData, shares};
use super::tiles::{Groups, Tiles};
use super::{Device, DeviceError, MAX_ROW_GROUPS};
use crate::model::Model;

/// Kernels before the solve.
pub struct Assembly {
    elements: Bound,
    grabs: Bound,
    right_hand_side: Bound,
    edge_blocks: Bound,
    diagonals: Bound,
}

/// Conjugate gradients with two levels: two dispatches an iteration for the bodies that one workgroup cannot hold, and for the others all iterations in one.
/// The sums over all rows are finished by the kernel that needs them.
///
/// The matrix has one storage, which the conjugate residuals read too: rows of blocks of three padded rows. Measured on llvmpipe, with 53,038 blocks in 4,000 rows, a
/// product takes 7.1 ms, one with SELL-32 8.9 ms (nine planes) or 7.4 ms (padded rows); the best mapping of the thesis takes 2.6 times as long as SELL-32.
pub struct ConjugateGradient {
    turn: Bound,
    residual_start: Bound,
    start: Bound,
    /// For even and odd iterations: state and partial sums take turns.
    product: [Bound; 2],
    advance: [Bound; 2],
    whole: Bound,
    gate: Bound,
    groups: Groups,
}

/// Places in the indirect arguments (`shaders/cg/gate.wgsl`).
pub const ARGUMENTS_LOOP: u64 = 0;
pub const ARGUMENTS_NODES: u64 = 1;
pub const ARGUMENTS_POINTS: u64 = 2;
pub const ARGUMENTS_WHOLE: u64 = 3;

/// Iterations between two looks at whether the loop is over; even, so that a batch starts with an even iteration.
pub const GATE_INTERVAL: u32 = 4;
/// Most iterations of a dispatch that solves bodies in one workgroup each (`shaders/cg/whole.wgsl`).
const WHOLE_ITERATIONS: u32 = 64;

/// `Reductions` of `shaders/lib/reduce.wgsl` and `tiles.wgsl`: vectors before the sums, slots of sums, and what every tile has.
const REDUCTION_HEADER: usize = size_of::<ControlData>() / 16 * MAX_ROW_GROUPS as usize + crate::model::MAX_GRABS;
const REDUCTION_SLOTS: usize = 3;
const TILE_SLOTS: usize = 10;
/// Vectors over nodes in `krylov` (`shaders/lib/krylov.wgsl`).
const KRYLOV_VECTORS: usize = 3;

/// Most workgroups of a kernel over rows, unless there are more bodies: every one reads the partial sums of all of its body's, so there are few where cores are few.
fn most_row_groups(device: &Device) -> u32 {
    if device.is_hardware() { MAX_ROW_GROUPS / 2 } else { 8 }
}

/// Buffers of the state and of the elastic solve. Bodies of up to `most_whole` free nodes are solved in one workgroup.
pub fn create_buffers(device: &Device, buffers: &mut Buffers, model: &Model, most_whole: usize) -> Result<(Tiles, Groups), DeviceError> {
    let most = MAX_ROW_GROUPS as usize;
    if model.bodies.len() > most {
        return Err(DeviceError::TooManyBodies { bodies: model.bodies.len(), most });
    }
    let mut shares = shares(model, most_row_groups(device).max(model.bodies.len() as u32));
    let (tiles, groups, words) = Tiles::new(model, &shares, most_whole);
    shares.resize(most, ShareData::default());
    buffers.uniform("shares", &shares);
    buffers.upload("pattern", &[&model.pattern.row_starts[..], &model.pattern.columns[..], &words].concat())?;
    let (n, tets) = (model.n_nodes(), model.tets.len());
    for name in ["displacements_hi", "displacements_lo", "velocities", "residual", "z"] {
        buffers.storage::<[f32; 4]>(name, n)?;
    }
    // With those of rigid bodies, for contacts.
    for name in ["dv", "rhs", "rhs_free"] {
        buffers.storage::<[f32; 4]>(name, model.n_unknowns())?;
    }
    for name in ["node_forces", "grab_weights"] {
        buffers.storage::<[f32; 4]>(name, n)?;
    }
    for name in ["backup_hi", "backup_lo", "backup_velocities", "backup_dv"] {
        buffers.storage::<[f32; 4]>(name, n)?;
    }
    for name in ["rotations", "backup_rotations"] {
        buffers.storage::<[f32; 4]>(name, tets)?;
    }
    for name in ["corner_forces", "corner_gradients"] {
        buffers.storage::<[f32; 4]>(name, 4 * tets)?;
    }
    buffers.storage::<BlockData>("blocks", model.pattern.n_blocks())?;
    buffers.storage::<[f32; 4]>("preconditioner", 3 * n + tiles.n_vectors())?;
    buffers.storage::<[f32; 4]>("krylov", KRYLOV_VECTORS * n)?;
    let n_sums = REDUCTION_SLOTS * MAX_ROW_GROUPS as usize + TILE_SLOTS * groups.tiles as usize;
    buffers.storage::<[f32; 4]>("reductions", REDUCTION_HEADER + n_sums)?;
    buffers.storage::<u32>("fault", 1)?;
    buffers.zeroed("arguments", 256, wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::INDIRECT | wgpu::BufferUsages::COPY_SRC)?;
    for (name, now) in [("parity_even", 0u32), ("parity_odd", 1)] {
        buffers.uniform(name, &[now, 0, 0, 0]);
    }
    Ok((tiles, groups))
}

/// Least bytes of the element pass, and of the right-hand side with the matrix.
pub fn bytes_of_system(model: &Model) -> [u64; 2] {
    let (n, tets, blocks) = (model.n_nodes(), model.tets.len(), size_of::<BlockData>() * model.pattern.n_blocks());
    // Rotations read and written, forces and gradients of four corners written; displacements in two parts and velocities read.
    let elements = tets * (size_of::<TetData>() + 2 * 16 + 2 * 4 * 16) + n * 3 * 16;
    // Corners with their lists, masses, velocities, the impulse; an item for each edge and tet, gradients, blocks written; read again, and diagonals.
    let rhs = tets * 4 * (16 + 4) + n * (16 + 16 + 16);
    let matrix = 4 * model.edge_tets.items.len() + tets * 4 * 16 + 2 * blocks + n * 2 * size_of::<BlockData>();
    [elements as u64, (rhs + matrix) as u64]
}

impl Assembly {
    /// The right-hand side goes to the buffer `rhs`.
    pub fn new(buffers: &Buffers, rhs: &str) -> Result<Self, DeviceError> {
        Ok(Self {
            elements: bound(buffers, "elastic/elements")?,
            grabs: bound(buffers, "elastic/grabs")?,
            right_hand_side: Kernel::new(buffers.device(), "elastic/right_hand_side")?.bind(buffers, &[("rhs", rhs)])?,
            edge_blocks: bound(buffers, "elastic/edge_blocks")?,
            diagonals: bound(buffers, "elastic/diagonals")?,
        })
    }

    pub fn record_elements(&self, pass: &mut wgpu::ComputePass, model: &Model) {
        self.elements.dispatch(pass, model.tets.len());
    }

    pub fn record_system(&self, pass: &mut wgpu::ComputePass, model: &Model, n_grabs: usize, row_groups: u32) {
        self.grabs.dispatch(pass, n_grabs);
        self.right_hand_side.dispatch_groups(pass, [row_groups, 1, 1]);
        self.edge_blocks.dispatch(pass, model.pattern.edges.len());
        self.diagonals.dispatch(pass, model.n_nodes());
    }
}

impl ConjugateGradient {
    pub fn new(buffers: &Buffers, device: &std::sync::Arc<Device>, groups: Groups) -> Result<Self, DeviceError> {
        let product = Kernel::new(device, "cg/product")?;
        let advance = Kernel::new(device, "cg/advance")?;
        let product_of = |parity: &str| product.bind(buffers, &[("parity", parity), ("x", "z")]);
        let advance_of = |parity: &str| advance.bind(buffers, &[("parity", parity)]);
        Ok(Self {
            turn: bound(buffers, "cg/turn")?,
            residual_start: Kernel::new(device, "cg/residual_start")?.bind(buffers, &[("x", "dv")])?,
            start: bound(buffers, "cg/start")?,
            product: [product_of("parity_even")?, product_of("parity_odd")?],
            advance: [advance_of("parity_even")?, advance_of("parity_odd")?],
            whole: Kernel::new(device, "cg/whole")?.bind(buffers, &[("x", "z")])?,
            gate: bound(buffers, "cg/gate")?,
            groups,
        })
    }

    pub fn record_start(&self, pass: &mut wgpu::ComputePass) {
        self.turn.dispatch(pass, self.groups.tiles as usize);
        self.residual_start.dispatch_groups(pass, [self.groups.tiles, 1, 1]);
        self.start.dispatch_groups(pass, [self.groups.tiles, 1, 1]);
        self.record_gate(pass);
    }

    /// Looks whether the loops are over, and opens or closes what follows.
    pub fn record_gate(&self, pass: &mut wgpu::ComputePass) {
        self.gate.dispatch_groups(pass, [1, 1, 1]);
    }

    /// Records a multiple of `GATE_INTERVAL` iterations, or more; those after the end of the loop are empty.
    pub fn record_iterations(&self, pass: &mut wgpu::ComputePass, buffers: &Buffers, iterations: u32) {
        let arguments = buffers.get("arguments");
        if self.groups.whole > 0 {
            (0..iterations.div_ceil(WHOLE_ITERATIONS)).for_each(|_| self.whole.dispatch_indirect(pass, arguments, ARGUMENTS_WHOLE));
        }
        if self.groups.loop_tiles == 0 {
            self.record_gate(pass);
            return;
        }
        for k in 0..iterations.next_multiple_of(GATE_INTERVAL) {
            let parity = (k % 2) as usize;
            self.product[parity].dispatch_indirect(pass, arguments, ARGUMENTS_LOOP);
            self.advance[parity].dispatch_indirect(pass, arguments, ARGUMENTS_LOOP);
            if (k + 1) % GATE_INTERVAL == 0 {
                self.record_gate(pass);
            }
        }
    }
}
