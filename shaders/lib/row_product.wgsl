#import lib/tiles.wgsl
@group(0) @binding(3) var<storage, read> blocks: array<Block>;
@group(0) @binding(4) var<storage, read> grab_weights: array<vec4f>;
// What is multiplied.
@group(0) @binding(5) var<storage, read_write> x: array<vec4f>;

// What the springs of the grabs add to a row of A x.
fn grab_product(weights: vec4f) -> vec3f {
    var sum = vec3f();
    for (var k = 0u; k < params.n_grabs; k++) {
        if weights[k] != 0.0 {
            var value = vec3f();
            for (var j = 0u; j < 12u; j++) {
                value += params.grabs[k].weights[j / 4u][j % 4u] * x[params.grabs[k].nodes[j / 4u][j % 4u]].xyz;
            }
            sum += params.grabs[k].factor * weights[k] * value;
        }
    }
    return sum;
}

// Row i of A x.
fn row_product(i: u32) -> vec3f {
    var product = vec3f();
    let end = row_start(i + 1u);
    for (var b = row_start(i); b < end; b++) {
        product += block_product(blocks[b], x[block_column(b)].xyz);
    }
    if params.n_grabs > 0u {
        product += grab_product(grab_weights[i]);
    }
    return product;
}
