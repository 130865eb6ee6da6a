//! The meshes that ship inside the program, so that it runs from any folder. Sources and licences: `assets/README.md`.

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        /// Names of the built-in meshes, each a file of `assets/`.
        pub const NAMES: &[&str] = &[$($name),*];

        /// The bytes of a built-in mesh by its file name, ready for [`super::parse_surface`].
        pub fn builtin(name: &str) -> Option<&'static [u8]> {
            match name {
                $($name => Some(include_bytes!(concat!("../../assets/", $name)).as_slice()),)*
                _ => None,
            }
        }
    };
}

built_in![
    "armadillo.obj",
    "bunny.obj",
    "bunny_coarse.obj",
    "dragon.obj",
    "elephant.off",
    "gear_pinion.off",
    "hand.off",
    "knot.off",
    "mushroom_closed.off",
    "nut_hex.ply",
];
