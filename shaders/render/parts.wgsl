// Surfaces in two ways: lit at once (several samples a pixel), or first as parts, lit once a pixel afterwards (one sample: software
// adapters run the whole shader for every block of pixels that a small triangle touches).
#import lighting

@group(3) @binding(0) var occlusion_map: texture_2d<f32>;

// How open the surface in a pixel is to the light around it.
fn openness(pixel: vec2f) -> f32 {
    return textureSampleLevel(occlusion_map, map_sampler, pixel * frame.size.zw, 0.0).x;
}

// The normal of the side that is seen. (By the triangle: smooth normals rightly lean over the edge of what is seen, and
// turned round they would look into the body.)
fn facing(normal: vec3f, front: bool) -> vec3f {
    return normalize(select(-normal, normal, front));
}

struct Parts {
    @location(0) albedo: vec4f,
    @location(1) normal: vec4f,
}

// Albedo as its square root, the normal in ten bits a component, satin in two bits.
fn parts(s: Surface) -> Parts {
    return Parts(vec4f(sqrt(s.albedo), 1.0), vec4f(0.5 + 0.5 * s.normal, s.satin));
}
