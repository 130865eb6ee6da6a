// First kernel of a round, one thread a contact: its part of the preconditioner, t = S^-1 (L D^-1 r - q), for the new direction or, after a change, for the
// residual. Twins: `contact::cr::precondition`, `restart`, `update_compliances`.
#import lib/cr.wgsl
#import lib/preconditioner.wgsl
#import lib/mat3.wgsl

@group(0) @binding(2) var<storage, read> dv: array<vec4f>;

fn inverse_of(unknown: u32) -> mat3x3f {
    if unknown >= params.n_nodes {
        return cr_rigid(unknown, 1u);
    }
    // The block is symmetric: its rows serve as columns.
    let inverse = inverse_diagonal(unknown);
    return mat3x3f(inverse.x.xyz, inverse.y.xyz, inverse.z.xyz);
}

fn reciprocal(x: f32) -> f32 {
    return select(0.0, 1.0 / x, x > 0.0);
}

// Diagonal of the compliance, and the stiffness of the rows that are in the system, from the compliance of the point in space.
fn store_compliance(k: u32, c: CrContact, mass: mat3x3f) {
    let frame = mat3x3f(c.normal.xyz, c.tangent_1.xyz, c.tangent_2.xyz);
    var compliance = transpose(frame) * mass * frame * (params.dt * params.dt);
    if cr_is_spring(c) {
        compliance[0].x += c.compliance.x;
        compliance[1].y += c.compliance.y;
        compliance[2].z += c.compliance.z;
    }
    var diagonal = vec3f();
    var off = vec3f();
    if c.status == SLIDING {
        diagonal.x = reciprocal(compliance[0].x);
        diagonal.z = select(0.0, reciprocal(compliance[2].z + c.turning), c.turning >= 0.0);
    } else if c.status == STICKING {
        // Scaled, so that the determinant stays in range.
        let size = mat3_trace(compliance);
        let scaled = compliance * reciprocal(size);
        let det = determinant(scaled);
        if det > 1e-12 {
            let inverse = mat3_adjugate(scaled) * (1.0 / (det * size));
            diagonal = vec3f(inverse[0].x, inverse[1].y, inverse[2].z);
            off = vec3f(inverse[1].x, inverse[2].x, inverse[2].y);
        }
    }
    cwc_state[cr_plane(CR_COMPLIANCE, k)] = vec4f(compliance[0].x, compliance[1].y, compliance[2].z, 0.0);
    cwc_state[cr_plane(CR_STIFFNESS, k)] = vec4f(diagonal, 0.0);
    cwc_state[cr_plane(CR_STIFFNESS_OFF, k)] = vec4f(off, 0.0);
}

fn stiffness_product(k: u32, v: vec3f) -> vec3f {
    let d = cwc_state[cr_plane(CR_STIFFNESS, k)].xyz;
    let o = cwc_state[cr_plane(CR_STIFFNESS_OFF, k)].xyz;
    return vec3f(d.x * v.x + o.x * v.y + o.y * v.z, o.x * v.x + d.y * v.y + o.z * v.z, o.y * v.x + o.z * v.y + d.z * v.z);
}

