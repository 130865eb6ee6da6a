// One thread a block of a level: the box around its boxes of the level below. Boxes come out the same in any order.
#import lib/model.wgsl
#import lib/search.wgsl

// The level, and padding.
@group(0) @binding(1) var<uniform> level: vec4u;
@group(0) @binding(2) var<storage, read_write> search_blocks: array<Sweep>;

@compute @workgroup_size(WORKGROUP)
fn blocks(@builtin(global_invocation_id) id: vec3u) {
    let k = thread_index(id);
    let here = search_data.levels[level.x];
    let below = search_data.levels[level.x - 1u];
    if k >= here.count {
        return;
    }
    var sweep = SWEEP_EMPTY;
    for (var j = SEARCH_FAN * k; j < min(SEARCH_FAN * (k + 1u), below.count); j++) {
        sweep = sweep_union(sweep, search_blocks[below.first + j]);
    }
    search_blocks[here.first + k] = sweep;
}
