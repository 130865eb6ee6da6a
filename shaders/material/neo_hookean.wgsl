// One thread a tet of a neo-Hookean material, continued through inversion. Formula and source: `material::NeoHookean`;
// the ray from rest to the stretches runs along the strains e.
#import lib/principal.wgsl

// What the ray has at its point q of the least J.
struct Ray {
    t: f32,
    q: vec3f,
    a: vec3f, // 1 / q
    t_gradient: vec3f,
    y: vec3f, // e / q
    u: vec3f, // -a y
}

// Interval halvings of f32.
const RAY_BISECTIONS = 26;

fn neo_hookean_ray(e: vec3f) -> Ray {
    var high = 1.0;
    for (var k = 0u; k < 3u; k++) {
        if e[k] < 0.0 {
            high = min(high, -1.0 / e[k]);
        }
    }
    var low = 0.0;
    for (var k = 0; k < RAY_BISECTIONS; k++) {
        let middle = 0.5 * (low + high);
        let q = 1.0 + middle * e;
        if q.x * q.y * q.z > NEO_HOOKEAN_LEAST_J {
            low = middle;
        } else {
            high = middle;
        }
    }
    let t = 0.5 * (low + high);
    let q = 1.0 + t * e;
    let a = 1.0 / q;
    let y = e * a;
    return Ray(t, q, a, (-t / (y.x + y.y + y.z)) * a, y, -a * y);
}

// mu s_i + (lambda ln J - mu) / s_i of s = 1 + e.
fn neo_hookean_stress(t: u32, e: vec3f, log_j: f32) -> vec3f {
    return (tets[t].g1.w * e * (2.0 + e) + tets[t].g2.w * log_j) / (1.0 + e);
}

fn neo_hookean_hessian(t: u32, a: vec3f, log_j: f32) -> mat3x3f {
    let mu = tets[t].g1.w;
    let c = tets[t].g2.w * log_j - mu;
    var hessian = mat3_outer(tets[t].g2.w * a, a);
    for (var i = 0u; i < 3u; i++) {
        hessian[i][i] += mu - c * a[i] * a[i];
    }
    return hessian;
}

// diag(d) + M.
fn mat3_plus_diagonal(m: mat3x3f, d: vec3f) -> mat3x3f {
    return mat3x3f(m[0] + vec3f(d.x, 0.0, 0.0), m[1] + vec3f(0.0, d.y, 0.0), m[2] + vec3f(0.0, 0.0, d.z));
}

@compute @workgroup_size(WORKGROUP)
fn neo_hookean(@builtin(global_invocation_id) id: vec3u) {
    let t = thread_index(id);
    if !element_is_of(t, MODEL_NEO_HOOKEAN) {
        return;
    }
    let at = element_deformation(t);
    let frame = principal_of(at.gradient);
    let e = frame.strains;
    let theta = principal_dilatation(e);
    let s = 1.0 + e;
    if s.x * s.y * s.z >= NEO_HOOKEAN_LEAST_J {
        let log_j = principal_log1p(e.x) + principal_log1p(e.y) + principal_log1p(e.z);
        let hessian = neo_hookean_hessian(t, 1.0 / s, log_j);
        principal_element(t, at, frame, neo_hookean_stress(t, e, log_j), hessian, false, theta);
        return;
    }
    let ray = neo_hookean_ray(e);
    let w = 1.0 - ray.t;
    let a = ray.a;
    let y = ray.y;
    let lambda = tets[t].g2.w;
    let log_j = log(NEO_HOOKEAN_LEAST_J);
    let c = lambda * log_j - tets[t].g1.w;
    let y1 = y.x + y.y + y.z;
    let hessian = neo_hookean_hessian(t, a, log_j);
    // T[d] and T4[d, d].
    let third = mat3_plus_diagonal(lambda * (mat3_outer(ray.u, a) + mat3_outer(a, ray.u)), a * a * (2.0 * c * y - lambda * y1));
    let ay2 = a * y * y;
    let fourth = mat3_plus_diagonal(
        2.0 * lambda * (mat3_outer(ay2, a) + mat3_outer(a, ay2) + mat3_outer(ray.u, ray.u)),
        a * a * (lambda * dot(y, y) + 4.0 * lambda * y1 * y - 6.0 * c * y * y),
    );
    let h_d = hessian * e;
    let t_dd = third * e;
    let t_ddd = dot(t_dd, e);
    let z = ray.t * t_dd + t_ddd * ray.t_gradient;
    let p = neo_hookean_stress(t, ray.t * e, log_j) + w * h_d + (0.5 * w * w) * z;
    let moved = mat3_outer(e, ray.t_gradient) + mat3_diagonal(ray.t); // Q
    let rest = a - transpose(moved) * (e * a * a);
    let scaled_moved = mat3_plus_diagonal(mat3x3f(), a * a) * moved;
    let bend = (ray.t / y1) * scaled_moved + (ray.t / (y1 * y1)) * mat3_outer(a, rest) - (1.0 / y1) * mat3_outer(a, ray.t_gradient);
    let along = transpose(moved) * (fourth * e) + 3.0 * t_dd;
    let z_change = mat3_outer(t_dd, ray.t_gradient) + ray.t * (fourth * moved + 2.0 * third) + mat3_outer(ray.t_gradient, along) + t_ddd * bend;
    let found = hessian * moved + w * hessian - mat3_outer(h_d + w * z, ray.t_gradient) + w * (third * moved) + (0.5 * w * w) * z_change;
    principal_element(t, at, frame, p, 0.5 * (found + transpose(found)), false, theta);
}
