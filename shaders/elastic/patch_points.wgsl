// One thread a point of a patch: its displacement gradient and the rates of it, for the kernel of its material.
// Formula and source: `element::Patch::gradient`.
#import lib/patch.wgsl

@group(0) @binding(3) var<storage, read> patch_nodes: array<u32>;
@group(0) @binding(4) var<storage, read> displacements_hi: array<vec4f>;
@group(0) @binding(5) var<storage, read> displacements_lo: array<vec4f>;
@group(0) @binding(6) var<storage, read> velocities: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn patch_points(@builtin(global_invocation_id) id: vec3u) {
    let at = patch_item(thread_index(id), CELL_POINTS, TET10_POINTS);
    if at.patch_index == NONE || at.item >= patches[at.patch_index].n_points {
        return;
    }
    let p = patches[at.patch_index];
    // Differences to the first node, as of tets.
    let first = patch_nodes[p.first_corner];
    var g = mat3x3f();
    var rates = mat3x3f();
    for (var c = 1u; c < p.n_nodes; c++) {
        let node = patch_nodes[p.first_corner + c];
        let gradient = patch_gradient(p, at.item, c).xyz;
        let high = displacements_hi[node].xyz - displacements_hi[first].xyz;
        let low = displacements_lo[node].xyz - displacements_lo[first].xyz;
        g += mat3_outer(high + low, gradient);
        rates += mat3_outer(velocities[node].xyz - velocities[first].xyz, gradient);
    }
    if p.has_limits != 0u {
        point_keep_motion(p.first_tet + at.item, g, rates);
    }
    let place = point_place(p.first_tet + at.item);
    for (var c = 0u; c < 3u; c++) {
        edge_tangents[place + c] = vec4f(g[c], 0.0);
        edge_tangents[place + 3u + c] = vec4f(rates[c], 0.0);
    }
}
