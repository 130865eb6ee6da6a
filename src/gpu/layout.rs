//! Structs and tables that every stage shares: the model, the parameters of a step, the elastic solve of each body.

use super::wgsl::{Element, HostModule, shared_constants, shared_struct, word_table};
use crate::math::Vec3;

pub static HOST: HostModule = HostModule {
    name: "layout",
    uses: &[],
    declare: |declarations| {
        declare_constants(declarations);
        declarations.structure::<TetData>();
        declarations.structure::<PatchData>();
        declarations.structure::<NodeData>();
        declarations.structure::<PointData>();
        declarations.structure::<BlockData>();
        declarations.structure::<GrabData>();
        declarations.structure::<ParamsData>();
        declarations.structure::<ShareData>();
        declarations.structure::<ControlData>();
    },
};

/// Tiles and the rows of the matrix, for shaders that have `pattern`.
pub static PATTERN: HostModule = HostModule {
    name: "pattern",
    uses: &[&HOST],
    declare: |declarations| {
        declarations.record::<TileData>();
        declarations.record::<MemberData>();
        Pattern::declare(declarations);
    },
};

shared_constants! {
    fn declare_constants, "":
    /// Most grabs of a step.
    pub MAX_GRABS: usize = crate::model::MAX_GRABS;
    /// Neither row nor column nor island nor tet.
    pub NONE: u32 = u32::MAX;
    /// What a tet is: an element that follows its rotation, one that is given it (`elastic::Degeneration`,
    /// `elastic::frames`), or where a patch keeps a point that follows its own or is given it.
    pub TET_FOLLOWS: u32 = 0;
    pub TET_TURNED: u32 = 1;
    pub TET_POINT: u32 = 2;
    pub TET_TURNED_POINT: u32 = 3;
}

shared_struct! {
    /// A tet, with the rest gradients of its corners 1 to 3 [1/m]; that of corner 0 is minus their sum. Where it keeps
    /// a point of a patch, moduli are those of the point, whose energy of volume changes the patch has: lambda is 0.
    pub struct TetData as "Tet" {
        nodes: [u32; 4],
        /// w: mu V [J], V the volume of the element or point.
        g1: [f32; 4],
        /// w: lambda V [J].
        g2: [f32; 4],
        /// w: stiffness damping beta [s].
        g3: [f32; 4],
        /// Constitutive model of its material, of the constants `MODEL_...`; `NONE` where another tet keeps its point.
        model: u32,
        /// Of a Mooney-Rivlin material.
        mooney_share: f32,
        /// Of its rotation in the mean at a node, mu times its own volume [J].
        weight: f32,
        /// Of the constants `TET_...`.
        role: u32,
        /// Strains beyond which it stiffens, and the stiffness there, k V [J]; 0 where it has no limits.
        min_strain: f32,
        max_strain: f32,
        limit_stiffness: f32,
        /// Place in `rotations` of what it remembers of plastic flow; `NONE` where it does not flow.
        plastic_row: u32,
    }
}

shared_struct! {
    /// An element of several tets: its points and what their common volume change needs.
    pub struct PatchData as "Patch" {
        /// First of its tets; the first `n_points` keep its points.
        first_tet: u32,
        n_tets: u32,
        n_points: u32,
        n_nodes: u32,
        /// Place of its first node among those of all patches.
        first_corner: u32,
        /// Place of the gradient of its first node at its first point.
        first_gradient: u32,
        /// Of the constants `MODEL_...`.
        model: u32,
        /// [Pa]
        lambda: f32,
        /// [m^3]
        volume: f32,
        /// Beta [s].
        stiffness_damping: f32,
        /// 1 where its material has limits of stretch, else 0.
        has_limits: u32,
        pad_0: u32,
    }
}

shared_struct! {
    /// A node.
    pub struct NodeData as "Node" {
        /// [kg]
        mass: f32,
        /// Alpha [1/s].
        mass_damping: f32,
        /// 1, or 0 where the node never moves.
        free: f32,
        /// Start of the list of its tets in `node_corners`; the list ends where that of the next node starts.
        corners: u32,
        /// Likewise of its places in `corner_forces`.
        force_corners: u32,
    }
}

shared_struct! {
    /// A point of the surface.
    pub struct PointData as "Point" {
        nodes: [u32; 4],
        weights: [f32; 4],
        /// Position at rest [m].
        rest: [f32; 3],
        body: u32,
    }
}

shared_struct! {
    /// A 3x3 block by rows; the w lanes are padding.
    pub struct BlockData as "Block" {
        x: [f32; 4],
        y: [f32; 4],
        z: [f32; 4],
    }
}

shared_struct! {
    /// A spring to a point in space, on a point of up to three tets.
    pub struct GrabData as "Grab" {
        nodes: [[u32; 4]; 3],
        weights: [[f32; 4]; 3],
        /// Target less the point's rest position [m].
        offset: [f32; 4],
        /// [N/m]
        stiffness: f32,
        /// [N s/m]
        damping: f32,
        /// What it adds to the matrix, dt^2 k + dt c [kg].
        factor: f32,
        pad: f32,
    }
}
impl Element for GrabData {}

