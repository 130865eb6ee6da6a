// One thread a row: p = z + beta p, q = A p, with partial sums of p.q. The directions of the neighbours are formed on the fly, from the
// same numbers that their own threads use. Ends the loop where the residual is small enough. Twin: `sparse::conjugate_gradient`.
#import lib/reduce.wgsl
#import lib/parity.wgsl
#import lib/float.wgsl

@group(0) @binding(2) var<storage, read> pattern: array<u32>;
@group(0) @binding(3) var<storage, read> blocks: array<Block>;
@group(0) @binding(4) var<storage, read> grab_weights: array<vec4f>;
@group(0) @binding(5) var<storage, read> z: array<vec4f>;
@group(0) @binding(6) var<storage, read> p_before: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> p: array<vec4f>;
@group(0) @binding(8) var<storage, read_write> q: array<vec4f>;

fn new_direction(i: u32, beta: f32) -> vec3f {
    return z[i].xyz + beta * p_before[i].xyz;
}

fn grab_product(weights: vec4f, beta: f32) -> vec3f {
    var sum = vec3f();
    for (var k = 0u; k < params.n_grabs; k++) {
        if weights[k] != 0.0 {
            var value = vec3f();
            for (var j = 0u; j < 12u; j++) {
                value += params.grabs[k].weights[j / 4u][j % 4u] * new_direction(params.grabs[k].nodes[j / 4u][j % 4u], beta);
            }
            sum += params.grabs[k].factor * weights[k] * value;
        }
    }
    return sum;
}

fn end_elastic_solve(body: u32) {
    reductions.controls[body].elastic_done = 1u;
    // Otherwise the contacts decide.
    reductions.controls[body].done = select(0u, 1u, params.n_obstacles == 0u);
}

@compute @workgroup_size(WORKGROUP)
fn direction(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let share = shares[group.x];
    let body = share.body;
    let now = reduce_slot(lane, share, SLOT_RESIDUAL + parity.now);
    let before = reduce_slot(lane, share, SLOT_RESIDUAL + 1u - parity.now);
    let norms = reduce_group(lane, vec4f(now.x, now.y, before.x, 0.0));
    let beta = select(norms.x / norms.z, 0.0, norms.z == 0.0);
    let is_fixed = params.fixed_iterations != 0u;
    let converged = !is_fixed && float_is_finite(norms.y) && norms.y <= reductions.controls[body].target2;

    let n = select(share.end_node, 0u, converged || reductions.controls[body].elastic_done != 0u);
    var curvature = 0.0;
    for (var i = share.first_node + share_first(lane, group.x, share); i < n; i += share_stride(share)) {
        let own = new_direction(i, beta);
        p[i] = vec4f(own, 0.0);
        var product = vec3f();
        let end = pattern[i + 1u];
        for (var b = pattern[i]; b < end; b++) {
            product += block_product(blocks[b], new_direction(pattern[params.n_nodes + 1u + b], beta));
        }
        if params.n_grabs > 0u {
            product += grab_product(grab_weights[i], beta);
        }
        q[i] = vec4f(product, 0.0);
        curvature += dot(own, product);
    }
    let sum = reduce_group(lane, vec4f(curvature, 0.0, 0.0, 0.0));
    if lane == 0u {
        reduce_store(SLOT_CURVATURE, group.x, sum);
    }
    // Only this thread reads or writes these; once the loop is over they stay, whatever runs until the next gate.
    if share_leads(lane, group.x, share) && reductions.controls[body].elastic_done == 0u {
        reductions.controls[body].residual2 = norms.y;
        if converged {
            reductions.controls[body].converged = 1u;
            end_elastic_solve(body);
        } else if is_fixed && reductions.controls[body].iterations >= params.fixed_iterations {
            reductions.controls[body].converged = 1u;
            end_elastic_solve(body);
        } else if (!is_fixed && reductions.controls[body].iterations >= params.max_iterations) || reductions.controls[body].stuck != 0u || !float_is_finite(norms.y) {
            end_elastic_solve(body);
        } else {
            reductions.controls[body].iterations += 1u;
        }
    }
}
