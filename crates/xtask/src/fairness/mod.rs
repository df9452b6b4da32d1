//! The tables and the map of `docs/fairness.md`, from runs of `experiments/modern/fairness-*`.

mod kernel;
mod map;
mod mixes;
mod points;
mod tables;

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::python::{built, development};
use crate::{Outcome, cargo, root};
use points::Laboratory;

/// The experiments, that of TCPs alone first.
const EXPERIMENTS: [&str; 6] = [
    "modern/fairness-tcp",
    "modern/fairness-map",
    "modern/fairness-fresh",
    "modern/fairness-kernel",
    "modern/fairness-minute",
    "modern/fairness-shape",
];
const PAGE: &str = "docs/fairness.md";
const MAP: &str = "docs/fairness-map.svg";
/// The map for a paper.
const MAP_PDF: &str = "docs/fairness-map.pdf";

/// Runs the experiments, or reads results of `tfrc reproduce --json` (a file each, or one of all),
/// and writes the page's tables and the map.
pub(crate) fn write(results: &[std::path::PathBuf]) -> Outcome {
    let documents = if results.is_empty() { vec![run()?] } else { read_all(results)? };
    let laboratory = Laboratory::of(&documents)?;
    let page = root().join(PAGE);
    let mut text = std::fs::read_to_string(&page).map_err(|error| format!("{PAGE}: {error}"))?;
    for (name, table) in tables::all(&laboratory) {
        text = replaced(&text, name, &table)?;
    }
    std::fs::write(&page, text).map_err(|error| format!("{PAGE}: {error}"))?;
    let svg = map::svg(&laboratory);
    // The bytes of a PDF differ from run to run: it is written anew with its drawing alone.
    if std::fs::read_to_string(root().join(MAP)).is_ok_and(|old| old == svg) && root().join(MAP_PDF).exists()
    {
        println!("{PAGE} is written; {MAP} and {MAP_PDF} stay as they are");
        return Ok(());
    }
    std::fs::write(root().join(MAP), svg).map_err(|error| format!("{MAP}: {error}"))?;
    // With the whole workspace's features, as everything else in `target` is built.
    crate::python::run(cargo().args(["build", "--locked", "--workspace", "--example", "pdf"]))?;
    crate::python::run(Command::new(built().join("debug/examples/pdf")).args([MAP, MAP_PDF]))?;
    println!("{PAGE}, {MAP} and {MAP_PDF} are written");
    Ok(())
}

fn run() -> Result<Value, String> {
    let output = Command::new(development()?)
        .current_dir(root())
        .arg("reproduce")
        .args(EXPERIMENTS)
        .arg("--json")
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| format!("tfrc reproduce: {error}"))?;
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("tfrc reproduce: {}: {error}", output.status))
}

fn read_all(files: &[std::path::PathBuf]) -> Result<Vec<Value>, String> {
    let read = |file: &Path| {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))
    };
    files.iter().map(|file| read(file)).collect()
}

/// The text with the lines between two marks replaced.
fn replaced(text: &str, name: &str, table: &str) -> Result<String, String> {
    let (begin, end) = (format!("<!-- table {name} -->\n"), format!("<!-- end {name} -->"));
    let missing = || format!("{PAGE} has no lines `{}` … `{end}`", begin.trim_end());
    let (before, rest) = text.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
    Ok(format!("{before}{begin}\n{table}\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_takes_the_place_of_the_old_one() {
        let text = "a\n<!-- table x -->\nold\n<!-- end x -->\nb\n";
        let once = replaced(text, "x", "| new |\n").expect("marks");
        assert_eq!(once, "a\n<!-- table x -->\n\n| new |\n\n<!-- end x -->\nb\n");
        assert_eq!(replaced(&once, "x", "| new |\n").as_ref(), Ok(&once), "twice is once");
        assert!(replaced(text, "y", "").is_err_and(|told| told.contains("table y")));
    }
}
