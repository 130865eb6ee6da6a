// One workgroup: how many workgroups the iterations of a pass have from now on, none once all islands that many
// workgroups share are over.
#import lib/cwc.wgsl
#import lib/group.wgsl

// x, y, z of the kernels over groups of contacts, and of those over islands.
@group(0) @binding(2) var<storage, read_write> cwc_arguments: array<vec4u, 2>;

@compute @workgroup_size(WORKGROUP)
fn finish_pass(@builtin(local_invocation_index) lane: u32) {
    var n_open = vec4f();
    for (var i = lane; i < cwc.n_islands; i += WORKGROUP) {
        n_open.x += select(1.0, 0.0, cwc_state[cwc_solve(i, 0u)].z != 0.0 || cwc_island(i).is_whole != 0u);
    }
    n_open = reduce_group(lane, n_open);
    if lane == 0u {
        let row = GRID_ROW / WORKGROUP;
        let is_open = n_open.x > 0.0;
        cwc_arguments[CWC_ARGUMENTS_GROUPS] = select(vec4u(), vec4u(cwc.n_groups, 1u, 1u, 0u), is_open);
        let islands = vec4u(min(cwc.n_islands, row), (cwc.n_islands + row - 1u) / row, 1u, 0u);
        cwc_arguments[CWC_ARGUMENTS_ISLANDS] = select(vec4u(), islands, is_open);
    }
}
