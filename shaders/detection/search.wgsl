// One thread a vertex or an edge: how many features it may touch or, where EMITS says so, which. A vertex searches for
// triangles; two edges are found by the edge that comes first, or by the movable edge.
// Twin: `geometry::Bvh::query`, before it looks for planes between pairs.
#import lib/model.wgsl
#import lib/search.wgsl
#import host/search_tables

@group(0) @binding(1) var<storage, read> search_words: array<u32>;
@group(0) @binding(2) var<storage, read> search_bodies: array<SearchBody>;
@group(0) @binding(3) var<storage, read> vertex_sweeps: array<Sweep>;
@group(0) @binding(4) var<storage, read> feature_sweeps: array<Sweep>;
@group(0) @binding(5) var<storage, read> search_blocks: array<Sweep>;
// Of each thread, how many pairs it has; then, how many those before it in its group of the prefix sum have. Behind
// them the partners of the leaves.
@group(0) @binding(6) var<storage, read_write> search_counts: array<u32>;
// How many the groups before have.
@group(0) @binding(7) var<storage, read> search_sums: array<u32>;
@group(0) @binding(8) var<storage, read_write> search_pairs: array<vec2u>;

override EMITS: bool = false;

// Software adapters break off longer loops without a word.
const MAX_ROUNDS: u32 = 40000u;

@compute @workgroup_size(WORKGROUP)
fn search(@builtin(global_invocation_id) id: vec3u) {
    let k = thread_index(id);
    if k >= search_data.n_vertices + search_data.n_edges {
        return;
    }
    let is_edge = k >= search_data.n_vertices;
    let e = k - search_data.n_vertices;
    var item = 0u;
    var corners = vec2u();
    var leaf = 0u;
    var sweep: Sweep;
    if is_edge {
        let edge = search_edge(e);
        item = edge.edge;
        corners = edge.vertices;
        leaf = edge.leaf;
        sweep = feature_sweeps[e];
    } else {
        let vertex = search_vertex(k);
        item = vertex.vertex;
        corners = vec2u(item);
        leaf = vertex.leaf;
        sweep = vertex_sweeps[item];
    }
    let body = search_leaf(leaf).body;
    let own = search_bodies[body];
    let moves = (own.flags & SEARCH_MOVES) != 0u;
    let meets_itself = (own.flags & SEARCH_MEETS_ITSELF) != 0u;
    var place = 0u;
    if EMITS {
        place = search_counts[k] + search_sums[k / SEARCH_GROUP];
    }
    var found = 0u;
    var level = search_data.n_levels;
    var index = 0u;
    var rounds = 0u;
    let partners = search_data.partners + (SEARCH_PARTNERS + 1u) * leaf;
    let n_partners = search_counts[partners];
    let is_known = n_partners <= SEARCH_PARTNERS;
    if is_known {
        level = 0u;
    }
    while !(is_edge && !moves) {
        if is_known {
            if rounds == n_partners {
                break;
            }
            index = search_counts[partners + 1u + rounds];
        } else if index >= search_data.levels[level].count || rounds > MAX_ROUNDS {
            break;
        }
        rounds += 1u;
        let here = search_blocks[search_data.levels[level].first + index];
        let first = index << (3u * level);
        let end = (index + 1u) << (3u * level);
        let is_own = first >= own.first_leaf && end <= own.end_leaf && !meets_itself;
        if !is_own && (!is_edge || end > leaf || here.lo.w != 0.0) && sweeps_may_meet(sweep, here) {
            if level > 0u {
                level -= 1u;
                index *= SEARCH_FAN;
                continue;
            }
            let there = search_leaf(index);
            let after = search_leaf(index + 1u);
            let other_moves = (search_bodies[there.body].flags & SEARCH_MOVES) != 0u;
            if (moves || other_moves) && (body != there.body || meets_itself) {
                if is_edge {
                    var j = there.edge;
                    if index == leaf {
                        j = e + 1u;
                    } else if index < leaf && other_moves {
                        j = after.edge;
                    }
                    for (; j < after.edge; j++) {
                        let partner = search_edge(j);
                        let shares = any(partner.vertices == corners) || any(partner.vertices == corners.yx);
                        if !shares && sweeps_may_meet(sweep, feature_sweeps[j]) {
                            if EMITS && place + found < search_data.capacity {
                                search_pairs[place + found] = vec2u(min(item, partner.edge), max(item, partner.edge));
                            }
                            found += 1u;
                        }
                    }
                } else {
                    for (var j = there.triangle; j < after.triangle; j++) {
                        let partner = search_triangle(j);
                        let shares = any(partner.vertices == vec3u(item));
                        if !shares && sweeps_may_meet(sweep, feature_sweeps[search_data.n_edges + j]) {
                            if EMITS && place + found < search_data.capacity {
                                search_pairs[place + found] = vec2u(item, partner.triangle);
                            }
                            found += 1u;
                        }
                    }
                }
            }
        }
        index += 1u;
        while !is_known && level < search_data.n_levels && index % SEARCH_FAN == 0u {
            index /= SEARCH_FAN;
            level += 1u;
        }
    }
    if !EMITS {
        search_counts[k] = select(found, SEARCH_BROKEN, rounds > MAX_ROUNDS);
    }
}
