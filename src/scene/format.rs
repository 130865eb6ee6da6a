//! Every value of a scene file, declared once: `format = 1`. y is up, units are SI.

mod element;
mod grab;
mod material;
mod region;
mod simulation;
mod start;
mod view;

use self::element::ELEMENT;
use self::grab::GRAB;
pub use self::material::MATERIAL;
use self::region::{FIX, MATERIAL_REGION, REGION};
use self::simulation::SIMULATION;
use self::start::{START, START_SEED};
use self::view::{CAMERA, LIGHT, RECORDING};
use super::spec::{ANY, Field, Kind, Presence, Table, above_to, from_to};
use super::up::Up;
use Presence::{Default, Optional, Required};

const DEFORMABLE: &[&str] = &["deformable"];
const RIGID: &[&str] = &["rigid"];
const DRIVEN: &[&str] = &["driven"];
/// Kinds of body that forces move.
const FREE: &[&str] = &["deformable", "rigid"];

const POSITIVE: super::spec::Range = above_to(0.0, f64::INFINITY);
const NOT_NEGATIVE: super::spec::Range = from_to(0.0, f64::INFINITY);

pub static SCENE: Table = Table {
    title: "the file",
    doc: "A scene is one TOML file. Lengths are in metres, y is up, relative paths start at the file's folder.",
    fields: &[
        Field::new("format", Kind::Integer { min: 1, max: 1 }, "", Required, "Version of this format."),
        Field::new("title", Kind::Text, "", Optional("the file's name"), "What menus and the window call the scene."),
        Field::new("description", Kind::Text, "", Default("\"\""), "What there is to see, in a sentence."),
        Field::new("simulation", Kind::Table(&SIMULATION), "", Optional("all defaults"), "How time advances."),
        Field::new("contact", Kind::Table(&CONTACT), "", Optional("all defaults"), "Friction and accuracy of contact."),
        Field::new("material", Kind::Named(&MATERIAL), "", Optional("only the default material"), "Materials by name."),
        Field::new("group", Kind::List(&GROUP), "", Optional("none"), "Transform nodes that carry bodies and other groups."),
        Field::new("body", Kind::List(&BODY), "", Optional("an empty scene"), "The bodies."),
        Field::new("attachment", Kind::List(&ATTACHMENT), "", Optional("none"), "Springs between bodies, or from a body to the world."),
        Field::new("force", Kind::List(&FORCE), "", Optional("none"), "Constant forces during a span of time."),
        Field::new("grab", Kind::List(&GRAB), "", Optional("none"), "Recorded hands that carry bodies and let go."),
        Field::new("probe", Kind::List(&PROBE), "", Optional("none"), "Named regions whose mean motion is reported."),
        Field::new("camera", Kind::Table(&CAMERA), "", Optional("a view of all bodies"), "Where the picture is taken from."),
        Field::new("light", Kind::Table(&LIGHT), "", Optional("all defaults"), "The key light."),
        Field::new("recording", Kind::Table(&RECORDING), "", Optional("all defaults"), "Defaults of runs and recorded pictures."),
    ],
};

static CONTACT: Table = Table {
    title: "[contact]",
    doc: "Contact of bodies with each other.",
    fields: &[
        Field::new(
            "friction",
            Kind::Number(from_to(0.0, 10.0)),
            "",
            Default("0.5"),
            "Coulomb's coefficient of all pairs that have none of their own.",
        )
        .live(),
        Field::new(
            "tolerance",
            Kind::Number(above_to(0.0, 0.01)),
            "m",
            Default("5e-6"),
            "Accuracy of contact: gaps of touching points end between 0 and this.",
        )
        .live(),
        Field::new("pair", Kind::List(&PAIR), "", Optional("none"), "Values of single pairs.").live(),
    ],
};

static PAIR: Table = Table {
    title: "[[contact.pair]]",
    doc: "Values for the contact of two bodies, in either order. The name of a body with an array or a scatter stands for all its \
          copies; a body paired with itself means the copies among each other, and each with itself.",
    fields: &[
        Field::new("a", Kind::Reference("body"), "", Required, "Name of a body.").live(),
        Field::new("b", Kind::Reference("body"), "", Required, "Name of the other body.").live(),
        Field::new("friction", Kind::Number(from_to(0.0, 10.0)), "", Required, "Coulomb's coefficient of this pair.").live(),
    ],
};

