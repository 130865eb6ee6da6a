//! The facts of `elasticity.md` 5, 5.1 and 11.6, and of `materials-study.md` 4.

use super::*;
use crate::elastic::rotation::{self, IDENTITY};
use crate::material::{Constitutive, Deformation, Material};
use crate::math::lanes::Lanes;

const RULE: Degeneration = Degeneration { ratio: 0.2 };

/// Uniform in -1/2 to 1/2: xorshift64* [Vigna 2016].
struct Random(u64);

impl Random {
    fn number(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    }

    fn matrix(&mut self) -> Mat3 {
        Mat3::from_fn(|_, _| self.number())
    }
}

/// An element that is followed as the pass does it.
struct Followed {
    rest: Mat3,
    f: Mat3,
    pair: f64,
    q: [f64; 4],
}

impl Followed {
    fn at_rest(rest: Mat3) -> Self {
        Self { rest, f: Mat3::identity(), pair: 0.0, q: IDENTITY }
    }

    fn gradients(&self) -> [Vector<Scalar>; 3] {
        from_matrix(&self.rest.try_inverse().unwrap())
    }

    /// Goes on to another F; returns by how much the rotation has turned [degrees].
    fn go_to(&mut self, f: &Mat3) -> f64 {
        let simd = Scalar::new();
        let [from, to] = [self.f, *f].map(|f| from_matrix(&(f - Mat3::identity())));
        let q = rotation::follow(self.q.map(Lanes::from), &from_matrix(f));
        let pairs = RULE.advance(simd, &self.gradients(), &from, &to, [self.pair, 0.0, 0.0, 0.0].map(Lanes::from));
        let q = RULE.turn(simd, &self.gradients(), &to, pairs, q).map(f64::from);
        let turned = degrees(&self.q, &q);
        (self.f, self.q, self.pair) = (*f, q, pairs[0].into());
        turned
    }

    fn undegenerate(&self) -> Option<Mat3> {
        RULE.undegenerate(&self.rest, &self.f, number(self.pair)?)
    }
}

/// The angle between two rotations.
fn degrees(a: &[f64; 4], b: &[f64; 4]) -> f64 {
    let relative = rotation::matrix(a).transpose() * rotation::matrix(b);
    let axial = Vec3::new(relative[(2, 1)] - relative[(1, 2)], relative[(0, 2)] - relative[(2, 0)], relative[(1, 0)] - relative[(0, 1)]);
    (0.5 * axial.norm()).atan2(0.5 * (relative.trace() - 1.0)).to_degrees()
}

fn signed_polar(f: &Mat3) -> Mat3 {
    let Singular { left, right, .. } = Singular::<Scalar>::of(&from_matrix(f));
    to_matrix(&left).transpose() * to_matrix(&right)
}

/// A regular tet of edges of about 1 m, given as D_m.
fn tet(random: &mut Random) -> Mat3 {
    let rest = Mat3::new(1.0, 0.5, 0.5, 0.0, 0.75_f64.sqrt(), 0.75_f64.sqrt() / 3.0, 0.0, 0.0, (2.0_f64 / 3.0).sqrt());
    rest + random.matrix() * 0.2
}

#[test]
fn feature_a_of_each_pair_moves_along_the_normal_where_the_volume_grows() {
    let mut random = Random(7);
    for _ in 0..50 {
        let edges = random.matrix();
        let x = corners(&edges);
        for pair in &PAIRS {
            let height_times_area = (x[pair.a[0]] - x[pair.b[0]]).dot(&normal(&x, pair));
            assert!((height_times_area - edges.determinant()).abs() < 1e-12, "{:?} {:?}", pair.a, pair.b);
        }
    }
}

