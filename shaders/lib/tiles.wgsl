// Tiles: the free nodes of one aggregate of a body, one workgroup each in the kernels of the elastic solve (`src/gpu/tiles.rs`). What a tile adds up is kept in the
// frame of its rest pose, where the coarse matrix is constant. Twin: `sparse::TwoLevel`.
#import lib/reduce.wgsl
#import lib/quat.wgsl
#import lib/float.wgsl

struct Tile {
    first: u32, // of its members
    end: u32,
    body: u32,
    first_tile: u32, // of its body
    n_tiles: u32,
    coarse: u32, // its row of the inverse of the coarse matrix in `preconditioner`
    share: u32, // the first of its body
    pad: u32,
}

struct Member {
    arm: vec3f, // D, from the centre of the tile, in units of its radius
    node: u32,
}

// Force and torque on a tile; or its shift and turn.
struct Motion {
    shift: vec3f,
    turn: vec3f,
}

// With one more force on an arm.
fn motion_plus(sum: Motion, arm: vec3f, force: vec3f) -> Motion {
    return Motion(sum.shift + force, sum.turn + cross(arm, force));
}

// Starts of the rows and their end, columns of the blocks; then tiles, tets that tell their rotation, the first tiles of the bodies that are solved in one
// workgroup, and members.
@group(0) @binding(2) var<storage, read> pattern: array<u32>;

const TILE_WORDS: u32 = 8u;

fn tile_words() -> u32 {
    return params.n_nodes + 1u + params.n_blocks;
}

fn tile_of(t: u32) -> Tile {
    let w = tile_words() + TILE_WORDS * t;
    return Tile(pattern[w], pattern[w + 1u], pattern[w + 2u], pattern[w + 3u], pattern[w + 4u], pattern[w + 5u], pattern[w + 6u], pattern[w + 7u]);
}

// The k-th tet of those that tell the rotation of a tile, or 0xffffffff.
fn tile_sample(t: u32, k: u32) -> u32 {
    return pattern[tile_words() + TILE_WORDS * params.n_tiles + TILE_SAMPLES * t + k];
}

fn whole_first_tile(k: u32) -> u32 {
    return pattern[tile_words() + (TILE_WORDS + TILE_SAMPLES) * params.n_tiles + k];
}

fn member_of(m: u32) -> Member {
    let w = tile_words() + (TILE_WORDS + TILE_SAMPLES) * params.n_tiles + params.n_whole + 4u * m;
    return Member(vec3f(bitcast<f32>(pattern[w]), bitcast<f32>(pattern[w + 1u]), bitcast<f32>(pattern[w + 2u])), pattern[w + 3u]);
}

// What each tile has in `reductions.sums`, behind the slots of the workgroups over rows:
const TILE_ROTATION: u32 = 0u; // quaternion, from the rest pose
const TILE_SUMS: u32 = 1u; // (r.u, u.w, r.r); at the start (r.r, b.b)
const TILE_RESIDUAL: u32 = 2u; // force and torque of the residual
const TILE_PRODUCT: u32 = 4u; // of w = A u; at the start of b
const TILE_IMAGE: u32 = 6u; // of s = A p, in two slots that take turns
const TILE_SLOTS_OF_SUMS: u32 = 5u; // from TILE_SUMS on, those that a product leaves

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

// The conjugate gradients of a body, in two slots that take turns: (r.u of the last iteration, its step, iterations, 1 if the loop is over).
fn tile_state(body: u32, turn: u32) -> vec4f {
    return reductions.sums[(SLOT_STATE + turn) * MAX_ROW_GROUPS + body];
}

fn tile_store_state(body: u32, turn: u32, state: vec4f) {
    reductions.sums[(SLOT_STATE + turn) * MAX_ROW_GROUPS + body] = state;
}

// How a loop goes on that has made so many iterations, with |r|^2 = residual2 and r.P r = energy, which bounds what is still to be moved in the norm of A.
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

// Tells the others what became of the loop of a body.
fn tile_tell(body: u32, iterations: f32, residual2: f32, stops: bool, converged: bool) {
    reductions.controls[body].iterations = u32(iterations);
    reductions.controls[body].residual2 = residual2;
    if stops {
        reductions.controls[body].converged = select(0u, 1u, converged);
        reductions.controls[body].elastic_done = 1u;
    }
}
