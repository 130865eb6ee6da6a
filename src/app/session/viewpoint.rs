//! Where the window looks from: the scene's view at first, then where it is moved by hand, by a flight, or by itself
//! after bodies that leave the picture.

use std::time::Instant;

use super::flight::Flight;
use crate::math::Aabb;
use crate::render::{AxisView, Camera};

/// The view in points or pixels: its size, and the part that panels leave free, from corner to corner.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Room {
    pub size: [f32; 2],
    pub free: [[f32; 2]; 2],
}

/// What the scene wants to be seen.
#[derive(Clone, Copy, Debug)]
pub enum Home {
    /// Its own view.
    Given(Camera),
    /// A box, in the direction of a camera; what leaves the picture is followed.
    Framed(Camera, Aabb),
}

impl Home {
    fn camera(&self, room: &Room) -> Camera {
        match self {
            Self::Given(camera) => camera.within(room.size, room.free),
            Self::Framed(camera, aabb) => {
                let mut camera = *camera;
                camera.frame_within(aabb, room.size, room.free);
                camera
            }
        }
    }
}

pub struct Viewpoint {
    pub camera: Camera,
    flight: Option<Flight>,
    home: Home,
    /// The room for which the camera stands at home; none once it has left.
    at_home: Option<Room>,
    /// Nothing was moved by hand so far.
    untouched: bool,
    followed: Instant,
    /// How far a drag has pressed against the floor [rad].
    pressed: f32,
    /// The field of view with perspective [rad].
    fov_y: f32,
}

/// How far a drag must press against the floor to get below it [rad].
const FLOOR_STOP: f32 = 0.6;
/// Part of the way to a better view that is gone in a second, as an exponential rate.
const FOLLOW_RATE: f32 = 2.5;
/// Between two looks at what moves, it goes no further than after this time [s].
const LONGEST_LOOK: f32 = 0.1;

impl Default for Viewpoint {
    fn default() -> Self {
        Self::new(Home::Given(Camera::default()))
    }
}

impl Viewpoint {
    pub fn new(home: Home) -> Self {
        let (Home::Given(camera) | Home::Framed(camera, _)) = home;
        Self {
            camera,
            flight: None,
            home,
            at_home: Some(Room::default()),
            untouched: true,
            followed: Instant::now(),
            pressed: 0.0,
            fov_y: camera.fov_y,
        }
    }

    /// Takes the next place of a flight, or stays at home in a view that has changed; true while it flies.
    pub fn advance(&mut self, room: &Room) -> bool {
        if let Some(flight) = &self.flight {
            let (camera, arrived) = flight.now();
            self.camera = camera;
            if arrived {
                self.flight = None;
            }
            return true;
        }
        if self.at_home.is_some_and(|placed_for| placed_for != *room) {
            self.camera = self.home.camera(room);
            self.at_home = Some(*room);
        }
        false
    }

    pub fn is_flying(&self) -> bool {
        self.flight.is_some()
    }

    /// Goes back to the scene's view, and begins to follow again.
    pub fn go_home(&mut self, room: &Room) {
        self.fly_to(self.home.camera(room));
        self.at_home = Some(*room);
        self.untouched = true;
        self.fov_y = self.camera.fov_y;
    }

    /// Where Home leads from now on; the camera stays.
    pub fn renew_home(&mut self, home: Home) {
        self.home = home;
    }

    pub fn fly_to(&mut self, goal: Camera) {
        self.leave();
        self.flight = Some(Flight::new(self.camera, goal));
    }

    /// Sees the box as large as there is room.
    pub fn fly_to_box(&mut self, aabb: &Aabb, room: &Room) {
        let mut goal = self.camera;
        goal.frame_within(aabb, room.size, room.free);
        self.fly_to(goal);
    }

    pub fn look_along(&mut self, view: AxisView) {
        self.fly_to(self.camera.along(view));
    }

    pub fn toggle_parallel(&mut self) {
        self.leave();
        let fov_y = if self.camera.is_parallel() { Some(self.fov_y) } else { None };
        if fov_y.is_none() {
            self.fov_y = self.camera.fov_y;
        }
        self.camera = self.camera.with_field_of_view(fov_y);
    }

    /// The user has taken hold of something: from now on the view moves by hand only.
    pub fn leave(&mut self) {
        self.flight = None;
        self.at_home = None;
        self.untouched = false;
    }

    /// Turns by angles [rad]; at a floor of that height [m] it stops, until it is pressed harder.
    pub fn orbit(&mut self, azimuth: f32, elevation: f32, floor: Option<f32>) {
        self.leave();
        let before = self.camera.elevation;
        self.camera.orbit(azimuth, elevation);
        let Some(stop) = floor.map(|height| self.camera.elevation_at(height)) else { return };
        let is_stopped = before >= stop - 1e-3 && self.camera.elevation < stop;
        self.pressed = if is_stopped { self.pressed + stop - self.camera.elevation } else { 0.0 };
        if is_stopped && self.pressed < FLOOR_STOP {
            self.camera.elevation = stop;
        }
    }

    /// The button was released: a floor stops anew.
    pub fn release(&mut self) {
        self.pressed = 0.0;
    }

    /// Whether it goes after what moves.
    pub fn follows(&self) -> bool {
        self.untouched && self.flight.is_none() && matches!(self.home, Home::Framed(..))
    }

