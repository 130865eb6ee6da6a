// One thread a row: r = b - A x for the start value x, with partial sums of |r|^2 and |b|^2.
// Twin: the start of `sparse::conjugate_gradient`.
#import lib/reduce.wgsl

@group(0) @binding(2) var<storage, read> pattern: array<u32>;
@group(0) @binding(3) var<storage, read> blocks: array<Block>;
@group(0) @binding(4) var<storage, read> grab_weights: array<vec4f>;
@group(0) @binding(5) var<storage, read> rhs: array<vec4f>;
@group(0) @binding(6) var<storage, read> dv: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> residual: array<vec4f>;

// What the springs of the grabs add to row i of A dv.
fn grab_product(weights: vec4f) -> vec3f {
    var sum = vec3f();
    for (var k = 0u; k < params.n_grabs; k++) {
        if weights[k] != 0.0 {
            var value = vec3f();
            for (var j = 0u; j < 12u; j++) {
                value += params.grabs[k].weights[j / 4u][j % 4u] * dv[params.grabs[k].nodes[j / 4u][j % 4u]].xyz;
            }
            sum += params.grabs[k].factor * weights[k] * value;
        }
    }
    return sum;
}

@compute @workgroup_size(WORKGROUP)
fn residual_start(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    var sum = vec4f();
    for (var i = group.x * WORKGROUP + lane; i < params.n_nodes; i += params.row_groups * WORKGROUP) {
        var product = vec3f();
        let end = pattern[i + 1u];
        for (var b = pattern[i]; b < end; b++) {
            product += block_product(blocks[b], dv[pattern[params.n_nodes + 1u + b]].xyz);
        }
        if params.n_grabs > 0u {
            product += grab_product(grab_weights[i]);
        }
        let target_value = rhs[i].xyz;
        let r = target_value - product;
        residual[i] = vec4f(r, 0.0);
        sum += vec4f(dot(r, r), dot(target_value, target_value), 0.0, 0.0);
    }
    sum = reduce_group(lane, sum);
    if lane == 0u {
        reduce_store(SLOT_START, group.x, sum);
    }
}
