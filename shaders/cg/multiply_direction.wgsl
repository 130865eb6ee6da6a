// One workgroup a tile, first half of an iteration: w = A u, with the sums r.u, u.w, r.r and what r and w do to the
// tile. Twin: `gpu::tests::two_level_on_cpu`.
#import lib/row_product.wgsl
#import lib/sums.wgsl
#import lib/krylov.wgsl
#import lib/parity.wgsl

@group(0) @binding(6) var<storage, read> residual: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn multiply_direction(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let tile = tile_of(group.x);
    let turn = tile_rotation(group.x);
    let done = tile_state(tile.body, parity.now).w != 0.0;
    var sums = vec4f();
    var of_r = Motion();
    var of_w = Motion();
    for (var m = tile.first + lane; m < select(tile.end, 0u, done); m += WORKGROUP) {
        let member = member_of(m);
        let i = member.node;
        let r = residual[i].xyz;
        let u = x[i].xyz;
        let w = row_product(i);
        krylov[krylov_place(KRYLOV_W, i)] = vec4f(w, 0.0);
        sums += vec4f(dot(r, u), dot(u, w), dot(r, r), 0.0);
        if params.is_two_level != 0u {
            of_r = motion_plus(of_r, member.arm, r * turn);
            of_w = motion_plus(of_w, member.arm, w * turn);
        }
    }
    sums_put(lane, 0u, sums);
    sums_put_motion(lane, 1u, of_r);
    sums_put_motion(lane, 3u, of_w);
    let n_sums = select(1u, TILE_SLOTS_OF_SUMS, params.is_two_level != 0u);
    sums_add(lane, n_sums);
    if lane < n_sums && !done {
        reductions.sums[tile_place(TILE_SUMS + lane, group.x)] = sums_of(lane);
    }
}
