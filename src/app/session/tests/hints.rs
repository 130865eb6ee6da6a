//! What the panels say: the hint of each entry of the menus, the numbers of the legend; and that entries do something.

use super::*;
use crate::app::ui::CheckAction;
use crate::app::worker::Activity;
use crate::scene::Scene;
use crate::sim::Simulation;
use crate::verify::CHECKS;

const MENUS: [&str; 6] = ["menu.File", "menu.Edit", "menu.Gallery", "menu.View", "menu.Verify", "menu.Help"];

/// Something that can be clicked: its words and its place, in points.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    id: NodeId,
    words: String,
    rect: Rect,
}

impl Bench {
    /// All nodes of the tree of screen readers for which this holds.
    fn entries(&self, holds: impl Fn(&egui::accesskit::Node) -> bool) -> Vec<Entry> {
        let of_node = |(id, node): &(NodeId, egui::accesskit::Node)| {
            let bounds = node.bounds().filter(|_| holds(node))?;
            // In points: the root of the tree says how many pixels these are.
            let [x0, y0, x1, y1] = [bounds.x0, bounds.y0, bounds.x1, bounds.y1].map(|x| x as f32);
            let is_number = node.role() == egui::Role::SpinButton;
            let words = node.label().filter(|_| !is_number).or(node.value()).unwrap_or_default().to_owned();
            Some(Entry { id: *id, words, rect: Rect::from_min_max(pos2(x0, y0), pos2(x1, y1)) })
        };
        self.tree.as_ref().unwrap().nodes.iter().filter_map(of_node).collect()
    }

    /// What can be clicked, also where it is grey.
    fn clickable(&self) -> Vec<Entry> {
        self.entries(|node| {
            let is_control = matches!(node.role(), egui::Role::Button | egui::Role::RadioButton | egui::Role::CheckBox);
            is_control && (node.supports_action(AccessAction::Click) || node.is_disabled())
        })
    }

    /// The words of the hint that is open, and its place.
    fn hint(&self) -> Option<Entry> {
        let layer = self.context.memory(|memory| {
            let layers = memory.areas().visible_layer_ids();
            layers.into_iter().find(|layer| layer.order == egui::Order::Tooltip)
        })?;
        let rect = self.context.memory(|memory| memory.area_rect(layer.id))?;
        let words = self.entries(|node| node.role() == egui::Role::Label).into_iter().filter(|text| rect.contains_rect(text.rect));
        Some(Entry { id: NodeId(0), words: words.map(|text| text.words).collect::<Vec<_>>().join(" "), rect })
    }

    /// Rests the mouse there.
    fn rest_at(&mut self, at: Pos2) {
        // It comes from beside it.
        for at in [at + vec2(-2.0, 0.0), at] {
            self.frame(vec![Event::PointerMoved(at)]);
        }
        self.settle();
    }

    /// Opens a menu; its entries.
    fn open_menu(&mut self, menu: &str) -> Vec<Entry> {
        self.session.ui = panels(true);
        egui::Popup::close_all(&self.context);
        self.frame(vec![Event::PointerMoved(pos2(1.0, 1.0))]);
        self.settle();
        let before = self.clickable();
        self.click(menu);
        self.new_since(&before)
    }

    /// Opens a menu and one in it, with the bar selected; the entries of that.
    fn open_submenu(&mut self, menu: &str, submenu: &str) -> Vec<Entry> {
        self.open_menu(menu);
        self.session.ui.selection.pick(&Item::body("bar"), Pick::Only, &[]);
        self.settle();
        let before = self.clickable();
        self.rest_at(self.place(submenu));
        self.new_since(&before)
    }

    /// Whether an entry cannot be chosen now, or is already.
    fn is_chosen_or_grey(&self, entry: &Entry) -> bool {
        let is_so = |node: &egui::accesskit::Node| node.is_disabled() || node.toggled() == Some(egui::accesskit::Toggled::True);
        self.tree.as_ref().unwrap().nodes.iter().any(|(id, node)| *id == entry.id && is_so(node))
    }

    /// What can be clicked and could not be before.
    fn new_since(&self, before: &[Entry]) -> Vec<Entry> {
        self.clickable().into_iter().filter(|entry| before.iter().all(|known| known.id != entry.id)).collect()
    }

