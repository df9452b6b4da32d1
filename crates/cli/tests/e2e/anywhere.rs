//! The program away from its checkout: scenarios and experiments built into it.

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

fn entries(folder: &str) -> usize {
    std::fs::read_dir(folder).expect(folder).count()
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

#[test]
fn experiments_run_from_anywhere() {
    let place = Place::new();
    let list = right(away(&place, &["reproduce", "list"]));
    assert!(list.text().contains("sigcomm2000/fig-09"), "{}", list.text());
    let finished = right(away(&place, &["reproduce", "rfc4828/Table-1", "--quick", "--out", "report"]));
    assert!(finished.text().contains("rfc4828/table-01"), "{}", finished.text());
    let cache = place.file("home/.cache/tfrc");
    assert!(finished.stderr.contains(&format!("results of runs are kept in {cache}")), "{}", finished.stderr);
    assert!(Path::new(&place.file("work/report/index.html")).exists());
    assert_eq!(entries(&place.file("temporary")), 0, "nothing is left behind");
    let refused = Program::start(away(&place, &["reproduce", "figure-99"])).end();
    assert_eq!(refused.status.code(), Some(2));
    assert!(refused.stderr.contains("no experiment's id begins with `figure-99`"), "{}", refused.stderr);
    // A folder that is named wins, and so does one of that name here.
    let empty = place.file("home");
    let refused = Program::start(away(&place, &["reproduce", "all", "--experiments", &empty])).end();
    assert!(refused.stderr.contains("there are no experiments in this directory"), "{}", refused.stderr);
    std::fs::create_dir(place.file("work/experiments")).expect("made");
    let refused = Program::start(away(&place, &["reproduce", "all"])).end();
    assert!(refused.stderr.contains("there are no experiments in this directory"), "{}", refused.stderr);
}
