// Second kernel of a round, one thread an unknown: the new direction and what the preconditioner makes of B p; after a change, what it makes of the residual.
// Twins: `contact::cr::precondition`, and the end of the loop in `contact::cr::solve`.
#import lib/cr.wgsl
#import lib/preconditioner.wgsl

fn inverse_product(unknown: u32, v: vec3f) -> vec3f {
    if unknown >= params.n_nodes {
        return cr_rigid(unknown, 1u) * v;
    }
    return block_product(inverse_diagonal(unknown), v);
}

@compute @workgroup_size(WORKGROUP)
fn precondition(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let i = cr_island_of(group.x);
    let island = cr_island(i);
    let phase = cr_controls[i].phase;
    let beta = cr_beta(i, reduce_group(lane, cr_part(lane, island, CR_SUM_RHO)).x);
    let idle = cr_controls[i].done != 0u;

    var curvature = 0.0;
    let end = select(island.end_unknown, 0u, idle);
    for (var u = island.first_unknown + cr_first(lane, group.x, island); u < end; u += cr_stride(island)) {
        let r = cr_vectors[cr_vector(CR_R, u)];
        var spread = vec3f();
        if r.w > 0.0 {
            spread = cr_gather(u32(r.w) - 1u, CR_SPREAD).xyz;
        }
        if phase == PHASE_RESTART {
            cr_vectors[cr_vector(CR_Z, u)] = vec4f(inverse_product(u, r.xyz - spread), 0.0);
            continue;
        }
        var p = cr_vectors[cr_vector(CR_Z, u)].xyz;
        var b_p = cr_vectors[cr_vector(CR_B_Z, u)].xyz;
        var a_p = cr_vectors[cr_vector(CR_A_Z, u)].xyz;
        if beta != 0.0 {
            p += beta * cr_vectors[cr_vector(CR_P, u)].xyz;
            b_p += beta * cr_vectors[cr_vector(CR_B_P, u)].xyz;
            a_p += beta * cr_vectors[cr_vector(CR_A_P, u)].xyz;
        }
        let c_b_p = inverse_product(u, b_p - spread);
        cr_vectors[cr_vector(CR_P, u)] = vec4f(p, 0.0);
        cr_vectors[cr_vector(CR_B_P, u)] = vec4f(b_p, 0.0);
        cr_vectors[cr_vector(CR_A_P, u)] = vec4f(a_p, 0.0);
        cr_vectors[cr_vector(CR_C_B_P, u)] = vec4f(c_b_p, 0.0);
        curvature += dot(b_p, c_b_p);
    }
    let total = reduce_group(lane, vec4f(curvature, 0.0, 0.0, 0.0));
    if lane == 0u && !idle {
        cr_store(CR_SUM_CURVATURE, group.x, total);
    }
}
