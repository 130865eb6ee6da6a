// Third kernel of a round, one thread a node and one a surface point: the step along p. Twin: the loop in `contact::cr::solve`.
#import lib/reduce.wgsl
#import lib/contact.wgsl
#import lib/occupied.wgsl
#import lib/float.wgsl

@group(0) @binding(2) var<storage, read_write> dv: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> vectors: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> point_vectors: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn move_along(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let share = shares[group.x];
    let body = share.body;
    let idle = contact_is_idle(body) || reductions.controls[body].phase != PHASE_NORMAL;
    let curvature = reduce_slot(lane, share, SLOT_CURVATURE).x + reduce_slot(lane, share, SLOT_CURVATURE_ROWS).x;
    let sums = reduce_group(lane, vec4f(reduce_slot(lane, share, SLOT_RHO).x, curvature, 0.0, 0.0));
    let ratio = sums.x / sums.y;
    let stuck = sums.y == 0.0 || !float_is_finite(ratio);
    let alpha = select(ratio, 0.0, stuck);

    let n = params.n_nodes;
    var residual2 = 0.0;
    for (var i = share.first_node + share_first(lane, group.x, share); i < select(share.end_node, 0u, idle); i += share_stride(share)) {
        dv[i] = vec4f(dv[i].xyz + alpha * vectors[V_P * n + i].xyz, 0.0);
        let r = vectors[V_R * n + i] - alpha * vec4f(vectors[V_B_P * n + i].xyz, 0.0);
        vectors[V_R * n + i] = r;
        let unbound = vectors[V_FREE * n + i].xyz - alpha * vectors[V_A_P * n + i].xyz;
        vectors[V_FREE * n + i] = vec4f(unbound, 0.0);
        vectors[V_Z * n + i] = vec4f(vectors[V_Z * n + i].xyz - alpha * vectors[V_C_B_P * n + i].xyz, 0.0);
        residual2 += dot(r.xyz, r.xyz);
    }
    var row_residual = 0.0;
    // Sum of mu lambda over the active contacts, and their number.
    var limits = vec2f();
    let end = select(share.end_point, 0u, idle);
    let stride = share_stride(share);
    var k = point_occupied_from(share.first_point + share_first(lane, group.x, share), end, stride);
    for (; k < end; k = point_occupied_from(k + stride, end, stride)) {
        var sum = vec3f();
        var touched = false;
        for (var s = 0u; s < params.n_slots; s++) {
            let j = k * params.n_slots + s;
            if contacts[j].status == EMPTY {
                continue;
            }
            let r = contacts[j].r - alpha * contacts[j].b_p;
            let z = contacts[j].z - alpha * contacts[j].c_b_p;
            contacts[j].multiplier += alpha * contacts[j].p;
            contacts[j].r = r;
            contacts[j].z = z;
            sum += contact_frame(contacts[j].normal) * contact_mask(contacts[j].status, z);
            row_residual = max(row_residual, max(abs(r.x), max(abs(r.y), abs(r.z))));
            touched = true;
            if contact_is_active(contacts[j].status) {
                limits += vec2f(contacts[j].friction * max(-contacts[j].multiplier.x, 0.0), 1.0);
            }
        }
        if touched {
            point_vectors[k] = vec4f(sum, 0.0);
        }
    }
    let total = reduce_group(lane, vec4f(residual2, limits, 0.0));
    let largest = reduce_group_max(lane, row_residual);
    if lane == 0u && !idle {
        reduce_store(SLOT_ROUND, group.x, vec4f(total.x, largest, total.y, total.z));
    }
    if !idle && share_leads(lane, group.x, share) {
        reductions.controls[body].rho = sums.x;
        reductions.controls[body].alpha = alpha;
        reductions.controls[body].stuck = select(0u, 1u, stuck);
        if !stuck {
            reductions.controls[body].contact_iterations += 1u;
            reductions.controls[body].since_evaluation += 1u;
        }
    }
}
