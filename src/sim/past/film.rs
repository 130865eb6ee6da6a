//! Pictures of successive steps, packed: rounded to whole numbers, foretold from the two pictures before, and what is
//! left of that deflated. Groups begin anew, so that no picture needs more than a group to be read.

use std::io::{Read, Write};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use super::picture::{Counts, Details, Picture, Restored, Rounding, Settings};

/// Pictures of a group. Reading one unpacks half a group on average, and only the first is packed by itself.
const GROUP: usize = 16;

/// Pictures in the order of their steps, no longer those of every step once they were thinned.
#[derive(Clone, Debug)]
pub struct Film {
    rounding: Rounding,
    counts: Counts,
    groups: Vec<Group>,
    /// Numbers of the last two pictures of the last group, the newest first.
    before: [Vec<i64>; 2],
    bytes: usize,
}

/// Pictures of which each needs the ones before it.
#[derive(Clone, Debug)]
struct Group {
    frames: Vec<Frame>,
    /// Numbers of each: what tets remember is more or less once the law of a material was changed.
    n_numbers: usize,
    /// When its first picture was recorded, in pictures of the whole past.
    recorded: u64,
}

#[derive(Clone, Debug)]
struct Frame {
    step: u64,
    time: f64,
    packed: Box<[u8]>,
    details: Arc<Details>,
}

/// Two groups that can become one, and how much sooner than others they should: the least first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thinnable {
    pub group: usize,
    pub order: f64,
}

impl Film {
    /// Of pictures with so many nodes, rigid bodies and obstacles.
    pub fn new(rounding: Rounding, counts: Counts) -> Self {
        Self { rounding, counts, groups: vec![], before: [vec![], vec![]], bytes: 0 }
    }

    /// Memory that the pictures take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Steps and times [s] of the pictures that are kept, ascending.
    pub fn places(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        self.groups.iter().flat_map(|group| &group.frames).map(|frame| (frame.step, frame.time))
    }

    /// Adds the picture of a later step; `recorded` pictures were recorded before it.
    pub fn push(&mut self, picture: Picture, recorded: u64) {
        let numbers = self.rounding.numbers(&picture);
        let details = self.sharing(picture.details);
        if self.groups.last().is_none_or(|group| group.frames.len() >= GROUP || group.n_numbers != numbers.len()) {
            self.groups.push(Group { frames: vec![], n_numbers: numbers.len(), recorded });
        }
        let Some(group) = self.groups.last_mut() else { return };
        let packed = pack(&numbers, &self.before, group.frames.len());
        self.bytes += packed.len() + details.bytes() + size_of::<Frame>();
        group.frames.push(Frame { step: picture.step, time: picture.time, packed, details });
        self.before.swap(0, 1);
        self.before[0] = numbers;
    }

    /// The details with the settings of the picture before, where they are the same.
    fn sharing(&self, details: Arc<Details>) -> Arc<Details> {
        let last = self.groups.last().and_then(|group| group.frames.last()).map(|frame| &frame.details.settings);
        let same: Option<&Arc<Settings>> = last.filter(|last| **last == details.settings);
        match same {
            Some(same) => Arc::new(Details { settings: same.clone(), ..Arc::unwrap_or_clone(details) }),
            None => details,
        }
    }

    /// The picture of `step`, or of the last step before it that is kept.
    pub fn picture(&self, step: u64) -> Option<Picture> {
        let group = self.groups.partition_point(|group| group.frames[0].step <= step).checked_sub(1)?;
        let frames = &self.groups[group].frames;
        let place = frames.partition_point(|frame| frame.step <= step).checked_sub(1)?;
        let numbers = Unpacked::new(frames).nth(place)?;
        Some(self.picture_of(&frames[place], &numbers))
    }

    fn picture_of(&self, frame: &Frame, numbers: &[i64]) -> Picture {
        let Restored { positions, rigid_poses, obstacle_poses, rows } = self.rounding.restored(numbers, self.counts);
        Picture { step: frame.step, time: frame.time, positions, rigid_poses, obstacle_poses, rows, details: frame.details.clone() }
    }

