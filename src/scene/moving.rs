//! Bodies of a scene that are moved, turned and scaled, with what is said of them in the world.

use super::Scene;
use super::nodes::Transform;
use super::read::BodyContent;
use super::value::{Data, Value, as_toml};
use crate::math::{Quat, Vec3};

impl Scene {
    /// A body of the scene as an entry of its own, moved by `shift` [m] in the world, with the regions that are said in
    /// the world. None where there is no such body.
    pub fn copy_of_body(&self, name: &str, shift: &Vec3) -> Option<String> {
        let shift = Transform::from_parts((*shift).into(), Quat::identity(), 1.0);
        let values = self.placed(name, &shift)?;
        let path = format!("body.{name}");
        let mut copy = self.find(&path)?.0?.clone();
        for (value_path, text) in values {
            let key = value_path.strip_prefix(&path)?.trim_start_matches('.').to_owned();
            let value = Value::parse_flag(&text, 0).ok()?;
            match copy.get_mut(&key) {
                Some(known) => *known = value,
                None => copy.add(&key, value),
            }
        }
        Some(as_toml(&copy))
    }

    /// Where a body is placed: its own origin in the world, of the first one of its copies.
    pub fn origin_of_body(&self, name: &str) -> Option<Vec3> {
        let BodyContent { parent, own, .. } = self.body(name)?;
        Some((parent * own).isometry.translation.vector)
    }

    /// The values that change where a body is moved by `motion`, in the world: by path and as TOML. Boxes of regions
    /// can be shifted only; turned, they stay as they are.
    pub fn placed(&self, name: &str, motion: &Transform) -> Option<Vec<(String, String)>> {
        let BodyContent { parent, own, .. } = self.body(name)?;
        let new = parent.inverse() * motion * parent * own;
        let (x, y, z) = new.isometry.rotation.euler_angles();
        let path = |key: &str| format!("body.{name}.{key}");
        let is_turned = motion.isometry.rotation.angle() > 1e-12;
        let mut values = vec![(path("position"), vector(&new.isometry.translation.vector))];
        if is_turned {
            values.push((path("rotation"), vector(&Vec3::new(x, y, z).map(f64::to_degrees))));
        }
        if (motion.scaling() - 1.0).abs() > 1e-12 {
            values.push((path("scale"), format!("{:?}", rounded(new.scaling()))));
        }
        for list in ["fix", "region"] {
            let Some(Some(before)) = self.find(&path(list)).map(|(value, _)| value) else { continue };
            let mut regions = before.clone();
            for region in regions.items_mut() {
                let is_shift = !is_turned && motion.scaling() == 1.0;
                for key in ["min", "max"].into_iter().filter(|_| is_shift) {
                    region.get_mut(key).into_iter().for_each(|corner| carry(corner, motion));
                }
                for sphere in region.get_mut("spheres").map_or(&mut [][..], Value::items_mut) {
                    sphere.get_mut("center").into_iter().for_each(|center| carry(center, motion));
                    if let Some(radius) = sphere.get_mut("radius") {
                        radius.data = Data::Float(rounded(radius.number().unwrap_or_default() * motion.scaling()));
                    }
                }
            }
            let text = as_toml(&regions);
            if text != as_toml(before) {
                values.push((path(list), text));
            }
        }
        Some(values)
    }

    fn body(&self, name: &str) -> Option<&BodyContent> {
        self.content.bodies.iter().find(|body| body.name == name)
    }
}

/// Moves a point that is written as three numbers.
fn carry(point: &mut Value, motion: &Transform) {
    let [x, y, z] = [0, 1, 2].map(|k| point.items().get(k).and_then(Value::number).unwrap_or_default());
    let moved = (motion * nalgebra::Point3::new(x, y, z)).coords;
    for (item, x) in point.items_mut().iter_mut().zip(moved.iter()) {
        item.data = Data::Float(rounded(*x));
    }
}

fn vector(v: &Vec3) -> String {
    format!("[{:?}, {:?}, {:?}]", rounded(v.x), rounded(v.y), rounded(v.z))
}

/// To a nanometre, by way of text: sums are not written with all their digits.
fn rounded(x: f64) -> f64 {
    let x = format!("{x:.9}").parse().unwrap_or(x);
    // Not as -0.0.
    if x == 0.0 { 0.0 } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::build;

    const SCENE: &str = "format = 1\n[material.gum]\n[[group]]\nname = \"cart\"\nposition = [1, 0, 0]\nrotation = [0, 90, 0]\nscale = 2.0\n\
                         [[body]]\nname = \"bar\"\nparent = \"cart\"\nmaterial = \"gum\"\nposition = [0.1, 0.2, 0.3]\nrotation = [10, 20, 30]\n\
                         shape = { type = \"box\", size = [0.4, 0.1, 0.2], cells = [4, 1, 2] }\n";

    /// What is built after a motion is what was built before, moved; pins go with it.
    #[test]
    fn a_motion_in_the_world_is_values_of_the_body() {
        let mut scene = Scene::from_text("s", "s.toml", SCENE, None, &[]).unwrap();
        let before = build(&scene).unwrap().model;
        let corner = before.rest_positions[0];
        scene.set(&format!("body.bar.fix=[{{ spheres = [{{ center = {}, radius = 0.01 }}] }}]", vector(&corner))).unwrap();
        let pinned = build(&scene).unwrap().model;
        let turn = Quat::from_scaled_axis(Vec3::new(0.3, -0.7, 0.4));
        for motion in [
            Transform::from_parts(Vec3::new(0.5, -1.0, 0.25).into(), Quat::identity(), 1.0),
            Transform::from_parts(Vec3::x().into(), turn, 1.5),
        ] {
            let values = scene.placed("bar", &motion).unwrap();
            let assignments: Vec<String> = values.iter().map(|(path, value)| format!("{path}={value}")).collect();
            let after = build(&scene.edited(&assignments).unwrap()).unwrap().model;
            for (a, b) in before.rest_positions.iter().zip(&after.rest_positions) {
                assert!(((motion * nalgebra::Point3::from(*a)).coords - b).norm() < 1e-7, "{a:?} {b:?}");
            }
            assert_eq!(after.fixed, pinned.fixed);
        }
        let origin = scene.origin_of_body("bar").unwrap();
        let scaled = Transform::from_parts((origin - origin * 1.5).into(), Quat::identity(), 1.5);
        let values = scene.placed("bar", &scaled).unwrap();
        assert_eq!(values[0], ("body.bar.position".to_owned(), "[0.1, 0.2, 0.3]".to_owned()), "scaled about its origin, that stays");
        assert!(scene.placed("bare", &scaled).is_none());
    }
}
