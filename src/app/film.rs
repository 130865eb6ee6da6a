//! What films are like: their format, size and rate, and how their camera moves.

use serde::{Deserialize, Serialize};

use super::format;
use crate::record::FilmFormat;
use crate::render::Camera;

/// Frames a second of films and exports that the window offers.
pub const RATES: std::ops::RangeInclusive<f64> = 1.0..=240.0;

/// Width and height of films and pictures [px]; no adapter draws larger ones.
pub const SIZES: std::ops::RangeInclusive<u32> = 16..=32_768;

/// Seconds for a turn of the camera, or from one view to the next.
pub const MOTION_SECONDS: std::ops::RangeInclusive<f64> = 0.1..=600.0;

/// What the next films are like.
#[derive(Clone, Debug, PartialEq)]
pub struct FilmSettings {
    pub format: FilmFormat,
    /// Width and height [px]; as the view if none.
    pub size: Option<[u32; 2]>,
    /// Of simulated time; as the scene says if none.
    pub frames_per_second: Option<f64>,
    /// Bodies alone, without floor and backdrop; only pictures (PNG) can be transparent.
    pub transparent: bool,
    pub motion: Motion,
}

/// How the camera of a film moves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Motion {
    /// As the view does.
    Hand,
    /// Once around the target in so many seconds of the film.
    Turntable(f64),
    /// From one named view to the next, each in so many seconds of the film.
    Views(f64),
    /// Through the named views, each at the simulated time at which it was kept.
    Keys,
}

/// A place where the camera of a film comes by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    pub camera: Camera,
    /// Simulated time [s], if it is known.
    pub time: Option<f64>,
}

impl Default for FilmSettings {
    fn default() -> Self {
        Self { format: FilmFormat::Mp4, size: None, frames_per_second: None, transparent: false, motion: Motion::Hand }
    }
}

impl FilmSettings {
    /// Whether frames are transparent where nothing is.
    pub fn is_transparent(&self) -> bool {
        self.transparent && self.format == FilmFormat::Png
    }
}

impl Motion {
    /// Whether its seconds are some that can be chosen.
    pub fn is_sane(&self) -> bool {
        match self {
            Self::Hand | Self::Keys => true,
            Self::Turntable(seconds) | Self::Views(seconds) => MOTION_SECONDS.contains(seconds),
        }
    }

    /// The camera at a time of the film and at one of the simulation [s]; `hand` is that of the view.
    pub fn camera(&self, hand: Camera, views: &[Key], time: f64, simulated: f64) -> Camera {
        match *self {
            Self::Hand => hand,
            Self::Turntable(seconds) => {
                let mut camera = hand;
                camera.orbit((std::f64::consts::TAU * (time / seconds.max(1e-3)).fract()) as f32, 0.0);
                camera
            }
            Self::Views(seconds) => {
                let at = (time / seconds.max(1e-3)).max(0.0);
                let place = (at.floor() as usize).min(views.len().saturating_sub(1));
                match (views.get(place), views.get(place + 1)) {
                    (Some(from), Some(to)) => from.camera.towards(&to.camera, at.fract() as f32),
                    (Some(last), None) => last.camera,
                    _ => hand,
                }
            }
            Self::Keys => {
                let mut keys: Vec<(f64, Camera)> = views.iter().filter_map(|key| Some((key.time?, key.camera))).collect();
                keys.sort_by(|(a, _), (b, _)| a.total_cmp(b));
                let next = keys.partition_point(|(at, _)| *at <= simulated);
                match (next.checked_sub(1).map(|before| keys[before]), keys.get(next)) {
                    (Some((from, a)), Some((to, b))) => a.towards(b, ((simulated - from) / (to - from)) as f32),
                    (Some((_, last)), None) => last,
                    (None, Some((_, first))) => *first,
                    (None, None) => hand,
                }
            }
        }
    }
}

/// The formats of films, their names in the menu, and the endings of their files.
pub const FORMATS: [(FilmFormat, &str, &str); 3] =
    [(FilmFormat::Mp4, "MP4 film", ".mp4"), (FilmFormat::Gif, "Animated GIF", ".gif"), (FilmFormat::Png, "PNG pictures", "")];

/// What the time of a film is.
pub const TIME: &str = "A second of film is a second of simulated time: it plays at normal speed, however slowly the scene is computed.";

/// How long it takes to make 10 s of film, in words, of a scene of which so many simulated seconds pass a second now;
/// nothing while it stands still.
pub fn time_to_film(real_time_factor: Option<f64>) -> Option<String> {
    let factor = real_time_factor.filter(|factor| *factor > 0.0)?;
    Some(format!("10 s take {} or more now, at {}", format::duration(10.0 / factor), format::factor(factor)))
}

/// What a format is good for.
pub fn meaning_of_format(format: FilmFormat) -> &'static str {
    match format {
        FilmFormat::Mp4 => "One file that every player shows (H.264)",
        FilmFormat::Gif => "One file that plays in pages and chats, in 256 colours",
        FilmFormat::Png => "A folder with a picture for each frame, without loss",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_a_film_takes_is_told() {
        assert_eq!(time_to_film(Some(0.5)).as_deref(), Some("10 s take 20 s or more now, at 0.50×"));
        assert_eq!(time_to_film(Some(2.0)).as_deref(), Some("10 s take 5 s or more now, at 2.0×"));
        assert_eq!([time_to_film(None), time_to_film(Some(0.0))], [None, None]);
    }

    #[test]
    fn cameras_of_films_turn_and_go_from_view_to_view() {
        let hand = Camera::default();
        let timed = |camera: Camera, time| Key { camera, time };
        let at = |motion: Motion, views: &[Camera], time| {
            let views: Vec<Key> = views.iter().map(|camera| timed(*camera, None)).collect();
            motion.camera(hand, &views, time, 100.0)
        };
        assert_eq!(at(Motion::Hand, &[], 3.0), hand);
        let quarter = at(Motion::Turntable(8.0), &[], 2.0);
        assert!((quarter.azimuth - hand.azimuth - std::f32::consts::FRAC_PI_2).abs() < 1e-5);
        assert_eq!(at(Motion::Turntable(8.0), &[], 8.0), hand);
        let views = [hand, Camera { distance: 9.0, ..hand }, Camera { azimuth: 2.0, ..hand }];
        assert_eq!((at(Motion::Views(2.0), &views, 2.0), at(Motion::Views(2.0), &views, 99.0)), (views[1], views[2]));
        let middle = at(Motion::Views(2.0), &views, 1.0).distance;
        assert!(middle > hand.distance && middle < 9.0);
        assert_eq!(at(Motion::Views(2.0), &[], 1.0), hand, "no views are kept");

        // In the order of their times, whatever that of their names is; those of no time are passed by.
        let keys = [timed(views[2], Some(3.0)), timed(views[0], None), timed(views[1], Some(1.0)), timed(hand, Some(2.0))];
        let at = |simulated| Motion::Keys.camera(Camera { distance: 77.0, ..hand }, &keys, 50.0, simulated);
        assert_eq!([0.0, 1.0, 2.0, 3.0, 9.0].map(at), [views[1], views[1], hand, views[2], views[2]]);
        assert_eq!(at(2.25), hand.towards(&views[2], 0.25));
        assert_eq!(Motion::Keys.camera(hand, &keys[1..2], 0.0, 0.0), hand);
    }
}
