// How open surfaces are to the light around them, from what lies near them on the screen; a quarter of the picture's pixels.
// First from few points a pixel, then averaged over neighbours on the same surface.
#import common

@group(1) @binding(0) var normals: texture_2d<f32>;
@group(1) @binding(1) var depths: texture_depth_2d;
@group(1) @binding(2) var rough: texture_2d<f32>;

const TAPS = 10u;

@vertex
fn vs_occlusion(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4f {
    return fullscreen_corner(vertex);
}

// From the camera to the surface in a pixel of the full picture. Depth is near distance / distance, so the point on the near
// plane is only scaled.
fn from_eye(pixel: vec2f, depth: f32) -> vec3f {
    let ndc = vec2f(2.0, -2.0) * (pixel * frame.size.zw - 0.5);
    let near = frame.world_from_clip * vec4f(ndc, 1.0, 1.0);
    return (near.xyz / near.w - frame.eye.xyz) / depth;
}

fn depth_at(pixel: vec2f) -> f32 {
    return textureLoad(depths, vec2i(clamp(pixel, vec2f(0.0), frame.size.xy - 1.0)), 0);
}

// A neighbour in direction v hides light as the cosine of its elevation, less the further it is [after Shanmugam & Arikan 2007].
@fragment
fn fs_occlusion(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let pixel = floor(position.xy) * 2.0 + 0.5;
    let depth = depth_at(pixel);
    let p = from_eye(pixel, max(depth, 1e-9));
    let n = normalize(textureLoad(normals, vec2i(pixel), 0).xyz * 2.0 - 1.0);
    let reach = 0.16 * frame.scene.w;
    let reach_in_pixels = clamp(reach / (frame.eye.w * length(p)), 3.0, 90.0);
    var direction = pixel_direction(position.xy);
    // Software adapters run both sides of an `if`; an empty loop is really skipped.
    let taps = select(0u, TAPS, depth > 0.0);
    var hidden = 0.0;
    for (var k = 0u; k < taps; k++) {
        direction = GOLDEN_TURN * direction;
        let away = pixel + (f32(k) + 0.6) / f32(TAPS) * reach_in_pixels * direction;
        let there = depth_at(away);
        let v = from_eye(floor(away) + 0.5, max(there, 1e-9)) - p;
        let squared = dot(v, v);
        let elevation = dot(v, n) * inverseSqrt(max(squared, 1e-12)) - 0.12;
        hidden += max(elevation, 0.0) * max(1.0 - squared / (reach * reach), 0.0) * f32(there > 0.0);
    }
    return vec4f(clamp(1.0 - 4.5 * hidden / f32(TAPS), 0.0, 1.0), 0.0, 0.0, f32(depth > 0.0));
}

@fragment
fn fs_average(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let last = vec2i(textureDimensions(rough)) - 1;
    let p = vec2i(position.xy);
    let depth = depth_at(vec2f(p * 2));
    var sum = 1e-4;
    var weights = 1e-4;
    for (var y = -2; y <= 2; y++) {
        for (var x = -2; x <= 2; x++) {
            let q = clamp(p + vec2i(x, y), vec2i(0), last);
            let there = depth_at(vec2f(q * 2));
            // Beside a body, its own value is continued outwards: the picture reads in between.
            let same = select(f32(abs(there - depth) < 0.04 * depth), f32(there > 0.0), depth == 0.0);
            sum += same * textureLoad(rough, q, 0).x;
            weights += same;
        }
    }
    return vec4f(sum / weights);
}
