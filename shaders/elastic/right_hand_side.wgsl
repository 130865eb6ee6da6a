// One thread a node: the right-hand side of its row, and partial sums of |M v|^2 and of the squared corner forces.
// Formula and source: `elastic::right_hand_side`.
#import lib/reduce.wgsl

@group(0) @binding(2) var<storage, read> nodes: array<Node>;
@group(0) @binding(3) var<storage, read> node_corners: array<u32>;
@group(0) @binding(4) var<storage, read> corner_forces: array<vec4f>;
@group(0) @binding(5) var<storage, read> velocities: array<vec4f>;
@group(0) @binding(6) var<storage, read> node_forces: array<vec4f>;
@group(0) @binding(7) var<storage, read> grab_weights: array<vec4f>;
@group(0) @binding(8) var<storage, read_write> rhs: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn right_hand_side(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let share = shares[group.x];
    let body = share.body;
    var momentum2 = 0.0;
    var forces2 = 0.0;
    for (var i = share.first_node + share_first(lane, group.x, share); i < share.end_node; i += share_stride(share)) {
        let node = nodes[i];
        let momentum = node.mass * velocities[i].xyz;
        momentum2 += dot(momentum, momentum);
        var force = node.mass * params.gravity.xyz;
        if params.has_node_forces != 0u {
            force += node_forces[i].xyz;
        }
        for (var c = node.force_corners; c < nodes[i + 1u].force_corners; c++) {
            let corner = corner_forces[node_corners[c]].xyz;
            force += corner;
            forces2 += dot(corner, corner);
        }
        var impulse = params.dt * (force - node.mass_damping * momentum);
        let weights = grab_weights[i];
        for (var k = 0u; k < params.n_grabs; k++) {
            impulse += weights[k] * reductions.grab_impulses[k].xyz;
        }
        rhs[i] = vec4f(node.free * impulse, 0.0);
    }
    let sum = reduce_group(lane, vec4f(momentum2, forces2, 0.0, 0.0));
    if lane == 0u {
        reduce_store(SLOT_SCALE, group.x, sum);
    }
}
