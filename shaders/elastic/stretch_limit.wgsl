// One thread a tet: what its limits of stretch add to the forces and the tangent that its material has left. Formula
// and source: `material::StretchLimit`.
#import lib/principal.wgsl

@compute @workgroup_size(WORKGROUP)
fn stretch_limit(@builtin(global_invocation_id) id: vec3u) {
    let t = thread_index(id);
    if t >= params.n_tets || tets[t].limit_stiffness == 0.0 {
        return;
    }
    let motion = element_motion(t);
    let frame = principal_of(motion.gradient);
    let e = frame.strains;
    let beyond = max(e - tets[t].max_strain, vec3f()) + min(e - tets[t].min_strain, vec3f());
    let hessian = principal_diagonal(select(vec3f(), vec3f(tets[t].limit_stiffness), beyond != vec3f()));
    let p = tets[t].limit_stiffness * beyond;
    let moduli = principal_moduli(e, p, hessian, true, 0.5 * tets[t].limit_stiffness);
    let predicted = principal_predicted(frame, moduli, p, motion.rates, element_reach(t));
    for (var c = 0u; c < ELEMENT_NODES; c++) {
        corner_forces[ELEMENT_NODES * t + c] -= vec4f(predicted * element_gradient(t, c), 0.0);
    }
    // A warped tangent has left no blocks.
    let adds = tets[t].model != MODEL_COROTATIONAL;
    for (var j = 1u; j < ELEMENT_NODES; j++) {
        for (var axis = 0u; axis < 3u; axis++) {
            let m = transpose(frame.u) * element_change(t, j, axis) * frame.v;
            element_general_tangent(t, j, axis, frame.u * principal_times(moduli, m) * transpose(frame.v), adds);
        }
    }
}
