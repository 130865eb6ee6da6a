// One thread an edge, a triangle or a leaf: the boxes around its vertices. Twin: `geometry::bvh::Features::fit`.
#import lib/model.wgsl
#import lib/search.wgsl

@group(0) @binding(1) var<storage, read> search_words: array<u32>;
@group(0) @binding(2) var<storage, read> search_bodies: array<SearchBody>;
@group(0) @binding(3) var<storage, read> vertex_sweeps: array<Sweep>;
@group(0) @binding(4) var<storage, read_write> feature_sweeps: array<Sweep>;
@group(0) @binding(5) var<storage, read_write> search_blocks: array<Sweep>;

fn around(first: u32, n: u32) -> Sweep {
    var sweep = SWEEP_EMPTY;
    for (var k = 0u; k < n; k++) {
        sweep = sweep_union(sweep, vertex_sweeps[search_words[first + k]]);
    }
    sweep.lo.w = 0.0;
    return sweep;
}

@compute @workgroup_size(WORKGROUP)
fn boxes(@builtin(global_invocation_id) id: vec3u) {
    let k = thread_index(id);
    let n_features = search_data.n_edges + search_data.n_triangles;
    if k < search_data.n_edges {
        feature_sweeps[k] = around(search_data.edges + 4u * k + 1u, 2u);
    } else if k < n_features {
        feature_sweeps[k] = around(search_data.triangles + 4u * (k - search_data.n_edges) + 1u, 3u);
    } else if k < n_features + search_data.n_leaves {
        let leaf = k - n_features;
        let place = search_data.leaves + 4u * leaf;
        var sweep = SWEEP_EMPTY;
        for (var t = search_words[place + 2u]; t < search_words[place + 6u]; t++) {
            sweep = sweep_union(sweep, around(search_data.triangles + 4u * t + 1u, 3u));
        }
        let moves = (search_bodies[search_words[place + 3u]].flags & BODY_MOVES) != 0u;
        sweep.lo.w = select(1.0, 0.0, moves);
        search_blocks[leaf] = sweep;
    }
}
