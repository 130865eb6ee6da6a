//! The whole window without a window: real scenes, real panels, events of mouse and keys, and pictures of all of it.
//!
//! With `PLIANT_SCREENS=FOLDER` the pictures of all panels are written there, to be looked at.

mod brush;
mod cut;
mod draft;
mod entries;
mod hints;
mod naming;
mod plane;
mod seeing;
mod undo;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use egui::accesskit::{Action as AccessAction, NodeId, TreeUpdate};
use egui::{Event, Key, Modifiers, PointerButton, Pos2, RawInput, Rect, pos2, vec2};

use super::Session;
use crate::app::AppOptions;
use crate::app::SceneSource;
use crate::app::autosave::{Autosave, LeftBehind};
use crate::app::events::EventLog;
use crate::app::exporting::Span;
use crate::app::graphics::{Graphics, Panels, Picture};
use crate::app::history::Rebuild;
use crate::app::opener::opener;
use crate::app::selection::{Item, Pick};
use crate::app::tools::Tool;
use crate::app::ui::access::without_signs;
use crate::app::ui::{
    Action, After, ContextMenu, Help, Hints, LostPast, PathField, PathPurpose, RecordAction, TimeAction, Toggle, UiState, theme,
};
use crate::app::verifier::Verifier;
use crate::app::worker::{Notice, Severity, Worker};
use crate::gpu;
use crate::scene::BackendChoice;
use crate::sim::{Field, Options};
use crate::step::SurfacePositions;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(120);

struct Bench {
    session: Session,
    graphics: Graphics,
    context: egui::Context,
    size: [u32; 2],
    scale: f32,
    frames: u32,
    /// The event log.
    told: PathBuf,
    /// Where the named widgets were in the last frame, in points.
    places: BTreeMap<String, Rect>,
    tree: Option<TreeUpdate>,
    /// Words that had no room in the last frame; those that are typed are scrolled.
    cut: Vec<String>,
    /// All words of the last frame, and where they were.
    words: Vec<(Rect, String)>,
}

impl Bench {
    /// A scene of the gallery at its start, paused.
    fn open(scene: &str) -> Self {
        let device = gpu::test_device();
        let options =
            AppOptions { scene: SceneSource::Gallery(scene.into()), backend: Some(BackendChoice::Cpu), adapter: None, log_events: None };
        let worker = Worker::spawn(opener(device.clone(), &options), Autosave::new(None), || {}).unwrap();
        let verifier = Verifier::new(Options { backend: options.backend, ..Options::default() });
        static OPENED: AtomicU32 = AtomicU32::new(0);
        let told = std::env::temp_dir().join(format!("pliant-bench-{}-{}", std::process::id(), OPENED.fetch_add(1, Ordering::Relaxed)));
        let mut session = Session::new(worker, EventLog::open(Some(&told)).unwrap(), verifier, None);
        session.ui.hints = Hints::default();
        session.open(options.scene);
        let context = egui::Context::default();
        theme::install(&context);
        context.enable_accesskit();
        let graphics = Graphics::offscreen(device, [1280, 800]);
        let (size, scale, places) = ([1280, 800], 1.0, BTreeMap::new());
        let mut bench = Self { session, graphics, context, size, scale, frames: 0, told, places, tree: None, cut: vec![], words: vec![] };
        bench.until("the scene", |session| session.shown.view.is_some());
        if bench.session.shown.playing() {
            bench.key(Key::Space);
        }
        bench.until("a pause", |session| !session.shown.playing());
        bench
    }

    fn resize(&mut self, size: [u32; 2], scale: f32) {
        (self.size, self.scale) = (size, scale);
        self.graphics.resize(winit::dpi::PhysicalSize::new(size[0], size[1]));
    }

    fn frame(&mut self, events: Vec<Event>) {
        self.draw_frame(events, false);
    }