@compute @workgroup_size(WORKGROUP)
fn precondition_rows(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let i = cr_island_of(group.x);
    let island = cr_island(i);
    let phase = cr_controls[i].next_phase;
    let restart = phase == PHASE_RESTART;
    let rho = reduce_group(lane, cr_part(lane, island, CR_SUM_RHO)).x;
    let beta = cr_beta(i, rho);
    let idle = cr_controls[i].done != 0u;

    var curvature = 0.0;
    let end = select(island.end_contact, 0u, idle);
    for (var k = island.first_contact + cr_first(lane, group.x, island); k < end; k += cr_stride(island)) {
        let c = cr_contact(k);
        var h_a = vec3f();
        var h_z = vec3f();
        var mass = mat3x3f();
        for (var e = c.entries.x; e < c.entries.y; e++) {
            let entry = jacobian_entry(e);
            let touched = touched_unknown(entry.touched);
            let inverse = inverse_of(touched.unknown);
            var r: vec3f;
            if restart {
                r = cr_vectors[cr_vector(CR_R, touched.unknown)].xyz;
                h_z += entry_motion(entry, touched.kind, dv[touched.unknown].xyz);
                // Each share of the compliance is multiplied by the weights that active contacts put on the place.
                let load = cwc_state[cr.loads + entry.touched].x;
                if touched.kind == TOUCHED_ANGULAR {
                    let a = entry.value;
                    let arm = mat3x3f(0.0, a.z, -a.y, -a.z, 0.0, a.x, a.y, -a.x, 0.0);
                    mass += arm * inverse * transpose(arm) * (load + select(1.0, 0.0, c.status != INACTIVE));
                } else {
                    let weight = abs(entry.value.x);
                    mass += inverse * (weight * (load + select(weight, 0.0, c.status != INACTIVE)));
                }
            } else {
                // Without a direction before it, what is kept of the last loop must not enter.
                r = cr_vectors[cr_vector(CR_B_Z, touched.unknown)].xyz;
                if beta != 0.0 {
                    r += beta * cr_vectors[cr_vector(CR_B_P, touched.unknown)].xyz;
                }
                h_z += entry_motion(entry, touched.kind, cr_vectors[cr_vector(CR_Z, touched.unknown)].xyz);
            }
            h_a += entry_motion(entry, touched.kind, inverse * r);
        }
        let l_a = params.dt * cr_turn(c, h_a);
        let l_z = params.dt * cr_turn(c, h_z);
        let give = cr_row_compliance(c);
        var t: vec3f;
        if restart {
            store_compliance(k, c, mass);
            let r = cr_mask(c, give * c.multiplier - cr_offset(c) - l_z);
            t = stiffness_product(k, l_a - r);
            cwc_state[cr_plane(CR_ROW_R, k)] = vec4f(r, 0.0);
            cwc_state[cr_plane(CR_ROW_Z, k)] = vec4f(t, 0.0);
        } else {
            let z = cwc_state[cr_plane(CR_ROW_Z, k)].xyz;
            var p = z;
            var b_p = cr_mask(c, l_z - give * z);
            if beta != 0.0 {
                p += beta * cwc_state[cr_plane(CR_ROW_P, k)].xyz;
                b_p += beta * cwc_state[cr_plane(CR_ROW_B_P, k)].xyz;
            }
            t = stiffness_product(k, l_a - b_p);
            curvature += dot(b_p, t);
            cwc_state[cr_plane(CR_ROW_P, k)] = vec4f(p, 0.0);
            cwc_state[cr_plane(CR_ROW_B_P, k)] = vec4f(b_p, 0.0);
            cwc_state[cr_plane(CR_ROW_C_B_P, k)] = vec4f(t, 0.0);
        }
        cwc_state[cr_plane(CR_SPREAD, k)] = vec4f(cr_turn_back(c, t), 0.0);
    }
    let total = reduce_group(lane, vec4f(curvature, 0.0, 0.0, 0.0));
    if lane == 0u && !idle {
        cr_store(CR_SUM_CURVATURE_ROWS, group.x, total);
    }
    if !idle && cr_leads(lane, group.x, island) {
        cr_controls[i].phase = phase;
        if restart && cr_controls[i].bound2 == 0.0 {
            // `product` has left |r_v|^2. An impact is solved to a part of itself; and while rows still change, a rough solve shows how.
            let bound = params.tolerance * cr_controls[i].scale;
            let final2 = max(bound * bound, CR_RELATIVE_RESIDUAL * CR_RELATIVE_RESIDUAL * rho);
            cr_controls[i].final2 = final2;
            cr_controls[i].bound2 = max(final2, CR_ROUGH_TOLERANCE * CR_ROUGH_TOLERANCE * rho);
        }
    }
}
