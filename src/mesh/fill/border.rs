//! Chooses which of the grid cells that a closed surface touches stay, so that the cells have the body's volume, in
//! every place about as much of it as the body has there, and are connected as all touched cells are.

/// Cells of which more than this part is inside stay.
const FULL_SHARE: f64 = 0.9;

/// A cell goes only if the 27 cells around it hold more volume than the body has there, by this many halves of a cell
/// at least. Passes go from the largest excess to the smallest until the volume is met, which spreads the removed cells
/// evenly. The last excess bounds how much thick parts give up for thin parts that are too full.
const EXCESSES: std::ops::RangeInclusive<i32> = -4..=20;

/// Takes touched cells away, the emptiest first, until as many are left as have the `volume`, which is counted in
/// cells. `shares` gives the part of each cell that is inside. Pieces, holes and cavities stay as they are, and each
/// cell that goes leaves a neighbour, across a corner at least: the tip of a thin limb is at most a cell away from the
/// cells that stay.
pub(super) fn trim(kept: &mut [bool], touched: &[bool], shares: &[f64], volume: f64, cells: [usize; 3]) {
    let grid = Cells { cells };
    let mut order: Vec<usize> = (0..kept.len()).filter(|&slot| kept[slot] && touched[slot] && shares[slot] < FULL_SHARE).collect();
    // The sort is stable: cells of equal shares keep the order of their slots.
    order.sort_by(|&a, &b| shares[a].total_cmp(&shares[b]));
    let mut count = kept.iter().filter(|kept| **kept).count();
    for excess in EXCESSES.rev() {
        for &slot in &order {
            if count as f64 - 0.5 <= volume {
                return;
            }
            if kept[slot] && grid.may_go(slot, 0.5 * f64::from(excess), kept, touched, shares) {
                kept[slot] = false;
                count -= 1;
            }
        }
    }
}

struct Cells {
    cells: [usize; 3],
}

impl Cells {
    /// Whether a touched cell may go: see [`EXCESSES`], [`is_simple`] and [`trim`].
    fn may_go(&self, slot: usize, excess: f64, kept: &[bool], touched: &[bool], shares: &[f64]) -> bool {
        let (mut around, mut more) = (0, 0.0);
        self.each_around(slot, |place, other| {
            around |= u32::from(kept[other]) << place;
            more += f64::from(u8::from(kept[other])) - shares[other];
        });
        if more < excess || !is_simple(around) {
            return false;
        }
        let mut is_needed = false;
        self.each_around(slot, |_, other| {
            if touched[other] && !kept[other] {
                let mut left = 0;
                self.each_around(other, |_, beside| left += usize::from(kept[beside] && beside != slot));
                is_needed |= left == 0;
            }
        });
        !is_needed
    }

    /// Calls `each` for a cell and its neighbours with their places (as in [`is_simple`]) and slots.
    fn each_around(&self, slot: usize, mut each: impl FnMut(usize, usize)) {
        let [nx, ny, nz] = self.cells;
        let [i, j, k] = [slot % nx, slot / nx % ny, slot / nx / ny];
        // Beyond the lower end the index wraps around to a large number.
        let reach = |at: usize, n: usize| (0..3).filter_map(move |d| Some((d, (at + d).wrapping_sub(1))).filter(|(_, at)| *at < n));
        for (dk, k) in reach(k, nz) {
            for (dj, j) in reach(j, ny) {
                for (di, i) in reach(i, nx) {
                    each((dk * 3 + dj) * 3 + di, (k * ny + j) * nx + i);
                }
            }
        }
    }
}

const CENTER: usize = 13;
/// Bits of the places that share a face with the centre; that share a face or an edge; that share at least a corner.
const BESIDE_FACE: u32 = places(CENTER, 1);
const BESIDE_EDGE: u32 = places(CENTER, 2);
const AROUND: u32 = places(CENTER, 3);
/// For each place, bits of the places that share a face with it; that share at least a corner.
const FACE_NEIGHBOURS: [u32; 27] = neighbours(1);
const NEIGHBOURS: [u32; 27] = neighbours(3);

/// Bits of the places that differ from place `of` by one, along at most `axes` axes.
const fn places(of: usize, axes: usize) -> u32 {
    let (mut bits, mut place) = (0, 0usize);
    while place < 27 {
        let apart = [(place % 3).abs_diff(of % 3), (place / 3 % 3).abs_diff(of / 3 % 3), (place / 9).abs_diff(of / 9)];
        let is_near = apart[0] < 2 && apart[1] < 2 && apart[2] < 2;
        if is_near && place != of && apart[0] + apart[1] + apart[2] <= axes {
            bits |= 1 << place;
        }
        place += 1;
    }
    bits
}