    /// One frame as the window has it; the picture of it is drawn where it is wanted.
    fn draw_frame(&mut self, events: Vec<Event>, is_drawn: bool) {
        self.frames += 1;
        let points = vec2(self.size[0] as f32, self.size[1] as f32) / self.scale;
        let mut input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, points)),
            time: Some(f64::from(self.frames) / 20.0),
            events,
            focused: true,
            ..RawInput::default()
        };
        input.viewports.entry(egui::ViewportId::ROOT).or_default().native_pixels_per_point = Some(self.scale);
        self.session.receive(&mut self.graphics);
        let mut output = self.session.frame(&self.context, input, &mut self.graphics);
        self.places = self.session.log.places().clone();
        self.tree = output.platform_output.accesskit_update.take();
        self.tree.iter_mut().for_each(without_signs);
        self.cut = cut::cut_off(&output.shapes);
        self.words = cut::words(&output.shapes);
        let typed = self.tree.iter().flat_map(|tree| &tree.nodes).filter(|(_, node)| node.role() == egui::Role::TextInput);
        let typed: Vec<&str> = typed.filter_map(|(_, node)| node.value()).collect();
        self.cut.retain(|words| !typed.contains(&words.trim()));
        let pixels_per_point = output.pixels_per_point;
        let primitives = self.context.tessellate(output.shapes, pixels_per_point);
        // Textures have to reach the device in any case.
        let panels = Panels { textures: output.textures_delta, primitives: if is_drawn { primitives } else { vec![] }, pixels_per_point };
        // The scene takes longest to draw, and is not always looked at.
        let picture = Picture { size: if is_drawn { self.session.picture().size } else { [0, 0] }, ..self.session.picture() };
        assert!(self.graphics.draw(picture, &self.session.overlays(), panels));
    }

    /// The window as it is now.
    fn picture(&mut self) -> crate::render::Image {
        self.settle();
        self.draw_frame(vec![], true);
        self.graphics.image()
    }

    /// Keeps a picture where they are wanted.
    fn write(&self, name: &str, image: &crate::render::Image) {
        if let Some(folder) = std::env::var_os("PLIANT_SCREENS") {
            crate::record::save_png(&PathBuf::from(folder).join(format!("{name}.png")), image).unwrap();
        }
    }

    fn until(&mut self, what: &str, holds: impl Fn(&Session) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds(&self.session) {
            assert!(Instant::now() < deadline, "waited in vain for {what}");
            self.frame(vec![]);
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Until nothing on the panels moves any more.
    fn settle(&mut self) {
        for _ in 0..40 {
            let before = self.places.clone();
            self.frame(vec![]);
            if self.places == before && !self.session.lookup.is_busy() {
                break;
            }
        }
        // Fades end.
        self.frames += 40;
        self.frame(vec![]);
        self.frame(vec![]);
    }

    /// How much has happened that is no widget.
    fn told(&self) -> usize {
        let text = std::fs::read_to_string(&self.told).unwrap();
        text.lines().filter(|line| !line.starts_with("widget ") && !line.starts_with("gone ")).count()
    }

    fn place(&self, widget: &str) -> Pos2 {
        self.places.get(widget).unwrap_or_else(|| panic!("{widget} is not among {:?}", self.places.keys())).center()
    }

    fn click(&mut self, widget: &str) {
        let at = self.place(widget);
        self.click_at(at, PointerButton::Primary);
    }

    fn click_at(&mut self, pos: Pos2, button: PointerButton) {
        let press = |pressed| Event::PointerButton { pos, button, pressed, modifiers: Modifiers::NONE };
        for events in [vec![Event::PointerMoved(pos)], vec![press(true)], vec![press(false)]] {
            self.frame(events);
        }
        self.settle();
    }

    fn key(&mut self, key: Key) {
        self.key_with(key, Modifiers::NONE);
    }

    fn key_with(&mut self, key: Key, modifiers: Modifiers) {
        for pressed in [true, false] {
            self.frame(vec![Event::Key { key, physical_key: None, pressed, repeat: false, modifiers }]);
        }
        self.settle();
    }

    /// Plays up to a step, and stands still.
    fn play_to(&mut self, step: u64) {
        self.key(Key::Space);
        self.until("some steps", |session| session.shown.view.as_ref().is_some_and(|view| view.step >= step));
        self.key(Key::Space);
        self.until("a pause", |session| !session.shown.playing());
    }

    /// Whether the entry at a named place cannot be chosen now.
    fn is_grey(&self, widget: &str) -> bool {
        let (at, update) = (self.place(widget), self.tree.as_ref().unwrap());
        let is_there = |node: &egui::accesskit::Node| {
            let middle = node.bounds().map(|b| [0.5 * (b.x0 + b.x1), 0.5 * (b.y0 + b.y1)]);
            middle.is_some_and(|[x, y]| (x - f64::from(at.x)).abs() < 2.0 && (y - f64::from(at.y)).abs() < 2.0)
        };
        update.nodes.iter().any(|(_, node)| is_there(node) && node.supports_action(AccessAction::Click) && node.is_disabled())
    }

    /// Controls that can be clicked, and have no name: by their role and place.
    fn nameless(&self) -> Vec<String> {
        let update = self.tree.as_ref().unwrap();
        let nodes: BTreeMap<NodeId, _> = update.nodes.iter().map(|(id, node)| (*id, node)).collect();
        let has_words = |text: Option<&str>| text.is_some_and(|text| text.chars().any(char::is_alphanumeric));
        let is_named = |node: &egui::accesskit::Node| {
            let by_others =
                node.labelled_by().iter().any(|id| nodes.get(id).is_some_and(|by| has_words(by.label()) || has_words(by.value())));
            has_words(node.label()) || has_words(node.placeholder()) || by_others
        };
        let controls = update.nodes.iter().filter(|(_, node)| node.supports_action(AccessAction::Click) && !node.is_disabled());
        // Texts can be clicked to be copied, and bars to scroll.
        let is_text = |node: &egui::accesskit::Node| matches!(node.role(), egui::Role::Label | egui::Role::ScrollBar);
        let nameless = controls.filter(|(_, node)| !is_named(node) && !is_text(node));
        nameless
            .map(|(_, node)| {
                let at = node.bounds().map(|b| [b.x0, b.y0, b.x1, b.y1].map(f64::round));
                let near = at.and_then(|[x0, y0, ..]| {
                    let at = pos2(x0 as f32 + 1.0, y0 as f32 + 1.0);
                    self.places.iter().find(|(_, rect)| rect.contains(at)).map(|(name, _)| name.clone())
                });
                format!("{:?} at {at:?} (near {near:?}), value {:?}", node.role(), node.value())
            })
            .collect()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = std::fs::remove_file(&self.told);
    }
}

/// A state of the window that shows a panel.
type Screen = (&'static str, fn(&mut UiState), &'static [&'static str]);

/// All panels, with widgets that nothing may cut off.
const SCREENS: &[Screen] = &[
    ("scene", |_| {}, &["menu.Help", "toggle.panel", "transport.play", "transport.screenshot"]),
    ("body", |ui| ui.selection.pick(&Item::body("bunny"), Pick::Only, &[]), &["selection.clear", "selection.material"]),
    ("material", |ui| ui.selection.pick(&Item::table("material.jelly"), Pick::Only, &[]), &["value.preset"]),
    ("simulation", |ui| ui.selection.pick(&Item::table("simulation"), Pick::Only, &[]), &["selection.clear"]),
    ("contact", |ui| ui.selection.pick(&Item::table("contact"), Pick::Only, &[]), &["selection.clear"]),
    ("plots", |ui| ui.plots.open = true, &["plots.close", "plots.csv", "transport.play"]),
    ("stress", |ui| ui.field = Some(Field::VonMises), &["colour.close"]),
    (
        "inside",
        |ui| {
            ui.inside.open = true;
            ui.inside.cuts = true;
        },
        &["inside.close"],
    ),
    ("ruler", |ui| ui.tool = Some(Tool::Ruler), &[]),
    ("brush", |ui| ui.toggle(Toggle::Brush), &["brush.paint", "brush.material", "brush.radius", "brush.close"]),
    ("verify", |ui| ui.verify_open = true, &["verify.close", "verify.run"]),
    ("keys", |ui| ui.keys_open = true, &["keys.close"]),
    ("about", |ui| ui.about_open = true, &[]),
    ("start", |ui| ui.start_open = true, &["start.back"]),
    ("gallery", |ui| ui.gallery_open = true, &["gallery.close"]),
    ("palette", |ui| ui.toggle(Toggle::Palette), &["palette.field"]),
    ("film", |ui| ui.record.open = true, &["record.close", "record.start"]),
    ("export", |ui| ui.toggle(Toggle::Export), &["record.close", "export.start"]),
    ("guide", |ui| ui.help = Some(Help::at(0)), &["help.close", "help.page.methods"]),
    ("methods", |ui| ui.help = Some(Help::at(6)), &["help.close"]),
    ("path", |ui| ui.path_field = Some(PathField::new(String::new(), PathPurpose::Open)), &["path.field", "path.open", "path.cancel"]),
    ("unsaved", |ui| ui.unsaved = Some(After::Quit), &["unsaved.cancel", "unsaved.save"]),
    ("contacts", |ui| ui.contacts = true, &[]),
    ("panels", |ui| (ui.tree_open, ui.plots.open) = (Some(true), true), &["tree.add", "plots.close", "transport.screenshot"]),
    (
        "hint",
        |ui| {
            ui.hints = Hints::all();
            ui.field = Some(Field::PrincipalStress);
        },
        &["hint.close", "hint.next", "colour.close", "colour.low", "colour.high"],
    ),
    (
        "menu",
        |ui| {
            let at = pos2(990.0, 590.0);
            ui.selection.pick(&Item::body("bunny"), Pick::Only, &[]);
            ui.menu = Some(ContextMenu { at, can_pin: true, pin: None, held: Some(1), is_ground: true });
        },
        &["item.Pin_here", "item.Let_go", "item.Back_to_the_start"],
    ),
    (
        "lost past",
        |ui| ui.lost_past = Some(LostPast { lost: "12.3 s and 2 branches".into(), rebuild: Rebuild::Start }),
        &["lost_past.go_on", "lost_past.save", "lost_past.cancel"],
    ),
    (
        "left behind",
        |ui| {
            ui.left_behind = Some(LeftBehind { path: "a.session".into(), scene: "scenes/a long name of a scene.toml".into(), steps: 1234 })
        },
        &["left_behind.continue", "left_behind.discard"],
    ),
    ("view name", |ui| ui.toggle(Toggle::SaveView), &["view.name", "view.save"]),
    (
        "message",
        |ui| {
            let text = "The session is in a folder with a long name. It says all that was done. ".repeat(4);
            ui.tell(Notice { severity: Severity::Error, text, file: Some("a.session".into()), scene: None });
        },
        &["toast.close", "toast.details", "toast.folder"],
    ),
];

/// Sizes of the window [px], and pixels per point.
const SIZES: [([u32; 2], f32); 4] = [([1000, 600], 1.0), ([1280, 720], 1.0), ([2560, 1440], 1.0), ([2560, 1600], 2.0)];

/// The panels as at first, without hints.
fn panels(dark: bool) -> UiState {
    let mut ui = UiState::default();
    ui.hints = Hints::default();
    ui.dark = dark;
    ui
}

fn shown(bench: &mut Bench, screen: &Screen, dark: bool) {
    bench.session.ui = panels(dark);
    screen.1(&mut bench.session.ui);
    bench.settle();
    // Colours come from a thread of their own.
    let deadline = Instant::now() + PATIENCE;
    while !screen.2.iter().all(|widget| bench.places.contains_key(*widget)) && Instant::now() < deadline {
        bench.frame(vec![]);
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn every_control_has_a_name_in_words() {
    let mut bench = Bench::open("bunny");
    for screen in SCREENS {
        shown(&mut bench, screen, true);
        let nameless = bench.nameless();
        assert!(nameless.is_empty(), "{}: {nameless:#?}", screen.0);
    }
}

#[test]
fn nothing_is_cut_off_at_any_size() {
    let keeps = std::env::var_os("PLIANT_SCREENS").is_some();
    let mut bench = Bench::open("bunny");
    // Something to be seen: the bunny has landed.
    bench.key(Key::Space);
    bench.until("a landing", |session| session.shown.view.as_ref().is_some_and(|view| view.time > 1.0));
    bench.key(Key::Space);
    bench.until("a pause", |session| !session.shown.playing());
    for (size, scale) in SIZES {
        bench.resize(size, scale);
        let room = Rect::from_min_size(Pos2::ZERO, vec2(size[0] as f32, size[1] as f32) / scale).expand(0.5);
        for screen in SCREENS {
            for dark in [true, false] {
                shown(&mut bench, screen, dark);
                for widget in screen.2 {
                    let rect = bench.places.get(*widget).unwrap_or_else(|| panic!("{}: {widget} at {size:?}", screen.0));
                    assert!(room.contains_rect(*rect), "{}: {widget} is at {rect:?} of {room:?}", screen.0);
                }
                assert!(bench.cut.is_empty(), "{}: there is no room at {size:?} for {:?}", screen.0, bench.cut);
                if keeps {
                    let image = bench.picture();
                    let theme = if dark { "dark" } else { "light" };
                    bench.write(&format!("{}-{}x{}@{scale}-{theme}", screen.0, size[0], size[1]), &image);
                }
            }
        }
    }
}

/// What entries change of the panels' state.
fn fingerprint(bench: &Bench) -> String {
    let ui = &bench.session.ui;
    format!(
        "{:?}",
        (
            (ui.panels_visible, ui.inspector_open, ui.tree_open, ui.keys_open, ui.about_open, ui.start_open, ui.gallery_open),
            (ui.verify_open, ui.verify_selected, &ui.path_field, ui.dark, ui.options, ui.contacts, ui.field, ui.hold_range, ui.checkups),
            (ui.plots.open, ui.inside.open, ui.tool, ui.record.open, &ui.film, &ui.view_name, ui.help.is_some(), ui.is_modal()),
            (bench.session.grip, &bench.session.wishes.dialog, bench.session.wishes.quit, bench.session.is_playing()),
            (bench.session.shown.scene.as_ref().map(|scene| scene.generation), bench.session.viewpoint.camera),
            (bench.told(), ui.selection.items().len()),
        )
    )
}

const SUBMENUS: [&str; 6] =
    ["menu.File.Recent", "menu.File.Films", "menu.Add", "menu.Edit.Holding", "menu.View.Colour", "menu.View.Camera"];

/// Each entry of each menu does something, or is grey.
#[test]
fn every_entry_of_the_menus_does_something() {
    let mut bench = Bench::open("bunny");
    let menus = ["menu.File", "menu.Edit", "menu.View", "menu.Verify", "menu.Help"];
    let mut n_entries = 0;
    for menu in menus {
        bench.session.ui = panels(true);
        bench.settle();
        let without: Vec<String> = bench.places.keys().cloned().collect();
        bench.click(menu);
        let is_entry = |name: &&String| !without.contains(name) && !SUBMENUS.contains(&name.as_str());
        let entries: Vec<String> = bench.places.keys().filter(is_entry).cloned().collect();
        assert!(!entries.is_empty(), "{menu} is empty");
        bench.key(Key::Escape);
        for entry in entries.into_iter().filter(|entry| !["item.Quit", "menu.View.Surfaces"].contains(&entry.as_str())) {
            bench.session.ui = panels(true);
            bench.settle();
            bench.click(menu);
            let is_grey = bench.is_grey(&entry);
            let before = fingerprint(&bench);
            bench.click(&entry);
            let deadline = Instant::now() + Duration::from_secs(20);
            while !is_grey && fingerprint(&bench) == before {
                assert!(Instant::now() < deadline, "{menu}: {entry} does nothing");
                bench.frame(vec![]);
                std::thread::sleep(Duration::from_millis(2));
            }
            n_entries += 1;
            bench.until("the scene", |session| session.shown.view.is_some());
        }
    }
    assert!(n_entries > 30, "{n_entries}");
}

/// What the window is for: a bar is softened while it runs and sags more; that is undone in another branch, which is
/// compared with the first as a ghost.
#[test]
fn a_bar_is_softened_branched_and_compared() {
    let mut bench = Bench::open("cantilever");
    let lowest = |session: &Session| -> f32 {
        let view = session.shown.view.as_ref().unwrap();
        let SurfacePositions::Host(positions) = &view.surface else { panic!("on the device") };
        positions.iter().map(|p| p[1]).fold(f32::INFINITY, f32::min)
    };
    let step = |session: &Session| session.shown.view.as_ref().unwrap().step;
    let plays = |bench: &mut Bench, to: u64| {
        bench.key(Key::Space);
        bench.until("some steps", |session| !session.is_in_past() && step(session) >= to);
        bench.key(Key::Space);
        bench.until("a pause", |session| !session.shown.playing());
    };
    plays(&mut bench, 150);
    let (stiff, first) = (lowest(&bench.session), step(&bench.session));

    // Looked back at, softened there: a branch.
    bench.click("timeline.start");
    bench.until("the past", |session| session.is_in_past() && step(session) < first);
    let given = bench.session.document.as_ref().unwrap().scene().given("material.rubber.young_modulus").unwrap();
    let softer = format!("{:e}", 0.25 * given.replace('_', "").parse::<f64>().unwrap());
    bench.session.act(Action::Edit { values: vec![("material.rubber.young_modulus".into(), softer)], gesture: None });
    bench.until("a branch", |session| session.live.branch == 2 && !session.is_in_past());
    plays(&mut bench, 150);
    let soft = lowest(&bench.session);
    assert!(soft < stiff - 0.02, "it sags to {soft} m and not to {stiff} m");

    // The first branch as a ghost is a veil over the picture, gone with the next press.
    let without = bench.picture();
    bench.key(Key::G);
    assert_eq!(bench.session.ghost(), Some(1));
    let with = bench.picture();
    let changed = |a: &crate::render::Image, b: &crate::render::Image| {
        a.pixels.chunks_exact(4).zip(b.pixels.chunks_exact(4)).filter(|(a, b)| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > 12)).count()
    };
    assert!(changed(&without, &with) > 3000, "{} pixels are veiled", changed(&without, &with));
    bench.write("ghost", &with);
    // Going to its branch swaps the two.
    bench.session.act(Action::Time(TimeAction::Show(1, None)));
    bench.until("the first branch", |session| session.live.branch == 1);
    assert_eq!(bench.session.ghost(), Some(2));
    bench.key(Key::G);
    assert_eq!(bench.session.ghost(), None);
}

/// Films, pictures and exports are written beside the window, kept or thrown away, and waited for by who quits.
#[test]
fn files_are_written_beside_the_window() {
    let mut bench = Bench::open("cantilever");
    let told = bench.told.clone();
    let lines = move |begin: &str| -> Vec<String> {
        let text = std::fs::read_to_string(&told).unwrap();
        text.lines().filter_map(|line| line.strip_prefix(begin)).map(str::to_owned).collect()
    };
    let film = |bench: &mut Bench| {
        bench.key(Key::V);
        bench.until("a frame", |session| session.recorder.as_ref().is_some_and(|recorder| recorder.frames > 0));
        bench.session.recorder.as_ref().unwrap().path.clone()
    };
    let thrown_away = film(&mut bench);
    bench.settle();
    bench.click("recording.discard");
    bench.until("that it is gone", |_| lines("thrown away ") == [thrown_away.display().to_string()]);
    assert!(bench.session.recorder.is_none() && !thrown_away.exists());
    let kept = film(&mut bench);
    assert_ne!(kept, thrown_away);
    bench.key(Key::V);
    bench.until("the film", |_| lines("message ").iter().any(|line| line.ends_with(&kept.display().to_string())));
    assert!(kept.exists());

    // Where the past is looked at, the moment that is seen is exported, if its surfaces are enough.
    bench.play_to(20);
    bench.click("timeline.start");
    bench.until("the past", Session::is_in_past);
    let time_of = |ending: &'static str, bench: &mut Bench| {
        let n = lines("message 1 frame was exported into ").len();
        bench.session.act_on_record(RecordAction::Export { ending, span: Span::Now }, &mut bench.graphics);
        bench.until("the export", |_| lines("message 1 frame was exported into ").len() > n);
        PathBuf::from(lines("message 1 frame was exported into ").last().unwrap())
    };
    let path = time_of("obj", &mut bench);
    let frame = path.with_file_name(format!("{}_00000.obj", path.file_stem().unwrap().to_string_lossy()));
    let first = std::fs::read_to_string(frame).unwrap().lines().next().unwrap().to_owned();
    let time = bench.session.shown.view.as_ref().unwrap().time;
    assert!(first.contains(&format!("time {time} s")) && bench.session.is_in_past(), "{first}, {time} s");
    assert!(time_of("pliant", &mut bench).exists() && bench.session.is_in_past());

    // A large picture says so before it is drawn.
    bench.session.act_on_record(RecordAction::Picture { size: [1400, 300], transparent: true }, &mut bench.graphics);
    bench.frame(vec![]);
    assert!(bench.places.contains_key("work.cancel") && lines("screenshot ").is_empty());
    bench.until("the picture", |_| lines("screenshot ").len() == 1);
    assert!(PathBuf::from(&lines("screenshot ")[0]).exists());

    // Who quits does not lose the film, nor wait for it in a window that stands still.
    bench.session.go_live();
    let last = film(&mut bench);
    bench.session.quit();
    assert!(bench.session.recorder.is_none());
    bench.until("the end", |session| session.wishes.quit);
    assert!(last.exists());
}
