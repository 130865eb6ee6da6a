// Interleaved gradient noise, 0..1, even over small neighbourhoods [Jimenez 2014].
fn pixel_noise(pixel: vec2f) -> f32 {
    return fract(52.9829189 * fract(dot(pixel, vec2f(0.06711056, 0.00583715))));
}
