// Surfaces in two ways: lit at once (several samples a pixel), or first as parts, lit once a pixel afterwards (one sample: software
// adapters run the whole shader for every block of pixels that a small triangle touches).
#import lighting

struct Parts {
    @location(0) albedo: vec4f,
    @location(1) normal: vec4f,
}

// Albedo as its square root, the normal in ten bits a component, satin in two bits.
fn parts(s: Surface) -> Parts {
    return Parts(vec4f(sqrt(s.albedo), 1.0), vec4f(0.5 + 0.5 * s.normal, s.satin));
}
