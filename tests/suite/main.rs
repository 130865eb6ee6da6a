//! Everything that needs more than one module: physics with known answers, backends against each other, scenes, the program.

mod architecture;
mod attachments;
mod collision_surface;
mod contact;
mod device;
mod edges;
mod incline;
mod lab;
mod licenses;
mod meshes;
mod objects;
mod physics;
mod residuals;
mod scenes;
