//! A brush that paints materials onto soft bodies: what it does, one stroke of it, and the regions of the scene that
//! come of it.

use std::sync::Arc;

use super::pins::{ball_around, rest_point, spheres_text, to_micrometres};
use crate::body::base_name;
use crate::math::{Aabb, Vec3};
use crate::model::{Ball, Extent, Model};
use crate::render::Hit;
use crate::scene::{Rename, Scene};

/// The brush in the hand of the user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Brush {
    /// The name of what it paints; none where the scene has no material.
    pub material: Option<String>,
    /// It takes paint off instead.
    pub erases: bool,
    /// [m]; 0 before it is known how large the bodies are.
    pub radius: f64,
    /// The material that was selected last: the brush takes what is selected next.
    selected: Option<String>,
}

/// The first radius as a part of the size of all bodies, and how far it can be turned from that.
const FIRST_RADIUS: f64 = 0.06;
const LEAST_RADIUS: f64 = 0.05;
const MOST_RADIUS: f64 = 10.0;

impl Brush {
    /// Takes the material that has been selected since, keeps to those that the scene has, and gets its first radius.
    /// `size`: of all soft bodies [m].
    pub fn follow(&mut self, names: &[String], selected: Option<&str>, size: f64) {
        if selected.is_some() && selected != self.selected.as_deref() {
            self.material = selected.map(str::to_owned);
            self.erases = false;
        }
        self.selected = selected.map(str::to_owned);
        if self.material.as_ref().is_none_or(|material| !names.contains(material)) {
            self.material = names.first().cloned();
        }
        let first = FIRST_RADIUS * size;
        if self.radius <= 0.0 {
            // To two digits, which is how it is shown.
            self.radius = format!("{first:.1e}").parse().unwrap_or(first);
        }
        self.radius = self.radius.clamp(LEAST_RADIUS * first, MOST_RADIUS * first);
    }

    /// A material has another name now.
    pub fn rename(&mut self, rename: &Rename) {
        for name in [&mut self.material, &mut self.selected].into_iter().flatten() {
            if let Some(new) = rename.name_for("material", name) {
                *name = new;
            }
        }
    }

    /// Makes it wider, or narrower, by notches of the wheel.
    pub fn widen(&mut self, notches: f32) {
        self.radius *= f64::from(notches * 0.15).exp();
    }
}

/// What the mouse passes on one body, with all its copies, from a press of the button to its release.
pub struct Stroke {
    model: Arc<Model>,
    /// The first body of the name.
    body: usize,
    /// None if it erases.
    material: Option<String>,
    balls: Vec<Ball>,
    /// The centres of the elements at rest [m].
    centers: Vec<Vec3>,
    /// Whether a ball has an element.
    has: Vec<bool>,
}

impl Stroke {
    /// On a deformable body of the model.
    pub fn new(model: &Arc<Model>, body: usize, material: Option<String>) -> Self {
        let name = base_name(&model.bodies[body].name);
        let body = model.bodies.iter().position(|body| base_name(&body.name) == name).unwrap_or(body);
        let centers = model.element_centers(body);
        let has = vec![false; centers.len()];
        Self { model: model.clone(), body, material, balls: vec![], centers, has }
    }

    /// The name of the body in the scene.
    pub fn body_name(&self) -> &str {
        base_name(&self.model.bodies[self.body].name)
    }

    pub fn erases(&self) -> bool {
        self.material.is_none()
    }

    /// Whether it is on this body of this model.
    pub fn is_on(&self, model: &Arc<Model>, body: usize) -> bool {
        Arc::ptr_eq(&self.model, model) && base_name(&model.bodies[body].name) == self.body_name()
    }

    /// Paints around a point of the surface of a copy of the body: as far as `radius` [m] at rest, and one element at
    /// least. False where nothing is added by that.
    pub fn dab(&mut self, hit: &Hit, body: usize, radius: f64) -> bool {
        // Copies are alike, and the first one says what they are made of.
        let [first, own] = [self.body, body].map(|body| self.model.bodies[body].triangles.start);
        let hit = Hit { triangle: hit.triangle - own + first, ..*hit };
        let center = rest_point(&self.model, &hit).map(to_micrometres);
        let nearest = self.centers.iter().map(|at| (at - center).norm()).fold(f64::INFINITY, f64::min);
        let ball = ball_around(center, radius, nearest);
        let mut adds = false;
        for element in elements_in(&self.centers, &[ball]) {
            adds |= !std::mem::replace(&mut self.has[element as usize], true);
        }
        if adds {
            self.balls.push(ball);
        }
        adds
    }

