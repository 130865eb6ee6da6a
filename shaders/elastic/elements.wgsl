// One thread a tet: follows its rotation and leaves corner forces and rotated gradients in its own four slots.
// Formula and source: `elastic::element`.
#import lib/params.wgsl
#import lib/mat3.wgsl
#import lib/quat.wgsl
#import host/elastic

@group(0) @binding(1) var<storage, read> tets: array<Tet>;
@group(0) @binding(2) var<storage, read> displacements_hi: array<vec4f>;
@group(0) @binding(3) var<storage, read> displacements_lo: array<vec4f>;
@group(0) @binding(4) var<storage, read> velocities: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> rotations: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> corner_forces: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> corner_gradients: array<vec4f>;

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

@compute @workgroup_size(WORKGROUP)
fn elements(@builtin(global_invocation_id) id: vec3u) {
    let t = thread_index(id);
    if t >= params.n_tets {
        return;
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
    let g_v = mat3_outer(velocities[n.y].xyz - v, tet.g1.xyz) + mat3_outer(velocities[n.z].xyz - v, tet.g2.xyz)
        + mat3_outer(velocities[n.w].xyz - v, tet.g3.xyz);

    // Rotation, from where it was in the last step.
    var q = rotations[t];
    var d = quat_matrix_minus_identity(q);
    for (var k = 0u; k < MAX_ROTATION_STEPS; k++) {
        let w = rotation_correction(g + transpose(d) * g + transpose(d));
        q = quat_turn(q, w);
        d = quat_matrix_minus_identity(q);
        if dot(w, w) < ROTATION_TOLERANCE * ROTATION_TOLERANCE {
            break;
        }
    }
    rotations[t] = q;

    // Stress times volume at the linear prediction, in the rotated frame.
    let dt = params.dt;
    let beta = tet.g3.w;
    let predicted = g + (dt + beta) * g_v;
    let b = predicted + transpose(d) * predicted + transpose(d);
    let strain = 0.5 * (b + transpose(b));
    let stress = (-2.0 * tet.g1.w) * strain - mat3_diagonal(tet.g2.w * mat3_trace(strain));
    let r = d + mat3_diagonal(1.0);
    let turned = r * stress;
    let f1 = turned * tet.g1.xyz;
    let f2 = turned * tet.g2.xyz;
    let f3 = turned * tet.g3.xyz;
    corner_forces[4u * t] = vec4f(-(f1 + f2 + f3), 0.0);
    corner_forces[4u * t + 1u] = vec4f(f1, 0.0);
    corner_forces[4u * t + 2u] = vec4f(f2, 0.0);
    corner_forces[4u * t + 3u] = vec4f(f3, 0.0);

    // The matrix block of corners (i, j) is (lambda/mu) a_i a_j^T + a_j a_i^T + (a_i.a_j) I.
    let scale = sqrt(tet.g1.w * (dt * dt + dt * beta));
    let lambda_over_mu = tet.g2.w / tet.g1.w;
    let a1 = scale * (r * tet.g1.xyz);
    let a2 = scale * (r * tet.g2.xyz);
    let a3 = scale * (r * tet.g3.xyz);
    corner_gradients[4u * t] = vec4f(-(a1 + a2 + a3), lambda_over_mu);
    corner_gradients[4u * t + 1u] = vec4f(a1, lambda_over_mu);
    corner_gradients[4u * t + 2u] = vec4f(a2, lambda_over_mu);
    corner_gradients[4u * t + 3u] = vec4f(a3, lambda_over_mu);
}
