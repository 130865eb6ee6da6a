// One thread a tet of Mooney and Rivlin's rubber. Formula and source: `material::MooneyRivlin`; rearranged so that what
// cancels at rest is never formed.
#import lib/principal.wgsl

@compute @workgroup_size(WORKGROUP)
fn mooney_rivlin(@builtin(global_invocation_id) id: vec3u) {
    let t = thread_index(id);
    if !element_is_of(t, MODEL_MOONEY_RIVLIN) {
        return;
    }
    let at = element_deformation(t);
    let frame = principal_of(at.gradient);
    let e = frame.strains;
    let s = 1.0 + e;
    let mu_2 = tets[t].mooney_share * tets[t].g1.w;
    let mu_1 = tets[t].g1.w - mu_2;
    let linear = mu_1 + 2.0 * mu_2;
    let square = tets[t].g2.w - 2.0 * mu_2;
    // J - 1, and U' + linear.
    let theta = principal_dilatation(e);
    let dilatation = theta.value;
    let j = max(1.0 + dilatation, MOONEY_RIVLIN_LEAST_J);
    let log_j = principal_log1p(max(dilatation, MOONEY_RIVLIN_LEAST_J - 1.0));
    let below = min(1.0 + dilatation - MOONEY_RIVLIN_LEAST_J, 0.0);
    let curvature = (linear + square - square * log_j) / (j * j);
    let excess = (linear * (j - 1.0) + square * log_j) / j + below * curvature;
    let c = theta.slopes;
    let squares = s.yzx * s.yzx + s.zxy * s.zxy;
    let difference = e.yzx - e.zxy;
    let first = e - (e.yzx + e.zxy + e.yzx * e.zxy);
    let second = e * squares + difference * difference;
    let p = mu_1 * first + mu_2 * second + excess * c;
    let slope = excess - linear;
    var hessian = mat3_outer(curvature * c, c);
    for (var i = 0u; i < 3u; i++) {
        for (var k = 0u; k < 3u; k++) {
            if i == k {
                hessian[i][i] += mu_1 + mu_2 * squares[i];
            } else {
                hessian[i][k] += 2.0 * mu_2 * s[i] * s[k] + slope * s[3u - i - k];
            }
        }
    }
    principal_element(t, at, frame, p, hessian, false, theta);
}
