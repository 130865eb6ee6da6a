// One workgroup an island, after each pass: whether its forces are found, and what it aims at in the next pass.
// Twin: `contact::methods::cwc::Cwc::iterate`.
#import lib/cwc.wgsl
#import lib/reduce.wgsl

@compute @workgroup_size(WORKGROUP)
fn update_status(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
    let i = id.x + id.y * (GRID_ROW / WORKGROUP);
    let island = cwc_island(min(i, cwc.n_islands - 1u));
    // How far the last pass has moved the contacts along the predicted way, and as that way was long; curvature of the
    // probe, and its length.
    var sums = vec4f();
    var error = 0.0;
    for (var g = island.first_group + lane; g < island.end_group; g += WORKGROUP) {
        let measured = cwc_state[cwc_sum(CWC_SUM_ITERATE, g)];
        error = max(error, measured.y);
        sums += vec4f(measured.xz, cwc_state[cwc_sum(CWC_SUM_PROBE, g)].xz);
    }
    var n_unsolved = 0.0;
    for (var b = island.first_body + lane; b < island.end_body; b += WORKGROUP) {
        n_unsolved += select(1.0, 0.0, reductions.controls[cwc_island_body(b)].elastic_done != 0u);
    }
    sums = reduce_group(lane, sums);
    error = reduce_group_max(lane, error);
    let is_solved = reduce_group_max(lane, n_unsolved) == 0.0;
    if lane != 0u || i >= cwc.n_islands || cwc_goes_on(i) {
        return;
    }
    var factor = cwc_state[cwc_solve(i, CWC_SOLVE_FACTOR)];
    var progress = cwc_state[cwc_solve(i, CWC_SOLVE_PROGRESS)];
    let last = cwc_state[cwc_solve(i, CWC_SOLVE_STATE)];
    progress.y += last.w;
    progress.w += 1.0;
    progress.z = select(0.0, sums.w / (CWC_EIGENVALUE_MARGIN * sums.z), sums.z > 0.0);
    var is_over = factor.z != 0.0;
    if !is_over && is_solved && factor.w < CWC_MAX_PASSES {
        if factor.w > 0.0 && sums.y > 0.0 {
            factor.y = clamp(factor.y * clamp(sums.x / sums.y, 1.0 / CWC_MAX_FACTOR_CHANGE, CWC_MAX_FACTOR_CHANGE), CWC_MIN_FACTOR, CWC_MAX_FACTOR);
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
}
