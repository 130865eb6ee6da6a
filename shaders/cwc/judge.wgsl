// One workgroup, after each pass: which islands have settled, and to what the others go on. Twin: `contact::cwc::settle`.
#import lib/cwc.wgsl
#import lib/reduce.wgsl

@group(0) @binding(2) var<storage, read_write> cwc_arguments: array<vec4u, 1>;

// Forces are sought to the first part of the accuracy, so that what rests becomes still; within it they are taken after the first pass, and after many passes within
// the contact tolerance.
const FINEST: f32 = 0.2;
const MANY: f32 = 7.0;
const COARSEST: f32 = 2.0;
// And to this part of what the last pass was off.
const FORCING: f32 = 0.1;
// The power iteration comes from below.
const MARGIN: f32 = 1.1;
// A pass moves the contacts by more or less than the compliance of the rest pose tells (1.6 times as far in a ball that is squeezed between plates, where passes
// without a factor left .65 of the error each): the factor follows, by at most so much a pass and in all.
const MOST_CHANGE: f32 = 2.0;
const FACTORS: vec2f = vec2f(0.25, 8.0);

@compute @workgroup_size(WORKGROUP)
fn judge(@builtin(local_invocation_index) lane: u32) {
    var n_open = vec4f();
    for (var i = lane; i < cwc.n_islands; i += WORKGROUP) {
        let island = cwc_island(i);
        if cwc_goes_on(i) {
            n_open.x += select(1.0, 0.0, island.is_whole != 0u);
            continue;
        }
        var error = 0.0;
        var way = vec2f();
        var curvature = vec2f();
        for (var g = island.first_group; g < island.end_group; g++) {
            let sums = cwc_state[cwc_sum(0u, g)];
            error = max(error, sums.y);
            way += sums.xz;
            curvature += cwc_state[cwc_sum(2u, g)].xz;
        }
        var is_solved = true;
        for (var b = island.first_body; b < island.end_body; b++) {
            is_solved = is_solved && reductions.controls[b].elastic_done != 0u;
        }
        var factor = cwc_state[cwc_solve(i, CWC_FACTOR)];
        var told = cwc_state[cwc_solve(i, CWC_TOLD)];
        let last = cwc_state[cwc_solve(i, 0u)];
        told.y += last.w;
        told.w += 1.0;
        told.z = select(0.0, curvature.y / (MARGIN * curvature.x), curvature.x > 0.0);
        var is_over = factor.z != 0.0;
        if !is_over && is_solved && factor.w < CWC_MAX_PASSES {
            if factor.w > 0.0 && way.y > 0.0 {
                factor.y = clamp(factor.y * clamp(way.x / way.y, 1.0 / MOST_CHANGE, MOST_CHANGE), FACTORS.x, FACTORS.y);
            }
            told.x = error;
            factor.x = max(FINEST * island.accuracy, FORCING * error);
            let accepted = select(select(FINEST, 1.0, factor.w > 0.0), COARSEST, factor.w > MANY);
            is_over = error < accepted * island.accuracy;
            factor.z = select(0.0, 1.0, is_over);
            factor.w += 1.0;
        }
        // What is not solved elastically has to wait, and after too many passes nothing more is tried.
        is_over = is_over || !is_solved || factor.w >= CWC_MAX_PASSES;
        cwc_state[cwc_solve(i, 0u)] = vec4f(1.0, error, select(0.0, 1.0, is_over), 0.0);
        cwc_state[cwc_solve(i, 1u)] = vec4f(told.z, 0.0, 0.0, 0.0);
        cwc_state[cwc_solve(i, CWC_FACTOR)] = factor;
        cwc_state[cwc_solve(i, CWC_TOLD)] = told;
        n_open.x += select(1.0, 0.0, is_over || island.is_whole != 0u);
    }
    n_open = reduce_group(lane, n_open);
    if lane == 0u {
        cwc_arguments[0] = select(vec4u(), vec4u(cwc.n_groups, 1u, 1u, 0u), n_open.x > 0.0);
    }
}
