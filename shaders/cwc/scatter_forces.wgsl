// One thread a touched unknown: what the contact forces add to the right-hand side of its node, and the velocity change
// of a rigid body. One thread a body: its elastic solve begins anew, unless it waits.
// Twin: `contact::Problem::residual`.
#import lib/cwc.wgsl
#import lib/reduce.wgsl

@group(0) @binding(2) var<storage, read> rhs_free: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> rhs: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> dv: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn scatter_forces(@builtin(global_invocation_id) id: vec3u) {
    let k = thread_index(id);
    if k < params.n_bodies && reductions.controls[k].remembered != 1u {
        // Without contacts, one solve is enough.
        let island = cwc_body_island(k);
        var waits = reductions.controls[k].elastic_done != 0u;
        if island < cwc.n_islands {
            waits = cwc_waits(island);
        }
        if waits {
            reductions.controls[k].remembered = 2u;
        } else {
            reductions.controls[k].remembered = 0u;
            reductions.controls[k].contact_iterations += reductions.controls[k].iterations;
            reductions.controls[k].iterations = 0u;
            reductions.controls[k].elastic_done = 0u;
        }
    }
    if k >= cwc.n_touched {
        return;
    }
    let touched = touched_unknown(k);
    if cwc_waits(touched.island) {
        return;
    }
    var sum = vec3f();
    for (var i = touched.first_incidence; i < touched.end_incidence; i++) {
        let incidence = cwc_incidence(i);
        let force = row_turn_back(cwc_rows[incidence.x], cwc_state[cwc_plane(CWC_FORCE, incidence.x)].xyz);
        sum += entry_force(jacobian_entry(incidence.y), touched.kind, force);
    }
    let impulse = rhs_free[touched.unknown].xyz + params.dt * sum;
    if touched.kind == TOUCHED_NODE {
        rhs[touched.unknown] = vec4f(impulse, 0.0);
        return;
    }
    // The block is symmetric: columns serve as rows.
    let inverse = cwc_rigid_inverse(touched.column);
    var change = vec3f();
    for (var c = 0u; c < 3u; c++) {
        change += inverse[c] * impulse[c];
    }
    dv[touched.unknown] = vec4f(change, 0.0);
}
