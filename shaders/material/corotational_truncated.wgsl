// One thread a tet of a corotational material whose tangent takes the rotation for fixed. Formula and source:
// `material::CorotationalTruncated`.
#import lib/general_tangent.wgsl

@compute @workgroup_size(WORKGROUP)
fn corotational_truncated(@builtin(global_invocation_id) id: vec3u) {
    let t = thread_index(id);
    if !element_is_of(t, MODEL_COROTATIONAL_TRUNCATED) {
        return;
    }
    let at = element_deformation(t);
    let d = at.rotation;
    let mu = tets[t].g1.w;
    let lambda = tets[t].g2.w;
    // As in `material/corotational.wgsl`.
    let predicted = at.gradient + element_reach(t) * at.rates;
    let b = predicted + transpose(d) * predicted + transpose(d);
    let strain = 0.5 * (b + transpose(b));
    let stress = (-2.0 * mu) * strain - mat3_diagonal(lambda * mat3_trace(strain));
    let r = d + mat3_diagonal(1.0);
    if element_is_point(t) {
        let change = mat3_trace(at.gradient + transpose(d) * at.gradient + transpose(d));
        let moduli = PrincipalModuli(mat3_diagonal(2.0 * mu), vec3f(2.0 * mu), vec3f(2.0 * mu));
        let one = mat3_diagonal(1.0);
        point_store(t, QuadraturePoint(-1.0 * (r * stress), one, one, moduli, change, mat3_dot(r, at.rates), r));
        return;
    }
    element_scatter(t, r * stress);
    for (var j = 1u; j < ELEMENT_NODES; j++) {
        for (var axis = 0u; axis < 3u; axis++) {
            let change = element_change(t, j, axis);
            element_general_tangent(t, j, axis, 2.0 * mu * change + lambda * mat3_trace(transpose(r) * change) * r, false);
        }
    }
}
