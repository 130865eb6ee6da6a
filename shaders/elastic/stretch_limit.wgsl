// One thread a tet: what its limits of stretch add to the forces and the tangent that its material has left, or to what
// that has left of the point of a patch that the tet keeps. Formula and source: `material::StretchLimit`.
#import lib/principal.wgsl

// Of a point after its material.
fn limit_motion(t: u32) -> ElementMotion {
    if element_is_point(t) {
        return ElementMotion(point_kept_gradient(t) + element_flowed(t), point_kept_rates(t));
    }
    return element_motion(t);
}

// Adds the stress and the moduli of the limit. Those of a material are in the same frame, or the same in it: of a warped
// tangent as U V^T = R, of a truncated one in any.
fn limit_point(t: u32, frame: Principal, predicted: mat3x3f, moduli: PrincipalModuli) {
    var point = point_load(t);
    point.stress += predicted;
    point.u = frame.u;
    point.v = frame.v;
    point.moduli.along += moduli.along;
    point.moduli.even += moduli.even;
    point.moduli.odd += moduli.odd;
    point_store(t, point);
}

// (p_i - p_j) / (s_i - s_j) of the pairs as a part of the stiffness, from 0 to 1. No strains are taken for equal
// (PRINCIPAL_EQUAL): where a limit lies between two, the mean of the derivatives may be off by half of the stiffness,
// however near to each other they are.
fn limit_even(e: vec3f, beyond: vec3f) -> vec3f {
    let side = sign(beyond);
    var even = vec3f();
    for (var k = 0u; k < 3u; k++) {
        let i = k / 2u;
        let j = 1u + (k + 1u) / 2u;
        if side[i] == side[j] {
            even[k] = abs(side[i]);
        } else {
            even[k] = (beyond[i] - beyond[j]) / (e[i] - e[j]);
        }
    }
    return even;
}

@compute @workgroup_size(WORKGROUP)
fn stretch_limit(@builtin(global_invocation_id) id: vec3u) {
    let t = thread_index(id);
    if t >= params.n_tets || tets[t].limit_stiffness == 0.0 {
        return;
    }
    let motion = limit_motion(t);
    let frame = principal_of(motion.gradient);
    let e = frame.strains;
    let beyond = max(e - tets[t].max_strain, vec3f()) + min(e - tets[t].min_strain, vec3f());
    let hessian = principal_diagonal(select(vec3f(), vec3f(tets[t].limit_stiffness), beyond != vec3f()));
    let p = tets[t].limit_stiffness * beyond;
    var moduli = principal_moduli(e, p, hessian, true, 0.5 * tets[t].limit_stiffness);
    moduli.even = tets[t].limit_stiffness * limit_even(e, beyond);
    let predicted = principal_predicted(frame, moduli, p, motion.rates, element_reach(t));
    if element_is_point(t) {
        limit_point(t, frame, predicted, moduli);
        return;
    }
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
