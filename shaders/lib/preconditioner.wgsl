#import lib/params.wgsl
// By three vectors, the rows of the inverse of each node's diagonal block with the springs; then the inverse of the
// coarse matrix of every body, packed as `coarse_block` unpacks it.
@group(0) @binding(11) var<storage, read> preconditioner: array<vec4f>;

// D^-1 of a node.
fn inverse_diagonal(node: u32) -> Block {
    return Block(preconditioner[3u * node], preconditioner[3u * node + 1u], preconditioner[3u * node + 2u]);
}

// What moves the tile a by the load on the tile b: from force and torque to shift and turn, in the rest pose
// (`sparse::RigidCoarse::inverse`).
struct CoarseBlock {
    shift_of_force: mat3x3f,
    shift_of_torque: mat3x3f,
    turn_of_force: mat3x3f,
    turn_of_torque: mat3x3f,
}

// Nine vectors from `first` on, `stride` apart.
fn coarse_block(first: u32, stride: u32) -> CoarseBlock {
    let v0 = preconditioner[first];
    let v1 = preconditioner[first + stride];
    let v2 = preconditioner[first + 2u * stride];
    let v3 = preconditioner[first + 3u * stride];
    let v4 = preconditioner[first + 4u * stride];
    let v5 = preconditioner[first + 5u * stride];
    let v6 = preconditioner[first + 6u * stride];
    let v7 = preconditioner[first + 7u * stride];
    let v8 = preconditioner[first + 8u * stride];
    return CoarseBlock(
        mat3x3f(v0.xyz, vec3f(v0.w, v1.xy), vec3f(v1.zw, v2.x)),
        mat3x3f(v2.yzw, v3.xyz, vec3f(v3.w, v4.xy)),
        mat3x3f(vec3f(v4.zw, v5.x), v5.yzw, v6.xyz),
        mat3x3f(vec3f(v6.w, v7.xy), vec3f(v7.zw, v8.x), v8.yzw),
    );
}
