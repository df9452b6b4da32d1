//! The JSON Schema of scenarios, from the types that read them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::axis::Axis;
use super::raw;

/// The JSON Schema of a scenario, for editors and for checks.
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(raw::Scenario).to_value()
}

impl JsonSchema for raw::Text {
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A quantity with its unit, such as \"15Mbit/s\", \"50ms\", \"100p\", \"50kB\", \"1%\".",
            "type": ["string", "number"],
        })
    }
}

/// A table whose keys are axes.
pub(super) fn table<S>(axes: &[Axis<S>]) -> Schema {
    let keys = axes.iter().map(|axis| {
        let mut forms = Vec::new();
        if !axis.words.is_empty() {
            forms.push(serde_json::json!({ "enum": axis.words }));
        }
        if let Some(quantity) = axis.quantity {
            forms.push(serde_json::json!({ "type": ["string", "number"], "description": quantity }));
        }
        forms.push(serde_json::json!({ "type": "object", "required": ["value"] }));
        (axis.key.to_owned(), serde_json::json!({ "anyOf": forms }))
    });
    let keys: serde_json::Map<String, serde_json::Value> = keys.collect();
    json_schema!({ "type": "object", "properties": keys, "additionalProperties": false })
}

/// One of these words.
pub(super) fn words(words: &[&str]) -> Schema {
    json_schema!({ "anyOf": [{ "enum": words }, { "type": "object", "required": ["value"] }] })
}
