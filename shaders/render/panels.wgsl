// Panels: triangles of points with a colour, encoded and multiplied by its alpha, and a place in an image.
//
// Nothing is chosen here by a uniform: software rasterisers run both sides of an `if`, for every pixel of the window.
#import noise

@group(0) @binding(0) var<uniform> screen: vec4f; // xy: size [points]
@group(1) @binding(0) var image: texture_2d<f32>;
@group(1) @binding(1) var image_sampler: sampler;

struct Corner {
    @builtin(position) position: vec4f,
    @location(0) place: vec2f,
    @location(1) color: vec4f,
}

@vertex
fn vs_panels(@location(0) point: vec2f, @location(1) place: vec2f, @location(2) color: vec4f) -> Corner {
    let part = point / screen.xy;
    return Corner(vec4f(2.0 * part.x - 1.0, 1.0 - 2.0 * part.y, 0.0, 1.0), place, color);
}

// Noise of less than half a level to either side keeps slow gradients free of bands and flat colours as they are.
@fragment
fn fs_panels(corner: Corner) -> @location(0) vec4f {
    let color = corner.color * textureSample(image, image_sampler, corner.place);
    return vec4f(color.rgb + 0.95 / 255.0 * (pixel_noise(corner.position.xy) - 0.5), color.a);
}
