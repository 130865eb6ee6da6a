//! The scenes inside the program.

/// A built-in scene.
pub struct GalleryEntry {
    pub name: &'static str,
    pub text: &'static str,
    /// A PNG of `THUMBNAIL_SIZE`: `pliant thumbnails`.
    pub picture: &'static [u8],
}

/// Width and height of the pictures of scenes [px].
pub const THUMBNAIL_SIZE: [u32; 2] = [320, 180];

macro_rules! scenes {
    ($($name:literal),* $(,)?) => {
        &[$(GalleryEntry {
            name: $name,
            text: include_str!(concat!("../../scenes/", $name, ".toml")),
            picture: include_bytes!(concat!("../../assets/thumbnails/", $name, ".png")),
        }),*]
    };
}

/// Scenes to play with; the first is the default.
pub fn gallery() -> &'static [GalleryEntry] {
    scenes!["gallery", "bunny", "armadillo", "cantilever", "incline", "attached", "spin"]
}

/// Scenes by which contact and materials are measured, many of them large.
pub fn experiments() -> &'static [GalleryEntry] {
    scenes![
        "rings",
        "rings_stiff",
        "pyramid",
        "bunnies",
        "bearing",
        "cubes",
        "wedge",
        "strings",
        "throw",
        "dent",
        "creases",
        "mixed",
        "rigid_stack",
        "rigid_house_of_cards",
        "armadillo_cylinders",
        "squeeze",
        "stretch",
        "twist",
        "inversion",
    ]
}

/// A recorded session of the first scene, its name and its text: a pull in it, and a change of a material.
pub const GALLERY_SESSION: (&str, &str) = ("gallery.session", include_str!("../../scenes/gallery.session"));

/// All of them.
pub fn builtin_scenes() -> impl Iterator<Item = &'static GalleryEntry> {
    gallery().iter().chain(experiments())
}
