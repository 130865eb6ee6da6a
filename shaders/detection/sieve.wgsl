// One thread a candidate: whether it may cross on its way, one bit; 0 only if `geometry::first_crossing` surely says
// that it does not.
//
// Positions are whole numbers of quanta, rounded down: differences are exact, and less than a quantum in each
// coordinate away from those of the host. All lengths are then measured in the size of the pair. Bounds on rounding
// errors are four times what they add up to, so that it does not matter how an adapter rounds and orders.
#import lib/model.wgsl
#import host/sieve

@group(0) @binding(0) var<uniform> sieve_data: Sieve;
@group(0) @binding(1) var<storage, read> sieve_features: array<u32>;
@group(0) @binding(2) var<storage, read> sieve_pairs: array<vec2u>;
@group(0) @binding(3) var<storage, read> sieve_start: array<i32>;
@group(0) @binding(4) var<storage, read> sieve_end: array<i32>;
@group(0) @binding(5) var<storage, read_write> sieve_bits: array<u32>;

var<workgroup> marks: array<u32, WORKGROUP>;

fn from_start(v: u32) -> vec3i {
    return vec3i(sieve_start[3u * v], sieve_start[3u * v + 1u], sieve_start[3u * v + 2u]);
}

fn from_end(v: u32) -> vec3i {
    return vec3i(sieve_end[3u * v], sieve_end[3u * v + 1u], sieve_end[3u * v + 2u]);
}

fn largest(v: vec3f) -> f32 {
    let a = abs(v);
    return max(a.x, max(a.y, a.z));
}

// Four points on straight ways: relative to the second, and what spans the volume of the pair.
struct Points {
    x: array<vec3f, 4>,
    u: vec3f,
    v: vec3f,
    w: vec3f,
}

fn points(is_face: bool, q: array<vec3i, 4>) -> Points {
    var p: Points;
    p.x = array<vec3f, 4>(vec3f(q[0] - q[1]), vec3f(), vec3f(q[2] - q[1]), vec3f(q[3] - q[1]));
    if is_face {
        p.u = p.x[2];
        p.v = p.x[3];
        p.w = p.x[0];
    } else {
        p.u = -p.x[0];
        p.v = vec3f(q[3] - q[2]);
        p.w = vec3f(q[2] - q[0]);
    }
    return p;
}

fn scaled(p: Points, s: f32) -> Points {
    return Points(array<vec3f, 4>(p.x[0] * s, vec3f(), p.x[2] * s, p.x[3] * s), p.u * s, p.v * s, p.w * s);
}

fn ratio(a: f32, b: f32) -> f32 {
    return select(clamp(a / b, 0.0, 1.0), 0.0, !(b > 0.0));
}

// From a point of the triangle, about the nearest, to the vertex.
fn from_face(x: array<vec3f, 4>) -> vec3f {
    let ab = x[2];
    let ac = x[3];
    let ap = x[0];
    let d1 = dot(ab, ap);
    let d2 = dot(ac, ap);
    if d1 <= 0.0 && d2 <= 0.0 {
        return ap;
    }
    let bp = ap - ab;
    let d3 = dot(ab, bp);
    let d4 = dot(ac, bp);
    if d3 >= 0.0 && d4 <= d3 {
        return bp;
    }
    let c = d1 * d4 - d3 * d2;
    if c <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return ap - ab * ratio(d1, d1 - d3);
    }
    let cp = ap - ac;
    let d5 = dot(ab, cp);
    let d6 = dot(ac, cp);
    if d6 >= 0.0 && d5 <= d6 {
        return cp;
    }
    let b = d5 * d2 - d1 * d6;
    if b <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return ap - ac * ratio(d2, d2 - d6);
    }
    let a = d3 * d6 - d5 * d4;
    if a <= 0.0 && d4 >= d3 && d5 >= d6 {
        return bp - (ac - ab) * ratio(d4 - d3, (d4 - d3) + (d5 - d6));
    }
    let v = ratio(b, a + b + c);
    let w = min(ratio(c, a + b + c), 1.0 - v);
    return ap - ab * v - ac * w;
}

// From a point of the second edge, about the nearest, to one of the first.
fn from_edge(p: Points) -> vec3f {
    let e = p.u;
    let f = p.v;
    let r = -p.w;
    let ee = dot(e, e);
    let ff = dot(f, f);
    let ef = dot(e, f);
    let er = dot(e, r);
    let fr = dot(f, r);
    var s = ratio(ef * fr - er * ff, ee * ff - ef * ef);
    let u = ef * s + fr;
    if u < 0.0 {
        return r + e * ratio(-er, ee);
    }
    if u > ff {
        return r + e * ratio(ef - er, ee) - f;
    }
    return r + e * s - f * ratio(u, ff);
}

