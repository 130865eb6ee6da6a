// What the kernels of the laboratory share (`src/lab/device`).
#import lib/group.wgsl
#import host/lab

struct LabSums {
    controls: array<LabControl, 2>, // take turns
    parts: array<vec4f>, // slot s: MAX_ROW_GROUPS entries from s * MAX_ROW_GROUPS
}
@group(0) @binding(0) var<uniform> lab: Lab;
@group(0) @binding(1) var<storage, read_write> sums: LabSums;

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
