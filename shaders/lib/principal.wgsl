// Isotropic materials by their principal stretches: singular vectors, and the tangent in their frame. Formulas and
// sources: `math::singular`, `material::principal`. Strains e = s - 1 stand for stretches: in f32 small strains would
// be lost in them.
#import lib/general_tangent.wgsl

// F = U diag(1 + e) V^T with rotations U, V; 1 + e.z bears the sign of det F.
struct Principal {
    strains: vec3f,
    u: mat3x3f,
    v: mat3x3f,
}

// A volume change, counted from rest, and its derivatives by the stretches.
struct PrincipalChange {
    value: f32,
    slopes: vec3f,
}

const PRINCIPAL_SWEEPS = 8;
const PRINCIPAL_NEGLIGIBLE2 = 1e-14;
const PRINCIPAL_TINY = 1e-30;
// Larger entries of F are scaled: squares of squared lengths have to be numbers, or what is stretched that far would
// have no forces. (Scaled to one, the largest floats would have no normal inverse.)
const PRINCIPAL_HUGE = 1e6;
const PRINCIPAL_SCALED = 8.0;
// Coarser than on the CPU: differences of stresses have f32's noise.
const PRINCIPAL_EQUAL = 2e-3;
const PRINCIPAL_MAX_ODD = 1e3;

// ln(1 + x), exact for small x.
fn principal_log1p(x: f32) -> f32 {
    let y = 1.0 + x;
    if y == 1.0 {
        return x;
    }
    return log(y) * (x / (y - 1.0));
}

// Cosine and sine of the smaller rotation that makes [[a, c], [c, a + difference]] diagonal.
fn principal_turn(difference: f32, c: f32) -> vec2f {
    let root = abs(difference) + sqrt(difference * difference + 4.0 * c * c);
    let tangent = select(-2.0, 2.0, difference > 0.0) * c / max(root, PRINCIPAL_TINY);
    let cosine = inverseSqrt(tangent * tangent + 1.0);
    return vec2f(cosine, tangent * cosine);
}

// The columns p and q turned against each other.
fn principal_turned(columns: mat3x3f, p: u32, q: u32, turn: vec2f) -> mat3x3f {
    var turned = columns;
    turned[p] = turn.x * columns[p] - turn.y * columns[q];
    turned[q] = turn.y * columns[p] + turn.x * columns[q];
    return turned;
}

fn principal_normal(a: vec3f) -> vec3f {
    if a.x * a.x < 0.5 {
        return normalize(vec3f(0.0, a.z, -a.y));
    }
    return normalize(vec3f(-a.z, 0.0, a.x));
}

fn principal_of(g: mat3x3f) -> Principal {
    let f = g + mat3_diagonal(1.0);
    let extents = max(max(abs(f[0]), abs(f[1])), abs(f[2]));
    let largest = max(max(extents.x, extents.y), extents.z);
    var columns = select(1.0, PRINCIPAL_SCALED / largest, largest > PRINCIPAL_HUGE) * f;
    var v = mat3_diagonal(1.0);
    for (var sweep = 0; sweep < PRINCIPAL_SWEEPS; sweep++) {
        var is_settled = true;
        for (var k = 0u; k < 3u; k++) {
            let p = k / 2u;
            let q = 1u + (k + 1u) / 2u;
            let a = dot(columns[p], columns[p]);
            let b = dot(columns[q], columns[q]);
            let c = dot(columns[p], columns[q]);
            is_settled = is_settled && c * c <= a * b * PRINCIPAL_NEGLIGIBLE2;
            let turn = principal_turn(b - a, c);
            columns = principal_turned(columns, p, q, turn);
            v = principal_turned(v, p, q, turn);
        }
        if is_settled {
            break;
        }
    }
    for (var k = 0u; k < 3u; k++) {
        let p = k % 2u;
        if dot(columns[p + 1u], columns[p + 1u]) > dot(columns[p], columns[p]) {
            columns = principal_turned(columns, p, p + 1u, vec2f(0.0, -1.0));
            v = principal_turned(v, p, p + 1u, vec2f(0.0, -1.0));
        }
    }
    var first = vec3f(1.0, 0.0, 0.0);
    if dot(columns[0], columns[0]) > PRINCIPAL_TINY {
        first = normalize(columns[0]);
    }
    var second = columns[1] - dot(first, columns[1]) * first;
    if dot(second, second) > PRINCIPAL_TINY {
        second = normalize(second);
    } else {
        second = principal_normal(first);
    }
    second = normalize(second - dot(first, second) * first);
    let u = mat3x3f(first, second, cross(first, second));
    // u.F v - 1 for unit vectors.
    var strains = vec3f();
    for (var k = 0u; k < 3u; k++) {
        let apart = u[k] - v[k];
        strains[k] = dot(u[k], g * v[k]) - 0.5 * dot(apart, apart);
    }
    return Principal(strains, u, v);
}

