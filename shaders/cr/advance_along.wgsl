// Third kernel of a round, one thread an unknown and one a contact: the step along p. Twin: the loop in `contact::cr::solve`.
#import lib/cr.wgsl

@group(0) @binding(2) var<storage, read_write> dv: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn advance_along(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let i = cr_island_of(group.x);
    let island = cr_island(i);
    let idle = cr_controls[i].done != 0u;
    let curvature = cr_part(lane, island, CR_SUM_CURVATURE).x + cr_part(lane, island, CR_SUM_CURVATURE_ROWS).x;
    let sums = reduce_group(lane, vec4f(cr_part(lane, island, CR_SUM_RHO).x, curvature, 0.0, 0.0));
    let ratio = sums.x / sums.y;
    let is_step = cr_controls[i].phase == PHASE_NORMAL;
    let stuck = is_step && (sums.y == 0.0 || !float_is_finite(ratio));
    let moves = is_step && !stuck;
    let alpha = select(0.0, ratio, moves);

    var residual2 = 0.0;
    let end = select(island.end_unknown, 0u, idle);
    for (var u = island.first_unknown + cr_first(lane, group.x, island); u < end; u += cr_stride(island)) {
        var r = cr_vectors[cr_vector(CR_R, u)];
        if moves {
            dv[u] = vec4f(dv[u].xyz + alpha * cr_vectors[cr_vector(CR_P, u)].xyz, 0.0);
            r -= alpha * vec4f(cr_vectors[cr_vector(CR_B_P, u)].xyz, 0.0);
            cr_vectors[cr_vector(CR_R, u)] = r;
            let unbound = cr_vectors[cr_vector(CR_FREE, u)].xyz - alpha * cr_vectors[cr_vector(CR_A_P, u)].xyz;
            cr_vectors[cr_vector(CR_FREE, u)] = vec4f(unbound, 0.0);
            let z = cr_vectors[cr_vector(CR_Z, u)].xyz - alpha * cr_vectors[cr_vector(CR_C_B_P, u)].xyz;
            cr_vectors[cr_vector(CR_Z, u)] = vec4f(z, 0.0);
        }
        residual2 += dot(r.xyz, r.xyz);
    }
    var row_residual = 0.0;
    var limits = vec2f();
    var rows = vec4f();
    let end_contact = select(island.end_contact, 0u, idle);
    for (var k = island.first_contact + cr_first(lane, group.x, island); k < end_contact; k += cr_stride(island)) {
        var c = cr_contact(k);
        var r = cwc_state[cr_plane(CR_ROW_R, k)].xyz;
        var z = cwc_state[cr_plane(CR_ROW_Z, k)].xyz;
        if moves {
            c.multiplier += alpha * cwc_state[cr_plane(CR_ROW_P, k)].xyz;
            r -= alpha * cwc_state[cr_plane(CR_ROW_B_P, k)].xyz;
            z -= alpha * cwc_state[cr_plane(CR_ROW_C_B_P, k)].xyz;
            cwc_state[cr_plane(CR_MULTIPLIER, k)] = vec4f(c.multiplier, 0.0);
            cwc_state[cr_plane(CR_ROW_R, k)] = vec4f(r, 0.0);
            cwc_state[cr_plane(CR_ROW_Z, k)] = vec4f(z, 0.0);
        }
        cwc_state[cr_plane(CR_SPREAD, k)] = vec4f(cr_turn_back(c, z), 0.0);
        let size = abs(r);
        row_residual = max(row_residual, max(size.x, max(size.y, size.z)));
        if c.status != INACTIVE {
            rows += vec4f(1.0, dot(z, cr_row_compliance(c) * z), 0.0, 0.0);
            if !cr_is_spring(c) {
                limits += vec2f(c.compliance.w * max(-c.multiplier.x, 0.0), 1.0);
            }
        }
    }
    let total = reduce_group(lane, vec4f(residual2, 0.0, limits));
    let largest = reduce_group_max(lane, row_residual);
    rows = reduce_group(lane, rows);
    if lane == 0u && !idle {
        cr_store(CR_SUM_ROUND, group.x, vec4f(total.x, largest, total.zw));
        cr_store(CR_SUM_ROWS, group.x, rows);
    }
    if !idle && is_step && cr_leads(lane, group.x, island) {
        cr_controls[i].rho = sums.x;
        cr_controls[i].alpha = alpha;
        cr_controls[i].stuck = select(0u, 1u, stuck);
        cr_controls[i].iterations += select(0u, 1u, moves);
        cr_controls[i].since_evaluation += select(0u, 1u, moves);
    }
}
