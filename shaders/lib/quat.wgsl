// Unit quaternions (x, y, z, w).

// R - I, without cancellation for a small rotation.
fn quat_matrix_minus_identity(q: vec4f) -> mat3x3f {
    let s = 2.0 * q.xyz;
    let p = q.w * s;
    let d = q.xyz * s;
    return mat3x3f(
        -(d.y + d.z), q.x * s.y + p.z, q.x * s.z - p.y,
        q.x * s.y - p.z, -(d.x + d.z), q.y * s.z + p.x,
        q.x * s.z + p.y, q.y * s.z - p.x, -(d.x + d.y),
    );
}

// q (1, w/2), normalised.
fn quat_turn(q: vec4f, w: vec3f) -> vec4f {
    let h = 0.5 * w;
    return normalize(vec4f(q.xyz + q.w * h + cross(q.xyz, h), q.w - dot(q.xyz, h)));
}
