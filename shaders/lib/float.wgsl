// By bits: drivers may assume that no value is NaN.
fn float_is_finite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}

fn float_all_finite(v: vec3f) -> bool {
    return float_is_finite(v.x) && float_is_finite(v.y) && float_is_finite(v.z);
}
