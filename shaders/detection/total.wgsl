// One workgroup: prefix sums over the groups of the search; `search_totals` holds where edges begin, and the number of
// pairs.
#import lib/model.wgsl
#import lib/search.wgsl
#import lib/scan.wgsl

@group(0) @binding(6) var<storage, read> search_counts: array<u32>;
@group(0) @binding(7) var<storage, read_write> search_sums: array<u32>;
@group(0) @binding(8) var<storage, read_write> search_totals: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn total(@builtin(local_invocation_index) lane: u32) {
    let n = search_data.n_vertices + search_data.n_edges;
    let n_groups = (n + SEARCH_GROUP - 1u) / SEARCH_GROUP;
    var before = 0u;
    for (var first = 0u; first < n_groups; first += WORKGROUP) {
        let k = first + lane;
        var sum = 0u;
        if k < n_groups {
            sum = search_sums[k];
        }
        let part = scan_group(lane, sum);
        if k < n_groups {
            let place = scan_add(before, part.x);
            search_sums[k] = place;
            if k == search_data.n_vertices / SEARCH_GROUP {
                search_totals[0] = scan_add(place, search_counts[search_data.n_vertices]);
            }
        }
        before = scan_add(before, part.y);
    }
    if lane == 0u {
        search_totals[1] = before;
    }
}
