// The model and the parameters of a step (`src/gpu/layout.rs`).
#import host/layout

// Index of a thread of a kernel with one thread an item (`groups_for` in `src/gpu/kernel.rs`).
fn thread_index(id: vec3u) -> u32 {
    return id.y * GRID_ROW + id.x;
}

fn block_product(a: Block, v: vec3f) -> vec3f {
    return vec3f(dot(a.x.xyz, v), dot(a.y.xyz, v), dot(a.z.xyz, v));
}