    /// The two neighbouring groups that should be thinned first when `recorded` pictures were recorded: those with the
    /// shortest time between pictures for their age. The last group, which still grows, is left as it is.
    pub fn thinnable(&self, recorded: u64) -> Option<Thinnable> {
        let order = |pair: &[Group]| {
            let frames = pair.iter().flat_map(|group| &group.frames);
            let steps = pair[1].frames.last().zip(pair[0].frames.first()).map_or(0, |(last, first)| last.step - first.step);
            let age = (recorded - pair[0].recorded).max(1);
            steps as f64 / frames.count().max(1) as f64 / age as f64
        };
        let closed = &self.groups[..self.groups.len().saturating_sub(1)];
        let pairs = closed.windows(2).enumerate().filter(|(_, pair)| pair[0].n_numbers == pair[1].n_numbers);
        let pairs = pairs.map(|(group, pair)| Thinnable { group, order: order(pair) });
        pairs.min_by(|a, b| a.order.total_cmp(&b.order))
    }

    /// Makes one group of every other picture of two.
    pub fn thin(&mut self, Thinnable { group, .. }: Thinnable) {
        let bytes =
            |group: &Group| group.frames.iter().map(|frame| frame.packed.len() + frame.details.bytes() + size_of::<Frame>()).sum::<usize>();
        let Some([first, second]) = self.groups.get(group..group + 2) else { return };
        let before = bytes(first) + bytes(second);
        let mut thinned = Group { frames: vec![], n_numbers: first.n_numbers, recorded: first.recorded };
        let mut last = [vec![], vec![]];
        // Counted over both, so that the distances stay equal where a group is odd.
        let frames = [first, second].into_iter().flat_map(|group| group.frames.iter().zip(Unpacked::new(&group.frames)));
        for (frame, numbers) in frames.step_by(2) {
            let packed = pack(&numbers, &last, thinned.frames.len());
            thinned.frames.push(Frame { packed, ..frame.clone() });
            last.swap(0, 1);
            last[0] = numbers;
        }
        self.bytes = self.bytes + bytes(&thinned) - before;
        self.groups.splice(group..group + 2, [thinned]);
    }
}

/// The numbers of a group's pictures, one after the other; ends at one that is damaged.
struct Unpacked<'a> {
    frames: std::slice::Iter<'a, Frame>,
    before: [Vec<i64>; 2],
    place: usize,
}

impl<'a> Unpacked<'a> {
    fn new(frames: &'a [Frame]) -> Self {
        Self { frames: frames.iter(), before: [vec![], vec![]], place: 0 }
    }
}

impl Iterator for Unpacked<'_> {
    type Item = Vec<i64>;

    fn next(&mut self) -> Option<Vec<i64>> {
        let numbers = unpack(&self.frames.next()?.packed, &self.before, self.place)?;
        self.place += 1;
        self.before.swap(0, 1);
        self.before[0].clone_from(&numbers);
        Some(numbers)
    }
}

/// What the number at `i` will probably be in the picture at `place` of its group: `of` has the numbers before it,
/// `before` those of the pictures before. In the first picture neighbouring nodes are near one another.
fn foretold(of: &[i64], before: &[Vec<i64>; 2], place: usize, i: usize) -> i64 {
    match place {
        0 => i.checked_sub(3).map_or(0, |near| of[near]),
        1 => before[0][i],
        _ => before[0][i].wrapping_mul(2).wrapping_sub(before[1][i]),
    }
}

/// Small numbers of either sign become small ones without a sign, in as many bytes of seven bits as they need.
fn pack(numbers: &[i64], before: &[Vec<i64>; 2], place: usize) -> Box<[u8]> {
    let mut plain = Vec::with_capacity(2 * numbers.len() + 16);
    for (i, number) in numbers.iter().enumerate() {
        let rest = number.wrapping_sub(foretold(numbers, before, place, i));
        let mut left = ((rest << 1) ^ (rest >> 63)) as u64;
        while left >= 0x80 {
            plain.push(left as u8 | 0x80);
            left >>= 7;
        }
        plain.push(left as u8);
    }
    let mut packed = DeflateEncoder::new(Vec::with_capacity(plain.len() / 2), Compression::fast());
    // A Vec takes everything.
    packed.write_all(&plain).unwrap_or_default();
    packed.finish().unwrap_or_default().into_boxed_slice()
}

