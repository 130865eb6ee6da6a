// One of several devices, one thread a block row: x += t v, r -= t u, with partial sums of r.z and r.r. Twin:
// `lab::sparse::advance`.
#import lib/lab.wgsl

@group(0) @binding(2) var<storage, read> inverse_diagonal: array<vec4f>;
@group(0) @binding(3) var<storage, read> v: array<vec4f>; // of all devices
@group(0) @binding(4) var<storage, read> u: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> r: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn advance(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    var sum = vec4f();
    for (var i = group.x * WORKGROUP + lane; i < lab.n_rows; i += lab.groups * WORKGROUP) {
        x[i] += lab.factor * v[lab.first_row + i];
        let left = r[i] - lab.factor * u[i];
        r[i] = left;
        sum += vec4f(dot(left, inverse_diagonal[i] * left), dot(left, left), 0.0, 0.0);
    }
    sum = reduce_group(lane, sum);
    if lane == 0u {
        lab_store(LAB_RESIDUAL, group.x, sum);
    }
}
