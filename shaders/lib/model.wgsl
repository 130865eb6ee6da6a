// Structs shared with the host (`src/gpu/layout.rs`).

struct Tet {
    nodes: vec4u,
    // Rest gradients of the corners 1 to 3 [1/m]; that of corner 0 is minus their sum. The w lanes:
    g1: vec4f, // mu V [J]
    g2: vec4f, // lambda V [J]
    g3: vec4f, // stiffness damping beta [s]
}

struct Node {
    mass: f32, // [kg]
    mass_damping: f32, // alpha [1/s]
    free: f32, // 1, or 0 where the node never moves
    corners: u32, // start of its list in `node_corners`; ends where the next node's starts
}

// A point of the surface.
struct Point {
    nodes: vec4u,
    weights: vec4f,
    rest: vec3f, // position at rest [m]
    body: u32,
}

// A 3x3 block by rows; the w lanes are padding.
struct Block {
    x: vec4f,
    y: vec4f,
    z: vec4f,
}

struct Grab {
    nodes: array<vec4u, 3>,
    weights: array<vec4f, 3>,
    offset: vec4f, // target less the point's rest position [m]
    stiffness: f32, // [N/m]
    damping: f32, // [N s/m]
    factor: f32, // what it adds to the matrix, dt^2 k + dt c [kg]
    pad: f32,
}

struct Params {
    gravity: vec4f, // [m/s^2]
    dt: f32, // [s]
    tolerance: f32, // of the residual, relative to `scale`
    contact_tolerance: f32, // eps2 [m]
    is_two_level: u32, // 1 if the elastic solve has a coarse space
    n_nodes: u32,
    n_tets: u32,
    n_edges: u32,
    n_points: u32,
    max_iterations: u32,
    row_groups: u32, // workgroups of every kernel over rows
    n_grabs: u32,
    has_node_forces: u32,
    n_bodies: u32,
    max_contact_iterations: u32,
    fixed_iterations: u32, // of conjugate gradients; 0 for as many as the tolerance takes
    n_blocks: u32,
    n_tiles: u32,
    loop_tiles: u32, // the first of them are those of bodies that one workgroup cannot hold
    n_whole: u32, // bodies that are solved in one workgroup
    pad: u32,
    grabs: array<Grab, MAX_GRABS>,
}

// The rows that a workgroup of the kernels over rows works on: those of one body, shared with the body's other workgroups.
struct Share {
    body: u32,
    first_group: u32,
    n_groups: u32,
    pad: u32,
    first_node: u32,
    end_node: u32,
    pad_1: u32,
    pad_2: u32,
}

// State of the conjugate gradients of one body, begun by the host and read by it after a batch of iterations.
struct Control {
    converged: u32,
    iterations: u32,
    residual2: f32, // |r|^2
    target2: f32, // |r|^2 at which the solve ends
    scale: f32, // what the residual is measured against [kg m/s]; at first the impulse of the loads, 0 where there are none
    least_scale: f32, // [kg m/s], > 0
    elastic_done: u32,
    contact_iterations: u32, // of the solves before, with other contact forces
    remembered: u32, // 1 if the body is solved already, or with its contacts; 2 if it keeps what it has for this pass (`cwc/spread`)
    energy_target: f32, // r.P r at which the conjugate gradients end; 0 where |r|^2 tells [J]
    pad_0: u32,
    pad_1: u32,
}

// Index of a thread of a kernel with one thread an item (`groups_for` in `src/gpu/kernel.rs`).
fn thread_index(id: vec3u) -> u32 {
    return id.y * GRID_ROW + id.x;
}

fn block_product(a: Block, v: vec3f) -> vec3f {
    return vec3f(dot(a.x.xyz, v), dot(a.y.xyz, v), dot(a.z.xyz, v));
}
