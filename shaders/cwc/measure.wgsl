// One workgroup four contacts: their motion with the present velocities and forces, how far that is from the laws, and from what the last pass foretold. Twin: `contact::Problem::motion`.
#import lib/cwc_sums.wgsl
#import lib/law.wgsl

@group(0) @binding(2) var<storage, read> dv: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn measure(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
    let group = cwc_group(id.x);
    let k = group.first + lane / CWC_LANES;
    let waits = cwc_waits(group.island);
    var part = vec3f();
    if k < group.end {
        let levers = cwc_rows[k].levers;
        for (var l = levers.x + lane % CWC_LANES; l < levers.y; l += CWC_LANES) {
            let lever = cwc_lever(l);
            let place = cwc_place(lever.place);
            let v = dv[place.unknown].xyz;
            part += select(v * lever.value.x, cross(v, lever.value), place.kind == PLACE_ANGULAR);
        }
    }
    let moved = cwc_add(lane, vec4f(part, 0.0)).xyz;
    var sums = vec4f();
    if k < group.end && lane % CWC_LANES == 0u && !waits {
        let row = cwc_rows[k];
        let p = cwc_state[cwc_plane(CWC_FORCE, k)].xyz;
        let offset = vec3f(row.normal.w, row.tangent_1.w, row.tangent_2.w);
        let u = offset + params.dt * row_turn(row, moved) + row.give.xyz * p;
        cwc_state[cwc_plane(CWC_FREE, k)] = vec4f(u, 0.0);
        cwc_state[cwc_plane(CWC_ITERATE, k)] = vec4f(p, 0.0);
        let scale = cwc_state[cwc_plane(CWC_SCALE, k)];
        sums.y = law_error(row.give.w, p, u, scale);
        // How far the last pass has moved it, along the way that was foretold and as that way was long.
        let start = cwc_state[cwc_plane(CWC_START, k)].xyz;
        let way = cwc_state[cwc_plane(CWC_FORETOLD, k)].xyz - start;
        sums.x = dot(way * vec3f(scale.z, scale.ww), u - start);
        sums.z = dot(way * vec3f(scale.z, scale.ww), way);
    }
    sums = cwc_join(lane, sums);
    if lane == 0u && !waits {
        cwc_state[cwc_sum(CWC_SUM_ITERATE, id.x)] = sums;
    }
}
