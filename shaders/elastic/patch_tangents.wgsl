// One thread an edge (i, j), i < j, of a patch: its block, behind those of the edges of tets. Formula and source:
// `elastic::patches`.
#import lib/patch.wgsl

@compute @workgroup_size(WORKGROUP)
fn patch_tangents(@builtin(global_invocation_id) id: vec3u) {
    let k = thread_index(id);
    let at = patch_item(k, CELL_EDGES, TET10_EDGES);
    if at.patch_index == NONE {
        return;
    }
    let p = patches[at.patch_index];
    // `Element::edge_number`.
    var j = 1u;
    while (j + 1u) * j / 2u <= at.item {
        j++;
    }
    let i = at.item - j * (j - 1u) / 2u;
    var block = mat3x3f();
    var swelling_i = vec3f();
    var swelling_j = vec3f();
    for (var q = 0u; q < p.n_points; q++) {
        let point = point_load(p.first_tet + q);
        let a = patch_gradient(p, q, i);
        let b = patch_gradient(p, q, j);
        block += point_block(point, a.xyz, b.xyz);
        swelling_i += a.w * (point.swelling * a.xyz);
        swelling_j += b.w * (point.swelling * b.xyz);
    }
    block += mat3_outer(patch_volume(p).stiffness * swelling_i, swelling_j);
    let factor = params.dt * (params.dt + p.stiffness_damping);
    let place = 3u * (ELEMENT_EDGES * params.n_tets + k);
    for (var c = 0u; c < 3u; c++) {
        edge_tangents[place + c] = vec4f(factor * block[c], 0.0);
    }
}
