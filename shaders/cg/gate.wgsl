// One thread: how many workgroups the loop's kernels and those after it have from now on.
#import lib/reduce.wgsl

// x, y, z of: the kernels of the elastic loop, those of the contact loop, and, once all is solved, one thread a node, one a surface point, one
// workgroup a pair of body and obstacle.
@group(0) @binding(2) var<storage, read_write> arguments: array<vec4u, 5>;

fn groups_for(n: u32) -> vec4u {
    let groups = (n + WORKGROUP - 1u) / WORKGROUP;
    let row = GRID_ROW / WORKGROUP;
    return vec4u(min(groups, row), (groups + row - 1u) / row, 1u, 0u);
}

@compute @workgroup_size(1)
fn gate() {
    let done = reductions.control.done != 0u;
    let elastic_done = reductions.control.elastic_done != 0u;
    let rows = vec4u(params.row_groups, 1u, 1u, 0u);
    arguments[0] = select(rows, vec4u(), elastic_done);
    arguments[1] = select(vec4u(), rows, elastic_done && !done);
    arguments[2] = select(vec4u(), groups_for(params.n_nodes), done);
    arguments[3] = select(vec4u(), groups_for(params.n_points), done);
    arguments[4] = select(vec4u(), vec4u(params.n_pairs, 1u, 1u, 0u), done);
}
