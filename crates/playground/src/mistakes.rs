//! The mistakes of a scenario with their lines, as JSON.

use serde_json::{Value, json};
use tfrc_scenario::{InvalidScenario, ScenarioError};

/// The name that a change has in place of a file's.
const CHANGE: &str = "--set";

/// All mistakes as a list: text, line and column from 1, the bytes that are wrong, words.
pub(crate) fn listed(error: &ScenarioError) -> String {
    let ScenarioError::Invalid(first) = error else {
        return json!([{ "message": error.to_string() }]).to_string();
    };
    let all = std::iter::once(&**first).chain(&first.others);
    Value::Array(all.map(one).collect()).to_string()
}

fn one(mistake: &InvalidScenario) -> Value {
    let text = mistake.text.inner();
    let (start, size) = (mistake.place.offset().min(text.len()), mistake.place.len());
    let before = text.get(..start).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    json!({
        "in": if mistake.text.name() == CHANGE { "changes" } else { "scenario" },
        "line": before.matches('\n').count() + 1,
        "column": before[line_start..].chars().count() + 1,
        "start": before.encode_utf16().count(),
        "size": text.get(start..start + size).unwrap_or_default().encode_utf16().count(),
        "message": mistake.message,
        "label": mistake.label,
        "hint": mistake.hint,
    })
}
