// One workgroup a tile: r = b - A x for the start value x, with the sums |r|^2, |b|^2 and what r and b do to the tile.
// Twin: the start of `gpu::tests::two_level_on_cpu`.
#import lib/row_product.wgsl
#import lib/sums.wgsl

@group(0) @binding(6) var<storage, read> rhs: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> residual: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn initial_residual(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let tile = tile_of(group.x);
    let turn = tile_rotation(group.x);
    var sums = vec4f();
    var of_r = Motion();
    var of_b = Motion();
    for (var m = tile.first + lane; m < tile.end; m += WORKGROUP) {
        let member = member_of(m);
        let b = rhs[member.node].xyz;
        let r = b - row_product(member.node);
        residual[member.node] = vec4f(r, 0.0);
        sums += vec4f(dot(r, r), dot(b, b), 0.0, 0.0);
        of_r = motion_plus(of_r, member.arm, r * turn);
        of_b = motion_plus(of_b, member.arm, b * turn);
    }
    sums_put(lane, 0u, sums);
    sums_put_motion(lane, 1u, of_r);
    sums_put_motion(lane, 3u, of_b);
    sums_add(lane, TILE_SLOTS_OF_SUMS);
    if lane < TILE_SLOTS_OF_SUMS {
        reductions.sums[tile_place(TILE_SUMS + lane, group.x)] = sums_of(lane);
    }
}
