// From the finished picture to the target: as it is (multisampled), or with jagged edges smoothed (one sample a pixel).

@group(0) @binding(0) var picture: texture_2d<f32>;
@group(0) @binding(1) var picture_sampler: sampler;
@group(0) @binding(2) var<uniform> corner: vec4f; // xy: where the picture starts in the target [px]

@vertex
fn vs_present(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4f {
    return vec4f(f32(vertex & 1u) * 4.0 - 1.0, f32(vertex >> 1u) * 4.0 - 1.0, 0.0, 1.0);
}

fn texel(p: vec2i) -> vec4f {
    return textureLoad(picture, clamp(p, vec2i(0), vec2i(textureDimensions(picture)) - 1), 0);
}

@fragment
fn fs_copy(@builtin(position) position: vec4f) -> @location(0) vec4f {
    return vec4f(texel(vec2i(position.xy - corner.xy)).rgb, 1.0);
}

// Where brightness jumps between diagonal neighbours, average along the edge [after Lottes 2009].
@fragment
fn fs_smooth(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let pixel = position.xy - corner.xy;
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
    return vec4f(color, 1.0);
}
