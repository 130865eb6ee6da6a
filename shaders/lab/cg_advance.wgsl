// One thread a block row, after the product w = A u: everything else of an iteration of the single-reduction form of
// conjugate gradients [Chronopoulos, Gear 1989], with partial sums of the new r.u and r.r. The other sum, u.w, comes
// from the product. Every workgroup finishes the sums for itself and comes to the same numbers. Twin:
// `lab::sparse::jacobi_cg`, whose iterates these are in exact arithmetic.
#import lib/lab.wgsl
#import lib/parity.wgsl
#import lib/float.wgsl

@group(0) @binding(2) var<storage, read> inverse_diagonal: array<vec4f>;
@group(0) @binding(3) var<storage, read> w: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> u: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> p: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> s: array<vec4f>; // A p
@group(0) @binding(7) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(8) var<storage, read_write> r: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn cg_advance(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let before = sums.controls[parity.now];
    let residual = lab_sum(lane, LAB_RESIDUAL + parity.now);
    let delta = lab_sum(lane, LAB_DOT).x;
    let beta = select(residual.x / before.gamma, 0.0, before.iterations == 0u);
    let curvature = select(delta - beta * residual.x / before.alpha, delta, before.iterations == 0u);
    let alpha = residual.x / curvature;
    let converged = float_is_finite(residual.y) && residual.y <= lab.target2;
    let stopped = converged || before.iterations >= lab.max_iterations || !(curvature > 0.0) || !float_is_finite(alpha);
    let done = before.done != 0u || stopped;

    let n = select(lab.n_rows, 0u, done);
    var sum = vec4f();
    for (var i = group.x * WORKGROUP + lane; i < n; i += lab.groups * WORKGROUP) {
        let direction = u[i] + beta * p[i];
        let image = w[i] + beta * s[i];
        p[i] = direction;
        s[i] = image;
        x[i] += alpha * direction;
        let left = r[i] - alpha * image;
        let preconditioned = inverse_diagonal[i] * left;
        r[i] = left;
        u[i] = preconditioned;
        sum += vec4f(dot(left, preconditioned), dot(left, left), 0.0, 0.0);
    }
    sum = reduce_group(lane, sum);
    if lane == 0u {
        lab_store(LAB_RESIDUAL + 1u - parity.now, group.x, sum);
        if group.x == 0u {
            var after = before;
            if before.done == 0u {
                after.done = select(0u, 1u, stopped);
                after.converged = select(0u, 1u, converged);
                after.residual2 = residual.y;
                after.iterations = before.iterations + select(1u, 0u, stopped);
                after.gamma = residual.x;
                after.alpha = alpha;
            }
            sums.controls[1u - parity.now] = after;
        }
    }
}
