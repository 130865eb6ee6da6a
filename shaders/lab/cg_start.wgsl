// One thread a block row: x = 0, r = b, u = D^-1 r, with partial sums of r.u and r.r. Twin: `lab::sparse::jacobi_cg`.
#import lib/lab.wgsl

@group(0) @binding(2) var<storage, read> inverse_diagonal: array<vec4f>;
@group(0) @binding(3) var<storage, read> b: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> u: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> p: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> s: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(8) var<storage, read_write> r: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn cg_start(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    var sum = vec4f();
    for (var i = group.x * WORKGROUP + lane; i < lab.n_rows; i += lab.groups * WORKGROUP) {
        let preconditioned = inverse_diagonal[i] * b[i];
        r[i] = b[i];
        u[i] = preconditioned;
        p[i] = vec4f();
        s[i] = vec4f();
        x[i] = vec4f();
        sum += vec4f(dot(b[i], preconditioned), dot(b[i], b[i]), 0.0, 0.0);
    }
    sum = reduce_group(lane, sum);
    if lane == 0u {
        lab_store(LAB_RESIDUAL, group.x, sum);
        if group.x == 0u {
            sums.controls[0] = LabControl();
        }
    }
}
