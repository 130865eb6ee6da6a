//! The elastic part of a step on the device: element pass, right-hand side, matrix, conjugate gradients, update.

use super::device::{Device, DeviceError};
use super::kernel::{Bound, Buffers, ByParity, DeclaredKernel, KernelSource, Stage, kernels};
use super::layout::{self, BlockData, ControlData, PatchData, ShareData, TetData};
use super::limits::MAX_ROW_GROUPS;
use super::tiles::Tiles;
use super::upload::{Groups, shares};
use super::wgsl::{HostModule, shared_constants, shared_slots};
use crate::cancel::CancelToken;
use crate::element::{Cell, Element, ElementKind, Tet4, Tet10};
use crate::material::{Material, MaterialModel, Tangent};
use crate::model::Model;

pub static HOST: HostModule = HostModule {
    name: "elastic",
    uses: &[&layout::HOST, &layout::PATTERN],
    declare: |declarations| {
        declare_constants(declarations);
        declare_slots(declarations);
        declare_tile_slots(declarations);
        declare_krylov(declarations);
        for (model, name) in MaterialModel::NAMES.iter().enumerate() {
            declarations.constant(&format!("MODEL_{}", name.to_uppercase()), model);
        }
    },
};

shared_constants! {
    fn declare_constants, "":
    /// Places in the indirect arguments.
    pub ARGUMENTS_LOOP: u32 = 0;
    pub ARGUMENTS_NODES: u32 = 1;
    pub ARGUMENTS_POINTS: u32 = 2;
    pub ARGUMENTS_WHOLE: u32 = 3;
    /// Most iterations of a dispatch that solves bodies in one workgroup each.
    WHOLE_ITERATIONS: u32 = 64;
    /// Tets that give the rotation of a tile.
    TILE_SAMPLES: usize = crate::elastic::SAMPLES;
    /// Part of the momentum of an unloaded body that its residual is measured against.
    MOMENTUM_SHARE: f64 = crate::step::MOMENTUM_SHARE;
    /// Nodes and edges of an element.
    ELEMENT_NODES: usize = Tet4::NODES;
    ELEMENT_EDGES: usize = Tet4::EDGES;
    /// Points, nodes and edges of patches.
    CELL_POINTS: usize = Cell::QUADRATURE_POINTS;
    CELL_NODES: usize = Cell::NODES;
    CELL_EDGES: usize = Cell::EDGES;
    TET10_POINTS: usize = Tet10::QUADRATURE_POINTS;
    TET10_NODES: usize = Tet10::NODES;
    TET10_EDGES: usize = Tet10::EDGES;
    /// Most improvements of a rotation in a step, and the correction [rad] after which there is another.
    MAX_ROTATION_STEPS: usize = crate::elastic::MAX_ROTATION_STEPS;
    ROTATION_TOLERANCE: f64 = crate::elastic::ROTATION_TOLERANCE;
    /// J below which materials go on as expansions.
    NEO_HOOKEAN_LEAST_J: f64 = crate::material::NEO_HOOKEAN_LEAST_J;
    MOONEY_RIVLIN_LEAST_J: f64 = crate::material::MOONEY_RIVLIN_LEAST_J;
    /// Sums of a tile that a product leaves, from `TILE_SUMS` on.
    TILE_SLOTS_OF_SUMS: usize = TILE_IMAGE - TILE_SUMS;
}

shared_slots! {
    fn declare_slots, "", total SLOTS:
    /// In `reductions.sums`, one entry a workgroup over rows: (|M v|^2, |corner forces|^2).
    SLOT_SCALE: 1;
    /// One entry a body, in two slots that take turns: (r.u of the last iteration, its step, iterations, 1 if the
    /// loop is over).
    SLOT_STATE: 2;
}

shared_slots! {
    fn declare_tile_slots, "", total TILE_SLOTS:
    /// In `reductions.sums` behind the slots of the workgroups, one entry a tile: its rotation from the rest pose, a
    /// quaternion.
    TILE_ROTATION: 1;
    /// (r.u, u.w, r.r); at the start (r.r, b.b).
    TILE_SUMS: 1;
    /// Force and torque of the residual.
    TILE_RESIDUAL: 2;
    /// Force and torque of w = A u; at the start of b.
    TILE_PRODUCT: 2;
    /// Force and torque of s = A p, in two slots that take turns.
    TILE_IMAGE: 4;
}

