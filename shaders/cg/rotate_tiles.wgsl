// One thread a tile: its rotation from the rest pose, by the mean of those of some of its tets. Twin:
// `elastic::Aggregates::rotation`.
#import lib/tiles.wgsl

@group(0) @binding(3) var<storage, read> rotations: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn rotate_tiles(@builtin(global_invocation_id) id: vec3u) {
    let t = thread_index(id);
    if t >= params.n_tiles {
        return;
    }
    var sum = vec4f();
    for (var k = 0u; k < TILE_SAMPLES; k++) {
        let tet = tile_sample(TILE_SAMPLES * t + k);
        if tet == NONE {
            break;
        }
        let q = rotations[tet];
        // R has the two signs of its quaternion.
        sum += select(q, -q, dot(q, sum) < 0.0);
    }
    reductions.sums[tile_place(TILE_ROTATION, t)] = select(normalize(sum), vec4f(0.0, 0.0, 0.0, 1.0), dot(sum, sum) == 0.0);
}
