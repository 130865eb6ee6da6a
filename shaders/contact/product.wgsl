// Last kernel of a round, one thread a node: B z for the next iteration; or, where contacts have changed, the residual for a restart.
// Decides what the next round does. Twins: `contact::cr::apply`, `restart`, and the loop in `contact::cr::solve`.
#import lib/reduce.wgsl
#import lib/contact.wgsl
#import lib/node_points.wgsl

@group(0) @binding(2) var<storage, read> pattern: array<u32>;
@group(0) @binding(3) var<storage, read> blocks: array<Block>;
@group(0) @binding(4) var<storage, read> grab_weights: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> vectors: array<vec4f>;

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
    let some = reduce_group_max(lane, reduce_slot_max(lane, SLOT_CHANGED));
    let phase = reductions.control.phase;
    let action = reductions.control.action;
    let done = reductions.control.done != 0u;
    let judged = action != ACTION_NONE && (phase == PHASE_NORMAL || phase == PHASE_ADAPT);
    let changed = phase == PHASE_ENTRY || (judged && some > 0.0);
    let ends = judged && !changed && action != ACTION_EVALUATE;
    let exhausted = phase == PHASE_NORMAL && !ends && reductions.control.contact_iterations >= params.max_contact_iterations;

    let n = params.n_nodes;
    let idle = done || exhausted || ends;
    var rho = 0.0;
    for (var i = group.x * WORKGROUP + lane; i < select(n, 0u, idle); i += params.row_groups * WORKGROUP) {
        if changed {
            let spread = node_gather(i, params.n_points);
            vectors[V_R * n + i] = vec4f(vectors[V_FREE * n + i].xyz - spread.xyz, spread.w);
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
    if lane == 0u && !idle && !changed {
        reduce_store(SLOT_RHO, group.x, total);
    }

    if lane == 0u && group.x == 0u && !done {
        reductions.control.rounds += 1u;
        if action == ACTION_EVALUATE && phase == PHASE_NORMAL {
            reductions.control.since_evaluation = 0u;
        }
        if phase == PHASE_ADAPT {
            reductions.control.adaptations += 1u;
        }
        if exhausted {
            reductions.control.done = 1u;
            reductions.control.converged = 0u;
        } else if changed {
            reductions.control.next_phase = PHASE_RESTART;
            reductions.control.since_evaluation = 0u;
            if phase == PHASE_NORMAL {
                reductions.control.restarts += 1u;
            } else if phase == PHASE_ADAPT && reductions.control.rounds > 1u {
                reductions.control.restarts += 1u;
                reductions.control.relinearisations += 1u;
            }
        } else if ends {
            // A converged state whose contacts stay: look at the geometry; after that there is nothing left to do.
            reductions.control.next_phase = PHASE_ADAPT;
            reductions.control.done = select(0u, 1u, phase == PHASE_ADAPT);
        } else {
            reductions.control.next_phase = PHASE_NORMAL;
            reductions.control.fresh = select(0u, 1u, phase == PHASE_RESTART);
        }
    }
}
