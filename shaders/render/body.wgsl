// Elastic bodies and rigid things: lit surfaces from a vertex buffer, and the bodies with their edges drawn in.
#import parts

@group(0) @binding(2) var<storage, read> world_from_local: array<mat4x4f>;

struct Vertex {
    @location(0) position: vec3f,
    @location(1) color: vec4f,
    @location(2) normal: vec3f,
    @location(3) satin: f32,
}

struct Drawn {
    @builtin(position) clip: vec4f,
    @location(0) @interpolate(perspective, centroid) world: vec3f,
    @location(1) @interpolate(perspective, centroid) normal: vec3f,
    @location(2) @interpolate(perspective, centroid) albedo: vec4f,
}

fn drawn(world: vec3f, normal: vec3f, color: vec3f, satin: f32) -> Drawn {
    return Drawn(frame.clip_from_world * vec4f(world, 1.0), world, normal, vec4f(albedo_from_stored(color), satin));
}

// Bodies are in the world already. (Their many vertices read no storage buffer: that is slow on software adapters.)
@vertex
fn vs_body(v: Vertex) -> Drawn {
    return drawn(v.position, v.normal, v.color.rgb, v.satin);
}

@vertex
fn vs_rigid(v: Vertex, @builtin(instance_index) instance: u32) -> Drawn {
    let m = world_from_local[instance];
    return drawn((m * vec4f(v.position, 1.0)).xyz, (m * vec4f(v.normal, 0.0)).xyz, v.color.rgb, v.satin);
}

fn body_surface(v: Drawn, front: bool, open: f32) -> Surface {
    return Surface(v.world, facing(v.normal, front), v.albedo.rgb, v.albedo.w, open);
}

@fragment
fn fs_body(v: Drawn, @builtin(front_facing) front: bool) -> @location(0) vec4f {
    return display(shade(body_surface(v, front, openness(v.clip.xy))), v.clip.xy);
}

// Bodies and rigid things that a plane cuts open.
fn is_cut(world: vec3f) -> bool {
    return dot(frame.cut.xyz, world) > frame.cut.w;
}

@fragment
fn fs_cut(v: Drawn, @builtin(front_facing) front: bool) -> @location(0) vec4f {
    if is_cut(v.world) {
        discard;
    }
    return display(shade(body_surface(v, front, openness(v.clip.xy))), v.clip.xy);
}

@fragment
fn fs_cut_parts(v: Drawn, @builtin(front_facing) front: bool) -> Parts {
    if is_cut(v.world) {
        discard;
    }
    return parts(body_surface(v, front, 1.0));
}

// What is elsewhere in time: hardly there in the middle, clear at its rim.
@fragment
fn fs_veil(v: Drawn, @builtin(front_facing) front: bool) -> @location(0) vec4f {
    let away = abs(dot(facing(v.normal, front), normalize(frame.eye.xyz - v.world)));
    let rim = (1.0 - away) * (1.0 - away);
    let shown = display(v.albedo.rgb * frame.sky.rgb + 0.5 * v.albedo.rgb * frame.key.rgb, v.clip.xy);
    return vec4f(mix(shown.rgb, vec3f(1.0), 0.35), 0.16 + 0.55 * rim);
}

@fragment
fn fs_body_parts(v: Drawn, @builtin(front_facing) front: bool) -> Parts {
    return parts(body_surface(v, front, 1.0));
}

struct StoredVertex {
    position: vec3f,
    color: u32,
    normal: vec3f,
    satin: f32,
}

@group(2) @binding(0) var<storage, read> vertices: array<StoredVertex>;
@group(2) @binding(1) var<storage, read> indices: array<u32>;

struct Wire {
    @builtin(position) clip: vec4f,
    @location(0) @interpolate(perspective, centroid) world: vec3f,
    @location(1) @interpolate(perspective, centroid) normal: vec3f,
    @location(2) @interpolate(perspective, centroid) albedo: vec4f,
    @location(3) corner: vec3f,
}

// The same surface without shared vertices: each corner knows which one it is.
@vertex
fn vs_wire(@builtin(vertex_index) index: u32, @builtin(instance_index) instance: u32) -> Wire {
    let v = vertices[indices[index]];
    // Of soft bodies, which are in the world already, the identity.
    let m = world_from_local[instance];
    let k = index % 3u;
    let corner = vec3f(f32(k == 0u), f32(k == 1u), f32(k == 2u));
    let d = drawn((m * vec4f(v.position, 1.0)).xyz, (m * vec4f(v.normal, 0.0)).xyz, unpack4x8unorm(v.color).rgb, v.satin);
    return Wire(d.clip, d.world, d.normal, d.albedo, corner);
}

fn wire_surface(v: Wire, front: bool, open: f32) -> Surface {
    // Distance to the nearest edge in pixels, from how fast each barycentric coordinate falls on the screen.
    let rate = fwidth(v.corner);
    let pixels = v.corner / max(rate, vec3f(1e-6));
    let edge = 1.0 - smoothstep(0.4, 1.3, min(pixels.x, min(pixels.y, pixels.z)));
    // Edges fade where triangles are smaller than a few pixels, else the body would turn black.
    let weight = edge * 0.75 * (1.0 - smoothstep(0.15, 0.6, max(rate.x, max(rate.y, rate.z))));
    return Surface(v.world, facing(v.normal, front), v.albedo.rgb * (1.0 - 0.95 * weight), v.albedo.w, open);
}

@fragment
fn fs_wire(v: Wire, @builtin(front_facing) front: bool) -> @location(0) vec4f {
    return display(shade(wire_surface(v, front, openness(v.clip.xy))), v.clip.xy);
}

@fragment
fn fs_wire_parts(v: Wire, @builtin(front_facing) front: bool) -> Parts {
    return parts(wire_surface(v, front, 1.0));
}

// Only the edges are left of a triangle. Where it is smaller than they are wide, all of it is.
fn edges_surface(v: Wire, front: bool, open: f32) -> Surface {
    let pixels = v.corner / max(fwidth(v.corner), vec3f(1e-6));
    if min(pixels.x, min(pixels.y, pixels.z)) > 0.75 {
        discard;
    }
    return Surface(v.world, facing(v.normal, front), v.albedo.rgb, v.albedo.w, open);
}

@fragment
fn fs_edges(v: Wire, @builtin(front_facing) front: bool) -> @location(0) vec4f {
    return display(shade(edges_surface(v, front, openness(v.clip.xy))), v.clip.xy);
}

@fragment
fn fs_edges_parts(v: Wire, @builtin(front_facing) front: bool) -> Parts {
    return parts(edges_surface(v, front, 1.0));
}
