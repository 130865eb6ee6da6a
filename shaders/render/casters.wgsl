// Depth only: what the key light sees (shadow map) and what the floor sees above it (contact map).
#import common

@group(0) @binding(2) var<storage, read> world_from_local: array<mat4x4f>;

@vertex
fn vs_shadow(@location(0) position: vec3f, @builtin(instance_index) instance: u32) -> @builtin(position) vec4f {
    return shadow_clip((world_from_local[instance] * vec4f(position, 1.0)).xyz);
}

@vertex
fn vs_contact(@location(0) position: vec3f, @builtin(instance_index) instance: u32) -> @builtin(position) vec4f {
    return contact_clip((world_from_local[instance] * vec4f(position, 1.0)).xyz);
}
