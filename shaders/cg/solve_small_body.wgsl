// One workgroup a body that fits: conjugate gradients with two levels, up to WHOLE_ITERATIONS of them; a body that is
// not solved then goes on in the next dispatch. Twin: `gpu::tests::two_level_on_cpu`.
#import lib/row_product.wgsl
#import lib/preconditioner.wgsl

@group(0) @binding(6) var<storage, read_write> dv: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> residual: array<vec4f>;

// Rows of a thread.
const WHOLE_ROWS: u32 = MAX_WHOLE_NODES / WORKGROUP;

// Of every tile: load in the rest pose, then correction in space.
var<workgroup> loads: array<vec3f, 2u * MAX_WHOLE_TILES>;
var<workgroup> motions: array<vec3f, 2u * MAX_WHOLE_TILES>;
var<workgroup> stops: u32;

@compute @workgroup_size(WORKGROUP)
fn solve_small_body(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let first_tile = whole_first_tile(group.x);
    let tile = tile_of(first_tile);
    let body = tile.body;
    let first = tile.first + lane;
    let end = tile_of(first_tile + tile.n_tiles - 1u).end;
    // In the members' order: first A p, then P r.
    var own: array<vec3f, WHOLE_ROWS>;
    var turns: mat3x3f;
    if lane < tile.n_tiles {
        turns = tile_rotation(first_tile + lane);
    }

    // `x` holds the direction; the first is P r itself.
    let before = tile_state(body, 0u);
    var iterations = before.z;
    var norms = vec4f();
    for (var m = first; m < end; m += WORKGROUP) {
        let i = member_of(m).node;
        let r = residual[i].xyz;
        norms += vec4f(dot(r, x[i].xyz), dot(r, r), 0.0, 0.0);
    }
    norms = reduce_group(lane, norms);
    var gamma = select(before.x, norms.x, iterations == 0.0);
    var residual2 = norms.y;
    var verdict = tile_verdict(body, iterations, residual2, gamma);
    if lane == 0u {
        stops = select(0u, 1u, before.w != 0.0 || verdict.stops);
    }
    var over = workgroupUniformLoad(&stops) != 0u;
    for (var k = 0u; k < WHOLE_ITERATIONS && !over; k++) {
        var curvature = 0.0;
        for (var m = first; m < end; m += WORKGROUP) {
            let i = member_of(m).node;
            let product = row_product(i);
            own[(m - first) / WORKGROUP] = product;
            curvature += dot(x[i].xyz, product);
        }
        curvature = reduce_group(lane, vec4f(curvature, 0.0, 0.0, 0.0)).x;
        let alpha = gamma / curvature;
        if lane == 0u {
            stops = select(1u, 0u, curvature > 0.0 && float_is_finite(alpha));
        }
        if workgroupUniformLoad(&stops) != 0u {
            over = true;
            break;
        }
        for (var m = first; m < end; m += WORKGROUP) {
            let i = member_of(m).node;
            dv[i] += alpha * vec4f(x[i].xyz, 0.0);
            residual[i] = vec4f(residual[i].xyz - alpha * own[(m - first) / WORKGROUP], 0.0);
        }
        storageBarrier();

        // The coarse correction, one thread a tile.
        if lane < tile.n_tiles && params.is_two_level != 0u {
            let own_tile = tile_of(first_tile + lane);
            var load = Motion();
            for (var m = own_tile.first; m < own_tile.end; m++) {
                let member = member_of(m);
                let r = residual[member.node].xyz * turns;
                load = Motion(load.shift + r, load.turn + cross(member.arm, r));
            }
            loads[2u * lane] = load.shift;
            loads[2u * lane + 1u] = load.turn;
        }
        workgroupBarrier();
        if lane < tile.n_tiles {
            var motion = Motion();
            let n = select(0u, tile.n_tiles, params.is_two_level != 0u);
            for (var t = 0u; t < n; t++) {
                // The block of the pair the other way round: side by side in memory for the threads.
                let inverse = coarse_block(tile.coarse + 9u * tile.n_tiles * t + lane, tile.n_tiles);
                motion.shift += loads[2u * t] * inverse.shift_of_force + loads[2u * t + 1u] * inverse.turn_of_force;
                motion.turn += loads[2u * t] * inverse.shift_of_torque + loads[2u * t + 1u] * inverse.turn_of_torque;
            }
            motions[2u * lane] = turns * motion.shift;
            motions[2u * lane + 1u] = turns * motion.turn;
        }
        workgroupBarrier();

        var sums = vec4f();
        var t = 0u;
        var turn = tile_rotation(first_tile);
        var last = tile.end;
        for (var m = first; m < end; m += WORKGROUP) {
            while m >= last {
                t++;
                last = tile_of(first_tile + t).end;
                turn = tile_rotation(first_tile + t);
            }
            let member = member_of(m);
            let r = residual[member.node].xyz;
            let spread = motions[2u * t] + cross(motions[2u * t + 1u], turn * member.arm);
            let u = block_product(inverse_diagonal(member.node), r) + spread;
            own[(m - first) / WORKGROUP] = u;
            sums += vec4f(dot(r, u), dot(r, r), 0.0, 0.0);
        }
        sums = reduce_group(lane, sums);
        let beta = sums.x / gamma;
        gamma = sums.x;
        residual2 = sums.y;
        iterations += 1.0;
        for (var m = first; m < end; m += WORKGROUP) {
            let i = member_of(m).node;
            x[i] = vec4f(own[(m - first) / WORKGROUP] + beta * x[i].xyz, 0.0);
        }
        storageBarrier();
        verdict = tile_verdict(body, iterations, residual2, gamma);
        if lane == 0u {
            stops = select(0u, 1u, verdict.stops);
        }
        over = workgroupUniformLoad(&stops) != 0u;
    }
    if lane == 0u && before.w == 0.0 {
        tile_store_state(body, 0u, vec4f(gamma, 0.0, iterations, select(0.0, 1.0, over)));
        tile_report(body, iterations, residual2, over, verdict.converged);
    }
}
