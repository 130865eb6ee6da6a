// One thread a leaf: the leaves that its features may touch, their number first; if there are more than its places,
// features search for themselves. Twin: `geometry::bvh::Bvh::visit`, of nodes.
#import lib/model.wgsl
#import lib/search.wgsl
#import host/search_tables

@group(0) @binding(1) var<storage, read> search_words: array<u32>;
@group(0) @binding(2) var<storage, read> search_bodies: array<SearchBody>;
@group(0) @binding(5) var<storage, read> search_blocks: array<Sweep>;
@group(0) @binding(6) var<storage, read_write> search_counts: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn partners(@builtin(global_invocation_id) id: vec3u) {
    let leaf = thread_index(id);
    if leaf >= search_data.n_leaves {
        return;
    }
    let body = search_leaf(leaf).body;
    let own = search_bodies[body];
    let moves = (own.flags & SEARCH_MOVES) != 0u;
    let meets_itself = (own.flags & SEARCH_MEETS_ITSELF) != 0u;
    let sweep = search_blocks[leaf];
    let place = search_data.partners + (SEARCH_PARTNERS + 1u) * leaf;
    var found = 0u;
    var level = search_data.n_levels;
    var index = 0u;
    while index < search_data.levels[level].count && found <= SEARCH_PARTNERS {
        let first = index << (3u * level);
        let end = (index + 1u) << (3u * level);
        let is_own = first >= own.first_leaf && end <= own.end_leaf && !meets_itself;
        if !is_own && sweeps_may_meet(sweep, search_blocks[search_data.levels[level].first + index]) {
            if level > 0u {
                level -= 1u;
                index *= SEARCH_FAN;
                continue;
            }
            let other = search_leaf(index).body;
            if moves || (search_bodies[other].flags & SEARCH_MOVES) != 0u {
                if found < SEARCH_PARTNERS {
                    search_counts[place + 1u + found] = index;
                }
                found += 1u;
            }
        }
        index += 1u;
        while level < search_data.n_levels && index % SEARCH_FAN == 0u {
            index /= SEARCH_FAN;
            level += 1u;
        }
    }
    search_counts[place] = found;
}
