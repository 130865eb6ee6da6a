// Planes: the main floor, which runs into the backdrop, and limited slabs. And the backdrop itself.
#import lighting

struct Plane {
    world_from_plane: mat4x4f,
    // rgb: linear albedo; w: half the width of the part that is drawn [m].
    color: vec4f,
}

@group(0) @binding(3) var<storage, read> planes: array<Plane>;

struct Varying {
    @builtin(position) clip: vec4f,
    @location(0) world: vec3f,
    @location(1) local: vec3f,
    @location(2) @interpolate(flat) plane: u32,
}

@vertex
fn vs_plane(@builtin(vertex_index) vertex: u32, @builtin(instance_index) instance: u32) -> Varying {
    let p = planes[instance];
    let corner = vec2f(f32((0x32u >> vertex) & 1u), f32((0x2cu >> vertex) & 1u)) * 2.0 - 1.0;
    let local = vec3f(corner.x * p.color.w, 0.0, corner.y * p.color.w);
    let world = (p.world_from_plane * vec4f(local, 1.0)).xyz;
    return Varying(frame.clip_from_world * vec4f(world, 1.0), world, local, instance);
}

// Coverage of grid lines one and a bit pixels wide, 0..1, vanishing where a cell is only a few pixels.
fn grid_lines(p: vec2f, width: vec2f, spacing: f32) -> f32 {
    let q = p / spacing;
    let w = max(width / spacing, vec2f(1e-6));
    let line = 1.0 - smoothstep(vec2f(0.0), vec2f(1.35), abs(fract(q - 0.5) - 0.5) / w);
    let kept = 1.0 - smoothstep(vec2f(0.05), vec2f(0.33), w);
    let lines = line * kept;
    return max(lines.x, lines.y);
}

fn grid(p: vec2f, width: vec2f) -> f32 {
    let fine = grid_lines(p, width, frame.grid.x) * frame.grid.y;
    let coarse = grid_lines(p, width, frame.grid.x * 10.0);
    return frame.grid.z * max(fine * 0.55, coarse);
}

@fragment
fn fs_floor(v: Varying) -> @location(0) vec4f {
    let uvd = light_map_from_world(v.world);
    let inside = frame.flags.z == 1u && all(abs(uvd.xy - 0.5) < vec2f(0.499));
    let shadow = select(1.0, textureSampleLevel(floor_shadow_map, map_sampler, uvd.xy, 0.0).x, inside);
    let open = floor_openness(v.world);
    let lines = grid(v.local.xz, fwidth(v.local.xz));

    let up = max(dot(frame.world_from_floor[1].xyz, frame.to_light.xyz), 0.0);
    let albedo = planes[v.plane].color.rgb * (1.0 - 0.32 * lines);
    // The key light also dims a little where the floor is nearly covered: the lamp is not a point.
    let radiance = albedo * (frame.key.rgb * up * shadow * (0.35 + 0.65 * open) + frame.sky.rgb * open);

    let towards = v.world - frame.eye.xyz;
    let away = length(v.local.xz - (frame.floor_from_world * vec4f(frame.scene.xyz, 1.0)).xz);
    let fade = smoothstep(0.12, 1.0, away / frame.grid.w);
    return display(mix(radiance, backdrop(normalize(towards)), fade), v.clip.xy);
}

@fragment
fn fs_slab(v: Varying) -> @location(0) vec4f {
    let lines = grid(v.local.xz, fwidth(v.local.xz));
    let p = planes[v.plane];
    return display(shade(Surface(v.world, p.world_from_plane[1].xyz, p.color.rgb * (1.0 - 0.32 * lines), 0.0)), v.clip.xy);
}

@vertex
fn vs_backdrop(@builtin(vertex_index) vertex: u32) -> Varying {
    let clip = fullscreen_corner(vertex);
    let near = frame.world_from_clip * vec4f(clip.xy, 1.0, 1.0);
    return Varying(clip, near.xyz / near.w, vec3f(0.0), 0u);
}

@fragment
fn fs_backdrop(v: Varying) -> @location(0) vec4f {
    return display(backdrop(normalize(v.world - frame.eye.xyz)), v.clip.xy);
}
