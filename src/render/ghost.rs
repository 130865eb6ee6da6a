//! A second picture of the same things, as a veil: where everything is on another branch of the past.

use glam::Mat4;

use super::RenderError;
use super::buffers::StageBuffers;
use super::renderer::{Renderer, draw_bodies, draw_rigids};
use super::stage::{Stage, Theme};
use super::uniforms::Frame;

impl Renderer {
    /// Shows a second set of the stage's things, at rest until it is placed; none hides it.
    pub fn set_ghost(&mut self, stage: Option<&Stage>) {
        let made = stage.map(|stage| StageBuffers::new(&self.device, &self.pipelines, &self.maps, stage, self.options.shadow_taps));
        self.ghost = made.map(Box::new);
        self.moved();
    }

    /// Moves it: surface vertices `[x, y, z, _]` [m], and rigid things from their frames, in the stage's order.
    pub fn place_ghost(&mut self, positions: &[[f32; 4]], transforms: &[Mat4]) -> Result<(), RenderError> {
        let Some(ghost) = &mut self.ghost else { return Ok(()) };
        for (what, given, expected) in [
            ("surface vertices", positions.len(), ghost.around.n_vertices as usize),
            ("rigid things", transforms.len(), self.transforms.len()),
        ] {
            if given != expected {
                return Err(RenderError::Count { what, given, expected });
            }
        }
        ghost.set_host_positions(&self.queue, positions);
        ghost.set_transforms(&self.queue, transforms, &Theme::DARK);
        self.moved();
        Ok(())
    }

    pub(super) fn frame_ghost(&mut self, frame: &Frame) {
        if let Some(ghost) = &mut self.ghost {
            ghost.hidden.clone_from(&self.stage.hidden);
            self.queue.write_buffer(&ghost.frame, 0, bytemuck::bytes_of(frame));
        }
    }

    /// Over what is drawn.
    pub(super) fn draw_ghost(&self, pass: &mut wgpu::RenderPass) {
        let Some(ghost) = &self.ghost else { return };
        pass.set_bind_group(0, &ghost.frame_group, &[]);
        pass.set_pipeline(&self.pipelines.veils.body);
        draw_bodies(pass, ghost);
        pass.set_pipeline(&self.pipelines.veils.rigid);
        draw_rigids(pass, ghost, true);
        pass.set_bind_group(0, &self.stage.frame_group, &[]);
    }
}
