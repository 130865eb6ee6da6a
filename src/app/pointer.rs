//! Meaning of mouse events over the 3D view: a grab, or a motion of the camera; never both.

use egui::{PointerButton, Pos2, Vec2};

/// A mouse event over the view, in points of the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Input {
    Press {
        button: PointerButton,
        at: Pos2,
        shift: bool,
        time: f64,
    },
    Release {
        button: PointerButton,
    },
    Move {
        to: Pos2,
        shift: bool,
    },
    /// Positive scrolls up: nearer.
    Wheel {
        at: Pos2,
        notches: f32,
        /// Changes how much is held, not where it is.
        widens: bool,
    },
    /// The focus went elsewhere: whatever was going on ends.
    Cancel,
}

/// Reaction to a mouse event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// Find what lies under this point, then call `Pointer::picked`.
    Pick(Pos2),
    /// Pull the held point to the ray through `at`, `depth` times as far from the eye as where it was picked.
    MoveGrab {
        at: Pos2,
        depth: f32,
    },
    ReleaseGrab,
    /// Hold more, or less, around the held point; by notches.
    Widen(f32),
    Orbit(Vec2),
    Pan(Vec2),
    Zoom {
        at: Pos2,
        notches: f32,
    },
    /// Frame what lies under this point.
    FrameAt(Pos2),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Idle,
    /// The answer to `Effect::Pick` is awaited; the cursor is at `now`.
    Picking {
        from: Pos2,
        now: Pos2,
    },
    /// The ray goes through `at`; the cursor itself is `offset` away after a shift-drag.
    Grabbing {
        cursor: Pos2,
        at: Pos2,
        depth: f32,
    },
    Orbiting {
        button: PointerButton,
        last: Pos2,
    },
    Panning {
        button: PointerButton,
        last: Pos2,
    },
}

/// The state between events.
pub struct Pointer {
    mode: Mode,
    /// Where and when the last left press was.
    last_press: Option<(Pos2, f64)>,
    /// Where the left button was pressed, while it has not moved from there.
    still: Option<Pos2>,
    clicked: Option<Pos2>,
    /// The same of the right button.
    still_right: Option<Pos2>,
    right_clicked: Option<Pos2>,
}

const DOUBLE_CLICK_SECONDS: f64 = 0.35;
const DOUBLE_CLICK_DISTANCE: f32 = 6.0;
/// A press that moves further than this is a drag, in points.
const CLICK_DISTANCE: f32 = 4.0;
/// Moving by this many points with shift held doubles or halves the distance to the eye.
const DEPTH_DOUBLING: f32 = 300.0;
/// A notch of the wheel while grabbing is as far as this many points with shift held.
const DEPTH_OF_NOTCH: f32 = 20.0;

impl Default for Pointer {
    fn default() -> Self {
        Self { mode: Mode::Idle, last_press: None, still: None, clicked: None, still_right: None, right_clicked: None }
    }
}

impl Pointer {
    pub fn is_idle(&self) -> bool {
        self.mode == Mode::Idle
    }

    pub fn is_grabbing(&self) -> bool {
        matches!(self.mode, Mode::Grabbing { .. })
    }

    /// Advances by one event.
    pub fn handle(&mut self, input: Input) -> Option<Effect> {
        match input {
            Input::Press { button, at, shift, time } => self.press(button, at, shift, time),
            Input::Release { button } => self.release(button),
            Input::Move { to, shift } => self.moved(to, shift),
            Input::Wheel { notches, widens: true, .. } => Some(Effect::Widen(notches)),
            Input::Wheel { at, notches, widens: false } => match &mut self.mode {
                Mode::Grabbing { at, depth, .. } => {
                    *depth *= (-notches * DEPTH_OF_NOTCH / DEPTH_DOUBLING).exp2();
                    Some(Effect::MoveGrab { at: *at, depth: *depth })
                }
                _ => Some(Effect::Zoom { at, notches }),
            },
            Input::Cancel => {
                (self.still, self.still_right) = (None, None);
                let grabbing = self.is_grabbing();
                self.mode = Mode::Idle;
                grabbing.then_some(Effect::ReleaseGrab)
            }
        }
    }

    /// The answer to `Effect::Pick`: whether a body is there. The press turns into a grab or an orbit, with what the
    /// cursor moved meanwhile.
    pub fn picked(&mut self, hit: bool) -> Option<Effect> {
        let Mode::Picking { from, now } = self.mode else { return None };
        if hit {
            self.mode = Mode::Grabbing { cursor: now, at: now, depth: 1.0 };
            Some(Effect::MoveGrab { at: now, depth: 1.0 })
        } else {
            self.mode = Mode::Orbiting { button: PointerButton::Primary, last: now };
            Some(Effect::Orbit(now - from)).filter(|_| now != from)
        }
    }

