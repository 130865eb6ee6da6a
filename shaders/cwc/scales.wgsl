// One thread a contact: the scales of its diagonal block of W, which takes the compliance of a joint, and the first
// vector of the power iteration. Twins: `contact::Scale`, `contact::dual::apgd`.
#import lib/cwc.wgsl

@group(0) @binding(2) var<storage, read_write> cwc_weights: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn scales(@builtin(global_invocation_id) id: vec3u) {
    let k = thread_index(id);
    if k >= cwc.n_contacts {
        return;
    }
    let row = cwc_rows[k];
    var diagonal = vec3f();
    var off = 0.0;
    for (var s = 0u; s < 2u; s++) {
        let side = row.sides[s];
        if side.n_members == 0u {
            continue;
        }
        let b = cwc_block(side.weights, side.own, side.own);
        if s == 0u || row.sides[0].n_members == 0u {
            cwc_weights[b] += row.compliance.x;
            cwc_weights[b + 4u] += row.compliance.y;
            cwc_weights[b + 8u] += row.compliance.z;
        }
        diagonal += vec3f(cwc_weights[b], cwc_weights[b + 4u], cwc_weights[b + 8u]);
        off += 0.5 * (cwc_weights[b + 5u] + cwc_weights[b + 7u]);
    }
    let half = 0.5 * (diagonal.y - diagonal.z);
    let tangential = 0.5 * (diagonal.y + diagonal.z) + sqrt(half * half + off * off);
    let scale = vec2f(diagonal.x, tangential);
    let inverse = select(vec2f(), 1.0 / scale, scale > vec2f(1e-18));
    cwc_state[cwc_plane(CWC_SCALE, k)] = vec4f(scale, inverse);
    let x = f32(k);
    // Not orthogonal to anything, and of the size of a force that moves by one metre.
    let probe = vec3f(1.0 + 0.3 * sin(x), 0.7 * cos(x), 0.5 * sin(2.0 * x)) * vec3f(inverse.x, inverse.yy);
    cwc_state[cwc_plane(CWC_PROBE, k)] = vec4f(probe, 0.0);
}
