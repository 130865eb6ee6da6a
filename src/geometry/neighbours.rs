//! Things in an order in which neighbours in space stand beside each other.

use crate::math::{Aabb, Vec3};

/// Brings the nearer half of `items` (place and number) along the longest extent of their places to the front: where
/// the second half begins, after as many full groups of `size` as possible.
pub fn halve(items: &mut [(Vec3, u32)], size: usize) -> usize {
    let axis = Aabb::of(items.iter().map(|(x, _)| x)).extent().imax();
    let half = (items.len() / 2).next_multiple_of(size);
    items.select_nth_unstable_by(half, |a, b| a.0[axis].total_cmp(&b.0[axis]).then(a.1.cmp(&b.1)));
    half
}

/// Orders `items` so that each `size` of them, one after the other, are neighbours.
pub fn group(items: &mut [(Vec3, u32)], size: usize) {
    if items.len() > size {
        let half = halve(items, size);
        let (near, far) = items.split_at_mut(half);
        rayon::join(|| group(near, size), || group(far, size));
    }
}
