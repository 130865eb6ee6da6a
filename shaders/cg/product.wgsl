// One workgroup a tile, first half of an iteration: w = A u, with the sums r.u, u.w, r.r and what r and w do to the tile. Twin: `sparse::TwoLevel::product`.
#import lib/row_product.wgsl
#import lib/sums.wgsl
#import lib/krylov.wgsl
#import lib/parity.wgsl

@group(0) @binding(6) var<storage, read> residual: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn product(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
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
            let r_rest = r * turn;
            let w_rest = w * turn;
            of_r = Motion(of_r.shift + r_rest, of_r.turn + cross(member.arm, r_rest));
            of_w = Motion(of_w.shift + w_rest, of_w.turn + cross(member.arm, w_rest));
        }
    }
    sums_put(lane, 0u, sums);
    sums_put(lane, 1u, vec4f(of_r.shift, 0.0));
    sums_put(lane, 2u, vec4f(of_r.turn, 0.0));
    sums_put(lane, 3u, vec4f(of_w.shift, 0.0));
    sums_put(lane, 4u, vec4f(of_w.turn, 0.0));
    let n_sums = select(1u, TILE_SLOTS_OF_SUMS, params.is_two_level != 0u);
    sums_add(lane, n_sums);
    if lane < n_sums && !done {
        reductions.sums[tile_place(TILE_SUMS + lane, group.x)] = sums_of(lane);
    }
}
