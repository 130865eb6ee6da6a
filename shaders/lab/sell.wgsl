// One thread a block row of SELL-32: y = A x, with partial sums of x.y. Does nothing once a solve is over. Twin:
// `lab::sparse::Sell`.
#import lib/lab.wgsl
#import lib/parity.wgsl

const LANES: u32 = 32u;

// Starts of the slices in steps, and their end; then the block row of each lane of each slice.
@group(0) @binding(2) var<storage, read> rows: array<u32>;
// One a step and lane.
@group(0) @binding(3) var<storage, read> columns: array<u32>;
// Nine a step, for each lane.
@group(0) @binding(4) var<storage, read> entries: array<f32>;
@group(0) @binding(5) var<storage, read> x: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn sell(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
    let lane = thread % LANES;
    let n = select(lab.n_slices, 0u, sums.controls[parity.now].done != 0u);
    var dot_product = 0.0;
    for (var slice = group.x * (WORKGROUP / LANES) + thread / LANES; slice < n; slice += lab.groups * (WORKGROUP / LANES)) {
        var product = vec3f();
        let end = rows[slice + 1u];
        for (var step = rows[slice]; step < end; step++) {
            let value = x[columns[step * LANES + lane]].xyz;
            let e = step * 9u * LANES + lane;
            product += vec3f(entries[e], entries[e + 3u * LANES], entries[e + 6u * LANES]) * value.x;
            product += vec3f(entries[e + LANES], entries[e + 4u * LANES], entries[e + 7u * LANES]) * value.y;
            product += vec3f(entries[e + 2u * LANES], entries[e + 5u * LANES], entries[e + 8u * LANES]) * value.z;
        }
        let row = rows[lab.n_slices + 1u + slice * LANES + lane];
        if row < lab.n_rows {
            y[row] = vec4f(product, 0.0);
            dot_product += dot(x[lab.first_row + row].xyz, product);
        }
    }
    let sum = reduce_group(thread, vec4f(dot_product, 0.0, 0.0, 0.0));
    // A product by itself may have more workgroups than a solve, and its sums are not asked for.
    if thread == 0u && group.x < MAX_ROW_GROUPS {
        lab_store(LAB_DOT, group.x, sum);
    }
}
