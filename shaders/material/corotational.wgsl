// One thread a tet of a corotational material: follows its rotation and leaves corner forces and tangent in its own
// slots, or what its patch asks of a point. Formula and source: `material::Corotational`.
#import lib/element.wgsl

@compute @workgroup_size(WORKGROUP)
fn corotational(@builtin(global_invocation_id) id: vec3u) {
    let t = thread_index(id);
    if !element_is_of(t, MODEL_COROTATIONAL) {
        return;
    }
    let at = element_deformation(t);
    let d = at.rotation;
    // Stress times minus the volume at the linear prediction, in the rotated frame.
    let predicted = at.gradient + element_reach(t) * at.rates;
    let b = predicted + transpose(d) * predicted + transpose(d);
    let strain = 0.5 * (b + transpose(b));
    let stress = (-2.0 * tets[t].g1.w) * strain - mat3_diagonal(tets[t].g2.w * mat3_trace(strain));
    let r = d + mat3_diagonal(1.0);
    if element_is_point(t) {
        let change = mat3_trace(at.gradient + transpose(d) * at.gradient + transpose(d));
        let moduli = point_warped(tets[t].g1.w);
        point_store(t, QuadraturePoint(-1.0 * (r * stress), r, mat3_diagonal(1.0), moduli, change, mat3_dot(r, at.rates), r));
        return;
    }
    element_scatter(t, r * stress);
    element_warped_tangent(t, r);
}
