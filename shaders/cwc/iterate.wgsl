// One workgroup four contacts: an iteration of the accelerated projected gradient. The forces of the iteration before are judged, the motion with the present ones
// is found, and the next ones follow, all in one dispatch: every workgroup of an island adds up the same partial sums and comes to the same decision.
// Twin: `contact::dual::apgd`.
#import lib/cwc_sums.wgsl
#import lib/law.wgsl
#import lib/float.wgsl
#import lib/parity.wgsl

// Errors that grow to this many times the best one tell of a step that is too long.
const LOST: f32 = 100.0;

@compute @workgroup_size(WORKGROUP)
fn iterate(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
    let group = cwc_group(id.x);
    let island = cwc_island(group.island);
    let before = cwc_state[cwc_solve(group.island, 2u * parity.now)];
    let length = cwc_state[cwc_solve(group.island, 2u * parity.now + 1u)].x;
    let factor = cwc_state[cwc_solve(group.island, CWC_FACTOR)];
    let was_over = before.z != 0.0;
    let is_first = before.w == 0.0;

    let sums = cwc_join_slot(lane, island, CWC_SUM_ITERATE + 1u - parity.now);
    let is_finite = float_is_finite(sums.x) && float_is_finite(sums.y);
    let improves = !is_first && is_finite && sums.y < before.y;
    let best = select(before.y, sums.y, improves);
    let is_lost = !is_first && (!is_finite || sums.y > LOST * best);
    let is_over = was_over || (!is_first && best < factor.x);
    let climbs = sums.x > 0.0;
    let theta_next = 0.5 * (1.0 + sqrt(1.0 + 4.0 * before.x * before.x));
    let restarts = is_first || climbs || is_lost;
    let momentum = select((before.x - 1.0) / theta_next, 0.0, restarts);
    let theta = select(theta_next, 1.0, restarts);

    let k = group.first + lane / CWC_LANES;
    let now = CWC_ITERATE + parity.now;
    let next = CWC_ITERATE + 1u - parity.now;
    var part = vec3f();
    if k < group.end && !is_over {
        part = cwc_product(k, lane, now);
    }
    let image = factor.y * cwc_add(lane, vec4f(part, 0.0)).xyz;
    var told = vec4f();
    if k < group.end && lane % CWC_LANES == 0u && !was_over {
        let p_before = cwc_state[cwc_plane(next, k)];
        if improves {
            cwc_state[cwc_plane(CWC_FORCE, k)] = p_before;
        }
        if is_lost && !is_over {
            cwc_state[cwc_plane(next, k)] = cwc_state[cwc_plane(CWC_FORCE, k)];
            told.y = before.y;
        } else if !is_over {
            let friction = cwc_rows[k].give.w;
            let scale = cwc_state[cwc_plane(CWC_SCALE, k)] * vec4f(factor.yy, vec2f(1.0 / factor.y));
            let p = cwc_state[cwc_plane(now, k)].xyz;
            var u = cwc_state[cwc_plane(CWC_FREE, k)].xyz;
            if is_first {
                // What stands there is the motion with these forces.
                cwc_state[cwc_plane(CWC_FREE, k)] = vec4f(u - image, 0.0);
            } else {
                u += image;
            }
            let u_before = cwc_state[cwc_plane(CWC_LAST, k)].xyz;
            var ahead = p;
            var ahead_motion = u;
            if momentum != 0.0 {
                ahead += momentum * (p - p_before.xyz);
                ahead_motion += momentum * (u - u_before);
            }
            let q = law_project(friction, ahead, ahead_motion, length, scale);
            cwc_state[cwc_plane(next, k)] = vec4f(q, 0.0);
            cwc_state[cwc_plane(CWC_LAST, k)] = vec4f(u, 0.0);
            told.x = dot((ahead - q) * vec3f(scale.x, scale.yy), q - p);
            told.y = law_error(friction, p, u, scale);
        }
    }
    told = cwc_join(lane, told);
    if lane == 0u {
        cwc_state[cwc_sum(CWC_SUM_ITERATE + parity.now, id.x)] = told;
        if id.x == island.first_group {
            let turn = 2u * (1u - parity.now);
            let iterations = before.w + select(1.0, 0.0, was_over);
            cwc_state[cwc_solve(group.island, turn)] = vec4f(theta, best, select(0.0, 1.0, is_over), iterations);
            cwc_state[cwc_solve(group.island, turn + 1u)] = vec4f(select(length, 0.5 * length, is_lost), 0.0, 0.0, 0.0);
        }
    }
}
