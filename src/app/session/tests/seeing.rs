//! What is told of contacts under the mouse, how fast the past is played, and how films look through named views.

use super::*;
use crate::app::film::Motion;
use crate::app::ui::CameraAction;
use crate::record::FilmFormat;
use crate::render::{Camera, Image};
use crate::stage;

impl Bench {
    /// Looks at a step of the past; its time [s].
    fn look_back_to(&mut self, step: u64) -> f64 {
        self.session.act(Action::Time(TimeAction::Scrub(step)));
        self.until("the past", |session| session.is_in_past() && session.shown.view.as_ref().unwrap().step == step);
        self.session.shown.view.as_ref().unwrap().time
    }
}

#[test]
fn a_contact_says_its_forces_under_the_mouse() {
    let mut bench = Bench::open("incline");
    bench.play_to(40);
    bench.session.ui.contacts = true;
    bench.until("contacts", |session| !session.contacts().is_empty());
    let mark = bench.session.contacts()[0];
    let ([x, y], _) = bench.session.viewpoint.camera.project(stage::glam_vec(&mark.point), bench.session.viewport()).unwrap();
    bench.frame(vec![Event::PointerMoved(pos2(x, y) / bench.scale)]);
    bench.settle();
    let said = bench.all_words().join("; ");
    for words in ["block – plane", "push ", "friction ", "of the push", "the cone of 0."] {
        assert!(said.contains(words), "{words} is not in {said}");
    }
    // Beside it nothing is said.
    bench.frame(vec![Event::PointerMoved(pos2(x, y) / bench.scale + vec2(0.0, -120.0))]);
    bench.settle();
    assert!(!bench.all_words().iter().any(|words| words.contains("of the push")));
}

/// At any speed, and at the greatest one every picture once; the picture is that of the time that has passed.
#[test]
fn the_past_is_played_at_the_speed_that_is_chosen() {
    let mut bench = Bench::open("cantilever");
    bench.session.act(Action::SetSpeed(f64::INFINITY));
    bench.play_to(120);
    let step = bench.session.shown.scene.as_ref().unwrap().scene.as_ref().unwrap().live_values().params.time_step;
    for speed in [0.1, 0.5, 2.0] {
        let from = bench.look_back_to(10);
        bench.session.act(Action::SetSpeed(speed));
        bench.until("the speed", |session| session.live.speed == speed);
        let before = Instant::now();
        bench.session.play_or_pause();
        let begun = Instant::now();
        let mut shown = from;
        while shown < from + 0.3 * speed && bench.session.is_in_past() {
            let earliest = begun.elapsed().as_secs_f64();
            bench.frame(vec![]);
            let latest = before.elapsed().as_secs_f64();
            shown = bench.session.shown.view.as_ref().unwrap().time;
            let [earliest, latest] = [earliest, latest].map(|seconds| from + speed * seconds);
            let is_at_end = !bench.session.is_in_past();
            assert!(
                is_at_end || (earliest - 1.01 * step..=latest + 1e-9).contains(&shown),
                "{speed}: {shown} s, not {earliest} to {latest} s"
            );
        }
        bench.session.act(Action::Time(TimeAction::Live));
        bench.session.worker.send(crate::app::worker::Request::Pause);
        bench.until("a pause", |session| !session.shown.playing());
    }
    bench.look_back_to(10);
    bench.session.act(Action::SetSpeed(f64::INFINITY));
    bench.until("the speed", |session| session.live.speed.is_infinite());
    bench.session.play_or_pause();
    for step in 11..30 {
        bench.frame(vec![]);
        assert_eq!(bench.session.shown.view.as_ref().unwrap().step, step);
    }
}

/// Two views are kept, each while another time is looked at; a film of what is between these goes from the one to the
/// other, and is at each at its time.
#[test]
fn the_camera_of_a_film_goes_through_views_at_their_times() {
    let mut bench = Bench::open("cantilever");
    bench.play_to(40);
    let home = bench.session.viewpoint.camera;
    let cameras = [Camera { azimuth: home.azimuth + 0.8, ..home }, Camera { distance: 1.7 * home.distance, ..home }];
    let mut times = [0.0; 2];
    // The later one is kept first, and its name comes first.
    for (k, step, name) in [(1, 30, "a"), (0, 10, "b")] {
        times[k] = bench.look_back_to(step);
        bench.session.viewpoint.camera = cameras[k];
        bench.session.act(Action::Camera(CameraAction::Save(name.into())));
    }
    let film = &mut bench.session.ui.film;
    (film.motion, film.format, film.frames_per_second) = (Motion::Keys, FilmFormat::Png, Some(2.0 / (times[1] - times[0])));
    film.size = Some([320, 180]);
    bench.session.viewpoint.camera = home;
    bench.session.act_on_record(RecordAction::Past(times), &mut bench.graphics);
    let folder = bench.session.recorder.as_ref().unwrap().path.clone();
    bench.until("the film", |session| session.recorder.is_none());
    bench.until("its files", |_| (0..3).all(|k| folder.join(format!("frame_{k:05}.png")).exists()));
    bench.until("its end", |session| session.job_view().is_none());
    let differ = |a: &Image, b: &[u8]| {
        let pairs = a.pixels.chunks_exact(4).zip(b.chunks_exact(3));
        pairs.filter(|(a, b)| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > 12)).count()
    };
    let middle = cameras[0].towards(&cameras[1], 0.5);
    for (k, step, camera) in [(0, 10, cameras[0]), (1, 20, middle), (2, 30, cameras[1])] {
        bench.look_back_to(step);
        bench.settle();
        let frame = pixels(&folder.join(format!("frame_{k:05}.png")));
        let pixels = bench.session.pixels_per_point * 180.0 / bench.session.viewport()[3] as f32;
        let mut seen = |camera: Camera| {
            let overlays = bench.session.overlays_from(&camera, [0, 0, 320, 180], pixels);
            bench.graphics.renderer.capture([320, 180], &camera, &bench.session.options(), &overlays).unwrap()
        };
        let ([from_there, from_home], all) = ([camera, home].map(&mut seen), 320 * 180);
        assert!(differ(&from_there, &frame) < all / 200, "frame {k}: {} pixels differ", differ(&from_there, &frame));
        assert!(differ(&from_home, &frame) > all / 50, "frame {k}: {} pixels differ", differ(&from_home, &frame));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

fn pixels(path: &std::path::Path) -> Vec<u8> {
    let mut reader = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(path).unwrap())).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!(info.color_type, png::ColorType::Rgb);
    pixels
}