shared_slots! {
    fn declare_krylov, "KRYLOV_", total VECTORS:
    /// Vectors over nodes in `krylov`: the direction p,
    P: 1;
    /// s = A p,
    S: 1;
    /// and w = A u of the preconditioned residual u.
    W: 1;
}

/// Kernels before the solve.
pub struct Assembly {
    /// One for each constitutive model that some tets have.
    elements: Vec<Bound>,
    /// Where there are limits of stretch.
    limits: Option<LimitKernels>,
    /// Where there are elements of several tets.
    patches: Option<PatchKernels>,
    system: SystemKernels,
}

/// The element passes of all constitutive models.
pub static MATERIAL_KERNELS: [KernelSource; MaterialModel::ALL.len()] = {
    let mut kernels = [KernelSource { name: "", host: &HOST }; MaterialModel::ALL.len()];
    let mut k = 0;
    while k < kernels.len() {
        kernels[k].name = MaterialModel::KERNELS[k];
        k += 1;
    }
    kernels
};

kernels! {
    /// Kernels of what is laid over the materials of tets.
    pub struct LimitKernels in "elastic", HOST {
        stretch_limit: Bound,
    }
}

kernels! {
    /// Kernels of elements of several tets: before those of the materials, and after them.
    pub struct PatchKernels in "elastic", HOST {
        patch_points: Bound,
        patch_forces: Bound,
        patch_tangents: Bound,
    }
}

kernels! {
    /// Kernels that gather right-hand side and matrix.
    pub struct SystemKernels in "elastic", HOST {
        grabs: Bound,
        right_hand_side: Bound,
        edge_blocks: Bound,
        diagonals: Bound,
    }
}

kernels! {
    /// Kernels of the conjugate gradients.
    pub struct Kernels in "cg", HOST {
        rotate_tiles: Bound,
        initial_residual: Bound { x: "dv" },
        initial_direction: Bound,
        multiply_direction: ByParity { x: "z" },
        advance_solution: ByParity,
        solve_small_body: Bound { x: "z" },
        control_dispatch: Bound,
    }
}

/// Conjugate gradients with two levels: two dispatches an iteration for the bodies that one workgroup cannot hold,
/// and for the others all iterations in one. The sums over all rows are finished by the kernel that needs them.
///
/// The matrix has one storage, which the conjugate residuals read too: rows of blocks of three padded rows. Measured on
/// llvmpipe, with 53,038 blocks in 4,000 rows, a product takes 7.1 ms, one with SELL-32 8.9 ms (nine planes) or 7.4 ms
/// (padded rows); the best mapping of the thesis takes 2.6 times as long as SELL-32.
pub struct ConjugateGradient {
    kernels: Kernels,
    groups: Groups,
}

/// Iterations between two checks whether the loop is over; even, so that a batch starts with an even iteration.
pub const GATE_INTERVAL: u32 = 4;

/// `Reductions` of `shaders/lib/reduce.wgsl`: vectors before the sums.
pub const REDUCTION_HEADER: usize = size_of::<ControlData>() / 16 * MAX_ROW_GROUPS as usize + layout::MAX_GRABS;

/// Most workgroups of a kernel over rows, unless there are more bodies: every one reads the partial sums of all of
/// its body's, so there are few where cores are few.
fn most_row_groups(device: &Device) -> u32 {
    if device.is_hardware() { MAX_ROW_GROUPS / 2 } else { 8 }
}

