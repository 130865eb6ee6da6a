#import lib/params.wgsl
// The surface points that touch a node. Entries 0 to n_nodes: where its list starts, in x; then the lists: point, and weight as bits.
// Fixed nodes have none: nothing acts on them.
@group(0) @binding(14) var<storage, read> node_points: array<vec2u>;
// World-frame sums over the contacts of a point: of t or z, and from n_points on of the forces, with the number of active ones.
@group(0) @binding(13) var<storage, read_write> point_vectors: array<vec4f>;

// dt H^T of what stands at `first` in `point_vectors`; w: the sum of |weight| times w.
fn node_gather(i: u32, first: u32) -> vec4f {
    var sum = vec4f();
    for (var l = node_points[i].x; l < node_points[i + 1u].x; l++) {
        let entry = node_points[params.n_nodes + 1u + l];
        let weight = bitcast<f32>(entry.y);
        let value = point_vectors[first + entry.x];
        sum += vec4f(params.dt * weight * value.xyz, abs(weight) * value.w);
    }
    return sum;
}
