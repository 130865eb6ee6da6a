// One workgroup four contacts: an iteration for the largest eigenvalue of D^-1 W, with the sums x.Wx and x.Dx. The
// vectors grow by less than 100 in each of the few iterations, and are not normalised. Twin:
// `contact::dual::apgd::largest_eigenvalue`.
#import lib/cwc_sums.wgsl
#import lib/parity.wgsl

@compute @workgroup_size(WORKGROUP)
fn probe_eigenvalue(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
    let group = cwc_group(id.x);
    let k = group.first + lane / CWC_LANES;
    var part = vec3f();
    if k < group.end {
        part = cwc_product(k, lane % CWC_LANES, CWC_LANES, CWC_PROBE + parity.now);
    }
    let image = cwc_add(lane, vec4f(part, 0.0)).xyz;
    var sums = vec4f();
    if k < group.end && lane % CWC_LANES == 0u {
        let scale = cwc_state[cwc_plane(CWC_SCALE, k)];
        let x = cwc_state[cwc_plane(CWC_PROBE + parity.now, k)].xyz;
        cwc_state[cwc_plane(CWC_PROBE + 1u - parity.now, k)] = vec4f(image * vec3f(scale.z, scale.ww), 0.0);
        sums = vec4f(dot(x, image), 0.0, dot(x, x * vec3f(scale.x, scale.yy)), 0.0);
    }
    sums = cwc_join(lane, sums);
    if lane == 0u {
        cwc_state[cwc_sum(CWC_SUM_PROBE, id.x)] = sums;
    }
}
