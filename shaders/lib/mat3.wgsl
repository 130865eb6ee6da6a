// a b^T.
fn mat3_outer(a: vec3f, b: vec3f) -> mat3x3f {
    return mat3x3f(a * b.x, a * b.y, a * b.z);
}

fn mat3_trace(m: mat3x3f) -> f32 {
    return m[0].x + m[1].y + m[2].z;
}

// A : B.
fn mat3_dot(a: mat3x3f, b: mat3x3f) -> f32 {
    return dot(a[0], b[0]) + dot(a[1], b[1]) + dot(a[2], b[2]);
}

fn mat3_diagonal(d: f32) -> mat3x3f {
    return mat3x3f(d, 0.0, 0.0, 0.0, d, 0.0, 0.0, 0.0, d);
}

// Inverse times determinant.
fn mat3_adjugate(m: mat3x3f) -> mat3x3f {
    return transpose(mat3_cofactors(m));
}

// det(A) A^-T.
fn mat3_cofactors(m: mat3x3f) -> mat3x3f {
    return mat3x3f(cross(m[1], m[2]), cross(m[2], m[0]), cross(m[0], m[1]));
}