const fn neighbours(axes: usize) -> [u32; 27] {
    let (mut all, mut place) = ([0; 27], 0usize);
    while place < 27 {
        all[place] = places(place, axes);
        place += 1;
    }
    all
}

/// Whether the middle of 27 cells can go without changing the number of pieces, of holes through them and of cavities:
/// the cells left around it are connected through faces, and the empty cells through corners at least [Bertrand &
/// Malandain 1994]. Bit `(z * 3 + y) * 3 + x` says that a cell is there.
fn is_simple(cells: u32) -> bool {
    let (left, empty) = (cells & BESIDE_EDGE, !cells & AROUND);
    let beside = left & BESIDE_FACE;
    beside != 0
        && empty != 0
        && beside & !connected(beside & beside.wrapping_neg(), left, &FACE_NEIGHBOURS) == 0
        && empty & !connected(empty & empty.wrapping_neg(), empty, &NEIGHBOURS) == 0
}

/// The cells among `within` that are connected to `seed`.
fn connected(seed: u32, within: u32, neighbours: &[u32; 27]) -> u32 {
    let (mut found, mut new) = (seed, seed);
    while new != 0 {
        let place = new.trailing_zeros() as usize;
        let reached = neighbours[place] & within & !found;
        found |= reached;
        new = (new & !(1 << place)) | reached;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells of a row of letters a slice: `x` is there.
    fn cells(slices: [&str; 3]) -> u32 {
        let all = slices.concat().replace(' ', "");
        assert_eq!(all.len(), 27);
        (0..27).map(|place| u32::from(all.as_bytes()[place] == b'x') << place).sum()
    }

    #[test]
    fn what_connects_or_closes_is_not_simple() {
        let (full, none) = ("xxx xxx xxx", "... ... ...");
        for (name, slices, simple) in [
            ("a flat face", [full, full, none], true),
            ("a bump on it", [full, "... .x. ...", none], true),
            ("the end of a bar", [none, "... xx. ...", none], true),
            ("a bar", [none, "... xxx ...", none], false),
            ("a sheet", [none, full, none], false),
            ("its border", [none, "xx. xx. xx.", none], true),
            ("inside", [full, full, full], false),
            ("two that share an edge", [none, "... .x. x..", none], false),
            ("a wall between two holes", ["... ... ...", "xxx .x. xxx", none], false),
            ("alone", [none, "... .x. ...", none], false),
        ] {
            assert_eq!(is_simple(cells(slices)), simple, "{name}");
        }
    }

    #[test]
    fn what_is_too_much_goes_and_a_thin_limb_stays() {
        // A block of 6 x 6 x 6 cells with a layer around it that is filled to 0.3, and a limb of one cell, filled to
        // 0.2, along x.
        let size = [20, 8, 8];
        let slot = |i: usize, j: usize, k: usize| (k * 8 + j) * 20 + i;
        let (mut kept, mut touched, mut shares) = (vec![false; 1280], vec![false; 1280], vec![0.0; 1280]);
        for (i, j, k) in (0..8).flat_map(|i| (0..64).map(move |jk| (i, jk % 8, jk / 8))) {
            let out = [i, j, k].iter().filter(|&&x| x == 0 || x == 7).count() as i32;
            (kept[slot(i, j, k)], touched[slot(i, j, k)], shares[slot(i, j, k)]) = (true, out > 0, 0.3f64.powi(out));
        }
        for i in 8..20 {
            (kept[slot(i, 4, 4)], touched[slot(i, 4, 4)], shares[slot(i, 4, 4)]) = (true, true, 0.2);
        }
        let volume: f64 = shares.iter().sum();
        trim(&mut kept, &touched, &shares, volume, size);
        let count = kept.iter().filter(|kept| **kept).count() as f64;
        assert!((count - volume).abs() <= 0.5, "{count} {volume}");
        assert!((8..19).all(|i| kept[slot(i, 4, 4)]), "the limb loses its last cell at most");
        assert!((0..1280).all(|slot| touched[slot] || kept[slot] == (shares[slot] == 1.0)), "what is inside stays");
        // On every face about as much as the body has there, which is 10.8: half as much or more, and one and a half
        // times as much or less.
        for (name, on) in [("x", 0), ("y", 1), ("z", 2)] {
            let face = |end: usize| {
                let at = |a: usize, b: usize| [[end, a, b], [a, end, b], [a, b, end]][on];
                (1..7).flat_map(|a| (1..7).map(move |b| at(a, b))).filter(|&[i, j, k]| kept[slot(i, j, k)]).count()
            };
            println!("{name}: {} {}", face(0), face(7));
            assert!([0, 7].iter().all(|&end| (5..=16).contains(&face(end))), "{name}: {} {}", face(0), face(7));
        }
    }
}
