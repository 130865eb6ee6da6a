// Tiles: the free nodes of one aggregate of a body, one workgroup each in the kernels of the elastic solve
// (`src/gpu/tiles.rs`). What a tile adds up is kept in the frame of its rest pose, where the coarse matrix is constant.
// Twin: `gpu::tests::two_level_on_cpu`.
#import lib/reduce.wgsl
#import lib/quat.wgsl
#import lib/float.wgsl
#import host/pattern

@group(0) @binding(2) var<storage, read> pattern: array<u32>;

// Force and torque on a tile; or its shift and turn.
struct Motion {
    shift: vec3f,
    turn: vec3f,
}

// With one more force on an arm.
fn motion_plus(sum: Motion, arm: vec3f, force: vec3f) -> Motion {
    return Motion(sum.shift + force, sum.turn + cross(arm, force));
}

fn tile_place(slot: u32, t: u32) -> u32 {
    return SLOTS * MAX_ROW_GROUPS + slot * params.n_tiles + t;
}

fn tile_motion(slot: u32, t: u32) -> Motion {
    return Motion(reductions.sums[tile_place(slot, t)].xyz, reductions.sums[tile_place(slot + 1u, t)].xyz);
}

// R.
fn tile_rotation(t: u32) -> mat3x3f {
    return quat_matrix_minus_identity(reductions.sums[tile_place(TILE_ROTATION, t)]) + mat3x3f(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0);
}

// The conjugate gradients of a body, in two slots that take turns: (r.u of the last iteration, its step, iterations,
// 1 if the loop is over).
fn tile_state(body: u32, turn: u32) -> vec4f {
    return reductions.sums[(SLOT_STATE + turn) * MAX_ROW_GROUPS + body];
}

fn tile_store_state(body: u32, turn: u32, state: vec4f) {
    reductions.sums[(SLOT_STATE + turn) * MAX_ROW_GROUPS + body] = state;
}

// How a loop goes on after this many iterations, with |r|^2 = residual2 and r.P r = energy, which bounds the squared
// distance from the solution in the norm of A.
struct Verdict {
    stops: bool,
    converged: bool,
}

fn tile_verdict(body: u32, iterations: f32, residual2: f32, energy: f32) -> Verdict {
    let is_fixed = params.fixed_iterations != 0u;
    let finite = float_is_finite(residual2);
    let reached = is_fixed && u32(iterations) >= params.fixed_iterations;
    let energy_target = reductions.controls[body].energy_target;
    let is_small = select(residual2 <= reductions.controls[body].target2, energy <= energy_target, energy_target > 0.0);
    let converged = finite && (residual2 == 0.0 || reached || (!is_fixed && is_small));
    return Verdict(converged || !finite || (!is_fixed && u32(iterations) >= params.max_iterations), converged);
}

// Leaves the state of the loop of a body to the other kernels.
fn tile_report(body: u32, iterations: f32, residual2: f32, stops: bool, converged: bool) {
    reductions.controls[body].iterations = u32(iterations);
    reductions.controls[body].residual2 = residual2;
    if stops {
        reductions.controls[body].converged = select(0u, 1u, converged);
        reductions.controls[body].elastic_done = 1u;
    }
}
