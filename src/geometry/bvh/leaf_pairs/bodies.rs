//! The common rigid motion of the leaves of a body, and how far each of them has strayed from it: what stays near the
//! motion of the body stays as far from all else that does so as it was.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::super::sweep::Sweep;
use super::frames::{BOX_ROUNDING, Leaf};
use crate::geometry::mesh::Mesh;
use crate::math::{Mat3, Quat, Vec3};

/// A body that may meet itself, with the rigid motion that comes near to its motion since its reference.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub leaves: Range<usize>,
    /// Leaves whose features were further from each other at the reference than this [m] are no pair.
    near: f64,
    is_followed: bool,
    rotation: Quat,
    /// The same as a matrix.
    matrix: Mat3,
    /// Means of one vertex of each leaf at the reference and now, and their motion in the step [m].
    from: Vec3,
    to: Vec3,
    motion: Vec3,
    /// Searches since the last reference, and how many there are at least from one to the next.
    age: u32,
    min_age: u32,
}

/// How far vertices may come nearer to others of their body.
#[derive(Clone, Copy, Debug, Default)]
struct Stray {
    /// By their present place: how far it is from where the body takes the reference [m].
    now: f64,
    /// By the step: how far its end may be from that of the mean motion of the body, with the rounding of boxes [m].
    in_step: f64,
}

/// Whether a leaf is where its body takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is not followed.
    Idle,
    /// As far as is needed for the pairs that were apart to stay so.
    Quiet,
    /// Its pairs have to be looked at.
    Strayed,
    /// Leaves that are no pair with it may come near, too.
    Lost,
}

/// Leaves of all bodies as parts of their bodies.
#[derive(Clone, Debug, Default)]
pub(super) struct Bodies {
    pub list: Vec<Body>,
    /// All vertices at the references of their bodies [m].
    reference: Vec<Vec3>,
    vertices: Vec<Stray>,
    leaves: Vec<Stray>,
    pub standings: Vec<Standing>,
    /// How far each leaf may stray [m]: two leaves that have strayed less are apart.
    slack: Vec<f64>,
}

/// Vertices that one thread takes at a time, and leaves, at least.
const VERTICES: usize = 2048;
const LEAVES: usize = 256;
/// Searches from one reference of a body to the next, at first and at most.
const MIN_AGES: [u32; 2] = [8, 64];
/// A body takes a new reference if more than this part of its leaves would be nearer to it.
const MAX_STRAYED: f64 = 1.0 / 16.0;
/// Leaves that have strayed by less than this part of `near` would not gain by a new reference, and those not whose
/// motion in the step is more than the second part.
const WORTH: [f64; 2] = [0.02, 0.25];

impl Bodies {
    /// Of `leaves`, those of a body in a row; `of_body` says which it is.
    pub fn new(leaves: &[Leaf], n_bodies: usize, of_body: impl Fn(&Leaf) -> usize, x: &[Vec3]) -> Self {
        let empty = Body {
            leaves: 0..0,
            near: 0.0,
            is_followed: false,
            rotation: Quat::identity(),
            matrix: Mat3::identity(),
            from: Vec3::zeros(),
            to: Vec3::zeros(),
            motion: Vec3::zeros(),
            age: 0,
            min_age: MIN_AGES[0],
        };
        let mut list = vec![empty; n_bodies];
        for (k, leaf) in leaves.iter().enumerate() {
            let body = &mut list[of_body(leaf)];
            let first = if body.leaves.is_empty() { k } else { body.leaves.start };
            (body.leaves, body.near) = (first..k + 1, leaf.near);
        }
        for body in &mut list {
            body.from = mean(&leaves[body.leaves.clone()], x);
        }
        Self {
            list,
            reference: x.to_vec(),
            vertices: vec![Stray::default(); x.len()],
            leaves: vec![Stray::default(); leaves.len()],
            standings: vec![Standing::Idle; leaves.len()],
            slack: vec![f64::NEG_INFINITY; leaves.len()],
        }
    }

