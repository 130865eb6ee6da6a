// One thread a mesh edge (i, j): gathers the matrix block (i, j) from the tets that share the edge, and writes it and
// its transpose. Formula and source: `elastic::edge_block`.
#import lib/params.wgsl
#import lib/mat3.wgsl

@group(0) @binding(1) var<storage, read> edge_starts: array<u32>;
@group(0) @binding(2) var<storage, read> edge_tets: array<u32>;
@group(0) @binding(3) var<storage, read> edge_places: array<vec2u>;
@group(0) @binding(4) var<storage, read> corner_gradients: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> blocks: array<Block>;

@compute @workgroup_size(WORKGROUP)
fn edge_blocks(@builtin(global_invocation_id) id: vec3u) {
    let e = thread_index(id);
    if e >= params.n_edges {
        return;
    }
    var sum = mat3x3f();
    for (var k = edge_starts[e]; k < edge_starts[e + 1u]; k++) {
        let item = edge_tets[k];
        let first = (item >> 4u) * 4u;
        let a = corner_gradients[first + ((item >> 2u) & 3u)];
        let b = corner_gradients[first + (item & 3u)];
        let outer = mat3_outer(a.xyz, b.xyz);
        sum += a.w * outer + transpose(outer) + mat3_diagonal(dot(a.xyz, b.xyz));
    }
    let place = edge_places[e];
    let rows = transpose(sum);
    blocks[place.x] = Block(vec4f(rows[0], 0.0), vec4f(rows[1], 0.0), vec4f(rows[2], 0.0));
    blocks[place.y] = Block(vec4f(sum[0], 0.0), vec4f(sum[1], 0.0), vec4f(sum[2], 0.0));
}