shared_struct! {
    /// The part of a step that the user may change, and the sizes of the model.
    pub struct ParamsData as "Params" {
        /// [m/s^2]
        gravity: [f32; 4],
        /// Where the sections of [`Pattern`] begin.
        pattern: [[u32; 4]; Pattern::OFFSETS],
        /// [s]
        dt: f32,
        /// Of the residual, relative to `ControlData::scale`.
        tolerance: f32,
        /// eps2 [m].
        contact_tolerance: f32,
        /// 1 if the elastic solve has a coarse space.
        is_two_level: u32,
        n_nodes: u32,
        n_tets: u32,
        n_edges: u32,
        n_points: u32,
        max_iterations: u32,
        /// Workgroups of every kernel over rows.
        row_groups: u32,
        n_grabs: u32,
        has_node_forces: u32,
        n_bodies: u32,
        max_contact_iterations: u32,
        /// Iterations of conjugate gradients; 0 for as many as the tolerance takes.
        fixed_iterations: u32,
        n_tiles: u32,
        /// Tiles of bodies that one workgroup cannot hold; they come first.
        loop_tiles: u32,
        /// Bodies that are solved in one workgroup.
        n_whole: u32,
        n_cells: u32,
        /// Tets of ten nodes.
        n_tets10: u32,
        grabs: [GrabData; MAX_GRABS],
    }
}

shared_struct! {
    /// The rows that a workgroup of the kernels over rows works on: rows of one body, shared with the body's other
    /// workgroups.
    pub struct ShareData as "Share" {
        body: u32,
        first_group: u32,
        n_groups: u32,
        pad: u32,
        first_node: u32,
        end_node: u32,
        pad_1: u32,
        pad_2: u32,
    }
}

shared_struct! {
    /// State of the conjugate gradients of one body, begun by the host and read by it after a batch of iterations.
    pub struct ControlData as "Control" {
        converged: u32,
        iterations: u32,
        /// |r|^2.
        residual2: f32,
        /// |r|^2 at which the solve ends.
        target2: f32,
        /// What the residual is measured against [kg m/s]; at first the impulse of the loads, 0 where there are none.
        scale: f32,
        /// [kg m/s], > 0
        least_scale: f32,
        elastic_done: u32,
        /// Iterations of the solves before, with other contact forces.
        contact_iterations: u32,
        /// 1 if the body is solved already, or with its contacts; 2 if it keeps what it has for this pass.
        remembered: u32,
        /// r.P r at which the conjugate gradients end [J]; 0 where |r|^2 decides.
        energy_target: f32,
        pad_0: u32,
        pad_1: u32,
    }
}

shared_struct! {
    /// The free nodes of one aggregate of a body: one workgroup works on them in the kernels of the elastic solve.
    pub struct TileData as "Tile" {
        /// First of its members, and their end.
        first: u32,
        end: u32,
        body: u32,
        /// First tile of its body.
        first_tile: u32,
        n_tiles: u32,
        /// Its row of the inverse of the coarse matrix in `preconditioner`.
        coarse: u32,
        /// First share of its body.
        share: u32,
    }
}

shared_struct! {
    /// A node of a tile.
    pub struct MemberData as "Member" {
        /// From the centre of the tile, in units of its radius.
        arm: [f32; 3],
        node: u32,
    }
}

word_table! {
    /// Rows and columns of the matrix, and the tiles of all bodies.
    pub struct Pattern in "pattern" at "params.pattern" {
        /// First block of each row, and their end.
        row_starts: u32 => row_start,
        /// Of each block.
        columns: u32 => block_column,
        tiles: TileData => tile_of,
        /// `TILE_SAMPLES` tets of each tile that give its rotation, or `NONE`.
        samples: u32 => tile_sample,
        /// First tile of each body that is solved in one workgroup.
        whole: u32 => whole_first_tile,
        members: MemberData => member_of,
    }
}

/// A vector of the device; the fourth lane is free.
pub fn vec4(v: &Vec3, w: f64) -> [f32; 4] {
    [v.x as f32, v.y as f32, v.z as f32, w as f32]
}

pub fn vec3(v: &Vec3) -> [f32; 3] {
    [v.x as f32, v.y as f32, v.z as f32]
}

/// The first three lanes of a vector of the device.
pub fn three(v: &[f32; 4]) -> Vec3 {
    Vec3::new(v[0].into(), v[1].into(), v[2].into())
}

/// A displacement [m] as a multiple of 2^-12 m and a small rest: differences of neighbours come out exact at any
/// distance from the origin.
pub fn split(u: &Vec3) -> ([f32; 4], [f32; 4]) {
    let high = u.map(|c| (c * 4096.0).round() / 4096.0);
    (vec4(&high, 0.0), vec4(&(u - high), 0.0))
}

pub fn joined(high: &[f32; 4], low: &[f32; 4]) -> Vec3 {
    Vec3::from_fn(|i, _| f64::from(high[i]) + f64::from(low[i]))
}
