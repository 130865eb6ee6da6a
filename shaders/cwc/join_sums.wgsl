// One workgroup an island: what the workgroups of a large one have left of the last iteration is added up once, where
// each of them would have to add up all: that grows with the square. The order is the same, and so are the bits.
#import lib/cwc_sums.wgsl
#import lib/parity.wgsl

@compute @workgroup_size(WORKGROUP)
fn join_sums(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
    let i = id.x + id.y * (GRID_ROW / WORKGROUP);
    let island = cwc_island(min(i, cwc.n_islands - 1u));
    let is_wanted = i < cwc.n_islands && cwc_is_large(island);
    let end = select(island.first_group, island.end_group, is_wanted);
    let sums = cwc_join_groups(lane, island.first_group, end, CWC_SUM_ITERATE + 1u - parity.now);
    if lane == 0u && is_wanted {
        cwc_state[cwc_solve(i, CWC_SOLVE_SUMS)] = sums;
    }
}
