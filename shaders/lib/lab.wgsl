// What the kernels of the laboratory share (`src/lab/device`).
#import lib/group.wgsl

struct Lab {
    n_rows: u32, // block rows of this device
    n_slices: u32, // of SELL-32
    first_row: u32, // of this device among all
    groups: u32, // workgroups of every kernel over rows
    max_iterations: u32,
    target2: f32, // square of the residual to reach
    factor: f32, // of the vector update of one of several devices
    pad: u32,
}

struct LabControl {
    iterations: u32,
    done: u32,
    converged: u32,
    pad: u32,
    gamma: f32, // r.z before
    alpha: f32, // the last step
    residual2: f32,
    pad_1: u32,
}

struct LabSums {
    controls: array<LabControl, 2>, // take turns
    parts: array<vec4f>, // slot s: MAX_ROW_GROUPS entries from s * MAX_ROW_GROUPS
}
@group(0) @binding(0) var<uniform> lab: Lab;
@group(0) @binding(1) var<storage, read_write> sums: LabSums;

// (r.z, r.r), in two slots that take turns.
const LAB_RESIDUAL: u32 = 0u;
// (x.y) of a product.
const LAB_DOT: u32 = 2u;

fn lab_store(slot: u32, group: u32, value: vec4f) {
    sums.parts[slot * MAX_ROW_GROUPS + group] = value;
}

// Sum of a slot, known to all threads of the workgroup.
fn lab_sum(lane: u32, slot: u32) -> vec4f {
    var sum = vec4f();
    for (var g = lane; g < lab.groups; g += WORKGROUP) {
        sum += sums.parts[slot * MAX_ROW_GROUPS + g];
    }
    return reduce_group(lane, sum);
}
