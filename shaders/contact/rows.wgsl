// First kernel of a round, one thread a surface point: the contacts' part of the preconditioner, t = S^-1 (L D^-1 r - q), for the new
// direction or, after a change, for the residual. Twins: `contact::cr::precondition`, `restart`, `update_compliances`.
#import lib/reduce.wgsl
#import lib/contact.wgsl
#import lib/preconditioner.wgsl
#import lib/occupied.wgsl
#import lib/mat3.wgsl

@group(0) @binding(2) var<storage, read> points: array<Point>;
@group(0) @binding(3) var<storage, read> vectors: array<vec4f>;
@group(0) @binding(5) var<storage, read> dv: array<vec4f>;
// World-frame sums over the contacts of a point: of t or z, and from n_points on of the forces, with the number of active ones.
@group(0) @binding(7) var<storage, read_write> point_vectors: array<vec4f>;

const IMPACT_TOLERANCE: f32 = 1e-3;
const ROUGH_TOLERANCE: f32 = 1e-2;

// D^-1 of the point: the weighted sum over its nodes, each share multiplied by the weights that active contacts put on the node.
fn point_inverse_mass(point: Point, loaded: bool) -> mat3x3f {
    var sum = mat3x3f();
    for (var c = 0u; c < 4u; c++) {
        let node = point.nodes[c];
        let weight = abs(point.weights[c]);
        let load = vectors[V_R * params.n_nodes + node].w + select(weight, 0.0, loaded);
        let inverse = inverse_diagonal(node);
        sum += mat3x3f(inverse.x.xyz, inverse.y.xyz, inverse.z.xyz) * (weight * load);
    }
    return sum;
}

fn update_compliance(c: ptr<function, Contact>, point: Point) {
    let frame = contact_frame((*c).normal);
    let mass = point_inverse_mass(point, contact_is_active((*c).status));
    let compliance = transpose(frame) * mass * frame * (params.dt * params.dt);
    (*c).compliance = compliance[0].x;
    (*c).compliance_tangent = 0.5 * (compliance[1].y + compliance[2].z);
    (*c).stiffness = vec3f();
    (*c).stiffness_off = vec3f();
    if (*c).status == SLIDING && compliance[0].x > 0.0 {
        (*c).stiffness.x = 1.0 / compliance[0].x;
    } else if (*c).status == STICKING {
        // Scaled, so that the determinant stays in range.
        let size = mat3_trace(compliance);
        let scaled = compliance * (1.0 / max(size, 1e-30));
        let det = determinant(scaled);
        if det > 1e-12 {
            let inverse = mat3_adjugate(scaled) * (1.0 / (det * size));
            (*c).stiffness = vec3f(inverse[0].x, inverse[1].y, inverse[2].z);
            (*c).stiffness_off = vec3f(inverse[1].x, inverse[2].x, inverse[2].y);
        }
    }
}

@compute @workgroup_size(WORKGROUP)
fn rows(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let share = shares[group.x];
    let body = share.body;
    let phase = reductions.controls[body].next_phase;
    let restart = phase == PHASE_RESTART;
    let rho = reduce_group(lane, reduce_slot(lane, share, SLOT_RHO)).x;
    let beta = select(rho / reductions.controls[body].rho, 0.0, reductions.controls[body].fresh != 0u);
    let idle = contact_is_idle(body) || (phase != PHASE_NORMAL && !restart);

    let n = select(share.end_point, 0u, idle);
    var curvature = 0.0;
    let stride = share_stride(share);
    var k = point_occupied_from(share.first_point + share_first(lane, group.x, share), n, stride);
    for (; k < n; k = point_occupied_from(k + stride, n, stride)) {
        let point = points[k];
        var h_a = vec3f();
        var h_z = vec3f();
        var h_dv = vec3f();
        for (var c = 0u; c < 4u; c++) {
            let node = point.nodes[c];
            var r = vectors[V_R * params.n_nodes + node].xyz;
            if !restart {
                // Without a direction before it, what is kept of the last loop must not enter.
                r = vectors[V_B_Z * params.n_nodes + node].xyz;
                if beta != 0.0 {
                    r += beta * vectors[V_B_P * params.n_nodes + node].xyz;
                }
            }
            h_a += point.weights[c] * block_product(inverse_diagonal(node), r);
            h_z += point.weights[c] * vectors[V_Z * params.n_nodes + node].xyz;
            h_dv += point.weights[c] * dv[node].xyz;
        }
        var sum = vec3f();
        for (var s = 0u; s < params.n_slots; s++) {
            let j = k * params.n_slots + s;
            var contact = contacts[j];
            if contact.status == EMPTY {
                continue;
            }
            let frame = contact_frame(contact.normal);
            let l_a = params.dt * (h_a * frame);
            if restart {
                update_compliance(&contact, point);
                contact.r = contact_mask(contact.status, -(contact.offset + params.dt * (h_dv * frame)));
                contact.z = contact_stiffness_product(contact, l_a - contact.r);
                sum += frame * contact.z;
            } else {
                let b_z = contact_mask(contact.status, params.dt * (h_z * frame));
                if beta != 0.0 {
                    contact.b_p = b_z + beta * contact.b_p;
                    contact.p = contact.z + beta * contact.p;
                } else {
                    contact.b_p = b_z;
                    contact.p = contact.z;
                }
                contact.c_b_p = contact_stiffness_product(contact, l_a - contact.b_p);
                curvature += dot(contact.b_p, contact.c_b_p);
                sum += frame * contact.c_b_p;
            }
            contacts[j] = contact;
        }
        point_vectors[k] = vec4f(sum, 0.0);
    }
    let total = reduce_group(lane, vec4f(curvature, 0.0, 0.0, 0.0));
    if lane == 0u {
        reduce_store(SLOT_CURVATURE_ROWS, group.x, total);
    }
    if share_leads(lane, group.x, share) {
        reductions.controls[body].phase = phase;
        if reductions.controls[body].lower_bound != 0u {
            reductions.controls[body].lower_bound = 0u;
            reductions.controls[body].bound2 = reductions.controls[body].final2;
        }
        if restart && reductions.controls[body].bound2 == 0.0 {
            // `product` has left |r_v|^2: an impact is solved to a part of itself; and while rows still change, a rough solve shows how.
            let final2 = max(reductions.controls[body].target2, IMPACT_TOLERANCE * IMPACT_TOLERANCE * rho);
            reductions.controls[body].final2 = final2;
            reductions.controls[body].bound2 = max(final2, ROUGH_TOLERANCE * ROUGH_TOLERANCE * rho);
        }
    }
}
