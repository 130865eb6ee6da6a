//! The energy guard.
