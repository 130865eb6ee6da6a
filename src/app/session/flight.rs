//! A camera on its way to another place.

use std::time::Instant;

use crate::render::Camera;

pub struct Flight {
    from: Camera,
    to: Camera,
    start: Instant,
}

const SECONDS: f32 = 0.3;

impl Flight {
    pub fn new(from: Camera, to: Camera) -> Self {
        Self { from, to, start: Instant::now() }
    }

    /// Where the camera is now, and whether it has arrived.
    pub fn now(&self) -> (Camera, bool) {
        self.at(self.start.elapsed().as_secs_f32() / SECONDS)
    }

    fn at(&self, t: f32) -> (Camera, bool) {
        (self.from.towards(&self.to, t), t >= 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_the_short_way_and_arrives() {
        let from = Camera { azimuth: 3.0, distance: 1.0, ..Camera::default() };
        let to = Camera { azimuth: -3.0, distance: 4.0, ..Camera::default() };
        let flight = Flight::new(from, to);
        let (middle, arrived) = flight.at(0.5);
        assert!(!arrived && (middle.azimuth - std::f32::consts::PI).abs() < 1e-3 && (middle.distance - 2.0).abs() < 1e-5);
        assert_eq!(flight.at(1.0), (to, true));
        let flat = Flight::new(from, from.with_field_of_view(None)).at(0.5).0;
        assert!((flat.height() / from.height() - 1.0).abs() < 1e-3);
    }
}