    /// Goes a part of the way to where the box is in view, if it is not; true if it went.
    pub fn follow(&mut self, aabb: &Aabb, room: &Room) -> bool {
        let seconds = self.followed.elapsed().as_secs_f32().min(LONGEST_LOOK);
        self.followed = Instant::now();
        let viewport = [0, 0, room.size[0] as u32, room.size[1] as u32];
        let aside = [0, 1].map(|k| 0.02 * (room.free[1][k] - room.free[0][k]));
        let inner = [[room.free[0][0] + aside[0], room.free[0][1] + aside[1]], [room.free[1][0] - aside[0], room.free[1][1] - aside[1]]];
        if aabb.extent().norm().is_nan() || self.camera.shows(aabb, viewport, inner) {
            return false;
        }
        let mut goal = self.camera;
        goal.frame_within(aabb, room.size, room.free);
        // It comes no nearer: what spreads again would make it breathe.
        goal.distance = goal.distance.max(self.camera.distance);
        let part = 1.0 - (-FOLLOW_RATE * seconds).exp();
        self.camera.target += (goal.target - self.camera.target) * part;
        self.camera.distance *= (goal.distance / self.camera.distance).powf(part);
        self.at_home = None;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;

    const ROOM: Room = Room { size: [900.0, 600.0], free: [[0.0, 0.0], [900.0, 500.0]] };

    fn cube(at: Vec3) -> Aabb {
        Aabb { min: at - Vec3::repeat(0.5), max: at + Vec3::repeat(0.5) }
    }

    fn shows(view: &Viewpoint, aabb: &Aabb) -> bool {
        view.camera.shows(aabb, [0, 0, 900, 600], ROOM.free)
    }

    #[test]
    fn it_stays_at_home_in_any_window_until_it_is_moved() {
        let mut view = Viewpoint::new(Home::Framed(Camera::default(), cube(Vec3::zeros())));
        view.advance(&ROOM);
        assert!(shows(&view, &cube(Vec3::zeros())));
        let narrow = Room { size: [300.0, 600.0], free: [[0.0, 0.0], [300.0, 500.0]] };
        view.advance(&narrow);
        let of_narrow = view.camera;
        assert!(of_narrow.distance > 1.5 * view.home.camera(&ROOM).distance);
        view.orbit(0.1, 0.0, None);
        let moved = view.camera;
        view.advance(&ROOM);
        assert_eq!(view.camera, moved);
        view.go_home(&narrow);
        assert_eq!((view.follows(), view.flight.is_some()), (false, true));
    }

    #[test]
    fn a_renewed_home_is_where_home_leads() {
        let mut view = Viewpoint::new(Home::Given(Camera::default()));
        view.advance(&ROOM);
        let before = view.camera;
        let far = Camera { distance: 9.0, ..Camera::default() };
        view.renew_home(Home::Given(far));
        view.advance(&ROOM);
        assert_eq!(view.camera, before, "nothing moves by itself");
        view.go_home(&ROOM);
        std::thread::sleep(std::time::Duration::from_millis(400));
        view.advance(&ROOM);
        assert_eq!(view.camera, far.within(ROOM.size, ROOM.free));
    }

    #[test]
    fn what_leaves_the_picture_is_followed_until_it_is_touched() {
        let mut view = Viewpoint::new(Home::Framed(Camera::default(), cube(Vec3::zeros())));
        view.advance(&ROOM);
        assert!(!view.follow(&cube(Vec3::zeros()), &ROOM), "nothing to do");
        let fallen = cube(Vec3::new(0.0, -3.0, 0.0));
        assert!(!shows(&view, &fallen));
        let before = view.camera.target.y;
        for _ in 0..60 {
            view.followed = Instant::now() - std::time::Duration::from_millis(100);
            view.follow(&fallen, &ROOM);
        }
        assert!(shows(&view, &fallen) && view.camera.target.y < before && view.follows());
        view.leave();
        assert!(!view.follows());
        assert!(!Viewpoint::new(Home::Given(Camera::default())).follows());
    }

    #[test]
    fn a_floor_stops_a_drag_until_it_is_pressed() {
        let mut view = Viewpoint::new(Home::Given(Camera { target: glam::Vec3::new(0.0, 0.3, 0.0), ..Camera::default() }));
        for _ in 0..8 {
            view.orbit(0.0, -0.1, Some(0.0));
        }
        assert!((0.0..0.2).contains(&view.camera.eye().y), "{}", view.camera.eye());
        view.release();
        view.orbit(0.0, -0.1, Some(0.0));
        assert!(view.camera.eye().y > 0.0);
        for _ in 0..10 {
            view.orbit(0.0, -0.1, Some(0.0));
        }
        assert!(view.camera.eye().y < -0.2, "{}", view.camera.eye());
        for _ in 0..20 {
            view.orbit(0.0, 0.1, Some(0.0));
        }
        assert!(view.camera.eye().y > 1.0, "the way up is free");
    }

    #[test]
    fn perspective_comes_back_as_it_was() {
        let mut view = Viewpoint::default();
        let before = view.camera;
        view.toggle_parallel();
        assert!(view.camera.is_parallel());
        view.toggle_parallel();
        assert!((view.camera.fov_y, view.camera.distance - before.distance < 1e-3) == (before.fov_y, true));
    }
}
