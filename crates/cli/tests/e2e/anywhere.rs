//! The program away from its checkout: scenarios built into it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::e2e::network::Place;
use crate::e2e::program::{Finished, Program, tfrc};

/// The command in a folder with nothing in it, and a home of its own.
fn away(place: &Place, args: &[&str]) -> Command {
    let mut command = tfrc(args);
    for folder in ["work", "home", "temporary"] {
        std::fs::create_dir_all(place.file(folder)).expect("made");
    }
    command.current_dir(place.file("work")).env_remove("XDG_CACHE_HOME");
    command.env("HOME", place.file("home")).env("TMPDIR", place.file("temporary"));
    command
}

fn right(command: Command) -> Finished {
    let finished = Program::start(command).end();
    assert!(finished.status.success(), "{}", finished.stderr);
    finished
}

#[test]
fn scenarios_have_names() {
    let place = Place::new();
    let list: Value = right(away(&place, &["scenario", "list", "--json"])).json();
    let names: Vec<&str> =
        list["scenarios"].as_array().expect("a list").iter().filter_map(|one| one["name"].as_str()).collect();
    assert!(names.contains(&"bottleneck") && names.contains(&"fixed-points"), "{names:?}");
    let short = ["--set", "duration=2s", "--set", "warmup=500ms"];
    let outcome: Value = right(away(&place, &[&["sim", "bottleneck", "--json"], &short[..]].concat())).json();
    assert_eq!(outcome["flows"][0]["id"], "tfrc-1");
    let args = [&["sim", "fixed-points", "--runs", "1", "--json"], &short[..]].concat();
    let swept: Value = right(away(&place, &args)).json();
    assert_eq!(swept["points"].as_array().map(Vec::len), Some(3));
    let file = place.file("work/my.toml");
    right(away(&place, &["scenario", "new", "my.toml"]));
    let shown = right(away(&place, &["scenario", "new"])).stdout;
    assert_eq!(std::fs::read(&file).expect("written"), shown);
    let again = Program::start(away(&place, &["scenario", "new", "my.toml"])).end();
    assert_eq!(again.status.code(), Some(2), "{}", again.stderr);
    right(away(&place, &[&["sim", "my.toml"], &short[..]].concat()));
    let shown = right(away(&place, &["scenario", "show", "bottleneck"]));
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/bottleneck.toml");
    assert_eq!(shown.stdout, std::fs::read(ours).expect("there"));
}
