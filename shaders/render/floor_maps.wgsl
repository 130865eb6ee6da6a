// Two small pictures that give the floor its softness, so that a floor pixel costs two texture reads:
// the soft shadow of the key light, in light-map coordinates, and how open the floor is to the sky, in contact-map coordinates.
#import common

@group(1) @binding(0) var depths: texture_depth_2d;
@group(1) @binding(1) var rough_shadow: texture_2d<f32>;

struct Varying {
    @builtin(position) clip: vec4f,
    @location(0) uv: vec2f,
}

@vertex
fn vs_map(@builtin(vertex_index) vertex: u32) -> Varying {
    let clip = fullscreen_corner(vertex);
    return Varying(clip, vec2f(0.5 + 0.5 * clip.x, 0.5 - 0.5 * clip.y));
}

fn depth_at(uv: vec2f) -> f32 {
    let size = vec2f(textureDimensions(depths));
    return textureLoad(depths, vec2i(clamp(uv * size, vec2f(0.0), size - 1.0)), 0);
}

// The width of the penumbra grows with the gap between floor and caster, as for a round lamp [Fernando 2005].
@fragment
fn fs_floor_shadow(v: Varying) -> @location(0) vec4f {
    // Depth of the floor along the light at this texel: the floor is a plane, so it is linear in (u, v).
    let m = fit.shadow_clip_from_world;
    let u = (m * frame.world_from_floor[0]).xyz;
    let w = (m * frame.world_from_floor[2]).xyz;
    let origin = (m * frame.world_from_floor[3]).xyz;
    let xy = vec2f(v.uv.x * 2.0 - 1.0, 1.0 - v.uv.y * 2.0) - origin.xy;
    let along = vec2f(xy.x * w.y - xy.y * w.x, u.x * xy.y - u.y * xy.x) / (u.x * w.y - u.y * w.x);
    let gap = (origin.z + along.x * u.z + along.y * w.z) * fit.shadow.y; // from the near side of the map to the floor [m]

    let taps = frame.flags.w;
    let uv_from_metres = 0.5 / fit.shadow.x;
    let search = gap * frame.to_light.w * uv_from_metres;
    var direction = pixel_direction(v.clip.xy);
    var blockers = 0.0;
    var blocked = 0.0;
    for (var k = 0u; k < taps; k++) {
        let d = depth_at(v.uv + direction * (search * sqrt((f32(k) + 0.5) / f32(taps)))) * fit.shadow.y;
        let hit = f32(d < gap - 1e-3 * fit.shadow.y && d < 0.9999 * fit.shadow.y);
        blockers += hit;
        blocked += hit * d;
        direction = GOLDEN_TURN * direction;
    }
    let distance = gap - blocked / max(blockers, 1.0);
    let radius = max(distance * frame.to_light.w * uv_from_metres, 0.75 / f32(textureDimensions(depths).x));
    // Software adapters run both sides of an `if`; an empty loop is really skipped.
    let second = select(0u, taps, blockers > 0.0);
    var light = 0.0;
    for (var k = 0u; k < second; k++) {
        let d = depth_at(v.uv + direction * (radius * sqrt((f32(k) + 0.5) / f32(taps)))) * fit.shadow.y;
        light += f32(d >= gap - 1e-3 * fit.shadow.y || d >= 0.9999 * fit.shadow.y);
        direction = GOLDEN_TURN * direction;
    }
    return vec4f(select(1.0, light / f32(taps), blockers > 0.0));
}

// Averages the noise of the few taps away: a tent over 3 x 3 texels.
@fragment
fn fs_soften(v: Varying) -> @location(0) vec4f {
    let last = vec2i(textureDimensions(rough_shadow)) - 1;
    let p = vec2i(v.clip.xy);
    var sum = 0.0;
    for (var y = -1; y <= 1; y++) {
        for (var x = -1; x <= 1; x++) {
            let weight = f32((2 - abs(x)) * (2 - abs(y)));
            sum += weight * textureLoad(rough_shadow, clamp(p + vec2i(x, y), vec2i(0), last), 0).x;
        }
    }
    return vec4f(sum / 16.0);
}

const EIGHTH_TURN = mat2x2f(0.70710678, 0.70710678, -0.70710678, 0.70710678);

// Sky hidden from a floor point by the undersides above it. A level patch at height h and horizontal distance r hides
// h^2 / (r^2 + h^2)^2 dA / pi of it (the form factor of two parallel patches). What is high above the floor hides less
// than that: in a room the light from its sides comes in below.
fn nearness(h: f32) -> f32 {
    let relative = h / fit.contact.x;
    let square = relative * relative;
    return 1.0 / (1.0 + 0.15 * square * square);
}

@fragment
fn fs_contact(v: Varying) -> @location(0) vec4f {
    let texel = 1.0 / f32(textureDimensions(depths).x);
    let width = 2.0 * fit.contact.x;
    var direction = pixel_direction(v.clip.xy);
    // The part right overhead: a disc of two texels.
    let reach = 2.0 * texel * width;
    let own = depth_at(v.uv) * fit.contact.y;
    var hidden = f32(own < 0.999 * fit.contact.y) * nearness(own) * reach * reach / (reach * reach + own * own);
    // Rings, each twice as far out as the one before; a ring stands for the band between its neighbours.
    var r = 2.0 * texel;
    for (var ring = 0u; ring < 5u; ring++) {
        let outer = r * 1.8;
        let middle = 0.5 * (r + outer) * width;
        direction = GOLDEN_TURN * direction;
        for (var k = 0u; k < 8u; k++) {
            direction = EIGHTH_TURN * direction;
            let h = depth_at(v.uv + 0.5 * (r + outer) * direction) * fit.contact.y;
            let area = (outer * outer - r * r) * width * width / 8.0; // times pi, which cancels
            let s = middle * middle + h * h;
            hidden += f32(h < 0.999 * fit.contact.y) * nearness(h) * area * (h * h + 0.02 * s) / (s * s);
        }
        r = outer;
    }
    return vec4f(clamp(1.0 - hidden, 0.0, 1.0));
}
