//! The elastic part of a step on the device: element pass, right-hand side, matrix, conjugate gradients, update.

use super::kernel::{Bound, Buffers, Kernel, bound};
use super::layout::{BlockData, ControlData, ShareData, shares};
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

/// Conjugate gradients: two dispatches an iteration. The sums over all rows are finished by the kernel that needs them.
pub struct ConjugateGradient {
    residual_start: Bound,
    start: Bound,
    /// For even and odd iterations: the directions and the partial sums take turns.
    direction: [Bound; 2],
    advance: [Bound; 2],
    gate: Bound,
}

/// Places in the indirect arguments (`shaders/cg/gate.wgsl`).
pub const ARGUMENTS_LOOP: u64 = 0;
pub const ARGUMENTS_CONTACT: u64 = 1;
pub const ARGUMENTS_NODES: u64 = 2;
pub const ARGUMENTS_POINTS: u64 = 3;
pub const ARGUMENTS_PAIRS: u64 = 4;

/// Iterations between two looks at whether the loop is over; even, so that a batch starts with an even iteration.
pub const GATE_INTERVAL: u32 = 4;

/// `Reductions` of `shaders/lib/reduce.wgsl`: vectors before the sums, and slots of sums.
const REDUCTION_HEADER: usize = size_of::<ControlData>() / 16 * MAX_ROW_GROUPS as usize + crate::solver::MAX_GRABS;
const REDUCTION_SLOTS: usize = 9;

/// Most workgroups of a kernel over rows: every one reads the partial sums of all of its body's, so there are few where cores are few.
fn most_row_groups(device: &Device) -> u32 {
    if device.is_hardware() { MAX_ROW_GROUPS } else { 8 }
}

/// Buffers of the state and of the elastic solve; returns the workgroups of the kernels over rows.
pub fn create_buffers(device: &Device, buffers: &mut Buffers, model: &Model) -> Result<u32, DeviceError> {
    let most = MAX_ROW_GROUPS as usize;
    if model.bodies.len() > most {
        return Err(DeviceError::TooManyBodies { bodies: model.bodies.len(), most });
    }
    let mut groups = shares(model, most_row_groups(device).max(model.bodies.len() as u32));
    let n_groups = groups.len() as u32;
    groups.resize(most, ShareData::default());
    buffers.uniform("shares", &groups);
    let (n, tets) = (model.n_nodes(), model.tets.len());
    for name in ["displacements_hi", "displacements_lo", "velocities", "dv", "rhs", "residual", "z", "p", "p_before", "q"] {
        buffers.storage::<[f32; 4]>(name, n)?;
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
    buffers.storage::<BlockData>("inverse_diagonals", n)?;
    buffers.storage::<[f32; 4]>("reductions", REDUCTION_HEADER + REDUCTION_SLOTS * MAX_ROW_GROUPS as usize)?;
    buffers.storage::<u32>("fault", 1)?;
    buffers.zeroed("arguments", 256, wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::INDIRECT | wgpu::BufferUsages::COPY_SRC)?;
    for (name, now) in [("parity_even", 0u32), ("parity_odd", 1)] {
        buffers.uniform(name, &[now, 0, 0, 0]);
    }
    Ok(n_groups)
}

impl Assembly {
    pub fn new(buffers: &Buffers) -> Result<Self, DeviceError> {
        Ok(Self {
            elements: bound(buffers, "elastic/elements")?,
            grabs: bound(buffers, "elastic/grabs")?,
            right_hand_side: bound(buffers, "elastic/right_hand_side")?,
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
    pub fn new(buffers: &Buffers, device: &std::sync::Arc<Device>) -> Result<Self, DeviceError> {
        let even = [("parity", "parity_even"), ("p_before", "p_before"), ("p", "p")];
        let odd = [("parity", "parity_odd"), ("p_before", "p"), ("p", "p_before")];
        let direction = Kernel::new(device, "cg/direction")?;
        let advance = Kernel::new(device, "cg/advance")?;
        Ok(Self {
            residual_start: bound(buffers, "cg/residual_start")?,
            start: bound(buffers, "cg/start")?,
            direction: [direction.bind(buffers, &even)?, direction.bind(buffers, &odd)?],
            advance: [advance.bind(buffers, &even)?, advance.bind(buffers, &odd)?],
            gate: bound(buffers, "cg/gate")?,
        })
    }

    pub fn record_start(&self, pass: &mut wgpu::ComputePass, row_groups: u32) {
        self.residual_start.dispatch_groups(pass, [row_groups, 1, 1]);
        self.start.dispatch_groups(pass, [row_groups, 1, 1]);
        self.record_gate(pass);
    }

    /// Looks whether the loops are over, and opens or closes what follows.
    pub fn record_gate(&self, pass: &mut wgpu::ComputePass) {
        self.gate.dispatch_groups(pass, [1, 1, 1]);
    }

    /// Records a multiple of `GATE_INTERVAL` iterations; those after the end of the loop are empty.
    pub fn record_iterations(&self, pass: &mut wgpu::ComputePass, buffers: &Buffers, iterations: u32) {
        let arguments = buffers.get("arguments");
        for k in 0..iterations.next_multiple_of(GATE_INTERVAL) {
            let parity = (k % 2) as usize;
            self.direction[parity].dispatch_indirect(pass, arguments, ARGUMENTS_LOOP);
            self.advance[parity].dispatch_indirect(pass, arguments, ARGUMENTS_LOOP);
            if (k + 1) % GATE_INTERVAL == 0 {
                self.record_gate(pass);
            }
        }
    }
}
