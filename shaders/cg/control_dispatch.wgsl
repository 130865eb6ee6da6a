// One workgroup: how many workgroups the loop's kernels and those after the loop have from now on.
#import lib/reduce.wgsl

// x, y, z of: the kernels of the elastic loop; once all bodies are solved, one thread a node and one a surface point;
// then the elastic solves in one workgroup.
@group(0) @binding(2) var<storage, read_write> arguments: array<vec4u, 4>;

fn groups_for(n: u32) -> vec4u {
    let groups = (n + WORKGROUP - 1u) / WORKGROUP;
    let row = GRID_ROW / WORKGROUP;
    return vec4u(min(groups, row), (groups + row - 1u) / row, 1u, 0u);
}

@compute @workgroup_size(WORKGROUP)
fn control_dispatch(@builtin(local_invocation_index) lane: u32) {
    var open = vec4f();
    for (var body = lane; body < params.n_bodies; body += WORKGROUP) {
        open.x += select(1.0, 0.0, reductions.controls[body].elastic_done != 0u);
    }
    open = reduce_group(lane, open);
    if lane == 0u {
        let done = open.x == 0.0;
        arguments[ARGUMENTS_LOOP] = select(vec4u(params.loop_tiles, 1u, 1u, 0u), vec4u(), done);
        arguments[ARGUMENTS_NODES] = select(vec4u(), groups_for(params.n_nodes), done);
        arguments[ARGUMENTS_POINTS] = select(vec4u(), groups_for(params.n_points), done);
        arguments[ARGUMENTS_WHOLE] = select(vec4u(params.n_whole, 1u, 1u, 0u), vec4u(), done);
    }
}
