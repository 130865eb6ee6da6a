#import lib/params.wgsl
// Vectors over nodes of the elastic solve: p, s = A p, w = A u.
@group(0) @binding(7) var<storage, read_write> krylov: array<vec4f>;

const KRYLOV_P: u32 = 0u;
const KRYLOV_S: u32 = 1u;
const KRYLOV_W: u32 = 2u;

fn krylov_place(vector: u32, node: u32) -> u32 {
    return vector * params.n_nodes + node;
}