    /// Follows the bodies that are wanted to `x` [m] in a step with these sweeps. `vertices`: those of all leaves.
    pub fn follow(
        &mut self,
        mesh: &Mesh,
        (leaves, vertices): (&[Leaf], &[u32]),
        x: &[Vec3],
        sweeps: &[Sweep],
        is_wanted: &(impl Fn(u32) -> bool + Sync),
    ) {
        let reference = &self.reference;
        self.list.par_iter_mut().enumerate().for_each(|(b, body)| {
            body.is_followed = body.near > 0.0 && is_wanted(b as u32);
            if body.is_followed {
                body.fit(&leaves[body.leaves.clone()], reference, x, sweeps);
            }
        });
        let Self { list, reference, vertices: strays, .. } = self;
        let places = (x.par_chunks(VERTICES), reference.par_chunks(VERTICES));
        let others = (sweeps.par_chunks(VERTICES), mesh.body.par_chunks(VERTICES));
        (strays.par_chunks_mut(VERTICES), places, others).into_par_iter().for_each(|(strays, (x, reference), (sweeps, numbers))| {
            Arch::new().dispatch(FollowVertices { strays, bodies: list, x, reference, sweeps, numbers });
        });
        self.stand(mesh, (leaves, vertices), &|_| true);
    }

    /// Says how far the leaves that are meant have strayed, and whether they are where their bodies take them.
    /// `vertices`: those of all leaves.
    fn stand(&mut self, mesh: &Mesh, (leaves, vertices): (&[Leaf], &[u32]), is_meant: &(impl Fn(u32) -> bool + Sync)) {
        let Self { list, vertices: strays, leaves: of_leaves, standings, slack, .. } = self;
        let all = of_leaves.par_iter_mut().zip(standings).zip(&*slack).zip(leaves).enumerate().with_min_len(LEAVES);
        all.filter(|(k, _)| is_meant(*k as u32)).for_each(|(_, (((stray, standing), slack), leaf))| {
            let body = &list[mesh.body[leaf.corners[0] as usize] as usize];
            *standing = Standing::Idle;
            if body.is_followed {
                *stray = most(&vertices[leaf.vertices.clone()], strays);
                *standing = body.standing(stray, *slack);
            }
        });
    }

    /// As [`follow`](Self::follow), in the same step, of the vertices that are flagged as moved and of the leaves that
    /// have such.
    pub fn follow_moved(
        &mut self,
        mesh: &Mesh,
        (leaves, vertices): (&[Leaf], &[u32]),
        x: &[Vec3],
        sweeps: &[Sweep],
        moved: &[bool],
        has_moved: &(impl Fn(u32) -> bool + Sync),
    ) {
        for v in (0..moved.len()).filter(|v| moved[*v]) {
            let body = &self.list[mesh.body[v] as usize];
            if body.is_followed {
                self.vertices[v].in_step = body.stray_in_step(&x[v], &sweeps[v]);
            }
        }
        self.stand(mesh, (leaves, vertices), has_moved);
    }

    /// Bodies that should take a new reference.
    pub fn due(&mut self) -> Vec<usize> {
        let mut due = vec![];
        for (b, body) in self.list.iter_mut().enumerate().filter(|(_, body)| body.is_followed) {
            body.age = body.age.saturating_add(1);
            let would_gain = |k: &usize| {
                let Stray { now, in_step } = self.leaves[*k];
                self.standings[*k] != Standing::Quiet && now > WORTH[0] * body.near && in_step < WORTH[1] * body.near
            };
            if body.age >= body.min_age && body.leaves.clone().filter(would_gain).count() as f64 > MAX_STRAYED * body.leaves.len() as f64 {
                body.min_age = if body.age < 2 * body.min_age { (2 * body.min_age).min(MIN_AGES[1]) } else { MIN_AGES[0] };
                due.push(b);
            }
        }
        due
    }

    /// Makes `x` [m] the reference of a body.
    pub fn renew(&mut self, mesh: &Mesh, leaves: &[Leaf], number: usize, x: &[Vec3]) {
        let body = &mut self.list[number];
        (body.rotation, body.matrix, body.age) = (Quat::identity(), Mat3::identity(), 0);
        body.from = mean(&leaves[body.leaves.clone()], x);
        body.to = body.from;
        let of_body = self.reference.iter_mut().zip(x).zip(&mesh.body).filter(|(_, body)| **body as usize == number);
        of_body.for_each(|((reference, x), _)| *reference = *x);
        for k in body.leaves.clone() {
            (self.leaves[k].now, self.slack[k]) = (0.0, f64::NEG_INFINITY);
        }
        for k in self.list[number].leaves.clone() {
            self.standings[k] = self.list[number].standing(&self.leaves[k], self.slack[k]);
        }
    }

