//! Host side of the structs in `shaders/lib/lab.wgsl`.

use bytemuck::{Pod, Zeroable};

/// Parameters of a kernel of the laboratory.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct LabData {
    pub n_rows: u32,
    pub n_slices: u32,
    pub first_row: u32,
    pub groups: u32,
    pub max_iterations: u32,
    pub target2: f32,
    pub factor: f32,
    pub pad: u32,
}

/// State of a solve of the laboratory.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct LabControlData {
    pub iterations: u32,
    pub done: u32,
    pub converged: u32,
    pub pad: u32,
    pub gamma: f32,
    pub alpha: f32,
    pub residual2: f32,
    pub pad_1: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{Shader, same_layout};

    #[test]
    fn host_structs_lie_as_wgsl_lays_them() {
        let shader = Shader::load("lib/lab").unwrap();
        same_layout!(&shader, "Lab", LabData, [n_rows, n_slices, first_row, groups, max_iterations, target2, factor, pad]);
        same_layout!(&shader, "LabControl", LabControlData, [iterations, done, converged, pad, gamma, alpha, residual2, pad_1]);
    }
}
