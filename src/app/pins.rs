//! Pins: balls in which a deformable body is fixed, by the scene or by a click.

use crate::body::base_name;
use crate::math::{Aabb, Vec3};
use crate::model::{Ball, Extent, Model};
use crate::render::{Hit, Overlays, Point, Rgb};
use crate::stage;

/// A pin as the window shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct PinMark {
    /// As the simulation calls the body.
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

/// A vertex of the surface, at rest.
fn rest_vertex(model: &Model, vertex: usize) -> Vec3 {
    let (nodes, weights) = (&model.surface.nodes[vertex], &model.surface.weights[vertex]);
    nodes.iter().zip(weights).map(|(node, weight)| model.rest_positions[*node as usize] * *weight).sum()
}

/// A point of the surface, at rest.
pub fn rest_point(model: &Model, hit: &Hit) -> Vec3 {
    let corners = model.surface.triangles[hit.triangle].iter().zip(hit.barycentric);
    corners.map(|(vertex, share)| rest_vertex(model, *vertex as usize) * share).sum()
}

/// The ball, at rest, that pins what is around a point of the surface of a deformable body: as large as is wished,
/// and at least around some nodes.
pub fn ball_at(model: &Model, hit: &Hit, radius: f64) -> Ball {
    let triangle = model.surface.triangles[hit.triangle];
    let center = rest_point(model, hit).map(to_micrometres);
    let body = &model.bodies[model.surface.bodies[triangle[0] as usize] as usize];
    let mut distances: Vec<f64> = body.nodes.clone().map(|node| (model.rest_positions[node] - center).norm()).collect();
    let n = NEIGHBOURS.min(distances.len()) - 1;
    let (_, least, _) = distances.select_nth_unstable_by(n, f64::total_cmp);
    ball_around(center, radius, *least)
}

/// A ball of a radius, but at least around what is up to a distance from its middle [m].
pub fn ball_around(center: Vec3, radius: f64, distance: f64) -> Ball {
    // Rounded up.
    Ball { center, radius: (radius.max(1.001 * distance) * 1e6).ceil().max(1.0) * 1e-6 }
}

/// Places are written so.
pub fn to_micrometres(x: f64) -> f64 {
    (x * 1e6).round() * 1e-6
}

/// Balls, at rest, around the vertices of the bodies of a name that are chosen (a flag for each vertex of the surface)
/// and the nodes behind them: each as large as what is not chosen of these bodies allows, but around a node at least; the
/// largest first.
pub fn balls_around(model: &Model, name: &str, is_chosen: &[bool]) -> Vec<Ball> {
    let is_own: Vec<bool> = model.bodies.iter().map(|body| base_name(&body.name) == name).collect();
    let (mut chosen, mut others) = (vec![], vec![]);
    for (vertex, _) in model.surface.bodies.iter().enumerate().filter(|(_, body)| is_own[**body as usize]) {
        let list = if is_chosen[vertex] { &mut chosen } else { &mut others };
        list.push(rest_vertex(model, vertex));
    }
    if chosen.is_empty() {
        return vec![];
    }
    // Nodes inside go with the vertex that is nearest, and stay free where two are.
    let own = model.bodies.iter().zip(is_own).filter(|(_, is_own)| *is_own);
    let nodes: Vec<Vec3> = own.flat_map(|(body, _)| body.nodes.clone()).map(|node| model.rest_positions[node]).collect();
    let by_x = |a: &Vec3, b: &Vec3| a.x.total_cmp(&b.x);
    chosen.sort_by(by_x);
    others.sort_by(by_x);
    let is_near = |node: &Vec3| 1.001 * nearest_distance(&chosen, node) < nearest_distance(&others, node);
    let (with, without): (Vec<Vec3>, Vec<Vec3>) = nodes.iter().partition(|node| is_near(node));
    chosen.extend(with);
    others.extend(without);
    others.sort_by(by_x);
    // Around all of them where no other is.
    let size = 1.01 * Aabb::of(&chosen).extent().norm();
    let mut open: Vec<(f64, Vec3)> = chosen.into_iter().map(|x| (nearest_distance(&others, &x).min(size), x)).collect();
    open.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut balls = vec![];
    while let Some((clearance, x)) = open.pop() {
        let center = x.map(to_micrometres);
        let to_node = nodes.iter().map(|node| (node - center).norm()).fold(f64::INFINITY, f64::min);
        let ball = ball_around(center, CLEAR * clearance, to_node);
        open.retain(|(_, x)| (x - center).norm() > ball.radius);
        balls.push(ball);
    }
    balls
}

/// Part of the way to the nearest vertex outside of it that a ball reaches.
const CLEAR: f64 = 0.95;

/// How far the nearest of some points is, which are sorted by x.
fn nearest_distance(points: &[Vec3], x: &Vec3) -> f64 {
    let middle = points.partition_point(|p| p.x < x.x);
    let mut least = f64::INFINITY;
    for p in &points[middle..] {
        if p.x - x.x >= least {
            break;
        }
        least = least.min((p - x).norm());
    }
    for p in points[..middle].iter().rev() {
        if x.x - p.x >= least {
            break;
        }
        least = least.min((p - x).norm());
    }
    least
}