    /// Shows what it paints before it is built: `vertices` and `tets` are places in a table of colours, which has one
    /// for each named material of the model.
    pub fn show(&self, vertices: &mut [u8], tets: &mut [u8]) {
        let model = &self.model;
        if (vertices.len(), tets.len()) != (model.n_vertices(), model.tets.len()) {
            return; // those of another scene
        }
        let own = self.model.bodies[self.body].derivation.named as usize;
        let place = match &self.material {
            Some(name) => model.named_materials.iter().position(|named| named.name == *name).unwrap_or(model.named_materials.len()),
            None => own,
        } as u8;
        let parts = model.bodies[self.body].element.parts();
        let mut is_painted = vec![false; model.n_nodes()];
        for body in model.bodies.iter().filter(|body| base_name(&body.name) == self.body_name()) {
            for (k, tet) in body.tets.clone().enumerate().filter(|(k, _)| self.has[k / parts]) {
                tets[tet] = place;
                model.tets[body.tets.start + k].nodes.iter().for_each(|node| is_painted[*node as usize] = true);
            }
        }
        for (vertex, (nodes, weights)) in vertices.iter_mut().zip(model.surface.nodes.iter().zip(&model.surface.weights)) {
            let most = (0..4).max_by(|a, b| weights[*a].total_cmp(&weights[*b])).unwrap_or_default();
            if is_painted[nodes[most] as usize] {
                *vertex = place;
            }
        }
    }

    /// The regions of the body with this stroke as the last one, as TOML, without strokes of which nothing is left to
    /// be seen; none if nothing changes by it. The body is built as the scene says.
    pub fn regions(&self, scene: &Scene) -> Option<String> {
        let material = self.material.as_ref().map_or(String::new(), |name| format!("material = {}, ", toml::Value::String(name.clone())));
        let own = Region {
            text: format!("{{ {material}{} }}", spheres_text(&self.balls)),
            paint: Some(Paint { material: self.material.clone(), has: self.has.clone() }),
        };
        let path = format!("body.{}.region", self.body_name());
        let before: Vec<String> = (0..).map_while(|place| scene.given(&format!("{path}.{place}"))).collect();
        let painted = before.iter().zip(scene.strokes(self.body_name())).map(|(text, stroke)| {
            let paint = stroke.map(|stroke| {
                let mut has = vec![false; self.centers.len()];
                elements_in(&self.centers, &stroke.balls).into_iter().for_each(|element| has[element as usize] = true);
                Paint { material: stroke.material, has }
            });
            Region { text: text.clone(), paint }
        });
        let kept: Vec<String> = seen(painted.chain([own]).collect()).into_iter().map(|region| region.text).collect();
        (kept != before).then(|| format!("[{}]", kept.join(", ")))
    }
}

/// The elements that are in some balls, by their centres.
fn elements_in(centers: &[Vec3], balls: &[Ball]) -> Vec<u32> {
    Extent::Spheres(balls.to_vec()).select(centers, &Aabb::of(centers))
}

/// A region of the scene.
struct Region {
    /// As TOML.
    text: String,
    /// Of a stroke.
    paint: Option<Paint>,
}

struct Paint {
    /// None if it erases.
    material: Option<String>,
    /// Whether it has an element.
    has: Vec<bool>,
}

