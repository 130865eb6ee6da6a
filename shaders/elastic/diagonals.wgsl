// One thread a row: its diagonal block from the others (rows of the stiffness sum to zero), and the inverse of it
// with the springs. Rows of fixed nodes become zero. Formula and source: `elastic::matrix`,
// `sparse::Operator::invert_diagonals`.
#import lib/params.wgsl
#import lib/mat3.wgsl
#import host/pattern

@group(0) @binding(1) var<storage, read> nodes: array<Node>;
@group(0) @binding(2) var<storage, read> pattern: array<u32>;
@group(0) @binding(3) var<storage, read> grab_weights: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> blocks: array<Block>;
// See `lib/preconditioner.wgsl`.
@group(0) @binding(5) var<storage, read_write> preconditioner: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn diagonals(@builtin(global_invocation_id) id: vec3u) {
    let i = thread_index(id);
    if i >= params.n_nodes {
        return;
    }
    let node = nodes[i];
    let mass = node.mass * (1.0 + params.dt * node.mass_damping);
    var x = vec3f(mass, 0.0, 0.0);
    var y = vec3f(0.0, mass, 0.0);
    var z = vec3f(0.0, 0.0, mass);
    var diagonal = row_start(i);
    for (var b = row_start(i); b < row_start(i + 1u); b++) {
        if block_column(b) == i {
            diagonal = b;
        } else if node.free == 0.0 {
            blocks[b] = Block();
        } else {
            x -= blocks[b].x.xyz;
            y -= blocks[b].y.xyz;
            z -= blocks[b].z.xyz;
        }
    }
    x *= node.free;
    y *= node.free;
    z *= node.free;
    blocks[diagonal] = Block(vec4f(x, 0.0), vec4f(y, 0.0), vec4f(z, 0.0));

    var spring = 0.0;
    for (var k = 0u; k < params.n_grabs; k++) {
        spring += params.grabs[k].factor * grab_weights[i][k] * grab_weights[i][k];
    }
    x.x += spring;
    y.y += spring;
    z.z += spring;
    // The block is symmetric: its rows serve as columns.
    let det = dot(x, cross(y, z));
    let scale = select(0.0, 1.0 / det, node.free != 0.0 && det > 0.0);
    let inverse = mat3_adjugate(mat3x3f(x, y, z)) * scale;
    preconditioner[3u * i] = vec4f(inverse[0], 0.0);
    preconditioner[3u * i + 1u] = vec4f(inverse[1], 0.0);
    preconditioner[3u * i + 2u] = vec4f(inverse[2], 0.0);
}
