// One thread a row: keeps the start value if it is better than zero, and prepares the first iteration. With contacts from the last step
// the start value is kept and the contact loop solves for both.
// Twin: the start of `sparse::conjugate_gradient`, and `solver::cpu::driving_impulse`.
#import lib/reduce.wgsl

@group(0) @binding(2) var<storage, read> rhs: array<vec4f>;
@group(0) @binding(3) var<storage, read> inverse_diagonals: array<Block>;
@group(0) @binding(4) var<storage, read_write> dv: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> residual: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> z: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn start(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let share = shares[group.x];
    let body = share.body;
    let norms = reduce_group(lane, vec4f(reduce_slot(lane, share, SLOT_START).xy, reduce_slot(lane, share, SLOT_SCALE).xy));
    let keep = norms.x < norms.y || reductions.controls[body].remembered != 0u;
    var sum = vec4f();
    for (var i = share.first_node + share_first(lane, group.x, share); i < share.end_node; i += share_stride(share)) {
        var r = residual[i].xyz;
        if !keep {
            r = rhs[i].xyz;
            residual[i] = vec4f(r, 0.0);
            dv[i] = vec4f();
        }
        let preconditioned = block_product(inverse_diagonals[i], r);
        z[i] = vec4f(preconditioned, 0.0);
        sum += vec4f(dot(r, preconditioned), dot(r, r), 0.0, 0.0);
    }
    sum = reduce_group(lane, sum);
    if lane == 0u {
        reduce_store(SLOT_RESIDUAL, group.x, sum);
        // No direction before the first.
        reduce_store(SLOT_RESIDUAL + 1u, group.x, vec4f());
    }
    if share_leads(lane, group.x, share) {
        var scale = reductions.controls[body].scale;
        if scale == 0.0 {
            scale = 0.01 * sqrt(norms.z) + params.dt * sqrt(norms.w);
        }
        scale = max(scale, reductions.controls[body].least_scale);
        let bound = params.tolerance * scale;
        reductions.controls[body].scale = scale;
        reductions.controls[body].target2 = bound * bound;
    }
}
