//! The winit side: one window, its events, and when to draw.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use egui_winit::accesskit_winit;
use winit::application::ApplicationHandler;
use winit::dpi::LogicalSize;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop, EventLoopProxy};
use winit::window::{Window, WindowId};

use super::AppOptions;
use super::autosave::{Autosave, LeftBehind, autosave_folder, left_behind, sessions_in};
use super::events::EventLog;
use super::files::{self, Chosen};
use super::graphics::{Graphics, Panels};
use super::opener::opener;
use super::recent::config_folder;
use super::session::{Answered, Session};
use super::settings::WindowSettings;
use super::ui::access::without_signs;
use super::ui::{PathPurpose, theme};
use super::verifier::Verifier;
use super::worker::{Severity, Worker};
use crate::sim::Options;

/// Opens the window and stays until it is closed.
pub fn run(options: AppOptions) -> anyhow::Result<()> {
    let event_loop = EventLoop::<Message>::with_user_event().build().map_err(|error| {
        tracing::debug!("{error}");
        anyhow::anyhow!(
            "there is no display to open a window on. On a machine without one, `pliant run SCENE` computes a scene headless, \
             and `pliant run SCENE --record DIR` draws it too"
        )
    })?;
    let mut app = App { proxy: event_loop.create_proxy(), options, live: None, failure: None };
    let ended = event_loop.run_app(&mut app);
    // The worker's thread and the device end before the process does.
    drop(app.live.take());
    match (app.failure, ended) {
        (Some(error), _) => Err(error),
        (None, Err(error)) => {
            tracing::debug!("{error}");
            Err(anyhow::anyhow!("the connection to the window system was lost"))
        }
        (None, Ok(())) => Ok(()),
    }
}

/// From other threads to the window's.
#[derive(Debug)]
enum Message {
    /// The worker has something new.
    Wake,
    Chosen(PathPurpose, Chosen),
    /// What an earlier program has left.
    Left(LeftBehind),
    /// A screen reader came, went or asks for something.
    Access(accesskit_winit::WindowEvent),
}

impl From<accesskit_winit::Event> for Message {
    fn from(event: accesskit_winit::Event) -> Self {
        Self::Access(event.window_event)
    }
}

struct App {
    proxy: EventLoopProxy<Message>,
    options: AppOptions,
    live: Option<Live>,
    failure: Option<anyhow::Error>,
}

/// The open window.
struct Live {
    session: Session,
    graphics: Graphics,
    window: Arc<Window>,
    context: egui::Context,
    input: egui_winit::State,
    /// A `Wake` is under way or not yet looked at.
    woken: Arc<AtomicBool>,
    /// When the first input came that no frame has answered yet, and the frames that have begun since.
    input_at: Option<(Instant, u32)>,
    /// When the next frame is wanted by an animation.
    repaint_at: Option<Instant>,
    /// A new snapshot waits to be drawn.
    stale: bool,
    last_frame: Instant,
    /// How long the last frame took.
    frame_time: Duration,
    title: String,
}

/// Size of the window at first, in points.
const SIZE: LogicalSize<f64> = LogicalSize::new(1280.0, 800.0);
/// The least size in which every panel works, in points.
const LEAST_SIZE: LogicalSize<f64> = LogicalSize::new(720.0, 480.0);
/// What a desktop's own bars and the title bar take of the height of a screen, in points: the window system says
/// neither before the window is open.
const DESKTOP_BARS: f64 = 90.0;
/// The part of the width of a screen that the window takes at most, as a dock may stand beside it.
const MOST_OF_WIDTH: f64 = 0.94;

/// The size of the window on a screen, all in points: as large as wanted, as far as there is room.
fn size_on_screen(wanted: LogicalSize<f64>, screen: LogicalSize<f64>) -> LogicalSize<f64> {
    let room = LogicalSize::new(MOST_OF_WIDTH * screen.width, screen.height - DESKTOP_BARS);
    LogicalSize::new(wanted.width.min(room.width).max(LEAST_SIZE.width), wanted.height.min(room.height).max(LEAST_SIZE.height))
}

/// On software adapters drawing takes the processor from the simulation: leave it this many times as long as a frame
/// took.
const SOFTWARE_REST: u32 = 2;