/// None if the bytes are not those of a picture that follows `before`.
fn unpack(packed: &[u8], before: &[Vec<i64>; 2], place: usize) -> Option<Vec<i64>> {
    let mut plain = vec![];
    DeflateDecoder::new(packed).read_to_end(&mut plain).ok()?;
    let mut numbers: Vec<i64> = Vec::with_capacity(plain.len());
    let (mut bits, mut shift) = (0u64, 0);
    for byte in plain {
        bits |= u64::from(byte & 0x7f).checked_shl(shift)?;
        shift += 7;
        if byte & 0x80 == 0 {
            let i = numbers.len();
            if place > 0 && i >= before[0].len() {
                return None;
            }
            let rest = (bits >> 1) as i64 ^ -((bits & 1) as i64);
            numbers.push(rest.wrapping_add(foretold(&numbers, before, place, i)));
            (bits, shift) = (0, 0);
        }
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Isometry, Quat, Vec3};

    const N_NODES: usize = 40;

    fn rounding() -> Rounding {
        let tets = crate::mesh::shapes::box_tets(Vec3::repeat(0.1), [1, 1, 1]);
        let mut builder = crate::model::ModelBuilder::default();
        builder.soft_body(crate::model::SoftBody::with_boundary_surface("cube", crate::material::Material::default(), tets));
        Rounding::of(&builder.build().unwrap())
    }

    /// A wave that runs through a line of nodes, and a body that turns.
    fn picture(step: u64) -> Picture {
        let time = step as f64 * 0.01;
        let node = |k: usize| Vec3::new(0.01 * k as f64, 0.05 * (7.0 * time + 0.3 * k as f64).sin(), -1.0 / 3.0);
        let pose = |s: f64| Isometry::from_parts(Vec3::new(s, -s * time, 1e3).into(), Quat::from_scaled_axis(Vec3::y() * time * s));
        Picture {
            step,
            time,
            positions: (0..N_NODES).map(node).collect(),
            rigid_poses: vec![pose(1.0), pose(2.0)],
            obstacle_poses: vec![pose(3.0)],
            rows: vec![],
            details: Arc::default(),
        }
    }

    const COUNTS: Counts = Counts { nodes: N_NODES, rigid: 2, obstacles: 1 };

    fn film(n: u64) -> Film {
        let mut film = Film::new(rounding(), COUNTS);
        (0..n).for_each(|step| film.push(picture(step), step));
        film
    }

    fn error(a: &Picture, b: &Picture) -> f64 {
        let of_nodes = a.positions.iter().zip(&b.positions).map(|(a, b)| (a - b).amax());
        let poses = |p: &Picture| [&p.rigid_poses[..], &p.obstacle_poses].concat();
        let of_poses = poses(a).into_iter().zip(poses(b)).map(|(a, b)| {
            let turned = (a.rotation.coords - b.rotation.coords).amax();
            (a.translation.vector - b.translation.vector).amax().max(0.05 * turned)
        });
        assert_eq!((a.positions.len(), a.rigid_poses.len(), a.obstacle_poses.len()), (N_NODES, 2, 1));
        of_nodes.chain(of_poses).fold(0.0, f64::max)
    }

    #[test]
    fn pictures_come_back_rounded_and_small() {
        let n = 3 * GROUP as u64 + 5;
        let film = film(n);
        let quantum = film.rounding.quantum();
        assert!((2.4e-8..=5e-8).contains(&quantum), "{quantum}");
        for step in (0..n).rev() {
            let back = film.picture(step).unwrap();
            assert_eq!((back.step, back.time), (step, picture(step).time));
            assert!(error(&back, &picture(step)) <= 0.5001 * quantum, "step {step}: {}", error(&back, &picture(step)));
            assert!(error(&back, &picture(step + 1)) > 100.0 * quantum, "the next one is another picture");
        }
        assert_eq!(film.picture(n + 7).unwrap().step, n - 1);
        assert!(film.places().map(|(step, _)| step).eq(0..n));
        let packed: usize = film.groups.iter().flat_map(|group| &group.frames).map(|frame| frame.packed.len()).sum();
        assert!(packed < n as usize * N_NODES * 24 / 4, "{packed} bytes are not small");
    }

    #[test]
    fn numbers_of_any_size_survive() {
        let odd = [0, 1, -1, 63, -64, 64, i64::MAX, i64::MIN, i64::MIN + 1, 1 << 40, -(1 << 52)];
        let before = [odd.iter().rev().copied().collect::<Vec<_>>(), odd.to_vec()];
        for place in 0..3 {
            assert_eq!(unpack(&pack(&odd, &before, place), &before, place).as_deref(), Some(&odd[..]));
        }
        assert!(unpack(b"not deflated", &before, 1).is_none());
        let mut nowhere = picture(3);
        nowhere.positions[1] = Vec3::new(f64::NAN, f64::INFINITY, -1e300);
        let mut film = film(3);
        film.push(nowhere, 3);
        film.push(picture(4), 4);
        assert!(error(&film.picture(4).unwrap(), &picture(4)) <= film.rounding.quantum());
    }

    /// What flows is given another law and another one again: rows come and go with it, also once pictures are thinned.
    #[test]
    fn what_tets_remember_comes_back_however_much_it_is() {
        let with_rows = |step: u64| {
            let n = [0, 6, 4][(step / (4 * GROUP as u64) % 3) as usize];
            let row = |k: usize| [0.1, -0.02, 1e-3, 3.0].map(|x| x * (step as f64 + 0.3 * k as f64).sin());
            Picture { rows: (0..n).map(row).collect(), ..picture(step) }
        };
        let n = 12 * GROUP as u64 + 5;
        let mut film = Film::new(rounding(), COUNTS);
        (0..n).for_each(|step| film.push(with_rows(step), step));
        while let Some(pair) = film.thinnable(n) {
            film.thin(pair);
        }
        let steps: Vec<u64> = film.places().map(|(step, _)| step).collect();
        assert!(steps.len() < n as usize / 2, "{steps:?}");
        for step in steps {
            let (back, given) = (film.picture(step).unwrap(), with_rows(step));
            assert!(back.rows.len() == given.rows.len() && error(&back, &given) <= 0.5001 * film.rounding.quantum());
            let pairs = back.rows.iter().flatten().zip(given.rows.iter().flatten());
            assert!(pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) < 2e-7, "step {step}");
        }
    }

    /// Old pictures become fewer, new ones stay, and what is left is as exact as before.
    #[test]
    fn thinned_films_keep_their_first_and_their_new_pictures() {
        let n = 20 * GROUP as u64;
        let mut film = film(n);
        let (before, quantum) = (film.bytes(), film.rounding.quantum());
        while film.bytes() > before / 2 {
            let pair = film.thinnable(n).unwrap();
            film.thin(pair);
        }
        let counted: usize =
            film.groups.iter().flat_map(|g| &g.frames).map(|f| f.packed.len() + f.details.bytes() + size_of::<Frame>()).sum();
        assert_eq!(film.bytes(), counted);
        let steps: Vec<u64> = film.places().map(|(step, _)| step).collect();
        assert!(steps[0] == 0 && steps.windows(2).all(|pair| pair[0] < pair[1]));
        let gap = |place: usize| steps[place + 1] - steps[place];
        assert!(gap(0) >= 4 && gap(steps.len() - 2) == 1, "{steps:?}");
        for step in &steps {
            assert!(error(&film.picture(*step).unwrap(), &picture(*step)) <= 0.5001 * quantum);
        }
        // In between the last one before is shown.
        assert_eq!(film.picture(steps[1] - 1).unwrap().step, 0);
    }
}
