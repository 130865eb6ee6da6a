// What the kernels of all materials share: the deformation of a tet, or of the point of a patch that it keeps, its
// rotation, and what it leaves for the gathers.
// Formulas and sources: `element::Tet4`, `elastic::rotation::improve`, `elastic::pass`.
#import lib/params.wgsl
#import lib/mat3.wgsl
#import lib/quat.wgsl
#import lib/point.wgsl
#import host/elastic

@group(0) @binding(1) var<storage, read> tets: array<Tet>;
@group(0) @binding(2) var<storage, read> displacements_hi: array<vec4f>;
@group(0) @binding(3) var<storage, read> displacements_lo: array<vec4f>;
@group(0) @binding(4) var<storage, read> velocities: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> rotations: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> corner_forces: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> corner_gradients: array<vec4f>;

// How a tet or point is deformed at the start of a step (`material::Deformation`).
struct Deformation {
    gradient: mat3x3f, // G = F - I
    rates: mat3x3f, // of G [1/s]
    rotation: mat3x3f, // R - I
}

// Whether thread `t` has a tet of this constitutive model.
fn element_is_of(t: u32, model: u32) -> bool {
    return t < params.n_tets && tets[t].model == model;
}

// Correction of the rotation in its own frame [rad], from R^T F - I.
fn rotation_correction(b: mat3x3f) -> vec3f {
    let axial = vec3f(b[1].z - b[2].y, b[2].x - b[0].z, b[0].y - b[1].x);
    let trace = 3.0 + mat3_trace(b);
    let hessian = mat3_diagonal(trace - 1.0) - 0.5 * (b + transpose(b));
    let minor = hessian[0].x * hessian[1].y - hessian[1].x * hessian[0].y;
    let det = determinant(hessian);
    let scale = max(abs(trace), 1e-12);
    var w = axial / (abs(trace) + 1e-9);
    if hessian[0].x > 0.0 && minor > 0.0 && det > 1e-3 * scale * scale * scale {
        w = mat3_adjugate(hessian) * axial / det;
    }
    return w * min(1.0, 0.8 / max(length(w), 1e-12));
}

// Whether tet `t` keeps a point of a patch, whose kernels take what it leaves.
fn element_is_point(t: u32) -> bool {
    return tets[t].role == TET_POINT || tets[t].role == TET_TURNED_POINT;
}

// G and its rates.
struct ElementMotion {
    gradient: mat3x3f,
    rates: mat3x3f,
}

// What flow adds to the gradient of tet `t` (`material::plastic_change`), or of the point that it keeps. Its part of
// the shape gradients the host has put into them.
fn element_flowed(t: u32) -> mat3x3f {
    let row = tets[t].plastic_row;
    if row == NONE {
        return mat3x3f();
    }
    let along = rotations[row];
    let beside = rotations[row + 1u];
    return mat3x3f(along.x, beside.z, beside.y, beside.z, along.y, beside.x, beside.y, beside.x, along.z);
}

// How tet `t` moves; from the shape to which it would return, where that has flowed.
fn element_motion(t: u32) -> ElementMotion {
    if element_is_point(t) {
        return ElementMotion(point_gradient(t, 0u) + element_flowed(t), point_gradient(t, 1u));
    }
    let tet = tets[t];
    let n = tet.nodes;
    // Differences to corner 0: those of the high parts are exact, so a far body is as precise as a near one.
    let hi = displacements_hi[n.x].xyz;
    let lo = displacements_lo[n.x].xyz;
    let v = velocities[n.x].xyz;
    let u1 = (displacements_hi[n.y].xyz - hi) + (displacements_lo[n.y].xyz - lo);
    let u2 = (displacements_hi[n.z].xyz - hi) + (displacements_lo[n.z].xyz - lo);
    let u3 = (displacements_hi[n.w].xyz - hi) + (displacements_lo[n.w].xyz - lo);
    let g = mat3_outer(u1, tet.g1.xyz) + mat3_outer(u2, tet.g2.xyz) + mat3_outer(u3, tet.g3.xyz);
    let rates = mat3_outer(velocities[n.y].xyz - v, tet.g1.xyz) + mat3_outer(velocities[n.z].xyz - v, tet.g2.xyz)
        + mat3_outer(velocities[n.w].xyz - v, tet.g3.xyz);
    return ElementMotion(g + element_flowed(t), rates);
}

// The deformation of tet `t`; its rotation is given, or followed from where it was in the last step.
fn element_deformation(t: u32) -> Deformation {
    let motion = element_motion(t);
    let g = motion.gradient;
    var q = rotations[t];
    var d = quat_matrix_minus_identity(q);
    let is_given = tets[t].role == TET_TURNED || tets[t].role == TET_TURNED_POINT;
    let n_steps = select(MAX_ROTATION_STEPS, 0u, is_given);
    for (var k = 0u; k < n_steps; k++) {
        let w = rotation_correction(g + transpose(d) * g + transpose(d));
        q = quat_turn(q, w);
        d = quat_matrix_minus_identity(q);
        if dot(w, w) < ROTATION_TOLERANCE * ROTATION_TOLERANCE {
            break;
        }
    }
    rotations[t] = q;
    return Deformation(g, motion.rates, d);
}

// How far ahead the prediction of a step looks [s], damping included.
fn element_reach(t: u32) -> f32 {
    return params.dt + tets[t].g3.w;
}

// Leaves the forces of minus the stress times the volume.
fn element_scatter(t: u32, p: mat3x3f) {
    let f1 = p * tets[t].g1.xyz;
    let f2 = p * tets[t].g2.xyz;
    let f3 = p * tets[t].g3.xyz;
    corner_forces[ELEMENT_NODES * t] = vec4f(-(f1 + f2 + f3), 0.0);
    corner_forces[ELEMENT_NODES * t + 1u] = vec4f(f1, 0.0);
    corner_forces[ELEMENT_NODES * t + 2u] = vec4f(f2, 0.0);
    corner_forces[ELEMENT_NODES * t + 3u] = vec4f(f3, 0.0);
}

// Leaves the vectors of a warped tangent: the matrix block of corners (i, j) is (lambda/mu) a_i a_j^T + a_j a_i^T +
// (a_i.a_j) I.
fn element_warped_tangent(t: u32, r: mat3x3f) {
    let dt = params.dt;
    let scale = sqrt(tets[t].g1.w * (dt * dt + dt * tets[t].g3.w));
    let lambda_over_mu = tets[t].g2.w / tets[t].g1.w;
    let a1 = scale * (r * tets[t].g1.xyz);
    let a2 = scale * (r * tets[t].g2.xyz);
    let a3 = scale * (r * tets[t].g3.xyz);
    corner_gradients[ELEMENT_NODES * t] = vec4f(-(a1 + a2 + a3), lambda_over_mu);
    corner_gradients[ELEMENT_NODES * t + 1u] = vec4f(a1, lambda_over_mu);
    corner_gradients[ELEMENT_NODES * t + 2u] = vec4f(a2, lambda_over_mu);
    corner_gradients[ELEMENT_NODES * t + 3u] = vec4f(a3, lambda_over_mu);
}