/// The regions without strokes of which nothing is seen: later strokes are over them, or what they paint is there
/// already. What erases nothing is refused by the scene.
fn seen(mut regions: Vec<Region>) -> Vec<Region> {
    let Some(n) = regions.iter().find_map(|region| Some(region.paint.as_ref()?.has.len())) else { return regions };
    let elements = |paint: &Paint| paint.has.iter().enumerate().filter(|(_, has)| **has).map(|(element, _)| element).collect::<Vec<_>>();
    let mut is_covered = vec![false; n];
    let mut kept = vec![];
    while let Some(region) = regions.pop() {
        if let Some(paint) = &region.paint {
            let elements = elements(paint);
            if elements.iter().all(|element| is_covered[*element]) {
                continue;
            }
            elements.iter().for_each(|element| is_covered[*element] = true);
        }
        kept.push(region);
    }
    kept.reverse();
    // What the paint on each element is, as long as nothing else came over it.
    let mut top: Vec<Option<String>> = vec![None; n];
    let mut is_painted = vec![false; n];
    kept.retain(|region| {
        let Some(paint) = &region.paint else {
            top.fill(None);
            return true;
        };
        let elements = elements(paint);
        let is_seen = elements.iter().any(|element| match &paint.material {
            Some(_) => top[*element] != paint.material,
            None => is_painted[*element],
        });
        for element in elements {
            top[element].clone_from(&paint.material);
            is_painted[element] = paint.material.is_some();
        }
        is_seen
    });
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::build;

    const SCENE: &str = "format = 1\n[material.gum]\n[material.bone]\nyoung_modulus = 1e7\n[material.skin]\nyoung_modulus = 1e4\n[[body]]\nname = \"bar\"\n\
                         material = \"gum\"\nposition = [0, 1, 0]\nshape = { type = \"box\", size = [0.4, 0.1, 0.1], cells = [8, 2, 2] }\n";

    fn scene(more: &str) -> (Scene, Arc<Model>) {
        let scene = Scene::from_text("s", "s.toml", &format!("{SCENE}{more}"), None, &[]).unwrap();
        let model = build(&scene).unwrap().model;
        (scene, model)
    }

    /// A stroke from one place to another along the top of the bar.
    fn stroke(model: &Arc<Model>, material: Option<&str>, radius: f64, [from, to]: [f64; 2]) -> Stroke {
        let body = 0;
        let mut stroke = Stroke::new(model, body, material.map(str::to_owned));
        let surface = model.surface_positions(&model.rest_positions);
        let middle = Aabb::of(&model.rest_positions[model.bodies[body].nodes.clone()]).center();
        for k in 0..=10 {
            let at = middle + Vec3::new(from + (to - from) * f64::from(k) / 10.0, 0.05, 0.02);
            let distance = |t: &usize| {
                let corners = model.surface.triangles[*t].map(|v| surface[v as usize]);
                (corners.iter().sum::<Vec3>() / 3.0 - at).norm()
            };
            let triangle = model.bodies[body].triangles.clone().min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap();
            let third = 1.0 / 3.0;
            stroke.dab(&Hit { triangle, barycentric: [third; 3], distance: 1.0, point: at }, body, radius);
        }
        stroke
    }

    /// Paints, builds, and gives how many tets of the first body are of each material.
    fn painted(scene: &mut Scene, stroke: &Stroke) -> [usize; 3] {
        let regions = stroke.regions(scene).unwrap();
        scene.set(&format!("body.bar.region={regions}")).unwrap();
        counts(&build(scene).unwrap().model)
    }

    fn counts(model: &Model) -> [usize; 3] {
        let name = |tet: usize| model.named_materials[model.named_material_of(&model.tets[tet])].name.as_str();
        ["gum", "bone", "skin"].map(|wanted| model.bodies[0].tets.clone().filter(|tet| name(*tet) == wanted).count())
    }

    #[test]
    fn a_stroke_is_a_region_and_one_more_erases_it() {
        let (mut scene, model) = scene("");
        let first = stroke(&model, Some("bone"), 0.03, [-0.2, 0.0]);
        let [gum, bone, _] = painted(&mut scene, &first);
        assert!(bone > 8 && gum > 96 && gum + bone == 192, "{gum} {bone}");
        // What is shown before is what is built.
        let (mut vertices, mut tets) = (vec![0; model.n_vertices()], vec![0; model.tets.len()]);
        first.show(&mut vertices, &mut tets);
        assert_eq!((tets.iter().filter(|place| **place == 1).count(), vertices.contains(&1)), (bone, true));
        // Over a part of it: both are seen. Over all of it: the first is not seen any more, and leaves the scene.
        let [_, left, skin] = painted(&mut scene, &stroke(&model, Some("skin"), 0.03, [-0.1, 0.1]));
        assert!(left > 0 && left < bone && skin > 0, "{left} {skin}");
        assert_eq!(scene.strokes("bar").len(), 2);
        assert_eq!(painted(&mut scene, &stroke(&model, Some("skin"), 0.08, [-0.2, 0.0]))[1], 0);
        assert!(scene.strokes("bar").len() == 2 && !scene.given("body.bar.region").unwrap().contains("bone"));
        // The same again is nothing, and so is what is erased where nothing is painted.
        assert_eq!(stroke(&model, Some("skin"), 0.03, [-0.1, 0.0]).regions(&scene), None);
        assert_eq!(stroke(&model, None, 0.03, [0.19, 0.2]).regions(&scene), None);
        let [gum, _, skin] = painted(&mut scene, &stroke(&model, None, 0.03, [-0.2, -0.1]));
        let last = scene.strokes("bar").pop().flatten().unwrap();
        assert!(gum > 0 && skin > 0 && last.material.is_none() && !last.balls.is_empty());
        // All of it: nothing is left that would have to be erased.
        assert_eq!(stroke(&model, None, 0.12, [-0.2, 0.2]).regions(&scene).as_deref(), Some("[]"));
    }

    /// Regions by other means stay, and come out again where the paint over them is erased.
    #[test]
    fn paint_comes_off_what_is_below_it() {
        let (mut scene, model) = scene("region = [{ material = \"skin\", min = [-1, 0, -1], max = [0, 2, 1] }]\n");
        assert_eq!(counts(&model), [96, 0, 96]);
        let [_, bone, _] = painted(&mut scene, &stroke(&model, Some("bone"), 0.03, [-0.15, 0.15]));
        assert!(bone > 0);
        let [gum, left, skin] = painted(&mut scene, &stroke(&model, None, 0.03, [-0.03, 0.03]));
        assert!(left > 0 && left < bone && gum < 96 && skin < 96);
        assert_eq!(scene.strokes("bar").iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, true]);
        assert_eq!(painted(&mut scene, &stroke(&model, None, 0.12, [-0.2, 0.2])), [96, 0, 96]);
        assert_eq!(scene.strokes("bar"), [None]);
    }

    /// A stroke on a copy is one on the first, which says what all are made of. The smallest brush paints an element.
    #[test]
    fn copies_are_painted_alike() {
        let (mut scene, model) = scene("rotation = [0, 30, 0]\narray = { count = [1, 1, 2], pitch = [0, 0, 1] }\n");
        let [on_first, on_second] = [0, 1].map(|body| {
            let triangle = model.bodies[body].triangles.start + 7;
            let mut stroke = Stroke::new(&model, body, Some("bone".to_owned()));
            let hit = Hit { triangle, barycentric: [0.2, 0.5, 0.3], distance: 1.0, point: Vec3::zeros() };
            assert!(stroke.dab(&hit, body, 1e-6) && !stroke.dab(&hit, body, 1e-6) && stroke.is_on(&model, 1 - body));
            stroke
        });
        assert_eq!(on_first.regions(&scene), on_second.regions(&scene));
        assert_eq!(painted(&mut scene, &on_second)[1], 1);
    }

    #[test]
    fn the_brush_follows_what_is_selected_and_the_size_of_the_scene() {
        let names = ["gum", "bone"].map(str::to_owned);
        let mut brush = Brush::default();
        brush.follow(&names, None, 0.4);
        assert_eq!((brush.material.as_deref(), brush.radius), (Some("gum"), 0.024));
        brush.follow(&names, Some("bone"), 0.4);
        brush.material = Some("gum".to_owned());
        brush.follow(&names, Some("bone"), 0.4);
        assert_eq!(brush.material.as_deref(), Some("gum"), "what was selected before was chosen over");
        brush.widen(1000.0);
        brush.follow(&names[1..], None, 0.4);
        assert_eq!((brush.material.as_deref(), brush.radius), (Some("bone"), 0.24));
        brush.rename(&Rename::new("body", "bone", "rod"));
        brush.rename(&Rename::new("material", "bone", "steel"));
        assert_eq!(brush.material.as_deref(), Some("steel"));
        brush.follow(&[], None, 0.4);
        assert_eq!(brush.material, None);
    }
}
