// The contact laws. Twin: `contact::dual::Law`; `scale` as in CWC_SCALE, `friction` as in `Row.give`.

fn law_in_disc(v: vec2f, radius: f32) -> vec2f {
    let length2 = dot(v, v);
    if length2 <= radius * radius {
        return v;
    }
    return v * (radius * inverseSqrt(length2));
}

fn law_limit(friction: f32, normal: f32) -> f32 {
    return clamp(friction, 0.0, 1e6) * max(normal, 0.0);
}

// A step of length `step` from p against the motion u, and back to the law.
fn law_project(friction: f32, p: vec3f, u: vec3f, step: f32, scale: vec4f) -> vec3f {
    let moved = p - step * vec3f(scale.z, scale.ww) * u;
    if friction < 0.0 {
        return moved;
    }
    if scale.z == 0.0 {
        return vec3f();
    }
    let normal = max(moved.x, 0.0);
    return vec3f(normal, law_in_disc(moved.yz, law_limit(friction, normal)));
}

// The distance from the law of the force p with the motion u [m].
fn law_error(friction: f32, p: vec3f, u: vec3f, scale: vec4f) -> f32 {
    if friction < 0.0 {
        return length(u);
    }
    if scale.z == 0.0 {
        return 0.0;
    }
    let q = law_in_disc(p.yz - scale.w * u.yz, law_limit(friction, p.x));
    let normal = select(abs(scale.x * p.x), abs(u.x), u.x < scale.x * p.x);
    return max(normal, scale.y * length(p.yz - q));
}
