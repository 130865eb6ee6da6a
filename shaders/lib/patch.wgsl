// Elements of several tets: cells, then tets of ten nodes. Their points share one volume change, the mean. Formulas and
// sources: `element::Patch`, `elastic::patches`.
#import lib/params.wgsl
#import lib/point.wgsl

@group(0) @binding(1) var<storage, read> patches: array<Patch>;
// Of each point of a patch the shape gradients of its nodes [1/m], each with the volume of the point [m^3].
@group(0) @binding(2) var<storage, read> patch_gradients: array<vec4f>;

// One of the points, corners or edges of a patch.
struct PatchItem {
    patch_index: u32, // NONE beyond the last
    item: u32,
}

// How the mean volume change answers.
struct PatchVolume {
    pressure: f32, // as predicted [J/m^3]
    stiffness: f32, // U'' / V [J/m^6]
}

// Item k of those of all patches.
fn patch_item(k: u32, of_cell: u32, of_tet10: u32) -> PatchItem {
    let in_cells = of_cell * params.n_cells;
    if k < in_cells {
        return PatchItem(k / of_cell, k % of_cell);
    }
    let rest = k - in_cells;
    let place = params.n_cells + rest / of_tet10;
    return PatchItem(select(NONE, place, rest < of_tet10 * params.n_tets10), rest % of_tet10);
}

fn patch_gradient(p: Patch, point: u32, corner: u32) -> vec4f {
    return patch_gradients[p.first_gradient + point * p.n_nodes + corner];
}

// Slope and curvature of U at the mean volume change. Twin: `ConstitutiveModel::volume_energy`.
fn patch_volume_energy(p: Patch, change: f32) -> vec2f {
    if p.model != MODEL_NEO_HOOKEAN && p.model != MODEL_MOONEY_RIVLIN {
        return vec2f(p.lambda * change, p.lambda);
    }
    let least = select(MOONEY_RIVLIN_LEAST_J, NEO_HOOKEAN_LEAST_J, p.model == MODEL_NEO_HOOKEAN);
    let inside = max(change, least - 1.0);
    let j = 1.0 + inside;
    // ln(1 + x), exact for small x.
    let log_j = select(log(j) * (inside / (j - 1.0)), inside, j == 1.0);
    let curvature = p.lambda * (1.0 - log_j) / (j * j);
    return vec2f(p.lambda * log_j / j + (change - inside) * curvature, max(curvature, 0.0));
}

fn patch_volume(p: Patch) -> PatchVolume {
    var change = 0.0;
    var rate = 0.0;
    for (var k = 0u; k < p.n_points; k++) {
        let volume = patch_gradient(p, k, 0u).w;
        let found = edge_tangents[point_place(p.first_tet + k) + 12u];
        change += volume * found.x;
        rate += volume * found.y;
    }
    let energy = patch_volume_energy(p, change / p.volume);
    return PatchVolume(energy.x + (params.dt + p.stiffness_damping) * energy.y * (rate / p.volume), energy.y / p.volume);
}
