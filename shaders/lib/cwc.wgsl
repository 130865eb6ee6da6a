// Contacts of all kinds on the device: rows of J = C H, the compliance of the contacts, and the state of its solve. Twins: `contact::Constraint`, `contact::cwc`.
// What the host lays out (`src/gpu/cwc/tables.rs`) stands in `cwc_words`; offsets in `cwc`.
#import lib/params.wgsl

struct Cwc {
    n_contacts: u32,
    n_groups: u32, // workgroups over contacts, each with those of one island
    n_islands: u32,
    n_places: u32,
    n_members: u32,
    groups: u32, // first word of the groups; and so on
    islands: u32,
    members: u32,
    member_contacts: u32,
    places: u32,
    items: u32,
    levers: u32,
    sums: u32, // first vector in `cwc_state` of the partial sums; and so on
    solves: u32,
    rotations: u32,
    body_islands: u32, // first word of the islands of the bodies, 0xffffffff for none
}

// One contact. Its frame C by rows, with the motion at dv = 0 in the w lanes.
struct Row {
    normal: vec4f,
    tangent_1: vec4f,
    tangent_2: vec4f,
    give: vec4f, // compliance of a spring [m/N]; w: friction, or -1 of a spring
    // Of the movable body on each side: first block of its compliance, its first member, how many there are (0 for none), which of them this contact is.
    sides: array<vec4u, 2>,
    levers: vec4u, // first, end
}

@group(0) @binding(16) var<uniform> cwc: Cwc;
@group(0) @binding(17) var<storage, read> cwc_words: array<u32>;
@group(0) @binding(18) var<storage, read> cwc_rows: array<Row>;
@group(0) @binding(19) var<storage, read_write> cwc_state: array<vec4f>;

// Contacts of a workgroup, and threads of a contact.
const CWC_CONTACTS: u32 = 4u;
const CWC_LANES: u32 = WORKGROUP / CWC_CONTACTS;

// Planes of one vector a contact in `cwc_state`.
const CWC_ITERATE: u32 = 0u; // forces of the present iteration and the one before, in two planes that take turns
const CWC_FORCE: u32 = 2u; // the best forces so far [N]
const CWC_FREE: u32 = 3u; // motion without forces, as far as the compliance tells [m]
const CWC_LAST: u32 = 4u; // motion at the forces of the iteration before [m]
const CWC_SCALE: u32 = 5u; // W_nn, larger eigenvalue of the tangential block [m/N], and their inverses
const CWC_PROBE: u32 = 6u; // vectors of the power iteration, in two planes that take turns
const CWC_START: u32 = 8u; // motion that the pass has begun with [m]
const CWC_FORETOLD: u32 = 9u; // motion at the best forces, as far as the compliance tells [m]
const CWC_PLANES: u32 = 10u;

// Slots of partial sums of the workgroups: (climb, error) of two iterations that take turns, and of the power iteration.
const CWC_SUM_ITERATE: u32 = 0u;
const CWC_SUM_PROBE: u32 = 2u;

// State of an island's solve, in vectors:
const CWC_SOLVE: u32 = 6u;
// 0, 2: (theta, best error [m], 1 if it is over, iterations), and 1, 3: (step length, climb and largest error of the last iteration in one workgroup,
// iterations within the accuracy), which take turns;
const CWC_FACTOR: u32 = 4u; // (aim [m], factor of the compliance, 1 if settled, passes)
const CWC_TOLD: u32 = 5u; // (error of the last pass [m], iterations of all passes, reciprocal of the largest eigenvalue, passes and those that only went on
// with the elastic solve)

fn cwc_plane(plane: u32, contact: u32) -> u32 {
    return plane * cwc.n_contacts + contact;
}

fn cwc_sum(slot: u32, group: u32) -> u32 {
    return cwc.sums + slot * cwc.n_groups + group;
}

fn cwc_solve(island: u32, vector: u32) -> u32 {
    return cwc.solves + island * CWC_SOLVE + vector;
}

struct Group {
    island: u32,
    first: u32, // contact
    end: u32,
}

fn cwc_group(group: u32) -> Group {
    let w = cwc.groups + 3u * group;
    return Group(cwc_words[w], cwc_words[w + 1u], cwc_words[w + 2u]);
}

struct Island {
    first_group: u32,
    end_group: u32,
    first_body: u32, // deformable ones
    end_body: u32,
    accuracy: f32, // of gaps [m]
    is_whole: u32, // 1 if one workgroup finds its forces
}

fn cwc_island(island: u32) -> Island {
    let w = cwc.islands + 6u * island;
    return Island(cwc_words[w], cwc_words[w + 1u], cwc_words[w + 2u], cwc_words[w + 3u], bitcast<f32>(cwc_words[w + 4u]), cwc_words[w + 5u]);
}

// Whether the iterations of a pass of the island are to go on: they may be recorded in several parts.
fn cwc_goes_on(island: u32) -> bool {
    let state = cwc_state[cwc_solve(island, 0u)];
    return state.z == 0.0 && state.w > 0.0 && state.w < f32(CWC_ITERATIONS);
}

// Whether a new pass leaves the island as it is: it is in the middle of one, or needs no more. What is recorded beyond what is needed then changes nothing.
fn cwc_waits(island: u32) -> bool {
    let factor = cwc_state[cwc_solve(island, CWC_FACTOR)];
    return cwc_goes_on(island) || factor.z != 0.0 || factor.w >= CWC_MAX_PASSES;
}

// An unknown that contacts hang on.
struct Place {
    unknown: u32,
    kind: u32,
    row: u32, // in the columns of its body's compliance, or 0xffffffff
    column: u32, // first block of its column, or 0xffffffff; of a rigid body: first word of the inverse of its block of A
    first: u32, // of its items
    end: u32,
    island: u32,
}

const PLACE_WORDS: u32 = 11u; // then the turn of the rest pose, a quaternion
const PLACE_NODE: u32 = 0u;
const PLACE_LINEAR: u32 = 1u;
const PLACE_ANGULAR: u32 = 2u;

fn cwc_place(place: u32) -> Place {
    let w = cwc.places + PLACE_WORDS * place;
    return Place(
        cwc_words[w], cwc_words[w + 1u], cwc_words[w + 2u], cwc_words[w + 3u], cwc_words[w + 4u], cwc_words[w + 5u], cwc_words[w + 6u],
    );
}

fn cwc_turn(place: u32) -> vec4f {
    let w = cwc.places + PLACE_WORDS * place + 7u;
    return vec4f(bitcast<f32>(cwc_words[w]), bitcast<f32>(cwc_words[w + 1u]), bitcast<f32>(cwc_words[w + 2u]), bitcast<f32>(cwc_words[w + 3u]));
}

// Entry of a row of H: a weight in x, or an arm where the place is angular.
struct Lever {
    value: vec3f,
    place: u32,
}

fn cwc_lever(lever: u32) -> Lever {
    let w = cwc.levers + 4u * lever;
    return Lever(vec3f(bitcast<f32>(cwc_words[w]), bitcast<f32>(cwc_words[w + 1u]), bitcast<f32>(cwc_words[w + 2u])), cwc_words[w + 3u]);
}

// C v.
fn row_turn(row: Row, v: vec3f) -> vec3f {
    return vec3f(dot(row.normal.xyz, v), dot(row.tangent_1.xyz, v), dot(row.tangent_2.xyz, v));
}

// C^T f.
fn row_turn_back(row: Row, f: vec3f) -> vec3f {
    return row.normal.xyz * f.x + row.tangent_1.xyz * f.y + row.tangent_2.xyz * f.z;
}
