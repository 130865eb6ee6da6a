//! Parts of bodies: by place, by painting, and by the tags of a mesh file.

use super::super::spec::{ANY, Field, Kind, Presence, Table};
use super::POSITIVE;
use Presence::{Optional, Required};

const MIN: Field = Field::new("min", Kind::Vector(ANY), "m", Optional("not by a box"), "Lowest corner of the box, in the world.");
const MAX: Field = Field::new("max", Kind::Vector(ANY), "m", Optional("not by a box"), "Highest corner of the box, in the world.");
const SIDE: Field = Field::new(
    "side",
    Kind::Choice(&["x-", "x+", "y-", "y+", "z-", "z+"]),
    "",
    Optional("not by a side"),
    "All that lies on this side of the body's bounding box.",
);
const SPHERES: Field = Field::new(
    "spheres",
    Kind::List(&SPHERE),
    "",
    Optional("not by spheres"),
    "All that lies in one of these, as strokes of a brush paint it.",
);

pub(super) static REGION: Table = Table {
    title: "region",
    doc: "A part of a body at rest: a box along the world's axes (`min` and `max`), a `side` of the body's own bounding box in the world, or `spheres`.",
    fields: &[MIN, MAX, SIDE, SPHERES],
};

/// Region of a body that is fixed.
pub(super) static FIX: Table = Table {
    title: "[[body.fix]]",
    doc: "A part of a body that never moves, chosen as any region. A pin of the window is one of `spheres`; it may be of one copy of a body alone, all others are of each copy.",
    fields: &[
        MIN.live(),
        MAX.live(),
        SIDE.live(),
        Field::new(
            "spheres",
            Kind::List(&FIXED_SPHERE),
            "",
            Optional("not by spheres"),
            "All that lies in one of these, as strokes of a brush paint it.",
        )
        .live(),
    ],
};

static FIXED_SPHERE: Table = Table { title: SPHERE.title, doc: SPHERE.doc, fields: &[CENTER.live(), RADIUS.live()] };

const CENTER: Field = Field::new("center", Kind::Vector(ANY), "m", Required, "Its middle.");
const RADIUS: Field = Field::new("radius", Kind::Number(POSITIVE), "m", Required, "Its radius.");

static SPHERE: Table =
    Table { title: "sphere", doc: "A ball in the world: `{ center = [0.0, 0.1, 0.0], radius = 0.02 }`.", fields: &[CENTER, RADIUS] };

pub(super) static MATERIAL_REGION: Table = Table {
    title: "[[body.region]]",
    doc: "A part of a body that is made of a material of its own; of several the last prevails. To a box or to spheres belong the tets whose centres are inside, to a \
          side those with a node there. The first copy of a body says which tets they are, and the others are alike. A stroke of the window's brush is one of `spheres`; without a \
          `material` it erases: tets inside are what they would be without the spheres before it.",
    fields: &[
        Field::new("material", Kind::Reference("material"), "", Optional("spheres erase, all else needs one"), "Name of a material."),
        MIN,
        MAX,
        SIDE,
        SPHERES,
        Field::new(
            "tag",
            Kind::Label,
            "",
            Optional("not by a tag"),
            "Name or number that the mesh file gives to these tets: a physical group of Gmsh, whole numbers in the cell data of VTK (`material`, `PhysicalIds`, `region` and the like, else the first), \
             a reference of MEDIT, or the first attribute of TetGen.",
        ),
    ],
};
