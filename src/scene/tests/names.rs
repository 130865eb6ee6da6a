//! Entries get other names, and all that names them follows.

use super::*;

const TEXT: &str = "# a desk\nformat = 1\n[material.soft] # of the bar\nyoung_modulus = 2e5 # Pa\n[material.hard]\n[[group]]\nname = \"shelf\" # high\n\
                    [[body]]\nname = \"bar\" # the first\nmaterial = \"soft\" # not hard\nparent = \"shelf\"\n\
                    shape = { type = \"box\", size = [1.0, 0.2, 0.2] }\nregion = [{ side = \"x+\", material = \"soft\" }] # tip\n\
                    array = { count = [2, 1, 1], pitch = [2, 0, 0] }\n[[body]]\nname = \"floor\"\nkind = \"static\"\nshape = { type = \"plane\" }\n\
                    [contact]\npair = [\n  { a = \"bar\", b = \"floor\", friction = 1e-1 }, # wet\n]\n\
                    [[attachment]]\nfrom = { body = \"bar[1]\", region = { side = \"x-\" } }\nto = { point = [0, 2, 0] }\nstiffness = 5\n\
                    [[force]]\nname = \"push\"\nbody = \"bar[0]\"\nforce = [1, 0, 0]\n[[probe]]\nname = \"tip\"\nbody = \"bar[1]\" # right\n";

fn read(text: &str, flags: &[&str]) -> Result<Scene, SceneError> {
    let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
    Scene::from_text("s", "s.toml", text, None, &flags)
}

fn text(flags: &[&str]) -> String {
    read(TEXT, flags).unwrap().text_for(Path::new("")).unwrap()
}

#[test]
fn all_that_names_an_entry_follows_and_the_rest_of_the_file_stays() {
    let of_body = TEXT.replace("\"bar\"", "\"rod\"").replace("\"bar[", "\"rod[");
    assert_eq!(text(&["body.bar.name=rod"]), of_body);
    assert_eq!(text(&["body.0.name=\"rod\""]), of_body);
    assert_eq!(text(&["material.soft.name=gum"]), TEXT.replace("material.soft", "material.gum").replace("\"soft\"", "\"gum\""));
    assert_eq!(text(&["group.shelf.name=board"]), TEXT.replace("\"shelf\"", "\"board\""));
    assert_eq!(text(&["probe.tip.name=end", "force.0.name=pull"]), TEXT.replace("\"tip\"", "\"end\"").replace("\"push\"", "\"pull\""));
    // Called by its new name afterwards; written on one line, materials stay there.
    let turned = text(&["body.bar.name=rod", "body.rod.material=hard", "material.hard.name=steel"]);
    let expected = of_body.replace("\"soft\" # not", "\"steel\" # not").replace("[material.hard]", "[material.steel]");
    assert_eq!(turned, expected);
    let line = "format = 1\nmaterial = { soft = { density = 900 }, hard = {} } # two\n";
    let renamed = read(line, &["material.soft.name=gum"]).unwrap().text_for(Path::new("")).unwrap();
    assert_eq!(renamed, line.replace("soft", "gum"));
}

#[test]
fn a_new_name_must_be_one_and_free() {
    for (flag, told) in [
        ("body.bar.name=floor", "there is a body \"floor\" already; choose another name"),
        ("material.soft.name=hard", "there is a material \"hard\" already"),
        ("body.bar.name=\"a bar\"", "\"a bar\" is no name: use letters, digits, _ and - only"),
        ("body.bar.name=\"\"", "a name must not be empty"),
        ("material.gum.name=rubber", "has no \"gum\""),
        ("body.rod.name=pole", "has no \"rod\""),
    ] {
        let refused = read(TEXT, &[flag]).unwrap_err().to_string();
        assert!(refused.contains(told), "{flag}: {refused}");
    }
    // A file that was saved since has the name already.
    let saved = text(&["body.bar.name=rod"]);
    assert_eq!(read(&saved, &["body.bar.name=rod"]).unwrap().text_for(Path::new("")).unwrap(), saved);
}

/// Changes that were made before go on to say the same by the new name.
#[test]
fn assignments_follow_a_new_name() {
    let rename = Rename::new("body", "bar", "rod");
    for (path, text, new_path, new_text) in [
        ("body.bar.position", "[0, 1, 0]", "body.rod.position", "[0, 1, 0]"),
        ("body.bars.scale", "2.0", "body.bars.scale", "2.0"),
        (
            "contact.pair",
            "[{ a = \"bar\", b = \"floor\", friction = 0.1 }]",
            "contact.pair",
            "[{ a = \"rod\", b = \"floor\", friction = 0.1 }]",
        ),
        ("contact.pair.0.a", "\"bar\"", "contact.pair.0.a", "\"rod\""),
        ("probe.0.body", "\"bar[3]\"", "probe.0.body", "\"rod[3]\""),
        ("title", "\"bar\"", "title", "\"bar\""),
        ("body.bar", "", "body.rod", ""),
    ] {
        assert_eq!((rename.path(path).as_str(), rename.text(path, text).as_str()), (new_path, new_text));
    }
    let force = Rename::new("force", "push", "pull");
    assert_eq!(force.text("force", "[{ name = \"push\", body = \"push\" }]"), "[{ name = \"pull\", body = \"push\" }]");
    let material = Rename::new("material", "soft", "gum");
    assert_eq!(material.text("body.ball", "{ material = \"soft\", color = \"teal\" }"), "{ material = \"gum\", color = \"teal\" }");
    assert_eq!(material.reversed(), Rename::new("material", "gum", "soft"));
}
