// One thread a surface point: where it is, for drawing and measuring. Twin: `Model::surface_positions`.
#import lib/params.wgsl

@group(0) @binding(1) var<storage, read> points: array<Point>;
@group(0) @binding(2) var<storage, read> displacements_hi: array<vec4f>;
@group(0) @binding(3) var<storage, read> displacements_lo: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> surface: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn skin(@builtin(global_invocation_id) id: vec3u) {
    let k = thread_index(id);
    if k >= params.n_points {
        return;
    }
    let point = points[k];
    var position = point.rest;
    for (var c = 0u; c < 4u; c++) {
        let node = point.nodes[c];
        position += point.weights[c] * (displacements_hi[node].xyz + displacements_lo[node].xyz);
    }
    surface[k] = vec4f(position, 1.0);
}
