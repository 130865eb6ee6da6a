// One thread a tet of a stable neo-Hookean material. Formula and source: `material::StableNeoHookean`, with C - I and
// J - 1 from G: mu F + l (J - a) C = mu (F - C) + l (J - 1) C.
#import lib/general_tangent.wgsl

@compute @workgroup_size(WORKGROUP)
fn stable_neo_hookean(@builtin(global_invocation_id) id: vec3u) {
    let t = thread_index(id);
    if !element_is_of(t, MODEL_STABLE_NEO_HOOKEAN) {
        return;
    }
    let at = element_deformation(t);
    let g = at.gradient;
    let r = at.rotation + mat3_diagonal(1.0);
    let mu = tets[t].g1.w;
    let lambda = tets[t].g2.w;
    let cofactors_of_g = mat3_cofactors(g);
    let cofactor_change = mat3_diagonal(mat3_trace(g)) - transpose(g) + cofactors_of_g;
    let cofactors = mat3_diagonal(1.0) + cofactor_change;
    let dilatation = mat3_trace(g) + mat3_trace(cofactors_of_g) + determinant(g);
    let stress = mu * (g - cofactor_change) + (lambda + mu) * dilatation * cofactors;
    let predicted = stress + element_reach(t) * mixed_differential(mu, lambda, r, cofactors, at.rates);
    if element_is_point(t) {
        let rate = mat3_dot(cofactors, at.rates);
        point_store(t, QuadraturePoint(predicted, r, mat3_diagonal(1.0), point_warped(mu), dilatation, rate, cofactors));
        return;
    }
    element_scatter(t, -1.0 * predicted);
    for (var j = 1u; j < ELEMENT_NODES; j++) {
        for (var axis = 0u; axis < 3u; axis++) {
            let change = element_change(t, j, axis);
            element_general_tangent(t, j, axis, mixed_differential(mu, lambda, r, cofactors, change), false);
        }
    }
}

fn mixed_differential(mu: f32, lambda: f32, r: mat3x3f, cofactors: mat3x3f, change: mat3x3f) -> mat3x3f {
    let along = mat3_dot(cofactors, change);
    return mu * (change + r * transpose(change) * r) + lambda * along * cofactors;
}
