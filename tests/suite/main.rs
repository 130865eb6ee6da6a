//! Everything that needs more than one module: physics with known answers, backends against each other, scenes, the
//! program.

mod absurd;
mod architecture;
mod attachments;
mod cases;
mod circles;
mod collision_surface;
mod contact;
mod dependencies;
mod device;
mod documents;
mod edges;
mod fuzz;
mod incline;
mod info;
mod invariance;
mod lab;
mod later_pose;
mod licenses;
mod meshes;
mod objects;
mod physics;
mod residuals;
mod scenes;
mod session;
mod source;
mod verify;

// Fuzz targets are written for libFuzzer; here each is a function.
extern crate self as libfuzzer_sys;

#[macro_export]
macro_rules! fuzz_target {
    (|$data:ident: &[u8]| $body:block) => {
        pub fn target($data: &[u8]) $body
    };
}
