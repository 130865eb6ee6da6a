// Contacts of surface points with obstacles. Twin: `contact::Contact`. Point k owns the contacts k n_slots to (k + 1) n_slots - 1.
#import lib/params.wgsl
#import lib/phase.wgsl

const EMPTY: u32 = 0u;
const INACTIVE: u32 = 1u;
const STICKING: u32 = 2u;
const SLIDING: u32 = 3u;

// Gaps of active contacts aim at this part of the tolerance.
const SAFETY: f32 = 0.5;

struct Contact {
    normal: vec3f,
    friction: f32,
    offset: vec3f, // relative motion at dv = 0: gap less safety, slips [m]
    obstacle: u32,
    multiplier: vec3f, // [N]
    status: u32,
    sliding_force: vec3f, // [N]
    compliance: f32, // along the normal [m/N]
    stiffness: vec3f, // diagonal of the inverse compliance [N/m]
    compliance_tangent: f32, // mean along the surface [m/N]
    stiffness_off: vec3f, // its entries (0, 1), (0, 2), (1, 2)
    pad: u32,
    // Parts of the vectors of the contact loop:
    r: vec3f,
    pad_r: u32,
    p: vec3f,
    pad_p: u32,
    z: vec3f,
    pad_z: u32,
    b_p: vec3f,
    pad_b: u32,
    c_b_p: vec3f,
    pad_c: u32,
}

// What a contact leaves to the next step.
struct Memory {
    friction_force: vec3f, // on the body, in space [N]
    normal_force: f32, // [N]
    obstacle: u32,
    status: u32,
    friction: f32,
    pad: u32,
}

struct Pair {
    first: u32, // surface points of the body
    end: u32,
    obstacle: u32,
    body: u32,
}

struct PairForces {
    normal: vec4f, // on the body [N]; w: active contacts
    friction: vec4f, // on the body [N]; w: contacts
    sums: vec4f, // normal forces, friction forces [N], energy taken by friction [J]
    largest: vec4f, // gap of an active contact [m], complementarity error [m], excess over the cone [N]
}

// Vectors of the contact loop over nodes: vector v of node i stands at v n_nodes + i of `vectors`.
const V_R: u32 = 0u; // residual; w: sum of the weights that active contacts put on the node
const V_P: u32 = 1u;
const V_Z: u32 = 2u;
const V_B_Z: u32 = 3u;
const V_B_P: u32 = 4u;
const V_A_Z: u32 = 5u;
const V_A_P: u32 = 6u;
const V_C_B_P: u32 = 7u;
const V_FREE: u32 = 8u; // residual without contacts: rhs - A dv

// C: normal and tangents as columns, so that `v * frame` is C v and `frame * f` is C^T f.
// [Duff et al. 2017, Building an orthonormal basis, revisited]
fn contact_frame(n: vec3f) -> mat3x3f {
    let s = select(1.0, -1.0, n.z < 0.0);
    let a = -1.0 / (s + n.z);
    let b = n.x * n.y * a;
    return mat3x3f(n, vec3f(1.0 + s * n.x * n.x * a, s * b, -s * n.x), vec3f(b, s + n.y * n.y * a, -n.y));
}

// The rows that are in the system.
fn contact_mask(status: u32, v: vec3f) -> vec3f {
    return select(select(vec3f(), vec3f(v.x, 0.0, 0.0), status == SLIDING), v, status == STICKING);
}

fn contact_is_active(status: u32) -> bool {
    return status == STICKING || status == SLIDING;
}

// gamma, from the rows or from the right-hand side; x is 0.
fn contact_friction(c: Contact) -> vec3f {
    return select(select(vec3f(), c.sliding_force, c.status == SLIDING), vec3f(0.0, c.multiplier.yz), c.status == STICKING);
}

// What stands against the body in its rows [N], in the contact's frame.
fn contact_force(c: Contact) -> vec3f {
    return contact_mask(c.status, c.multiplier) + select(vec3f(), c.sliding_force, c.status == SLIDING);
}

fn contact_stiffness_product(c: Contact, v: vec3f) -> vec3f {
    let o = c.stiffness_off;
    return c.stiffness * v + vec3f(o.x * v.y + o.y * v.z, o.x * v.x + o.z * v.z, o.y * v.x + o.z * v.y);
}