// |A|, or with `clamp` the positive part, of a symmetric matrix.
fn principal_filtered(a: mat3x3f, clamp: bool) -> mat3x3f {
    var h = a;
    var q = mat3_diagonal(1.0);
    for (var sweep = 0; sweep < PRINCIPAL_SWEEPS; sweep++) {
        let beside = h[0].y * h[0].y + h[0].z * h[0].z + h[1].z * h[1].z;
        let norm2 = dot(h[0], h[0]) + dot(h[1], h[1]) + dot(h[2], h[2]);
        if beside <= norm2 * PRINCIPAL_NEGLIGIBLE2 {
            break;
        }
        for (var k = 0u; k < 3u; k++) {
            let i = k / 2u;
            let j = 1u + (k + 1u) / 2u;
            let turn = principal_turn(h[j][j] - h[i][i], h[i][j]);
            h = principal_turned(transpose(principal_turned(h, i, j, turn)), i, j, turn);
            q = principal_turned(q, i, j, turn);
        }
    }
    var sum = mat3x3f();
    for (var k = 0u; k < 3u; k++) {
        sum += mat3_outer(select(abs(h[k][k]), max(h[k][k], 0.0), clamp) * q[k], q[k]);
    }
    return sum;
}

// The matrix's part of the tangent, from stresses and their derivatives by the stretches, and mu + lambda.
fn principal_moduli(e: vec3f, p: vec3f, hessian: mat3x3f, clamp: bool, lame_sum: f32) -> PrincipalModuli {
    let most = PRINCIPAL_MAX_ODD * lame_sum;
    var even = vec3f();
    var odd = vec3f();
    for (var k = 0u; k < 3u; k++) {
        let i = k / 2u;
        let j = 1u + (k + 1u) / 2u;
        var modulus = 0.5 * (hessian[i][i] + hessian[j][j]) - hessian[i][j];
        if abs(e[i] - e[j]) > PRINCIPAL_EQUAL {
            modulus = (p[i] - p[j]) / (e[i] - e[j]);
        }
        even[k] = select(abs(modulus), max(modulus, 0.0), clamp);
        odd[k] = clamp_odd((p[i] + p[j]) / max(2.0 + e[i] + e[j], PRINCIPAL_TINY), most);
    }
    return PrincipalModuli(principal_filtered(hessian, clamp), even, odd);
}

fn clamp_odd(modulus: f32, most: f32) -> f32 {
    return min(max(modulus, 0.0), most);
}

// U^T dP V of U^T dF V.
fn principal_times(moduli: PrincipalModuli, m: mat3x3f) -> mat3x3f {
    let diagonal = moduli.along * vec3f(m[0].x, m[1].y, m[2].z);
    var found = principal_diagonal(diagonal);
    for (var k = 0u; k < 3u; k++) {
        let i = k / 2u;
        let j = 1u + (k + 1u) / 2u;
        let even = 0.5 * moduli.even[k] * (m[j][i] + m[i][j]);
        let odd = 0.5 * moduli.odd[k] * (m[j][i] - m[i][j]);
        found[j][i] = even + odd;
        found[i][j] = even - odd;
    }
    return found;
}

// J - 1 of s = 1 + e.
fn principal_dilatation(e: vec3f) -> PrincipalChange {
    let s = 1.0 + e;
    return PrincipalChange(e.x + e.y + e.z + e.x * e.y + e.x * e.z + e.y * e.z + e.x * e.y * e.z, s.yzx * s.zxy);
}

fn principal_diagonal(d: vec3f) -> mat3x3f {
    return mat3x3f(d.x, 0.0, 0.0, 0.0, d.y, 0.0, 0.0, 0.0, d.z);
}

// The stress after a time [s] with present rates.
fn principal_predicted(frame: Principal, moduli: PrincipalModuli, p: vec3f, rates: mat3x3f, time: f32) -> mat3x3f {
    let still = PrincipalModuli(moduli.along, moduli.even, vec3f());
    let change = principal_times(still, transpose(frame.u) * rates * frame.v);
    return frame.u * (principal_diagonal(p) + time * change) * transpose(frame.v);
}

// Leaves forces and tangent of tet `t`, from its principal stresses and their derivatives; or a point of a patch, with
// its volume change.
fn principal_element(t: u32, at: Deformation, frame: Principal, p: vec3f, hessian: mat3x3f, clamp: bool, theta: PrincipalChange) {
    let moduli = principal_moduli(frame.strains, p, hessian, clamp, tets[t].g1.w + tets[t].g2.w);
    let u = frame.u;
    let v = frame.v;
    let predicted = principal_predicted(frame, moduli, p, at.rates, element_reach(t));
    if element_is_point(t) {
        let swelling = u * principal_diagonal(theta.slopes) * transpose(v);
        point_store(t, QuadraturePoint(predicted, u, v, moduli, theta.value, mat3_dot(swelling, at.rates), swelling));
        return;
    }
    element_scatter(t, -1.0 * predicted);
    for (var j = 1u; j < ELEMENT_NODES; j++) {
        for (var axis = 0u; axis < 3u; axis++) {
            let m = transpose(u) * element_change(t, j, axis) * v;
            element_general_tangent(t, j, axis, u * principal_times(moduli, m) * transpose(v), false);
        }
    }
}
