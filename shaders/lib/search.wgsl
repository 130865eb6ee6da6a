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

// Around where points start and end, in single precision, rounded outwards by the host; comparing and choosing are exact.
struct Sweep {
    lo: vec4f, // of blocks, w: 1 if there is something immovable in it
    hi: vec4f,
    end_lo: vec4f,
    end_hi: vec4f,
}

const LARGEST: vec4f = vec4f(3e38, 3e38, 3e38, 0.0);
const SWEEP_EMPTY: Sweep = Sweep(LARGEST, -LARGEST, LARGEST, -LARGEST);

fn sweep_union(a: Sweep, b: Sweep) -> Sweep {
    let lo = vec4f(min(a.lo.xyz, b.lo.xyz), max(a.lo.w, b.lo.w));
    return Sweep(lo, max(a.hi, b.hi), min(a.end_lo, b.end_lo), max(a.end_hi, b.end_hi));
}

// Twin: `geometry::bvh::Sweep::may_meet`.
fn sweeps_may_meet(a: Sweep, b: Sweep) -> bool {
    let below = (a.hi.xyz < b.lo.xyz) & (a.end_hi.xyz < b.end_lo.xyz);
    let above = (b.hi.xyz < a.lo.xyz) & (b.end_hi.xyz < a.end_lo.xyz);
    return !any(below | above);
}
