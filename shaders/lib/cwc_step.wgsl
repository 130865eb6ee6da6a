// What an iteration of the accelerated projected gradient does, for one workgroup an island or many. Twin:
// `contact::dual::apgd`.
#import lib/cwc.wgsl
#import lib/law.wgsl
#import lib/float.wgsl

struct Decision {
    improves: bool, // the forces of the iteration before are the best so far
    is_lost: bool,
    is_over: bool,
    is_first: bool,
    momentum: f32,
    state: vec4f, // as the next iteration finds it
    kept: vec4f, // likewise
}

// `state` and `kept` as CWC_SOLVE_STATE says, `factor` CWC_SOLVE_FACTOR; the error [m] within which forces are only
// improved; sums of the iteration before: climb and largest error.
fn step_decide(state: vec4f, kept: vec4f, factor: vec4f, accuracy: f32, sums: vec4f) -> Decision {
    var d = Decision();
    d.is_first = state.w == 0.0;
    let is_finite = float_is_finite(sums.x) && float_is_finite(sums.y);
    let was_over = state.z != 0.0;
    d.improves = !d.is_first && !was_over && is_finite && sums.y < CWC_AS_GOOD * state.y;
    let best = select(state.y, min(state.y, sums.y), d.improves);
    d.is_lost = !d.is_first && (!is_finite || sums.y > CWC_LOST * best);
    let improvements = select(0.0, kept.w + 1.0, best < max(accuracy, factor.x));
    d.is_over = was_over || (!d.is_first && (best < factor.x || improvements > CWC_IMPROVEMENTS));
    let theta_next = 0.5 * (1.0 + sqrt(1.0 + 4.0 * state.x * state.x));
    let restarts = d.is_first || sums.x > 0.0 || d.is_lost;
    d.momentum = select((state.x - 1.0) / theta_next, 0.0, restarts);
    d.state = vec4f(select(theta_next, 1.0, restarts), best, select(0.0, 1.0, d.is_over), state.w + select(1.0, 0.0, was_over));
    d.kept = vec4f(select(kept.x, 0.5 * kept.x, d.is_lost), 0.0, 0.0, improvements);
    return d;
}

// Forces of a contact that are over or go on: `image` is W p of the present ones, `now` the turn of their plane.
// Returns what it adds to climb and error.
fn step_advance(k: u32, now: u32, image: vec3f, factor: vec4f, d: Decision) -> vec4f {
    let present = cwc_plane(CWC_ITERATE + now, k);
    let other = cwc_plane(CWC_ITERATE + 1u - now, k);
    let before = cwc_state[other].xyz;
    if d.improves {
        cwc_state[cwc_plane(CWC_FORCE, k)] = vec4f(before, 0.0);
        cwc_state[cwc_plane(CWC_PREDICTED, k)] = cwc_state[cwc_plane(CWC_LAST, k)];
    }
    if d.is_over {
        return vec4f();
    }
    if d.is_lost {
        cwc_state[other] = cwc_state[cwc_plane(CWC_FORCE, k)];
        return vec4f(0.0, d.state.y, 0.0, 0.0);
    }
    let friction = cwc_rows[k].compliance.w;
    let scale = cwc_state[cwc_plane(CWC_SCALE, k)] * vec4f(factor.yy, vec2f(1.0 / factor.y));
    let p = cwc_state[present].xyz;
    var u = cwc_state[cwc_plane(CWC_FREE, k)].xyz;
    if d.is_first {
        // What stands there is the motion with these forces.
        cwc_state[cwc_plane(CWC_FREE, k)] = vec4f(u - factor.y * image, 0.0);
        cwc_state[cwc_plane(CWC_START, k)] = vec4f(u, 0.0);
        cwc_state[cwc_plane(CWC_PREDICTED, k)] = vec4f(u, 0.0);
    } else {
        u += factor.y * image;
    }
    var ahead = p;
    var ahead_motion = u;
    if d.momentum != 0.0 {
        ahead += d.momentum * (p - before);
        ahead_motion += d.momentum * (u - cwc_state[cwc_plane(CWC_LAST, k)].xyz);
    }
    let q = law_project(friction, ahead, ahead_motion, d.kept.x, scale);
    cwc_state[other] = vec4f(q, 0.0);
    cwc_state[cwc_plane(CWC_LAST, k)] = vec4f(u, 0.0);
    return vec4f(dot((ahead - q) * vec3f(scale.x, scale.yy), q - p), law_error(friction, p, u, scale), 0.0, 0.0);
}
