//! What the window keeps from one start to the next, in the user's configuration folder.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::film::{Motion, RATES, SIZES};
use crate::output::{OutputError, OutputFile, create_folder};

/// The choices that are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    pub light_theme: bool,
    /// The list of the scene is shown; as there is room for it if none.
    pub scene_list: Option<bool>,
    pub side_panel: bool,
    pub floor_grid: bool,
    pub shadows: bool,
    /// Before a recorded past ends that playing does not bring back, the window asks.
    pub asks_past: bool,
    /// The hints of the first start were read.
    pub hints_seen: bool,
    /// What was chosen in the palette, newest first.
    pub commands: Vec<String>,
    /// Contacts are marked.
    pub contacts: bool,
    /// The title of what bodies are coloured by; their own colours if none.
    pub color: Option<String>,
    /// Titles of the plots that are shown; those of the first start if none.
    pub plots: Option<Vec<String>>,
    /// The pane of plots is open.
    pub plots_open: bool,
    /// The name of the format of films.
    pub film_format: Option<String>,
    /// Width and height of films [px]; as the view if none.
    pub film_size: Option<[u32; 2]>,
    /// Frames a second of films and exports; as the scene says if none.
    pub film_rate: Option<f64>,
    pub film_motion: Option<Motion>,
    /// The name of the speed at which time is played.
    pub speed: Option<String>,
    /// The mouse holds like a tool.
    pub firm_grip: bool,
    pub window: WindowSettings,
    /// What other versions of the program keep.
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            light_theme: false,
            scene_list: None,
            side_panel: true,
            floor_grid: true,
            shadows: true,
            asks_past: true,
            hints_seen: false,
            commands: vec![],
            contacts: false,
            color: None,
            plots: None,
            plots_open: false,
            film_format: None,
            film_size: None,
            film_rate: None,
            film_motion: None,
            speed: None,
            firm_grip: false,
            window: WindowSettings::default(),
            others: Map::new(),
        }
    }
}

/// The window as it was left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WindowSettings {
    /// Width and height, in points.
    pub size: Option<[f64; 2]>,
    pub maximized: bool,
    /// Size of letters and panels, as a part of the usual one.
    pub zoom: Option<f32>,
}

impl WindowSettings {
    /// What is kept in `folder`, as far as it can be read; what is wrong with it is told by `Keeper::load`.
    pub fn read(folder: Option<&Path>) -> Self {
        let text = folder.and_then(|folder| std::fs::read_to_string(folder.join(FILE)).ok());
        text.and_then(|text| parse(&text).ok()).unwrap_or_default().0.window
    }

    /// No letters so large or small that they could not be read to undo it.
    pub fn zoom(&self) -> f32 {
        self.zoom.filter(|zoom| zoom.is_finite()).unwrap_or(1.0).clamp(0.5, 2.5)
    }
}

/// The settings in a text, and the names of those that are no values of theirs, which are as usual.
fn parse(text: &str) -> serde_json::Result<(Settings, Vec<String>)> {
    let mut values: Map<String, Value> = serde_json::from_str(text)?;
    let of = |values: Map<String, Value>| serde_json::from_value::<Settings>(Value::Object(values));
    let is_bad = |(name, value): (&String, &Value)| of(Map::from_iter([(name.clone(), value.clone())])).is_err().then(|| name.clone());
    let mut bad: Vec<String> = values.iter().filter_map(is_bad).collect();
    bad.iter().for_each(|name| drop(values.remove(name)));
    let mut settings = of(values)?;
    let mut is_kept = |name: &str, is_sane: bool| {
        if !is_sane {
            bad.push(name.to_owned());
        }
        is_sane
    };
    settings.film_size = settings.film_size.filter(|size| is_kept("film_size", size.iter().all(|side| SIZES.contains(side))));
    settings.film_rate = settings.film_rate.filter(|rate| is_kept("film_rate", RATES.contains(rate)));
    settings.film_motion = settings.film_motion.filter(|motion| is_kept("film_motion", motion.is_sane()));
    let is_size = |size: &[f64; 2]| size.iter().all(|side| (1.0..=1e5).contains(side));
    settings.window.size = settings.window.size.filter(|size| is_kept("window", is_size(size)));
    Ok((settings, bad))
}

/// The file of settings in its folder.
const FILE: &str = "settings.json";

/// Settings and their file.
#[derive(Debug, Default)]
pub struct Keeper {
    file: Option<PathBuf>,
    kept: Settings,
}

