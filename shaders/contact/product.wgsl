// Last kernel of a round, one thread a node: B z for the next iteration; or, where contacts have changed, the residual for a restart.
// Decides what the next round does. Twins: `contact::cr::apply`, `restart`, and the loop in `contact::cr::solve`.
#import lib/reduce.wgsl
#import lib/contact.wgsl
#import lib/node_points.wgsl

@group(0) @binding(2) var<storage, read> pattern: array<u32>;
@group(0) @binding(3) var<storage, read> blocks: array<Block>;
@group(0) @binding(4) var<storage, read> grab_weights: array<vec4f>;
@group(0) @binding(5) var<storage, read> residual: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> vectors: array<vec4f>;

// What the springs of the grabs add to row i of A z.
fn grab_product(weights: vec4f) -> vec3f {
    var sum = vec3f();
    for (var k = 0u; k < params.n_grabs; k++) {
        if weights[k] != 0.0 {
            var value = vec3f();
            for (var j = 0u; j < 12u; j++) {
                let node = params.grabs[k].nodes[j / 4u][j % 4u];
                value += params.grabs[k].weights[j / 4u][j % 4u] * vectors[V_Z * params.n_nodes + node].xyz;
            }
            sum += params.grabs[k].factor * weights[k] * value;
        }
    }
    return sum;
}

@compute @workgroup_size(WORKGROUP)
fn product(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let share = shares[group.x];
    let body = share.body;
    let some = reduce_group_max(lane, reduce_slot_max(lane, share, SLOT_CHANGED));
    let phase = reductions.controls[body].phase;
    let action = reductions.controls[body].action;
    let done = contact_is_idle(body);
    let judged = action != ACTION_NONE && (phase == PHASE_NORMAL || phase == PHASE_ADAPT);
    let changed = phase == PHASE_ENTRY || (judged && some > 0.0);
    // Settled roughly: go on to the final bound with the same rows.
    let rough = reductions.controls[body].bound2 > reductions.controls[body].final2 && reductions.controls[body].stuck == 0u;
    let goes_on = phase == PHASE_ADAPT && !changed && rough;
    let ends = judged && !changed && action != ACTION_EVALUATE && !goes_on;
    let exhausted = phase == PHASE_NORMAL && !ends && reductions.controls[body].contact_iterations >= params.max_contact_iterations;
    // The loop takes over the residual of the elastic solve.
    let first = (phase == PHASE_ENTRY || phase == PHASE_ADAPT) && reductions.controls[body].contact_iterations == 0u;

    let n = params.n_nodes;
    let idle = done || exhausted || ends;
    var rho = 0.0;
    for (var i = share.first_node + share_first(lane, group.x, share); i < select(share.end_node, 0u, idle); i += share_stride(share)) {
        if changed {
            var unbound = vectors[V_FREE * n + i].xyz;
            if first {
                unbound = residual[i].xyz;
                vectors[V_FREE * n + i] = vec4f(unbound, 0.0);
            }
            let spread = node_gather(i, params.n_points);
            let r = unbound - spread.xyz;
            vectors[V_R * n + i] = vec4f(r, spread.w);
            // The next kernel wants to know |r|^2.
            rho += dot(r, r);
            continue;
        }
        var a_z = vec3f();
        let end = pattern[i + 1u];
        for (var b = pattern[i]; b < end; b++) {
            a_z += block_product(blocks[b], vectors[V_Z * n + pattern[n + 1u + b]].xyz);
        }
        if params.n_grabs > 0u {
            a_z += grab_product(grab_weights[i]);
        }
        var spread = vec3f();
        if vectors[V_R * n + i].w > 0.0 {
            spread = node_gather(i, 0u).xyz;
        }
        let z = vectors[V_Z * n + i].xyz;
        vectors[V_A_Z * n + i] = vec4f(a_z, 0.0);
        vectors[V_B_Z * n + i] = vec4f(a_z + spread, 0.0);
        // z.Bz over nodes and rows: the rows' part is that of L^T z_c once more.
        rho += dot(z, a_z + 2.0 * spread);
    }
    let total = reduce_group(lane, vec4f(rho, 0.0, 0.0, 0.0));
    if lane == 0u && !idle {
        reduce_store(SLOT_RHO, group.x, total);
    }

    if !done && share_leads(lane, group.x, share) {
        reductions.controls[body].rounds += 1u;
        if action == ACTION_EVALUATE && phase == PHASE_NORMAL {
            reductions.controls[body].since_evaluation = 0u;
        }
        if exhausted {
            reductions.controls[body].done = 1u;
            reductions.controls[body].converged = 0u;
        } else if changed {
            reductions.controls[body].next_phase = PHASE_RESTART;
            reductions.controls[body].since_evaluation = 0u;
            if phase == PHASE_NORMAL {
                reductions.controls[body].restarts += 1u;
            } else if phase == PHASE_ADAPT && reductions.controls[body].rounds > 1u {
                reductions.controls[body].restarts += 1u;
                reductions.controls[body].relinearisations += 1u;
            }
        } else if ends {
            // A converged state whose contacts stay: look at the geometry; after that there is nothing left to do.
            reductions.controls[body].next_phase = PHASE_ADAPT;
            reductions.controls[body].done = select(0u, 1u, phase == PHASE_ADAPT);
        } else {
            reductions.controls[body].next_phase = PHASE_NORMAL;
            reductions.controls[body].fresh = select(0u, 1u, phase == PHASE_RESTART);
            reductions.controls[body].lower_bound = select(0u, 1u, goes_on);
        }
    }
}