fn longer(a: vec3f, b: vec3f) -> f32 {
    return sqrt(max(dot(a, a), dot(b, b)));
}

// Whether the volume of the pair keeps its sign: that of the host is farther from 0 than it can tell.
fn keeps_side(p0: Points, p1: Points, quantum: f32) -> bool {
    let n0 = cross(p0.u, p0.v);
    let m = cross(p0.u, p1.v) + cross(p1.u, p0.v);
    let n1 = cross(p1.u, p1.v);
    let volume = vec4f(dot(n0, p0.w), (dot(m, p0.w) + dot(n0, p1.w)) / 3.0, (dot(m, p1.w) + dot(n1, p0.w)) / 3.0, dot(n1, p1.w));
    let a = longer(p0.u, p1.u) + 2.0 * quantum;
    let b = longer(p0.v, p1.v) + 2.0 * quantum;
    let c = longer(p0.w, p1.w) + 2.0 * quantum;
    let noise = 4.0 * quantum * (a * b + b * c + c * a) + SIEVE_BLUR * a * b * c;
    return all(volume > vec4f(noise)) || all(volume < vec4f(-noise));
}

// Whether a plane stays between the features, so far from them that they keep more of their first distance than
// counts as a touch.
fn stays_apart(is_face: bool, p0: Points, p1: Points, quantum: f32) -> bool {
    var d: vec3f;
    if is_face {
        let n = cross(p0.u, p0.v);
        if !(dot(n, n) > SIEVE_LEAST_SINE * SIEVE_LEAST_SINE * dot(p0.u, p0.u) * dot(p0.v, p0.v)) {
            return false;
        }
        d = from_face(p0.x);
    } else {
        d = from_edge(p0);
    }
    var first = min(dot(p0.x[0], d), dot(p1.x[0], d));
    var second = max(max(dot(p0.x[2], d), dot(p1.x[2], d)), max(dot(p0.x[3], d), dot(p1.x[3], d)));
    if is_face {
        second = max(second, 0.0);
    } else {
        first = min(first, 0.0);
    }
    let distance = sqrt(dot(d, d));
    return first - second > distance * (SIEVE_KEPT_PART * distance + 8.0 * quantum + SIEVE_BLUR);
}

fn may_cross(k: u32) -> bool {
    let is_face = k < sieve_data.n_vertex_faces;
    let pair = sieve_pairs[k];
    var corners: vec4u;
    if is_face {
        let t = 3u * pair.y;
        corners = vec4u(pair.x, sieve_features[t], sieve_features[t + 1u], sieve_features[t + 2u]);
    } else {
        let e = sieve_data.edges + 2u * pair.x;
        let f = sieve_data.edges + 2u * pair.y;
        corners = vec4u(sieve_features[e], sieve_features[e + 1u], sieve_features[f], sieve_features[f + 1u]);
    }
    let q0 = array<vec3i, 4>(from_start(corners.x), from_start(corners.y), from_start(corners.z), from_start(corners.w));
    let q1 = array<vec3i, 4>(from_end(corners.x), from_end(corners.y), from_end(corners.z), from_end(corners.w));
    // What is outside is told by its first coordinate.
    let least = min(min(min(q0[0].x, q0[1].x), min(q0[2].x, q0[3].x)), min(min(q1[0].x, q1[1].x), min(q1[2].x, q1[3].x)));
    let p0 = points(is_face, q0);
    let p1 = points(is_face, q1);
    let size = max(
        max(largest(p0.x[0]), max(largest(p0.x[2]), largest(p0.x[3]))),
        max(largest(p1.x[0]), max(largest(p1.x[2]), largest(p1.x[3]))),
    );
    if least < 0 || !(size > SIEVE_LEAST_SIZE) {
        return true;
    }
    let quantum = 1.0 / size;
    let s0 = scaled(p0, quantum);
    let s1 = scaled(p1, quantum);
    return !(keeps_side(s0, s1, quantum) || stays_apart(is_face, s0, s1, quantum));
}

@compute @workgroup_size(WORKGROUP)
fn sieve(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
    let k = thread_index(id);
    var mark = 0u;
    if k < sieve_data.n_pairs {
        mark = select(0u, 1u << (lane % 32u), may_cross(k));
    }
    marks[lane] = mark;
    workgroupBarrier();
    if lane % 32u == 0u && k < sieve_data.n_pairs {
        var bits = 0u;
        for (var j = 0u; j < 32u; j++) {
            bits |= marks[lane + j];
        }
        sieve_bits[k / 32u] = bits;
    }
}
