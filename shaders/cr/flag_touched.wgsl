// One thread a place: its unknown knows it, unless it never moves. One workgroup an island: what its residual is measured against.
// Twin: `step::Step::driving_impulse`.
#import lib/cr.wgsl
#import lib/reduce.wgsl
#import lib/preconditioner.wgsl

@compute @workgroup_size(WORKGROUP)
fn flag_touched(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let g = group.x + group.y * (GRID_ROW / WORKGROUP);
    let k = g * WORKGROUP + lane;
    if k < cwc.n_touched {
        let touched = touched_unknown(k);
        let is_free = touched.kind != TOUCHED_NODE || inverse_diagonal(touched.unknown).x.x != 0.0;
        cr_vectors[cr_vector(CR_R, touched.unknown)] = vec4f(0.0, 0.0, 0.0, select(0.0, 1.0 + f32(k), is_free));
    }
    let is_island = g < cr.n_islands;
    let island = cr_island(select(0u, g, is_island));
    var forces2 = 0.0;
    for (var s = lane; s < select(0u, params.row_groups, is_island); s += WORKGROUP) {
        let body = shares[s].body;
        if body >= island.first_body && body < island.end_body {
            forces2 += reductions.sums[SLOT_SCALE * MAX_ROW_GROUPS + s].y;
        }
    }
    forces2 = reduce_group(lane, vec4f(forces2, 0.0, 0.0, 0.0)).x;
    if lane == 0u && is_island && cr_controls[g].is_loaded == 0u {
        cr_controls[g].scale = max(cr_controls[g].scale + params.dt * sqrt(forces2), cr_controls[g].least_scale);
        cr_controls[g].is_loaded = 1u;
    }
}
