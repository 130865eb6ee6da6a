// Shared by every drawing shader: the picture's uniforms and small helpers.
#import frame
#import noise

@group(0) @binding(0) var<uniform> frame: Frame;
@group(0) @binding(1) var<uniform> fit: Fit;

// Coordinates (u, v, depth) of a world point in the light's and in the floor's map; inside the map all are in 0..1.
fn light_map_from_world(p: vec3f) -> vec3f {
    return map_from_clip((fit.shadow_clip_from_world * vec4f(p, 1.0)).xyz);
}

fn contact_map_from_world(p: vec3f) -> vec3f {
    return map_from_clip((fit.contact_clip_from_world * vec4f(p, 1.0)).xyz);
}

fn map_from_clip(p: vec3f) -> vec3f {
    return vec3f(0.5 + 0.5 * p.x, 0.5 - 0.5 * p.y, p.z);
}

// Casters in front of a map are pulled onto its near side: they still cast.
fn caster_clip(p: vec4f) -> vec4f {
    return vec4f(p.xy, clamp(p.z, 0.0, 1.0), 1.0);
}

// One triangle over the whole picture.
fn fullscreen_corner(vertex: u32) -> vec4f {
    return vec4f(f32(vertex & 1u) * 4.0 - 1.0, f32(vertex >> 1u) * 4.0 - 1.0, 0.0, 1.0);
}

// A unit vector in a direction that changes from pixel to pixel, and the turn from one point of a sunflower disc to the next.
fn pixel_direction(pixel: vec2f) -> vec2f {
    let angle = pixel_noise(pixel) * 6.2831853;
    return vec2f(cos(angle), sin(angle));
}

const GOLDEN_TURN = mat2x2f(-0.73736888, 0.67549029, -0.67549029, -0.73736888);

// A filmic curve that ends gamma-encoded [Hejl & Burgess-Dawson 2010: a rational fit, no powers], and a dither of one level.
// Alpha carries the brightness, which the edge filter reads; it is 0 only where nothing is drawn.
fn display(radiance: vec3f, pixel: vec2f) -> vec4f {
    let x = max(radiance - 0.004, vec3f(0.0));
    let shown = (x * (6.2 * x + 0.5)) / (x * (6.2 * x + 1.7) + 0.06) + (pixel_noise(pixel) - 0.5) / 255.0;
    return vec4f(shown, max(dot(shown, vec3f(0.299, 0.587, 0.114)), 0.006));
}

// Colours are stored as square roots of linear albedo: eight bits suffice, and decoding is cheap.
fn albedo_from_stored(c: vec3f) -> vec3f {
    return c * c;
}

// Radiance of the backdrop in a direction of any length.
fn backdrop(direction: vec3f) -> vec3f {
    let y = direction.y * inverseSqrt(dot(direction, direction));
    let up = smoothstep(-0.05, 0.75, y);
    let down = smoothstep(0.0, -0.9, y) * (1.0 - frame.floor.w);
    return mix(frame.backdrop_horizon.rgb, frame.backdrop_top.rgb, max(up, down));
}
