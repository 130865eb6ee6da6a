// What one picture is made with. Host twin: `render::uniforms`; a test compares the offsets.

struct Frame {
    clip_from_world: mat4x4f,
    world_from_clip: mat4x4f,
    // Rotation into light space: z points towards the key light.
    light_from_world: mat4x4f,
    // The main floor's frame: y is the height above it [m].
    floor_from_world: mat4x4f,
    world_from_floor: mat4x4f,
    // Height above the main floor of a world point p: dot(floor_plane, (p, 1)) [m].
    floor_plane: vec4f,
    // xyz: the camera [m]; w: size of a pixel at distance 1 (dimensionless).
    eye: vec4f,
    // Width and height of the picture [px], and their inverses.
    size: vec4f,
    // xyz: unit vector towards the key light; w: tangent of the light's angular radius.
    to_light: vec4f,
    // Linear radiance of the key light, of the sky above and of the light from below.
    key: vec4f,
    sky: vec4f,
    ground: vec4f,
    // Linear colours of the backdrop overhead and at the horizon.
    backdrop_top: vec4f,
    backdrop_horizon: vec4f,
    // rgb: linear albedo of the main floor; w: 1 when there is one.
    floor: vec4f,
    // x: spacing of the fine grid [m]; y: its weight; z: weight of the whole grid; w: distance at which the floor is gone [m].
    grid: vec4f,
    // xyz: middle of the stage [m]; w: its radius [m].
    scene: vec4f,
    // x: points that bound rigid things; y: soft surface vertices; z: 1 with shadows; w: taps of a soft shadow.
    flags: vec4u,
    // What lies on the positive side of this plane (n.x - d > 0, [m]) is cut away of bodies and rigid things that are cut.
    cut: vec4f,
}

// Where the shadow map and the contact map lie: fitted to the positions that are drawn. Host twin: `render::drawn::fit`.
struct Fit {
    // Into the key light's map (depth 0 near the light) and into the floor's map, looking up (depth is the height over the highest point).
    shadow_clip_from_world: mat4x4f,
    contact_clip_from_world: mat4x4f,
    // Shadow map: x half the width [m], y depth range [m], z width of a texel [m].
    shadow: vec4f,
    // Contact map: x half the width [m], y height of depth 1 [m].
    contact: vec4f,
}
