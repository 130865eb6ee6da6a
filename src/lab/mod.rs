//! The laboratory: storages and methods that are only measured against those of the product (`pliant bench`). Nothing
//! of the product uses it.

pub mod device;
pub mod methods;
pub mod sparse;
