// One thread an unknown of an island: the residual without contacts, r_u = b - A dv. Of nodes it is there already (`cg/residual_start.wgsl`).
// Twin: the start of `contact::cr::solve`.
#import lib/cr.wgsl

@group(0) @binding(2) var<storage, read> residual: array<vec4f>;
@group(0) @binding(3) var<storage, read> rhs: array<vec4f>;
@group(0) @binding(4) var<storage, read> dv: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn free_residual(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let island = cr_island(cr_island_of(group.x));
    for (var i = island.first_unknown + cr_first(lane, group.x, island); i < island.end_unknown; i += cr_stride(island)) {
        var r = vec3f();
        if i < params.n_nodes {
            r = residual[i].xyz;
        } else {
            r = rhs[i].xyz - cr_rigid(i, 0u) * dv[i].xyz;
        }
        cr_vectors[cr_vector(CR_FREE, i)] = vec4f(r, 0.0);
        cr_vectors[cr_vector(CR_R, i)] = vec4f();
    }
}
