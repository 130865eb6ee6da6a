//! Pins: balls in which a deformable body is fixed, by the scene or by a click.

use crate::body::base_name;
use crate::math::Vec3;
use crate::model::{Ball, Extent, Model};
use crate::render::{Hit, Overlays, Point, Rgb};
use crate::stage;

/// A pin as the window shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct PinMark {
    /// As the scene calls the body.
    pub body: String,
    /// Place in its list of fixed parts.
    pub part: usize,
    /// What it holds, at rest.
    pub balls: Vec<Ball>,
    /// Where its nodes are [m], the one nearest to its middle first.
    pub nodes: Vec<Vec3>,
}

impl PinMark {
    /// How near its middle a point at rest is: 0 there, 1 at its border.
    pub fn nearness(&self, at_rest: &Vec3) -> f64 {
        let parts = self.balls.iter().map(|ball| (at_rest - ball.center).norm() / ball.radius);
        parts.fold(f64::INFINITY, f64::min)
    }
}

/// The pins of a model whose nodes are at `position`.
pub fn pins(model: &Model, position: impl Fn(usize) -> Vec3) -> Vec<PinMark> {
    let mut marks = vec![];
    for fixed in &model.fixed_parts {
        let copies = || (0..model.bodies.len()).filter(|place| base_name(&model.bodies[*place].name) == fixed.body);
        for (part, extent) in fixed.parts.iter().enumerate() {
            let Extent::Spheres(balls) = extent else { continue };
            let Some(middle) = balls.first().map(|ball| ball.center) else { continue };
            let mut nodes: Vec<usize> = copies().flat_map(|place| model.nodes_in(place, extent)).collect();
            nodes.sort_by(|a, b| (model.rest_positions[*a] - middle).norm().total_cmp(&(model.rest_positions[*b] - middle).norm()));
            marks.push(PinMark { body: fixed.body.clone(), part, balls: balls.clone(), nodes: nodes.into_iter().map(&position).collect() });
        }
    }
    marks
}

/// Whether a model has pins.
pub fn has_pins(model: &Model) -> bool {
    model.fixed_parts.iter().flat_map(|fixed| &fixed.parts).any(|part| matches!(part, Extent::Spheres(_)))
}

/// A node that is surely held where three others around it are.
const NEIGHBOURS: usize = 4;

/// A point of the surface, at rest.
pub fn rest_point(model: &Model, hit: &Hit) -> Vec3 {
    let at_rest = |vertex: u32| {
        let (nodes, weights) = (&model.surface.nodes[vertex as usize], &model.surface.weights[vertex as usize]);
        nodes.iter().zip(weights).map(|(node, weight)| model.rest_positions[*node as usize] * *weight).sum::<Vec3>()
    };
    model.surface.triangles[hit.triangle].iter().zip(hit.barycentric).map(|(vertex, share)| at_rest(*vertex) * share).sum()
}

/// The ball, at rest, that pins what is around a point of the surface of a deformable body: as large as is wished,
/// and at least around some nodes.
pub fn ball_at(model: &Model, hit: &Hit, radius: f64) -> Ball {
    let triangle = model.surface.triangles[hit.triangle];
    let center = rest_point(model, hit).map(|x| (x * 1e6).round() * 1e-6);
    let body = &model.bodies[model.surface.bodies[triangle[0] as usize] as usize];
    let mut distances: Vec<f64> = body.nodes.clone().map(|node| (model.rest_positions[node] - center).norm()).collect();
    let n = NEIGHBOURS.min(distances.len()) - 1;
    let (_, least, _) = distances.select_nth_unstable_by(n, f64::total_cmp);
    // Rounded up.
    let radius = (radius.max(*least * 1.001) * 1e6).ceil() * 1e-6;
    Ball { center, radius }
}

