// Sums over the threads of a workgroup, in a fixed order.
const REDUCE_PARTS: u32 = 8u;
var<workgroup> reduce_values: array<vec4f, WORKGROUP>;
var<workgroup> reduce_parts: array<vec4f, REDUCE_PARTS>;

// Sum over the threads of the workgroup, known to all of them. Two levels of eight: a barrier is dear on software
// adapters.
fn reduce_group(lane: u32, value: vec4f) -> vec4f {
    workgroupBarrier();
    reduce_values[lane] = value;
    workgroupBarrier();
    if lane < REDUCE_PARTS {
        var part = vec4f();
        for (var k = lane; k < WORKGROUP; k += REDUCE_PARTS) {
            part += reduce_values[k];
        }
        reduce_parts[lane] = part;
    }
    workgroupBarrier();
    var sum = vec4f();
    for (var k = 0u; k < REDUCE_PARTS; k++) {
        sum += reduce_parts[k];
    }
    return sum;
}

// Largest value of the workgroup (none below 0), known to all its threads.
fn reduce_group_max(lane: u32, value: f32) -> f32 {
    workgroupBarrier();
    reduce_values[lane].x = value;
    workgroupBarrier();
    if lane < REDUCE_PARTS {
        var part = 0.0;
        for (var k = lane; k < WORKGROUP; k += REDUCE_PARTS) {
            part = max(part, reduce_values[k].x);
        }
        reduce_parts[lane].x = part;
    }
    workgroupBarrier();
    var largest = 0.0;
    for (var k = 0u; k < REDUCE_PARTS; k++) {
        largest = max(largest, reduce_parts[k].x);
    }
    return largest;
}
