//! Values of the scene that are given together or instead of each other, and what a table or an entry holds when it is
//! added to something.

use crate::scene::{Field, Kind, Scene};

/// Values by path and as TOML.
pub type Values = Vec<(String, String)>;

/// Of these values of a table only one is given.
const INSTEAD: &[&[&str]] = &[
    &["region", "point"],
    &["mesh", "shape"],
    &["scale", "size"],
    &["resolution", "tets"],
    &["density", "mass"],
    &["array", "circle", "scatter"],
    &["side", "spheres", "min", "tag"],
    &["side", "spheres", "max", "tag"],
];

/// Corners of a box are given together.
const CORNERS: [(&str, &str); 2] = [("min", "max"), ("max", "min")];

/// What gives a value: with it goes what it replaces, and comes what it needs beside it. `size` is about that of the
/// body that it is about [m].
pub fn giving(scene: &Scene, path: &str, text: &str, size: f64) -> Values {
    let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
    if key == "type" {
        // Another shape has other measures.
        return vec![(table.to_owned(), shape(text.trim_matches('"'), size))];
    }
    let beside = |key: &str| if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") };
    let is_given = |key: &str| scene.given(&beside(key)).is_some();
    let others = INSTEAD.iter().filter(|keys| keys.contains(&key)).flat_map(|keys| keys.iter()).filter(|other| **other != key);
    let mut values: Values = vec![];
    for other in others.filter(|other| is_given(other)) {
        // Both lists of a region name its side.
        if !values.iter().any(|(known, _)| *known == beside(other)) {
            values.push((beside(other), String::new()));
        }
    }
    let other_corner =
        CORNERS.iter().find(|(known, _)| *known == key).filter(|(_, other)| !is_given(other) && scene.field(&beside(other)).is_some());
    values.extend(other_corner.map(|(_, other)| (beside(other), text.to_owned())));
    values.push((path.to_owned(), text.to_owned()));
    values
}

/// What a table, or one entry more of a list, holds at first; the next entry of a list is as its last. None of what is
/// no table. `size` is about that of the body that it is about [m].
pub fn first(scene: &Scene, path: &str, field: &Field, size: f64) -> Option<String> {
    let s = |part: f64| format!("{:?}", (part * size * 1e4).round() / 1e4);
    let of_table = || match field.key {
        "region" if matches!(field.kind, Kind::List(_)) => {
            let material = scene.material_names().first().cloned().unwrap_or_default();
            format!("{{ material = \"{material}\", side = \"y+\" }}")
        }
        "region" => "{ side = \"y+\" }".to_owned(),
        "fix" => "{ side = \"y-\" }".to_owned(),
        "spheres" => format!("{{ center = {}, radius = {} }}", center(scene, path), s(0.2)),
        "motion" => "{ velocity = [0.0, 0.0, 0.0] }".to_owned(),
        "keyframes" | "path" => "{ time = 0.0, position = [0.0, 0.0, 0.0] }".to_owned(),
        "array" => format!("{{ count = [2, 1, 1], pitch = [{}, 0.0, 0.0] }}", s(1.5)),
        "scatter" => format!("{{ count = 2, min = [-{0}, 0.0, -{0}], max = [{0}, {0}, {0}] }}", s(2.0)),
        "shape" => shape("box", size),
        _ => "{ }".to_owned(),
    };
    match field.kind {
        Kind::Table(_) | Kind::Variants(_) => Some(of_table()),
        Kind::List(_) => {
            let n = scene.n_entries(path);
            let last = n.checked_sub(1).and_then(|last| scene.given(&format!("{path}.{last}")));
            Some(scene.with_entry(path, &last.map_or_else(of_table, |last| later(&last))))
        }
        _ => None,
    }
}

/// An entry as it is, a second later if it has a time.
fn later(entry: &str) -> String {
    let Ok(mut value) = entry.parse::<toml_edit::Value>() else { return entry.to_owned() };
    let Some(table) = value.as_inline_table_mut() else { return entry.to_owned() };
    let time = table.get("time").and_then(|time| time.as_float().or_else(|| time.as_integer().map(|time| time as f64)));
    if let Some(time) = time {
        table.insert("time", (time + 1.0).into());
    }
    value.to_string().trim().to_owned()
}

/// Where the body is that a path is about: its own, or the one that its entry names.
fn center(scene: &Scene, path: &str) -> String {
    let named = || {
        let entry: Vec<&str> = path.split('.').take(2).collect();
        scene.given(&format!("{}.body", entry.join("."))).map(|body| body.trim_matches('"').to_owned())
    };
    let body = path.strip_prefix("body.").and_then(|rest| rest.split('.').next()).map(str::to_owned).or_else(named);
    let at = body.and_then(|body| scene.origin_of_body(crate::body::base_name(&body))).unwrap_or_default();
    format!("[{:?}, {:?}, {:?}]", at.x + 0.0, at.y + 0.0, at.z + 0.0)
}

