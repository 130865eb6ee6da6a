//! The geometry of a body: a mesh or a shape.

use super::{Filling, Geometry, MAX_CELLS, Reader};
use crate::mesh::{Fineness, Method};
use crate::scene::node::{CHECKED, Node};
use crate::scene::spec::Kind;
use crate::scene::up::Up;
use crate::scene::value::Value;

impl Reader<'_> {
    pub(super) fn geometry(&mut self, node: &Node, kind: &str) -> Option<Geometry> {
        match (node.has("mesh"), node.value.get("shape")) {
            (true, None) => {
                if node.has("size") && node.has("scale") {
                    self.complain(node, "scale", "a mesh has either a size or a scale; remove one of them");
                }
                if node.has("resolution") && node.has("tets") {
                    self.complain(node, "tets", "a mesh is filled by a resolution or by a number of tets; remove one of them");
                }
                let fineness = match node.opt_integer("tets") {
                    Some(tets) => Fineness::Tets(tets as u64),
                    None => Fineness::Cells(node.integer("resolution") as u32),
                };
                let method = Method::from_name(&node.text("method")).expect(CHECKED);
                let filling = Filling { method, fineness, subdivides: node.text("subdivide") == "on" };
                let up = Up::from_name(&node.text("up")).expect(CHECKED);
                Some(Geometry::Mesh { file: node.text("mesh"), filling, size: node.opt_number("size"), up })
            }
            (false, Some(shape)) => {
                for key in ["size", "up", "resolution", "tets", "method", "subdivide"] {
                    if node.has(key) {
                        let inside = match key {
                            "size" => "the measures are",
                            "up" => "its axes are",
                            _ => "the number of cells is",
                        };
                        self.complain(node, key, format!("this is for meshes; {inside} given inside the shape"));
                    }
                }
                self.shape(node, shape, kind)
            }
            (true, Some(_)) => {
                self.complain(node, "shape", "a body has either a mesh or a shape; remove one of them");
                None
            }
            (false, None) => {
                let problem = "neither mesh nor shape is given; name a mesh file or describe a shape";
                self.complaints.add(node.value.origin, node.path.clone(), problem);
                None
            }
        }
    }

    fn shape(&mut self, body: &Node, value: &Value, kind: &str) -> Option<Geometry> {
        let Some(Kind::Variants(variants)) = body.table.field("shape").map(|f| f.kind) else { unreachable!("declared as variants") };
        let tag = value.get("type").and_then(Value::text).expect(CHECKED);
        let (_, table) = variants.iter().find(|(t, _)| *t == tag).expect(CHECKED);
        let node = Node { value, table, path: body.key("shape") };
        self.only_for_kind(&node, kind);
        let resolution = || node.integer("resolution") as u32;
        let geometry = match tag {
            "box" => {
                let cells = if node.has("cells") {
                    node.integers("cells")
                } else if kind == "deformable" {
                    [8; 3]
                } else {
                    [1; 3]
                };
                if cells.iter().map(|&n| u64::from(n)).product::<u64>() > MAX_CELLS {
                    self.complain(&node, "cells", format!("these are more than {MAX_CELLS} cells in all; give less"));
                }
                Geometry::Box { size: node.vector("size"), cells }
            }
            "icosphere" => {
                Geometry::Icosphere { radius: node.number("radius"), level: node.integer("level") as u32, resolution: resolution() }
            }
            "sphere" => Geometry::Sphere { radius: node.number("radius"), resolution: resolution() },
            "cylinder" => Geometry::Cylinder { radius: node.number("radius"), height: node.number("height"), resolution: resolution() },
            "torus" => {
                let (radius, tube_radius) = (node.number("radius"), node.number("tube_radius"));
                if tube_radius >= radius {
                    self.complain(&node, "tube_radius", format!("the tube must be thinner than the ring: give less than {radius} [m]"));
                }
                Geometry::Torus { radius, tube_radius, resolution: resolution() }
            }
            "ring" => {
                let (radius, width) = (node.number("radius"), node.number("width"));
                if width >= 2.0 * radius {
                    self.complain(&node, "width", format!("the ring must have a hole: give less than {} [m]", 2.0 * radius));
                }
                Geometry::Ring { radius, width, height: node.number("height"), segments: node.integer("segments") as u32 }
            }
            "frame" => Geometry::Frame { size: node.vector("size") },
            _ => Geometry::Plane,
        };
        if matches!((&geometry, kind), (Geometry::Plane, "deformable" | "rigid")) {
            let verb = if kind == "rigid" { "weigh anything" } else { "deform" };
            self.complain(&node, "type", format!("a plane has no inside that could {verb}; use kind = \"static\" or another shape"));
            return None;
        }
        Some(geometry)
    }
}
