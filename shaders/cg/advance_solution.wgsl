// One workgroup a tile, second half of an iteration of the single-reduction form of conjugate gradients
// [Chronopoulos, Gear 1989]: p = u + beta p, s = w + beta s, the step along p, and u = P r of the new residual. What
// the new residual does to the tiles follows from what r, w and s did to them, so that every workgroup has its own
// part of the coarse correction without waiting for the others: a dense product with the inverse of the coarse
// matrix. Ends the loop where the residual is small enough. Twin: `gpu::tests::two_level_on_cpu`, whose iterates
// these are in exact arithmetic.
#import lib/tiles.wgsl
#import lib/preconditioner.wgsl
#import lib/sums.wgsl
#import lib/krylov.wgsl
#import lib/parity.wgsl

@group(0) @binding(3) var<storage, read_write> z: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> dv: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> residual: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn advance_solution(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let tile = tile_of(group.x);
    let body = tile.body;
    let before = tile_state(body, parity.now);
    var part = vec4f();
    for (var t = tile.first_tile + lane; t < tile.first_tile + tile.n_tiles; t += WORKGROUP) {
        part += reductions.sums[tile_place(TILE_SUMS, t)];
    }
    let sums = reduce_group(lane, part);
    let is_first = before.z == 0.0;
    var beta = select(sums.x / before.x, 0.0, is_first);
    var curvature = select(sums.y - beta * sums.x / before.y, sums.y, is_first);
    if !(curvature > 0.0) {
        // Rounding has eaten the recurrence: begin anew.
        beta = 0.0;
        curvature = sums.y;
    }
    let alpha = sums.x / curvature;
    let stuck = !(curvature > 0.0) || !float_is_finite(alpha);
    let verdict = tile_verdict(body, before.z, sums.z, sums.x);
    let stops = verdict.stops || stuck;
    let done = before.w != 0.0 || stops;

    // The coarse correction of the residual that is to be. Its load starts from the residual itself in every
    // iteration: a correction that follows from that of the iteration before drifts away, and the loop does not get
    // below 1e-5 of where it began.
    var correction = Motion();
    if params.is_two_level != 0u {
        var motion = Motion();
        let n = select(tile.n_tiles, 0u, done);
        for (var k = lane; k < n; k += WORKGROUP) {
            let t = tile.first_tile + k;
            let of_r = tile_motion(TILE_RESIDUAL, t);
            let of_w = tile_motion(TILE_PRODUCT, t);
            var image = of_w;
            if beta != 0.0 {
                let of_s = tile_motion(TILE_IMAGE + 2u * parity.now, t);
                image = Motion(of_w.shift + beta * of_s.shift, of_w.turn + beta * of_s.turn);
            }
            if t == group.x {
                let slot = TILE_IMAGE + 2u * (1u - parity.now);
                reductions.sums[tile_place(slot, t)] = vec4f(image.shift, 0.0);
                reductions.sums[tile_place(slot + 1u, t)] = vec4f(image.turn, 0.0);
            }
            let force = of_r.shift - alpha * image.shift;
            let torque = of_r.turn - alpha * image.turn;
            let inverse = coarse_block(tile.coarse + k, tile.n_tiles);
            motion.shift += inverse.shift_of_force * force + inverse.shift_of_torque * torque;
            motion.turn += inverse.turn_of_force * force + inverse.turn_of_torque * torque;
        }
        sums_put_motion(lane, 0u, motion);
        sums_add(lane, 2u);
        correction = Motion(sums_of(0u).xyz, sums_of(1u).xyz);
    }

    let turn = tile_rotation(group.x);
    for (var m = tile.first + lane; m < select(tile.end, 0u, done); m += WORKGROUP) {
        let member = member_of(m);
        let i = member.node;
        var p = z[i].xyz;
        var s = krylov[krylov_place(KRYLOV_W, i)].xyz;
        if beta != 0.0 {
            p += beta * krylov[krylov_place(KRYLOV_P, i)].xyz;
            s += beta * krylov[krylov_place(KRYLOV_S, i)].xyz;
        }
        krylov[krylov_place(KRYLOV_P, i)] = vec4f(p, 0.0);
        krylov[krylov_place(KRYLOV_S, i)] = vec4f(s, 0.0);
        dv[i] += vec4f(alpha * p, 0.0);
        let r = residual[i].xyz - alpha * s;
        residual[i] = vec4f(r, 0.0);
        let spread = turn * (correction.shift + cross(correction.turn, member.arm));
        z[i] = vec4f(block_product(inverse_diagonal(i), r) + spread, 0.0);
    }
    // The states take turns: what the other workgroups read is not written.
    if lane == 0u && group.x == tile.first_tile {
        if before.w != 0.0 {
            tile_store_state(body, 1u - parity.now, before);
        } else {
            let iterations = before.z + select(1.0, 0.0, stops);
            tile_store_state(body, 1u - parity.now, vec4f(sums.x, alpha, iterations, select(0.0, 1.0, stops)));
            tile_report(body, iterations, sums.z, stops, verdict.converged);
        }
    }
}
