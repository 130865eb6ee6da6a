//! Entries that name bodies and parts of bodies: regions, contact pairs, attachments, forces, grabs, probes.

use super::{AttachmentContent, BodyContent, EndContent, ForceContent, GrabContent, ProbeContent, ProbeRegion, Reader, Role, Target};
use crate::math::Vec3;
use crate::model::{Ball, Extent, MAX_GRABS};
use crate::scene::error::unknown;
use crate::scene::node::{CHECKED, Node};
use crate::scene::regions::Region;

impl Reader<'_> {
    pub(super) fn region(&mut self, node: &Node) -> Option<Region> {
        let spheres = node.has("spheres").then(|| node.list("spheres"));
        let extent = match (node.opt_vector("min"), node.opt_vector("max"), node.opt_text("side"), spheres) {
            (Some(min), Some(max), None, None) => {
                if (0..3).any(|i| min[i] > max[i]) {
                    self.complain(node, "max", "no coordinate of max may be below that of min; swap them");
                    return None;
                }
                Extent::Box { min, max }
            }
            (None, None, Some(side), None) => {
                let axis = "xyz".find(&side[..1]).expect(CHECKED);
                Extent::Side { axis, high: side.ends_with('+') }
            }
            (None, None, None, Some(spheres)) => {
                let ball = |sphere: &Node| Ball { center: sphere.vector("center"), radius: sphere.number("radius") };
                Extent::Spheres(spheres.iter().map(ball).collect())
            }
            _ => {
                let problem = "a region is either a box, with min and max, or a side, or spheres; give one of them";
                self.complaints.add(node.value.origin, node.path.clone(), problem);
                return None;
            }
        };
        Some(Region { extent, origin: node.value.origin, key: node.path.clone() })
    }

    /// The body that `key` names.
    fn any_target(&mut self, node: &Node, key: &str, bodies: &[BodyContent]) -> Option<Target> {
        let name = node.text(key);
        for (body, content) in bodies.iter().enumerate() {
            match content.copy_of_name(&name) {
                None => {}
                Some(Some(copy)) => return Some(Target { body, copy }),
                Some(None) => {
                    let last = content.n_copies() - 1;
                    self.complain(node, key, format!("\"{name}\" has copies; name one of \"{name}[0]\" to \"{name}[{last}]\""));
                    return None;
                }
            }
        }
        self.complain(node, key, unknown(&format!("there is no body \"{name}\""), &name, bodies.iter().map(|b| b.name.as_str())));
        None
    }

    /// The deformable body that a force or probe names.
    fn target(&mut self, node: &Node, bodies: &[BodyContent]) -> Option<Target> {
        let target = self.any_target(node, "body", bodies)?;
        if matches!(bodies[target.body].role, Role::Deformable { .. }) {
            return Some(target);
        }
        self.complain(node, "body", format!("\"{}\" is not deformable; name a deformable body", node.text("body")));
        None
    }

    pub(super) fn pairs(&mut self, contact: &Node, bodies: &[BodyContent]) -> Vec<(usize, usize, f64)> {
        let mut pairs: Vec<(usize, usize, f64)> = vec![];
        for node in contact.list("pair") {
            let [a, b] = ["a", "b"].map(|key| {
                let name = node.text(key);
                let found = bodies.iter().position(|body| body.name == name);
                if found.is_none() {
                    let names = bodies.iter().map(|b| b.name.as_str());
                    self.complain(&node, key, unknown(&format!("there is no body \"{name}\""), &name, names));
                }
                found
            });
            let (Some(a), Some(b)) = (a, b) else { continue };
            let (a, b) = (a.min(b), a.max(b));
            if [a, b].iter().all(|&i| matches!(bodies[i].role, Role::Obstacle { .. })) {
                self.complain(
                    &node,
                    "b",
                    "two bodies that nothing moves do not react to contact; pair one with a deformable or rigid body",
                );
            }
            if pairs.iter().any(|(c, d, _)| (*c, *d) == (a, b)) {
                self.complain(&node, "b", "this pair is given twice; remove one of the two");
            }
            pairs.push((a, b, node.number("friction")));
        }
        pairs
    }

    pub(super) fn attachments(&mut self, root: &Node, bodies: &[BodyContent]) -> Vec<AttachmentContent> {
        let mut attachments = vec![];
        for (index, node) in root.list("attachment").iter().enumerate() {
            let [from, to] = ["from", "to"].map(|key| self.attachment_end(&node.table(key), bodies));
            let (Some(from), Some(to)) = (from, to) else { continue };
            let is_given = |end: &EndContent| match end {
                EndContent::World(_) => true,
                EndContent::Point(target, _) | EndContent::Region(target, _) => matches!(bodies[target.body].role, Role::Obstacle { .. }),
            };
            if is_given(&from) && is_given(&to) {
                let problem =
                    "both ends are points of the world, or of bodies that stand or are driven; name a body that moves at one of them";
                self.complain(node, "to", problem);
            }
            attachments.push(AttachmentContent {
                name: node.opt_text("name").unwrap_or_else(|| index.to_string()),
                ends: [from, to],
                stiffness: node.number("stiffness"),
                damping: node.number("damping"),
                length: node.opt_number("length"),
            });
        }
        attachments
    }

    fn attachment_end(&mut self, node: &Node, bodies: &[BodyContent]) -> Option<EndContent> {
        let (region, point) = (node.opt_table("region").map(|r| self.region(&r)), node.opt_vector("point"));
        match (node.has("body"), region, point) {
            (false, None, Some(point)) => Some(EndContent::World(point)),
            (true, None, Some(point)) => Some(EndContent::Point(self.any_target(node, "body", bodies)?, point)),
            (true, Some(region), None) => {
                let target = self.any_target(node, "body", bodies)?;
                if matches!(bodies[target.body].role, Role::Obstacle { .. }) {
                    self.complain(node, "region", "a static or driven body is held at a point; give point instead");
                }
                Some(EndContent::Region(target, region?))
            }
            _ => {
                let problem = "an end is a point of the world, or a body with either a point or a region; give one of these";
                self.complaints.add(node.value.origin, node.path.clone(), problem);
                None
            }
        }
    }

    pub(super) fn forces(&mut self, root: &Node, bodies: &[BodyContent]) -> Vec<ForceContent> {
        let mut forces = vec![];
        for node in root.list("force") {
            let region = node.opt_table("region").map(|r| self.region(&r));
            let (start, end) = (node.number("start"), node.opt_number("end").unwrap_or(f64::INFINITY));
            if end <= start {
                self.complain(&node, "end", format!("the force must end after its start at {start} s"));
            }
            if let Some(target) = self.target(&node, bodies) {
                forces.push(ForceContent { target, region: region.flatten(), force: node.vector("force"), start, end });
            }
        }
        forces
    }

    pub(super) fn grabs(&mut self, root: &Node, bodies: &[BodyContent]) -> Vec<GrabContent> {
        let mut grabs = vec![];
        for (index, node) in root.list("grab").iter().enumerate() {
            if index == MAX_GRABS {
                let problem = format!("these are more than {MAX_GRABS} grabs; leave some out");
                self.complaints.add(node.value.origin, node.path.clone(), problem);
            }
            let path = self.path(node);
            let Some(target) = self.any_target(node, "body", bodies) else { continue };
            if matches!(bodies[target.body].role, Role::Obstacle { .. }) {
                let problem =
                    format!("no hand moves \"{}\", which is static or driven; name a deformable or rigid body", node.text("body"));
                self.complain(node, "body", problem);
                continue;
            }
            grabs.push(GrabContent { target, point: node.vector("point"), path });
        }
        grabs
    }

    /// The path of a hand.
    fn path(&mut self, node: &Node) -> Vec<(f64, Vec3)> {
        let mut path: Vec<(f64, Vec3)> = vec![];
        for place in node.list("path") {
            let time = place.number("time");
            if let Some((before, _)) = path.last().filter(|(before, _)| *before >= time) {
                self.complain(&place, "time", format!("the place before is at {before} s; give a later time"));
            }
            path.push((time, place.vector("position")));
        }
        if path.len() < 2 {
            self.complain(node, "path", "a hand needs a place where it takes hold and one where it lets go; give two places or more");
        }
        path
    }

    pub(super) fn probes(&mut self, root: &Node, bodies: &[BodyContent]) -> Vec<ProbeContent> {
        let nodes = root.list("probe");
        self.unique(&nodes, "probes");
        let mut probes = vec![];
        for node in &nodes {
            let part = match (node.opt_table("region"), node.opt_vector("point")) {
                (None, None) => Some(ProbeRegion::Whole),
                (Some(region), None) => self.region(&region).map(ProbeRegion::Region),
                (None, Some(point)) => Some(ProbeRegion::Point(point)),
                (Some(_), Some(_)) => {
                    self.complain(node, "point", "a probe follows a region or a point; give one of them");
                    None
                }
            };
            if let (Some(target), Some(part)) = (self.target(node, bodies), part) {
                probes.push(ProbeContent { name: node.text("name"), target, part });
            }
        }
        probes
    }
}
