// Tangents that are not warped: a block for each edge of a tet, three columns each (`elastic::EdgeTangents`). The
// vectors of warped ones stay zero.
#import lib/element.wgsl

// Rest gradient of a corner.
fn element_gradient(t: u32, corner: u32) -> vec3f {
    let gradients = array(-(tets[t].g1.xyz + tets[t].g2.xyz + tets[t].g3.xyz), tets[t].g1.xyz, tets[t].g2.xyz, tets[t].g3.xyz);
    return gradients[corner];
}

// The change of G that motion of corner j along an axis makes: e_a g_j^T.
fn element_change(t: u32, j: u32, axis: u32) -> mat3x3f {
    var unit = vec3f();
    unit[axis] = 1.0;
    return mat3_outer(unit, element_gradient(t, j));
}

// Leaves column `axis` of the blocks (i, j), i < j, from the differential of the stress along `element_change`, or adds
// it to what is there.
fn element_general_tangent(t: u32, j: u32, axis: u32, stress: mat3x3f, adds: bool) {
    let scale = params.dt * element_reach(t);
    for (var i = 0u; i < j; i++) {
        let column = scale * (stress * element_gradient(t, i));
        let place = 3u * (ELEMENT_EDGES * t + j * (j - 1u) / 2u + i) + axis;
        edge_tangents[place] = vec4f(column, 0.0) + select(vec4f(), edge_tangents[place], adds);
    }
}
