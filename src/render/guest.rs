//! Bodies that are not on the stage yet: they are drawn among its things where they would stand, and cast shadows.

use glam::Vec3;

use super::buffers::StageBuffers;
use super::pipelines::{Casters, Surfaces};
use super::renderer::{Renderer, draw_bodies, draw_soft, draw_tets};
use super::stage::{Shading, Stage};
use super::uniforms::{Frame, TetsView};

impl Renderer {
    /// Shows the soft bodies of a second stage at rest; `nodes` are theirs, `[x, y, z, _]` [m]. None shows no guest.
    pub fn set_guest(&mut self, guest: Option<(&Stage, &[[f32; 4]])>) {
        self.guest = guest.map(|(stage, nodes)| {
            let made = StageBuffers::new(&self.device, &self.pipelines, &self.maps, stage, self.options.shadow_taps);
            self.queue.write_buffer(&made.nodes, 0, bytemuck::cast_slice(&nodes[..nodes.len().min(stage.n_nodes as usize)]));
            Box::new(made)
        });
        self.stage.set_guest(guest.and_then(|(stage, _)| bounds(&stage.rest_positions)));
        self.planes_made_for = None;
        self.moved();
    }

    pub(super) fn frame_guest(&self, frame: &Frame, tets_view: &TetsView) {
        if let Some(guest) = &self.guest {
            self.queue.write_buffer(&guest.frame, 0, bytemuck::bytes_of(frame));
            self.queue.write_buffer(&guest.tets_view, 0, bytemuck::bytes_of(tets_view));
        }
    }

    /// Draws it into a depth map.
    pub(super) fn cast_guest(&self, pass: &mut wgpu::RenderPass, casters: &Casters, shading: Shading) {
        let Some(guest) = &self.guest else { return };
        pass.set_bind_group(0, &guest.frame_group, &[]);
        if shading == Shading::Tets {
            pass.set_pipeline(&casters.tets);
            pass.set_bind_group(2, &guest.tets_group, &[]);
            draw_tets(pass, guest);
        } else {
            pass.set_pipeline(&casters.body);
            draw_bodies(pass, guest);
        }
        pass.set_bind_group(0, &self.stage.frame_group, &[]);
    }

    pub(super) fn draw_guest(&self, pass: &mut wgpu::RenderPass, pipelines: &Surfaces, shading: Shading) {
        let Some(guest) = &self.guest else { return };
        pass.set_bind_group(0, &guest.frame_group, &[]);
        draw_soft(pass, pipelines, shading, guest);
        pass.set_bind_group(0, &self.stage.frame_group, &[]);
    }
}

/// The box around positions, from the lowest corner to the highest [m]; none of nothing.
fn bounds(positions: &[[f32; 4]]) -> Option<[Vec3; 2]> {
    let points = || positions.iter().map(|p| Vec3::from_slice(&p[..3]));
    Some([points().reduce(Vec3::min)?, points().reduce(Vec3::max)?])
}
