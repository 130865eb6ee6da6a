//! The scenes inside the program.

/// A built-in scene.
pub struct GalleryEntry {
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! scenes {
    ($($name:literal),* $(,)?) => {
        &[$(GalleryEntry { name: $name, text: include_str!(concat!("../../scenes/", $name, ".toml")) }),*]
    };
}

/// All built-in scenes; the first is the default.
pub fn gallery() -> &'static [GalleryEntry] {
    scenes!["gallery", "bunny", "armadillo", "cantilever", "incline", "spin"]
}