/// Whether a vertex that a ball holds is chosen, or the one that is nearest to its middle: of the bodies of a name, at
/// rest. `is_chosen`: a flag for each vertex of the surface.
pub fn is_ball_chosen(model: &Model, name: &str, is_chosen: &[bool], ball: &Ball) -> bool {
    let own = model.surface.bodies.iter().enumerate().filter(|(_, body)| base_name(&model.bodies[**body as usize].name) == name);
    let distances = own.map(|(vertex, _)| ((rest_vertex(model, vertex) - ball.center).norm(), vertex));
    let is_held = |(distance, vertex): (f64, usize)| distance <= ball.radius && is_chosen[vertex];
    distances.clone().any(is_held) || distances.min_by(|(a, _), (b, _)| a.total_cmp(b)).is_some_and(|(_, vertex)| is_chosen[vertex])
}

/// A list of fixed parts, as TOML, with one more.
pub fn with_pin(parts: Option<&str>, balls: &[Ball]) -> String {
    let pin = pin_text(balls);
    match parts.and_then(|parts| parts.trim().strip_suffix(']')).map(str::trim_end) {
        Some("[") | None => format!("[{pin}]"),
        Some(others) => format!("{}, {pin}]", others.trim_end_matches(',')),
    }
}

/// A list of fixed parts, as TOML, without the balls of pins that go; none where nothing goes. `parts`: as they are
/// written, and what they are.
pub fn without_balls(parts: &[(String, Extent)], goes: impl Fn(&Ball) -> bool) -> Option<String> {
    let (mut kept, mut is_changed) = (vec![], false);
    for (text, part) in parts {
        let Extent::Spheres(balls) = part else {
            kept.push(text.clone());
            continue;
        };
        let left: Vec<Ball> = balls.iter().filter(|ball| !goes(ball)).copied().collect();
        if left.len() == balls.len() {
            kept.push(text.clone());
            continue;
        }
        is_changed = true;
        if !left.is_empty() {
            kept.push(pin_text(&left));
        }
    }
    is_changed.then(|| format!("[{}]", kept.join(", ")))
}

/// A pin, as TOML.
fn pin_text(balls: &[Ball]) -> String {
    format!("{{ {} }}", spheres_text(balls))
}

/// The balls of a part of a body, as TOML.
pub fn spheres_text(balls: &[Ball]) -> String {
    let ball = |Ball { center, radius }: &Ball| {
        format!(
            "{{ center = [{:?}, {:?}, {:?}], radius = {:?} }}",
            rounded(center.x),
            rounded(center.y),
            rounded(center.z),
            rounded(*radius)
        )
    };
    format!("spheres = [{}]", balls.iter().map(ball).collect::<Vec<_>>().join(", "))
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

    /// What a frame holds of a bar is held, and nothing beside it, with few balls.
    #[test]
    fn a_frame_is_a_few_balls_around_all_in_it_and_nothing_else() {
        let mut scene = Scene::from_text("s", "s.toml", SCENE, None, &[]).unwrap();
        let model = build(&scene).unwrap().model;
        for limit in [-1.0, -0.01, 0.06, 0.19] {
            let chosen: Vec<bool> = model.surface_positions(&model.rest_positions).iter().map(|x| x.x > limit).collect();
            let balls = balls_around(&model, "bar", &chosen);
            assert!(!balls.is_empty() && balls.len() <= 12, "{limit}: {}", balls.len());
            scene.set(&format!("body.bar.fix={}", with_pin(None, &balls))).unwrap();
            let pinned = build(&scene).unwrap().model;
            for (node, x) in pinned.rest_positions.iter().enumerate() {
                assert_eq!(pinned.fixed[node], x.x > limit, "{limit}: {x}");
            }
        }
        assert!(balls_around(&model, "bar", &vec![false; model.surface.bodies.len()]).is_empty());
    }

    /// What is unpinned is taken ball by ball; a pin without balls goes, and what is fixed otherwise stays.
    #[test]
    fn balls_are_taken_out_of_pins() {
        let mut scene = Scene::from_text("s", "s.toml", SCENE, None, &[]).unwrap();
        let at = |x: f64| Ball { center: Vec3::new(x, 1.0, 0.05), radius: 0.03 };
        let first = with_pin(Some("[{ side = \"x-\" }]"), &[at(-0.1), at(0.1)]);
        scene.set(&format!("body.bar.fix={}", with_pin(Some(&first), &[at(0.2)]))).unwrap();
        let parts = |scene: &Scene| -> Vec<(String, Extent)> {
            let texts = (0..).map_while(|k| scene.given(&format!("body.bar.fix.{k}")));
            texts.zip(scene.live_values().fixed[0].parts.clone()).collect()
        };
        let model = build(&scene).unwrap().model;
        let chosen: Vec<bool> = model.surface_positions(&model.rest_positions).iter().map(|x| x.x > 0.0).collect();
        let is_met = |ball: &Ball| is_ball_chosen(&model, "bar", &chosen, ball);
        assert_eq!([-0.1, 0.1, 0.2].map(|x| is_met(&at(x))), [false, true, true]);
        let left = without_balls(&parts(&scene), is_met).unwrap();
        assert_eq!(left, with_pin(Some("[{ side = \"x-\" }]"), &[at(-0.1)]));
        scene.set(&format!("body.bar.fix={left}")).unwrap();
        assert_eq!(without_balls(&parts(&scene), is_met), None, "nothing of it is left there");
        assert_eq!(without_balls(&parts(&scene), |_| true).as_deref(), Some("[{ side = \"x-\" }]"));
    }
}
