//! Views that the user has named, kept in the configuration folder for each scene.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::film::Key;
use crate::output::{OutputError, OutputFile, create_folder};
use crate::render::Camera;

/// A view with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedView {
    pub name: String,
    /// [m]
    target: [f32; 3],
    distance: f32,
    /// [rad]
    azimuth: f32,
    elevation: f32,
    field_of_view: f32,
    /// Simulated time at which it was kept [s].
    #[serde(default)]
    pub time: Option<f64>,
}

impl NamedView {
    pub fn new(name: String, camera: &Camera, time: Option<f64>) -> Self {
        let Camera { target, distance, azimuth, elevation, fov_y } = *camera;
        Self { name, target: target.to_array(), distance, azimuth, elevation, field_of_view: fov_y, time }
    }

    /// Where the camera of a film comes by; none if there is no camera.
    pub fn key(&self) -> Option<Key> {
        Some(Key { camera: self.camera()?, time: self.time.filter(|time| time.is_finite()) })
    }

    /// The camera; none if a hand has written what no camera can be.
    pub fn camera(&self) -> Option<Camera> {
        let Self { target, distance, azimuth, elevation, field_of_view, .. } = *self;
        let camera = Camera { target: target.into(), distance, azimuth, elevation, fov_y: field_of_view };
        let numbers = [distance, azimuth, elevation, field_of_view];
        let is_sound = camera.target.is_finite() && numbers.iter().all(|x| x.is_finite()) && distance > 0.0;
        (is_sound && (1e-4..3.0).contains(&field_of_view) && elevation.abs() < 1.6).then_some(camera)
    }
}

/// The named views of all scenes, by what the command line calls a scene.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Views {
    of_scenes: BTreeMap<String, Vec<NamedView>>,
    file: Option<PathBuf>,
}

impl Views {
    /// Those in `folder`; none when there are none yet or they cannot be read.
    pub fn load(folder: Option<&Path>) -> Self {
        let file = folder.map(|folder| folder.join("views.json"));
        let text = file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        Self { of_scenes: text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default(), file }
    }

    pub fn of(&self, scene: &str) -> &[NamedView] {
        self.of_scenes.get(scene).map_or(&[], Vec::as_slice)
    }

    /// Keeps a view, in place of one of the same name; the error is a sentence.
    pub fn save(&mut self, scene: &str, view: NamedView) -> Result<(), String> {
        let views = self.of_scenes.entry(scene.to_owned()).or_default();
        match views.iter_mut().find(|known| known.name == view.name) {
            Some(known) => *known = view,
            None => views.push(view),
        }
        self.write()
    }

    pub fn delete(&mut self, scene: &str, place: usize) -> Result<(), String> {
        if let Some(views) = self.of_scenes.get_mut(scene).filter(|views| place < views.len()) {
            views.remove(place);
        }
        self.of_scenes.retain(|_, views| !views.is_empty());
        self.write()
    }

    fn write(&self) -> Result<(), String> {
        let Some(file) = &self.file else { return Ok(()) };
        let write = || {
            file.parent().map_or(Ok(()), create_folder)?;
            let text = serde_json::to_string_pretty(&self.of_scenes).map_err(|error| OutputError::of(file, error.into()))?;
            OutputFile::save(file, text.as_bytes())
        };
        write().map_err(|error: OutputError| format!("The views could not be written to {}: {error}.", file.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_kept_for_each_scene() {
        let folder = std::env::temp_dir().join(format!("pliant-views-{}", std::process::id()));
        let mut views = Views::load(Some(&folder));
        let camera = Camera { azimuth: 1.5, ..Camera::default() };
        for (scene, name) in [("a", "near"), ("a", "far"), ("b", "near"), ("a", "near")] {
            views.save(scene, NamedView::new(name.to_owned(), &camera, Some(0.5))).unwrap();
        }
        assert_eq!(Views::load(Some(&folder)), views);
        let names = |scene| views.of(scene).iter().map(|view| view.name.as_str()).collect::<Vec<_>>();
        assert_eq!((names("a"), names("b"), names("c")), (vec!["near", "far"], vec!["near"], vec![]));
        assert_eq!(views.of("a")[1].key(), Some(Key { camera, time: Some(0.5) }));
        let of_before = serde_json::to_string(&views.of_scenes).unwrap().replace(",\"time\":0.5", "");
        let read: BTreeMap<String, Vec<NamedView>> = serde_json::from_str(&of_before).unwrap();
        assert_eq!(read["a"][1].key(), Some(Key { camera, time: None }), "{of_before}");
        views.delete("a", 0).unwrap();
        views.delete("b", 0).unwrap();
        views.delete("b", 7).unwrap();
        assert_eq!((Views::load(Some(&folder)).of("a").len(), views.of("b").len()), (1, 0));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_no_camera_can_be_is_none() {
        let sound = NamedView::new("a".into(), &Camera::default(), None);
        for bad in [NamedView { distance: 0.0, ..sound.clone() }, NamedView { field_of_view: f32::NAN, ..sound.clone() }] {
            assert_eq!(bad.camera(), None);
        }
        assert!(sound.camera().is_some());
    }
}
