// Contacts of all kinds on the device: rows of J = C H, the compliance of the contacts, and the state of its solve.
// Constants, structs and tables: `src/gpu/cwc/layout.rs`. Twins: `contact::Constraint`, `contact::cwc`.
#import lib/params.wgsl
#import host/cwc

@group(0) @binding(16) var<uniform> cwc: Cwc;
@group(0) @binding(17) var<storage, read> cwc_words: array<u32>;
@group(0) @binding(18) var<storage, read> cwc_rows: array<Row>;
@group(0) @binding(19) var<storage, read_write> cwc_state: array<vec4f>;

fn cwc_plane(plane: u32, contact: u32) -> u32 {
    return plane * cwc.n_contacts + contact;
}

fn cwc_sum(slot: u32, group: u32) -> u32 {
    return cwc.sums + slot * cwc.n_groups + group;
}

fn cwc_solve(island: u32, vector: u32) -> u32 {
    return cwc.solves + island * CWC_SOLVE_VECTORS + vector;
}

// First word of a block of the compliance of a body, of which the lower triangle is kept.
fn cwc_block(weights: u32, row: u32, column: u32) -> u32 {
    return 9u * (weights + row * (row + 1u) / 2u + column);
}

// Whether the iterations of a pass of the island are to go on: they may be recorded in several parts.
fn cwc_goes_on(island: u32) -> bool {
    let state = cwc_state[cwc_solve(island, CWC_SOLVE_STATE)];
    return state.z == 0.0 && state.w > 0.0 && state.w < f32(CWC_ITERATIONS);
}

// Whether a new pass leaves the island as it is: it is in the middle of one, or needs no more. What is recorded
// beyond what is needed then changes nothing.
fn cwc_waits(island: u32) -> bool {
    let factor = cwc_state[cwc_solve(island, CWC_SOLVE_FACTOR)];
    return cwc_goes_on(island) || factor.z != 0.0 || factor.w >= CWC_MAX_PASSES;
}

// What a Jacobian entry makes of the velocity of its unknown, and of a force.
fn entry_motion(entry: JacobianEntry, kind: u32, v: vec3f) -> vec3f {
    return select(v * entry.value.x, cross(v, entry.value), kind == TOUCHED_ANGULAR);
}

fn entry_force(entry: JacobianEntry, kind: u32, force: vec3f) -> vec3f {
    return select(force * entry.value.x, cross(entry.value, force), kind == TOUCHED_ANGULAR);
}

// C v.
fn row_turn(row: Row, v: vec3f) -> vec3f {
    return vec3f(dot(row.normal.xyz, v), dot(row.tangent_1.xyz, v), dot(row.tangent_2.xyz, v));
}

// C^T f.
fn row_turn_back(row: Row, f: vec3f) -> vec3f {
    return row.normal.xyz * f.x + row.tangent_1.xyz * f.y + row.tangent_2.xyz * f.z;
}
