// One workgroup a tile: keeps the start value if it is better than zero, and makes the first u = P r, where P is the
// preconditioner. A body that is solved already, or with its contacts, keeps what it has. Twin: the start of
// `gpu::tests::two_level_on_cpu`, and `step::StepInputs::drive`.
#import lib/tiles.wgsl
#import lib/preconditioner.wgsl
#import lib/sums.wgsl

@group(0) @binding(3) var<storage, read> rhs: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> dv: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> residual: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> z: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn initial_direction(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let tile = tile_of(group.x);
    let body = tile.body;
    var norms = vec4f();
    for (var t = tile.first_tile + lane; t < tile.first_tile + tile.n_tiles; t += WORKGROUP) {
        norms += vec4f(reductions.sums[tile_place(TILE_SUMS, t)].xy, 0.0, 0.0);
    }
    let scales = reduce_slot(lane, shares[tile.share], SLOT_SCALE).xy;
    norms = reduce_group(lane, norms + vec4f(0.0, 0.0, scales));
    let remembered = reductions.controls[body].remembered != 0u;
    let keep = norms.x < norms.y || remembered;

    // The coarse correction.
    var part = Motion();
    if params.is_two_level != 0u {
        for (var k = lane; k < tile.n_tiles; k += WORKGROUP) {
            let load = tile_motion(select(TILE_PRODUCT, TILE_RESIDUAL, keep), tile.first_tile + k);
            let inverse = coarse_block(tile.coarse + k, tile.n_tiles);
            part.shift += inverse.shift_of_force * load.shift + inverse.shift_of_torque * load.turn;
            part.turn += inverse.turn_of_force * load.shift + inverse.turn_of_torque * load.turn;
        }
    }
    sums_put_motion(lane, 0u, part);
    sums_add(lane, 2u);
    let correction = Motion(sums_of(0u).xyz, sums_of(1u).xyz);

    let turn = tile_rotation(group.x);
    for (var m = tile.first + lane; m < tile.end; m += WORKGROUP) {
        let member = member_of(m);
        let i = member.node;
        var r = residual[i].xyz;
        if !keep {
            r = rhs[i].xyz;
            residual[i] = vec4f(r, 0.0);
            dv[i] = vec4f();
        }
        let spread = turn * (correction.shift + cross(correction.turn, member.arm));
        z[i] = vec4f(block_product(inverse_diagonal(i), r) + spread, 0.0);
    }
    if lane == 0u && group.x == tile.first_tile {
        var scale = reductions.controls[body].scale;
        if scale == 0.0 {
            scale = MOMENTUM_SHARE * sqrt(norms.z) + params.dt * sqrt(norms.w);
        }
        scale = max(scale, reductions.controls[body].least_scale);
        let bound = params.tolerance * scale;
        reductions.controls[body].scale = scale;
        reductions.controls[body].target2 = bound * bound;
        tile_store_state(body, 0u, vec4f(0.0, 0.0, 0.0, select(0.0, 1.0, remembered)));
    }
}