/// A shape about `size` across.
fn shape(kind: &str, size: f64) -> String {
    let s = |part: f64| format!("{:?}", (part * size * 1e4).round().max(1.0) / 1e4);
    let measures = match kind {
        "box" => format!(", size = [{0}, {0}, {0}]", s(1.0)),
        "icosphere" | "sphere" => format!(", radius = {}", s(0.5)),
        "cylinder" => format!(", radius = {}, height = {}", s(0.5), s(1.0)),
        "torus" => format!(", radius = {}, tube_radius = {}", s(0.36), s(0.14)),
        "ring" => format!(", radius = {0}, width = {1}, height = {1}", s(0.4), s(0.2)),
        "frame" => format!(", size = [{0}, {1}, {0}]", s(1.0), s(0.1)),
        _ => String::new(),
    };
    format!("{{ type = \"{kind}\"{measures} }}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "format = 1\n[material.soft]\n[[body]]\nname = \"bar\"\nmaterial = \"soft\"\nposition = [1, 2, 3]\n\
                        shape = { type = \"box\", size = [0.4, 0.2, 0.2], cells = [2, 1, 1] }\n[[body]]\nname = \"plate\"\nkind = \"driven\"\n\
                        shape = { type = \"box\", size = [1, 1, 1] }\n[[force]]\nbody = \"bar\"\nforce = [1, 0, 0]\n\
                        [[probe]]\nname = \"tip\"\nbody = \"bar\"\npoint = [1, 2, 3]\n\
                        [[grab]]\nbody = \"bar\"\npoint = [1, 2, 3]\npath = [{ time = 0, position = [0, 0, 0] }, { time = 2, position = [0, 1, 0] }]\n";

    fn scene() -> Scene {
        Scene::from_text("s", "s.toml", TEXT, None, &[]).unwrap()
    }

    fn edited(scene: &Scene, values: &Values) -> Scene {
        let assignments: Vec<String> = values.iter().map(|(path, text)| format!("{path}={text}")).collect();
        scene.edited(&assignments).unwrap_or_else(|error| panic!("{assignments:?}: {error}"))
    }

    /// All tables and entries that can be added are accepted as they are, once and again.
    #[test]
    fn what_is_added_passes_the_checks() {
        for path in [
            "body.bar.region",
            "body.bar.fix",
            "body.plate.array",
            "body.plate.scatter",
            "body.plate.motion",
            "force.0.region",
            "probe.0.region",
            "grab.0.path",
            "camera",
            "simulation",
        ] {
            let mut scene = scene();
            for _ in 0..3 {
                let field = scene.field(path).unwrap();
                let text = first(&scene, path, field, 0.4).unwrap();
                scene = edited(&scene, &giving(&scene, path, &text, 0.4));
                assert!(scene.given(path).is_some());
                if !matches!(field.kind, Kind::List(_)) {
                    break;
                }
            }
        }
        let path = "grab.0.path";
        assert!(first(&scene(), path, scene().field(path).unwrap(), 1.0).unwrap().ends_with("time = 3.0, position = [0, 1, 0] }]"));
        assert!(first(&scene(), "force.0.force", scene().field("force.0.force").unwrap(), 1.0).is_none());
        let moving = edited(&scene(), &vec![("body.plate.motion".into(), "{ }".into())]);
        let keyframes = "body.plate.motion.keyframes";
        let text = first(&moving, keyframes, moving.field(keyframes).unwrap(), 1.0).unwrap();
        assert_eq!(edited(&moving, &giving(&moving, keyframes, &text, 1.0)).n_entries(keyframes), 1);
    }

    #[test]
    fn values_replace_each_other_and_corners_come_together() {
        let mut scene = scene();
        scene = edited(&scene, &giving(&scene, "probe.0.region", "{ side = \"x+\" }", 1.0));
        assert!(scene.given("probe.0.point").is_none());
        scene = edited(&scene, &giving(&scene, "probe.0.region.min", "[0.0, 0.0, 0.0]", 1.0));
        assert_eq!(scene.given("probe.0.region.max").as_deref(), Some("[0.0, 0.0, 0.0]"));
        assert!(scene.given("probe.0.region.side").is_none());
        let spheres = "probe.0.region.spheres";
        let text = first(&scene, spheres, scene.field(spheres).unwrap(), 1.0).unwrap();
        scene = edited(&scene, &giving(&scene, spheres, &text, 1.0));
        assert_eq!(scene.given(&format!("{spheres}.0.center")).as_deref(), Some("[1.0, 2.0, 3.0]"));
        assert!(scene.given("probe.0.region.min").is_none() && scene.given("probe.0.region.max").is_none());
        scene = edited(&scene, &giving(&scene, "probe.0.point", "[0.0, 0.0, 0.0]", 1.0));
        assert!(scene.given("probe.0.region").is_none());
        for kind in ["icosphere", "cylinder", "torus", "ring", "frame", "sphere", "box"] {
            scene = edited(&scene, &giving(&scene, "body.bar.shape.type", &format!("\"{kind}\""), 0.4));
            assert_eq!(scene.given("body.bar.shape.type"), Some(format!("\"{kind}\"")));
        }
        let values = giving(&scene, "body.bar.color", "\"teal\"", 1.0);
        assert_eq!(values, [("body.bar.color".to_owned(), "\"teal\"".to_owned())]);
    }
}
