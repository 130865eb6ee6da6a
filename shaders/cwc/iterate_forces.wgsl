// One workgroup four contacts of an island that many share: an iteration of the accelerated projected gradient. The
// forces of the iteration before are accepted or not, the motion with the present forces is found, and the next forces
// follow, all in one dispatch: every workgroup of an island adds up the same partial sums (for a large one `join_sums`
// has done so) and comes to the same decision. Twin: `contact::dual::apgd`.
#import lib/cwc_sums.wgsl
#import lib/cwc_step.wgsl
#import lib/parity.wgsl

@compute @workgroup_size(WORKGROUP)
fn iterate_forces(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
    let group = cwc_group(id.x);
    let island = cwc_island(group.island);
    let state = cwc_state[cwc_solve(group.island, 2u * parity.now)];
    let kept = cwc_state[cwc_solve(group.island, 2u * parity.now + 1u)];
    let factor = cwc_state[cwc_solve(group.island, CWC_SOLVE_FACTOR)];
    let was_over = state.z != 0.0;
    let sums = cwc_join_slot(lane, group.island, island, CWC_SUM_ITERATE + 1u - parity.now);
    let d = step_decide(state, kept, factor, island.accuracy, sums);

    let k = group.first + lane / CWC_LANES;
    var part = vec3f();
    if k < group.end && !d.is_over {
        part = cwc_product(k, lane % CWC_LANES, CWC_LANES, CWC_ITERATE + parity.now);
    }
    let image = cwc_add(lane, vec4f(part, 0.0)).xyz;
    var effect = vec4f();
    if k < group.end && lane % CWC_LANES == 0u && !was_over {
        effect = step_advance(k, parity.now, image, factor, d);
    }
    effect = cwc_join(lane, effect);
    if lane == 0u {
        cwc_state[cwc_sum(CWC_SUM_ITERATE + parity.now, id.x)] = effect;
        if id.x == island.first_group {
            let turn = 2u * (1u - parity.now);
            cwc_state[cwc_solve(group.island, turn)] = d.state;
            cwc_state[cwc_solve(group.island, turn + 1u)] = d.kept;
        }
    }
}
