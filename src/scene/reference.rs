//! The format as documents: a JSON Schema for editors and a reference for people. Both are made from `format`.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::format::SCENE;
use super::spec::{Field, Kind, Presence, Range, Table};
use crate::material::presets::{PRESETS, Preset};

/// JSON Schema (2020-12) of a scene file.
pub fn json_schema() -> Value {
    let mut schema = table_schema(&SCENE);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Pliant scene, format 1");
    schema
}

fn table_schema(table: &Table) -> Value {
    let properties: Map<String, Value> = table.fields.iter().map(|f| (f.key.to_owned(), field_schema(f))).collect();
    let required: Vec<&str> = table.fields.iter().filter(|f| matches!(f.presence, Presence::Required)).map(|f| f.key).collect();
    json!({
        "type": "object", "description": table.doc, "properties": properties, "required": required, "additionalProperties": false
    })
}

fn field_schema(field: &Field) -> Value {
    let mut schema = kind_schema(&field.kind);
    let unit = if field.unit.is_empty() { String::new() } else { format!(" [{}]", field.unit) };
    schema["description"] = json!(format!("{}{unit}", field.doc));
    if let Presence::Default(text) = field.presence {
        schema["default"] = default_value(text);
    }
    schema
}

fn default_value(text: &str) -> Value {
    let table: toml::Table = toml::from_str(&format!("v = {text}")).expect("defaults are valid TOML");
    serde_json::to_value(&table["v"]).expect("defaults are numbers, texts and lists")
}

fn kind_schema(kind: &Kind) -> Value {
    match kind {
        Kind::Number(range) => number_schema(range),
        Kind::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Text | Kind::Reference(_) => json!({ "type": "string" }),
        Kind::Label => json!({ "type": ["string", "integer"] }),
        Kind::Name => json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]+$" }),
        Kind::Choice(words) => json!({ "enum": words }),
        Kind::Color => json!({ "anyOf": [{ "type": "string", "pattern": "^#[0-9a-fA-F]{6}$" }, { "enum": super::color::palette() }] }),
        Kind::Vector(range) => json!({ "type": "array", "items": number_schema(range), "minItems": 3, "maxItems": 3 }),
        Kind::Integers { n, min, max } => {
            json!({ "type": "array", "items": { "type": "integer", "minimum": min, "maximum": max }, "minItems": n, "maxItems": n })
        }
        Kind::Table(table) => table_schema(table),
        Kind::List(table) => json!({ "type": "array", "items": table_schema(table) }),
        Kind::Named(table) => json!({ "type": "object", "additionalProperties": table_schema(table) }),
        Kind::Variants(variants) => {
            let one_of: Vec<Value> = variants
                .iter()
                .map(|(tag, table)| {
                    let mut schema = table_schema(table);
                    schema["properties"]["type"] = json!({ "const": tag });
                    schema
                })
                .collect();
            json!({ "oneOf": one_of })
        }
    }
}

fn number_schema(range: &Range) -> Value {
    let mut schema = json!({ "type": "number" });
    if range.min.is_finite() {
        schema[if range.above_min { "exclusiveMinimum" } else { "minimum" }] = json!(range.min);
    }
    if range.max.is_finite() {
        schema["maximum"] = json!(range.max);
    }
    schema
}

/// The reference, as Markdown.
pub fn reference() -> String {
    let mut text = String::from(
        "# Scene files\n\n\
         Made from the declarations in `src/scene/format.rs`; a test keeps it up to date.\n\n\
         Any value can be changed from the command line: `--set PATH=VALUE`, for instance `--set simulation.time_step=0.005`,\n\
         `--set body.bar.shape.cells=[40,8,8]` or `--set group.slope.rotation=[0,0,-20]`. Entries of lists are addressed by their\n\
         name, or by their place from 0; a table given to a new name is an entry more (`--set 'body.ball={ kind = \"rigid\", shape = {\n\
         type = \"sphere\", radius = 0.1 } }'`), and no value takes one out, with all that names it (`--set body.ball=`). Any other\n\
         value is left out likewise and is as by default (`--set force.0.end=`), and a list is given as a whole\n\
         (`--set 'force=[{ body = \"bar\", force = [0, 9, 0] }]'`). With another name of an entry, or of a material, all that names it\n\
         follows (`--set body.bar.name=rod`, `--set material.soft.name=gum`). A value that is not known, has the wrong type or is out of range is an error that names\n\
         file, line and column and says what is accepted. `scenes/schema.json` is the same format as a JSON Schema.\n\n\
         What is marked *live* may be changed while a scene runs: in the panel of the window, or by a command of a session. All else\n\
         acts from the start; the window takes such changes up with R, and File > Save scene writes all of them into the file.\n\n\
         Colours are `#rrggbb` or one of ",
    );
    let _ = writeln!(text, "{}.", super::color::palette().join(", "));
    let mut written: Vec<*const Table> = vec![];
    table_reference(&SCENE, &mut text, &mut written);
    presets_reference(&mut text);
    text
}

fn presets_reference(text: &mut String) {
    text.push_str(
        "\n## Presets of materials\n\n\
         `preset` of a material names one of these. A ratio of Poisson of 0.48 to 0.494 stands for what is nearly incompressible.\n\n\
         | preset | model | `young_modulus` [Pa] | `poisson_ratio` | `density` [kg/m^3] |\n|---|---|---|---|---|\n",
    );
    for Preset { name, model, young_modulus, poisson_ratio, density } in PRESETS {
        let [e, nu, rho] = [young_modulus, poisson_ratio, density].map(|number| number.value);
        let _ = writeln!(text, "| `{name}` | `{}` | {e:e} | {nu} | {rho} |", model.name());
    }
    text.push_str(
        "\nWhere the numbers come from:\n\n\
         | preset | `young_modulus` | `poisson_ratio` | `density` |\n|---|---|---|---|\n",
    );
    for Preset { name, young_modulus, poisson_ratio, density, .. } in PRESETS {
        let _ = writeln!(text, "| `{name}` | {} | {} | {} |", young_modulus.source, poisson_ratio.source, density.source);
    }
}

/// A table, then the tables inside it; each once.
fn table_reference(table: &'static Table, text: &mut String, written: &mut Vec<*const Table>) {
    if written.contains(&std::ptr::from_ref(table)) {
        return;
    }
    written.push(table);
    let _ = writeln!(text, "\n## {}\n\n{}\n\n| key | accepted | default | meaning |\n|---|---|---|---|", table.title, table.doc);
    for field in table.fields {
        let default = match field.presence {
            Presence::Required => "required".to_owned(),
            Presence::Default(value) => format!("`{value}`"),
            Presence::Optional(without) => without.to_owned(),
        };
        let kinds = if field.kinds.is_empty() { String::new() } else { format!(" ({} bodies)", field.kinds.join(", ")) };
        let accepted = match field.kind {
            // The palette is long; it stands at the top.
            Kind::Color => "a colour".to_owned(),
            _ => field.accepted(),
        };
        let live = if field.live { " *Live.*" } else { "" };
        let _ = writeln!(text, "| `{}` | {accepted} | {default} | {}{kinds}{live} |", field.key, field.doc);
    }
    for field in table.fields {
        match field.kind {
            Kind::Table(inner) | Kind::List(inner) | Kind::Named(inner) => table_reference(inner, text, written),
            Kind::Variants(variants) => variants.iter().for_each(|(_, inner)| table_reference(inner, text, written)),
            _ => {}
        }
    }
}