static GROUP: Table = Table {
    title: "[[group]]",
    doc: "A transform node. A point p of a child is at `parent * (position + rotation * (scale * p))`.",
    fields: &[
        Field::new("name", Kind::Name, "", Required, "Unique among groups."),
        Field::new("parent", Kind::Reference("group"), "", Optional("the world"), "Name of the group that carries this one."),
        Field::new("position", Kind::Vector(ANY), "m", Default("[0.0, 0.0, 0.0]"), "Place of the origin, in the parent's frame."),
        Field::new(
            "rotation",
            Kind::Vector(ANY),
            "degrees",
            Default("[0.0, 0.0, 0.0]"),
            "Turns about the parent's x axis, then its y axis, then its z axis.",
        ),
        Field::new("scale", Kind::Number(POSITIVE), "", Default("1.0"), "Size of everything in the group."),
    ],
};

static BODY: Table = Table {
    title: "[[body]]",
    doc: "A body, from a mesh file or from a shape. Deformable bodies start undeformed where they are placed, unless `start` says \
          otherwise. Nothing may overlap at the start.",
    fields: &[
        Field::new("name", Kind::Name, "", Required, "Unique among bodies."),
        Field::new(
            "kind",
            Kind::Choice(&["deformable", "rigid", "static", "driven"]),
            "",
            Default("\"deformable\""),
            "Elastic; moving without deforming; never moving; or moving as `motion` says whatever it meets.",
        ),
        Field::new(
            "mesh",
            Kind::Text,
            "",
            Optional("`shape` is needed"),
            "A mesh file relative to the scene's folder, or \"builtin:NAME\" for one inside the program. Surfaces (OBJ, OFF, PLY, STL, glTF; mended, \
             and closed where they are to be rigid) are filled with tets; tets (Gmsh, VTK, VTU, TetGen, MEDIT) are taken as they are, their \
             outside is the surface.",
        ),
        Field::new(
            "shape",
            Kind::Variants(SHAPES),
            "",
            Optional("`mesh` is needed"),
            "A shape by its measures. A static or driven plane, box, sphere or cylinder is exact; everything else meets others with \
             the triangles of its surface.",
        ),
        Field::new(
            "resolution",
            Kind::Integer { min: 8, max: 128 },
            "cells",
            Default("24"),
            "Cells along the longest side that fill a `mesh` with tets, where it is a surface.",
        )
        .only(DEFORMABLE),
        Field::new(
            "tets",
            Kind::Integer { min: 1000, max: 10_000_000 },
            "",
            Optional("as `resolution` gives"),
            "About how many tets fill a `mesh` that is a surface; instead of `resolution`, within its range.",
        )
        .only(DEFORMABLE),
        Field::new(
            "method",
            Kind::Choice(&["voxel", "graded", "bounding", "stuffing", "tetgen"]),
            "",
            Default("\"voxel\""),
            "How a `mesh` that is a surface is filled: with equal tets that hold it, with such that are larger inside, with tets that hold it \
             closely, with tets whose border follows it, or by the program TetGen, if it is installed. See `pliant mesh`.",
        )
        .only(DEFORMABLE),
        Field::new(
            "subdivide",
            Kind::Choice(&["on", "off"]),
            "",
            Default("\"off\""),
            "Whether triangles of a `mesh` that are larger than its cells are cut: what is drawn and touches then bends as the tets do.",
        )
        .only(DEFORMABLE),
        Field::new(
            "size",
            Kind::Number(POSITIVE),
            "m",
            Optional("as the mesh is"),
            "Length of the longest side of a `mesh` as it stands in its file; instead of `scale`.",
        ),
        Field::new(
            "up",
            Kind::Choice(Up::NAMES),
            "",
            Default("\"y\""),
            "Axis of the file of a `mesh` that points up. It is turned to y as the file is read, before all else; a `collision_surface` turns with it.",
        ),
        Field::new(
            "origin",
            Kind::Choice(&["file", "center", "bottom"]),
            "",
            Default("\"file\""),
            "Point that `position` places and `rotation` turns about: the mesh's own origin (a shape's centre), the centre of its bounding box, or the centre of that box's bottom.",
        ),
        Field::new("material", Kind::Reference("material"), "", Optional("a material of all defaults"), "Name of a material.").only(DEFORMABLE),
        ELEMENT.only(DEFORMABLE),
        Field::new("density", Kind::Number(above_to(0.0, 1e6)), "kg/m^3", Optional("1000, or as `mass` says"), "Mass of a volume.")
            .only(RIGID),
        Field::new("mass", Kind::Number(above_to(0.0, 1e9)), "kg", Optional("as `density` says"), "Mass of each copy; instead of `density`.")
            .only(RIGID),
        Field::new("parent", Kind::Reference("group"), "", Optional("the world"), "Name of the group that carries the body."),
        Field::new("position", Kind::Vector(ANY), "m", Default("[0.0, 0.0, 0.0]"), "Place of the origin, in the parent's frame."),
        Field::new(
            "rotation",
            Kind::Vector(ANY),
            "degrees",
            Default("[0.0, 0.0, 0.0]"),
            "Turns about the parent's x axis, then its y axis, then its z axis.",
        ),
        Field::new("scale", Kind::Number(POSITIVE), "", Default("1.0"), "Factor on all lengths of the mesh or shape."),
        Field::new("velocity", Kind::Vector(ANY), "m/s", Default("[0.0, 0.0, 0.0]"), "At the start, along the world's axes.").only(FREE),
        Field::new(
            "angular_velocity",
            Kind::Vector(ANY),
            "rad/s",
            Default("[0.0, 0.0, 0.0]"),
            "At the start, about the centre of mass, along the world's axes.",
        )
        .only(FREE),
        Field::new("region", Kind::List(&MATERIAL_REGION), "", Optional("one material"), "Parts that are made of another material.")
            .only(DEFORMABLE),
        START,
        START_SEED,
        Field::new("fix", Kind::List(&FIX), "", Optional("nothing is fixed"), "Regions whose nodes never move. What is fixed while the scene runs stays where it is then.")
            .only(DEFORMABLE)
            .live(),
        Field::new(
            "self_contact",
            Kind::Choice(&["on", "off"]),
            "",
            Default("\"on\""),
            "Whether parts of the body's surface collide with each other; `off` saves time where they hardly meet. Other bodies are always met.",
        )
        .only(DEFORMABLE),
        Field::new(
            "collision_surface",
            Kind::Text,
            "",
            Default("\"drawn\""),
            "The surface that touches others: the one that is \"drawn\"; the outside of the \"tets\", which has fewer points than a fine mesh and lies up to a \
             cell outside it; \"auto\", the drawn one unless it crosses itself, had holes or is thinner than a tet, which makes contact slow, and the tets then; or a closed mesh for that, a file as for `mesh`, in the coordinates of the body's own mesh or shape.",
        )
        .only(DEFORMABLE),
        Field::new("motion", Kind::Table(&MOTION), "", Optional("it rests"), "How a driven body moves.").only(DRIVEN),
        Field::new("color", Kind::Color, "", Optional("one of the palette in turn"), "Colour (sRGB)."),
        Field::new(
            "array",
            Kind::Table(&ARRAY),
            "",
            Optional("one body"),
            "Copies on a grid, named NAME[0], NAME[1], ..., x fastest, then y, then z.",
        ),
        Field::new(
            "circle",
            Kind::Integer { min: 2, max: 1000 },
            "",
            Optional("one body"),
            "Copies at equal angles around the parent's y axis, named NAME[0], NAME[1], ...; instead of `array`.",
        ),
        Field::new(
            "scatter",
            Kind::Table(&SCATTER),
            "",
            Optional("one body"),
            "Copies at random places and turns that do not overlap, named NAME[0], NAME[1], ...; instead of `array`.",
        ),
    ],
};

