//! The surface of the window, and the two pictures on it: the 3D view and the panels over it.

use std::sync::Arc;

use anyhow::Context as _;
use winit::dpi::PhysicalSize;
use winit::event_loop::OwnedDisplayHandle;
use winit::window::Window;

use super::panel_painter::{PanelPainter, PanelShapes};
use crate::gpu;
use crate::render::{Camera, Overlays, RenderOptions, Renderer, ViewOptions};

pub struct Graphics {
    canvas: Canvas,
    format: wgpu::TextureFormat,
    size: [u32; 2],
    pub device: Arc<gpu::Device>,
    pub renderer: Renderer,
    panels: PanelPainter,
    view: Option<View>,
    /// The view, for the panels to show.
    pub view_texture: egui::TextureId,
}

/// What frames are drawn on.
enum Canvas {
    Window {
        surface: wgpu::Surface<'static>,
        configuration: Box<wgpu::SurfaceConfiguration>,
    },
    /// For tests: a picture of the window as it would be.
    #[cfg(test)]
    Picture(Box<wgpu::Texture>),
}

/// Content of the 3D view. It is drawn anew only when this changes: panels alone cost little, also on software
/// adapters.
#[derive(Clone, Copy, PartialEq)]
pub struct Picture {
    /// Width and height [px].
    pub size: [u32; 2],
    pub camera: Camera,
    pub options: ViewOptions,
    /// Whether contacts are marked, and faults of meshes.
    pub marks: [bool; 2],
    /// Counts the changes of the stage and of positions on it.
    pub version: u64,
}

/// The 3D view as a texture.
struct View {
    target: wgpu::TextureView,
    shows: Picture,
}

/// The panels of one frame.
pub struct Panels {
    pub textures: egui::TexturesDelta,
    pub primitives: Vec<egui::ClippedPrimitive>,
    pub pixels_per_point: f32,
}

impl Graphics {
    /// Opens the one device of the program on an adapter that can draw to the window.
    pub fn open(window: Arc<Window>, display: OwnedDisplayHandle, adapter: Option<String>) -> anyhow::Result<Self> {
        let size = window.inner_size();
        let instance = gpu::instance(Some(Box::new(display)));
        let surface = instance.create_surface(window).context("the window cannot be drawn to by this graphics system")?;
        let device = gpu::Device::open(&gpu::DeviceRequest { adapter, instance: Some(instance), surface: Some(&surface) })?;
        let mut configuration = surface
            .get_default_config(&device.adapter, size.width.max(1), size.height.max(1))
            .with_context(|| format!("adapter \"{}\" cannot present to this window; choose another with --adapter", device.info.name))?;
        // The panels and the renderer encode colours themselves.
        let formats = surface.get_capabilities(&device.adapter).formats;
        let plain = [wgpu::TextureFormat::Bgra8Unorm, wgpu::TextureFormat::Rgba8Unorm];
        configuration.format = plain.into_iter().find(|format| formats.contains(format)).unwrap_or(configuration.format);
        configuration.present_mode = if device.is_hardware() { wgpu::PresentMode::AutoVsync } else { wgpu::PresentMode::AutoNoVsync };
        surface.configure(&device.device, &configuration);
        let format = configuration.format;
        let canvas = Canvas::Window { surface, configuration: Box::new(configuration) };
        Ok(Self::on(canvas, device, format, [size.width.max(1), size.height.max(1)]))
    }

    /// Without a window.
    #[cfg(test)]
    pub fn offscreen(device: Arc<gpu::Device>, size: [u32; 2]) -> Self {
        let format = wgpu::TextureFormat::Rgba8Unorm;
        let canvas = Canvas::Picture(Box::new(texture(&device.device, format, size)));
        Self::on(canvas, device, format, size)
    }

    fn on(canvas: Canvas, device: Arc<gpu::Device>, format: wgpu::TextureFormat, size: [u32; 2]) -> Self {
        let options = RenderOptions::for_adapter(&device.info, format);
        let renderer = Renderer::new(&device.device, &device.queue, options);
        let mut panels = PanelPainter::new(&device.device, &device.queue, format);
        let nothing = texture(&device.device, format, [1, 1]).create_view(&wgpu::TextureViewDescriptor::default());
        let view_texture = panels.register(&nothing);
        Self { canvas, format, size, device, renderer, panels, view: None, view_texture }
    }

    pub fn size(&self) -> [u32; 2] {
        self.size
    }

