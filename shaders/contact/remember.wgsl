// One thread a surface point: the contacts that carried a force in the last step, with that force.
// Twin: `solver::cpu::contacts::Detection::remembered`.
#import lib/points.wgsl

@group(0) @binding(2) var<storage, read> point_starts: array<PointStart>;
@group(0) @binding(3) var<storage, read> memory: array<Memory>;
@group(0) @binding(4) var<storage, read> obstacles: array<Obstacle>;
@group(0) @binding(5) var<storage, read_write> contacts: array<Contact>;
@group(0) @binding(6) var<storage, read_write> point_vectors: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn remember(@builtin(global_invocation_id) id: vec3u) {
    let k = thread_index(id);
    if k >= params.n_points {
        return;
    }
    let start = point_starts[k];
    var force = vec4f();
    for (var s = 0u; s < params.n_slots; s++) {
        let j = k * params.n_slots + s;
        let kept = memory[j];
        var contact = Contact();
        if kept.status != EMPTY {
            let obstacle = obstacles[kept.obstacle];
            // The obstacle carries the point along: where it would be without relative motion.
            let local = unrotate(obstacle.rotation_t0, start.x0.xyz - obstacle.origin_t0);
            let carried = rotate(obstacle.rotation_t1, local) + obstacle.origin_t1;
            contact.obstacle = kept.obstacle;
            contact.friction = kept.friction;
            // Rows before the force, which is already given in space.
            contact_linearise(&contact, tangent_plane(obstacle, start.x0.xyz, carried), start);
            let frame = contact_frame(contact.normal);
            let friction = vec3f(0.0, (-kept.friction_force * frame).yz);
            contact.status = kept.status;
            contact.multiplier = vec3f(-kept.normal_force, 0.0, 0.0);
            if kept.status == STICKING {
                contact.multiplier += friction;
            } else {
                contact.sliding_force = friction;
            }
            force += vec4f(frame * contact_force(contact), 1.0);
        }
        contacts[j] = contact;
    }
    point_vectors[k] = vec4f();
    point_vectors[params.n_points + k] = force;
}
