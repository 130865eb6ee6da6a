// Prefix sums over the threads of a workgroup.
#import host/search
var<workgroup> scan_values: array<u32, WORKGROUP>;

// What is broken or too large for a number stays so.
fn scan_add(a: u32, b: u32) -> u32 {
    return select(a + b, SEARCH_BROKEN, a >= SEARCH_BROKEN - min(b, SEARCH_BROKEN));
}

// Sum over the threads before this one, and over all.
fn scan_group(lane: u32, value: u32) -> vec2u {
    workgroupBarrier();
    scan_values[lane] = value;
    workgroupBarrier();
    for (var reach = 1u; reach < WORKGROUP; reach *= 2u) {
        var sum = scan_values[lane];
        if lane >= reach {
            sum = scan_add(sum, scan_values[lane - reach]);
        }
        workgroupBarrier();
        scan_values[lane] = sum;
        workgroupBarrier();
    }
    var before = 0u;
    if lane > 0u {
        before = scan_values[lane - 1u];
    }
    return vec2u(before, scan_values[WORKGROUP - 1u]);
}
