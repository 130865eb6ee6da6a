// Sums over the rows of a body, in a fixed order: every workgroup leaves a partial sum in its own place of a slot,
// and every workgroup of the body adds them up again for itself in the next kernel, which saves a dispatch.
#import lib/params.wgsl
#import lib/group.wgsl
#import host/elastic

struct Reductions {
    controls: array<Control, MAX_ROW_GROUPS>, // of each body
    grab_impulses: array<vec4f, MAX_GRABS>, // [kg m/s]
    sums: array<vec4f>, // slot s: MAX_ROW_GROUPS entries from s * MAX_ROW_GROUPS
}
@group(0) @binding(1) var<storage, read_write> reductions: Reductions;
@group(0) @binding(12) var<uniform> shares: array<Share, MAX_ROW_GROUPS>;

// This thread's part of the sum of a slot.
fn reduce_slot(lane: u32, share: Share, slot: u32) -> vec4f {
    var sum = vec4f();
    for (var g = share.first_group + lane; g < share.first_group + share.n_groups; g += WORKGROUP) {
        sum += reductions.sums[slot * MAX_ROW_GROUPS + g];
    }
    return sum;
}

// First item of a thread, from the first of its body's, and the distance to the next.
fn share_first(lane: u32, group: u32, share: Share) -> u32 {
    return (group - share.first_group) * WORKGROUP + lane;
}

fn share_stride(share: Share) -> u32 {
    return share.n_groups * WORKGROUP;
}

fn reduce_store(slot: u32, group: u32, value: vec4f) {
    reductions.sums[slot * MAX_ROW_GROUPS + group] = value;
}
