// What the threads of a workgroup over contacts add up: each contact has CWC_LANES threads next to each other.
#import lib/cwc.wgsl

@group(0) @binding(20) var<storage, read> cwc_weights: array<f32>;

var<workgroup> cwc_parts: array<vec4f, WORKGROUP>;

// Sum of the values of a contact's threads, for its first one.
fn cwc_add(lane: u32, value: vec4f) -> vec4f {
    workgroupBarrier();
    cwc_parts[lane] = value;
    workgroupBarrier();
    var sum = vec4f();
    if lane % CWC_LANES == 0u {
        for (var k = 0u; k < CWC_LANES; k++) {
            sum += cwc_parts[lane + k];
        }
    }
    return sum;
}

// Sums of x and z and largest y over the workgroup, for all threads; `value` counts for the first thread of each
// contact only.
fn cwc_join(lane: u32, value: vec4f) -> vec4f {
    workgroupBarrier();
    cwc_parts[lane] = value;
    workgroupBarrier();
    var joined = vec4f();
    for (var k = 0u; k < WORKGROUP; k += CWC_LANES) {
        let part = cwc_parts[k];
        joined = vec4f(joined.x + part.x, max(joined.y, part.y), joined.z + part.z, 0.0);
    }
    return joined;
}

// Of all workgroups of an island in a slot: sums of x and z, largest y; for all threads.
fn cwc_join_slot(lane: u32, island: CwcIsland, slot: u32) -> vec4f {
    var part = vec4f();
    for (var g = island.first_group + lane; g < island.end_group; g += WORKGROUP) {
        let value = cwc_state[cwc_sum(slot, g)];
        part = vec4f(part.x + value.x, max(part.y, value.y), part.z + value.z, 0.0);
    }
    workgroupBarrier();
    cwc_parts[lane] = part;
    workgroupBarrier();
    var joined = vec4f();
    for (var k = 0u; k < min(WORKGROUP, island.end_group - island.first_group); k++) {
        let value = cwc_parts[k];
        joined = vec4f(joined.x + value.x, max(joined.y, value.y), joined.z + value.z, 0.0);
    }
    return joined;
}

// The part of one of several threads of the row of a contact of W times the vectors of a plane.
fn cwc_product(contact: u32, thread: u32, threads: u32, plane: u32) -> vec3f {
    var sum = vec3f();
    for (var s = 0u; s < 2u; s++) {
        let side = cwc_rows[contact].sides[s];
        for (var j = thread; j < side.n_members; j += threads) {
            let f = cwc_state[cwc_plane(plane, cwc_member_contact(side.first_member + j))].xyz;
            let b = 9u * (side.weights + side.own * side.n_members + j);
            sum += vec3f(
                cwc_weights[b] * f.x + cwc_weights[b + 1u] * f.y + cwc_weights[b + 2u] * f.z,
                cwc_weights[b + 3u] * f.x + cwc_weights[b + 4u] * f.y + cwc_weights[b + 5u] * f.z,
                cwc_weights[b + 6u] * f.x + cwc_weights[b + 7u] * f.y + cwc_weights[b + 8u] * f.z,
            );
        }
    }
    return sum;
}
