// One workgroup a pair of body and obstacle: sums and extremes over its contacts. Twin: `solver::cpu::contacts::report`.
#import lib/reduce.wgsl
#import lib/contact.wgsl

@group(0) @binding(2) var<storage, read> pairs: array<Pair>;
@group(0) @binding(3) var<storage, read> points: array<Point>;
@group(0) @binding(4) var<storage, read> dv: array<vec4f>;
@group(0) @binding(5) var<storage, read> contacts: array<Contact>;
@group(0) @binding(6) var<storage, read_write> pair_forces_out: array<PairForces>;

// Zero exactly where 0 <= x _|_ y >= 0.
fn fischer_burmeister(x: f32, y: f32) -> f32 {
    return x + y - length(vec2f(x, y));
}

@compute @workgroup_size(WORKGROUP)
fn pair_forces(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let pair = pairs[group.x];
    var normal = vec4f();
    var friction = vec4f();
    var sums = vec4f();
    var largest = vec3f();
    for (var k = pair.first + lane; k < pair.end; k += WORKGROUP) {
        for (var j = k * params.n_slots; j < (k + 1u) * params.n_slots; j++) {
            let contact = contacts[j];
            if contact.status == EMPTY || contact.obstacle != pair.obstacle {
                continue;
            }
            friction.w += 1.0;
            if contact.status == INACTIVE {
                continue;
            }
            let point = points[k];
            var h_dv = vec3f();
            for (var c = 0u; c < 4u; c++) {
                h_dv += point.weights[c] * dv[point.nodes[c]].xyz;
            }
            let frame = contact_frame(contact.normal);
            let motion = contact.offset + params.dt * (h_dv * frame);
            let force = max(-contact.multiplier.x, 0.0);
            let gamma = contact_friction(contact);
            let size = length(gamma);
            let limit = contact.friction * force;
            var error = abs(fischer_burmeister(contact.compliance * force, motion.x));
            if contact.status == SLIDING {
                let slip = length(motion.yz);
                error = max(error, abs(fischer_burmeister(contact.compliance * (limit - size), slip)));
                sums.z += size * slip;
            }
            normal += vec4f(contact.normal * force, 1.0);
            friction -= vec4f(frame * gamma, 0.0);
            sums += vec4f(force, size, 0.0, 0.0);
            largest = max(largest, vec3f(motion.x + SAFETY * params.contact_tolerance, error, size - limit));
        }
    }
    normal = reduce_group(lane, normal);
    friction = reduce_group(lane, friction);
    sums = reduce_group(lane, sums);
    let gap = reduce_group_max(lane, largest.x);
    let error = reduce_group_max(lane, largest.y);
    let excess = reduce_group_max(lane, largest.z);
    if lane == 0u {
        pair_forces_out[group.x] = PairForces(normal, friction, sums, vec4f(gap, error, excess, 0.0));
    }
}