/// Buffers of the state and of the elastic solve. Bodies of up to `most_whole` free nodes are solved in one workgroup.
/// Ends soon after `cancel` is cancelled.
pub fn create_buffers_unless(
    device: &Device,
    buffers: &mut Buffers,
    model: &Model,
    most_whole: usize,
    cancel: &CancelToken,
) -> Result<(Tiles, Groups), DeviceError> {
    let most = MAX_ROW_GROUPS as usize;
    if model.bodies.len() > most {
        return Err(DeviceError::TooManyBodies { bodies: model.bodies.len(), most });
    }
    let mut shares = shares(model, most_row_groups(device).max(model.bodies.len() as u32));
    let (tiles, groups, words) = Tiles::new_unless(model, &shares, most_whole, cancel)?;
    shares.resize(most, ShareData::default());
    buffers.uniform("shares", &shares);
    buffers.upload("pattern", &words)?;
    cancel.check()?;
    let (n, tets) = (model.n_nodes(), model.tets.len());
    for name in ["displacements_hi", "displacements_lo", "velocities", "residual", "z"] {
        buffers.storage::<[f32; 4]>(name, n)?;
    }
    // With those of rigid bodies, for contacts.
    for name in ["dv", "rhs", "rhs_free", "rhs_iterate"] {
        buffers.storage::<[f32; 4]>(name, model.n_unknowns())?;
    }
    for name in ["node_forces", "grab_weights"] {
        buffers.storage::<[f32; 4]>(name, n)?;
    }
    for name in ["backup_hi", "backup_lo", "backup_velocities", "backup_dv"] {
        buffers.storage::<[f32; 4]>(name, n)?;
    }
    for name in ["rotations", "backup_rotations"] {
        // With what tets remember behind.
        buffers.storage::<[f32; 4]>(name, tets + model.n_state_rows())?;
    }
    buffers.storage::<[f32; 4]>("corner_forces", Tet4::NODES * tets + model.n_patch_corners())?;
    buffers.storage::<[f32; 4]>("corner_gradients", Tet4::NODES * tets)?;
    buffers
        .storage::<[[f32; 4]; 3]>("edge_tangents", if has_edge_tangents(model) { Tet4::EDGES * tets + model.n_patch_edges() } else { 0 })?;
    buffers.storage::<BlockData>("blocks", model.pattern.n_blocks())?;
    buffers.storage::<[f32; 4]>("preconditioner", 3 * n + tiles.n_vectors())?;
    buffers.storage::<[f32; 4]>("krylov", VECTORS * n)?;
    let n_sums = SLOTS * MAX_ROW_GROUPS as usize + TILE_SLOTS * groups.tiles as usize;
    buffers.storage::<[f32; 4]>("reductions", REDUCTION_HEADER + n_sums)?;
    buffers.storage::<u32>("fault", 1)?;
    buffers.zeroed("arguments", 256, wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::INDIRECT | wgpu::BufferUsages::COPY_SRC)?;
    for (name, now) in [("parity_even", 0u32), ("parity_odd", 1)] {
        buffers.uniform(name, &[now, 0, 0, 0]);
    }
    Ok((tiles, groups))
}

/// Whether tangents are kept edge by edge: those that are not warped, those of limits of stretch, and those of patches.
fn has_edge_tangents(model: &Model) -> bool {
    let is_warped = |material: &Material| material.model.tangent() == Tangent::Warped && material.stretch_limits.is_none();
    model.n_patch_edges() > 0 || !model.materials.iter().all(is_warped)
}

/// Least bytes of the element pass, and of the right-hand side with the matrix.
pub fn bytes_of_system(model: &Model) -> [u64; 2] {
    let (n, tets, blocks) = (model.n_nodes(), model.tets.len(), size_of::<BlockData>() * model.pattern.n_blocks());
    let of_linear = model.bodies.iter().filter(|body| body.element == ElementKind::Linear);
    let linear: usize = of_linear.map(|body| body.tets.len()).sum();
    // Rotations read and written, forces and gradients of four corners written; displacements in two parts and
    // velocities read.
    let elements = tets * (size_of::<TetData>() + 2 * 16) + linear * 2 * 4 * 16 + n * 3 * 16 + bytes_of_patches(model);
    // Corners with their lists, masses, velocities, the impulse; an item for each edge and element, gradients or
    // blocks, blocks written; read again, and diagonals.
    let corners = linear * Tet4::NODES + model.n_patch_corners();
    let rhs = corners * (16 + 4) + n * (16 + 16 + 16);
    let items = model.edge_tets.items.len() + model.edge_patches.items.len();
    let tangents = linear * 4 * 16 + model.n_patch_edges() * 3 * 16;
    let matrix = 4 * items + tangents + 2 * blocks + n * 2 * size_of::<BlockData>();
    [elements as u64, (rhs + matrix) as u64]
}

/// What patches add to the element pass.
fn bytes_of_patches(model: &Model) -> usize {
    fn of<E: Element>() -> usize {
        // Each point with its gradients, its deformation and what its material leaves, written and read; forces and
        // blocks written.
        let point = 16 * E::NODES + 2 * 16 * (6 + VECTORS_OF_POINT);
        size_of::<PatchData>() + E::QUADRATURE_POINTS * point + E::NODES * (4 + 16) + E::EDGES * 3 * 16
    }
    model.cells.len() * of::<Cell>() + model.tets10.len() * of::<Tet10>()
}

/// Vectors that a point leaves (`shaders/lib/point.wgsl`).
const VECTORS_OF_POINT: usize = 13;

