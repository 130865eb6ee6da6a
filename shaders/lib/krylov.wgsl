// Vectors over nodes of the elastic solve.
#import lib/params.wgsl
#import host/elastic

@group(0) @binding(7) var<storage, read_write> krylov: array<vec4f>;

fn krylov_place(vector: u32, node: u32) -> u32 {
    return vector * params.n_nodes + node;
}
