// Points of elements of several tets (`element::Patch`). A tet that keeps one has no edges of its own to leave blocks
// of: its place in `edge_tangents` holds the deformation of the point first, then what the material made of it.
#import lib/mat3.wgsl
#import host/elastic

// Blocks of the edges of tets with tangents that are not warped, three columns each; behind them those of patches.
@group(0) @binding(8) var<storage, read_write> edge_tangents: array<vec4f>;

// Vectors of a point that its material leaves.
const POINT_MOTION = 13u;

// A tangent in the frame of two rotations U and V (`material::principal`): of U^T dF V its diagonal, and the even and
// odd parts of the pairs (0, 1), (0, 2), (1, 2).
struct PrincipalModuli {
    along: mat3x3f,
    even: vec3f,
    odd: vec3f,
}

// A material without its energy of volume changes, at a point.
struct QuadraturePoint {
    stress: mat3x3f, // as predicted, times the volume [J]
    u: mat3x3f,
    v: mat3x3f,
    moduli: PrincipalModuli, // times the volume [J]
    change: f32, // theta, counted from rest
    change_rate: f32, // [1/s]
    swelling: mat3x3f, // d theta / d F
}

// mu (dF + R dF^T R) in the frame U = R, V = I.
fn point_warped(mu: f32) -> PrincipalModuli {
    return PrincipalModuli(mat3_diagonal(2.0 * mu), vec3f(2.0 * mu), vec3f());
}

fn point_place(t: u32) -> u32 {
    return 3u * ELEMENT_EDGES * t;
}

// G, or with `part` 1 its rates.
fn point_gradient(t: u32, part: u32) -> mat3x3f {
    let k = point_place(t) + 3u * part;
    return mat3x3f(edge_tangents[k].xyz, edge_tangents[k + 1u].xyz, edge_tangents[k + 2u].xyz);
}

// Keeps G and its rates behind what the material leaves, for limits of stretch.
fn point_keep_motion(t: u32, g: mat3x3f, rates: mat3x3f) {
    let k = point_place(t) + POINT_MOTION;
    for (var c = 0u; c < 3u; c++) {
        edge_tangents[k + c] = vec4f(g[c], rates[0][c]);
    }
    edge_tangents[k + 3u] = vec4f(rates[1], rates[2].x);
    edge_tangents[k + 4u] = vec4f(rates[2].yz, 0.0, 0.0);
}

fn point_kept_gradient(t: u32) -> mat3x3f {
    let k = point_place(t) + POINT_MOTION;
    return mat3x3f(edge_tangents[k].xyz, edge_tangents[k + 1u].xyz, edge_tangents[k + 2u].xyz);
}

fn point_kept_rates(t: u32) -> mat3x3f {
    let k = point_place(t) + POINT_MOTION;
    let first = vec3f(edge_tangents[k].w, edge_tangents[k + 1u].w, edge_tangents[k + 2u].w);
    return mat3x3f(first, edge_tangents[k + 3u].xyz, vec3f(edge_tangents[k + 3u].w, edge_tangents[k + 4u].xy));
}

fn point_store(t: u32, p: QuadraturePoint) {
    let k = point_place(t);
    let along = p.moduli.along;
    let diagonal = vec3f(along[0].x, along[1].y, along[2].z);
    let beside = vec3f(along[0].y, along[0].z, along[1].z);
    for (var c = 0u; c < 3u; c++) {
        edge_tangents[k + c] = vec4f(p.stress[c], diagonal[c]);
        edge_tangents[k + 3u + c] = vec4f(p.u[c], p.moduli.even[c]);
        edge_tangents[k + 6u + c] = vec4f(p.v[c], p.moduli.odd[c]);
        edge_tangents[k + 9u + c] = vec4f(p.swelling[c], beside[c]);
    }
    edge_tangents[k + 12u] = vec4f(p.change, p.change_rate, 0.0, 0.0);
}

fn point_load(t: u32) -> QuadraturePoint {
    let k = point_place(t);
    let along = mat3x3f(
        edge_tangents[k].w, edge_tangents[k + 9u].w, edge_tangents[k + 10u].w,
        edge_tangents[k + 9u].w, edge_tangents[k + 1u].w, edge_tangents[k + 11u].w,
        edge_tangents[k + 10u].w, edge_tangents[k + 11u].w, edge_tangents[k + 2u].w,
    );
    let even = vec3f(edge_tangents[k + 3u].w, edge_tangents[k + 4u].w, edge_tangents[k + 5u].w);
    let odd = vec3f(edge_tangents[k + 6u].w, edge_tangents[k + 7u].w, edge_tangents[k + 8u].w);
    return QuadraturePoint(
        mat3x3f(edge_tangents[k].xyz, edge_tangents[k + 1u].xyz, edge_tangents[k + 2u].xyz),
        mat3x3f(edge_tangents[k + 3u].xyz, edge_tangents[k + 4u].xyz, edge_tangents[k + 5u].xyz),
        mat3x3f(edge_tangents[k + 6u].xyz, edge_tangents[k + 7u].xyz, edge_tangents[k + 8u].xyz),
        PrincipalModuli(along, even, odd),
        edge_tangents[k + 12u].x,
        edge_tangents[k + 12u].y,
        mat3x3f(edge_tangents[k + 9u].xyz, edge_tangents[k + 10u].xyz, edge_tangents[k + 11u].xyz),
    );
}

// The block of two nodes with the shape gradients a and b: column c is dP[e_c b^T] a. Twin:
// `material::Principal::block`.
fn point_block(p: QuadraturePoint, a: vec3f, b: vec3f) -> mat3x3f {
    let x = transpose(p.v) * a;
    let y = transpose(p.v) * b;
    var block = mat3x3f(p.moduli.along[0] * x * y.x, p.moduli.along[1] * x * y.y, p.moduli.along[2] * x * y.z);
    for (var k = 0u; k < 3u; k++) {
        let i = k / 2u;
        let j = 1u + (k + 1u) / 2u;
        let sum = 0.5 * (p.moduli.even[k] + p.moduli.odd[k]);
        let difference = 0.5 * (p.moduli.even[k] - p.moduli.odd[k]);
        block[i][i] += sum * x[j] * y[j];
        block[j][j] += sum * x[i] * y[i];
        block[j][i] += difference * x[j] * y[i];
        block[i][j] += difference * x[i] * y[j];
    }
    return p.u * block * transpose(p.u);
}
