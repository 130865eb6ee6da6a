// Conjugate residuals on the device: unknowns of all bodies and rows of contacts of all kinds, in the tables that `lib/cwc.wgsl` reads. Twin: `contact::cr`.
// Each island (`contact::generate::Island`) is a problem of its own, as on the CPU: sums go over its unknowns and contacts only. Every workgroup works for one island,
// leaves partial sums in its own places, and adds up those of all workgroups of the island for itself in the next kernel.
#import lib/cwc.wgsl
#import lib/group.wgsl
#import lib/float.wgsl

struct Cr {
    n_islands: u32,
    n_groups: u32,
    n_unknowns: u32, // of the model
    islands: u32, // first word of the islands in `cwc_words`,
    groups: u32, // of the island of each workgroup,
    rigid: u32, // and of the blocks of A of rigid bodies, each with its inverse
    sums: u32, // first vector in `cwc_state` of the partial sums,
    loads: u32, // and of what active contacts put on each place
}

// State of the solve of one island, begun by the host and read by it when it is done.
struct CrControl {
    done: u32,
    converged: u32,
    is_exhausted: u32, // no iterations are left
    stuck: u32,
    phase: u32, // of the round
    next_phase: u32,
    action: u32, // what is done with the states at the end of the round
    fresh: u32, // 1 if there is no direction before the next
    iterations: u32, // of all solves of this step
    since_evaluation: u32,
    restarts: u32, // since the rows are these
    is_loaded: u32, // 1 if `scale` is complete
    rho: f32, // z.Bz of the last step
    alpha: f32,
    error: f32, // of the residual, in units of its bounds
    error_after_restart: f32,
    scale: f32, // what the residual is measured against [kg m/s]
    least_scale: f32, // [kg m/s], > 0
    bound2: f32, // |r_v|^2 at which states settle; 0 before the first residual is known
    final2: f32, // |r_v|^2 at which the solve ends
    residual2: f32, // |r_v|^2
    pad: f32,
}

@group(0) @binding(21) var<uniform> cr: Cr;
@group(0) @binding(22) var<storage, read_write> cr_controls: array<CrControl>;
// Over unknowns, see CR_R and those after it.
@group(0) @binding(23) var<storage, read_write> cr_vectors: array<vec4f>;

// What a round does (`CrControl.phase`).
const PHASE_NORMAL: u32 = 0u; // one iteration
const PHASE_RESTART: u32 = 1u; // first direction for changed contacts
const PHASE_ENTRY: u32 = 2u; // residual for the contacts that the host has brought

const ACTION_NONE: u32 = 0u;
const ACTION_EVALUATE: u32 = 1u;
const ACTION_FORCED: u32 = 2u; // at a converged state, where what counts at the end is looked at too

const INACTIVE: u32 = 0u;
const STICKING: u32 = 1u;
const SLIDING: u32 = 2u;

// Planes of one vector a contact in `cwc_state`; the first are brought by the host, and read by it up to the compliance.
const CR_STATUS: u32 = 0u; // (status, turning [m/N] or -1 for none, size of the sliding force [N])
const CR_TANGENT_1: u32 = 1u; // with the offset along it [m]
const CR_TANGENT_2: u32 = 2u;
const CR_MULTIPLIER: u32 = 3u; // [N]
const CR_COMPLIANCE: u32 = 4u; // diagonal [m/N]
const CR_STIFFNESS: u32 = 5u; // diagonal, and then what is off it: (xy, xz, yz) [N/m]
const CR_STIFFNESS_OFF: u32 = 6u;
const CR_ROW_R: u32 = 7u;
const CR_ROW_Z: u32 = 8u;
const CR_ROW_P: u32 = 9u;
const CR_ROW_B_P: u32 = 10u;
const CR_ROW_C_B_P: u32 = 11u;
const CR_SPREAD: u32 = 12u; // in space, what L^T is to be applied to; w: 1 if the contact is active
const CR_FORCE: u32 = 13u; // the same of the forces
const CR_PLANES: u32 = 14u;

