// Lines and points of constant width on the screen: each is a capsule around a segment, with soft edges.
#import common

struct Varying {
    @builtin(position) clip: vec4f,
    @location(0) pixel: vec2f,
    @location(1) @interpolate(flat) segment: vec4f,
    @location(2) @interpolate(flat) color: vec4f,
    @location(3) @interpolate(flat) radius: f32,
}

fn pixel_from_clip(p: vec4f) -> vec2f {
    return (vec2f(0.5, -0.5) * p.xy / p.w + 0.5) * frame.size.xy;
}

@vertex
fn vs_overlay(
    @builtin(vertex_index) vertex: u32,
    @location(0) a: vec3f,
    @location(1) width: f32,
    @location(2) b: vec3f,
    @location(3) color: vec4f,
) -> Varying {
    var clip_a = frame.clip_from_world * vec4f(a, 1.0);
    var clip_b = frame.clip_from_world * vec4f(b, 1.0);
    // The part behind the camera is cut off (depth is infinite-reversed: w is the distance along the view).
    let near = 1e-3 * frame.scene.w;
    if clip_a.w < near && clip_b.w > near {
        clip_a = mix(clip_b, clip_a, (clip_b.w - near) / (clip_b.w - clip_a.w));
    } else if clip_b.w < near && clip_a.w > near {
        clip_b = mix(clip_a, clip_b, (clip_a.w - near) / (clip_a.w - clip_b.w));
    }
    let pa = pixel_from_clip(clip_a);
    let pb = pixel_from_clip(clip_b);
    let radius = 0.5 * width;
    let offset = pb - pa;
    let along = select(vec2f(1.0, 0.0), offset / max(length(offset), 1e-6), dot(offset, offset) > 1e-6);
    let side = vec2f(-along.y, along.x);
    let s = vec2f(f32((0x32u >> vertex) & 1u), f32((0x2cu >> vertex) & 1u)) * 2.0 - 1.0;
    let end = select(clip_a, clip_b, s.x > 0.0);
    let pixel = select(pa, pb, s.x > 0.0) + (along * s.x + side * s.y) * (radius + 1.0);
    let ndc = vec2f(2.0, -2.0) * (pixel * frame.size.zw - 0.5);
    // Both ends behind the camera: nothing is left to draw.
    let w = select(-1.0, end.w, end.w >= near * 0.5);
    return Varying(vec4f(ndc * w, end.z, w), pixel, vec4f(pa, pb), color, radius);
}

fn coverage(v: Varying) -> f32 {
    let a = v.segment.xy;
    let ab = v.segment.zw - a;
    let t = clamp(dot(v.pixel - a, ab) / max(dot(ab, ab), 1e-6), 0.0, 1.0);
    return clamp(v.radius + 0.5 - length(v.pixel - a - t * ab), 0.0, 1.0);
}

@fragment
fn fs_front(v: Varying) -> @location(0) vec4f {
    return vec4f(v.color.rgb, v.color.a * coverage(v));
}

// What lies behind a body shines through faintly.
@fragment
fn fs_behind(v: Varying) -> @location(0) vec4f {
    return vec4f(v.color.rgb, 0.4 * v.color.a * coverage(v));
}
