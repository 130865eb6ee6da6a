//! Another branch of the past at the same time, as a veil over what is shown.

use super::Session;
use crate::app::engine::Wants;
use crate::app::graphics::Graphics;
use crate::app::worker::Severity;
use crate::sim::past::BranchId;
use crate::stage;
use crate::step::SurfacePositions;

#[derive(Default)]
pub struct Ghost {
    /// The branch that is asked for, and the generation of its scene.
    of: Option<(u64, BranchId)>,
    /// The generation, the branch and the step that are drawn.
    drawn: Option<(u64, BranchId, u64)>,
}

impl Session {
    /// The branch that is shown as a ghost.
    pub(super) fn ghost(&self) -> Option<BranchId> {
        let generation = self.live.scene.as_ref()?.generation;
        let (of, branch) = self.ghost.of?;
        (of == generation && branch != self.live.branch && self.time.lane(branch).is_some()).then_some(branch)
    }

    pub(super) fn set_ghost(&mut self, branch: Option<BranchId>) {
        let generation = self.live.scene.as_ref().map_or(0, |scene| scene.generation);
        self.ghost.of = branch.map(|branch| (generation, branch));
        match self.ghost() {
            Some(branch) => self.log.say(format_args!("ghost branch={branch}")),
            None => self.log.say(format_args!("ghost none")),
        }
    }

    /// Hides it, or shows the branch that began last.
    pub(super) fn toggle_ghost(&mut self) {
        let newest = self.time.lanes().iter().map(|lane| lane.id).filter(|id| *id != self.live.branch).max();
        match (self.ghost(), newest) {
            (Some(_), _) => self.set_ghost(None),
            (None, Some(branch)) => self.set_ghost(Some(branch)),
            (None, None) => {
                let text = "There is no other branch to compare with yet: go back in time, change something and continue".to_owned();
                self.tell(Severity::Info, text);
            }
        }
    }

    /// On the way to another branch: if that is the ghost, what is left becomes one.
    pub(super) fn swap_ghost(&mut self, to: BranchId) {
        if self.ghost() == Some(to) {
            self.ghost.of = self.ghost.of.map(|(generation, _)| (generation, self.live.branch));
        }
    }

    /// Draws it where its branch was at the time that is shown.
    pub(super) fn place_ghost(&mut self, graphics: &mut Graphics) {
        let (live, shown) = (self.live.clone(), self.shown.clone());
        let (Some(scene), Some(view)) = (&shown.scene, &shown.view) else { return };
        let place = self.ghost().and_then(|branch| Some((branch, self.time.lane(branch)?.place_at(view.time)?)));
        let Some((branch, (step, time))) = place else {
            if self.ghost.drawn.take().is_some() {
                graphics.renderer.set_ghost(None);
                self.placed += 1;
            }
            return;
        };
        let now = Some((scene.generation, branch, step));
        if self.ghost.drawn == now {
            return;
        }
        let Some(there) = self.time.view_of(branch, time, Wants::default(), &live) else { return };
        let SurfacePositions::Host(positions) = &there.surface else { return };
        if self.ghost.drawn.is_none_or(|(of, ..)| of != scene.generation) {
            graphics.renderer.set_ghost(Some(&stage::stage(&scene.model, scene.light)));
        }
        let transforms = stage::transforms(&there.rigid_poses, &there.obstacle_poses);
        match graphics.renderer.place_ghost(positions, &transforms) {
            Ok(()) => self.ghost.drawn = now,
            Err(error) => {
                self.ghost.of = None;
                self.tell(Severity::Error, error.to_string());
            }
        }
        self.placed += 1;
    }
}
