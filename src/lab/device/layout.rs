//! What host and device share of the laboratory.

use crate::gpu::{HostModule, shared_slots, shared_struct};

pub static HOST: HostModule = HostModule {
    name: "lab",
    uses: &[],
    declare: |declarations| {
        declare_slots(declarations);
        declarations.structure::<LabData>();
        declarations.structure::<LabControlData>();
    },
};

shared_slots! {
    fn declare_slots, "LAB_", total pub SLOTS:
    /// Slots of partial sums, one entry a workgroup: (r.z, r.r), in two slots that take turns,
    pub RESIDUAL: 2;
    /// and (x.y) of a product.
    pub DOT: 1;
}

shared_struct! {
    /// Parameters of a kernel of the laboratory.
    pub struct LabData as "Lab" {
        /// Block rows of this device.
        n_rows: u32,
        /// Slices of SELL-32.
        n_slices: u32,
        /// First row of this device among all.
        first_row: u32,
        /// Workgroups of every kernel over rows.
        groups: u32,
        max_iterations: u32,
        /// Square of the residual to reach.
        target2: f32,
        /// Factor of the vector update of one of several devices.
        factor: f32,
        pad: u32,
    }
}

shared_struct! {
    /// State of a solve of the laboratory.
    pub struct LabControlData as "LabControl" {
        iterations: u32,
        done: u32,
        converged: u32,
        pad: u32,
        /// r.z before.
        gamma: f32,
        /// The last step.
        alpha: f32,
        residual2: f32,
        pad_1: u32,
    }
}
