//! Films that the window records, as an independent reader and decoder find them.

use std::path::Path;

use openh264::formats::YUVSource;

use crate::driver::Driver;
use crate::scene::set;
use crate::step_of;

/// A block that is pushed along the picture at 0.5 m/s; no frame is at the end of a step but the first.
const SLIDE: &str = r#"
format = 1
title = "Slide"
[simulation]
time_step = 0.013
[[body]]
name = "slider"
kind = "driven"
shape = { type = "box", size = [0.3, 0.3, 0.3] }
position = [-0.4, 0.0, 0.0]
motion = { keyframes = [{ time = 0.0 }, { time = 4.0, position = [2.0, 0.0, 0.0] }] }
color = "coral"
[[body]]
name = "pebble"
kind = "rigid"
shape = { type = "box", size = [0.02, 0.02, 0.02] }
position = [0.0, -0.6, 0.0]
color = "sand"
[camera]
eye = [0.0, 0.0, 3.0]
target = [0.0, 0.0, 0.0]
"#;

/// A film as others see it.
struct Film {
    /// When each frame is shown, and for how long [s].
    shown: Vec<[f64; 2]>,
    size: [usize; 2],
    /// How far from the left the middle of what is orange in each frame is [px].
    places: Vec<f64>,
}

impl Film {
    fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap();
        let mp4 = re_mp4::Mp4::read_bytes(&bytes).unwrap();
        assert_eq!(mp4.tracks().len(), 1);
        let track = mp4.tracks().values().next().unwrap();
        let re_mp4::StsdBoxContent::Avc1(avc1) = &track.trak(&mp4).mdia.minf.stbl.stsd.contents else { panic!("not H.264") };
        let mut stream = vec![];
        let unit = |bytes: &[u8], stream: &mut Vec<u8>| {
            stream.extend_from_slice(&[0, 0, 0, 1]);
            stream.extend_from_slice(bytes);
        };
        avc1.avcc.sequence_parameter_sets.iter().chain(&avc1.avcc.picture_parameter_sets).for_each(|set| unit(&set.bytes, &mut stream));
        let mut decoder = openh264::decoder::Decoder::new().unwrap();
        let mut film = Self { shown: vec![], size: [0, 0], places: vec![] };
        for sample in &track.samples {
            let mut data = &bytes[sample.byte_range()];
            while let Some((length, rest)) = data.split_first_chunk::<4>() {
                let (this, rest) = rest.split_at(u32::from_be_bytes(*length) as usize);
                unit(this, &mut stream);
                data = rest;
            }
            let picture = decoder.decode(&std::mem::take(&mut stream)).unwrap().expect("every sample is a picture");
            film.shown.push([sample.composition_timestamp as f64, sample.duration as f64].map(|ticks| ticks / sample.timescale as f64));
            film.size = picture.dimensions().into();
            film.places.push(place_of_orange(&picture));
        }
        film
    }

    /// Each frame is shown at its time, and what moves evenly is where it is then.
    fn assert_even(&self, frames_per_second: f64) {
        for (k, [at, length]) in self.shown.iter().enumerate() {
            let times = [k as f64 / frames_per_second, 1.0 / frames_per_second];
            assert!((at - times[0]).abs() < 2e-5 && (length - times[1]).abs() < 2e-5, "frame {k} is shown at {at} s for {length} s");
        }
        let (first, last) = (self.places[0], self.places[self.places.len() - 1]);
        assert!(last - first > 20.0, "nothing moves: {:?}", self.places);
        for (k, place) in self.places.iter().enumerate() {
            let even = first + (last - first) * k as f64 / (self.places.len() - 1) as f64;
            // Steps of 13 ms would be up to 1.7 px away.
            assert!((place - even).abs() < 0.7, "frame {k} shows it at {place} and not at {even} px");
        }
    }
}

/// The mean place of what is more red than usual.
fn place_of_orange(picture: &impl YUVSource) -> f64 {
    let ((width, height), (_, _, stride)) = (picture.dimensions(), picture.strides());
    let (mut sum, mut count) = (0.0, 0.0);
    for (row, column) in (0..height / 2).flat_map(|row| (0..width / 2).map(move |column| (row, column))) {
        let weight = (f64::from(picture.v()[row * stride + column]) - 140.0).max(0.0);
        sum += weight * (2 * column) as f64;
        count += weight;
    }
    assert!(count > 0.0, "nothing is orange");
    sum / count
}

/// The number of frames that the window says it has recorded, and the film.
fn recorded(window: &mut Driver) -> (usize, Film) {
    let told = window.wait_for("the film", |line| line.starts_with("message") && line.contains("frames were recorded into"));
    let (before, path) = told.split_once(" frames were recorded into ").unwrap();
    (before.rsplit(' ').next().unwrap().parse().unwrap(), Film::read(Path::new(path)))
}

#[test]
fn frames_of_a_film_are_counted_and_at_their_times() {
    let folder = std::env::temp_dir().join(format!("pliant-film-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("slide.toml");
    std::fs::write(&file, SLIDE).unwrap();
    let mut window = Driver::start(&[file.to_str().unwrap(), "--backend", "cpu"]);
    window.wait("scene loaded Slide");
    window.focus();
    window.wait_for("some steps", |line| line.starts_with("step ") && step_of(line) >= 65);
    window.key("space");
    window.wait("activity Paused");

    // What was recorded between 0.1 and 0.62 s, at 25 frames a second: 14 frames.
    window.key("shift+v");
    window.click("record.past");
    set(&mut window, "record.rate", "25");
    set(&mut window, "record.from", "0.1");
    set(&mut window, "record.to", "0.62");
    window.click("record.start");
    let (count, film) = recorded(&mut window);
    assert_eq!((count, film.shown.len()), (14, 14));
    film.assert_even(25.0);
    assert!(film.size.iter().all(|n| *n > 300), "{:?}", film.size);

    // And as it comes, at the same rate.
    window.key("r");
    window.wait("step 0 ");
    window.key("v");
    window.key("space");
    window.wait("recording frame 11");
    window.key("v");
    let (count, film) = recorded(&mut window);
    assert!(count >= 12 && film.shown.len() == count, "{} of {count}", film.shown.len());
    film.assert_even(25.0);
    window.key("ctrl+q");
    assert!(window.exit_status().success());
    std::fs::remove_dir_all(&folder).unwrap();
}
