//! The contract of film formats.

use super::RecordError;
use crate::render::Image;

/// A writer of pictures in one format.
pub(super) trait FilmEncoder: Send {
    fn push(&mut self, image: &Image) -> Result<(), RecordError>;

    /// Completes the file with the pictures so far, after a failure too.
    fn finish(self: Box<Self>) -> Result<(), RecordError>;
}