    /// Whether a pick's answer is still wanted (the button may have been released meanwhile).
    pub fn awaits_pick(&self) -> bool {
        matches!(self.mode, Mode::Picking { .. })
    }

    /// Where the left button was pressed and released without a drag, once.
    pub fn take_click(&mut self) -> Option<Pos2> {
        self.clicked.take()
    }

    /// Where the right button was pressed and released without a drag, once.
    pub fn take_right_click(&mut self) -> Option<Pos2> {
        self.right_clicked.take()
    }

    fn press(&mut self, button: PointerButton, at: Pos2, shift: bool, time: f64) -> Option<Effect> {
        if !self.is_idle() {
            return None; // a second button changes nothing
        }
        match button {
            PointerButton::Primary => {
                let again = self.last_press.is_some_and(|(p, t)| time - t < DOUBLE_CLICK_SECONDS && p.distance(at) < DOUBLE_CLICK_DISTANCE);
                if again {
                    self.last_press = None;
                    return Some(Effect::FrameAt(at));
                }
                self.last_press = Some((at, time));
                self.still = Some(at);
                self.mode = Mode::Picking { from: at, now: at };
                Some(Effect::Pick(at))
            }
            PointerButton::Secondary if !shift => {
                self.still_right = Some(at);
                self.mode = Mode::Orbiting { button, last: at };
                None
            }
            PointerButton::Secondary | PointerButton::Middle => {
                self.mode = Mode::Panning { button, last: at };
                None
            }
            _ => None,
        }
    }

    fn release(&mut self, button: PointerButton) -> Option<Effect> {
        let ends = match self.mode {
            Mode::Idle => false,
            Mode::Picking { .. } | Mode::Grabbing { .. } => button == PointerButton::Primary,
            Mode::Orbiting { button: held, .. } | Mode::Panning { button: held, .. } => button == held,
        };
        if !ends {
            return None;
        }
        let grabbing = self.is_grabbing();
        self.mode = Mode::Idle;
        self.clicked = self.still.take();
        self.right_clicked = self.still_right.take();
        grabbing.then_some(Effect::ReleaseGrab)
    }

