//! The ruler, and probes that are set by a click.

use egui::{Pos2, pos2};

use super::Session;
use super::lookup::{Found, hit_body, hit_obstacle};
use crate::app::tools::{MaterialPoint, Tool};
use crate::app::ui::ToolMarks;
use crate::app::worker::{Request, Severity};
use crate::render::Ray;
use crate::scene::Rename;
use crate::stage::glam_vec;
use crate::step::SurfacePositions;

/// Points of the present scene.
#[derive(Default)]
pub struct Points {
    /// The ends of the ruler.
    ruler: Vec<MaterialPoint>,
    probes: Vec<(String, MaterialPoint)>,
    /// The scene's own probes and those that were set, in the order of what is plotted.
    pub names: Vec<String>,
}

impl Points {
    /// Those of a new scene, which has probes of its own.
    pub fn of_scene(names: &[String]) -> Self {
        Self { names: names.to_vec(), ..Self::default() }
    }
}

impl Points {
    /// A probe of the scene got another name.
    pub fn rename(&mut self, rename: &Rename) {
        let n_own = self.names.len() - self.probes.len();
        for name in &mut self.names[..n_own] {
            *name = rename.name_for("probe", name).unwrap_or_else(|| name.clone());
        }
    }
}

impl Session {
    /// A click with a tool.
    pub(super) fn set_point(&mut self, found: &Found, ray: &Ray) {
        let (Some(scene), Some(view), Some(tool)) = (&found.snapshot.scene, &found.snapshot.view, self.ui.tool) else { return };
        if tool == Tool::Face {
            return self.cut_along_face(found, ray);
        }
        let model = &scene.model;
        let hidden = self.ui.selection.hidden_bodies(model);
        let hit = hit_body(model, &found.positions, [&view.rigid_poses, &view.obstacle_poses], &hidden, ray);
        let on_mesh = hit.and_then(|(hit, body)| MaterialPoint::of_hit(model, &hit, body));
        let on_obstacle = || {
            let (along, body) = hit_obstacle(model, &view.obstacle_poses, &hidden, ray)?;
            Some(MaterialPoint::of_obstacle(body, &ray.at(along), view.obstacle_poses.get(body.index())?))
        };
        let Some(point) = on_mesh.or_else(on_obstacle) else { return };
        match tool {
            Tool::Ruler => {
                if self.points.ruler.len() > 1 {
                    self.points.ruler.clear();
                }
                self.points.ruler.push(point);
                if let Some(length) = self.ruler_length() {
                    self.log.say(format_args!("ruler length={length:.5}"));
                }
            }
            Tool::Probe => self.add_probe(model.body_name(point.body).to_owned(), point),
            Tool::Face | Tool::Brush => {}
        }
    }

    fn add_probe(&mut self, body: String, point: MaterialPoint) {
        // A name that the scene may have.
        let plain = body.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "-");
        let names = (1..).map(|n| format!("{}-{n}", plain.trim_matches('-')));
        let Some(name) = names.into_iter().find(|name| !self.points.names.contains(name)) else { return };
        if point.probe(name.clone()).is_none() {
            self.tell(Severity::Info, format!("\"{body}\" keeps its shape: probes follow points of soft bodies"));
            return;
        }
        self.log.say(format_args!("probe {name}"));
        self.points.names.push(name.clone());
        self.points.probes.push((name, point));
        self.watch_probes();
    }

    /// Forgets the probes that were set by a click.
    pub(super) fn clear_probes(&mut self) {
        let n = self.points.names.len() - self.points.probes.len();
        self.points.names.truncate(n);
        self.points.probes.clear();
        self.watch_probes();
    }

    /// The probes that were set, as entries of the scene.
    pub(super) fn probes_for_scene(&self) -> Vec<String> {
        let Some(scene) = &self.live.scene else { return vec![] };
        self.points.probes.iter().filter_map(|(name, point)| point.probe_of_scene(&scene.model, name)).collect()
    }

    fn watch_probes(&self) {
        let Some(scene) = &self.live.scene else { return };
        let probes = self.points.probes.iter().filter_map(|(name, point)| point.probe(name.clone())).collect();
        self.worker.send(Request::Watch(scene.generation, probes));
    }

    /// Puts the tool away, and the ruler with it; false if there was none.
    pub(super) fn end_tool(&mut self) -> bool {
        self.points.ruler.clear();
        self.ui.tool.take().is_some()
    }

    /// Whether points, or the gizmo, need the nodes, as the device alone has the surface.
    pub(super) fn points_need_nodes(&self) -> bool {
        let on_device = self.shown.view.as_ref().is_some_and(|view| matches!(view.surface, SurfacePositions::Device(_)));
        on_device && (self.moves_by_command() || !(self.points.ruler.is_empty() && self.points.probes.is_empty()))
    }

    fn ruler_length(&self) -> Option<f64> {
        let (scene, view) = (self.shown.scene.as_ref()?, self.shown.view.as_ref()?);
        let [a, b] = self.points.ruler[..] else { return None };
        Some((a.position(&scene.model, view)? - b.position(&scene.model, view)?).norm())
    }

    /// The points as they are drawn over the view.
    pub(super) fn tool_marks(&self) -> ToolMarks {
        let (Some(scene), Some(view)) = (&self.shown.scene, &self.shown.view) else { return ToolMarks::default() };
        let place = |point: &MaterialPoint| -> Option<Pos2> {
            let at = point.position(&scene.model, view)?;
            let ([x, y], _) = self.viewpoint.camera.project(glam_vec(&at), self.viewport())?;
            Some(pos2(x / self.pixels_per_point, y / self.pixels_per_point))
        };
        ToolMarks {
            ruler: self.points.ruler.iter().filter_map(place).collect(),
            length: self.ruler_length(),
            probes: self.points.probes.iter().filter_map(|(name, point)| Some((name.clone(), place(point)?))).collect(),
            brush: None,
        }
    }
}
