// One workgroup: whether the rounds go on.
#import lib/cr.wgsl

@group(0) @binding(2) var<storage, read_write> cr_arguments: array<vec4u, 1>;

@compute @workgroup_size(WORKGROUP)
fn control_rounds(@builtin(local_invocation_index) lane: u32) {
    var open = vec4f();
    for (var i = lane; i < cr.n_islands; i += WORKGROUP) {
        open.x += select(0.0, 1.0, cr_controls[i].done == 0u);
    }
    open = reduce_group(lane, open);
    if lane == 0u {
        cr_arguments[0] = select(vec4u(), vec4u(cr.n_groups, 1u, 1u, 0u), open.x > 0.0);
    }
}
