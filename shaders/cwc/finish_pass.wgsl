// One workgroup: ends the iterations of a pass once all islands that many workgroups share are over.
#import lib/cwc.wgsl
#import lib/group.wgsl

@group(0) @binding(2) var<storage, read_write> cwc_arguments: array<vec4u, 1>;

@compute @workgroup_size(WORKGROUP)
fn finish_pass(@builtin(local_invocation_index) lane: u32) {
    var n_open = vec4f();
    for (var i = lane; i < cwc.n_islands; i += WORKGROUP) {
        n_open.x += select(1.0, 0.0, cwc_state[cwc_solve(i, 0u)].z != 0.0 || cwc_island(i).is_whole != 0u);
    }
    n_open = reduce_group(lane, n_open);
    if lane == 0u && n_open.x == 0.0 {
        cwc_arguments[0] = vec4u();
    }
}
