// One thread: how many workgroups the loop's kernels and those after it have from now on.
#import lib/reduce.wgsl

// x, y, z of the loop's kernels, of one thread a node, of one thread a surface point.
@group(0) @binding(2) var<storage, read_write> arguments: array<vec4u, 3>;

fn groups_for(n: u32) -> vec4u {
    let groups = (n + WORKGROUP - 1u) / WORKGROUP;
    let row = GRID_ROW / WORKGROUP;
    return vec4u(min(groups, row), (groups + row - 1u) / row, 1u, 0u);
}

@compute @workgroup_size(1)
fn gate() {
    let done = reductions.control.done != 0u;
    arguments[0] = select(vec4u(params.row_groups, 1u, 1u, 0u), vec4u(), done);
    arguments[1] = select(vec4u(), groups_for(params.n_nodes), done);
    arguments[2] = select(vec4u(), groups_for(params.n_points), done);
}
