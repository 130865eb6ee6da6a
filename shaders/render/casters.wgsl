// Depth only: what the key light sees (shadow map) and what the floor sees above it (contact map).
#import common

@group(0) @binding(2) var<storage, read> world_from_local: array<mat4x4f>;

// Bodies are in the world already. (Their many vertices read no storage buffer: that is slow on software adapters.)
@vertex
fn vs_body_shadow(@location(0) position: vec3f) -> @builtin(position) vec4f {
    return caster_clip(fit.shadow_clip_from_world * vec4f(position, 1.0));
}

@vertex
fn vs_body_contact(@location(0) position: vec3f) -> @builtin(position) vec4f {
    return caster_clip(fit.contact_clip_from_world * vec4f(position, 1.0));
}

@vertex
fn vs_rigid_shadow(@location(0) position: vec3f, @builtin(instance_index) instance: u32) -> @builtin(position) vec4f {
    return caster_clip(fit.shadow_clip_from_world * (world_from_local[instance] * vec4f(position, 1.0)));
}

@vertex
fn vs_rigid_contact(@location(0) position: vec3f, @builtin(instance_index) instance: u32) -> @builtin(position) vec4f {
    return caster_clip(fit.contact_clip_from_world * (world_from_local[instance] * vec4f(position, 1.0)));
}

// What is cut away is pressed flat onto the plane: it casts the shadow of the cap.
fn pressed(world: vec3f) -> vec4f {
    return vec4f(world - frame.cut.xyz * max(dot(frame.cut.xyz, world) - frame.cut.w, 0.0), 1.0);
}

fn rigid_pressed(position: vec3f, instance: u32) -> vec4f {
    return pressed((world_from_local[instance] * vec4f(position, 1.0)).xyz);
}

@vertex
fn vs_body_cut_shadow(@location(0) position: vec3f) -> @builtin(position) vec4f {
    return caster_clip(fit.shadow_clip_from_world * pressed(position));
}

@vertex
fn vs_body_cut_contact(@location(0) position: vec3f) -> @builtin(position) vec4f {
    return caster_clip(fit.contact_clip_from_world * pressed(position));
}

@vertex
fn vs_rigid_cut_shadow(@location(0) position: vec3f, @builtin(instance_index) instance: u32) -> @builtin(position) vec4f {
    return caster_clip(fit.shadow_clip_from_world * rigid_pressed(position, instance));
}

@vertex
fn vs_rigid_cut_contact(@location(0) position: vec3f, @builtin(instance_index) instance: u32) -> @builtin(position) vec4f {
    return caster_clip(fit.contact_clip_from_world * rigid_pressed(position, instance));
}
