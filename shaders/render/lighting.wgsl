// Shading shared by bodies, obstacles, tets and planes.
#import common

@group(1) @binding(0) var shadow_map: texture_depth_2d;
@group(1) @binding(1) var shadow_sampler: sampler_comparison;
@group(1) @binding(2) var map_sampler: sampler;
@group(1) @binding(3) var floor_shadow_map: texture_2d<f32>;
@group(1) @binding(4) var contact_map: texture_2d<f32>;

// Fraction of the key light that reaches a surface point, 0..1, from a 3 x 3 tent of filtered comparisons.
// The point is moved along its normal by the width of a texel, more at grazing light, so that it does not shade itself.
fn key_visibility(world: vec3f, normal: vec3f) -> f32 {
    let slope = 1.0 - max(dot(normal, frame.to_light.xyz), 0.0);
    let uvd = light_map_from_world(world + normal * fit.shadow.z * (0.8 + 2.2 * slope));
    let depth = min(uvd.z, 1.0) - 0.4 * fit.shadow.z / fit.shadow.y;
    let texel = 1.3 / f32(textureDimensions(shadow_map).x);
    // Software rasterisers run both sides of an `if`; an empty loop is really skipped.
    let inside = frame.flags.z == 1u && all(abs(uvd.xy - 0.5) < vec2f(0.499));
    var sum = 0.0;
    var rows = select(0, 3, inside);
    for (var row = 0; row < rows; row++) {
        let v = uvd.y + f32(row - 1) * texel;
        let weight = select(1.0, 2.0, row == 1);
        sum += weight * (textureSampleCompareLevel(shadow_map, shadow_sampler, vec2f(uvd.x - texel, v), depth)
            + 2.0 * textureSampleCompareLevel(shadow_map, shadow_sampler, vec2f(uvd.x, v), depth)
            + textureSampleCompareLevel(shadow_map, shadow_sampler, vec2f(uvd.x + texel, v), depth));
    }
    return select(1.0, sum / 16.0, inside);
}

// How open the floor is to the sky below a world point, 0..1 (1 = nothing above it).
fn floor_openness(p: vec3f) -> f32 {
    let uv = contact_map_from_world(p).xy;
    let open = textureSampleLevel(contact_map, map_sampler, uv, 0.0).x;
    let inside = all(abs(uv - 0.5) < vec2f(0.499));
    return select(1.0, open, inside);
}

struct Surface {
    world: vec3f,
    normal: vec3f,
    albedo: vec3f,
    // 0 rough and slightly rim-lit (elastic bodies) .. 1 satin (obstacles).
    satin: f32,
}

// Linear radiance towards the camera.
fn shade(s: Surface) -> vec3f {
    let view = normalize(frame.eye.xyz - s.world);
    let n = select(-s.normal, s.normal, dot(s.normal, view) > 0.0);
    let n_dot_v = max(dot(n, view), 0.0);
    let n_dot_l = dot(n, frame.to_light.xyz);
    let visibility = key_visibility(s.world, n);

    // Key light: the terminator is softened a little, as by light that enters the body.
    let wrap = 0.12;
    let diffuse = max(n_dot_l + wrap, 0.0) / ((1.0 + wrap) * (1.0 + wrap));
    let lit = diffuse * visibility;

    // Fill: sky from above, and from below what the floor sends back, less where the floor is covered.
    let height = max(dot(frame.floor_plane, vec4f(s.world, 1.0)), 0.0);
    let aside = n - frame.floor_plane.xyz * dot(n, frame.floor_plane.xyz);
    let open = mix(1.0, floor_openness(s.world + aside * (0.35 * height + 0.01 * frame.scene.w)), frame.floor.w);
    let up = 0.5 + 0.5 * dot(n, frame.floor_plane.xyz);
    // Close to the floor a good part of the lower sky is hidden too.
    let hidden = 0.45 * (1.0 - open) * (1.0 - up) * frame.floor.w;
    let fill = frame.sky.rgb * (0.25 + 0.75 * up) * (1.0 - hidden) + frame.ground.rgb * (1.0 - up) * (0.15 + 0.85 * open);

    // A gentle highlight of the key light, and a rim of sky at grazing angles.
    let half_way = normalize(view + frame.to_light.xyz);
    let shininess = mix(22.0, 48.0, s.satin);
    let highlight = pow(max(dot(n, half_way), 0.0), shininess) * (shininess + 8.0) / 25.0 * mix(0.030, 0.045, s.satin);
    let grazing = pow(1.0 - n_dot_v, 4.0);
    let rim = grazing * (0.35 + 0.65 * up) * mix(0.42, 0.2, s.satin);

    return s.albedo * (frame.key.rgb * lit + fill)
        + frame.key.rgb * highlight * visibility * clamp(n_dot_l * 4.0, 0.0, 1.0)
        + frame.sky.rgb * rim;
}
