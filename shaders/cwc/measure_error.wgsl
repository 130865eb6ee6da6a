// One workgroup four contacts: their motion with the present velocities and forces, how far that is from the laws,
// and from what the last pass predicted. Twin: `contact::Problem::motion`.
#import lib/cwc_sums.wgsl
#import lib/law.wgsl

@group(0) @binding(2) var<storage, read> dv: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn measure_error(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
    let group = cwc_group(id.x);
    let k = group.first + lane / CWC_LANES;
    let waits = cwc_waits(group.island);
    var part = vec3f();
    if k < group.end {
        let entries = cwc_rows[k].entries;
        for (var e = entries.x + lane % CWC_LANES; e < entries.y; e += CWC_LANES) {
            let entry = jacobian_entry(e);
            let touched = touched_unknown(entry.touched);
            part += entry_motion(entry, touched.kind, dv[touched.unknown].xyz);
        }
    }
    let moved = cwc_add(lane, vec4f(part, 0.0)).xyz;
    var sums = vec4f();
    if k < group.end && lane % CWC_LANES == 0u && !waits {
        let row = cwc_rows[k];
        let p = cwc_state[cwc_plane(CWC_FORCE, k)].xyz;
        let offset = vec3f(row.normal.w, row.tangent_1.w, row.tangent_2.w);
        let u = offset + params.dt * row_turn(row, moved) + row.compliance.xyz * p;
        cwc_state[cwc_plane(CWC_FREE, k)] = vec4f(u, 0.0);
        cwc_state[cwc_plane(CWC_ITERATE, k)] = vec4f(p, 0.0);
        let scale = cwc_state[cwc_plane(CWC_SCALE, k)];
        sums.y = law_error(row.compliance.w, p, u, scale);
        // How far the last pass has moved it, along the predicted way and as that way was long.
        let start = cwc_state[cwc_plane(CWC_START, k)].xyz;
        let way = cwc_state[cwc_plane(CWC_PREDICTED, k)].xyz - start;
        sums.x = dot(way * vec3f(scale.z, scale.ww), u - start);
        sums.z = dot(way * vec3f(scale.z, scale.ww), way);
    }
    sums = cwc_join(lane, sums);
    if lane == 0u && !waits {
        cwc_state[cwc_sum(CWC_SUM_ITERATE, id.x)] = sums;
    }
}
