//! Every experiment that must agree has mutations of the algorithm that have to turn it red. Which
//! do is run by `cargo xtask results --mutations`.

use std::fs;
use std::path::Path;

/// Experiments that must agree and whose mutations are still to be written.
const WAITING: &[&str] = &[];

/// The ids of all experiments with their files.
fn experiments() -> Vec<(String, toml::Table)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut found = Vec::new();
    for paper in fs::read_dir(root).expect("a directory").flatten().filter(|entry| entry.path().is_dir()) {
        for entry in fs::read_dir(paper.path()).expect("a directory").flatten() {
            let Ok(text) = fs::read_to_string(entry.path().join("experiment.toml")) else { continue };
            let names =
                [paper.file_name(), entry.file_name()].map(|name| name.to_string_lossy().into_owned());
            found.push((names.join("/"), text.parse().expect("TOML")));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

#[test]
fn each_experiment_that_must_agree_has_mutations() {
    let experiments = experiments();
    assert!(experiments.len() > 70, "{} experiments", experiments.len());
    let mut missing: Vec<&str> = Vec::new();
    for (id, file) in &experiments {
        let must_agree = file.get("must_agree").and_then(toml::Value::as_bool) == Some(true);
        let mutations = file.get("mutation").and_then(toml::Value::as_array).map_or(0, Vec::len);
        if must_agree && mutations == 0 {
            missing.push(id);
        }
    }
    assert_eq!(missing, WAITING, "give them [[mutation]], or take them off the list");
}
