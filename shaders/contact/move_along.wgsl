// Third kernel of a round, one thread a node and one a surface point: the step along p. Twin: the loop in `contact::cr::solve`.
#import lib/reduce.wgsl
#import lib/contact.wgsl
#import lib/float.wgsl

@group(0) @binding(2) var<storage, read_write> dv: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> vectors: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> contacts: array<Contact>;
@group(0) @binding(5) var<storage, read_write> point_vectors: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn move_along(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let idle = reductions.control.done != 0u || reductions.control.phase != PHASE_NORMAL;
    let curvature = reduce_slot(lane, SLOT_CURVATURE).x + reduce_slot(lane, SLOT_CURVATURE_ROWS).x;
    let sums = reduce_group(lane, vec4f(reduce_slot(lane, SLOT_RHO).x, curvature, 0.0, 0.0));
    let ratio = sums.x / sums.y;
    let stuck = sums.y == 0.0 || !float_is_finite(ratio);
    let alpha = select(ratio, 0.0, stuck);

    let n = params.n_nodes;
    var residual2 = 0.0;
    for (var i = group.x * WORKGROUP + lane; i < select(n, 0u, idle); i += params.row_groups * WORKGROUP) {
        dv[i] = vec4f(dv[i].xyz + alpha * vectors[V_P * n + i].xyz, 0.0);
        let r = vectors[V_R * n + i] - alpha * vec4f(vectors[V_B_P * n + i].xyz, 0.0);
        vectors[V_R * n + i] = r;
        let unbound = vectors[V_FREE * n + i].xyz - alpha * vectors[V_A_P * n + i].xyz;
        vectors[V_FREE * n + i] = vec4f(unbound, 0.0);
        vectors[V_Z * n + i] = vec4f(vectors[V_Z * n + i].xyz - alpha * vectors[V_C_B_P * n + i].xyz, 0.0);
        residual2 += dot(r.xyz, r.xyz);
    }
    var row_residual = 0.0;
    for (var k = group.x * WORKGROUP + lane; k < select(params.n_points, 0u, idle); k += params.row_groups * WORKGROUP) {
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
        }
        if touched {
            point_vectors[k] = vec4f(sum, 0.0);
        }
    }
    let total = reduce_group(lane, vec4f(residual2, 0.0, 0.0, 0.0)).x;
    let largest = reduce_group_max(lane, row_residual);
    if lane == 0u && !idle {
        reduce_store(SLOT_ROUND, group.x, vec4f(total, largest, 0.0, 0.0));
    }
    if lane == 0u && group.x == 0u && !idle {
        reductions.control.rho = sums.x;
        reductions.control.alpha = alpha;
        reductions.control.stuck = select(0u, 1u, stuck);
        if !stuck {
            reductions.control.contact_iterations += 1u;
            reductions.control.since_evaluation += 1u;
        }
    }
}
