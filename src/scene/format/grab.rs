//! Recorded grabs.

use super::NOT_NEGATIVE;
use crate::scene::spec::{ANY, Field, Kind, Presence, Table};
use Presence::{Optional, Required};

pub static GRAB: Table = Table {
    title: "[[grab]]",
    doc: "A recorded hand: it takes a body at a point, pulls this point along a path as the mouse does in the window, and lets go. At most 4 in a scene.",
    fields: &[
        Field::new("name", Kind::Name, "", Optional("its place in the list, from 0"), "For `--set`."),
        Field::new("body", Kind::Reference("body"), "", Required, "Name of a deformable or rigid body."),
        Field::new(
            "point",
            Kind::Vector(ANY),
            "m",
            Required,
            "In the world at the start; the vertex of the body's surface that is nearest is held.",
        ),
        Field::new("path", Kind::List(&PLACE), "", Required, "Where the hand is: two places or more."),
    ],
};

static PLACE: Table = Table {
    title: "place of a hand",
    doc: "A place on the way of a hand, which goes straight and steadily from one to the next. It takes hold at the first and lets go at the last.",
    fields: &[
        Field::new("time", Kind::Number(NOT_NEGATIVE), "s", Required, "Later than that of the place before."),
        Field::new("position", Kind::Vector(ANY), "m", Required, "In the world."),
    ],
};