    pub fn resize(&mut self, size: PhysicalSize<u32>) {
        let limit = self.device.limits.max_texture_dimension_2d;
        let size = [size.width.clamp(1, limit), size.height.clamp(1, limit)];
        if size == std::mem::replace(&mut self.size, size) {
            return;
        }
        match &mut self.canvas {
            Canvas::Window { surface, configuration } => {
                [configuration.width, configuration.height] = size;
                surface.configure(&self.device.device, configuration);
            }
            #[cfg(test)]
            Canvas::Picture(picture) => **picture = texture(&self.device.device, self.format, size),
        }
    }

    /// Draws and presents a frame; false when the window cannot show one now.
    pub fn draw(&mut self, picture: Picture, overlays: &Overlays, panels: Panels) -> bool {
        let Panels { mut textures, primitives, pixels_per_point } = panels;
        let gpu = self.device.clone();
        let (device, queue) = (&gpu.device, &gpu.queue);
        // Textures change whether or not the frame is shown; in which order is all the same.
        #[expect(clippy::iter_over_hash_type)]
        for (id, deltas) in textures.set.drain() {
            for delta in &deltas {
                self.panels.update_texture(id, delta);
            }
        }
        let drawn = match self.acquire() {
            None => false,
            Some(frame) => {
                let target = frame.texture().create_view(&wgpu::TextureViewDescriptor::default());
                let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("app/frame") });
                self.draw_view(&mut encoder, picture, overlays);
                let shapes = PanelShapes { primitives: &primitives, size: self.size(), pixels_per_point };
                self.panels.draw(&mut encoder, &target, shapes);
                queue.submit([encoder.finish()]);
                match frame {
                    Frame::Window(frame) => queue.present(frame),
                    #[cfg(test)]
                    Frame::Picture(_) => {}
                }
                true
            }
        };
        #[expect(clippy::iter_over_hash_type)]
        for id in textures.free.drain() {
            self.panels.free_texture(&id);
        }
        drawn
    }

    fn draw_view(&mut self, encoder: &mut wgpu::CommandEncoder, picture: Picture, overlays: &Overlays) {
        let [width, height] = picture.size;
        if width == 0 || height == 0 || self.view.as_ref().is_some_and(|view| view.shows == picture) {
            return;
        }
        let target = match self.view.take().filter(|view| view.shows.size == picture.size) {
            Some(view) => view.target,
            None => {
                let device = &self.device.device;
                let target = texture(device, self.format, picture.size).create_view(&wgpu::TextureViewDescriptor::default());
                self.panels.replace(self.view_texture, &target);
                target
            }
        };
        self.renderer.draw(encoder, &target, [0, 0, width, height], &picture.camera, &picture.options, overlays);
        self.view = Some(View { target, shows: picture });
    }

    fn acquire(&mut self) -> Option<Frame> {
        match &self.canvas {
            Canvas::Window { surface, configuration } => {
                for _ in 0..2 {
                    match surface.get_current_texture() {
                        wgpu::CurrentSurfaceTexture::Success(frame) | wgpu::CurrentSurfaceTexture::Suboptimal(frame) => {
                            return Some(Frame::Window(frame));
                        }
                        wgpu::CurrentSurfaceTexture::Outdated | wgpu::CurrentSurfaceTexture::Lost => {
                            surface.configure(&self.device.device, configuration);
                        }
                        _ => return None,
                    }
                }
                None
            }
            #[cfg(test)]
            Canvas::Picture(picture) => Some(Frame::Picture((**picture).clone())),
        }
    }

    /// The frame that was drawn last.
    #[cfg(test)]
    pub fn image(&self) -> crate::render::Image {
        let Canvas::Picture(picture) = &self.canvas else { panic!("a window keeps no picture") };
        crate::render::Image::of_texture(&self.device.device, &self.device.queue, picture).unwrap()
    }
}

/// Where a frame is drawn.
enum Frame {
    Window(wgpu::SurfaceTexture),
    #[cfg(test)]
    Picture(wgpu::Texture),
}

impl Frame {
    fn texture(&self) -> &wgpu::Texture {
        match self {
            Self::Window(frame) => &frame.texture,
            #[cfg(test)]
            Self::Picture(picture) => picture,
        }
    }
}

fn texture(device: &wgpu::Device, format: wgpu::TextureFormat, [width, height]: [u32; 2]) -> wgpu::Texture {
    device.create_texture(&wgpu::TextureDescriptor {
        label: Some("app/view"),
        size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    })
}
