// Several sums over the threads of a workgroup at once, in a fixed order, for the barriers of one.
#import lib/tiles.wgsl

const MANY: u32 = 5u;
const MANY_PARTS: u32 = 8u;
var<workgroup> sums_values: array<vec4f, MANY * WORKGROUP>;
var<workgroup> sums_parts: array<vec4f, MANY * MANY_PARTS>;

// This thread's part of sum k, before `sums_add`.
fn sums_put(lane: u32, k: u32, value: vec4f) {
    sums_values[k * WORKGROUP + lane] = value;
}

// The same of a motion: sums k and k + 1.
fn sums_put_motion(lane: u32, k: u32, motion: Motion) {
    sums_put(lane, k, vec4f(motion.shift, 0.0));
    sums_put(lane, k + 1u, vec4f(motion.turn, 0.0));
}

// Readies the first n sums.
fn sums_add(lane: u32, n: u32) {
    workgroupBarrier();
    if lane < n * MANY_PARTS {
        let first = (lane / MANY_PARTS) * WORKGROUP + lane % MANY_PARTS;
        var part = vec4f();
        for (var j = 0u; j < WORKGROUP; j += MANY_PARTS) {
            part += sums_values[first + j];
        }
        sums_parts[lane] = part;
    }
    workgroupBarrier();
}

// Sum k, for any thread.
fn sums_of(k: u32) -> vec4f {
    var sum = vec4f();
    for (var j = 0u; j < MANY_PARTS; j++) {
        sum += sums_parts[k * MANY_PARTS + j];
    }
    return sum;
}
