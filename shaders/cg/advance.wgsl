// One thread a row: the step along p, the new residual and what the preconditioner makes of it, with partial sums of r.z and r.r.
// Twin: `sparse::conjugate_gradient`.
#import lib/reduce.wgsl
#import lib/parity.wgsl

@group(0) @binding(2) var<storage, read> inverse_diagonals: array<Block>;
@group(0) @binding(3) var<storage, read> p: array<vec4f>;
@group(0) @binding(4) var<storage, read> q: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> dv: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> residual: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> z: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn advance(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let share = shares[group.x];
    let body = share.body;
    let sums = reduce_group(lane, vec4f(reduce_slot(lane, share, SLOT_RESIDUAL + parity.now).x, reduce_slot(lane, share, SLOT_CURVATURE).x, 0.0, 0.0));
    let stuck = !(sums.y > 0.0);
    let alpha = select(sums.x / sums.y, 0.0, stuck);

    let done = reductions.controls[body].elastic_done != 0u;
    let n = select(share.end_node, 0u, done);
    var sum = vec4f();
    for (var i = share.first_node + share_first(lane, group.x, share); i < n; i += share_stride(share)) {
        dv[i] += alpha * p[i];
        let r = residual[i].xyz - alpha * q[i].xyz;
        residual[i] = vec4f(r, 0.0);
        let preconditioned = block_product(inverse_diagonals[i], r);
        z[i] = vec4f(preconditioned, 0.0);
        sum += vec4f(dot(r, preconditioned), dot(r, r), 0.0, 0.0);
    }
    sum = reduce_group(lane, sum);
    if lane == 0u && !done {
        reduce_store(SLOT_RESIDUAL + 1u - parity.now, group.x, sum);
        if group.x == 0u && stuck {
            reductions.controls[body].stuck = 1u;
        }
    }
}