// Vectors over unknowns: residual (w: 1 + the place of what contacts hang on, else 0), preconditioned residual, direction, their products with B and A,
// C^-1 B p, and the residual without contacts.
const CR_R: u32 = 0u;
const CR_Z: u32 = 1u;
const CR_P: u32 = 2u;
const CR_B_Z: u32 = 3u;
const CR_B_P: u32 = 4u;
const CR_A_Z: u32 = 5u;
const CR_A_P: u32 = 6u;
const CR_C_B_P: u32 = 7u;
const CR_FREE: u32 = 8u;

// Slots of partial sums of the workgroups: (Bp.CBp) of unknowns and of rows, (z.Bz, or |r_v|^2 where contacts have changed),
// (|r_v|^2, max |r_c|, sum of mu lambda, contacts in it), (active contacts, z.Sz), (1 where a contact has changed).
const CR_SUM_CURVATURE: u32 = 0u;
const CR_SUM_CURVATURE_ROWS: u32 = 1u;
const CR_SUM_RHO: u32 = 2u;
const CR_SUM_ROUND: u32 = 3u;
const CR_SUM_ROWS: u32 = 4u;
const CR_SUM_CHANGED: u32 = 5u;

struct CrIsland {
    first_group: u32,
    end_group: u32,
    first_unknown: u32,
    end_unknown: u32,
    first_contact: u32,
    end_contact: u32,
    first_body: u32, // deformable ones
    end_body: u32,
}

fn cr_island_of(group: u32) -> u32 {
    return cwc_words[cr.groups + group];
}

fn cr_island(island: u32) -> CrIsland {
    let w = cr.islands + 8u * island;
    return CrIsland(
        cwc_words[w], cwc_words[w + 1u], cwc_words[w + 2u], cwc_words[w + 3u],
        cwc_words[w + 4u], cwc_words[w + 5u], cwc_words[w + 6u], cwc_words[w + 7u],
    );
}

// First item of a thread after the first of the island, and the distance to the next.
fn cr_first(lane: u32, group: u32, island: CrIsland) -> u32 {
    return (group - island.first_group) * WORKGROUP + lane;
}

fn cr_stride(island: CrIsland) -> u32 {
    return (island.end_group - island.first_group) * WORKGROUP;
}

fn cr_leads(lane: u32, group: u32, island: CrIsland) -> bool {
    return lane == 0u && group == island.first_group;
}

fn cr_plane(plane: u32, contact: u32) -> u32 {
    return plane * cwc.n_contacts + contact;
}

fn cr_vector(vector: u32, unknown: u32) -> u32 {
    return vector * cr.n_unknowns + unknown;
}

fn cr_store(slot: u32, group: u32, value: vec4f) {
    cwc_state[cr.sums + slot * cr.n_groups + group] = value;
}

// This thread's part of the sum of a slot, and of its largest y.
fn cr_part(lane: u32, island: CrIsland, slot: u32) -> vec4f {
    var sum = vec4f();
    for (var g = island.first_group + lane; g < island.end_group; g += WORKGROUP) {
        sum += cwc_state[cr.sums + slot * cr.n_groups + g];
    }
    return sum;
}

// How much of the last direction is in the next one, at z.Bz = rho.
fn cr_beta(i: u32, rho: f32) -> f32 {
    return select(rho / cr_controls[i].rho, 0.0, cr_controls[i].fresh != 0u);
}

fn cr_part_max(lane: u32, island: CrIsland, slot: u32) -> f32 {
    var largest = 0.0;
    for (var g = island.first_group + lane; g < island.end_group; g += WORKGROUP) {
        largest = max(largest, cwc_state[cr.sums + slot * cr.n_groups + g].y);
    }
    return largest;
}