    /// Rests the mouse on each entry of a menu, and of those in it while they are open; how many there are. `faults`:
    /// what is missing.
    fn read_menu(&mut self, menu: &str, faults: &mut Vec<String>) -> usize {
        let entries = self.open_menu(menu);
        assert!(!entries.is_empty(), "{menu} is empty");
        let mut n_entries = entries.len();
        for entry in &entries {
            let path = format!("{menu} > {}", entry.words);
            let (before, all_before) = (self.clickable(), self.entries(|_| true));
            if self.read_entry(entry, &path, faults) {
                continue;
            }
            // What leads on to a menu opens it instead; that may only say that there is nothing yet.
            let is_new = |entry: &Entry| all_before.iter().all(|known| known.id != entry.id);
            if !self.entries(|_| true).iter().any(is_new) {
                faults.push(format!("{path}: it has no hint"));
            }
            let more = self.new_since(&before);
            n_entries += more.len();
            for entry in &more {
                let path = format!("{path} > {}", entry.words);
                if !self.read_entry(entry, &path, faults) {
                    faults.push(format!("{path}: it has no hint"));
                }
            }
        }
        n_entries
    }

    /// Rests the mouse on an entry; whether it has a hint.
    fn read_entry(&mut self, entry: &Entry, path: &str, faults: &mut Vec<String>) -> bool {
        let room = Rect::from_min_size(Pos2::ZERO, vec2(self.size[0] as f32, self.size[1] as f32) / self.scale);
        let mut fault = |what: String| faults.push(format!("{path}: {what}"));
        if !room.contains_rect(entry.rect) {
            fault(format!("it is at {:?} of {room:?}", entry.rect));
        }
        self.rest_at(entry.rect.center());
        let Some(hint) = self.hint() else { return false };
        if hint.words.len() <= 10 || hint.words == entry.words {
            fault(format!("its hint says {:?}", hint.words));
        }
        if !room.contains_rect(hint.rect) {
            fault(format!("its hint is at {:?} of {room:?}", hint.rect));
        }
        true
    }
}

/// Under the mouse each entry of each menu says what it does, grey or not; neither it nor its hint is cut off.
#[test]
fn every_entry_of_the_menus_has_a_hint() {
    let mut bench = Bench::open("bunny");
    // The smallest window has the least room, whether a point is one pixel or two.
    let ([width, height], _) = SIZES[0];
    let [coarse, fine] = [1, 2].map(|scale| {
        bench.resize([scale * width, scale * height], scale as f32);
        let mut faults = vec![];
        let n_entries: usize = MENUS.iter().map(|menu| bench.read_menu(menu, &mut faults)).sum();
        assert!(faults.is_empty(), "{scale} pixels a point: {faults:#?}");
        n_entries
    });
    assert!(coarse > 100 && coarse == fine, "{coarse} {fine}");
}

/// Each entry of the menus within menus does something, unless it is chosen already.
#[test]
fn every_entry_of_the_menus_in_menus_does_something() {
    let mut bench = Bench::open("cantilever");
    // What is added makes the scene anew: that comes last.
    for (menu, submenu, least) in [
        ("menu.File", "menu.File.Films", 3),
        ("menu.Edit", "menu.Edit.Holding", 2),
        ("menu.View", "menu.View.Colour", 10),
        ("menu.View", "menu.View.Camera", 9),
        ("menu.Edit", "menu.Add", 15),
    ] {
        let n_entries = bench.open_submenu(menu, submenu).len();
        assert!(n_entries >= least, "{submenu} has {n_entries} entries");
        let mut n_chosen = 0;
        for place in 0..n_entries {
            let entry = bench.open_submenu(menu, submenu)[place].clone();
            if bench.is_chosen_or_grey(&entry) {
                n_chosen += 1;
                continue;
            }
            let before = fingerprint(&bench);
            bench.click_at(entry.rect.center(), PointerButton::Primary);
            let deadline = Instant::now() + Duration::from_secs(20);
            while fingerprint(&bench) == before {
                assert!(Instant::now() < deadline, "{submenu}: {} does nothing", entry.words);
                bench.frame(vec![]);
                std::thread::sleep(Duration::from_millis(2));
            }
            let is_built = |session: &Session| !matches!(session.shown.activity, Activity::Building { .. }) && session.shown.view.is_some();
            bench.until("the scene", is_built);
        }
        assert!(n_chosen <= 1, "{submenu}: {n_chosen} entries are chosen already");
    }
}

