// One workgroup, after each pass: islands whose forces are found, and what the others aim at in the next pass.
// Twin: `contact::methods::cwc::Cwc::iterate`.
#import lib/cwc.wgsl
#import lib/reduce.wgsl

@group(0) @binding(2) var<storage, read_write> cwc_arguments: array<vec4u, 1>;

@compute @workgroup_size(WORKGROUP)
fn update_status(@builtin(local_invocation_index) lane: u32) {
    var n_open = vec4f();
    for (var i = lane; i < cwc.n_islands; i += WORKGROUP) {
        let island = cwc_island(i);
        if cwc_goes_on(i) {
            n_open.x += select(1.0, 0.0, island.is_whole != 0u);
            continue;
        }
        var error = 0.0;
        var along = vec2f();
        var curvature = vec2f();
        for (var g = island.first_group; g < island.end_group; g++) {
            let sums = cwc_state[cwc_sum(CWC_SUM_ITERATE, g)];
            error = max(error, sums.y);
            along += sums.xz;
            curvature += cwc_state[cwc_sum(CWC_SUM_PROBE, g)].xz;
        }
        var is_solved = true;
        for (var b = island.first_body; b < island.end_body; b++) {
            // Bodies of other islands may stand between those of this one.
            is_solved = is_solved && (cwc_body_island(b) != i || reductions.controls[b].elastic_done != 0u);
        }
        var factor = cwc_state[cwc_solve(i, CWC_SOLVE_FACTOR)];
        var progress = cwc_state[cwc_solve(i, CWC_SOLVE_PROGRESS)];
        let last = cwc_state[cwc_solve(i, CWC_SOLVE_STATE)];
        progress.y += last.w;
        progress.w += 1.0;
        progress.z = select(0.0, curvature.y / (CWC_EIGENVALUE_MARGIN * curvature.x), curvature.x > 0.0);
        var is_over = factor.z != 0.0;
        if !is_over && is_solved && factor.w < CWC_MAX_PASSES {
            if factor.w > 0.0 && along.y > 0.0 {
                factor.y = clamp(factor.y * clamp(along.x / along.y, 1.0 / CWC_MAX_FACTOR_CHANGE, CWC_MAX_FACTOR_CHANGE), CWC_MIN_FACTOR, CWC_MAX_FACTOR);
            }
            progress.x = error;
            factor.x = max(CWC_FINEST * island.accuracy, CWC_FORCING * error);
            let accepted = select(select(CWC_FINEST, 1.0, factor.w > 0.0), CWC_COARSEST, factor.w > CWC_MANY_PASSES);
            is_over = error < accepted * island.accuracy;
            factor.z = select(0.0, 1.0, is_over);
            factor.w += 1.0;
        }
        // What is not solved elastically has to wait, and after too many passes nothing more is tried.
        is_over = is_over || !is_solved || factor.w >= CWC_MAX_PASSES;
        cwc_state[cwc_solve(i, CWC_SOLVE_STATE)] = vec4f(1.0, error, select(0.0, 1.0, is_over), 0.0);
        cwc_state[cwc_solve(i, CWC_SOLVE_STATE + 1u)] = vec4f(progress.z, 0.0, 0.0, 0.0);
        cwc_state[cwc_solve(i, CWC_SOLVE_FACTOR)] = factor;
        cwc_state[cwc_solve(i, CWC_SOLVE_PROGRESS)] = progress;
        n_open.x += select(1.0, 0.0, is_over || island.is_whole != 0u);
    }
    n_open = reduce_group(lane, n_open);
    if lane == 0u {
        cwc_arguments[0] = select(vec4u(), vec4u(cwc.n_groups, 1u, 1u, 0u), n_open.x > 0.0);
    }
}
