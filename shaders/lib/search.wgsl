// The search for pairs of features whose boxes overlap (`src/gpu/detection/search.rs`). Features stand leaf by leaf; a block is around eight leaves, or eight blocks.

struct Search {
    n_vertices: u32,
    n_edges: u32,
    n_triangles: u32,
    n_leaves: u32,
    // Places in `search_words`: pairs (vertex, leaf), fours (edge, its vertices, leaf), (triangle, its vertices), (first vertex, edge, triangle, body) of each leaf.
    edges: u32,
    triangles: u32,
    leaves: u32,
    capacity: u32, // pairs that there is room for
    n_levels: u32, // of blocks; the leaves are level 0
    partners: u32, // their place in `search_counts`
    pad_0: u32,
    pad_1: u32,
    // First box of each level in `search_blocks`, and their number.
    levels: array<vec4u, SEARCH_LEVELS>,
}
@group(0) @binding(0) var<uniform> search_data: Search;

struct SearchBody {
    flags: u32,
    first_leaf: u32,
    end_leaf: u32,
    pad: u32,
}

const SEARCH_FAN: u32 = 8u;
// Bits of the flags of a body.
const BODY_MOVES: u32 = 1u;
const BODY_MEETS_ITSELF: u32 = 2u;

// In single precision, rounded outwards by the host; comparing and choosing are exact.
struct Box {
    lo: vec4f, // of blocks, w: 1 if there is something immovable in it
    hi: vec4f,
}

const BOX_EMPTY: Box = Box(vec4f(3e38, 3e38, 3e38, 0.0), vec4f(-3e38, -3e38, -3e38, 0.0));

fn box_union(a: Box, b: Box) -> Box {
    return Box(vec4f(min(a.lo.xyz, b.lo.xyz), max(a.lo.w, b.lo.w)), max(a.hi, b.hi));
}

fn box_overlaps(a: Box, b: Box) -> bool {
    return all(a.lo.xyz <= b.hi.xyz) && all(b.lo.xyz <= a.hi.xyz);
}