// The block of A of an unknown of a rigid body (0) or its inverse (1); symmetric.
fn cr_rigid(unknown: u32, which: u32) -> mat3x3f {
    let w = cr.rigid + 18u * (unknown - params.n_nodes) + 9u * which;
    return mat3x3f(
        bitcast<f32>(cwc_words[w]), bitcast<f32>(cwc_words[w + 1u]), bitcast<f32>(cwc_words[w + 2u]),
        bitcast<f32>(cwc_words[w + 3u]), bitcast<f32>(cwc_words[w + 4u]), bitcast<f32>(cwc_words[w + 5u]),
        bitcast<f32>(cwc_words[w + 6u]), bitcast<f32>(cwc_words[w + 7u]), bitcast<f32>(cwc_words[w + 8u]),
    );
}

// What a lever makes of the velocity of its place, and what it makes of a force.
fn cr_motion(lever: Lever, kind: u32, v: vec3f) -> vec3f {
    return select(v * lever.value.x, cross(v, lever.value), kind == PLACE_ANGULAR);
}

// L^T of the vectors in a plane, at a place; w: the weights that active contacts put there.
fn cr_gather(place: u32, plane: u32) -> vec4f {
    let p = cwc_place(place);
    var sum = vec4f();
    for (var i = p.first; i < p.end; i++) {
        let f = cwc_state[cr_plane(plane, cwc_words[cwc.items + 2u * i])];
        let lever = cwc_lever(cwc_words[cwc.items + 2u * i + 1u]);
        if p.kind == PLACE_ANGULAR {
            sum += vec4f(cross(lever.value, f.xyz), f.w);
        } else {
            sum += vec4f(f.xyz * lever.value.x, f.w * abs(lever.value.x));
        }
    }
    return vec4f(params.dt * sum.xyz, sum.w);
}

// A contact with what changes in it. Twin: `contact::Constraint`.
struct CrContact {
    normal: vec4f,
    tangent_1: vec4f,
    tangent_2: vec4f,
    give: vec4f,
    multiplier: vec3f,
    status: u32,
    turning: f32,
    sliding: f32,
    levers: vec2u,
}

fn cr_contact(k: u32) -> CrContact {
    let state = cwc_state[cr_plane(CR_STATUS, k)];
    return CrContact(
        cwc_rows[k].normal,
        cwc_state[cr_plane(CR_TANGENT_1, k)],
        cwc_state[cr_plane(CR_TANGENT_2, k)],
        cwc_rows[k].give,
        cwc_state[cr_plane(CR_MULTIPLIER, k)].xyz,
        u32(state.x),
        state.y,
        state.z,
        cwc_rows[k].levers.xy,
    );
}

fn cr_is_spring(c: CrContact) -> bool {
    return c.give.w < 0.0;
}

// C v, C^T f.
fn cr_turn(c: CrContact, v: vec3f) -> vec3f {
    return vec3f(dot(c.normal.xyz, v), dot(c.tangent_1.xyz, v), dot(c.tangent_2.xyz, v));
}

fn cr_turn_back(c: CrContact, f: vec3f) -> vec3f {
    return c.normal.xyz * f.x + c.tangent_1.xyz * f.y + c.tangent_2.xyz * f.z;
}

fn cr_offset(c: CrContact) -> vec3f {
    return vec3f(c.normal.w, c.tangent_1.w, c.tangent_2.w);
}

fn cr_mask(c: CrContact, v: vec3f) -> vec3f {
    let is_sticking = c.status == STICKING;
    let turns = is_sticking || (c.status == SLIDING && c.turning >= 0.0);
    return vec3f(select(0.0, v.x, c.status != INACTIVE), select(0.0, v.y, is_sticking), select(0.0, v.z, turns));
}

fn cr_row_compliance(c: CrContact) -> vec3f {
    if cr_is_spring(c) {
        return c.give.xyz;
    }
    return vec3f(0.0, 0.0, select(0.0, max(c.turning, 0.0), c.status == SLIDING));
}

// The friction force in the contact frame.
fn cr_friction(c: CrContact) -> vec2f {
    return select(select(vec2f(), c.multiplier.yz, c.status == STICKING), vec2f(c.sliding, c.multiplier.z), c.status == SLIDING);
}