    fn moved(&mut self, to: Pos2, shift: bool) -> Option<Effect> {
        for still in [&mut self.still, &mut self.still_right] {
            *still = still.filter(|from| from.distance(to) < CLICK_DISTANCE);
        }
        match &mut self.mode {
            Mode::Idle => None,
            Mode::Picking { now, .. } => {
                *now = to;
                None
            }
            Mode::Grabbing { cursor, at, depth } => {
                let delta = to - *cursor;
                *cursor = to;
                if shift {
                    *depth *= (-delta.y / DEPTH_DOUBLING).exp2();
                } else {
                    *at += delta;
                }
                Some(Effect::MoveGrab { at: *at, depth: *depth })
            }
            Mode::Orbiting { last, .. } => Some(Effect::Orbit(to - std::mem::replace(last, to))),
            Mode::Panning { last, .. } => Some(Effect::Pan(to - std::mem::replace(last, to))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::{pos2, vec2};

    fn press(button: PointerButton, x: f32, shift: bool, time: f64) -> Input {
        Input::Press { button, at: pos2(x, 0.0), shift, time }
    }

    fn to(x: f32, y: f32) -> Input {
        Input::Move { to: pos2(x, y), shift: false }
    }

    #[test]
    fn a_press_on_a_body_grabs_and_never_orbits() {
        let mut p = Pointer::default();
        assert_eq!(p.handle(press(PointerButton::Primary, 10.0, false, 0.0)), Some(Effect::Pick(pos2(10.0, 0.0))));
        assert_eq!(p.handle(to(14.0, 3.0)), None, "nothing may move before it is known what was hit");
        assert_eq!(p.picked(true), Some(Effect::MoveGrab { at: pos2(14.0, 3.0), depth: 1.0 }));
        assert_eq!(p.handle(press(PointerButton::Secondary, 14.0, false, 0.1)), None);
        assert_eq!(p.handle(to(20.0, 5.0)), Some(Effect::MoveGrab { at: pos2(20.0, 5.0), depth: 1.0 }));
        assert_eq!(p.handle(Input::Release { button: PointerButton::Secondary }), None);
        assert_eq!(p.handle(Input::Release { button: PointerButton::Primary }), Some(Effect::ReleaseGrab));
        assert!(p.is_idle());
    }

    #[test]
    fn a_press_on_nothing_orbits_with_what_was_moved_meanwhile() {
        let mut p = Pointer::default();
        p.handle(press(PointerButton::Primary, 10.0, false, 0.0));
        p.handle(to(13.0, 4.0));
        assert_eq!(p.picked(false), Some(Effect::Orbit(vec2(3.0, 4.0))));
        assert_eq!(p.handle(to(14.0, 4.0)), Some(Effect::Orbit(vec2(1.0, 0.0))));
        assert_eq!(p.handle(Input::Release { button: PointerButton::Primary }), None);
        assert_eq!(p.picked(true), None, "a late answer is ignored");
    }

    #[test]
    fn shift_moves_in_depth_without_a_jump() {
        let mut p = Pointer::default();
        p.handle(press(PointerButton::Primary, 0.0, true, 0.0));
        p.picked(true);
        let Some(Effect::MoveGrab { at, depth }) = p.handle(Input::Move { to: pos2(0.0, -DEPTH_DOUBLING), shift: true }) else {
            panic!("a grab moves")
        };
        assert_eq!((at, depth), (pos2(0.0, 0.0), 2.0));
        assert_eq!(p.handle(to(5.0, -DEPTH_DOUBLING)), Some(Effect::MoveGrab { at: pos2(5.0, 0.0), depth: 2.0 }));
        assert_eq!(
            p.handle(Input::Wheel { at: pos2(0.0, 0.0), notches: 15.0, widens: false }),
            Some(Effect::MoveGrab { at: pos2(5.0, 0.0), depth: 1.0 })
        );
    }

    #[test]
    fn buttons_move_the_camera() {
        let mut p = Pointer::default();
        p.handle(press(PointerButton::Secondary, 0.0, false, 0.0));
        assert_eq!(p.handle(to(1.0, 0.0)), Some(Effect::Orbit(vec2(1.0, 0.0))));
        p.handle(Input::Release { button: PointerButton::Secondary });
        for (button, shift) in [(PointerButton::Secondary, true), (PointerButton::Middle, false)] {
            p.handle(press(button, 0.0, shift, 0.0));
            assert_eq!(p.handle(to(1.0, 2.0)), Some(Effect::Pan(vec2(1.0, 2.0))));
            p.handle(Input::Release { button });
        }
        let wheel = Input::Wheel { at: pos2(3.0, 4.0), notches: -1.0, widens: false };
        assert_eq!(p.handle(wheel), Some(Effect::Zoom { at: pos2(3.0, 4.0), notches: -1.0 }));
    }

    #[test]
    fn a_double_click_frames_once() {
        let mut p = Pointer::default();
        let release = Input::Release { button: PointerButton::Primary };
        p.handle(press(PointerButton::Primary, 0.0, false, 0.0));
        p.handle(release);
        assert_eq!(p.handle(press(PointerButton::Primary, 1.0, false, 0.2)), Some(Effect::FrameAt(pos2(1.0, 0.0))));
        p.handle(release);
        assert_eq!(p.handle(press(PointerButton::Primary, 1.0, false, 0.4)), Some(Effect::Pick(pos2(1.0, 0.0))));
    }

    #[test]
    fn a_press_that_does_not_move_is_a_click() {
        let mut p = Pointer::default();
        let release = Input::Release { button: PointerButton::Primary };
        for (hit, to_x, clicks) in [(true, 12.0, true), (false, 12.0, true), (true, 20.0, false), (false, 20.0, false)] {
            p.handle(press(PointerButton::Primary, 10.0, false, 100.0 * f64::from(to_x)));
            p.picked(hit);
            p.handle(to(to_x, 0.0));
            p.handle(to(10.0, 0.0));
            p.handle(release);
            assert_eq!(p.take_click().is_some(), clicks, "{hit} {to_x}");
            assert_eq!(p.take_click(), None);
            p.last_press = None;
        }
        for (to_x, clicks) in [(10.0, true), (20.0, false)] {
            p.handle(press(PointerButton::Secondary, 10.0, false, 0.0));
            p.handle(to(to_x, 0.0));
            p.handle(Input::Release { button: PointerButton::Secondary });
            assert_eq!(p.take_click(), None, "the right button turns the view");
            assert_eq!(p.take_right_click().is_some(), clicks);
        }
    }

    #[test]
    fn cancelling_lets_go() {
        let mut p = Pointer::default();
        p.handle(press(PointerButton::Primary, 0.0, false, 0.0));
        p.picked(true);
        assert_eq!(p.handle(Input::Cancel), Some(Effect::ReleaseGrab));
        assert!(p.is_idle() && p.handle(Input::Cancel).is_none());
    }
}
