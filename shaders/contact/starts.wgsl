// One thread a surface point: where it starts and how it would move. Twin: `solver::cpu::contacts::Detection::start`.
#import lib/points.wgsl

@group(0) @binding(2) var<storage, read> points: array<Point>;
@group(0) @binding(3) var<storage, read> displacements_hi: array<vec4f>;
@group(0) @binding(4) var<storage, read> displacements_lo: array<vec4f>;
@group(0) @binding(5) var<storage, read> velocities: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> point_starts: array<PointStart>;

@compute @workgroup_size(WORKGROUP)
fn starts(@builtin(global_invocation_id) id: vec3u) {
    let k = thread_index(id);
    if k >= params.n_points {
        return;
    }
    let point = points[k];
    var displacement = vec3f();
    var velocity = vec3f();
    for (var c = 0u; c < 4u; c++) {
        let node = point.nodes[c];
        displacement += point.weights[c] * (displacements_hi[node].xyz + displacements_lo[node].xyz);
        velocity += point.weights[c] * velocities[node].xyz;
    }
    point_starts[k] = PointStart(vec4f(point.rest + displacement, 1.0), vec4f(params.dt * velocity, 0.0));
}
