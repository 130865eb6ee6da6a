// One thread a corner of a patch: the force on it, behind those on the corners of tets. Rotations of points go to
// further tets that keep them. Formula and source: `elastic::patches`.
#import lib/patch.wgsl

@group(0) @binding(3) var<storage, read_write> corner_forces: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> rotations: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn patch_forces(@builtin(global_invocation_id) id: vec3u) {
    let k = thread_index(id);
    let at = patch_item(k, CELL_NODES, TET10_NODES);
    if at.patch_index == NONE {
        return;
    }
    let p = patches[at.patch_index];
    let pressure = patch_volume(p).pressure;
    var force = vec3f();
    for (var j = 0u; j < p.n_points; j++) {
        let point = point_load(p.first_tet + j);
        let gradient = patch_gradient(p, j, at.item);
        force -= (point.stress + (pressure * gradient.w) * point.swelling) * gradient.xyz;
    }
    corner_forces[ELEMENT_NODES * params.n_tets + k] = vec4f(force, 0.0);
    if p.n_points + at.item < p.n_tets {
        rotations[p.first_tet + p.n_points + at.item] = rotations[p.first_tet + at.item];
    }
}
