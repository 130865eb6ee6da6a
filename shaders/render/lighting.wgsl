// Shading shared by bodies, rigid things, tets and planes.
#import common

@group(1) @binding(0) var shadow_map: texture_depth_2d;
@group(1) @binding(1) var texel_sampler: sampler;
@group(1) @binding(2) var map_sampler: sampler;
@group(1) @binding(3) var floor_shadow_map: texture_2d<f32>;
@group(1) @binding(4) var contact_map: texture_2d<f32>;

// Fraction of the key light that reaches a surface point, 0..1: 4 x 4 texels of the shadow map under a smooth tent.
// The point is moved along its normal by the width of a texel, more at grazing light, so that it does not shade itself.
fn key_visibility(world: vec3f, normal: vec3f) -> f32 {
    let slope = 1.0 - max(dot(normal, frame.to_light.xyz), 0.0);
    let uvd = light_map_from_world(world + normal * fit.shadow.z * (1.0 + 2.5 * slope));
    let depth = min(uvd.z - 0.4 * fit.shadow.z / fit.shadow.y, 0.9999);
    let inside = frame.flags.z == 1u && all(abs(uvd.xy - 0.5) < vec2f(0.499));
    let size = f32(textureDimensions(shadow_map).x);
    let base = floor(uvd.xy * size - 0.5);
    let f = uvd.xy * size - 0.5 - base;
    let before = vec4f(1.0 - f, 2.0 - f); // weights of the texels -1 and 0 in x and y
    let after = vec4f(1.0 + f, f); // of the texels 1 and 2
    let corner = base / size;
    let step = 2.0 / size;
    // Components of a gather: (left, lower), (right, lower), (right, upper), (left, upper).
    let d00 = vec4f(depth) <= textureGather(shadow_map, texel_sampler, corner);
    let d10 = vec4f(depth) <= textureGather(shadow_map, texel_sampler, corner + vec2f(step, 0.0));
    let d01 = vec4f(depth) <= textureGather(shadow_map, texel_sampler, corner + vec2f(0.0, step));
    let d11 = vec4f(depth) <= textureGather(shadow_map, texel_sampler, corner + vec2f(step, step));
    let lit = dot(select(vec4f(0.0), vec4f(before.x * before.w, before.z * before.w, before.z * before.y, before.x * before.y), d00)
        + select(vec4f(0.0), vec4f(after.x * before.w, after.z * before.w, after.z * before.y, after.x * before.y), d10)
        + select(vec4f(0.0), vec4f(before.x * after.w, before.z * after.w, before.z * after.y, before.x * after.y), d01)
        + select(vec4f(0.0), vec4f(after.x * after.w, after.z * after.w, after.z * after.y, after.x * after.y), d11), vec4f(1.0));
    return select(1.0, lit / 16.0, inside);
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
    // 0 rough and slightly rim-lit (elastic bodies) .. 1 satin (rigid things).
    satin: f32,
    // How much of the light around reaches it past its neighbours, 0..1.
    open: f32,
}

// Linear radiance towards the camera.
fn shade(s: Surface) -> vec3f {
    let view = normalize(frame.eye.xyz - s.world);
    // What leans over the edge is lit as what is just seen.
    let n = normalize(s.normal + view * max(0.02 - dot(s.normal, view), 0.0));
    let n_dot_v = max(dot(n, view), 0.0);
    let n_dot_l = dot(n, frame.to_light.xyz);
    let visibility = key_visibility(s.world, n);

    // Key light: the terminator is softened a little, as by light that enters the body.
    let wrap = 0.12;
    let diffuse = max(n_dot_l + wrap, 0.0) / ((1.0 + wrap) * (1.0 + wrap));
    let lit = diffuse * visibility;

    // Fill: sky from above, from below what the floor sends back, less where the floor is covered, and from all around
    // a little of the key light: in blue light alone warm colours would turn to mud.
    let height = max(dot(frame.floor_plane, vec4f(s.world, 1.0)), 0.0);
    let aside = n - frame.floor_plane.xyz * dot(n, frame.floor_plane.xyz);
    let open = mix(1.0, floor_openness(s.world + aside * (0.35 * height + 0.01 * frame.scene.w)), frame.floor.w);
    let up = 0.5 + 0.5 * dot(n, frame.floor_plane.xyz);
    // Close to the floor a good part of the lower sky is hidden too.
    let hidden = 0.45 * (1.0 - open) * (1.0 - up) * frame.floor.w;
    let fill = frame.sky.rgb * (0.15 + 0.85 * up * up) * (1.0 - hidden) + frame.ground.rgb * (1.0 - up) * (0.1 + 0.9 * open)
        + frame.key.rgb * (0.045 * open);

    // A gentle highlight of the key light, and a rim of sky at grazing angles.
    let h = max(dot(n, normalize(view + frame.to_light.xyz)), 0.0);
    let h4 = h * h * h * h;
    let h16 = h4 * h4 * h4 * h4;
    let highlight = mix(0.03 * h16, 0.10 * h16 * h16 * h16, s.satin);
    let grazing = (1.0 - max(n_dot_v, 0.1)) * (1.0 - max(n_dot_v, 0.1));
    let rim = grazing * grazing * (0.35 + 0.65 * up) * mix(0.40, 0.2, s.satin);

    return s.albedo * (frame.key.rgb * lit * (0.6 + 0.4 * s.open) + fill * s.open)
        + frame.key.rgb * highlight * visibility * clamp(n_dot_l * 4.0, 0.0, 1.0)
        + frame.sky.rgb * rim * s.open;
}
