// One workgroup: bounds of everything that casts a shadow, and from them where the maps lie. Positions are never read back.
// Formula: `render::drawn::fit`.

#import frame

@group(0) @binding(0) var<uniform> frame: Frame;
@group(0) @binding(1) var<storage, read> positions: array<vec4f>;
// Corners of the boxes about rigid things, in the world.
@group(0) @binding(2) var<storage, read> rigid_points: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> fit: Fit;
// x: width of the shadow map [texels]
@group(0) @binding(4) var<uniform> map: vec4f;

const THREADS = 128u;
var<workgroup> light_low: array<vec3f, THREADS>;
var<workgroup> light_high: array<vec3f, THREADS>;
var<workgroup> floor_low: array<vec3f, THREADS>;
var<workgroup> floor_high: array<vec3f, THREADS>;

@compute @workgroup_size(THREADS)
fn fit_maps(@builtin(local_invocation_index) thread: u32) {
    let n_soft = frame.flags.y;
    let n = n_soft + frame.flags.x;
    var l0 = vec3f(1e30);
    var l1 = vec3f(-1e30);
    var f0 = vec3f(1e30);
    var f1 = vec3f(-1e30);
    for (var i = thread; i < n; i += THREADS) {
        var p = vec4f(0.0);
        if i < n_soft {
            p = positions[i];
        } else {
            p = rigid_points[i - n_soft];
        }
        let l = (frame.light_from_world * vec4f(p.xyz, 1.0)).xyz;
        let f = (frame.floor_from_world * vec4f(p.xyz, 1.0)).xyz;
        l0 = min(l0, l);
        l1 = max(l1, l);
        f0 = min(f0, f);
        f1 = max(f1, f);
    }
    light_low[thread] = l0;
    light_high[thread] = l1;
    floor_low[thread] = f0;
    floor_high[thread] = f1;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        if thread < half {
            light_low[thread] = min(light_low[thread], light_low[thread + half]);
            light_high[thread] = max(light_high[thread], light_high[thread + half]);
            floor_low[thread] = min(floor_low[thread], floor_low[thread + half]);
            floor_high[thread] = max(floor_high[thread], floor_high[thread + half]);
        }
        workgroupBarrier();
    }
    if thread == 0u {
        place();
    }
}

// Sizes change in steps of a quarter octave and the middle moves by whole texels, so that shadow edges stand still.
fn stepped(size: f32) -> f32 {
    return exp2(ceil(log2(max(size, 1e-4)) * 4.0) / 4.0);
}

fn place() {
    let low = light_low[0];
    let high = light_high[0];
    // A rim of the map stays free for the penumbra.
    let half_width = stepped(0.5 * max(high.x - low.x, high.y - low.y) * 1.12);
    let texel = 2.0 * half_width / map.x;
    let middle = round(0.5 * (low.xy + high.xy) / texel) * texel;
    let range = stepped((high.z - low.z) * 1.02);
    let top = ceil(high.z / (0.01 * range)) * 0.01 * range;
    fit.shadow_clip_from_world = scaled(vec3f(1.0, 1.0, -1.0) / vec3f(half_width, half_width, range), vec3f(middle, top)) * frame.light_from_world;
    fit.shadow = vec4f(half_width, range, texel, 0.0);

    let f0 = floor_low[0];
    let f1 = floor_high[0];
    let half_floor = stepped(0.5 * max(f1.x - f0.x, f1.z - f0.z) * 1.35);
    let height = max(f1.y, 1e-3) * 1.01;
    let center = 0.5 * (f0.xz + f1.xz);
    // The floor's y becomes depth.
    let clip_from_floor = mat4x4f(
        vec4f(1.0 / half_floor, 0.0, 0.0, 0.0),
        vec4f(0.0, 0.0, 1.0 / height, 0.0),
        vec4f(0.0, 1.0 / half_floor, 0.0, 0.0),
        vec4f(-center / half_floor, 0.0, 1.0),
    );
    fit.contact_clip_from_world = clip_from_floor * frame.floor_from_world;
    fit.contact = vec4f(half_floor, height, 0.0, 0.0);
}

// p -> scale * (p - origin)
fn scaled(scale: vec3f, origin: vec3f) -> mat4x4f {
    return mat4x4f(
        vec4f(scale.x, 0.0, 0.0, 0.0),
        vec4f(0.0, scale.y, 0.0, 0.0),
        vec4f(0.0, 0.0, scale.z, 0.0),
        vec4f(-scale * origin, 1.0),
    );
}
