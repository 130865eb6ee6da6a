//! What the event log says of a new snapshot.

use std::time::Duration;

use super::{Session, lookup};
use crate::app::engine::View;
use crate::app::worker::Snapshot;
use crate::stage;
use crate::step::SurfacePositions;

/// How an input was answered.
pub struct Answered {
    /// From the input to the picture that shows what came of it.
    pub after: Duration,
    /// Frames that were begun meanwhile, with that one.
    pub frames: u32,
    /// How long that one took.
    pub frame: Duration,
}

impl Session {
    /// After a frame was presented.
    pub fn presented(&mut self, answered: Option<Answered>) {
        if let Some(Answered { after, frames, frame }) = answered {
            let [after, frame] = [after, frame].map(|time| 1e3 * time.as_secs_f64());
            self.log.say(format_args!("answered ms={after:.1} frames={frames} frame_ms={frame:.1}"));
        }
        if !std::mem::replace(&mut self.ready, true) {
            let [x, y, w, h] = self.viewport();
            self.log.say(format_args!("ready {x} {y} {w} {h}"));
        }
    }

    /// `typing begun`: from then on letters are no shortcuts.
    pub(super) fn log_typing(&mut self, types: bool) {
        if std::mem::replace(&mut self.types, types) != types {
            self.log.say(format_args!("typing {}", if types { "begun" } else { "ended" }));
        }
    }

    pub(super) fn log_changes(&self, before: &Snapshot) {
        let (now, log) = (&self.shown, &self.log);
        let new_scene = now.scene.as_ref().map(|s| s.generation) != before.scene.as_ref().map(|s| s.generation);
        if let (true, Some(scene)) = (new_scene, &now.scene) {
            let (tets, nodes) = (scene.model.tets.len(), scene.model.n_nodes());
            let backend = now.view.as_ref().and_then(|view| view.backend.as_ref()).map_or("none", |info| info.backend);
            log.say(format_args!("scene loaded {} backend={backend} tets={tets} nodes={nodes}", scene.name));
        }
        if let Some(view) = &now.view {
            if new_scene || before.view.as_ref().is_none_or(|b| b.step != view.step) {
                let what = if self.is_in_past() { "past" } else { "step" };
                log.say(format_args!("{what} {} time={:.4}", view.step, view.time));
            }
            let count = |view: &View| view.contacts.as_ref().map(Vec::len);
            if let Some(n) = count(view).filter(|_| before.view.as_ref().and_then(|b| count(b)) != count(view)) {
                log.say(format_args!("contacts {n}"));
            }
            if let Some(grab) = &self.grab
                && let Some(held) = view.grabs.iter().find(|held| held.id == grab.id)
            {
                let [p, t] = [held.point, held.target].map(|v| format!("{:.4},{:.4},{:.4}", v.x, v.y, v.z));
                log.say(format_args!("moved body={} point={p} target={t} force={:.3}", grab.body, held.force.norm()));
            }
        }
        for warning in now.warnings.list().iter().filter(|warning| !before.warnings.list().iter().any(|known| known.kind == warning.kind)) {
            log.say(format_args!("warning {}", warning.text));
        }
        if before.branch != now.branch {
            log.say(format_args!("branch {}", now.branch));
        }
        if before.activity != now.activity {
            log.say(format_args!("activity {:?}", now.activity));
        }
        let step = |snapshot: &Snapshot| snapshot.view.as_ref().map(|view| view.step);
        let is_elsewhere = new_scene || step(before) != step(now) || before.branch != now.branch || before.activity != now.activity;
        if !now.playing() && is_elsewhere {
            self.log_bodies();
        }
    }

    /// `body NAME X Y`: where each body's middle is in the window [px].
    fn log_bodies(&self) {
        let (Some(scene), Some(view)) = (&self.shown.scene, &self.shown.view) else { return };
        let SurfacePositions::Host(positions) = &view.surface else { return };
        for body in lookup::free_bodies(&scene.model) {
            let middle = stage::glam_vec(&lookup::bounds(&scene.model, positions, &view.rigid_poses, body).center());
            if let Some(([x, y], _)) = self.viewpoint.camera.project(middle, self.viewport()) {
                self.log.say(format_args!("body {} {x:.0} {y:.0}", scene.model.body_name(body)));
            }
        }
    }
}
