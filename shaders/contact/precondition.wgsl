// Second kernel of a round, one thread a node: the new direction and what the preconditioner makes of B p; after a change, what it makes of
// the residual. Twins: `contact::cr::precondition`, and the end of the loop in `contact::cr::solve`.
#import lib/reduce.wgsl
#import lib/contact.wgsl
#import lib/preconditioner.wgsl
#import lib/node_points.wgsl

@group(0) @binding(3) var<storage, read_write> vectors: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn precondition(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let share = shares[group.x];
    let body = share.body;
    let phase = reductions.controls[body].phase;
    let rho = reduce_group(lane, reduce_slot(lane, share, SLOT_RHO)).x;
    let beta = select(rho / reductions.controls[body].rho, 0.0, reductions.controls[body].fresh != 0u);
    let idle = contact_is_idle(body) || (phase != PHASE_NORMAL && phase != PHASE_RESTART);

    let n = params.n_nodes;
    var curvature = 0.0;
    for (var i = share.first_node + share_first(lane, group.x, share); i < select(share.end_node, 0u, idle); i += share_stride(share)) {
        // Where no active contact bears on the node there is nothing to gather.
        let r = vectors[V_R * n + i];
        var spread = vec3f();
        if r.w > 0.0 {
            spread = node_gather(i, 0u).xyz;
        }
        if phase == PHASE_RESTART {
            let z = block_product(inverse_diagonal(i), r.xyz - spread);
            vectors[V_Z * n + i] = vec4f(z, 0.0);
            continue;
        }
        var p = vectors[V_Z * n + i].xyz;
        var b_p = vectors[V_B_Z * n + i].xyz;
        var a_p = vectors[V_A_Z * n + i].xyz;
        if beta != 0.0 {
            p += beta * vectors[V_P * n + i].xyz;
            b_p += beta * vectors[V_B_P * n + i].xyz;
            a_p += beta * vectors[V_A_P * n + i].xyz;
        }
        let c_b_p = block_product(inverse_diagonal(i), b_p - spread);
        vectors[V_P * n + i] = vec4f(p, 0.0);
        vectors[V_B_P * n + i] = vec4f(b_p, 0.0);
        vectors[V_A_P * n + i] = vec4f(a_p, 0.0);
        vectors[V_C_B_P * n + i] = vec4f(c_b_p, 0.0);
        curvature += dot(b_p, c_b_p);
    }
    let total = reduce_group(lane, vec4f(curvature, 0.0, 0.0, 0.0));
    if lane == 0u {
        reduce_store(SLOT_CURVATURE, group.x, total);
    }
}
