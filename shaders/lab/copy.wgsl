// One thread after the other takes the next element: y = x. What the other kernels are held against.
#import lib/lab.wgsl

@group(0) @binding(2) var<storage, read> x: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn copy(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    for (var i = group.x * WORKGROUP + lane; i < lab.n_rows; i += lab.groups * WORKGROUP) {
        y[i] = x[i];
    }
}
