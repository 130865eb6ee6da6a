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
    scale: f32, // driving impulse of the loads [kg m/s]; 0 where there are none
    least_scale: f32, // [kg m/s], > 0
    n_nodes: u32,
    n_tets: u32,
    n_edges: u32,
    n_points: u32,
    max_iterations: u32,
    row_groups: u32, // workgroups of every kernel over rows
    n_grabs: u32,
    has_node_forces: u32,
    n_obstacles: u32,
    n_slots: u32, // contacts that a point can have at once
    n_bodies: u32,
    n_pairs: u32,
    contact_tolerance: f32, // eps2 [m]
    max_contact_iterations: u32,
    remembered: u32, // 1 if there are contacts from the last step
    pad: u32,
    grabs: array<Grab, MAX_GRABS>,
}

// State of the solve, read by the host after a batch of iterations. First that of the conjugate gradients:
struct Control {
    done: u32, // everything is solved
    converged: u32,
    iterations: u32,
    stuck: u32,
    residual2: f32, // |r|^2
    target2: f32, // |r|^2 at which the solve ends
    scale: f32, // what the residual is measured against [kg m/s]
    elastic_done: u32,
    // and of the contact loop (`lib/contact.wgsl`):
    phase: u32,
    next_phase: u32,
    action: u32,
    fresh: u32, // 1 if there is no direction before the next
    rho: f32, // z.Bz of the last step
    alpha: f32,
    contact_iterations: u32,
    since_evaluation: u32,
    restarts: u32,
    relinearisations: u32,
    adaptations: u32,
    rounds: u32,
}

// Index of a thread of a kernel with one thread an item (`groups_for` in `src/gpu/kernel.rs`).
fn thread_index(id: vec3u) -> u32 {
    return id.y * GRID_ROW + id.x;
}

fn block_product(a: Block, v: vec3f) -> vec3f {
    return vec3f(dot(a.x.xyz, v), dot(a.y.xyz, v), dot(a.z.xyz, v));
}
