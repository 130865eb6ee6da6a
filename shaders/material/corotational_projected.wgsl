// One thread a tet of a corotational material with the exact tangent, made positive. Formula and source:
// `material::CorotationalProjected`.
#import lib/principal.wgsl

@compute @workgroup_size(WORKGROUP)
fn corotational_projected(@builtin(global_invocation_id) id: vec3u) {
    let t = thread_index(id);
    if !element_is_of(t, MODEL_COROTATIONAL_PROJECTED) {
        return;
    }
    let at = element_deformation(t);
    let frame = principal_of(at.gradient);
    let e = frame.strains;
    let mu = tets[t].g1.w;
    let lambda = tets[t].g2.w;
    let p = 2.0 * mu * e + lambda * (e.x + e.y + e.z);
    let hessian = mat3_outer(vec3f(lambda), vec3f(1.0)) + mat3_diagonal(2.0 * mu);
    principal_element(t, at, frame, p, hessian, true, PrincipalChange(e.x + e.y + e.z, vec3f(1.0)));
}
