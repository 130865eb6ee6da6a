//! Sizes that every kernel is written for. Shaders have them without an import.

use super::wgsl::{HostModule, shared_constants};

pub static HOST: HostModule = HostModule { name: "limits", uses: &[], declare };

shared_constants! {
    fn declare, "":
    /// Threads of a workgroup.
    pub WORKGROUP: u32 = 64;
    /// Threads of one row of workgroups where a dispatch needs two dimensions (a dimension has at most 65,535
    /// workgroups).
    pub GRID_ROW: u32 = 32_768 * WORKGROUP;
    /// Most workgroups of a kernel over rows, and deformable bodies: their shares fill the 64 KiB that WebGPU
    /// guarantees a uniform buffer.
    pub MAX_ROW_GROUPS: u32 = 2048;
    /// Most free nodes of a body that is solved in one workgroup. On llvmpipe a step of 810 tets (225 nodes) takes 0.7
    /// of the processor time that it takes with a dispatch for every half of an iteration.
    pub MAX_WHOLE_NODES: u32 = 1024;
    /// Most tiles of a body that is solved in one workgroup.
    pub MAX_WHOLE_TILES: u32 = 32;
}

// A row of workgroups has room for whole workgroups.
const _: () = assert!(GRID_ROW.is_multiple_of(WORKGROUP));
