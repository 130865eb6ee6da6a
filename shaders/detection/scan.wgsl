// One workgroup SEARCH_GROUP threads of the search: prefix sums of their counts, and the sum of the group. A sum that
// contains a search that was broken off is SEARCH_BROKEN.
#import lib/model.wgsl
#import lib/search.wgsl
#import lib/scan.wgsl

@group(0) @binding(6) var<storage, read_write> search_counts: array<u32>;
@group(0) @binding(7) var<storage, read_write> search_sums: array<u32>;

const EACH: u32 = SEARCH_GROUP / WORKGROUP;

@compute @workgroup_size(WORKGROUP)
fn scan(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let n = search_data.n_vertices + search_data.n_edges;
    let first = group.x * SEARCH_GROUP + lane * EACH;
    var sum = 0u;
    for (var k = first; k < first + EACH; k++) {
        if k < n {
            sum = scan_add(sum, search_counts[k]);
        }
    }
    let before = scan_group(lane, sum);
    var place = before.x;
    for (var k = first; k < first + EACH; k++) {
        if k < n {
            let count = search_counts[k];
            search_counts[k] = place;
            place = scan_add(place, count);
        }
    }
    if lane == 0u {
        search_sums[group.x] = before.y;
    }
}
