// One thread a place: what the contact forces add to the right-hand side of its node, and the velocity change of a rigid body. One thread a body: its elastic solve
// begins anew, unless it waits. Twin: `contact::Problem::residual`.
#import lib/cwc.wgsl
#import lib/reduce.wgsl

@group(0) @binding(2) var<storage, read> rhs_free: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> rhs: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> dv: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn spread(@builtin(global_invocation_id) id: vec3u) {
    let k = thread_index(id);
    if k < params.n_bodies && reductions.controls[k].remembered != 1u {
        // Without contacts, one solve is enough.
        let island = cwc_words[cwc.body_islands + k];
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
    if k >= cwc.n_places {
        return;
    }
    let place = cwc_place(k);
    if cwc_waits(place.island) {
        return;
    }
    var sum = vec3f();
    for (var i = place.first; i < place.end; i++) {
        let contact = cwc_words[cwc.items + 2u * i];
        let lever = cwc_lever(cwc_words[cwc.items + 2u * i + 1u]);
        let force = row_turn_back(cwc_rows[contact], cwc_state[cwc_plane(CWC_FORCE, contact)].xyz);
        sum += select(force * lever.value.x, cross(lever.value, force), place.kind == PLACE_ANGULAR);
    }
    let impulse = rhs_free[place.unknown].xyz + params.dt * sum;
    if place.kind == PLACE_NODE {
        rhs[place.unknown] = vec4f(impulse, 0.0);
        return;
    }
    // The block is symmetric: columns serve as rows.
    let w = place.column;
    var change = vec3f();
    for (var c = 0u; c < 3u; c++) {
        let column = vec3f(bitcast<f32>(cwc_words[w + 3u * c]), bitcast<f32>(cwc_words[w + 3u * c + 1u]), bitcast<f32>(cwc_words[w + 3u * c + 2u]));
        change += column * impulse[c];
    }
    dv[place.unknown] = vec4f(change, 0.0);
}