/// A list of fixed parts, as TOML, with one more.
pub fn with_pin(parts: Option<&str>, balls: &[Ball]) -> String {
    let ball = |Ball { center, radius }: &Ball| {
        format!(
            "{{ center = [{:?}, {:?}, {:?}], radius = {:?} }}",
            rounded(center.x),
            rounded(center.y),
            rounded(center.z),
            rounded(*radius)
        )
    };
    let pin = format!("{{ spheres = [{}] }}", balls.iter().map(ball).collect::<Vec<_>>().join(", "));
    match parts.and_then(|parts| parts.trim().strip_suffix(']')).map(str::trim_end) {
        Some("[") | None => format!("[{pin}]"),
        Some(others) => format!("{}, {pin}]", others.trim_end_matches(',')),
    }
}

/// By way of text, so that 0.3 does not read 0.30000000000000004.
fn rounded(x: f64) -> f64 {
    format!("{x:.6}").parse().unwrap_or(x)
}

const COLOR: Rgb = Rgb::hex(0xff5d73);

/// Dots over the picture; `pixels` in a point of the window.
pub fn overlays(marks: &[PinMark], pixels: f32) -> Overlays {
    let dot = |at: &Vec3, size: f32, color: Rgb| Point { at: stage::glam_vec(at), color, opacity: 0.95, size: size * pixels };
    let mut points = vec![];
    for mark in marks {
        points.extend(mark.nodes.iter().map(|node| dot(node, 5.0, COLOR)));
        if let Some(middle) = mark.nodes.first() {
            points.extend([dot(middle, 11.0, COLOR), dot(middle, 5.0, Rgb::hex(0xffffff))]);
        }
    }
    Overlays { segments: vec![], points }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Scene, build};

    const SCENE: &str = "format = 1\n[material.gum]\n[[body]]\nname = \"bar\"\nmaterial = \"gum\"\nposition = [0, 1, 0]\n\
                         shape = { type = \"box\", size = [0.4, 0.1, 0.1], cells = [8, 2, 2] }\n";

    /// A pin of a click is a fixed part that a scene can say, and the scene is built with it.
    #[test]
    fn a_click_is_a_ball_around_some_nodes_and_a_part_of_the_scene() {
        let mut scene = Scene::from_text("s", "s.toml", SCENE, None, &[]).unwrap();
        let model = build(&scene).unwrap().model;
        let surface = model.surface_positions(&model.rest_positions);
        let right = |t: &&[u32; 3]| t.iter().all(|v| surface[*v as usize].x > 0.199);
        let triangle = model.surface.triangles.iter().position(|t| right(&t)).unwrap();
        let hit = Hit { triangle, barycentric: [0.5, 0.25, 0.25], distance: 1.0, point: Vec3::zeros() };
        let ball = ball_at(&model, &hit, 0.0);
        assert!((ball.center.x - 0.2).abs() < 1e-6 && ball.radius > 0.02 && ball.radius < 0.08, "{ball:?}");
        let first = with_pin(scene.given("body.bar.fix").as_deref(), &[ball]);
        scene.set(&format!("body.bar.fix={first}")).unwrap();
        let second = with_pin(scene.given("body.bar.fix").as_deref(), &[Ball { center: Vec3::new(-0.2, 1.0, 0.0), radius: 0.01 }]);
        scene.set(&format!("body.bar.fix={second}")).unwrap();
        let pinned = build(&scene).unwrap().model;
        assert!(has_pins(&pinned) && !has_pins(&model));
        let marks = pins(&pinned, |node| pinned.rest_positions[node]);
        assert_eq!(marks.iter().map(|mark| (mark.body.as_str(), mark.part)).collect::<Vec<_>>(), [("bar", 0), ("bar", 1)]);
        assert!(marks[0].nodes.len() >= NEIGHBOURS && (marks[0].nodes[0] - ball.center).norm() < 0.05);
        assert_eq!(marks[1].nodes, [Vec3::new(-0.2, 1.0, 0.0)]);
        assert_eq!(pinned.fixed.iter().filter(|fixed| **fixed).count(), marks[0].nodes.len() + 1);
    }
}
