// One workgroup an island that it can hold: some iterations, one thread a contact. Twin: `contact::dual::apgd`.
#import lib/cwc_sums.wgsl
#import lib/cwc_step.wgsl
#import lib/group.wgsl

var<workgroup> is_over: u32;

@compute @workgroup_size(WORKGROUP)
fn solve_small_island(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
    let i = id.x + id.y * (GRID_ROW / WORKGROUP);
    let island = cwc_island(min(i, cwc.n_islands - 1u));
    var state = cwc_state[cwc_solve(i, 0u)];
    var kept = cwc_state[cwc_solve(i, 1u)];
    let factor = cwc_state[cwc_solve(i, CWC_SOLVE_FACTOR)];
    let first = cwc_group(island.first_group).first;
    let end = cwc_group(island.end_group - 1u).end;
    if lane == 0u {
        is_over = select(0u, 1u, i >= cwc.n_islands || island.is_whole == 0u || state.z != 0.0);
    }
    var over = workgroupUniformLoad(&is_over) != 0u;
    let idle = over;
    var sums = vec4f(kept.yz, 0.0, 0.0);
    for (var j = 0u; j < CWC_ITERATIONS / CWC_WHOLE_DISPATCHES && !over; j++) {
        let d = step_decide(state, kept, factor, island.accuracy, sums);
        let now = u32(state.w) % 2u;
        var climb = 0.0;
        var error = 0.0;
        for (var k = first + lane; k < end; k += WORKGROUP) {
            var image = vec3f();
            if !d.is_over {
                image = cwc_product(k, 0u, 1u, CWC_ITERATE + now);
            }
            let effect = step_advance(k, now, image, factor, d);
            climb += effect.x;
            error = max(error, effect.y);
        }
        storageBarrier();
        sums = vec4f(reduce_group(lane, vec4f(climb, 0.0, 0.0, 0.0)).x, reduce_group_max(lane, error), 0.0, 0.0);
        state = d.state;
        kept = d.kept;
        if lane == 0u {
            is_over = select(0u, 1u, d.is_over);
        }
        over = workgroupUniformLoad(&is_over) != 0u;
    }
    if lane == 0u && !idle {
        cwc_state[cwc_solve(i, 0u)] = state;
        cwc_state[cwc_solve(i, 1u)] = vec4f(kept.x, sums.xy, kept.w);
    }
}