/// Each entry of the menu Gallery opens its scene, and each of the experiments in a menu of their own, with the first
/// click; their pictures come while the menu is open.
#[test]
fn every_entry_of_the_gallery_opens_its_scene() {
    let mut bench = Bench::open("cantilever");
    let entries = crate::app::ui::gallery();
    let n_experiments = entries.iter().filter(|entry| entry.experiment).count();
    assert!(entries.len() - n_experiments > 5 && n_experiments > 15, "{n_experiments} of {}", entries.len());
    for entry in entries {
        bench.open_menu("menu.Gallery");
        if entry.experiment {
            bench.rest_at(bench.place("menu.Gallery.Experiments"));
        }
        let generation = |session: &Session| session.shown.scene.as_ref().map(|scene| scene.generation);
        let before = generation(&bench.session);
        bench.click(&format!("gallery.{}", entry.name));
        let is_it = |scene: &str| scene == entry.title || entry.is_session();
        bench.until(entry.name, |session| match &session.shown.activity {
            Activity::Building { name, .. } => name == entry.name,
            _ => generation(session) != before && session.shown.scene.as_ref().is_some_and(|scene| is_it(&scene.name)),
        });
    }
}

/// Each check of the menu Verify is begun by its entry.
#[test]
fn every_check_is_begun_by_its_entry() {
    let mut bench = Bench::open("cantilever");
    for (place, check) in CHECKS.iter().enumerate() {
        let entries = bench.open_menu("menu.Verify");
        let entry = entries.iter().find(|entry| entry.words == check.title).unwrap_or_else(|| panic!("{} is not there", check.title));
        bench.click_at(entry.rect.center(), PointerButton::Primary);
        let board = bench.session.verifier.board();
        let is_begun = board.running.is_some_and(|(running, _)| running == place) || board.rows[place].is_some();
        let shown = (bench.session.ui.verify_open, bench.session.ui.verify_selected);
        assert!(is_begun && shown == (true, place), "{}: {shown:?}", check.title);
        bench.session.act(Action::Checks(CheckAction::Cancel));
        bench.until("its end", |session| !session.verifier.is_running());
    }
}

/// How long a film will be is said before one is recorded: under the mouse, and on the sheet.
#[test]
fn the_time_of_films_is_said() {
    let mut bench = Bench::open("cantilever");
    bench.key(Key::Space);
    bench.until("the real-time factor", |session| session.shown.real_time_factor.is_some_and(|factor| factor > 0.0));
    let at = bench.place("transport.record");
    bench.rest_at(at);
    let hint = bench.hint().unwrap().words;
    assert!(hint.contains("A second of film is a second of simulated time") && hint.contains("To make, 10 s take "), "{hint}");
    bench.key(Key::Space);
    bench.until("a pause", |session| !session.shown.playing());

    bench.key_with(Key::V, Modifiers::SHIFT);
    let says = |bench: &Bench, words: &str| bench.entries(|_| true).iter().any(|entry| entry.words.contains(words));
    assert!(says(&bench, "A second of film is a second of simulated time") && says(&bench, "until stopped"));
    // So many frames as are made of the past, and so long.
    bench.click("record.past");
    let [start, end] = bench.session.time.recorded(bench.session.live.branch).unwrap();
    let rate = bench.session.shown.scene.as_ref().unwrap().frames_per_second;
    let frames = ((end - start) * rate + 1e-6).floor() + 1.0;
    assert!(says(&bench, &format!("{:.2} s, {frames:.0} frames", frames / rate)), "{start} to {end} s at {rate}/s");
}