const SHAPES: &[(&str, Table)] = &[
    (
        "box",
        Table {
            title: "shape, type = \"box\"",
            doc: "A box around the origin.",
            fields: &[
                TYPE,
                Field::new("size", Kind::Vector(POSITIVE), "m", Required, "Lengths of its sides."),
                Field::new(
                    "cells",
                    Kind::Integers { n: 3, min: 1, max: 512 },
                    "",
                    Optional("[8, 8, 8]; one of a rigid body"),
                    "Cells along each side; each is split into tets. The surface of a rigid box has the triangles of their outside.",
                )
                .only(FREE),
            ],
        },
    ),
    (
        "icosphere",
        Table {
            title: "shape, type = \"icosphere\"",
            doc: "A ball around the origin whose surface is a subdivided icosahedron. A deformable one carries it inside tets.",
            fields: &[
                TYPE,
                RADIUS,
                Field::new("level", Kind::Integer { min: 0, max: 6 }, "", Default("3"), "Subdivisions: 20 * 4^level triangles."),
                Field::new(
                    "resolution",
                    Kind::Integer { min: 8, max: 128 },
                    "cells",
                    Default("12"),
                    "Cells across that fill it with tets.",
                )
                .only(DEFORMABLE),
            ],
        },
    ),
    ("sphere", Table { title: "shape, type = \"sphere\"", doc: "A ball around the origin.", fields: &[TYPE, RADIUS, SHAPE_RESOLUTION] }),
    (
        "cylinder",
        Table {
            title: "shape, type = \"cylinder\"",
            doc: "A cylinder around the y axis, its centre at the origin.",
            fields: &[TYPE, RADIUS, Field::new("height", Kind::Number(POSITIVE), "m", Required, "Length along y."), SHAPE_RESOLUTION],
        },
    ),
    (
        "torus",
        Table {
            title: "shape, type = \"torus\"",
            doc: "A ring with a round section around the y axis, its centre at the origin.",
            fields: &[
                TYPE,
                Field::new("radius", Kind::Number(POSITIVE), "m", Required, "From the axis to the middle of the tube."),
                Field::new("tube_radius", Kind::Number(POSITIVE), "m", Required, "Radius of the tube; less than `radius`."),
                Field::new("resolution", Kind::Integer { min: 2, max: 128 }, "cells", Default("12"), "Cells across the tube."),
            ],
        },
    ),
    (
        "ring",
        Table {
            title: "shape, type = \"ring\"",
            doc: "A ring with a rectangular section around the y axis, its centre at the origin: a circle of hexahedra, six tets each.",
            fields: &[
                TYPE,
                Field::new("radius", Kind::Number(POSITIVE), "m", Required, "From the axis to the middle of the section."),
                Field::new("width", Kind::Number(POSITIVE), "m", Required, "Width of the section, along the radius; less than `2 radius`."),
                Field::new("height", Kind::Number(POSITIVE), "m", Required, "Height of the section, along y."),
                Field::new("segments", Kind::Integer { min: 3, max: 512 }, "", Default("18"), "Hexahedra around the ring."),
            ],
        },
    ),
    (
        "frame",
        Table {
            title: "shape, type = \"frame\"",
            doc: "A flat frame with three holes around the origin: 72 cells of a grid of 12 x 1 x 12, six tets each.",
            fields: &[TYPE, Field::new("size", Kind::Vector(POSITIVE), "m", Required, "Lengths of its sides; y is its thickness.")],
        },
    ),
    ("plane", Table { title: "shape, type = \"plane\"", doc: "Everything below y = 0 is solid; static or driven only.", fields: &[TYPE] }),
];

