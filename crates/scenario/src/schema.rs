//! The JSON Schema of scenarios, from the types that read them.

use serde_json::Value;

use super::syntax;

/// The JSON Schema of a scenario, for editors and for checks.
#[must_use]
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(syntax::Scenario).to_value();
    join_lines(&mut schema);
    schema
}

/// Makes one line of each description in a schema: comments are wrapped, their words are what
/// counts.
pub fn join_lines(schema: &mut Value) {
    match schema {
        Value::String(text) => *text = text.replace('\n', " "),
        Value::Array(list) => list.iter_mut().for_each(join_lines),
        Value::Object(entries) => entries.values_mut().for_each(join_lines),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
