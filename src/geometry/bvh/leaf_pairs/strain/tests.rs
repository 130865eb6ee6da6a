use super::*;
use crate::cases::Random;
use crate::math::{Quat, Vec3};

/// A matrix that turns and stretches a little.
fn random_gradient(random: &mut Random, stretch: f64) -> Mat3 {
    let turn = Quat::from_scaled_axis(random.vector() * 2.0).to_rotation_matrix().into_inner();
    turn * (Mat3::identity() + Mat3::from_columns(&[random.vector(), random.vector(), random.vector()]) * stretch)
}

fn gradients(start: &Mat3, end: &Mat3) -> Gradients {
    let [start, end] = [start, end].map(|f| std::array::from_fn(|k| if k % 4 < 3 { f[(k / 4, k % 4)] as f32 } else { 0.0 }));
    Gradients { start, end }
}

/// The least of the greatest |F - M| by the least singular value of M, for M on the way between the means of both.
fn best(a: &[Mat3], b: &[Mat3]) -> f64 {
    let mean = |all: &[Mat3]| all.iter().sum::<Mat3>() / all.len() as f64;
    let norm = |f: &Mat3| f.singular_values().max();
    let about = |m: &Mat3| a.iter().chain(b).map(|f| norm(&(f - m))).fold(0.0, f64::max) / m.singular_values().min();
    let (mean_a, mean_b) = (mean(a), mean(b));
    (0..=1000).map(|k| about(&(mean_a + (mean_b - mean_a) * (f64::from(k) * 1e-3)))).fold(f64::INFINITY, f64::min)
}

/// What is said of two leaves is never less than the best that their tets allow, at either end of a step, and little
/// more where tets differ along one direction only.
#[test]
fn deformation_of_leaves_is_bounded() {
    let mut random = Random::new(5);
    for round in 0..400 {
        let is_flat = round % 2 == 0;
        let size = 0.02 * f64::from(round % 7);
        let centre = random_gradient(&mut random, 0.1);
        let direction = random.vector().normalize() * random.vector().normalize().transpose();
        let mut leaf = |n: usize, far: f64| -> Vec<Mat3> {
            let other = |random: &mut Random| Mat3::from_columns(&[random.vector(), random.vector(), random.vector()]);
            let mut one = || if is_flat { direction * (far + random.vector().x) } else { other(&mut random) + direction * far };
            (0..n).map(|_| centre + one() * size).collect()
        };
        let (a, b) = (leaf(1 + round as usize % 5, 0.0), leaf(1 + round as usize % 3, 1.5));
        let strain_at = |at_end: bool| {
            // Nothing else moves.
            let still = Mat3::identity();
            let of = |all: &[Mat3]| {
                let all: Vec<Gradients> = all.iter().map(|f| if at_end { gradients(&still, f) } else { gradients(f, f) }).collect();
                LeafStrain::of(all.iter())
            };
            f64::from(LeafStrain::between(&of(&a), &of(&b)))
        };
        let (best, margin) = (best(&a, &b), f64::from(STRAIN_MARGIN));
        assert!(strain_at(false) > best, "round {round}: {} of {best}", strain_at(false));
        assert!(strain_at(true) > best, "round {round}: {} of {best}", strain_at(true));
        if is_flat {
            assert!(strain_at(false) < 1.4 * best + 1.3 * margin, "round {round}: {} of {best}", strain_at(false));
        }
    }
}

/// What is not a number, and what is flat, opens all.
#[test]
fn deformation_without_a_bound_is_infinite() {
    let whole = Mat3::identity();
    let of = |start: &Mat3, end: &Mat3| LeafStrain::of([gradients(&whole, &whole), gradients(start, end)].iter());
    let sound = of(&whole, &whole);
    assert!(LeafStrain::between(&sound, &sound) < 1.1 * STRAIN_MARGIN);
    let flat = Mat3::from_diagonal(&Vec3::new(1.0, 1.0, 0.0));
    let lost = Mat3::from_diagonal(&Vec3::new(1.0, f64::NAN, 1.0));
    for (start, end) in [(&whole, &lost), (&lost, &lost)] {
        let other = of(start, end);
        let strains = [LeafStrain::between(&sound, &other), LeafStrain::between(&other, &sound)];
        assert_eq!(strains, [f32::INFINITY; 2]);
    }
    let other = LeafStrain::of([gradients(&flat, &flat)].iter());
    assert_eq!(LeafStrain::between(&other, &other), f32::INFINITY);
}