#[test]
fn a_collapse_turns_without_jumps_and_keeps_half_of_the_ratio() {
    let vertex_through_face = [Vec3::new(0.2, 0.3, 1.0), Vec3::zeros(), Vec3::x(), Vec3::y()];
    let edge_through_edge = [Vec3::new(-0.5, 0.1, 1.0), Vec3::new(0.5, -0.1, 1.0), Vec3::new(0.1, 0.5, 0.0), Vec3::new(-0.1, -0.5, 0.0)];
    for (x, moving) in [(vertex_through_face, 1), (edge_through_edge, 2)] {
        let edges = |x: &[Vec3; 4]| Mat3::from_columns(&[x[1] - x[0], x[2] - x[0], x[3] - x[0]]);
        // Turned over where it is left-handed.
        let right_handed = if edges(&x).determinant() > 0.0 { x } else { [x[0], x[1], x[3], x[2]] };
        let rest = edges(&right_handed);
        let mut element = Followed::at_rest(rest);
        let (mut largest, mut least) = (0.0_f64, f64::INFINITY);
        for step in 1..=6000 {
            let height = 1.0 - 3.0 * f64::from(step) / 6000.0;
            let mut now = right_handed;
            now.iter_mut().take(moving).for_each(|x| *x += Vec3::new(-0.1, 0.05, 1.0) * (height - 1.0));
            largest = largest.max(element.go_to(&(edges(&now) * rest.try_inverse().unwrap())));
            least = element.undegenerate().map_or(least, |f| least.min(f.determinant()));
        }
        println!("largest turn in a step {largest:.4} degrees, least det F_bar {least}");
        assert!(element.f.determinant() < -1.9 && largest < 0.02);
        assert!((least - 0.5 * RULE.ratio).abs() < 1e-12);
    }
}

/// Straight ways to tets that are turned inside out, and back.
#[test]
fn there_and_back_the_rotation_turns_by_less_than_two_degrees_a_step() {
    let mut random = Random(11);
    let (mut worst, mut worst_of_polar, mut paths) = (0.0_f64, 0.0_f64, 0);
    while paths < 28 {
        // Every other one passes near a place where two singular values are opposite.
        let near = Mat3::from_diagonal(&Vec3::new(1.0, 0.5, -1.0)) + random.matrix() * 0.05;
        let (rest, far) = (tet(&mut random), Mat3::identity() + random.matrix() * 3.0);
        let end = if paths % 2 == 0 { near } else { far };
        if end.determinant() > -0.1 {
            continue;
        }
        paths += 1;
        let mut element = Followed::at_rest(rest);
        let mut polar = IDENTITY;
        for step in 1..=1200 {
            let part = 1.0 - (f64::from(step) / 600.0 - 1.0).abs();
            let f = Mat3::identity() + (end - Mat3::identity()) * part;
            worst = worst.max(element.go_to(&f));
            let q = Quat::from_rotation_matrix(&nalgebra::Rotation3::from_matrix_unchecked(signed_polar(&f)));
            let q = [q.i, q.j, q.k, q.w];
            worst_of_polar = worst_of_polar.max(degrees(&polar, &q));
            polar = q;
        }
        assert!(degrees(&element.q, &IDENTITY) < 1e-6 && element.pair == 0.0, "back at rest");
    }
    println!("largest turn in a step {worst:.3} degrees; of signed singular values {worst_of_polar:.1}");
    assert!(worst < 2.0 && worst_of_polar > 60.0);
}

/// Loaded without a past, the volume drawn apart is never below half the ratio; needles have no direction.
#[test]
fn scrambles_are_drawn_apart() {
    let mut random = Random(3);
    let (mut degenerate, mut needles, mut least) = (0, 0, f64::INFINITY);
    for _ in 0..4000 {
        let (rest, f) = (tet(&mut random), random.matrix() * 3.0);
        if f.determinant() >= RULE.ratio {
            continue;
        }
        degenerate += 1;
        let pair = RULE.pair(&rest, &f, &f, 0.0);
        assert!((1.0..=7.0).contains(&pair));
        match RULE.undegenerate(&rest, &f, number(pair).unwrap()) {
            Some(shifted) => least = f64::min(least, shifted.determinant()),
            None => needles += 1,
        }
    }
    assert!(degenerate > 2000 && needles < degenerate / 100, "{needles} needles of {degenerate}");
    assert!(least > 0.5 * RULE.ratio - 1e-9, "{least}");
    // Mirrored and flattened ones are not needles, one that is a point is.
    let rest = tet(&mut random);
    for (f, is_needle) in [
        (Mat3::from_diagonal(&Vec3::new(1.0, 1.0, -1.0)), false),
        (Mat3::from_diagonal(&Vec3::new(1.0, 0.0, 1.0)), false),
        (Mat3::identity() * 1e-4, true),
    ] {
        let pair = RULE.pair(&rest, &f, &f, 0.0);
        assert_eq!(RULE.undegenerate(&rest, &f, number(pair).unwrap()).is_none(), is_needle, "{f}");
        assert!(RULE.rotation(&rest, &f, pair).unwrap().iter().all(|c| c.is_finite()));
    }
}

