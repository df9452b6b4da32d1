//! The form of all that is printed as JSON: its JSON Schema, and its keys as tables.

use std::fmt::Write as _;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};
use tfrc_report::document::{Several, Single, Versioned};
use tfrc_report::record::{Record, SCHEMA_VERSION, Summary};
use tfrc_scenario::join_lines;
use tfrc_world::batch::Results;

use crate::command::{equation, link, scenario};
use crate::document::{OfConnection, StreamLine};

/// Collects the schemas of documents under their commands.
struct Commands {
    generator: SchemaGenerator,
    commands: Map<String, Value>,
    /// Names of documents, and their descriptions.
    about: Vec<(String, Value)>,
}

impl Commands {
    /// Adds what an option of a command prints.
    fn add<T: JsonSchema>(&mut self, command: &str, option: &str) {
        let schema = self.generator.subschema_for::<T>().to_value();
        let entry = self.commands.entry(command).or_insert_with(|| json!({}));
        entry[option] = schema;
    }

    /// Adds a document that has its version.
    fn versioned<T: JsonSchema>(&mut self, command: &str) {
        self.add::<Versioned<'_, T>>(command, "json");
        let reference = self.commands[command]["json"]["$ref"].as_str().unwrap_or_default();
        let about = T::json_schema(&mut self.generator).get("description").cloned();
        self.about.push((last(reference).to_owned(), about.unwrap_or_default()));
    }
}

/// The JSON Schema of every document, under `commands`, the name of the command and that of the
/// option, such as `#/commands/sim/json-stream`: there of each line.
pub(super) fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut all = Commands { generator, commands: Map::new(), about: Vec::new() };
    for command in ["demo", "send"] {
        all.versioned::<Summary>(command);
    }
    all.versioned::<tfrc_capture::Recording>("capture");
    all.versioned::<OfConnection<Summary>>("recv");
    #[cfg(all(feature = "emu", target_os = "linux"))]
    all.versioned::<crate::command::emu::EmuDocument>("emu");
    all.versioned::<equation::EquationAnswer>("equation");
    all.versioned::<link::LinkDocument>("link");
    all.versioned::<scenario::ScenarioList>("scenario list");
    all.versioned::<Single>("sim");
    all.versioned::<Several>("sim, several runs");
    all.versioned::<Results>("sim --shard");
    for command in ["demo", "emu", "link", "send"] {
        all.add::<Record>(command, "json-stream");
    }
    all.add::<OfConnection<Record>>("recv", "json-stream");
    all.add::<StreamLine>("sim", "json-stream");
    let Commands { mut generator, commands, about } = all;
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Output of tfrc",
        "description": format!(
            "Documents of --json and lines of --json-stream, version {SCHEMA_VERSION}: see commands."
        ),
        "commands": commands,
        "$defs": generator.take_definitions(true),
    });
    for (name, about) in about {
        schema["$defs"][name]["description"] = about;
    }
    join_lines(&mut schema);
    without_links(&mut schema);
    schema
}

/// Takes the links of the code's documentation out of descriptions: their names stay. What is
/// `None` in the code is `null` in JSON.
fn without_links(schema: &mut Value) {
    match schema {
        Value::String(text) if text.contains('`') => {
            let written = text.replace("`None`", "`null`");
            let mut parts = written.split("[`");
            let mut plain = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                let (name, rest) = part.split_once("`]").unwrap_or((part, ""));
                let target = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
                plain = format!("{plain}`{name}`{}", target.map_or(rest, |(_, rest)| rest));
            }
            *text = plain;
        }
        Value::Array(list) => list.iter_mut().for_each(without_links),
        Value::Object(entries) => entries.values_mut().for_each(without_links),
        _ => {}
    }
}

/// The keys of every document and line as tables of Markdown, from their schema.
pub(super) fn tables() -> String {
    let schema = schema();
    let mut text = String::new();
    let empty = Map::new();
    for (name, of) in schema["$defs"].as_object().unwrap_or(&empty) {
        let _ = write!(text, "\n### {name}\n\n");
        if let Some(about) = of["description"].as_str() {
            let _ = write!(text, "{}\n\n", wrapped(about));
        }
        let mut rows = Vec::new();
        collect(of, &mut rows);
        if !rows.is_empty() {
            text.push_str("| key | type | meaning |\n| --- | --- | --- |\n");
            for (key, kind, about) in rows {
                let _ = writeln!(text, "| `{key}` | {kind} | {} |", cell(&about));
            }
        }
    }
    text
}

/// The rows of a type: keys of an object, or the words of an enumeration.
fn collect(of: &Value, rows: &mut Vec<(String, String, String)>) {
    let about = |value: &Value| value["description"].as_str().unwrap_or_default().to_owned();
    for (key, value) in of["properties"].as_object().into_iter().flatten() {
        if value.get("const").is_none() {
            rows.push((key.clone(), kind(value), about(value)));
        }
    }
    if of["additionalProperties"].is_object() {
        rows.push((
            "…".to_owned(),
            kind(&of["additionalProperties"]),
            "Each quantity under its key.".to_owned(),
        ));
    }
    for one in ["oneOf", "anyOf", "allOf"].iter().filter_map(|key| of[*key].as_array()).flatten() {
        let word = |value: &Value| value.get("const").and_then(Value::as_str).map(str::to_owned);
        let reference = one["$ref"].as_str().map(|reference| format!("the keys of {}", last(reference)));
        match (word(one), word(&one["properties"]["type"])) {
            (Some(word), _) => rows.push((word, "a word".to_owned(), about(one))),
            (None, Some(word)) => {
                rows.push((format!("type: {word}"), reference.unwrap_or_default(), about(one)));
            }
            (None, None) => {
                rows.extend(reference.map(|keys| ("…".to_owned(), keys, about(one))));
            }
        }
        collect(one, rows);
    }
}

/// The type of a value in a word.
fn kind(value: &Value) -> String {
    if let Some(reference) = value["$ref"].as_str() {
        return last(reference).to_owned();
    }
    let types: Vec<&str> = match &value["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => {
            let any = value["anyOf"].as_array().into_iter().flatten();
            return any.map(kind).collect::<Vec<_>>().join(" or ");
        }
    };
    let list = |word: &str| match word {
        "array" if value["items"].is_object() => format!("list of {}", kind(&value["items"])),
        "array" => "list".to_owned(),
        "object" if value["additionalProperties"].is_object() => {
            format!("{} by name", kind(&value["additionalProperties"]))
        }
        word => word.to_owned(),
    };
    types.into_iter().map(list).collect::<Vec<_>>().join(" or ")
}

fn last(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or(reference)
}

/// Text in lines of at most 100 columns.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= 100 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// Text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
