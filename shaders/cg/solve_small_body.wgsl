// One workgroup a body that fits: conjugate gradients with two levels, up to WHOLE_ITERATIONS of them; a body that is
// not solved then goes on in the next dispatch. Twin: `gpu::tests::two_level_on_cpu`.
#import lib/row_product.wgsl
#import lib/preconditioner.wgsl

@group(0) @binding(6) var<storage, read_write> dv: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> residual: array<vec4f>;

// Rows of a thread.
const WHOLE_ROWS: u32 = MAX_WHOLE_NODES / WORKGROUP;

// Threads that share a tile, next to each other, and turns in which all tiles have theirs.
const TILE_THREADS: u32 = 4u;
const TILE_TURNS: u32 = TILE_THREADS * MAX_WHOLE_TILES / WORKGROUP;
// Of every tile: load in the rest pose, then correction in space; and the parts of its threads.
var<workgroup> loads: array<vec3f, 2u * MAX_WHOLE_TILES>;
var<workgroup> motions: array<vec3f, 2u * MAX_WHOLE_TILES>;
var<workgroup> parts: array<vec3f, 2u * TILE_THREADS * MAX_WHOLE_TILES>;
var<workgroup> stops: u32;

// Sum of the parts of the threads of tile t.
fn tile_sum(t: u32) -> Motion {
    var sum = Motion();
    for (var p = TILE_THREADS * t; p < TILE_THREADS * (t + 1u); p++) {
        sum.shift += parts[2u * p];
        sum.turn += parts[2u * p + 1u];
    }
    return sum;
}

@compute @workgroup_size(WORKGROUP)
fn solve_small_body(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let first_tile = whole_first_tile(group.x);
    let tile = tile_of(first_tile);
    let body = tile.body;
    let first = tile.first + lane;
    let end = tile_of(first_tile + tile.n_tiles - 1u).end;
    // In the members' order: first A p, then P r.
    var own: array<vec3f, WHOLE_ROWS>;
    // Of the tiles that this thread has a part in.
    var turns: array<mat3x3f, TILE_TURNS>;
    let n_parts = select(0u, TILE_THREADS * tile.n_tiles, params.is_two_level != 0u);
    for (var p = lane; p < n_parts; p += WORKGROUP) {
        turns[p / WORKGROUP] = tile_rotation(first_tile + p / TILE_THREADS);
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

        // The coarse correction, some threads a tile: its load,
        for (var p = lane; p < n_parts; p += WORKGROUP) {
            let own_tile = tile_of(first_tile + p / TILE_THREADS);
            var load = Motion();
            for (var m = own_tile.first + p % TILE_THREADS; m < own_tile.end; m += TILE_THREADS) {
                let member = member_of(m);
                load = motion_plus(load, member.arm, residual[member.node].xyz * turns[p / WORKGROUP]);
            }
            parts[2u * p] = load.shift;
            parts[2u * p + 1u] = load.turn;
        }
        workgroupBarrier();
        if lane < tile.n_tiles {
            let load = tile_sum(lane);
            loads[2u * lane] = load.shift;
            loads[2u * lane + 1u] = load.turn;
        }
        workgroupBarrier();
        // and its row of the product with the inverse.
        for (var p = lane; p < n_parts; p += WORKGROUP) {
            var motion = Motion();
            for (var t = p % TILE_THREADS; t < tile.n_tiles; t += TILE_THREADS) {
                // The block of the pair the other way round: side by side in memory for the threads.
                let inverse = coarse_block(tile.coarse + 9u * tile.n_tiles * t + p / TILE_THREADS, tile.n_tiles);
                motion.shift += loads[2u * t] * inverse.shift_of_force + loads[2u * t + 1u] * inverse.turn_of_force;
                motion.turn += loads[2u * t] * inverse.shift_of_torque + loads[2u * t + 1u] * inverse.turn_of_torque;
            }
            parts[2u * p] = turns[p / WORKGROUP] * motion.shift;
            parts[2u * p + 1u] = turns[p / WORKGROUP] * motion.turn;
        }
        workgroupBarrier();
        if lane < tile.n_tiles {
            let motion = tile_sum(lane);
            motions[2u * lane] = motion.shift;
            motions[2u * lane + 1u] = motion.turn;
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
