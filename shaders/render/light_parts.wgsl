// Lights what `parts.wgsl` left, once a pixel.
#import parts

@group(2) @binding(0) var albedos: texture_2d<f32>;
@group(2) @binding(1) var normals: texture_2d<f32>;
@group(2) @binding(2) var depths: texture_depth_2d;

// Depth 0 is infinitely far: the depth test passes only where there is a surface.
@vertex
fn vs_light(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4f {
    return fullscreen_corner(vertex);
}

@fragment
fn fs_light(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let pixel = vec2i(position.xy);
    let depth = textureLoad(depths, pixel, 0);
    let ndc = vec2f(2.0, -2.0) * (position.xy * frame.size.zw - 0.5);
    let world = frame.world_from_clip * vec4f(ndc, depth, 1.0);
    let normal = textureLoad(normals, pixel, 0);
    let albedo = textureLoad(albedos, pixel, 0).rgb;
    let surface = Surface(world.xyz / world.w, normalize(normal.xyz * 2.0 - 1.0), albedo * albedo, normal.w, openness(position.xy));
    return display(shade(surface), position.xy);
}
