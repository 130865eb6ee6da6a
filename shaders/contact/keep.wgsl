// One thread a surface point: what its active contacts leave to the next step. Twin: `contact::Contact::memory`.
#import lib/contact.wgsl

@group(0) @binding(2) var<storage, read> contacts: array<Contact>;
@group(0) @binding(3) var<storage, read_write> memory_next: array<Memory>;

@compute @workgroup_size(WORKGROUP)
fn keep(@builtin(global_invocation_id) id: vec3u) {
    let k = thread_index(id);
    if k >= params.n_points {
        return;
    }
    for (var j = k * params.n_slots; j < (k + 1u) * params.n_slots; j++) {
        let contact = contacts[j];
        var kept = Memory();
        if contact_is_active(contact.status) {
            kept.friction_force = -(contact_frame(contact.normal) * contact_friction(contact));
            kept.normal_force = max(-contact.multiplier.x, 0.0);
            kept.obstacle = contact.obstacle;
            kept.status = contact.status;
            kept.friction = contact.friction;
        }
        memory_next[j] = kept;
    }
}
