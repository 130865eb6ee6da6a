// Planes: the main floor, which runs into the backdrop, and limited slabs. And the backdrop itself.
#import parts

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

// Coverage of grid lines a bit over one pixel wide, 0..1, vanishing where a cell is only a few pixels. `rate` is the change of
// p / spacing from one pixel to the next.
fn grid_lines(q: vec2f, rate: vec2f) -> f32 {
    let line = clamp(1.2 - abs(fract(q - 0.5) - 0.5) / rate, vec2f(0.0), vec2f(1.0));
    let kept = clamp(1.2 - 3.5 * rate, vec2f(0.0), vec2f(1.0));
    let lines = line * kept;
    return max(lines.x, lines.y);
}

fn grid(p: vec2f) -> f32 {
    let coarse = p * (0.1 / frame.grid.x);
    let rate = max(fwidth(coarse), vec2f(1e-6));
    return frame.grid.z * max(grid_lines(coarse * 10.0, rate * 10.0) * frame.grid.y * 0.55, grid_lines(coarse, rate));
}

@fragment
fn fs_floor(v: Varying) -> @location(0) vec4f {
    let uvd = light_map_from_world(v.world);
    let inside = frame.flags.z == 1u && all(abs(uvd.xy - 0.5) < vec2f(0.499));
    let shadow = select(1.0, textureSampleLevel(floor_shadow_map, map_sampler, uvd.xy, 0.0).x, inside);
    let open = floor_openness(v.world);

    // The key light also dims a little where the floor is nearly covered: the lamp is not a point.
    let up = max(dot(frame.floor_plane.xyz, frame.to_light.xyz), 0.0);
    let light = frame.key.rgb * (up * shadow * (0.35 + 0.65 * open)) + frame.sky.rgb * open;
    let radiance = frame.floor.rgb * (1.0 - 0.32 * grid(v.local.xz)) * light;

    let away = v.world - frame.scene.xyz;
    let fade = smoothstep(0.12, 1.0, sqrt(dot(away, away)) / frame.grid.w);
    return display(mix(radiance, backdrop(v.world - frame.eye.xyz), fade), v.clip.xy);
}

// From below a floor is glass with a faint grid on it. The brightness in alpha, which the edge filter reads, is of no
// use here.
@fragment
fn fs_floor_below(v: Varying) -> @location(0) vec4f {
    let away = v.world - frame.scene.xyz;
    let fade = 1.0 - smoothstep(0.12, 1.0, sqrt(dot(away, away)) / frame.grid.w);
    let line = display(mix(frame.floor.rgb, vec3f(0.5), 0.5) * frame.sky.rgb, v.clip.xy);
    return vec4f(line.rgb, 0.5 * grid(v.local.xz) * fade);
}

fn slab_surface(v: Varying, open: f32) -> Surface {
    let albedo = planes[v.plane].color.rgb * (1.0 - 0.32 * grid(v.local.xz));
    let up = planes[v.plane].world_from_plane[1].xyz;
    let n = select(-up, up, dot(up, frame.eye.xyz - v.world) > 0.0);
    return Surface(v.world, n, albedo, 0.0, open);
}

@fragment
fn fs_slab(v: Varying) -> @location(0) vec4f {
    return display(shade(slab_surface(v, openness(v.clip.xy))), v.clip.xy);
}

@fragment
fn fs_slab_parts(v: Varying) -> Parts {
    return parts(slab_surface(v, 1.0));
}

@vertex
fn vs_backdrop(@builtin(vertex_index) vertex: u32) -> Varying {
    let clip = fullscreen_corner(vertex);
    let near = frame.world_from_clip * vec4f(clip.xy, 1.0, 1.0);
    return Varying(clip, near.xyz / near.w, vec3f(0.0), 0u);
}

@fragment
fn fs_backdrop(v: Varying) -> @location(0) vec4f {
    return display(backdrop(v.world - frame.eye.xyz), v.clip.xy);
}
