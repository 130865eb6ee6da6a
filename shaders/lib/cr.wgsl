// Conjugate residuals on the device: unknowns of all bodies and rows of contacts of all kinds, in the tables that `lib/cwc.wgsl` reads. Twin: `contact::cr`.
// Each island (`contact::generate::Island`) is a problem of its own, as on the CPU: sums go over its unknowns and contacts only. Every workgroup works for one island,
// leaves partial sums in its own places, and adds up those of all workgroups of the island for itself in the next kernel.
#import lib/cwc.wgsl
#import lib/group.wgsl
#import lib/float.wgsl
#import host/cr

@group(0) @binding(21) var<uniform> cr: Cr;
@group(0) @binding(22) var<storage, read_write> cr_controls: array<CrControl>;
@group(0) @binding(23) var<storage, read_write> cr_vectors: array<vec4f>;

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
    return cr_rigid_block(2u * (unknown - params.n_nodes) + which);
}

// L^T of the vectors in a plane, at a touched unknown; w: the weights that active contacts put there.
fn cr_gather(place: u32, plane: u32) -> vec4f {
    let touched = touched_unknown(place);
    var sum = vec4f();
    for (var i = touched.first_incidence; i < touched.end_incidence; i++) {
        let incidence = cwc_incidence(i);
        let f = cwc_state[cr_plane(plane, incidence.x)];
        let entry = jacobian_entry(incidence.y);
        if touched.kind == TOUCHED_ANGULAR {
            sum += vec4f(cross(entry.value, f.xyz), f.w);
        } else {
            sum += vec4f(f.xyz * entry.value.x, f.w * abs(entry.value.x));
        }
    }
    return vec4f(params.dt * sum.xyz, sum.w);
}

// A contact with what changes in it. Twin: `contact::Constraint`.
struct CrContact {
    normal: vec4f,
    tangent_1: vec4f,
    tangent_2: vec4f,
    compliance: vec4f,
    multiplier: vec3f,
    status: u32,
    turning: f32,
    sliding: f32,
    entries: vec2u,
}

fn cr_contact(k: u32) -> CrContact {
    let state = cwc_state[cr_plane(CR_STATUS, k)];
    return CrContact(
        cwc_rows[k].normal,
        cwc_state[cr_plane(CR_TANGENT_1, k)],
        cwc_state[cr_plane(CR_TANGENT_2, k)],
        cwc_rows[k].compliance,
        cwc_state[cr_plane(CR_MULTIPLIER, k)].xyz,
        u32(state.x),
        state.y,
        state.z,
        cwc_rows[k].entries.xy,
    );
}

fn cr_is_spring(c: CrContact) -> bool {
    return c.compliance.w < 0.0;
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
        return c.compliance.xyz;
    }
    return vec3f(0.0, 0.0, select(0.0, max(c.turning, 0.0), c.status == SLIDING));
}

// The friction force in the contact frame.
fn cr_friction(c: CrContact) -> vec2f {
    return select(select(vec2f(), c.multiplier.yz, c.status == STICKING), vec2f(c.sliding, c.multiplier.z), c.status == SLIDING);
}