impl Keeper {
    /// The settings in `folder`. A file that cannot be read is put aside, which is told as a sentence; no fault of it
    /// keeps the program from starting.
    pub fn load(folder: Option<&Path>) -> (Self, Option<String>) {
        let file = folder.map(|folder| folder.join(FILE));
        let Some((path, text)) = file.as_ref().and_then(|file| Some((file, std::fs::read_to_string(file).ok()?))) else {
            return (Self { file, kept: Settings::default() }, None);
        };
        match parse(&text) {
            Ok((kept, bad)) => {
                let told = || format!("Some settings could not be read and are as usual: {}, in {}.", bad.join(", "), path.display());
                let told = (!bad.is_empty()).then(told);
                (Self { file, kept }, told)
            }
            Err(error) => {
                let aside = path.with_extension("json.bad");
                let moved =
                    std::fs::rename(path, &aside).map_or_else(|_| String::new(), |()| format!(" It is in {} now.", aside.display()));
                let told = format!("The settings could not be read: {error} in {}.{moved}", path.display());
                (Self { file, kept: Settings::default() }, Some(told))
            }
        }
    }

    pub fn kept(&self) -> &Settings {
        &self.kept
    }

    /// Writes settings that have changed; the error is a sentence, told once.
    pub fn keep(&mut self, change: impl FnOnce(&mut Settings)) -> Result<(), String> {
        let before = self.kept.clone();
        change(&mut self.kept);
        let Some(file) = self.file.as_ref().filter(|_| before != self.kept) else { return Ok(()) };
        let write = || {
            file.parent().map_or(Ok(()), create_folder)?;
            let text = serde_json::to_string_pretty(&self.kept).map_err(|error| OutputError::of(file, error.into()))?;
            OutputFile::save(file, text.as_bytes())
        };
        write().map_err(|error: OutputError| format!("The settings could not be written to {}: {error}.", file.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_back_and_what_is_not_known_is_kept() {
        let folder = std::env::temp_dir().join(format!("pliant-settings-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("settings.json");
        std::fs::write(&file, r#"{ "light_theme": true, "of_tomorrow": [1, 2] }"#).unwrap();
        let (mut keeper, told) = Keeper::load(Some(&folder));
        assert!(told.is_none() && keeper.kept().light_theme && keeper.kept().side_panel);
        keeper.keep(|settings| settings.hints_seen = true).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("of_tomorrow") && text.contains("\"hints_seen\": true"), "{text}");
        let window = WindowSettings { size: Some([900.0, 600.0]), maximized: true, zoom: Some(90.0) };
        keeper.keep(|settings| settings.window = window.clone()).unwrap();
        let read = WindowSettings::read(Some(&folder));
        assert_eq!((&read, read.zoom()), (&window, 2.5));
        assert_eq!(WindowSettings::read(None).zoom(), 1.0);
        std::fs::remove_file(&file).unwrap();
        keeper.keep(|_| ()).unwrap();
        assert!(!file.exists(), "nothing has changed");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn values_that_cannot_be_are_told_and_as_usual() {
        let folder = std::env::temp_dir().join(format!("pliant-settings-values-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("settings.json");
        let load = |text: &str| {
            std::fs::write(&file, text).unwrap();
            let (keeper, told) = Keeper::load(Some(&folder));
            (keeper.kept().clone(), told)
        };
        let sane =
            r#"{ "film_size": [640, 360], "film_rate": 24.5, "film_motion": { "turntable": 6.0 }, "speed": "0.5×", "firm_grip": true }"#;
        let (kept, told) = load(sane);
        assert_eq!(
            (told, kept.film_size, kept.film_rate, kept.film_motion),
            (None, Some([640, 360]), Some(24.5), Some(Motion::Turntable(6.0)))
        );
        assert!(kept.speed.as_deref() == Some("0.5×") && kept.firm_grip);
        for (name, value) in [
            ("film_size", "[0, 360]"),
            ("film_size", "[1, 2, 3]"),
            ("film_size", "[-640, 360]"),
            ("film_size", "[99999, 360]"),
            ("film_rate", "0.0"),
            ("film_rate", "\"fast\""),
            ("film_rate", "1e9"),
            ("film_motion", "{ \"turntable\": 0.0 }"),
            ("film_motion", "{ \"views\": -3 }"),
            ("film_motion", "\"rocket\""),
            ("speed", "7"),
            ("window", "{ \"size\": [0.0, 600.0] }"),
            ("window", "{ \"maximized\": 3 }"),
        ] {
            let (kept, told) = load(&format!("{{ \"light_theme\": true, \"{name}\": {value}, \"of_tomorrow\": 1 }}"));
            let told = told.unwrap_or_else(|| panic!("{name} = {value} is taken: {kept:?}"));
            assert!(told.contains(&format!("as usual: {name}, in ")) && told.contains("settings.json"), "{told}");
            let others = Map::from_iter([("of_tomorrow".to_owned(), Value::from(1))]);
            assert_eq!(kept, Settings { light_theme: true, others, ..Settings::default() }, "{name} = {value}: all others are kept");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_that_cannot_be_read_is_put_aside() {
        let folder = std::env::temp_dir().join(format!("pliant-settings-bad-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("settings.json"), "{").unwrap();
        let (keeper, told) = Keeper::load(Some(&folder));
        assert_eq!(*keeper.kept(), Settings::default());
        assert!(told.unwrap().contains("settings.json.bad") && folder.join("settings.json.bad").is_file());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
