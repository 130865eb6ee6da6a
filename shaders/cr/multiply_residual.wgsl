// Last kernel of a round, one thread an unknown: B z for the next iteration; or, where contacts have changed, the residual for a restart: a changed state costs no
// product with A. Decides what the next round does. Twins: `contact::cr::apply`, `restart`, and the loop in `contact::cr::solve`.
#import lib/cr.wgsl
#import host/pattern

@group(0) @binding(2) var<storage, read> pattern: array<u32>;
@group(0) @binding(3) var<storage, read> blocks: array<Block>;
@group(0) @binding(4) var<storage, read> grab_weights: array<vec4f>;

// What the springs of the grabs add to a row of A z.
fn grab_product(weights: vec4f) -> vec3f {
    var sum = vec3f();
    for (var k = 0u; k < params.n_grabs; k++) {
        if weights[k] != 0.0 {
            var value = vec3f();
            for (var j = 0u; j < 12u; j++) {
                let node = params.grabs[k].nodes[j / 4u][j % 4u];
                value += params.grabs[k].weights[j / 4u][j % 4u] * cr_vectors[cr_vector(CR_Z, node)].xyz;
            }
            sum += params.grabs[k].factor * weights[k] * value;
        }
    }
    return sum;
}

// Row u of A z.
fn product_row(u: u32) -> vec3f {
    if u >= params.n_nodes {
        return cr_rigid(u, 0u) * cr_vectors[cr_vector(CR_Z, u)].xyz;
    }
    var sum = vec3f();
    let end = row_start(u + 1u);
    for (var b = row_start(u); b < end; b++) {
        sum += block_product(blocks[b], cr_vectors[cr_vector(CR_Z, block_column(b))].xyz);
    }
    if params.n_grabs > 0u {
        sum += grab_product(grab_weights[u]);
    }
    return sum;
}

@compute @workgroup_size(WORKGROUP)
fn multiply_residual(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let i = cr_island_of(group.x);
    let island = cr_island(i);
    let some = reduce_group_max(lane, cr_part_max(lane, island, CR_SUM_CHANGED));
    let phase = cr_controls[i].phase;
    let action = cr_controls[i].action;
    let done = cr_controls[i].done != 0u;
    let changed = phase == PHASE_ENTRY || (action != ACTION_NONE && some > 0.0);
    let ends = action == ACTION_FORCED && !changed;
    let exhausted = phase == PHASE_NORMAL && !ends && cr_controls[i].iterations >= params.max_contact_iterations;

    // z.Bz over unknowns and rows: the rows' part is that of L^T z_c once more, less z.Sz.
    var rho = 0.0;
    if !changed && lane == 0u {
        rho = -cwc_state[cr.sums + CR_SUM_ROWS * cr.n_groups + group.x].y;
    }
    let idle = done || exhausted || ends;
    let end = select(island.end_unknown, 0u, idle);
    for (var u = island.first_unknown + cr_first(lane, group.x, island); u < end; u += cr_stride(island)) {
        let place = cr_vectors[cr_vector(CR_R, u)].w;
        var spread = vec4f();
        if place > 0.0 {
            spread = cr_gather(u32(place) - 1u, select(CR_SPREAD, CR_FORCE, changed));
        }
        if changed {
            let r = cr_vectors[cr_vector(CR_FREE, u)].xyz - spread.xyz;
            cr_vectors[cr_vector(CR_R, u)] = vec4f(r, place);
            if place > 0.0 {
                cwc_state[cr.loads + u32(place) - 1u] = vec4f(spread.w, 0.0, 0.0, 0.0);
            }
            // The next kernel wants to know |r|^2.
            rho += dot(r, r);
            continue;
        }
        let a_z = product_row(u);
        cr_vectors[cr_vector(CR_A_Z, u)] = vec4f(a_z, 0.0);
        cr_vectors[cr_vector(CR_B_Z, u)] = vec4f(a_z + spread.xyz, 0.0);
        rho += dot(cr_vectors[cr_vector(CR_Z, u)].xyz, a_z + 2.0 * spread.xyz);
    }
    let total = reduce_group(lane, vec4f(rho, 0.0, 0.0, 0.0));
    if lane == 0u && !idle {
        cr_store(CR_SUM_RHO, group.x, total);
    }
    if done || !cr_leads(lane, group.x, island) {
        return;
    }
    if ends || exhausted {
        cr_controls[i].done = 1u;
        cr_controls[i].is_exhausted = select(0u, 1u, exhausted);
        cr_controls[i].converged = select(cr_controls[i].converged, 0u, exhausted);
        return;
    }
    if changed || action != ACTION_NONE {
        cr_controls[i].since_evaluation = 0u;
    }
    if phase == PHASE_RESTART {
        cr_controls[i].error_after_restart = cr_controls[i].error;
    }
    cr_controls[i].restarts += select(0u, 1u, changed && phase == PHASE_NORMAL);
    cr_controls[i].next_phase = select(PHASE_NORMAL, PHASE_RESTART, changed);
    cr_controls[i].fresh = select(0u, 1u, phase == PHASE_RESTART);
}