/// The numbers at the ends of the legend are the range of the field of the step that is shown, now and in the past.
#[test]
fn the_legend_says_the_range_of_the_stress() {
    let mut bench = Bench::open("cantilever");
    bench.play_to(30);
    let last = bench.session.shown.view.as_ref().unwrap().step;

    // The same run without a window.
    let options = Options { backend: Some(BackendChoice::Cpu), ..Options::default() };
    let mut run = Simulation::new(crate::scene::build(&Scene::builtin("cantilever").unwrap()).unwrap(), &options).unwrap();
    let mut most = vec![0.0];
    for _ in 0..last {
        run.step().unwrap();
        let mut values = run.field(Field::VonMises).unwrap().vertices;
        values.sort_by(f32::total_cmp);
        // One in a hundred may be beyond the range.
        most.push(f64::from(values[(values.len() - 1) * 99 / 100]));
    }
    for step in [last, 12] {
        bench.session.ui.field = None;
        bench.until("the bodies' own colours", |session| session.coloring.is_none());
        if step < last {
            bench.session.act(Action::Time(TimeAction::Scrub(step)));
            bench.until("the past", |session| session.is_in_past() && session.shown.view.as_ref().unwrap().step == step);
        }
        bench.session.ui.field = Some(Field::VonMises);
        bench.until("colours", |session| session.coloring.is_some());
        bench.settle();
        let fields = bench.entries(|node| node.role() == egui::Role::SpinButton);
        let [low, high] = ["colour.low", "colour.high"].map(|widget| {
            let at = bench.place(widget);
            let field = fields.iter().find(|field| field.rect.contains(at)).unwrap_or_else(|| panic!("{widget} has no number"));
            let (number, unit) = field.words.split_once(' ').unwrap_or((&field.words, "Pa"));
            let factor = ["Pa", "kPa", "MPa"].iter().position(|known| *known == unit).map(|k| 1e3f64.powi(k as i32));
            number.parse::<f64>().unwrap_or_else(|error| panic!("{widget}: {:?}: {error}", field.words))
                * factor.unwrap_or_else(|| panic!("{widget}: {}", field.words))
        });
        let expected = most[step as usize];
        assert!(
            low == 0.0 && expected > 100.0 && (high - expected).abs() < 0.006 * expected,
            "step {step}: {low} to {high}, not {expected}"
        );
    }
    assert!((most[12] / most[last as usize] - 1.0).abs() > 0.1, "the two steps do not differ");
}

/// What lies over the view while something is under way, or is to be known, has room in every window.
#[test]
fn what_is_under_way_is_not_cut_off() {
    let mut bench = Bench::open("cantilever");
    let within = |bench: &mut Bench, what: &str, widgets: &[&str]| {
        for (size, scale) in SIZES {
            bench.resize(size, scale);
            bench.settle();
            let room = Rect::from_min_size(Pos2::ZERO, vec2(size[0] as f32, size[1] as f32) / scale);
            for widget in widgets {
                let rect = bench.places.get(*widget).unwrap_or_else(|| panic!("{what}: {widget} is not there at {size:?}"));
                assert!(room.contains_rect(*rect), "{what}: {widget} is at {rect:?} of {room:?}");
            }
            if std::env::var_os("PLIANT_SCREENS").is_some() {
                let image = bench.picture();
                bench.write(&format!("{what}-{}x{}@{scale}-dark", size[0], size[1]), &image);
            }
        }
    };
    // A film that waits for a simulation that stands still.
    bench.key(Key::V);
    within(&mut bench, "recording", &["recording.stop", "recording.discard", "transport.record"]);
    bench.click("recording.discard");
    bench.until("its end", |session| session.recorder.is_none());

    // The building of a large scene, which is ended.
    let folder = std::env::temp_dir().join(format!("pliant-under-way-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("a scene with a name that is longer than most names of scenes are.toml");
    let block = "format = 1\n[[body]]\nname = \"block\"\nshape = { type = \"box\", size = [1.0, 1.0, 1.0], cells = [40, 40, 40] }\n";
    std::fs::write(&file, block).unwrap();
    let is_building = |session: &Session| matches!(session.shown.activity, Activity::Building { .. });
    bench.session.open(SceneSource::Path(file));
    bench.until("the building", is_building);
    within(&mut bench, "building", &["building.cancel"]);
    bench.click("building.cancel");
    bench.until("its end", |session| !is_building(session));
    std::fs::remove_dir_all(&folder).unwrap();

    // The sheet of a mesh with holes.
    bench.session.open(SceneSource::Path(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/mushroom_open.off").into()));
    bench.until("the mesh", |session| session.shown.scene.as_ref().is_some_and(|scene| scene.import.is_some()));
    bench.until("its picture", |session| session.shown.view.is_some());
    within(&mut bench, "import", &["import.close", "import.size", "import.save", "import.done"]);
}
