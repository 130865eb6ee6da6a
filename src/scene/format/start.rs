//! Shapes that bodies start in.

use super::DEFORMABLE;
use crate::scene::spec::{Field, Kind, Presence::Default};
use crate::scene::start::Start;

pub const START: Field = Field::new(
    "start",
    Kind::Choice(&Start::NAMES),
    "",
    Default("\"rest\""),
    "Shape in which it starts: at `rest`; `scrambled`, each node anywhere in the box around it; `flattened` to a sheet at half its height; \
     or `mirrored`, its left on its right. Until a body has found back from there it passes through itself.",
)
.only(DEFORMABLE);

pub const START_SEED: Field = Field::new(
    "start_seed",
    Kind::Integer { min: 0, max: 1_000_000 },
    "",
    Default("1"),
    "Where a `scrambled` body has its nodes, and a `flattened` one its roughness; copies differ.",
)
.only(DEFORMABLE);
