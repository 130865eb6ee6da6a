// One thread an entry of a block, in each step: y = A x in the thesis' three mappings, which differ in SLOTS alone.
// Twin: `lab::sparse::Grouped::multiply`.

override THREADS: u32 = 128u;
// N: blocks are N x N.
override SIDE: u32 = 2u;
// B_x: blocks of one block row in a step.
override SLOTS: u32 = 1u;

const MOST_THREADS: u32 = 256u;

// The number of thread blocks; then the first block of each, and the end.
@group(0) @binding(0) var<storage, read> starts: array<u32>;
@group(0) @binding(1) var<storage, read> columns: array<u32>;
@group(0) @binding(2) var<storage, read> values: array<f32>;
// Block row of each place of each thread block.
@group(0) @binding(3) var<storage, read> row_map: array<u32>;
@group(0) @binding(4) var<storage, read> x: array<f32>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;

var<workgroup> products: array<f32, MOST_THREADS>;

@compute @workgroup_size(THREADS)
fn grouped(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) thread: u32) {
    let area = SIDE * SIDE;
    let blocks = THREADS / area;
    let group = workgroup.y * (GRID_ROW / WORKGROUP) + workgroup.x;
    let exists = group < starts[0];
    let first = starts[1u + select(0u, group, exists)];
    let end = select(first, starts[2u + group], exists);
    var sum = 0.0;
    var entry = first * area + thread;
    for (var p = first + thread / area; p < end; p += blocks) {
        sum += values[entry] * x[columns[p] * SIDE + thread % SIDE];
        entry += THREADS;
    }
    products[thread] = sum;
    workgroupBarrier();
    let rows = blocks / SLOTS;
    if exists && thread < rows * SIDE {
        let q = thread / SIDE;
        let row = row_map[group * rows + q];
        if row != 0xffffffffu {
            var total = 0.0;
            for (var slot = q * SLOTS; slot < (q + 1u) * SLOTS; slot++) {
                let at = slot * area + (thread % SIDE) * SIDE;
                for (var c = 0u; c < SIDE; c++) {
                    total += products[at + c];
                }
            }
            y[row * SIDE + thread % SIDE] = total;
        }
    }
}