impl ApplicationHandler<Message> for App {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        if self.live.is_none() {
            match Live::open(event_loop, &self.options, self.proxy.clone()) {
                Ok(live) => self.live = Some(live),
                Err(error) => {
                    self.failure = Some(error);
                    event_loop.exit();
                }
            }
        }
    }

    fn user_event(&mut self, _: &ActiveEventLoop, message: Message) {
        let Some(live) = &mut self.live else { return };
        match message {
            Message::Wake => {
                live.woken.store(false, Ordering::Release);
                live.stale = true;
            }
            Message::Chosen(purpose, chosen) => {
                live.session.chosen(purpose, chosen);
                live.window.request_redraw();
            }
            Message::Left(left) => {
                live.session.ui.left_behind = Some(left);
                live.window.request_redraw();
            }
            Message::Access(event) => live.access(event),
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let Some(live) = &mut self.live else { return };
        match &event {
            WindowEvent::CloseRequested => {
                live.session.quit();
                live.window.request_redraw();
            }
            WindowEvent::RedrawRequested => {
                live.redraw();
                if live.session.wishes.quit {
                    live.session.keep_window(live.window_settings());
                    event_loop.exit();
                }
                if let Some(purpose) = live.session.wishes.dialog.take() {
                    live.choose_file(purpose, &self.proxy);
                }
                return;
            }
            WindowEvent::Resized(size) => live.graphics.resize(*size),
            WindowEvent::DroppedFile(path) => live.session.dropped(path.clone()),
            WindowEvent::Focused(false) => live.session.cancel(),
            WindowEvent::CursorMoved { .. } | WindowEvent::MouseInput { .. } | WindowEvent::KeyboardInput { .. } => {
                live.input_at.get_or_insert_with(|| (Instant::now(), 0));
            }
            _ => {}
        }
        let response = live.input.on_window_event(&live.window, &event);
        if response.repaint {
            live.window.request_redraw();
        }
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        let Some(live) = &mut self.live else { return };
        let now = Instant::now();
        let mut next = live.repaint_at;
        if live.stale {
            let rest = if live.graphics.device.is_hardware() { Duration::ZERO } else { live.frame_time * SOFTWARE_REST };
            let at = live.last_frame + rest;
            next = Some(next.map_or(at, |next| next.min(at)));
        }
        match next {
            Some(at) if at <= now => {
                live.window.request_redraw();
                event_loop.set_control_flow(ControlFlow::Wait);
            }
            Some(at) => event_loop.set_control_flow(ControlFlow::WaitUntil(at)),
            None => event_loop.set_control_flow(ControlFlow::Wait),
        }
    }
}

impl Live {
    fn open(event_loop: &ActiveEventLoop, options: &AppOptions, proxy: EventLoopProxy<Message>) -> anyhow::Result<Self> {
        let log = options.log_events.as_deref();
        let log = EventLog::open(log).with_context(|| format!("cannot write events to {}", log.unwrap_or(Path::new("")).display()))?;
        let config = config_folder();
        let kept = WindowSettings::read(config.as_deref());
        let wanted = kept.size.map_or(SIZE, |[width, height]| LogicalSize::new(width, height));
        let screen = event_loop.primary_monitor().or_else(|| event_loop.available_monitors().next());
        let size = screen.map_or(wanted, |screen| size_on_screen(wanted, screen.size().to_logical(screen.scale_factor())));
        let attributes = Window::default_attributes().with_title("Pliant").with_inner_size(size).with_min_inner_size(LEAST_SIZE);
        // What serves screen readers must be there before the window is seen.
        let attributes = attributes.with_maximized(kept.maximized).with_visible(false);
        let window = Arc::new(event_loop.create_window(attributes).map_err(|error| {
            tracing::debug!("{error}");
            anyhow::anyhow!("the window system refused to open a window")
        })?);
        let graphics = Graphics::open(window.clone(), event_loop.owned_display_handle(), options.adapter.clone())?;
        let context = egui::Context::default();
        context.options_mut(|options| {
            options.max_passes = std::num::NonZeroUsize::MIN; // what a frame asks for is asked for once
            options.input_options.max_click_duration = 10.0; // slow frames make slow clicks
        });
        theme::install(&context);
        context.set_zoom_factor(kept.zoom());
        let texture_limit = graphics.device.limits.max_texture_dimension_2d as usize;
        let scale = Some(window.scale_factor() as f32);
        let mut input =
            egui_winit::State::new(context.clone(), egui::ViewportId::ROOT, &window, scale, window.theme(), Some(texture_limit));
        input.init_accesskit(event_loop, &window, proxy.clone());
        window.set_visible(true);
        let woken = Arc::new(AtomicBool::new(false));
        let open = opener(graphics.device.clone(), options);
        let autosaves = autosave_folder(config.as_deref());
        look_for_left_behind(autosaves.as_deref(), proxy.clone());
        let worker = Worker::spawn(open, Autosave::new(autosaves), {
            let woken = woken.clone();
            move || {
                // One message is enough until it is read; the loop may be gone already.
                if !woken.swap(true, Ordering::AcqRel) {
                    let _ = proxy.send_event(Message::Wake);
                }
            }
        })
        .context("the simulation's thread could not be started")?;
        let mut session = Session::new(
            worker,
            log,
            Verifier::new(Options { backend: options.backend, adapter: options.adapter.clone(), ..Options::default() }),
            config.as_deref(),
        );
        session.open(options.scene.clone());
        window.request_redraw();
        Ok(Self {
            session,
            graphics,
            window,
            context,
            input,
            woken,
            input_at: None,
            repaint_at: None,
            stale: false,
            last_frame: Instant::now(),
            frame_time: Duration::ZERO,
            title: String::new(),
        })
    }

