// From the finished picture to the target: as it is (multisampled), with jagged edges smoothed (one sample a pixel), or
// with a pixel for each 2 x 2 texels; with a line around what is selected.

@group(0) @binding(0) var picture: texture_2d<f32>;
@group(0) @binding(1) var picture_sampler: sampler;
// xy: where the picture starts in the target [px]; z: width of the line [texels], 0 where nothing is selected; w: 1
// for a picture that is transparent where nothing is drawn.
@group(0) @binding(2) var<uniform> corner: array<vec4f, 2>; // second: colour of the line
@group(0) @binding(3) var mask: texture_2d<f32>;

@vertex
fn vs_present(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4f {
    return vec4f(f32(vertex & 1u) * 4.0 - 1.0, f32(vertex >> 1u) * 4.0 - 1.0, 0.0, 1.0);
}

fn texel(p: vec2i) -> vec4f {
    return textureLoad(picture, clamp(p, vec2i(0), vec2i(textureDimensions(picture)) - 1), 0);
}

fn selected(p: vec2i) -> f32 {
    return textureLoad(mask, clamp(p, vec2i(0), vec2i(textureDimensions(mask)) - 1), 0).r;
}

// The colour with the line: beside what is selected, not on it.
fn outlined(color: vec3f, p: vec2i) -> vec3f {
    var lined = color;
    // Software rasterisers run both sides of an `if`; an empty loop is really skipped.
    let lines = select(0, 1, corner[0].z > 0.0);
    for (var line = 0; line < lines; line++) {
        let far = i32(round(corner[0].z));
        let near = max(1, i32(round(0.7 * corner[0].z)));
        let straight = max(max(selected(p + vec2i(far, 0)), selected(p - vec2i(far, 0))),
            max(selected(p + vec2i(0, far)), selected(p - vec2i(0, far))));
        let slanted = max(max(selected(p + vec2i(near, near)), selected(p - vec2i(near, near))),
            max(selected(p + vec2i(near, -near)), selected(p + vec2i(-near, near))));
        lined = mix(color, corner[1].rgb, max(straight, slanted) * (1.0 - selected(p)));
    }
    return lined;
}

@fragment
fn fs_copy(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let p = vec2i(position.xy - corner[0].xy);
    return vec4f(outlined(texel(p).rgb, p), 1.0);
}

// Where brightness jumps between diagonal neighbours, average along the edge [after Lottes 2009].
@fragment
fn fs_smooth(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let pixel = position.xy - corner[0].xy;
    let p = vec2i(pixel);
    let here = texel(p);
    let nw = texel(p + vec2i(-1, -1)).a;
    let ne = texel(p + vec2i(1, -1)).a;
    let sw = texel(p + vec2i(-1, 1)).a;
    let se = texel(p + vec2i(1, 1)).a;
    let low = min(here.a, min(min(nw, ne), min(sw, se)));
    let high = max(here.a, max(max(nw, ne), max(sw, se)));
    var color = here.rgb;
    // Software rasterisers run both sides of an `if`; an empty loop is really skipped.
    let edges = select(0, 1, high - low > max(0.035, 0.09 * high));
    for (var pass_ = 0; pass_ < edges; pass_++) {
        let gradient = vec2f((nw + sw) - (ne + se), (nw + ne) - (sw + se));
        var along = vec2f(-gradient.y, gradient.x);
        let damping = max((nw + ne + sw + se) * 0.03, 0.008);
        along = clamp(along / (min(abs(along.x), abs(along.y)) + damping), vec2f(-8.0), vec2f(8.0));
        let inverse = 1.0 / vec2f(textureDimensions(picture));
        let uv = pixel * inverse;
        let step = along * inverse;
        let near = 0.5 * (textureSampleLevel(picture, picture_sampler, uv - step / 6.0, 0.0)
            + textureSampleLevel(picture, picture_sampler, uv + step / 6.0, 0.0));
        let far = 0.5 * near + 0.25 * (textureSampleLevel(picture, picture_sampler, uv - 0.5 * step, 0.0)
            + textureSampleLevel(picture, picture_sampler, uv + 0.5 * step, 0.0));
        // The long average is kept unless it reaches over to another surface.
        color = select(far.rgb, near.rgb, far.a < low || far.a > high);
    }
    return vec4f(outlined(color, p), 1.0);
}

// The mean of those of the four texels that show something.
@fragment
fn fs_fine(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let first = 2 * vec2i(position.xy - corner[0].xy);
    var sum = vec3f(0.0);
    var shown = 0.0;
    for (var k = 0; k < 4; k++) {
        let p = first + vec2i(k & 1, k >> 1u);
        let here = texel(p);
        let counts = select(f32(here.a > 0.0), 1.0, corner[0].w == 0.0);
        sum += counts * outlined(here.rgb, p);
        shown += counts;
    }
    return vec4f(sum / max(shown, 1.0), shown / 4.0);
}