const TYPE: Field = Field::new(
    "type",
    Kind::Choice(&["box", "icosphere", "sphere", "cylinder", "torus", "ring", "frame", "plane"]),
    "",
    Required,
    "Which shape.",
);
const RADIUS: Field = Field::new("radius", Kind::Number(POSITIVE), "m", Required, "Distance from the axis or centre to the surface.");
const SHAPE_RESOLUTION: Field =
    Field::new("resolution", Kind::Integer { min: 2, max: 128 }, "cells", Default("12"), "Cells across the shape.").only(FREE);

static MOTION: Table = Table {
    title: "motion",
    doc: "A steady motion along the world's axes, and one by keyframes on top of it.",
    fields: &[
        Field::new("velocity", Kind::Vector(ANY), "m/s", Default("[0.0, 0.0, 0.0]"), "Velocity of the body's origin."),
        Field::new(
            "angular_velocity",
            Kind::Vector(ANY),
            "rad/s",
            Default("[0.0, 0.0, 0.0]"),
            "Angular velocity, about the body's origin.",
        ),
        Field::new("keyframes", Kind::List(&KEYFRAME), "", Optional("none"), "Places at given times; between them it moves steadily."),
        Field::new(
            "after",
            Kind::Choice(&["stay", "repeat"]),
            "",
            Default("\"stay\""),
            "After the last keyframe: it stays, or starts again as at time 0.",
        ),
    ],
};

static KEYFRAME: Table = Table {
    title: "keyframe",
    doc: "A place of a driven body, relative to the one it starts from. Before the first keyframe it is at the first.",
    fields: &[
        Field::new("time", Kind::Number(NOT_NEGATIVE), "s", Required, "Later than that of the keyframe before."),
        Field::new("position", Kind::Vector(ANY), "m", Default("[0.0, 0.0, 0.0]"), "Shift along the world's axes."),
        Field::new(
            "rotation",
            Kind::Vector(ANY),
            "degrees",
            Default("[0.0, 0.0, 0.0]"),
            "Turn about the body's origin and the world's x axis, then its y axis, then its z axis; half a turn at most from one to the next.",
        ),
    ],
};

