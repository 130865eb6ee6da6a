// One thread a mesh edge (i, j): gathers the matrix block (i, j) from the tets or patches that share the edge, and
// writes it and its transpose. Formula and source: `elastic::edge_block`.
#import lib/params.wgsl
#import lib/mat3.wgsl
#import host/elastic

@group(0) @binding(1) var<storage, read> edge_starts: array<u32>;
@group(0) @binding(2) var<storage, read> edge_tets: array<u32>;
@group(0) @binding(3) var<storage, read> edge_places: array<vec2u>;
@group(0) @binding(4) var<storage, read> corner_gradients: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> blocks: array<Block>;
@group(0) @binding(6) var<storage, read> edge_tangents: array<vec4f>;

// Block number k of all edges of elements, or its transpose.
fn element_block(k: u32, is_transposed: bool) -> mat3x3f {
    let block = mat3x3f(edge_tangents[3u * k].xyz, edge_tangents[3u * k + 1u].xyz, edge_tangents[3u * k + 2u].xyz);
    if is_transposed {
        return transpose(block);
    }
    return block;
}

// The general tangent of a tet for the corners (i, j).
fn general_block(tet: u32, i: u32, j: u32) -> mat3x3f {
    let last = max(i, j);
    return element_block(ELEMENT_EDGES * tet + last * (last - 1u) / 2u + min(i, j), i > j);
}

@compute @workgroup_size(WORKGROUP)
fn edge_blocks(@builtin(global_invocation_id) id: vec3u) {
    let e = thread_index(id);
    if e >= params.n_edges {
        return;
    }
    // The buffer is as long as this where some material has a general tangent only.
    let has_general = arrayLength(&edge_tangents) >= 3u * ELEMENT_EDGES * params.n_tets;
    var sum = mat3x3f();
    for (var k = edge_starts[e]; k < edge_starts[e + 1u]; k++) {
        let item = edge_tets[k];
        // Behind those of tets: `Model::patch_edge`.
        let of_tets = ELEMENT_NODES * ELEMENT_NODES * params.n_tets;
        if item >= of_tets {
            let of_patch = item - of_tets;
            sum += element_block(ELEMENT_EDGES * params.n_tets + of_patch / 2u, of_patch % 2u == 1u);
            continue;
        }
        let tet = item / (ELEMENT_NODES * ELEMENT_NODES);
        let i = item / ELEMENT_NODES % ELEMENT_NODES;
        let j = item % ELEMENT_NODES;
        let a = corner_gradients[ELEMENT_NODES * tet + i];
        let b = corner_gradients[ELEMENT_NODES * tet + j];
        let outer = mat3_outer(a.xyz, b.xyz);
        sum += a.w * outer + transpose(outer) + mat3_diagonal(dot(a.xyz, b.xyz));
        if has_general {
            sum += general_block(tet, i, j);
        }
    }
    let place = edge_places[e];
    let rows = transpose(sum);
    blocks[place.x] = Block(vec4f(rows[0], 0.0), vec4f(rows[1], 0.0), vec4f(rows[2], 0.0));
    blocks[place.y] = Block(vec4f(sum[0], 0.0), vec4f(sum[1], 0.0), vec4f(sum[2], 0.0));
}