    /// Bounds how far leaves may stray: of the pairs of each that were looked at the nearest are apart by what
    /// `spare_of` says [m]. If `are_all` were looked at of the leaves that are not quiet, other bounds do not count.
    pub fn bound_slack(&mut self, leaves: &[Leaf], are_all: bool, spare_of: impl Fn(usize) -> f64 + Sync) {
        let Self { slack, standings, leaves: strays, .. } = self;
        let all = slack.par_iter_mut().zip(standings).zip(strays).zip(leaves).enumerate().with_min_len(LEAVES);
        all.for_each(|(k, (((slack, standing), stray), leaf))| {
            if *standing == Standing::Idle {
                return;
            }
            if are_all && *standing != Standing::Quiet {
                *slack = 0.5 * leaf.near;
            }
            // Two leaves come nearer by what both stray.
            *slack = slack.min(0.5 * spare_of(k) - stray.now);
        });
    }
}

/// The most that the vertices of a leaf have strayed, by the `strays` of all.
fn most(vertices: &[u32], strays: &[Stray]) -> Stray {
    // What is not finite is the most.
    let worse = |a: f64, b: f64| if b <= a { a } else { b };
    vertices
        .iter()
        .map(|v| strays[*v as usize])
        .fold(Stray::default(), |all, one| Stray { now: worse(all.now, one.now), in_step: worse(all.in_step, one.in_step) })
}

/// How far vertices have strayed from their bodies, with the widest registers.
struct FollowVertices<'a> {
    strays: &'a mut [Stray],
    bodies: &'a [Body],
    x: &'a [Vec3],
    reference: &'a [Vec3],
    sweeps: &'a [Sweep],
    /// Of the bodies of the vertices.
    numbers: &'a [u32],
}

impl WithSimd for FollowVertices<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { strays, bodies, x, reference, sweeps, numbers } = self;
        for ((((stray, x), reference), sweep), number) in strays.iter_mut().zip(x).zip(reference).zip(sweeps).zip(numbers) {
            let body = &bodies[*number as usize];
            if body.is_followed {
                let now = (x - body.to - body.matrix * (reference - body.from)).norm();
                *stray = Stray { now, in_step: body.stray_in_step(x, sweep) };
            }
        }
    }
}

impl Body {
    fn standing(&self, stray: &Stray, slack: f64) -> Standing {
        let strayed = stray.now + stray.in_step;
        if strayed < slack {
            Standing::Quiet
        } else if strayed < 0.5 * self.near {
            Standing::Strayed
        } else {
            Standing::Lost
        }
    }

    /// [`Stray::in_step`] of a vertex that starts at `x` [m].
    #[inline(always)]
    fn stray_in_step(&self, x: &Vec3, sweep: &Sweep) -> f64 {
        let [low, high] = sweep.motion();
        (high - self.motion).sup(&(self.motion - low)).norm() + BOX_ROUNDING * x.amax()
    }

    /// Finds the rigid motion: the best one of one vertex of each leaf. Any other would do, less well.
    fn fit(&mut self, leaves: &[Leaf], reference: &[Vec3], x: &[Vec3], sweeps: &[Sweep]) {
        self.to = mean(leaves, x);
        let (mut spread, mut motion) = (Mat3::zeros(), Vec3::zeros());
        for v in leaves.iter().map(|leaf| leaf.corners[0] as usize) {
            spread += (x[v] - self.to) * (reference[v] - self.from).transpose();
            let [low, high] = sweeps[v].motion();
            motion += 0.5 * (low + high);
        }
        self.motion = motion / leaves.len() as f64;
        let size = spread.norm();
        if size > 0.0 && size.is_finite() {
            self.rotation = Quat::from_matrix_eps(&(spread / size), FIT_ACCURACY, FIT_STEPS, self.rotation);
            self.rotation.renormalize();
        }
        self.matrix = self.rotation.to_rotation_matrix().into_inner();
    }
}

/// Accuracy of a rotation [rad], and iterations of the search for it.
const FIT_ACCURACY: f64 = 1e-9;
const FIT_STEPS: usize = 8;

/// Mean of one vertex of each leaf [m].
fn mean(leaves: &[Leaf], x: &[Vec3]) -> Vec3 {
    leaves.iter().map(|leaf| x[leaf.corners[0] as usize]).sum::<Vec3>() / leaves.len().max(1) as f64
}
