//! Everything that needs more than one module: physics with known answers, backends against each other, scenes, the program.

mod contact;
mod lab;
mod physics;
mod scenes;