impl Assembly {
    /// `renamed`: (binding, buffer) pairs where names differ.
    pub fn new(buffers: &Buffers, model: &Model, renamed: &[(&str, &str)]) -> Result<Self, DeviceError> {
        // Bodies that start deformed may be tangled.
        let recovers = model.bodies.iter().any(|body| model.starts_deformed(body));
        let has = |material: &Material, index: usize| material.model as usize == index;
        let is_used = |index: usize| model.materials.iter().any(|m| has(m, index) || recovers && has(&m.recovering(), index));
        let used = MATERIAL_KERNELS.iter().enumerate().filter(|(index, _)| is_used(*index));
        let elements = used.map(|(_, source)| Bound::declared(*source, buffers, &[])).collect::<Result<_, _>>()?;
        let patches = if model.n_patch_corners() > 0 { Some(PatchKernels::new(buffers, &[])?) } else { None };
        let has_limits = model.materials.iter().any(|material| material.stretch_limits.is_some());
        let limits = if has_limits { Some(LimitKernels::new(buffers, &[])?) } else { None };
        Ok(Self { elements, limits, patches, system: SystemKernels::new(buffers, renamed)? })
    }

    pub fn record_elements(&self, pass: &mut wgpu::ComputePass, model: &Model) {
        let (cells, tets10) = (model.cells.len(), model.tets10.len());
        if let Some(PatchKernels { patch_points, .. }) = &self.patches {
            patch_points.dispatch(pass, Cell::QUADRATURE_POINTS * cells + Tet10::QUADRATURE_POINTS * tets10);
        }
        self.elements.iter().for_each(|kernel| kernel.dispatch(pass, model.tets.len()));
        if let Some(LimitKernels { stretch_limit }) = &self.limits {
            stretch_limit.dispatch(pass, model.tets.len());
        }
        if let Some(PatchKernels { patch_forces, patch_tangents, .. }) = &self.patches {
            patch_forces.dispatch(pass, model.n_patch_corners());
            patch_tangents.dispatch(pass, model.n_patch_edges());
        }
    }

    pub fn record_system(&self, pass: &mut wgpu::ComputePass, model: &Model, n_grabs: usize, row_groups: u32) {
        let SystemKernels { grabs, right_hand_side, edge_blocks, diagonals } = &self.system;
        grabs.dispatch(pass, n_grabs);
        right_hand_side.dispatch_groups(pass, [row_groups, 1, 1]);
        edge_blocks.dispatch(pass, model.pattern.edges.len());
        diagonals.dispatch(pass, model.n_nodes());
    }
}

impl ConjugateGradient {
    pub fn new(buffers: &Buffers, groups: Groups) -> Result<Self, DeviceError> {
        Ok(Self { kernels: Kernels::new(buffers, &[])?, groups })
    }

    pub fn record_start(&self, pass: &mut wgpu::ComputePass) {
        let (kernels, tiles) = (&self.kernels, self.groups.tiles);
        kernels.rotate_tiles.dispatch(pass, tiles as usize);
        kernels.initial_residual.dispatch_groups(pass, [tiles, 1, 1]);
        kernels.initial_direction.dispatch_groups(pass, [tiles, 1, 1]);
        self.record_control(pass);
    }

    /// Ends the loops that are over, and begins or ends what follows them.
    fn record_control(&self, pass: &mut wgpu::ComputePass) {
        self.kernels.control_dispatch.dispatch_groups(pass, [1, 1, 1]);
    }

    /// Records a multiple of `GATE_INTERVAL` iterations, or more; those after the end of the loop are empty.
    pub fn record_iterations(&self, pass: &mut wgpu::ComputePass, buffers: &Buffers, iterations: u32) {
        let arguments = buffers.get("arguments");
        let Kernels { multiply_direction, advance_solution, solve_small_body, .. } = &self.kernels;
        if self.groups.whole > 0 {
            for _ in 0..iterations.div_ceil(WHOLE_ITERATIONS) {
                solve_small_body.dispatch_indirect(pass, arguments, ARGUMENTS_WHOLE);
            }
        }
        if self.groups.loop_tiles == 0 {
            self.record_control(pass);
            return;
        }
        for k in 0..iterations.next_multiple_of(GATE_INTERVAL) {
            multiply_direction.at(k).dispatch_indirect(pass, arguments, ARGUMENTS_LOOP);
            advance_solution.at(k).dispatch_indirect(pass, arguments, ARGUMENTS_LOOP);
            if (k + 1) % GATE_INTERVAL == 0 {
                self.record_control(pass);
            }
        }
    }
}