static ARRAY: Table = Table {
    title: "array",
    doc: "Copies on a grid that starts at the body's own position.",
    fields: &[
        Field::new("count", Kind::Integers { n: 3, min: 1, max: 1000 }, "", Required, "Copies along x, y and z of the parent."),
        Field::new("pitch", Kind::Vector(ANY), "m", Required, "Distance between copies along each axis."),
    ],
};

static SCATTER: Table = Table {
    title: "scatter",
    doc: "Copies at random positions in a box of the parent's frame, turned at random. A place is taken when the box around a copy \
          meets none of the other bodies there (of those that move, and of planes, boxes, spheres and cylinders). One seed always gives \
          the same places.",
    fields: &[
        Field::new("count", Kind::Integer { min: 1, max: 10_000 }, "", Required, "Number of copies."),
        Field::new("seed", Kind::Integer { min: 0, max: i64::MAX }, "", Default("0"), "Start of the random numbers."),
        Field::new("min", Kind::Vector(ANY), "m", Required, "Lowest corner of the box, added to the body's position."),
        Field::new("max", Kind::Vector(ANY), "m", Required, "Highest corner of the box, added to the body's position."),
    ],
};

static ATTACHMENT: Table = Table {
    title: "[[attachment]]",
    doc: "A damped spring between two points: of two bodies, or of a body and the world. It acts along the line between them; with `length = 0` in all \
          directions, like a joint. Any stiffness is stable.",
    fields: &[
        Field::new("name", Kind::Name, "", Optional("its place in the list, from 0"), "For the report and `--set`."),
        Field::new("from", Kind::Table(&ATTACHMENT_END), "", Required, "One end."),
        Field::new("to", Kind::Table(&ATTACHMENT_END), "", Required, "The other end."),
        Field::new("stiffness", Kind::Number(POSITIVE), "N/m", Required, "Force for each metre that it is longer or shorter."),
        Field::new("damping", Kind::Number(NOT_NEGATIVE), "N s/m", Default("0.0"), "Force for each metre a second between its ends."),
        Field::new("length", Kind::Number(NOT_NEGATIVE), "m", Optional("as long as it is at the start"), "Without force."),
    ],
};

static ATTACHMENT_END: Table = Table {
    title: "end of an attachment",
    doc: "A point of a body, or of the world.",
    fields: &[
        Field::new("body", Kind::Reference("body"), "", Optional("the world"), "Name of a body."),
        Field::new("region", Kind::Table(&REGION), "", Optional("`point` is needed"), "The centre of mass of this part of the body."),
        Field::new(
            "point",
            Kind::Vector(ANY),
            "m",
            Optional("`region` is needed"),
            "In the world at the start; of a deformable body the vertex of its surface that is nearest.",
        ),
    ],
};

static FORCE: Table = Table {
    title: "[[force]]",
    doc: "A constant force on a body or a region of it, spread by mass.",
    fields: &[
        Field::new("name", Kind::Name, "", Optional("its place in the list, from 0"), "For `--set`."),
        Field::new("body", Kind::Reference("body"), "", Required, "Name of a deformable body."),
        Field::new("region", Kind::Table(&REGION), "", Optional("the whole body"), "Nodes that the force acts on."),
        Field::new("force", Kind::Vector(ANY), "N", Required, "Total force, along the world's axes."),
        Field::new("start", Kind::Number(NOT_NEGATIVE), "s", Default("0.0"), "When it begins to act."),
        Field::new("end", Kind::Number(NOT_NEGATIVE), "s", Optional("never"), "When it stops."),
    ],
};

static PROBE: Table = Table {
    title: "[[probe]]",
    doc: "A named region whose mean position, displacement and velocity are reported.",
    fields: &[
        Field::new("name", Kind::Name, "", Required, "Unique among probes."),
        Field::new("body", Kind::Reference("body"), "", Required, "Name of a deformable body."),
        Field::new("region", Kind::Table(&REGION), "", Optional("the whole body"), "Surface vertices that are averaged."),
        Field::new(
            "point",
            Kind::Vector(ANY),
            "m",
            Optional("the region"),
            "Instead of a region: the vertex of its surface that is nearest to this point of the world at the start, as the window sets one by a click.",
        ),
    ],
};
