// One thread an edge, a triangle or a leaf: the boxes around its vertices. Twin: `geometry::bvh::Features::fit`.
#import lib/model.wgsl
#import lib/search.wgsl
#import host/search_tables

@group(0) @binding(1) var<storage, read> search_words: array<u32>;
@group(0) @binding(2) var<storage, read> search_bodies: array<SearchBody>;
@group(0) @binding(3) var<storage, read> vertex_sweeps: array<Sweep>;
@group(0) @binding(4) var<storage, read_write> feature_sweeps: array<Sweep>;
@group(0) @binding(5) var<storage, read_write> search_blocks: array<Sweep>;

fn around_edge(vertices: vec2u) -> Sweep {
    var sweep = sweep_union(sweep_union(SWEEP_EMPTY, vertex_sweeps[vertices.x]), vertex_sweeps[vertices.y]);
    sweep.lo.w = 0.0;
    return sweep;
}

fn around_triangle(vertices: vec3u) -> Sweep {
    var sweep = sweep_union(sweep_union(SWEEP_EMPTY, vertex_sweeps[vertices.x]), vertex_sweeps[vertices.y]);
    sweep = sweep_union(sweep, vertex_sweeps[vertices.z]);
    sweep.lo.w = 0.0;
    return sweep;
}

@compute @workgroup_size(WORKGROUP)
fn boxes(@builtin(global_invocation_id) id: vec3u) {
    let k = thread_index(id);
    let n_features = search_data.n_edges + search_data.n_triangles;
    if k < search_data.n_edges {
        feature_sweeps[k] = around_edge(search_edge(k).vertices);
    } else if k < n_features {
        feature_sweeps[k] = around_triangle(search_triangle(k - search_data.n_edges).vertices);
    } else if k < n_features + search_data.n_leaves {
        let index = k - n_features;
        let leaf = search_leaf(index);
        let end = search_leaf(index + 1u).triangle;
        var sweep = SWEEP_EMPTY;
        for (var t = leaf.triangle; t < end; t++) {
            sweep = sweep_union(sweep, around_triangle(search_triangle(t).vertices));
        }
        let moves = (search_bodies[leaf.body].flags & SEARCH_MOVES) != 0u;
        sweep.lo.w = select(1.0, 0.0, moves);
        search_blocks[index] = sweep;
    }
}