    /// What the next start shall find: a maximised window leaves its other size as it was.
    fn window_settings(&self) -> WindowSettings {
        let maximized = self.window.is_maximized();
        let LogicalSize { width, height } = self.window.inner_size().to_logical::<f64>(self.window.scale_factor());
        WindowSettings { size: (!maximized).then_some([width, height]), maximized, zoom: Some(self.context.zoom_factor()) }
    }

    fn access(&mut self, event: accesskit_winit::WindowEvent) {
        match event {
            accesskit_winit::WindowEvent::InitialTreeRequested => self.context.enable_accesskit(),
            accesskit_winit::WindowEvent::ActionRequested(request) => self.input.on_accesskit_action_request(request),
            accesskit_winit::WindowEvent::AccessibilityDeactivated => self.context.disable_accesskit(),
        }
        self.window.request_redraw();
    }

    fn redraw(&mut self) {
        let start = Instant::now();
        self.stale = false;
        if let Some((_, frames)) = &mut self.input_at {
            *frames += 1;
        }
        self.session.receive(&mut self.graphics);
        let input = self.input.take_egui_input(&self.window);
        let mut output = self.session.frame(&self.context, input, &mut self.graphics);
        if let Some(update) = &mut output.platform_output.accesskit_update {
            without_signs(update);
        }
        self.input.handle_platform_output(&self.window, output.platform_output);
        let delay = output.viewport_output.get(&egui::ViewportId::ROOT).map_or(Duration::MAX, |viewport| viewport.repaint_delay);
        self.repaint_at = start.checked_add(delay);
        let panels = Panels {
            textures: output.textures_delta,
            primitives: self.context.tessellate(output.shapes, output.pixels_per_point),
            pixels_per_point: output.pixels_per_point,
        };
        if self.graphics.draw(self.session.picture(), &self.session.overlays(), panels) {
            self.session.presented(self.input_at.take().map(|(at, frames)| Answered {
                after: at.elapsed(),
                frames,
                frame: start.elapsed(),
            }));
        }
        if let Some(fault) = self.graphics.device.fault() {
            self.session.device_fault(&fault.to_string());
        }
        let title = self.session.title();
        if title != self.title {
            self.window.set_title(&title);
            self.title = title;
        }
        self.last_frame = Instant::now();
        self.frame_time = start.elapsed();
    }

    fn choose_file(&mut self, purpose: PathPurpose, proxy: &EventLoopProxy<Message>) {
        let proxy = proxy.clone();
        let asked = files::choose_file(purpose, &self.session.file_stem(), move |chosen| {
            // The window may be closed before the dialog is.
            let _ = proxy.send_event(Message::Chosen(purpose, chosen));
        });
        if let Err(error) = asked {
            self.session.tell(Severity::Error, format!("The file dialog could not be opened: {error}."));
        }
    }
}

/// Reads what earlier programs have left on a thread of its own: long sessions take a while. Which files there are is
/// settled before, so that the session of this program is not among them.
fn look_for_left_behind(folder: Option<&Path>, proxy: EventLoopProxy<Message>) {
    let sessions = folder.map(sessions_in).unwrap_or_default();
    let look = move || {
        if let Some(left) = left_behind(sessions) {
            // The window may be closed already.
            let _ = proxy.send_event(Message::Left(left));
        }
    };
    // Without the thread it is offered at the next start.
    if let Err(error) = std::thread::Builder::new().name("left behind".into()).spawn(look) {
        tracing::debug!("{error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_fits_between_the_bars_of_the_desktop() {
        let on = |width, height| {
            let size = size_on_screen(SIZE, LogicalSize::new(width, height));
            [size.width, size.height]
        };
        assert_eq!(on(1920.0, 1080.0), [1280.0, 800.0], "as wanted");
        // 2560 x 1440 at 2x: the bars at the top and the bottom of the screen leave less than its height.
        let [width, height] = on(1280.0, 720.0);
        assert!(width < 1280.0 && height <= 720.0 - DESKTOP_BARS, "{width} x {height}");
        assert_eq!(on(640.0, 400.0), [720.0, 480.0], "no smaller than every panel works");
    }
}
