//! What the tets of a body are for elasticity.

use super::Presence::Default;
use crate::scene::spec::{Field, Kind};

pub(super) const ELEMENT: Field = Field::new(
    "element",
    Kind::Choice(&["auto", "linear", "averaged", "quadratic"]),
    "",
    Default("\"auto\""),
    "What the tets are for elasticity. `linear`: each on its own; nearly incompressible materials then bend far too little (`poisson_ratio` 0.45: 12 % with 10,000 tets). \
     `averaged`: the tets of each cell of a voxel filling share one volume change (4 %). `quadratic`: tets of ten nodes with one volume change each, curved where a file has \
     curved ones (0.4 % with 810 tets, which are about as much work as 10,000 linear ones). `auto`: `linear` for what does not flow and has a `poisson_ratio` below 0.4, else `averaged` for voxel \
     fillings and `quadratic` for all others; `quadratic` for files of tets of ten nodes, and `linear` where a material has a `degeneration_ratio`, which the others do not know.",
);
