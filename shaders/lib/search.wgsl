// The search for pairs of features whose boxes overlap (`src/gpu/detection/search.rs`). Features stand leaf by leaf;
// a block is around SEARCH_FAN leaves or blocks.
#import host/search

@group(0) @binding(0) var<uniform> search_data: Search;

// Around where points start and end, in single precision, rounded outwards by the host; comparing and choosing are
// exact.
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
