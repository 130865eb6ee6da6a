// What the threads of a workgroup over contacts add up: each contact has CWC_LANES threads next to each other.
#import lib/cwc.wgsl

@group(0) @binding(20) var<storage, read> cwc_weights: array<f32>;

var<workgroup> cwc_parts: array<vec4f, WORKGROUP>;
const CWC_JOINTS: u32 = 8u;

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

fn cwc_joined(a: vec4f, b: vec4f) -> vec4f {
    return vec4f(a.x + b.x, max(a.y, b.y), a.z + b.z, 0.0);
}

// Of some workgroups in a slot: sums of x and z, largest y; for all threads.
fn cwc_join_groups(lane: u32, first: u32, end: u32, slot: u32) -> vec4f {
    var part = vec4f();
    for (var g = first + lane; g < end; g += WORKGROUP) {
        part = cwc_joined(part, cwc_state[cwc_sum(slot, g)]);
    }
    workgroupBarrier();
    cwc_parts[lane] = part;
    workgroupBarrier();
    // Two levels, of eight.
    let n = min(WORKGROUP, end - first);
    part = vec4f();
    for (var k = lane; k < select(0u, n, lane < CWC_JOINTS); k += CWC_JOINTS) {
        part = cwc_joined(part, cwc_parts[k]);
    }
    workgroupBarrier();
    if lane < CWC_JOINTS {
        cwc_parts[lane] = part;
    }
    workgroupBarrier();
    var joined = vec4f();
    for (var k = 0u; k < min(CWC_JOINTS, n); k++) {
        joined = cwc_joined(joined, cwc_parts[k]);
    }
    return joined;
}

// Whether `join_sums` adds up what the workgroups of an island leave.
fn cwc_is_large(island: CwcIsland) -> bool {
    return island.end_group - island.first_group > cwc.max_joined;
}

// Of all workgroups of an island in the slot of its last iteration: sums of x and z, largest y; for all threads. A
// large one has been added up once for all of them.
fn cwc_join_slot(lane: u32, i: u32, island: CwcIsland, slot: u32) -> vec4f {
    let is_large = cwc_is_large(island);
    let joined = cwc_join_groups(lane, island.first_group, select(island.end_group, island.first_group, is_large), slot);
    return select(joined, cwc_state[cwc_solve(i, CWC_SOLVE_SUMS)], is_large);
}

// The part of one of several threads of the row of a contact of W times the vectors of a plane.
fn cwc_product(contact: u32, thread: u32, threads: u32, plane: u32) -> vec3f {
    var sum = vec3f();
    for (var s = 0u; s < 2u; s++) {
        let side = cwc_rows[contact].sides[s];
        for (var j = thread; j < side.n_members; j += threads) {
            let f = cwc_state[cwc_plane(plane, cwc_member_contact(side.first_member + j))].xyz;
            // A block above the diagonal is the transposed one below it.
            let is_above = j > side.own;
            let b = cwc_block(side.weights, max(j, side.own), min(j, side.own));
            let down = b + select(3u, 1u, is_above);
            let next = b + select(6u, 2u, is_above);
            let x = select(1u, 3u, is_above);
            sum += vec3f(
                cwc_weights[b] * f.x + cwc_weights[b + x] * f.y + cwc_weights[b + 2u * x] * f.z,
                cwc_weights[down] * f.x + cwc_weights[down + x] * f.y + cwc_weights[down + 2u * x] * f.z,
                cwc_weights[next] * f.x + cwc_weights[next + x] * f.y + cwc_weights[next + 2u * x] * f.z,
            );
        }
    }
    return sum;
}
