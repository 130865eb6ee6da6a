// One thread a tet of St. Venant and Kirchhoff's material. Formula and source: `material::StVenantKirchhoff`.
#import lib/principal.wgsl

@compute @workgroup_size(WORKGROUP)
fn st_venant_kirchhoff(@builtin(global_invocation_id) id: vec3u) {
    let t = thread_index(id);
    if !element_is_of(t, MODEL_ST_VENANT_KIRCHHOFF) {
        return;
    }
    let at = element_deformation(t);
    let frame = principal_of(at.gradient);
    let e = frame.strains;
    let s = 1.0 + e;
    let mu = tets[t].g1.w;
    let lambda = tets[t].g2.w;
    let strain = 0.5 * e * (2.0 + e);
    let stress = 2.0 * mu * strain + lambda * (strain.x + strain.y + strain.z);
    var hessian = mat3_outer(lambda * s, s);
    for (var i = 0u; i < 3u; i++) {
        hessian[i][i] += stress[i] + 2.0 * mu * s[i] * s[i];
    }
    principal_element(t, at, frame, stress * s, hessian, false, PrincipalChange(strain.x + strain.y + strain.z, s));
}