#[test]
fn above_the_ratio_nothing_changes() {
    let mut random = Random(5);
    for _ in 0..200 {
        let (rest, f) = (tet(&mut random), Mat3::identity() + random.matrix());
        if f.determinant() < RULE.ratio {
            continue;
        }
        let mut element = Followed { pair: 3.0, ..Followed::at_rest(rest) };
        let plain = rotation::follow(IDENTITY.map(Lanes::from), &from_matrix(&f)).map(f64::from);
        element.go_to(&f);
        assert_eq!((element.q, element.pair), (plain, 0.0));
    }
}

/// The pair is a part of the state: an element that has forgotten it turns elsewhere.
#[test]
fn what_is_remembered_matters() {
    let mut random = Random(13);
    let mut differ = 0;
    for _ in 0..100 {
        let (rest, end) = (tet(&mut random), Mat3::identity() + random.matrix() * 3.0);
        if end.determinant() > -0.1 {
            continue;
        }
        let mut element = Followed::at_rest(rest);
        (1..=600).for_each(|step| {
            element.go_to(&(Mat3::identity() + (end - Mat3::identity()) * (f64::from(step) / 600.0)));
        });
        let kept = RULE.rotation(&rest, &end, element.pair).unwrap();
        let chosen = RULE.rotation(&rest, &end, RULE.pair(&rest, &end, &end, 0.0)).unwrap();
        differ += usize::from(degrees(&kept, &chosen) > 1.0);
    }
    assert!(differ > 3, "{differ}");
}

/// `elasticity.md` 5.1: a force field has a potential only if its integrals along a row and then the columns are those
/// along a column and then the rows. One corner is dragged over a grid of places; returns by how much the potentials
/// differ, as a part of the largest.
fn lack_of_potential(rotation_at: impl Fn(&Mat3) -> Mat3) -> f64 {
    const N: usize = 120;
    let material = Constitutive::new(&Material { young_modulus: 1.0, poisson_ratio: 0.3, ..Material::default() });
    let rest = tet(&mut Random(2));
    let gradients = rest.try_inverse().unwrap();
    let (origin, spacing) = (Vec3::new(-0.1, 0.1, -0.35), 0.3 / N as f64);
    let force = |i: usize, j: usize| {
        let mut edges = rest;
        edges.set_column(2, &(origin + Vec3::new(spacing * i as f64, 0.0, spacing * j as f64)));
        let f = edges * gradients;
        let at = Deformation { gradient: from_matrix(&(f - Mat3::identity())), rotation: from_matrix(&rotation_at(&f)), state: &[] };
        material.stress(&at) * gradients.row(2).transpose()
    };
    let field: Vec<Vec<Vec3>> = (0..=N).map(|i| (0..=N).map(|j| force(i, j)).collect()).collect();
    let mean = |a: f64, b: f64| 0.5 * spacing * (a + b);
    let sums = |values: &dyn Fn(usize) -> f64| {
        (0..N)
            .scan(0.0, |sum, k| {
                *sum += mean(values(k), values(k + 1));
                Some(*sum)
            })
            .collect::<Vec<f64>>()
    };
    let along = |sums: &[f64], k: usize| if k == 0 { 0.0 } else { sums[k - 1] };
    let (row, column) = (sums(&|i| field[i][0].x), sums(&|j| field[0][j].z));
    let (columns, rows): (Vec<_>, Vec<_>) = (0..=N).map(|k| (sums(&|j| field[k][j].z), sums(&|i| field[i][k].x))).unzip();
    let (mut difference, mut largest) = (0.0_f64, 0.0_f64);
    for i in 0..=N {
        for j in 0..=N {
            let [one, other] = [along(&row, i) + along(&columns[i], j), along(&column, j) + along(&rows[j], i)];
            (difference, largest) = (difference.max((one - other).abs()), largest.max(one.abs()));
        }
    }
    difference / largest
}

/// The corotational force has a potential. That of a frame that is drawn apart has none: it lacks what the turn of the
/// frame does, for which there is no compact form.
#[test]
fn only_the_polar_rotation_has_a_potential() {
    let polar = lack_of_potential(signed_polar);
    let rest = tet(&mut Random(2));
    let drawn_apart = lack_of_potential(|f| {
        let pair = RULE.pair(&rest, f, f, 4.0);
        RULE.rotation(&rest, f, pair).map_or_else(|| signed_polar(f), |q| rotation::matrix(&q))
    });
    println!("polar {polar:.1e}, drawn apart {drawn_apart:.1e}");
    assert!(polar < 1e-3 && drawn_apart > 1e-2);
}
