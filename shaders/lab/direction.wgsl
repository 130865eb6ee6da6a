// One of several devices, one thread a block row: v = D^-1 r + s v, the own slice of the direction. Twin:
// `lab::sparse::direction`.
#import lib/lab.wgsl

@group(0) @binding(2) var<storage, read> inverse_diagonal: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> v: array<vec4f>; // of all devices
@group(0) @binding(4) var<storage, read> r: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> own: array<vec4f>; // for the host

@compute @workgroup_size(WORKGROUP)
fn direction(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    for (var i = group.x * WORKGROUP + lane; i < lab.n_rows; i += lab.groups * WORKGROUP) {
        let value = inverse_diagonal[i] * r[i] + lab.factor * v[lab.first_row + i];
        v[lab.first_row + i] = value;
        own[i] = value;
    }
}
