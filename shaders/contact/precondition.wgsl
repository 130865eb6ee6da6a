// Second kernel of a round, one thread a node: the new direction and what the preconditioner makes of B p; after a change, what it makes of
// the residual. Twins: `contact::cr::precondition`, and the end of the loop in `contact::cr::solve`.
#import lib/reduce.wgsl
#import lib/contact.wgsl
#import lib/node_points.wgsl

@group(0) @binding(2) var<storage, read> inverse_diagonals: array<Block>;
@group(0) @binding(3) var<storage, read_write> vectors: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn precondition(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let phase = reductions.control.phase;
    let rho = reduce_group(lane, reduce_slot(lane, SLOT_RHO)).x;
    let beta = select(rho / reductions.control.rho, 0.0, reductions.control.fresh != 0u);
    let idle = reductions.control.done != 0u || phase == PHASE_ADAPT;

    let n = params.n_nodes;
    var curvature = 0.0;
    for (var i = group.x * WORKGROUP + lane; i < select(n, 0u, idle); i += params.row_groups * WORKGROUP) {
        // Where no active contact bears on the node there is nothing to gather.
        let r = vectors[V_R * n + i];
        var spread = vec3f();
        if r.w > 0.0 {
            spread = node_gather(i, 0u).xyz;
        }
        if phase == PHASE_RESTART {
            let z = block_product(inverse_diagonals[i], r.xyz - spread);
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
        let c_b_p = block_product(inverse_diagonals[i], b_p - spread);
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
