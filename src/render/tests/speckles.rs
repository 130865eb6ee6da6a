//! No dark speckles on a coarse surface: near its silhouette smooth normals lean over the edge of what is seen, and one
//! that was turned round for that would be lit as if it looked into the body.

use super::*;

/// Pixels of the body further from its border than this [pixels] are looked at, among those no further away.
const NEAR: i32 = 2;
/// A pixel is dark that has less than this part of the brightness of the pixels around it.
const DARK: f32 = 0.6;
/// The border of a shadow has more dark pixels around it than this.
const FEW: usize = 6;

/// The ball with a zigzag of rings that are smooth to the eye: coarse, and steep where they turn away.
fn zigzag() -> Stage {
    let mut stage = stage();
    for (k, p) in stage.rest_positions.iter_mut().enumerate().skip(2) {
        let factor = if (k - 2) / 32 % 2 == 0 { 1.03 } else { 0.97 };
        [p[0], p[1], p[2]] = [p[0] * factor, 0.5 + (p[1] - 0.5) * factor, p[2] * factor];
    }
    stage
}

/// Dark pixels of the red body among bright ones, few together.
fn speckles(image: &Image) -> usize {
    let is_body = |p: [u8; 3]| p[0] > 30 && u32::from(p[0]) * 2 > 3 * u32::from(p[1].max(p[2]));
    let [width, height] = [image.width, image.height].map(|n| n as i32);
    let mut n = 0;
    for (x, y) in (NEAR..height - NEAR).flat_map(|y| (NEAR..width - NEAR).map(move |x| (x, y))) {
        let at = |x: i32, y: i32| image.pixel(x as u32, y as u32);
        let around = (-NEAR..=NEAR).flat_map(|dy| (-NEAR..=NEAR).map(move |dx| at(x + dx, y + dy)));
        let mut around: Vec<f32> = around.filter(|p| is_body(*p)).map(|p| brightness(p.map(f32::from))).collect();
        if !is_body(at(x, y)) || around.len() < 15 {
            continue;
        }
        around.sort_by(f32::total_cmp);
        let dark = DARK * around[around.len() / 2];
        n += usize::from(brightness(at(x, y).map(f32::from)) < dark && around.partition_point(|b| *b < dark) <= FEW);
    }
    n
}

#[test]
fn a_coarse_surface_has_no_dark_speckles() {
    for samples in [1, 4] {
        let mut renderer = renderer(samples);
        renderer.set_stage(&zigzag());
        for azimuth in [0.0, 0.9, 2.0, 3.7, 5.1] {
            let camera = Camera { azimuth, distance: 1.6, ..camera() };
            let image = renderer.capture([480, 360], &camera, &no_grid(), &Overlays::default()).unwrap();
            let n_body = image.pixels.chunks(4).filter(|p| p[0] > 30 && p[0] > 2 * p[2]).count();
            assert!(n_body > 10_000, "{n_body} pixels of the body");
            assert_eq!(speckles(&image), 0, "{samples} samples, from {azimuth}");
        }
        // They would be found.
        let mut image = renderer.capture([480, 360], &Camera { distance: 1.6, ..camera() }, &no_grid(), &Overlays::default()).unwrap();
        for (x, y) in [(240, 150), (225, 170), (260, 140)] {
            let i = 4 * (y * 480 + x);
            image.pixels[i..i + 3].iter_mut().for_each(|c| *c /= 2);
        }
        assert!((1..=3).contains(&speckles(&image)), "{}", speckles(&image));
    }
}
