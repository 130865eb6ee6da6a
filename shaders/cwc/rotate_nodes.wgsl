// One thread a touched unknown: the rotation of its node from the pose that the columns know, by the mean over its tets
// weighted with their volumes. Twin: `elastic::node_rotation`.
#import lib/cwc.wgsl

@group(0) @binding(2) var<storage, read> nodes: array<Node>;
@group(0) @binding(3) var<storage, read> node_corners: array<u32>;
@group(0) @binding(4) var<storage, read> tets: array<Tet>;
@group(0) @binding(5) var<storage, read> rotations: array<vec4f>;

fn quaternion_product(a: vec4f, b: vec4f) -> vec4f {
    return vec4f(a.w * b.xyz + b.w * a.xyz + cross(a.xyz, b.xyz), a.w * b.w - dot(a.xyz, b.xyz));
}

@compute @workgroup_size(WORKGROUP)
fn rotate_nodes(@builtin(global_invocation_id) id: vec3u) {
    let k = thread_index(id);
    if k >= cwc.n_touched {
        return;
    }
    let touched = touched_unknown(k);
    var sum = vec4f();
    if touched.kind == TOUCHED_NODE {
        for (var c = nodes[touched.unknown].corners; c < nodes[touched.unknown + 1u].corners; c++) {
            let tet = node_corners[c] / 4u;
            let q = rotations[tet] * tets[tet].volume;
            // R has the two signs of its quaternion.
            sum += select(q, -q, dot(q, sum) < 0.0);
        }
    }
    let mean = select(normalize(sum), vec4f(0.0, 0.0, 0.0, 1.0), dot(sum, sum) == 0.0);
    cwc_state[cwc.rotations + k] = quaternion_product(mean, cwc_rest_rotation(k));
}
