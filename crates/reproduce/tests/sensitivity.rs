//! Every value of an experiment that its source does not give is varied: the sensitivity to it is
//! shown.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tfrc_scenario::{Document, Origin};

/// The folders below `experiments/` that hold an experiment.
fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let below = |at: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(at).expect("a directory").flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    };
    let mut found: Vec<PathBuf> = below(&root).iter().flat_map(|paper| below(paper)).collect();
    // A paper may keep its scripts next to its experiments.
    found.retain(|folder| folder.join("experiment.toml").exists());
    found.sort();
    found
}

/// `flow.0.start` as variants write it: the number of an entry becomes its name.
fn by_name(path: &str, scenario: &toml::Table) -> String {
    let mut words: Vec<&str> = path.split('.').collect();
    if let [list, number, ..] = words[..]
        && let Ok(number) = number.parse::<usize>()
        && let Some(name) = scenario[list][number].get("name").and_then(toml::Value::as_str)
    {
        words[1] = name;
    }
    words.join(".")
}

/// Values that the folder's scenarios assume, by number and by name.
fn assumed(folder: &Path) -> BTreeSet<[String; 2]> {
    let files = fs::read_dir(folder).expect("a directory").flatten().map(|entry| entry.path());
    let others = ["experiment.toml", "figure.toml"];
    let is_scenario = |file: &PathBuf| {
        file.extension().is_some_and(|e| e == "toml") && !others.iter().any(|name| file.ends_with(name))
    };
    let scenarios = files.filter(is_scenario);
    let of = |file: PathBuf| {
        let scenario: toml::Table = fs::read_to_string(&file).expect("text").parse().expect("TOML");
        let provenance = Document::load(&file).expect("text").plan().expect("a sound scenario").provenance;
        let assumed = provenance.into_iter().filter(|value| matches!(value.origin, Origin::Assumed(_)));
        assumed.map(|value| [by_name(&value.path, &scenario), value.path]).collect::<Vec<_>>()
    };
    scenarios.flat_map(of).collect()
}

/// Values that the folder's variants vary.
fn varied(folder: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(folder.join("experiment.toml")).expect("an experiment");
    let abouts = text.lines().filter_map(|line| line.trim().strip_prefix("about = \"assumed: "));
    abouts.flat_map(|list| list.trim_end_matches('"').split(',').map(|path| path.trim().to_owned())).collect()
}

#[test]
fn every_assumed_value_has_a_variant() {
    let mut missing = Vec::new();
    for folder in folders() {
        let text = fs::read_to_string(folder.join("experiment.toml")).expect("an experiment");
        // Functions run their own scenarios: their READMEs state the sensitivity.
        // Emulated runs take as long as what they show, and a table of our own assumes nothing of
        // anybody's: READMEs give the reason of each value.
        let is_left_out = ["code = ", "world = \"emu\"", "source = \"nothing published"];
        if text.lines().any(|line| is_left_out.iter().any(|start| line.starts_with(start))) {
            continue;
        }
        let varied = varied(&folder);
        for ways in assumed(&folder) {
            if ways.iter().all(|path| !varied.contains(path)) {
                missing.push(format!("{}: {}", folder.display(), ways[0]));
            }
        }
    }
    assert!(missing.is_empty(), "assumed, and no variant about it:\n{}", missing.join("\n"));
}
