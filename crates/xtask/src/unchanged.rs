//! `cargo xtask unchanged`: compares the `results.json` of two runs of `tfrc reproduce`.
//!
//! Every number, verdict and count of the first file has to be in the second one, numbers to 1e-12
//! of their size. Experiments that only the second file has are listed and do not count. Prose and
//! the texts of inputs may differ.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::Outcome;

/// Largest relative difference of two numbers that count as equal: some thousand times the
/// rounding of one operation on 64-bit floats.
const TOLERANCE: f64 = 1e-12;

/// Keys of prose, of inputs, and of the code's version.
const NOT_COMPUTED: [&str; 10] =
    ["about", "code_version", "evidence", "formula", "note", "reason", "set", "source", "text", "title"];

/// Keys that name an element of a list, which may then stand anywhere in it.
const NAMES: [&str; 5] = ["id", "row", "column", "name", "variant"];

/// Compares the files; fails if they differ.
pub(crate) fn run(before: &str, after: &str) -> Outcome {
    let (before, after) = (read(before)?, read(after)?);
    let mut found = Found::default();
    compare("", &before, &after, &mut found);
    let mut new = ids(&after);
    ids(&before).iter().for_each(|id| {
        new.remove(id);
    });
    for id in &new {
        println!("new: {id}");
    }
    for difference in &found.differences {
        println!("{difference}");
    }
    match found.differences.len() {
        0 => {
            println!("{} values are unchanged, {} experiments are new", found.compared, new.len());
            Ok(())
        }
        count => Err(format!("{count} of {} values differ", found.compared)),
    }
}

fn read(path: &str) -> Result<Value, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))
}

/// The ids of all experiments.
fn ids(results: &Value) -> BTreeSet<String> {
    let experiments = results["experiments"].as_array().map(Vec::as_slice).unwrap_or_default();
    experiments.iter().filter_map(|one| one["id"].as_str().map(str::to_owned)).collect()
}

/// Outcome of a comparison.
#[derive(Debug, Default)]
struct Found {
    /// Values of the first file that were looked for in the second one.
    compared: usize,
    /// A line for each value that differs or is missing.
    differences: Vec<String>,
}

/// Compares one value and all below it; `path` says where it is.
fn compare(path: &str, before: &Value, after: &Value, found: &mut Found) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, before) in before.iter().filter(|(key, _)| !NOT_COMPUTED.contains(&key.as_str())) {
                let after = after.get(key).unwrap_or(&Value::Null);
                compare(&format!("{path}.{key}"), before, after, found);
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            for (place, before) in before.iter().enumerate() {
                let name = name(before);
                let other = match &name {
                    Some(name) => after.iter().find(|one| self::name(one).as_ref() == Some(name)),
                    None => after.get(place),
                };
                let path = format!("{path}[{}]", name.unwrap_or_else(|| place.to_string()));
                compare(&path, before, other.unwrap_or(&Value::Null), found);
            }
        }
        _ => {
            found.compared += 1;
            if !equal(before, after) {
                let before = if before.is_object() { "present".to_owned() } else { before.to_string() };
                found.differences.push(format!("{path}: {before} -> {after}"));
            }
        }
    }
}

/// The name of an element of a list, if it has one.
fn name(value: &Value) -> Option<String> {
    let words: Vec<&str> = NAMES.iter().filter_map(|key| value.get(key)?.as_str()).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn equal(before: &Value, after: &Value) -> bool {
    match (before.as_f64(), after.as_f64()) {
        (Some(before), Some(after)) => (before - after).abs() <= TOLERANCE * before.abs().max(after.abs()),
        _ => before == after,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(before: &Value, after: &Value) -> Vec<String> {
        let mut found = Found::default();
        compare("", before, after, &mut found);
        found.differences
    }

    #[test]
    fn numbers_verdicts_and_missing_values() {
        let cell = |column: &str, measured: f64, verdict: &str| {
            serde_json::json!({
                "row": "1", "column": column, "measured": measured, "ci95": null, "verdict": verdict,
                "note": measured.to_string(),
            })
        };
        let before = serde_json::json!([cell("a", 0.3, "agrees"), cell("b", 2.0, "agrees")]);
        let after = serde_json::json!([cell("b", 2.0, "agrees"), cell("a", 0.1 + 0.2, "agrees")]);
        assert_eq!(differences(&before, &after), [""; 0], "order, prose and the last bit do not count");
        let after =
            serde_json::json!([cell("a", 0.3 * (1.0 + 3e-12), "disagrees"), cell("c", 2.0, "agrees")]);
        let seen = differences(&before, &after);
        assert_eq!(seen.len(), 3, "{seen:?}");
        assert!(seen[0].starts_with("[1, a].measured: 0.3 -> 0.3"), "{seen:?}");
        assert_eq!(seen[1], "[1, a].verdict: \"agrees\" -> \"disagrees\"");
        assert_eq!(seen[2], "[1, b]: present -> null");
    }

    #[test]
    fn an_experiment_more_is_no_difference() {
        let of = |ids: &[&str]| {
            let list: Vec<Value> = ids.iter().map(|id| serde_json::json!({"id": id, "runs": 3})).collect();
            serde_json::json!({"code_version": ids.len().to_string(), "experiments": list})
        };
        assert_eq!(differences(&of(&["a/b"]), &of(&["a/a", "a/b"])), [""; 0]);
        assert_eq!(differences(&of(&["a/a", "a/b"]), &of(&["a/b"])).len(), 1);
        assert_eq!(ids(&of(&["a/a", "a/b"])).len(), 2);
    }
}
