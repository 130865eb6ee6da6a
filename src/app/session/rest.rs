//! A picture that stands still has the time to be a fine one.

use std::time::{Duration, Instant};

use crate::render::{Camera, ViewOptions};

/// How long nothing must have moved.
const REST: Duration = Duration::from_millis(250);

/// When the picture last changed.
pub struct Rest {
    of: Option<(Camera, ViewOptions, u64, [u32; 2])>,
    since: Instant,
}

impl Default for Rest {
    fn default() -> Self {
        Self { of: None, since: Instant::now() }
    }
}

impl Rest {
    /// Takes the picture of a frame: nothing left to wait for where it rests, else for how long.
    pub fn look(&mut self, camera: Camera, options: ViewOptions, version: u64, size: [u32; 2]) -> Option<Duration> {
        let now = Some((camera, options, version, size));
        if self.of != now {
            (self.of, self.since) = (now, Instant::now());
        }
        REST.checked_sub(self.since.elapsed()).filter(|left| !left.is_zero())
    }

    pub fn is_at_rest(&self) -> bool {
        self.since.elapsed() >= REST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_moves_begins_the_rest_anew() {
        let (mut rest, camera, options) = (Rest::default(), Camera::default(), ViewOptions::default());
        assert!(rest.look(camera, options, 1, [4, 4]).is_some() && !rest.is_at_rest());
        rest.since -= 2 * REST;
        assert!(rest.look(camera, options, 1, [4, 4]).is_none() && rest.is_at_rest());
        for (camera, options, version, size) in [
            (Camera { azimuth: 1.0, ..camera }, options, 1, [4, 4]),
            (camera, ViewOptions { grid: false, ..options }, 1, [4, 4]),
            (camera, options, 2, [4, 4]),
            (camera, options, 1, [5, 4]),
        ] {
            rest.look(camera, options, version, size);
            assert!(!rest.is_at_rest());
            rest.since -= 2 * REST;
        }
    }
}
