// Where selected things are in the picture, whether or not something is in front of them.
#import common

@group(0) @binding(2) var<storage, read> world_from_local: array<mat4x4f>;

// Bodies are in the world already. (Their many vertices read no storage buffer: that is slow on software adapters.)
@vertex
fn vs_body_mask(@location(0) position: vec3f) -> @builtin(position) vec4f {
    return frame.clip_from_world * vec4f(position, 1.0);
}

@vertex
fn vs_rigid_mask(@location(0) position: vec3f, @builtin(instance_index) instance: u32) -> @builtin(position) vec4f {
    return frame.clip_from_world * (world_from_local[instance] * vec4f(position, 1.0));
}

@fragment
fn fs_mask() -> @location(0) vec4f {
    return vec4f(1.0);
}
